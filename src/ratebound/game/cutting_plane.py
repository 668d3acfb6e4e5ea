"""Cutting planes: the λ-player for oracles, which need few answers but make each of them a whole fit.

For λ >= 0 the dual is the best value of the Lagrangian, d(λ) = min_θ f(θ) + λ·g(θ). It is concave, and
the iterates so far bound it from above, d(λ) <= min_t f_t + λ·g_t. The λ at which this model is largest,
with Σλ <= R, are the prices of the constraints in the linear program

    min_{p, t >= 0}  f·p + R·t   with  Gᵀp <= t,  Σp = 1,

the best mixture of the iterates when a worst violation of t is fined R·t. That is where the model knows
least, so the next λ lies between it and the best λ so far (Wentges' smoothing). Once an answer tells the
model nothing new at its own λ, the next is the program's own: if nothing new comes there either, the
mixture is the best there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.base.checks import check_number
from ratebound.base.linear_program import worst_violation
from ratebound.base.solver import Unsolved, solve, weights_of

Array = NDArray[Any]
LEAST_WEIGHT = 1e-6  # of the objective; below it, dividing by it leaves few digits of a bound
NEW = 1e-12  # by how much a new answer must beat the others to tell the model anything


@dataclass(frozen=True)
class CuttingPlane:
    """The multipliers at which the iterates so far say least, for `rb.Oracle`.

    `radius` bounds the sum of the multipliers: what a violation may cost, in units of the objective.
    `smoothing` is how far the next multipliers stay with the best so far, from 0 to 1.

    >>> CuttingPlane().next(np.array([[0.1, 0.2], [0.5, -0.2]]), np.array([[1.0, 0.0], [1.0, 100.0]]))
    array([1. , 0.5])
    """

    radius: float = 100.0
    smoothing: float = 0.5

    def __post_init__(self) -> None:
        check_number("radius", self.radius, above=0)
        check_number("smoothing", self.smoothing, least=0, below=1)

    @property
    def settings(self) -> int:
        return 1

    def next(self, values: Array, tried: Array) -> Array:
        """Weights (1+m,) to answer, after iterates with `values` (N, 1+m) answered `tried` (N, 1+m)."""
        if not len(values):
            return np.eye(tried.shape[1])[0]
        prices = elastic(values, self.radius).weights
        best = tried[np.argmax(lower_bounds(values, tried))]
        at_last = values @ tried[-1]
        told = at_last[-1] < at_last[:-1].min(initial=np.inf) - NEW
        stay = self.smoothing if told else 0.0
        return stay * best + (1 - stay) * prices


@dataclass(frozen=True)
class Elastic:
    """The best mixture of iterates when violations are allowed at a price."""

    value: float  # objective + radius · worst violation
    weights: Array  # (1+m,) 1 and the prices of the constraints


def elastic(values: Array, radius: float) -> Elastic:
    """The linear program above, for objectives and violations `values` (N, 1+m).

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
