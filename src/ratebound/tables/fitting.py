"""Fitting an encoding: what a table's columns are, and what a model needs to know of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ratebound.base.types import Array
from ratebound.problem.frames import as_array, frame_columns, is_missing, numbers
from ratebound.problem.matrices import as_csr, as_dense
from ratebound.tables._sparse import BEYOND, fit_matrix
from ratebound.tables.columns import (
    MISSING,
    Category,
    Code,
    Column,
    Name,
    Number,
    Plain,
    Style,
    check_name,
    places_of,
    width_of,
)
from ratebound.tables.encoding import Encoding

WIDE, FILLED = 200, 4  # features from which a sparse matrix is faster, if one in so many is not zero
LARGEST = 1000  # most distinct texts a column of categories may have


def fit_encoding(
    X: Any,
    weights: Array | None = None,
    features: Sequence[str] | None = None,
    style: Style = "scaled",
    takes_sparse: bool = False,
) -> Encoding:
    """The encoding fitted to a table's columns, or only to `features` where given.

    Centres and scales count each row with its weight, so that weights and repeated rows agree; rows
    of weight 0 are ignored. With `takes_sparse`, features are a sparse matrix where X is one, or where
    the table is wide and most of its features are zero.
    """
    counted = slice(None) if weights is None else np.flatnonzero(weights)
    weights = None if weights is None else weights[counted]
    names = frame_columns(X)
    if not names:
        if features is not None:
            raise ValueError("features= names columns, so X must be a DataFrame")
        if not sparse.issparse(X):
            return _fit_array(as_array(X), counted, weights, style)
        if not takes_sparse:
            return _fit_array(as_dense(X, "this model"), counted, weights, style)
        return Encoding(fit_matrix(as_csr(X)[counted], weights, style, False), False, style, True)
    chosen = list(names if features is None else features)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise ValueError(
            f"features: there is no column {unknown[0]!r}; there are {', '.join(map(str, names))}"
        )
    for name in chosen:
        check_name(name)
    if style == "table":
        lacking = {name: is_missing(as_array(X[name])[counted]).any() for name in chosen}
        return Encoding(tuple(Plain(name, bool(gaps)) for name, gaps in lacking.items()), True, style)
    columns = [_fit_column(name, as_array(X[name])[counted], weights, style) for name in chosen]
    thin = takes_sparse and style == "scaled" and _mostly_zeros(columns)
    return Encoding(tuple(columns), True, style, thin)


def _mostly_zeros(columns: Sequence[Column]) -> bool:
    """Whether models are trained faster on a sparse matrix of these columns than on an array."""
    width = sum(map(width_of, columns))
    return width >= WIDE and FILLED * places_of(columns) <= width


def _fit_array(given: Array, counted: Any, weights: Array | None, style: Style) -> Encoding:
    if given.ndim != 2:
        raise ValueError(f"X needs rows and features, got an array of shape {given.shape}")
    if style != "scaled":
        gaps = [given.dtype.kind == "f" and bool(np.isnan(column).any()) for column in given.T]
        return Encoding(tuple(Plain(i, gap) for i, gap in enumerate(gaps)), False, style)
    values = given[counted].astype(float)
    unsound = np.flatnonzero(~(np.abs(values) <= BEYOND).all(axis=0))
    if len(unsound):
        raise ValueError(
            f"feature {unsound[0]} holds NaN, infinite values or some beyond {BEYOND:g}: fill or cap "
            "them first"
        )
    fitted = _fit_numbers(values, weights)
    return Encoding(tuple(Number(i, c, s, False) for i, (c, s) in enumerate(fitted)), False)


def _fit_column(name: Name, values: Array, weights: Array | None, style: Style) -> Column:
    lacking = is_missing(values)
    present = values[~lacking]
    texts = values.dtype.kind in "USb" or (
        values.dtype.kind == "O" and any(isinstance(v, str | bool | np.bool_) for v in present)
    )
    if texts:
        found = tuple(sorted({str(value) for value in present} - {MISSING}))
        if len(found) > LARGEST:
            raise ValueError(
                f"column {name!r} holds {len(found):,} different texts, which looks like a name or an "
                "id: leave it out of features="
            )
        if style == "codes":
            return Code(name, found, bool(lacking.any()))
        unknown = lacking.any() or any(str(value) == MISSING for value in present)
        return Category(name, (*found, MISSING) if unknown else found)
    column = numbers(values, name).astype(float)
    if not (np.abs(column[~lacking]) <= BEYOND).all():
        raise ValueError(
            f"column {name!r} holds infinite values, or some beyond {BEYOND:g}: cap them or leave it out"
        )
    if lacking.all():
        raise ValueError(f"column {name!r} holds no value at all: leave it out")
    if style != "scaled":
        return Plain(name, bool(lacking.any()))
    own = None if weights is None else weights[~lacking]
    ((center, scale),) = _fit_numbers(column[~lacking][:, None], own)
    return Number(name, center, scale, bool(lacking.any()))


def _fit_numbers(values: Array, weights: Array | None) -> list[tuple[float, float]]:
    """Weighted mean and standard deviation of each column; a constant column is only centred.

    A column of zeros and ones stays as it is: a rare indicator blown up to unit spread would let a
    model memorise the few rows that have it.
    """
    _, exponent = np.frexp(np.abs(values).max(axis=0, initial=0.0))
    near_one = np.ldexp(values, -exponent)  # so that no square is too large
    center = np.average(near_one, axis=0, weights=weights)
    spread = np.sqrt(np.average((near_one - center) ** 2, axis=0, weights=weights))
    center, spread = np.ldexp(center, exponent), np.ldexp(spread, exponent)
    tiny = spread <= 1e-12 * np.maximum(np.abs(center), 1e-300)
    indicator = ((values == 0) | (values == 1)).all(axis=0) & ~tiny
    center, spread = np.where(indicator, 0.0, center), np.where(indicator | tiny, 1.0, spread)
    return list(zip(center.tolist(), spread.tolist(), strict=True))
