"""Means of independent rows, tested together: evidence adds up, where a box asks each mean for its own.

`Chernoff` bounds the probability of so large a sum over all means that break the promise. `Bets` wins
money from each mean that is above a number, and all of it together is evidence, whichever numbers that
break the promise these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratebound.base.types import Array
from ratebound.certifying._aim import Aim, Finding, bets
from ratebound.certifying._bounded import AIM, BOLDEST
from ratebound.certifying._box import Bound
from ratebound.certifying._means import Mean
from ratebound.certifying._one import HEAVIEST

HALVINGS = 60
CELLS = 40  # between which numbers may lie that leave no room
MOMENTS = 100  # of the bets at which all money is counted


@dataclass(frozen=True, eq=False)
class Chernoff:
    """Means of rows that count the same and add one of two values, or anything between.

    A bound on P(Σ mean >= s) is E exp(l (Σ mean - s)) for any l > 0. Given its mean m, what a row adds
    has the largest such moment where it is one of the two ends, so its logarithm is at most that of a
    coin, a concave function of m; its largest value where the promise is broken is bounded by duality.
    """

    low: float  # what all add at least
    reach: Array  # (k,) what each adds more at most
    rows: Array  # (k,)
    share: Array  # (k,) of the reach that it does add
    deviation: Array  # (k,)

    @classmethod
    def of(cls, means: Sequence[Mean]) -> Chernoff:
        reach = np.array([mean.reach for mean in means])
        share = np.array([(mean.mean - mean.low) / mean.reach for mean in means])
        deviation = np.array([math.sqrt(mean.variance) for mean in means])
        rows = np.array([mean.rows for mean in means])
        return cls(sum(mean.low for mean in means), reach, rows, share, deviation)

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + Σ mean >= 0``."""
        room = constant + self.low + float(self.reach @ self.share)
        p_value = 1.0 if room <= 0 else self._p_value(constant + self.low)
        return Finding(p_value, "Chernoff's bound, jointly", self.spread(aim))

    def _p_value(self, constant: float) -> float:
        from scipy.optimize import minimize_scalar

        seen = float(self.reach @ self.share)
        likely = -math.log(float(np.sqrt((self.reach**2 / self.rows).sum())))

        def logarithm(log_times: float) -> float:
            times = math.exp(log_times)
            return self._largest(times, constant) - times * seen

        found = minimize_scalar(logarithm, bounds=(likely - 3, likely + 6), method="bounded")
        return math.exp(min(float(found.fun), 0.0))

    def _largest(self, times: float, constant: float) -> float:
        """The most that the logarithm of the moment can be where constant + Σ reach · share <= 0."""
        gain = np.expm1(times * self.reach / self.rows)
        slope = self.rows * gain / self.reach

        def shares(price: float) -> Array:
            return np.clip((slope / price - 1) / gain, 0.0, 1.0)

        low, high = float((slope / (1 + gain)).min()), float(slope.max())
        for _ in range(HALVINGS):
            price = math.sqrt(low * high)
            over = constant + float(self.reach @ shares(price)) > 0
            low, high = (price, high) if over else (low, price)
        best = shares(high)  # any price bounds it from above
        moment = float(self.rows @ np.log1p(best * gain))
        return moment - high * (constant + float(self.reach @ best))

    def spread(self, aim: Aim) -> float:
        return (bets(aim.delta) + aim.luck) * float(np.linalg.norm(self.deviation))

    def at_rate(self, rate: float) -> Chernoff:
        """The same, were every rate this one."""
        return replace(self, deviation=self.reach * np.sqrt(rate * (1 - rate) / self.rows))


@dataclass(frozen=True, eq=False)
class Bets:
    """Two means, of rows that may have weights or add any of several values.

    Where the promise is broken, the second mean is at most what the first leaves. If the first lies in a
    cell, it is at most the larger end and the second at most what the smaller end leaves, so bets
    against these do not gain in expectation. Rows of both are bet on in turn, and the p-value is that of
    the worst cell of an interval of the first mean, plus what that may miss (Berger and Boos). As much
    is bet on the one mean as on the other for the same change of the room, so that what is won depends
    little on the cell.
    """

    sides: tuple[Bound, Bound]

    @classmethod
    def of(cls, means: Sequence[Mean]) -> Bets:
        first, second = means
        return cls((Bound.of(first, kind="betting"), Bound.of(second, kind="betting")))

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + Σ mean >= 0``."""
        first, second = (side.mean for side in self.sides)
        weighted = HEAVIEST * any(side.mean.weights is not None for side in self.sides)
        least, most = (bound(aim.gamma / 2) for bound in (self.sides[0].at, self.sides[0].most))
        most = min(most, -constant - second.low)
        p_value = aim.gamma
        if most < first.low:  # kept whatever the means
            p_value = 0.0
        elif least <= most:
            ends = np.linspace(least, most, CELLS + 1)
            money = self._money(0, ends[1:]) + self._money(1, -constant - ends[:-1])
            p_value += math.exp(-max(float(money.max(axis=1).min()), 0.0))
        return Finding(min(p_value, 1.0), f"betting on both{weighted}", self.spread(aim))

    def _money(self, which: int, numbers: Array) -> Array:
        """The logarithm of the money won from a mean against each of the numbers, (cells, moments)."""
        side = self.sides[which]
        values, weights, low = side.values, side.weights, side.mean.low
        at = _moments(len(values))
        bet = np.repeat(self._bets[which], np.diff(at))
        found = np.zeros((len(numbers), len(at)))
        for row, number in enumerate(numbers):
            boldest = BOLDEST / max(float(weights.max()) * (number - low), 1e-300)
            won = np.log1p(np.minimum(bet, boldest) * weights * (values - number))
            found[row] = np.append(0.0, np.cumsum(won))[at]
        return found

    @cached_property
    def _bets(self) -> list[Array]:
        """What is bet on the rows of each mean between two moments (moments,), by what came before."""
        totals, variances = [], []
        for side in self.sides:
            heaviest, reach = float(side.weights.max()), side.mean.reach
            at = _moments(len(side.values))[:-1]
            w, x = side.weights, side.weights * side.values
            sums = [np.append(0.0, np.cumsum(each))[at] for each in (w, x, w * w, w * x, x * x)]
            mean = (sums[1] + heaviest * (side.mean.low + reach / 2)) / (sums[0] + heaviest)
            squares = sums[4] - 2 * mean * sums[3] + mean**2 * sums[2] + 0.25 * (heaviest * reach) ** 2
            weight = (sums[0] + heaviest) / (at + 1)
            totals.append(len(side.values) * weight)
            variances.append(squares / (at + 1) * len(side.values) / totals[-1] ** 2)
        times = np.sqrt(2 * math.log(1 / AIM) / sum(variances))
        return [times / total for total in totals]

    def spread(self, aim: Aim) -> float:
        return (bets(aim.delta) + aim.luck) * math.hypot(*(side.deviation for side in self.sides))

    def at_rate(self, rate: float) -> Bets:
        """The same, were both rates this one."""
        first, second = (side.at_rate(rate) for side in self.sides)
        return Bets((first, second))


def _moments(rows: int) -> Array:
    """After how many rows of a mean the money of both is counted, and bets are changed."""
    return np.ceil(np.linspace(0.0, 1.0, MOMENTS + 1) * rows).astype(int)
