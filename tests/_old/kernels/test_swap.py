"""The swap matrix of many constraints: iterations and compiled loops against the methods they replace.

Distributions are compared with the elimination of Grassmann, Taksar and Heyman, which subtracts nothing
and so is exact in every entry up to rounding; steps with Algorithm 3 as the paper writes it.
"""

import math
from functools import cache

import numpy as np
import pytest

import ratebound._old as rb
from ratebound._old.game.players import Ascending
from ratebound._old.kernels import dispatch, swap
from ratebound._old.kernels.swap import (
    LARGE,
    LOWEST,
    eliminated,
    iterated,
    squared,
    stationary_distribution,
)

from .swap_matrices import peaked

SIZE = 200
PLAIN_OR_COMPILED = ["plain", "compiled"]


def subtraction_free(matrix):
    """The stationary distribution, by elimination of one row after the other without a subtraction."""
    flow = matrix.T.astype(np.longdouble)  # from i to j
    size = len(flow)
    out = np.zeros(size, dtype=flow.dtype)
    for n in range(size - 1, 0, -1):
        out[n] = flow[n, :n].sum()
        flow[:n, :n] += np.outer(flow[:n, n] / out[n], flow[n, :n])
    stationary = np.ones_like(out)
    for n in range(1, size):
        stationary[n] = stationary[:n] @ flow[:n, n] / out[n]
    return (stationary / stationary.sum()).astype(float)


def without_diagonal(matrix):
    flow = matrix.copy()
    np.fill_diagonal(flow, 0)
    return flow, flow.sum(axis=0)


def near(distribution, seed=0):
    moved = distribution * np.exp(0.1 * np.random.default_rng(seed).normal(size=len(distribution)))
    return moved / moved.sum()


@pytest.fixture(params=PLAIN_OR_COMPILED)
def how_fast(request, monkeypatch):
    """Once without numba, and once with it."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(dispatch, "numba_works", lambda: request.param == "compiled")
    return request.param


def extend_of(how_fast):
    return {"extend": swap.extend_compiled} if how_fast == "compiled" else {}


# --- the distribution ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["spread", "identity", "even"])
@pytest.mark.parametrize("start", ["uniform", "near"])
def test_iterations_are_exact_in_every_entry(how_fast, how, start):
    matrix = peaked(SIZE, 0, how)
    exact = subtraction_free(matrix)
    first = np.full(SIZE, 1 / SIZE) if start == "uniform" else near(exact)
    iterate = iterated(*without_diagonal(matrix), first, **extend_of(how_fast))
    np.testing.assert_allclose(iterate, exact, rtol=1e-13)
    # Elimination, which takes over where iterations fail, is not closer.
    assert abs(iterate - exact).max() <= 1e-16 + abs(eliminated(matrix) - exact).max()


@pytest.mark.parametrize("how", ["cycle", "floor", "blocks"])
def test_on_hard_matrices_iterations_are_as_exact_as_elimination_or_give_up(how_fast, how):
    """Such matrices hardly determine their distribution: entries of 1e-9 decide it."""
    for seed in range(3):
        matrix = peaked(SIZE, seed, how)
        exact = subtraction_free(matrix)
        for first in (np.full(SIZE, 1 / SIZE), near(exact)):
            iterate = iterated(*without_diagonal(matrix), first, **extend_of(how_fast))
            if iterate is not None:
                np.testing.assert_allclose(iterate, exact, atol=1e-7)
                np.testing.assert_allclose(matrix @ iterate, iterate, atol=1e-14)


@pytest.mark.parametrize("how", ["spread", "identity", "even", "cycle", "floor"])
def test_powers_are_exact_in_every_entry(how):
    torch = pytest.importorskip("torch")
    matrices = np.stack([peaked(SIZE, seed, how).clip(min=LOWEST) for seed in range(2)])
    for computed in (squared(matrices), squared(torch.from_numpy(matrices)).numpy()):
        for matrix, own in zip(matrices, computed, strict=True):
            np.testing.assert_allclose(own, subtraction_free(matrix), rtol=1e-11)


@pytest.mark.parametrize("rate", [3.0, 5.0, 10.0])
def test_large_steps_leave_a_distribution(how_fast, rate):
    """The equation holds for any multiple of the solution, also for negative ones."""
    player, rng = rb.SwapRegret(learning_rate=rate), np.random.default_rng(18)
    multipliers = player.start(306)
    for _ in range(25):
        multipliers = player.step(multipliers, 0.1 * rng.normal(size=306))
        assert multipliers.weights.min() >= 0
        assert math.isclose(multipliers.weights.sum(), 1, rel_tol=1e-12)


def test_where_iterations_give_up_elimination_takes_over():
    matrix, uniform = peaked(SIZE, 0, "floor"), np.full(SIZE, 1 / SIZE)
    assert iterated(*without_diagonal(matrix), uniform) is None
    computed = stationary_distribution(matrix, uniform)
    np.testing.assert_array_equal(computed, eliminated(matrix))


def test_matrices_side_by_side_each_have_their_distribution():
    stack = np.stack([peaked(LARGE, seed, "spread") for seed in range(6)]).reshape(2, 3, LARGE, LARGE)
    before = stack.copy()
    computed = stationary_distribution(stack, np.full((2, 3, LARGE), 1 / LARGE))
    np.testing.assert_array_equal(stack, before)
    np.testing.assert_allclose(computed, eliminated(stack), rtol=1e-11)


# --- steps ---------------------------------------------------------------------------------------


SHOWN = np.random.default_rng(0).normal(size=(8, 2, SIZE))  # violations of two settings


@cache
def by_the_paper(k, rate, optimizer):
    """Setting k's weights after the steps: multiply, normalise, take the fixed point."""
    size = SIZE + 1
    matrix = np.full((size, size), 1 / size)
    first = second = np.zeros((size, size))
    weights = np.full(size, 1 / size)
    for t, violations in enumerate(SHOWN[:, k], start=1):
        gradient = np.outer([0, *violations], weights)
        if optimizer == "adam":
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            gradient = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        matrix = matrix * np.exp(rate * gradient)
        matrix = np.maximum(matrix / matrix.sum(axis=0), LOWEST)
        weights = subtraction_free(matrix)
    return weights


