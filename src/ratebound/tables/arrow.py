"""Parquet and Arrow files as columns, by pyarrow; numbers, truth values and times keep their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ratebound.base.extras import import_extra
from ratebound.base.types import Array
from ratebound.problem.frames import is_missing
from ratebound.tables.contents import Content
from ratebound.tables.kinds import NO_VALUES
from ratebound.tables.reading import Kind

STREAMED = (".arrow", ".feather", ".ipc")


def read_arrow(content: Content, kinds: Mapping[str, Kind]) -> dict[str, Array]:
    """The columns of a file; those of the kind "text" become texts, unless they are of times."""
    table = _table(content)
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{content.name}: two columns are named {name!r}: rename one of them")
    found = {name: _values(table[name]) for name in names}
    return {n: _as_texts(v) if kinds.get(n) == "text" else v for n, v in found.items()}


def _table(content: Content) -> Any:
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
        found: Array = column.to_numpy(zero_copy_only=False)
        return found
    found = np.empty(len(column), dtype=object)  # lists would become a second axis
    found[:] = [v if v is None or isinstance(v, NO_VALUES) else str(v) for v in column.to_pylist()]
    return found


def _as_texts(values: Array) -> Array:
    """Values as texts, but for missing ones; times are read alike as texts and as what they are.

    Lists, bytes and other objects stay what they are: no model reads them, and an error says so.
    """
    if values.dtype.kind in "mM" or any(isinstance(value, NO_VALUES) for value in values):
        return values
    lacking = is_missing(values)
    if values.dtype.kind == "f" and (values[~lacking] % 1 == 0).all():  # gaps make them fractional
        values = np.where(lacking, 0, values).astype(np.int64)
    cells = [None if gap else str(value) for value, gap in zip(values, lacking, strict=True)]
    return np.array(cells, dtype=object)
