"""The interval of a sum of rates: by scores, or by how far single rows move it where these cost amounts.

Scores rest on strata of rows that a sum treats alike but for their decisions. Rows with amounts of
their own are not alike, and a few of them may make up most of the sum. So a sum with such costs has the
interval of a mean, with Hall's (1992) transformation of its skewness, and none where too few rows cost
anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ratebound.auditing._intervals import Interval
from ratebound.auditing._score import score_interval
from ratebound.auditing._strata import strata
from ratebound.auditing.decided import Decided
from ratebound.auditing.influence import design_effect, moves, moves_of_sum
from ratebound.auditing.measure import counted, rows_behind
from ratebound.auditing.report import Method
from ratebound.rates.costs import cost_columns
from ratebound.rates.expressions import Expression
from ratebound.rates.rate import Rate

FEWEST = 30  # rows that cost something, below which their mean has no interval
SPREAD = (
    10  # the same for amounts that are all alike; it grows as the mean of squares over a squared mean
)


def sum_interval(
    found: float, expression: Expression, decided: Decided, level: float
) -> tuple[Interval | None, Method]:
    """The interval around what was `found` of a sum of rates on these rows.

    None where rows that cost something, or clusters, are too few; `no_interval` says which.
    """
    alike = design_effect(decided, expression, level)
    if math.isinf(alike) or any(_too_few(decided, rate) for rate in expression.rates):
        return None, "none"
    if any(cost_columns(rate) for rate in expression.rates):
        return _of_mean(found, expression, decided, level), "skewed"
    thinned = [each.thinned(alike) for each in strata(decided, expression)]
    return score_interval(found, thinned, level), "score"


def no_interval(rates: Iterable[Rate], decided: Decided) -> str:
    """Why a promise about these rates has no interval, though it can be measured."""
    for rate in rates:
        costly, needed = _costly(decided, rate)
        if costly < needed:
            return (
                f"too few rows for an interval: {rate} rests on {costly:,} rows that cost something, "
                f"and amounts this far apart take about {needed:,}"
            )
    if decided.clustered is not None:
        return f"too few rows for an interval: they are all of one {decided.clustered!r}"
    return ""


def _too_few(decided: Decided, rate: Rate) -> bool:
    costly, needed = _costly(decided, rate)
    return costly < needed


def _costly(decided: Decided, rate: Rate) -> tuple[int, int]:
    """How many rows cost something, by amounts of their own, and how many an interval takes.

    Of amounts far apart, a few rows are most of the cost, and such a row may not have been drawn yet.
    How far apart they are is their variance in logarithms, in which amounts near 0 hardly count; were
    they log-normal, the mean of their squares over their squared mean would be its exponential.
    """
    if not cost_columns(rate):
        return 0, 0
    name = rate.population
    cost = decided.each_weight(name) * counted(decided, rate)
    costly = cost > 0
    rows, needed = decided.rows(name, costly), float(FEWEST)
    if rows:
        logs, weight = np.log(cost[costly]), (decided.times(name) * np.sqrt(cost))[costly]
        apart = weight @ (logs - weight @ logs / weight.sum()) ** 2 / weight.sum()
        needed = max(needed, SPREAD * math.exp(min(apart, 30.0)))
    return rows, math.ceil(needed)


def _of_mean(found: float, expression: Expression, decided: Decided, level: float) -> Interval:
    """The interval of a sum in which rows cost amounts of their own.

    A studentized sum T of skewness g has ``T + g T**2 / 3 + g**2 T**3 / 27 + g / 6`` nearly normal.
    Beside the rows of each rate two are imagined, one that costs the most and one that costs nothing.
    """
    from scipy.special import stdtrit

    variance = third = 0.0
    freedom = 0
    for name, (own, _) in moves_of_sum(decided, expression).items():
        codes, times = decided.clusters(name), decided.times(name)
        drawn = own if codes is None else np.bincount(codes, own)
        count = times.sum() if codes is None else len(drawn)
        often = times if codes is None else 1.0
        variance += count / (count - 1) * float((often * drawn**2).sum())
        third += float((often * drawn**3).sum())
        freedom += count - 1
    for rate, coefficient in expression.terms:
        imagined = moves(decided, rate)
        for each in (coefficient * imagined.high, coefficient * imagined.low):
            variance += each**2
            third += each**3
    freedom = min(freedom, rows_behind(decided, expression.rates) - 1)
    quantile, skewness = float(stdtrit(freedom, (1 + level) / 2)), third / variance**1.5

    def studentized(normal: float) -> float:
        if abs(skewness) < 1e-6:
            return normal
        return 3 / skewness * float(np.cbrt(1 + skewness * (normal - skewness / 6)) - 1)

    deviation = math.sqrt(variance)
    return found - deviation * studentized(quantile), found - deviation * studentized(-quantile)
