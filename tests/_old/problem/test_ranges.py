"""A rate between two bounds, and a small difference: two promises, wherever a problem goes."""

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.problem.problem import from_plain, to_plain

from ..small_tables import people

TABLE = people(200, seed=1, slopes=[1.0])
_, LABELS, GROUP = TABLE
SCORES, PEOPLE = TABLE.X[:, 0], TABLE.population()
BETWEEN = "0.2 <= positive_rate() <= 0.3"
CLOSE = 'abs(recall(group == "a") - recall(group == "b")) <= 0.01'
PROBLEM = rb.Problem("error_rate()", [BETWEEN, CLOSE])


def test_a_problem_holds_both_ends_under_the_words_of_the_whole():
    assert list(map(str, PROBLEM.constraints)) == [
        "positive_rate() >= 0.2",
        "positive_rate() <= 0.3",
        'recall(group == "a") - recall(group == "b") >= -0.01',
        'recall(group == "a") - recall(group == "b") <= 0.01',
    ]
    assert [c.name.partition(": ")[0] for c in PROBLEM.constraints] == [BETWEEN] * 2 + [CLOSE] * 2
    assert rb.Problem("error_rate()", [rb.parse(BETWEEN), rb.parse(CLOSE)]) == PROBLEM
    assert from_plain(to_plain(PROBLEM)) == PROBLEM
    recall = [rb.recall(group=group) for group in "ab"]
    assert (abs(recall[0] - recall[1]) <= 0.01) == rb.parse(CLOSE)


def test_violations_are_those_counted_by_hand():
    _, violations = rb.compile(PROBLEM, PEOPLE).evaluate(SCORES)
    yes = SCORES >= 0
    apart = yes[LABELS & (GROUP == "a")].mean() - yes[LABELS & (GROUP == "b")].mean()
    wanted = [0.2 - yes.mean(), yes.mean() - 0.3, -0.01 - apart, apart - 0.01]
    np.testing.assert_allclose(violations, wanted)
    assert max(violations[2:]) == pytest.approx(abs(apart) - 0.01)


def test_a_trained_model_keeps_both_ends():
    model = rb.RateConstrainedClassifier(
        [BETWEEN, CLOSE], training=rb.Training(epochs=5), random_state=0
    ).fit(PEOPLE.X, PEOPLE.y, columns=PEOPLE.columns)
    assert max(model.violations_.values()) <= 1e-9


def test_columns_are_those_of_conditions_and_goals():
    promises = [
        "recall(25 <= age < 40 or missing(job)) >= 0.9",
        "equalized_odds(sex, column(3), slack=0.1)",
    ]
    assert rb.Problem("error_rate()", promises).columns == ("age", "job", "sex", 3)
