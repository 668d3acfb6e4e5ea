"""Tables from files: named columns of equal length, and notices about how they were read.

The cells of text files become numbers or texts. In Parquet and Arrow files, numbers, truth values and
times keep their types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from ratebound._old.base.checks import nearest
from ratebound._old.base.extras import import_extra
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import is_missing, some
from ratebound._old.tables.contents import Content, contents
from ratebound._old.tables.kinds import NO_VALUES
from ratebound._old.tables.settling import few, settled, told
from ratebound._old.tables.texts import FOUND_OUT, SEPARATORS, Kind, Reading, Text, as_text

STREAMED = (".arrow", ".feather", ".ipc")


class Table:
    """Named columns of equal length: the part of a DataFrame that ratebound and scikit-learn need.

    >>> table = Table({"age": np.array([20, 40]), "sex": np.array(["Female", "Male"], dtype=object)})
    >>> table.columns, table.shape, table[np.array([1])]["sex"]
    (['age', 'sex'], (2, 2), array(['Male'], dtype=object))
    """

    def __init__(
        self, values: Mapping[Any, Array], name: str = "the table", notices: Sequence[str] = ()
    ) -> None:
        self.values = dict(values)
        self.name = name  # the file's name, for errors
        self.notices = tuple(notices)  # what was detected when it was read
        self.columns = list(self.values)
        self.shape = (len(next(iter(self.values.values()))), len(self.columns))

    def __len__(self) -> int:
        return self.shape[0]

    @overload
    def __getitem__(self, chosen: str | float | tuple[Any, ...]) -> Array: ...

    @overload
    def __getitem__(self, chosen: Array) -> Table: ...

    def __getitem__(self, chosen: str | float | tuple[Any, ...] | Array) -> Array | Table:
        """A column by its name, or a table of some rows, given by indices or truth values."""
        if isinstance(chosen, str | int | float | tuple):
            return self.values[chosen]
        return Table({name: values[chosen] for name, values in self.values.items()}, self.name)

    def keys(self) -> list[Any]:
        return self.columns

    def row(self, place: int) -> tuple[Any, ...]:
        """The cells of one row."""
        return tuple(values[place] for values in self.values.values())

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
        parted = f". {joined[0]!r} is one column here: set the separator with --sep" if joined else ""
        raise ValueError(
            f"{self.name} has no {role} column {name!r}{nearest(name, self.columns)} It has "
            f"{some(self.columns)}{parted}"
        )


def read_table(
    paths: str | Path | Sequence[str | Path],
    kinds: Mapping[str, Kind] | None = None,
    reading: Reading = FOUND_OUT,
) -> Table:
    """The table in text, Parquet or Arrow files; several files are stacked.

    `kinds` gives the kinds of some columns, as a trained model expects them; the others are detected.
    `reading` says how to read text files; whatever it leaves open is detected.
    """
    files = contents([paths] if isinstance(paths, str | Path) else paths)
    columns, notices = _columns(files, kinds or {}, reading)
    name = files[0].name + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    if not len(next(iter(columns.values()), ())):
        raise ValueError(f"{name} holds no rows")
    return Table(columns, name, notices)


def _columns(
    files: Sequence[Content], kinds: Mapping[str, Kind], reading: Reading
) -> tuple[dict[str, Array], list[str]]:
    """The columns of files with the same columns, and notices about them.

    `kinds` gives the kinds of some columns. A column of texts is never read as numbers. A column of
    numbers may hold only marks of missing values.
    """
    arrow = [content.is_arrow for content in files]
    if any(arrow) and not all(arrow):
        one, other = files[arrow.index(True)], files[arrow.index(False)]
        raise ValueError(
            f"{one.name} is Parquet or Arrow and {other.name} is not: give one kind of file"
        )
    if all(arrow):
        tables = [_arrow_columns(content, kinds) for content in files]
        _check_same([(content.name, list(table)) for content, table in zip(files, tables, strict=True)])
        return {name: _joined([table[name] for table in tables]) for name in tables[0]}, []
    texts = texts_of(files, reading)
    parts: dict[str, list[Array]] = {name: [] for name in texts[0].names}

    def keep(name: str, values: Array | None) -> None:
        if values is None:
            parts[name].clear()
        else:
            parts[name].append(values)

    columns = settled(texts, texts[0].names, kinds, keep)
    notices = [notice for text in texts for notice in text.notices]
    values = {name: column.joined(parts.pop(name)) for name, column in columns.items()}
    return values, notices + told(columns)


def texts_of(files: Sequence[Content], reading: Reading) -> list[Text]:
    """The texts in files, which must have the same columns."""
    texts = [as_text(content, reading) for content in files]
    _check_same([(text.name, text.names) for text in texts])
    return texts


def _check_same(named: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise unless all files have the columns of the first, in any order."""
    (first, names), *others = named
    for other, present in others:
        lacking = [name for name in names if name not in present]
        besides = [name for name in present if name not in names]
        if lacking or besides:
            said = [f"lacks {few(list(map(repr, lacking)))}"] * bool(lacking)
            said += [f"also has {few(list(map(repr, besides)))}"] * bool(besides)
            raise ValueError(f"{other} has other columns than {first}: it {' and '.join(said)}")


