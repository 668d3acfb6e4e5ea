"""Interpolation in small lattices on a GPU, one kernel forward and one back, written in Triton.

The arithmetic is the same as in `interpolation`, which documents it and runs if Triton is missing. A
thread handles one or a few rows and keeps all products of their inputs in registers; the coefficients
are the same for all rows. Sums are taken in a fixed order, without atomic additions, so that results are
reproducible. If there are too few rows to fill the device, several programs share the lattices (forward)
or the rows (backward), and their results are summed at the end. Block sizes follow from the shapes by
rule, so that a round can be recorded as a CUDA graph.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

WARPS, EACH = 2, 1  # threads of a program, over 32, and rows of a thread
WRITTEN_OUT, UPPER = 4, 3  # inputs whose products are written out, and at most looped over
ACCUMULATED = 64  # coefficients whose gradient a thread sums at a time
PROGRAMS = 2048  # enough to keep a large GPU busy


def coefficients(vertices: Tensor) -> Tensor:
    """As `interpolation.coefficients`, bit for bit."""
    settings, corners, lattices = vertices.shape
    low, high = _halves(corners)
    table = vertices.new_empty(settings * lattices, 2**high, 2**low)
    _transform(vertices.contiguous(), table, parts=1, back=False)
    return table


def totals(inputs: Tensor, table: Tensor, subsets: Tensor, differentiate: bool) -> Tensor:
    """(K, F + 1, b): slopes by the inputs (K, F, b) of the means over lattices, and the means (K, 1, b).

    Without slopes, only the means are returned. Coefficients are (K·L, ...), subsets (L, D).
    """
    (settings, features, rows), (lattices, rank) = inputs.shape, subsets.shape
    high = min(UPPER, max(0, rank - WRITTEN_OUT))
    block = 32 * WARPS * EACH
    blocks = triton.cdiv(rows, block)
    size = triton.cdiv(lattices, max(1, PROGRAMS // max(1, settings * blocks)))
    parts = triton.cdiv(lattices, size)
    partial = inputs.new_empty(parts, settings, features * differentiate + 1, rows)
    if rows:
        _forward[blocks, parts, settings](
            inputs, table, subsets, partial, rows, features, lattices, size,
            SLOPES=differentiate, LOW=rank - high, HIGH=high, ROWS=block, num_warps=WARPS,
        )  # fmt: skip
    return partial[0] if parts == 1 else partial.sum(0)


def vertices_gradient(inputs: Tensor, gradient: Tensor, subsets: Tensor) -> Tensor:
    """(K, 2^D, L) from inputs (K, F, b) and the gradient by the means (K, b)."""
    (settings, features, rows), (lattices, rank) = inputs.shape, subsets.shape
    low, high = _halves(2**rank)
    block = 32 * WARPS
    taken = min(2**high, max(1, ACCUMULATED >> low))  # of the upper products
    programs = settings * lattices * (2**high // taken)
    parts = max(1, min(PROGRAMS // programs, triton.cdiv(rows, 2 * block)))
    size = triton.cdiv(triton.cdiv(rows, parts), block) * block
    table = inputs.new_empty(parts, settings * lattices, 2**high, 2**low)
    _backward[settings * lattices, 2**high // taken, parts](
        inputs, gradient, subsets, table, rows, features, lattices, size,
        LOW=low, HIGH=high, TAKEN=taken, ROWS=block, num_warps=WARPS,
    )  # fmt: skip
    out = inputs.new_empty(settings, 2**rank, lattices)
    _transform(out, table, parts, back=True)
    return out


def _transform(vertices: Tensor, table: Tensor, parts: int, back: bool) -> None:
    """From vertices to the table, or from partial gradients by the table to the one by vertices."""
    settings, corners, lattices = vertices.shape
    taken = max(1, min(triton.next_power_of_2(lattices), 1024 // corners))
    _walsh[triton.cdiv(lattices, taken), settings](
        vertices, table, lattices, parts,
        RANK=corners.bit_length() - 1, TAKEN=taken, BACK=back, num_warps=4,
    )  # fmt: skip


def _halves(corners: int) -> tuple[int, int]:
    """How many inputs of a lattice are in its lower and its upper half."""
    rank = corners.bit_length() - 1
    return rank // 2, rank - rank // 2


@triton.jit
def _gathered(inputs, subsets, rows, row, inside, FIRST: tl.constexpr, COUNT: tl.constexpr):
    """`COUNT` inputs of a lattice from `FIRST` on, each (ROWS,)."""
    z = ()
    for d in tl.static_range(COUNT):
        feature = tl.load(subsets + (FIRST + d))
        z = z + (tl.load(inputs + feature * rows + row, mask=inside, other=0.0),)
    return z


@triton.jit
def _products(z, one, COUNT: tl.constexpr):
    """The products of the subsets of inputs, each (ROWS,); bit d says whether input d is included."""
    products = (one,)
    for d in tl.static_range(COUNT):
        for i in tl.static_range(2**d):
            products = products + (products[i] * z[d],)
    return products


@triton.jit
def _folded(by_products, z, products, COUNT: tl.constexpr):
    """The sum of coefficients times products, and its slopes by the inputs, as in `interpolation`."""
    slopes = ()
    for d in tl.static_range(COUNT - 1, -1, -1):
        slope, kept = tl.zeros_like(z[0]), ()
        for i in tl.static_range(2**d):
            slope += by_products[2**d + i] * products[i]
            kept = kept + (by_products[i] + by_products[2**d + i] * z[d],)
        by_products, slopes = kept, (slope,) + slopes
    return by_products[0], slopes


@triton.jit
def _upper(number, above, one, COUNT: tl.constexpr):
    """A product of upper inputs, given by its number, and its slopes by them."""
    product, slopes = one, ()
    for d in tl.static_range(COUNT):
        slope = tl.where(((number >> d) & 1) != 0, one, 0.0)
        for e in tl.static_range(COUNT):
            if e != d:
                slope *= tl.where(((number >> e) & 1) != 0, above[e], one)
        slopes = slopes + (slope,)
        product *= tl.where(((number >> d) & 1) != 0, above[d], one)
    return product, slopes


@triton.jit
def _lattice(entries, below, above, one, SLOPES: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr):
    """The value of a lattice, and its slopes by the lower and the upper inputs.

    The products of upper inputs are processed one after the other: written out in full, like the lower
    ones, they would take minutes to compile.
    """
    low, value = _products(below, one, LOW), tl.zeros_like(one)
    by_low, by_above = (), ()
    for _ in tl.static_range(2**LOW if SLOPES else 0):
        by_low = by_low + (tl.zeros_like(one),)
    for _ in tl.static_range(HIGH):
        by_above = by_above + (tl.zeros_like(one),)
    for number in range(2**HIGH):
        product, slopes = _upper(number, above, one, HIGH)
        across, down, beside = tl.zeros_like(one), (), ()
        for q in tl.static_range(2**LOW):
            entry = tl.load(entries + (number * 2**LOW + q))
            across += entry * low[q]
            if SLOPES:
                down = down + (by_low[q] + entry * product,)
        for d in tl.static_range(HIGH):
            beside = beside + (by_above[d] + across * slopes[d],)
        value += across * product
        by_low, by_above = down, beside
    by_below = ()
    if SLOPES:
        _, by_below = _folded(by_low, below, low, LOW)
    return value, by_below, by_above


@triton.jit
def _add_slopes(
    out, subsets, slopes, scale, rows, row, inside, FIRST: tl.constexpr, COUNT: tl.constexpr
):
    """Add each input's slope to its feature's, one by one: a feature may appear twice."""
    for d in tl.static_range(COUNT):
        place = out + tl.load(subsets + (FIRST + d)) * rows + row
        tl.store(place, tl.load(place, mask=inside) + slopes[d] * scale, mask=inside)


@triton.jit(do_not_specialize=["rows", "features", "lattices", "size"])
def _forward(
    inputs, table, subsets, out, rows, features, lattices, size,
    SLOPES: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Some lattices of one setting, for a block of rows."""
    part, setting = tl.program_id(1), tl.program_id(2)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < rows
    one = tl.full((ROWS,), 1.0, table.dtype.element_ty)
    own = (part * tl.num_programs(2) + setting).to(tl.int64)
    if SLOPES:
        out += own * (features + 1) * rows
        place = out + row
        for _ in range(features):
            tl.store(place, tl.zeros_like(one), mask=inside)
            place += rows
        tl.debug_barrier()  # a thread may meet another's zeros; the means come after the slopes
    else:
        place = out + own * rows + row
    inputs += setting.to(tl.int64) * features * rows
    total, scale = tl.zeros_like(one), one / lattices
    for lattice in range(part * size, min(part * size + size, lattices)):
        chosen = subsets + lattice * (LOW + HIGH)
        entries = table + (setting.to(tl.int64) * lattices + lattice) * 2 ** (LOW + HIGH)
        below = _gathered(inputs, chosen, rows, row, inside, 0, LOW)
        above = _gathered(inputs, chosen, rows, row, inside, LOW, HIGH)
        value, by_below, by_above = _lattice(entries, below, above, one, SLOPES, LOW, HIGH)
        total += value
        if SLOPES:
            _add_slopes(out, chosen, by_below, scale, rows, row, inside, 0, LOW)
            _add_slopes(out, chosen, by_above, scale, rows, row, inside, LOW, HIGH)
    tl.store(place, total * scale, mask=inside)


