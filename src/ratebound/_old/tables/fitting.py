"""Fitting an encoding: every column is treated as planned, and its centre, scale or values are fitted.

Rows are read once, all together or piece by piece. Each column's statistics are then enough.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from ratebound._old.base.dates import DateOrder
from ratebound._old.base.processes import gathered
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_array, as_csr, as_dense, frame_columns, is_sparse
from ratebound._old.tables._sparse import fit_matrix
from ratebound._old.tables.bins import Bins, bins_of
from ratebound._old.tables.column_statistics import (
    MOST_HELD,
    NO_SPREAD,
    ColumnStatistics,
    Spread,
    merged,
    merged_spread,
    spread_of,
    statistics_of,
)
from ratebound._old.tables.columns import (
    BEYOND,
    MISSING,
    OTHER,
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
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.kinds import read_cells
from ratebound._old.tables.treatments import (
    MOST_CATEGORIES,
    Features,
    Planned,
    Treatment,
    as_features,
    as_it_is,
    notice,
    planned,
    summed_up,
)

# A sparse matrix is faster from WIDE features on, if at most one in FILLED is not zero.
WIDE, FILLED = 200, 4
LARGE_ARRAY = 2**26  # an array with this many numbers counts as wide, whatever its number of features
PIECES_MERGED = 16  # pieces whose statistics are merged at a time

Piece = tuple[Any, Array | None]  # some rows of a table, and their weights (n,)
FeatureSpreads = list[tuple[Spread, bool]]  # each feature's spread, and whether values are missing


def fit_encoding(
    X: Any,
    weights: Array | None = None,
    features: Features | Sequence[Name] | None = None,
    style: Style = "scaled",
    *,
    takes_sparse: bool = False,
    takes_missing: bool = False,
) -> Encoding:
    """The encoding fitted to a table's columns, or only to the columns that `features` chooses.

    Centres and scales count each row with its weight, so that weights and repeated rows agree; rows
    of weight 0 are ignored. Missing values are filled and flagged, unless the model `takes_missing`
    values. With `takes_sparse`, features are a sparse matrix if X is one, or if the table is wide and
    most of its features are zero. One warning lists the columns that are left out or read in an unusual
    way.
    """
    takes = {"takes_sparse": takes_sparse, "takes_missing": takes_missing}
    if frame_columns(X):
        return fit_to_pieces([(X, weights)], features, style, **takes)
    if not is_sparse(X) or not takes_sparse:
        return fit_to_arrays([(X, weights)], features, style, takes_missing=takes_missing)
    _check_unnamed(features)
    counted, fills = _counted(weights), _fills(style, takes_missing)
    weights = None if weights is None else weights[counted]
    return Encoding(fit_matrix(as_csr(X)[counted], weights, style, not fills), False, style, True)


def fit_to_pieces(
    pieces: Iterable[Piece],
    features: Features | Sequence[Name] | None = None,
    style: Style = "scaled",
    *,
    takes_sparse: bool = False,
    takes_missing: bool = False,
    coded: bool = False,
) -> Encoding:
    """`fit_encoding` for a table in pieces, each with its weights; each piece is read once.

    With `coded`, PyArrow's dictionaries are only a way to store texts and do not mean categories.

    >>> import pandas
    >>> table = pandas.DataFrame({"age": [20.0, 40.0, 40.0], "sex": ["Female", "Male", "Male"]})
    >>> fit_to_pieces([(table[:1], None), (table[1:], None)]).names
    ['age', 'sex == Female', 'sex == Male']
    """
    wanted = as_features(features)
    known, rows = column_statistics(pieces, wanted, coded=coded)
    if style == "table":
        unchanged = tuple(as_it_is(name, own) for name, own in known.items())
        plain = tuple(Plain(each.name, each.missing > 0) for each in unchanged)
        return Encoding(plain, True, style, treatments=unchanged, bins=_bins(known))
    fills = _fills(style, takes_missing)
    plans = planned_columns(known, wanted)
    treatments = [plan.treatment for plan in plans]
    refused = [each.name for each in treatments if each.action == "refused"]
    columns = [] if refused else [each for plan in plans for each in _fit_column(plan, style, fills)]
    _check(refused, treatments, columns)
    if (told := notice(treatments)) is not None:
        warnings.warn(told, UserWarning, stacklevel=3)
    thin = takes_sparse and style == "scaled" and _mostly_zeros(columns, rows)
    used = {column.name for column in columns}
    bins = _bins({plan.treatment.name: plan.known for plan in plans if plan.treatment.name in used})
    return Encoding(tuple(columns), True, style, thin, tuple(treatments), bins)


def fit_to_arrays(
    pieces: Iterable[Piece],
    features: Features | Sequence[Name] | None = None,
    style: Style = "scaled",
    *,
    takes_missing: bool = False,
) -> Encoding:
    """`fit_encoding` for an array in pieces, each with its weights; each piece is read once.

    >>> X = np.array([[20.0], [40.0], [60.0]])
    >>> fit_to_arrays([(X[:1], None), (X[1:], None)]).transform(X).round(3).tolist()
    [[-1.225], [0.0], [1.225]]
    """
    _check_unnamed(features)
    fills = _fills(style, takes_missing)
    read = ((as_dense(as_array(X), "this model"), weights) for X, weights in pieces)
    own = reduce(_together, (_array_spreads(X, weights, fills) for X, weights in read))
    whole = reduce(_together, gathered(own))
    columns = [
        _number(place, spread if fills else None, style, gaps)
        for place, (spread, gaps) in enumerate(whole)
    ]
    return Encoding(tuple(columns), False, style)


def _bins(known: Mapping[Name, ColumnStatistics]) -> tuple[Bins, ...]:
    """The bins of each column that holds numbers or texts, and how many rows are in them."""
    every = (bins_of(name, own) for name, own in known.items())
    return tuple(each for each in every if each is not None)


def planned_columns(known: Mapping[Name, ColumnStatistics], wanted: Features) -> list[Planned]:
    """The treatment of every column, by its statistics."""
    return [planned(name, own, named=wanted.only is not None) for name, own in known.items()]


def column_statistics(
    pieces: Iterable[Piece], wanted: Features, *, coded: bool = False
) -> tuple[dict[Name, ColumnStatistics], int]:
    """The statistics of every wanted column, by its name, and the number of rows.

    Both cover the rows of all processes.
    """
    seen: dict[Name, list[ColumnStatistics]] = {}
    rows = 0
    for table, weights in pieces:
        counted = _counted(weights)
        own = None if weights is None else weights[counted]
        for name in wanted.chosen(frame_columns(table)):
            earlier = seen.setdefault(name, [])
            cells, categorical = read_cells(table[name]).only(counted), name in wanted.categorical
            if coded:
                cells = replace(cells, category=False)
            halvings = earlier[0].distinct.halvings if earlier else 0
            earlier.append(statistics_of(cells, own, categorical=categorical, halvings=halvings))
            held = sum(len(part.distinct.values) for part in earlier)
            if len(earlier) == PIECES_MERGED or held > 2 * MOST_HELD:
                seen[name] = [merged(earlier)]
        rows += len(table)
    for name in seen:
        check_name(name)
    own = {name: merged(parts) for name, parts in seen.items()}
    shares = gathered((own, rows))
    whole = {name: merged([share[name] for share, _ in shares]) for name in own}
    return whole, sum(count for _, count in shares)


def _counted(weights: Array | None) -> Any:
    """The rows whose weight is not 0."""
    return slice(None) if weights is None else np.flatnonzero(weights)


def _fills(style: Style, takes_missing: bool) -> bool:
    """Whether missing values are filled in."""
    return style == "scaled" or (style == "plain" and not takes_missing)


def _mostly_zeros(columns: Sequence[Column], rows: int) -> bool:
    """Whether models train faster on a sparse matrix of these columns than on an array."""
    width = sum(map(width_of, columns))
    return (width >= WIDE or rows * width >= LARGE_ARRAY) and FILLED * places_of(columns) <= width


def _check(refused: Sequence[Name], treatments: Sequence[Treatment], columns: Sequence[Column]) -> None:
    if refused:
        listed = ", ".join(map(repr, refused))
        holds = f"column {listed} holds" if len(refused) == 1 else f"columns {listed} hold"
        raise ValueError(
            f"{holds} infinite values, or values beyond {BEYOND:g}: cap them, or leave the columns out: "
            f"features=rb.Features(exclude=[{listed}])"
        )
    if treatments and not columns:
        raise ValueError(
            f"no column is left that a model could learn from: {summed_up(treatments)}. A column named "
            "in features= is used if it holds any value"
        )


def _fit_column(plan: Planned, style: Style, fills: bool) -> list[Column]:
    if plan.treatment.action == "category":
        return [_fit_category(plan, style)]
    if plan.treatment.action in ("number", "duration", "date"):
        return _fit_numbers(plan, style, fills)
    return []


def _fit_category(plan: Planned, style: Style) -> Column:
    """The values that get features, in order; if there are very many, rare values share one."""
    name, often = plan.treatment.name, plan.known.distinct
    by_weight = sorted(zip((-often.weights).tolist(), often.values.tolist(), strict=True))
    kept = sorted(value for _, value in by_weight[:MOST_CATEGORIES] if value != OTHER)
    others = [OTHER] if len(by_weight) > len(kept) else []
    gaps = bool(plan.treatment.missing)
    if style == "codes":
        return Code(name, (*kept, *others), gaps)
    return Category(name, (*kept, *others, *([MISSING] if gaps else [])))


def _fit_numbers(plan: Planned, style: Style, fills: bool) -> list[Column]:
    """A number, or the numbers of a date's parts."""
    known, columns = plan.known, list[Column]()
    for part in known.parts:
        # Only the first part of a date, its days, flags missing values.
        gaps = known.missing > 0 and not columns
        spread = known.spreads[part] if fills else None
        columns.append(_number(plan.treatment.name, spread, style, gaps, part, plan.dates))
    return columns


