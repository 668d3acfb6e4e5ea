"""Ratios compared with ratios, against every mixture of thresholds there is."""

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.problem.problem import from_plain, to_plain

RANDOM = np.random.default_rng(5)
SEX = np.array(["F", "M"] * 20)
SCORES = RANDOM.permutation(40) / 40
LABELS = (SCORES + RANDOM.normal(size=40) * np.where(SEX == "F", 0.5, 0.15) > 0.55).astype(int)
PEOPLE = rb.Population(SCORES[:, None], LABELS, columns={"sex": SEX})
FAIR = rb.precision(sex="F") >= 0.9 * rb.precision()
PROBLEM = rb.Problem(rb.error_rate(), [FAIR, rb.recall() >= 0.6])


def test_it_prints_and_reads_as_written():
    assert str(FAIR) == 'precision(sex == "F") >= 0.9 * precision()'
    assert rb.parse(str(FAIR)) == FAIR
    assert FAIR.rates == (*rb.precision(sex="F").rates, *rb.precision().rates)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(FAIR)
    with pytest.raises(ValueError, match="by numbers above 0"):
        rb.precision() * -1


def test_a_multiple_of_a_ratio_is_a_ratio():
    problem = rb.Problem("error_rate()", [2 * rb.precision() >= 1.2])
    plain = rb.Problem("error_rate()", [rb.precision() >= 0.6])
    twice, once = (rb.compile(each, PEOPLE).evaluate(SCORES - 0.3)[1] for each in (problem, plain))
    assert twice == pytest.approx(2 * once)
    again = from_plain(to_plain(problem))
    assert rb.compile(again, PEOPLE).evaluate(SCORES - 0.3)[1] == pytest.approx(twice)


def least_error():
    """The least error of any mixture of thresholds that is fair, by programs at many levels."""
    yes = np.append(SCORES - 0.001, 2.0)[:, None] <= SCORES
    errors, recalls = (yes != LABELS).mean(axis=1), yes[:, LABELS == 1].mean(axis=1)
    right, said = (yes & (LABELS == 1)).sum(axis=1), yes.sum(axis=1)
    own = SEX == "F"
    right_f, said_f = (yes & own & (LABELS == 1)).sum(axis=1), (yes & own).sum(axis=1)
    found = []
    for v in np.linspace(0.4, 1.0, 600):
        rows = [0.9 * right - v * said, v * said_f - right_f, -recalls]
        solved = linprog(errors, rows, [0, 0, -0.6], [np.ones(41)], [1])
        found += [solved.fun] if solved.status == 0 else []
    return min(found)


def test_the_best_level_is_as_good_as_any():
    policy = rb.thresholds(PROBLEM, SCORES, PEOPLE, known=[])
    assert policy.status.feasible
    assert policy.objectives["train"] <= least_error() + 1e-3
    report = rb.audit(PROBLEM, policy, PEOPLE)
    assert report.kept
    assert report.promises[0].words == str(FAIR)
    assert report.promises[0].slack >= -1e-9


def test_the_promise_is_not_kept_for_nothing():
    free = rb.thresholds(rb.Problem(rb.error_rate(), [rb.recall() >= 0.6]), SCORES, PEOPLE, known=[])
    report = rb.audit(PROBLEM, free, PEOPLE)
    assert not report.promises[0].kept


def test_without_a_model_there_is_no_level():
    with pytest.raises(ValueError, match=r"rb.at_levels\(problem, scores, rows\)"):
        rb.compile(PROBLEM, PEOPLE)
    leveled = rb.at_levels(PROBLEM, SCORES, PEOPLE)
    assert len(leveled.constraints) == 3
    assert all(str(FAIR) in each.name for each in leveled.constraints[:2])
    assert rb.compile(leveled, PEOPLE).evaluate(SCORES)[1].shape == (3,)


def test_the_estimator_keeps_it_on_the_rows_it_was_trained_on():
    random = np.random.default_rng(0)
    group = np.where(random.random(800) < 0.4, "a", "b")
    X = random.normal(size=(800, 2)) + 0.5 * (group == "a")[:, None]
    y = X[:, 0] + random.normal(size=800) * np.where(group == "a", 2, 0.7) > 0.7
    fair = rb.precision(group="a") >= 0.9 * rb.precision(group="b")
    model = rb.RateConstrainedClassifier([fair, "recall() >= 0.4"], confidence=None, random_state=0)
    model.fit(X, y, columns={"group": group})
    people = rb.Population(X, y, columns={"group": group})
    report = rb.audit(rb.Problem("error_rate()", [fair, "recall() >= 0.4"]), model, people)
    assert report.kept
    assert model.status_.feasible
