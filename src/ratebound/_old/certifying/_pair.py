"""Two proportions of independent rows: an exact test that a weighted sum of them is above zero.

Samples are ordered by the score statistic (Koopman; Miettinen and Nurminen). The p-value is the largest
probability of a sample at least as good, over the rates that just keep the promise (Barnard) and lie
inside an interval of one proportion, plus the error of that interval (Berger and Boos).

Successes count for a promise A q1 + B q2 > bound with A, B > 0. Samples are ordered by the score
statistic, whose constrained estimate lies on the line A q1 + B q2 = bound.

The points with score τ have a closed form. If the estimate is (q1, q2) with variances v = q (1 - q),
the Lagrange condition is k1 = n1 q1 + μ A v1 and k2 = n2 q2 + μ B v2, and the score is μ σ with
σ² = A² v1 / n1 + B² v2 / n2. So μ = τ / σ, and one search along the line finds k1 for every k2.

The probability of the region grows with q1 and with q2. So between two points of the line it is at most
its value at the larger q1 and the larger q2 of the two, and bisection makes the bound as tight as
needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.certifying._bounds import Aim, Finding, binomial_tail, normal

SCORE = "exact score test (Berger–Boos)"
FAR = 7.0  # standard deviations; what lies farther out is added to the probability
CELLS = 32  # pieces of the line to begin with
CLOSE_RELATIVE, CLOSE_ABSOLUTE = (
    0.01,
    1e-4,
)  # the bound ends within this share of what was found, or this
BISECTIONS = 60
ROUNDING, CORNER = 1e-12, 1e-9
FAR_OUT = 1e-10  # more than the probability of what lies farther than FAR
CHUNK = 4e6  # numbers at a time


@dataclass(frozen=True)
class Share:
    """Successes among rows of one kind; what a proportion of 1 in place of 0 adds to the promise."""

    successes: int
    rows: int
    times: float

    @property
    def turned(self) -> Share:
        """The same with successes that speak for the promise."""
        return self if self.times >= 0 else Share(self.rows - self.successes, self.rows, -self.times)

    @property
    def deviation(self) -> float:
        """What the proportion may be off by, times what it counts; a row of each kind is imagined."""
        rate = (self.successes + 1) / (self.rows + 2)
        return abs(self.times) * math.sqrt(rate * (1 - rate) / self.rows)


@dataclass(frozen=True)
class Pair:
    """Two proportions of independent rows, and what they add without any success."""

    first: Share
    second: Share
    low: float

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + low + Σ times · proportion >= 0``."""
        p_value = pair_p_value(self.first, self.second, constant + self.low, aim.gamma)
        return Finding(p_value, SCORE, self.spread(aim))

    def spread(self, aim: Aim) -> float:
        return pair_spread(self.first, self.second, aim)

    def at_rate(self, rate: float) -> Pair:
        """The same, were both rates this one."""
        one, two = (
            Share(round(rate * each.rows), each.rows, each.times) for each in (self.first, self.second)
        )
        return Pair(one, two, self.low)


def pair_spread(first: Share, second: Share, aim: Aim) -> float:
    """The room that the score test would show with the power aimed at, about."""
    return (normal(aim.delta - aim.gamma) + aim.luck) * math.hypot(first.deviation, second.deviation)


def one_sided(successes: float, rows: float, tail: float) -> tuple[float, float]:
    """Lower and upper Clopper–Pearson bounds, each of which is wrong with probability `tail`.

    >>> low, high = one_sided(0, 10, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.2589)
    """
    misses = rows - successes
    from scipy.special import betaincinv

    low = float(betaincinv(successes, misses + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, misses, 1.0 - tail)) if misses > 0 else 1.0
    return low, high


def share_p_value(share: Share, constant: float) -> float:
    """The p-value of ``constant + times · proportion > 0``, a binomial tail.

    >>> round(share_p_value(Share(3, 3, 1.0), -0.5), 3)
    0.125
    """
    own = share.turned
    bound = -constant + (own.times if share.times < 0 else 0.0)
    return binomial_tail(own.successes, own.rows, bound / own.times)


