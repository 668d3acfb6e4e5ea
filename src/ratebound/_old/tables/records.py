"""Rows as dictionaries, as a service gets them, turned into a table for the model.

A dictionary is one row, and a list of dictionaries is several. A missing value is None. If a row leaves
out a column that the model reads, that is an error, since it may be a typing mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ratebound._old.base.checks import nearest
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import is_sparse, some
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.table import Table

WHOLE = range(-(2**53), 2**53)  # whole numbers that a float represents exactly


def is_records(X: Any) -> bool:
    """Whether these are rows as dictionaries.

    >>> is_records({"age": 30}), is_records([{"age": 30}]), is_records([[30]])
    (True, True, False)
    """
    if isinstance(X, Mapping):
        return not is_sparse(X)  # some sparse matrices are dictionaries
    return isinstance(X, list | tuple) and bool(X) and isinstance(X[0], Mapping)


def table_of(rows: Any, encoding: Encoding, known: Iterable[Any] = ()) -> Table:
    """The table of rows given as dictionaries, each with all columns that the model reads.

    >>> from ratebound._old.tables.fitting import fit_encoding
    >>> encoding = fit_encoding(Table({"age": np.array([20.0, 40.0])}))
    >>> table_of([{"age": 30, "id": "a"}, {"age": None}], encoding)["age"]
    array([30., nan])
    >>> table_of({"aeg": 30}, encoding)
    Traceback (most recent call last):
    ValueError: row 0 has no 'age', which the model reads; it has 'aeg'. Write None ...
    """
    records = [rows] if isinstance(rows, Mapping) else list(rows)
    for place, row in enumerate(records):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {place} is {row!r}, but the rows before it are dictionaries")
    _check_cells(records[0])
    for name in dict.fromkeys([*(column.name for column in encoding.columns), *known]):
        for place, row in enumerate(records):
            if name not in row:
                raise ValueError(
                    f"row {place} has no {name!r}, which the model reads; it has {some(list(row))}. "
                    "Write None (in JSON null) for a missing value"
                )
    names = dict.fromkeys(name for row in records for name in row)
    columns = {name: _column([row.get(name) for row in records]) for name in names}
    return Table(columns, "the rows")


def as_read(encoding: Encoding, table: Table) -> Any:
    """The table as a model with this encoding takes it: other libraries' pipelines need pandas."""
    if encoding.style != "table":
        return table
    try:
        return import_module("pandas").DataFrame(table.values)
    except ImportError:
        raise ImportError("this model is a pipeline, which needs pandas: pip install pandas") from None


def check_names(rows: Sequence[Mapping[str, Any]], names: Iterable[Any]) -> None:
    """Raise if a row has a name that is not one of these: it is probably a typing mistake."""
    names = list(map(str, names))
    for place, row in enumerate(rows):
        for name in row:
            if name not in names:
                raise ValueError(
                    f"row {place}: {name!r} is not a column that the model was trained with"
                    f"{nearest(name, names)} The columns are {some(names)}"
                )


def _check_cells(row: Mapping[Any, Any]) -> None:
    """Raise for a dictionary of columns: a dictionary must be a row."""
    for name, value in row.items():
        is_column = hasattr(value, "to_numpy") and hasattr(value, "__len__")  # a moment has no length
        if isinstance(value, list | tuple | np.ndarray) or is_column:
            raise TypeError(
                f"{name!r} holds {type(value).__name__}, not one value: a dictionary is one row here. "
                "Give a list of rows, or turn columns into a table with pandas.DataFrame(...)"
            )


def _column(cells: Sequence[Any]) -> Array:
    """A column of Python values: numbers, truth values, or any objects; None is a missing value."""
    held = {type(cell) for cell in cells if cell is not None}
    if held == {bool} and None not in cells:
        return np.array(cells, dtype=bool)
    if held and held <= {int, float} and all(c in WHOLE for c in cells if type(c) is int):
        if held == {int} and None not in cells:
            return np.array(cells, dtype=np.int64)
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column
