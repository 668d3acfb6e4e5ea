"""A column's cells as text, and the numbers in them.

Amounts have a currency, a percent sign, or thousands separators. They are read as the number that is
written, so 12% is 12. Each cell is read by itself: 1,200.50 and 1,200 as in English; and 7.844,59,
1.234.567 and 12,50, which do not occur in English, as in most of Europe. A column with both styles is
not read as numbers, since its 1.234 and 1,234 are ambiguous.

pyarrow converts plain numbers many times faster than Python. It is used only if it reads every cell as
Python does. If one cell is not plainly a number, Python reads them all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ratebound._old.base.types import Array

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
_ENGLISH = r"\d{1,3}(,\d{3})+(\.\d+)?|\d+\.\d+"
_EUROPEAN = r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}|\d+,(\d{1,2}|\d{4,})"
_AMOUNT = re.compile(
    rf"\s*(?P<sign>[+-]?)(?P<before>{_CURRENCY})?\s?"
    rf"((?P<european>{_EUROPEAN})|(?P<english>{_ENGLISH})|(?P<whole>\d+))"
    rf"\s?(?P<after>{_CURRENCY}|%)?\s*"
)
CODE = re.compile(r"\s*[+-]?0\d")  # 007 is a code rather than a number
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
WHOLE_ID = re.compile(r"0|-?[1-9][0-9]*")  # as a number is written, so that it can be written back
NUMERAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
BARE = re.compile(rf"{NUMERAL.pattern}|\s*[+-]?\d+,\d+\s*")  # not by itself an amount
# Marks of a missing number. Among texts, each of these except the first is a value like any other.
MISSING_MARKS = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", ".")
)
COUNTED_MARKS = MISSING_MARKS - {"", "NaN", "nan"}  # marks that a notice reports; these three are plain
WHOLE = b"0123456789-"  # the characters of whole numbers
FRACTIONAL = b"+.eEinfINFtyTYaA"  # further characters of numbers, including infinity and nan
LARGEST_WHOLE = 2.0**63  # a whole number beyond this is an id


def read_numbers(texts: Sequence[str]) -> Array:
    """Texts as numbers (n,), NaN for each that is not a number.

    >>> read_numbers(["3", "3.50", " 2e1", "-$1,200.50", "1_000", "x"])
    array([    3. ,     3.5,    20. , -1200.5,     nan,     nan])
    """
    return np.array([float(t) if NUMERAL.fullmatch(t) else _amount(t) for t in texts])


def as_ids(values: Array) -> Array:
    """Ids (n,): a text that is a whole number is that number, whatever is beside it.

    >>> as_ids(np.array(["12", "007", "a"], dtype=object))
    array([12, '007', 'a'], dtype=object)
    """
    if values.dtype.kind != "O":
        return values
    read = np.empty(len(values), dtype=object)
    read[:] = [int(value) if WHOLE_ID.fullmatch(str(value)) else str(value) for value in values]
    return read


def is_id(text: str) -> bool:
    """Whether a text is a whole number too long for 64 bits, and so an id rather than a number.

    >>> is_id("9223372036854775807"), is_id("9223372036854775808"), is_id("1e40")
    (False, True, False)
    """
    if not _WHOLE.fullmatch(text):
        return False
    return len(text.strip()) > 30 or not -(2**63) <= int(text) < 2**63


def amount_unit(text: str) -> str | None:
    """The currency or percent sign of an amount, "" if it has neither; None if it is not an amount.

    >>> [amount_unit(text) for text in ("$1,200.00", "12%", "1,200", "12,50 €", "1,2,3")]
    ['$', '%', '', '€', None]
    """
    amount = _AMOUNT.fullmatch(text)
    return None if amount is None else amount["before"] or amount["after"] or ""


def decimal_mark(text: str) -> str:
    """A number's decimal separator, a point or a comma; "" if the number does not show it.

    >>> [decimal_mark(text) for text in ("1,200", "1.5", "7.844,59", "1.234.567", "12", "1e3")]
    ['.', '.', ',', ',', '', '']
    """
    amount = _AMOUNT.fullmatch(text)
    if amount is None or amount["whole"]:
        return ""
    return "," if amount["european"] else "."


def are_amounts(texts: Sequence[str]) -> bool:
    """Whether all texts are amounts in one currency, or percents, or have thousands separators.

    >>> are_amounts(["$5", "$1,200.00"]), are_amounts(["12%", "$5"]), are_amounts(["12", "5"])
    (True, False, False)
    >>> are_amounts(["7.844,59", "12,50"]), are_amounts(["7.844,59", "1.234"]), are_amounts(["1,5", "2"])
    (True, False, False)
    """
    units = set()
    for text in texts:  # most columns end the loop at once
        if (unit := amount_unit(text)) is None:
            return False
        units.add(unit)
    return len(units) == 1 and are_alike(texts) and not all(map(BARE.fullmatch, texts))


def are_alike(texts: Iterable[str]) -> bool:
    """Whether all numbers use the same decimal separator, as far as they show it."""
    return len({decimal_mark(text) for text in texts} - {""}) < 2


def _amount(text: str) -> float:
    amount = _AMOUNT.fullmatch(text)
    if amount is None or (amount["before"] and amount["after"]):
        return np.nan
    if amount["european"]:
        return float(amount["sign"] + amount["european"].replace(".", "").replace(",", "."))
    return float(amount["sign"] + (amount["english"] or amount["whole"]).replace(",", ""))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Cells as numbers: all whole, or all floats with NaN for missing ones and no negative zero."""

    values: Array
    marks: Mapping[str, int]  # the marks of missing numbers, and how many of each
    comma: str = ""  # the first cell with a decimal comma


