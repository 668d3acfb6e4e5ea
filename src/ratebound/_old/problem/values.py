"""A column's values as conditions compare them: texts, numbers and dates, each with its own kind.

Blanks around a text do not count, and a text of only blanks is missing, as in a text file. People write
dates as text, so a text compared with a column of dates is a date. Texts are ordered alphabetically,
which is refused if they look like numbers, whose order would then be wrong.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from ratebound._old.base.dates import date_orders, read_dates
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import is_missing
from ratebound._old.rates.subsets import Name, Value

ORDERS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "bytes",
         "M": "dates", "m": "durations", "c": "complex numbers"}  # fmt: skip
LIKE_A_NUMBER = re.compile(r"\s*[-+]?\s*[$€£¥]?\s*\d")
Comparable = Value | Any  # or a date


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """A column's values; texts and objects by distinct value, so that each is examined once.

    A row without a value satisfies no comparison: it is not equal, not below and not above.
    """

    values: Array  # (n,), or with codes (d,) distinct
    codes: Array | None  # (n,) the distinct value of each row, -1 for missing
    place: dict[Value, int]  # of each distinct value
    kinds: frozenset[str]  # what the values are

    def equal(self, value: Comparable) -> Array:
        if self.codes is None:
            return np.asarray(self.values == value, dtype=bool)
        place = self.place.get(bare(value))
        return np.zeros(len(self.codes), dtype=bool) if place is None else self.codes == place

    def ordered(self, relation: str, value: Comparable) -> Array:
        met = np.asarray(ORDERS[relation](self.values, value), dtype=bool)
        return met if self.codes is None else np.append(met, False)[self.codes]

    @property
    def missing(self) -> Array:
        return is_missing(self.values) if self.codes is None else self.codes < 0


def read_values(values: Array) -> ReadColumn:
    """A column's values, examined once.

    >>> read_values(np.array(["b", None, "a", "b"], dtype=object)).codes
    array([ 0, -1,  1,  0], dtype=int32)
    """
    if values.dtype.kind not in "OU":
        if is_missing(values).all():  # numbers only because a table gives an empty column that type
            return ReadColumn(np.empty(0, object), np.full(len(values), -1), {}, frozenset())
        return ReadColumn(values, None, {}, frozenset([KINDS[values.dtype.kind]]))
    listed = values.tolist()
    try:
        place: dict[Value, int] = {value: number for number, value in enumerate(dict.fromkeys(listed))}
        codes = np.fromiter(map(place.__getitem__, listed), np.int32, len(listed))
    except TypeError:  # such as lists, which no condition can compare
        return ReadColumn(values, None, {}, frozenset(map(_kind, {type(value) for value in listed})))
    return _coded(codes, list(place))


def _coded(codes: Array, given: list[Any]) -> ReadColumn:
    """Values by distinct value, after merging values that differ only by blanks or are missing."""
    lacking = is_missing(np.fromiter(given, dtype=object, count=len(given)))
    values = [None if gone else bare(value) for value, gone in zip(given, lacking, strict=True)]
    place: dict[Value, int] = {}
    own = [-1 if value is None else place.setdefault(value, len(place)) for value in values]
    held = np.fromiter(place, dtype=object, count=len(place))
    kinds = frozenset(map(_kind, {type(value) for value in place}))
    return ReadColumn(held, np.array([*own, -1], dtype=np.int32)[codes], place, kinds)


def bare(value: Any) -> Any:
    """A text without surrounding blanks, None if nothing is left; anything else unchanged.

    >>> bare(" Female"), bare("  "), bare(3)
    ('Female', None, 3)
    """
    return (value.strip() or None) if isinstance(value, str) else value


def is_coded(column: Any) -> bool:
    """Whether it is a PyArrow column that already stores its distinct values by number."""
    return hasattr(column, "to_pylist") and hasattr(column.type, "index_type")


def read_coded(column: Any) -> ReadColumn:
    """The same as `read_values`, for a column whose distinct values are known."""
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    held = whole.dictionary.to_pylist()
    if len(set(held)) < len(held) or None in held:  # numbered elsewhere, with duplicates
        return read_values(np.array(whole.to_pylist(), dtype=object))
    used = np.bincount(codes[codes >= 0], minlength=len(held)) > 0
    codes = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)[codes]
    return _coded(codes, [value for value, occurs in zip(held, used, strict=True) if occurs])


def _kind(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, Number) and not issubclass(kind, complex):
        return "numbers"
    return "dates" if issubclass(kind, datetime.date) else f"values of type {kind.__name__}"


def dated(
    name: Name, column: ReadColumn, value: Value, *, in_order: bool = False
) -> tuple[ReadColumn, Comparable]:
    """Column and value as dates, if the column holds dates and the value is a text; else unchanged.

    If they are compared `in_order`, texts that are all dates are compared as dates.

    >>> days = read_values(np.array(["31.12.2023", "1.2.2024"], dtype=object))
    >>> column, value = dated("day", days, "2024-01-01", in_order=True)
    >>> column.ordered(">=", value)
    array([False,  True])
    """
    if not isinstance(value, str):
        return column, value
    if column.kinds == {"dates"}:
        moment = read_dates([value], "ymd")[0]
        if np.isnat(moment):
            raise ValueError(
                f"column {name!r} holds dates but is compared with {value!r}: write a date as in "
                '"2024-01-31", or "2024-01-31 08:30"'
            )
        moments = column.values if column.codes is None else _moments(column.values)
        return _by_row(moments.astype("M8[us]"), column), moment
    if not in_order or column.kinds != {"text"}:
        return column, value
    texts = column.values.tolist()
    odd = next((text for text in (value, *texts) if LIKE_A_NUMBER.match(text)), None)
    if odd is None:
        return column, value
    orders = date_orders(texts)
    moment = read_dates([value], orders[0])[0] if len(orders) == 1 else np.datetime64("NaT", "us")
    if np.isnat(moment):
        raise ValueError(
            f"column {name!r} holds texts, which are ordered alphabetically, but {odd!r} looks like "
            "a number or a date: make it a column of numbers, or write dates as in 2024-01-31"
        )
    return _by_row(read_dates(texts, orders[0]), column), moment


def _by_row(moments: Array, column: ReadColumn) -> ReadColumn:
    """A column of dates; `moments` belong to its distinct values if it has codes."""
    gap = np.array(["NaT"], dtype="M8[us]")
    rows = moments if column.codes is None else np.concatenate([moments, gap])[column.codes]
    return ReadColumn(rows, None, {}, frozenset(["dates"]))


def _moments(dates: Array) -> Array:
    """Dates of any type, in UTC if they have a time zone."""
    moments = [
        each.astimezone(datetime.UTC).replace(tzinfo=None)
        if isinstance(each, datetime.datetime) and each.tzinfo
        else each
        for each in dates.tolist()
    ]
    return np.array(moments, dtype="M8[us]")
