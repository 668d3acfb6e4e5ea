"""Multilinear interpolation in many small lattices at once: the hot path of lattice models.

A multilinear function of D inputs in [-1, 1] is a combination of the 2^D products of inputs. With the
inputs in two halves it is u(z)ᵀ C l(z), where l and u are the products within each half and C holds the
coefficients as a matrix. That is one batched matrix product, and 2 · 2^(D/2) instead of 2^D products per
row. The slope with respect to the inputs does not depend on later steps. So the forward pass computes it
too and sums it per feature: what is kept for the backward pass is as small as the batch itself.

In compiled loops, a block of rows goes through one lattice at a time. Its products, sums and slopes stay
in the processor's cache, whereas the plain version writes those of many lattices to memory in every
pass. Rows are the innermost loop everywhere, and tables are read four products at a time, so that
compilers vectorise over rows and keep the coefficients in registers.
"""

# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ratebound._old.kernels.dispatch import EACH, SUMS, loop

ROWS, NUMBERS = 2**12, 2**19  # rows and products at a time on a CPU, so that they stay in its cache
ON_DEVICE = 2**16, 2**26  # and on other devices, limited only by memory


def coefficients(vertices: Tensor) -> Tensor:
    """(K·L, 2^⌈D/2⌉, 2^⌊D/2⌋) coefficients of products, from values at vertices (K, 2^D, L).

    Bit d of a vertex's number says whether it is at -1 or at 1 in input d. The coefficients are the
    Walsh transform of the values. They never exceed the values, so single precision loses little.

    >>> coefficients(torch.tensor([[[0.0], [1.0], [10.0], [11.0]]]))  # 5.5 + z0/2 + 5 z1
    tensor([[[5.5000, 0.5000],
             [5.0000, 0.0000]]])
    """
    settings, corners, lattices = vertices.shape
    rank = corners.bit_length() - 1
    table = vertices
    for d in range(rank):
        # Input by input, so that equal values cancel to the last bit: if a lattice is flat along an
        # input, so are its computed scores.
        low, high = table.view(settings, corners >> (d + 1), 2, 2**d, lattices).unbind(2)
        table = torch.stack([low + high, high - low], 2) / 2
    halves = table.view(settings, 2 ** (rank - rank // 2), 2 ** (rank // 2), lattices)
    return halves.permute(0, 3, 1, 2).flatten(0, 1).contiguous()


def interpolate(inputs: Tensor, table: Tensor, subsets: Tensor, lattices: int) -> Tensor:
    """(K, b) means over lattices; inputs (K·F, b) in [-1, 1], coefficients (K·L, ...), subsets (K·L, D).

    >>> z = torch.tensor([[-1.0, 1.0, 0.0], [-1.0, -1.0, 1.0]])
    >>> table = coefficients(torch.tensor([[[0.0], [1.0], [10.0], [11.0]]]))
    >>> interpolate(z, table, torch.tensor([[0, 1]]), 1)
    tensor([[ 0.0000,  1.0000, 10.5000]])
    """
    apply: Any = _Interpolation.apply  # torch has no types for it
    scores: Tensor = apply(inputs, table, subsets, lattices, torch.is_grad_enabled())
    return scores


class _Interpolation(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, table: Tensor, subsets: Tensor, lattices: int, differentiate: bool
    ) -> Tensor:
        slopes = torch.zeros_like(inputs) if differentiate else None
        output = _totals(inputs, table, subsets, lattices, slopes)
        ctx.lattices = lattices
        ctx.save_for_backward(inputs, table, subsets, slopes)
        return output.div_(lattices)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, table, subsets, slopes = ctx.saved_tensors
        gradient = gradients[0] / ctx.lattices
        settings = len(gradient)
        by_inputs = (slopes.view(settings, -1, slopes.shape[1]) * gradient[:, None]).view_as(slopes)
        return by_inputs, _table_gradient(inputs, table, subsets, gradient), None, None, None


def _totals(
    inputs: Tensor, table: Tensor, subsets: Tensor, lattices: int, slopes: Tensor | None
) -> Tensor:
    """(K, b) sums over lattices; adds their slopes with respect to the inputs to `slopes` (K·F, b)."""
    output = inputs.new_zeros(len(table) // lattices, inputs.shape[1])
    low = table.shape[2].bit_length() - 1
    for rows, own, part in _blocks(inputs, table, lattices):
        chosen = subsets[part].T.reshape(-1)
        z = _gathered(inputs[:, rows], chosen, subsets.shape[1])
        lower, upper = z[:low], z[low:]
        products = _products(lower)
        by_upper = _combined(table[part], products)
        if slopes is None:
            _fold(by_upper, upper)
        else:
            slope, others = torch.empty_like(z), _products(upper)
            _fold(by_upper, upper, others, slope[low:])
            _fold(_combined(table[part].transpose(1, 2), others), lower, products, slope[:low])
            slopes[:, rows].index_add_(0, chosen, slope.flatten(0, 1))
        output[own, rows] += by_upper[:, 0].view(own.stop - own.start, -1, z.shape[2]).sum(1)
    return output


def _table_gradient(inputs: Tensor, table: Tensor, subsets: Tensor, gradient: Tensor) -> Tensor:
    """The gradient by the table, of its shape, from the gradient by the totals (K, b)."""
    by_table = torch.zeros_like(table)
    low = table.shape[2].bit_length() - 1
    for rows, own, part in _blocks(inputs, table, len(table) // len(gradient)):
        chosen = subsets[part].T.reshape(-1)
        z = _gathered(inputs[:, rows], chosen, subsets.shape[1])
        weighted = _products(z[low:])
        by_setting = weighted.view(len(weighted), own.stop - own.start, -1, z.shape[2])
        by_setting *= gradient[own, None, rows]
        by_table[part] += torch.bmm(weighted.transpose(0, 1), _products(z[:low]).permute(1, 2, 0))
    return by_table


def _blocks(inputs: Tensor, table: Tensor, lattices: int) -> Iterator[tuple[slice, slice, slice]]:
    """Rows, settings and lattices of the blocks that are processed one after the other.

    A block covers several settings with all their lattices, or some of the lattices of one setting.
    """
    total, settings = inputs.shape[1], len(table) // lattices
    rows, numbers = (ROWS, NUMBERS) if inputs.device.type == "cpu" else ON_DEVICE
    rows = max(1, min(total, rows))
    most = max(1, numbers // table.shape[1] // rows)
    if most >= lattices:
        step, size = most // lattices, most // lattices * lattices
    else:
        step, size = 1, -(-lattices // -(-lattices // most))  # as few blocks as possible, of equal size
    for first in range(0, total, rows):
        taken = slice(first, min(first + rows, total))
        for setting in range(0, settings, step):
            end = min(setting + step, settings)
            for start in range(setting * lattices, end * lattices, size):
                yield taken, slice(setting, end), slice(start, min(start + size, end * lattices))


def _gathered(inputs: Tensor, chosen: Tensor, rank: int) -> Tensor:
    """(D, n, b): the inputs of n lattices, the first inputs of all, then the second inputs."""
    return inputs.index_select(0, chosen).view(rank, len(chosen) // rank, -1)


def _products(z: Tensor) -> Tensor:
    """(2^h, n, b) products of the subsets of h inputs (h, n, b); bit d stands for input d."""
    inputs, n, rows = z.shape
    products = z.new_empty(2**inputs, n, rows)
    products[0] = 1.0
    for d in range(inputs):
        torch.mul(products[: 2**d], z[d], out=products[2**d : 2 ** (d + 1)])
    return products


def _combined(table: Tensor, products: Tensor) -> Tensor:
    """(n, p, b): for each of n lattices its table (n, p, q) times products (q, n, b)."""
    return torch.bmm(table, products.transpose(0, 1))


def _fold(
    by_products: Tensor, z: Tensor, products: Tensor | None = None, slope: Tensor | None = None
) -> None:
    """Sums of coefficients (n, 2^h, b) times products of inputs (h, n, b), left in (n, 0, b).

    As in Horner's rule, one input is factored out at a time. Its slope, if asked for, is the sum of its
    coefficients times the products of the inputs yet to be factored out.
    """
    for d in reversed(range(len(z))):
        without, with_it = by_products[:, : 2**d], by_products[:, 2**d : 2 ** (d + 1)]
        if products is not None and slope is not None:
            torch.sum(with_it * products[: 2**d].transpose(0, 1), 1, out=slope[d])
        without.addcmul_(with_it, z[d][:, None])


# --- compiled ------------------------------------------------------------------------------------
# Arrays are z (K, F, b) for the inputs, tables (K, L, 2^⌈D/2⌉, 2^⌊D/2⌋) for the coefficients, subsets
# (L, D), and scratch memory for blocks of rows.


@loop(nogil=True)
def transform(work, table, turned):
    """The coefficients, and the same with upper and lower half exchanged, from values (K, 2^D, L).

    The values are overwritten. It goes input by input, so that equal values cancel to the last bit.
    """
    settings, corners, lattices = work.shape
    lower, half = table.shape[3], work.dtype.type(0.5)
    for setting in range(settings):
        own, step = work[setting], 1
        while step < corners:
            for corner in range(corners):
                if corner & step == 0:
                    low, high = own[corner], own[corner + step]
                    for lattice in range(lattices):
                        below, above = low[lattice], high[lattice]
                        low[lattice] = (below + above) * half
                        high[lattice] = (above - below) * half
            step *= 2
        for lattice in range(lattices):
            for corner in range(corners):
                i, j = corner // lower, corner % lower
                table[setting, lattice, i, j] = own[corner, lattice]
                turned[setting, lattice, j, i] = own[corner, lattice]


@loop(nogil=True)
def turn_back(by_table, out):
    """The gradient by values (K, 2^D, L) from the gradient by coefficients."""
    settings, corners, lattices = out.shape
    lower, half = by_table.shape[3], out.dtype.type(0.5)
    for setting in range(settings):
        own, step = out[setting], 1
        for corner in range(corners):
            i, j = corner // lower, corner % lower
            for lattice in range(lattices):
                own[corner, lattice] = by_table[setting, lattice, i, j]
        while step < corners:
            for corner in range(corners):
                if corner & step == 0:
                    low, high = own[corner], own[corner + step]
                    for lattice in range(lattices):
                        of_mean, of_slope = low[lattice], high[lattice]
                        low[lattice] = (of_mean - of_slope) * half
                        high[lattice] = (of_mean + of_slope) * half
            step *= 2


@loop(**EACH)
def interpolate_rows(
    inputs, table, turned, subsets, slopes, means, z, slope, low, high, by_low, by_high, first, last
):
    """Means (K, b) over lattices for rows from `first` up to `last`, and slopes of their totals.

    Slopes (K, F, b) are added to their old values; none are computed if the array has no rows.
    """
    lattices, rank = subsets.shape
    middle, share = rank // 2, 1 / means.dtype.type(lattices)
    for setting in range(len(means)):
        for start in range(first, last, z.shape[1]):
            count = min(z.shape[1], last - start)
            mean = means[setting][start : start + count]
            for row in range(count):
                mean[row] = 0
            for lattice in range(lattices):
                subset = subsets[lattice]
                _gather(inputs[setting], subset, start, z, count)
                _multiply(z, 0, middle, low, count)
                _multiply(z, middle, rank, high, count)
                _combine(table[setting, lattice], low, by_high, count)
                _fold_rows(by_high, z, middle, rank, high, slope, count)
                for row in range(count):
                    mean[row] += by_high[0, row]
                if slopes.shape[2]:
                    _combine(turned[setting, lattice], high, by_low, count)
                    _fold_rows(by_low, z, 0, middle, low, slope, count)
                    for place in range(rank):
                        of_feature = slopes[setting, subset[place]][start : start + count]
                        for row in range(count):
                            of_feature[row] += slope[place, row]
            for row in range(count):
                mean[row] *= share


@loop(**SUMS)
def add_by_table(inputs, subsets, gradient, out, z, low, high, first, last):
    """Add the gradients of tables from `first` up to `last`, from the gradient by totals (K, b)."""
    lattices, rank = subsets.shape
    middle, rows = rank // 2, inputs.shape[2]
    for number in range(first, last):
        setting, lattice = number // lattices, number % lattices
        for start in range(0, rows, z.shape[1]):
            count = min(z.shape[1], rows - start)
            _gather(inputs[setting], subsets[lattice], start, z, count)
            _multiply(z, 0, middle, low, count)
            _multiply(z, middle, rank, high, count)
            by_total = gradient[setting][start : start + count]
            for place in range(len(high)):
                for row in range(count):
                    high[place, row] *= by_total[row]
            _add_products(high, low, out[setting, lattice], count)


@loop(**EACH)
def _gather(inputs, subset, start, z, count):
    """The inputs (D, count) of one lattice."""
    for place in range(len(subset)):
        chosen = inputs[subset[place]][start : start + count]
        for row in range(count):
            z[place, row] = chosen[row]


@loop(**EACH)
def _multiply(z, start, end, products, count):
    """The products of the subsets of inputs from `start` up to `end`.

    Bit d says whether the d-th of these is included.
    """
    for row in range(count):
        products[0, row] = 1
    for d in range(end - start):
        for i in range(1 << d):
            for row in range(count):
                products[(1 << d) + i, row] = products[i, row] * z[start + d, row]


@loop(**EACH)
def _combine(table, products, out, count):
    """The table (p, q) times products (q, count), four products for two sums at a time."""
    sums, terms = table.shape
    if sums < 2 or terms < 4:
        for i in range(sums):
            for row in range(count):
                out[i, row] = table[i, 0] * products[0, row]
            for j in range(1, terms):
                for row in range(count):
                    out[i, row] += table[i, j] * products[j, row]
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
                    out[i, row] = a0 * p0 + a1 * p1 + a2 * p2 + a3 * p3
                    out[k, row] = b0 * p0 + b1 * p1 + b2 * p2 + b3 * p3
            else:
                for row in range(count):
                    p0, p1 = products[j, row], products[j + 1, row]
                    p2, p3 = products[j + 2, row], products[j + 3, row]
                    out[i, row] += a0 * p0 + a1 * p1 + a2 * p2 + a3 * p3
                    out[k, row] += b0 * p0 + b1 * p1 + b2 * p2 + b3 * p3


@loop(**EACH)
def _fold_rows(sums, z, start, end, products, slope, count):
    """Sums times products of inputs from `start` up to `end`, added into the first; and slopes.

    As in Horner's rule, inputs are factored out from the last, the last three of them at once.
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


@loop(**SUMS)
def _add_products(high, low, out, count):
    """Add to `out` (p, q) the sums over rows of `high` (p, count) times `low` (q, count)."""
    if len(high) < 4 or len(low) < 4:
        for i in range(len(high)):
            for j in range(len(low)):
                total = high[i, 0] * low[j, 0]
                for row in range(1, count):
                    total += high[i, row] * low[j, row]
                out[i, j] += total
        return
    for i in range(0, len(high), 4):
        for j in range(0, len(low), 4):
            a00 = a01 = a02 = a03 = a10 = a11 = a12 = a13 = out.dtype.type(0)
            a20 = a21 = a22 = a23 = a30 = a31 = a32 = a33 = out.dtype.type(0)
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
                    out[i + k, j + m] += sums[k][m]
