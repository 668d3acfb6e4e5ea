"""Rows held out: the same share of every cell, so that every group and label has its part in both."""

from __future__ import annotations

import numpy as np

from ratebound.problem.frames import Array


def held_out(cells: Array, share: float, seed: int) -> Array:
    """Which rows to hold out (n,): the same share of every cell, to rounding, chosen by chance.

    Rows are lined up cell by cell, shuffled within, and taken at even distances; so every group and
    label has its share, however small the cells.
    """
    random = np.random.default_rng(seed)
    order = np.lexsort((random.random(len(cells)), cells))
    passed = np.floor((np.arange(len(cells) + 1) * share) + random.random())
    chosen = np.zeros(len(cells), dtype=bool)
    chosen[order] = np.diff(passed) > 0
    return chosen
