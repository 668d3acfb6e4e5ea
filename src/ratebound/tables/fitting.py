"""Fitting an encoding: every column is treated as planned, and what a model needs is learned from it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ratebound.base.dates import DateOrder
from ratebound.base.types import Array
from ratebound.problem.frames import as_array, frame_columns
from ratebound.problem.matrices import as_csr, as_dense
from ratebound.tables._sparse import fit_matrix
from ratebound.tables.columns import (
    BEYOND,
    MISSING,
    OTHER,
    PARTS,
    Category,
    Code,
    Column,
    Name,
    Number,
    Plain,
    ReadAs,
    Style,
    check_name,
    places_of,
    width_of,
)
from ratebound.tables.encoding import Encoding
from ratebound.tables.features import Features, as_features
from ratebound.tables.kinds import read_cells
from ratebound.tables.moments import number_of, parts_of
from ratebound.tables.treatments import (
    MOST,
    Planned,
    Treatment,
    as_it_is,
    notice,
    occurring,
    planned,
    summed_up,
)

WIDE, FILLED = 200, 4  # features from which a sparse matrix is faster, if one in so many is not zero
LARGE = 2**26  # numbers of an array from which it is so for any number of features


def fit_encoding(
    X: Any,
    weights: Array | None = None,
    features: Features | Sequence[Name] | None = None,
    style: Style = "scaled",
    *,
    takes_sparse: bool = False,
    takes_missing: bool = False,
) -> Encoding:
    """The encoding fitted to a table's columns, or only to those that `features` chooses.

    Centres and scales count each row with its weight, so that weights and repeated rows agree; rows
    of weight 0 are ignored. Missing values are filled and flagged, unless the model `takes_missing`
    values. With `takes_sparse`, features are a sparse matrix where X is one, or where the table is wide
    and most of its features are zero. One warning tells which columns are left out or read in an unusual
    way.
    """
    counted = slice(None) if weights is None else np.flatnonzero(weights)
    weights = None if weights is None else weights[counted]
    fills = style == "scaled" or (style == "plain" and not takes_missing)
    names = frame_columns(X)
    if not names:
        if features is not None:
            raise ValueError("features= names columns, so X must be a DataFrame")
        if not sparse.issparse(X):
            return _fit_array(as_array(X), counted, weights, style, fills)
        if not takes_sparse:
            return _fit_array(as_dense(X, "this model"), counted, weights, style, fills)
        return Encoding(fit_matrix(as_csr(X)[counted], weights, style, not fills), False, style, True)
    wanted = as_features(features)
    chosen = wanted.chosen(names)
    for name in chosen:
        check_name(name)
    if style == "table":
        unchanged = tuple(as_it_is(name, read_cells(X[name]).only(counted)) for name in chosen)
        plain = tuple(Plain(each.name, each.missing > 0) for each in unchanged)
        return Encoding(plain, True, style, treatments=unchanged)
    columns: list[Column] = []
    treatments: list[Treatment] = []
    for name in chosen:
        plan = plan_column(X, name, wanted, counted)
        treatments.append(plan.treatment)
        columns += _fit_column(plan, weights, style, fills)
    _check(treatments, columns)
    if (told := notice(treatments)) is not None:
        warnings.warn(told, UserWarning, stacklevel=3)
    thin = takes_sparse and style == "scaled" and _mostly_zeros(columns, len(X))
    return Encoding(tuple(columns), True, style, thin, tuple(treatments))


def _mostly_zeros(columns: Sequence[Column], rows: int) -> bool:
    """Whether models are trained faster on a sparse matrix of these columns than on an array."""
    width = sum(map(width_of, columns))
    return (width >= WIDE or rows * width >= LARGE) and FILLED * places_of(columns) <= width


def plan_column(X: Any, name: Name, wanted: Features, counted: Any = slice(None)) -> Planned:
    """What is done with a column of a table, of which only some rows are counted."""
    cells, categorical = read_cells(X[name]).only(counted), name in wanted.categorical
    return planned(name, cells, named=wanted.only is not None, categorical=categorical)


def _check(treatments: Sequence[Treatment], columns: Sequence[Column]) -> None:
    refused = [each.name for each in treatments if each.action == "refused"]
    if refused:
        listed = ", ".join(map(repr, refused))
        holds = f"column {listed} holds" if len(refused) == 1 else f"columns {listed} hold"
        raise ValueError(
            f"{holds} infinite values, or some beyond {BEYOND:g}: cap them, or leave them out: "
            f"features=rb.Features(exclude=[{listed}])"
        )
    if treatments and not columns:
        raise ValueError(
            f"no column is left that a model could learn from: {summed_up(treatments)}. A column named "
            "in features= is used where it holds any value"
        )


def _fit_column(plan: Planned, weights: Array | None, style: Style, fills: bool) -> list[Column]:
    name, cells, action = plan.treatment.name, plan.cells, plan.treatment.action
    if action == "category":
        return [_fit_category(plan, weights, style)]
    if action == "number":
        return [_fit_number(name, cells.values.astype(float), weights, style, fills)]
    if action == "duration":
        values = number_of(cells.values, "duration")
        return [_fit_number(name, values, weights, style, fills, "duration")]
    if action == "date":
        return [
            _fit_number(name, number_of(cells.values, part), weights, style, fills, part, plan.dates)
            for part in parts_of(cells.values)
        ]
    return []


def _fit_category(plan: Planned, weights: Array | None, style: Style) -> Column:
    """The values that get features, in order; the rare ones of very many share one."""
    name, cells = plan.treatment.name, plan.cells
    assert cells.levels is not None
    often = occurring(cells, weights)
    found = sorted((-float(often[place]), cells.levels[place]) for place in np.flatnonzero(often))
    kept = sorted(value for _, value in found[:MOST] if value != OTHER)
    others = [OTHER] if len(found) > len(kept) else []
    gaps = bool(plan.treatment.missing)
    if style == "codes":
        return Code(name, (*kept, *others), gaps)
    return Category(name, (*kept, *others, *([MISSING] if gaps else [])))


def _fit_number(
    name: Name,
    values: Array,
    weights: Array | None,
    style: Style,
    fills: bool,
    read_as: ReadAs = "number",
    dates: DateOrder = "ymd",
) -> Column:
    lacking = np.isnan(values)
    # Of the parts of a date, the days alone flag what is missing.
    gaps = bool(lacking.any()) and read_as not in PARTS
    own = None if weights is None else weights[~lacking]
    center, scale = _center_and_scale(values[~lacking], own) if fills else (0.0, 1.0)
    if style == "scaled":
        return Number(name, center, scale, gaps, read_as, dates)
    return Plain(name, gaps, center if fills else None, read_as, dates)


def _fit_array(given: Array, counted: Any, weights: Array | None, style: Style, fills: bool) -> Encoding:
    if given.ndim != 2:
        raise ValueError(f"X needs rows and features, got an array of shape {given.shape}")
    if not fills:
        gaps = [given.dtype.kind == "f" and bool(np.isnan(column).any()) for column in given.T]
        return Encoding(tuple(Plain(i, gap) for i, gap in enumerate(gaps)), False, style)
    values = given[counted].astype(float)
    unsound = np.flatnonzero((np.abs(values) > BEYOND).any(axis=0))
    if len(unsound):
        raise ValueError(
            f"feature {unsound[0]} holds infinite values or some beyond {BEYOND:g}: cap them first"
        )
    columns = [_fit_number(i, column, weights, style, fills) for i, column in enumerate(values.T)]
    return Encoding(tuple(columns), False, style)


def _center_and_scale(values: Array, weights: Array | None) -> tuple[float, float]:
    """Weighted mean and standard deviation (n,); what never varies is only centred.

    A column of zeros and ones stays as it is: a rare indicator blown up to unit spread would let a
    model memorise the few rows that have it.
    """
    if not len(values):
        return 0.0, 1.0
    _, exponent = np.frexp(np.abs(values).max())
    near_one = np.ldexp(values, -exponent)  # so that no square is too large
    center = np.average(near_one, weights=weights)
    spread = np.sqrt(np.average((near_one - center) ** 2, weights=weights))
    center, spread = np.ldexp(center, exponent), np.ldexp(spread, exponent)
    if spread <= 1e-12 * max(abs(center), 1e-300):
        return float(center), 1.0
    if ((values == 0) | (values == 1)).all():
        return 0.0, 1.0
    return float(center), float(spread)
