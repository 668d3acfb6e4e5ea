"""A search on a sample of the rows is fast, and correct where rules are judged on all of them.

Every cell keeps its weight, so that rates which cells determine are exact, and rare cells keep
their rows. A rule that is best on a sample may still miss a bound on all rows by chance. How much
it misses there and on the sample differ by about as much at rules nearby.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ratebound.learning.rules import Rules

SEED = 7_919  # made data often have a small one, and would depend on the same numbers
FEWEST_ROWS = 150  # of a cell, about, that a sample keeps; all if there are fewer


def take_sample(rules: Rules, rows: int) -> Rules:
    """Return the same rules on about so many rows, with weights that make up for the others."""
    compiled = rules.compiled
    cell = compiled.cell
    counts = np.bincount(cell)
    wanted = np.maximum(counts * rows // len(cell), FEWEST_ROWS)
    random = np.random.default_rng(SEED).random(len(cell))
    chosen = np.flatnonzero(random * counts[cell] < wanted[cell])

    weights = compiled.weights
    if weights is None:
        weights = np.ones(len(cell))
    of_cells = np.bincount(cell, weights)
    of_chosen = np.bincount(cell[chosen], weights[chosen], len(of_cells))
    factors = of_cells / np.maximum(of_chosen, 1e-300)
    blocks = []
    for block in compiled.blocks:
        if block.amounts is not None:
            block = replace(block, amounts=block.amounts[chosen])
        blocks.append(block)
    sampled = replace(
        compiled,
        cell=cell[chosen],
        weights=weights[chosen] * factors[cell[chosen]],
        blocks=tuple(blocks),
    )
    forecast = np.ascontiguousarray(rules.forecast[:, chosen])
    return Rules(sampled, rules.terms, forecast)
