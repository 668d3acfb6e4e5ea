"""Whether the promises are kept, and if not, which of them are at odds and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.rates.expressions import Constraint, Ratio
from ratebound.solution.linear_program import least_violation

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


def status_of(constraints: Sequence[Constraint], own: NDArray[Any], candidates: NDArray[Any]) -> Status:
    """The status of a solution with violations `own` (m,) among `candidates` (N, m)."""
    worst = float(own.max()) if len(own) else 0.0
    if worst <= ROUNDING:
        return Status(True, 0.0, (), (), "feasible: every constraint is kept on the training rows")
    broken = [i for i in np.argsort(-own) if own[i] > ROUNDING]
    names = "; ".join(f"{constraints[i]} ({_amount(constraints[i], own[i])})" for i in broken[:5])
    more = f" and {len(broken) - 5} more" if len(broken) > 5 else ""
    message = f"infeasible: {len(broken)} of {len(own)} constraints broken: {names}{more}."
    least = least_violation(candidates)
    conflict: list[int] = []
    if least.violation <= ROUNDING:
        message += " A mixture of the iterates keeps all of them: use rb.shrink."
    else:
        conflict = [int(i) for i in np.argsort(-least.prices) if least.prices[i] > 1e-6]
        message += _advice(constraints, conflict, least.prices, least.violation)
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
    constraints: Sequence[Constraint], conflict: list[int], prices: NDArray[Any], violation: float
) -> str:
    """Every mixture has Σ price · violation >= t*: so much must be given up, alone or together."""
    if len(conflict) == 1:
        only = constraints[conflict[0]]
        return (
            f" No iterate or mixture of them comes closer to {only} than this: relax it "
            f"({_amount(only, violation)}), train longer, or with a stronger model."
        )
    alone = "; ".join(
        f"{constraints[i]} alone {_amount(constraints[i], violation / prices[i])} or more"
        for i in conflict[:5]
    )
    return (
        f" These cannot be kept together by any mixture of the iterates; relax all of them by "
        f"{violation:.4g}, or {alone}; or train longer, or with a stronger model."
    )
