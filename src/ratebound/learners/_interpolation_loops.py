"""Interpolation in many small lattices on a CPU, as compiled loops.

A block of rows goes through one lattice at a time: its products, sums and slopes stay in the cache next
to the processor, where the plain version writes those of many lattices to memory in every pass. Rows
are the innermost loop everywhere, and tables are taken four products at a time, so that compilers turn
rows into vectors and keep the coefficients in registers.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from ratebound.base import jit
from ratebound.learners._threads import in_parts

HIGHEST = 9  # rank; beyond it the plain version's matrix products are larger and as fast
CACHED = 2**17  # bytes of a block
VECTOR = 16  # rows that may be computed with at once
# Sums may be taken in any order, but NaN and infinity stay what they are.
REORDERED: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}, "nogil": True}


def takes(inputs: Tensor, table: Tensor) -> bool:
    """Whether these loops are for such tensors."""
    return (
        inputs.device.type == "cpu"
        and inputs.dtype == table.dtype
        and inputs.dtype in (torch.float32, torch.float64)
        and table.shape[1] * table.shape[2] <= 2**HIGHEST
        and jit.available()
    )


def totals(
    inputs: Tensor, table: Tensor, subsets: Tensor, lattices: int, slopes: Tensor | None
) -> Tensor:
    """(K, b) sums over lattices; adds their slopes with respect to the inputs to `slopes` (K·F, b)."""
    rank, rows, (_, upper, lower) = subsets.shape[1], inputs.shape[1], table.shape
    found = inputs.new_zeros(len(table) // lattices, rows)
    wanted = inputs.new_empty(0, 0) if slopes is None else slopes
    arrays = [_array(t) for t in (inputs, table, table.transpose(1, 2), subsets, wanted, found)]

    def run(first: int, last: int) -> None:
        room = _scratch(inputs, last - first, rank, rank, lower, upper, lower, upper)
        _totals(*arrays, *room, first, last)

    in_parts(run, rows, 4 * VECTOR)
    return found


def table_gradient(inputs: Tensor, table: Tensor, subsets: Tensor, gradient: Tensor) -> Tensor:
    """The gradient by the table, of its shape, from that by the totals (K, b)."""
    found = torch.zeros_like(table, memory_format=torch.contiguous_format)
    arrays = [_array(t) for t in (inputs, subsets, gradient, found)]

    def run(first: int, last: int) -> None:
        room = _scratch(inputs, inputs.shape[1], subsets.shape[1], table.shape[2], table.shape[1])
        _table_gradient(*arrays, *room, first, last)

    in_parts(run, len(table), 1)
    return found


def _array(given: Tensor) -> Any:
    return given.detach().contiguous().numpy()


def _scratch(like: Tensor, rows: int, *sizes: int) -> list[Any]:
    """Arrays of so many numbers for each row of a block, aligned as tensors are."""
    most = CACHED // like.element_size() // sum(sizes) // VECTOR * VECTOR
    width = min(max(most, VECTOR), -(-rows // VECTOR) * VECTOR)
    whole, ends = like.new_empty(sum(sizes), width).numpy(), list(accumulate(sizes, initial=0))
    return [whole[start:end] for start, end in pairwise(ends)]


# --- the loops -----------------------------------------------------------------------------------


@jit.loop(**REORDERED)
def _totals(  # type: ignore[no-untyped-def]
    inputs, table, turned, subsets, slopes, totals, z, slope, low, high, by_low, by_high, first, last
):
    """The totals of rows from `first` to before `last`, block by block, lattice by lattice."""
    rank, lattices = subsets.shape[1], len(table) // len(totals)
    middle = rank // 2
    for start in range(first, last, z.shape[1]):
        count = min(z.shape[1], last - start)
        for lattice in range(len(table)):
            _gather(inputs, subsets[lattice], start, z, count)
            _multiply(z, 0, middle, low, count)
            _multiply(z, middle, rank, high, count)
            _combine(table[lattice], low, by_high, count)
            _fold(by_high, z, middle, rank, high, slope, count)
            total = totals[lattice // lattices][start : start + count]
            for row in range(count):
                total[row] += by_high[0, row]
            if len(slopes):
                _combine(turned[lattice], high, by_low, count)
                _fold(by_low, z, 0, middle, low, slope, count)
                for place in range(rank):
                    of_feature = slopes[subsets[lattice, place]][start : start + count]
                    for row in range(count):
                        of_feature[row] += slope[place, row]


@jit.loop(**REORDERED)
def _table_gradient(  # type: ignore[no-untyped-def]
    inputs, subsets, gradient, found, z, low, high, first, last
):
    """The gradients of lattices from `first` to before `last`, each over all rows."""
    rank, rows, lattices = subsets.shape[1], inputs.shape[1], len(found) // len(gradient)
    middle = rank // 2
    for lattice in range(first, last):
        for start in range(0, rows, z.shape[1]):
            count = min(z.shape[1], rows - start)
            _gather(inputs, subsets[lattice], start, z, count)
            _multiply(z, 0, middle, low, count)
            _multiply(z, middle, rank, high, count)
            by_total = gradient[lattice // lattices][start : start + count]
            for place in range(len(high)):
                for row in range(count):
                    high[place, row] *= by_total[row]
            _add_products(high, low, found[lattice], count)


@jit.loop(**REORDERED)
def _gather(inputs, subset, start, z, count):  # type: ignore[no-untyped-def]
    """The inputs (D, count) of one lattice."""
    for place in range(len(subset)):
        chosen = inputs[subset[place]][start : start + count]
        for row in range(count):
            z[place, row] = chosen[row]


@jit.loop(**REORDERED)
def _multiply(z, start, end, products, count):  # type: ignore[no-untyped-def]
    """The products of the subsets of inputs from `start` to before `end`.

    Bit d says whether the d-th of these is in.
    """
    for row in range(count):
        products[0, row] = 1
    for d in range(end - start):
        for i in range(1 << d):
            for row in range(count):
                products[(1 << d) + i, row] = products[i, row] * z[start + d, row]


@jit.loop(**REORDERED)
def _combine(table, products, found, count):  # type: ignore[no-untyped-def]
    """The table (p, q) times products (q, count), four products for two sums at a time."""
    sums, terms = table.shape
    if sums < 2 or terms < 4:
        for i in range(sums):
            for row in range(count):
                found[i, row] = table[i, 0] * products[0, row]
            for j in range(1, terms):
                for row in range(count):
                    found[i, row] += table[i, j] * products[j, row]
        return
    for i in range(0, sums, 2):
        for j in range(0, terms, 4):
            a0, a1, a2, a3 = table[i, j], table[i, j + 1], table[i, j + 2], table[i, j + 3]
            k = i + 1
            b0, b1, b2, b3 = table[k, j], table[k, j + 1], table[k, j + 2], table[k, j + 3]
            if j == 0:
                for row in range(count):
                    p0, p1 = products[j, row], products[j + 1, row]
                    p2, p3 = products[j + 2, row], products[j + 3, row]
                    found[i, row] = a0 * p0 + a1 * p1 + a2 * p2 + a3 * p3
                    found[k, row] = b0 * p0 + b1 * p1 + b2 * p2 + b3 * p3
            else:
                for row in range(count):
                    p0, p1 = products[j, row], products[j + 1, row]
                    p2, p3 = products[j + 2, row], products[j + 3, row]
                    found[i, row] += a0 * p0 + a1 * p1 + a2 * p2 + a3 * p3
                    found[k, row] += b0 * p0 + b1 * p1 + b2 * p2 + b3 * p3


@jit.loop(**REORDERED)
def _fold(sums, z, start, end, products, slope, count):  # type: ignore[no-untyped-def]
    """Sums times products of inputs from `start` to before `end`, added up into the first; and slopes.

    As in Horner's rule, inputs are factored out from the last on, the last three of them at once.
    """
    for d in range(end - start - 1, 2, -1):
        half = 1 << d
        for row in range(count):
            slope[start + d, row] = 0
        for i in range(0, half, 4):
            for row in range(count):
                x = z[start + d, row]
                s0, s1 = sums[half + i, row], sums[half + i + 1, row]
                s2, s3 = sums[half + i + 2, row], sums[half + i + 3, row]
                p0, p1 = products[i, row], products[i + 1, row]
                p2, p3 = products[i + 2, row], products[i + 3, row]
                slope[start + d, row] += s0 * p0 + s1 * p1 + s2 * p2 + s3 * p3
                sums[i, row] += s0 * x
                sums[i + 1, row] += s1 * x
                sums[i + 2, row] += s2 * x
                sums[i + 3, row] += s3 * x
    if end - start >= 3:
        for row in range(count):
            x0, x1, x2 = z[start, row], z[start + 1, row], z[start + 2, row]
            s1, s3, s5, s7 = sums[1, row], sums[3, row], sums[5, row], sums[7, row]
            without = sums[2, row] + s3 * x0
            with_it = sums[6, row] + s7 * x0
            last = sums[4, row] + s5 * x0 + with_it * x1
            slope[start, row] = s1 + s3 * x1 + (s5 + s7 * x1) * x2
            slope[start + 1, row] = without + with_it * x2
            slope[start + 2, row] = last
            sums[0, row] += s1 * x0 + without * x1 + last * x2
    elif end - start == 2:
        for row in range(count):
            x0, x1 = z[start, row], z[start + 1, row]
            last = sums[2, row] + sums[3, row] * x0
            slope[start, row] = sums[1, row] + sums[3, row] * x1
            slope[start + 1, row] = last
            sums[0, row] += sums[1, row] * x0 + last * x1
    elif end - start == 1:
        for row in range(count):
            slope[start, row] = sums[1, row]
            sums[0, row] += sums[1, row] * z[start, row]


@jit.loop(**REORDERED)
def _add_products(high, low, found, count):  # type: ignore[no-untyped-def]
    """Add to `found` (p, q) the sums over rows of `high` (p, count) times `low` (q, count)."""
    if len(high) < 4 or len(low) < 4:
        for i in range(len(high)):
            for j in range(len(low)):
                total = high[i, 0] * low[j, 0]
                for row in range(1, count):
                    total += high[i, row] * low[j, row]
                found[i, j] += total
        return
    for i in range(0, len(high), 4):
        for j in range(0, len(low), 4):
            a00 = a01 = a02 = a03 = a10 = a11 = a12 = a13 = found.dtype.type(0)
            a20 = a21 = a22 = a23 = a30 = a31 = a32 = a33 = found.dtype.type(0)
            for row in range(count):
                h0, h1, h2, h3 = high[i, row], high[i + 1, row], high[i + 2, row], high[i + 3, row]
                l0, l1, l2, l3 = low[j, row], low[j + 1, row], low[j + 2, row], low[j + 3, row]
                a00, a01, a02, a03 = a00 + h0 * l0, a01 + h0 * l1, a02 + h0 * l2, a03 + h0 * l3
                a10, a11, a12, a13 = a10 + h1 * l0, a11 + h1 * l1, a12 + h1 * l2, a13 + h1 * l3
                a20, a21, a22, a23 = a20 + h2 * l0, a21 + h2 * l1, a22 + h2 * l2, a23 + h2 * l3
                a30, a31, a32, a33 = a30 + h3 * l0, a31 + h3 * l1, a32 + h3 * l2, a33 + h3 * l3
            sums = ((a00, a01, a02, a03), (a10, a11, a12, a13),
                    (a20, a21, a22, a23), (a30, a31, a32, a33))  # fmt: skip
            for k in range(4):
                for m in range(4):
                    found[i + k, j + m] += sums[k][m]
