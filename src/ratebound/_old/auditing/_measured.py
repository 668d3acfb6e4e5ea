"""Rates, ratios and comparisons of two ratios on the rows of a tally, and their intervals.

A sum of rates has a score interval. It rests on strata: rows that the sum treats alike except for their
decisions. Rows with different amounts are not alike, and a few of them may make up most of the sum. So a
sum with such costs has the interval of a mean, with Hall's (1992) transformation for skewness, and none
if too few rows cost anything.

Given which rows are counted, two proportions such as precisions are rates of these rows, and their
difference has the interval of a score test too. For any other difference of ratios, the variances are
recovered from the intervals of both sides, and their correlation from the influence of the rows on each
(Zou and Donner, 2008).

If an objective is not a sum, the intervals of its parts hold together if each takes a share of the error
(Bonferroni). A smallest, a largest or a mean of rates rises with each rate, so its ends come from the
parts' ends. A divergence is lowest at the target share and highest at one of the ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.auditing._intervals import Interval, Weighed, equal_decisions, proportion
from ratebound._old.auditing._score import Strata, score_interval, strata
from ratebound._old.auditing.influence import covariance, design_effect, moves, moves_of_sum
from ratebound._old.auditing.report import Measured, Method, Promise, Verdict
from ratebound._old.auditing.tally import Tally, counted, rows_behind, total
from ratebound._old.base.linear_program import TOLERANCE
from ratebound._old.base.types import Array
from ratebound._old.problem.reductions.goal import NonlinearObjective
from ratebound._old.rates.beyond_sums import Extreme
from ratebound._old.rates.costs import cost_columns
from ratebound._old.rates.demands import Demand, form_of, is_even, unscaled
from ratebound._old.rates.expressions import Expression, Metric, MixedSum, Rate, Ratio
from ratebound._old.rates.ranges import Parity

FEWEST = 30  # with fewer rows that cost something, their mean has no interval
# The same for equal amounts; it grows as the mean of squares over the squared mean.
SPREAD = 10
FARTHEST = 1e9  # a ratio above this may be infinite

# The interval of a sum or a ratio at a confidence; None if it has none.
Interval_of = Callable[[Expression | Ratio, float], Interval | None]

# --- sums of rates ---------------------------------------------------------------------------------


def sum_interval(
    value: float, expression: Expression, tally: Tally, confidence: float
) -> tuple[Interval | None, Method]:
    """The interval around the `value` of a sum of rates on these rows.

    None if rows that cost something, or clusters, are too few; `no_interval` says which.
    """
    alike = design_effect(tally, expression, confidence)
    if math.isinf(alike) or any(_too_few(tally, rate) for rate in expression.rates):
        return None, "none"
    if any(cost_columns(rate) for rate in expression.rates):
        return _of_mean(value, expression, tally, confidence), "skewed"
    thinned = [each.thinned(alike) for each in strata(tally, expression)]
    return score_interval(value, thinned, confidence), "score"


def no_interval(rates: Iterable[Rate], tally: Tally) -> str:
    """Why a promise about these rates has no interval although it can be measured."""
    for rate in rates:
        costly, needed = _costly(tally, rate)
        if costly < needed:
            return (
                f"too few rows for an interval: {rate} rests on {costly:,} rows that cost something, "
                f"and amounts that vary this much need about {needed:,}"
            )
    if tally.clustered is not None:
        return f"too few rows for an interval: they all have the same {tally.clustered!r}"
    return ""


def _too_few(tally: Tally, rate: Rate) -> bool:
    costly, needed = _costly(tally, rate)
    return costly < needed


def _costly(tally: Tally, rate: Rate) -> tuple[int, int]:
    """How many rows cost something, by their own amounts, and how many an interval needs.

    If amounts vary widely, a few rows are most of the cost, and such a row may not have been drawn yet.
    The measure is the variance of the amounts' logarithms, in which amounts near 0 hardly count. For
    log-normal amounts, its exponential is the mean of their squares over their squared mean.
    """
    if not cost_columns(rate):
        return 0, 0
    lines = tally[rate.population]
    cost = lines.weight * counted(lines, rate, tally.classes)
    costly = cost > 0
    rows, needed = lines.counted(costly), float(FEWEST)
    if rows:
        logs, weight = np.log(cost[costly]), (lines.rows * np.sqrt(cost))[costly]
        apart = weight @ (logs - weight @ logs / weight.sum()) ** 2 / weight.sum()
        needed = max(needed, SPREAD * math.exp(min(apart, 30.0)))
    return rows, math.ceil(needed)


def _of_mean(value: float, expression: Expression, tally: Tally, confidence: float) -> Interval:
    """The interval of a sum in which each row has its own cost.

    For a studentized sum T of skewness g, ``T + g T**2 / 3 + g**2 T**3 / 27 + g / 6`` is nearly normal.
    Two rows are imagined beside the rows of each rate: one that costs the most and one that costs
    nothing.
    """
    from scipy.special import stdtrit

    variance = third = 0.0
    freedom = 0
    for name, (own, _) in moves_of_sum(tally, expression).items():
        codes, times = tally.clusters(name), tally[name].rows
        drawn = own if codes is None else np.bincount(codes, times * own)
        count = times.sum() if codes is None else len(drawn)
        often = times if codes is None else 1.0
        variance += count / (count - 1) * float((often * drawn**2).sum())
        third += float((often * drawn**3).sum())
        freedom += count - 1
    for rate, coefficient in expression.terms:
        imagined = moves(tally, rate)
        for each in (coefficient * imagined.high, coefficient * imagined.low):
            variance += each**2
            third += each**3
    freedom = min(freedom, rows_behind(tally, expression.rates) - 1)
    quantile, skewness = float(stdtrit(freedom, (1 + confidence) / 2)), third / variance**1.5

    def studentized(normal: float) -> float:
        if abs(skewness) < 1e-6:
            return normal
        return 3 / skewness * float(np.cbrt(1 + skewness * (normal - skewness / 6)) - 1)

    deviation = math.sqrt(variance)
    return value - deviation * studentized(quantile), value - deviation * studentized(-quantile)


# --- ratios ----------------------------------------------------------------------------------------


def measured_ratio(ratio: Ratio, bound: float, tally: Tally, confidence: float) -> tuple[Measured, int]:
    """The ratio of expectations (None if it divides by 0) and its bound, and the rows behind it."""
    times, ratio = unscaled(ratio)
    form = form_of(ratio)
    if form in ("proportion", "odds"):
        value, interval, method, rows = _of_rows(ratio, tally, confidence)
    else:
        value, interval, method, rows = _of_sums(ratio, tally, confidence)
    if interval is not None:
        interval = times * interval[0] - bound, times * interval[1] - bound
    return (None if value is None else times * value, bound, interval, method), rows


@dataclass(frozen=True, eq=False)
class Counted:
    """The rows that a proportion counts, and whether each is above the line; for odds, both sides' rows.

    Given which rows are counted, the rows above the line are a proportion of them.
    """

    weight: Array  # (n,) of one row; 0 for rows that are not counted
    hits: Array  # (n,) the probability that a counted row is above the line
    times: Array  # (n,) how many rows each stands for
    behind: int  # rows below the line

    @property
    def inside(self) -> Array:
        """Which rows are counted, (n,)."""
        return self.weight > 0

    @property
    def rows(self) -> Weighed:
        """The weights of the counted rows."""
        return Weighed(self.weight[self.inside], self.times[self.inside])


def counted_rows(ratio: Ratio, tally: Tally) -> Counted:
    """The rows of a ratio that is a proportion or odds."""
    above, below = _counts(tally, ratio.numerator), _counts(tally, ratio.denominator)
    lines = tally[ratio.denominator.rates[0].population]
    of = above + below if form_of(ratio) == "odds" else below
    hits = np.divide(above, of, out=np.zeros(len(of)), where=of > 0)
    return Counted(lines.weight * of, hits, lines.rows, round(float(lines.rows @ below)))


def strata_of(sides: Sequence[tuple[float, Counted]]) -> Strata | None:
    """A sum of proportions of one population's rows as strata, given which rows each counts.

    Each is multiplied by its number. None if a row counts differently in two of them.
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
    rows = Weighed(weight, sides[0][1].times[present])
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
    ratio: Ratio, tally: Tally, confidence: float
) -> tuple[float | None, Interval | None, Method, int]:
    """The value of a proportion or of odds, its interval, the method, and the rows behind it."""
    counted_in = counted_rows(ratio, tally)
    below = total(tally, ratio.denominator)
    value = total(tally, ratio.numerator) / below if below > 0 else None
    if not counted_in.inside.any():
        return value, None, "exact", counted_in.behind
    hits, weighed = counted_in.hits[counted_in.inside], counted_in.rows
    whole = ratio.numerator + ratio.denominator if form_of(ratio) == "odds" else ratio.denominator
    alike = design_effect(tally, linearised(replace(ratio, denominator=whole), tally), confidence)
    if math.isinf(alike):
        return value, None, "none", counted_in.behind
    low, high = proportion(hits, weighed, confidence, alike)
    if form_of(ratio) == "odds":
        low, high = (end / (1.0 - end) if end < 1 else np.inf for end in (low, high))
    one_model = (hits * (1 - hits) == 0).all()
    plain = np.ptp(weighed.weight) == 0 and tally.clustered is None
    method: Method = "exact" if plain and one_model else "weighted"
    return value, (low, high), method, counted_in.behind