@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 3.0), ("adam", 0.05), ("adam", 1.0)])
def test_steps_are_those_of_the_paper(how_fast, optimizer, rate):
    rates = rate, rate / 10
    player = rb.SwapRegret(rates, optimizer)
    multipliers = player.start(SIZE, settings=2)
    for violations in SHOWN:
        multipliers = player.step(multipliers, violations)
    for k, own in enumerate(rates):
        np.testing.assert_allclose(multipliers.weights[k], by_the_paper(k, own, optimizer), rtol=1e-9)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("rate", [1e-3, 0.3, 30.0])
def test_a_compiled_step_is_the_plain_one(optimizer, rate):
    """Up to exponents that make the matrix as peaked as possible."""
    pytest.importorskip("numba")
    random, m = np.random.default_rng(0), SIZE
    player = rb.SwapRegret(rate, optimizer)
    plain = compiled = player.start(m)
    for _ in range(4):
        violations = random.normal(size=m)
        held = compiled
        plain, compiled = Ascending.step(player, held, violations), player.step(held, violations)
        # The loops' state is a view of a block; NumPy's state is not.
        assert compiled.state.base is not None
        assert plain.state.base is None
        np.testing.assert_allclose(compiled.state, plain.state, rtol=1e-12)
        np.testing.assert_allclose(compiled.weights, plain.weights, rtol=1e-9, atol=1e-14)
        for ours, theirs in zip(compiled.moments or (), plain.moments or (), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-17)


def test_exponents_out_of_reach_are_left_to_numpy(how_fast):
    player = rb.SwapRegret(1e6, "sgd")
    violations = np.random.default_rng(0).normal(size=SIZE)
    multipliers = player.step(player.start(SIZE), violations)
    assert multipliers.weights.argmax() == 1 + violations.argmax()
    assert multipliers.state.min() == LOWEST
    assert math.isclose(multipliers.weights.sum(), 1)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_large_step_is_a_function_of_its_arguments(how_fast, optimizer):
    """The same bits each time, for read-only arrays too; and no argument changes."""
    player = rb.SwapRegret(0.1, optimizer)
    shown = np.random.default_rng(0).normal(size=(2, 3, SIZE))
    held = player.step(player.start(SIZE, settings=3), shown[0])
    arrays = [held.weights, held.state, *(held.moments or ())]
    before = [array.copy() for array in arrays]
    first = player.step(held, shown[1])
    for array in arrays:
        array.flags.writeable = False
    second = player.step(held, shown[1])
    for array, own in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, own)
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.state, second.state)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_what_is_not_a_number_stays_so(how_fast, optimizer):
    player = rb.SwapRegret(0.1, optimizer)
    violations = np.zeros(SIZE)
    violations[7] = np.nan
    with np.errstate(all="ignore"):
        assert np.isnan(player.step(player.start(SIZE), violations).weights).all()
