"""Counts speak of a stated number of rows, so that a part of the rows says what all of them would.

"At most 1,800 yeses" means one thing of 6,000 rows and another of the 600 of them that were held out.
So once a problem meets its rows every count says out of how many, `predicted_positives(per=6000)`;
counted on any other number of rows it is scaled to those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ratebound.problem.problem import Problem
from ratebound.rates.demands import is_even
from ratebound.rates.expressions import Constraint, Expression, Metric, Rate, Ratio
from ratebound.rates.kinds import counted, is_count


def counting(problem: Problem, rows: Mapping[str, float]) -> Problem:
    """`problem` with every count out of this many `rows` of its population, unless it says otherwise.

    Counts of a population that is not in `rows` stay as they are, and so do those of a ratio in which
    the number of rows cancels.

    >>> problem = Problem("error_rate()", ["predicted_positives() <= 1800"])
    >>> print(counting(problem, {"train": 6000}))
    minimize error_rate()
    subject to
      predicted_positives(per=6000) <= 1800.0
    """

    def stated(rate: Rate) -> Rate:
        is_open = rate.per is None and rate.population in rows and is_count(rate)
        return counted(rate, rows[rate.population]) if is_open else rate

    def stated_in(metric: Metric) -> Metric:
        if isinstance(metric, Expression):
            return metric.with_rates(stated)
        if isinstance(metric, Ratio) and not is_even(metric):
            return replace(
                metric,
                numerator=metric.numerator.with_rates(stated),
                denominator=metric.denominator.with_rates(stated),
            )
        return metric

    def promise(constraint: Constraint) -> Constraint:
        right = constraint.right.with_rates(stated)
        return replace(constraint, left=stated_in(constraint.left), right=right)

    if all(rate.per is not None for rate in _counts(problem)):
        return problem
    return problem.derived(stated_in(problem.objective), map(promise, problem.constraints))


def rows_counted(problem: Problem) -> dict[str, float]:
    """Out of how many rows of each population the counts of `problem` are, where they agree."""
    found: dict[str, set[float]] = {}
    for rate in _counts(problem):
        if rate.per is not None:
            found.setdefault(rate.population, set()).add(rate.per)
    return {name: rows.pop() for name, rows in found.items() if len(rows) == 1}


def _counts(problem: Problem) -> Iterator[Rate]:
    """Every count that the problem speaks of."""
    for demand in problem.demands:
        if not demand.per_row:
            yield from filter(is_count, demand.expression.rates)
    yield from filter(is_count, problem.objective.rates)
