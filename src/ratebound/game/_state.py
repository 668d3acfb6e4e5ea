"""What goes into a round of the game, what it shows, and what stays between rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound.base.arrays import Array, as_like, namespace
from ratebound.base.processes import total
from ratebound.game._estimates import RunningMeans
from ratebound.game._places import Places
from ratebound.game.players import Multipliers
from ratebound.problem.compiled import Compiled

Means = tuple[RunningMeans, ...]  # per block: of each decision from 1 on, or of a proxy of targets


@dataclass(frozen=True)
class Batch:
    """Rows drawn for one round: their cells, and how much of the whole each stands for."""

    cells: Array  # (b,)
    weight: Array | float  # (b,) each row's own weight, or 1
    share: Array | float  # (b,) or one number: rows of its population per row drawn
    amounts: tuple[Array | None, ...]  # for each block (b,) what a row counts for besides, or None

    def weights(self, block: int) -> Array | float:
        """What each row counts for in a block."""
        amounts = self.amounts[block]
        return self.weight if amounts is None else self.weight * amounts


@dataclass(frozen=True)
class View:
    """A batch with its scores, as each block of a game sees them."""

    batch: Batch
    shifted: list[Array]  # (K, b) or (K, D, b) for each block, scores relative to its threshold
    places: list[Places]  # for each block, where its rows are found


@dataclass(frozen=True)
class Look:
    """What a batch shows the λ-player."""

    values: Array  # (K, 1+m) estimates of the objective and the violations on all rows
    means: Means  # after the batch


@dataclass(frozen=True)
class GameState:
    """What a game holds between rounds; with a judge, the means are of its rows."""

    multipliers: Multipliers
    means: Means
    thresholds: Array  # (K, L); with D > 2 classes (K, L · (D - 1)), one each for all but the first
    threshold_moments: tuple[Array, Array] | None = None


def drawn_share(compiled: Compiled, rows: Array | None, example: Array) -> Array | float:
    """For each of these stacked rows, how many rows of its population it stands for; 1 if all are drawn.

    Computed where the rows are, without waiting for them.
    """
    if rows is None:
        return 1.0
    sizes = list(compiled.sizes.values())
    if len(sizes) == 1:
        return float(sizes[0] / max(1, total(np.array([len(rows)]))[0]))
    index = np.asarray(rows) if namespace(rows) is np else rows
    shares: Array | float = 0.0
    for size, where in zip(sizes, compiled.rows.values(), strict=True):
        inside = as_like((index >= where.start) & (index < where.stop), example)
        shares = shares + inside * (size / total(inside.sum()[None]).clip(min=1))
    return shares
