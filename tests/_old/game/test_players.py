"""The λ-players against independent solvers, and against the regret bounds that the paper proves.

Projections are compared with bisection and SLSQP, stationary distributions with elimination in exact
fractions, and regrets are measured in full on adversarial sequences.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

import ratebound._old as rb
from ratebound._old.game.players import project_onto_ball
from ratebound._old.kernels.swap import stationary_distribution

from ..extras import torch
from ..kernels.swap_matrices import peaked

calm = settings(derandomize=True, deadline=None, max_examples=60)
KINDS = {"numpy": np.asarray, "torch": lambda values: torch.as_tensor(np.asarray(values))}
PLAYERS = (rb.ExternalRegret, rb.Lagrangian, rb.SwapRegret)


# --- the projection ------------------------------------------------------------------------------


def by_bisection(vector, radius):
    """The projection, from the number by which all entries are lowered."""
    if np.maximum(vector, 0).sum() <= radius:
        return np.maximum(vector, 0)
    low, high = 0.0, vector.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(vector - middle, 0).sum() > radius else (low, middle)
    return np.maximum(vector - low, 0)


vectors = st.integers(1, 12).flatmap(lambda m: arrays(float, m, elements=st.floats(-50, 50)))


@calm
@given(vectors, st.floats(0.01, 60))
def test_projection_equals_bisection(vector, radius):
    np.testing.assert_allclose(
        project_onto_ball(vector, radius), by_bisection(vector, radius), atol=1e-9
    )


@pytest.mark.parametrize("seed", range(5))
def test_projection_equals_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    vector, radius = rng.normal(size=5), 0.8
    solved = minimize(
        lambda x: ((x - vector) ** 2).sum(),
        np.full(5, 0.1),
        bounds=[(0, None)] * 5,
        constraints={"type": "ineq", "fun": lambda x: radius - x.sum()},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(project_onto_ball(vector, radius), solved.x, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_projection_of_a_stack_is_the_stack_of_projections(kind):
    stack = np.random.default_rng(0).normal(scale=3, size=(4, 3, 6))
    projected = np.asarray(project_onto_ball(KINDS[kind](stack), 2.0))
    for index in np.ndindex(4, 3):
        np.testing.assert_allclose(projected[index], by_bisection(stack[index], 2.0), atol=1e-12)


# --- the stationary distribution -----------------------------------------------------------------


def exact_stationary(matrix):
    """By the elimination of Grassmann, Taksar and Heyman, in fractions, without any rounding."""
    size = len(matrix)
    flow = [[Fraction(float(matrix[j, i])) for j in range(size)] for i in range(size)]  # from i to j
    out = [Fraction(0)] * size
    for n in range(size - 1, 0, -1):
        out[n] = sum(flow[n][:n])
        for i in range(n):
            for j in range(n):
                if i != j:
                    flow[i][j] += flow[i][n] * flow[n][j] / out[n]
    weights = [Fraction(1)]
    for n in range(1, size):
        weights.append(sum(weights[i] * flow[i][n] for i in range(n)) / out[n])
    return np.array([float(x / sum(weights)) for x in weights])


@pytest.mark.parametrize("how", ["spread", "identity", "cycle", "floor", "blocks"])
@pytest.mark.parametrize("constraints", [1, 2, 5, 10, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_stationary_distribution_is_the_exact_one(kind, constraints, how):
    stack = np.stack([peaked(constraints + 1, seed, how) for seed in range(3)])
    distributions = np.asarray(stationary_distribution(KINDS[kind](stack)))
    assert distributions.min() >= 0
    np.testing.assert_allclose(distributions.sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", stack, distributions), distributions, atol=1e-9)
    for matrix, own in zip(stack, distributions, strict=True):
        np.testing.assert_allclose(own, exact_stationary(matrix), atol=1e-6)


def test_without_constraints_the_objective_has_all_the_weight():
    for player in (rb.SwapRegret(), rb.ExternalRegret()):
        multipliers = player.start(0)
        np.testing.assert_array_equal(multipliers.weights, [1.0])
        np.testing.assert_array_equal(player.step(multipliers, np.zeros(0)).weights, [1.0])


# --- regret --------------------------------------------------------------------------------------


def adversary(name, each, m):
    """A function from the round, the weights (m,) and the past (t, m) to violations within ±`each`."""
    rng = np.random.default_rng(m)

    def greedy(t, weights, past):
        """Whatever raises today's regret most: up with the best so far, down with the rest held."""
        best = np.argmax(past.sum(axis=0)) if t else 0
        return np.where((np.arange(m) == best) & (weights <= weights.mean()), each, -each)

    return {
        "random": lambda t, weights, past: rng.uniform(-each, each, size=m),
        "alternating": lambda t, weights, past: np.full(m, each if t % 2 else -each),
        "one-sided": lambda t, weights, past: np.full(m, each),
        "never": lambda t, weights, past: np.full(m, -each),
        "turns": lambda t, weights, past: each * np.sign(np.sin(t / 37 + np.arange(m))),
        "against": lambda t, weights, past: np.where(weights <= np.median(weights), each, -each),
        "greedy": greedy,
    }[name]


