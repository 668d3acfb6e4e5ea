"""The exact rates of scores that arrive some rows at a time: decisions are counted per cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound._old.base.arrays import as_numpy, namespace, tally_kinds
from ratebound._old.base.types import Array
from ratebound._old.problem.coefficients import Block
from ratebound._old.problem.deciding import decided_at, rounded_up, score_count, with_axes
from ratebound._old.problem.frames import as_array
from ratebound._old.problem.sharing import total_of

if TYPE_CHECKING:
    from ratebound._old.problem.compiled import Compiled

FEW_CELLS, MANY_MODELS = 64, 8  # where a product with cells counts faster


def evaluated(
    problems: Sequence[Compiled], pieces: Iterable[Array], thresholds: Mapping[str, Array]
) -> list[Array]:
    """Offsets and rates (K, 1+m) of each problem, all on the same rows.

    `pieces` are the scores (K, A, b) of consecutive blocks of rows that cover all rows.
    """
    counts: dict[tuple[int, int], Array] = {}
    start = models = 0
    for scores in pieces:
        rows = slice(start, start + scores.shape[-1])
        start, models = rows.stop, len(scores)
        for i, problem in enumerate(problems):
            for j, block in enumerate(problem.blocks):
                decided = decided_at(scores, _threshold(block.at, thresholds, scores.dtype))
                own = in_cells(problem, decided, block, rows)
                counts[i, j] = counts[i, j] + own if (i, j) in counts else own
    rates = []
    for i, problem in enumerate(problems):
        if start != len(problem.cells):
            raise ValueError(f"scores of {start:,} rows: expected {len(problem.cells):,}")
        values = np.tile(problem.offset, (models, 1))
        for j, block in enumerate(problem.blocks):
            weight = per_decision(problem, as_numpy(counts[i, j]), models)
            values += (block.net @ weight.T).T
        rates.append(values)
    return rates


def in_cells(problem: Compiled, decided: Any, block: Block, rows: slice) -> Any:
    """The weight of these rows in each cell that are decided 1, 2, ..., (K * (D - 1), cells).

    `decided` are their decisions (K, b). Decisions on a GPU are counted there. Weighted rows are not,
    because their sum would depend on the order of the rows.
    """
    size, others, cells = problem.cell_count, problem.decisions - 1, problem.cells[rows]
    weights = problem.weights_in(block, rows)
    if namespace(decided) is not np and weights is None:
        index = namespace(decided).as_tensor(cells, device=decided.device)
        double = decided.new_empty(0, dtype=namespace(decided).float64)
        kinds = tally_kinds(decided.long(), others + 1, index, size, 1.0, double)
        return kinds[:, 1:].reshape(-1, size)
    exact = cells.size < 2**24 and size <= FEW_CELLS  # counts in single precision
    if weights is None and others == 1 and exact and len(decided) >= MANY_MODELS:
        inside = (cells[:, None] == np.arange(size)).astype(np.float32)
        return (as_numpy(decided).astype(np.float32) @ inside).astype(float)
    counted = [
        np.bincount(cells + row * size, weights, (others + 1) * size)[size:] for row in as_numpy(decided)
    ]
    return np.array(counted, dtype=float).reshape(len(decided) * others, size)


def per_decision(problem: Compiled, in_cells: Array, models: int) -> Array:
    """Counts per cell, over all processes, summed to counts per decision and slice (K, (D - 1) * S)."""
    return total_of(problem.populations, problem.per_slice(in_cells)).reshape(models, -1)


def _threshold(at: float | str, known: Mapping[str, Array], dtype: object) -> Array | float:
    if not isinstance(at, str):
        return rounded_up(at, str(dtype).removeprefix("torch."))
    if at not in known:
        raise ValueError(f"threshold {at!r} is learned with the model: pass thresholds={{{at!r}: ...}}")
    return known[at]


def given_scores(problem: Compiled, scores: Any) -> Array:
    """Scores as users give them, with all populations in one array."""
    if isinstance(scores, Mapping):
        missing = [name for name in problem.populations if name not in scores]
        if missing:
            raise ValueError(f"scores for population {missing[0]!r} are missing")
        return np.concatenate([as_array(scores[name]) for name in problem.populations], axis=-1)
    return as_array(scores)


def stacked_scores(problem: Compiled, scores: Any) -> Array:
    """Scores as users give them, in one array (K, A, n); checked."""
    stacked = given_scores(problem, scores)
    if stacked.dtype.kind not in "buif":
        raise ValueError(f"scores must be numbers, got {stacked.dtype}")
    wanted = score_count(problem.decisions), len(problem.cells)
    whole = with_axes(stacked, problem.decisions)
    if whole.shape[1:] != wanted:
        sizes = ", ".join(f"{name} {len(p):,}" for name, p in problem.populations.items())
        turned = ": pass scores.T" * (wanted[0] > 1 and stacked.T.shape == wanted)
        each = f"one per class and row, {wanted}" if wanted[0] > 1 else f"one per row, {wanted[1]:,}"
        raise ValueError(f"scores of shape {stacked.shape}: expected {each} ({sizes}){turned}")
    if not np.isfinite(whole).all():
        raise ValueError("scores hold NaN or infinite values, so there is no decision to count")
    return whole
