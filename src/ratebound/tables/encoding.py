"""From a table to the numbers a model sees, in the style its kind of model wants.

What was learned (centres, scales, values) is plain data, so it is saved with the model as JSON.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import as_array, frame_columns, is_missing, numbers
from ratebound.tables.columns import (
    KINDS_IN,
    MISSING,
    Category,
    Code,
    Column,
    Name,
    Number,
    Plain,
    Style,
    check_name,
    column_from_json,
    column_to_json,
)

LARGEST = 1000  # most distinct texts a column of categories may have
BEYOND = 1e300  # numbers above this count as infinite, since their sums may be


@dataclass(frozen=True)
class Encoding:
    """How rows of a table become features, as fitted on some rows.

    >>> table = {"age": [20.0, 40.0], "sex": ["Female", "Male"]}
    >>> import pandas
    >>> encoding = fit_encoding(pandas.DataFrame(table))
    >>> encoding.names
    ['age', 'sex == Female', 'sex == Male']
    >>> encoding.transform(pandas.DataFrame(table))
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]], dtype=float32)
    """

    columns: tuple[Column, ...]
    from_frame: bool
    style: Style = "scaled"

    @property
    def names(self) -> list[str]:
        """What each feature stands for."""
        found: list[str] = []
        for column in self.columns:
            if isinstance(column, Category):
                found += [f"{column.name} == {value}" for value in column.values]
            else:
                flagged = isinstance(column, Number) and column.gaps
                found += [str(column.name)] + [f"{column.name} is missing"] * flagged
        return found

    @property
    def codes(self) -> list[int]:
        """Which features hold codes of categories."""
        return [i for i, column in enumerate(self.columns) if isinstance(column, Code)]

    def transform(self, X: Any) -> Any:
        """Features (n, d) of a table like the one fitted on; for the style "table", its columns.

        Missing values are filled in. Where a column had none in training there is a warning, and where
        no value is present at all, an error.
        """
        if not self.from_frame:
            return self._transform_array(as_array(X))
        present = frame_columns(X)
        lacking = [str(c.name) for c in self.columns if c.name not in present]
        if lacking:
            raise ValueError(f"the table has no column {lacking[0]!r}, which the model was trained on")
        given = [as_array(X[column.name]) for column in self.columns]
        missing = [is_missing(values) for values in given]
        self._tell_missing([int(one.sum()) for one in missing], len(X))
        if self.style == "table":
            return X[[column.name for column in self.columns]]
        parts = [_encode(*each) for each in zip(self.columns, given, missing, strict=True)]
        dtype = np.float32 if self.style == "scaled" else np.float64
        with np.errstate(over="ignore"):  # an infinite feature has no score, and scoring says so
            return np.column_stack(parts).astype(dtype) if parts else np.empty((len(X), 0), dtype)

    def _transform_array(self, values: Array) -> Array:
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"expected rows of {len(self.columns)} features, as trained on, got shape {values.shape}"
            )
        if self.style != "scaled":
            if values.dtype.kind == "f":
                self._tell_missing(np.isnan(values).sum(axis=0).tolist(), len(values))
            return values
        columns = [column for column in self.columns if isinstance(column, Number)]
        center = np.array([column.center for column in columns])
        scale = np.array([column.scale for column in columns])
        return (values.astype(float) - center) / scale

    def _tell_missing(self, counts: Sequence[int], rows: int) -> None:
        """Warn about missing values, counted by column, where training had none."""
        pairs = zip(self.columns, counts, strict=True)
        new = {str(column.name): count for column, count in pairs if count and not column.gaps}
        if not new:
            return
        if all(count == rows for count in counts):
            raise ValueError(
                f"every cell of these {rows:,} rows is missing in all {len(counts)} columns that the "
                "model sees: there is nothing to decide on"
            )
        said = ", ".join(f"{name!r} in {count:,}" for name, count in list(new.items())[:10])
        warnings.warn(
            f"values are missing where none were in training, of {rows:,} rows: {said}"
            f"{', ...' if len(new) > 10 else ''}; each is treated as an average or unknown value",
            UserWarning,
            stacklevel=3,
        )

    def to_json(self) -> dict[str, Any]:
        columns = [column_to_json(column) for column in self.columns]
        return {"from_frame": self.from_frame, "style": self.style, "columns": columns}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Encoding:
        columns = tuple(map(column_from_json, data["columns"]))
        from_frame, style = data["from_frame"], data["style"]
        if style not in KINDS_IN or not isinstance(from_frame, bool):
            raise ValueError(f"its encoding is of an unknown style, {style!r}")
        kinds = KINDS_IN[style] if from_frame else KINDS_IN[style][:1]
        if not all(isinstance(column, kinds) for column in columns):
            raise ValueError(f"its columns are not of the style {style!r}")
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("its encoding has a column twice")
        return Encoding(columns, from_frame, style)


def fit_encoding(
    X: Any,
    weights: Array | None = None,
    features: Sequence[str] | None = None,
    style: Style = "scaled",
) -> Encoding:
    """The encoding fitted to a table's columns, or only to `features` where given.

    Centres and scales count each row with its weight, so that weights and repeated rows agree; rows
    of weight 0 are ignored.
    """
    counted = slice(None) if weights is None else np.flatnonzero(weights)
    weights = None if weights is None else weights[counted]
    names = frame_columns(X)
    if not names:
        if features is not None:
            raise ValueError("features= names columns, so X must be a DataFrame")
        given = as_array(X)
        if given.ndim != 2:
            raise ValueError(f"X needs rows and features, got an array of shape {given.shape}")
        if style != "scaled":
            gaps = [given.dtype.kind == "f" and bool(np.isnan(column).any()) for column in given.T]
            return Encoding(tuple(Plain(i, gap) for i, gap in enumerate(gaps)), False, style)
        values = given[counted].astype(float)
        unsound = np.flatnonzero(~(np.abs(values) <= BEYOND).all(axis=0))
        if len(unsound):
            raise ValueError(
                f"feature {unsound[0]} holds NaN, infinite values or some beyond {BEYOND:g}: fill or "
                "cap them first"
            )
        fitted = _fit_numbers(values, weights)
        return Encoding(tuple(Number(i, c, s, False) for i, (c, s) in enumerate(fitted)), False)
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
    return Encoding(tuple(columns), True, style)


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


def _encode(column: Column, values: Array, lacking: Array) -> Array:
    if isinstance(column, Code | Category):
        texts = np.where(lacking, MISSING, values.astype(object)).astype(str)
        if isinstance(column, Category):
            return np.column_stack([(texts == value).astype(float) for value in column.values])
        numbered = {value: float(code) for code, value in enumerate(column.values)}
        return np.array([numbered.get(text, np.nan) for text in texts])
    found = numbers(values, str(column.name)).astype(float)
    if isinstance(column, Plain):
        return found
    scaled = np.where(lacking, 0.0, (found - column.center) / column.scale)
    return np.column_stack([scaled, lacking.astype(float)]) if column.gaps else scaled
