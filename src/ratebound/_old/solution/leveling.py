"""Ratios compared with ratios: the level between the two that costs least.

``A >= B`` of two ratios holds exactly if ``B <= v`` and ``A >= v`` for some level v, and for a given v
both are linear. So the problem is solved for many levels: a grid, then levels between the best one and
its neighbours, and so on. If promises compare with several ratios, their levels are searched in turn.
The cost need not have a single minimum: the result is the best of all levels tried, and each level tried
keeps the promise exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ratebound._old.base.linear_program import TOLERANCE, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.game.candidates import Candidates
from ratebound._old.game.programs import best_of_thresholds
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.demands import form_of
from ratebound._old.rates.expressions import Ratio
from ratebound._old.rates.general import refuse_general
from ratebound._old.solution.thresholds import ranked_on

GRID = 16  # steps of the first grid
FINER = 4  # how many times the best level's neighbours are searched
BETWEEN = 4  # levels tried between them, each time
TURNS = 2  # how many times several levels are searched
DIGITS = 6  # of a level, since people read it

Tried = tuple[float, float]  # the worst violation at a level, then the objective


def at_levels(
    problem: Problem, scores: Any, train: Population, *, known: Any = (), **others: Population
) -> Problem:
    """The problem with each comparison of two ratios as two promises, at the best level found.

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
        It can be compiled, and keeps the promises as they were asked for.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
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

    def reached(given: Problem) -> Tried:
        compiled = compile(given, train, **others)
        return _reached(compiled, ranked_on(scores, compiled, known))

    return at_best_levels(problem, reached)


def at_best_levels(problem: Problem, reached: Callable[[Problem], Tried]) -> Problem:
    """The problem with every ratio that others are compared with at the best level tried.

    `reached` says what the best decisions make of it at some levels. The first are searched for with
    the promises that are compared at later ones left out.
    """
    levels: dict[Ratio, float | None] = dict.fromkeys(problem.leveled)

    def tried(ratio: Ratio, level: float) -> Tried:
        return reached(problem.at_levels(levels | {ratio: level}))

    for _ in range(TURNS if len(levels) > 1 else 1):
        for ratio in problem.leveled:
            levels[ratio] = _searched(_grid(ratio), partial(tried, ratio))
    return problem.at_levels(levels)


def at_some_levels(problem: Problem) -> Problem:
    """The problem at levels in the middle of those tried, which tells the same rows apart as at any."""
    return problem.at_levels({ratio: float(_grid(ratio)[GRID // 2]) for ratio in problem.leveled})


def _reached(compiled: Compiled, rankings: Sequence[Candidates]) -> Tried:
    """What the best thresholds reach on a problem, without building a model of them."""
    policy = best_of_thresholds(rankings, compiled.goal)
    expected = policy.weights @ policy.columns.values
    violations, pieces = np.split(expected[1:], [len(compiled.constraints)])
    objective = expected[0] if compiled.goal is None else compiled.goal.value(pieces)
    return as_tried(compiled, violations, float(objective))


def as_tried(compiled: Compiled, violations: Array, objective: float) -> Tried:
    """How far promises are broken, and what it costs; less is better."""
    worst = float(worst_violation(violations, compiled.scale[1:]))
    return 0.0 if worst <= TOLERANCE else worst, objective


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
    """The best of the levels tried; of several best ones, the middle one, which has the most room."""
    least = min(known.values())
    ties = [v for v, each in sorted(known.items()) if np.subtract(each, least).max() <= TOLERANCE]
    return ties[len(ties) // 2]


def _grid(ratio: Ratio) -> Array:
    """Levels to try first: from 0 to 1 for a share, of all sizes for another ratio."""
    plain = replace(ratio, numerator=ratio.numerator * (1 / ratio.factor))
    if form_of(plain) in ("proportion", "share") or _is_part(plain):
        return np.linspace(0.0, ratio.factor, GRID + 1)
    return ratio.factor * np.geomspace(1 / GRID, GRID, GRID + 1)


def _is_part(ratio: Ratio) -> bool:
    """Whether everything above the line is also below it, so that the ratio lies between 0 and 1."""
    rest = ratio.denominator - ratio.numerator
    least = [c for _, c in (*ratio.numerator.terms, *rest.terms)]
    return min([*least, ratio.numerator.constant, rest.constant]) >= 0
