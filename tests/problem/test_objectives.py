"""Objectives are functions of linear sums: their values and slopes."""

import numpy as np
import pytest

import ratebound as rb
from ratebound.problem.objectives import Objective

STEP = 1e-6
RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(0, 2, 300)
SEX = RANDOM.choice(["F", "M"], 300)
PEOPLE = rb.Population(None, LABELS, {"sex": SEX})
SCORES = RANDOM.normal(size=(4, 300))


def precision(yes):
    return LABELS[yes].mean()


def recall(yes, group=True):
    return yes[(LABELS == 1) & group].mean()


def error_rate(yes, group=True):
    return (yes != LABELS)[np.broadcast_to(group, LABELS.shape)].mean()


OBJECTIVES = [  # how it is optimised, its text, its value for the rows that get a yes, is it linear
    ("minimize", "error_rate()", error_rate, True),
    ("minimize", "2 * error_rate() + 0.5", lambda yes: 2 * error_rate(yes) + 0.5, True),
    ("maximize", "recall()", recall, True),
    ("maximize", "precision()", precision, False),
    (
        "maximize",
        "precision() + 0.2 * recall()",
        lambda yes: precision(yes) + 0.2 * recall(yes),
        False,
    ),
    (
        "maximize",
        "precision() - 2 * (error_rate() / positive_rate())",
        lambda yes: precision(yes) - 2 * error_rate(yes) / yes.mean(),
        False,
    ),
    (
        "maximize",
        "f_score()",
        lambda yes: 2 / (1 / precision(yes) + 1 / recall(yes)),
        False,
    ),
    (
        "maximize",
        "smallest(recall(sex))",
        lambda yes: min(recall(yes, SEX == "F"), recall(yes, SEX == "M")),
        False,
    ),
    (
        "minimize",
        'largest(error_rate(sex == "F"), 1 - precision(), 0.1)',
        lambda yes: max(error_rate(yes, SEX == "F"), 1 - precision(yes), 0.1),
        False,
    ),
]


def compile_objective(sense, text):
    return rb.compile(rb.Problem(**{sense: text}), PEOPLE)


@pytest.mark.parametrize(("sense", "text", "count", "is_sum"), OBJECTIVES)
def test_values_are_those_of_the_definition(sense, text, count, is_sum):
    compiled = compile_objective(sense, text)
    sign = 1 if sense == "minimize" else -1
    expected = [sign * count(scores >= 0) for scores in SCORES]
    np.testing.assert_allclose(compiled.evaluate(SCORES)[0], expected)
    assert compiled.objective.is_sum is is_sum


@pytest.mark.parametrize(("sense", "text", "count", "is_sum"), OBJECTIVES)
def test_slopes_are_those_of_finite_differences(sense, text, count, is_sum):
    compiled = compile_objective(sense, text)
    objective = compiled.objective
    values = compiled.values(compiled.count(SCORES))[0, : len(objective.pieces)]
    slope = objective.slope(values)
    for index in range(len(values)):
        step = np.zeros(len(values))
        step[index] = STEP
        difference = objective.value(values + step) - objective.value(values - step)
        assert slope[index] == pytest.approx(difference / (2 * STEP), abs=1e-6)


@pytest.mark.parametrize(("sense", "text", "count", "is_sum"), OBJECTIVES)
def test_text_is_the_whole_objective(sense, text, count, is_sum):
    problem = rb.Problem(**{sense: text})
    assert rb.parse_problem(str(problem)) == problem


def test_pieces_are_sums_of_linear_rates():
    compiled = compile_objective("maximize", "precision() + 0.2 * recall() - 1")
    linear, top, bottom = compiled.objective.pieces
    assert str(linear) == "0.2 * recall() - 1"
    assert [rate.counted[0].event for rate in (*top.rates, *bottom.rates)] == ["y & d", "d"]
    assert compiled.objective.ratios == (((1.0, 1, 2),),)


def test_a_ratio_over_0_is_0():
    compiled = compile_objective("maximize", "precision()")
    assert compiled.evaluate(-np.ones(300))[0] == 0
    objective = compiled.objective
    values = compiled.values(compiled.count(-np.ones(300)))[0, : len(objective.pieces)]
    assert np.isfinite(objective.slope(values)).all()


def test_the_slope_is_that_of_the_member_which_decides():
    pieces = (rb.recall(sex="F"), rb.recall(sex="M"))
    smallest = Objective(pieces, (0, 1), ((), ()), "smallest", -1.0)
    assert smallest.slope(np.array([0.2, 0.6])).tolist() == [-1, 0]
    assert smallest.slope(np.array([0.7, 0.6])).tolist() == [0, -1]
    largest = Objective(pieces, (0, 1), ((), ()), "largest", 1.0)
    assert largest.slope(np.array([0.2, 0.6])).tolist() == [0, 1]
    assert largest.value(np.array([[0.2, 0.6], [0.9, 0.6]])).tolist() == [0.6, 0.9]


@pytest.mark.parametrize(
    ("sense", "text"),
    [("maximize", "roc_auc()"), ("maximize", "precision(top=9)"), ("minimize", "1 - roc_auc()")],
)
def test_a_ranking_is_constrained_and_not_optimised(sense, text):
    with pytest.raises(ValueError, match="ranks rows: it can be constrained"):
        compile_objective(sense, text)
