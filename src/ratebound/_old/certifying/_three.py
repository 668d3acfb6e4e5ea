"""One mean of rows that add one of three values, such as wins and losses against an existing model.

"Not worse than the model in use by more than 0.005" is such a mean: a row that only the new model gets
right adds 1, a row that only the other one gets right takes 1 away, and the rest add nothing. Its test
is Tango's score test of paired proportions, with an enumerated tail instead of a normal one.

Samples are ordered by the score: the mean over its standard deviation at the constrained estimate, which
just keeps the promise. The p-value is the largest probability of a sample at least as good among the
rates that just keep the promise, over the shares of bad rows inside an exact interval, plus the
interval's error (Berger and Boos). A row that adds more never makes a sample worse, so the probability
grows with the share of good rows and falls with the share of bad rows. Between two points of the line it
is at most its value with the larger share of good rows and the smaller share of bad rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.certifying._pair import FAR_OUT, largest_on_line, masses, one_sided, window

PAIRED = "exact score test of paired rows (Berger–Boos)"
ROUNDING = 1e-9
CHUNK = 1e6  # numbers at a time


def three_values_p_value(
    values: tuple[float, float, float], counts: tuple[int, int, int], gamma: float
) -> float:
    """The p-value of a mean above 0, of so many rows with each of the values, the least first.

    `gamma` is spent on the nuisance.

    >>> round(three_values_p_value((-0.95, 0.05, 1.05), (4, 192, 4), 0.0002), 4)
    0.003
    """
    line = Boundary(*values, rows=sum(counts))
    bad, _, good = counts
    seen = float(line.score(np.array(good), np.array(bad)))
    if seen <= 0:
        return 1.0
    least, most = line.ends
    if gamma > 0:
        low, high = one_sided(bad, line.rows, gamma / 2)
        if high < least:  # the interval leaves no share of bad rows with which the promise is broken
            return min(gamma, 1.0)
        least, most = min(max(least, low), most), min(most, high)
    bads = window(line.rows, least, most)
    needed = line.critical(seen * (1 - ROUNDING), bads)
    needed = np.where(bads <= bad, np.minimum(needed, good), needed)  # rounding apart
    needed = np.minimum.accumulate(needed[::-1])[::-1]  # it falls with fewer bad rows

    def probability(share_bad: Array, share_good: Array) -> Array:
        step = max(1, int(CHUNK // len(bads)))
        parts = [
            _tail(bads, needed, line.rows, share_bad[i : i + step], share_good[i : i + step])
            for i in range(0, len(share_bad), step)
        ]
        return np.concatenate(parts) + FAR_OUT

    largest = largest_on_line(
        lambda bad: probability(bad, line.good(bad)),
        lambda low, high: probability(low, line.good(high)),
        least,
        most,
    )
    return min(largest + gamma, 1.0)


@dataclass(frozen=True)
class Boundary:
    """The shares of bad and good rows with which the mean is 0: low < 0 < high, and middle between."""

    low: float
    middle: float
    high: float
    rows: int

    @property
    def slope(self) -> float:
        """How many more good rows make up for a bad one."""
        return (self.middle - self.low) / (self.high - self.middle)

    @property
    def start(self) -> float:
        """The share of good rows that it takes without bad ones; below 0 if the middle is above."""
        return -self.middle / (self.high - self.middle)

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest share of bad rows on it."""
        return max(0.0, -self.start / self.slope), self.high / (self.high - self.low)

    def good(self, bad: Array) -> Array:
        """The share of good rows for each share of bad ones."""
        return np.clip(self.start + self.slope * bad, 0.0, 1.0)

    def score(self, good: Array, bad: Array) -> Array:
        """The mean over its deviation where the promise is just kept, for so many good and bad rows."""
        rest = self.rows - good - bad
        mean = (self.low * bad + self.middle * rest + self.high * good) / self.rows
        return np.asarray(mean / self.deviation(good, bad))

    def deviation(self, good: Array, bad: Array) -> Array:
        """The standard deviation of the mean at the constrained estimate, for these counts of rows."""
        rest = self.rows - good - bad
        whole, beyond, slope = 1 + self.slope, 1 - self.start, self.slope
        linear = bad * (slope * beyond - self.start * whole) + good * slope * beyond
        linear = linear - rest * whole * self.start
        square = linear**2 + 4 * self.rows * slope * whole * beyond * bad * self.start
        share = (linear + np.sqrt(np.maximum(square, 0.0))) / (2 * self.rows * slope * whole)
        share = np.clip(share, *self.ends)
        other = self.good(share)
        middle = np.maximum(1 - share - other, 0.0)
        variance = self.low**2 * share + self.middle**2 * middle + self.high**2 * other
        return np.asarray(np.sqrt(variance / self.rows))

    def critical(self, score: float, bad: Array) -> Array:
        """The least good rows with that score, for each number of bad ones, or more than there are."""
        low, high = np.full(len(bad), -1), self.rows - bad + 1  # more than there can be
        for _ in range(int(self.rows).bit_length() + 1):
            middle = (low + high) // 2
            enough = self.score(np.clip(middle, 0, self.rows - bad), bad) >= score
            apart = high - low > 1
            low, high = np.where(apart & ~enough, middle, low), np.where(apart & enough, middle, high)
        return np.where(high > self.rows - bad, self.rows + 1, high)


def _tail(bads: Array, needed: Array, rows: int, bad: Array, good: Array) -> Array:
    """How likely there are at least the `needed` good rows, for shares of bad and good rows (m,)."""
    from scipy.special import betainc

    left = rows - bads
    among = np.clip(good / np.maximum(1 - bad, 1e-300), 0.0, 1.0)[:, None]
    enough = betainc(np.maximum(needed, 1), np.maximum(left - needed + 1, 1), among)
    enough = np.where(needed <= 0, 1.0, np.where(needed > left, 0.0, enough))
    return np.einsum("ij,ij->i", masses(bads, rows, bad), enough)
