"""Ratios on the rows of an audit: their value, and an interval of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratebound.auditing._intervals import Interval, Rows, equal_decisions, proportion
from ratebound.auditing._strata import Strata
from ratebound.auditing._sums import sum_interval
from ratebound.auditing.decided import Decided
from ratebound.auditing.influence import design_effect
from ratebound.auditing.measure import counted, rows_behind, total
from ratebound.auditing.report import Measured, Method
from ratebound.base.types import Array
from ratebound.rates.demands import form_of
from ratebound.rates.expressions import Expression, Ratio

FARTHEST = 1e9  # a ratio above this may be infinite


def measured_ratio(ratio: Ratio, bound: float, decided: Decided, level: float) -> tuple[Measured, int]:
    """The ratio of expectations (None where it divides by 0) and its bound; and the rows behind it."""
    times, ratio = unscaled(ratio)
    form = form_of(ratio)
    if form in ("proportion", "odds"):
        value, interval, method, rows = _of_rows(ratio, decided, level)
    else:
        value, interval, method, rows = _of_sums(ratio, decided, level)
    if interval is not None:
        interval = times * interval[0] - bound, times * interval[1] - bound
    return (None if value is None else times * value, bound, interval, method), rows


def unscaled(ratio: Ratio) -> tuple[float, Ratio]:
    """A number, and the ratio that it multiplies, whose largest coefficient above the line is 1."""
    times = max((abs(c) for _, c in ratio.numerator.terms), default=1.0)
    above = Expression(
        tuple((rate, c / times) for rate, c in ratio.numerator.terms), ratio.numerator.constant / times
    )
    alike = replace(ratio, numerator=above)
    return (times, alike) if form_of(alike) in ("proportion", "odds") else (1.0, ratio)


@dataclass(frozen=True, eq=False)
class Counted:
    """The rows that a proportion is of, and whether each is above the line; of odds, both sides' rows.

    Given which rows are counted at all, those above the line are a proportion of them.
    """

    weight: Array  # (n,) of one row, 0 of rows that are not counted
    hits: Array  # (n,) how likely each row that is counted is to be above the line
    times: Array  # (n,) how many rows each stands for
    behind: int  # rows below the line

    @property
    def inside(self) -> Array:
        """Which rows are counted, (n,)."""
        return self.weight > 0

    @property
    def rows(self) -> Rows:
        """What the rows count that are counted."""
        return Rows(self.weight[self.inside], self.times[self.inside])


def counted_rows(ratio: Ratio, decided: Decided) -> Counted:
    """The rows of a ratio that is a proportion or odds."""
    above, below = _counts(decided, ratio.numerator), _counts(decided, ratio.denominator)
    name = ratio.denominator.rates[0].population
    times, of = decided.times(name), above + below if form_of(ratio) == "odds" else below
    hits = np.divide(above, of, out=np.zeros(len(of)), where=of > 0)
    return Counted(decided.each_weight(name) * of, hits, times, round(float((times * below).sum())))


def strata_of(sides: Sequence[tuple[float, Counted]]) -> Strata | None:
    """A sum of proportions of one population's rows as strata, given which rows each is of.

    Each is multiplied by its number. None where a row counts differently in two of them.
    """
    inside = np.array([side.inside for _, side in sides])
    present = inside.any(axis=0)
    inside = inside[:, present]
    weights = np.array([side.weight[present] for _, side in sides])
    hits = np.array([side.hits[present] for _, side in sides])
    weight, hit = np.where(inside, weights, 0.0).max(axis=0), np.where(inside, hits, 0.0).max(axis=0)
    if not (np.isclose(weights, weight) | ~inside).all() or not (np.isclose(hits, hit) | ~inside).all():
        return None
    patterns, stratum = np.unique(inside, axis=1, return_inverse=True)
    rows = Rows(weight, sides[0][1].times[present])
    stratum = stratum.reshape(-1)

    def total(values: Array) -> Array:
        return np.bincount(stratum, rows.times * values, patterns.shape[1])

    all_of, square = total(weight), total(weight**2)
    share = all_of / all_of.sum()
    over = patterns / (patterns @ share)[:, None]
    gain = np.array([times for times, _ in sides])[:, None] * over
    slope = gain.sum(axis=0)
    mean = np.clip(total(weight * hit) / all_of, 0.0, 1.0)  # sums of weights are rounded
    zero = np.zeros(len(share))
    changes = np.abs(slope) * square / all_of / all_of.sum()
    equal = (patterns @ all_of) ** 2 / (patterns @ square)
    return Strata(
        share=share,
        spread=square / all_of.sum() ** 2,
        reach=np.abs(slope),
        mean=np.where(slope < 0, 1.0 - mean, mean),
        trials=equal_decisions(rows, hit, stratum, zero, zero + 1.0),
        rows=np.where(patterns, equal[:, None], np.inf).min(axis=0),
        influence=slope * mean - over.T @ (gain * mean @ share),
        over=over,
        follows=gain * share * slope / np.maximum(slope**2, 1e-300),
        step=float(min(changes[changes > 0], default=0.0)),
    )


def _of_rows(
    ratio: Ratio, decided: Decided, level: float
) -> tuple[float | None, Interval | None, Method, int]:
    """The value of a proportion or of odds, its interval, how that is found, and the rows behind it."""
    counted_in = counted_rows(ratio, decided)
    below = total(decided, ratio.denominator)
    value = total(decided, ratio.numerator) / below if below > 0 else None
    if not counted_in.inside.any():
        return value, None, "exact", counted_in.behind
    hits, own = counted_in.hits[counted_in.inside], counted_in.rows
    whole = ratio.numerator + ratio.denominator if form_of(ratio) == "odds" else ratio.denominator
    alike = design_effect(decided, linearised(replace(ratio, denominator=whole), decided), level)
    if math.isinf(alike):
        return value, None, "none", counted_in.behind
    low, high = proportion(hits, own, level, alike)
    if form_of(ratio) == "odds":
        low, high = (end / (1.0 - end) if end < 1 else np.inf for end in (low, high))
    one_model = (hits * (1 - hits) == 0).all()
    plain = np.ptp(own.weight) == 0 and decided.clustered is None
    method: Method = "exact" if plain and one_model else "weighted"
    return value, (low, high), method, counted_in.behind


def _of_sums(
    ratio: Ratio, decided: Decided, level: float
) -> tuple[float | None, Interval | None, Method, int]:
    """The same of any other ratio."""
    rows = rows_behind(decided, (*ratio.numerator.rates, *ratio.denominator.rates))
    below = total(decided, ratio.denominator)
    if below <= 0:
        return None, None, "score", rows
    value = total(decided, ratio.numerator) / below
    most = 1.0 if form_of(ratio) == "share" else FARTHEST
    if sum_interval(0.0, linearised(ratio, decided), decided, level)[0] is None:
        return value, None, "none", rows
    return value, _by_scores(ratio, value, most, decided, level), "score", rows


def linearised(ratio: Ratio, decided: Decided) -> Expression:
    """A sum of rates that moves with each row as the ratio does, and is 0 on these rows."""
    below = total(decided, ratio.denominator)
    value = total(decided, ratio.numerator) / below
    return (ratio.numerator - value * ratio.denominator) * (1 / below)


def _counts(decided: Decided, side: Expression) -> Array:
    """How likely each row is to be counted on one side of a ratio, (n,)."""
    return np.sum([coefficient * counted(decided, rate) for rate, coefficient in side.terms], axis=0)


def _by_scores(ratio: Ratio, value: float, most: float, decided: Decided, level: float) -> Interval:
    """The numbers b for which a score test does not reject ``numerator = b * denominator``."""
    from scipy.optimize import brentq  # which is slow to import

    def end(b: float, side: int) -> float:
        """Where the interval of ``numerator - b * denominator`` ends, below (0) or above (1)."""
        difference = ratio.numerator - b * ratio.denominator
        here = total(decided, difference) - difference.constant
        interval, _ = sum_interval(here, difference, decided, level)
        assert interval is not None
        return interval[side] + difference.constant

    def crossing(side: int, limit: float) -> float:
        """Where that end passes 0, from `value` on; at most at `limit`.

        Where `value` is as far as the ratio can get, as an F-score of 1 is, rounding decides its sign.
        """
        if (end(value, side) <= 0) if side else (end(value, side) >= 0):
            return value
        limit, away = (max if side else min)(limit, value), 0.1
        while True:
            far = min(value + away, limit) if side else max(value - away, limit)
            if (end(far, side) < 0) if side else (end(far, side) > 0):
                return float(brentq(end, value, far, args=(side,), rtol=1e-6))
            if far == limit:
                return limit if abs(limit) < FARTHEST else float(np.copysign(np.inf, limit))
            away *= 4

    negative = ratio.numerator.constant < 0 or any(c < 0 for _, c in ratio.numerator.terms)
    return crossing(0, -FARTHEST if negative else 0.0), crossing(1, most)
