"""Where the rows of a batch meet the slices that rates are totalled over.

Through their cells, where those are fewer, and a cell's slices are a row of a matrix, a short list or
bits; directly by short lists and bits, where most rows of a batch are a cell of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ratebound.base.arrays import Array, count, namespace, take, take_rows, tally, tally_kinds
from ratebound.kernels.bits import ONES, Bits
from ratebound.problem.coefficients import CHUNK
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import decided

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
    membership: Matrix | Lists | Exactly | RowPlaces | BitPlaces
    example: Array

    def spread(self, table: Array) -> Array:
        """What a table over cells (..., cells) holds for each row: (..., b)."""
        return take(table, self.index)

    def total(self, values: Array) -> Array:
        """Values (..., b) summed per slice: (..., S)."""
        flat = _flat(values)
        per_slice = self.membership.total(tally(flat, self.index, self.cells))
        return per_slice.reshape(*values.shape[:-1], -1)

    def total_kinds(self, kinds: Array, count: int, weight: Array | float) -> Array:
        """Weights (b,) of the rows of each kind (K, b) summed per slice: (K, count, S)."""
        per_cell = tally_kinds(kinds, count, self.index, self.cells, weight, self.example)
        return self.membership.total(per_cell.reshape(-1, self.cells)).reshape(len(kinds), count, -1)

    def count(self) -> Array:
        """Rows of the batch in each slice: (1, S)."""
        return self._count

    @cached_property
    def _count(self) -> Array:  # kept, for all rows at once are the same in every round
        return self.membership.total(count(self.index, self.cells, self.example))


@dataclass(frozen=True)
class AllPlaces(CellPlaces):
    """Each row is found at its cell, and costs of slices are summed up for each cell first."""

    membership: RowPlaces | BitPlaces
    rows: RowPlaces | None  # where rows that only count are counted faster one by one

    def spread(self, table: Array) -> Array:
        """What a table over slices (K, T, S) sums to for each row: (K, T, b)."""
        return take(self.membership.spread(table), self.index)

    def total(self, values: Array) -> Array:
        """Values (..., b), or marks, summed per slice: (..., S)."""
        if self.rows is not None and values.dtype == bool:
            return self.rows.total(values)
        return super().total(values)


@dataclass(frozen=True)
class Cells:
    """The slices of each cell: as a list where they are few, else as bits; in NumPy."""

    bits: Bits  # (cells, S)
    lists: Array  # (w, cells), w small; filled up with S, which is none of them
    long: Array  # (cells,) bool: whose lists would be too long, and are empty
    example: Array

    @cached_property
    def all_long(self) -> bool:
        return bool(self.long.all())


@dataclass(frozen=True)
class RowPlaces:
    """Each row is found at the slices of its cell: in a short list or as bits; in NumPy."""

    of: Cells
    cells: Array  # (b,)

    @cached_property
    def _long(self) -> Array | None:
        """The rows whose lists would be too long; None where those of all would."""
        if self.of.all_long:
            return None
        long = np.flatnonzero(self.of.long.take(self.cells))
        return None if len(long) == len(self.cells) else long

    @cached_property
    def _bits(self) -> Bits:
        """Of the rows whose lists would be too long."""
        return self._every if self._long is None else self.of.bits.of(self.cells.take(self._long))

    @cached_property
    def _every(self) -> Bits:
        return self.of.bits.of(self.cells)

    @cached_property
    def _lists(self) -> Array:
        """The slices of all rows (w, b); after the last, S, there are the rows with bits."""
        lists = self.of.lists.take(self.cells, axis=1).astype(np.intp)
        lists[0, self._long] = np.arange(len(self._bits)) + (self.of.bits.width + 1)
        return lists

    def spread(self, table: Array) -> Array:
        """What a table over slices (K, T, S) sums to for each row: (K, T, b)."""
        flat = _flat(table)
        found = self._bits.spread(flat)
        if self._long is not None:
            joined = np.concatenate([flat, np.zeros_like(flat[:, :1]), found], -1)
            found = sum(joined.take(slices, -1) for slices in self._lists)
        return found.reshape(*table.shape[:-1], -1)

    def total(self, values: Array) -> Array:
        """Values (..., b), or marks, summed per slice: (..., S)."""
        flat, size, kind = _flat(values), self.of.bits.width, self.of.example.dtype
        if values.dtype == bool and self.of.bits.loops:
            found = self._every.count(flat).astype(kind)
        elif self._long is None:
            found = self._bits.total(flat.astype(kind, copy=False))
        else:
            found = self._bits.total(flat.take(self._long, 1).astype(kind, copy=False))
            for slices in self._lists:
                found += tally(flat, slices, size + 1 + len(self._bits))[:, :size]
        return found.reshape(*values.shape[:-1], -1)

    def total_kinds(self, kinds: Array, count: int, weight: Array | float) -> Array:
        """Weights (b,) of the rows of each kind (K, b) summed per slice: (K, count, S)."""
        marks = np.stack([kinds == kind for kind in range(count)], 1)
        return self.total(weighed(marks, weight))

    def count(self) -> Array:
        """Rows of the batch in each slice: (1, S)."""
        return self.total(np.ones((1, len(self.cells)), bool))


@dataclass(frozen=True)
class BitPlaces:
    """Each row is found by its membership bits, unpacked a chunk of rows at a time; on a GPU."""

    size: int  # S
    packed: Array  # (b, bytes)
    bits: Array  # (256, 8): a byte's bits as numbers

    @cached_property
    def _first(self) -> Array:
        return self._unpack(slice(0, CHUNK))

    def _unpack(self, rows: slice) -> Array:
        packed = self.packed[rows]
        unpacked = take_rows(self.bits, packed.reshape(-1))
        return unpacked.reshape(len(packed), 8 * packed.shape[1])[:, : self.size]

    def _chunks(self) -> Iterator[tuple[slice, Array]]:
        yield slice(0, CHUNK), self._first
        for start in range(CHUNK, len(self.packed), CHUNK):
            rows = slice(start, start + CHUNK)
            yield rows, self._unpack(rows)

    def spread(self, table: Array) -> Array:
        """What a table over slices (..., S) sums to for each row: (..., b)."""
        flat = _flat(table)
        parts = [_product(flat, matrix) for _, matrix in self._chunks()]
        joined = parts[0] if len(parts) == 1 else namespace(table).concatenate(parts, -1)
        return joined.reshape(*table.shape[:-1], -1)

    def total(self, values: Array) -> Array:
        """Values (..., b) summed per slice: (..., S)."""
        flat = _flat(values)
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


Places = CellPlaces | RowPlaces | BitPlaces


def total_decided(places: Places, scores: Array, weight: Array | float) -> Array:
    """Totals per slice (K, D - 1, S) of rows decided 1, ..., D - 1 by scores (K, A, b)."""
    if scores.shape[1] > 1:
        return places.total_kinds(decided(scores), scores.shape[1], weight)[:, 1:]
    yes = scores >= 0  # marks, which some places count faster than kinds
    return places.total(weighed(yes if namespace(yes) is np else yes.to(scores.dtype), weight))


def weighed(values: Array, weight: Array | float) -> Array:
    """Values (..., b), each times its weight (b,)."""
    return values if isinstance(weight, float) and weight == 1 else values * weight


def _flat(array: Array) -> Array:
    """All axes but the last as one, also where the last is empty."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def _product(flat: Array, matrix: Array) -> Array:
    """``flat @ matrix.T``; for the two rows of one setting, two products with a vector are faster."""
    if len(flat) == 2:
        return namespace(flat).stack([matrix @ flat[0], matrix @ flat[1]])
    return (matrix @ flat.T).T


def slice_lists(compiled: Compiled, longest: int) -> tuple[Array, Array]:
    """Each cell's slices as a list (w, cells) filled up with S, and where (cells,) one is too long."""
    lengths = ONES[compiled.membership].sum(axis=1, dtype=np.int64)
    long = lengths > longest
    short = np.flatnonzero(~long)
    width = int(lengths[short].max(initial=1))
    lists = np.full((width, compiled.cell_count), compiled.slice_count, dtype=np.int32)
    for start in range(0, len(short), CHUNK):
        some = short[start : start + CHUNK]
        cells, slices = np.nonzero(compiled.unpacked(some))
        ends = lengths[some].cumsum()
        lists[np.arange(len(cells)) - (ends - lengths[some])[cells], some[cells]] = slices
    return lists, long
