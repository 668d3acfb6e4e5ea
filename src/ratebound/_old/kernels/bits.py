"""Products with a matrix of zeros and ones that is kept as bits, eight to a byte.

Up to a few vectors are multiplied with the bits themselves, by loops that numba compiles: the bits of a
column, for many rows at once, say where to add, and unweighted rows are counted 64 at a time. More
vectors are multiplied with numbers: a block of rows is unpacked at a time, so that the numbers stay in
the cache and the whole matrix is never unpacked at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.kernels.dispatch import loop

Block = tuple[slice, Array]  # some rows, and their numbers
AT_ONCE = 2**18  # numbers unpacked at a time
KEPT = 2**21  # up to this many numbers, they are unpacked once and kept
SMALL = 2**16  # up to this many numbers, looking for zeros takes longer than multiplying
FEW = 4  # up to this many vectors, products with the bits are faster
BYTES = {  # a byte's bits (256, 8), as numbers of either precision
    np.dtype(kind): np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(kind)
    for kind in ("float32", "float64")
}
REORDERED = {"reassoc", "nsz"}  # sums in any order, as in every product; infinities stay infinite
ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(
    axis=1, dtype=np.uint8
)  # of a byte


@dataclass(frozen=True, eq=False)
class Bits:
    """A matrix (rows, width) of zeros and ones."""

    width: int
    packed: Array  # (rows, bytes) uint8, as `numpy.packbits` gives them
    loops: bool = False  # whether numba may be used, which takes a second to import

    def __len__(self) -> int:
        return len(self.packed)

    def of(self, rows: Array) -> Bits:
        """Some of the rows."""
        return Bits(self.width, self.packed.take(rows, axis=0), self.loops)

    @cached_property
    def _words(self) -> Array:
        """The same bits (words, rows) as uint32: column 32 i + j is bit j ^ 7 of word i."""
        padded = np.zeros((len(self), -(-self.width // 32) * 4), dtype=np.uint8)
        padded[:, : self.packed.shape[1]] = self.packed
        return np.ascontiguousarray(padded.view("<u4").T, dtype=np.uint32)

    def spread(self, table: Array) -> Array:
        """Numbers per column (r, width) summed for each row: (r, rows)."""
        if self.loops and len(table) <= FEW:
            spread = np.zeros((len(table), len(self)), dtype=table.dtype)
            _spread(self._words, np.ascontiguousarray(table), spread)
            return spread
        blocks = self._unpacked(table.dtype)
        if len(table) > FEW and len(self) * self.width > SMALL:
            used = np.flatnonzero(table.any(axis=0))  # few if most constraints have no weight
            if len(used) <= self.width // 4:
                table, blocks = table[:, used], self._picked(used, table.dtype)
        parts = [(inside @ table.T).T for _, inside in blocks]  # faster than table @ inside.T
        return parts[0] if len(parts) == 1 else np.concatenate([table[:, :0], *parts], axis=1)

    def total(self, values: Array) -> Array:
        """Numbers per row (r, rows) summed for each column: (r, width)."""
        if self.loops and len(values) <= FEW:
            totals = np.empty((len(values), self.width), dtype=values.dtype)
            _total(self._words, np.ascontiguousarray(values), totals)
            return totals
        products = (values[:, rows] @ inside for rows, inside in self._unpacked(values.dtype))
        totals = next(products, np.zeros((len(values), self.width), dtype=values.dtype))
        for each in products:
            totals += each
        return totals

    def count(self, marks: Array) -> Array:
        """How many marked rows, (r, rows) bool, have a one in each column: (r, width)."""
        if not self.loops:
            return self.total(marks.astype(np.float32 if len(self) < 2**24 else np.float64))
        packed = np.zeros((len(marks), 8 * len(self._turned)), dtype=np.uint8)
        own = np.packbits(marks, axis=1, bitorder="little")
        packed[:, : own.shape[1]] = own
        counts = np.empty((len(marks), self.width), dtype=np.int64)
        _count(self._turned, packed.view("<u8").astype(np.uint64, copy=False), counts)
        return counts

    @cached_property
    def _turned(self) -> Array:
        """The bits (groups, 64 * words) as uint64: a column's bits of 64 rows are one number.

        Column 64 i + j is number i + words * (j ^ 7).
        """
        groups, words = -(-len(self) // 64), -(-self.width // 64)
        padded = np.zeros((64 * groups, 8 * words), dtype=np.uint8)
        padded[: len(self), : self.packed.shape[1]] = self.packed
        numbers = padded.view("<u8").astype(np.uint64, copy=False)
        _turn(numbers.reshape(-1), words)
        return numbers.reshape(groups, 64 * words)

    def _unpacked(self, dtype: Any) -> Iterable[Block]:
        """Blocks of rows, as numbers (some, width)."""
        table, bits = BYTES[np.dtype(dtype)], 8 * self.packed.shape[1]
        blocks = (
            (rows, table.take(self.packed[rows], axis=0).reshape(-1, bits)[:, : self.width])
            for rows in self._steps(self.width)
        )
        if len(self) * self.width > KEPT:
            return blocks
        if dtype not in self._kept:
            self._kept[dtype] = list(blocks)
        return self._kept[dtype]

    @cached_property
    def _kept(self) -> dict[Any, list[Block]]:
        return {}

    def _picked(self, columns: Array, dtype: Any) -> Iterator[Block]:
        """Blocks of rows, with these columns only, as numbers (some, columns)."""
        at, shift = columns >> 3, (~columns & 7).astype(np.uint8)
        for rows in self._steps(len(columns)):
            yield rows, ((self.packed[rows].take(at, axis=1) >> shift) & 1).astype(dtype)

    def _steps(self, columns: int) -> Iterator[slice]:
        step = max(AT_ONCE // max(columns, 1), 64)
        return (slice(start, start + step) for start in range(0, len(self), step))


@loop(fastmath=REORDERED)
def _spread(words: Any, table: Any, out: Any) -> None:
    zero = out.dtype.type(0)
    for k in range(table.shape[0]):
        into = out[k]
        for column in range(table.shape[1]):
            number = table[k, column]
            if number != zero:
                bit = np.uint32(1) << np.uint32((column & 31) ^ 7)
                word = words[column >> 5]
                for row in range(word.shape[0]):
                    into[row] += number if word[row] & bit else zero


@loop(fastmath=REORDERED)
def _total(words: Any, values: Any, out: Any) -> None:
    zero = out.dtype.type(0)
    for k in range(values.shape[0]):
        value = values[k]
        for column in range(out.shape[1]):
            bit = np.uint32(1) << np.uint32((column & 31) ^ 7)
            word = words[column >> 5]
            summed = zero
            for row in range(word.shape[0]):
                summed += value[row] if word[row] & bit else zero
            out[k, column] = summed


@loop()
def _turn(numbers: Any, words: Any) -> None:
    """Transpose each block of 64 rows x 64 bits, in place: halves, then quarters, ... are swapped."""
    width, mask = 32, np.uint64(0xFFFFFFFF)
    while width:
        by, size = np.uint64(width), width * words
        for start in range(0, numbers.shape[0], 2 * size):
            low, high = numbers[start : start + size], numbers[start + size : start + 2 * size]
            for i in range(size):
                swapped = ((low[i] >> by) ^ high[i]) & mask
                high[i] ^= swapped
                low[i] ^= swapped << by
        width >>= 1
        mask ^= mask << np.uint64(width)


@loop()
def _count(turned: Any, marks: Any, out: Any) -> None:
    words = turned.shape[1] // 64
    counts = np.empty(turned.shape[1], dtype=np.uint64)
    for k in range(marks.shape[0]):
        counts[:] = 0
        for group in range(marks.shape[1]):
            marked = marks[k, group]
            if marked:
                numbers = turned[group]
                for i in range(numbers.shape[0]):
                    # The sum of a number's bits, in a form that compilers recognise.
                    x = numbers[i] & marked
                    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
                    threes = np.uint64(0x3333333333333333)
                    x = (x & threes) + ((x >> np.uint64(2)) & threes)
                    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                    counts[i] += (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
        for column in range(out.shape[1]):
            out[k, column] = counts[(column >> 6) + words * ((column & 63) ^ 7)]
