"""Counts speak of a stated number of rows, so that a part of the rows says what all of them would.

"At most 1,800 yeses" means one thing of 6,000 rows and another of the 600 of them that were held out.
So once a problem meets its rows every count says out of how many, `predicted_positives(out_of=6000)`;
counted on any other number of rows it is scaled to those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Constraint, Expression, Rate
from ratebound.rates.named import counted, is_count


def counting(problem: Problem, rows: Mapping[str, float], first: str) -> Problem:
    """`problem` with every count out of so many `rows` of its population, where it says no other.

    Counts without ``on=`` speak of the population `first`; those of a population that is not in `rows`
    stay as they are.

    >>> problem = Problem("error_rate()", ["predicted_positives() <= 1800"])
    >>> print(counting(problem, {"train": 6000}, "train"))
    minimize error_rate()
    subject to
      predicted_positives(out_of=6000) <= 1800.0
    """

    def stated(rate: Rate) -> Rate:
        name = rate.on or first
        is_open = rate.out_of is None and name in rows and is_count(rate)
        return counted(rate, rows[name]) if is_open else rate

    def stated_in(expression: Expression) -> Expression:
        terms: dict[Rate, float] = defaultdict(float)
        for rate, coefficient in expression.terms:
            terms[stated(rate)] += coefficient
        return Expression() + Expression(tuple(terms.items()), expression.constant)

    def promise(constraint: Constraint) -> Constraint:
        left, right = constraint.left, constraint.right
        left = stated_in(left) if isinstance(left, Expression) else left
        return replace(constraint, left=left, right=stated_in(right))

    if all(rate.out_of is not None for rate in _counts(problem)):
        return problem
    return Problem(stated_in(problem.minimize), map(promise, problem.subject_to))


def rows_counted(problem: Problem, first: str) -> dict[str, float]:
    """Out of how many rows of each population the counts of `problem` are, where they agree."""
    found: dict[str, set[float]] = {}
    for rate in _counts(problem):
        if rate.out_of is not None:
            found.setdefault(rate.on or first, set()).add(rate.out_of)
    return {name: rows.pop() for name, rows in found.items() if len(rows) == 1}


def _counts(problem: Problem) -> Iterator[Rate]:
    """Every count that the problem speaks of."""
    sides = [side for c in problem.subject_to for side in (c.left, c.right)]
    for side in (problem.minimize, *sides):
        if isinstance(side, Expression):
            yield from (rate for rate, _ in side.terms if is_count(rate))
