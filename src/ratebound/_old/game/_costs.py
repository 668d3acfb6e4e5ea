"""The compiled problem laid out for fast steps: from multipliers to rows, and from rows to rates.

Two maps are needed each step, and never an array of rows × constraints:

    costs    weights (K, 1+m) -> for each row of the batch, the cost of missing each target (K, T, b)
    totals   decisions of the rows (K, b) -> totals per slice (K, D - 1, S), and from them the rates

With two classes the T = 2 targets are {no} and {yes}, so the costs are the cost of a yes and of a no.

With few cells the costs are a dense (1+m, cells) matrix. If overlapping groups make many cells, costs
stay over slices, and rows are mapped to slices directly: in one way in NumPy and in another on a GPU,
whose shapes may not depend on the content of an array. If most rows of a batch share cells, they are
mapped through the cells, and a cell's slices are a row of a matrix, a short list or bits. If most rows
have a cell to themselves, they are mapped by their own short lists and bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ratebound._old.base.arrays import (
    Array,
    as_like,
    count,
    namespace,
    take,
    take_rows,
    tally,
    tally_kinds,
)
from ratebound._old.base.processes import gathered, total
from ratebound._old.kernels import dispatch
from ratebound._old.kernels.bits import ONES, Bits
from ratebound._old.problem.coefficients import CHUNK, Block, SplitCosts
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import decided, rounded_up

BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)  # (256, 8) the bits of each byte


@dataclass(frozen=True)
class Matrix:
    """Which slices each cell is in, as a matrix."""

    inside: Array  # (cells, S)

    def total(self, per_cell: Array) -> Array:
        """Totals per cell (K, cells) summed per slice: (K, S)."""
        return per_cell @ self.inside


@dataclass(frozen=True)
class Lists:
    """Which slices each cell is in, as short lists padded with S, which is not a slice."""

    size: int  # S
    lists: Array  # (w, cells), w small

    def spread(self, table: Array) -> Array:
        """A table over slices (..., S) summed for each cell: (..., cells)."""
        filled = namespace(table).concatenate([table, 0 * table[..., :1]], -1)
        return sum(take(filled, slices) for slices in self.lists)

    def total(self, per_cell: Array) -> Array:
        """Totals per cell (K, cells) summed per slice: (K, S)."""
        return sum(tally(per_cell, slices, self.size + 1) for slices in self.lists)[:, : self.size]


@dataclass(frozen=True)
class Exactly:
    """Which slices each cell is in, as the compiled problem counts them, in NumPy."""

    compiled: Compiled

    def total(self, per_cell: Array) -> Array:
        """Totals per cell (K, cells) summed per slice: (K, S)."""
        return self.compiled.per_slice(per_cell)


@dataclass(frozen=True)
class CellPlaces:
    """Maps each row to its cell, and each cell to its slices."""

    index: Array  # (b,)
    cells: int
    membership: Matrix | Lists | Exactly | RowPlaces | BitPlaces
    example: Array

    def spread(self, table: Array) -> Array:
        """A table over cells (..., cells) read for each row: (..., b)."""
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
    def _count(self) -> Array:  # cached: all rows at once are the same in every round
        return self.membership.total(count(self.index, self.cells, self.example))


@dataclass(frozen=True)
class AllPlaces(CellPlaces):
    """Maps each row to its cell; costs of slices are first summed for each cell."""

    membership: RowPlaces | BitPlaces
    rows: RowPlaces | None  # if unweighted rows are counted faster one by one

    def spread(self, table: Array) -> Array:
        """A table over slices (K, T, S) summed for each row: (K, T, b)."""
        return take(self.membership.spread(table), self.index)

    def total(self, values: Array) -> Array:
        """Values (..., b), or booleans, summed per slice: (..., S)."""
        if self.rows is not None and values.dtype == bool:
            return self.rows.total(values)
        return super().total(values)


@dataclass(frozen=True)
class Cells:
    """The slices of each cell: as a list if they are few, else as bits; in NumPy."""

    bits: Bits  # (cells, S)
    lists: Array  # (w, cells), w small; padded with S, which is not a slice
    long: Array  # (cells,) bool: cells whose lists would be too long, and are empty
    example: Array

    @cached_property
    def all_long(self) -> bool:
        return bool(self.long.all())


@dataclass(frozen=True)
class RowPlaces:
    """Maps each row to the slices of its cell: by a short list or by bits; in NumPy."""

    of: Cells
    cells: Array  # (b,)

    @cached_property
    def _long(self) -> Array | None:
        """The rows whose lists would be too long; None if all would."""
        if self.of.all_long:
            return None
        long = np.flatnonzero(self.of.long.take(self.cells))
        return None if len(long) == len(self.cells) else long

    @cached_property
    def _bits(self) -> Bits:
        """The bits of the rows whose lists would be too long."""
        return self._every if self._long is None else self.of.bits.of(self.cells.take(self._long))

    @cached_property
    def _every(self) -> Bits:
        return self.of.bits.of(self.cells)

    @cached_property
    def _lists(self) -> Array:
        """The slices of all rows (w, b); numbers above S stand for the rows with bits."""
        lists = self.of.lists.take(self.cells, axis=1).astype(np.intp)
        lists[0, self._long] = np.arange(len(self._bits)) + (self.of.bits.width + 1)
        return lists

    def spread(self, table: Array) -> Array:
        """A table over slices (K, T, S) summed for each row: (K, T, b)."""
        flat = _flat(table)
        summed = self._bits.spread(flat)
        if self._long is not None:
            joined = np.concatenate([flat, np.zeros_like(flat[:, :1]), summed], -1)
            summed = sum(joined.take(slices, -1) for slices in self._lists)
        return summed.reshape(*table.shape[:-1], -1)

    def total(self, values: Array) -> Array:
        """Values (..., b), or booleans, summed per slice: (..., S)."""
        flat, size, kind = _flat(values), self.of.bits.width, self.of.example.dtype
        if values.dtype == bool and self.of.bits.loops:
            totals = self._every.count(flat).astype(kind)
        elif self._long is None:
            totals = self._bits.total(flat.astype(kind, copy=False))
        else:
            totals = self._bits.total(flat.take(self._long, 1).astype(kind, copy=False))
            for slices in self._lists:
                totals += tally(flat, slices, size + 1 + len(self._bits))[:, :size]
        return totals.reshape(*values.shape[:-1], -1)

    def total_kinds(self, kinds: Array, count: int, weight: Array | float) -> Array:
        """Weights (b,) of the rows of each kind (K, b) summed per slice: (K, count, S)."""
        marks = np.stack([kinds == kind for kind in range(count)], 1)
        return self.total(weighed(marks, weight))

    def count(self) -> Array:
        """Rows of the batch in each slice: (1, S)."""
        return self.total(np.ones((1, len(self.cells)), bool))


@dataclass(frozen=True)
class BitPlaces:
    """Maps each row by its membership bits, unpacked a chunk of rows at a time; on a GPU."""

    size: int  # S
    packed: Array  # (b, bytes)
    bits: Array  # (256, 8): the bits of each byte as numbers

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
        """A table over slices (..., S) summed for each row: (..., b)."""
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
    yes = scores >= 0  # booleans, which some places count faster than kinds
    return places.total(weighed(yes if namespace(yes) is np else yes.to(scores.dtype), weight))


def weighed(values: Array, weight: Array | float) -> Array:
    """Values (..., b), each times its weight (b,)."""
    return values if isinstance(weight, float) and weight == 1 else values * weight


def _flat(array: Array) -> Array:
    """All axes but the last as one, even if the last is empty."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def _product(flat: Array, matrix: Array) -> Array:
    """``flat @ matrix.T``; for the two rows of one setting, two products with a vector are faster."""
    if len(flat) == 2:
        return namespace(flat).stack([matrix @ flat[0], matrix @ flat[1]])
    return (matrix @ flat.T).T


