"""Projections onto shapes as compiled loops on a CPU; `shapes.py` says what they mean and calls them.

Some lattices go through all sweeps before the next ones do, so that these stay in the cache.
"""

# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ratebound.base import jit
from ratebound.learners.lattices.loops import as_array, in_parts

TOGETHER = 64  # lattices at most, which go through all sweeps before the next ones do


def project_line(values: Tensor) -> Tensor:
    """The nearest values (..., k) that never decrease along the last axis."""
    found = values.clone(memory_format=torch.contiguous_format)
    lines = found.view(-1, found.shape[-1]).numpy()
    _pool_lines(lines, np.empty(lines.shape[1]), np.empty(lines.shape[1], np.int64))
    return found


def project_lattices(vertices: Tensor, monotone: Tensor, sweeps: int) -> Tensor:
    """Vertices (..., 2^D, L) near the given ones, in order along inputs with `monotone` (D, L)."""
    found = vertices.clone(memory_format=torch.contiguous_format)
    stack = found.view(-1, *found.shape[-2:]).numpy()
    pushed, (settings, corners, lattices) = as_array(monotone.to(found.dtype)), stack.shape
    parts = -(-lattices // TOGETHER)
    together = -(-lattices // parts)

    def run(first: int, last: int) -> None:
        room = found.new_empty(3, corners, together).numpy()
        moved = found.new_empty(len(pushed), corners // 2, together).numpy()
        _project(stack, pushed, sweeps, *room, moved, first, last)

    in_parts(run, settings * parts, 2 * sweeps * len(pushed) * corners * together)
    return found


@jit.loop(nogil=True)
def _pool_lines(lines, means, sizes):
    """Pool neighbours that are out of order, in place; those in order stay to the last bit.

    Means of pools rise strictly, in double precision, so that what they are rounded to never falls.
    """
    for number in range(len(lines)):
        line = lines[number]
        pools = 0
        for place in range(len(line)):
            mean, size = np.float64(line[place]), 1
            while pools and means[pools - 1] >= mean:
                pools -= 1
                mean += (means[pools] - mean) * (sizes[pools] / (sizes[pools] + size))
                size += sizes[pools]
            means[pools], sizes[pools] = mean, size
            pools += 1
        end = 0
        for pool in range(pools):
            for _ in range(sizes[pool]):
                line[end] = means[pool]
                end += 1


@jit.loop(nogil=True)
def _project(stack, pushed, sweeps, own, up, down, moved, first, last):
    """Project parts from `first` to before `last` of the lattices of all settings, in place."""
    _, corners, lattices = stack.shape
    together = own.shape[1]
    parts = (lattices + together - 1) // together
    zero, half = stack.dtype.type(0), stack.dtype.type(0.5)
    for number in range(first, last):
        start = number % parts * together
        count = min(together, lattices - start)
        for corner in range(corners):
            for i in range(count):
                own[corner, i] = stack[number // parts, corner, start + i]
        if _in_order(own, pushed, start, count):
            continue  # as those in order would stay
        for d in range(len(pushed)):
            for pair in range(corners // 2):
                for i in range(count):
                    moved[d, pair, i] = zero
        for _ in range(sweeps):
            for d in range(len(pushed)):
                push = pushed[d, start : start + count]
                for pair in range(corners // 2):
                    corner = (pair >> d << d + 1) + (pair & (1 << d) - 1)
                    low, high, before = own[corner], own[corner + (1 << d)], moved[d, pair]
                    for i in range(count):
                        now = before[i] + (low[i] - high[i]) * half
                        now = (now if now > zero else zero) * push[i]
                        change = now - before[i]
                        low[i] -= change
                        high[i] += change
                        before[i] = now
        _order(own, up, down, pushed, start, count)
        for corner in range(corners):
            for i in range(count):
                stack[number // parts, corner, start + i] = (up[corner, i] + down[corner, i]) * half


@jit.loop(nogil=True)
def _in_order(own, pushed, start, count):
    """Whether no vertex lies below its neighbour where it may not."""
    for d in range(len(pushed)):
        push = pushed[d, start : start + count]
        for pair in range(len(own) // 2):
            corner = (pair >> d << d + 1) + (pair & (1 << d) - 1)
            low, high, wrong = own[corner], own[corner + (1 << d)], 0
            for i in range(count):
                wrong += (low[i] > high[i]) & (push[i] > 0)
            if wrong:
                return False
    return True


@jit.loop(nogil=True)
def _order(own, up, down, pushed, start, count):
    """The largest value below each vertex, and the smallest above it."""
    for corner in range(len(own)):
        for i in range(count):
            up[corner, i] = down[corner, i] = own[corner, i]
    for d in range(len(pushed)):
        push = pushed[d, start : start + count]
        for pair in range(len(own) // 2):
            corner = (pair >> d << d + 1) + (pair & (1 << d) - 1)
            low, high = up[corner], up[corner + (1 << d)]
            for i in range(count):
                high[i] = low[i] if (low[i] > high[i]) & (push[i] > 0) else high[i]
            low, high = down[corner], down[corner + (1 << d)]
            for i in range(count):
                low[i] = high[i] if (low[i] > high[i]) & (push[i] > 0) else low[i]
