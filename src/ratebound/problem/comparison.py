"""The rule by which values meet conditions, for every container and engine.

One rule holds wherever a column comes from, so that the same column gives the same rows:

- None, NULL, NaN, NaT and pandas.NA are missing. A row without a value meets ``missing(column)``
  and ``!=``, and no other comparison.
- Numbers compare exactly, whatever type holds them: ``2**53 + 1`` is not ``2.0**53``, and a float32
  0.1 is not 0.1. A number compares with a decimal by its digits, so 0.1 equals the decimal 0.10. True
  is 1 and False is 0.
- Text compares as it is stored, including blanks and empty strings, and is ordered by code points. An
  order is refused for text that looks like a number, since "10" sorts before "9".
- Dates and times compare with ISO 8601 text, such as "2024-01-31" or "2024-01-31 08:30+01:00". A date
  is its first moment. A time with a zone compares in UTC, and text without an offset is in UTC.
- Values of different kinds do not compare: a column of numbers has no row ``== "a"``, so that
  comparison is an error.

An engine holds a column in one type, and engines disagree about values that the type cannot hold. So
`fit_comparison` rewrites a comparison with a value that the type can hold.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from ratebound.rates.conditions import Compare, Condition, In, Missing, Name, Value, is_missing

RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LIKE_A_NUMBER = re.compile(r"\s*[-+]?\s*[$€£¥]?\s*\d")
LIKE_AN_ISO_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d")
MANY_DIGITS = Context(prec=400)  # enough for every float
EPOCH = datetime.datetime(1970, 1, 1)
REACH = datetime.timedelta(microseconds=2**63 // 1000)  # the span of nanoseconds in 64 bits
WORDS = {"text": "text", "date": "dates", "time": "dates"}  # all other kinds are "numbers"


@dataclass(frozen=True)
class ColumnKind:
    """The kind of values in a column: text, bool, int, float, single, decimal, date or time."""

    name: str
    low: Any = None  # the least int or time that the column can hold
    high: Any = None
    digits: tuple[int, int] = (38, 0)  # of a decimal: in all, and after the point
    unit: str = "us"  # of a time

    @property
    def word(self) -> str:
        """The kind in errors: "text", "dates" or "numbers"."""
        return WORDS.get(self.name, "numbers")


def int_kind(bits: int, is_signed: bool = True) -> ColumnKind:
    if not is_signed:
        return ColumnKind("int", 0, 2**bits - 1)
    half = 2 ** (bits - 1)
    return ColumnKind("int", -half, half - 1)


def time_kind(unit: str) -> ColumnKind:
    if unit == "ns":
        return ColumnKind("time", EPOCH - REACH, EPOCH + REACH, unit=unit)
    return ColumnKind("time", unit=unit)


def array_kind(dtype: Any) -> ColumnKind:
    """Return the kind of a NumPy array; an error starts with "holds", after the column's name."""
    if dtype.kind in "iu":
        return int_kind(8 * dtype.itemsize, dtype.kind == "i")
    if dtype.kind == "M":
        unit = np.datetime_data(dtype)[0]
        return ColumnKind("date") if unit == "D" else time_kind(unit)
    if dtype.kind == "f" and dtype.itemsize in (4, 8):
        return ColumnKind("single" if dtype.itemsize == 4 else "float")
    if dtype.kind in "Ub":
        return ColumnKind("text" if dtype.kind == "U" else "bool")
    raise ValueError(f"holds values of type {dtype}: convert them to text, numbers or dates")


# --- one value ------------------------------------------------------------------------------------


def kind_of_value(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    return "dates" if isinstance(value, datetime.date | np.datetime64) else "numbers"


def compare_value(held: Any, relation: str, value: Value) -> bool:
    """Return whether a value that is not missing stands in a relation to a condition's value."""
    if isinstance(held, str) != isinstance(value, str):
        return relation == "!="
    if isinstance(held, Decimal) and not isinstance(value, str):
        value = as_decimal(value)  # type: ignore[assignment]
    return RELATIONS[relation](held, value)


def meets(value: Any, leaf: Condition) -> bool:
    """Return whether one value of a column meets a simple condition."""
    if isinstance(leaf, Missing):
        return is_missing(value)
    if isinstance(leaf, In):
        return any(meets(value, equality) for equality in leaf.equalities)
    assert isinstance(leaf, Compare), leaf
    if is_missing(value):
        return leaf.relation == "!="
    wanted: Any = leaf.value
    if isinstance(value, datetime.datetime):
        value = in_utc(value)
        wanted = read_moment(leaf.column, wanted)
    return compare_value(value, leaf.relation, wanted)


def as_decimal(value: Value) -> Decimal:
    """Return a number as the decimal that it prints as, not as its exact binary value."""
    return Decimal(repr(value + 0))  # type: ignore[operator]  # True is 1


def read_moment(name: Name, value: Value) -> datetime.datetime:
    """Return the moment in UTC that ISO 8601 text names."""
    text = value if isinstance(value, str) else ""
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"column {name!r} holds dates but is compared with {value!r}: "
            'write a date as in "2024-01-31", or a time as in "2024-01-31 08:30"'
        ) from None
    return in_utc(moment)