def pair_p_value(first: Share, second: Share, constant: float, gamma: float) -> float:
    """The p-value of ``constant + Σ times · proportion > 0``; `gamma` is spent on the nuisance.

    >>> from scipy.stats import barnard_exact
    >>> ours = pair_p_value(Share(7, 8, 1.0), Share(2, 9, -1.0), 0.0, 0.0)
    >>> scipy = barnard_exact([[7, 2], [1, 7]], alternative="greater").pvalue
    >>> bool(scipy <= ours <= scipy + 0.0002)
    True
    """
    if min(abs(first.times), abs(second.times)) <= ROUNDING * max(abs(first.times), abs(second.times)):
        return share_p_value(max(first, second, key=lambda share: abs(share.times)), constant)
    one, two = first.turned, second.turned
    bound = -constant + sum(-share.times for share in (first, second) if share.times < 0)
    line = Line(one.times, two.times, bound, one.rows, two.rows)
    if line.bound <= 0 or line.bound >= one.times + two.times:  # kept, or not, whatever the rates
        return 0.0 if line.bound <= 0 else 1.0
    score = line.score(one.successes, two.successes)
    if score <= 0:
        return 1.0
    least, most = line.ends
    # Points below the line are no worse than one on it with the same proportion of the larger sample.
    if gamma > 0:
        larger = one if one.rows > two.rows else two
        low, high = one_sided(larger.successes, larger.rows, gamma / 2)
        if larger is two:
            low, high = line.first(high), line.first(low)
        least, most = max(least, low), min(most, high)
    if least > most:  # the interval leaves no point of the line
        return min(gamma, 1.0)
    region = Region.of(line, score, (one.successes, two.successes), (least, most))
    return min(region.largest(least, most) + gamma, 1.0)


# --- samples at least as good as one seen, and how likely they can be --------------------------------


