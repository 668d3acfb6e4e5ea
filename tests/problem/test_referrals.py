"""Rows may be referred to a person: one more decision, but not a class."""

import re

import numpy as np
import pytest

import ratebound as rb
from ratebound.rates.text import parse_objective

from .loops import Table, World

RANDOM = np.random.default_rng(3)
ROWS = 200
LABELS = RANDOM.choice(["no", "yes"], ROWS, p=[0.6, 0.4]).astype(object)
COLUMNS = {
    "sex": RANDOM.choice(np.array(["F", "M"], dtype=object), ROWS),
    "live": RANDOM.choice(np.array(["no", "yes", "ask"], dtype=object), ROWS),
    "loan": RANDOM.integers(0, 9, ROWS),
}
WEIGHTS = RANDOM.integers(1, 4, ROWS).astype(float)
PEOPLE = rb.Population(None, LABELS, COLUMNS, WEIGHTS, refer="ask")
DECISIONS = np.array(["no", "yes", "ask"], dtype=object)
DECIDED = RANDOM.integers(0, 3, ROWS)
SCORES = np.where(np.arange(3)[:, None] == DECIDED, 1.0, -1.0)  # (3, n)
RATES = [
    "positive_rate()",
    "negative_rate()",
    'recall(sex == "F")',
    "false_negative_rate()",
    "false_positive_rate()",
    "true_negative_rate()",
    "accuracy()",
    "error_rate()",
    "precision()",
    "false_discovery_rate()",
    "negative_predictive_value()",
    "false_omission_rate()",
    "jaccard()",
    "f_score()",
    "f_score(beta=2)",
    "confusion(label=\"no\", predicted=\"yes\")",
    "referred()",
    'referred(sex == "F")',
    "referrals()",
    "decisions(per=1000)",
    "errors()",
    "true_negatives()",
    "cost(false_negative=3, false_positive=1)",
    'cost(column="loan")',
    'churn(versus="live")',
    'loss_only_churn(versus="live")',
    'wins(versus="live")',
    'losses(versus="live")',
    'win_loss_ratio(versus="live")',
    'accuracy(by="live")',
    'error_rate(by="live")',
    'recall(by="live")',
    # of the rows that the model decides
    "error_rate(decided)",
    "accuracy(decided)",
    "precision(decided)",
    'recall(decided and sex == "F")',
    'recall(sex == "F" and decided)',
    "false_positive_rate(decided)",
    "positive_rate(decided)",
    'churn(decided, versus="live")',
    'cost(decided, column="loan")',
]  # fmt: skip


def make_world():
    rows = []
    for index in range(ROWS):
        row = {name: column[index] for name, column in COLUMNS.items()}
        rows.append(row | {"y": LABELS[index]})
    table = Table(rows, WEIGHTS.tolist())
    return World({"train": table}, {"train": SCORES}, ["no", "yes"], ["no", "yes", "ask"])


@pytest.mark.parametrize("rate", RATES)
def test_rates_are_what_loops_count(rate):
    world = make_world()
    text = f"{rate} <= 0.3"
    compiled = rb.compile(rb.Problem("error_rate()", [text]), PEOPLE)
    (violation,) = compiled.evaluate(SCORES)[1]
    assert violation == pytest.approx(world.violation(text))
    value = world.value_of_sum(parse_objective(rate))
    assert np.sign(violation) == np.sign(value - 0.3)


@pytest.mark.parametrize(
    ("rates", "total"),
    [
        (["accuracy()", "error_rate()", "referred()"], 1),
        (["positive_rate()", "negative_rate()", "referred()"], 1),
        (["decisions(per=1)", "referrals(per=1)"], 1),
        (["true_positives(per=1)", "false_positives(per=1)", "true_negatives(per=1)",
          "false_negatives(per=1)", "referrals(per=1)"], 1),
    ],
)  # fmt: skip
def test_shares_of_all_rows_add_up(rates, total):
    problem = rb.Problem(minimize=" - -1 * ".join(rates))
    assert rb.compile(problem, PEOPLE).evaluate(SCORES)[0] == pytest.approx(total)


