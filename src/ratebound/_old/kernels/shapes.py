"""Euclidean projections onto shapes: monotone values along a line, in a partial order, in lattices.

All functions work on stacks: settings, features and lattices are other axes. The results are exactly
monotone, in floating point too: a last pass of maxima, minima and one mean leaves nothing to tolerance.
In compiled loops, a few lattices go through all sweeps before the next ones do, so that they stay in the
cache.
"""

# mypy: disable-error-code=no-untyped-def

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ratebound._old.kernels import dispatch
from ratebound._old.kernels.dispatch import as_array, in_parts, loop

Pair = tuple[int, int]  # (a, b): value a must be at most value b
SWEEPS = 8  # of alternating projections; tests/_old/kernels/test_shapes.py bounds the error left
TOGETHER = 64  # at most this many lattices go through all sweeps together


def project_line(values: Any) -> Any:
    """The nearest values (..., k) that never decrease along the last axis: isotonic regression.

    The i-th value is the largest over a <= i of the smallest over c >= i of the mean of values a, ...,
    c. As i grows, for fixed a, the smallest is taken over fewer c, and the largest over more a. So the
    result never decreases, to the last bit.

    >>> import torch
    >>> project_line(torch.tensor([1.0, 3.0, 2.0, 2.0, 5.0]))
    tensor([1.0000, 2.3333, 2.3333, 2.3333, 5.0000])
    """
    size = values.shape[-1]
    if dispatch.by_numba(values):
        return _line_compiled(values)
    if size <= dispatch.LONGEST_LINE and dispatch.by_triton(1, values):
        from ratebound._old.kernels import shapes_triton

        return shapes_triton.project_line(values)
    place = torch.arange(size, device=values.device)
    first, last = place[:, None], place[None, :]
    # Differences from the first value are summed, which keeps sums small for similar values.
    base = values[..., :1]
    ends = (values - base).double().cumsum(-1)
    starts = torch.nn.functional.pad(ends, (1, 0))[..., :-1]
    means = (ends[..., None, :] - starts[..., :, None]) / (last - first + 1).clamp(min=1)
    means = means.masked_fill(last < first, float("inf"))
    smallest = means.flip(-1).cummin(-1)[0].flip(-1)
    pooled = smallest.masked_fill(first > last, float("-inf")).amax(-2)
    return (pooled + base).to(values.dtype)


