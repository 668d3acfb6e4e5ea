"""Summaries kept instead of rows: a digest, and the usual size of each feature.

With the digest, a file identifies the rows that a model was trained on. With the scales of the features,
values are rounded alike, whatever their units.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_array, as_csr, frame_columns, is_missing, is_sparse

ROWS_AT_ONCE = 2**14  # rows copied at a time, if a copy is needed
ENOUGH_ROWS = 10_000  # about this many rows are enough to measure a feature's usual size


def digest_of(parts: Iterable[Any]) -> str:
    """A digest of arrays and tables, equal for the same values in the same order; skips None.

    >>> digest_of([np.arange(3), None]) == digest_of([np.arange(3)])
    True
    >>> digest_of([np.arange(3)]) == digest_of([np.arange(3.0)])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if part is None:
            continue
        for column in _arrays(part):
            digest.update(f"{column.dtype.kind} {column.shape} ".encode())
            for start in range(0, len(column), ROWS_AT_ONCE):
                digest.update(_bytes(column[start : start + ROWS_AT_ONCE]))
    return digest.hexdigest()


def _arrays(part: Any) -> list[Array]:
    """The arrays that a table, a sparse matrix or an array consists of."""
    if is_sparse(part):
        matrix = as_csr(part)
        return [np.array(matrix.shape), matrix.data, matrix.indices, matrix.indptr]
    return columns_of(part) if frame_columns(part) else [as_array(part)]


def _bytes(rows: Array) -> Any:
    if rows.dtype.kind in "buifmM":
        return np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    return "".join(f"{value}\0" for value in rows.ravel().tolist()).encode()


@dataclass(frozen=True)
class FeatureScale:
    """The median of every feature, and the usual distance of values from it."""

    center: tuple[float, ...]  # (d,)
    scale: tuple[float, ...]  # (d,) > 0


def feature_scale_of(features: Any) -> FeatureScale:
    """The scale of every feature of these rows, an array (n, ...), a sparse matrix or a table.

    >>> feature_scale_of(np.array([[0, 10], [1, 20], [0, 40], [0, 80]]))
    FeatureScale(center=(0.0, 30.0), scale=(1.0, 15.0))
    """
    if is_sparse(features):
        rows = features.tocsr()[
            :: max(1, features.shape[0] // ENOUGH_ROWS)
        ]  # not all forms can be sliced
        return _scale_of_matrix(rows.tocsc())
    columns = (column[:: max(1, len(column) // ENOUGH_ROWS)] for column in columns_of(features))
    scales = [_usual(numbers_of(column)) for column in columns]
    return FeatureScale(tuple(center for center, _ in scales), tuple(scale for _, scale in scales))


def columns_of(features: Any) -> list[Array]:
    """The columns of a table, or of an array whose rows are flattened."""
    if names := frame_columns(features):
        return [as_array(features[name]) for name in names]
    array = np.asarray(features)
    return list(array.reshape(len(array), int(np.prod(array.shape[1:]))).T)


def numbers_of(column: Array) -> Array:
    """A column as numbers: times in microseconds, NaN for text and other types."""
    if column.dtype.kind in "mM":
        gone = np.isnat(column)
        counted = column.astype(f"{column.dtype.kind}8[us]").astype(np.int64)
        return np.where(gone, np.nan, counted)
    if column.dtype.kind in "buif":
        return column.astype(float)
    missing = is_missing(column)
    is_number = np.array([isinstance(value, Number | np.bool_) for value in column], bool) & ~missing
    numbers = np.full(len(column), np.nan)
    numbers[is_number] = column[is_number].astype(float)
    return numbers


def _scale_of_matrix(matrix: Any) -> FeatureScale:
    """The same for a matrix in column format. A column of mostly zeros has median 0."""
    count, width = matrix.shape
    filled, values = np.diff(matrix.indptr), matrix.data.astype(float)
    center, scale = np.zeros(width), np.ones(width)
    of = np.repeat(np.arange(width), filled)
    odd = (2 * filled >= count) | (np.bincount(of[~np.isfinite(values)], minlength=width) > 0)
    for column in np.flatnonzero(odd).tolist():
        center[column], scale[column] = _usual(matrix[:, [column]].toarray()[:, 0].astype(float))
    rest = np.flatnonzero(~odd & (filled > 0))
    away = np.abs(values)[np.lexsort((np.abs(values), of))]
    middle = matrix.indptr[rest] + (filled[rest] - 1) // 2
    scale[rest] = (away[middle] + away[middle + (filled[rest] % 2 == 0)]) / 2
    return FeatureScale(tuple(center.tolist()), tuple(scale.tolist()))


def _usual(values: Array) -> tuple[float, float]:
    """The median, and the median distance from it among the values that differ from it.

    Neither is affected by a few extreme values, or by a column that is mostly zeros.
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    center = float(np.median(values))
    with np.errstate(over="ignore"):
        away = np.abs(values - center)
    away = away[(away > 0) & np.isfinite(away)]
    return center, float(np.median(away)) if len(away) else abs(center) or 1.0
