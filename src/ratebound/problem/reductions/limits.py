"""What any decisions at all could make of sums of rates: where a goal starts, and what it never is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ratebound.base.linear_program import LeastViolation, best_program, judged, least_program
from ratebound.base.solver import Unsolved, weights_of
from ratebound.base.types import Array

if TYPE_CHECKING:
    from ratebound.problem.compiled import Compiled

LARGEST = 20_000  # cells of which a program is solved


def coin(compiled: Compiled) -> Array:
    """The objective and constraints (1+m,) where every row is decided by chance, each way as often."""
    _, each = _decisions(compiled)
    return np.asarray(compiled.offset + each.mean(axis=0).sum(axis=0))


def least_sum(whole: Compiled, promises: int, row: Array, constant: float) -> float:
    """How low an affine function of the pieces, `row` (q,), can be for any classifier at all.

    Only for those that keep the promises, the first constraints of `whole`, if that makes a difference.
    """
    groups, each = _decisions(whole)
    values = np.concatenate(each)
    values[groups == 0] += whole.offset
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


def _decisions(compiled: Compiled) -> tuple[Array, Array]:
    """The cell of every choice (D * cells,), and what each decision in it adds, (D, cells, 1+m).

    Where rates are taken at several thresholds, the shares at each are left free of the others.
    """
    others, cells = compiled.decisions - 1, compiled.cell_count
    each = (compiled.matrix * compiled.column_weight).reshape(
        len(compiled.offset), len(compiled.blocks), others, cells
    )
    added = np.moveaxis(each, (2, 1, 3, 0), (0, 1, 2, 3)).reshape(others, -1, len(compiled.offset))
    found = np.concatenate([np.zeros_like(added[:1]), added])  # the first decision adds nothing
    return np.tile(np.arange(found.shape[1]), 1 + others), found
