"""Ratios compared with ratios: the level between the two that costs least.

``A >= B`` of two ratios holds exactly where ``B <= v`` and ``A >= v`` for some level v, and for a given
v both are linear. So the problem is solved for many levels: those of a grid, then some between the best
and its neighbours, and so on. Where several ratios are compared with, their levels are searched for in
turn. The cost need not fall on one side of its minimum and rise on the other: what is found is the best
of all levels tried, and each of them keeps the promise for sure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ratebound.base.linear_program import TOLERANCE, worst_violation
from ratebound.base.types import Array
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.demands import form_of
from ratebound.rates.expressions import Ratio
from ratebound.solution.mixture import Mixture
from ratebound.solution.thresholds import thresholds_on

GRID = 16  # steps of the first grid
FINER = 4  # times that the best level's neighbours are searched
BETWEEN = 4  # levels between them, each time
TURNS = 2  # of several levels
DIGITS = 6  # of a level, which people read

Solve = Callable[[Problem], tuple[Mixture, Compiled]]  # a problem's solution, and the rows it is on


def at_levels(
    problem: Problem, scores: Any, train: Population, *, known: Any = (), **others: Population
) -> Problem:
    """The problem with every comparison of two ratios as two promises, at the level that is best.

    The level is the best one for thresholds on `scores`, by the `known` columns if any, as in
    `rb.thresholds`; the other arguments are as there. What comes back can be compiled.

    >>> import ratebound as rb
    >>> people = rb.Population(None, [0, 1, 0, 1, 1, 1], columns={"sex": ["F", "M"] * 3})
    >>> fair = rb.precision(sex="F") >= rb.precision(sex="M")
    >>> print(at_levels(rb.Problem("error_rate()", [fair]), np.arange(6.0), people))
    minimize error_rate()
    subject to
      precision(sex == "M") <= 1.0
      precision(sex == "F") >= 1.0
    """
    return best_levels(problem, solver(scores, train, known, others))[0]


def solver(scores: Any, train: Population, known: Any, others: dict[str, Population]) -> Solve:
    """What solves problems by thresholds on these scores."""

    def solve(problem: Problem) -> tuple[Mixture, Compiled]:
        compiled = compile(problem, train, **others)
        return thresholds_on(scores, compiled, known), compiled

    return solve


def best_levels(problem: Problem, solve: Solve) -> tuple[Problem, Mixture]:
    """The problem at the best levels, and its solution there."""
    levels: dict[Ratio, float | None] = dict.fromkeys(problem.leveled)

    def tried(ratio: Ratio, level: float) -> _Tried:
        given = problem.at_levels(levels | {ratio: level})
        solution, compiled = solve(given)
        worst = float(worst_violation(solution.violations["train"], compiled.scale[1:]))
        key = (0.0 if worst <= TOLERANCE else worst, solution.objectives["train"])
        return _Tried(key, level, given, solution)

    for _ in range(TURNS if len(levels) > 1 else 1):
        for ratio in problem.leveled:
            best = _searched(_grid(ratio), partial(tried, ratio))
            levels[ratio] = best.level
    return best.problem, best.solution


@dataclass(frozen=True)
class _Tried:
    """A level that was tried, and what came of it: the worst violation, then the objective."""

    key: tuple[float, float]
    level: float
    problem: Problem
    solution: Mixture


def _searched(grid: Array, tried: Callable[[float], _Tried]) -> _Tried:
    """The best of a grid of levels, and of ever finer ones around the best."""
    known = {level: tried(level) for level in np.unique(grid.round(DIGITS)).tolist()}
    for _ in range(FINER):
        best = _best(known)
        lower = max((v for v in known if v < best.level), default=best.level)
        upper = min((v for v in known if v > best.level), default=best.level)
        for level in np.linspace(lower, upper, BETWEEN + 2)[1:-1].round(DIGITS).tolist():
            if level not in known:
                known[level] = tried(level)
    return _best(known)


def _best(known: dict[float, _Tried]) -> _Tried:
    """The best of the levels tried; of several that are, the one in the middle, which has most room."""
    least = min(each.key for each in known.values())
    ties = [v for v, each in sorted(known.items()) if np.subtract(each.key, least).max() <= TOLERANCE]
    return known[ties[len(ties) // 2]]


def _grid(ratio: Ratio) -> Array:
    """Levels to try first: all that a share can be, or some of all sizes for another ratio."""
    plain = replace(ratio, numerator=ratio.numerator * (1 / ratio.factor))
    if form_of(plain) in ("proportion", "share"):
        return np.linspace(0.0, ratio.factor, GRID + 1)
    return ratio.factor * np.geomspace(1 / GRID, GRID, GRID + 1)
