"""Goals as functions of their pieces: tangents by differences, and what any decisions could reach."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import ratebound._old as rb
from ratebound._old.problem.reductions.goal import start_of

LABELS = np.array([0, 1, 1, 0, 1, 0])
PEOPLE = rb.Population(np.arange(6.0)[:, None], LABELS, columns={"sex": ["F", "M"] * 3})
GOALS = {
    "f_score": rb.Problem(maximize=rb.f_score(beta=2)),
    "odds": rb.Problem(rb.false_positives() / rb.true_positives(), ["recall() >= 0.3"]),
}
DECISIONS = np.array(list(product([-1.0, 1.0], repeat=6)))


@pytest.mark.parametrize("name", GOALS)
def test_weights_are_the_slope_of_the_goal(name):
    goal = rb.compile(GOALS[name], PEOPLE).goal
    random = np.random.default_rng(0)
    for _ in range(5):
        pieces = random.uniform(0.2, 0.8, len(goal.pieces))
        slope = approx_fprime(pieces, lambda x: float(goal.value(x)), 1e-7)
        assert goal.weights(pieces) == pytest.approx(slope, abs=1e-5)


def test_the_least_denominator_is_that_of_all_decisions():
    problem = rb.Problem(maximize=rb.precision(), subject_to=["recall() >= 0.6", "accuracy() >= 0.5"])
    compiled = rb.compile(problem, PEOPLE)
    _, violations, pieces = compiled.measure(DECISIONS)
    below = compiled.goal.sides(pieces)[1][(violations <= 1e-9).all(axis=1)]
    # A cell may be split between decisions, so slightly lower values are possible than by whole rows.
    assert 0 < compiled.goal.lowest[0] <= below.min() + 1e-9


def test_training_starts_where_chance_decides():
    compiled = rb.compile(rb.Problem(maximize=rb.smallest(rb.recall(), rb.accuracy())), PEOPLE)
    _, _, pieces = compiled.measure(DECISIONS)
    start = start_of(compiled.goal, compiled.whole)
    assert start.weights == pytest.approx(compiled.goal.weights(pieces.mean(axis=0)))


def test_counts_and_other_populations_are_pieces_too():
    other = rb.Population(np.arange(4.0)[:, None], [1, 0, 1, 1])
    problem = rb.Problem(
        rb.largest(rb.false_negatives() / rb.recall(on="pool"), rb.error_rate(on="pool")),
        [rb.recall(on="pool") >= 0.3],
    )
    compiled = rb.compile(problem, PEOPLE, pool=other)
    scores = {"train": np.array([1.0, -1, 1, 1, -1, -1]), "pool": np.array([1.0, 1, 1, -1])}
    objective, _ = compiled.evaluate(scores)
    assert objective == pytest.approx(max(2 / (2 / 3), 0.5))


def test_a_piece_may_go_the_way_that_nobody_would_ask_for():
    problem = rb.Problem(rb.largest(rb.recall(), rb.error_rate()))
    compiled = rb.compile(problem, PEOPLE)
    assert compiled.whole.problem.aim == "minimize recall()"
    assert compiled.problem == problem
