"""A yes for exactly a given number of a batch's rows: the best by score that keep the promises.

Rows that promises count alike form a cell. Within a cell, rows with higher scores come first. The rest
is one integer program. It chooses the given number of rows and maximizes the sum of their scores. It
keeps the promises that need no labels on the batch, or breaks them as little as possible.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.layout import number
from ratebound._old.base.linear_program import kept
from ratebound._old.base.types import Array
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.frames import columns_by_name, frame_columns, some
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import Constraint, Expression
from ratebound._old.rates.kinds import KINDS, Classes
from ratebound._old.rates.named import positive_rate

COARSE = 1000  # parts of a batch that a first linear program sees
WINDOW = 12  # rows of a cell on either side of the cut that are left to an integer program
SPARE = 1e-9  # how far the least violation may be exceeded, so that rounding excludes no solution


def check_exactly(exactly: Any, classes: int, rows: int) -> int:
    """How many rows get a yes; an error with a remedy if that is impossible."""
    if classes > 2:
        raise ValueError(
            f"exactly= is the number of rows that get a yes, but there are {classes} decisions to "
            "choose from: leave it out, or train on two labels and without refer="
        )
    if isinstance(exactly, bool | np.bool_) or not isinstance(exactly, int | np.integer):
        raise TypeError(f"exactly= takes a whole number of rows, as in exactly=500, got {exactly!r}")
    if not 0 <= exactly <= rows:
        raise ValueError(
            f"exactly={exactly}: these are {rows:,} rows, so between 0 and {rows:,} of them can "
            "get a yes"
        )
    return int(exactly)


def highest(scores: Array, ties: Array, count: int) -> Array:
    """Which rows (n,) have the `count` highest scores; among equal scores, lower `ties` come first.

    >>> highest(np.array([1.0, 3.0, 1.0, 2.0]), np.array([0.5, 0.1, 0.2, 0.3]), 3)
    array([False,  True,  True,  True])
    """
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[np.lexsort((np.arange(len(scores)), ties, -scores))[:count]] = True
    return chosen


@dataclass(frozen=True, eq=False)
class OnBatch:
    """The promises that a batch without labels can check, compiled on it, and the others."""

    compiled: Compiled | None
    unknown: tuple[Constraint, ...]  # they need no labels, but need columns or groups that are not here


def promises_on(
    problem: Problem, X: Any, columns: Any, rows: int, classes: Classes | None = None
) -> OnBatch:
    """The promises of a problem on a batch whose labels are not known."""
    checkable = [each for each in problem.constraints if _needs_no_labels(each)]
    names = columns_by_name(X if frame_columns(X) else None) | columns_by_name(columns)
    batch = Population(None, columns={**names, " place": np.arange(rows)}, classes=classes)
    known: list[Constraint] = []
    for each in checkable:
        try:
            compile(Problem(positive_rate(), [each]), batch)
        except ValueError:
            continue
        known.append(each)
    compiled = compile(Problem(positive_rate(), known), batch) if known else None
    return OnBatch(compiled, tuple(each for each in checkable if each not in known))


def _needs_no_labels(promise: Constraint) -> bool:
    """Whether a promise is about decisions only, so that it needs no labels."""
    linear = isinstance(promise.left, Expression) and isinstance(promise.right, Expression)
    kinds = [KINDS[rate.kind] for rate in promise.rates]
    plain = all(not rate.own and rate.on is None and rate.at is None for rate in promise.rates)
    return linear and plain and not any(kind.labels for kind in kinds)


def chosen_exactly(scores: Array, ties: Array, count: int, batch: OnBatch) -> Array:
    """Which `count` rows (n,) get a yes; a warning names the promises that cannot be kept."""
    chosen = highest(scores, ties, count)
    compiled = batch.compiled
    if compiled is not None:
        violations = _violations(compiled, chosen)
        if not kept(violations, compiled.scale[1:]).all():
            # In an order that does not depend on the batch's own, or equals of a program might.
            order = np.lexsort((compiled.cells, ties, -scores))
            own = scores[order], ties[order], compiled.cells[order]
            chosen[order] = _best_within(*own, count, compiled)
            violations = _violations(compiled, chosen)
        broken = np.flatnonzero(~kept(violations, compiled.scale[1:]))
        if len(broken):
            names = "; ".join(
                f"{compiled.labels[i]} (by {number(float(violations[i]))})" for i in broken[:5]
            )
            more = f" and {len(broken) - 5} more" * (len(broken) > 5)
            _warn(f"exactly={count}: no {count:,} of these rows keep {names}{more}")
    if batch.unknown:
        unchecked = some([str(each) for each in batch.unknown])
        _warn(
            f"exactly={count}: whether {unchecked} is kept cannot be seen on these rows: give the "
            "columns that it uses, columns=..."
        )
    return chosen


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=6)


def _violations(compiled: Compiled, chosen: Array) -> Array:
    violations: Array = compiled.evaluate(np.where(chosen, 1.0, -1.0))[1]
    return violations


def _best_within(scores: Array, ties: Array, cells: Array, count: int, compiled: Compiled) -> Array:
    """The best `count` rows that keep the promises or break them least, found by how many of each cell.

    Each cell's rows are in order, so each adds less than the one before it, and no program would take a
    row and leave out a better one of its cell. Linear programs find about how many rows of each cell are
    taken; only rows near that place are then left to an integer program.
    """
    size = len(scores)
    order = np.lexsort((np.arange(size), ties, -scores))
    by_cell = order[np.argsort(cells[order], kind="stable")]  # each cell's rows, the best first
    sizes = np.bincount(cells, minlength=compiled.cell_count)
    place = np.empty(size, dtype=np.intp)  # of each row in its cell
    place[by_cell] = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    finite = np.isfinite(scores).all()  # they are not if a group never gets a yes
    worth = scores - scores.min() if finite else np.unique(scores, return_inverse=True)[1].reshape(-1)
    worth = worth / max(float(worth.max()), 1e-300)
    adds = compiled.matrix[1:][:, cells] / compiled.scale[1:, None]  # (m, n)
    room = -compiled.offset[1:] / compiled.scale[1:]
    taken: Array = np.zeros(compiled.cell_count)  # of each cell, about
    near = np.ones(size, dtype=bool)
    for step in (max(1, size // COARSE), 1):  # some rows at a time, then one by one near the cuts
        surely = ~near & (place < taken[cells])
        rest = by_cell[near[by_cell]]
        parts = np.unique(
            np.column_stack([cells[rest], place[rest] // step]), axis=0, return_inverse=True
        )[1]
        parts = parts.reshape(-1)
        lengths = np.bincount(parts)
        about = _taken(
            np.bincount(parts, worth[rest]),
            np.stack([np.bincount(parts, each) for each in adds[:, rest]]),
            room - adds[:, surely].sum(axis=1),
            lengths,
            count - int(surely.sum()),
            whole=False,
        )
        if about is None:
            return highest(scores, ties, count)
        own = cells[rest][np.unique(parts, return_index=True)[1]]
        taken = np.bincount(cells[surely], minlength=compiled.cell_count) + np.bincount(
            own, about * lengths, compiled.cell_count
        )
        near = np.abs(place - taken[cells]) <= max(WINDOW, 2 * step if step > 1 else 0)
    surely = ~near & (place < taken[cells])
    exact = _taken(
        worth[near],
        adds[:, near],
        room - adds[:, surely].sum(axis=1),
        np.ones(int(near.sum())),
        count - int(surely.sum()),
        whole=True,
    )
    if exact is None:
        return highest(scores, ties, count)
    solved = surely.copy()
    solved[near] = exact > 0.5
    return np.asarray(place < np.bincount(cells, solved, compiled.cell_count)[cells])


def _taken(
    worth: Array, adds: Array, room: Array, lengths: Array, count: int, *, whole: bool
) -> Array | None:
    """The share of each part that is taken (n,): for the least sum of violations, then the best scores.

    A part is `lengths` rows; their worth and what they add to promises are given as sums.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_array, hstack

    size, many = len(worth), len(room)
    rows = np.concatenate([np.ones(size), np.zeros(many)])
    slacks = 1 - rows
    rules = [
        LinearConstraint(
            hstack([csc_array(adds), csc_array(-np.eye(many))], format="csc"), -np.inf, room
        ),
        LinearConstraint(np.concatenate([lengths, np.zeros(many)])[None], count, count),
    ]
    how = {
        "integrality": rows if whole else np.zeros(size + many),
        "bounds": Bounds(np.zeros(size + many), np.where(rows > 0, 1.0, np.inf)),
    }
    least = milp(slacks, constraints=rules, **how)
    if least.x is None:
        return None
    rules.append(LinearConstraint(slacks[None], 0, float(least.fun) + SPARE))
    best = milp(np.concatenate([-worth, np.zeros(many)]), constraints=rules, **how)
    solved: Array = (least if best.x is None else best).x[:size]
    return solved