def _of_sums(
    ratio: Ratio, tally: Tally, confidence: float
) -> tuple[float | None, Interval | None, Method, int]:
    """The same for any other ratio."""
    rows = rows_behind(tally, (*ratio.numerator.rates, *ratio.denominator.rates))
    below = total(tally, ratio.denominator)
    if below <= 0:
        return None, None, "score", rows
    value = total(tally, ratio.numerator) / below
    most = 1.0 if form_of(ratio) == "share" else FARTHEST
    if sum_interval(0.0, linearised(ratio, tally), tally, confidence)[0] is None:
        return value, None, "none", rows
    return value, _by_scores(ratio, value, most, tally, confidence), "score", rows


def linearised(ratio: Ratio, tally: Tally) -> Expression:
    """A sum of rates that each row moves as it moves the ratio, and that is 0 on these rows."""
    below = total(tally, ratio.denominator)
    value = total(tally, ratio.numerator) / below
    return (ratio.numerator - value * ratio.denominator) * (1 / below)


def _counts(tally: Tally, side: Expression) -> Array:
    """The probability that each row is counted on one side of a ratio, (n,)."""
    each = (c * counted(tally[rate.population], rate, tally.classes) for rate, c in side.terms)
    return np.sum(list(each), axis=0)


def _by_scores(ratio: Ratio, value: float, most: float, tally: Tally, confidence: float) -> Interval:
    """The numbers b for which a score test does not reject ``numerator = b * denominator``."""
    from scipy.optimize import brentq  # slow to import

    def end(b: float, side: int) -> float:
        """The end of the interval of ``numerator - b * denominator``, below (0) or above (1)."""
        difference = ratio.numerator - b * ratio.denominator
        here = total(tally, difference) - difference.constant
        interval, _ = sum_interval(here, difference, tally, confidence)
        assert interval is not None
        return interval[side] + difference.constant

    def crossing(side: int, limit: float) -> float:
        """The b at which that end passes 0, from `value` on; at most `limit`.

        If `value` is the largest that the ratio can have, such as an F-score of 1, rounding decides its
        sign.
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


# --- comparisons of two ratios ---------------------------------------------------------------------


def measured_parity(promise: Parity, tally: Tally, confidence: float) -> Promise:
    """One ratio compared with another."""
    (left, _, own, _), rows = measured_ratio(promise.left, 0.0, tally, confidence)
    (right, _, other, _), others = measured_ratio(promise.right, 0.0, tally, confidence)
    slack = interval = None
    if left is not None and right is not None:
        slack = left - right if promise.relation == ">=" else right - left
        if own is not None and other is not None:
            interval = _paired(promise, slack, tally, confidence) or _recovered(
                promise, (left, right), (own, other), tally
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
        kept=slack is None or slack >= -TOLERANCE,  # a ratio that divides by 0 breaks no promise
        verdict=verdict_of(low, high),
        rows=min(rows, others),
        unit="ratio",
        method="score" if interval is not None else "none",
        why="" if interval is not None or slack is None else no_interval(promise.rates, tally),
    )


def _paired(promise: Parity, slack: float, tally: Tally, confidence: float) -> Interval | None:
    """The interval of a difference of two proportions; None for other ratios, or if rows differ."""
    sign = 1.0 if promise.relation == ">=" else -1.0
    of_each: dict[str, list[tuple[float, Counted]]] = {}
    for side, ratio in ((sign, promise.left), (-sign, promise.right)):
        times, plain = unscaled(ratio)
        if form_of(plain) != "proportion":
            return None
        name = plain.denominator.rates[0].population
        of_each.setdefault(name, []).append((side * times, counted_rows(plain, tally)))
    strata = [strata_of(sides) for sides in of_each.values()]
    known = [each for each in strata if each is not None]
    if len(known) < len(strata):
        return None
    moved = linearised(promise.left, tally) - linearised(promise.right, tally)
    alike = design_effect(tally, moved, confidence)
    return score_interval(slack, [each.thinned(alike) for each in known], confidence)


def _recovered(
    promise: Parity, values: tuple[float, float], ends: tuple[Interval, Interval], tally: Tally
) -> Interval:
    """The interval of the room from both sides' intervals."""
    together = _correlation(promise, tally)
    (left, right), (own, other) = values, ends

    def reach(one: float, two: float) -> float:
        if math.isinf(one) or math.isinf(two):
            return math.inf
        return math.sqrt(max(one**2 + two**2 - 2 * together * one * two, 0.0))

    down, up = reach(left - own[0], other[1] - right), reach(own[1] - left, right - other[0])
    room = left - right
    return (room - down, room + up) if promise.relation == ">=" else (-room - up, down - room)