def slice_lists(compiled: Compiled, longest: int) -> tuple[Array, Array]:
    """Each cell's slices as a list (w, cells) padded with S, and which (cells,) are too long."""
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


DENSE_ON_CPU = 2**16  # up to this many entries, a dense matrix is cheapest
DENSE_ON_GPU = 2**24
FEW = 4096  # up to this many cells, using all of them is cheaper than the batch's rows
PER_SLICE = 64  # or this many times the slices: a row has as many bits as there are slices
SHORT = 8  # up to this many slices of a cell, a list is cheaper than bits
MANY = 2**21  # from this many bits on, importing numba pays off within a few thousand rounds
COUNTED = 2**29  # up to this many bits, the bits of all rows are kept for counting row by row
NARROW = 256  # up to this many slices, bits never cost more than lists


class Costs:
    """One block of a compiled problem, scaled to the units of the game."""

    def __init__(
        self, compiled: Compiled, block: Block, costs: Any, targets: Array, example: Array
    ) -> None:
        limit = DENSE_ON_CPU if namespace(example) is np else DENSE_ON_GPU
        precision = str(example.dtype).removeprefix("torch.")
        self.at = block.at if isinstance(block.at, str) else rounded_up(block.at, precision)
        self.example = example
        self.slice_weight = as_like(compiled.slice_weight(block), example)
        self.amounts = None if block.amounts is None else as_like(block.amounts, example)
        self.slice_rows = as_like(_slice_rows(compiled), example)
        scale = sparse.diags_array(1.0 / compiled.scale)
        net, costs = ((scale @ m).tocsr() for m in (block.net, costs))
        self.cells, self.targets = compiled.cell_count, len(targets)
        self.membership: Matrix | Lists | None = None  # None if rows are mapped to slices directly
        self._cells: Cells | None = None
        if net.shape[0] * self.cells * self.targets <= 2 * limit:
            self.membership = Matrix(as_like(compiled.unpacked(slice(None)), example))
            self._costs = _Map(compiled.spread_each(costs), example)
        else:
            self._costs = _Map(costs, example)
            size = compiled.slice_count
            few = self.cells <= max(FEW, PER_SLICE * size)
            lists, long = slice_lists(compiled, SHORT if few or size > NARROW else -1)
            if few and not long.any():
                self.membership = Lists(size, _on_device(lists.astype(np.intp), example))
            elif namespace(example) is np:
                loops = self.cells * size >= MANY and dispatch.numba_works()
                self._cells = Cells(Bits(size, compiled.membership, loops), lists, long, example)
            else:
                self._packed = _on_device(compiled.membership, example)
                self._bits = as_like(BYTES, example)
        self._latest: CellPlaces | None = None
        self._net = _Map(net.T, example)
        self._missed = _Map(costs.T, example)
        # The costs if every decision is 0, relative to which `net` counts.
        self.missed_by_0: Array = 0.0
        without_0 = as_like(~targets[:, :1], example)
        self.missed_by_0 = self.relaxed((without_0 * self.slice_weight)[None])[0]

    def places(self, cells: Array) -> Places:
        """The map from the rows of a batch, given by their cells (b,), to slices."""
        if self.membership is None and len(cells) < self.cells:
            return self._rows(cells)
        # Cached: all rows at once are the same in every round.
        if self._latest is None or self._latest.index is not cells:
            if self.membership is not None:
                self._latest = CellPlaces(cells, self.cells, self.membership, self.example)
            else:
                self._latest = self._all(cells)
        return self._latest

    def _rows(self, cells: Array) -> RowPlaces | BitPlaces:
        if self._cells is not None:
            return RowPlaces(self._cells, cells)
        return BitPlaces(len(self.slice_weight), self._packed[cells], self._bits)

    def _all(self, cells: Array) -> AllPlaces:
        """The map for a batch with more rows than there are cells."""
        counted = None
        if self._cells is not None and len(cells) * self._cells.bits.width <= COUNTED:
            counted = RowPlaces(self._cells, cells) if self._cells.bits.loops else None
        return AllPlaces(cells, self.cells, self._whole, self.example, counted)

    @cached_property
    def _whole(self) -> RowPlaces | BitPlaces:
        """The map for the cells themselves."""
        return self._rows(_on_device(np.arange(self.cells), self.example))

    def costs(self, weights: Array) -> Array:
        """The cost of missing each target at each cell (or slice), (K, T, ...), for weights (K, 1+m)."""
        costs = self._costs(weights).reshape(len(weights), self.targets, -1)
        return self.membership.spread(costs) if isinstance(self.membership, Lists) else costs

    def rates(self, totals: Array) -> Array:
        """Values (K, 1+m) without offset, from totals (K, D - 1, S) of rows decided 1 to D - 1."""
        return self._net(totals.reshape(len(totals), -1))

    def relaxed(self, totals: Array) -> Array:
        """Values (K, 1+m) without offset, from totals per slice (K, T, S) of each target's proxy."""
        return self._missed(totals.reshape(len(totals), -1)) - self.missed_by_0


