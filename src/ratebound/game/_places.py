"""Where the rows of a batch meet the slices that rates are totalled over.

Through their cells, where those are few, and a cell's slices are a row of a matrix or a short list;
directly by their unpacked membership bits, where almost every row is a cell of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ratebound.base.arrays import Array, count, namespace, take, take_rows, tally, tally_kinds
from ratebound.problem.compiled import CHUNK, ONES, Compiled

BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # (256, 8) a byte's bits


@dataclass(frozen=True)
class Matrix:
    """Which slices each cell lies in, as a matrix."""

    inside: Array  # (cells, S)

    def total(self, per_cell: Array) -> Array:
        """Totals per cell (K, cells) summed per slice: (K, S)."""
        return per_cell @ self.inside


@dataclass(frozen=True)
class Lists:
    """Which slices each cell lies in, as short lists, filled up with S, which is none of them."""

    size: int  # S
    lists: Array  # (w, cells), w small

    def spread(self, table: Array) -> Array:
        """What a table over slices (..., S) sums to for each cell: (..., cells)."""
        filled = namespace(table).concatenate([table, 0 * table[..., :1]], -1)
        return sum(take(filled, slices) for slices in self.lists)

    def total(self, per_cell: Array) -> Array:
        """Totals per cell (K, cells) summed per slice: (K, S)."""
        return sum(tally(per_cell, slices, self.size + 1) for slices in self.lists)[:, : self.size]


@dataclass(frozen=True)
class Exactly:
    """Which slices each cell lies in, as the compiled problem counts them, in NumPy."""

    compiled: Compiled

    def total(self, per_cell: Array) -> Array:
        """Totals per cell (K, cells) summed per slice: (K, S)."""
        return self.compiled.per_slice(per_cell)


@dataclass(frozen=True)
class CellPlaces:
    """Each row is found at its cell, and each cell at its slices."""

    index: Array  # (b,)
    cells: int
    membership: Matrix | Lists | Exactly
    example: Array

    def spread(self, table: Array) -> Array:
        """What a table over cells (..., cells) holds for each row: (..., b)."""
        return take(table, self.index)

    def total(self, values: Array) -> Array:
        """Values (..., b) summed per slice: (..., S)."""
        flat = values.reshape(-1, values.shape[-1])
        per_slice = self.membership.total(tally(flat, self.index, self.cells))
        return per_slice.reshape(*values.shape[:-1], -1)

    def total_kinds(self, kinds: Array, count: int, weight: Array | float) -> Array:
        """Weights (b,) of the rows of each kind (K, b) summed per slice: (K, count, S)."""
        per_cell = tally_kinds(kinds, count, self.index, self.cells, weight, self.example)
        return self.membership.total(per_cell.reshape(-1, self.cells)).reshape(len(kinds), count, -1)

    def count(self) -> Array:
        """Rows of the batch in each slice: (1, S)."""
        return self.membership.total(count(self.index, self.cells, self.example))


@dataclass(frozen=True)
class BitPlaces:
    """Each row is found by its membership bits, unpacked a chunk of rows at a time."""

    size: int  # S
    packed: Array  # (b, bytes)
    bits: Array  # (256, 8): a byte's bits as numbers

    @cached_property
    def _first(self) -> Array:
        return self._unpack(slice(0, CHUNK))

    def _unpack(self, rows: slice) -> Array:
        packed = self.packed[rows]
        unpacked = take_rows(self.bits, packed.reshape(-1))
        return unpacked.reshape(len(packed), -1)[:, : self.size]

    def _chunks(self) -> Iterator[tuple[slice, Array]]:
        yield slice(0, CHUNK), self._first
        for start in range(CHUNK, len(self.packed), CHUNK):
            rows = slice(start, start + CHUNK)
            yield rows, self._unpack(rows)

    def spread(self, table: Array) -> Array:
        """What a table over slices (..., S) sums to for each row: (..., b)."""
        flat = table.reshape(-1, self.size)
        parts = [_product(flat, matrix) for _, matrix in self._chunks()]
        joined = parts[0] if len(parts) == 1 else namespace(table).concatenate(parts, -1)
        return joined.reshape(*table.shape[:-1], -1)

    def total(self, values: Array) -> Array:
        """Values (..., b) summed per slice: (..., S)."""
        flat = values.reshape(-1, values.shape[-1])
        per_slice = sum(flat[:, rows] @ matrix for rows, matrix in self._chunks())
        return per_slice.reshape(*values.shape[:-1], -1)

    def total_kinds(self, kinds: Array, count: int, weight: Array | float) -> Array:
        """Weights (b,) of the rows of each kind (K, b) summed per slice: (K, count, S)."""
        weight = weight * self.bits[-1, -1]  # in the game's precision
        each = namespace(kinds).stack([kinds == kind for kind in range(count)], 1)
        return self.total(each * weight)

    def count(self) -> Array:
        """Rows of the batch in each slice: (1, S)."""
        # A product with ones is faster than a sum down the columns.
        return sum((0 * matrix[:, 0] + 1)[None] @ matrix for _, matrix in self._chunks())


Places = CellPlaces | BitPlaces


def _product(flat: Array, matrix: Array) -> Array:
    """``flat @ matrix.T``; for the two rows of one setting, two products with a vector are faster."""
    if len(flat) == 2:
        return namespace(flat).stack([matrix @ flat[0], matrix @ flat[1]])
    return (matrix @ flat.T).T


def slice_lists(compiled: Compiled, longest: int) -> Array | None:
    """Each cell's slices as a list (w, cells) filled up with S, or None where one is too long."""
    lengths = ONES[compiled.membership].sum(axis=1, dtype=np.int64)
    width = int(lengths.max())
    if width > longest:
        return None
    members = compiled.lists
    if members is None:
        members = sparse.csr_array(compiled.unpacked(slice(None)))
    lists = np.full((max(width, 1), compiled.cell_count), compiled.slice_count)
    cells = np.repeat(np.arange(compiled.cell_count), lengths)
    lists[np.arange(len(cells)) - members.indptr[cells], cells] = members.indices
    return lists
