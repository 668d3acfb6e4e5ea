"""Yes to exactly so many rows of a batch: the best by score, with what was promised kept among them.

Rows that promises count alike are in one cell, and of a cell the rows with the highest scores come
first. So what is left to find is one integer program: the sum of the scores of the rows chosen is
largest, as many are chosen as asked, and the promises that need no labels are kept on the batch, or
broken as little as can be.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.base.layout import number
from ratebound.base.linear_program import kept
from ratebound.base.types import Array
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.frames import columns_by_name, frame_columns, some
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Constraint, Expression
from ratebound.rates.kinds import KINDS
from ratebound.rates.named import positive_rate

SPARE = 1e-9  # by which the least violation may be exceeded, so that rounding closes no way


def check_exactly(exactly: Any, classes: int, rows: int) -> int:
    """How many rows get a yes; an error that says what would do where that cannot be."""
    if classes > 2:
        raise ValueError(
            f"exactly= says how many rows get a yes, and there are {classes} classes to decide between: "
            "leave it out, or train on yes and no"
        )
    if isinstance(exactly, bool | np.bool_) or not isinstance(exactly, int | np.integer):
        raise TypeError(f"exactly= takes a whole number of rows, as in exactly=500, got {exactly!r}")
    if not 0 <= exactly <= rows:
        raise ValueError(
            f"exactly={exactly}: a yes can be said to 0 up to {rows:,} of these {rows:,} rows"
        )
    return int(exactly)


def highest(scores: Array, ties: Array, count: int) -> Array:
    """Which rows (n,) have the `count` highest scores; of equal ones first those with the lower `ties`.

    >>> highest(np.array([1.0, 3.0, 1.0, 2.0]), np.array([0.5, 0.1, 0.2, 0.3]), 3)
    array([False,  True,  True,  True])
    """
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[np.lexsort((np.arange(len(scores)), ties, -scores))[:count]] = True
    return chosen


@dataclass(frozen=True, eq=False)
class OnBatch:
    """The promises that a batch without labels can tell, compiled on it, and those that it cannot."""

    compiled: Compiled | None
    unknown: tuple[Constraint, ...]  # they need no labels, but columns or groups that are not here


def promises_on(problem: Problem, X: Any, columns: Any, rows: int) -> OnBatch:
    """What the promises of a problem mean on a batch whose labels are not known."""
    told = [each for each in problem.constraints if _is_told_without_labels(each)]
    names = columns_by_name(X if frame_columns(X) else None) | columns_by_name(columns)
    batch = Population(None, columns={**names, " place": np.arange(rows)})
    known: list[Constraint] = []
    for each in told:
        try:
            compile(Problem(positive_rate(), [each]), batch)
        except ValueError:
            continue
        known.append(each)
    compiled = compile(Problem(positive_rate(), known), batch) if known else None
    return OnBatch(compiled, tuple(each for each in told if each not in known))


def _is_told_without_labels(promise: Constraint) -> bool:
    """Whether decisions on rows are all that a promise is about."""
    linear = isinstance(promise.left, Expression) and isinstance(promise.right, Expression)
    kinds = [KINDS[rate.kind] for rate in promise.rates]
    plain = all(not rate.own and rate.on is None and rate.at is None for rate in promise.rates)
    return linear and plain and not any(kind.labels or kind.pairs for kind in kinds)


def chosen_exactly(scores: Array, ties: Array, count: int, batch: OnBatch) -> Array:
    """Which rows (n,) get a yes, `count` of them; a warning tells which promises cannot be kept."""
    chosen = highest(scores, ties, count)
    compiled = batch.compiled
    if compiled is not None:
        violations = _violations(compiled, chosen)
        if not kept(violations, compiled.scale[1:]).all():
            chosen = _best_within(scores, ties, count, compiled)
            violations = _violations(compiled, chosen)
        broken = np.flatnonzero(~kept(violations, compiled.scale[1:]))
        if len(broken):
            told = "; ".join(
                f"{compiled.labels[i]} (by {number(float(violations[i]))})" for i in broken[:5]
            )
            more = f" and {len(broken) - 5} more" * (len(broken) > 5)
            _warn(f"exactly={count}: no {count:,} of these rows keep {told}{more}")
    if batch.unknown:
        said = some([str(each) for each in batch.unknown])
        _warn(
            f"exactly={count}: these rows do not tell whether {said} is kept: give the columns "
            "that it speaks of, columns=..."
        )
    return chosen


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=6)


def _violations(compiled: Compiled, chosen: Array) -> Array:
    violations: Array = compiled.evaluate(np.where(chosen, 1.0, -1.0))[1]
    return violations


def _best_within(scores: Array, ties: Array, count: int, compiled: Compiled) -> Array:
    """The best `count` rows that keep the promises, or break them least, by how many of each cell.

    Of each cell the rows are in order, and so each adds less than the one before it: no program would
    take one and leave out a better one of its cell. Two programs are solved: for the least sum of
    violations, and for the best scores at that sum.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_array, hstack

    cells, size = compiled.cells, len(scores)
    order = np.lexsort((np.arange(size), ties, -scores))
    scale = compiled.scale[1:]
    adds = compiled.matrix[1:][:, cells] / scale[:, None]  # (m, n)
    room = -compiled.offset[1:] / scale
    many = len(room)
    finite = np.isfinite(scores).all()  # where a group never gets a yes they are not
    worth = scores - scores.min() if finite else np.unique(scores, return_inverse=True)[1].reshape(-1)
    worth = worth / max(float(worth.max()), 1e-300)
    slacks = csc_array(-np.eye(many))
    promises = hstack([csc_array(adds), slacks], format="csc")
    number_of = np.concatenate([np.ones(size), np.zeros(many)])[None]
    whole = np.concatenate([np.ones(size), np.zeros(many)])
    bounds = Bounds(np.zeros(size + many), np.concatenate([np.ones(size), np.full(many, np.inf)]))
    rules = [LinearConstraint(promises, -np.inf, room), LinearConstraint(number_of, count, count)]
    only_slacks = np.concatenate([np.zeros(size), np.ones(many)])
    least = milp(only_slacks, integrality=whole, bounds=bounds, constraints=rules)
    if least.x is None:
        return highest(scores, ties, count)
    rules.append(LinearConstraint(only_slacks[None], 0, float(least.fun) + SPARE))
    best = milp(
        np.concatenate([-worth, np.zeros(many)]), integrality=whole, bounds=bounds, constraints=rules
    )
    solved = least.x if best.x is None else best.x
    taken = np.bincount(cells, solved[:size] > 0.5, compiled.cell_count).astype(int)
    ranked = cells[order]  # of each cell as many as the program says, the best by score and then by ties
    place = np.empty(size, dtype=np.intp)
    for cell in range(compiled.cell_count):
        own = np.flatnonzero(ranked == cell)
        place[own] = np.arange(len(own))
    chosen = np.zeros(size, dtype=bool)
    chosen[order] = place < taken[ranked]
    return chosen
