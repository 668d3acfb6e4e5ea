"""Statistics of a column, gathered from its rows all at once or piece by piece.

They are all that is needed to decide how to treat the column and to fit it: its distinct values and
their counts, and the mean and spread of numbers, dates and durations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from zlib import crc32

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.tables.columns import BEYOND, PARTS, ReadAs
from ratebound._old.tables.kinds import ColumnValues, Holds, as_texts, distinct_of, number_of

READ_AS: dict[Holds, tuple[ReadAs, ...]] = {
    "numbers": ("number",),
    "dates": ("days", "month", "weekday", "hour"),
    "durations": ("duration",),
}
MOST_HELD = 2**16  # distinct values kept for a column; beyond this, their number is off by about .5%
HEAVIEST = 1000  # the texts of the largest weight, which are always kept


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """Statistics of a column's rows whose weight is not 0."""

    holds: Holds
    missing: int  # rows without a value
    present: int  # rows with one
    distinct: Distinct
    category: bool = False  # whether it was declared to hold categories
    spreads: Mapping[ReadAs, Spread] = field(default_factory=dict)  # of each part that becomes a number
    measured: bool = False  # whether its numbers were stored as decimals

    @cached_property
    def distinct_count(self) -> int:
        return self.present if self.all_differ else min(len(self.distinct), self.present)

    @property
    def all_differ(self) -> bool:
        """Whether no two rows share a value."""
        return self.distinct.all_differ

    @property
    def texts(self) -> list[str] | None:
        """Its distinct texts; None if it holds numbers, dates or durations."""
        return None if self.spreads else self.distinct.values.tolist()

    @property
    def parts(self) -> list[ReadAs]:
        """The parts that become numbers; for dates, the days and the other parts that vary."""
        return [part for part, own in self.spreads.items() if part not in PARTS or own.varies]


def statistics_of(
    cells: ColumnValues, weights: Array | None = None, *, categorical: bool = False, halvings: int = 0
) -> ColumnStatistics:
    """Statistics of a column, whose rows count with their weights.

    If `categorical`, it holds categories. `halvings` is the thinning of earlier pieces: one distinct
    value in 2 ** halvings is kept.

    >>> import numpy as np
    >>> from ratebound._old.tables.kinds import read_cells
    >>> known = statistics_of(read_cells(np.array([20.0, np.nan, 40.0])))
    >>> known.missing, known.distinct_count, known.spreads["number"].center_and_scale()
    (1, 2, (30.0, 10.0))
    """
    category = categorical or cells.category
    if category:
        cells = as_texts(cells)
    lacking = cells.missing
    missing = int(lacking.sum())
    if cells.levels is not None:
        own = distinct_texts(cells.values, cells.levels, weights, halvings)
        return ColumnStatistics(cells.holds, missing, len(lacking) - missing, own, category)
    if missing:
        cells, weights = cells.only(~lacking), None if weights is None else weights[~lacking]
    own = distinct_numbers(cells.values, halvings)
    return _of_numbers(cells.holds, cells.values, weights, own, missing, len(cells.values))


def read_again_as(holds: Holds, values: Array, given: ColumnStatistics) -> ColumnStatistics:
    """Statistics of a column of texts, whose distinct texts stand for these values (v,)."""
    own = given.distinct
    return _of_numbers(holds, values, own.weights, own, given.missing, given.present)


def _of_numbers(
    holds: Holds, values: Array, weights: Array | None, own: Distinct, missing: int, present: int
) -> ColumnStatistics:
    spreads = {part: spread_of(number_of(values, part), weights) for part in READ_AS[holds]}
    measured = values.dtype.kind == "f"
    return ColumnStatistics(holds, missing, present, own, False, spreads, measured)


