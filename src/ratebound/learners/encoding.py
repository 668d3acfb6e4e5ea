"""From a table to the numbers a model sees, in the style its kind of model wants.

What was learned (centres, scales, values) is plain data, so it is saved with the model as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ratebound.problem.frames import as_array, frame_columns, is_missing, numbers

Array = NDArray[Any]
LARGEST = 1000  # distinct texts of one column up to which it is taken for a category
MISSING = "(missing)"  # the value a missing text stands for

# "scaled" standardises numbers and makes texts one-hot, for models that descend gradients; "plain"
# leaves numbers as they are, the missing ones NaN; "codes" also numbers the texts, as boosted trees
# want them; "table" hands over the columns themselves, for pipelines with an encoding of their own.
Style = Literal["scaled", "plain", "codes", "table"]


@dataclass(frozen=True)
class Number:
    """A numeric column: centred and scaled; a missing value becomes the centre, and is flagged."""

    name: str | int
    center: float
    scale: float
    flagged: bool  # whether some value was missing, so that there is a second feature saying so


@dataclass(frozen=True)
class Category:
    """A column of texts or truth values: one feature per value; an unknown one is none of them."""

    name: str | int
    values: tuple[str, ...]


@dataclass(frozen=True)
class Plain:
    """A numeric column as it is; a missing value is NaN."""

    name: str | int


@dataclass(frozen=True)
class Code:
    """A column of texts or truth values, each the number of its value; an unknown or missing one NaN."""

    name: str | int
    values: tuple[str, ...]


Column = Number | Category | Plain | Code
KINDS: dict[str, type[Column]] = {"number": Number, "category": Category, "plain": Plain, "code": Code}


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
                flagged = isinstance(column, Number) and column.flagged
                found += [str(column.name)] + [f"{column.name} is missing"] * flagged
        return found

    @property
    def codes(self) -> list[int]:
        """Which features are numbers of categories."""
        return [i for i, column in enumerate(self.columns) if isinstance(column, Code)]

    def transform(self, X: Any) -> Any:
        """Features (n, d) of the rows of a table like the one fitted on, or its own columns."""
        if not self.from_frame:
            return self._transform_array(as_array(X))
        present = frame_columns(X)
        lacking = [str(c.name) for c in self.columns if c.name not in present]
        if lacking:
            raise ValueError(f"the table has no column {lacking[0]!r}, which the model was trained on")
        if self.style == "table":
            return X[[column.name for column in self.columns]]
        parts = [_encode(column, as_array(X[column.name])) for column in self.columns]
        dtype = np.float32 if self.style == "scaled" else np.float64
        return np.column_stack(parts).astype(dtype) if parts else np.empty((len(X), 0), dtype)

    def _transform_array(self, values: Array) -> Array:
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"expected rows of {len(self.columns)} features, as trained on, got shape {values.shape}"
            )
        if self.style != "scaled":
            return values
        columns = [column for column in self.columns if isinstance(column, Number)]
        center = np.array([column.center for column in columns])
        scale = np.array([column.scale for column in columns])
        return (values.astype(float) - center) / scale

    def to_json(self) -> dict[str, Any]:
        names = {kind: name for name, kind in KINDS.items()}
        columns = [{"kind": names[type(column)], **vars(column)} for column in self.columns]
        return {"from_frame": self.from_frame, "style": self.style, "columns": columns}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Encoding:
        columns: list[Column] = []
        for entry in data["columns"]:
            fields = {name: value for name, value in entry.items() if name != "kind"}
            if "values" in fields:
                fields["values"] = tuple(map(str, fields["values"]))
            columns.append(KINDS[entry["kind"]](**fields))
        return Encoding(tuple(columns), bool(data["from_frame"]), data.get("style", "scaled"))


def fit_encoding(
    X: Any,
    weights: Array | None = None,
    features: Sequence[str] | None = None,
    style: Style = "scaled",
) -> Encoding:
    """The encoding of a table's columns, of `features` only where given.

    Centres and scales count each row with its weight, so that weights and repeated rows agree; a row
    of weight 0 is not looked at.
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
            return Encoding(tuple(Plain(i) for i in range(given.shape[1])), False, style)
        values = given[counted].astype(float)
        unsound = np.flatnonzero(~np.isfinite(values).all(axis=0))
        if len(unsound):
            raise ValueError(
                f"feature {unsound[0]} holds NaN or infinite values: fill or cap them first"
            )
        fitted = _fit_numbers(values, weights)
        return Encoding(tuple(Number(i, c, s, False) for i, (c, s) in enumerate(fitted)), False)
    chosen = list(names if features is None else features)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise ValueError(
            f"features: there is no column {unknown[0]!r}; there are {', '.join(map(str, names))}"
        )
    if style == "table":
        return Encoding(tuple(Plain(name) for name in chosen), True, style)
    columns = [_fit_column(name, as_array(X[name])[counted], weights, style) for name in chosen]
    return Encoding(tuple(columns), True, style)


def _fit_column(name: str, values: Array, weights: Array | None, style: Style) -> Column:
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
            return Code(name, found)
        unknown = lacking.any() or any(str(value) == MISSING for value in present)
        return Category(name, (*found, MISSING) if unknown else found)
    column = numbers(values, name).astype(float)
    if not np.isfinite(column[~lacking]).all():
        raise ValueError(f"column {name!r} holds infinite values: cap them or leave it out")
    if lacking.all():
        raise ValueError(f"column {name!r} holds no value at all: leave it out")
    if style != "scaled":
        return Plain(name)
    own = None if weights is None else weights[~lacking]
    ((center, scale),) = _fit_numbers(column[~lacking][:, None], own)
    return Number(name, center, scale, bool(lacking.any()))


def _fit_numbers(values: Array, weights: Array | None) -> list[tuple[float, float]]:
    """Weighted mean and standard deviation of each column; a constant column is only centred.

    A column of zeros and ones stays as it is: a rare indicator blown up to unit spread would let a
    model learn the few rows that have it by heart.
    """
    center = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - center) ** 2, axis=0, weights=weights))
    tiny = spread <= 1e-12 * np.maximum(np.abs(center), 1e-300)
    indicator = ((values == 0) | (values == 1)).all(axis=0) & ~tiny
    center, spread = np.where(indicator, 0.0, center), np.where(indicator | tiny, 1.0, spread)
    return list(zip(center.tolist(), spread.tolist(), strict=True))


def _encode(column: Column, values: Array) -> Array:
    lacking = is_missing(values)
    if isinstance(column, Code):
        numbered = {value: float(code) for code, value in enumerate(column.values)}
        texts = np.where(lacking, MISSING, values.astype(object)).astype(str)
        return np.array([numbered.get(text, np.nan) for text in texts])
    if isinstance(column, Category):
        texts = np.where(lacking, MISSING, values.astype(object))
        return np.column_stack([np.asarray(texts.astype(str) == v, dtype=float) for v in column.values])
    found = numbers(values, str(column.name)).astype(float)
    if isinstance(column, Plain):
        return found
    scaled = np.where(lacking, 0.0, (found - column.center) / column.scale)
    return np.column_stack([scaled, lacking.astype(float)]) if column.flagged else scaled
