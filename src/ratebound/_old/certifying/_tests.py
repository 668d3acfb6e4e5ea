"""Which test a promise gets: of one mean, of two proportions, of a group and everyone, or jointly.

One mean is tested against a number. Rows that add nothing say nothing; where the others add one of two
values, they are successes or failures, and the test is binomial: Clopper–Pearson, the sign test,
precision. Rows that add one of three values, as wins and losses against an existing model beside a
margin, have an exact score test.

Any number of means, of rows that may overlap, have a box: each is at a bound of its own that is wrong
with an equal share of δ, so all of them hold at once but for δ, and the p-value is the smallest δ whose
box keeps the promise. Means of independent rows are tested together: evidence adds up, where a
box asks each mean for its own. `Chernoff` bounds the probability of so large a sum over all means that
break the promise. `Bets` wins money from each mean that is above a number, and all of it together is
evidence, whichever numbers that break the promise these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.certifying._bounds import (
    AIM,
    BOLDEST,
    Aim,
    Finding,
    bentkus,
    bets,
    betting,
    binomial_tail,
    hoeffding_bentkus,
    lower_bound,
    normal,
    shuffled,
    smallest_tail,
)
from ratebound._old.certifying._means import ROUNDING, Mean, same_once
from ratebound._old.certifying._nested import Nested, nested
from ratebound._old.certifying._pair import Pair, Share, one_sided
from ratebound._old.certifying._three import PAIRED, Boundary, three_values_p_value

EXACT = "exact binomial test"
HEAVIEST = ", taking no row to weigh more than the heaviest here"
SURPRISES = {"Clopper–Pearson": normal, "Hoeffding–Bentkus": bentkus, "betting": bets}
HALVINGS = 60
CELLS = 40  # between which numbers may lie that leave no room
MOMENTS = 100  # of the bets at which all money is counted


def tested(parts: Sequence[Mean], constant: float, aim: Aim) -> Finding:
    """The test of ``constant + Σ mean >= 0``."""
    varying, constant = without_constants(parts, constant)
    if not varying:
        return fixed(constant)
    if len(varying) == 1:
        return tested_alone(varying[0], constant, aim)
    return arranged(varying).tested(constant, aim)


def spread(parts: Sequence[Mean], constant: float, aim: Aim) -> float:
    """The room that as many rows as here would show with the power aimed at, at the rates seen."""
    varying, constant = without_constants(parts, constant)
    if not varying:
        return fixed(constant).spread
    if len(varying) == 1:
        return tested_alone(varying[0], constant, aim).spread
    return arranged(varying).spread(aim)


def without_constants(parts: Sequence[Mean], constant: float) -> tuple[list[Mean], float]:
    """The means that can vary; the others are part of the constant."""
    constant += sum(part.low for part in parts if part.reach == 0)
    return [part for part in parts if part.reach > 0], constant


def arranged(parts: Sequence[Mean]) -> Pair | Nested | Chernoff | Bets | Box:
    """Several means as what their rows are: independent, one inside the other, or neither."""
    if all(_independent(*two) for two in combinations(parts, 2)):
        return _apart(parts)
    if len(parts) == 2 and all(part.binary for part in parts):
        first, second = parts
        whole = nested(first, second) or nested(second, first)
        if whole is not None:
            return whole
    return Box.of(parts)


def _apart(parts: Sequence[Mean]) -> Pair | Chernoff | Bets | Box:
    """Several means of independent rows."""
    if len(parts) == 2 and all(part.binary for part in parts):
        one, two = (Share(part.successes, part.rows, part.reach) for part in parts)
        return Pair(one, two, parts[0].low + parts[1].low)
    box = Box.of(parts)
    if all(part.weights is None and len(part.possible) == 2 for part in parts):
        jointly, aim = Chernoff.of(parts), Aim(0.05)
        # Which of them is sharper must not depend on what the rows show beyond their number.
        sharper = jointly.at_rate(0.5).spread(aim) <= box.at_rate(0.5).spread(aim)
        return jointly if sharper else box
    return Bets.of(parts) if len(parts) == 2 else box


def _independent(first: Mean, second: Mean) -> bool:
    """Whether no row is in both sets, or whether they are of other populations."""
    if first.population != second.population:
        return second.population in first.beside
    one, two = first.over_kinds, second.over_kinds
    return one is not None and two is not None and not (one & two).any()


# --- one mean ----------------------------------------------------------------------------------------


def fixed(room: float) -> Finding:
    """What there is to say if the same room is left whatever is decided."""
    if room >= -ROUNDING:
        return Finding(0.0, "kept whatever is decided", 0.0)
    return Finding(1.0, "broken whatever is decided", math.inf)


def tested_alone(mean: Mean, constant: float, aim: Aim) -> Finding:
    """The test of ``constant + mean >= 0``."""
    possible = same_once(mean.possible + constant)
    if possible[0] >= 0:
        return fixed(float(possible[0]))
    if possible[-1] <= 0:
        return Finding(1.0, "never more than just kept", math.inf)
    at = threshold(mean, constant)
    if mean.weights is None and mean.decided and at is not None:
        return _binomial(mean, constant, at, aim)
    luck = aim.luck * math.sqrt(mean.variance)
    if mean.weights is None and len(possible) == 2:
        below = -float(possible[0]) / mean.reach
        share, rows = (mean.mean - mean.low) / mean.reach, mean.rows
        sure = bentkus(aim.delta) * mean.reach * math.sqrt(below * (1 - below) / rows)
        return Finding(hoeffding_bentkus(share, rows, below), "Hoeffding–Bentkus bound", sure + luck)
    if mean.ternary:
        counts = [mean.count(np.abs(mean.values + constant - each) < ROUNDING) for each in possible]
        bad, middling, good = counts
        low, middle, high = possible.tolist()
        p_value = three_values_p_value((low, middle, high), (bad, middling, good), aim.gamma)
        just_kept = Boundary(low, middle, high, rows=mean.rows)
        deviation = float(just_kept.deviation(np.array(good), np.array(bad)))
        sure = normal(aim.delta - aim.gamma) * deviation
        return Finding(p_value, PAIRED, sure + luck)
    weights = mean.row_weights
    values = shuffled(weights * (mean.values + constant), mean.times, mean.order)
    words = "betting" + HEAVIEST * (mean.weights is not None)
    sure = bets(aim.delta) * math.sqrt(mean.variance)
    return Finding(betting(values, float(weights.max() * possible[0])), words, sure + luck)


def threshold(mean: Mean, constant: float) -> float | None:
    """The share of successes, among rows that add anything, above which the promise is kept.

    None where rows may add more than two values.
    """
    possible = same_once(mean.possible + constant)
    ups, downs = possible[possible > 0], possible[possible < 0]
    if len(ups) != 1 or len(downs) != 1:
        return None
    return float(-downs[0] / (ups[0] - downs[0]))


def _binomial(mean: Mean, constant: float, at: float, aim: Aim) -> Finding:
    possible, values = same_once(mean.possible + constant), mean.values + constant
    up, down = float(possible[-1]), float(possible[0])
    successes, failures = mean.count(values > up / 2), mean.count(values < down / 2)
    rows = successes + failures
    if not rows:
        return Finding(1.0, EXACT, math.inf, "no row here counts for or against it")
    sure = normal(aim.delta) * (up - down) * math.sqrt(rows * at * (1 - at)) / mean.rows
    spread = sure + aim.luck * math.sqrt(mean.variance)
    return Finding(binomial_tail(successes, rows, at), EXACT, spread)


# --- a box -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Box:
    """The bounds of several means."""

    bounds: tuple[Bound, ...]

    @classmethod
    def of(cls, means: Sequence[Mean]) -> Box:
        return cls(tuple(map(Bound.of, means)))

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + Σ mean >= 0``."""

        def room(delta: float) -> float:
            return constant + sum(bound.at(delta / len(self.bounds)) for bound in self.bounds)

        words = ", ".join(dict.fromkeys(bound.kind for bound in self.bounds))
        weighted = HEAVIEST * any(bound.mean.weights is not None for bound in self.bounds)
        method = f"{len(self.bounds)} bounds together ({words}){weighted}"
        return Finding(smallest_tail(room), method, self.spread(aim))

    def spread(self, aim: Aim) -> float:
        tail = aim.delta / len(self.bounds)
        sure = sum(SURPRISES[bound.kind](tail) * bound.deviation for bound in self.bounds)
        return sure + aim.luck * math.hypot(*(bound.deviation for bound in self.bounds))

    def at_rate(self, rate: float) -> Box:
        """The same, were every rate this one."""
        return Box(tuple(bound.at_rate(rate) for bound in self.bounds))


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound of one mean, at any tail."""

    mean: Mean
    values: Array  # shuffled if they are bet on
    weights: Array  # alike
    kind: str
    deviation: float

    @classmethod
    def of(cls, mean: Mean, kind: str = "") -> Bound:
        two = mean.weights is None and len(mean.possible) == 2
        kind = kind or ("Clopper–Pearson" if mean.binary else "Hoeffding–Bentkus" if two else "betting")
        values, weights = mean.values, mean.row_weights
        if kind == "betting":
            values, weights = (shuffled(each, mean.times, mean.order) for each in (values, weights))
        return cls(mean, values, weights, kind, math.sqrt(mean.variance))

    def at(self, tail: float) -> float:
        """The bound, which is wrong with probability `tail` at most."""
        mean, rows = self.mean, self.mean.rows
        if self.kind == "Clopper–Pearson":
            return mean.low + mean.reach * one_sided(mean.successes, rows, tail)[0]
        if self.kind == "Hoeffding–Bentkus":
            share = (mean.mean - mean.low) / mean.reach
            least = lower_bound(lambda at: hoeffding_bentkus(share, rows, at), 0.0, share, tail)
            return mean.low + mean.reach * least
        heaviest = float(self.weights.max())

        def p_value(at: float) -> float:
            return betting(self.weights * (self.values - at), heaviest * (mean.low - at))

        bound = lower_bound(p_value, mean.low + 1e-9 * mean.reach, mean.mean, tail)
        return bound if bound > mean.low + 1e-9 * mean.reach else mean.low

    def most(self, tail: float) -> float:
        """An upper bound of a mean that is bet on, wrong with probability `tail` at most."""
        high = self.mean.low + self.mean.reach
        turned = replace(self.mean, possible=-self.mean.possible[::-1], values=-self.mean.values)
        return min(-Bound.of(turned, kind="betting").at(tail), high)

    def at_rate(self, rate: float) -> Bound:
        return replace(self, deviation=self.mean.deviation_at(rate))


# --- means of independent rows -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chernoff:
    """Means of rows that count the same and add one of two values, or anything between.

    A bound on P(Σ mean >= s) is E exp(l (Σ mean - s)) for any l > 0. Given its mean m, what a row adds
    has the largest such moment if it is always one of the two ends. So the logarithm is at most a
    coin's, a concave function of m. Its largest value among the means that break the promise is bounded
    by duality.
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

        best = minimize_scalar(logarithm, bounds=(likely - 3, likely + 6), method="bounded")
        return math.exp(min(float(best.fun), 0.0))

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

    If the promise is broken, the first mean bounds the second. If the first lies in a cell, it is at
    most the cell's larger end, and the second is at most the bound at the smaller end, so bets against
    these do not gain in expectation. Bets alternate between rows of both. The p-value is the worst
    cell's, over an interval of the first mean, plus the interval's error (Berger and Boos). Bets on both
    means are equal for the same change of the room, so that the winnings depend little on the cell.
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
        money = np.zeros((len(numbers), len(at)))
        for row, number in enumerate(numbers):
            boldest = BOLDEST / max(float(weights.max()) * (number - low), 1e-300)
            won = np.log1p(np.minimum(bet, boldest) * weights * (values - number))
            money[row] = np.append(0.0, np.cumsum(won))[at]
        return money

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
