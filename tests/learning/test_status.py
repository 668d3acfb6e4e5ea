"""What a status says, and in which order. Other tests check its numbers."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import ratebound as rb
from ratebound.learning.confidence import Claim, Untestable
from ratebound.learning.status import (
    REMEDY,
    ConfidenceNotReached,
    ConstraintStatus,
    ConstraintsViolated,
    Status,
    format_confidence,
    warn_of_status,
)

RECALL = ConstraintStatus("recall() >= 0.8", -0.01, met=True)
LOW = ConstraintStatus("positive_rate() <= 0.1", 0.05, met=False)
FEW = Untestable("recall() >= 0.8", rows=12, needed=40)


def make_claim(reached=0.95, asked=0.9, highest=None, **options):
    return Claim(
        asked=asked,
        reached=options.pop("reached_all", reached),
        reached_testable=reached,
        untestable=options.pop("untestable", ()),
        highest=reached if highest is None else highest,
        extra_cost=options.pop("extra_cost", 0.0),
        **options,
    )


def make_status(constraints=(RECALL,), claim=None, **options):
    return Status("error_rate()", 0.12, 0.1, tuple(constraints), claim, **options)


FIRST_WORDS = {
    "no constraints": (Status("error_rate()", 0.1, 0.1, (), None), "There are no constraints."),
    "the plain model": (
        Status("error_rate()", np.nan, np.nan, (), None),
        "There are no constraints: this is the plain model.",
    ),
    "nothing asked of new rows": (make_status(), "Feasible on these rows."),
    "as sure as asked": (make_status(claim=make_claim()), "Feasible on these rows."),
    "to two digits": (make_status(claim=make_claim(0.8961)), "Feasible on these rows."),
    "less sure": (
        make_status(claim=make_claim(0.35)),
        "Feasible on these rows; 35% sure on new rows, 90% asked.",
    ),
    "hardly sure": (
        make_status(claim=make_claim(0.001)),
        "Feasible on these rows; less than 1% sure on new rows, 90% asked.",
    ),
    "by probabilities": (
        make_status(claim=make_claim(0.35), assumption="the guesses are right"),
        "Feasible on these rows, if the guesses are right; 35% sure on new rows, 90% asked.",
    ),
    "by probabilities, on these rows": (
        make_status(assumption="the guesses are right"),
        "Feasible on these rows, if the guesses are right.",
    ),
    "violated by probabilities": (
        make_status([LOW], assumption="the guesses are right"),
        f"Infeasible, if the guesses are right: positive_rate() <= 0.1 is violated by 0.0500. {REMEDY}",
    ),
    "too few rows": (
        make_status([replace(RECALL, met=False)], make_claim(untestable=(FEW,))),
        "Feasible as far as these rows can show.",
    ),
    "violated": (
        make_status([RECALL, LOW], make_claim(0.0)),
        f"Infeasible: positive_rate() <= 0.1 is violated by 0.0500. {REMEDY}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FIRST_WORDS)
def test_the_first_words_say_what_was_not_reached(case):
    status, words = FIRST_WORDS[case]
    assert status.describe_verdict() == words
    assert str(status).startswith(words)


SENTENCES = {
    "a claim": (make_claim(0.953), "The constraints hold together on new rows like these: 95% sure."),
    "a price": (
        make_claim(0.35, highest=0.92, extra_cost=0.0031, growth=3.44),
        "90% would cost 0.0031 more of error_rate(). Relax the constraints, or bring 3.4 times as "
        "many rows.",
    ),
    "out of reach": (
        make_claim(0.35, highest=0.4),
        "No rule reaches 90%. Relax the constraints.",
    ),
    "few rows": (
        make_claim(0.95, untestable=(FEW,), reached_all=0.6),
        "Too few rows to test: recall() >= 0.8 (12 rows, at least 40 needed). All constraints: "
        "60% sure.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_claims_and_prices(case):
    claim, sentence = SENTENCES[case]
    text = str(make_status(claim=claim))
    assert sentence in text
    assert "error_rate() is 0.1200, and 0.1000 without constraints." in text
    assert text.count("judged by models that did not see it") == 1
    assert "training" not in text


def test_a_claim_by_probabilities_says_so_first():
    text = str(make_status(claim=make_claim(), assumption="the guesses are right"))
    assert "If the guesses are right, the constraints hold together" in text


def test_an_infeasible_status_claims_nothing_of_new_rows():
    conflicts = [
        ConstraintStatus(f"rate{index}() <= 0.1", 0.01 * index, False) for index in range(1, 9)
    ]
    text = str(make_status(conflicts, make_claim(0.0)))
    assert text.startswith("Infeasible: rate8() <= 0.1 is violated by 0.0800; rate7()")
    assert f"and 3 more. {REMEDY}" in text
    assert "sure" not in text


def test_a_ratio_misses_by_its_distance_from_the_bound():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2))
    y = X[:, 0] + random.normal(size=600) > 0.5
    half = X[:, 1] > 0
    constraints = ["precision(half == True) >= 0.9", "recall() >= 0.9"]
    model = rb.RateConstrainedClassifier(constraints, random_state=0)
    with pytest.warns(ConstraintsViolated):
        model.fit(X, y, {"half": half})
    rules = model.learned_.rules
    yes = rules.decide(model.model_.weights[None])[0] == 1
    violations = [item.violation for item in model.status_.constraints]
    assert violations == pytest.approx([0.9 - y[yes & half].mean(), 0.9 - yes[y].mean()])
    texts = ["precision(half == True) >= {:.4f}", "recall() >= {:.4f}"]
    bounds = [0.89 - violation for violation in violations]  # a little more: it is searched again
    relaxed = [text.format(bound) for text, bound in zip(texts, bounds, strict=True)]
    assert model.what_if(relaxed).feasible


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (make_status([LOW]), ConstraintsViolated),
        (make_status(claim=make_claim(0.35)), ConfidenceNotReached),
        (make_status(claim=make_claim()), None),
        (make_status(), None),
    ],
)
def test_warnings_are_the_first_words(status, category):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_status(status)
    assert [item.category for item in caught] == ([category] if category else [])
    assert all(str(item.message) == status.describe_verdict() for item in caught)


@pytest.mark.parametrize(
    ("confidence", "text"),
    [(0, "less than 1%"), (0.0099, "less than 1%"), (0.01, "1%"), (0.871, "87%"), (0.99, "99%"),
     (0.991, "more than 99%"), (1, "more than 99%")],
)  # fmt: skip
def test_no_confidence_is_written_as_certain(confidence, text):
    assert format_confidence(confidence) == text
