"""A table as the page shows it: rows, dates, missing labels, columns that look protected, groups.

Everything here is plain data for JSON. A group is a condition on one column: one value of a column with
few values, or a range of a column of numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.auditing.unpromised import looks_protected
from ratebound._old.base.dates import date_orders, read_dates
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import is_missing
from ratebound._old.rates.subsets import Subset, column
from ratebound._old.tables.inspecting import Inspection, inspect
from ratebound._old.tables.parquet import stays_on_disk
from ratebound._old.tables.table import Table, read_table

FEW = 20  # values up to which each is a group
SHOWN = 8  # rows that are shown
LONGEST = 60  # letters of a cell that are shown
PROTECTED_VALUES = (
    {"female", "male"}, {"f", "m"}, {"woman", "man"}, {"women", "men"}, {"black", "white"},
)  # fmt: skip
OUTCOME = re.compile(
    r"(?i)(?<![^\W_])(y|label|target|class|outcome|result|response|approved|granted|default(ed)?|repaid|"
    r"paid|credit|risk|hired|income|recid\w*|churn(ed)?|fraud|survived|subscribed|converted|"
    r"readmitted)(?![^\W_])"
)
LIVE = re.compile(r"(?i)(^|[\W_])(live|decision|decided|current_model|champion|production)($|[\W_])")
SPLIT = re.compile(r"(?i)(^|[\W_])(split|fold|part|partition|set|train|test)($|[\W_])")
AGES = 40.0  # the default cut of ages: US law protects people from 40 on


@dataclass(frozen=True, eq=False)
class Opened:
    """A table in memory, and its origin."""

    paths: tuple[str, ...]
    table: Table

    @cached_property
    def inspection(self) -> Inspection:
        """What training would do with each column."""
        return inspect(self.table)

    @cached_property
    def values(self) -> dict[str, list[tuple[Any, int]]]:
        """The values of each column with few values, with their rows, the most frequent first."""
        every = ((name, _few_values(self.table[name])) for name in self.table.columns)
        return {name: values for name, values in every if values is not None}


def open_table(paths: Sequence[str]) -> Opened:
    """Read a table from files."""
    if stays_on_disk(paths):
        raise ValueError(
            f"{paths[0]} is too large for memory, where the studio holds its table: give it a part of "
            "the rows, or train on all of them with `ratebound train`"
        )
    return Opened(tuple(map(str, paths)), read_table(list(paths)))


def described(opened: Opened) -> dict[str, Any]:
    """Everything that the page shows about a table before any choice."""
    table, inspection = opened.table, opened.inspection
    columns = []
    for treatment, examples in zip(inspection.treatments, inspection.examples, strict=True):
        name = str(treatment.name)
        counted = opened.values.get(name)
        columns.append(
            {
                "name": name,
                "holds": treatment.holds,
                "missing": treatment.missing,
                "distinct": treatment.distinct,
                "examples": list(examples),
                "done": treatment.words,
                "dates": _date_range(table[name]) if treatment.action == "date" else None,
                "protected": seems_protected(name, counted),
                "values": None if counted is None else [[plain(v), n] for v, n in counted],
                "number": table.kinds[name] == "number",
            }
        )
    return {
        "name": table.name,
        "rows": len(table),
        "notices": list(table.notices),
        "columns": columns,
        "first": [[_cell(table[name][row]) for name in table.columns] for row in range(_shown(table))],
        "label": likely_label(columns),
        "live": likely_live(columns),
    }


def _shown(table: Table) -> int:
    return min(SHOWN, len(table))


def seems_protected(name: str, counted: Sequence[tuple[Any, int]] | None) -> bool:
    """Whether a column looks protected, by its name or by its values.

    >>> seems_protected("applicant_sex", None), seems_protected("x7", [("Male", 5), ("Female", 4)])
    (True, True)
    >>> seems_protected("wage", None)
    False
    """
    texts = {str(value).strip().casefold() for value, _ in counted or ()}
    return looks_protected(name) or any(own <= texts for own in PROTECTED_VALUES)


def likely_label(columns: Sequence[Mapping[str, Any]]) -> str | None:
    """The column that is most likely the label; None if no name of a two-valued column suggests it.

    A whole name counts more than a part of it, and a later column more than an earlier one. One-hot
    columns, such as credit_history_A30 beside credit_history_A31, are not labels. The last column may
    be called anything.
    """
    both = _of_two_values(columns)
    outcomes = [name for name in both if OUTCOME.search(name)]
    whole = [name for name in outcomes if OUTCOME.fullmatch(name)]
    last = [name for name in both if name == columns[-1]["name"] and not SPLIT.search(name)]
    return next(iter([*whole[::-1], *outcomes[::-1], *last]), None)


def likely_live(columns: Sequence[Mapping[str, Any]]) -> str | None:
    """The column that most likely has a live model's decisions."""
    live = [name for name in _of_two_values(columns) if LIVE.search(name)]
    return live[0] if live else None


