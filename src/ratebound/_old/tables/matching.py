"""Columns at prediction time, read as they were in training, and how they differ from it.

A table may spell numbers as texts, or hold values that training has not seen. A value that cannot be
read counts as missing or unknown, and one warning lists all of them. Only a column of another type is an
error, so that no row is refused because of other rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ratebound._old.base.dates import read_dates
from ratebound._old.base.types import Array
from ratebound._old.tables.cells import CODE, NUMERAL, read_numbers
from ratebound._old.tables.columns import MISSING, OTHER, Category, Code, Column, Name, Number, Plain
from ratebound._old.tables.kinds import (
    ColumnValues,
    as_texts,
    looked_up,
    read_cells,
    read_durations,
    spelled,
)

TRUTHS = {"true": "True", "1": "True", "false": "False", "0": "False"}
NUMBER_OF = {"true": "1", "false": "0"}
COLUMNS_NAMED = 10  # columns named in a warning


@dataclass(frozen=True)
class Read:
    """A column as the model reads it, and how many of its values training has not seen."""

    values: Array  # (n,) numbers, dates or durations; or positions among a category's values, or -1
    lacks: Array  # (n,) whether the value is missing
    strange: int = 0  # values that are not among the training categories, or cannot be read
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


def _read_number(cells: ColumnValues, column: Number | Plain) -> Read:
    expected: Literal["numbers", "dates", "durations"] = "dates"
    if column.read_as in ("number", "duration"):
        expected = "numbers" if column.read_as == "number" else "durations"
    lacking = cells.missing
    if cells.holds == expected and cells.levels is None:
        return Read(cells.values, lacking)
    truths = cells.holds == "truth values" and expected == "numbers"
    if cells.typed and not truths and not lacking.all():
        raise _changed(column.name, cells, expected)
    readers: dict[str, Callable[[Any], Array]] = {
        "numbers": _numbers,
        "dates": lambda texts: read_dates(texts, column.dates),
        "durations": read_durations,
    }
    texts = as_texts(cells)
    assert texts.levels is not None
    places = np.arange(len(texts.levels))
    read = looked_up(expected, readers[expected](texts.levels), places, texts)
    strange = read.missing & ~lacking
    return Read(read.values, lacking, int(strange.sum()), _first(texts, strange))


def _numbers(texts: Sequence[str]) -> Array:
    """Texts as numbers; truth values are 0 and 1, as in a column of truth values."""
    return read_numbers([NUMBER_OF.get(text.lower(), text) for text in texts])


def _read_category(cells: ColumnValues, column: Category | Code) -> Read:
    texts = as_texts(cells)
    assert texts.levels is not None
    levels = texts.levels
    if set(column.values) <= {"True", "False", MISSING}:  # truth values, which have many spellings
        levels = tuple(TRUTHS.get(level.lower(), level) for level in levels)
    places = _places(levels, column.values)
    lacking = texts.values < 0
    strange = np.append(places < 0, False)[texts.values]  # the last is for code -1, a missing value
    if cells.typed and strange.any() and np.isnan(read_numbers(column.values)).all():
        raise _changed(column.name, cells, "texts")
    other, missing = _places((OTHER, MISSING), column.values).tolist()
    table = np.append(np.where(places < 0, other, places), missing)
    # If rare values share a feature, an unknown value takes it too and is not reported.
    reported = strange if other < 0 else np.zeros_like(strange)
    return Read(table[texts.values], lacking, int(reported.sum()), _first(texts, reported))


def _places(texts: Sequence[str], values: Sequence[str]) -> Array:
    """Each text's position among the values, -1 if it is not there; 1.0 also matches 1."""
    exact = {value: place for place, value in enumerate(values)}
    as_numbers = {_as_number(value): place for value, place in exact.items()}
    places = [exact.get(text, -1) for text in texts]
    if -1 in places:
        pairs = zip(texts, places, strict=True)
        places = [as_numbers.get(_as_number(t), -1) if place < 0 else place for t, place in pairs]
    return np.array(places, dtype=np.intp)


def _as_number(text: str) -> str:
    """A number's text in its usual spelling; any other text, such as the code 007, as it is."""
    is_number = NUMERAL.fullmatch(text) and not CODE.match(text)
    return spelled(float(text)) if is_number else text


def _first(texts: ColumnValues, rows: Array) -> str:
    """The first of these rows' texts, or an empty text."""
    assert texts.levels is not None
    return texts.levels[texts.values[rows.argmax()]] if rows.any() else ""


def _changed(name: Name, cells: ColumnValues, expected: str) -> ValueError:
    texts = as_texts(cells)
    example = _first(texts, texts.values >= 0)
    return ValueError(
        f"column {name!r} holds {cells.holds} such as {example!r}, but in training it held {expected}"
    )


def tell(
    missing: Mapping[Name, int], strange: Mapping[Name, Read], gaps: Collection[Name], empty: Array
) -> None:
    """One warning about everything that training has not seen: missing values by column, and new ones.

    `gaps` are the columns in which training had missing values. `empty` (n,) marks rows without any
    value.
    """
    rows = len(empty)
    new = {name: f"in {count:,}" for name, count in missing.items() if count and name not in gaps}
    odd = {
        name: f"in {read.strange:,} ({read.such_as!r})" for name, read in strange.items() if read.strange
    }
    said = []
    if new:
        said.append(
            f"values are missing that were never missing in training, of {rows:,} rows: {_listed(new)}; "
            "each is treated as an average or unknown value"
        )
    if new and len(missing) > 1 and empty.any():
        said.append(
            f"{empty.sum():,} rows have no value in any of the {len(missing)} columns that the model "
            f"sees, first in row {empty.argmax()}: leave such rows out, or decide on them by hand"
        )
    if odd:
        said.append(
            f"values are unlike any in training, of {rows:,} rows: {_listed(odd)}; each is treated as "
            "unknown or missing"
        )
    if said:
        warnings.warn(". ".join(said), UserWarning, stacklevel=5)


def _listed(counts: Mapping[Name, str]) -> str:
    listed = ", ".join(f"{str(name)!r} {count}" for name, count in list(counts.items())[:COLUMNS_NAMED])
    return listed + (", ..." if len(counts) > COLUMNS_NAMED else "")
