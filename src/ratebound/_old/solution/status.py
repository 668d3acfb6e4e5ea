"""Whether the promises are kept, and if not, which of them conflict and what would help.

How far to relax a constraint is found by solving the program again, with it relaxed and all others kept.
The amount is rounded up and checked: relaxing by the digits printed is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ratebound._old.base.linear_program import (
    TOLERANCE,
    LeastViolation,
    kept,
    least_violation,
    worst_violation,
)
from ratebound._old.base.types import Array
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.demands import budgets_of, is_even
from ratebound._old.rates.expressions import Area, Constraint, Expression, OfScores, Ratio
from ratebound._old.rates.kinds import KINDS

KEPT = "feasible: every constraint is kept on the training rows"
PRICED = 1e-6  # in the dual: constraints with more conflict
MOST_NAMED = 5  # constraints that are named one by one, at most

# The least t at which something has violations of at most `room + elastic * t`, both (m,) and in units;
# see `least_violation`.
Program = Callable[[Array, Array], LeastViolation]


@dataclass(frozen=True)
class Status:
    """Whether promises are kept, and what to do if they are not.

    Parameters
    ----------
    feasible : bool
        Whether every constraint is kept on the training rows, to rounding.
    violation : float
        The worst broken constraint's violation, in its own units; 0 if feasible.
    broken : tuple of Constraint
        The constraints that this solution breaks, the worst first.
    conflict : tuple of Constraint
        The constraints that no mixture of the candidates can keep together.
    message : str
        All this in words, with which constraint to relax and how far.
    confidence : float, default=None
        The confidence with which all hold on new rows: a claim this high or higher is false in at most a
        share of one minus this of all samples. None if it was not asked for.
    reached : str, default=""
        What is reached for a goal that is not a sum of rates, and how far that is from the best.
    left_out : str, default=""
        The groups that have no promises because of ``min_rows=``.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> people = rb.Population(np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 1, 0, 1])
    >>> problem = rb.Problem("error_rate()", ["positive_rate() <= 0.25", "recall() >= 0.9"])
    >>> trace = rb.play(rb.compile(problem, people), rb.Linear(0.1), rounds=100, batch_size=None)
    >>> status = rb.shrink(trace).status
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
        parts = (self.reached, self.left_out)
        more = " ".join(each for each in parts if each)
        return f"{self.message.removesuffix('.')}. {more}" if more else self.message


@dataclass(frozen=True)
class SearchWords:
    """What was searched for a solution, in the words the advice uses."""

    nothing: str  # the subject of "... keeps this"
    by: str  # the object of "cannot be kept together by ..."
    better: str  # the alternative to relaxing them
    enough: str = ""  # said if all constraints can be kept, but this solution breaks some
    closer: str = ""  # what comes closer, if this solution is not the closest


ITERATES = SearchWords(
    "No iterate or mixture of them",
    "any mixture of the iterates",
    "train longer, or with a stronger model",
    " A mixture of the iterates keeps all of them: use rb.shrink.",
    "rb.shrink",
)


def reached(problem: Problem, objective: float, gap: float, search: SearchWords) -> str:
    """What a solution reaches for a goal, and how far that is from the best, in words."""
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
    search: SearchWords,
    constraints: Sequence[Constraint],
    own: Array,
    program: Program,
    scale: Any = 1.0,
    unsolved: str = "",
) -> Status:
    """The status of a solution with violations `own` (m,); `program` searches for others."""
    scale = np.broadcast_to(np.asarray(scale, dtype=float), len(own))
    note = unsolved and f" The linear program failed ({unsolved}): a better mixture may exist."
    feasible = KEPT
    if any(isinstance(constraint.left, Area) for constraint in constraints):
        feasible += ", areas to the width of their bins: an audit measures them exactly"
    status = status_there(constraints, own, scale, feasible + (f".{note}" if note else ""))
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
    """The status of violations `own` (m,) without a search; `feasible` is the message if all are kept.

    Otherwise the message says how many constraints are broken, and by how much the first few are.
    """
    order = np.argsort(-own / scale, kind="stable")
    broken = order[~kept(own, scale)[order]].tolist()
    if not broken:
        return Status(True, 0.0, (), (), feasible)
    names = "; ".join(
        f"{constraints[i]} ({broken_by(constraints[i], own[i])})" for i in broken[:MOST_NAMED]
    )
    more = f" and {len(broken) - MOST_NAMED} more" if len(broken) > MOST_NAMED else ""
    message = f"infeasible: {len(broken)} of {len(own)} constraints broken: {names}{more}"
    return Status(False, float(own[broken[0]]), tuple(constraints[i] for i in broken), (), message)


# --- what would help ---------------------------------------------------------------------------------


