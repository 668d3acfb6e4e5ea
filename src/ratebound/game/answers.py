"""What an oracle has answered so far, and what the answers prove.

For λ >= 0 the dual is the best value of the Lagrangian, d(λ) = min_θ f(θ) + λ·g(θ). It is concave, and
the answers so far bound it from above, d(λ) <= min_t f_t + λ·g_t. Each answer to a λ also bounds from
below what any mixture that keeps the constraints can reach. Between the two lies the duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound.base.linear_program import worst_violation
from ratebound.base.solver import Unsolved, solve, weights_of
from ratebound.base.types import Array

LEAST_WEIGHT = 1e-6  # of the objective; below it, dividing by it leaves few digits of a bound
NEW = 1e-12  # by how much a new answer must beat the others to tell anything


@dataclass(frozen=True)
class Answers:
    """All fits so far, round by round, in the units in which games are played."""

    values: Array  # (N, 1+m) of each fit: objective, violations
    tried: Array  # (N, 1+m) the weights each of them answered

    def __len__(self) -> int:
        return len(self.values)

    def and_also(self, values: Array, weights: Array) -> Answers:
        """With one more round: fits with `values` (K, 1+m) to `weights` (K, 1+m)."""
        return Answers(np.vstack([self.values, values]), np.vstack([self.tried, weights]))

    def best(self, weights: Array) -> Array:
        """Which fit answers each setting's weights (K, 1+m) best, (K,): the latest, or one before it.

        An oracle need not be exact, so an earlier fit may have a lower Lagrangian at these weights.
        """
        settings = len(weights)
        fits = np.arange(len(self)).reshape(-1, settings).T  # (K, rounds)
        lagrangians = (self.values[fits] @ weights[:, :, None])[:, :, 0]
        beaten = lagrangians.min(axis=1) < lagrangians[:, -1] - NEW
        earlier = fits[np.arange(settings), lagrangians.argmin(axis=1)]
        best: Array = np.where(beaten, earlier, fits[:, -1])
        return best

    def gap(self, radius: float) -> float:
        """How far the best mixture may be from the best there is, violations fined by `radius`."""
        inside = self.tried[:, 1:].sum(axis=1) <= radius * self.tried[:, 0] * (1 + 1e-9)
        lower = lower_bounds(self.values, self.tried[inside]).max(initial=-np.inf)
        return elastic(self.values, radius).value - float(lower)


def no_answers(constraints: int) -> Answers:
    """Before the first round."""
    none = np.empty((0, 1 + constraints))
    return Answers(none, none)


@dataclass(frozen=True)
class Elastic:
    """The best mixture of iterates when violations are allowed at a price."""

    value: float  # objective + radius · worst violation
    weights: Array  # (1+m,) 1 and the prices of the constraints


def elastic(values: Array, radius: float) -> Elastic:
    """The best mixture of iterates with `values` (N, 1+m), a worst violation of t fined by radius · t.

    Its prices are the λ, with Σλ <= radius, at which the upper bound on the dual is largest:

        min_{p, t >= 0}  f·p + radius·t   with  Gᵀp <= t,  Σp = 1

    >>> elastic(np.array([[0.1, 0.2], [0.5, -0.2]]), radius=10.0)
    Elastic(value=0.3, weights=array([1., 1.]))
    """
    count, m = len(values), values.shape[1] - 1
    if m == 0:
        return Elastic(float(values.min()), np.ones(1))
    A = np.column_stack([values[:, 1:].T, -np.ones(m)])
    try:
        solved = solve(np.append(values[:, 0], radius), A, np.zeros(m), np.zeros(count, dtype=int))
    except Unsolved:  # the best iterate alone, and no prices
        fined = values[:, 0] + radius * worst_violation(values[:, 1:])
        return Elastic(float(fined.min()), np.eye(1 + m)[0])
    weights = weights_of(solved, np.zeros(count, dtype=int))
    value = weights @ values[:, 0] + radius * worst_violation(weights @ values[:, 1:])
    return Elastic(float(value), np.append(1.0, solved.prices))


def lower_bounds(values: Array, tried: Array) -> Array:
    """What no mixture that keeps the constraints has an objective below, for each of `tried` (T, 1+m).

    By weak duality: there λ·g <= 0, so the objective is at least the Lagrangian's least value over all
    models, taken here over those with `values` (N, 1+m); -inf where the objective hardly counts.

    >>> lower_bounds(np.array([[0.1, 0.2], [0.5, -0.2]]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([0.1, 0.3])
    """
    least = (tried @ values.T).min(axis=1)
    counts = tried[:, 0] >= LEAST_WEIGHT
    return np.where(counts, least / np.where(counts, tried[:, 0], 1.0), -np.inf)
