"""The sense of a problem: minimise or maximise, in words and in numbers."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.problem.problem import from_plain, to_plain
from ratebound._old.rates.kinds import KINDS

PEOPLE = rb.Population(np.arange(8.0)[:, None], [0, 0, 1, 0, 1, 1, 0, 1])


def test_to_maximize_a_sum_is_to_minimize_its_negative():
    scores = np.random.default_rng(0).normal(size=(5, 8))
    up = rb.compile(rb.Problem(maximize=rb.recall(), subject_to=["positive_rate() <= 0.5"]), PEOPLE)
    down = rb.compile(rb.Problem(-rb.recall(), ["positive_rate() <= 0.5"]), PEOPLE)
    for one, other in zip(up.evaluate(scores), down.evaluate(scores), strict=True):
        np.testing.assert_array_equal(one, other)
    assert up.problem.shown(up.evaluate(np.ones(8))[0]) == 1.0


@pytest.mark.parametrize("text", ["maximize recall()", "minimize error_rate()", "error_rate()"])
def test_an_objective_is_read_as_it_is_printed(text):
    problem = rb.Problem.stated(text, ["recall() >= 0.5"])
    assert problem.aim == (text if " " in text else f"minimize {text}")
    assert from_plain(to_plain(problem)) == problem
    assert rb.Problem.stated(problem.aim, problem.subject_to) == problem


def test_a_problem_has_one_objective():
    with pytest.raises(TypeError, match="give minimize= or maximize="):
        rb.Problem()
    with pytest.raises(TypeError, match="not both"):
        rb.Problem(rb.error_rate(), maximize=rb.recall())


def test_an_audit_says_what_is_maximized_in_its_own_sense():
    class Always:
        def predict(self, X):
            return [1] * len(X)

    report = rb.audit(rb.Problem(maximize=rb.accuracy()), Always(), PEOPLE)
    assert report.objective.value == 0.5
    assert report.objective.low < 0.5 < report.objective.high
    assert "maximize accuracy(): 0.5" in str(report)
    assert "higher is better" in report.render("html")


def test_the_estimator_maximizes_what_a_text_says():
    X = np.random.default_rng(1).normal(size=(200, 1))
    y = (X[:, 0] + np.random.default_rng(2).normal(size=200)) > 0
    model = rb.RateConstrainedClassifier(
        ["false_positive_rate() <= 0.1"], objective="maximize recall()", confidence=None, random_state=0
    ).fit(X, y)
    rates = model.audit(X, y)
    assert rates.kept
    assert rates.objective.value > 0.3
    assert model.solution_.objectives["train"] == pytest.approx(rates.objective.value)


MORE = ["recall()", "true_positive_rate()", "true_negative_rate()", "accuracy()", "true_positives()",
        "true_negatives()", 'wins(versus="live")', "precision()", "negative_predictive_value()",
        "f_score(beta=2)", "jaccard()", 'win_loss_ratio(versus="live")', "recall() + accuracy()",
        "recall() - prevalence()", "recall() - error_rate()", "-error_rate()",
        "-cost(false_negative=3, false_positive=1)",
        "largest(recall(a == 1), recall(a == 0))"]  # fmt: skip
LESS = ["error_rate()", "false_negative_rate()", "false_positive_rate()", "false_positives()",
        "false_negatives()", 'churn(versus="live")', 'losses(versus="live")', "cost(false_negative=3)",
        "false_discovery_rate()", "false_omission_rate()", "error_rate() - 0.1 * recall()", "-recall()",
        "smallest(error_rate(a == 1), error_rate(a == 0))"]  # fmt: skip
EITHER = ["positive_rate()", "coverage()", "negative_rate()", "predicted_positives()",
          'confusion(label=1, predicted=0)', "error_rate() + 0.1 * recall()",
          "false_negatives() / false_positives()"]  # fmt: skip


@pytest.mark.parametrize("words", MORE)
def test_to_minimise_what_should_be_high_is_refused(words):
    with pytest.raises(ValueError, match="more of it is better") as refused:
        rb.Problem(words)
    for remedy in (f"rb.Problem(maximize={words!r})", f"--maximize {words!r}"):
        assert remedy.replace("'", "") in str(refused.value).replace("'", "")


@pytest.mark.parametrize("words", LESS)
def test_to_maximise_what_should_be_low_is_refused(words):
    with pytest.raises(ValueError, match=r"less of it is better.*rb.Problem\(minimize="):
        rb.Problem(maximize=words)


@pytest.mark.parametrize("words", EITHER)
def test_what_may_be_wanted_high_or_low_goes_either_way(words):
    assert rb.Problem(words).aim == f"minimize {words}"
    assert rb.Problem(maximize=words).aim == f"maximize {words}"


def test_every_rate_that_reads_labels_or_another_model_says_what_is_wanted_of_it():
    either = {name for name, kind in KINDS.items() if kind.better == "either" and kind.counts}
    without = {
        "positive_rate",
        "coverage",
        "negative_rate",
        "predicted_positives",
        "predicted_negatives",
        "decisions",
    }
    assert either == without | {"confusion"}  # which is a recall if its two classes are the same
