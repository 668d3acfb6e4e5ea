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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ratebound.game.arrays import Array, as_like, namespace, take, take_rows, tally
from ratebound.problem.compiled import CHUNK, Block, Compiled

DENSE_ON_CPU = 2**16  # entries of (1+m) × cells up to which a dense product is cheapest
DENSE_ON_GPU = 2**24
SPARSE = 2**15  # set bits of cells × slices up to which spreading to all cells is cheapest
BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # (256, 8) a byte's bits


@dataclass(frozen=True)
class CellPlaces:
    """Each row of a batch is totalled at one place, its cell."""

    count: int
    index: Array  # (b,)

    def spread(self, table: Array) -> Array:
        """What a table (..., P) holds for each row: (..., b)."""
        return take(table, self.index)

    def total(self, values: Array) -> Array:
        """Values (K, b) summed per place: (K, P)."""
        return tally(values, self.index, self.count)


@dataclass(frozen=True)
class SlicePlaces:
    """Each row of a batch is totalled at all its slices, whose bits are unpacked a chunk at a time."""

    count: int
    packed: Array  # (b, bytes)
    bits: Array  # (256, 8): a byte's bits as numbers

    @cached_property
    def _first(self) -> Array:
        return self._unpack(slice(0, CHUNK))

    def _unpack(self, rows: slice) -> Array:
        packed = self.packed[rows]
        unpacked = take_rows(self.bits, packed.reshape(-1))
        return unpacked.reshape(len(packed), -1)[:, : self.count]

    def _chunks(self) -> Iterator[tuple[slice, Array]]:
        yield slice(0, CHUNK), self._first
        for start in range(CHUNK, len(self.packed), CHUNK):
            rows = slice(start, start + CHUNK)
            yield rows, self._unpack(rows)

    def spread(self, table: Array) -> Array:
        flat = table.reshape(-1, self.count)
        parts = [_product(flat, matrix) for _, matrix in self._chunks()]
        joined = parts[0] if len(parts) == 1 else namespace(table).concatenate(parts, -1)
        return joined.reshape(*table.shape[:-1], -1)

    def total(self, values: Array) -> Array:
        return sum(values[:, rows] @ matrix for rows, matrix in self._chunks())


Places = CellPlaces | SlicePlaces


def _product(flat: Array, matrix: Array) -> Array:
    """``flat @ matrix.T``; for the two rows of one setting, two products with a vector are faster."""
    if len(flat) == 2:
        return namespace(flat).stack([matrix @ flat[0], matrix @ flat[1]])
    return (matrix @ flat.T).T


class Table:
    """One block of a compiled problem, its rows scaled as the game plays them."""

    def __init__(self, compiled: Compiled, block: Block, example: Array) -> None:
        on_cpu = namespace(example) is np
        rows, cells = block.net.shape[0], compiled.cell_count
        self.at = block.at
        scale = sparse.diags_array(1.0 / compiled.scale)
        net, up, down = ((scale @ m).tocsr() for m in (block.net, block.up, block.down))
        # `both` holds up and down side by side: one product gives the costs of yeses and of noes.
        dense = rows * cells <= (DENSE_ON_CPU if on_cpu else DENSE_ON_GPU)
        self.factor = None if dense or not on_cpu else _sparse_membership(compiled)
        self.by_cell = dense or self.factor is not None
        self.net: Any
        self.both: Any
        if dense:
            self.net = as_like(compiled.spread(net), example)
            self.both = as_like(np.hstack([compiled.spread(up), compiled.spread(down)]), example)
        elif on_cpu:
            self.net = net.astype(np.float32)
            self.both = sparse.hstack([up, down]).tocsr().astype(np.float32)
        else:
            self.net = as_like(net.toarray(), example)
            self.both = as_like(sparse.hstack([up, down]).toarray(), example)
        self.count = cells if self.by_cell else compiled.slice_count
        self.place_weight = as_like(
            compiled.cell_weight if self.by_cell else compiled.slice_weight, example
        )
        self.place_rows = as_like(_row_counts(compiled, self.by_cell), example)
        self.bits = as_like(BYTES, example)
        self.packed = compiled.membership
        if not on_cpu:
            self.packed = namespace(example).as_tensor(self.packed, device=example.device)
        none = 0 * self.place_weight[None]
        self.noes: Array = 0.0
        self.noes = self.relaxed(none, self.place_weight[None])[0]  # what `down` sums to

    def places(self, cells: Array) -> Places:
        """Where the rows of a batch, given by their cells (b,), are totalled."""
        if self.by_cell:
            return CellPlaces(self.count, cells)
        return SlicePlaces(self.count, self.packed[cells], self.bits)

    def costs(self, weights: Array) -> Array:
        """Cost of a yes and of a no at each place, (K, 2, P), for weights (K, 1+m)."""
        both = _times(weights, self.both).reshape(2 * len(weights), -1)
        if self.factor is not None:
            both = (self.factor @ both.T).T
        return both.reshape(len(weights), 2, self.count)

    def rates(self, totals: Array) -> Array:
        """Values (K, 1+m), offset apart, of yeses totalled per place (K, P)."""
        return _times_transposed(self._per_slice(totals), self.net)

    def relaxed(self, yes: Array, no: Array) -> Array:
        """Values (K, 1+m), offset apart, when yeses and noes are totalled by a proxy (K, P)."""
        both = [self._per_slice(yes), self._per_slice(no)]
        return _times_transposed(namespace(yes).concatenate(both, -1), self.both) - self.noes

    def _per_slice(self, totals: Array) -> Array:
        return totals if self.factor is None else (self.factor.T @ totals.T).T


def _times(rows: Array, matrix: Any) -> Array:
    return (matrix.T @ rows.T).T if sparse.issparse(matrix) else rows @ matrix


def _times_transposed(rows: Array, matrix: Any) -> Array:
    return (matrix @ rows.T).T if sparse.issparse(matrix) else rows @ matrix.T


def _sparse_membership(compiled: Compiled) -> Any:
    """Cells × slices as a sparse matrix, or None where it would be large."""
    bits = int(BYTES.sum(1)[compiled.membership].sum()) if compiled.membership.size < 2**22 else SPARSE
    if bits >= SPARSE:
        return None
    return sparse.csr_array(compiled.unpacked(slice(None)).astype(np.float32))


def _row_counts(compiled: Compiled, by_cell: bool) -> Array:
    counts = np.bincount(compiled.cells, minlength=compiled.cell_count).astype(float)
    return counts if by_cell else compiled.per_slice(counts[None])[0]
