"""Moved thresholds against every possible threshold, and their guarantees for traces and mixtures."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

import ratebound._old as rb
from ratebound._old.game.candidates import candidates_of
from ratebound._old.game.moving import with_moved_thresholds
from ratebound._old.game.trace import beside, judged_on
from ratebound._old.problem.compiled import Compiled

from ..small_tables import people

calm = settings(derandomize=True, deadline=None, max_examples=40)

PROMISES = {
    "cap": [rb.positive_rate() <= 0.2],
    "floor": [rb.recall() >= 0.9],
    "precision": [rb.precision() >= 0.85],
    "groups": [rb.recall(g=k) >= 0.9 * rb.recall() for k in (0, 1)],
    "count": [rb.predicted_positives() <= 15, rb.recall(g=1) >= 0.3],
    "at odds": [rb.positive_rate() <= 0.1, rb.recall() >= 0.9],
    "area": [rb.roc_auc(bins=3) >= 0.6, rb.positive_rate() <= 0.2],
}


def drawn(seed, ties=False):
    table = people(60, seed, cut=0.3, by="g", groups=(0, 1))
    return table.population(X=np.round(table.X) if ties else table.X)


def played(problem, rows, **options):
    compiled = rb.compile(problem, rows)
    options = {"rounds": 12, "keep": rb.Keep(4), "batch_size": None} | options
    return compiled, rb.play(compiled, rb.Linear(0.3, dtype="float64"), **options)


def all_thresholds(compiled: Compiled, scores):
    """Objectives and violations, in their units, of every iterate at every threshold."""
    values = []
    for row in scores:
        cuts = np.unique(row)
        for at in [*cuts, cuts[-1] + 1]:
            objective, violations = compiled.evaluate(row - at)
            values.append([objective, *violations / compiled.scale[1:]])
    return np.array(values)


def best_mixture(values):
    """The least worst violation of any mixture, and the best objective at it."""
    f, G = values[:, 0], values[:, 1:]
    one = np.ones((1, len(f)))
    least = linprog(np.append(0 * f, 1.0), np.column_stack([G.T, -np.ones(G.shape[1])]), 0 * G[0],
                    np.append(one, [[0.0]], axis=1), [1.0])  # fmt: skip
    t = max(least.fun, 0.0)
    return t, linprog(f, G.T, np.full(G.shape[1], t + 1e-9), one, [1.0]).fun


@calm
@given(st.integers(0, 10**6), st.sampled_from(sorted(PROMISES)), st.booleans())
def test_no_mixture_at_any_thresholds_is_better(seed, name, ties):
    problem = rb.Problem(rb.error_rate(), PROMISES[name])
    compiled, trace = played(problem, drawn(seed, ties=ties))
    mixture = rb.shrink(with_moved_thresholds(trace, compiled))
    scores = trace.scorer.scores(trace.parameters, compiled.features)[:, 0]
    violation, objective = best_mixture(all_thresholds(compiled, scores))
    worst = (mixture.violations["train"] / compiled.scale[1:]).max()
    assert max(worst, 0.0) == pytest.approx(violation, abs=1e-7)
    assert (
        mixture.objectives["train"] <= objective + 1e-6
    )  # iterates with learned thresholds may be better
    if name != "area":
        assert mixture.objectives["train"] == pytest.approx(objective, abs=1e-6)


@pytest.mark.parametrize("name", PROMISES)
def test_a_mixture_does_what_its_record_says(name, tmp_path):
    rows = drawn(3)
    compiled, trace = played(rb.Problem(rb.error_rate(), PROMISES[name]), rows)
    mixture = rb.shrink(with_moved_thresholds(trace, compiled))
    for model in (mixture, rb.load(mixture.save(tmp_path))):
        objectives, violations = compiled.evaluate(model.member_scores(rows.X).T)
        assert model.weights @ objectives == pytest.approx(mixture.objectives["train"], abs=1e-12)
        np.testing.assert_allclose(model.weights @ violations, mixture.violations["train"], atol=1e-12)


def test_the_iterates_are_still_there():
    compiled, trace = played(rb.Problem(rb.error_rate(), PROMISES["cap"]), drawn(0))
    moved = with_moved_thresholds(trace, compiled)
    assert len(moved) > len(trace)
    np.testing.assert_array_equal(moved.iterates.parameters, trace.parameters)
    assert rb.last_iterate(moved).decider.kind == "draw"
    assert rb.average(moved).objectives == rb.average(trace).objectives
    again = with_moved_thresholds(moved, compiled)
    assert len(again) == len(moved)


def test_watched_rows_are_decided_at_the_moved_thresholds_too():
    problem, other = rb.Problem(rb.error_rate(), PROMISES["groups"]), drawn(1)
    watch = {"validation": rb.compile(problem, other)}
    compiled, trace = played(problem, drawn(0), watch=watch)
    mixture = rb.shrink(with_moved_thresholds(trace, compiled, watch=watch))
    objectives, violations = watch["validation"].evaluate(mixture.member_scores(other.X).T)
    assert mixture.objectives["validation"] == pytest.approx(mixture.weights @ objectives)
    np.testing.assert_allclose(mixture.violations["validation"], mixture.weights @ violations)


def test_a_threshold_that_was_asked_for_is_not_moved():
    compiled, trace = played(rb.Problem(rb.error_rate(), [rb.recall(at=0.5) >= 0.5]), drawn(0))
    assert with_moved_thresholds(trace, compiled) is trace


def test_few_iterates_stand_for_many():
    compiled, trace = played(rb.Problem(rb.error_rate(), PROMISES["cap"]), drawn(0), keep=rb.Keep(1))
    few = with_moved_thresholds(trace, compiled, at_most=1)
    assert set(few.round[few.at[:, 0] != 0]) == {12}  # the last


def test_another_games_candidates_stand_beside():
    rows = drawn(0)
    compiled, trace = played(rb.Problem(rb.error_rate(), PROMISES["cap"]), rows)
    _, plain = played(rb.Problem(rb.error_rate()), rows)
    both = beside(trace, judged_on(plain, compiled))
    assert len(both) == len(trace) + len(plain)
    scores = both.scorer.scores(both.parameters, rows.X)
    objectives, violations = compiled.evaluate(scores)
    np.testing.assert_allclose(both.objectives, objectives)
    np.testing.assert_allclose(both.violations, violations)
    assert rb.shrink(both).objectives["train"] <= rb.shrink(trace).objectives["train"] + 1e-9


def test_a_threshold_that_stays_is_no_candidate_of_its_own():
    rows = rb.Population([[-1.0], [1.0]] * 10, [0, 1] * 10)
    compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.6]), rows)
    trace = rb.play(compiled, rb.Linear(0.1, dtype="float64"), rounds=5, batch_size=None)
    moved = with_moved_thresholds(trace, compiled)  # here 0 is midway between the two scores
    assert len(moved.iterates) == len(trace)
    assert rb.average(moved).weights == pytest.approx(rb.average(trace).weights)


def test_rows_are_ranked_alike_in_either_precision():
    compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(None, [0, 1] * 500))
    draw = np.random.default_rng(0)
    scores = np.concatenate([draw.normal(size=900), draw.integers(-2, 3, 96), [0.0, -0.0, 1e-45, 3e38]])
    single = draw.permutation(scores).astype(np.float32)
    for groups in (np.zeros(1000, dtype=int), draw.integers(3, size=1000)):
        own, double = (candidates_of(compiled, s[None], groups) for s in (single, single.astype(float)))
        np.testing.assert_array_equal(own.scores, double.scores)
        np.testing.assert_array_equal(own.stops, double.stops)
        np.testing.assert_array_equal(own.starts, double.starts)
        each = np.arange(len(own.stops))
        np.testing.assert_array_equal(own.at(each), double.at(each))