def test_shares_of_decided_rows_add_up():
    texts = ["recall(decided) <= 0", "false_negative_rate(decided) <= 0"]
    violations = rb.compile(rb.Problem("error_rate()", texts), PEOPLE).evaluate(SCORES)[1]
    is_positive = LABELS == "yes"
    decided_positive = is_positive & (DECIDED < 2)
    share = WEIGHTS[decided_positive].sum() / WEIGHTS.sum()
    assert violations.sum() == pytest.approx(share)


def test_a_mean_over_decided_rows_and_the_cost_of_referrals():
    problem = rb.Problem("error_rate(decided) + 0.2 * referred()")
    compiled = rb.compile(problem, PEOPLE)
    decided = DECIDED < 2
    wrong = DECISIONS[DECIDED] != LABELS
    errors = np.average(wrong[decided], weights=WEIGHTS[decided])
    referred = np.average(~decided, weights=WEIGHTS)
    assert compiled.evaluate(SCORES)[0] == pytest.approx(errors + 0.2 * referred)


def test_points_by_hand():
    rows = rb.Population(None, [0, 1, 1, 0, 1, 0], {"sex": list("FMFMFM")}, refer="ask")
    texts = ["referred() <= 0.5", 'error_rate(decided and sex == "F") <= 0.1', "recall() >= 0.5"]
    problem = rb.Problem("error_rate(decided) + 0.2 * referred()", texts)
    compiled = rb.compile(problem, rows)
    decisions = np.array([0, 1, 2, 1, 0, 2])  # one false yes, one miss, two referred
    values = compiled.values(compiled.count_decisions(decisions))
    pieces = len(compiled.objective.pieces)
    objective = compiled.objective.value(values[:, :pieces])
    np.testing.assert_allclose(objective, [2 / 4 + 0.2 * 2 / 6])
    # of three women one is referred, and of the other two one is wrong
    np.testing.assert_allclose(values[0, pieces:], [2 / 6 - 0.5, (1 - 0.1 * 2) / 3, 0.5 - 1 / 3])


def test_several_classes_and_a_referral():
    random = np.random.default_rng(0)
    labels = random.choice(["bird", "cat", "dog"], 90)
    rows = rb.Population(None, labels, refer="ask")
    decisions = random.integers(0, 4, 90)
    texts = ['recall(of="cat") >= 0', 'recall(decided, of="cat") >= 0.5', "referred() <= 0"]
    compiled = rb.compile(rb.Problem("error_rate()", texts), rows)
    assert compiled.classes.values == ("bird", "cat", "dog", "ask")
    values = compiled.values(compiled.count_decisions(decisions))[0]
    is_cat = labels == "cat"
    names = np.array(["bird", "cat", "dog", "ask"])[decisions]
    hits = (is_cat & (names == "cat")).mean()
    decided_cats = (is_cat & (names != "ask")).mean()
    assert values[0] == pytest.approx(((names != labels) & (names != "ask")).mean())
    assert values[1] == pytest.approx(-hits / is_cat.mean())
    assert values[2] == pytest.approx(0.5 * decided_cats - hits)
    assert values[3] == pytest.approx((names == "ask").mean())


def test_a_referral_in_several_populations():
    pool = rb.Population(columns={"sex": ["F", "M"]})
    problem = rb.Problem("error_rate()", ['referred(on="pool") <= 0.5'])
    compiled = rb.compile(problem, PEOPLE, pool=pool)
    decisions = np.append(DECIDED, [2, 0])
    values = compiled.values(compiled.count_decisions(decisions))
    assert values[0, 1] == pytest.approx(0.5 - 0.5)


def test_a_referral_has_one_name():
    pool = rb.Population(columns={"sex": ["F", "M"]}, refer="human")
    with pytest.raises(ValueError, match="human"):
        rb.compile(rb.Problem("error_rate()"), PEOPLE, pool=pool)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("roc_auc() >= 0.5", "it takes two classes"),
        ("recall(at=0.5) >= 0.5", 'name the threshold, as in at="cautious"'),
        ('recall(of="ask") >= 0.5', 'there is no class "ask"'),
    ],
)
def test_what_a_referral_does_not_allow(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rb.compile(rb.Problem("error_rate()", [text]), PEOPLE)
