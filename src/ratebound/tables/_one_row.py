"""One row at a time, as a service decides: its features, without making a column of each value.

Only a row that is just like those trained on is read here: numbers that are finite, and texts that were
seen. For any other the columns are read as those of a table, with all that is to be told about them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ratebound.base.types import Array
from ratebound.tables.columns import Category, Code, Column, Number, width_of

NUMBERS = (float, int, np.float64, np.int64)


class OneRow:
    """How one row of a table is read, for some columns in order."""

    def __init__(self, columns: Sequence[Column], dtype: Any, thin: bool) -> None:
        self.dtype, self.thin, self.width = dtype, thin, sum(map(width_of, columns))
        # Dates are read by columns, as are tables of which the model sees nothing.
        self.readable = bool(columns) and all(
            isinstance(c, Category | Code) or c.read_as == "number" for c in columns
        )
        self.readers = []
        first = 0
        for column in columns if self.readable else ():
            self.readers.append((column.name, first, *_reader(column)))
            first += width_of(column)

    def features(self, X: Any) -> Any:
        """The features (1, d) of a table's one row; None if it has to be read by columns."""
        row = _cells(X) if self.readable else None
        if row is None:
            return None
        places, values = [], []
        for name, first, codes, center, scale in self.readers:
            cell: Any = row.get(name)
            if codes is None:
                if type(cell) not in NUMBERS or not math.isfinite(cell):
                    return None
                places.append(first)
                values.append((float(cell) - center) / scale)
            elif type(cell) is not str or cell not in codes:
                return None
            else:
                place, value = codes[cell]
                places.append(first + place)
                values.append(value)
        return self._written(places, np.array(values, self.dtype))

    def _written(self, places: list[int], values: Array) -> Any:
        if self.thin:
            held = np.flatnonzero(values)
            entries = (
                values[held],
                np.array(places, np.int32)[held],
                np.array([0, len(held)], np.int32),
            )
            return sparse.csr_array(entries, shape=(1, self.width))
        found = np.zeros((1, self.width), self.dtype)
        found[0, places] = values
        return found


def _reader(column: Column) -> tuple[dict[str, tuple[int, float]] | None, float, float]:
    """The place and value of each known text, or None for a number; its centre and scale."""
    if isinstance(column, Category):
        return {text: (place, 1.0) for place, text in enumerate(column.values)}, 0.0, 1.0
    if isinstance(column, Code):
        return {text: (0, float(code)) for code, text in enumerate(column.values)}, 0.0, 1.0
    return (None, column.center, column.scale) if isinstance(column, Number) else (None, 0.0, 1.0)


def _cells(X: Any) -> dict[Any, Any] | None:
    """The cells of a table with one row by column, where its library gives them at once."""
    if hasattr(X, "iloc"):
        names, cells = X.columns.tolist(), X.iloc[0].tolist()
    elif hasattr(X, "row"):
        names, cells = X.columns, X.row(0)
    else:
        return None
    found = dict(zip(names, cells, strict=True))
    return found if len(found) == len(names) else None