class _Map:
    """``rows @ matrix``, with a dense matrix if it is small or on a GPU, else a sparse one."""

    def __init__(self, matrix: Any, example: Array) -> None:
        on_cpu = namespace(example) is np
        self.sparse = self.dense = None
        if sparse.issparse(matrix) and on_cpu and matrix.shape[0] * matrix.shape[1] > DENSE_ON_CPU:
            self.sparse = matrix.T.tocsr().astype(example.dtype)
        else:
            whole = matrix.toarray() if sparse.issparse(matrix) else matrix
            self.dense = as_like(whole, example)

    def __call__(self, rows: Array) -> Array:
        return rows @ self.dense if self.sparse is None else (self.sparse @ rows.T).T


def _on_device(integers: Array, example: Array) -> Array:
    xp = namespace(example)
    return integers if xp is np else xp.as_tensor(integers, device=example.device)


def _slice_rows(compiled: Compiled) -> Array:
    """How many rows each slice has."""
    counts = np.bincount(compiled.cells, minlength=compiled.cell_count).astype(float)
    return total(compiled.per_slice(counts[None])[0])


# --- the largest violations ---------------------------------------------------------------------
# A violation is an offset plus a sum over slices of coefficients times the slice's totals: of each
# decision from 1 on, of which a row has at most one, or of a proxy of each target. A total is between
# 0 and
#
#     the weight of the slice                          for rates, exact or by running means
#     the same times the largest value of the proxy    for proxies
#     a batch of the heaviest row, scaled to all rows  for unbiased estimates


