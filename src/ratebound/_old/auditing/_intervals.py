"""Intervals of one proportion, and of an area under the curve.

A proportion has an exact interval (Clopper and Pearson). Rows of unequal weight, and areas, are treated
as a proportion of equal rows, as many as give the same variance (Korn and Graubard, 1998).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound._old.base.types import Array

Interval = tuple[float, float]


def clopper_pearson(successes: float, trials: float, confidence: float = 0.95) -> Interval:
    """The exact interval of a proportion; both numbers may be fractions of rows.

    >>> low, high = clopper_pearson(0, 10)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.3085)
    """
    if not 0 <= successes <= trials or trials <= 0:
        raise ValueError(f"a proportion needs 0 <= successes <= trials, got {successes} of {trials}")
    tail = (1.0 - confidence) / 2
    misses = trials - successes
    from scipy.special import betaincinv  # it takes as long to load as NumPy

    low = float(betaincinv(successes, misses + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, misses, 1.0 - tail)) if misses else 1.0
    return low, high


@dataclass(frozen=True, eq=False)
class Weighed:
    """The weights of rows, some of which may stand for several equal rows."""

    weight: Array  # (n,) of one row
    times: Array  # (n,) how many rows each stands for

    @property
    def all(self) -> Array:
        """The weight of all rows that each row stands for, (n,)."""
        return self.times * self.weight

    @property
    def equal(self) -> float:
        """How many rows of equal weight have a mean with the same variance."""
        return float(self.all.sum() ** 2 / (self.all @ self.weight))


def proportion(hits: Array, rows: Weighed, confidence: float, alike: float = 1.0) -> Interval:
    """The interval of the share of the rows' weight that lies on `hits` (n,), each from 0 to 1.

    `alike` rows carry as much information as one.
    """
    one, first = np.ones(1), np.zeros(len(hits), dtype=np.int64)
    trials = float(equal_decisions(rows, hits, first, 0.0 * one, one)[0]) / alike
    share = min(float(rows.all @ hits / rows.all.sum()), 1.0)  # sums of weights are rounded
    return clopper_pearson(share * trials, trials, confidence)


def equal_decisions(rows: Weighed, values: Array, stratum: Array, low: Array, high: Array) -> Array:
    """How many decisions of equal weight have a mean with the variance of each stratum's, (strata,).

    Values (n,) lie between `low` and `high` (strata,), and decisions take only these two. Values between
    them, such as a mixture's expectations, vary less and count as more decisions. Rows of unequal weight
    count as fewer, and never as more because few of them happen to be heavy.
    """

    def total(of_rows: Array) -> Array:
        return np.bincount(stratum, rows.times * of_rows, len(low))

    count = np.bincount(stratum, rows.times, len(low))

    def varies(w: Array) -> Array:
        """The variance relative to decisions with this mean; one imagined row is included."""
        mean, square = total(w * values) / total(w), total(w**2)
        spread = total(w**2 * (values - mean[stratum]) ** 2)
        most = square * (mean - low) * (high - mean)
        imagined = square / count * (high - low) ** 2 / 4
        return np.divide(spread + imagined, most + imagined, out=np.ones(len(low)), where=high > low)

    equal = total(rows.weight) ** 2 / total(rows.weight**2)
    return equal / np.maximum(varies(rows.weight), varies(np.ones(len(stratum))))


@dataclass(frozen=True, eq=False)
class Placements:
    """The mean area of a model's members, the rows' placements around it, and their variance."""

    value: float
    above: Array  # (positives,) the share of negatives below each positive row
    below: Array  # (negatives,) the share of positives above each negative row
    v: Weighed
    w: Weighed

    def moves(self) -> list[Array]:
        """How far each positive and each negative row moves the area."""
        return [
            rows.weight * (values - rows.all @ values / rows.all.sum()) / rows.all.sum()
            for values, rows in ((self.above, self.v), (self.below, self.w))
        ]

    def interval(self, confidence: float, alike: float = 1.0) -> Interval:
        """The interval of a proportion with the same variance; `alike` rows count as one.

        An area varies at most as a proportion of the rows of the smaller class does (Birnbaum and Klose,
        1957). One imagined row that varies as much keeps a perfect ranking of a few rows from counting
        as certainty.
        """
        smaller = min(self.v.equal, self.w.equal)
        variance = _variance_of_mean(self.above, self.v) + _variance_of_mean(self.below, self.w)
        area = self.value
        rows = (area * (1.0 - area) + 0.25 / smaller) / (variance + 0.25 / smaller**2) / alike
        return clopper_pearson(area * rows, rows, confidence)


def area(positives: Array, negatives: Array, members: Array, v: Weighed, w: Weighed) -> Placements:
    """The mean area of members (M,) with scores (M, rows) of rows `v` and `w`. A tie counts half.

    DeLong's variance is the variance of the two classes' mean placements. A row's placement is the share
    of the other class on its right side.
    """
    scored = list(zip(members, positives, negatives, strict=True))
    above = np.sum([m * _share_below(n, w.all, p) for m, p, n in scored], axis=0)
    below = np.sum([m * _share_below(-p, v.all, -n) for m, p, n in scored], axis=0)
    return Placements(min(float(v.all @ above / v.all.sum()), 1.0), above, below, v, w)


def _share_below(values: Array, weights: Array, at: Array) -> Array:
    """The share of `weights` whose values lie below each of `at`; equal values count half."""
    order = np.argsort(values, kind="stable")
    totals = np.concatenate([[0.0], np.cumsum(weights[order])])
    left = np.searchsorted(values[order], at, side="left")
    right = np.searchsorted(values[order], at, side="right")
    return (totals[left] + totals[right]) / (2 * totals[-1])


def _variance_of_mean(values: Array, rows: Weighed) -> float:
    mean = rows.all @ values / rows.all.sum()
    few = rows.equal / (rows.equal - 1.0) if rows.equal >= 2 else 1.0
    return float(few * ((rows.all * rows.weight) @ (values - mean) ** 2) / rows.all.sum() ** 2)
