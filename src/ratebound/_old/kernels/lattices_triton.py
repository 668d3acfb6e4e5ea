"""A lattice model as one function of its parameters on a GPU: the counterpart of `lattices`.

There are three kernels forward and three back, and a sum or two of their partial results.
"""

from __future__ import annotations

from subprocess import CalledProcessError
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from ratebound._old.kernels.calibrators import Fixed
from ratebound._old.kernels.calibrators_triton import inputs_of, values_gradient
from ratebound._old.kernels.interpolation_triton import coefficients, totals, vertices_gradient


def scores(
    numbers: Tensor, categories: Tensor, vertices: Tensor, rows: Tensor, fixed: Fixed, most: int
) -> Tensor:
    """(K, b) means over lattices (K, 2^D, L), from calibrators (K, numbers, k + 1) and (K, values).

    A feature has at most `most` values, including one for missing.
    """
    apply: Any = _Scores.apply  # torch has no types for it
    result: Tensor = apply(numbers, categories, vertices, rows, fixed, most, torch.is_grad_enabled())
    return result


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, numbers: Tensor, categories: Tensor, vertices: Tensor, rows: Tensor, fixed: Fixed,
        most: int, differentiate: bool,
    ) -> Tensor:  # fmt: skip
        inputs = inputs_of(rows, numbers, categories, fixed)
        slopes = totals(inputs, coefficients(vertices), fixed.subsets, differentiate)
        ctx.fixed, ctx.most = fixed, most
        ctx.save_for_backward(rows, inputs, slopes, numbers, categories)
        return slopes[:, -1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, inputs, slopes, numbers, categories = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        by_vertices = vertices_gradient(inputs, gradient, ctx.fixed.subsets)
        by_values = values_gradient(rows, slopes, gradient, numbers, categories, ctx.fixed, ctx.most)
        return *by_values, by_vertices, None, None, None, None


def try_one() -> bool:
    """Whether Triton can compile a kernel on this machine and launch it on its GPU."""
    try:
        _nothing[(1,)](torch.empty(1, device="cuda"))
    except (RuntimeError, OSError, CalledProcessError):  # no C compiler, no Python.h, too old a device
        return False
    return True


@triton.jit
def _nothing(place):
    tl.store(place, 0.0)
