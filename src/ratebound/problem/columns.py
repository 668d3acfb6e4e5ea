"""Columns as conditions compare them: distinct values in order, and the code of every row.

`problem/comparison.py` states the rule by which values compare.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ratebound.problem.comparison import (
    RELATIONS,
    array_kind,
    check_kinds,
    compare_value,
    fit_comparison,
    in_utc,
    kind_of_value,
)
from ratebound.rates.conditions import Compare, Name, is_missing

LARGEST_EXACT_FLOAT = 2**53
MOST_COUNTED = 2**20  # the range in which whole numbers are counted and not sorted
MOST_CODES = 2**50  # codes are numbered anew before they overflow
UNITS = ("D", "s", "ms", "us", "ns")  # of dates that are kept as they are


class Encoded(NamedTuple):
    """A column's distinct values, dates before numbers before texts, and each row's index."""

    values: Any  # (d,)
    codes: Any  # (n,), -1 for rows without a value

    @property
    def words(self) -> set[str]:
        """What the values are: "numbers", "text", "dates", or several of these."""
        if not len(self.values):
            return set()
        if self.values.dtype.kind == "O":
            return set(map(kind_of_value, self.values.tolist()))
        return {array_kind(self.values.dtype).word}

    def list_values(self) -> list[Any]:
        """Return the distinct values as Python has them, None last if some row has none."""
        values = self.values.tolist()
        if self.values.dtype.kind == "M":
            values = self.values.astype("M8[us]").tolist()
        if not (self.codes < 0).any():
            return values
        if all(isinstance(value, float) and value.is_integer() for value in values):
            values = list(map(int, values))  # tables store whole numbers with gaps as floats
        return [*values, None]

    def decode(self) -> Any:
        """Return the value of every row (n,) as objects; None for rows without one."""
        values = self.list_values()
        if values[-1:] != [None]:
            values.append(None)
        return as_objects(values)[self.codes]

    def compare(self, leaf: Compare) -> Any:
        """Return which rows (n,) meet a comparison with a value."""
        is_unequal = leaf.relation == "!="
        if not len(self.values):
            return np.full(len(self.codes), is_unequal)
        by_value = _compare_values(self.values, self.words, leaf)
        return np.append(by_value, is_unequal)[self.codes]


def _compare_values(
    values: Any,
    words: set[str],
    leaf: Compare,
) -> Any:
    """Return which distinct values (d,) meet a comparison."""
    if values.dtype.kind == "O":
        check_kinds(leaf, words)
        met = [compare_value(held, leaf.relation, leaf.value) for held in values.tolist()]
        return np.array(met, dtype=bool)
    fitted = fit_comparison(leaf, array_kind(values.dtype))
    if isinstance(fitted, bool):
        return np.full(len(values), fitted)
    relation, value = fitted
    if values.dtype.kind == "M":
        value = np.datetime64(value)
    return RELATIONS[relation](values, value)


def encode_values(values: Any) -> Encoded:
    """Return a column's distinct values and codes.

    >>> encode_values(np.array(["b", None, "a", "b"], dtype=object)).codes
    array([ 1, -1,  0,  1])
    """
    array = as_array(values)
    if array.dtype.kind in "OUT":
        return _encode_objects(array.tolist())
    array_kind(array.dtype)
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] not in UNITS:
        array = array.astype("M8[s]")
    distinct, codes = find_distinct(array)
    is_gone = np.isnat(distinct) if array.dtype.kind == "M" else distinct != distinct
    codes[is_gone[codes]] = -1  # they sort last, so other codes stay
    return Encoded(distinct[~is_gone], codes)


def find_distinct(array: Any) -> tuple[Any, Any]:
    """Return distinct values in order and each row's index; without sorting if they lie close."""
    if len(array) and np.can_cast(array.dtype, np.int64):
        low = int(array.min())
        if int(array.max()) - low < MOST_COUNTED:
            shifted = array.astype(np.int64) - low
            occurs = np.bincount(shifted) > 0
            distinct = np.flatnonzero(occurs) + low
            return distinct.astype(array.dtype), (np.cumsum(occurs) - 1)[shifted]
    distinct, index = np.unique(array, return_inverse=True)
    return distinct, index.reshape(-1)


