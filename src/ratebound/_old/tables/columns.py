"""The fitted columns of an encoding, as plain data that can be saved.

A fitted column reads one column of a table and makes one or more features of it. A column of dates is
read by several, one for each part of the date.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ratebound._old.base.dates import DateOrder

# How a table is encoded for a model. "scaled" standardizes numbers and makes texts one-hot, for models
# that descend gradients; "plain" leaves numbers unchanged; "codes" also turns texts into numbers, for
# boosted trees; "table" passes the columns unchanged, for your own pipelines.
Style = Literal["scaled", "plain", "codes", "table"]
MISSING = "(missing)"  # the value a missing text stands for
OTHER = "(other)"  # the value that all texts without a feature of their own stand for
BEYOND = 1e300  # numbers above this count as infinite, since their sums could overflow
Name = Any  # a column's name: a text, a number, or a tuple of them, as in pandas

# The part of a column's value that becomes a number: a number itself; a moment's days since 1970 (with
# their fraction), month (1 to 12), weekday (Monday is 0) or hour (with its fraction), all in UTC if
# there is a time zone; or a duration's days.
ReadAs = Literal["number", "days", "month", "weekday", "hour", "duration"]
PARTS = ("month", "weekday", "hour")  # the parts of a date besides its days


@dataclass(frozen=True)
class Number:
    """A number, centred and scaled; a missing value becomes the centre."""

    name: Name
    center: float
    scale: float
    gaps: bool  # whether values were missing in training: then a second feature flags missing values
    read_as: ReadAs = "number"
    dates: DateOrder = "ymd"


@dataclass(frozen=True)
class Plain:
    """An unchanged number; a missing value is NaN, or `fill` if the model does not take NaN."""

    name: Name
    gaps: bool = False  # whether values were missing in training: with `fill`, a feature flags them
    fill: float | None = None
    read_as: ReadAs = "number"
    dates: DateOrder = "ymd"


@dataclass(frozen=True)
class Category:
    """A column of texts or truth values: one feature per value.

    All are 0 for an unknown value, unless `OTHER` is among the values.
    """

    name: Name
    values: tuple[str, ...]

    @property
    def gaps(self) -> bool:
        """Whether values were missing in training."""
        return MISSING in self.values


@dataclass(frozen=True)
class Code:
    """A column of texts or truth values, as numbers; a missing value is NaN.

    An unknown value is NaN too, unless `OTHER` is among the values.
    """

    name: Name
    values: tuple[str, ...]
    gaps: bool = False  # whether values were missing in training


Column = Number | Category | Plain | Code
KINDS: dict[str, type[Column]] = {"number": Number, "category": Category, "plain": Plain, "code": Code}
KINDS_IN: dict[Style, tuple[type[Column], ...]] = {
    "scaled": (Number, Category),
    "plain": (Plain, Category),
    "codes": (Plain, Code),
    "table": (Plain,),
}


def names_of(column: Column) -> list[str]:
    """The name of each feature of a column.

    >>> names_of(Category("town", ("Oslo", "Rome"))), names_of(Number("age", 40.0, 10.0, gaps=True))
    (['town == Oslo', 'town == Rome'], ['age', 'age is missing'])
    """
    if isinstance(column, Category):
        return [f"{column.name} == {value}" for value in column.values]
    if isinstance(column, Code):
        return [str(column.name)]
    part = f": {column.read_as}" if column.read_as in PARTS else ""
    return [f"{column.name}{part}"] + [f"{column.name} is missing"] * flags_gaps(column)


def width_of(column: Column) -> int:
    """How many features a column becomes."""
    return len(column.values) if isinstance(column, Category) else places_of([column])


def places_of(columns: Sequence[Column]) -> int:
    """The largest number of a row's features that are not 0: one of each category's is 1."""
    return sum(1 + (isinstance(c, Number | Plain) and flags_gaps(c)) for c in columns)


def flags_gaps(column: Number | Plain) -> bool:
    """Whether a second feature flags missing values."""
    return column.gaps and not (isinstance(column, Plain) and column.fill is None)


def check_name(name: Name) -> None:
    parts = name if isinstance(name, tuple) else (name,)
    if name is not None and not all(isinstance(part, str | int | float) for part in parts):
        raise ValueError(
            f"a column is named {name!r}: a model can be saved only if its columns' names are texts, "
            "numbers or tuples of them"
        )


def column_to_json(column: Column) -> dict[str, Any]:
    names = {kind: name for name, kind in KINDS.items()}
    name = list(column.name) if isinstance(column.name, tuple) else column.name
    return {"kind": names[type(column)], **vars(column), "name": name}


def column_from_json(entry: dict[str, Any]) -> Column:
    """A column as `column_to_json` wrote it, checked."""
    name = name_from_json(entry["name"])
    fields = {key: value for key, value in entry.items() if key not in ("kind", "name")}
    if not isinstance(fields.get("gaps", False), bool):
        raise ValueError(f"column {name!r} is not as it was saved: gaps={fields['gaps']!r}")
    if "values" in fields:
        fields["values"] = _distinct_texts(fields["values"], name)
    for key, known in (("read_as", ReadAs), ("dates", DateOrder)):
        if key in fields and fields[key] not in get_args(known):
            raise ValueError(f"column {name!r} has an unknown {key}={fields[key]!r}")
    if "scale" in fields and not (fields["scale"] > 0 and math.isfinite(fields["scale"])):
        raise ValueError(f"column {name!r} has a scale of {fields['scale']!r}")
    for key in ("center", "fill"):
        unfilled = key == "fill" and fields.get(key) is None
        if key in fields and not unfilled and not math.isfinite(fields[key]):
            raise ValueError(f"column {name!r} has a {key} that is not a finite number")
    return KINDS[entry["kind"]](name, **fields)


def check_distinct(columns: Sequence[Column]) -> None:
    """Raise unless each column of a table is read once, or once for each part of a date."""
    seen: dict[Name, list[str]] = {}
    for column in columns:
        read_as = column.read_as if isinstance(column, Number | Plain) else "category"
        earlier = seen.setdefault(column.name, [])
        part_of_a_date = earlier[:1] == ["days"] and read_as in PARTS and read_as not in earlier
        if earlier and not part_of_a_date:
            raise ValueError(f"the encoding has the column {column.name!r} twice")
        earlier.append(read_as)


def name_from_json(name: Any) -> Name:
    hashable = tuple(name) if isinstance(name, list) else name
    check_name(hashable)
    return hashable


def _distinct_texts(values: Any, name: Name) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"column {name!r} holds values that are not texts")
    if len(set(values)) < len(values):
        raise ValueError(f"column {name!r} has a value twice")
    return tuple(values)
