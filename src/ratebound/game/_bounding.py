"""How large the violations shown to a λ-player can be, whatever the scores and the batch.

A violation is an offset plus a sum over slices of coefficients times the slice's totals: of each
decision from 1 on, of which a row has at most one, or of a proxy of each target. A total lies between
0 and

    the weight of the slice                          for rates, exact or by running means
    that times the largest value of the proxy        for proxies
    what a batch of the heaviest row stands for      for unbiased estimates
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ratebound.base.processes import gathered
from ratebound.base.types import Array
from ratebound.problem.coefficients import CHUNK, Block, Split
from ratebound.problem.compiled import Compiled


def largest_violations(
    compiled: Compiled, split: Split, *, largest_proxy: float | None, unbiased: bool
) -> Array:
    """(m,) bounds on the size of each violation as games are played.

    `largest_proxy` is the largest value of the proxy that is shown, None where decisions are.
    """
    low, high = compiled.offset.copy(), compiled.offset.copy()
    for block, costs in zip(compiled.blocks, split.costs, strict=True):
        weight = compiled.slice_weight(block)
        most = _heaviest_batch(compiled, block) if unbiased else weight
        if largest_proxy is None:
            each = [part * most for part in _parts(block.net, compiled.slice_count)]
            low += functools.reduce(lambda a, b: a.minimum(b), each, 0 * each[0]).sum(axis=1)
            high += functools.reduce(lambda a, b: a.maximum(b), each, 0 * each[0]).sum(axis=1)
            continue
        # The costs count from 0 up, and `net` from what they come to where every decision is 0.
        for part, target in zip(_parts(costs, compiled.slice_count), split.targets, strict=True):
            counted = 0.0 if target[0] else part @ weight
            low += (part * (largest_proxy * most)).minimum(0).sum(axis=1) - counted
            high += (part * (largest_proxy * most)).maximum(0).sum(axis=1) - counted
    sizes: Array = np.maximum(abs(low), abs(high)) / compiled.scale
    return sizes[1:]


def _parts(matrix: Any, size: int) -> list[Any]:
    """The columns of a matrix (1+m, parts · size), part by part."""
    return [matrix[:, start : start + size] for start in range(0, matrix.shape[1], size)]


def _heaviest_batch(compiled: Compiled, block: Block) -> Array:
    """(slices,) the largest total an unbiased estimate can give each slice.

    A batch that holds nothing but a slice's heaviest row takes it for every row of its population.
    """
    lengths = [len(population) for population in compiled.populations.values()]
    sizes = np.repeat(list(compiled.sizes.values()), lengths).astype(float)
    weights = compiled.weights_in(block)
    stands_for = sizes if weights is None else sizes * weights
    by_cell = np.zeros(compiled.cell_count)
    np.maximum.at(by_cell, compiled.cells, stands_for)
    by_cell = np.maximum.reduce(gathered(by_cell))
    found = np.zeros(compiled.slice_count)
    for start in range(0, compiled.cell_count, CHUNK):
        chunk = slice(start, start + CHUNK)
        found = np.maximum(found, (compiled.unpacked(chunk) * by_cell[chunk, None]).max(axis=0))
    return found
