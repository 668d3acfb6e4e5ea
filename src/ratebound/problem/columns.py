"""Columns as conditions compare them: distinct values in order, and every row's code.

A condition is evaluated once for each distinct value, by the rule in `problem/comparison.py`.
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
MOST_COUNTED = 2**20  # the widest range in which integers are counted instead of sorted
MOST_CODES = 2**50  # codes are renumbered before they overflow
UNITS = ("D", "s", "ms", "us", "ns")  # units of dates that stay as they are


class Encoded(NamedTuple):
    """The distinct values of a column, and the index of every row's value among them."""

    values: Any  # (d,) in order; of mixed kinds, dates come before numbers and numbers before text
    codes: Any  # (n,), -1 for rows without a value

    @property
    def words(self) -> set[str]:
        """The kinds of the values: "numbers", "text", "dates", or several of these."""
        if not len(self.values):
            return set()
        if self.values.dtype.kind == "O":
            return set(map(kind_of_value, self.values.tolist()))
        return {array_kind(self.values.dtype).word}

    def list_values(self) -> list[Any]:
        """Return the distinct values as plain Python, with None last if some row has none."""
        values = self.values
        if values.dtype.kind == "M":
            values = values.astype("M8[us]")  # the finest unit of datetime
        listed = values.tolist()
        if not (self.codes < 0).any():
            return listed
        if all(isinstance(value, float) and value.is_integer() for value in listed):
            listed = list(map(int, listed))  # data frames store integers with gaps as floats
        return [*listed, None]

    def decode(self) -> Any:
        """Return the value of every row (n,) as objects, or None if it is missing."""
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


def _compare_values(values: Any, words: set[str], leaf: Compare) -> Any:
    """Return which distinct values (d,) meet a comparison."""
    if values.dtype.kind == "O":
        check_kinds(leaf, words, values.tolist())
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
    is_gap = np.isnat(distinct) if array.dtype.kind == "M" else distinct != distinct
    codes[is_gap[codes]] = -1  # NaN and NaT sort last, so the other codes stay
    return Encoded(distinct[~is_gap], codes)


def find_distinct(array: Any) -> tuple[Any, Any]:
    """Return the distinct values in order, and every row's index among them.

    Integers in a narrow range are counted, which is faster than to sort them.
    """
    if len(array) and np.can_cast(array.dtype, np.int64):
        low = int(array.min())
        if int(array.max()) - low < MOST_COUNTED:
            shifted = array.astype(np.int64) - low
            occurs = np.bincount(shifted) > 0
            distinct = np.flatnonzero(occurs) + low
            index_of_value = np.cumsum(occurs) - 1
            return distinct.astype(array.dtype), index_of_value[shifted]
    distinct, index = np.unique(array, return_inverse=True)
    return distinct, index.reshape(-1)


def _encode_objects(values: list[Any]) -> Encoded:
    try:
        clean_of_raw = {value: _clean(value) for value in dict.fromkeys(values)}
    except TypeError:
        raise ValueError("holds lists or other values that do not compare") from None
    present = set(clean_of_raw.values()) - {None}
    distinct = sorted(present, key=lambda value: (kind_of_value(value), value))
    code_of_clean = {value: code for code, value in enumerate(distinct)}
    code_of_clean[None] = -1
    code_of_raw = {raw: code_of_clean[clean] for raw, clean in clean_of_raw.items()}
    codes = np.fromiter(map(code_of_raw.__getitem__, values), np.int64, len(values))
    if distinct and all(isinstance(value, np.datetime64) for value in distinct):
        return Encoded(np.array(distinct, dtype="M8[us]"), codes)
    return Encoded(as_objects(distinct), codes)


def _clean(value: Any) -> Any:
    """Return a value as it compares: a moment in UTC, a plain number, or None if it is missing."""
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
    raise ValueError(f"holds {value!r}: convert its values to text, numbers or dates")


def fold(columns: Iterable[Any]) -> tuple[Any, Any]:
    """Return the first of each kind of row (k,), and the kind of every row (n,).

    Rows are of one kind if they agree in all columns of codes.
    """
    kind: Any = 0
    kind_count = 1
    for column in columns:
        codes = column.astype(np.int64) + 1  # -1 is a missing value
        size = int(codes.max()) + 1
        if kind_count * size > MOST_CODES:
            _, kind = find_distinct(kind)
            kind_count = int(kind.max()) + 1
        kind = kind * size + codes
        kind_count *= size
    _, first_row, kind_of_row = np.unique(kind, return_index=True, return_inverse=True)
    return first_row, kind_of_row.reshape(-1)


# --- arrays that stay exact -----------------------------------------------------------------------


def as_array(values: Any) -> Any:
    """Return values (n,) as an array that keeps them exact, if need be of objects."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, list | tuple):
        return _read_list(values)
    if isinstance(values, str | set | dict) or is_frame(values):
        raise TypeError(f"expected one value for each row, got {type(values).__name__}")
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        with_list = values if hasattr(values, "tolist") else np.asarray(values)
        return _read_list(with_list.tolist())
    if _is_exact(series):
        return series.to_numpy()
    return as_objects(series.to_list())


def _is_exact(series: Any) -> bool:
    """Return True if a NumPy array keeps all values of a series, and its gaps, as they are."""
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_integer() or dtype == nw.Boolean:
        return not series.is_null().any()  # with gaps, integers would become floats
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
    """Return the columns of a mapping or a data frame by name, as arrays."""
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
    """Return True for a data frame that narwhals supports, in memory or lazy."""
    if table is None or isinstance(table, np.ndarray | list | tuple | dict):
        return False
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    return isinstance(frame, nw.DataFrame | nw.LazyFrame)


def list_names(table: Any) -> list[Name]:
    """Return the names of a data frame's columns."""
    import narwhals as nw

    return list(nw.from_native(table).collect_schema().names())
