"""Promises that no model could keep, or that none could break, whatever the data. These are mistakes.

A share lies between 0 and 1, and a count between 0 and its number of rows. This bounds every sum of
them. Overlapping groups, and pairs of rates that add up to 1, are not considered.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ratebound._old.rates.beyond_sums import Extreme
from ratebound._old.rates.costs import largest_cost
from ratebound._old.rates.demands import form_of
from ratebound._old.rates.expressions import Constraint, Expression, Metric, OfScores, Rate, Ratio
from ratebound._old.rates.general import General
from ratebound._old.rates.kinds import is_cost, is_count

ROUNDING = 1e-9
PERCENT_FACTOR = 50.0  # if a factor of the same rate is at least this, a percentage is meant
PERCENT = 2.0  # if a bound on one share is at least this, a percentage is meant


def check_reach(constraint: Constraint) -> None:
    """Raise ValueError if no model could keep `constraint`, or if every model keeps it by a slip.

    >>> from ratebound._old import recall
    >>> check_reach(recall() >= 1.2)
    Traceback (most recent call last):
    ValueError: recall() >= 1.2: no model can keep this, since recall() is never above 1
    """
    if isinstance(constraint.left, General):  # its range is not known
        return
    _check_factor(constraint)
    what, low, high, bound = _range(constraint)
    least = constraint.relation == ">="
    tolerance = ROUNDING * max(1.0, abs(bound))
    if bound > high + tolerance if least else bound < low - tolerance:
        side, end = ("above", high) if least else ("below", low)
        raise ValueError(
            f"{constraint}: no model can keep this, since {what} is never {side} {end:g}"
            f"{_hint(constraint)}"
        )
    if not least and bound >= PERCENT and (low, high) == (0.0, 1.0):
        raise ValueError(
            f"{constraint}: every model keeps this, since {what} is never above 1{_hint(constraint)}"
        )


def _check_factor(constraint: Constraint) -> None:
    """Refuse 95 times a rate: 95% of it must be meant."""
    left, right = constraint.left, constraint.right
    if not isinstance(left, Expression) or not len(left.terms) == len(right.terms) == 1:
        return
    (rate, low), (other, high) = sorted(left.terms + right.terms, key=lambda term: term[1])
    if low == 1.0 and high >= PERCENT_FACTOR and replace(other, subset=rate.subset) == rate:
        meant = f"{high / 100:g} * {other}"
        raise ValueError(f"{constraint}: {high:g} is a factor, not a percentage; did you mean {meant}?")


def _range(constraint: Constraint) -> tuple[str, float, float, float]:
    """The bounded metric in words, its smallest and largest possible values, and its bound."""
    metric = constraint.left
    if isinstance(metric, Expression):
        difference = metric - constraint.right
        bare = Expression(difference.terms)
        return str(bare), *span(bare), -difference.constant
    return str(metric), *span(metric), constraint.right.constant


def span(metric: Metric) -> tuple[float, float]:
    """A metric's smallest and largest possible values, whatever the data; infinite if not known.

    >>> from ratebound._old import f_score, false_negatives, recall
    >>> span(2 * recall() - 1), span(f_score()), span(false_negatives())
    ((-1.0, 1.0), (0.0, 1.0), (0.0, inf))
    """
    if isinstance(metric, OfScores):
        return 0.0, 1.0
    if isinstance(metric, Extreme):
        lows, highs = zip(*map(span, metric.parts), strict=True)
        return min(lows), max(highs)
    if isinstance(metric, Ratio):
        above = metric.numerator
        low = -math.inf if above.constant < 0 or any(c < 0 for _, c in above.terms) else 0.0
        return low, 1.0 if form_of(metric) in ("proportion", "share") else math.inf
    if not isinstance(metric, Expression):
        return -math.inf, math.inf
    ends = [sorted((0.0, c * _most(rate))) for rate, c in metric.terms]
    low, high = (math.fsum([metric.constant, *side]) for side in zip(*ends, strict=True))
    return low, high


def _most(rate: Rate) -> float:
    """A rate's largest possible value."""
    each = 1.0
    if is_cost(rate):
        most = largest_cost(rate)
        each = math.inf if most is None else most
    if not is_count(rate):
        return each
    return math.inf if rate.per is None else each * float(rate.per)


def _hint(constraint: Constraint) -> str:
    """The promise that was perhaps meant: with a bound in percent."""
    number = constraint.right.constant
    if any(map(is_count, constraint.rates)) or not PERCENT <= abs(number) <= 100:
        return ""
    meant = replace(constraint, right=replace(constraint.right, constant=number / 100))
    try:
        check_reach(meant)
    except ValueError:
        return ""
    return f"; did you mean {meant}?"
