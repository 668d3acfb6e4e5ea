"""Whether the promises are kept, and if not, which of them are at odds and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.base.linear_program import LeastViolation, least_violation
from ratebound.rates.expressions import Constraint, Ratio

ROUNDING = 1e-9  # violations up to this are those of floating point


@dataclass(frozen=True)
class Status:
    """An answer a person can act on; prints as one."""

    feasible: bool  # on the training rows, to rounding
    violation: float  # the solution's worst, 0 where feasible
    broken: tuple[Constraint, ...]  # by this solution
    conflict: tuple[Constraint, ...]  # that no mixture of the candidates can keep together
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Search:
    """What was searched for a solution, in the words of advice."""

    closest: str  # the subject of "... comes closer than this"
    by: str  # what cannot keep constraints together
    better: str  # what to do besides relaxing them
    enough: str = ""  # said where all constraints can be kept, and this solution breaks some


ITERATES = Search(
    "No iterate or mixture of them",
    "any mixture of the iterates",
    "train longer, or with a stronger model",
    " A mixture of the iterates keeps all of them: use rb.shrink.",
)


def status_of(constraints: Sequence[Constraint], own: NDArray[Any], candidates: NDArray[Any]) -> Status:
    """The status of a solution with violations `own` (m,) among `candidates` (N, m)."""
    kept = not len(own) or own.max() <= ROUNDING
    none = LeastViolation(0.0, np.zeros(len(own)))
    return status_in(ITERATES, constraints, own, none if kept else least_violation(candidates))


def status_in(
    search: Search, constraints: Sequence[Constraint], own: NDArray[Any], least: LeastViolation
) -> Status:
    """The status of a solution with violations `own` (m,), where a search found none below `least`."""
    worst = float(own.max()) if len(own) else 0.0
    if worst <= ROUNDING:
        return Status(True, 0.0, (), (), "feasible: every constraint is kept on the training rows")
    broken = [i for i in np.argsort(-own) if own[i] > ROUNDING]
    names = "; ".join(f"{constraints[i]} ({_amount(constraints[i], own[i])})" for i in broken[:5])
    more = f" and {len(broken) - 5} more" if len(broken) > 5 else ""
    message = f"infeasible: {len(broken)} of {len(own)} constraints broken: {names}{more}."
    conflict: list[int] = []
    if least.violation <= ROUNDING:
        message += search.enough
    else:
        conflict = [int(i) for i in np.argsort(-least.prices) if least.prices[i] > 1e-6]
        message += _advice(search, constraints, conflict, least)
    return Status(
        False,
        worst,
        tuple(constraints[i] for i in broken),
        tuple(constraints[i] for i in conflict),
        message,
    )


def _amount(constraint: Constraint, violation: float) -> str:
    """By how much a constraint is broken; a ratio's violation is that of its cross-multiplied form."""
    if isinstance(constraint.left, Ratio):
        return f"its upper part short by {violation:.4g} per row of its subset"
    return f"by {violation:.4g}"


def _advice(
    search: Search, constraints: Sequence[Constraint], conflict: list[int], least: LeastViolation
) -> str:
    """Every mixture has Σ price · violation >= t*: so much must be given up, alone or together."""
    if len(conflict) == 1:
        only = constraints[conflict[0]]
        return (
            f" {search.closest} comes closer to {only} than this: relax it "
            f"({_amount(only, least.violation)}), {search.better}."
        )
    alone = "; ".join(
        f"{constraints[i]} alone {_amount(constraints[i], least.violation / least.prices[i])} or more"
        for i in conflict[:5]
    )
    return (
        f" These cannot be kept together by {search.by}; relax all of them by "
        f"{least.violation:.4g}, or {alone}; or {search.better}."
    )