@dataclass(frozen=True)
class Strings:
    """Cells from the csv module."""

    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.texts)

    def coded(self) -> tuple[Sequence[str], Array]:
        """The distinct cells in order of first occurrence, and each cell's position among them."""
        place = {text: index for index, text in enumerate(dict.fromkeys(self.texts))}
        codes = map(place.__getitem__, self.texts)
        return list(place), np.fromiter(codes, dtype=np.intp, count=len(self.texts))

    def numbers(self, commas: bool) -> Numbers | None:
        """The cells as numbers, or None if some are neither numbers nor missing.

        With `commas`, a comma may be the decimal separator.
        """
        cells, comma = self.texts, ""
        together = "".join(cells)
        # Python reads 1_000 as a number, and 007; in a table these are names and codes.
        if "_" in together or any(map(CODE.match, cells)):
            return None
        if commas and "," in together:
            comma = next(cell for cell in cells if "," in cell).strip()
            cells = [cell.replace(",", ".") for cell in cells]
        try:
            return Numbers(np.fromiter(map(int, cells), dtype=np.int64, count=len(cells)), {}, comma)
        except OverflowError:  # too long for a number: an id
            return None
        except ValueError:
            pass
        stripped = list(map(str.strip, cells))
        try:
            values = np.array([math.nan if cell in MISSING_MARKS else float(cell) for cell in stripped])
        except ValueError:
            return None
        if any(is_id(stripped[row]) for row in np.flatnonzero(np.abs(values) >= LARGEST_WHOLE).tolist()):
            return None
        marks = Counter(cell for cell in stripped if cell in COUNTED_MARKS)
        return Numbers(values + 0.0, marks, comma)  # no negative zeros


@dataclass(frozen=True, eq=False)
class ArrowStrings:
    """Cells from pyarrow: an array of strings, with null for empty ones."""

    array: Any

    def __len__(self) -> int:
        return len(self.array)

    def coded(self) -> tuple[Sequence[str], Array]:
        coded = self.array.dictionary_encode(null_encoding="encode")
        return [word or "" for word in coded.dictionary.to_pylist()], coded.indices.to_numpy()

    def numbers(self, commas: bool) -> Numbers | None:
        values = _cast(self.array)
        if values is not None:
            return Numbers(values, {})
        return self._cleaned(commas) or Strings(self._texts()).numbers(commas)

    def _texts(self) -> list[str]:
        words, codes = self.coded()
        return list(map(words.__getitem__, codes.tolist()))

    def _cleaned(self, commas: bool) -> Numbers | None:
        """The numbers in cells with surrounding blanks, decimal commas, or marks of missing numbers."""
        arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        cells, comma = self.array, ""
        if commas and compute.any(with_comma := compute.match_substring(cells, ",")).as_py():
            comma = cells.filter(with_comma)[0].as_py().strip()
            cells = compute.replace_substring(cells, ",", ".")
        cells = compute.ascii_trim_whitespace(cells)
        missing = compute.is_in(cells, arrow.array(sorted(MISSING_MARKS)))
        counts = cells.filter(missing).value_counts().to_pylist()
        marks = {each["values"]: each["counts"] for each in counts if each["values"] in COUNTED_MARKS}
        values = _cast(compute.if_else(missing, None, cells))
        return None if values is None else Numbers(values, marks, comma)


RawCells = Strings | ArrowStrings


def _cast(array: Any) -> Array | None:
    """Strings as numbers if pyarrow and Python agree on all of them; otherwise None.

    The characters are checked first, since pyarrow takes long to refuse.
    """
    _, offsets, letters = array.buffers()
    starts = np.frombuffer(offsets, np.int32)[array.offset :][: len(array) + 1]
    text = b"" if letters is None else bytes(memoryview(letters)[starts[0] : starts[-1]])
    beyond_whole = text.translate(None, WHOLE)
    if beyond_whole.translate(None, FRACTIONAL) or _has_codes(text, starts - starts[0]):
        return None
    try:
        if not beyond_whole and not array.null_count:
            return array.cast("int64").to_numpy()
        values = array.cast("float64").to_numpy(zero_copy_only=False)
    except ValueError:
        return None
    if np.count_nonzero(np.abs(values) < LARGEST_WHOLE) + array.null_count < len(values):
        return None  # some are infinite, or perhaps ids
    if not array.null_count and not beyond_whole.strip(b"+"):
        return None  # only Python takes +1 for a whole number
    return values + 0.0  # no negative zeros


def _has_codes(text: bytes, starts: Array) -> bool:
    """Whether some cell starts with an optional sign, a zero, and another digit."""
    letters = np.frombuffer(text + b" ", np.uint8)  # empty cells at the end start at the added blank
    first = letters[starts[:-1]]
    begin = starts[:-1] + ((first == ord("-")) | (first == ord("+")))
    zeros = begin[(letters[begin] == ord("0")) & (begin + 1 < starts[1:])]
    return bool((letters[zeros + 1] - ord("0") < 10).any())
