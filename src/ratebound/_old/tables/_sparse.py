"""Sparse matrices as features: scaled but not centred, so that zeros stay zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_csr
from ratebound._old.tables.columns import BEYOND, Column, Number, Plain, Style, flags_gaps


def fit_matrix(
    matrix: Any, weights: Array | None, style: Style, takes_missing: bool
) -> tuple[Column, ...]:
    """Fit each column of a matrix; a missing value becomes 0, as most values are."""
    missing = np.isnan(matrix.data) if matrix.dtype.kind == "f" else np.zeros(matrix.nnz, bool)
    gaps = (np.bincount(matrix.indices[missing], minlength=matrix.shape[1]) > 0).tolist()
    if style != "scaled":
        fill = None if takes_missing else 0.0
        return tuple(Plain(i, gap, fill) for i, gap in enumerate(gaps))
    values = np.where(missing, 0.0, matrix.data.astype(float))
    unsound = matrix.indices[~(np.abs(values) <= BEYOND)]
    if len(unsound):
        raise ValueError(
            f"feature {unsound.min()} holds infinite values, or values beyond {BEYOND:g}: cap them first"
        )
    scale = _scales(matrix, values, missing, weights).tolist()
    return tuple(Number(i, 0.0, one, gap) for i, (one, gap) in enumerate(zip(scale, gaps, strict=True)))


def _scales(matrix: Any, values: Array, missing: Array, weights: Array | None) -> Array:
    """Each column's weighted standard deviation; 1 if it holds only zeros and ones or never varies."""
    of, width = matrix.indices, matrix.shape[1]
    by_row = np.ones(matrix.shape[0]) if weights is None else weights
    each = np.repeat(by_row, np.diff(matrix.indptr))
    largest = np.zeros(width)
    np.maximum.at(largest, of, np.abs(values))
    exponent = np.frexp(largest)[1]
    near_one = np.ldexp(values, -exponent[of])  # so that no square is too large

    def total(what: Array) -> Array:
        return np.bincount(of, what, minlength=width)

    stored = total(each * ~missing)
    whole = np.maximum(by_row.sum() - total(each * missing), 1e-300)
    center = total(each * near_one) / whole
    apart = total(each * ~missing * (near_one - center[of]) ** 2)
    spread = np.sqrt((apart + np.maximum(whole - stored, 0.0) * center**2) / whole)
    tiny = spread <= 1e-12 * np.maximum(np.abs(center), 1e-300)
    indicator = total((values != 0) & (values != 1)) == 0
    return np.where(indicator | tiny, 1.0, np.ldexp(spread, exponent))


def transform_matrix(given: Any, columns: Sequence[Column]) -> Any:
    """The features of a sparse matrix, or of an array like it, by its fitted columns."""
    from scipy.sparse import csr_array

    matrix = as_csr(csr_array(given))
    scale = np.array([column.scale if isinstance(column, Number) else 1.0 for column in columns])
    flagged = np.array([isinstance(c, Number | Plain) and flags_gaps(c) for c in columns], dtype=int)
    first = np.cumsum(1 + flagged) - 1 - flagged  # feature of each column
    width = len(columns) + int(flagged.sum())
    filled = np.array([isinstance(c, Number) or (isinstance(c, Plain) and c.fill is not None)
                       for c in columns], dtype=bool)  # fmt: skip
    of = matrix.indices
    values = matrix.data / scale[of]
    missing = np.isnan(values) & filled[of]
    values[missing] = flagged[of[missing]]  # its own value becomes 0
    indices = (first[of] + missing * flagged[of]).astype(of.dtype)
    return as_csr(csr_array((values, indices, matrix.indptr), shape=(matrix.shape[0], width)))
