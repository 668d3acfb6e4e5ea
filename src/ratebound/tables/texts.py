"""Texts of cells: in which encoding, what parts the cells, and whether the first line names columns.

What was not said is found out from the text itself. What cannot be found out is an error that names
the flag to say it with.
"""

from __future__ import annotations

import codecs
import csv
import io
import string
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from ratebound.base.layout import printable
from ratebound.tables.arrow_fields import arrow_fields_of
from ratebound.tables.chunks import PLAIN, chunks_of
from ratebound.tables.contents import Content, as_stream
from ratebound.tables.fields import Cells, Strings, fields_of
from ratebound.tables.reading import Reading

BATCH = 1 << 12  # rows taken at a time, few enough to stay in a processor's cache
SMALL = 1 << 18  # bytes that are read before pyarrow would be loaded
SAMPLE = 50  # lines that are looked at first
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
PARTING = set(string.punctuation + "\t") - set(".+-")  # what is never a part of a number, nor skipped
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
    lines: int  # about as many as there are rows
    notice: str = ""

    @property
    def name(self) -> str:
        return self.content.name

    def batches(self, wanted: Collection[str]) -> Iterator[Mapping[str, Cells]]:
        """The cells of these columns, some rows at a time."""
        if self.encoding not in PLAIN or self.sep not in PARTING:
            yield from self._by_python(self.content.blocks(), self.encoding, 0, self.header, wanted)
            return
        blocks, encoding = self.content.blocks(), self.encoding
        if encoding == "utf-8-sig":
            blocks, encoding = chain([next(blocks).removeprefix(codecs.BOM_UTF8)], blocks), "utf-8"
        above, named = 0, self.header
        chunks = chunks_of(blocks, self.sep)
        for chunk in chunks:
            if chunk.is_odd:
                rest = chain([chunk.data], (each.data for each in chunks))
                yield from self._by_python(rest, encoding, above, named, wanted)
                return
            data = chunk.data
            if named:
                reader = _reader(_decoded(iter([data]), encoding), self.sep)
                named = next(filter(None, reader), None) is None
                above += reader.line_num
                data = data.split(b"\n", reader.line_num)[-1]
            if not data:
                continue
            given = data, self.sep, self.names, wanted, encoding
            found = arrow_fields_of(*given) if len(data) > SMALL else None
            found = fields_of(*given) if found is None else found
            if found is not None:
                yield found
            else:  # some line is empty, not as long as others, or within quotation marks
                yield from self._by_python(iter([data]), encoding, above, False, wanted)
            above += data.count(b"\n")

    def _by_python(
        self, blocks: Iterator[bytes], encoding: str, above: int, named: bool, wanted: Collection[str]
    ) -> Iterator[Mapping[str, Cells]]:
        """The same by Python's own reader, of the rest of a text below so many lines."""
        places = {name: self.names.index(name) for name in wanted}
        rows = self._rows(_decoded(blocks, encoding), above)
        if named:
            next(rows, None)
        while batch := list(islice(rows, BATCH)):
            columns = list(zip(*batch, strict=True))
            yield {name: Strings(columns[place]) for name, place in places.items()}

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


def as_text(content: Content, reading: Reading) -> Text:
    """The text in a file, with all that is needed to read its cells."""
    encoding, lines, notice = _encoding(content, reading.encoding)
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
            f"{content.name}: the first line looks like a row, {printable(', '.join(first[:5]))}"
            f"{', ...' if len(first) > 5 else ''}, and should name the columns: --no-header names them "
            "column1, column2 and so on; --header says that these are names"
        )
    header = reading.header is not False
    names = _names(first, content.name) if header else [f"column{i + 1}" for i in range(len(first))]
    return Text(content, encoding, sep, header, tuple(names), lines, notice)


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


def _encoding(content: Content, given: str | None) -> tuple[str, int, str]:
    """The encoding of a text, the number of its lines, and a notice where the encoding is a guess."""
    with content.opened() as stream:
        first = stream.read(1 << 16)
    marked = next((named for mark, named in MARKS.items() if first.startswith(mark)), None)
    if given is not None or marked is not None:
        said = given or str(marked)
        try:
            lines = _lines(content, said)
        except LookupError:
            raise ValueError(f"--encoding {said}: there is none of that name; try cp1252") from None
        except UnicodeError as error:
            raise ValueError(f"{content.name} is not text in {said}: {error}") from None
        named = codecs.lookup(said).name
        return ("utf-8-sig" if named == "utf-8" and marked == "utf-8-sig" else named), lines, ""
    if b"\0" in first:
        raise ValueError(
            f"{content.name} is not a table in text: it holds zero bytes. Where it is UTF-16 without a "
            "mark, say --encoding utf-16-le"
        )
    guess = f"{content.name} is not in UTF-8 and is read as {FALLBACK}; --encoding says otherwise"
    for encoding, notice in {"utf-8": "", FALLBACK: guess}.items():
        try:
            return encoding, _lines(content, encoding), notice
        except UnicodeError:
            continue
    raise ValueError(
        f"{content.name} is text neither in UTF-8 nor in {FALLBACK}: say --encoding, as in "
        "--encoding latin-1"
    )


def _lines(content: Content, encoding: str) -> int:
    """The number of newlines in a text, all of which must be in this encoding."""
    io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # which refuses what is no encoding of texts
    decoder, lines, read = codecs.getincrementaldecoder(encoding)(), 0, 0
    for block in chain(content.blocks(), [b""]):
        start = read - len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise UnicodeError(f"{error.reason} at byte {start + error.start:,}") from None
        lines += block.count(b"\n")
        read += len(block)
    return lines


def _decoded(blocks: Iterator[bytes], encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(as_stream(blocks), encoding=encoding, newline="")


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
    with _decoded(content.blocks(), encoding) as lines:
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