ADVERSARIES = ("random", "alternating", "one-sided", "never", "turns", "against", "greedy")


def game_of(player, name, *, m, rounds, bound, each):
    """Weights (T, 1+m) before each round, and the violations (T, m), within ±`each`, that followed."""
    answer = adversary(name, each, m)
    multipliers = player.start(m, rounds=rounds, bound=bound)
    weights, shown = np.zeros((rounds, 1 + m)), np.zeros((rounds, m))
    for t in range(rounds):
        weights[t] = multipliers.weights
        shown[t] = answer(t, weights[t, 1:], shown[:t])
        multipliers = player.step(multipliers, shown[t])
    return weights, shown


@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize(
    ("m", "rounds", "radius", "bound"), [(1, 50, 1, 1), (4, 400, 10, 0.3), (9, 200, 2, 5)]
)
@pytest.mark.parametrize("kind", [rb.ExternalRegret, rb.Lagrangian])
def test_external_regret_is_within_its_bound(kind, m, rounds, radius, bound, name):
    player = kind("theorem", "sgd", radius=radius)
    weights, shown = game_of(player, name, m=m, rounds=rounds, bound=bound, each=bound / math.sqrt(m))
    earned = (weights[:, 1:] * shown).sum(axis=1).mean()
    best = radius * max(shown.mean(axis=0).max(), 0)  # of all fixed multipliers in the ball
    assert best - earned <= radius * bound * math.sqrt(2 / rounds) + 1e-12


@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize(
    ("m", "rounds", "bound"), [(1, 50, 1), (2, 100, 0.2), (4, 400, 0.3), (9, 300, 5)]
)
def test_swap_regret_is_within_its_bound(m, rounds, bound, name):
    player = rb.SwapRegret("theorem", "sgd")
    weights, shown = game_of(player, name, m=m, rounds=rounds, bound=bound, each=bound)
    gains = np.column_stack([np.zeros(rounds), shown])
    earned = (weights * gains).sum(axis=1).mean()
    # The best swap sends all weight of action j to one action i: the best of each column.
    best = (gains.T @ weights / rounds).max(axis=0).sum()
    assert best - earned <= 2 * bound * math.sqrt((m + 1) * math.log(m + 1) / rounds) + 1e-12


def test_long_one_sided_play_meets_the_floor_of_the_swap_matrix_and_comes_back():
    """After thousands of rounds one way, the matrix is as peaked as possible; λ must still follow."""
    player = rb.SwapRegret(0.5, "sgd")
    multipliers = player.start(2)
    for _ in range(2000):
        multipliers = player.step(multipliers, np.array([1.0, -1.0]))
    assert multipliers.weights[1] > 0.999
    for _ in range(20_000):
        multipliers = player.step(multipliers, np.array([-1.0, -1.0]))
        if multipliers.weights[0] > 0.9:
            break
    assert multipliers.weights[0] > 0.9