@triton.jit(do_not_specialize=["rows", "features", "lattices", "size"])
def _backward(
    inputs, gradient, subsets, out, rows, features, lattices, size,
    LOW: tl.constexpr, HIGH: tl.constexpr, TAKEN: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The gradient by some coefficients of one lattice, over some blocks of rows."""
    place, upper, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    setting = (place // lattices).to(tl.int64)
    gradient += setting * rows
    inputs += setting * features * rows
    chosen = subsets + place % lattices * (LOW + HIGH)
    number = upper * TAKEN + tl.arange(0, TAKEN)[:, None]
    lower = tl.arange(0, 2**LOW)[:, None]
    summed = tl.zeros((TAKEN, 2**LOW, ROWS), out.dtype.element_ty)
    for first in range(part * size, min(part * size + size, rows), ROWS):
        row = first + tl.arange(0, ROWS)
        inside = row < rows
        below = _gathered(inputs, chosen, rows, row, inside, 0, LOW)
        above = _gathered(inputs, chosen, rows, row, inside, LOW, HIGH)
        own = tl.load(gradient + row, mask=inside, other=0.0)
        high = tl.broadcast_to(own[None, :], (TAKEN, ROWS))
        low = tl.full((2**LOW, ROWS), 1.0, out.dtype.element_ty)
        # The compiler knows the index among lower products, so it drops factors of one.
        for d in tl.static_range(HIGH):
            high = high * tl.where(((number >> d) & 1) != 0, above[d][None, :], 1.0)
        for d in tl.static_range(LOW):
            low = low * tl.where(((lower >> d) & 1) != 0, below[d][None, :], 1.0)
        summed += high[:, None, :] * low[None, :, :]
    entries = (part * tl.num_programs(0) + place).to(tl.int64) * 2 ** (LOW + HIGH)
    across = number * 2**LOW + tl.arange(0, 2**LOW)[None, :]
    tl.store(out + entries + across, tl.sum(summed, 2) / lattices)


@triton.jit(do_not_specialize=["lattices", "parts"])
def _walsh(
    vertices, table, lattices, parts, RANK: tl.constexpr, TAKEN: tl.constexpr, BACK: tl.constexpr
):
    """Some lattices of one setting: input by input, so that equal values cancel to the last bit."""
    setting = tl.program_id(1).to(tl.int64)
    lattice = tl.program_id(0) * TAKEN + tl.arange(0, TAKEN)[:, None]
    corner = tl.arange(0, 2**RANK)[None, :]
    inside = (lattice < lattices) & (corner >= 0)
    vertices += (setting * 2**RANK + corner) * lattices + lattice
    table += (setting * lattices + lattice) * 2**RANK + corner
    x = tl.load(table if BACK else vertices, mask=inside, other=0.0)
    if BACK:
        step = tl.num_programs(1).to(tl.int64) * lattices * 2**RANK
        for part in range(1, parts):
            x += tl.load(table + part * step, mask=inside, other=0.0)
    for _ in tl.static_range(RANK):
        # The lowest bit of a corner's number becomes the highest, so the next input is now the lowest.
        low, high = tl.split(tl.reshape(x, (TAKEN, 2 ** (RANK - 1), 2)))
        less, more = (high - low) * 0.5, (low + high) * 0.5
        x = tl.join(-less if BACK else more, more if BACK else less)
        x = tl.reshape(tl.permute(x, (0, 2, 1)), (TAKEN, 2**RANK))
    tl.store(vertices if BACK else table, x, mask=inside)
