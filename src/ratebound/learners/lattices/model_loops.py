"""A lattice model as one function of its parameters, by compiled loops on a CPU, forward and backward.

What is kept for the backward pass are the calibrated features and their slopes: as many numbers as rows
and features have. The slopes do not depend on what comes after, so the forward pass takes them as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ratebound.learners.lattices import calibration_loops as calibration
from ratebound.learners.lattices import interpolation_loops as interpolation
from ratebound.learners.lattices.loops import as_array, in_parts, scratch

DENSE = torch.contiguous_format
HIGHEST = 12  # rank; beyond it the plain version's matrix products are large, and faster


class Fixed(NamedTuple):
    """What never changes about a lattice model; its features are numbers, then categories."""

    columns: Tensor  # (F,) of the rows
    start: Tensor  # (numbers, k - 1), where each piece of a calibrator begins
    steepness: Tensor  # (numbers, k - 1), one over its length
    sizes: Tensor  # (categories, 1)
    offsets: Tensor  # (categories, 1), where the values of each begin
    subsets: Tensor  # (L, D) of the features


def scores(numbers: Tensor, categories: Tensor, vertices: Tensor, rows: Tensor, fixed: Fixed) -> Tensor:
    """(K, b) means over lattices (K, 2^D, L), from calibrators (K, numbers, k + 1) and (K, values)."""
    apply: Any = _Scores.apply  # torch has no types for it
    found: Tensor = apply(numbers, categories, vertices, rows, fixed, torch.is_grad_enabled())
    return found


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, numbers: Tensor, categories: Tensor, vertices: Tensor, rows: Tensor, fixed: Fixed,
        differentiate: bool,
    ) -> Tensor:  # fmt: skip
        (settings, _, lattices), count, features = vertices.shape, len(rows), len(fixed.columns)
        low, high = _halves(fixed)
        inputs, found = rows.new_empty(settings, features, count), rows.new_empty(settings, count)
        slopes = rows.new_zeros(settings, features, count if differentiate else 0)
        *calibrators, subsets = map(as_array, fixed)
        given = as_array(rows), *calibrators, as_array(numbers), as_array(categories), inputs.numpy()

        def calibrate(first: int, last: int) -> None:
            room = scratch(rows, count, 1, fixed.start.shape[1])
            calibration.calibrate(*given, *room, first, last)

        in_parts(calibrate, features, 4 * settings * count * fixed.start.shape[1])
        table = rows.new_empty(settings, lattices, high, low).numpy()
        turned = rows.new_empty(settings, lattices, low, high).numpy()
        interpolation.transform(vertices.detach().clone(memory_format=DENSE).numpy(), table, turned)
        between = inputs.numpy(), table, turned, subsets, slopes.numpy(), found.numpy()

        def interpolate(first: int, last: int) -> None:
            rank = subsets.shape[1]
            room = scratch(rows, last - first, rank, rank, low, high, low, high)
            interpolation.interpolate(*between, *room, first, last)

        in_parts(interpolate, count, 2 * settings * lattices * low * high)
        ctx.fixed, ctx.shapes = fixed, (numbers.shape, categories.shape, vertices.shape)
        ctx.save_for_backward(rows, inputs, slopes)
        return found

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
        found = numbers.numpy(), categories.numpy()

        def by_values(first: int, last: int) -> None:
            room = scratch(rows, count, 1, 1, ctx.fixed.start.shape[1])
            calibration.add_by_values(*given, *found, *room, first, last)

        in_parts(by_values, features, 4 * settings * count * ctx.fixed.start.shape[1])
        table = rows.new_zeros(settings, lattices, high, low).numpy()
        between = inputs.numpy(), subsets, by_total, table

        def by_table(first: int, last: int) -> None:
            room = scratch(rows, count, subsets.shape[1], low, high)
            interpolation.add_by_table(*between, *room, first, last)

        in_parts(by_table, settings * lattices, count * low * high)
        vertices = rows.new_empty(ctx.shapes[2])
        interpolation.turn_back(table, vertices.numpy())
        return numbers, categories, vertices, None, None, None


def _halves(fixed: Fixed) -> tuple[int, int]:
    """How many products the lower and the upper half of a lattice's inputs have."""
    rank = fixed.subsets.shape[1]
    return 2 ** (rank // 2), 2 ** (rank - rank // 2)
