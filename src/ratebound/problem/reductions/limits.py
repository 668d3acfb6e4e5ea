"""What any decisions at all could make of sums of rates: where a goal starts, and what it never is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ratebound.base.linear_program import LeastViolation, best_program, judged, least_program
from ratebound.base.solver import Unsolved, weights_of
from ratebound.base.types import Array
from ratebound.problem.reductions.goal import Goal, Point

if TYPE_CHECKING:
    from ratebound.problem.compiled import Compiled

LARGEST = 20_000  # cells of which a program is solved


def choices(compiled: Compiled) -> tuple[Array, Array]:
    """What every decision adds in every cell, (k * D, 1+m), and the cell of each, (k * D,).

    The first decisions come first, and those of the first cell hold the problem's constants. Where rates
    are taken at several thresholds, each has cells of its own.
    """
    blocks, others = len(compiled.blocks), compiled.decisions - 1
    added = (compiled.matrix * compiled.column_weight).T  # but for the first, block after block
    cells = np.arange(blocks * compiled.cell_count)
    values = np.concatenate([np.zeros((len(cells), added.shape[1])), added])
    groups = np.append(cells, np.repeat(cells.reshape(blocks, 1, -1), others, axis=1))
    values[groups == 0] += compiled.offset
    return values, groups


def start_of(goal: Goal, whole: Compiled) -> Point:
    """Where training begins: at decisions by chance, with promises as dear as the goal."""
    values, _ = choices(whole)
    promises = len(whole.constraints) - len(goal.pieces)
    pieces = values.sum(axis=0)[1 + promises :] / whole.decisions
    none = np.empty((0, len(pieces))), np.empty(0)
    return Point(goal.weights(pieces), 1.0 / whole.scale[1 : 1 + promises], none)


def least_sum(whole: Compiled, promises: int, row: Array, constant: float) -> float:
    """How low an affine function of the pieces, `row` (q,), can be for any classifier at all.

    Only for those that keep the promises, the first constraints of `whole`, if that makes a difference.
    """
    values, groups = choices(whole)
    costs = values[:, 1 + promises :] @ row
    lowest = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(lowest, groups, costs)
    free = float(lowest.sum() + constant)
    if free > 1e-12 or not promises or len(lowest) > LARGEST:
        return free
    H = values[:, 1 : 1 + promises] / whole.scale[1 : 1 + promises]
    none, every = np.zeros(promises), np.ones(promises)
    most = float(np.abs(H).sum(axis=0).max(initial=1.0))
    try:
        least: LeastViolation = judged(
            least_program(H, none, every, most, groups), H, none, every, groups
        )
        found = weights_of(best_program(costs, H, least, groups), groups) @ costs
    except Unsolved:  # then nothing is known but that
        return free
    return float(found + constant)
