"""Where features are written, column by column: into one array, or into a sparse matrix.

A column of texts has a feature for each value, of which one is 1 in a row. In a sparse matrix it takes
one place, which says which; so a wide table needs no more memory than it has columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ratebound.base.types import Array
from ratebound.problem.matrices import as_csr


class ArrayFeatures:
    """An array (n, d) that is filled."""

    def __init__(self, rows: int, width: int, dtype: Any) -> None:
        self.found = np.zeros((rows, width), dtype)

    def number(self, feature: int, values: Array) -> None:
        """Write values (n,) as one feature."""
        self.found[:, feature] = values

    def one_of(self, feature: int, codes: Array) -> None:
        """Write a 1 in one of the features from `feature` on, by codes (n,); none where one is -1."""
        rows = np.flatnonzero(codes >= 0)
        self.found[rows, feature + codes[rows]] = 1

    def finished(self) -> Array:
        return self.found


class SparseFeatures:
    """The same as a sparse matrix: what each column says takes one place in a row."""

    def __init__(self, rows: int, width: int, places: int, dtype: Any) -> None:
        self.width, self.used = width, 0
        self.features = np.empty((rows, places), np.int32)
        self.values = np.empty((rows, places), dtype)

    def number(self, feature: int, values: Array) -> None:
        self.features[:, self.used] = feature
        self.values[:, self.used] = values
        self.used += 1

    def one_of(self, feature: int, codes: Array) -> None:
        np.add(codes, feature, out=self.features[:, self.used])
        self.values[:, self.used] = codes >= 0
        self.used += 1

    def finished(self) -> Any:
        filled = self.values != 0
        ends = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        small = np.int32 if ends[-1] < 2**31 else np.int64
        parts = (self.values[filled], self.features[filled].astype(small, copy=False))
        return as_csr(
            sparse.csr_array((*parts, ends.astype(small)), shape=(len(self.values), self.width))
        )