def _of_two_values(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns with two values that look neither protected nor one-hot."""
    stems = Counter(_stem(each["name"]) for each in columns)
    return [
        each["name"]
        for each in columns
        if len(each["values"] or ()) == 2
        and not each["protected"]
        and not (stems[_stem(each["name"])] > 1 and {str(v) for v, _ in each["values"]} <= {"0", "1"})
    ]


def _stem(name: str) -> str:
    """A name without the part after its last underscore, which distinguishes one-hot columns."""
    return name.rpartition("_")[0] or name


def _few_values(values: Array) -> list[tuple[Any, int]] | None:
    """The distinct values with their rows; None if there are many, or if they are times."""
    if values.dtype.kind not in "biufO":
        return None
    there = values[~is_missing(values)]
    try:
        if values.dtype.kind == "O":
            rows_with: dict[Any, int] = {}
            for value in there.tolist():
                rows_with[value] = rows_with.get(value, 0) + 1
                if len(rows_with) > FEW:
                    return None
            counted = list(rows_with.items())
        else:
            distinct, counts = np.unique(there, return_counts=True)
            few = len(distinct) <= FEW
            counted = list(zip(distinct.tolist(), counts.tolist(), strict=True)) if few else []
            if not counted:
                return None
    except TypeError:  # lists and the like
        return None
    return sorted(counted, key=lambda each: (-each[1], str(each[0])))


def _date_range(values: Array) -> list[str] | None:
    """The first and the last day."""
    there = values[~is_missing(values)]
    if there.dtype.kind != "M":
        texts = list(dict.fromkeys(map(str, there.tolist())))
        orders = date_orders(texts) if texts else []
        if not orders:
            return None
        there = read_dates(texts, orders[0])
    if not len(there):
        return None
    return [str(each.astype("M8[D]")) for each in (there.min(), there.max())]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    text = f"{value:g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def plain(value: Any) -> Any:
    """A value for JSON."""
    return value.item() if isinstance(value, np.generic) else value


# --- groups --------------------------------------------------------------------------------------------


def groups_of(opened: Opened, name: str) -> list[dict[str, Any]]:
    """The groups of a column: each of few values, or two ranges of numbers."""
    _check(opened, name)
    if name in opened.values:
        return [{"column": name, "value": plain(value)} for value, _ in opened.values[name]]
    values = opened.table[name]
    if values.dtype.kind not in "iuf":
        raise ValueError(
            f"column {name!r} has more than {FEW} different texts, too many to be groups: put them into "
            "classes in another column"
        )
    cut = _cut(name, values)
    return [{"column": name, "below": cut}, {"column": name, "from": cut}]


def _cut(name: str, values: Array) -> float:
    there = values[~is_missing(values)].astype(float)
    if re.search(r"(?i)(^|[\W_])age", name) and there.min() < AGES < there.max():
        return AGES
    return float(f"{float(np.median(there)):.3g}")


def group_mask(opened: Opened, group: Mapping[str, Any] | None) -> Array:
    """Which rows (n,) are in a group; all for None."""
    if group is None:
        return np.ones(len(opened.table), dtype=bool)
    values = opened.table[_check(opened, group["column"])]
    if "value" in group:
        return np.asarray(values == group["value"], dtype=bool)
    there = values.astype(float)
    return np.asarray(there < group["below"] if "below" in group else there >= group["from"])


def group_subset(group: Mapping[str, Any]) -> Subset:
    """A group as a condition for promises."""
    of = column(group["column"])
    if "value" in group:
        return of == group["value"]
    return of < float(group["below"]) if "below" in group else of >= float(group["from"])


def group_name(group: Mapping[str, Any] | None) -> str:
    """A group in everyday words.

    >>> group_name({"column": "sex", "value": "Female"}), group_name({"column": "age", "from": 40.0})
    ('sex: Female', 'age 40 or more')
    """
    if group is None:
        return "everyone"
    if "value" in group:
        return f"{group['column']}: {group['value']}"
    if "below" in group:
        return f"{group['column']} under {group['below']:g}"
    return f"{group['column']} {group['from']:g} or more"


def _check(opened: Opened, name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError("choose a column")
    opened.table.check(name, "group")
    return name
