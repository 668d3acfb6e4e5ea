"""Texts of cells: in which encoding, what parts the cells, and whether the first line names columns.

What was not said is found out from the text itself. What cannot be found out is an error that names
the flag to say it with. pyarrow finds the cells, and the csv module those of small files, of texts that
pyarrow refuses, and of all where pyarrow is not installed.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from ratebound.base.layout import printable
from ratebound.tables.cells import ArrowStrings, RawCells, Strings
from ratebound.tables.contents import Content

Kind = Literal["number", "text"]  # what a column holds
BATCH = 1 << 12  # rows that the csv module gives at a time, few enough to stay in a processor's cache
SMALL_TEXT = 1 << 18  # bytes that are read sooner than pyarrow is loaded
LARGE_TEXT = 100_000_000  # bytes that take long without pyarrow
LONGEST = 1 << 24  # bytes of a row for pyarrow; most likely a quotation mark before it is not closed
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
class Reading:
    """How texts are to be read; None means that it is found out."""

    sep: str | None = None  # what parts the cells
    encoding: str | None = None
    header: bool | None = None  # whether the first line names the columns


FOUND_OUT = Reading()


class _IrregularQuotes(Exception):
    """A quotation mark stands where pyarrow would not see what the csv module sees."""


@dataclass(frozen=True)
class Text:
    """A text of cells and how to read it, as often as needed."""

    content: Content
    encoding: str
    sep: str
    header: bool
    names: tuple[str, ...]
    size: int  # in bytes, unpacked
    lines: int  # about as many as there are rows
    notices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.content.name

    def batches(self, wanted: Collection[str]) -> Iterator[Mapping[str, RawCells]]:
        """The cells of these columns, some rows at a time."""
        given = 0
        # The csv module skips blanks before a cell, and so between cells that blanks part.
        if self.size > SMALL_TEXT and self.sep.isascii() and self.sep != " " and find_spec("pyarrow"):
            try:
                for batch in self._by_arrow(wanted):
                    yield batch
                    given += len(next(iter(batch.values())))
                return
            except (import_module("pyarrow").ArrowInvalid, _IrregularQuotes):
                pass  # what is wrong in which line, if anything is, the csv module says
        yield from self._by_csv(wanted, given)

    def _by_arrow(self, wanted: Collection[str]) -> Iterator[Mapping[str, RawCells]]:
        arrow, reader = import_module("pyarrow"), import_module("pyarrow.csv")
        columns = [str(place) for place in range(len(self.names))]
        places = [columns[self.names.index(name)] for name in wanted]
        convert = reader.ConvertOptions(
            column_types=dict.fromkeys(places, arrow.string()),
            include_columns=places,
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,  # which was checked before
        )
        parse = reader.ParseOptions(delimiter=self.sep, newlines_in_values=True)
        named = self.header
        for rows in _whole_rows(self._utf8(), self.sep):
            # pyarrow's own reader of streams may wait for itself forever once it has refused a row.
            read = reader.ReadOptions(column_names=columns, block_size=len(rows) + 1, use_threads=False)
            table = reader.read_csv(arrow.BufferReader(rows), read, parse, convert)
            cells = [column.chunk(0)[int(named) :] for column in table.columns]  # as of one block
            named = False
            if len(cells[0]):
                yield dict(zip(wanted, map(ArrowStrings, cells), strict=True))

    def _utf8(self) -> Iterator[bytes]:
        """The text in UTF-8, without a mark."""
        if self.encoding in ("utf-8", "ascii"):
            return self.content.blocks()
        return (part.encode() for part in codecs.iterdecode(self.content.blocks(), self.encoding))

    def _by_csv(self, wanted: Collection[str], given: int) -> Iterator[Mapping[str, RawCells]]:
        """The same by the csv module, without the first rows."""
        places = {name: self.names.index(name) for name in wanted}
        rows = islice(self._rows(), int(self.header) + given, None)
        while batch := list(islice(rows, BATCH)):
            columns = list(zip(*batch, strict=True))
            yield {name: Strings(columns[place]) for name, place in places.items()}

    def _rows(self) -> Iterator[list[str]]:
        """The rows of cells, each of which must have one for every column."""
        reader, width = _reader(_decoded(self.content, self.encoding), self.sep), len(self.names)
        try:
            for cells in filter(None, reader):  # without empty lines
                if len(cells) != width:
                    first = f"names {width} columns" if self.header else f"has {width}"
                    raise ValueError(
                        f"{self.name}, line {reader.line_num}: {len(cells)} cells where the "
                        f"first line {first}; cells are parted by {_called(self.sep)}"
                    )
                yield cells
        except csv.Error as error:
            said = f"{self.name}, line {reader.line_num}: {error}"
            raise ValueError(_unread(said, self.sep)) from None


def as_text(content: Content, reading: Reading) -> Text:
    """The text in a file, with all that is needed to read its cells."""
    encoding, size, lines, notices = _encoding(content, reading.encoding)
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
    if size > LARGE_TEXT and not find_spec("pyarrow"):
        notices += (
            f"{content.name} has {size / 1e6:,.0f} MB, which pyarrow reads many times faster: "
            "pip install 'ratebound[parquet]'",
        )
    return Text(content, encoding, sep, header, tuple(names), size, lines, notices)


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


def _encoding(content: Content, given: str | None) -> tuple[str, int, int, tuple[str, ...]]:
    """The encoding of a text, its bytes and lines, and a notice if the encoding is a guess."""
    with content.opened() as stream:
        first = stream.read(1 << 16)
    marked = next((named for mark, named in MARKS.items() if first.startswith(mark)), None)
    if given is not None or marked is not None:
        said = given or str(marked)
        try:
            measured = _measured(content, said)
        except LookupError:
            raise ValueError(f"--encoding {said}: there is none of that name; try cp1252") from None
        except UnicodeError as error:
            raise ValueError(f"{content.name} is not text in {said}: {error}") from None
        named = codecs.lookup(said).name
        return ("utf-8-sig" if named == "utf-8" and marked == "utf-8-sig" else named), *measured, ()
    if b"\0" in first:
        raise ValueError(
            f"{content.name} is not a table in text: it holds zero bytes. Where it is UTF-16 without a "
            "mark, say --encoding utf-16-le"
        )
    guess = f"{content.name} is not in UTF-8 and is read as {FALLBACK}; --encoding says otherwise"
    for encoding, notices in {"utf-8": (), FALLBACK: (guess,)}.items():
        try:
            return encoding, *_measured(content, encoding), notices
        except UnicodeError:
            continue
    raise ValueError(
        f"{content.name} is text neither in UTF-8 nor in {FALLBACK}: say --encoding, as in "
        "--encoding latin-1"
    )


def _measured(content: Content, encoding: str) -> tuple[int, int]:
    """The bytes and the newlines in a text, all of which must be in this encoding."""
    io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # which refuses what is not for texts
    decoder, lines, size = codecs.getincrementaldecoder(encoding)(), 0, 0
    for block in chain(content.blocks(), [b""]):
        start = size - len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise UnicodeError(f"{error.reason} at byte {start + error.start:,}") from None
        lines += block.count(b"\n")
        size += len(block)
    return size, lines


def _decoded(content: Content, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(content.opened(), encoding=encoding, newline="")


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
    fits: dict[str, tuple[int, int]] = {}
    for sep in SEPARATORS:
        try:
            first, others = _sample(content, encoding, sep)
        except csv.Error:
            continue
        (width, lines), *_ = Counter(map(len, [first, *others])).most_common(1)
        if width > 1:
            fits[sep] = lines, width
    return max(fits, key=lambda sep: fits[sep], default=",")


def _sample(content: Content, encoding: str, sep: str) -> tuple[list[str], list[list[str]]]:
    """The cells of the first line and of some after it, without blanks around them."""
    with _decoded(content, encoding) as lines:
        reader = _reader(lines, sep)
        try:
            rows = [[cell.strip() for cell in cells] for cells in islice(filter(None, reader), SAMPLE)]
        except csv.Error as error:
            raise csv.Error(f"{content.name}, line {reader.line_num}: {error}") from None
    return (rows[0], rows[1:]) if rows else ([], [])


def _whole_rows(blocks: Iterator[bytes], sep: str) -> Iterator[bytes]:
    """A text in UTF-8 by chunks of whole rows, each as long as a block or so.

    Quotation marks must stand around whole cells, and one inside be written twice. Otherwise pyarrow
    does not refuse what the csv module does, and reads 1, "a" otherwise.
    """
    edge = np.isin(np.arange(256), list(f'{sep}\r\n"'.encode()))
    rest = b""
    for block in chain(blocks, [b""]):
        text = rest + (block or b"\n")
        end = text.rfind(b"\n") + 1
        if b'"' in text:
            letters = np.frombuffer(text, np.uint8)
            quotes = np.flatnonzero(letters == ord('"'))
            newlines = np.flatnonzero(letters == ord("\n"))
            outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
            end = int(outside[-1]) + 1 if len(outside) else 0
            quotes = quotes[quotes < end]
            if not (edge[letters[quotes[::2] - 1]] & edge[letters[quotes[1::2] + 1]]).all():
                raise _IrregularQuotes
        rest = text[end:]
        if len(rest) > LONGEST or (rest and not block):
            raise _IrregularQuotes
        if rows := text[:end].strip(b"\r\n"):
            yield rows


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
