"""The paper's Theorems 1 and 2, on problems whose optimum is known in closed form.

Convex: both bounds hold with the regrets as measured, and the averages come close to the optimum.
Not convex: there is no pure equilibrium, single iterates always fail, and the mixture is optimal.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

import ratebound._old as rb
from ratebound._old.solution import shrink_weights


@dataclass(frozen=True)
class Convex:
    """Minimise |θ - target|² / 2 over the unit ball, subject to normals @ θ <= limits.

    With `stepped`, the true constraint i is the step [normals_i @ θ - limits_i > 0] - 1/2, bounded
    from above by the proxy max(normals_i @ θ - limits_i + 1/2, -1/2).
    """

    target: tuple[float, ...]
    normals: tuple[tuple[float, ...], ...]
    limits: tuple[float, ...]
    optimum: float  # of the objective, under the proxies
    stepped: bool = False

    def objective(self, theta):
        return ((theta - np.array(self.target)) ** 2).sum(-1) / 2

    def proxies(self, theta):
        beyond = theta @ np.array(self.normals).T - np.array(self.limits)
        return np.maximum(beyond + 0.5, -0.5) if self.stepped else beyond

    def constraints(self, theta):
        beyond = theta @ np.array(self.normals).T - np.array(self.limits)
        return (beyond > 0) - 0.5 if self.stepped else beyond

    def gradients(self, theta):
        """The gradients of the objective and of every proxy, (1+m, d)."""
        slopes = np.array(self.normals)
        if self.stepped:
            slopes = slopes * (self.proxies(theta) > -0.5)[:, None]
        return np.vstack([theta - np.array(self.target), slopes])

    def least(self, weights):
        """The infimum over the ball of weights @ (objective, proxies)."""
        start = np.zeros(len(self.target))
        solved = minimize(
            lambda theta: weights[0] * self.objective(theta) + weights[1:] @ self.proxies(theta),
            start,
            jac=lambda theta: weights @ self.gradients(theta),
            constraints={"type": "ineq", "fun": lambda t: 1 - t @ t, "jac": lambda t: -2 * t},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        return solved.fun


PROBLEMS = {
    # Nearest point of a half-plane: the target (.8, 0) is moved to (.3, 0).
    "one": Convex((0.8, 0.0), ((1.0, 0.0),), (0.3,), 0.125),
    # A corner: (.8, .6) is moved to (.2, .1).
    "corner": Convex((0.8, 0.6), ((1.0, 0.0), (0.0, 1.0)), (0.2, 0.1), (0.36 + 0.25) / 2),
    # Two inactive constraints and x + y <= .4, which moves (.6, .6) to (.2, .2).
    "idle": Convex(
        (0.6, 0.6, 0.0), ((1.0, 1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0)), (0.4, 0.5, 0.9), 0.16
    ),
    # Steps: the proxy keeps x <= -.2, while the truth only asks for x <= .3.
    "steps": Convex((0.8, 0.0), ((1.0, 0.0),), (0.3,), 0.5, stepped=True),
}  # fmt: skip


def play(problem, player, rounds, bound):
    """Algorithms 3 and 4 by hand, projected gradients for θ: iterates (T, d) and weights (T, 1+m)."""
    m = len(problem.limits)
    theta, multipliers = np.zeros(len(problem.target)), player.start(m, rounds=rounds, bound=bound)
    thetas, weights = [], []
    radius = getattr(player, "radius", 1.0)  # the largest total weight
    size = 2.0 + (1 + radius) * max(np.linalg.norm(n) for n in problem.normals)
    for _ in range(rounds):
        thetas.append(theta)
        weights.append(multipliers.weights)
        shown = problem.constraints(theta)
        moved = theta - multipliers.weights @ problem.gradients(theta) / (size * math.sqrt(2 * rounds))
        theta = moved / max(1.0, np.linalg.norm(moved))
        multipliers = player.step(multipliers, shown)
    return np.array(thetas), np.array(weights), size


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("rounds", [100, 5000])
def test_theorem_2_swap_regret_with_proxies(name, rounds):
    problem = PROBLEMS[name]
    m, bound = len(problem.limits), 2.0
    thetas, weights, size = play(problem, rb.SwapRegret("theorem", "sgd"), rounds, bound)
    f, G, proxies = problem.objective(thetas), problem.constraints(thetas), problem.proxies(thetas)
    assert abs(G).max() <= bound
    assert (proxies >= G).all()
    mean = weights.mean(axis=0)
    paid = weights[:, 0] * f + (weights[:, 1:] * proxies).sum(axis=1)
    eps_theta = max(paid.mean() - problem.least(mean), 0)
    gains = np.column_stack([np.zeros(rounds), G])
    eps_lambda = (gains.T @ weights / rounds).max(axis=0).sum() - (gains * weights).sum(axis=1).mean()
    assert eps_theta <= size * math.sqrt(2 / rounds)
    assert eps_lambda <= 2 * bound * math.sqrt((m + 1) * math.log(m + 1) / rounds)
    share = weights[:, 0] / weights[:, 0].sum()
    assert share @ f <= problem.optimum + (eps_theta + eps_lambda) / mean[0] + 1e-9
    assert (share @ G).max() <= eps_lambda / mean[0] + 1e-9
    if rounds == 5000:  # and the bounds are not vacuous
        assert (eps_theta + eps_lambda) / mean[0] < 0.5
        assert share @ f <= problem.optimum + 0.06
        assert (share @ G).max() <= 0.03


@pytest.mark.parametrize("name", ["one", "corner", "idle"])
@pytest.mark.parametrize("rounds", [100, 5000])
def test_theorem_1_external_regret_without_proxies(name, rounds):
    problem, radius = PROBLEMS[name], 2.0
    bound = 2.0 * math.sqrt(len(problem.limits))
    thetas, weights, size = play(
        problem, rb.ExternalRegret("theorem", "sgd", radius=radius), rounds, bound
    )
    f, G = problem.objective(thetas), problem.constraints(thetas)
    assert np.linalg.norm(G, axis=1).max() <= bound
    mean = weights.mean(axis=0)
    most = f.mean() + radius * max(G.mean(axis=0).max(), 0)
    epsilon = most - problem.least(mean)
    assert epsilon <= size * math.sqrt(2 / rounds) + radius * bound * math.sqrt(2 / rounds)
    assert f.mean() <= problem.optimum + epsilon + 1e-9
    room = radius - mean[1:].sum()
    assert room > 0
    assert G.mean(axis=0).max() <= epsilon / room + 1e-9
    if rounds == 5000:
        assert epsilon < 0.5
        assert f.mean() <= problem.optimum + 0.06
        assert G.mean(axis=0).max() <= 0.03


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(
    "player", [rb.SwapRegret("theorem", "sgd"), rb.ExternalRegret("theorem", "sgd", radius=2)]
)
def test_shrinking_is_feasible_and_never_worse_than_the_average(name, player):
    problem = PROBLEMS[name]
    thetas, weights, _ = play(problem, player, 500, 2.0)
    f, G = problem.objective(thetas), problem.constraints(thetas)
    shrunk = shrink_weights(f, G)
    assert (shrunk > 0).sum() <= len(problem.limits) + 1
    assert (shrunk @ G).max() <= 1e-9
    for share in (weights[:, 0] / weights[:, 0].sum(), np.full(500, 1 / 500)):
        if (share @ G).max() <= 0:
            assert shrunk @ f <= share @ f + 1e-9


# --- no pure equilibrium -------------------------------------------------------------------------

GRID = np.linspace(0, 1, 201)
CONCAVE = {
    # Minimise -θ² with θ <= 1/2: one θ reaches -1/4, half of θ = 0 and half of θ = 1 reach -1/2.
    "concave": (-(GRID**2), GRID - 0.5, -0.5, -0.25),
    # Waves under a curved constraint: the best pair of points is found by trying all of them.
    "island": (np.sin(9 * GRID) - GRID, GRID**0.5 - 0.6, None, None),
}  # fmt: skip


def best_mixture(f, g):
    """The lower envelope of (g, f) at g <= 0, by trying every pair of points."""
    best = f[g <= 0].min()
    left, right = np.flatnonzero(g <= 0), np.flatnonzero(g > 0)
    share = g[right][None] / (g[right][None] - g[left][:, None])
    return min(best, (share * f[left][:, None] + (1 - share) * f[right][None]).min())


@pytest.mark.parametrize("name", CONCAVE)
@pytest.mark.parametrize(
    "player", [rb.SwapRegret(0.05, "sgd"), rb.ExternalRegret(0.05, "sgd", radius=20)]
)
def test_without_a_pure_equilibrium_iterates_oscillate_and_the_mixture_is_optimal(name, player):
    """The θ-player answers exactly (Algorithms 1 and 2), so nothing here is a failure to optimise."""
    f, g, optimum, pure = CONCAVE[name]
    optimum = best_mixture(f, g) if optimum is None else optimum
    pure = f[g <= 0].min() if pure is None else pure
    assert optimum == pytest.approx(best_mixture(f, g), abs=1e-12)
    assert optimum < pure - 0.05  # no single model is as good
    multipliers, chosen = player.start(1), []
    for _ in range(3000):
        weights = multipliers.weights
        chosen.append(int(np.argmin(weights[0] * f + weights[1] * g)))
        multipliers = player.step(multipliers, g[chosen[-1:]])
    late = np.array(chosen[1000:])
    assert (np.diff(late) != 0).sum() > 20  # still jumping
    assert abs(g[late]).min() > 0.1  # and never near the boundary, where the optimum lies
    mixed = shrink_weights(f[chosen], g[chosen][:, None])
    assert (mixed > 0).sum() == 2
    assert mixed @ f[chosen] == pytest.approx(optimum, abs=2e-3)
    assert mixed @ g[chosen] <= 1e-12


@pytest.mark.parametrize("player", [rb.SwapRegret(0.1), rb.ExternalRegret(0.02)])
def test_rows_that_look_alike_need_a_mixture(player):
    """One feature, the same for all: models say yes to everyone or no one, and half is required."""
    y = np.arange(100) < 70
    problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.5])
    compiled = rb.compile(problem, rb.Population(np.ones((100, 1)), y))
    trace = rb.play(
        compiled, rb.Linear(0.1), player=player, rounds=400, batch_size=None, keep=rb.Keep(1)
    )
    yes = trace.violations[:, 0] > 0
    assert set(np.unique(trace.violations)) == {-0.5, 0.5}
    assert (np.diff(yes[200:]) != 0).sum() >= 4  # the last iterate is whichever came last
    mixture = rb.shrink(trace)
    np.testing.assert_allclose(np.sort(mixture.weights), [0.5, 0.5], atol=1e-12)
    assert mixture.objectives["train"] == pytest.approx(0.5, abs=1e-12)  # half of .3 and half of .7
    assert mixture.violations["train"] == pytest.approx(0, abs=1e-12)
    assert mixture.status.feasible
