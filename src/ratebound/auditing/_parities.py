"""Promises about two ratios on the rows of an audit, and what an interval says of any promise.

Given which rows are counted, two proportions such as precisions are rates of these rows, and their
difference has the interval of a score test, as other sums of rates have. The interval of any other
difference recovers the variances of both sides from their own intervals, and how they vary together from
the influence of the rows on each (Zou and Donner, 2008).
"""

from __future__ import annotations

import math

import numpy as np

from ratebound.auditing._intervals import Interval
from ratebound.auditing._ratios import (
    Counted,
    counted_rows,
    linearised,
    measured_ratio,
    strata_of,
    unscaled,
)
from ratebound.auditing._score import score_interval
from ratebound.auditing._sums import no_interval
from ratebound.auditing.decided import Decided
from ratebound.auditing.influence import covariance, design_effect
from ratebound.auditing.report import Promise, Verdict
from ratebound.base.linear_program import TOLERANCE
from ratebound.rates.demands import Demand, form_of, is_even
from ratebound.rates.parities import Parity


def measured_parity(promise: Parity, decided: Decided, level: float) -> Promise:
    """One ratio compared with another."""
    (left, _, own, _), rows = measured_ratio(promise.left, 0.0, decided, level)
    (right, _, other, _), others = measured_ratio(promise.right, 0.0, decided, level)
    slack = interval = None
    if left is not None and right is not None:
        slack = left - right if promise.relation == ">=" else right - left
        if own is not None and other is not None:
            interval = _paired(promise, slack, decided, level) or _recovered(
                promise, (left, right), (own, other), decided
            )
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
        method="score" if interval is not None else "none",
        why="" if interval is not None or slack is None else no_interval(promise.rates, decided),
    )


def _paired(promise: Parity, slack: float, decided: Decided, level: float) -> Interval | None:
    """The interval of a difference of two proportions; None of other ratios, or where rows differ."""
    sign = 1.0 if promise.relation == ">=" else -1.0
    of_each: dict[str, list[tuple[float, Counted]]] = {}
    for side, ratio in ((sign, promise.left), (-sign, promise.right)):
        times, plain = unscaled(ratio)
        if form_of(plain) != "proportion":
            return None
        name = plain.denominator.rates[0].population
        of_each.setdefault(name, []).append((side * times, counted_rows(plain, decided)))
    strata = [strata_of(sides) for sides in of_each.values()]
    known = [each for each in strata if each is not None]
    if len(known) < len(strata):
        return None
    moved = linearised(promise.left, decided) - linearised(promise.right, decided)
    alike = design_effect(decided, moved, level)
    return score_interval(slack, [each.thinned(alike) for each in known], level)


def _recovered(
    promise: Parity, values: tuple[float, float], ends: tuple[Interval, Interval], decided: Decided
) -> Interval:
    """The interval of the room from those of both sides."""
    together = _correlation(promise, decided)
    (left, right), (own, other) = values, ends

    def reach(one: float, two: float) -> float:
        if math.isinf(one) or math.isinf(two):
            return math.inf
        return math.sqrt(max(one**2 + two**2 - 2 * together * one * two, 0.0))

    down, up = reach(left - own[0], other[1] - right), reach(own[1] - left, right - other[0])
    room = left - right
    return (room - down, room + up) if promise.relation == ">=" else (-room - up, down - room)


def _correlation(promise: Parity, decided: Decided) -> float:
    """How two ratios vary together from sample to sample, from -1 to 1."""
    sides = ((ratio, linearised(ratio, decided)) for ratio in (promise.left, promise.right))
    both = covariance(
        decided, [Demand(moved <= 0, moved, 0, per_row=is_even(ratio)) for ratio, moved in sides]
    )
    scale = math.sqrt(both[0, 0] * both[1, 1])
    return float(np.clip(both[0, 1] / scale, -1.0, 1.0)) if scale > 0 else 0.0


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