# --- settings side by side, kinds of array, arguments --------------------------------------------


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("kind", PLAYERS)
def test_settings_side_by_side_equal_each_alone(kind, optimizer):
    rates, m = (0.01, 0.3, 2.0), 3
    violations = np.random.default_rng(1).normal(size=(40, len(rates), m))
    together = kind(rates, optimizer).start(m, settings=len(rates))
    alone = [kind(rate, optimizer).start(m) for rate in rates]
    for shown in violations:
        together = kind(rates, optimizer).step(together, shown)
        alone = [kind(r, optimizer).step(a, s) for r, a, s in zip(rates, alone, shown, strict=True)]
    assert kind(rates).settings == len(rates)
    for k, one in enumerate(alone):
        np.testing.assert_allclose(together.weights[k], one.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("kind", PLAYERS)
def test_torch_plays_as_numpy_does(kind, optimizer):
    player = kind(0.2, optimizer)
    ours, theirs = player.start(4, settings=2), player.start(4, settings=2, like=torch.zeros(1))
    for shown in np.random.default_rng(2).normal(size=(30, 2, 4)):
        ours, theirs = player.step(ours, shown), player.step(theirs, torch.as_tensor(shown))
    assert isinstance(theirs.weights, torch.Tensor)
    np.testing.assert_allclose(theirs.weights.numpy(), ours.weights, rtol=1e-9, atol=1e-12)


def test_a_step_gives_back_new_multipliers_and_leaves_the_old():
    for kind in PLAYERS:
        player = kind(0.5)
        first = player.start(2)
        before = first.weights.copy(), first.state.copy()
        second = player.step(first, np.array([1.0, -1.0]))
        np.testing.assert_array_equal(first.weights, before[0])
        np.testing.assert_array_equal(first.state, before[1])
        assert (first.steps, second.steps) == (0, 1)
        assert not np.array_equal(first.weights, second.weights)


def test_swap_regret_starts_uniform_or_where_it_is_told():
    np.testing.assert_allclose(rb.SwapRegret().start(3).weights, 0.25)
    told = rb.SwapRegret(objective_weight=0.7).start(3).weights
    np.testing.assert_allclose(told, [0.7, 0.1, 0.1, 0.1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: rb.ExternalRegret(learning_rate=0), "positive"),
        (lambda: rb.ExternalRegret(learning_rate=-1.0), "positive"),
        (lambda: rb.SwapRegret(learning_rate=[0.1, float("nan")]), "positive"),
        (lambda: rb.SwapRegret(learning_rate=float("inf")), "positive"),
        (lambda: rb.SwapRegret(learning_rate=[]), "learning rate"),
        (lambda: rb.SwapRegret(optimizer="rmsprop"), "optimizer must be one of sgd, adam"),
        (lambda: rb.SwapRegret(learning_rate="theorem"), "sgd"),
        (lambda: rb.ExternalRegret(radius=0), "radius"),
        (lambda: rb.Lagrangian(radius=float("nan")), "radius"),
        (lambda: rb.SwapRegret(objective_weight=1.0), "objective_weight"),
        (lambda: rb.SwapRegret("theorem", "sgd").start(2), "rounds= and bound="),
        (lambda: rb.SwapRegret([0.1, 0.2]).start(2), "settings="),
    ],
)
def test_bad_arguments_raise(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("kind", PLAYERS)
@pytest.mark.parametrize("shown", [np.zeros(1), np.zeros(3), np.zeros((2, 4))])
def test_the_wrong_number_of_violations_raises(kind, shown):
    player = kind()
    with pytest.raises(ValueError, match="violations for 2 constraints"):
        player.step(player.start(2), shown)
