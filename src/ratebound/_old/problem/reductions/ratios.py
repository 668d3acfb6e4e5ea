"""The largest of several ratios as a goal: Dinkelbach's sequence of linear problems.

The function  f(x) = max_i N_i(x) / D_i(x)  is minimised, with N_i and D_i > 0 affine in the pieces x.
One ratio is the case of a single i, and a sum of rates has D_i = 1. To maximise, -N_i is minimised. So
precision, an F-score, the worst group's recall and the worst group's precision are all of this form.

For a level v, let  F(v) = min_x max_i (N_i(x) - v D_i(x)) / d_i,  with any scale d_i > 0. That is a
linear program, and F(v) < 0 if and only if some x has f(x) < v. Let v be the value of the best x so far,
and d_i its denominators. Then F(v) <= 0, and if F(v) = 0 no x is better. Otherwise the program's x is
better, and v becomes its value. For one ratio this is Newton's method, and Dinkelbach (1967) shows that
it converges faster than any geometric sequence. With these scales, so does the method for several ratios
(Crouzeix, Ferland and Schaible, 1986). If all D_i are constants, the first program gives the solution.

The distance from the best is bounded: every x has some i with  N_i(x) - v D_i(x) >= F(v) d_i,  so  f(x)
is at least  v + F(v) max_i d_i / D_i(x),  and D_i(x) is at least its minimum under the promises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.reductions.goal import (
    EXACT,
    STEPS,
    NonlinearObjective,
    Program,
    Solved,
    gathered,
)
from ratebound._old.rates.beyond_sums import Extreme
from ratebound._old.rates.demands import is_even
from ratebound._old.rates.expressions import Expression, Rate, Ratio
from ratebound._old.rates.kinds import counted
from ratebound._old.rates.subsets import only_decided

ZERO_DENOMINATOR = 1e-12  # a denominator that is 0 up to rounding


def accepts(problem: Problem) -> bool:
    """Whether the objective is a ratio, or the worst of several ratios and sums."""
    return isinstance(problem.objective, Ratio | Extreme)


def apply(problem: Problem) -> LargestRatio:
    """The objective of a problem as the largest of ratios, which is minimised."""
    metric = problem.objective
    assert isinstance(metric, Ratio | Extreme)
    parts = metric.parts if isinstance(metric, Extreme) else (metric,)
    sign = 1.0 if problem.sense == "minimize" else -1.0
    above, below = [], []
    for part in parts:
        ratio = as_shares(part) if isinstance(part, Ratio) else part
        if isinstance(ratio, Ratio):
            above.append(sign * ratio.numerator)
            below.append(ratio.denominator)
        else:
            assert isinstance(ratio, Expression)
            above.append(sign * ratio)
            below.append(Expression((), 1.0))
    pieces, rows, constants = gathered([*above, *below])
    half = len(parts)
    # If a denominator is 0 there is no ratio; such a model must not count as the best.
    worst = np.where([isinstance(part, Ratio) for part in parts], 0.0 if sign < 0 else 1.0, np.nan)
    return LargestRatio(
        pieces,
        parts=parts,
        above=rows[:half],
        above_constant=constants[:half],
        below=rows[half:],
        below_constant=constants[half:],
        worst=worst,
    )


def as_shares(ratio: Ratio) -> Ratio:
    """The same ratio as shares of all rows, if both sides count rows of one subset."""
    if not is_even(ratio):
        return ratio

    def share(rate: Rate) -> Rate:
        return counted(rate, 1.0)

    above, below = ratio.numerator.with_rates(share), ratio.denominator.with_rates(share)
    return replace(ratio, numerator=above, denominator=below)


@dataclass(frozen=True, eq=False)
class LargestRatio(NonlinearObjective):
    """The largest of J ratios of sums of rates, which is minimised."""

    pieces: tuple[Expression, ...]
    parts: tuple[Expression | Ratio, ...]  # (J,) in the words of the problem
    above: Array  # (J, q)
    above_constant: Array  # (J,)
    below: Array  # (J, q)
    below_constant: Array  # (J,)
    worst: Array  # (J,) the value if a denominator is 0
    lowest: tuple[float, ...] = ()  # (J,) the minima of the denominators, if known

    def sides(self, pieces: Array) -> tuple[Array, Array]:
        """Numerators and denominators, (..., J) each."""
        above = pieces @ self.above.T + self.above_constant
        return above, pieces @ self.below.T + self.below_constant

    def value(self, pieces: Array) -> Array:
        above, below = self.sides(np.asarray(pieces))
        some = below > ZERO_DENOMINATOR
        largest: Array = np.where(some, above / np.where(some, below, 1.0), self.worst).max(axis=-1)
        return largest

    def _tangents(self, value: float, scale: Array) -> tuple[Array, Array]:
        """Slopes (J, q) and constants (J,) of (N_i - v D_i) / d_i."""
        slopes = (self.above - value * self.below) / scale[:, None]
        return slopes, (self.above_constant - value * self.below_constant) / scale

    def weights(self, pieces: Array) -> Array:
        above, below = self.sides(pieces)
        scale = np.maximum(below, ZERO_DENOMINATOR)
        slopes = (self.above - (above / scale)[:, None] * self.below) / scale[:, None]
        return np.asarray(slopes.mean(axis=0))

    def levels(self, pieces: Array) -> tuple[Array, Array]:
        """All ratios at a level between the worst and the mean of them, if there are several.

        Of all mixtures with the same mean, the best has equal ratios, so the mean is about the most that
        can be reached. And multipliers balance the ratios within one game, whereas weights change only
        between games.
        """
        if len(self.parts) == 1:
            return super().levels(pieces)
        above, below = self.sides(pieces)
        scale = np.maximum(below, ZERO_DENOMINATOR)
        each = above / scale
        return self._tangents(float(each.max() + each.mean()) / 2, scale)

    def solved(self, program: Program, start: Array) -> Solved:
        first = program(start[None], np.zeros(1))
        best = Solved(
            first.pieces, float(self.value(first.pieces)), -np.inf, start, first.prices, first.mixture
        )
        for _ in range(STEPS):
            _, below = self.sides(best.pieces)
            scale = np.where(below > ZERO_DENOMINATOR, below, 1.0)
            slopes, constants = self._tangents(best.value, scale)
            answer = program(slopes, constants)
            better, gain = float(self.value(answer.pieces)), max(-answer.least, 0.0)
            at_least = np.array(self.lowest) if self.lowest else scale
            bound = best.value - gain * float(np.max(scale / np.maximum(at_least, ZERO_DENOMINATOR)))
            best = replace(
                best,
                bound=max(best.bound, bound),
                weights=answer.shares @ slopes,
                prices=answer.prices,
            )
            if better < best.value:
                best = replace(best, pieces=answer.pieces, value=better, mixture=answer.mixture)
            if gain <= EXACT or better >= best.value + EXACT:
                break
        return best

    def checked(self, least: Callable[[Array, float], float]) -> LargestRatio:
        lowest = []
        for part, row, constant in zip(self.parts, self.below, self.below_constant, strict=True):
            low = least(row, float(constant))
            lowest.append(lowest_denominator(part, low) if isinstance(part, Ratio) else low)
        return replace(self, lowest=tuple(lowest))


def lowest_denominator(ratio: Ratio, low: float) -> float:
    """The minimum `low` of a ratio's denominator; raises if it is 0."""
    if low > ZERO_DENOMINATOR:
        return low
    counted = ratio.denominator.rates[0]
    kind = "negative_rate" if counted.kind == "predicted_negatives" else "positive_rate"
    bound = f"{replace(counted, kind=kind, per=None)} >= 0.05"
    if ratio.rate is not None and only_decided(ratio.rate.subset)[0]:
        bound = f"{replace(counted, kind='referred', per=None, of=None)} <= 0.5"
    raise ValueError(
        f"{ratio}: its denominator, {ratio.denominator}, can be 0 while all promises are kept, and "
        f"then it has no value: promise that it is not, as in {bound}"
    )
