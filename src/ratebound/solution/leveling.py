"""Ratios compared with ratios: the level between the two that costs least.

``A >= B`` of two ratios holds exactly where ``B <= v`` and ``A >= v`` for some level v, and for a given
v both are linear. So the problem is solved for many levels: those of a grid, then some between the best
and its neighbours, and so on. Where several ratios are compared with, their levels are searched for in
turn. The cost need not fall on one side of its minimum and rise on the other: what is found is the best
of all levels tried, and each of them keeps the promise for sure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ratebound.base.linear_program import TOLERANCE, worst_violation
from ratebound.base.types import Array
from ratebound.game.candidates import Candidates
from ratebound.game.programs import best_of_thresholds
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.demands import form_of
from ratebound.rates.expressions import Ratio
from ratebound.rates.general import refuse_general
from ratebound.solution.thresholds import ranked_on

GRID = 16  # steps of the first grid
FINER = 4  # times that the best level's neighbours are searched
BETWEEN = 4  # levels between them, each time
TURNS = 2  # of several levels
DIGITS = 6  # of a level, which people read

Tried = tuple[float, float]  # the worst violation at a level, then the objective


def at_levels(
    problem: Problem, scores: Any, train: Population, *, known: Any = (), **others: Population
) -> Problem:
    """The problem with every comparison of two ratios as two promises, at the best level found.

    A promise such as ``precision(sex == "F") >= precision(sex == "M")`` is not linear in the decisions.
    With a level between the two it is two promises that are. `RateConstrainedClassifier` and
    `rb.thresholds` do this themselves; `rb.compile` asks for it.

    Parameters
    ----------
    problem : Problem
        A problem that compares ratios.
    scores : array of shape (n,) or (B, n), Trace or Mixture
        The level is the best of those tried for thresholds on these, as in `rb.thresholds`.
    train : Population
        The rows.
    known : str or list of str, default=()
        Columns that the thresholds may differ by; by default one threshold for everyone.
    **others : Population
        The populations that rates name with ``on=``.

    Returns
    -------
    Problem
        It can be compiled, and remembers what was asked for.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> people = rb.Population(None, [0, 1, 0, 1, 1, 1], columns={"sex": ["F", "M"] * 3})
    >>> fair = rb.precision(sex="F") >= rb.precision(sex="M")
    >>> print(rb.at_levels(rb.Problem("error_rate()", [fair]), np.arange(6.0), people))
    minimize error_rate()
    subject to
      precision(sex == "M") <= 1.0
      precision(sex == "F") >= 1.0
    """
    remedy = "Give the problem without it, and add it to the problem that comes back."
    refuse_general(problem.subject_to, "the search for a level", remedy)
    levels: dict[Ratio, float | None] = dict.fromkeys(problem.leveled)

    def tried(ratio: Ratio, level: float) -> Tried:
        given = problem.at_levels(levels | {ratio: level})
        compiled = compile(given, train, **others)
        return _reached(compiled, ranked_on(scores, compiled, known))

    for _ in range(TURNS if len(levels) > 1 else 1):
        for ratio in problem.leveled:
            levels[ratio] = _searched(_grid(ratio), partial(tried, ratio))
    return problem.at_levels(levels)


def _reached(compiled: Compiled, rankings: Sequence[Candidates]) -> Tried:
    """What the best thresholds make of a problem, without a model of them."""
    policy = best_of_thresholds(rankings, compiled.goal)
    expected = policy.weights @ policy.columns.values
    violations, pieces = np.split(expected[1:], [len(compiled.constraints)])
    worst = float(worst_violation(violations, compiled.scale[1:]))
    objective = expected[0] if compiled.goal is None else compiled.goal.value(pieces)
    return 0.0 if worst <= TOLERANCE else worst, float(objective)


def _searched(grid: Array, tried: Callable[[float], Tried]) -> float:
    """The best of a grid of levels, and of ever finer ones around the best."""
    known = {level: tried(level) for level in np.unique(grid.round(DIGITS)).tolist()}
    for _ in range(FINER):
        best = _best(known)
        lower = max((v for v in known if v < best), default=best)
        upper = min((v for v in known if v > best), default=best)
        for level in np.linspace(lower, upper, BETWEEN + 2)[1:-1].round(DIGITS).tolist():
            if level not in known:
                known[level] = tried(level)
    return _best(known)


def _best(known: dict[float, Tried]) -> float:
    """The best of the levels tried; of several that are, the one in the middle, which has most room."""
    least = min(known.values())
    ties = [v for v, each in sorted(known.items()) if np.subtract(each, least).max() <= TOLERANCE]
    return ties[len(ties) // 2]


def _grid(ratio: Ratio) -> Array:
    """Levels to try first: all that a share can be, or some of all sizes for another ratio."""
    plain = replace(ratio, numerator=ratio.numerator * (1 / ratio.factor))
    if form_of(plain) in ("proportion", "share") or _is_part(plain):
        return np.linspace(0.0, ratio.factor, GRID + 1)
    return ratio.factor * np.geomspace(1 / GRID, GRID, GRID + 1)


def _is_part(ratio: Ratio) -> bool:
    """Whether all that is above the line is below it too, so that it lies between 0 and 1."""
    rest = ratio.denominator - ratio.numerator
    least = [c for _, c in (*ratio.numerator.terms, *rest.terms)]
    return min([*least, ratio.numerator.constant, rest.constant]) >= 0
