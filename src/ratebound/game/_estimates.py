"""Rates from minibatches: what a batch says of the totals in each slice.

The weight of every slice is known, so neither estimate ever divides by what a batch happened to
hold, and a group absent from a batch is no special case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ratebound.base.arrays import Array, namespace

Estimate = Literal["running", "unbiased"]


@dataclass(frozen=True)
class RunningMeans:
    """The mean in each slice over about the last `window` of its rows seen.

    A batch with n rows of a slice moves its mean by n / max(n, window) of the way: the rates of large
    groups are the batch's own, while those of rare groups gather over many batches.
    """

    means: Array  # (K, q, S) of q numbers of every row
    slice_weight: Array  # (S,)
    window: Array  # (S,) in units of weight

    def seen(self, totals: Array, sizes: Array) -> RunningMeans:
        """After a batch with these totals (K, q, S) and weights (1, S) in each slice."""
        larger = namespace(sizes).maximum(sizes, self.window)
        means = self.means + (totals - sizes * self.means) / larger
        return RunningMeans(means, self.slice_weight, self.window)

    def totals(self) -> Array:
        return self.means * self.slice_weight


def running_means(means: Array, slice_weight: Array, slice_rows: Array, window: float) -> RunningMeans:
    """Means starting from exact ones; a window is no longer than its slice."""
    rows = slice_rows.clip(min=1)
    tiny = 1e-30  # a slice without rows or weight never moves, and is never divided by
    return RunningMeans(means, slice_weight, slice_weight / rows * rows.clip(max=window) + tiny)