def layers_of(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """The pairs in groups that share no value, so that each group is projected at once, exactly.

    >>> layers_of([(0, 1), (1, 2), (2, 3)])
    [[(0, 1), (2, 3)], [(1, 2)]]
    """
    layers: list[list[Pair]] = []
    for pair in pairs:
        free = (group for group in layers if not any(set(pair) & set(other) for other in group))
        group = next(free, None)
        if group is None:
            group = []
            layers.append(group)
        group.append(pair)
    return layers


def project_order(values: Any, pairs: Sequence[Pair], sweeps: int = 4 * SWEEPS) -> Any:
    """Values (..., n) near the given ones, with value a at most value b for each pair (a, b).

    >>> import torch
    >>> project_order(torch.tensor([4.0, 0.0, 1.0]), [(0, 1), (0, 2)])
    tensor([1.6667, 1.6667, 1.6667])
    """
    projected, sides = values.clone(), _places(tuple(pairs), values.device)
    moved = [torch.zeros_like(projected[..., low]) for low, _ in sides]
    for _ in range(sweeps):
        for group, (low, high) in enumerate(sides):
            below, above = projected[..., low], projected[..., high]
            now = ((below - above) / 2 + moved[group]).clamp_(min=0)
            change = now - moved[group]
            projected[..., low], projected[..., high] = below - change, above + change
            moved[group] = now
    # As often as there are values: by then a maximum has passed along every chain.
    up, down = projected.clone(), projected.clone()
    for _ in range(min(len(pairs), values.shape[-1])):
        for low, high in sides:
            up[..., high] = torch.maximum(up[..., high], up[..., low])
            down[..., low] = torch.minimum(down[..., low], down[..., high])
    return (up + down) / 2


@cache
def _places(pairs: tuple[Pair, ...], device: Any) -> list[Any]:
    """The lower and upper indices of pairs in disjoint groups; copied to a device only once."""
    return [torch.tensor(group, device=device).T for group in layers_of(pairs)]


def project_lattices(vertices: Any, monotone: Any, sweeps: int = SWEEPS) -> Any:
    """Vertices (..., 2^D, L) near the given ones, never decreasing along inputs with `monotone` (D, L).

    Bit d of a vertex's number is its position along input d. Along one input the nearest values are
    exact: each pair out of order becomes its mean. Dykstra's alternating projections go through the
    inputs `sweeps` times and converge to the nearest values that are monotone along all. A last pass
    makes them exactly monotone.

    >>> import torch
    >>> square = torch.tensor([[0.0], [2.0], [1.0], [1.0]])  # 2 at (1, 0), 1 at (1, 1)
    >>> project_lattices(square, torch.tensor([[True], [True]]))[:, 0]
    tensor([0.0000, 1.5000, 1.0000, 1.5000])
    """
    if dispatch.by_numba(vertices):
        return _lattices_compiled(vertices, monotone, sweeps)
    if dispatch.by_triton(len(monotone), vertices):
        from ratebound._old.kernels import shapes_triton

        return shapes_triton.project_lattices(vertices, monotone, sweeps)
    if vertices.device.type == "cpu" and bool(least_rise(vertices, monotone) >= 0):
        return vertices  # a check is cheap there
    projected = vertices.clone()
    sides = [_sides(projected, d) for d in range(len(monotone))]
    pushed = monotone.to(projected.dtype)  # 0 for inputs without a direction
    moved = [torch.zeros_like(low) for low, _ in sides]
    for _ in range(sweeps):
        for d, (low, high) in enumerate(sides):
            # Pairs move by opposite amounts, so Dykstra's correction is one number a pair.
            now = torch.add(moved[d], low - high, alpha=0.5).clamp_(min=0).mul_(pushed[d])
            change = now - moved[d]
            low -= change
            high += change
            moved[d] = now
    return in_order(projected, monotone)


def in_order(vertices: Any, monotone: Any) -> Any:
    """Vertices (..., 2^D, L) made monotone along monotone inputs; vertices in order do not change.

    Raising each upper value to its lower neighbour, input after input, gives every vertex the largest
    value below it, which is monotone along all inputs; lowering gives the smallest above it. Both take
    only maxima and minima, so no rounding is involved. Their mean is monotone too, because rounding
    never reverses x <= y.
    """
    up, down = vertices.clone(), vertices.clone()
    for d in range(len(monotone)):
        low, high = _sides(up, d)
        high.copy_(torch.where(monotone[d], torch.maximum(low, high), high))
        low, high = _sides(down, d)
        low.copy_(torch.where(monotone[d], torch.minimum(low, high), low))
    return (up + down) / 2


def least_rise(vertices: Any, monotone: Any) -> Any:
    """The least difference along any monotone input, at most 0: 0 if everything is in order."""
    least = torch.zeros((), dtype=vertices.dtype, device=vertices.device)
    for d in range(len(monotone)):
        low, high = _sides(vertices, d)
        least = torch.minimum(least, torch.where(monotone[d], high - low, 0.0).amin())
    return least


def _sides(vertices: Any, d: int) -> tuple[Any, Any]:
    """Views of the vertices at the lower and the upper end of input d, (..., 2^(D-1-d), 2^d, L)."""
    *stack, count, lattices = vertices.shape
    split = vertices.view(*stack, count // 2 ** (d + 1), 2, 2**d, lattices)
    return split.select(-3, 0), split.select(-3, 1)


# --- compiled ------------------------------------------------------------------------------------


def _line_compiled(values: Tensor) -> Tensor:
    """The nearest values (..., k) that never decrease along the last axis."""
    projected = values.clone(memory_format=torch.contiguous_format)
    lines = projected.view(-1, projected.shape[-1]).numpy()
    _pool_lines(lines, np.empty(lines.shape[1]), np.empty(lines.shape[1], np.int64))
    return projected


def _lattices_compiled(vertices: Tensor, monotone: Tensor, sweeps: int) -> Tensor:
    """Vertices (..., 2^D, L) near the given ones, in order along inputs with `monotone` (D, L)."""
    projected = vertices.clone(memory_format=torch.contiguous_format)
    stack = projected.view(-1, *projected.shape[-2:]).numpy()
    pushed, (settings, corners, lattices) = as_array(monotone.to(projected.dtype)), stack.shape
    parts = -(-lattices // TOGETHER)
    together = -(-lattices // parts)

    def run(first: int, last: int) -> None:
        room = projected.new_empty(3, corners, together).numpy()
        moved = projected.new_empty(len(pushed), corners // 2, together).numpy()
        _project(stack, pushed, sweeps, *room, moved, first, last)

    in_parts(run, settings * parts, 2 * sweeps * len(pushed) * corners * together)
    return projected


@loop(nogil=True)
def _pool_lines(lines, means, sizes):
    """Pool neighbours that are out of order, in place; lines in order do not change by a bit.

    Means of pools rise strictly, in double precision, so that the rounded values never fall.
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


@loop(nogil=True)
def _project(stack, pushed, sweeps, own, up, down, moved, first, last):
    """Project parts from `first` up to `last` of the lattices of all settings, in place."""
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
            continue  # vertices in order would not change
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


@loop(nogil=True)
def _in_order(own, pushed, start, count):
    """Whether every vertex is at least its lower neighbour along monotone inputs."""
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


@loop(nogil=True)
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
