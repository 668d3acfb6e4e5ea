"""What a column of any library holds: numbers, texts, truth values, dates or durations.

A table of a million rows has few distinct texts in a column. So texts are read as codes of their
distinct values, and all later steps look at each distinct value once. If a library already stores codes,
they are used directly.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count
from numbers import Real
from typing import Any, Literal

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_array, is_missing, without_views
from ratebound._old.tables.columns import MISSING, ReadAs

Factored = tuple[Array, list[str]]  # positions among the texts (n,), -1 for a missing one; and the texts
# "mixed" is more than one kind; "objects" are lists and other things that are not single values.
Holds = Literal["numbers", "truth values", "texts", "dates", "durations", "mixed", "objects"]
MICROSECONDS = {"M": "M8[us]", "m": "m8[us]"}
# The names that libraries give to types of numbers, truth values, dates and durations.
TYPED = re.compile(r"u?int\d|float|double|half|decimal|bool|date|time|duration|period", re.IGNORECASE)
DAY = 86_400_000_000  # microseconds
_DURATION = re.compile(
    r"((?P<days>-?\d+) days?,? ?)?((?P<sign>[+-])?(?P<hours>\d+):(?P<minutes>\d{2})"
    r"(:(?P<seconds>\d{2}(\.\d{1,9})?))?)?"
)
NO_VALUES = (bytes, bytearray, memoryview, list, tuple, dict, set, frozenset, np.ndarray, complex)


def factored(column: Any) -> Factored | None:
    """The codes and texts of a column of pandas, polars or PyArrow; None for any other column.

    >>> import pandas
    >>> codes, texts = factored(pandas.Series(["b", "a", None, "b"]))
    >>> codes.tolist(), texts
    ([0, 1, -1, 0], ['b', 'a'])
    """
    library = type(column).__module__.partition(".")[0]
    return READERS[library](column) if library in READERS else None


def _of_pandas(column: Any) -> Factored | None:
    if column.dtype.kind != "O" or hasattr(column, "cat"):
        return None
    try:
        codes, values = column.factorize()
    except TypeError:  # values that cannot be hashed, such as lists
        return None
    return _if_texts(codes, values.tolist())


def _of_polars(column: Any) -> Factored | None:
    polars = sys.modules["polars"]
    if column.dtype not in (polars.String, polars.Categorical) and column.dtype != polars.Enum:
        return None
    texts = column.cast(polars.String)
    values = texts.drop_nulls().unique()
    places = list(range(len(values)))
    codes = texts.replace_strict(values, places, default=-1, return_dtype=polars.Int32)
    return codes.to_numpy(), values.to_list()


def _of_pyarrow(column: Any) -> Factored | None:
    types, column = sys.modules["pyarrow"].types, without_views(column)
    if not types.is_dictionary(column.type):
        if not (types.is_string(column.type) or types.is_large_string(column.type)):
            return None
        column = column.dictionary_encode()
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _if_texts(codes, whole.dictionary.to_pylist())


READERS = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}


def _if_texts(codes: Array, values: list[Any]) -> Factored | None:
    """None unless all are texts: a library may take 1 and True for the same value."""
    return (codes, values) if all(type(value) is str for value in values) else None


def distinct_of(values: Iterable[Any]) -> tuple[list[Any], Array]:
    """The distinct values in order of first occurrence, and each value's position among them."""
    places: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(places.__getitem__, values), dtype=np.intp)
    return list(places), codes


@dataclass(frozen=True)
class ColumnValues:
    """A column as it was read."""

    holds: Holds
    # Numbers, with NaN for missing values; dates or durations, with NaT; otherwise codes of the levels,
    # with -1.
    values: Array  # (n,)
    levels: tuple[str, ...] | None = None  # the distinct texts; some may not occur
    category: bool = False  # whether its library declares it to hold categories
    typed: bool = False  # whether the column's type determines what all its rows hold

    @property
    def missing(self) -> Array:
        return is_missing(self.values) if self.levels is None else self.values < 0

    def only(self, rows: Array | slice) -> ColumnValues:
        """The values of these rows."""
        return replace(self, values=self.values[rows])


