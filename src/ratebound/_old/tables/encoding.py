"""From a table to the numbers that a model sees, in the style that its kind of model needs.

The fitted centres, scales and values are plain data. They are saved with the model as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import (
    as_array,
    as_csr,
    as_dense,
    frame_columns,
    is_missing,
    is_sparse,
    some,
)
from ratebound._old.tables._one_row import OneRow
from ratebound._old.tables._sparse import transform_matrix
from ratebound._old.tables.bins import Bins
from ratebound._old.tables.columns import (
    KINDS_IN,
    Category,
    Code,
    Column,
    Number,
    Plain,
    Style,
    check_distinct,
    column_from_json,
    column_to_json,
    flags_gaps,
    names_of,
    width_of,
)
from ratebound._old.tables.kinds import number_of
from ratebound._old.tables.matching import Read, read_as_trained, tell
from ratebound._old.tables.treatments import Treatment, treatment_from_json, treatment_to_json

ROWS_AT_ONCE = 4096  # rows written at a time


@dataclass(frozen=True)
class Encoding:
    """How a table's rows become features, as fitted on some rows.

    >>> table = {"age": [20.0, 40.0], "sex": ["Female", "Male"]}
    >>> import pandas
    >>> from ratebound._old.tables.fitting import fit_encoding
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
    sparse: bool = False  # whether features are a sparse matrix
    treatments: tuple[Treatment, ...] = ()  # of every column, for people to read
    bins: tuple[Bins, ...] = ()  # with counts of the rows it was fitted on, to compare later rows with

    @property
    def names(self) -> list[str]:
        """The name of each feature."""
        return [name for column in self.columns for name in names_of(column)]

    @property
    def codes(self) -> list[int]:
        """Which features hold codes of categories."""
        return [i for i, column in enumerate(self.columns) if isinstance(column, Code)]

    def transform(self, X: Any) -> Any:
        """Features (n, d) of a table like the training table; for the style "table", its columns.

        Columns are matched by name, and others are ignored. Missing values are filled in. A text is read
        as a number or a date if training had a number or a date. One warning lists everything that
        training has not seen: missing, unknown and unreadable values. Only a column of another type is
        an error, so that a row's result does not depend on the other rows.
        """
        if not self.from_frame:
            return self._transform_array(as_array(X))
        if hasattr(X, "__len__") and len(X) == 1 and (one := self._one_row.features(X)) is not None:
            return one
        self._check_columns(X)
        if self.style == "table":
            names = [column.name for column in self.columns]
            self._tell({name: is_missing(as_array(X[name])) for name in names})
            return X.select(names) if hasattr(X, "select") else X[names]
        read: dict[Any, Read] = {}
        for column in self.columns:
            if column.name not in read:  # the parts of a date are read together
                read[column.name] = read_as_trained(X[column.name], column)
        self._tell({name: own.lacks for name, own in read.items()}, read)
        features = Written(len(X), self.width, self._dtype)
        with np.errstate(over="ignore"):  # an infinite feature has no score, and scoring says so
            for first, column in zip(self._first_features, self.columns, strict=True):
                _write(features, first, column, read[column.name])
        return features.as_matrix() if self.sparse else features.as_array()

    @property
    def _dtype(self) -> Any:
        return np.float32 if self.style == "scaled" else np.float64

    @cached_property
    def _one_row(self) -> OneRow:
        return OneRow(() if self.style == "table" else self.columns, self._dtype, self.sparse)

    @cached_property
    def width(self) -> int:
        """The number of features."""
        return sum(map(width_of, self.columns))

    @cached_property
    def _first_features(self) -> list[int]:
        """The first feature of each column."""
        widths = [width_of(column) for column in self.columns]
        return (np.cumsum(widths, dtype=int) - widths).tolist() if widths else []

    @property
    def _gaps(self) -> set[Any]:
        """The columns in which values were missing in training."""
        return {column.name for column in self.columns if column.gaps}

    def _check_columns(self, X: Any) -> None:
        present = set(frame_columns(X))
        lacking = [name for name in dict.fromkeys(c.name for c in self.columns) if name not in present]
        if not present and lacking:
            raise ValueError(
                f"the model was trained on a table, but X is an array without column names: give a "
                f"table with the columns {some(lacking)}"
            )
        if lacking:
            several = "s" * (len(lacking) > 1)
            raise ValueError(
                f"the table has no column{several} {', '.join(map(repr, lacking))}, which the model was "
                f"trained on"
            )

    def _transform_array(self, values: Array) -> Array:
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise ValueError(
                f"expected rows of {len(self.columns)} features, as in training, got shape "
                f"{values.shape}"
            )
        if self.sparse:
            return self._transform_matrix(values)
        if is_sparse(values):
            values = as_dense(values, "this model")
        lacking = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
        self._tell(dict(enumerate(lacking.T)))
        numbers = [c for c in self.columns if isinstance(c, Number)]
        if numbers:
            scale = np.array([column.scale for column in numbers])
            filled = (values - np.array([column.center for column in numbers])) / scale
            filled[lacking] = 0.0
        elif any(isinstance(c, Plain) and c.fill is not None for c in self.columns):
            fills = np.array([column.fill for column in self.columns if isinstance(column, Plain)])
            filled = np.where(lacking, fills, values)
        else:
            return values
        if self.width == len(self.columns):
            return filled
        flagged = np.array([width_of(column) > 1 for column in self.columns])
        places = np.array(self._first_features)
        features = np.empty((len(values), self.width))
        features[:, places] = filled
        features[:, places[flagged] + 1] = lacking[:, flagged]
        return features

    def _transform_matrix(self, values: Any) -> Any:
        from scipy.sparse import csr_array

        matrix = as_csr(csr_array(values))
        if matrix.dtype.kind == "f":
            gaps = csr_array((np.isnan(matrix.data), matrix.indices, matrix.indptr), matrix.shape)
            empty = gaps.sum(axis=1) == len(self.columns)
            tell(dict(enumerate(gaps.sum(axis=0).tolist())), {}, self._gaps, empty)
        return transform_matrix(matrix, self.columns)

    def _tell(self, lacks: Mapping[Any, Array], read: Mapping[Any, Read] | None = None) -> None:
        """Warn about what training has not seen, given where values are missing (n,), by column."""
        if lacks:
            missing = {name: int(gaps.sum()) for name, gaps in lacks.items()}
            tell(missing, read or {}, self._gaps, np.logical_and.reduce(list(lacks.values())))

    def to_json(self) -> dict[str, Any]:
        return {
            "from_frame": self.from_frame,
            "style": self.style,
            "sparse": self.sparse,
            "columns": [column_to_json(column) for column in self.columns],
            "treatments": [treatment_to_json(treatment) for treatment in self.treatments],
            "bins": [each.to_json() for each in self.bins],
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Encoding:
        columns = tuple(map(column_from_json, data["columns"]))
        from_frame, style, thin = data["from_frame"], data["style"], data["sparse"]
        if style not in KINDS_IN or not isinstance(from_frame, bool) or not isinstance(thin, bool):
            raise ValueError(f"its encoding has an unknown style, {style!r}")
        kinds = KINDS_IN[style] if from_frame else KINDS_IN[style][:1]
        if not all(isinstance(column, kinds) for column in columns):
            raise ValueError(f"its columns are not of the style {style!r}")
        check_distinct(columns)
        treatments = tuple(map(treatment_from_json, data["treatments"]))
        bins = tuple(map(Bins.from_json, data.get("bins", ())))  # which old files lack
        return Encoding(columns, from_frame, style, thin, treatments, bins)


@dataclass
class Written:
    """Features of some rows. Columns are added to it in the order of the features.

    A column of texts has a feature for each value; in each row one of them is 1. In a sparse matrix it
    takes one entry per row, so a wide table needs memory for its columns, not for all its features.
    Columns are kept until all are added, and then written in blocks of rows that fit the cache.
    """

    rows: int
    width: int  # the number of features
    dtype: Any
    # A feature, and its values in all rows; or the first feature of several, and which of them is 1.
    numbers: list[tuple[int, Array]] = field(default_factory=list)
    one_of: list[tuple[int, Array]] = field(default_factory=list)

    def add_number(self, feature: int, values: Array) -> None:
        """Add one feature with these values (n,)."""
        self.numbers.append((feature, values.astype(self.dtype)))

    def add_one_of(self, feature: int, codes: Array) -> None:
        """Add one-hot features that start at `feature`: codes (n,) tell which is 1, and -1 sets none."""
        self.one_of.append((feature, codes.astype(np.int32)))

    def as_array(self) -> Array:
        """All features, (n, d)."""
        features = np.zeros((self.rows, self.width), self.dtype)
        for start in range(0, self.rows, ROWS_AT_ONCE):
            block = features[start : start + ROWS_AT_ONCE]
            for feature, values in self.numbers:
                block[:, feature] = values[start : start + ROWS_AT_ONCE]
            for feature, codes in self.one_of:
                part = codes[start : start + ROWS_AT_ONCE]
                held = np.flatnonzero(part >= 0)
                block[held, feature + part[held]] = 1
        return features

    def as_matrix(self) -> Any:
        """The same as a sparse matrix."""
        from scipy.sparse import csr_array

        places = [(f, v, False) for f, v in self.numbers] + [(f, c, True) for f, c in self.one_of]
        places.sort(key=lambda place: place[0])
        parts, counts = [], [np.zeros(1, np.int64)]
        for start in range(0, self.rows, ROWS_AT_ONCE):
            size = min(ROWS_AT_ONCE, self.rows - start)
            features, values = np.empty((size, len(places)), np.int32), np.empty((size, len(places)))
            for place, (feature, held, coded) in enumerate(places):
                part = held[start : start + ROWS_AT_ONCE]
                features[:, place] = feature + part if coded else feature
                values[:, place] = part >= 0 if coded else part
            filled = values != 0
            parts.append((values[filled].astype(self.dtype), features[filled]))
            counts.append(filled.sum(axis=1))
        ends = np.cumsum(np.concatenate(counts))
        if not parts:
            return csr_array((self.rows, self.width), dtype=self.dtype)
        entries = [np.concatenate(one) for one in zip(*parts, strict=True)]
        return as_csr(csr_array((*entries, ends), shape=(self.rows, self.width)))


def _write(features: Written, first: int, column: Column, read: Read) -> None:
    """Write the features of a column that was read; they start at `first`."""
    if isinstance(column, Category):
        features.add_one_of(first, read.values)
    elif isinstance(column, Code):
        features.add_number(first, np.where(read.values < 0, np.nan, read.values))
    else:
        numbers = number_of(read.values, column.read_as)
        lacking = np.isnan(numbers)
        fill = column.fill if isinstance(column, Plain) else 0.0
        if isinstance(column, Number):
            numbers = (numbers - column.center) / column.scale
        features.add_number(first, numbers if fill is None else np.where(lacking, fill, numbers))
        if flags_gaps(column):
            features.add_number(first + 1, lacking)
