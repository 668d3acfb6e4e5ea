"""Texts of cells: in which encoding, what parts the cells, and whether the first line names columns.

What was not said is found out from the text itself. What cannot be found out is an error that names
the flag to say it with.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ratebound.tables.contents import Content
from ratebound.tables.fields import Cells, Strings, fields_of, is_plain, lines_of
from ratebound.tables.reading import Reading

BATCH = 1 << 12  # rows taken at a time, few enough to stay in a processor's cache
SAMPLE = 50  # lines that are looked at first
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SPELLED = {"\\t": "\t", "tab": "\t"}  # how people spell a tab on a command line
MARKS = {  # a text that begins with one of these says its own encoding
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
FALLBACK = "cp1252"


@dataclass(frozen=True)
class Text:
    """A text of cells and how to read it, as often as needed."""

    content: Content
    encoding: str
    sep: str
    header: bool
    names: tuple[str, ...]
    notice: str = ""

    @property
    def name(self) -> str:
        return self.content.name

    def batches(self) -> Iterator[Sequence[Cells]]:
        """The cells by column, some rows at a time."""
        if is_plain(self.content.data, self.encoding, self.sep):
            yield from self._plain_batches()
            return
        with _opened(self.content.data, self.encoding) as lines:
            rows = self._rows(lines, 0)
            if self.header:
                next(rows, None)
            yield from _by_column(rows)

    def _plain_batches(self) -> Iterator[Sequence[Cells]]:
        """The same of a plain text, a chunk of lines at a time."""
        mark = codecs.BOM_UTF8 if self.content.data.startswith(codecs.BOM_UTF8) else b""
        encoding = "utf-8" if mark else self.encoding
        above, named = 0, self.header
        for chunk in lines_of(self.content.data[len(mark) :]):
            found = None if named else fields_of(chunk, self.sep, len(self.names), encoding)
            if found is not None:
                yield found
            else:  # the first chunk, and those in which some line is empty or not as long as others
                rows = self._rows(_opened(chunk, encoding), above)
                named = named and next(rows, None) is None
                yield from _by_column(rows)
            above += chunk.count(b"\n")

    def _rows(self, lines: Any, above: int) -> Iterator[list[str]]:
        """The rows in some lines, each of which must have a cell for every column."""
        reader, width = _reader(lines, self.sep), len(self.names)
        try:
            for cells in filter(None, reader):  # without empty lines
                if len(cells) != width:
                    first = f"names {width} columns" if self.header else f"has {width}"
                    raise ValueError(
                        f"{self.name}, line {above + reader.line_num}: {len(cells)} cells where the "
                        f"first line {first}; cells are parted by {_called(self.sep)}"
                    )
                yield cells
        except csv.Error as error:
            said = f"{self.name}, line {above + reader.line_num}: {error}"
            raise ValueError(_unread(said, self.sep)) from None


def _by_column(rows: Iterator[list[str]]) -> Iterator[Sequence[Cells]]:
    while batch := list(islice(rows, BATCH)):
        yield [Strings(cells) for cells in zip(*batch, strict=True)]


def as_text(content: Content, reading: Reading) -> Text:
    """The text in a file, with all that is needed to read its cells."""
    if not content.data:
        raise ValueError(f"{content.name} is empty: its first line must name the columns")
    encoding, notice = _encoding(content, reading.encoding)
    sep = _separator(content, encoding) if reading.sep is None else _checked_separator(reading.sep)
    try:
        first, others = _sample(content, encoding, sep)
    except csv.Error as error:
        raise ValueError(_unread(error, sep)) from None
    if not first:
        raise ValueError(f"{content.name} is empty: its first line must name the columns")
    widths = {len(cells) for cells in others}
    if len(widths) == 1 and len(first) not in widths:
        raise ValueError(
            f"{content.name}: the first line has {len(first)} cells and those after it {widths.pop()}, "
            f"parted by {_called(sep)}: remove what stands above the names of the columns, or say --sep"
        )
    if reading.header is None and _is_row(first, others):
        raise ValueError(
            f"{content.name}: the first line looks like a row, {', '.join(first[:5])}"
            f"{', ...' if len(first) > 5 else ''}, and should name the columns: --no-header names them "
            "column1, column2 and so on; --header says that these are names"
        )
    header = reading.header is not False
    names = _names(first, content.name) if header else [f"column{i + 1}" for i in range(len(first))]
    return Text(content, encoding, sep, header, tuple(names), notice)


def is_number(cell: str) -> bool:
    """Whether a cell is a number, as people write it in a table.

    >>> [is_number(cell) for cell in ("12", "-1.5e3", "1,5", "1_000", "", "nan")]
    [True, True, True, False, False, False]
    """
    try:
        value = float(cell.replace(",", "."))
    except ValueError:
        return False
    return value == value and "_" not in cell


# --- encodings -----------------------------------------------------------------------------------


def _encoding(content: Content, given: str | None) -> tuple[str, str]:
    """The encoding of a text, and a notice where it is a guess."""
    marked = next((named for mark, named in MARKS.items() if content.data.startswith(mark)), None)
    if given is not None or marked is not None:
        return _checked_encoding(content, given or str(marked)), ""
    if b"\0" in content.data[: 1 << 16]:
        raise ValueError(
            f"{content.name} is not a table in text: it holds zero bytes. Where it is UTF-16 without a "
            "mark, say --encoding utf-16-le"
        )
    guess = f"{content.name} is not in UTF-8 and is read as {FALLBACK}; --encoding says otherwise"
    for encoding, notice in {"utf-8": "", FALLBACK: guess}.items():
        try:
            content.data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding, notice
    raise ValueError(
        f"{content.name} is text neither in UTF-8 nor in {FALLBACK}: say --encoding, as in "
        "--encoding latin-1"
    )


def _checked_encoding(content: Content, given: str) -> str:
    """The encoding by its own name, where the text can be read in it."""
    try:
        _opened(content.data, given).read()
    except LookupError:
        raise ValueError(f"--encoding {given}: there is none of that name; try cp1252") from None
    except UnicodeError as error:
        raise ValueError(f"{content.name} is not text in {given}: {error}") from None
    named = codecs.lookup(given).name
    marked = named == "utf-8" and content.data.startswith(codecs.BOM_UTF8)
    return "utf-8-sig" if marked else named


def _opened(data: bytes, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")


# --- separators ----------------------------------------------------------------------------------


def _reader(lines: Any, sep: str) -> Any:
    return csv.reader(lines, delimiter=sep, skipinitialspace=True, strict=True)


def _checked_separator(given: str) -> str:
    sep = SPELLED.get(given, given)
    if len(sep) != 1 or sep in '"\r\n':
        raise ValueError(f"--sep takes one character, as in ';' or tab, got {given!r}")
    return sep


def _unread(error: Any, sep: str) -> str:
    if "expected after" in str(error):
        return f"{error}; cells are parted by {_called(sep)} here, --sep says otherwise"
    unclosed = "unexpected end of data" in str(error)
    return f"{error}{'; a quotation mark before it is never closed' if unclosed else ''}"


def _called(sep: str) -> str:
    return SEPARATORS.get(sep, repr(sep))


def _separator(content: Content, encoding: str) -> str:
    """What parts the cells: that by which most of the first lines have the same number, and the most."""
    found: dict[str, tuple[int, int]] = {}
    for sep in SEPARATORS:
        try:
            first, others = _sample(content, encoding, sep)
        except csv.Error:
            continue
        (width, lines), *_ = Counter(map(len, [first, *others])).most_common(1)
        if width > 1:
            found[sep] = lines, width
    return max(found, key=lambda sep: found[sep], default=",")


def _sample(content: Content, encoding: str, sep: str) -> tuple[list[str], list[list[str]]]:
    """The cells of the first line and of some after it, without blanks around them."""
    with _opened(content.data, encoding) as lines:
        reader = _reader(lines, sep)
        try:
            rows = [[cell.strip() for cell in cells] for cells in islice(filter(None, reader), SAMPLE)]
        except csv.Error as error:
            raise csv.Error(f"{content.name}, line {reader.line_num}: {error}") from None
    return (rows[0], rows[1:]) if rows else ([], [])


# --- the first line ------------------------------------------------------------------------------


def _is_row(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is a row: all numbers, or of the kinds and values that the others have.

    The numbers from 0 on are names: libraries write them where columns have none.
    """
    if all(map(is_number, first)):
        return list(first) != [str(i) for i in range(len(first))]
    columns = list(zip(*(cells for cells in others if len(cells) == len(first)), strict=True))
    if not columns:
        return False
    numeric = [all(is_number(cell) for cell in cells if cell) and any(cells) for cells in columns]
    if not all(is_number(cell) for cell, number in zip(first, numeric, strict=True) if number):
        return False
    pairs = zip(first, columns, numeric, strict=True)
    again = [cell in cells for cell, cells, number in pairs if not number]
    return all(again) if not any(numeric) else 2 * sum(again) >= len(again)


def _names(first: Sequence[str], source: str) -> list[str]:
    """The names in the first line; a column without one is called as pandas calls it."""
    names = [name or f"Unnamed: {index}" for index, name in enumerate(first)]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"{source}: two columns are named {name!r}: rename one of them")
    return names
