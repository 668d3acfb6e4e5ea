"""Rows held out: the same share of every cell, so that every group and label has its part in both."""

from __future__ import annotations

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile_part

AT_ONCE = 2**22  # rows that are lined up at a time


def parted(
    compiled: Compiled, share: float, seed: int, groups: Array | None = None
) -> tuple[Compiled, Compiled]:
    """The same problem on rows to train on, and on the share of every cell that is held out of them.

    Counts speak of all rows, whichever part they are counted on. Of every one of `groups`, given by
    their numbers (n,), a row stays to train on.

    >>> from ratebound import Population, Problem, compile, recall
    >>> people = Population(None, [0, 1] * 50, columns={"sex": ["F"] * 50 + ["M"] * 50})
    >>> parts = parted(compile(Problem("error_rate()", [recall(sex="F") >= 0.9]), people), 0.2, seed=0)
    >>> [len(part.first) for part in parts], [int(part.first.y.sum()) for part in parts]
    ([80, 20], [40, 10])
    """
    aside = held_out(compiled.cells, share, seed)
    if groups is not None:
        aside[np.unique(groups, return_index=True)[1]] = False
    if aside.all() or not aside.any():
        empty, other = ("training", "smaller") if aside.all() else ("held-out", "larger")
        raise ValueError(f"among the 0 {empty} rows nothing can be measured: choose a {other} share")
    return _on(compiled, ~aside, "training"), _on(compiled, aside, "held-out")


def _on(compiled: Compiled, chosen: Array, called: str) -> Compiled:
    try:
        return compile_part(compiled, chosen)
    except ValueError as error:
        raise ValueError(f"among the {chosen.sum():,} {called} rows: {error}") from None


def held_out(cells: Array, share: float, seed: int) -> Array:
    """Which rows to hold out (n,): the same share of every cell, to rounding, chosen by chance.

    Rows are lined up cell by cell, shuffled within, and taken at even distances; so every group and
    label has its share, however small the cells. Of very many rows so many are lined up at a time.
    """
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(cells), dtype=bool)
    for start in range(0, len(cells), AT_ONCE):
        some = cells[start : start + AT_ONCE]
        order = np.lexsort((random.random(len(some)), some))
        passed = np.floor((np.arange(len(some) + 1) * share) + random.random())
        chosen[start + order] = np.diff(passed) > 0
    return chosen
