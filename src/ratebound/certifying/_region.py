"""Samples of two proportions that are at least as good as one seen, and how likely they can be.

Successes speak for a promise A q1 + B q2 > bound with A, B > 0. Samples are ordered by the score
statistic, whose constrained estimate lies on the line A q1 + B q2 = bound.

The points with score τ have a closed form. Where the estimate is (q1, q2) with variances v = q (1 - q),
the Lagrange condition is k1 = n1 q1 + μ A v1 and k2 = n2 q2 + μ B v2, and the score is μ σ with
σ² = A² v1 / n1 + B² v2 / n2. So μ = τ / σ, and one search along the line finds k1 for every k2.

The probability of the region grows with q1 and with q2. So between two points of the line it is at most
that at the larger q1 of the one and the larger q2 of the other, and bisecting makes the bound as close
as one likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ratebound.base.types import Array

FAR = 7.0  # standard deviations; what lies farther out is added to the probability
CELLS = 32  # pieces of the line to begin with
CLOSE, CLOSER = 0.01, 1e-4  # the bound ends within this share of what was found, or this
BISECTIONS = 60
SMALL, CORNER = 1e-12, 1e-9
FAR_OUT = 1e-10  # more than the probability of what lies farther than FAR
CHUNK = 4e6  # numbers at a time


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
        return np.maximum(np.sqrt(variance), SMALL**2)

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
        )  # from where no sample lies above the line
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
        k1 = _window(line.rows1, *ends)
        k2 = _window(line.rows2, float(line.second(ends[1])), float(line.second(ends[0])))
        least = np.ceil(line.critical(score * (1 - SMALL), k2) - 1e-7 * max(1.0, line.rows1 * 1e-6))
        least = np.where(k2 >= seen[1], np.minimum(least, seen[0]), least)  # rounding apart
        least = np.minimum.accumulate(least)  # it grows with k1 and with k2
        return cls(line, k1, k2, np.clip(least - k1[0], 0, len(k1)).astype(np.int64))

    def probability(self, q1: Array, q2: Array) -> Array:
        """An upper bound, by rounding and by what is far out, of its probability at points (m,)."""
        masses = _masses(self.k1, self.line.rows1, q1)
        above = np.zeros((len(q1), len(self.k1) + 1))
        above[:, :-1] = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1]
        inside = _masses(self.k2, self.line.rows2, q2)
        return np.einsum("ij,ij->i", inside, above[:, self.least]) + FAR_OUT

    def largest(self, least: float, most: float) -> float:
        """An upper bound of the probability on the line, q1 between the two."""
        ends = np.linspace(least, most, CELLS + 1)
        low, high, settled = ends[:-1], ends[1:], 0.0
        found = float(self._by_chunks(ends, self.line.second(ends)).max())
        while len(low):
            bounds = self._by_chunks(high, self.line.second(low))
            best = np.argsort(-bounds, kind="stable")[:CELLS]
            middle = (low[best] + high[best]) / 2
            found = max(found, float(self.probability(middle, self.line.second(middle)).max()))
            near = max(CLOSER, CLOSE * found)
            again = (bounds > found + near) & (high - low > SMALL)
            settled = max(settled, float(bounds[~again].max(initial=0.0)))
            # What a bound is too large by falls with the length of its piece.
            parts = np.clip(np.ceil(1.1 * (bounds[again] - found) / near), 2, CELLS).astype(np.int64)
            low, high = _divided(low[again], high[again], parts)
        return max(found, settled)

    def _by_chunks(self, q1: Array, q2: Array) -> Array:
        step = max(1, int(CHUNK // (len(self.k1) + len(self.k2))))
        parts = range(0, len(q1), step)
        return np.concatenate([self.probability(q1[i : i + step], q2[i : i + step]) for i in parts])


def _divided(low: Array, high: Array, parts: Array) -> tuple[Array, Array]:
    """Each piece from `low` to `high` in so many equal parts."""
    place = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    start, step = np.repeat(low, parts), np.repeat((high - low) / parts, parts)
    return start + place * step, start + (place + 1) * step


def _window(rows: int, low: float, high: float) -> Array:
    """The numbers of successes that are likely for a proportion between the two."""
    ends = [
        rows * q + side * (FAR * math.sqrt(rows * q * (1 - q)) + FAR**2)
        for q, side in ((low, -1), (high, 1))
    ]
    return np.arange(max(0, math.floor(ends[0])), min(rows, math.ceil(ends[1])) + 1)


def _masses(k: Array, rows: int, q: Array) -> Array:
    """Binomial probabilities (m, len(k)) for proportions `q` (m,)."""
    from scipy.special import gammaln

    ways = gammaln(rows + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways + k * np.log(q)[:, None] + (rows - k) * np.log1p(-q)[:, None]
    certain = np.where(q[:, None] <= 0, k == 0, k == rows)
    inside = (q > 0) & (q < 1)
    return np.where(inside[:, None], np.exp(logs), certain)
