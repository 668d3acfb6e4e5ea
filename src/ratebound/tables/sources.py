"""Files as columns: the cells of texts become numbers or texts, and Parquet and Arrow keep their types.

A column holds numbers if all its cells do that are not missing. Numbers are kept as such from the first
batch on, since a million texts take far more room. Only where a later batch shows that a column holds
texts after all is that column read a second time.
"""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ratebound.base.types import Array
from ratebound.tables.amounts import CODE, are_amounts, read_numbers
from ratebound.tables.arrow import read_arrow
from ratebound.tables.contents import Content
from ratebound.tables.fields import Cells
from ratebound.tables.reading import Kind, Reading
from ratebound.tables.texts import Text, as_text

# What stands for a missing number; among texts, each of these but the first is a value like any other.
MISSING_MARKS = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", ".")
)


def read_columns(
    files: Sequence[Content], kinds: Mapping[str, Kind], reading: Reading
) -> tuple[dict[str, Array], list[str]]:
    """The columns of files that have the same ones, and what is to be told about them.

    `kinds` says what some columns hold: one of texts is never read as numbers, and one of numbers may
    hold nothing but marks of missing ones.
    """
    arrow = [content.is_arrow for content in files]
    if any(arrow) and not all(arrow):
        one, other = files[arrow.index(True)], files[arrow.index(False)]
        raise ValueError(
            f"{one.name} is Parquet or Arrow and {other.name} is not: give one kind of file"
        )
    if all(arrow):
        tables = [read_arrow(content, kinds) for content in files]
        _check_same([(content.name, list(table)) for content, table in zip(files, tables, strict=True)])
        return {name: _joined([table[name] for table in tables]) for name in tables[0]}, []
    texts = [as_text(content, reading) for content in files]
    _check_same([(text.name, text.names) for text in texts])
    columns = _read_texts(texts, texts[0].names, kinds)
    for name, column in columns.items():
        if column.is_text and kinds.get(name) != "text":
            column.read_amounts()
    notices = [text.notice for text in texts if text.notice]
    return {name: column.values for name, column in columns.items()}, notices + _told(columns)


