"""The scores of a lattice model as one function of its parameters: plain, compiled, or on a GPU.

Compiled loops keep the calibrated features and their slopes for the backward pass: one number of each
for every row and feature. The slopes do not depend on later steps, so the forward pass computes them
too.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ratebound._old.kernels import dispatch
from ratebound._old.kernels.calibrators import Fixed, add_by_values, calibrate, calibrated
from ratebound._old.kernels.dispatch import as_array, in_parts, scratch
from ratebound._old.kernels.interpolation import (
    add_by_table,
    coefficients,
    interpolate,
    interpolate_rows,
    transform,
    turn_back,
)

DENSE = torch.contiguous_format
FEW = 64  # up to this many rows, as in production, it is not worth importing numba
HIGHEST = 12  # rank; beyond it the plain version's matrix products are large and faster


def means(
    numbers: Tensor, categories: Tensor, vertices: Tensor, rows: Tensor, fixed: Fixed, most: int
) -> Tensor:
    """(K, b) means over lattices (K, 2^D, L), from calibrators (K, numbers, k + 1) and (K, values).

    A feature has at most `most` values, including one for missing.
    """
    lattices, rank = fixed.subsets.shape
    if not rows.requires_grad:
        given = rows, numbers, categories, vertices, fixed.start
        some = torch.is_grad_enabled() or len(rows) > FEW
        if some and rank <= HIGHEST and dispatch.by_numba(*given):
            return scores_compiled(numbers, categories, vertices, rows, fixed)
        if dispatch.by_triton(rank, *given):
            from ratebound._old.kernels import lattices_triton

            return lattices_triton.scores(numbers, categories, vertices, rows, fixed, most)
    subsets = fixed.subsets
    if len(vertices) > 1:
        firsts = len(fixed.columns) * torch.arange(len(vertices), device=rows.device)
        subsets = (subsets + firsts[:, None, None]).flatten(0, 1)
    inputs = (2 * calibrated(numbers, categories, rows, fixed) - 1).flatten(0, 1)
    return interpolate(inputs, coefficients(vertices), subsets, lattices)


def scores_compiled(
    numbers: Tensor, categories: Tensor, vertices: Tensor, rows: Tensor, fixed: Fixed
) -> Tensor:
    """As `means`, by loops."""
    apply: Any = _Scores.apply  # torch has no types for it
    scores: Tensor = apply(numbers, categories, vertices, rows, fixed, torch.is_grad_enabled())
    return scores


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, numbers: Tensor, categories: Tensor, vertices: Tensor, rows: Tensor, fixed: Fixed,
        differentiate: bool,
    ) -> Tensor:  # fmt: skip
        (settings, _, lattices), count, features = vertices.shape, len(rows), len(fixed.columns)
        low, high = _halves(fixed)
        inputs, scores = rows.new_empty(settings, features, count), rows.new_empty(settings, count)
        slopes = rows.new_zeros(settings, features, count if differentiate else 0)
        *calibrators, subsets = map(as_array, fixed)
        given = as_array(rows), *calibrators, as_array(numbers), as_array(categories), inputs.numpy()

        def calibrate_some(first: int, last: int) -> None:
            room = scratch(rows, count, 1, fixed.start.shape[1])
            calibrate(*given, *room, first, last)

        in_parts(calibrate_some, features, 4 * settings * count * fixed.start.shape[1])
        table = rows.new_empty(settings, lattices, high, low).numpy()
        turned = rows.new_empty(settings, lattices, low, high).numpy()
        transform(vertices.detach().clone(memory_format=DENSE).numpy(), table, turned)
        between = inputs.numpy(), table, turned, subsets, slopes.numpy(), scores.numpy()

        def interpolate_some(first: int, last: int) -> None:
            rank = subsets.shape[1]
            room = scratch(rows, last - first, rank, rank, low, high, low, high)
            interpolate_rows(*between, *room, first, last)

        in_parts(interpolate_some, count, 2 * settings * lattices * low * high)
        ctx.fixed, ctx.shapes = fixed, (numbers.shape, categories.shape, vertices.shape)
        ctx.save_for_backward(rows, inputs, slopes)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, inputs, slopes = ctx.saved_tensors
        (settings, features, count), lattices = inputs.shape, len(ctx.fixed.subsets)
        low, high = _halves(ctx.fixed)
        by_total = (gradients[0] / lattices).contiguous().numpy()
        numbers, categories = (rows.new_zeros(shape) for shape in ctx.shapes[:2])
        *calibrators, subsets = map(as_array, ctx.fixed)
        given = as_array(rows), *calibrators, slopes.numpy(), by_total
        by_parameters = numbers.numpy(), categories.numpy()

        def by_values(first: int, last: int) -> None:
            room = scratch(rows, count, 1, 1, ctx.fixed.start.shape[1])
            add_by_values(*given, *by_parameters, *room, first, last)

        in_parts(by_values, features, 4 * settings * count * ctx.fixed.start.shape[1])
        table = rows.new_zeros(settings, lattices, high, low).numpy()
        between = inputs.numpy(), subsets, by_total, table

        def by_table(first: int, last: int) -> None:
            room = scratch(rows, count, subsets.shape[1], low, high)
            add_by_table(*between, *room, first, last)

        in_parts(by_table, settings * lattices, count * low * high)
        vertices = rows.new_empty(ctx.shapes[2])
        turn_back(table, vertices.numpy())
        return numbers, categories, vertices, None, None, None


def _halves(fixed: Fixed) -> tuple[int, int]:
    """How many products the lower and the upper half of a lattice's inputs have."""
    rank = fixed.subsets.shape[1]
    return 2 ** (rank // 2), 2 ** (rank - rank // 2)
