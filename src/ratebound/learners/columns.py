"""What is known of a table's columns once an encoding is fitted, as plain data that can be saved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ratebound.game.learner import Style as Style

MISSING = "(missing)"  # the value a missing text stands for
Name = Any  # of a column: a text, a number, or a tuple of them, as pandas has them


@dataclass(frozen=True)
class Number:
    """A numeric column: centred and scaled; a missing value becomes the centre, and is flagged."""

    name: Name
    center: float
    scale: float
    flagged: bool  # whether some value was missing, so that there is a second feature saying so

    @property
    def gaps(self) -> bool:
        """Whether training knew missing values."""
        return self.flagged


@dataclass(frozen=True)
class Category:
    """A column of texts or truth values: one feature per value; an unknown one is none of them."""

    name: Name
    values: tuple[str, ...]

    @property
    def gaps(self) -> bool:
        """Whether training knew missing values."""
        return MISSING in self.values


@dataclass(frozen=True)
class Plain:
    """A numeric column as it is; a missing value is NaN."""

    name: Name
    gaps: bool = False  # whether training knew missing values


@dataclass(frozen=True)
class Code:
    """A column of texts or truth values, each the number of its value; an unknown or missing one NaN."""

    name: Name
    values: tuple[str, ...]
    gaps: bool = False  # whether training knew missing values


Column = Number | Category | Plain | Code
KINDS: dict[str, type[Column]] = {"number": Number, "category": Category, "plain": Plain, "code": Code}
KINDS_IN: dict[Style, tuple[type[Column], ...]] = {
    "scaled": (Number, Category),
    "plain": (Plain, Category),
    "codes": (Plain, Code),
    "table": (Plain,),
}


def check_name(name: Name) -> None:
    plain = isinstance(name, str | int | float) or name is None
    if not plain and not (isinstance(name, tuple) and all(map(_is_plain, name))):
        raise ValueError(
            f"a column is named {name!r}: models are saved with texts, numbers and tuples of them only"
        )


def _is_plain(name: Name) -> bool:
    return isinstance(name, str | int | float)


def column_to_json(column: Column) -> dict[str, Any]:
    names = {kind: name for name, kind in KINDS.items()}
    name = list(column.name) if isinstance(column.name, tuple) else column.name
    return {"kind": names[type(column)], **vars(column), "name": name}


def column_from_json(entry: dict[str, Any]) -> Column:
    """A column as `column_to_json` wrote it, checked."""
    name = tuple(entry["name"]) if isinstance(entry["name"], list) else entry["name"]
    check_name(name)
    fields = {key: value for key, value in entry.items() if key not in ("kind", "name")}
    for key in {"flagged", "gaps"} & fields.keys():
        if not isinstance(fields[key], bool):
            raise ValueError(f"column {name!r} is not as it was saved: {key}={fields[key]!r}")
    if "values" in fields:
        if not all(isinstance(value, str) for value in fields["values"]):
            raise ValueError(f"column {name!r} holds values that are no texts")
        fields["values"] = tuple(fields["values"])
    if "scale" in fields and not (fields["scale"] > 0 and math.isfinite(fields["scale"])):
        raise ValueError(f"column {name!r} has a scale of {fields['scale']!r}")
    if "center" in fields and not math.isfinite(fields["center"]):
        raise ValueError(f"column {name!r} has no center")
    return KINDS[entry["kind"]](name, **fields)
