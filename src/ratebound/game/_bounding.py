"""How large the violations shown to a λ-player can be, whatever the scores and the batch.

A violation is an offset plus a sum over slices of a coefficient times the slice's total. A total lies
between 0 and

    the weight of the slice                          for rates, exact or by running means
    that times the largest value of the proxy        for proxies
    what a batch of the heaviest row stands for      for unbiased estimates
"""

from __future__ import annotations

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.compiled import CHUNK, Compiled


def largest_violations(compiled: Compiled, *, largest_proxy: float | None, unbiased: bool) -> Array:
    """(m,) bounds on the size of each violation as games are played.

    `largest_proxy` is the largest value of the proxy that is shown, None where decisions are.
    """
    most = _heaviest_batch(compiled) if unbiased else compiled.slice_weight
    low, high = compiled.offset.copy(), compiled.offset.copy()
    for block in compiled.blocks:
        if largest_proxy is None:
            sides = [block.net * most]
        else:  # a proxy of yeses and one of noes, from which the rows that `down` counts are taken off
            counted = block.costs @ np.append(np.zeros(len(most)), compiled.slice_weight)
            low, high = low - counted, high - counted
            sides = [block.costs * np.tile(largest_proxy * most, 2)]
        for side in sides:
            low += side.minimum(0).sum(axis=1)
            high += side.maximum(0).sum(axis=1)
    sizes: Array = np.maximum(abs(low), abs(high)) / compiled.scale
    return sizes[1:]


def _heaviest_batch(compiled: Compiled) -> Array:
    """(slices,) the largest total an unbiased estimate can give each slice.

    A batch that holds nothing but a slice's heaviest row takes it for every row of its population.
    """
    lengths = [len(population) for population in compiled.populations.values()]
    sizes = np.repeat(lengths, lengths).astype(float)
    stands_for = sizes if compiled.weights is None else sizes * compiled.weights
    by_cell = np.zeros(compiled.cell_count)
    np.maximum.at(by_cell, compiled.cells, stands_for)
    found = np.zeros(compiled.slice_count)
    for start in range(0, compiled.cell_count, CHUNK):
        chunk = slice(start, start + CHUNK)
        found = np.maximum(found, (compiled.unpacked(chunk) * by_cell[chunk, None]).max(axis=0))
    return found
