"""The features of a single row, as a service needs them, without making a column of each value.

This fast path reads only a row like the training rows: finite numbers, texts that training saw, and
missing values only in columns where training had some. Any other row is read as a table of one row, with
all its warnings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.tables.columns import (
    BEYOND,
    MISSING,
    Category,
    Code,
    Column,
    Name,
    Number,
    flags_gaps,
    width_of,
)

NUMBERS = (float, int, np.float64, np.int64)


class OneRow:
    """How one row of a table is read, for some columns in order."""

    def __init__(self, columns: Sequence[Column], dtype: Any, thin: bool) -> None:
        self.dtype, self.thin, self.width = dtype, thin, sum(map(width_of, columns))
        # Dates, and tables of which the model sees no column, are read by columns.
        self.readable = bool(columns) and all(
            isinstance(c, Category | Code) or c.read_as == "number" for c in columns
        )
        self.readers: list[_Reader] = []
        first = 0
        for column in columns if self.readable else ():
            self.readers.append(_reader(column, first))
            first += width_of(column)

    def features(self, X: Any) -> Any:
        """The features (1, d) of a table with one row; None if it must be read by columns."""
        row = _cells(X) if self.readable else None
        if row is None:
            return None
        places: list[int] = []
        values: list[float] = []
        for reader in self.readers:
            written = reader.written(row.get(reader.name, row))  # no reader accepts a whole row
            if written is None:
                return None
            for place, value in written:
                places.append(place)
                values.append(value)
        with np.errstate(over="ignore"):  # an infinite feature has no score, and scoring says so
            return self._written(places, np.array(values, self.dtype))

    def _written(self, places: list[int], values: Array) -> Any:
        if self.thin:
            from scipy.sparse import csr_array

            held = np.flatnonzero(values)
            entries = (
                values[held],
                np.array(places, np.int32)[held],
                np.array([0, len(held)], np.int32),
            )
            return csr_array(entries, shape=(1, self.width))
        features = np.zeros((1, self.width), self.dtype)
        features[0, places] = values
        return features


@dataclass(frozen=True)
class _Reader:
    """How a cell of one column is read: the features it sets, and their values."""

    name: Name
    first: int  # its first feature
    known: dict[str, list[tuple[int, float]]] | None  # by text; None for a number
    missing: list[tuple[int, float]] | None  # for a missing cell; None if training had none missing
    center: float = 0.0
    scale: float = 1.0

    def written(self, cell: Any) -> list[tuple[int, float]] | None:
        """Features and their values; None if training has seen nothing like it."""
        if cell is None or (type(cell) is float and math.isnan(cell)):
            return self.missing
        if self.known is not None:
            return self.known.get(cell) if type(cell) is str else None
        if type(cell) not in NUMBERS or not -BEYOND <= cell <= BEYOND:
            return None
        return [(self.first, (float(cell) - self.center) / self.scale)]


def _reader(column: Column, first: int) -> _Reader:
    if isinstance(column, Category):
        known = {text: [(first + place, 1.0)] for place, text in enumerate(column.values)}
        return _Reader(column.name, first, known, known.pop(MISSING, None))
    if isinstance(column, Code):
        codes = {text: [(first, float(code))] for code, text in enumerate(column.values)}
        return _Reader(column.name, first, codes, [(first, math.nan)] if column.gaps else None)
    center, scale, fill = 0.0, 1.0, 0.0
    if isinstance(column, Number):
        center, scale = column.center, column.scale
    else:
        fill = math.nan if column.fill is None else column.fill
    flag = [(first + 1, 1.0)] if flags_gaps(column) else []
    missing = [(first, fill), *flag] if column.gaps else None
    return _Reader(column.name, first, None, missing, center, scale)


def _cells(X: Any) -> dict[Any, Any] | None:
    """The cells of a one-row table, by column; None if its library has no quick way to give them."""
    if hasattr(X, "iloc"):
        names, cells = X.columns.tolist(), X.iloc[0].tolist()
    elif hasattr(X, "row"):
        names, cells = X.columns, X.row(0)
    else:
        return None
    row = dict(zip(names, cells, strict=True))
    return row if len(row) == len(names) else None
