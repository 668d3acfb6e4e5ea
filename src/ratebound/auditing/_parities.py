"""Promises about two ratios on the rows of an audit, and what an interval says of any promise.

The two ratios' intervals hold together where each holds at half of the doubt (Bonferroni), whatever rows
they share: so their difference lies between what the ends make of it.
"""

from __future__ import annotations

from ratebound.auditing._intervals import Interval
from ratebound.auditing._ratios import measured_ratio
from ratebound.auditing.decided import Decided
from ratebound.auditing.report import Promise, Verdict
from ratebound.base.linear_program import TOLERANCE
from ratebound.rates.parities import Parity


def measured_parity(promise: Parity, decided: Decided, level: float) -> Promise:
    """One ratio compared with another."""
    each = 1 - (1 - level) / 2
    (left, _, own, method), rows = measured_ratio(promise.left, 0.0, decided, each)
    (right, _, other, _), others = measured_ratio(promise.right, 0.0, decided, each)
    sign = 1.0 if promise.relation == ">=" else -1.0
    slack = None if left is None or right is None else sign * (left - right)
    interval: Interval | None = None
    if own is not None and other is not None:
        ends = sorted((sign * (own[0] - other[1]), sign * (own[1] - other[0])))
        interval = ends[0], ends[1]
    low, high = around(slack, interval)
    return Promise(
        words=str(promise),
        name=promise.name,
        relation=promise.relation,
        value=left,
        bound=right,
        slack=slack,
        slack_low=low,
        slack_high=high,
        violation=0.0 if slack is None else -slack,
        kept=slack is None or slack >= -TOLERANCE,  # a ratio that divides by 0 breaks nothing
        verdict=verdict_of(low, high),
        rows=min(rows, others),
        unit="ratio",
        method=method if interval is not None else "none",
    )


def verdict_of(low: float | None, high: float | None) -> Verdict:
    if low is not None and low >= -TOLERANCE:
        return "holds"
    return "broken" if high is not None and high < -TOLERANCE else "may not hold"


def around(value: float | None, interval: Interval | None) -> tuple[float | None, float | None]:
    """The interval, widened to hold its estimate, which rounding can put a hair outside of it."""
    if interval is None:
        return None, None
    low, high = interval
    return (low, high) if value is None else (min(low, value), max(high, value))