def _number(
    name: Name,
    spread: Spread | None,
    style: Style,
    gaps: bool,
    read_as: ReadAs = "number",
    dates: DateOrder = "ymd",
) -> Column:
    """A column of numbers; `spread` is given if missing values are filled in."""
    center, scale = (0.0, 1.0) if spread is None else spread.center_and_scale()
    if style == "scaled":
        return Number(name, center, scale, gaps, read_as, dates)
    return Plain(name, gaps, None if spread is None else center, read_as, dates)


def _check_unnamed(features: Features | Sequence[Name] | None) -> None:
    if features is not None:
        raise ValueError("features= names columns, so X must be a DataFrame")


def _together(one: FeatureSpreads, other: FeatureSpreads) -> FeatureSpreads:
    """The spreads of the features of two pieces together."""
    pairs = zip(one, other, strict=True)
    return [(merged_spread((a, b)), missing or lacking) for (a, missing), (b, lacking) in pairs]


def _array_spreads(given: Array, weights: Array | None, fills: bool) -> FeatureSpreads:
    """The spread of each feature of an array, if gaps are filled, and whether values are missing."""
    if given.ndim != 2:
        raise ValueError(f"X needs rows and features, got an array of shape {given.shape}")
    if not fills:
        return [(NO_SPREAD, given.dtype.kind == "f" and bool(np.isnan(c).any())) for c in given.T]
    counted = _counted(weights)
    values = given[counted].astype(float)
    weights = None if weights is None else weights[counted]
    unsound = np.flatnonzero((np.abs(values) > BEYOND).any(axis=0))
    if len(unsound):
        raise ValueError(
            f"feature {unsound[0]} holds infinite values or values beyond {BEYOND:g}: cap them first"
        )
    known = []
    for column in values.T:
        present = ~np.isnan(column)
        spread = spread_of(column[present], None if weights is None else weights[present])
        known.append((spread, not present.all()))
    return known
