"""A linear program over the rules so far finds their best mixture, and which rule to compute next.

    min t + RADIUS · v   with   a_k + s_k·x <= t  for every tangent k,   g + margins <= v,   v >= 0

Here x = Σ p_i x_i are the pieces of the objective, g = Σ p_i g_i the violations, and p are the
shares of rules in the mixture. The dual says at which weights of pieces and constraints least is
known: the best rule there comes next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

RADIUS = 100.0  # what a violation may cost at most, in units of the objective


@dataclass(frozen=True, eq=False)
class Mixture:
    """The best mixture of some rules, and the dual prices that prove it."""

    value: float
    shares: Any  # (N,)
    tangents: Any  # (k,) how much each tangent of the objective counts; they sum to 1
    prices: Any  # (m,) of the constraints


def solve_mixture(heights: Any, violations: Any) -> Mixture:
    """Return the best mixture of N rules.

    `heights` (N, k) of rules on tangents, and their `violations` (N, m), are in units.
    """
    count, tangents = heights.shape
    can_bind = (violations > 0).any(axis=0)
    rows = np.hstack([heights, violations[:, can_bind]]).T
    has_t = np.arange(len(rows)) < tangents
    at_most_0 = np.column_stack([rows, -1.0 * has_t, -1.0 * ~has_t])  # shares, then t and v
    limits = np.zeros(len(rows))
    cost = np.append(np.zeros(count), [1.0, RADIUS])
    sum_of_shares = np.append(np.ones(count), [0.0, 0.0])
    lower = np.zeros(count + 2)
    lower[count] = -np.inf
    bounds = np.column_stack([lower, np.full(count + 2, np.inf)])

    solved = linprog(cost, at_most_0, limits, sum_of_shares[None], [1.0], bounds, method="highs")
    if solved.x is None:
        return take_best_alone(heights, violations)
    duals = np.maximum(-solved.ineqlin.marginals, 0.0)
    of_tangents, of_constraints = np.split(duals, [tangents])
    prices = np.zeros(violations.shape[1])
    prices[can_bind] = of_constraints
    return Mixture(
        value=float(solved.fun),
        shares=np.maximum(solved.x[:count], 0.0),
        tangents=of_tangents / max(of_tangents.sum(), 1e-12),
        prices=prices,
    )


def take_best_alone(heights: Any, violations: Any) -> Mixture:
    """Return the best rule as a mixture of itself, without prices."""
    count, tangents = heights.shape
    worst = violations.max(axis=1, initial=0.0)
    costs = heights.max(axis=1) + RADIUS * worst
    is_best = np.arange(count) == costs.argmin()
    first_tangent = np.eye(tangents)[0]
    no_prices = np.zeros(violations.shape[1])
    return Mixture(float(costs.min()), is_best.astype(float), first_tangent, no_prices)
