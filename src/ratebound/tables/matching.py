"""Columns at predict time, read as they were in training, and what is different about them.

A table may spell numbers as texts, or bring values that training has not seen. What can be read is read,
what cannot counts as missing or unknown and is told in one warning, and a column of which nothing can be
read is an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ratebound.base.dates import read_dates
from ratebound.base.types import Array
from ratebound.tables.amounts import CODE, NUMERAL, read_numbers
from ratebound.tables.columns import MISSING, OTHER, Category, Code, Column, Name, Number, Plain
from ratebound.tables.kinds import (
    Cells,
    as_texts,
    looked_up,
    read_cells,
    spelled,
)
from ratebound.tables.moments import read_durations

TRUTHS = {"true": "True", "1": "True", "false": "False", "0": "False"}
TOLD = 10  # columns named in a warning


@dataclass(frozen=True)
class Read:
    """A column as the model knows it, and how many of its values it does not know."""

    values: Array  # (n,) numbers, dates or durations; or places among a category's values, -1 for none
    missing: int = 0
    strange: int = 0  # values that are not among the categories trained on, or cannot be read
    such_as: str = ""  # one of these


def read_as_trained(values: Any, column: Column) -> Read:
    """A table's column, for a model that was trained on `column`."""
    cells = read_cells(values)
    if cells.holds == "objects":
        raise ValueError(
            f"column {column.name!r} holds lists, bytes or other objects, which no model reads"
        )
    if isinstance(column, Category | Code):
        return _read_category(cells, column)
    return _read_number(cells, column)


def _read_number(cells: Cells, column: Number | Plain) -> Read:
    expected: Literal["numbers", "dates", "durations"] = "dates"
    if column.read_as in ("number", "duration"):
        expected = "numbers" if column.read_as == "number" else "durations"
    lacking = cells.missing
    count = int(lacking.sum())
    if cells.holds == expected and cells.levels is None:
        return Read(cells.values, count)
    if count == len(lacking):
        unit = {"numbers": "f8", "dates": "M8[us]", "durations": "m8[us]"}[expected]
        return Read(np.full(len(lacking), np.nan if unit == "f8" else "NaT", dtype=unit), count)
    if cells.levels is None:
        raise _changed(column.name, cells, expected, as_texts(cells))
    if cells.holds == "truth values" and expected == "numbers":
        return Read(np.where(lacking, np.nan, cells.values), count)
    readers: dict[str, Callable[[Any], Array]] = {
        "numbers": read_numbers,
        "dates": lambda texts: read_dates(texts, column.dates),
        "durations": read_durations,
    }
    places = np.arange(len(cells.levels))
    found = looked_up(expected, readers[expected](cells.levels), places, cells)
    strange = found.missing & ~lacking
    if (strange | lacking).all():
        raise _changed(column.name, cells, expected, cells)
    return Read(found.values, count, int(strange.sum()), _first(cells, strange))


def _read_category(cells: Cells, column: Category | Code) -> Read:
    cells = as_texts(cells)
    assert cells.levels is not None
    levels = cells.levels
    if set(column.values) <= {"True", "False", MISSING}:  # truth values, which have many spellings
        levels = tuple(TRUTHS.get(level.lower(), level) for level in levels)
    found = _places(levels, column.values)
    lacking = cells.values < 0
    strange = np.append(found < 0, False)[cells.values]  # the last for code -1, which is missing
    if strange.any() and (strange | lacking).all() and np.isnan(read_numbers(column.values)).all():
        if cells.holds == "texts" and not np.isnan(read_numbers(cells.levels)).any():
            cells = replace(cells, holds="numbers")  # a file has them as texts
        if cells.holds not in ("texts", "mixed"):
            raise _changed(column.name, cells, "texts", cells)
    other, missing = _places((OTHER, MISSING), column.values).tolist()
    table = np.append(np.where(found < 0, other, found), missing)
    told = strange if other < 0 else np.zeros_like(strange)  # rare values had no feature of their own
    return Read(table[cells.values], int(lacking.sum()), int(told.sum()), _first(cells, told))


def _places(texts: Sequence[str], values: Sequence[str]) -> Array:
    """Where each text stands among the values, -1 for none; as a number where 1.0 stands for 1."""
    exact = {value: place for place, value in enumerate(values)}
    as_numbers = {_as_number(value): place for value, place in exact.items()}
    found = [exact.get(text, -1) for text in texts]
    if -1 in found:
        pairs = zip(texts, found, strict=True)
        found = [as_numbers.get(_as_number(t), -1) if place < 0 else place for t, place in pairs]
    return np.array(found, dtype=np.intp)


def _as_number(text: str) -> str:
    """A text that is a number in the usual spelling; a code such as 007 is none."""
    is_number = NUMERAL.fullmatch(text) and not CODE.match(text)
    return spelled(float(text)) if is_number else text


def _first(texts: Cells, rows: Array) -> str:
    """The first of these texts, or none."""
    assert texts.levels is not None
    return texts.levels[texts.values[rows.argmax()]] if rows.any() else ""


def _changed(name: Name, cells: Cells, expected: str, texts: Cells) -> ValueError:
    example = _first(texts, texts.values >= 0)
    return ValueError(
        f"column {name!r} holds {cells.holds} such as {example!r}, where {expected} were trained on"
    )


def tell(found: Mapping[Name, Read], gaps: Collection[Name], rows: int) -> None:
    """One warning about all that training has not seen; nothing but missing values is an error."""
    new = {name: f"in {r.missing:,}" for name, r in found.items() if r.missing and name not in gaps}
    if new and all(read.missing == rows for read in found.values()):
        raise ValueError(
            f"every cell of these {rows:,} rows is missing in all {len(found)} columns that the "
            "model sees: there is nothing to decide on"
        )
    strange = {name: f"in {r.strange:,} ({r.such_as!r})" for name, r in found.items() if r.strange}
    said = []
    if new:
        said.append(
            f"values are missing where none were in training, of {rows:,} rows: {_listed(new)}; each is "
            "treated as an average or unknown value"
        )
    if strange:
        said.append(
            f"values are unlike all in training, of {rows:,} rows: {_listed(strange)}; each is treated "
            "as unknown or missing"
        )
    if said:
        warnings.warn(". ".join(said), UserWarning, stacklevel=4)


def _listed(counts: Mapping[Name, str]) -> str:
    listed = ", ".join(f"{str(name)!r} {count}" for name, count in list(counts.items())[:TOLD])
    return listed + (", ..." if len(counts) > TOLD else "")
