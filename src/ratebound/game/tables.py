"""The compiled problem laid out for fast steps: from multipliers to rows, and from rows to rates.

Two maps are needed each step, and never an array of rows × constraints:

    spread   weights (K, 1+m) -> cost of a yes and of a no for each row of the batch (K, 2, b)
    values   totals of decisions per place (K, P)  -> the objective's and constraints' values

A *place* is where decisions are totalled: a cell, or, where overlapping groups make almost every row
a cell of its own, a slice. The table picks by size:

    few cells                    dense (1+m, cells) matrices
    more cells, in few slices    two sparse factors, constraints × slices × cells
    many cells                   places are slices, and each batch unpacks its rows' membership bits
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ratebound.game.arrays import Array, as_like, namespace, take, take_rows, tally
from ratebound.problem.compiled import Block, Compiled

DENSE_ON_CPU = 2**16  # entries of (1+m) × cells up to which a dense product is cheapest
DENSE_ON_GPU = 2**24
SPARSE = 2**15  # set bits of cells × slices up to which spreading to all cells is cheapest
ONE_HOT = 128  # cells up to which, for several settings, a product beats gathering
BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # (256, 8) a byte's bits


@dataclass(frozen=True)
class Places:
    """Where each row of a batch is totalled: at one place (`index`), or at several (`matrix`)."""

    count: int
    index: Array | None = None  # (b,)
    matrix: Array | None = None  # (b, P) zeros and ones

    def spread(self, table: Array) -> Array:
        """What a table (..., P) holds for each row: (..., b)."""
        if self.matrix is None:
            return take(table, self.index)
        return table @ self.matrix.T

    def total(self, values: Array) -> Array:
        """Values (K, b) summed per place: (K, P)."""
        if self.matrix is None:
            return tally(values, self.index, self.count)
        return values @ self.matrix


class Table:
    """One block of a compiled problem, its rows scaled as the game plays them."""

    def __init__(self, compiled: Compiled, block: Block, example: Array, settings: int) -> None:
        on_cpu = namespace(example) is np
        rows, cells = block.net.shape[0], compiled.cell_count
        self.at = block.at
        scale = sparse.diags_array(1.0 / compiled.scale)
        net, up, down = ((scale @ m).tocsr() for m in (block.net, block.up, block.down))
        both = sparse.hstack([up, down]).tocsr()  # (1+m, 2 slices)
        self.by_cell = rows * cells <= (DENSE_ON_CPU if on_cpu else DENSE_ON_GPU)
        self.one_hot = self.by_cell and cells <= ONE_HOT and (settings > 1 or not on_cpu)
        self.factor: Any = None
        if self.by_cell:
            spread = compiled.spread(sparse.vstack([up, down]))  # (2 (1+m), cells)
            both = np.concatenate([spread[:rows], spread[rows:]], axis=1)
            net = compiled.spread(net)
        elif on_cpu and (factor := _sparse_membership(compiled)) is not None:
            self.by_cell, self.factor = True, factor
        self.count = cells if self.by_cell else compiled.slice_count
        self.place_weight = compiled.cell_weight if self.by_cell else compiled.slice_weight
        self.place_rows = _row_counts(compiled, self.by_cell)
        self.net, self.both = (m if self.factor is not None else _dense(m) for m in (net, both))
        if self.factor is None:
            self.net, self.both = as_like(self.net, example), as_like(self.both, example)
        if not self.by_cell:
            self.bytes = as_like(BYTES, example)
            self.packed = compiled.membership
            if not on_cpu:
                self.packed = namespace(example).as_tensor(self.packed, device=example.device)
        if self.one_hot:
            self.eye = as_like(np.eye(cells), example)
        self.place_weight = as_like(self.place_weight, example)
        self.place_rows = as_like(self.place_rows, example)
        self.noes = self.values_of_noes()  # (1+m,)

    def values_of_noes(self) -> Array:
        """What every constraint's `down` coefficients sum to: the part of the offset they explain."""
        down_only = namespace(self.place_weight).concatenate(
            [0 * self.place_weight, self.place_weight], -1
        )
        return self._apply(self.both, down_only[None], halves=2)[0]

    def places(self, cells: Array) -> Places:
        """Where the rows of a batch, given by their cells (b,), are totalled."""
        if not self.by_cell:
            bits = take_rows(self.bytes, self.packed[cells].reshape(-1))
            return Places(self.count, matrix=bits.reshape(len(cells), -1)[:, : self.count])
        if self.one_hot:
            return Places(self.count, matrix=self.eye[cells])
        return Places(self.count, index=cells)

    def costs(self, weights: Array) -> Array:
        """Cost of a yes and of a no at each place, (K, 2, P), for weights (K, 1+m)."""
        if self.factor is None:
            return (weights @ self.both).reshape(len(weights), 2, self.count)
        per_slice = (self.both.T @ weights.T).T.reshape(2 * len(weights), -1)
        return (self.factor @ per_slice.T).T.reshape(len(weights), 2, self.count)

    def rates(self, totals: Array) -> Array:
        """Values (K, 1+m), offset apart, of yeses totalled per place (K, P)."""
        return self._apply(self.net, totals, halves=1)

    def relaxed(self, yes: Array, no: Array) -> Array:
        """Values (K, 1+m), offset apart, when yeses and noes are totalled by a proxy (K, P)."""
        both = namespace(yes).concatenate([yes, no], -1)
        return self._apply(self.both, both, halves=2) - self.noes

    def _apply(self, matrix: Any, totals: Array, halves: int) -> Array:
        if self.factor is None:
            return totals @ matrix.T
        per_slice = (self.factor.T @ totals.reshape(-1, self.count).T).T
        return (matrix @ per_slice.reshape(len(totals), -1).T).T


def _sparse_membership(compiled: Compiled) -> Any:
    """Cells × slices as a sparse matrix, or None where it would be large."""
    bits = int(BYTES.sum(1)[compiled.membership].sum()) if compiled.membership.size < 2**22 else SPARSE
    if bits >= SPARSE:
        return None
    return sparse.csr_array(compiled.unpacked(slice(None)).astype(np.float32))


def _row_counts(compiled: Compiled, by_cell: bool) -> Array:
    counts = np.bincount(compiled.cells, minlength=compiled.cell_count).astype(float)
    return counts if by_cell else compiled.per_slice(counts[None])[0]


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
