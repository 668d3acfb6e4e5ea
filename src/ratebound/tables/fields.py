"""Cells of plain texts, found and read by arrays, many times faster than one by one.

In a plain chunk of a text every line is a row and every separator parts two cells. All others are left
to pyarrow or to Python's own reader, and a cell that is not a plain number to Python's own numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ratebound.base.types import Array

NEWLINE, RETURN, QUOTE, POINT, MINUS, ZERO = b'\n\r".-0'
# A whole number of so many digits, divided by a power of ten, is the float nearest to the quotient.
DIGITS = 15
POWERS = 10.0 ** np.arange(DIGITS + 1)
# What stands for a missing number; among texts, each of these but the first is a value like any other.
MISSING_MARKS = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", ".")
)
COUNTED_MARKS = MISSING_MARKS - {"", "NaN", "nan"}  # the last of which are no number to everyone


@dataclass(frozen=True, eq=False)
class Numbers:
    """Cells as numbers: all whole, or all floats with NaN for missing ones and no zero below zero."""

    values: Array
    marks: Mapping[str, int]  # of missing numbers, and how many of each
    comma: str = ""  # the first cell with a decimal comma


class Cells(Protocol):
    """Some cells of a column."""

    def __len__(self) -> int: ...

    @property
    def texts(self) -> Sequence[str]:
        """The cells as they are written."""

    def coded(self) -> tuple[Sequence[str], Array]:
        """The cells that differ, the first ones first, and for each cell which of them it is."""

    def numbers(self, commas: bool) -> Numbers | None:
        """The cells as numbers where that is quick to tell; None says nothing."""


@dataclass(frozen=True)
class Strings:
    """Cells that Python's reader has found."""

    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.texts)

    def coded(self) -> tuple[Sequence[str], Array]:
        return _coded(self.texts)

    def numbers(self, commas: bool) -> None:
        """Nothing is quick here."""


@dataclass(frozen=True, eq=False)
class Fields:
    """Cells as the bytes of a chunk, each from its start to its end."""

    chunk: bytes
    starts: Array
    ends: Array
    encoding: str

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def texts(self) -> Sequence[str]:
        """The cells as they are written, decoded once where equal."""
        pairs = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        cells = [self.chunk[start:end] for start, end in pairs]
        spelled = {cell: cell.decode(self.encoding) for cell in set(cells)}
        return list(map(spelled.__getitem__, cells))

    def coded(self) -> tuple[Sequence[str], Array]:
        return _coded(self.texts)

    def numbers(self, commas: bool) -> Numbers | None:
        """The cells as whole numbers or as floats with NaN for empty ones, if all are plainly written.

        That is digits with at most one point among them and a minus before them, but not 007: a number
        does not begin with a zero before another digit, and a code may.
        """
        width = int((self.ends - self.starts).max())
        if width > DIGITS + 2:
            return None
        letters = np.frombuffer(self.chunk, np.uint8)
        first = self.starts + (letters.take(self.starts, mode="clip") == MINUS)
        first = first[self.ends - first > 1]
        if ((letters[first] == ZERO) & (letters[first + 1] - ZERO < 10)).any():
            return None
        size = len(self.starts)
        whole, digits, places = (np.zeros(size, np.int64) for _ in range(3))
        fraction = np.zeros(size, bool)
        for back in range(width, 0, -1):  # all cells at once, by how far from the end
            place = self.ends - back
            inside = place >= self.starts
            letter = letters[np.maximum(place, 0)]
            digit = letter - ZERO
            is_digit = inside & (digit < 10)
            is_point = inside & (letter == POINT) & ~fraction
            is_minus = inside & (letter == MINUS) & (place == self.starts)
            if not (is_digit | is_point | is_minus | ~inside).all():
                return None
            whole = np.where(is_digit, 10 * whole + digit, whole)
            digits += is_digit
            places += is_digit & fraction
            fraction |= is_point
        empty = self.starts == self.ends
        if ((digits == 0) & ~empty).any() or (digits > DIGITS).any():
            return None
        sign = np.where(letters[np.minimum(self.starts, len(letters) - 1)] == MINUS, -1, 1)
        if not fraction.any() and not empty.any():
            return Numbers(sign * whole, {})
        return Numbers(np.where(empty, np.nan, sign * whole / POWERS[places]), {})


def _coded(texts: Sequence[str]) -> tuple[Sequence[str], Array]:
    place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    return list(place), np.fromiter(map(place.__getitem__, texts), dtype=np.intp, count=len(texts))


def fields_of(
    chunk: bytes, sep: str, names: Sequence[str], wanted: Iterable[str], encoding: str
) -> dict[str, Cells] | None:
    """The cells of a chunk by column; None where it is not plain, with as many cells a line as names."""
    width = len(names)
    letters = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero((letters == ord(sep)) | (letters == NEWLINE))
    is_end = letters[ends] == NEWLINE
    if len(ends) % width or not is_end[width - 1 :: width].all() or is_end.sum() * width != len(ends):
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    last = slice(width - 1, None, width)
    returned = (ends[last] > starts[last]) & (letters[ends[last] - 1] == RETURN)
    ends[last] -= returned
    quoted = letters[starts] == QUOTE
    whole = (letters[ends - 1] == QUOTE) & (ends - starts > 1)
    if chunk.count(b'"') != 2 * (quoted & whole).sum():
        return None  # some quotation mark is inside a cell
    starts, ends = starts + quoted, ends - quoted
    if width == 1 and (starts == ends).any():
        return None  # an empty line is no row
    places = {name: slice(names.index(name), None, width) for name in wanted}
    return {n: Fields(chunk, starts[of], ends[of], encoding) for n, of in places.items()}
