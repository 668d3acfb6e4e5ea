"""What would help where promises cannot be kept together: which to relax, and by how much.

Every amount is found by solving the program again, with those constraints relaxed and all others kept.
It is rounded up, and what was found is checked against it: relaxing by the digits printed is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ratebound.base.linear_program import TOLERANCE, LeastViolation, kept
from ratebound.base.types import Array
from ratebound.rates.demands import area_budgets, is_even
from ratebound.rates.expressions import Area, Constraint, Expression, Ratio
from ratebound.rates.kinds import KINDS

PRICED = 1e-6  # of the dual: constraints with more are at odds
NAMED = 5  # constraints are named one by one up to here

# The least t at which something has violations of at most `room + elastic * t`, both (m,) and in units;
# see `least_violation`.
Program = Callable[[Array, Array], LeastViolation]


@dataclass(frozen=True)
class Search:
    """What was searched for a solution, in the words the advice uses."""

    nothing: str  # the subject of "... keeps this"
    by: str  # what cannot keep constraints together
    better: str  # what to do besides relaxing them
    enough: str = ""  # said where all constraints can be kept, and this solution breaks some
    closer: str = ""  # what comes closer, where this solution is not the closest


def advise(
    search: Search,
    constraints: Sequence[Constraint],
    scale: Array,
    least: LeastViolation,
    program: Program,
    closest: bool,
) -> tuple[list[int], str]:
    """The constraints at odds, and what to do; `closest` says that this solution violates least."""
    conflict, words = _advised(search, constraints, scale, least, program, closest)
    return conflict, words + _flattered(constraints[i] for i in conflict)


def _flattered(constraints: Iterable[Constraint]) -> str:
    """What to think of where an existing model's right decisions are compared with."""
    rates = (rate for each in constraints for rate in each.rates)
    versus = [r.versus for r in rates if KINDS[r.kind].versus and KINDS[r.kind].labels]
    if not versus:
        return ""
    return (
        f" If the model behind {versus[0]!r} was trained on these rows, it does better on them than on "
        "new ones, and the comparison flatters it: give its decisions out of fold, or rows that it has "
        "not seen."
    )


def _advised(
    search: Search,
    constraints: Sequence[Constraint],
    scale: Array,
    least: LeastViolation,
    program: Program,
    closest: bool,
) -> tuple[list[int], str]:
    conflict, free, amounts = remedy(constraints, scale, least, program)
    ways = []
    if amounts is not None:
        ways.append(_relaxing(constraints, conflict, [i for i in conflict if free[i]], amounts))
    if len(conflict) == 1:
        only = constraints[conflict[0]]
        does = "comes closer to" if closest else "keeps"
        than = " than this" if closest else f", but {search.closer} comes closer" * bool(search.closer)
        return conflict, f" {search.nothing} {does} {only}{than}: {', '.join([*ways, search.better])}."
    for i in conflict if 1 < free.sum() <= NAMED else ():
        found = _amounts(np.arange(len(free)) == i, scale, program) if free[i] else None
        if found is not None:
            ways.append(f"relax {constraints[i]} alone {broken_by(constraints[i], found[i])}")
    names = "; ".join(str(constraints[i]) for i in conflict[:NAMED])
    more = f" and {len(conflict) - NAMED} more" if len(conflict) > NAMED else ""
    closer = f" {search.closer} comes closer." if search.closer and not closest else ""
    what = ", or ".join([*ways, search.better])
    return conflict, f" These cannot be kept together by {search.by}: {names}{more}; {what}.{closer}"


def remedy(
    constraints: Sequence[Constraint], scale: Array, least: LeastViolation, program: Program
) -> tuple[list[int], Array, Array | None]:
    """The constraints at odds, which may be relaxed (m,), and by how much (m,) where that helps."""
    chosen = _at_odds(least, program)
    conflict = [int(i) for i in np.argsort(-least.prices, kind="stable") if chosen[i]]
    free = chosen & ~_budgets(constraints)  # the budgets of an area are nobody's to relax
    return conflict, free, _amounts(free, scale, program)


def broken_by(constraint: Constraint, amount: float) -> str:
    """By how much a constraint is broken; a ratio's violation is that of its cross-multiplied form."""
    ratio = constraint.left
    if not isinstance(ratio, Ratio):
        return f"by {amount:.4g}"
    per_row = " per row of its subset" if is_even(ratio) else ""
    right = constraint.right.constant * ratio.denominator
    return f"by {amount:.4g}{per_row} in {ratio.numerator} {constraint.relation} {right}"


def _at_odds(least: LeastViolation, program: Program) -> Array:
    """Constraints (m,) that cannot be kept together, where all others can."""
    chosen: Array = least.prices > PRICED
    for _ in range(NAMED):
        others = program(np.where(chosen, np.inf, 0.0), np.ones(len(chosen)))
        if others.violation == 0 or others.unsolved:
            return chosen
        chosen = chosen | (others.prices > PRICED)
    return np.ones(len(chosen), dtype=bool)


def _amounts(chosen: Array, scale: Array, program: Program) -> Array | None:
    """How much the chosen constraints must be relaxed (m,), rounded up, so that all can be kept.

    None where relaxing these is not enough, no matter by how much.
    """
    every = np.ones(len(chosen))
    if not chosen.any() or program(np.where(chosen, np.inf, 0.0), every).violation > 0:
        return None
    found = program(0 * every, chosen.astype(float))
    needed = max(float(found.violations[chosen].max()) - TOLERANCE / 2, 0.0)
    amounts = np.array([rounded_up(amount) for amount in needed * scale * chosen])
    if kept(found.violations - amounts / scale).all():
        return amounts
    again = program(amounts / scale, every)
    return amounts if again.violation == 0 and not again.unsolved else None


def rounded_up(amount: float) -> float:
    """The least number of four digits that is not below `amount`.

    >>> rounded_up(0.123412), rounded_up(0.5), rounded_up(6.0)
    (0.1235, 0.5, 6.0)
    """
    if amount <= 0:
        return 0.0
    near = float(f"{amount:.4g}")
    step = 10.0 ** (math.floor(math.log10(amount)) - 3)
    return near if near >= amount else float(f"{near + step:.4g}")


def _relaxing(
    constraints: Sequence[Constraint], conflict: list[int], chosen: list[int], amounts: Array
) -> str:
    """In words: by how much to relax the chosen constraints of a conflict."""
    by = [broken_by(constraints[i], amounts[i]) for i in chosen]
    if len(conflict) == 1:
        return f"relax it ({by[0]})"
    each = "; ".join(f"{constraints[i]} {words}" for i, words in zip(chosen, by, strict=True))
    if len(chosen) < len(conflict):
        return f"relax {each}"
    return f"relax all of them {by[0]}" if len(set(by)) == 1 else f"relax all of them, {each}"


def _budgets(constraints: Sequence[Constraint]) -> Array:
    """Which constraints (m,) are the false-positive budgets of an area."""
    areas = (c.left for c in constraints if isinstance(c.left, Area))
    names = {name for area in areas for name in area_budgets(area)}
    return np.array(
        [
            isinstance(c.left, Expression) and any(rate.at in names for rate, _ in c.left.terms)
            for c in constraints
        ],
        dtype=bool,
    )
