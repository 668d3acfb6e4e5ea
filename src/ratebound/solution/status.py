"""Whether the promises are kept, and if not, which of them are at odds and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ratebound.base.linear_program import TOLERANCE, kept, least_violation, worst_violation
from ratebound.base.types import Array
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Area, Constraint
from ratebound.solution.advice import NAMED, Program, Search, advise, broken_by

KEPT = "feasible: every constraint is kept on the training rows"


@dataclass(frozen=True)
class Status:
    """Whether promises are kept, and what to do where they are not.

    Parameters
    ----------
    feasible : bool
        Whether every constraint is kept on the training rows, to rounding.
    violation : float
        The worst broken constraint's, in its own units; 0 where feasible.
    broken : tuple of Constraint
        Those that this solution breaks, the worst first.
    conflict : tuple of Constraint
        Those that no mixture of the candidates can keep together.
    message : str
        All this in words, with how far to relax what.
    confidence : float, default=None
        The probability that all hold on new rows, about; None where that was not asked.
    reached : str, default=""
        What is reached of a goal that is no sum of rates, and how far from the best.
    left_out : str, default=""
        The groups of which nothing is promised, as ``min_rows=`` asked.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> people = rb.Population(None, [0, 1, 0, 1])
    >>> problem = rb.Problem("error_rate()", ["positive_rate() <= 0.25", "recall() >= 0.9"])
    >>> status = rb.thresholds(problem, np.array([1.0, 2.0, 3.0, 4.0]), people, known=[]).status
    >>> status.feasible, [str(promise) for promise in status.conflict]
    (False, ['positive_rate() <= 0.25', 'recall() >= 0.9'])
    """

    feasible: bool
    violation: float
    broken: tuple[Constraint, ...]
    conflict: tuple[Constraint, ...]
    message: str
    confidence: float | None = None
    reached: str = ""
    left_out: str = ""

    def __str__(self) -> str:
        more = " ".join(each for each in (self.reached, self.left_out) if each)
        return f"{self.message.removesuffix('.')}. {more}" if more else self.message


ITERATES = Search(
    "No iterate or mixture of them",
    "any mixture of the iterates",
    "train longer, or with a stronger model",
    " A mixture of the iterates keeps all of them: use rb.shrink.",
    "rb.shrink",
)


def reached(problem: Problem, objective: float, gap: float, search: Search) -> str:
    """What a solution reaches of a goal, and how far that is from the best, in words."""
    value = f"{problem.objective} is {problem.shown(objective):.4f}"
    if not np.isfinite(gap):
        return f"{value}; how far that is from the best is not known."
    side = "below" if problem.sense == "maximize" else "above"
    leveled = " at the same levels" * any(each.keeps is not None for each in problem.constraints)
    return f"{value}, at most {max(gap, 1e-9):.1g} {side} the best of {search.by}{leveled}."


def status_of(
    constraints: Sequence[Constraint],
    own: Array,
    candidates: Array,
    scale: Any = 1.0,
    unsolved: str = "",
) -> Status:
    """The status of a solution with violations `own` (m,) among `candidates` (N, m).

    `scale` (m,) holds the constraints' units; `unsolved` is what the solver said, if it failed.
    """
    program = partial(least_violation, candidates, scale)
    return status_in(ITERATES, constraints, own, program, scale, unsolved)


def status_in(
    search: Search,
    constraints: Sequence[Constraint],
    own: Array,
    program: Program,
    scale: Any = 1.0,
    unsolved: str = "",
) -> Status:
    """The status of a solution with violations `own` (m,), where `program` searches for others."""
    scale = np.broadcast_to(np.asarray(scale, dtype=float), len(own))
    note = unsolved and f" The linear program failed ({unsolved}): a better mixture may exist."
    said = KEPT
    if any(isinstance(constraint.left, Area) for constraint in constraints):
        said += ", areas to the width of their bins: an audit measures them exactly"
    status = status_there(constraints, own, scale, said + (f".{note}" if note else ""))
    if status.feasible:
        return status
    message, conflict = f"{status.message}.{note}", list[int]()
    least = program(np.zeros(len(own)), np.ones(len(own)))
    if least.violation == 0:
        message += search.enough
    elif not least.unsolved:
        closest = float(worst_violation(own, scale)) <= least.violation + TOLERANCE
        conflict, words = advise(search, constraints, scale, least, program, closest)
        message += words
    return replace(status, conflict=tuple(constraints[i] for i in conflict), message=message)


def status_there(constraints: Sequence[Constraint], own: Array, scale: Array, feasible: str) -> Status:
    """The status of violations `own` (m,) without a search for others; `feasible` is said where kept.

    Otherwise it says how many constraints are broken, and which by how much, the first few of them.
    """
    order = np.argsort(-own / scale, kind="stable")
    broken = order[~kept(own, scale)[order]].tolist()
    if not broken:
        return Status(True, 0.0, (), (), feasible)
    names = "; ".join(f"{constraints[i]} ({broken_by(constraints[i], own[i])})" for i in broken[:NAMED])
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    message = f"infeasible: {len(broken)} of {len(own)} constraints broken: {names}{more}"
    return Status(False, float(own[broken[0]]), tuple(constraints[i] for i in broken), (), message)
