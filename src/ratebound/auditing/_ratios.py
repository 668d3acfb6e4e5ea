"""Ratios on the rows of an audit: their value, and an interval of it."""

from __future__ import annotations

import numpy as np

from ratebound.auditing._intervals import Interval, Rows, proportion
from ratebound.auditing._sums import sum_interval
from ratebound.auditing.decided import Decided
from ratebound.auditing.measure import counted, rows_behind, total
from ratebound.auditing.report import Measured, Method
from ratebound.base.types import Array
from ratebound.rates.demands import form_of
from ratebound.rates.expressions import Expression, Ratio

FARTHEST = 1e9  # a ratio above this may be infinite


def measured_ratio(ratio: Ratio, bound: float, decided: Decided, level: float) -> tuple[Measured, int]:
    """The ratio of expectations (None where it divides by 0) and its bound; and the rows behind it."""
    form = form_of(ratio)
    if form in ("proportion", "odds"):
        return _of_rows(ratio, bound, form == "odds", decided, level)
    rows = rows_behind(decided, (*ratio.numerator.rates, *ratio.denominator.rates))
    below = total(decided, ratio.denominator)
    if below <= 0:
        return (None, bound, None, "score"), rows
    value = total(decided, ratio.numerator) / below
    low, high = _by_scores(ratio, value, 1.0 if form == "share" else FARTHEST, decided, level)
    return (value, bound, (low - bound, high - bound), "score"), rows


def _of_rows(
    ratio: Ratio, bound: float, odds: bool, decided: Decided, level: float
) -> tuple[Measured, int]:
    """Given which rows are counted at all, those above the line are a proportion of them.

    Behind it stand the rows below the line; in odds, what is above it is not below it as well.
    """
    above, below = _counts(decided, ratio.numerator), _counts(decided, ratio.denominator)
    name = ratio.denominator.rates[0].population
    v, times = decided.row_weights(name), decided.times(name)
    rows = round(float((times * below).sum()))
    value = float(v @ above) / float(v @ below) if v @ below > 0 else None
    weight = decided.each_weight(name) * (above + below if odds else below)
    inside = weight > 0
    if not inside.any():
        return (value, bound, None, "exact"), rows
    low, high = proportion(above[inside] > 0, Rows(weight[inside], times[inside]), level)
    if odds:
        low, high = (end / (1.0 - end) if end < 1 else np.inf for end in (low, high))
    method: Method = "exact" if np.ptp(weight[inside]) == 0 else "weighted"
    return (value, bound, (low - bound, high - bound), method), rows


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
        return sum_interval(here, difference, decided, level)[0][side] + difference.constant

    def crossing(side: int, limit: float) -> float:
        """Where that end passes 0, from `value` on; at most at `limit`."""
        away = 0.1
        while True:
            far = min(value + away, limit) if side else max(value - away, limit)
            if (end(far, side) < 0) if side else (end(far, side) > 0):
                return float(brentq(end, value, far, args=(side,), rtol=1e-6))
            if far == limit:
                return limit if abs(limit) < FARTHEST else float(np.copysign(np.inf, limit))
            away *= 4

    negative = ratio.numerator.constant < 0 or any(c < 0 for _, c in ratio.numerator.terms)
    return crossing(0, -FARTHEST if negative else 0.0), crossing(1, most)
