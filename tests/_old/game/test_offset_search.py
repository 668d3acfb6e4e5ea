"""The cheapest offsets, against every pattern of decisions that offsets can produce."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratebound._old.game.offset_search import costs_at, descended, proven
from ratebound._old.problem.deciding import decided

PLENTY = 10**7


def patterns(scores):
    """Every pattern of decisions (n,) that some offsets produce, row by row.

    Offsets that decide row i as d exceed each other by less than its scores do; there are such offsets
    as long as no cycle of differences sums to 0 or less (Floyd and Warshall).
    """
    classes, rows = scores.shape
    possible = []

    def extended(room, chosen):
        if len(chosen) == rows:
            possible.append(chosen)
            return
        for d in range(classes):
            own = room.copy()
            for e in range(classes):
                if e != d:
                    own[d, e] = min(own[d, e], scores[d, len(chosen)] - scores[e, len(chosen)])
            for k in range(classes):
                own = np.minimum(own, own[:, k, None] + own[None, k])
            if np.diag(own).min() > -1e-12 and all(
                own[d, e] + own[e, d] > 1e-9 for d in range(classes) for e in range(d)
            ):
                extended(own, [*chosen, d])

    start = np.full((classes, classes), np.inf)
    np.fill_diagonal(start, 0.0)
    extended(start, [])
    return np.array(possible)


def least(scores, costs):
    """The least cost of any pattern."""
    return min(costs[each, np.arange(costs.shape[1])].sum() for each in patterns(scores))


def drawn(seed, classes, rows, kind):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(classes, rows))
    if kind == "errors":
        return scores, (rng.integers(0, classes, rows) != np.arange(classes)[:, None]).astype(float)
    if kind == "ties":
        return np.round(scores), rng.normal(size=(classes, rows))
    if kind == "tenths":  # their differences are equal up to rounding
        return np.round(scores, 1), rng.normal(size=(classes, rows))
    return scores, rng.normal(size=(classes, rows))


@pytest.mark.parametrize("kind", ["costs", "errors", "ties", "tenths"])
@pytest.mark.parametrize(("classes", "rows"), [(2, 12), (3, 4), (3, 9), (3, 12), (4, 6)])
def test_they_are_the_best_of_all_patterns(classes, rows, kind):
    for seed in range(4):
        scores, costs = drawn(seed, classes, rows, kind)
        cheapest = proven(scores, costs, np.zeros(classes), PLENTY)
        assert cheapest.bound == cheapest.cost
        np.testing.assert_allclose(cheapest.cost, least(scores, costs), atol=1e-9)
        np.testing.assert_allclose(costs_at(scores, costs, cheapest.offsets[None])[0], cheapest.cost)


@pytest.mark.parametrize("work", [1, 50, 500, 5000])
def test_a_bound_is_a_bound_however_little_work_is_done(work):
    for seed in range(6):
        scores, costs = drawn(seed, 3, 60, "costs")
        best = proven(scores, costs, np.zeros(3), PLENTY)
        cheapest = proven(scores, costs, np.zeros(3), work)
        assert best.bound == best.cost
        assert cheapest.bound <= best.cost + 1e-9
        assert cheapest.cost >= best.cost - 1e-9


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 40), st.booleans())
def test_no_single_offset_can_be_improved(seed, classes, rows, rounded):
    scores, costs = drawn(seed, classes, rows, "ties" if rounded else "costs")
    starts = np.random.default_rng(seed).normal(size=(3, classes))
    starts[0] = np.where(np.arange(classes) == seed % classes, 0.0, np.inf)
    moved = descended(scores, costs, starts)
    before, after = costs_at(scores, costs, starts), costs_at(scores, costs, moved)
    assert (after <= before + 1e-9).all()
    assert np.isfinite(moved).any(axis=1).all()
    assert (moved > -np.inf).all()
    for at, paid in zip(moved, after, strict=True):
        for each in range(classes):
            others = scores - at[:, None]
            others[each] = -np.inf
            if not np.isfinite(others.max()):
                continue
            ends = np.unique((scores[each] - others.max(axis=0)).round(9))
            tried = np.concatenate([[ends[0] - 1], ends[:-1] / 2 + ends[1:] / 2, [ends[-1] + 1]])
            moved = np.repeat(at[None], len(tried), axis=0)
            moved[:, each] = tried
            assert costs_at(scores, costs, moved).min() >= paid - 1e-9


def test_two_classes_are_a_threshold():
    scores, costs = drawn(3, 2, 200, "costs")
    cheapest = proven(scores, costs, np.zeros(2), PLENTY)
    order = np.argsort(scores[0] - scores[1])
    total = np.append(0.0, np.cumsum((costs[1] - costs[0])[order]))
    np.testing.assert_allclose(cheapest.bound, costs[0].sum() + total.min())


def test_scores_that_rounding_could_swap_stay_together():
    scores = np.array([[0.0, 0.0, 0.0, 0.0], [0.5, 0.5 + 1e-9, 0.7, 0.1], [-9.0] * 4])
    costs = np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0], [5.0] * 4])
    sharp, blunt = (descended(scores, costs, np.zeros((1, 3)), apart) for apart in (0.0, 1e-6))
    assert costs_at(scores, costs, sharp)[0] == 0.0
    assert costs_at(scores, costs, blunt)[0] == 1.0
    together = decided((scores - blunt[0][:, None])[None])[0]
    assert together[0] == together[1]
