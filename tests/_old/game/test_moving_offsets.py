"""Moved offsets of several classes: what a trace gains from them, and that they are deployed."""

import numpy as np
import pytest
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.game.moving import ranked, with_moved_thresholds
from ratebound._old.game.trace import Trace, Values, judged_on
from ratebound._old.learners.linear import LinearScorer

from .test_offset_search import patterns

CLASSES = ("ape", "bee", "cat")


def people(seed, rows):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    labels[:3] = np.arange(3)
    X = rng.normal(size=(rows, 2)) + np.stack([labels == 1, labels == 2], axis=1)
    return rb.Population(X, np.array(CLASSES)[labels], columns={"g": rng.integers(0, 2, rows)})


def traced(problem, rows, models=2, watch=None, dtype="float64"):
    """A trace of random linear models, as from a game."""
    compiled = rb.compile(problem, rows)
    scorer = LinearScorer(dtype, 3)
    parameters = np.random.default_rng(models).normal(size=(models, 9)).astype(dtype)
    m = len(compiled.constraints)
    empty = Trace(
        problem=problem,
        constraints=compiled.constraints,
        objectives=np.zeros(models),
        violations=np.zeros((models, m)),
        watched={},
        multipliers=np.ones((models, 1 + m)),
        parameters=parameters,
        thresholds={},
        setting=np.arange(models) % 2,
        round=np.arange(models),
        scorer=scorer,
        scale=compiled.scale[1:],
        feature_scale=compiled.feature_scale,
        classes=CLASSES,
    )
    trace = judged_on(empty, compiled)
    watched = {n: Values(*c.evaluate(trace.scores(c)), c.scale[1:]) for n, c in (watch or {}).items()}
    return compiled, Trace(**{**vars(trace), "watched": watched})


PROBLEMS = {
    "recall": rb.Problem(rb.error_rate(), [rb.recall(of="bee") >= 0.8]),
    "cap": rb.Problem(rb.error_rate(), [rb.positive_rate(of=c) <= 0.5 for c in CLASSES]),
    "precision": rb.Problem(rb.error_rate(), [rb.precision(of="cat") >= 0.6]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_best_mixture_of_all_offsets_is_among_them(name):
    compiled, trace = traced(PROBLEMS[name], people(1, 12))
    mixture = rb.shrink(ranked(trace, compiled).together())
    values = []
    for scores in trace.scores(compiled):
        for pattern in patterns(scores):
            values.append(np.hstack(compiled.evaluate(np.eye(3)[pattern].T)))
    values = np.array(values)
    solved = linprog(
        values[:, 0],
        A_ub=values[:, 1:].T,
        b_ub=np.full(values.shape[1] - 1, 1e-9),
        A_eq=np.ones((1, len(values))),
        b_eq=[1.0],
    )
    assert mixture.status.feasible
    assert mixture.objectives["train"] == pytest.approx(solved.fun, abs=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_values_of_moved_offsets_are_those_of_what_is_deployed(name, dtype, tmp_path):
    rows, others = people(2, 80), people(3, 60)
    other = rb.compile(PROBLEMS[name], others)
    compiled, trace = traced(PROBLEMS[name], rows, 4, {"other": other}, dtype)
    moved = with_moved_thresholds(trace, compiled, watch={"other": other})
    assert moved.at.shape == (len(moved), 3)
    assert np.isfinite(moved.at).all()
    assert not moved.at[: len(trace)].any()
    assert len(moved.iterates) == len(trace)
    mixture = rb.shrink(moved)
    assert mixture.objectives["train"] <= rb.shrink(trace).objectives["train"] + 1e-9 or (
        not rb.shrink(trace).status.feasible
    )
    mixture = rb.load(mixture.save(tmp_path))
    for known, population in ((compiled, rows), (other, others)):
        where = "train" if known is compiled else "other"
        objectives, violations = known.evaluate(mixture.member_scores(population.X).T)
        assert mixture.weights @ objectives == pytest.approx(mixture.objectives[where], abs=1e-9)
        np.testing.assert_allclose(mixture.weights @ violations, mixture.violations[where], atol=1e-9)


def test_margins_move_what_is_asked():
    compiled, trace = traced(PROBLEMS["recall"], people(4, 40))
    tight = ranked(trace, compiled).tightened(np.array([0.05])).together()
    mixture = rb.shrink(tight)
    assert mixture.violations["train"][0] <= 1e-9
    again = judged_on(tight, compiled.tightened(np.array([0.05])))
    assert again.violations.shape == tight.violations.shape


def test_a_pool_of_moved_offsets_has_prices():
    compiled, trace = traced(PROBLEMS["recall"], people(5, 40))
    pool = ranked(trace, compiled).pool()
    assert np.isfinite(pool.prices).all()
    assert (pool.prices >= 0).all()


def test_learned_offsets_move_along():
    rows = people(6, 90)
    problem = rb.Problem(rb.error_rate(), ['recall(of="bee", at="t") >= 0.9', 'recall(of="cat") >= 0.7'])
    compiled = rb.compile(problem, rows)
    trace = rb.play(compiled, rb.Linear(0.1), rounds=12, keep=rb.Keep(4), seed=0, progress=False)
    assert trace.thresholds["t"].shape == (3, 2)
    moved = with_moved_thresholds(trace, compiled)
    assert len(moved) > len(trace)
    for each in range(len(trace), len(moved)):
        same = (trace.parameters == moved.parameters[each]).all(axis=1)
        before = trace.violations[same, 0]
        assert moved.violations[each, 0] == pytest.approx(before[0], abs=1e-9)
