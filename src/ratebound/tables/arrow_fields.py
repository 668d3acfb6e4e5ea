"""Cells of texts found and read by pyarrow, the fastest way there is, where it is installed.

It is asked only for what it finds as Python's reader would. Numbers that it reads otherwise, such as
0x10, are left to Python's own, as are all that are not plainly numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.tables.amounts import is_id
from ratebound.tables.fields import COUNTED_MARKS, MINUS, MISSING_MARKS, POINT, ZERO, Cells, Numbers

PLUS, NINE, E = b"+9e"
WINDOW = 1 << 16  # bytes looked at at once, few enough to stay in a processor's cache
OF_WHOLE = b"0123456789-"
OF_NUMBERS = b"+.eEinfINFtyTYaA"  # besides: infinity and nan are among them


@dataclass(frozen=True, eq=False)
class ArrowCells:
    """Cells as an Arrow array of bytes, with null for empty ones."""

    array: Any
    encoding: str
    codes: bool  # whether some may begin with a zero before another digit

    def __len__(self) -> int:
        return len(self.array)

    @property
    def texts(self) -> Sequence[str]:
        """The cells as they are written, decoded once where equal."""
        words, codes = self.coded()
        return list(map(words.__getitem__, codes.tolist()))

    def coded(self) -> tuple[Sequence[str], Array]:
        coded = self.array.dictionary_encode(null_encoding="encode")
        words = [(word or b"").decode(self.encoding) for word in coded.dictionary.to_pylist()]
        return words, coded.indices.to_numpy()

    def numbers(self, commas: bool) -> Numbers | None:
        if (found := _cast(self.array, self.codes)) is not None:
            return Numbers(found, {})
        return self._cleaned(commas)

    def _cleaned(self, commas: bool) -> Numbers | None:
        """The same of cells with blanks around them, decimal commas, or marks of missing numbers."""
        arrow, compute = _arrow(), _arrow().compute
        cells, comma = self.array.view(arrow.string()), ""
        if commas and compute.any(with_comma := compute.match_substring(cells, ",")).as_py():
            first = cells.filter(with_comma).view(arrow.binary())[0].as_py()
            comma = first.decode(self.encoding).strip()
            cells = compute.replace_substring(cells, ",", ".")
        cells = compute.ascii_trim_whitespace(cells)
        missing = compute.is_in(cells, arrow.array(sorted(MISSING_MARKS)))
        counts = cells.filter(missing).value_counts().to_pylist()
        marks = {each["values"]: each["counts"] for each in counts if each["values"] in COUNTED_MARKS}
        found = _cast(compute.if_else(missing, None, cells).view(arrow.binary()), self.codes)
        return None if found is None else Numbers(found, marks, comma)


def _cast(array: Any, codes: bool) -> Array | None:
    """Cells as numbers where pyarrow and Python agree on them; None says nothing.

    Letters are looked at first, since pyarrow takes long to refuse.
    """
    _, offsets, letters = array.buffers()
    starts = np.frombuffer(offsets, np.int32)[array.offset :][: len(array) + 1]
    text = b"" if letters is None else bytes(memoryview(letters)[starts[0] : starts[-1]])
    others = text.translate(None, OF_WHOLE)
    if others.translate(None, OF_NUMBERS) or (codes and _has_codes(text, starts - starts[0])):
        return None
    try:
        if not others and not array.null_count:
            return array.cast("int64").to_numpy()
        found = array.cast("float64").to_numpy(zero_copy_only=False)
    except ValueError:
        return None
    # Python calls other words infinite or not a number, and whole numbers of that size are ids.
    if not max(found.max(), -found.min()) < 2.0**63:
        large = ~(np.abs(found) < 2.0**63)
        cells = array.filter(_arrow().array(large)).drop_null().unique()
        if not all(map(_is_number, cells.to_pylist())):
            return None
    if not array.null_count and not others.translate(None, b"+"):
        return None  # of which +1 is whole for Python alone
    return found + 0.0  # without zeros below zero


def _has_codes(text: bytes, starts: Array) -> bool:
    """Whether some cell is a sign or none, a zero, and another digit."""
    letters = np.frombuffer(text + b" ", np.uint8)  # where the last cells start if they are empty
    first = letters[starts[:-1]]
    for sign, begins in enumerate((first == ZERO, (first == MINUS) | (first == PLUS))):
        rows = np.flatnonzero(begins)
        begin = starts[rows] + sign
        begin = begin[starts[rows + 1] - begin > 1]
        if ((letters[begin] == ZERO) & (letters[begin + 1] - ZERO < 10)).any():
            return True
    return False


def _is_number(cell: bytes) -> bool:
    """Whether a cell that pyarrow took for a number is one, and not too long a whole number."""
    try:
        float(cell)
    except ValueError:
        return False
    return not is_id(cell.decode("ascii"))


@cache
def _arrow() -> Any:
    """The library, or None where it is not installed."""
    try:
        return (
            import_module("pyarrow.csv")
            and import_module("pyarrow.compute")
            and import_module("pyarrow")
        )
    except ImportError:
        return None


def arrow_fields_of(
    chunk: bytes, sep: str, names: Sequence[str], wanted: Iterable[str], encoding: str
) -> dict[str, Cells] | None:
    """The cells of a chunk by column; None where some line is not a row, or without pyarrow.

    Quotation marks in the chunk must be regular.
    """
    arrow = _arrow()
    if arrow is None or len(names) == 1:  # where an empty line might be a row with an empty cell
        return None
    places = {name: str(names.index(name)) for name in wanted}
    quoted = b'"' in chunk
    try:
        found = arrow.csv.read_csv(
            arrow.BufferReader(chunk),
            arrow.csv.ReadOptions(
                column_names=[str(place) for place in range(len(names))],
                block_size=len(chunk) + 1,
                use_threads=False,
            ),
            arrow.csv.ParseOptions(delimiter=sep, newlines_in_values=quoted),
            arrow.csv.ConvertOptions(
                column_types=dict.fromkeys(places.values(), arrow.binary()),
                include_columns=list(places.values()),
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )
    except arrow.ArrowInvalid:
        return None
    if not len(found):
        return None
    cells = {name: found[place].chunk(0) for name, place in places.items()}  # as there is one block
    if quoted and any(map(_is_long, cells.values())):
        return None
    codes = _may_have_codes(chunk)
    return {name: ArrowCells(array, encoding, codes) for name, array in cells.items()}


def _may_have_codes(chunk: bytes) -> bool:
    """Whether a zero stands before another digit, and not after one, a point, or the sign in 1e-05."""
    letters = np.frombuffer(b"\n\n" + chunk, np.uint8)
    for start in range(0, len(letters), WINDOW):
        part = letters[start : start + WINDOW + 3]
        after, before = part[3:] - ZERO < 10, part[1:-2] - POINT > NINE - POINT
        found = np.flatnonzero(after & before & (part[2:-1] == ZERO))
        signed = (part[found + 1] == MINUS) | (part[found + 1] == PLUS)
        if not (signed & (part[found] | 32 == E)).all():
            return True
    return False


def _is_long(array: Any) -> bool:
    """Whether some cell is longer than Python's reader allows."""
    _, offsets, letters = array.buffers()
    if letters is None or letters.size <= csv.field_size_limit():
        return False
    starts = np.frombuffer(offsets, np.int32)[array.offset :][: len(array) + 1]
    return bool((np.diff(starts) > csv.field_size_limit()).any())
