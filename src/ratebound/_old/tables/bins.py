"""How the rows of training spread over each column, in a few bins: what later rows are compared with.

Numbers have bins between their deciles; texts have a bin for each frequent value, and one for all
others. Missing values have a bin of their own. No row can be read back: besides counts there are only
texts that several rows share, and ends of bins with as few digits as separate two values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.tables.column_statistics import ColumnStatistics
from ratebound._old.tables.columns import MISSING, OTHER, Category, Name, Plain, name_from_json
from ratebound._old.tables.matching import read_as_trained

DECILES = np.arange(1, 10) / 10
MOST_VALUES = 20  # of texts, which have a bin each
FEWEST_ROWS = 5  # with a text that has a bin: a text of fewer may identify somebody
UNREAD = ("dates", "durations", "mixed", "objects")  # a date moves on by itself


@dataclass(frozen=True)
class Bins:
    """One column: its bins, and how many rows of training are in each."""

    name: Name
    edges: tuple[float, ...]  # the highest number of each bin but the last; none if it holds texts
    values: tuple[str, ...]  # the texts that have a bin each; none if it holds numbers
    counts: tuple[int, ...]  # rows in each bin, of texts also with others, and last without value

    @property
    def words(self) -> list[str]:
        """What each bin holds, in words."""
        if self.values:
            return [*self.values, "other values", "missing"]
        if not self.edges:
            return ["any number", "missing"]
        ends = [f"{edge:,.6g}" for edge in self.edges]
        between = [f"{low} to {high}" for low, high in pairwise(ends)]
        return [f"up to {ends[0]}", *between, f"above {ends[-1]}", "missing"]

    def counted(self, column: Any) -> Array:
        """How many values of a column of other rows are in each bin, (bins,)."""
        if self.values:
            read = read_as_trained(column, Category(self.name, (*self.values, OTHER, MISSING)))
            places = read.values
        else:
            numbers = np.asarray(read_as_trained(column, Plain(self.name)).values, dtype=float)
            places = np.searchsorted(self.edges, numbers)
            places[np.isnan(numbers)] = len(self.counts) - 1
        return np.bincount(places, minlength=len(self.counts))

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data."""
        lists = {"edges": self.edges, "values": self.values, "counts": self.counts}
        return {"name": self.name, **{name: list(own) for name, own in lists.items()}}

    @classmethod
    def from_json(cls, data: Any) -> Bins:
        """What `to_json` wrote, checked."""
        name, edges, values, counts = (data[each] for each in ("name", "edges", "values", "counts"))
        sound = all(type(edge) in (int, float) for edge in edges) and bool(np.isfinite(edges).all())
        if not sound or list(edges) != sorted(set(edges)) or (edges and values):
            raise ValueError("the bins of a column are not in order")
        if not all(type(value) is str for value in values) or len(set(values)) < len(values):
            raise ValueError("the values of a column's bins are not different texts")
        bins = len(values) + 2 if values else len(edges) + 2
        if len(counts) != bins or not all(type(each) is int and each >= 0 for each in counts):
            raise ValueError("the counts of a column's bins are not numbers of rows")
        return cls(name_from_json(name), tuple(map(float, edges)), tuple(values), tuple(counts))


def bins_of(name: Name, known: ColumnStatistics) -> Bins | None:
    """The bins of a column and their counts; None if it holds neither numbers nor texts.

    >>> import numpy as np
    >>> from ratebound._old.tables.column_statistics import statistics_of
    >>> from ratebound._old.tables.kinds import read_cells
    >>> bins = bins_of("age", statistics_of(read_cells(np.array([20.0, 30.0, 30.0, np.nan]))))
    >>> bins.words, bins.counts
    (['up to 20', 'above 20', 'missing'], (1, 2, 1))
    """
    if known.holds in UNREAD or not known.present:
        return None
    texts, own = known.texts, known.distinct
    if texts is not None:
        frequent = sorted(zip((-own.counts).tolist(), texts, strict=True))[:MOST_VALUES]
        kept = {
            text: -count
            for count, text in frequent
            if -count >= FEWEST_ROWS and text not in (OTHER, MISSING)
        }
        rest = int(own.counts.sum()) - sum(kept.values())
        counts = (*kept.values(), rest, known.missing)
        return Bins(name, (), tuple(kept), counts) if kept else None
    numbers = np.asarray(read_as_trained(own.values, Plain(name)).values, dtype=float)
    there = ~np.isnan(numbers)
    values, place = np.unique(numbers[there], return_inverse=True)
    rows = np.bincount(place, own.counts[there])
    edges = _edges(values, rows)
    within = np.bincount(np.searchsorted(edges, values), rows, len(edges) + 1).astype(int)
    return Bins(name, tuple(edges), (), (*within.tolist(), known.missing))


def _edges(values: Array, rows: Array) -> Sequence[float]:
    """Short numbers at the deciles of numbers in order; between all of them if they are few."""
    last = np.arange(len(values) - 1)  # places of values after which a bin may end
    if len(values) > len(DECILES) + 1:
        upto = np.cumsum(rows) / rows.sum()
        last = np.intersect1d(last, np.searchsorted(upto, DECILES - 1e-12))
    ends = zip(values[last].tolist(), values[last + 1].tolist(), strict=True)
    return [_short(low, high) for low, high in ends]


def _short(low: float, high: float) -> float:
    """A number from `low` on and below `high`, with as few digits as there can be.

    >>> _short(20.0, 30.0), _short(0.7312, 0.7388), _short(1234.5, 1291.7)
    (20.0, 0.732, 1240.0)
    """
    if high - low < 1e-300:  # beyond the powers of ten that are numbers
        return low
    digits = -math.floor(math.log10(high - low)) - 1
    for each in range(digits, digits + 3):
        short = float(f"{math.ceil(low * 10.0**each)}e{-each}")
        if low <= short < high:
            return short
    return low
