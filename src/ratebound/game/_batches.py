"""Which rows each round sees: every population in a shuffle of its own.

Of several processes each draws from its own share of the rows, and their draws together are the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ratebound.base import processes
from ratebound.base.arrays import Array, as_like, namespace
from ratebound.game.game import Game
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population


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
    orders = [partial(_orders, population, random, game) for population in compiled.populations.values()]
    streams = [_drawn(*each, game) for each in zip(orders, own, starts, in_a_pass, strict=True)]
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


def _orders(population: Population, random: np.random.Generator, game: Game) -> Iterator[Array]:
    """The numbers of all rows of a population once, in a new order; of rows on disk some at a time."""
    own = random if game.rules.shuffle else None
    if population.stored:
        yield from population.features.windows(own)
    else:
        yield np.arange(len(population)) if own is None else own.permutation(len(population))


def _drawn(
    orders: Callable[[], Iterator[Array]], batch: int, start: int, in_a_pass: int, game: Game
) -> Iterator[Any]:
    """Batches of one population; the rows a pass leaves over are left out until the next.

    A process with few rows may begin its next pass before the others have ended theirs.
    """
    while True:
        left, given = np.empty(0, dtype=np.int64), 0
        for order in orders():
            # Not moved to a GPU where rows are on disk: they are looked for here first.
            rows = order + start
            rows = np.concatenate([left, rows]) if len(left) else rows
            whole = min(in_a_pass - given, len(rows) // max(batch, 1))
            given += whole
            placed = rows if game.compiled.stored else game.on_device(rows)
            yield from (placed[place * batch : (place + 1) * batch] for place in range(whole))
            left = rows[whole * batch :]
