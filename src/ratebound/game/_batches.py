"""Which rows each round sees: every population in a shuffle of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ratebound.base.arrays import as_like, namespace
from ratebound.game.game import Game
from ratebound.problem.compiled import Compiled


def batches(
    compiled: Compiled, game: Game, batch_size: int | None, seed: int
) -> Iterator[tuple[Any, Any]]:
    """Rows of each round, None for all of them, with the share of its population each row stands for."""
    sizes = [len(population) for population in compiled.populations.values()]
    if batch_size is None or all(size <= batch_size for size in sizes):
        while True:
            yield None, 1.0
    drawn = [min(size, batch_size) for size in sizes]
    share: Any = sizes[0] / drawn[0]
    if len(sizes) > 1:
        share = as_like(np.repeat(np.array(sizes) / drawn, drawn), game.example)
    random = np.random.default_rng(seed)
    starts = [where.start for where in compiled.rows.values()]
    streams = [_shuffles(n, b, a, random, game) for n, b, a in zip(sizes, drawn, starts, strict=True)]
    while True:
        rows = [next(stream) for stream in streams]
        yield rows[0] if len(rows) == 1 else namespace(rows[0]).concatenate(rows), share


def _shuffles(
    size: int, batch: int, start: int, random: np.random.Generator, game: Game
) -> Iterator[Any]:
    """Batches of one population; the rows a shuffle leaves over are left out until the next."""
    while True:
        order = game.on_device(random.permutation(size) + start)
        for first in range(0, size - batch + 1, batch):
            yield order[first : first + batch]
