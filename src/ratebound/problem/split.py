"""Splitting each constraint's coefficients into those of yeses and those of noes.

On a row of data a constraint has one coefficient c, the sum over the slices the row lies in. A yes
there costs max(c, 0), a no max(-c, 0), and it is these that a model's loss multiplies. Neither is
linear in the slices' coefficients, but both depend only on *which* of the constraint's own few
slices the row lies in. So for each constraint: list the patterns that occur, and solve for
coefficients over its slices that give max(c, 0) on each pattern. For one group against everyone
(patterns: neither, everyone, both) that always succeeds; where it does not, each pattern becomes a
slice of its own.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ratebound.problem.compiled import Block, bit
from ratebound.problem.population import Array

Entry = tuple[int, int, float]  # row, slice, coefficient


def split(
    nets: dict[float | str, sparse.csr_array], membership: Array, slice_count: int
) -> tuple[tuple[Block, ...], Array, int]:
    """Blocks with `up` and `down` for each threshold's coefficients, and membership with new slices."""
    extra: dict[bytes, int] = {}  # packed mask over cells -> index of the slice it becomes
    entries = {at: _split_rows(net, membership, slice_count, extra) for at, net in nets.items()}
    if extra:
        masks = [np.unpackbits(np.frombuffer(m, np.uint8), count=len(membership)) for m in extra]
        old = np.unpackbits(membership, axis=1, count=slice_count)
        membership = np.packbits(np.column_stack([old, *masks]), axis=1)
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
        patterns, which = _patterns(membership, columns)
        values = patterns @ coefficients
        values[np.abs(values) < 1e-13 * np.abs(coefficients).max()] = 0.0  # rounding of a zero
        for side, wanted in ((up, np.maximum(values, 0)), (down, np.maximum(-values, 0))):
            solved = np.linalg.lstsq(patterns, wanted, rcond=None)[0]
            if np.allclose(patterns @ solved, wanted, rtol=1e-12, atol=1e-14 * np.abs(values).max()):
                side += zip([row] * len(columns), columns.tolist(), solved.tolist(), strict=True)
                continue
            for pattern in np.flatnonzero(wanted):
                mask = np.packbits(which == pattern).tobytes()
                index = extra.setdefault(mask, slice_count + len(extra))
                side.append((row, index, float(wanted[pattern])))
    return up, down


def _patterns(membership: Array, columns: Array) -> tuple[Array, Array]:
    """The distinct combinations (p, k) of `columns` that occur, and each cell's combination."""
    inside = np.column_stack([bit(membership, column) for column in columns])
    if len(columns) <= 16:
        code = inside @ (1 << np.arange(len(columns), dtype=np.int64))
        present, which = np.flatnonzero(np.bincount(code)), code
        where = np.zeros(present[-1] + 1, dtype=np.int64)
        where[present] = np.arange(len(present))
        patterns = (present[:, None] >> np.arange(len(columns))) & 1
        return patterns.astype(float), where[which]
    patterns, which = np.unique(inside, axis=0, return_inverse=True)
    return patterns.astype(float), which.reshape(-1)


def _matrix(entries: list[Entry], shape: tuple[int, int]) -> sparse.csr_array:
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    matrix = sparse.csr_array((np.array(values, float), (rows, columns)), shape=shape)
    matrix.eliminate_zeros()
    return matrix