def _joined(parts: Sequence[Array]) -> Array:
    """One column of all files; if the types differ, each value keeps its own type."""
    numeric = all(part.dtype.kind in "iuf" for part in parts)
    if not numeric and len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


# --- Parquet and Arrow -------------------------------------------------------------------------------


def _arrow_columns(content: Content, kinds: Mapping[str, Kind]) -> dict[str, Array]:
    """The columns of a file; a column of the kind "text" becomes texts, unless it holds times."""
    table = _arrow_table(content)
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{content.name}: two columns are named {name!r}: rename one of them")
    columns = {name: _values(table[name]) for name in names}
    return {n: as_texts(v) if kinds.get(n) == "text" else v for n, v in columns.items()}


def _arrow_table(content: Content) -> Any:
    arrow = import_extra("pyarrow", f"pyarrow, to read {content.name}", "parquet")
    data = content.data
    source = arrow.BufferReader(data)
    is_file = data[:6] == b"ARROW1"
    is_stream = not is_file and content.name.lower().endswith(STREAMED)
    try:
        if is_file or is_stream:
            return (arrow.ipc.open_file if is_file else arrow.ipc.open_stream)(source).read_all()
        return import_extra("pyarrow.parquet", "pyarrow", "parquet").read_table(source)
    except (arrow.ArrowException, OSError) as error:
        kind = "Arrow" if is_file or is_stream else "Parquet"
        raise ValueError(f"{content.name} cannot be read as {kind}: {error}") from None


def _values(column: Any) -> Array:
    types = import_extra("pyarrow.types", "pyarrow", "parquet")
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_decimal(column.type):
        column = column.cast("float64")
    if types.is_primitive(column.type) and not types.is_time(column.type):
        values: Array = column.to_numpy(zero_copy_only=False)
        return values
    values = np.empty(len(column), dtype=object)  # lists would become a second axis
    values[:] = [v if v is None or isinstance(v, NO_VALUES) else str(v) for v in column.to_pylist()]
    return values


def as_texts(values: Array) -> Array:
    """Values as texts, except missing ones and times, which are read the same either way.

    Lists, bytes and other objects stay unchanged: no model reads them, and an error says so later.
    """
    if values.dtype.kind in "mM" or any(isinstance(value, NO_VALUES) for value in values):
        return values
    lacking = is_missing(values)
    if values.dtype.kind == "f" and (values[~lacking] % 1 == 0).all():  # missing values make them floats
        values = np.where(lacking, 0, values).astype(np.int64)
    cells = [None if gap else str(value) for value, gap in zip(values, lacking, strict=True)]
    return np.array(cells, dtype=object)
