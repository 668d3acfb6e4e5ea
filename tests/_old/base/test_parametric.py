"""The best objective by one bound, against another solver at many bounds and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ratebound._old.base.parametric import curve


def best(f, H, groups, indices, room):
    """By interior points; infinite if no mixture keeps all constraints."""
    right = np.where(np.isin(np.arange(H.shape[1]), indices), room, 0.0)
    sums = (groups == np.arange(groups.max() + 1)[:, None]).astype(float)
    solved = linprog(f, H.T, right, sums, np.ones(len(sums)), method="highs-ipm")
    return solved.fun if solved.status == 0 else np.inf


def drawn(seed, count, m, group_count):
    rng = np.random.default_rng(seed)
    groups = np.append(np.arange(group_count), rng.integers(group_count, size=count))
    return rng.normal(size=len(groups)), rng.normal(size=(len(groups), m)) - 0.3, groups


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_it_is_what_another_solver_finds_at_every_bound(seed, count, m, group_count, several):
    f, H, groups = drawn(seed, count, m, group_count)
    indices = list(range((m + 1) // 2)) if several else [0]
    traced = curve(f, H, groups, indices)
    if not len(traced.rooms):
        assert best(f, H, groups, indices, 100.0) == np.inf
        return
    assert traced.exact
    rooms = np.linspace(traced.rooms[0] + 1e-6, traced.rooms[-1] + 0.5, 9)
    expected = [best(f, H, groups, indices, room) for room in rooms]
    np.testing.assert_allclose(np.interp(rooms, traced.rooms, traced.objectives), expected, atol=1e-6)
    assert best(f, H, groups, indices, traced.rooms[0] - 1e-4) == np.inf
    slopes = np.diff(traced.objectives) / np.diff(traced.rooms)
    assert (slopes < 1e-9).all()  # it falls
    assert (np.diff(slopes) > -1e-6).all()  # less and less
    np.testing.assert_allclose(traced.weights @ f, traced.objectives, atol=1e-8)
    assert (traced.weights @ np.delete(H, indices, axis=1) <= 1e-8).all()
    np.testing.assert_allclose((traced.weights @ H[:, indices]).max(axis=1), traced.rooms, atol=1e-6)


@pytest.mark.parametrize(
    ("f", "H", "rooms", "objectives", "price"),
    [
        ([0.0, 1.0, 3.0], [0.5, 0.0, -0.5], [-0.5, 0.0, 0.5], [3.0, 1.0, 0.0], 2.0),
        ([0.0, 1.0], [-0.2, -0.4], [-0.4, -0.2], [1.0, 0.0], 0.0),  # kept with a margin
        ([0.0, 1.0], [0.4, 0.2], [0.2, 0.4], [1.0, 0.0], np.nan),  # not kept at all
        ([1.0, 1.0], [0.4, -0.2], [-0.2], [1.0], 0.0),  # a promise that costs nothing
        ([0.0, 2.0, 1.0], [0.5, -0.5, 0.0], [-0.5, 0.5], [2.0, 0.0], 2.0),  # one of them on the line
    ],
)
def test_by_hand(f, H, rooms, objectives, price):
    traced = curve(np.array(f), np.array(H)[:, None], np.zeros(len(f), dtype=int), [0])
    np.testing.assert_allclose(traced.rooms, rooms, atol=1e-8)
    np.testing.assert_allclose(traced.objectives, objectives, atol=1e-8)
    np.testing.assert_allclose(traced.price, price, atol=1e-6)


def test_where_the_others_cannot_be_kept_there_is_no_curve():
    H = np.array([[0.1, 0.3], [-0.1, 0.1]])
    traced = curve(np.array([0.0, 1.0]), H, np.zeros(2, dtype=int), [0])
    assert not len(traced.rooms)
    assert np.isnan(traced.price)


def test_with_few_programs_it_lies_above_and_touches():
    f, H, groups = drawn(3, 200, 3, 1)
    whole, rough = curve(f, H, groups, [0]), curve(f, H, groups, 0, programs=1)
    assert whole.exact
    assert not rough.exact
    at = np.linspace(whole.rooms[0], whole.rooms[-1], 50)
    above = np.interp(at, rough.rooms, rough.objectives) - np.interp(at, whole.rooms, whole.objectives)
    assert above.min() > -1e-8
    exact = np.interp(rough.rooms, whole.rooms, whole.objectives)
    np.testing.assert_allclose(rough.objectives, exact, atol=1e-8)
