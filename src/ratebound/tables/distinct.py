"""The distinct values of a column, counted piece by piece in bounded memory.

Those of one piece are all held, and up to `MOST_HELD` of several. Of more, those whose hash is small
are, a half at first, then a quarter, and so on (Wegman's adaptive sampling): of each value held all rows
are counted, and how many are held says how many there are. The texts that weigh most stay besides, as
they may become categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from ratebound.base.types import Array
from ratebound.tables.factoring import distinct_of

MOST_HELD = 2**16  # distinct values of a column; the number of more is known to about half a percent
HEAVIEST = 1000  # texts that stay however many there are


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct values, and how often each occurs."""

    values: Array  # (v,) numbers in order, or texts in the order in which they first occurred
    counts: Array  # (v,) rows of each
    weights: Array  # (v,) their weight
    halvings: int = 0  # one value in 2 ** halvings is held

    def __len__(self) -> int:
        """How many distinct values there are, held or not."""
        if not self.halvings:
            return len(self.values)
        return int(_small(self.values, self.halvings).sum()) << self.halvings

    @property
    def all_differ(self) -> bool:
        """Whether no two rows share a value, as far as the values held show."""
        return bool((self.counts == 1).all())


def distinct_numbers(values: Array, halvings: int = 0) -> Distinct:
    """The distinct ones of numbers, dates or durations (n,) that all are present.

    >>> found = distinct_numbers(np.array([3, 1, 3]))
    >>> found.values, found.counts, len(found)
    (array([1, 3]), array([1, 2]), 2)
    """
    held = values[_small(values, halvings)] if halvings else values
    found, counts = np.unique(held, return_counts=True)
    return Distinct(found, counts, counts.astype(float), halvings)


def distinct_texts(
    codes: Array, levels: Sequence[str], weights: Array | None = None, halvings: int = 0
) -> Distinct:
    """The distinct ones of texts, given by their places (n,) among `levels`, -1 where one is missing."""
    present = codes >= 0
    counts = np.bincount(codes[present], minlength=len(levels))
    weighed = counts.astype(float)
    if weights is not None:
        weighed = np.bincount(codes[present], weights[present], minlength=len(levels))
    occur = np.flatnonzero(counts)
    texts = _texts([levels[place] for place in occur.tolist()])
    return Distinct(texts, counts[occur], weighed[occur], halvings)


def merged(parts: Sequence[Distinct]) -> Distinct:
    """The distinct values of all parts, as many as may be held."""
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
        found: Array = _texts(texts)
    else:
        found, codes = np.unique(values, return_inverse=True)
    each = np.bincount(codes, counts, minlength=len(found)).astype(np.int64)
    whole = Distinct(found, each, np.bincount(codes, weights, minlength=len(found)), halvings)
    while len(whole.values) > MOST_HELD + HEAVIEST:
        whole = _only(whole, whole.halvings + 1)
    return whole


def _only(found: Distinct, halvings: int) -> Distinct:
    held = _small(found.values, halvings)
    if found.values.dtype == object:
        held[np.argsort(-found.weights, kind="stable")[:HEAVIEST]] = True
    return Distinct(found.values[held], found.counts[held], found.weights[held], halvings)


def _small(values: Array, halvings: int) -> Array:
    """Which values have so small a hash that one in 2 ** halvings has."""
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
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
