"""What any classifier could do on these rows, by linear programming.

A classifier that saw everything, even the labels, could decide any share of the rows in each cell in any
way. No classifier can do more, as far as the rates show. So each cell is a choice between decisions,
made with weights that sum to 1. The programs of `base/linear_program.py` give the least violation and
the least objective of any classifier. If rates are taken at several thresholds, the shares at each are
treated as independent. Then "impossible" is still proved, but "possible" is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound._old.base.linear_program import (
    LeastViolation,
    best_program,
    judged,
    least_program,
    prices_of,
)
from ratebound._old.base.solver import Unsolved, Vertex, weights_of
from ratebound._old.base.types import Array
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.reductions.goal import choices


@dataclass(frozen=True)
class LeastPrice:
    """The least objective of any classifier, with and without the constraints, and what each adds."""

    objective: float  # under the constraints
    free: float  # without them
    prices: tuple[float, ...]  # (m,) by how much `objective` would fall, per unit that each is relaxed


@dataclass(frozen=True, eq=False)
class AnyClassifier:
    """Everything that classifiers could do: for every cell each of D decisions, and what it adds."""

    objectives: Array  # (k * D,)
    violations: Array  # (k * D, m) in units
    groups: Array  # (k * D,) the cell
    scale: Array  # (m,) the units

    @staticmethod
    def on(compiled: Compiled) -> AnyClassifier:
        """Everything that classifiers could do on the rows of a compiled problem."""
        values, groups = choices(compiled)
        scale = compiled.scale[1:]
        return AnyClassifier(values[:, 0], values[:, 1:] / scale, groups, scale)

    def least(self, room: Array, elastic: Array) -> LeastViolation:
        """The least t at which some classifier has violations of at most ``room + elastic * t``."""
        most = float(np.abs(self.violations).sum(axis=0).max(initial=1.0))
        try:
            vertex = least_program(self.violations, room, elastic, most, self.groups)
        except Unsolved as error:  # then nothing is proved
            return LeastViolation(0.0, np.zeros(len(room)), np.zeros(len(room)), str(error))
        return judged(vertex, self.violations, room, elastic, self.groups)

    def price(self, least: LeastViolation) -> LeastPrice | None:
        """The least objective with violations of at most `least`; None if the solver fails.

        >>> from ratebound._old import Population, Problem, compile, error_rate, positive_rate
        >>> problem = Problem(error_rate(), [positive_rate() <= 0.25])
        >>> everything = AnyClassifier.on(compile(problem, Population(None, [0, 1, 1, 1])))
        >>> least = everything.price(everything.least(np.zeros(1), np.ones(1)))
        >>> round(least.objective, 6), least.free, np.round(least.prices, 6).tolist()
        (0.5, 0.0, [1.0])
        """

        def relaxed(room: Array) -> Vertex:
            return best_program(self.objectives, self.violations, least, self.groups, room)

        lowest = np.full(int(self.groups.max()) + 1, np.inf)
        np.minimum.at(lowest, self.groups, self.objectives)
        try:
            vertex = relaxed(np.zeros(len(self.scale)))
            prices = prices_of(vertex, relaxed) / self.scale
        except Unsolved:
            return None
        objective = float(weights_of(vertex, self.groups) @ self.objectives)
        return LeastPrice(
            max(objective, float(lowest.sum())), float(lowest.sum()), tuple(prices.tolist())
        )