@dataclass(frozen=True)
class Line:
    """The points with A q1 + B q2 = bound, for samples of so many rows."""

    a: float
    b: float
    bound: float
    rows1: int
    rows2: int

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest q1 on it, within the unit square."""
        return max(0.0, (self.bound - self.b) / self.a), min(1.0, self.bound / self.a)

    def second(self, q1: Array | float) -> Array:
        return np.clip((self.bound - self.a * np.asarray(q1)) / self.b, 0.0, 1.0)

    def first(self, q2: float) -> float:
        return min(max((self.bound - self.b * q2) / self.a, 0.0), 1.0)

    def deviation(self, q1: Array) -> Array:
        q2 = self.second(q1)
        first = self.a**2 * q1 * (1 - q1) / self.rows1
        variance = first + self.b**2 * q2 * (1 - q2) / self.rows2
        return np.maximum(np.sqrt(variance), ROUNDING**2)

    def score(self, k1: int, k2: int) -> float:
        """The score statistic: how many deviations, at the constrained estimate, above the line."""
        above = self.a * k1 / self.rows1 + self.b * k2 / self.rows2 - self.bound
        low, high = self.ends
        for _ in range(BISECTIONS):  # the likelihood is concave along the line
            q1 = (low + high) / 2
            q2 = float(self.second(q1))
            slope = (k1 - self.rows1 * q1) * q2 * (1 - q2) * self.b
            slope -= (k2 - self.rows2 * q2) * q1 * (1 - q1) * self.a
            low, high = (q1, high) if slope > 0 else (low, q1)
        deviation = float(self.deviation(np.asarray((low + high) / 2)))
        if deviation >= CORNER * max(self.a, self.b):
            return above / deviation
        return 0.0 if abs(above) <= CORNER * max(self.a, self.b) else math.copysign(math.inf, above)

    def critical(self, score: float, k2: Array) -> Array:
        """For each `k2`, the least k1, not rounded, whose score is at least `score` > 0."""
        if math.isinf(score):  # nothing varies on the line there: what lies above it
            return self.rows1 * (self.bound - self.b * k2 / self.rows2) / self.a
        low, high = (np.full(len(k2), end) for end in self.ends)
        none = self._at(score, high)[1] > k2 + 1e-9 * self.rows2  # not even if all are successes
        for _ in range(BISECTIONS):
            q1 = (low + high) / 2
            right = self._at(score, q1)[1] > k2
            low, high = np.where(right, q1, low), np.where(right, high, q1)
        q1 = (low + high) / 2
        corner = self.deviation(q1) < CORNER * max(
            self.a, self.b
        )  # beyond it no sample lies above the line
        return np.where(none | corner, self.rows1 + 1.0, self._at(score, q1)[0])

    def _at(self, score: float, q1: Array) -> tuple[Array, Array]:
        """The sample, not rounded, with this score whose constrained estimate is `q1`."""
        q2, times = self.second(q1), score / self.deviation(q1)
        k1 = self.rows1 * q1 + times * self.a * q1 * (1 - q1)
        return k1, self.rows2 * q2 + times * self.b * q2 * (1 - q2)


@dataclass(frozen=True, eq=False)
class Region:
    """The samples that are at least as good as the one seen: k1 >= `least` for each k2."""

    line: Line
    k1: Array  # the values that are looked at, in order
    k2: Array
    least: Array  # for each of k2, as a place among k1

    @classmethod
    def of(cls, line: Line, score: float, seen: tuple[int, int], ends: tuple[float, float]) -> Region:
        k1 = window(line.rows1, *ends)
        k2 = window(line.rows2, float(line.second(ends[1])), float(line.second(ends[0])))
        least = np.ceil(line.critical(score * (1 - ROUNDING), k2) - 1e-7 * max(1.0, line.rows1 * 1e-6))
        least = np.where(k2 >= seen[1], np.minimum(least, seen[0]), least)  # rounding apart
        least = np.minimum.accumulate(least)  # it grows with k1 and with k2
        return cls(line, k1, k2, np.clip(least - k1[0], 0, len(k1)).astype(np.int64))

    def probability(self, q1: Array, q2: Array) -> Array:
        """An upper bound, by rounding and by what is far out, of its probability at points (m,)."""
        own = masses(self.k1, self.line.rows1, q1)
        above = np.zeros((len(q1), len(self.k1) + 1))
        above[:, :-1] = np.cumsum(own[:, ::-1], axis=1)[:, ::-1]
        inside = masses(self.k2, self.line.rows2, q2)
        return np.einsum("ij,ij->i", inside, above[:, self.least]) + FAR_OUT

    def largest(self, least: float, most: float) -> float:
        """An upper bound of the probability on the line, q1 between the two."""

        def at(q1: Array) -> Array:
            return self._by_chunks(q1, self.line.second(q1))

        def between(low: Array, high: Array) -> Array:
            return self._by_chunks(high, self.line.second(low))

        return largest_on_line(at, between, least, most)

    def _by_chunks(self, q1: Array, q2: Array) -> Array:
        step = max(1, int(CHUNK // (len(self.k1) + len(self.k2))))
        parts = range(0, len(q1), step)
        return np.concatenate([self.probability(q1[i : i + step], q2[i : i + step]) for i in parts])


def largest_on_line(
    at: Callable[[Array], Array], between: Callable[[Array, Array], Array], least: float, most: float
) -> float:
    """An upper bound of a probability along a line, whose points are numbers from `least` to `most`.

    `at` gives it at points, and `between` what it is at most between pairs of points.
    """
    ends = np.linspace(least, most, CELLS + 1)
    low, high, settled = ends[:-1], ends[1:], 0.0
    largest = float(at(ends).max())
    while len(low):
        bounds = between(low, high)
        best = np.argsort(-bounds, kind="stable")[:CELLS]
        largest = max(largest, float(at((low[best] + high[best]) / 2).max()))
        near = max(CLOSE_ABSOLUTE, CLOSE_RELATIVE * largest)
        again = (bounds > largest + near) & (high - low > ROUNDING)
        settled = max(settled, float(bounds[~again].max(initial=0.0)))
        # What a bound is too large by falls with the length of its piece.
        parts = np.clip(np.ceil(1.1 * (bounds[again] - largest) / near), 2, CELLS).astype(np.int64)
        low, high = _divided(low[again], high[again], parts)
    return max(largest, settled)


def _divided(low: Array, high: Array, parts: Array) -> tuple[Array, Array]:
    """Each piece from `low` to `high` in so many equal parts."""
    place = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    start, step = np.repeat(low, parts), np.repeat((high - low) / parts, parts)
    return start + place * step, start + (place + 1) * step


def window(rows: int, low: float, high: float) -> Array:
    """The numbers of successes that are likely for a proportion between the two."""
    ends = [
        rows * q + side * (FAR * math.sqrt(rows * q * (1 - q)) + FAR**2)
        for q, side in ((low, -1), (high, 1))
    ]
    return np.arange(max(0, math.floor(ends[0])), min(rows, math.ceil(ends[1])) + 1)


def masses(k: Array, rows: int, q: Array) -> Array:
    """Binomial probabilities (m, len(k)) for proportions `q` (m,)."""
    from scipy.special import gammaln

    ways = gammaln(rows + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways + k * np.log(q)[:, None] + (rows - k) * np.log1p(-q)[:, None]
    certain = np.where(q[:, None] <= 0, k == 0, k == rows)
    inside = (q > 0) & (q < 1)
    return np.where(inside[:, None], np.exp(logs), certain)
