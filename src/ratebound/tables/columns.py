"""What is known about a table's columns once an encoding is fitted, as plain data that can be saved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

# How a table is encoded for a model. "scaled" standardizes numbers and makes texts one-hot, for models
# that descend gradients; "plain" leaves numbers unchanged, with NaN for missing ones; "codes" also turns
# texts into numbers, for boosted trees; "table" passes the columns unchanged, for your own pipelines.
Style = Literal["scaled", "plain", "codes", "table"]
MISSING = "(missing)"  # the value a missing text stands for
Name = Any  # of a column: a text, a number, or a tuple of them, as pandas has them


@dataclass(frozen=True)
class Number:
    """A numeric column, centred and scaled; a missing value becomes the centre."""

    name: Name
    center: float
    scale: float
    gaps: bool  # whether values were missing in training: then a second feature says where they are


@dataclass(frozen=True)
class Category:
    """A column of texts or truth values: one feature per value; all are 0 for an unknown value."""

    name: Name
    values: tuple[str, ...]

    @property
    def gaps(self) -> bool:
        """Whether values were missing in training."""
        return MISSING in self.values


@dataclass(frozen=True)
class Plain:
    """A numeric column as it is; a missing value is NaN."""

    name: Name
    gaps: bool = False  # whether values were missing in training


@dataclass(frozen=True)
class Code:
    """A column of texts or truth values, as numbers; an unknown or missing one is NaN."""

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


def check_name(name: Name) -> None:
    parts = name if isinstance(name, tuple) else (name,)
    if name is not None and not all(isinstance(part, str | int | float) for part in parts):
        raise ValueError(
            f"a column is named {name!r}: models are saved with texts, numbers and tuples of them only"
        )


def column_to_json(column: Column) -> dict[str, Any]:
    names = {kind: name for name, kind in KINDS.items()}
    name = list(column.name) if isinstance(column.name, tuple) else column.name
    return {"kind": names[type(column)], **vars(column), "name": name}


def column_from_json(entry: dict[str, Any]) -> Column:
    """A column as `column_to_json` wrote it, checked."""
    name = tuple(entry["name"]) if isinstance(entry["name"], list) else entry["name"]
    check_name(name)
    fields = {key: value for key, value in entry.items() if key not in ("kind", "name")}
    if not isinstance(fields.get("gaps", False), bool):
        raise ValueError(f"column {name!r} is not as it was saved: gaps={fields['gaps']!r}")
    if "values" in fields:
        if not all(isinstance(value, str) for value in fields["values"]):
            raise ValueError(f"column {name!r} holds values that are not texts")
        fields["values"] = tuple(fields["values"])
    if "scale" in fields and not (fields["scale"] > 0 and math.isfinite(fields["scale"])):
        raise ValueError(f"column {name!r} has a scale of {fields['scale']!r}")
    if "center" in fields and not math.isfinite(fields["center"]):
        raise ValueError(f"column {name!r} has a center that is not a finite number")
    return KINDS[entry["kind"]](name, **fields)
