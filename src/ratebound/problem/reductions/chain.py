"""Which reduction a problem needs: the first that accepts it."""

from __future__ import annotations

from ratebound.problem.problem import Problem
from ratebound.problem.reductions import curves, ratios
from ratebound.problem.reductions.goal import Goal
from ratebound.rates.subsets import Value


def goal_of(problem: Problem, classes: tuple[Value, ...]) -> Goal | None:
    """The objective as a function of sums of rates; None where it is a sum itself.

    >>> goal_of(Problem(maximize="g_mean()"), (False, True)).pieces
    (recall(), true_negative_rate())
    """
    if ratios.accepts(problem):
        return ratios.apply(problem)
    return curves.apply(problem, classes) if curves.accepts(problem) else None
