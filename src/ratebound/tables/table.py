"""Tables from files: named columns of equal length, and what was found out to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from ratebound.base.spelling import nearest
from ratebound.base.types import Array
from ratebound.problem.frames import is_missing, some
from ratebound.tables.contents import contents
from ratebound.tables.reading import FOUND_OUT, Kind, Reading
from ratebound.tables.sources import read_columns
from ratebound.tables.texts import SEPARATORS


class Table:
    """Named columns of equal length: as much of a DataFrame as ratebound and scikit-learn ask for.

    >>> table = Table({"age": np.array([20, 40]), "sex": np.array(["Female", "Male"], dtype=object)})
    >>> table.columns, table.shape, table[np.array([1])]["sex"]
    (['age', 'sex'], (2, 2), array(['Male'], dtype=object))
    """

    def __init__(
        self, values: Mapping[str, Array], name: str = "the table", notices: Sequence[str] = ()
    ) -> None:
        self.values = dict(values)
        self.name = name  # of the file, for errors
        self.notices = tuple(notices)  # what was found out when it was read
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
        if name in self.values:
            return
        joined = [each for each in self.columns if name in each and set(SEPARATORS) & set(each)]
        joined = joined or (self.columns if len(self.columns) == 1 else [])
        parted = f". {joined[0]!r} is one column here: say what parts the cells, --sep" if joined else ""
        raise ValueError(
            f"{self.name} has no {role} column {name!r}{nearest(name, self.columns)} It has "
            f"{some(self.columns)}{parted}"
        )


def read_table(
    paths: str | Path | Sequence[str | Path],
    kinds: Mapping[str, Kind] | None = None,
    reading: Reading = FOUND_OUT,
) -> Table:
    """The table in files of text, Parquet or Arrow, one below the other where there are several.

    `kinds` says what some columns hold, as a trained model expects it; for the others it is found out,
    as is how to read a text where `reading` does not say so.
    """
    files = contents([paths] if isinstance(paths, str | Path) else paths)
    columns, notices = read_columns(files, kinds or {}, reading)
    name = files[0].name + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    if not len(next(iter(columns.values()), ())):
        raise ValueError(f"{name} holds no rows")
    return Table(columns, name, notices)
