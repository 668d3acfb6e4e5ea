"""Tables from files: which columns hold numbers, which texts, and where values are missing.

A column of a CSV holds numbers if all cells that are not empty are numbers, and texts otherwise; an
empty cell is a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from ratebound.base.spelling import nearest
from ratebound.base.types import Array
from ratebound.problem.frames import is_missing, some
from ratebound.tables.sources import read_csv, read_parquet

Kind = Literal["number", "text"]


class Table:
    """Named columns of equal length: as much of a DataFrame as ratebound and scikit-learn ask for.

    >>> table = Table({"age": np.array([20, 40]), "sex": np.array(["Female", "Male"], dtype=object)})
    >>> table.columns, table.shape, table[np.array([1])]["sex"]
    (['age', 'sex'], (2, 2), array(['Male'], dtype=object))
    """

    def __init__(self, values: Mapping[str, Array], name: str = "the table") -> None:
        self.values = dict(values)
        self.name = name  # of the file, for errors
        self.columns = list(self.values)
        self.shape = (len(next(iter(self.values.values()))), len(self.columns))

    def __len__(self) -> int:
        return self.shape[0]

    @overload
    def __getitem__(self, chosen: str) -> Array: ...

    @overload
    def __getitem__(self, chosen: Array) -> Table: ...

    def __getitem__(self, chosen: str | Array) -> Array | Table:
        """A column by its name, or the table of some rows, given by index or truth value."""
        if isinstance(chosen, str):
            return self.values[chosen]
        return Table({name: values[chosen] for name, values in self.values.items()}, self.name)

    def to_numpy(self) -> Array:
        return np.column_stack([values.astype(object) for values in self.values.values()])

    @property
    def kinds(self) -> dict[str, Kind]:
        """What every column holds."""
        return {name: "text" if v.dtype == object else "number" for name, v in self.values.items()}

    def column(self, name: str, role: str) -> Array:
        """A column that must exist and have no missing values; `role` names its purpose in errors."""
        self.check(name, role)
        lacking = np.flatnonzero(is_missing(self[name]))
        if len(lacking):
            raise ValueError(
                f"{self.name}: {role} column {name!r} is empty in {len(lacking):,} rows, first in row "
                f"{lacking[0] + 1}: fill them, or leave those rows out"
            )
        return self[name]

    def check(self, name: str, role: str) -> None:
        if name not in self.values:
            raise ValueError(
                f"{self.name} has no {role} column {name!r}{nearest(name, self.columns)} It has "
                f"{some(self.columns)}"
            )


def read_table(path: str | Path, kinds: Mapping[str, Kind] | None = None) -> Table:
    """The table in a CSV (``.tsv`` where tabs part the cells) or a Parquet file.

    `kinds` says what some columns hold, as a trained model expects it; for the others it is inferred.
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {source}")
    if source.is_dir():
        raise ValueError(f"{source} is a folder, a table was expected")
    is_parquet = source.suffix.lower() in (".parquet", ".pq")
    cells: dict[str, Any] = read_parquet(source) if is_parquet else read_csv(source)
    if not len(next(iter(cells.values()))):
        raise ValueError(f"{source} holds no rows")
    found = {}
    for name, values in cells.items():
        kind = (kinds or {}).get(name)
        try:
            found[name] = _typed(values, kind) if is_parquet else _read(values, kind)
        except ValueError as error:
            raise ValueError(f"{source}: column {name!r} {error}") from None
    return Table(found, str(source))


def _read(cells: list[str], kind: Kind | None) -> Array:
    """The cells of a CSV's column as numbers or as texts."""
    found = None if kind == "text" else _numbers(cells)
    if found is None and kind == "number":
        raise ValueError(_not_a_number(cells))
    return np.array([cell or None for cell in cells], dtype=object) if found is None else found


def _numbers(cells: list[str]) -> Array | None:
    """Whole numbers, or numbers with NaN for empty cells; None where some cell is no number."""
    if any("_" in cell for cell in cells):  # Python reads 1_000 as a number; in a table it is a name
        return None
    try:
        return np.fromiter(map(int, cells), dtype=np.int64, count=len(cells))
    except OverflowError:
        return None  # longer than any number one counts with: an id
    except ValueError:
        pass
    try:
        return np.fromiter((float(cell) if cell else math.nan for cell in cells), dtype=float)
    except ValueError:
        return None


def _typed(values: Array, kind: Kind | None) -> Array:
    """A column that has a type already, as the model expects it."""
    lacking = is_missing(values)
    if kind == "text" and not all(isinstance(value, str) for value in values[~lacking]):
        return np.array(
            [None if m else str(v) for v, m in zip(values, lacking, strict=True)], dtype=object
        )
    if kind == "number" and any(isinstance(value, str) for value in values):
        raise ValueError(_not_a_number([value or "" for value in values]))
    return values


def _not_a_number(cells: list[str]) -> str:
    row = next(i for i, cell in enumerate(cells) if _numbers([cell]) is None)
    return f"holds {cells[row]!r} in row {row + 1}, where numbers are expected"
