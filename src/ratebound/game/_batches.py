"""Which rows each round sees: every population in a shuffle of its own.

Of several processes each draws from its own share of the rows, and their draws together are the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ratebound.base import processes
from ratebound.base.arrays import as_like, namespace
from ratebound.game.game import Game
from ratebound.problem.compiled import Compiled


def batches(
    compiled: Compiled, game: Game, batch_size: int | None, seed: int
) -> Iterator[tuple[Any, Any]]:
    """Rows of each round, None for all of them, with the share of its population each row stands for."""
    sizes = list(compiled.sizes.values())
    if batch_size is None or all(size <= batch_size for size in sizes):
        while True:
            yield None, 1.0
    drawn = [min(size, batch_size) for size in sizes]
    here = [len(population) for population in compiled.populations.values()]
    shares = zip(*processes.gathered(here), strict=True)
    parts = [dealt_out(batch, each) for batch, each in zip(drawn, shares, strict=True)]
    own = [part[processes.rank()] for part in parts]
    share: Any = sizes[0] / drawn[0]
    if len(sizes) > 1:
        share = as_like(np.repeat(np.array(sizes) / drawn, own), game.example)
    random = np.random.default_rng([seed, processes.rank()] if processes.count() > 1 else seed)
    starts = [where.start for where in compiled.rows.values()]
    in_a_pass = [size // batch for size, batch in zip(sizes, drawn, strict=True)]
    streams = [_shuffles(*each, random, game) for each in zip(here, own, starts, in_a_pass, strict=True)]
    while True:
        rows = [next(stream) for stream in streams]
        yield rows[0] if len(rows) == 1 else namespace(rows[0]).concatenate(rows), share


def dealt_out(batch: int, shares: Sequence[int]) -> list[int]:
    """How many rows of a batch each process draws, in proportion to the rows that it has.

    >>> dealt_out(10, [500, 500, 500])
    [4, 3, 3]
    >>> dealt_out(10, [900, 100])
    [9, 1]
    """
    quotas = batch * np.array(shares) / sum(shares)
    found = np.floor(quotas + 1e-9).astype(int)
    largest = np.argsort(found - quotas, kind="stable")
    found[largest[: batch - found.sum()]] += 1
    return found.tolist()


def _shuffles(
    size: int, batch: int, start: int, in_a_pass: int, random: np.random.Generator, game: Game
) -> Iterator[Any]:
    """Batches of one population; the rows a shuffle leaves over are left out until the next.

    A process with few rows may begin its next shuffle before the others have ended theirs.
    """
    while True:
        order = random.permutation(size) if game.rules.shuffle else np.arange(size)
        order = game.on_device(order + start)
        for place in range(min(in_a_pass, size // max(batch, 1))):
            yield order[place * batch : (place + 1) * batch]
