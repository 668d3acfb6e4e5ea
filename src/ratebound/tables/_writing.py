"""Where features are written: into one array, or into a sparse matrix.

A column of texts has a feature for each value, of which one is 1 in a row. In a sparse matrix it takes
one place, which says which; so a wide table needs no more memory than it has columns. Columns are held
until all are there, and then written some rows at a time, so that what is written is still at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.matrices import as_csr

ROWS = 4096  # written at a time


@dataclass
class Written:
    """Features of some rows, which columns are added to, the first features first."""

    rows: int
    width: int  # of the features
    dtype: Any
    # The feature, and the values of all rows; or the first feature of several, and which of them is 1.
    numbers: list[tuple[int, Array]] = field(default_factory=list)
    one_of: list[tuple[int, Array]] = field(default_factory=list)

    def add_number(self, feature: int, values: Array) -> None:
        """Add one feature with these values (n,)."""
        self.numbers.append((feature, values.astype(self.dtype)))

    def add_one_of(self, feature: int, codes: Array) -> None:
        """Add features from `feature` on, one of which is 1 in a row, by codes (n,); none for -1."""
        self.one_of.append((feature, codes.astype(np.int32)))

    def as_array(self) -> Array:
        """All features, (n, d)."""
        found = np.zeros((self.rows, self.width), self.dtype)
        for start in range(0, self.rows, ROWS):
            block = found[start : start + ROWS]
            for feature, values in self.numbers:
                block[:, feature] = values[start : start + ROWS]
            for feature, codes in self.one_of:
                part = codes[start : start + ROWS]
                held = np.flatnonzero(part >= 0)
                block[held, feature + part[held]] = 1
        return found

    def as_matrix(self) -> Any:
        """The same as a sparse matrix."""
        from scipy.sparse import csr_array

        places = [(f, v, False) for f, v in self.numbers] + [(f, c, True) for f, c in self.one_of]
        places.sort(key=lambda place: place[0])
        parts, counts = [], [np.zeros(1, np.int64)]
        for start in range(0, self.rows, ROWS):
            size = min(ROWS, self.rows - start)
            features, values = np.empty((size, len(places)), np.int32), np.empty((size, len(places)))
            for place, (feature, held, coded) in enumerate(places):
                part = held[start : start + ROWS]
                features[:, place] = feature + part if coded else feature
                values[:, place] = part >= 0 if coded else part
            filled = values != 0
            parts.append((values[filled].astype(self.dtype), features[filled]))
            counts.append(filled.sum(axis=1))
        ends = np.cumsum(np.concatenate(counts))
        if not parts:
            return csr_array((self.rows, self.width), dtype=self.dtype)
        entries = [np.concatenate(one) for one in zip(*parts, strict=True)]
        return as_csr(csr_array((*entries, ends), shape=(self.rows, self.width)))