def _encode_objects(values: list[Any]) -> Encoded:
    try:
        cleaned = {value: _clean(value) for value in dict.fromkeys(values)}
    except TypeError:
        raise ValueError("holds lists or other values that do not compare") from None
    present = set(cleaned.values()) - {None}
    distinct = sorted(present, key=lambda value: (kind_of_value(value), value))
    code_of = {value: code for code, value in enumerate(distinct)}
    code_of[None] = -1
    code_of_raw = {value: code_of[clean] for value, clean in cleaned.items()}
    codes = np.fromiter(map(code_of_raw.__getitem__, values), np.int64, len(values))
    if distinct and all(isinstance(value, np.datetime64) for value in distinct):
        return Encoded(np.array(distinct, dtype="M8[us]"), codes)
    return Encoded(as_objects(distinct), codes)


def _clean(value: Any) -> Any:
    """Return a value as it compares: moments in UTC, plain numbers, None if it is missing."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime.datetime):
        return np.datetime64(in_utc(value), "us")
    if isinstance(value, datetime.date):
        return np.datetime64(value.isoformat(), "us")
    if isinstance(value, np.datetime64):
        return value.astype("M8[us]")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Real | Decimal):
        return value
    raise ValueError(f"holds {value!r}: make its values texts, numbers or dates")


def fold(columns: Iterable[Any]) -> tuple[Any, Any]:
    """Return an example of each distinct row of codes (k,), and which of them each row is (n,)."""
    code: Any = 0
    most = 1
    for column in columns:
        values = column.astype(np.int64) + 1  # -1 is a missing value
        size = int(values.max()) + 1
        if most * size > MOST_CODES:
            _, code = find_distinct(code)
            most = int(code.max()) + 1
        code = code * size + values
        most *= size
    _, first, line_of_row = np.unique(code, return_index=True, return_inverse=True)
    return first, line_of_row.reshape(-1)


# --- arrays that stay exact -----------------------------------------------------------------------


def as_array(values: Any) -> Any:
    """Return values (n,) as an array that keeps them exact; an array of objects if need be."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, list | tuple):
        return _read_list(values)
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return _read_list(values.tolist() if hasattr(values, "tolist") else list(values))
    return series.to_numpy() if _is_exact(series) else as_objects(series.to_list())


def _is_exact(series: Any) -> bool:
    """Return True if NumPy holds a column's values as they are, gaps included."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_integer() or dtype == nw.Boolean:
        return not series.is_null().any()  # with gaps whole numbers would become floats
    if dtype == nw.Datetime:
        return dtype.time_zone is None
    return bool(dtype.is_float())


def _read_list(values: Any) -> Any:
    """Return a list as an array, of objects if another type would change its values."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of unequal lengths
        return as_objects(values)
    if array.dtype.kind == "f" and any(map(_is_beyond_floats, values)):
        return as_objects(values)
    if array.dtype.kind == "U" and not all(isinstance(value, str) for value in values):
        return as_objects(values)
    return array


def _is_beyond_floats(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > LARGEST_EXACT_FLOAT


def as_objects(values: Any) -> Any:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def read_columns(table: Any) -> dict[Name, Any]:
    """Return the columns of a mapping or a data frame as arrays, by name."""
    if table is None:
        return {}
    if not is_frame(table):
        if not hasattr(table, "keys"):
            raise TypeError(f"columns are a mapping or a data frame, got {type(table).__name__}")
        return {name: as_array(table[name]) for name in table.keys()}  # noqa: SIM118
    if hasattr(table, "collect"):
        raise TypeError("this table is lazy: collect it first, as in table.collect()")
    return {name: as_array(table[name]) for name in list_names(table)}


def is_frame(table: Any) -> bool:
    """Return True for a data frame that narwhals knows, in memory or lazy."""
    if table is None or isinstance(table, np.ndarray | list | tuple | dict):
        return False
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    return isinstance(frame, nw.DataFrame | nw.LazyFrame)


def list_names(table: Any) -> list[Name]:
    """Return the names of a data frame's columns."""
    import narwhals as nw

    return list(nw.from_native(table).collect_schema().names())
