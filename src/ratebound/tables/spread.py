"""The weighted mean and standard deviation of a column of numbers, which its parts' add up to.

Numbers are held as multiples of a power of two near the largest, so that no square is too large. Two
parts are joined as Chan, Golub and LeVeque (1979) join variances: nothing large is subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ratebound.base.types import Array
from ratebound.tables.columns import BEYOND


@dataclass(frozen=True)
class Spread:
    """What is known of numbers none of which is missing."""

    weight: float  # of all of them
    exponent: int  # `mean` is in units of 2 ** exponent, `square` in those of its square
    mean: float  # NaN where some are not `finite`
    square: float  # the mean of squared distances to the mean
    lowest: float
    highest: float
    whole: bool  # whether all are whole numbers
    indicator: bool  # whether all are 0 or 1

    @property
    def finite(self) -> bool:
        """Whether none is infinite, or so large that sums may be."""
        return self.lowest >= -BEYOND and self.highest <= BEYOND

    @property
    def varies(self) -> bool:
        return self.highest > self.lowest

    def center_and_scale(self) -> tuple[float, float]:
        """Mean and standard deviation; what never varies is only centred.

        A column of zeros and ones stays as it is: a rare indicator blown up to unit spread would let a
        model memorise the few rows that have it.
        """
        if not self.weight:
            return 0.0, 1.0
        center = math.ldexp(self.mean, self.exponent)
        spread = math.ldexp(math.sqrt(self.square), self.exponent)
        if spread <= 1e-12 * max(abs(center), 1e-300):
            return center, 1.0
        return (0.0, 1.0) if self.indicator else (center, spread)


NOTHING = Spread(0.0, 0, 0.0, 0.0, math.inf, -math.inf, whole=True, indicator=True)


def spread_of(values: Array, weights: Array | None = None) -> Spread:
    """What is known of numbers (n,), each counted with its weight.

    >>> spread_of(np.array([20.0, 40.0])).center_and_scale()
    (30.0, 10.0)
    """
    if not len(values):
        return NOTHING
    numbers = values.astype(float, copy=False)
    lowest, highest = float(numbers.min()), float(numbers.max())
    whole = values.dtype.kind in "iu" or bool((numbers == np.floor(numbers)).all())
    indicator = lowest >= 0 and highest <= 1 and whole
    weight = float(len(numbers) if weights is None else weights.sum())
    _, exponent = np.frexp(max(-lowest, highest))
    mean = square = math.nan
    if max(-lowest, highest) <= BEYOND:
        near_one = np.ldexp(numbers, -exponent)
        mean = float(np.average(near_one, weights=weights))
        square = float(np.average((near_one - mean) ** 2, weights=weights))
    return Spread(weight, int(exponent), mean, square, lowest, highest, whole, indicator)


def joined(parts: Iterable[Spread]) -> Spread:
    """What is known of the numbers of all parts.

    >>> parts = [spread_of(np.array(part)) for part in ([20.0], [40.0, 60.0])]
    >>> center, scale = joined(parts).center_and_scale()
    >>> round(center, 9), round(scale, 9)
    (40.0, 16.329931619)
    """
    return reduce(_joined, parts, NOTHING)


def _joined(one: Spread, other: Spread) -> Spread:
    if not one.weight or not other.weight:
        return one if one.weight else other
    exponent = max(one.exponent, other.exponent)
    by = [each.exponent - exponent for each in (one, other)]
    first, second = (math.ldexp(each.mean, n) for each, n in zip((one, other), by, strict=True))
    squares = [math.ldexp(each.square, 2 * n) for each, n in zip((one, other), by, strict=True)]
    weight = one.weight + other.weight
    share, apart = other.weight / weight, second - first
    return Spread(
        weight,
        exponent,
        first + share * apart,
        (1 - share) * squares[0] + share * squares[1] + share * (1 - share) * apart**2,
        min(one.lowest, other.lowest),
        max(one.highest, other.highest),
        one.whole and other.whole,
        one.indicator and other.indicator,
    )
