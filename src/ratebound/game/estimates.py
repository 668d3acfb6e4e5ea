"""Rates from minibatches: what a batch says of the totals at each place.

The weight of every place is known, so neither estimate ever divides by what a batch happened to
hold, and a group absent from a batch is no special case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ratebound.game.arrays import Array, namespace

Estimate = Literal["running", "unbiased"]


@dataclass(frozen=True)
class RunningMeans:
    """The mean at each place over about the last `window` rows seen there.

    A batch with n rows of a place moves its mean by n / max(n, window) of the way: the rates of large
    groups are the batch's own, while those of rare groups gather over many batches.
    """

    means: Array  # (K, P)
    place_weight: Array  # (P,)
    window: Array  # (P,) in units of weight

    def seen(self, totals: Array, sizes: Array) -> RunningMeans:
        """After a batch with these totals (K, P) and weights (P,) at each place."""
        larger = namespace(sizes).maximum(sizes, self.window)
        means = self.means + (totals - sizes * self.means) / larger
        return RunningMeans(means, self.place_weight, self.window)

    def totals(self) -> Array:
        return self.means * self.place_weight


def running_means(means: Array, place_weight: Array, place_rows: Array, window: float) -> RunningMeans:
    """Means starting from exact ones; a place's window is no longer than the place has rows."""
    rows = place_rows.clip(min=1)
    tiny = 1e-30  # a place without rows or weight never moves, and is never divided by
    return RunningMeans(means, place_weight, place_weight / rows * rows.clip(max=window) + tiny)
