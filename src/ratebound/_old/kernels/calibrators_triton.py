"""Calibrators of lattice models on a GPU, one kernel forward and one back, written in Triton.

`calibrators` defines them, in PyTorch's operations, which run if Triton is missing.
The gradient by a keypoint's value is a sum over rows of the hat function around it. Sums are taken in a
fixed order, without atomic additions, so that results are reproducible.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from ratebound._old.kernels.calibrators import Fixed

WARPS = 4
ROWS = 32 * WARPS  # one for each thread
SLOTS = 16  # values whose gradient a thread sums at a time
PROGRAMS = 1024  # enough to keep a large GPU busy
VARYING = ["by_row", "by_column", "rows", "count", "keypoints", "values"]  # no new compilation for these


def inputs_of(rows: Tensor, numbers: Tensor, categories: Tensor, fixed: Fixed) -> Tensor:
    """(K, F, b) of rows (b, F), in [-1, 1] once projected; numbers (K, n, k + 1), categories (K, c)."""
    out = rows.new_empty(len(numbers), len(fixed.columns), len(rows))
    if len(rows):
        _forward[triton.cdiv(len(rows), ROWS), len(fixed.columns), len(numbers)](
            rows, *rows.stride(), numbers.contiguous(), categories.contiguous(), out,
            *fixed[:-1], len(rows), *_shape(numbers, categories), ROWS=ROWS, num_warps=WARPS,
        )  # fmt: skip
    return out


def values_gradient(
    rows: Tensor, slopes: Tensor, gradient: Tensor, numbers: Tensor, categories: Tensor,
    fixed: Fixed, most: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradients by numbers and categories, of their shapes; by inputs it is slopes times gradient.

    Slopes are (K, F + 1, b), of which the last is ignored, and the gradient is (K, b). No feature has
    more than `most` values.
    """
    settings, features, slots = len(numbers), len(fixed.columns), triton.cdiv(most, SLOTS)
    parts = max(1, min(PROGRAMS // (settings * features * slots), triton.cdiv(len(rows), 4 * ROWS)))
    size = triton.cdiv(triton.cdiv(len(rows), parts), ROWS) * ROWS
    partial = rows.new_empty(parts, numbers.numel() + categories.numel())
    _backward[settings * features, slots, parts](
        rows, *rows.stride(), slopes, gradient, partial, partial.shape[1], size,
        *fixed[:-1], len(rows), *_shape(numbers, categories), features,
        SLOTS=SLOTS, ROWS=ROWS, num_warps=WARPS,
    )  # fmt: skip
    summed = partial[0] if parts == 1 else partial.sum(0)
    first, second = summed.split([numbers.numel(), categories.numel()])
    return first.view_as(numbers), second.view_as(categories)


def _shape(numbers: Tensor, categories: Tensor) -> tuple[int, int, int]:
    """Numbers, keypoints of each, and values of all categories."""
    return numbers.shape[1], numbers.shape[2] - 1, categories.shape[1]


@triton.jit
def _finite(x):
    """As `nan_to_num`, in single precision: infinity times a steepness of zero would be NaN."""
    return tl.where(x != x, 0.0, tl.minimum(tl.maximum(x, -3e38), 3e38))


@triton.jit
def _slot(code, size):
    """The slot of a code among its category's values; NaN and unknown codes have the last."""
    known = (code >= 0) & (code < size)
    return tl.where(known, code, size.to(code.dtype)).to(tl.int32)


@triton.jit(do_not_specialize=VARYING)
def _forward(
    table, by_row, by_column, numbers, categories, out,
    columns, start, steepness, sizes, offsets, rows, count, keypoints, values, ROWS: tl.constexpr,
):  # fmt: skip
    """One feature of one setting, for a block of rows."""
    feature, setting = tl.program_id(1), tl.program_id(2)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < rows
    column = tl.load(columns + feature)
    x = tl.load(table + row.to(tl.int64) * by_row + column * by_column, mask=inside, other=0.0)
    if feature < count:
        own = numbers + (setting * count + feature) * (keypoints + 1)
        start += feature * (keypoints - 1)
        steepness += feature * (keypoints - 1)
        missing = x != x
        at = _finite(x)
        last = tl.load(own)
        value = tl.zeros((ROWS,), x.dtype) + last
        for j in range(keypoints - 1):
            here = tl.load(own + j + 1)
            share = (at - tl.load(start + j)) * tl.load(steepness + j)
            value += (here - last) * tl.minimum(tl.maximum(share, 0.0), 1.0)
            last = here
        value = tl.where(missing, tl.load(own + keypoints), value)
    else:
        own = categories + setting * values + tl.load(offsets + feature - count)
        value = tl.load(own + _slot(x, tl.load(sizes + feature - count)), mask=inside, other=0.0)
    place = (setting * tl.num_programs(1) + feature).to(tl.int64) * rows
    tl.store(out + place + row, 2 * value - 1, mask=inside)


@triton.jit
def _piece(start, steepness, number, pieces):
    """The starts of pieces, one over their lengths, and the share of each below any number."""
    fits = (number >= 0) & (number < pieces)
    begins = tl.load(start + number, mask=fits, other=0.0)[:, None]
    rises = tl.load(steepness + number, mask=fits, other=0.0)[:, None]
    return begins, rises, tl.where(number < 0, 1.0, 0.0).to(begins.dtype)[:, None]


@triton.jit
def _by_input(slopes, gradient, row, rows):
    inside = row < rows
    slope = tl.load(slopes + row, mask=inside, other=0.0)
    return slope * tl.load(gradient + row, mask=inside, other=0.0)


@triton.jit
def _passed(x, piece):
    """(SLOTS, ROWS) shares of pieces below x: 1 before the first piece, 0 after the last."""
    return tl.minimum(tl.maximum((x[None, :] - piece[0]) * piece[1], piece[2]), 1.0)


@triton.jit(do_not_specialize=[*VARYING, "total", "size", "features"])
def _backward(
    table, by_row, by_column, slopes, gradient, out, total, size,
    columns, start, steepness, sizes, offsets, rows, count, keypoints, values, features,
    SLOTS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The gradient by some values of one feature of one setting, over some blocks of rows."""
    own, part = tl.program_id(0), tl.program_id(2)
    feature, setting = own % features, own // features
    slot = tl.program_id(1) * SLOTS + tl.arange(0, SLOTS)
    table += tl.load(columns + feature) * by_column
    slopes += (own + setting).to(tl.int64) * rows
    gradient += setting.to(tl.int64) * rows
    end = min(part * size + size, rows)
    summed = tl.zeros((SLOTS, ROWS), out.dtype.element_ty)
    if feature < count:
        slots = keypoints + 1
        place = (setting * count + feature) * slots
        start += feature * (keypoints - 1)
        steepness += feature * (keypoints - 1)
        before = _piece(start, steepness, slot - 1, keypoints - 1)
        after = _piece(start, steepness, slot, keypoints - 1)
        of_missing = (slot == keypoints)[:, None]
        for first in range(part * size, end, ROWS):
            row = first + tl.arange(0, ROWS)
            x = tl.load(table + row.to(tl.int64) * by_row, mask=row < rows, other=0.0)
            g = _by_input(slopes, gradient, row, rows)
            missing = x != x
            at = _finite(x)
            hat = tl.where(of_missing, 1.0, _passed(at, before) - _passed(at, after))
            summed += tl.where(missing[None, :] == of_missing, hat * g[None, :], 0.0)
    else:
        slots = tl.load(sizes + feature - count).to(tl.int32) + 1
        place = (tl.num_programs(0) // features * count * (keypoints + 1)
                 + setting * values + tl.load(offsets + feature - count).to(tl.int32))  # fmt: skip
        for first in range(part * size, end, ROWS):
            row = first + tl.arange(0, ROWS)
            x = tl.load(table + row.to(tl.int64) * by_row, mask=row < rows, other=0.0)
            g = _by_input(slopes, gradient, row, rows)
            chosen = _slot(x, slots - 1)[None, :] == slot[:, None]
            summed += tl.where(chosen, g[None, :], 0.0)
    tl.store(out + part.to(tl.int64) * total + place + slot, 2 * tl.sum(summed, 1), mask=slot < slots)