def largest_violations(
    compiled: Compiled, split: SplitCosts, *, largest_proxy: float | None, unbiased: bool
) -> Array:
    """Bounds (m,) on the size of each violation, in the units of games.

    `largest_proxy` is the largest value of the proxy that the player sees, None if it sees decisions.
    """
    low, high = compiled.offset.copy(), compiled.offset.copy()
    for block, costs in zip(compiled.blocks, split.costs, strict=True):
        weight = compiled.slice_weight(block)
        most = _heaviest_batch(compiled, block) if unbiased else weight
        if largest_proxy is None:
            each = [part * most for part in _parts(block.net, compiled.slice_count)]
            low += functools.reduce(lambda a, b: a.minimum(b), each, 0 * each[0]).sum(axis=1)
            high += functools.reduce(lambda a, b: a.maximum(b), each, 0 * each[0]).sum(axis=1)
            continue
        # Costs count up from 0, and `net` from the costs if every decision is 0.
        for part, target in zip(_parts(costs, compiled.slice_count), split.targets, strict=True):
            counted = 0.0 if target[0] else part @ weight
            low += (part * (largest_proxy * most)).minimum(0).sum(axis=1) - counted
            high += (part * (largest_proxy * most)).maximum(0).sum(axis=1) - counted
    sizes: Array = np.maximum(abs(low), abs(high)) / compiled.scale
    return sizes[1:]


def _parts(matrix: Any, size: int) -> list[Any]:
    """The columns of a matrix (1+m, parts · size), part by part."""
    return [matrix[:, start : start + size] for start in range(0, matrix.shape[1], size)]


def _heaviest_batch(compiled: Compiled, block: Block) -> Array:
    """The largest total that an unbiased estimate can give each slice, (slices,).

    A batch with only a slice's heaviest row takes it for every row of its population.
    """
    lengths = [len(population) for population in compiled.populations.values()]
    sizes = np.repeat(list(compiled.sizes.values()), lengths).astype(float)
    weights = compiled.weights_in(block)
    stands_for = sizes if weights is None else sizes * weights
    by_cell = np.zeros(compiled.cell_count)
    np.maximum.at(by_cell, compiled.cells, stands_for)
    by_cell = np.maximum.reduce(gathered(by_cell))
    heaviest = np.zeros(compiled.slice_count)
    for start in range(0, compiled.cell_count, CHUNK):
        chunk = slice(start, start + CHUNK)
        heaviest = np.maximum(heaviest, (compiled.unpacked(chunk) * by_cell[chunk, None]).max(axis=0))
    return heaviest