def read_cells(column: Any) -> ColumnValues:
    """The values of a column of pandas, polars, PyArrow or NumPy; texts lose their surrounding blanks.

    >>> cells = read_cells(np.array(["a", None, " a", "b"], dtype=object))
    >>> cells.holds, cells.values, cells.levels
    ('texts', array([ 0, -1,  0,  1]), ('a', 'b'))
    """
    cells = _as_read(column)
    named = str(getattr(column, "type", getattr(column, "dtype", "")))
    return replace(cells, typed=TYPED.match(named) is not None)


def _as_read(column: Any) -> ColumnValues:
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):  # pandas has coded them already
        levels = list(map(spelled, column.cat.categories.tolist()))
        return _texts(column.cat.codes.to_numpy(), levels, category=True)
    own = hasattr(column, "iloc") and not isinstance(dtype, np.dtype)  # a dtype that NumPy has not
    if own and (dtype.kind == "M" or str(dtype).startswith("period")):
        return ColumnValues("dates", column.astype("datetime64[us, UTC]").to_numpy(dtype="M8[us]"))
    texts = factored(column)
    cells = _cells_of(as_array(column)) if texts is None else _texts(*texts)
    named = str(getattr(column, "type", dtype))  # polars' dtypes, PyArrow's types
    return replace(cells, category=named.startswith(("Categorical", "Enum", "dictionary")))


def _cells_of(values: Array) -> ColumnValues:
    kind = values.dtype.kind
    if values.ndim != 1 or kind in "ScV":
        return ColumnValues("objects", np.zeros(len(values), dtype=int), ("",))
    if kind in "iuf":
        return ColumnValues("numbers", values)
    if kind in MICROSECONDS:
        return ColumnValues("dates" if kind == "M" else "durations", values.astype(MICROSECONDS[kind]))
    if kind == "b":
        return ColumnValues("truth values", values.astype(int), ("False", "True"))
    return _cells_of_objects(values.tolist())


def _cells_of_objects(cells: list[Any]) -> ColumnValues:
    """Cells of any type; equal cells of one type are read once."""
    types = set(map(type, cells))
    truths = {bool, np.bool_} & types
    try:
        # 1 and True are equal and would be one level; if both may occur, their types tell them apart.
        levels, codes = distinct_of([(type(c), c) for c in cells] if truths else cells)
    except TypeError:  # values that cannot be hashed, such as lists
        return ColumnValues("objects", np.zeros(len(cells), dtype=int), ("",))
    values = [value for _, value in levels] if truths else levels
    lacking = is_missing(_object_array(values))
    holds = _kind_of([value for value, gone in zip(values, lacking, strict=True) if not gone])
    if holds in ("numbers", "dates", "durations"):
        return ColumnValues(holds, _converted(holds, values, lacking)[codes])
    place = np.where(lacking, -1, np.cumsum(~lacking) - 1)
    texts = [spelled(value) for value, gone in zip(values, lacking, strict=True) if not gone]
    return _texts(place[codes], texts, holds)


def _texts(
    codes: Array, levels: Sequence[str], holds: Holds = "texts", category: bool = False
) -> ColumnValues:
    """Cells of texts. Levels may repeat, and one may mark missing values.

    Blanks around a text do not count, so a text of only blanks is missing, as in a text file.
    """
    levels = [level.strip() for level in levels]
    if len(set(levels)) < len(levels):  # for example 1 and "1"
        levels, places = distinct_of(levels)
        codes = np.append(places, -1)[codes]
    for nothing in {"", MISSING} & set(levels):
        codes = np.where(codes == levels.index(nothing), -1, codes)
    return ColumnValues(holds, codes, tuple(levels), category)


def _kind_of(values: Sequence[Any]) -> Holds:
    """What these values hold; none of them is missing."""
    types = set(map(type, values))

    def all_are(*kinds: type) -> bool:
        return all(issubclass(each, kinds) for each in types)

    if all_are(str):
        return "texts"
    if all_are(bool, np.bool_):
        return "truth values"
    if any(issubclass(each, NO_VALUES) or _is_unwritten(each) for each in types):
        return "objects"
    if all_are(Real, Decimal) and not types & {bool, np.bool_}:
        return "numbers"
    if all_are(datetime.date, np.datetime64):
        return "dates"
    if all_are(datetime.timedelta, datetime.time, np.timedelta64):
        return "durations"
    return "texts" if len(types) == 1 else "mixed"