def in_utc(moment: datetime.datetime) -> datetime.datetime:
    """Return a moment in UTC, without its time zone."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


# --- one comparison with a column -----------------------------------------------------------------


def check_kinds(leaf: Compare, words: set[str], values: Any = ()) -> None:
    """Raise if a value is of another kind than the column, or its order would be misleading."""
    if words == {"dates"}:
        read_moment(leaf.column, leaf.value)
        return
    is_order = leaf.relation not in ("==", "!=")
    is_of_kind = kind_of_value(leaf.value) in words
    is_mixed = len(words) > 1
    if words and (not is_of_kind or (is_order and is_mixed)):
        held = " and ".join(sorted(words))
        raise ValueError(f"column {leaf.column!r} holds {held} but is compared with {leaf.value!r}")
    if is_order and isinstance(leaf.value, str):
        _check_text_order(leaf.column, [leaf.value, *values])


def _check_text_order(name: Name, texts: list[str]) -> None:
    if all(map(LIKE_AN_ISO_DATE.match, texts)):
        return
    for text in texts:
        if LIKE_A_NUMBER.match(text):
            raise ValueError(
                f"column {name!r} holds text, which is ordered alphabetically, but {text!r} looks "
                "like a number or a date: convert the column, or write dates as in 2024-01-31"
            )


def fit_comparison(leaf: Compare, kind: ColumnKind) -> tuple[str, Any] | bool:
    """Return an equivalent relation and value that the kind can hold.

    The result is a bool if all values of the kind meet the comparison, or none do.
    """
    check_kinds(leaf, {kind.word})
    relation: str = leaf.relation
    if kind.name == "bool":
        met = [held for held in (False, True) if RELATIONS[relation](held, leaf.value)]
        if len(met) == 1:
            return "==", met[0]
        return bool(met)
    value, is_exact = floor_value(leaf, kind)
    if relation in ("==", "!="):
        return (relation, value) if is_exact else relation == "!="
    if value is None:  # all values of this kind are above it
        return relation in (">", ">=")
    if not is_exact:
        relation = "<=" if relation in ("<", "<=") else ">"
    return relation, value


def floor_value(leaf: Compare, kind: ColumnKind) -> tuple[Any, bool]:
    """Return a condition's value rounded down to one that the kind can hold, and whether it is equal.

    The value is None if it is below everything that the kind can hold.
    """
    value: Any = leaf.value
    if kind.name == "text":
        return value, True
    if kind.name in ("date", "time"):
        return _floor_moment(read_moment(leaf.column, value), kind)
    if kind.name == "decimal":
        return _floor_decimal(as_decimal(value), kind)
    if kind.name == "int":
        floored = min(math.floor(value), kind.high)
        return (floored, floored == value) if floored >= kind.low else (None, False)
    dtype = np.float32 if kind.name == "single" else np.float64
    return _floor_float(value, dtype)


def _floor_float(value: Any, dtype: type) -> tuple[Any, bool]:
    with np.errstate(over="ignore"):
        try:
            nearest = dtype(value)
        except OverflowError:  # an integer beyond all floats
            nearest = dtype(math.copysign(math.inf, value))
        if float(nearest) > value:
            nearest = np.nextafter(nearest, dtype(-math.inf))
    floored = float(nearest)
    return floored, floored == value


def _floor_decimal(value: Decimal, kind: ColumnKind) -> tuple[Decimal | None, bool]:
    digits, after_point = kind.digits
    step = Decimal(1).scaleb(-after_point)
    largest = (Decimal(10) ** digits - 1).scaleb(-after_point, MANY_DIGITS)
    floored = min(value.quantize(step, ROUND_FLOOR, MANY_DIGITS), largest)
    return (floored, floored == value) if floored >= -largest else (None, False)


def _floor_moment(moment: datetime.datetime, kind: ColumnKind) -> tuple[Any, bool]:
    if kind.name == "date":
        return moment.date(), moment.time() == datetime.time()
    floored = moment
    if kind.unit == "s":
        floored = moment.replace(microsecond=0)
    elif kind.unit == "ms":
        floored = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    if kind.low is not None and moment < kind.low:
        return None, False
    if kind.high is not None:
        floored = min(floored, kind.high)
    return floored, floored == moment