def merged(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """Statistics of a column whose rows came in parts."""
    if len(parts) == 1:
        return parts[0]
    # A part without values does not show what the column holds.
    telling = [part for part in parts if part.present] or parts[:1]
    first = telling[0]
    if any(part.holds != first.holds for part in telling):
        kinds = ", ".join(sorted({part.holds for part in telling}))
        raise ValueError(f"it holds different kinds of values in different parts: {kinds}")
    return ColumnStatistics(
        first.holds,
        sum(part.missing for part in parts),
        sum(part.present for part in parts),
        merged_distinct([part.distinct for part in telling]),
        first.category,
        {name: merged_spread(part.spreads[name] for part in telling) for name in first.spreads},
        any(part.measured for part in telling),
    )


# --- distinct values -----------------------------------------------------------------------------
#
# All distinct values of one piece are kept, and up to `MOST_HELD` of several pieces. If there are more,
# only values with a small hash are kept: half of them, then a quarter, and so on (Wegman's adaptive
# sampling). All rows of each kept value are counted, and the number of kept values estimates the number
# of all. The texts with the largest weights are always kept, since they may become categories.


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct values, and how often each occurs."""

    values: Array  # (v,) numbers in order, or texts in order of first occurrence
    counts: Array  # (v,) the rows of each
    weights: Array  # (v,) the weight of each
    halvings: int = 0  # one value in 2 ** halvings is kept

    def __len__(self) -> int:
        """How many distinct values there are, kept or not."""
        if not self.halvings:
            return len(self.values)
        return int(_small(self.values, self.halvings).sum()) << self.halvings

    @property
    def all_differ(self) -> bool:
        """Whether no two rows share a value, as far as the kept values show."""
        return bool((self.counts == 1).all())


def distinct_numbers(values: Array, halvings: int = 0) -> Distinct:
    """The distinct values of numbers, dates or durations (n,), none of which is missing.

    >>> numbers = distinct_numbers(np.array([3, 1, 3]))
    >>> numbers.values, numbers.counts, len(numbers)
    (array([1, 3]), array([1, 2]), 2)
    """
    held = values[_small(values, halvings)] if halvings else values
    numbers, counts = np.unique(held, return_counts=True)
    return Distinct(numbers, counts, counts.astype(float), halvings)


def distinct_texts(
    codes: Array, levels: Sequence[str], weights: Array | None = None, halvings: int = 0
) -> Distinct:
    """The distinct texts, given each row's position (n,) among `levels`, -1 for a missing text."""
    present = codes >= 0
    counts = np.bincount(codes[present], minlength=len(levels))
    weighed = counts.astype(float)
    if weights is not None:
        weighed = np.bincount(codes[present], weights[present], minlength=len(levels))
    occur = np.flatnonzero(counts)
    texts = _texts([levels[place] for place in occur.tolist()])
    return Distinct(texts, counts[occur], weighed[occur], halvings)


def merged_distinct(parts: Sequence[Distinct]) -> Distinct:
    """The distinct values of all parts, as many as may be kept."""
    if len(parts) == 1:
        return parts[0]
    halvings = max(part.halvings for part in parts)
    held = [_only(part, halvings) if part.halvings < halvings else part for part in parts]
    values, counts, weights = (
        np.concatenate([getattr(part, name) for part in held])
        for name in ("values", "counts", "weights")
    )
    if values.dtype == object:
        texts, codes = distinct_of(values.tolist())
        own: Array = _texts(texts)
    else:
        own, codes = np.unique(values, return_inverse=True)
    each = np.bincount(codes, counts, minlength=len(own)).astype(np.int64)
    whole = Distinct(own, each, np.bincount(codes, weights, minlength=len(own)), halvings)
    while len(whole.values) > MOST_HELD + HEAVIEST:
        whole = _only(whole, whole.halvings + 1)
    return whole


def _only(given: Distinct, halvings: int) -> Distinct:
    held = _small(given.values, halvings)
    if given.values.dtype == object:
        held[np.argsort(-given.weights, kind="stable")[:HEAVIEST]] = True
    return Distinct(given.values[held], given.counts[held], given.weights[held], halvings)


def _small(values: Array, halvings: int) -> Array:
    """Which values have a small hash; about one in 2 ** halvings does."""
    if values.dtype == object:
        hashes = np.fromiter((crc32(text.encode()) for text in values), np.uint64, len(values))
        hashes <<= np.uint64(32)
    else:
        numbers = values.astype(np.int64) if values.dtype.kind in "mM" else values
        bits = (numbers.astype(float) + 0.0).view(np.uint64)  # -0.0 is 0.0
        hashes = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        hashes = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    small: Array = hashes < np.uint64(2 ** (64 - halvings) - 1)
    return small


def _texts(values: Sequence[str]) -> Array:
    texts = np.empty(len(values), dtype=object)
    texts[:] = values
    return texts


# --- mean and spread -----------------------------------------------------------------------------
#
# Numbers are scaled by a power of two near the largest, so that no square overflows. Two parts are
# merged as Chan, Golub and LeVeque (1979) merge variances, without subtracting large numbers.


@dataclass(frozen=True)
class Spread:
    """The mean and spread of numbers, none of which is missing."""

    weight: float  # the total weight
    exponent: int  # `mean` is in units of 2 ** exponent, and `square` in the square of that unit
    mean: float  # NaN unless all are `finite`
    square: float  # the mean of squared distances to the mean
    lowest: float
    highest: float
    whole: bool  # whether all are whole numbers
    indicator: bool  # whether all are 0 or 1

    @property
    def finite(self) -> bool:
        """Whether none is infinite, or so large that sums could overflow."""
        return self.lowest >= -BEYOND and self.highest <= BEYOND

    @property
    def varies(self) -> bool:
        return self.highest > self.lowest

    def center_and_scale(self) -> tuple[float, float]:
        """Mean and standard deviation; a column that never varies is only centred.

        A column of zeros and ones stays unchanged. If a rare indicator were scaled to unit spread, a
        model could memorise the few rows that have it.
        """
        if not self.weight:
            return 0.0, 1.0
        center = math.ldexp(self.mean, self.exponent)
        spread = math.ldexp(math.sqrt(self.square), self.exponent)
        if spread <= 1e-12 * max(abs(center), 1e-300):
            return center, 1.0
        return (0.0, 1.0) if self.indicator else (center, spread)


NO_SPREAD = Spread(0.0, 0, 0.0, 0.0, math.inf, -math.inf, whole=True, indicator=True)


def spread_of(values: Array, weights: Array | None = None) -> Spread:
    """The spread of numbers (n,), each counted with its weight.

    >>> spread_of(np.array([20.0, 40.0])).center_and_scale()
    (30.0, 10.0)
    """
    if not len(values):
        return NO_SPREAD
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


def merged_spread(parts: Iterable[Spread]) -> Spread:
    """The spread of the numbers of all parts.

    >>> parts = [spread_of(np.array(part)) for part in ([20.0], [40.0, 60.0])]
    >>> center, scale = merged_spread(parts).center_and_scale()
    >>> round(center, 9), round(scale, 9)
    (40.0, 16.329931619)
    """
    return reduce(_two_merged, parts, NO_SPREAD)


def _two_merged(one: Spread, other: Spread) -> Spread:
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
