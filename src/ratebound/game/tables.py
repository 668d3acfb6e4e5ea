"""The compiled problem laid out for fast steps: from multipliers to rows, and from rows to rates.

Two maps are needed each step, and never an array of rows × constraints:

    costs    weights (K, 1+m) -> cost of a yes and of a no for each row of the batch (K, 2, b)
    totals   decisions of the rows (K, b) -> totals per slice (K, S), and from them the rates

Rows meet slices through their cells where those are few, and directly, by unpacking each row's
membership bits, where overlapping groups make almost every row a cell of its own:

    few cells                    costs as a dense (1+m, cells) matrix
    more cells, in few slices    two sparse factors, constraints × slices × cells
    many cells                   bits, unpacked for the rows of the batch
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ratebound.game.arrays import Array, as_like, count, namespace, take, take_rows, tally
from ratebound.problem.compiled import CHUNK, Block, Compiled

DENSE_ON_CPU = 2**16  # entries of (1+m) × cells up to which a dense product is cheapest
DENSE_ON_GPU = 2**24
SPARSE = 2**13  # set bits of cells × slices up to which spreading to all cells is cheapest
BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # (256, 8) a byte's bits


@dataclass(frozen=True)
class CellPlaces:
    """Each row of a batch is found at its cell."""

    index: Array  # (b,)
    membership: Any  # (cells, S), dense or sparse

    def spread(self, table: Array) -> Array:
        """What a table over cells (..., cells) holds for each row: (..., b)."""
        return take(table, self.index)

    def total(self, values: Array) -> Array:
        """Values (K, b) summed per slice: (K, S)."""
        return times(tally(values, self.index, self.membership.shape[0]), self.membership)

    def count(self) -> Array:
        """Rows of the batch in each slice: (1, S)."""
        return times(count(self.index, self.membership.shape[0], self.membership), self.membership)


@dataclass(frozen=True)
class SlicePlaces:
    """Each row of a batch is found at all its slices, whose bits are unpacked a chunk at a time."""

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
        """Values (K, b) summed per slice: (K, S)."""
        return sum(values[:, rows] @ matrix for rows, matrix in self._chunks())

    def count(self) -> Array:
        """Rows of the batch in each slice: (1, S)."""
        return sum(matrix.sum(0)[None] for _, matrix in self._chunks())


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
        self.at = block.at
        self.slice_weight = as_like(compiled.slice_weight, example)
        self.slice_rows = as_like(_slice_rows(compiled), example)
        scale = sparse.diags_array(1.0 / compiled.scale)
        net, up, down = ((scale @ m).tocsr() for m in (block.net, block.up, block.down))
        both = sparse.hstack([up, down]).tocsr()  # one product gives the costs of yeses and of noes
        dense = net.shape[0] * compiled.cell_count <= (DENSE_ON_CPU if on_cpu else DENSE_ON_GPU)
        self.membership = self._membership(compiled, dense, example)
        self.net, self.both = (_fitting(m, dense or not on_cpu, example) for m in (net, both))
        self.cell_costs: Array | None = None  # `both` over cells
        if dense:
            over_cells = np.hstack([compiled.spread(up), compiled.spread(down)])
            self.cell_costs = as_like(over_cells, example)
        self.bits, self.packed = as_like(BYTES, example), compiled.membership
        if not on_cpu:
            self.packed = namespace(example).as_tensor(self.packed, device=example.device)
        none = 0 * self.slice_weight[None]
        self.noes: Array = 0.0
        self.noes = self.relaxed(none, self.slice_weight[None])[0]  # what `down` sums to

    def _membership(self, compiled: Compiled, dense: bool, example: Array) -> Any:
        """Cells × slices, or None where rows are better taken directly to slices."""
        if dense:
            return as_like(compiled.unpacked(slice(None)), example)
        small = compiled.membership.size < 2**22
        if namespace(example) is not np or not small or BYTES.sum(1)[compiled.membership].sum() > SPARSE:
            return None
        return sparse.csr_array(compiled.unpacked(slice(None)).astype(np.float32))

    def places(self, cells: Array) -> Places:
        """Where the rows of a batch, given by their cells (b,), are found."""
        if self.membership is not None:
            return CellPlaces(cells, self.membership)
        return SlicePlaces(len(self.slice_weight), self.packed[cells], self.bits)

    def costs(self, weights: Array) -> Array:
        """Cost of a yes and of a no at each place, (K, 2, places), for weights (K, 1+m)."""
        if self.cell_costs is not None:
            return (weights @ self.cell_costs).reshape(len(weights), 2, -1)
        over_slices = times(weights, self.both).reshape(2 * len(weights), -1)
        if self.membership is not None:
            over_slices = (self.membership @ over_slices.T).T
        return over_slices.reshape(len(weights), 2, -1)

    def rates(self, totals: Array) -> Array:
        """Values (K, 1+m), offset apart, of yeses totalled per slice (K, S)."""
        return times(totals, self.net.T)

    def relaxed(self, yes: Array, no: Array) -> Array:
        """Values (K, 1+m), offset apart, when yeses and noes are totalled by a proxy (K, S)."""
        return times(namespace(yes).concatenate([yes, no], -1), self.both.T) - self.noes


def times(rows: Array, matrix: Any) -> Array:
    """``rows @ matrix`` for a matrix that may be sparse."""
    return (matrix.T @ rows.T).T if sparse.issparse(matrix) else rows @ matrix


def _fitting(matrix: Any, dense: bool, example: Array) -> Any:
    return as_like(matrix.toarray(), example) if dense else matrix.astype(np.float32)


def _slice_rows(compiled: Compiled) -> Array:
    """How many rows each slice has."""
    counts = np.bincount(compiled.cells, minlength=compiled.cell_count).astype(float)
    return compiled.per_slice(counts[None])[0]
