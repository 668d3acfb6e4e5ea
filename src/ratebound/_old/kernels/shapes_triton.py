"""Projections onto shapes on a GPU, one Triton kernel each; `shapes` defines them.

In PyTorch's operations, the projection of lattices is hundreds of tiny kernels.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


def project_line(values: Tensor) -> Tensor:
    """As `shapes.project_line`, for at most `dispatch.LONGEST_LINE` values."""
    values = values.contiguous()
    out, size = torch.empty_like(values), values.shape[-1]
    square = triton.next_power_of_2(size)
    if values.numel():
        _line[(values.numel() // size,)](
            values, out, size, SIZE=square, num_warps=max(1, min(8, square**2 // 256))
        )
    return out


@triton.jit
def _smaller(a, b):
    """As `torch.minimum`: a model that has diverged stays NaN, so that the failure shows."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit(do_not_specialize=["size"])
def _line(values, out, size, SIZE: tl.constexpr):
    """One line: for each value, the largest of the smallest means that include it."""
    place = tl.arange(0, SIZE)
    own = tl.program_id(0).to(tl.int64) * size
    x = tl.load(values + own + place, mask=place < size, other=0.0)
    base = tl.load(values + own)
    # Differences from the first value are summed, which keeps sums small for similar values.
    above = tl.where(place < size, x - base, 0.0).to(tl.float64)
    ends = tl.cumsum(above, 0)
    first, last = place[:, None], place[None, :]
    length = tl.maximum(last - first + 1, 1).to(tl.float64)
    means = (ends[None, :] - (ends - above)[:, None]) / length
    means = tl.where((first <= last) & (last < size), means, float("inf"))
    smallest = tl.associative_scan(means, 1, _smaller, reverse=True)
    pooled = tl.reduce(tl.where(first <= last, smallest, float("-inf")), 0, _larger)
    tl.store(out + own + place, (pooled + base).to(x.dtype), mask=place < size)


def project_lattices(vertices: Tensor, monotone: Tensor, sweeps: int) -> Tensor:
    """As `shapes.project_lattices`, for lattices of at most `dispatch.MOST_INPUTS` inputs."""
    vertices = vertices.contiguous()
    out = torch.empty_like(vertices)
    corners, lattices = vertices.shape[-2:]
    taken = max(1, min(triton.next_power_of_2(lattices), 256 // corners))
    _project[triton.cdiv(lattices, taken), vertices.numel() // (corners * lattices)](
        vertices, monotone, out, lattices, sweeps,
        RANK=len(monotone), TAKEN=taken, num_warps=max(1, min(8, taken * corners // 256)),
    )  # fmt: skip
    return out


@triton.jit
def _halves(x, TAKEN: tl.constexpr, HALF: tl.constexpr):
    """(TAKEN, HALF) values at the lower and upper end of the input in a number's lowest bit."""
    return tl.split(tl.reshape(x, (TAKEN, HALF, 2)))


@triton.jit
def _rejoined(low, high, TAKEN: tl.constexpr, HALF: tl.constexpr):
    """The halves joined again; the lowest bit is now the highest, and the next input's the lowest."""
    return tl.reshape(tl.permute(tl.join(low, high), (0, 2, 1)), (TAKEN, 2 * HALF))


@triton.jit(do_not_specialize=["lattices", "sweeps"])
def _project(
    vertices, monotone, out, lattices, sweeps,
    RANK: tl.constexpr, TAKEN: tl.constexpr,
):  # fmt: skip
    """Some lattices of one setting."""
    HALF: tl.constexpr = 2 ** (RANK - 1)
    lattice = tl.program_id(0) * TAKEN + tl.arange(0, TAKEN)[:, None]
    corner = tl.arange(0, 2 * HALF)[None, :]
    inside = (lattice < lattices) & (corner >= 0)
    place = (tl.program_id(1).to(tl.int64) * 2 * HALF + corner) * lattices + lattice
    x = tl.load(vertices + place, mask=inside, other=0.0)
    pushed, moved = (), ()
    for d in tl.static_range(RANK):
        flags = monotone + d * lattices + lattice
        pushed = pushed + (tl.load(flags, mask=lattice < lattices, other=0) != 0,)
        moved = moved + (tl.zeros((TAKEN, HALF), x.dtype),)
    for _ in range(sweeps):
        after = ()
        for d in tl.static_range(RANK):
            low, high = _halves(x, TAKEN, HALF)
            # Pairs move by opposite amounts, so Dykstra's correction is one number a pair.
            now = tl.where(pushed[d], _larger(moved[d] + (low - high) * 0.5, 0.0), 0.0)
            change = now - moved[d]
            x = _rejoined(low - change, high + change, TAKEN, HALF)
            after = after + (now,)
        moved = after
    up, down = x, x
    for d in tl.static_range(RANK):
        low, high = _halves(up, TAKEN, HALF)
        up = _rejoined(low, tl.where(pushed[d], _larger(low, high), high), TAKEN, HALF)
        low, high = _halves(down, TAKEN, HALF)
        down = _rejoined(tl.where(pushed[d], _smaller(low, high), low), high, TAKEN, HALF)
    tl.store(out + place, (up + down) * 0.5, mask=inside)
