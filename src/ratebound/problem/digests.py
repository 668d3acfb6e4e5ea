"""A digest of the rows a model was trained on, so that a file can say which they were without them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.feature_scale import columns_of
from ratebound.problem.frames import as_array, frame_columns
from ratebound.problem.matrices import as_csr, is_sparse

CHUNK = 2**14  # rows copied at a time, where they have to be


def digest_of(parts: Iterable[Any]) -> str:
    """A digest of arrays and tables, the same for the same values in the same order; None is skipped.

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
            for start in range(0, len(column), CHUNK):
                digest.update(_bytes(column[start : start + CHUNK]))
    return digest.hexdigest()


def _arrays(part: Any) -> list[Array]:
    """What a table, a sparse matrix or an array consists of."""
    if is_sparse(part):
        matrix = as_csr(part)
        return [np.array(matrix.shape), matrix.data, matrix.indices, matrix.indptr]
    return columns_of(part) if frame_columns(part) else [as_array(part)]


def _bytes(rows: Array) -> Any:
    if rows.dtype.kind in "buifmM":
        return np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    return "".join(f"{value}\0" for value in rows.ravel().tolist()).encode()