def _correlation(promise: Parity, tally: Tally) -> float:
    """The correlation of two ratios from sample to sample, from -1 to 1."""
    sides = ((ratio, linearised(ratio, tally)) for ratio in (promise.left, promise.right))
    both = covariance(
        tally, [Demand(moved <= 0, moved, 0, per_row=is_even(ratio)) for ratio, moved in sides]
    )
    scale = math.sqrt(both[0, 0] * both[1, 1])
    return float(np.clip(both[0, 1] / scale, -1.0, 1.0)) if scale > 0 else 0.0


def verdict_of(low: float | None, high: float | None) -> Verdict:
    if low is not None and low >= -TOLERANCE:
        return "holds"
    return "broken" if high is not None and high < -TOLERANCE else "may not hold"


def around(value: float | None, interval: Interval | None) -> tuple[float | None, float | None]:
    """The interval, widened to hold its estimate, which rounding can put just outside."""
    if interval is None:
        return None, None
    low, high = interval
    return (low, high) if value is None else (min(low, value), max(high, value))


# --- objectives that are not sums ------------------------------------------------------------------


def goal_interval(
    metric: Metric, goal: NonlinearObjective, confidence: float, interval_of: Interval_of
) -> Interval | None:
    """An interval of a goal in its own sense that covers the truth with probability `confidence`."""
    if isinstance(metric, Extreme):
        sides = _together(metric.parts, confidence, interval_of)
        if sides is None:
            return None
        end = np.min if metric.kind == "smallest" else np.max
        return float(end(sides[0])), float(end(sides[1]))
    assert isinstance(metric, MixedSum)
    half = (1 + confidence) / 2
    both = [interval_of(part, half) for part in (metric.ratio, metric.rest)]
    if both[0] is None or both[1] is None:
        return None
    return both[0][0] + both[1][0], both[0][1] + both[1][1]


def _together(
    parts: tuple[Expression | Ratio, ...], confidence: float, interval_of: Interval_of
) -> tuple[np.ndarray, np.ndarray] | None:
    """The lower and the upper ends of the parts' intervals, which hold together at `confidence`."""
    each = 1 - (1 - confidence) / len(parts)
    intervals = [interval_of(part, each) for part in parts]
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(parts):
        return None
    low, high = np.array(known).T
    return np.clip(low, 0.0, None), high
