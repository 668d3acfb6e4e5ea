"""Checks of one constraint at a time, beside all decisions of small tables."""

from itertools import product

import numpy as np
import pytest

import ratebound as rb
from ratebound.problem.feasible import check_denominators

LABELS = [0, 0, 0, 1, 1, 1]
COLUMNS = {"sex": list("FMFMFM")}
CONSTRAINTS = [
    "recall() >= 0.3",
    "positive_rate(sex == 'F') >= 0.1",
    "positive_rate() <= 0.3",
    "false_positive_rate() <= 0",
    "predicted_positives() >= 2",
    "recall(sex) >= 0.9 * recall()",
    "error_rate() <= 0.4",
]


def list_values(problem):
    """Return the violations of all decisions on six rows, and how many rows get a yes."""
    rows = rb.Population(None, LABELS, COLUMNS)
    compiled = rb.compile(problem, rows)
    decisions = np.array(list(product([0, 1], repeat=len(LABELS))))
    values = compiled.values(compiled.count_decisions(decisions))
    return values[:, len(compiled.objective.pieces) :], decisions.sum(axis=1)


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_a_denominator_is_refused_where_no_constraint_keeps_it_above_zero(text):
    problem = rb.Problem(maximize="precision()", subject_to=[text])
    violations, yeses = list_values(problem)
    is_met = (violations <= 1e-12).all(axis=1)
    may_be_zero = (yeses[is_met] == 0).any()
    compiled = rb.compile(problem, rb.Population(None, LABELS, COLUMNS))
    if may_be_zero:
        with pytest.raises(ValueError, match="may be divided by 0"):
            check_denominators(compiled)
    else:
        check_denominators(compiled)


@pytest.mark.parametrize(
    ("text", "missed"),
    [("predicted_positives() >= 7", 1), ("recall() >= 1", None), ("errors(sex == 'F') >= 4", 1)],
)
def test_a_constraint_that_no_decisions_meet(text, missed):
    compiled = rb.compile(rb.Problem("error_rate()", [text]), rb.Population(None, LABELS, COLUMNS))
    if missed is None:
        rb.check_feasible(compiled)
        return
    with pytest.raises(ValueError, match=f"the best misses it by {missed}"):
        rb.check_feasible(compiled)


def test_combinations_without_rows_are_warned_of():
    columns = {"sex": ["F", "F", "M"], "site": ["a", "b", "a"]}
    rows = rb.Population(None, [1, 1, 1], columns, classes=[0, 1])
    goal = "minimum_recall(sex, site, at_least=0.5, intersection=True)"
    with pytest.warns(UserWarning, match="1 of 4 combinations have no row"):
        compiled = rb.compile(rb.Problem("error_rate()", [goal]), rows)
    assert len(compiled.rows) == 3


def test_many_small_groups_are_left_out_before_they_are_counted():
    sites = np.repeat(np.arange(150), 2)
    sites[:100] = 0
    rows = rb.Population(None, np.ones(300), {"site": sites}, classes=[0, 1])
    text = "minimum_recall(site, at_least=0.5{})"
    with pytest.raises(ValueError, match="leave out small ones with min_rows="):
        rb.compile(rb.Problem("error_rate()", [text.format("")]), rows)
    with pytest.warns(UserWarning, match="fewer than 50 rows"):
        rb.compile(rb.Problem("error_rate()", [text.format(", min_rows=50")]), rows)


def test_more_coefficients_than_fit_are_refused_with_words(monkeypatch):
    monkeypatch.setattr("ratebound.problem.compile.MOST_COEFFICIENTS", 5)
    rows = rb.Population(None, LABELS, COLUMNS)
    with pytest.raises(ValueError, match="name fewer groups, or split the problem"):
        rb.compile(rb.Problem("error_rate()", ["recall(sex) >= 0.5"]), rows)