def _check_same(named: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise unless all files have the columns of the first, in whatever order."""
    (first, names), *others = named
    for other, found in others:
        lacking = [name for name in names if name not in found]
        besides = [name for name in found if name not in names]
        if lacking or besides:
            said = [f"lacks {_few(list(map(repr, lacking)))}"] * bool(lacking)
            said += [f"has {_few(list(map(repr, besides)))} besides"] * bool(besides)
            raise ValueError(f"{other} has other columns than {first}: it {' and '.join(said)}")


def _joined(parts: Sequence[Array]) -> Array:
    """One column of all files; where they differ in type, its values keep their own."""
    numeric = all(part.dtype.kind in "iuf" for part in parts)
    if not numeric and len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


# --- cells of texts ------------------------------------------------------------------------------


@dataclass
class _Column:
    """A column while it is read."""

    is_text: bool
    parts: list[Array] = field(default_factory=list)
    marks: Counter[str] = field(default_factory=Counter)  # of missing numbers, and how many of each
    comma: str = ""  # a number that was written with a decimal comma
    amount: str = ""  # a number that was written with a currency, a percent sign or commas

    @property
    def values(self) -> Array:
        return np.concatenate(self.parts) if self.parts else np.empty(0, dtype=object)

    def add_numbers(self, given: Cells, commas: bool) -> bool:
        """Take in cells, of which all must be numbers or missing; False where some are not."""
        if (found := given.numbers()) is not None:
            self.parts.append(found)
            return True
        cells = given.texts
        together = "".join(cells)
        # Python reads 1_000 as a number, and 007; in a table these are names and codes.
        if "_" in together or any(map(CODE.match, cells)):
            return False
        if commas and "," in together:
            self.comma = self.comma or next(cell for cell in cells if "," in cell)
            cells = [cell.replace(",", ".") for cell in cells]
        try:
            found = _whole(cells)
            self.parts.append(self._fractional(cells) if found is None else found)
        except (ValueError, OverflowError):  # of which the last is longer than any number: an id
            return False
        return True

    def _fractional(self, cells: Sequence[str]) -> Array:
        try:
            return np.fromiter(map(float, cells), dtype=float, count=len(cells))
        except ValueError:
            stripped = list(map(str.strip, cells))
        found = [math.nan if cell in MISSING_MARKS else float(cell) for cell in stripped]
        self.marks.update(cell for cell in stripped if cell and cell in MISSING_MARKS)
        return np.array(found)

    def add_texts(self, cells: Cells, same: dict[str, str]) -> None:
        """Take in cells as texts; equal ones share one string, as in `same`."""
        texts = cells.texts
        bare = {cell: cell.strip() for cell in set(texts)}
        shared = {cell: same.setdefault(text, text) or None for cell, text in bare.items()}
        self.parts.append(np.array(list(map(shared.__getitem__, texts)), dtype=object))

    def read_amounts(self) -> None:
        """Make numbers of texts that are all amounts."""
        texts = list(dict.fromkeys(text for part in self.parts for text in part.tolist()))
        written = [text for text in texts if text is not None]
        if are_amounts(written):
            number = dict(zip(written, read_numbers(written).tolist(), strict=True)) | {None: math.nan}
            found = [np.array([number[text] for text in part.tolist()]) for part in self.parts]
            self.is_text, self.parts, self.amount = False, found, written[0]


def _whole(cells: Sequence[str]) -> Array | None:
    try:
        return np.fromiter(map(int, cells), dtype=np.int64, count=len(cells))
    except ValueError:
        return None


def _read_texts(
    texts: Sequence[Text], names: Sequence[str], kinds: Mapping[str, Kind]
) -> dict[str, _Column]:
    """These columns of all texts, one after the other."""
    columns = {name: _Column(kinds.get(name) == "text") for name in names}
    late: dict[str, Kind] = {}  # columns that held numbers at first
    same: dict[str, str] = {}
    for text, name, cells in _batches(texts):
        column = columns.get(name)
        if column is None or name in late:
            continue
        if not column.is_text and not column.add_numbers(cells, text.sep != ","):
            if column.parts:
                late[name] = "text"
                continue
            column.is_text = True
        if column.is_text:
            column.add_texts(cells, same)
    for name, column in columns.items():
        only_marks = bool(column.marks) and all(np.isnan(part).all() for part in column.parts)
        if only_marks and kinds.get(name) != "number":
            late[name] = "text"
    return columns | _read_texts(texts, list(late), late) if late else columns


def _batches(texts: Sequence[Text]) -> Iterator[tuple[Text, str, Cells]]:
    """Some cells of a column at a time, with the column's name and the text they are from."""
    with _no_collecting():
        for text in texts:
            for batch in text.batches():
                for name, cells in zip(text.names, batch, strict=True):
                    yield text, name, cells


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Pause Python's search for cycles, which takes half the time where so many cells are made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _told(columns: Mapping[str, _Column]) -> list[str]:
    """What was taken for numbers that does not look like one everywhere."""
    numbers = {name: column for name, column in columns.items() if not column.is_text}
    said = []
    marks = [
        f"{count:,} {mark!r} in {name!r}"
        for name, column in numbers.items()
        for mark, count in column.marks.items()
    ]
    if marks:
        said.append(f"among numbers these are missing values: {_few(marks)}")
    commas = [f"{name!r} ({column.comma})" for name, column in numbers.items() if column.comma]
    if commas:
        said.append(f"commas are read as decimal points in {_few(commas)}")
        points = {n: _fraction(c.values) for n, c in numbers.items() if not (c.comma or c.amount)}
        if shown := [f"{name!r} ({value})" for name, value in points.items() if value]:
            said.append(f"points are read as decimal points beside them, in {_few(shown)}")
    amounts = [f"{name!r} ({column.amount})" for name, column in numbers.items() if column.amount]
    if amounts:
        said.append(f"amounts are read as the numbers in them in {_few(amounts)}")
    return said


def _fraction(values: Array) -> str:
    """The first number that is not whole, or none."""
    parts = np.flatnonzero(np.isfinite(values) & (values != np.floor(values)))
    return str(values[parts[0]]) if len(parts) else ""


def _few(words: Sequence[str]) -> str:
    return ", ".join(words[:10]) + (f" and {len(words) - 10} more" if len(words) > 10 else "")
