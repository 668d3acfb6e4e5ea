"""Text files of cells: their encoding, their separator, and whether the first line names the columns.

Anything that is not given is detected from the text itself. If that fails, the error names the flag to
set. pyarrow splits the text into cells. The csv module does so for small files, for texts that pyarrow
refuses, and if pyarrow is not installed.
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

from ratebound._old.base.layout import printable
from ratebound._old.tables.cells import ArrowStrings, RawCells, Strings
from ratebound._old.tables.contents import Content

Kind = Literal["number", "text"]  # what a column holds
BATCH = 1 << 12  # rows per batch of the csv module, few enough to stay in a processor's cache
SMALL_TEXT = 1 << 18  # up to this many bytes, the csv module is faster than loading pyarrow
LARGE_TEXT = 100_000_000  # from this many bytes on, reading takes long without pyarrow
LONGEST = 1 << 24  # the most bytes of a row for pyarrow; in a longer row, a quote is probably not closed
SAMPLE = 50  # lines that are examined first
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SPELLED = {"\\t": "\t", "tab": "\t"}  # how people spell a tab on a command line
MARKS = {  # byte order marks, which show the encoding of a text
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
FALLBACK = "cp1252"


@dataclass(frozen=True)
class Reading:
    """How to read text files; None means that it is detected."""

    sep: str | None = None  # the separator of cells
    encoding: str | None = None
    header: bool | None = None  # whether the first line names the columns


FOUND_OUT = Reading()


class _IrregularQuotes(Exception):
    """A quotation mark is at a place where pyarrow and the csv module would read different cells."""


@dataclass(frozen=True)
class Text:
    """A text file of cells and how to read it. It can be read several times."""

    content: Content
    encoding: str
    sep: str
    header: bool
    names: tuple[str, ...]
    size: int  # in bytes, decompressed
    lines: int  # roughly the number of rows
    notices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.content.name

    def batches(self, wanted: Collection[str]) -> Iterator[Mapping[str, RawCells]]:
        """The cells of these columns, in batches of rows."""
        given = 0
        # With blanks as separators, only the csv module skips repeated blanks between cells.
        if self.size > SMALL_TEXT and self.sep.isascii() and self.sep != " " and find_spec("pyarrow"):
            try:
                for batch in self._by_arrow(wanted):
                    yield batch
                    given += len(next(iter(batch.values())))
                return
            except (import_module("pyarrow").ArrowInvalid, _IrregularQuotes):
                pass  # if something is wrong, the csv module's error names the line
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
            check_utf8=False,  # it was checked before
        )
        parse = reader.ParseOptions(delimiter=self.sep, newlines_in_values=True)
        named = self.header
        for rows in _whole_rows(self._utf8(), self.sep):
            # pyarrow's own stream reader may hang once it has refused a row.
            read = reader.ReadOptions(column_names=columns, block_size=len(rows) + 1, use_threads=False)
            table = reader.read_csv(arrow.BufferReader(rows), read, parse, convert)
            cells = [column.chunk(0)[int(named) :] for column in table.columns]  # there is one block
            named = False
            if len(cells[0]):
                yield dict(zip(wanted, map(ArrowStrings, cells), strict=True))

    def _utf8(self) -> Iterator[bytes]:
        """The text in UTF-8, without a byte order mark."""
        if self.encoding in ("utf-8", "ascii"):
            return self.content.blocks()
        return (part.encode() for part in codecs.iterdecode(self.content.blocks(), self.encoding))

    def _by_csv(self, wanted: Collection[str], given: int) -> Iterator[Mapping[str, RawCells]]:
        """The same by the csv module, without the rows that were already given."""
        places = {name: self.names.index(name) for name in wanted}
        rows = islice(self._rows(), int(self.header) + given, None)
        while batch := list(islice(rows, BATCH)):
            columns = list(zip(*batch, strict=True))
            yield {name: Strings(columns[place]) for name, place in places.items()}

    def _rows(self) -> Iterator[list[str]]:
        """The rows of cells; each row must have one cell for every column."""
        reader, width = _reader(_decoded(self.content, self.encoding), self.sep), len(self.names)
        try:
            for cells in filter(None, reader):  # without empty lines
                if len(cells) != width:
                    first = f"names {width} columns" if self.header else f"has {width}"
                    raise ValueError(
                        f"{self.name}, line {reader.line_num}: {len(cells)} cells, but the "
                        f"first line {first}; cells are separated by {_called(self.sep)}"
                    )
                yield cells
        except csv.Error as error:
            said = f"{self.name}, line {reader.line_num}: {error}"
            raise ValueError(_unread(said, self.sep)) from None


def as_text(content: Content, reading: Reading) -> Text:
    """A text file, with everything needed to read its cells."""
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
            f"{content.name}: the first line has {len(first)} cells and the lines after it "
            f"{widths.pop()}, separated by {_called(sep)}: remove any lines above the columns' names, "
            "or set --sep"
        )
    if reading.header is None and _is_row(first, others):
        raise ValueError(
            f"{content.name}: the first line looks like a row, {printable(', '.join(first[:5]))}"
            f"{', ...' if len(first) > 5 else ''}, and should name the columns: use --no-header to name "
            "them column1, column2 and so on, or --header if these are names"
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
            raise ValueError(f"--encoding {said}: there is no such encoding; try cp1252") from None
        except UnicodeError as error:
            raise ValueError(f"{content.name} is not text in {said}: {error}") from None
        named = codecs.lookup(said).name
        return ("utf-8-sig" if named == "utf-8" and marked == "utf-8-sig" else named), *measured, ()
    if b"\0" in first:
        raise ValueError(
            f"{content.name} is not a text file: it holds zero bytes. If it is UTF-16 without a byte "
            "order mark, use --encoding utf-16-le"
        )
    guess = f"{content.name} is not in UTF-8 and is read as {FALLBACK}; --encoding sets another"
    for encoding, notices in {"utf-8": (), FALLBACK: (guess,)}.items():
        try:
            return encoding, *_measured(content, encoding), notices
        except UnicodeError:
            continue
    raise ValueError(
        f"{content.name} is neither in UTF-8 nor in {FALLBACK}: set --encoding, as in --encoding latin-1"
    )


def _measured(content: Content, encoding: str) -> tuple[int, int]:
    """The number of bytes and newlines in a text, all of which must be in this encoding."""
    io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # raises for codecs that are not for texts
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
        return f"{error}; cells are separated by {_called(sep)} here; --sep sets another separator"
    unclosed = "unexpected end of data" in str(error)
    return f"{error}{'; a quotation mark before it is never closed' if unclosed else ''}"


def _called(sep: str) -> str:
    return SEPARATORS.get(sep, repr(sep))


def _separator(content: Content, encoding: str) -> str:
    """The separator that gives most of the first lines the same number of cells; then the most cells."""
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
    """The cells of the first line and of some lines after it, without surrounding blanks."""
    with _decoded(content, encoding) as lines:
        reader = _reader(lines, sep)
        try:
            rows = [[cell.strip() for cell in cells] for cells in islice(filter(None, reader), SAMPLE)]
        except csv.Error as error:
            raise csv.Error(f"{content.name}, line {reader.line_num}: {error}") from None
    return (rows[0], rows[1:]) if rows else ([], [])


def _whole_rows(blocks: Iterator[bytes], sep: str) -> Iterator[bytes]:
    """A text in UTF-8 in chunks of whole rows, each about as long as a block.

    Quotation marks must enclose whole cells, and a quotation mark inside must be doubled. Otherwise
    pyarrow accepts what the csv module refuses, and reads 1, "a" differently.
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
    """Whether the first line is a row: all numbers, or with the kinds and values of the other lines.

    The numbers 0, 1, 2, ... are names: libraries write them for columns without names.
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
    """The names in the first line; a column without a name gets the name that pandas would give it."""
    names = [name or f"Unnamed: {index}" for index, name in enumerate(first)]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"{source}: two columns are named {name!r}: rename one of them")
    return names
