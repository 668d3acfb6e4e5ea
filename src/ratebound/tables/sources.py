"""Files as columns of cells: CSV with the standard library alone, Parquet with pyarrow."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BATCH = 1 << 16  # rows taken at a time
PARTED = "cells are parted by commas, or by tabs in a file that ends in .tsv"


def read_csv(source: Path) -> dict[str, list[str]]:
    """The cells of a CSV by column; the first line names the columns."""
    separator = "\t" if source.suffix.lower() == ".tsv" else ","
    try:
        with open(source, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)
            try:
                return _columns(reader, source)
            except csv.Error as error:
                hint = f"; {PARTED}" if "expected after" in str(error) else ""
                raise ValueError(f"{source}, line {reader.line_num}: {error}{hint}") from None
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not text in UTF-8: {error.reason} at byte {error.start}; unpack it, or save "
            "it as a CSV in UTF-8"
        ) from None


def _columns(reader: Any, source: Path) -> dict[str, list[str]]:
    names = _checked(next(reader, []), source)
    columns: list[list[str]] = [[] for _ in names]
    same: dict[str, str] = {}  # equal cells share one string
    rows = _rows(reader, len(names), source)
    while batch := list(islice(rows, BATCH)):
        for column, cells in zip(columns, zip(*batch, strict=True), strict=True):
            column.extend(map(same.setdefault, cells, cells))
    return dict(zip(names, columns, strict=True))


def _rows(reader: Any, width: int, source: Path) -> Iterator[list[str]]:
    for cells in filter(None, reader):  # without empty lines
        if len(cells) != width:
            raise ValueError(
                f"{source}, line {reader.line_num}: {len(cells)} cells where the first line names "
                f"{width} columns"
            )
        yield cells


def _checked(names: list[str], source: Path) -> list[str]:
    if not names:
        raise ValueError(f"{source} is empty: its first line must name the columns")
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise ValueError(f"{source}: the first line names one column only, {names[0]!r}; {PARTED}")
    for index, name in enumerate(names):
        if not name.strip():
            raise ValueError(
                f"{source}: column {index + 1} has no name in the first line; name it, or write the "
                "file without an index"
            )
        if name in names[:index]:
            raise ValueError(f"{source}: two columns are named {name!r}")
    return names


def read_parquet(source: Path) -> dict[str, NDArray[Any]]:
    """The columns of a Parquet file: numbers and truth values as such, all else as texts."""
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            f"{source}: reading Parquet needs pyarrow: pip install 'ratebound[parquet]'"
        ) from None
    try:
        table = parquet.read_table(source)
    except arrow.ArrowException as error:
        raise ValueError(f"{source} cannot be read as Parquet: {error}") from None
    return {name: _arrow_column(table[name], arrow) for name in _checked(table.column_names, source)}


def _arrow_column(column: Any, arrow: Any) -> NDArray[Any]:
    types = arrow.types
    if types.is_decimal(column.type):
        column = column.cast(arrow.float64())
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type):
        found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return found
    cells = [None if value is None or value == "" else str(value) for value in column.to_pylist()]
    return np.array(cells, dtype=object)
