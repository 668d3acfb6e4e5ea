"""A ratio plus a sum of rates, as in ``error_rate(decided) + 0.2 * referred()``.

N/D + L is not linear, and if several mixtures are local optima, steps along its slope may end in the
wrong one. But at a fixed D = d it is N/d + L, which is linear. So only d is searched for, with a linear
program for each.

The search is exact. While D is in an interval [a, b], N/D is at least the smaller of N/a and N/b (N/b if
N is never negative). So a program for either, with D kept inside, gives a lower bound for every mixture
there. Intervals whose bound is not better than the best known value are dropped, and the others are
halved. A penalty keeps D inside, as the largest of three affine functions. If the penalty is too small,
the bound is lower than necessary but still valid.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.reductions.goal import Answer, NonlinearObjective, Program, Solved, gathered
from ratebound._old.problem.reductions.ratios import (
    ZERO_DENOMINATOR,
    as_shares,
    lowest_denominator,
)
from ratebound._old.rates.demands import form_of, unscaled
from ratebound._old.rates.expressions import Expression, MixedSum, Ratio

NEAR = 1e-5  # the distance from the best that counts as the best
PROGRAMS = 80  # linear programs at most
PENALTY = 50.0  # for each unit that D is outside
STEPS = 20  # along the slope, at first


def accepts(problem: Problem) -> bool:
    """Whether the objective is a ratio and a sum of rates."""
    return isinstance(problem.objective, MixedSum)


def apply(problem: Problem) -> RatioAndSum:
    """The objective of a problem as a function of three sums, which is minimised."""
    metric = problem.objective
    assert isinstance(metric, MixedSum)
    sign = 1.0 if problem.sense == "minimize" else -1.0
    ratio = as_shares(metric.ratio)
    above, added = sign * ratio.numerator, 0.0
    times, alone = unscaled(metric.ratio)
    if sign < 0 and form_of(alone) in ("proportion", "share"):
        above, added = above + times * ratio.denominator, times  # which is never negative
    pieces, rows, constants = gathered([above, ratio.denominator, sign * metric.rest - added])
    positive = above.constant >= 0 and all(times >= 0 for _, times in above.terms)
    return RatioAndSum(pieces, metric.ratio, rows, constants, positive, added if sign < 0 else 1.0)


@dataclass(frozen=True, eq=False)
class RatioAndSum(NonlinearObjective):
    """N/D + L, which is minimised."""

    pieces: tuple[Expression, ...]  # (q,)
    ratio: Ratio  # in the words of the problem
    rows: Array  # (3, q) of N, D and L
    constants: Array  # (3,)
    positive: bool  # whether N is never negative
    worst: float  # the value of the ratio if D is 0
    lowest: float = 0.0  # the least that D can be, if known

    def sides(self, pieces: Array) -> Array:
        """N, D and L, (..., 3), at pieces (..., q)."""
        each: Array = np.asarray(pieces) @ self.rows.T + self.constants
        return each

    def value(self, pieces: Array) -> Array:
        above, below, rest = np.moveaxis(self.sides(pieces), -1, 0)
        some = below > ZERO_DENOMINATOR
        value: Array = np.where(some, above / np.where(some, below, 1.0), self.worst) + rest
        return value

    def weights(self, pieces: Array) -> Array:
        above, below, _ = self.sides(pieces)
        below = max(float(below), ZERO_DENOMINATOR)
        slope: Array = np.array([1.0 / below, -above / below**2, 1.0]) @ self.rows
        return slope

    def solved(self, program: Program, start: Array) -> Solved:
        answer = program(start[None], np.zeros(1))
        best = self._better(None, answer)
        for _ in range(STEPS):  # the slope leads to a good mixture, though not always the best
            answer = program(self.weights(best.pieces)[None], np.zeros(1))
            better = self._better(best, answer)
            if better.value >= best.value - NEAR:
                break
            best = better
        best = replace(best, weights=self.weights(best.pieces), prices=answer.prices)
        low, high = (
            sign * program(sign * self.rows[1:2], sign * self.constants[1:2]).least for sign in (1, -1)
        )
        low, high = max(low, self.lowest, 1e-3), max(high, 2e-3)
        open_parts = [(-np.inf, low, high)]
        for _ in range(PROGRAMS // (2 if self.positive else 4)):
            least, a, b = heapq.heappop(open_parts)
            if least >= best.value - NEAR:
                heapq.heappush(open_parts, (least, a, b))
                break
            middle = (a + b) / 2
            for ends in ((a, middle), (middle, b)):
                bound, best = self._bounded(program, ends, best)
                heapq.heappush(open_parts, (bound, *ends))
        bound = min(least for least, _, _ in open_parts)
        return replace(best, bound=min(bound, best.value))

    def _bounded(
        self, program: Program, ends: tuple[float, float], best: Solved
    ) -> tuple[float, Solved]:
        """A lower bound for the goal with D between two ends, and the best so far."""
        lowest = np.inf
        for at in ends[1:] if self.positive else ends:
            plain = self.rows[0] / at + self.rows[2], self.constants[0] / at + self.constants[2]
            low = plain[0] - PENALTY * self.rows[1], plain[1] + PENALTY * (ends[0] - self.constants[1])
            high = plain[0] + PENALTY * self.rows[1], plain[1] + PENALTY * (self.constants[1] - ends[1])
            slopes, constants = zip(plain, low, high, strict=True)
            answer = program(np.stack(slopes), np.array(constants))
            lowest = min(lowest, answer.least)
            best = self._better(best, answer)
        return lowest, best

    def _better(self, best: Solved | None, answer: Answer) -> Solved:
        """An answer measured by the goal, if it is better than the best so far."""
        pieces = answer.pieces
        value = float(self.value(pieces))
        if best is not None and value >= best.value:
            return best
        return Solved(
            pieces,
            value,
            -np.inf,
            self.weights(pieces),
            answer.prices,
            answer.mixture,
        )

    def checked(self, least: Callable[[Array, float], float]) -> RatioAndSum:
        low = lowest_denominator(self.ratio, least(self.rows[1], float(self.constants[1])))
        return replace(self, lowest=low)