def advise(
    search: SearchWords,
    constraints: Sequence[Constraint],
    scale: Array,
    least: LeastViolation,
    program: Program,
    closest: bool,
) -> tuple[list[int], str]:
    """The constraints in conflict, and what to do; `closest` is true if this solution violates least."""
    conflict, words = _advised(search, constraints, scale, least, program, closest)
    return conflict, words + _flattered(constraints[i] for i in conflict)


def _flattered(constraints: Iterable[Constraint]) -> str:
    """A caution for comparisons with an existing model's right decisions."""
    rates = (rate for each in constraints for rate in each.rates)
    versus = [r.versus for r in rates if KINDS[r.kind].versus and KINDS[r.kind].labels]
    if not versus:
        return ""
    return (
        f" If the model behind {versus[0]!r} was trained on these rows, it does better on them than "
        "on new rows, and the comparison flatters it: give its decisions out of fold, or rows that it "
        "has not seen."
    )


def _advised(
    search: SearchWords,
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
    for i in conflict if 1 < free.sum() <= MOST_NAMED else ():
        alone = _amounts(np.arange(len(free)) == i, scale, program) if free[i] else None
        if alone is not None:
            ways.append(f"relax {constraints[i]} alone {broken_by(constraints[i], alone[i])}")
    names = "; ".join(str(constraints[i]) for i in conflict[:MOST_NAMED])
    more = f" and {len(conflict) - MOST_NAMED} more" if len(conflict) > MOST_NAMED else ""
    closer = f" {search.closer} comes closer." if search.closer and not closest else ""
    what = ", or ".join([*ways, search.better])
    return conflict, f" These cannot be kept together by {search.by}: {names}{more}; {what}.{closer}"


def remedy(
    constraints: Sequence[Constraint], scale: Array, least: LeastViolation, program: Program
) -> tuple[list[int], Array, Array | None]:
    """The constraints in conflict, which may be relaxed (m,), and by how much (m,) if that helps."""
    chosen = _at_odds(least, program)
    conflict = [int(i) for i in np.argsort(-least.prices, kind="stable") if chosen[i]]
    free = chosen & ~_budgets(constraints)  # the budgets of areas and tops cannot be relaxed by a user
    return conflict, free, _amounts(free, scale, program)


def broken_by(constraint: Constraint, amount: float) -> str:
    """By how much a constraint is broken; for a ratio, in its cross-multiplied form."""
    ratio = constraint.left
    if not isinstance(ratio, Ratio):
        return f"by {amount:.4g}"
    per_row = " per row of its subset" if is_even(ratio) else ""
    right = constraint.right.constant * ratio.denominator
    return f"by {amount:.4g}{per_row} in {ratio.numerator} {constraint.relation} {right}"


def _at_odds(least: LeastViolation, program: Program) -> Array:
    """Constraints (m,) that cannot be kept together, while all others can."""
    chosen: Array = least.prices > PRICED
    for _ in range(MOST_NAMED):
        others = program(np.where(chosen, np.inf, 0.0), np.ones(len(chosen)))
        if others.violation == 0 or others.unsolved:
            return chosen
        chosen = chosen | (others.prices > PRICED)
    return np.ones(len(chosen), dtype=bool)


def _amounts(chosen: Array, scale: Array, program: Program) -> Array | None:
    """How much the chosen constraints must be relaxed (m,), rounded up, so that all can be kept.

    None if relaxing these is not enough, however far.
    """
    every = np.ones(len(chosen))
    if not chosen.any() or program(np.where(chosen, np.inf, 0.0), every).violation > 0:
        return None
    solved = program(0 * every, chosen.astype(float))
    needed = max(float(solved.violations[chosen].max()) - TOLERANCE / 2, 0.0)
    amounts = np.array([rounded_up(amount) for amount in needed * scale * chosen])
    if kept(solved.violations - amounts / scale).all():
        return amounts
    again = program(amounts / scale, every)
    return amounts if again.violation == 0 and not again.unsolved else None


def rounded_up(amount: float) -> float:
    """The least number of four digits that is at least `amount`.

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
    """How much to relax the chosen constraints of a conflict, in words."""
    by = [broken_by(constraints[i], amounts[i]) for i in chosen]
    if len(conflict) == 1:
        return f"relax it ({by[0]})"
    each = "; ".join(f"{constraints[i]} {words}" for i, words in zip(chosen, by, strict=True))
    if len(chosen) < len(conflict):
        return f"relax {each}"
    return f"relax all of them {by[0]}" if len(set(by)) == 1 else f"relax all of them, {each}"


def _budgets(constraints: Sequence[Constraint]) -> Array:
    """Which constraints (m,) are the budgets of an area or a top."""
    of_scores = (c.left for c in constraints if isinstance(c.left, OfScores))
    names = {name for metric in of_scores for name in budgets_of(metric)}
    return np.array(
        [
            isinstance(c.left, Expression) and any(rate.at in names for rate, _ in c.left.terms)
            for c in constraints
        ],
        dtype=bool,
    )
