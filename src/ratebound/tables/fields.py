"""Cells of plain texts, found and read by arrays, many times faster than one by one.

In a plain text every line is a row and every separator parts two cells: nothing is quoted, or whole
cells are and hold neither. All others are left to Python's own reader, and a cell that is not a plain
number to Python's own numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ratebound.base.types import Array

CHUNK = 1 << 20  # bytes taken at a time
NEWLINE, RETURN, QUOTE, POINT, MINUS, ZERO = b'\n\r".-0'
# A whole number of so many digits, divided by a power of ten, is the float nearest to the quotient.
DIGITS = 15
POWERS = 10.0 ** np.arange(DIGITS + 1)
# Encodings in which the bytes of separators and digits are those of ASCII, and stand for nothing else.
PLAIN = ("utf-8", "utf-8-sig", "ascii", "cp1252", "iso8859-1")


class Cells(Protocol):
    """Some cells of a column."""

    @property
    def texts(self) -> Sequence[str]:
        """The cells as they are written."""

    def numbers(self) -> Array | None:
        """The cells as numbers where that is quick to tell; None says nothing."""


@dataclass(frozen=True)
class Strings:
    """Cells that Python's reader has found."""

    texts: Sequence[str]

    def numbers(self) -> None:
        """Nothing is quick here."""


@dataclass(frozen=True, eq=False)
class Fields:
    """Cells as the bytes of a chunk, each from its start to its end."""

    chunk: bytes
    starts: Array
    ends: Array
    encoding: str

    @property
    def texts(self) -> Sequence[str]:
        """The cells as they are written, decoded once where equal."""
        pairs = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        cells = [self.chunk[start:end] for start, end in pairs]
        spelled = {cell: cell.decode(self.encoding) for cell in set(cells)}
        return list(map(spelled.__getitem__, cells))

    def numbers(self) -> Array | None:
        """The cells as whole numbers or as floats with NaN for empty ones, if all are plainly written.

        That is digits with at most one point among them and a minus before them, but not 007: a number
        does not begin with a zero before another digit, and a code may.
        """
        width = int((self.ends - self.starts).max())
        if width > DIGITS + 2:
            return None
        letters = np.frombuffer(self.chunk, np.uint8)
        long = self.ends - self.starts > 1
        first = self.starts[long]
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
            return sign * whole
        return np.where(empty, np.nan, sign * (whole / POWERS[places]))


def is_plain(data: bytes, encoding: str, sep: str) -> bool:
    """Whether every line of a text is a row, and every separator parts two cells."""
    single = data.count(b"\r") != data.count(b"\r\n")
    if encoding not in PLAIN or single or not sep.isascii():
        return False
    return b'"' not in data or all(_quotes_cells(chunk, sep) for chunk in lines_of(data))


def _quotes_cells(chunk: bytes, sep: str) -> bool:
    """Whether quotes stand only around whole cells, and no separator or newline between them."""
    letters = np.frombuffer(chunk, np.uint8)
    quotes = np.flatnonzero(letters == QUOTE)
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    parts = (letters == ord(sep)) | (letters == NEWLINE)
    count = np.cumsum(parts)
    begins = (opening == 0) | parts[opening - 1]
    ends = parts[closing + 1] | (letters[closing + 1] == RETURN)
    return bool((begins & ends & (count[opening] == count[closing])).all())


def lines_of(data: bytes) -> Iterator[bytes]:
    """The text by chunks of whole lines, each of which ends with a newline."""
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + CHUNK) + 1 or data.find(b"\n", start) + 1 or len(data)
        chunk = data[start:end]
        yield chunk if chunk.endswith(b"\n") else chunk + b"\n"
        start = end


def fields_of(chunk: bytes, sep: str, width: int, encoding: str) -> list[Cells] | None:
    """The cells of a chunk of lines by column; None where a line has more or fewer than `width`."""
    letters = np.frombuffer(chunk, np.uint8)
    ends = np.flatnonzero((letters == ord(sep)) | (letters == NEWLINE))
    is_end = letters[ends] == NEWLINE
    if len(ends) % width or not is_end[width - 1 :: width].all() or is_end.sum() * width != len(ends):
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    last = slice(width - 1, None, width)
    returned = (ends[last] > starts[last]) & (letters[ends[last] - 1] == RETURN)
    ends[last] -= returned
    quoted = (ends > starts) & (letters[starts] == QUOTE)
    starts, ends = starts + quoted, ends - quoted
    if width == 1 and (starts == ends).any():
        return None  # an empty line is no row
    return [Fields(chunk, starts[i::width], ends[i::width], encoding) for i in range(width)]
