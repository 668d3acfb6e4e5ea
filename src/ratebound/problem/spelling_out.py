"""Goals on the values of a column, once there are rows: the constraints that they stand for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.grouping import Goal, Promise
from ratebound.rates.rate import FIRST
from ratebound.rates.subsets import Value, column_text, plain_value

MOST = 100  # values of a column that may each be a group without being listed


def spelled_out(problem: Problem, populations: Mapping[str, Population], first: str = FIRST) -> Problem:
    """`problem` with its goals as constraints, a group for each value in the goal's population.

    Errors call the population that others are told from `first`.

    >>> problem = Problem("error_rate()", ["equal_opportunity(sex, ratio=0.95)"])
    >>> people = Population(None, [1, 0], columns={"sex": ["Male", "Female"]})
    >>> print(spelled_out(problem, {"train": people}))
    minimize error_rate()
    subject to
      recall(sex == "Female") >= 0.95 * recall()
      recall(sex == "Male") >= 0.95 * recall()
    """
    if not any(isinstance(promise, Goal) for promise in problem.subject_to):
        return problem
    found: list[Promise] = []
    for promise in problem.subject_to:
        found += _constraints(promise, populations, first) if isinstance(promise, Goal) else [promise]
    return Problem(problem.minimize, found)


def _constraints(goal: Goal, populations: Mapping[str, Population], first: str) -> list[Promise]:
    name = goal.population
    if name not in populations:
        known = ", ".join(map(repr, populations))
        raise ValueError(
            f"{goal}: population {name!r} is not given, only {known}. Pass it as a keyword, "
            f"{name}=..., beside the first population"
        )
    try:
        values = {column: _values(populations[name], column) for column in goal.columns}
        return [*goal.constraints(values)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{goal}: population {goal.on or first!r}: {error}") from None


def _values(population: Population, column: str) -> list[Value]:
    """The distinct values of a column, in order."""
    held = population.column(column)
    found = list(dict.fromkeys(held.tolist())) if held.dtype == object else np.unique(held).tolist()
    if len(found) > MOST:
        raise ValueError(
            f"column {column!r} holds {len(found):,} different values, too many to be a group each "
            f"({MOST} at most): list those that matter, as in {column_text(column)} in (...), or put "
            "bands of it into a column of their own"
        )
    plain = [plain_value(value) for value in found]
    return sorted(plain, key=lambda value: (isinstance(value, str), value))
