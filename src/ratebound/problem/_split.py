"""Splitting each constraint's coefficients into those of yeses and those of noes.

On a row of data a constraint has one coefficient c, the sum over the slices the row lies in. A yes
there costs max(c, 0), a no max(-c, 0), and it is these that a model's loss multiplies. Neither is
linear in the slices' coefficients, but both depend only on *which* of the constraint's own few
slices the row lies in. So for each constraint: list the patterns that occur, and solve for
coefficients over its slices that give max(c, 0) on each pattern. For one group against everyone
(patterns: neither, everyone, both) that always succeeds. Where groups overlap it may not; then each
pattern of two or more slices becomes a slice of its own, and what the single ones leave is put there.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ratebound.base.types import Array
from ratebound.problem.compiled import CHUNK, Block, bit
from ratebound.problem.masks import patterns

Entry = tuple[int, int, float]  # row, slice, coefficient


def split(
    nets: dict[float | str, sparse.csr_array], membership: Array, slice_count: int
) -> tuple[tuple[Block, ...], Array, int]:
    """Blocks with `up` and `down` for each threshold's coefficients, and membership with new slices."""
    extra: dict[bytes, int] = {}  # packed mask over cells -> index of the slice it becomes
    entries = {at: _split_rows(net, membership, slice_count, extra) for at, net in nets.items()}
    membership = _widened(membership, slice_count, list(extra)) if extra else membership
    total = slice_count + len(extra)
    blocks = []
    for at, net in nets.items():
        shape = (net.shape[0], total)
        up, down = (_matrix(side, shape) for side in entries[at])
        widened = sparse.csr_array((net.data, net.indices, net.indptr), shape=shape)
        blocks.append(Block(at, widened, up, down))
    return tuple(blocks), membership, total


def _split_rows(
    net: sparse.csr_array, membership: Array, slice_count: int, extra: dict[bytes, int]
) -> tuple[list[Entry], list[Entry]]:
    up: list[Entry] = []
    down: list[Entry] = []
    for row in range(net.shape[0]):
        own = slice(net.indptr[row], net.indptr[row + 1])
        columns, coefficients = net.indices[own], net.data[own]
        if not len(columns):
            continue
        inside = [bit(membership, column) for column in columns]
        example, which = patterns(inside[::-1], len(membership))
        found = np.column_stack([mask[example] for mask in inside]).astype(float)  # (p, k)
        values = found @ coefficients
        values[np.abs(values) < 1e-13 * np.abs(coefficients).max()] = 0.0  # rounding of a zero
        for side, wanted in ((up, np.maximum(values, 0)), (down, np.maximum(-values, 0))):
            solved = np.linalg.lstsq(found, wanted, rcond=None)[0]
            if not np.allclose(found @ solved, wanted, rtol=1e-12, atol=1e-14 * np.abs(values).max()):
                several = found.sum(axis=1) > 1
                solved = wanted[~several] @ found[~several]
                for pattern in np.flatnonzero(several):
                    mask = np.packbits(which == pattern).tobytes()
                    index = extra.setdefault(mask, slice_count + len(extra))
                    side.append((row, index, float(wanted[pattern] - found[pattern] @ solved)))
            side += zip([row] * len(columns), columns.tolist(), solved.tolist(), strict=True)
    return up, down


def _widened(membership: Array, slice_count: int, masks: list[bytes]) -> Array:
    """Membership with one more slice for each packed mask over cells, a chunk of cells at a time."""
    chunks = []
    for start in range(0, len(membership), CHUNK):  # CHUNK is a multiple of 8, so bytes stay whole
        old = membership[start : start + CHUNK]
        part = slice(start // 8, (start + CHUNK) // 8)
        packed = np.stack([np.frombuffer(mask, np.uint8)[part] for mask in masks])
        new = np.unpackbits(packed, axis=1, count=len(old)).T
        chunks.append(
            np.packbits(np.hstack([np.unpackbits(old, axis=1, count=slice_count), new]), axis=1)
        )
    return np.concatenate(chunks)


def _matrix(entries: list[Entry], shape: tuple[int, int]) -> sparse.csr_array:
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    matrix = sparse.csr_array((np.array(values, float), (rows, columns)), shape=shape)
    matrix.eliminate_zeros()
    return matrix
