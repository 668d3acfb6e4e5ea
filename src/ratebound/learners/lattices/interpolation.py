"""Multilinear interpolation in many small lattices at once: the hot path of lattice models.

A multilinear function of D inputs in [-1, 1] is a combination of the 2^D products of inputs. With the
inputs in two halves it is u(z)ᵀ C l(z), l and u the products within each half and C the coefficients
as a matrix: one batched matrix product, and 2 · 2^(D/2) instead of 2^D products for each row. The slope
with respect to the inputs does not depend on what comes after, so the forward pass takes it as well,
and sums it up per feature: what is kept until the backward pass is as small as the batch itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS, NUMBERS = 2**12, 2**19  # rows and products at a time on a CPU, so that they stay in its cache
ON_DEVICE = 2**16, 2**26  # and elsewhere, where only memory bounds them


def coefficients(vertices: Tensor) -> Tensor:
    """(K·L, 2^⌈D/2⌉, 2^⌊D/2⌋) coefficients of products, from values at vertices (K, 2^D, L).

    Bit d of a vertex's number says whether it lies at -1 or at 1 in input d. The coefficients are the
    values' Walsh transform: no larger than the values, so that single precision loses little.

    >>> coefficients(torch.tensor([[[0.0], [1.0], [10.0], [11.0]]]))  # 5.5 + z0/2 + 5 z1
    tensor([[[5.5000, 0.5000],
             [5.0000, 0.0000]]])
    """
    settings, corners, lattices = vertices.shape
    rank = corners.bit_length() - 1
    found = vertices
    for d in range(rank):
        # Input by input, so that equal values cancel to the last bit: where a lattice is flat along an
        # input, so are its computed scores.
        low, high = found.view(settings, corners >> (d + 1), 2, 2**d, lattices).unbind(2)
        found = torch.stack([low + high, high - low], 2) / 2
    halves = found.view(settings, 2 ** (rank - rank // 2), 2 ** (rank // 2), lattices)
    return halves.permute(0, 3, 1, 2).flatten(0, 1).contiguous()


def interpolate(inputs: Tensor, table: Tensor, subsets: Tensor, lattices: int) -> Tensor:
    """(K, b) means over lattices; inputs (K·F, b) in [-1, 1], coefficients (K·L, ...), subsets (K·L, D).

    >>> z = torch.tensor([[-1.0, 1.0, 0.0], [-1.0, -1.0, 1.0]])
    >>> table = coefficients(torch.tensor([[[0.0], [1.0], [10.0], [11.0]]]))
    >>> interpolate(z, table, torch.tensor([[0, 1]]), 1)
    tensor([[ 0.0000,  1.0000, 10.5000]])
    """
    apply: Any = _Interpolation.apply  # torch has no types for it
    found: Tensor = apply(inputs, table, subsets, lattices, torch.is_grad_enabled())
    return found


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
    """The gradient by the table, of its shape, from that by the totals (K, b)."""
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
    """Rows, settings and lattices of the blocks that are worked through one after the other.

    A block covers several settings with all their lattices, or some of the lattices of one setting.
    """
    total, settings = inputs.shape[1], len(table) // lattices
    rows, numbers = (ROWS, NUMBERS) if inputs.device.type == "cpu" else ON_DEVICE
    rows = max(1, min(total, rows))
    most = max(1, numbers // table.shape[1] // rows)
    if most >= lattices:
        step, size = most // lattices, most // lattices * lattices
    else:
        step, size = 1, -(-lattices // -(-lattices // most))  # as few blocks as that takes, alike
    for first in range(0, total, rows):
        taken = slice(first, min(first + rows, total))
        for setting in range(0, settings, step):
            end = min(setting + step, settings)
            for start in range(setting * lattices, end * lattices, size):
                yield taken, slice(setting, end), slice(start, min(start + size, end * lattices))


def _gathered(inputs: Tensor, chosen: Tensor, rank: int) -> Tensor:
    """(D, n, b): the inputs of n lattices, the first of each, then the second of each."""
    return inputs.index_select(0, chosen).view(rank, len(chosen) // rank, -1)


def _products(z: Tensor) -> Tensor:
    """(2^h, n, b) products of the subsets of h inputs (h, n, b); bit d says whether input d is in."""
    inputs, n, rows = z.shape
    found = z.new_empty(2**inputs, n, rows)
    found[0] = 1.0
    for d in range(inputs):
        torch.mul(found[: 2**d], z[d], out=found[2**d : 2 ** (d + 1)])
    return found


def _combined(table: Tensor, products: Tensor) -> Tensor:
    """(n, p, b): for each of n lattices its table (n, p, q) times products (q, n, b)."""
    return torch.bmm(table, products.transpose(0, 1))


def _fold(
    by_products: Tensor, z: Tensor, products: Tensor | None = None, slope: Tensor | None = None
) -> None:
    """Sums of coefficients (n, 2^h, b) times products of inputs (h, n, b), left in the first, (n, 0, b).

    As in Horner's rule, one input is factored out at a time. Its slope, where one is asked for, is the
    sum of what stands at it times the products of the inputs yet to be factored out.
    """
    for d in reversed(range(len(z))):
        without, with_it = by_products[:, : 2**d], by_products[:, 2**d : 2 ** (d + 1)]
        if products is not None and slope is not None:
            torch.sum(with_it * products[: 2**d].transpose(0, 1), 1, out=slope[d])
        without.addcmul_(with_it, z[d][:, None])
