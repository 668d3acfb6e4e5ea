"""The linear program that chooses a mixture of candidates, and the pool that prices are computed from.

If the goal is not a sum of rates, the reductions in ``problem/reductions`` always need the same:
minimise the largest of a few sums of the pieces, while the constraints are met as well as possible.
A pool holds the columns of a program as numbers alone: enough to compute the cost of other bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ratebound._old.base.linear_program import (
    LeastViolation,
    Lowest,
    granted,
    largest_program,
    least_violation,
    mixture_prices,
)
from ratebound._old.base.solver import Unsolved, polished, weights_of
from ratebound._old.base.types import Array
from ratebound._old.problem.reductions.goal import Answer, NonlinearObjective, Solved


def best_goal_mixture(
    goal: NonlinearObjective, pieces: Array, violations: Array, scale: Array | float = 1.0
) -> tuple[Array, LeastViolation, Solved]:
    """Weights (N,) of the best mixture of N candidates with `pieces` (N, q) and `violations` (N, m).

    Like `rb.shrink`, it has few members. It is the best among mixtures with the least worst violation.
    """
    H, one = violations / np.asarray(scale), np.zeros(len(pieces), dtype=int)
    least = least_violation(violations, scale)

    def program(slopes: Array, constants: Array) -> Answer:
        lowest = largest_program(pieces @ slopes.T, constants, H, least, one)
        weights = _weights(lowest, H, least, one)
        reached = weights @ pieces
        return Answer(reached, lowest.least, lowest.shares, lowest.prices / np.asarray(scale), weights)

    try:
        if least.unsolved:
            raise Unsolved(least.unsolved)
        solved = goal.solved(program, goal.weights(pieces.mean(axis=0)))
    except Unsolved as error:
        least = replace(least, unsolved=str(error))
        return _best_alone(goal, pieces, H), least, _unsolved(goal, pieces.mean(axis=0), H.shape[1])
    return solved.mixture, least, solved


def _weights(lowest: Lowest, H: Array, least: LeastViolation, groups: Array) -> Array:
    if len(lowest.shares) == 1:
        return polished(lowest.vertex, H, least.violation, granted(least), groups)
    return weights_of(lowest.vertex, groups)


def _best_alone(goal: NonlinearObjective, pieces: Array, H: Array) -> Array:
    """All weight on the candidate with the least violation; the best goal breaks ties."""
    worst = np.max(H, axis=1, initial=0.0)
    return np.eye(len(pieces))[np.lexsort((goal.value(pieces), worst))[0]]


def _unsolved(goal: NonlinearObjective, pieces: Array, promises: int) -> Solved:
    value, nothing = float(goal.value(pieces)), np.full(promises, np.nan)
    return Solved(pieces, value, -np.inf, goal.weights(pieces), nothing, None)


@dataclass(frozen=True, eq=False)
class Pool:
    """Columns of a linear program over mixtures; in each group their weights sum to 1.

    Models and rows are not needed, so a pool is small and outlives both. If the objective is not a sum
    of rates, its tangent at the best mixture replaces it. That is correct for prices at the current
    bounds, but not at others.
    """

    objectives: Array  # (k,)
    violations: Array  # (k, m), feasible if <= 0
    groups: Array  # (k,) from 0; mixtures of whole models are one group
    scale: Array | float  # (m,) the units in which violations are compared
    prices: Array | None = None  # (m,) the gain from relaxing each, per unit of its violation, if known
    margins: Array | float = 0.0  # (m,) included in the violations
    watched: dict[str, Array] = field(default_factory=dict)  # (k,) objectives on other populations

    def paid(self) -> Array:
        """The price of each constraint (m,); NaN if they cannot all be kept."""
        if self.prices is not None:
            return self.prices
        return mixture_prices(self.objectives, self.violations, self.scale)
