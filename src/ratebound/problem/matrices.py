"""Sparse matrices, in one form: rows one after the other, no entry twice, none of them zero.

Two matrices with the same numbers then hold the same arrays, so that rows can be counted, compared and
hashed by what is stored of them alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.stored import Stacked, StoredRows

LARGEST = 2**31  # bytes up to which a sparse matrix is made dense for a model that needs that


def is_sparse(rows: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices. Where nobody has loaded them, nothing is."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(rows))


def as_csr(matrix: Any) -> Any:
    """Any of SciPy's sparse matrices in the one form; what was given is not changed.

    >>> from scipy import sparse
    >>> as_csr(sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])))).toarray()
    array([[0., 3.],
           [0., 0.]])
    """
    from scipy import sparse  # which takes longer to load than NumPy

    if matrix.ndim != 2:
        raise ValueError(f"X needs rows and features, got a sparse matrix of shape {matrix.shape}")
    if matrix.dtype.kind not in "buif":
        raise ValueError(f"X must hold numbers, got a sparse matrix of {matrix.dtype}")
    found = matrix if isinstance(matrix, sparse.csr_array) else sparse.csr_array(matrix)
    if not found.has_canonical_format or not found.data.all():
        found = found.copy()
        found.sum_duplicates()
        found.eliminate_zeros()
    small = max(found.nnz, found.shape[1]) < 2**31
    if small and found.indices.dtype != np.int32:
        parts = (found.data, found.indices.astype(np.int32), found.indptr.astype(np.int32))
        found = sparse.csr_array(parts, shape=found.shape)
    return found


def as_dense(rows: Any, who: str, dtype: Any = None) -> Any:
    """Rows as an array, for a model (`who`) that takes no sparse matrix; an error where it is too large.

    >>> from scipy import sparse
    >>> as_dense(sparse.csr_array(np.eye(2)), "this model")
    array([[1., 0.],
           [0., 1.]])
    """
    if isinstance(rows, StoredRows):
        return rows
    if not is_sparse(rows):
        return np.asarray(rows, dtype)
    kind = np.dtype(dtype or rows.dtype)
    size = rows.shape[0] * rows.shape[1] * kind.itemsize
    if size > LARGEST:
        raise ValueError(
            f"{who} takes no sparse matrix, and these {rows.shape[0]:,} rows of {rows.shape[1]:,} "
            f"features would fill {size / 1e9:,.0f} GB as an array: use model='linear', or leave "
            "features out"
        )
    found: Array = rows.astype(kind).toarray()
    return found


def rows_between(rows: Any, start: int, stop: int) -> Any:
    """Some rows of an array or a sparse matrix, without copying what they hold."""
    if not is_sparse(rows):
        return rows[start:stop]
    from scipy.sparse import csr_array

    ends = rows.indptr[start : stop + 1]
    held = slice(ends[0], ends[-1])
    parts = (rows.data[held], rows.indices[held], ends - ends[0])
    return csr_array(parts, shape=(len(ends) - 1, rows.shape[1]))


def stacked_rows(parts: Sequence[Any]) -> Any:
    """The rows of several matrices one after the other; sparse, or on disk, where one of them is."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, StoredRows) for part in parts):
        return Stacked([as_dense(part, "a model of rows on disk") for part in parts])
    if any(map(is_sparse, parts)):
        from scipy import sparse

        return as_csr(sparse.vstack([sparse.csr_array(part) for part in parts], format="csr"))
    return np.concatenate(parts)