def _is_unwritten(kind: Any) -> bool:
    """Whether values of a type print as an address in memory, not as a value."""
    return kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__


def _converted(holds: Holds, values: Sequence[Any], lacking: Array) -> Array:
    if holds == "numbers":
        return np.array([np.nan if m else _as_float(v) for v, m in zip(values, lacking, strict=True)])
    unit = MICROSECONDS["M" if holds == "dates" else "m"]
    times = np.full(len(values), "NaT", dtype=unit)
    for index in np.flatnonzero(~lacking).tolist():
        value: Any = values[index]
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        if isinstance(value, datetime.time):  # since midnight
            value = datetime.datetime.combine(datetime.date.min, value.replace(tzinfo=None))
            value = value - datetime.datetime.min
        times[index] = np.array(value).astype(unit)
    return times


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return np.inf


def as_texts(cells: ColumnValues) -> ColumnValues:
    """The same cells as texts; numbers and dates become their spelling."""
    if cells.levels is not None:
        return cells
    present = ~cells.missing
    distinct, inverse = np.unique(cells.values[present], return_inverse=True)
    codes = np.full(len(cells.values), -1, dtype=np.intp)
    codes[present] = inverse
    return replace(cells, values=codes, levels=tuple(map(spelled, distinct.tolist())))


def looked_up(
    holds: Literal["numbers", "dates", "durations"], values: Array, places: Array, cells: ColumnValues
) -> ColumnValues:
    """Cells with each row's value, given the `values` of the levels at `places`."""
    assert cells.levels is not None
    gap = np.array(np.nan if holds == "numbers" else "NaT").astype(values.dtype)
    table = np.full(len(cells.levels) + 1, gap)  # the last entry is for code -1, a missing value
    table[places] = values
    return ColumnValues(holds, table[cells.values])


def spelled(value: Any) -> str:
    """A value as text; a whole number has one spelling, however it is stored.

    >>> spelled(1), spelled(1.0), spelled(True), spelled(1.5)
    ('1', '1', 'True', '1.5')
    """
    if isinstance(value, np.floating):  # a 32-bit float would print rounded
        value = float(value)
    if isinstance(value, float | Decimal) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _object_array(values: Sequence[Any]) -> Array:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


# --- dates and durations ---------------------------------------------------------------------------


def number_of(values: Array, read_as: ReadAs) -> Array:
    """The numbers that a model sees for numbers, dates or durations (n,); NaN for a missing value.

    >>> number_of(np.array(["1970-02-03T06:00"], dtype="M8[us]"), "days")
    array([33.25])
    """
    if read_as == "number":
        return values.astype(float, copy=False)
    if read_as == "duration":
        numbers: Array = values.astype(np.int64) / DAY
    elif read_as == "month":
        numbers = values.astype("M8[M]").astype(np.int64) % 12 + 1.0
    else:
        days, rest = np.divmod(values.astype(np.int64), DAY)
        parts = {"days": days + rest / DAY, "weekday": (days + 3.0) % 7, "hour": rest / DAY * 24}
        numbers = parts[read_as]
    return np.where(np.isnat(values), np.nan, numbers)


def read_durations(texts: Sequence[str]) -> Array:
    """Texts such as 08:30, 1:02:03.5 or 3 days 04:00:00 as durations (n,); NaT for any other text.

    >>> read_durations(["08:30", "3 days", "soon"])
    array([ 30600000000, 259200000000,        'NaT'], dtype='timedelta64[us]')
    """
    durations = np.full(len(texts), "NaT", dtype="m8[us]")
    for index, text in enumerate(texts):
        given = _DURATION.fullmatch(text.strip())
        if given is not None and text.strip():
            minutes = 60 * int(given["hours"] or 0) + int(given["minutes"] or 0)
            seconds = 60 * minutes + float(given["seconds"] or 0)
            sign = -1 if given["sign"] == "-" else 1
            durations[index] = np.timedelta64(
                int(given["days"] or 0) * DAY + sign * round(seconds * 1e6), "us"
            )
    return durations
