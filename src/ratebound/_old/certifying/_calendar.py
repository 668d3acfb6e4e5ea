"""The months of a stream, and the rows that wait for their time or for a label.

If rows have ids, a row that is passed again is not counted again, and a label is matched with its row
however late it comes: it counts in the month of the decision. A row that waits keeps its decision and
the columns that promises use; of all others only a number remains, by which they are known again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.certifying._batches import only_rows
from ratebound._old.certifying._months import (
    Counting,
    Month,
    cells_of,
    column_of,
    listed,
    month_from_json,
)
from ratebound._old.certifying.row_ids import numbers_of, packed, unpacked
from ratebound._old.problem.frames import as_array
from ratebound._old.rates.subsets import Name

Given = tuple[Any, Any, dict[Any, Any]]  # decisions, labels and columns
SALT = "ratebound monitor"


@dataclass(frozen=True)
class Awaited:
    """A row that waits for its time, or for its label."""

    moment: float  # when it was decided
    month: str  # the same; empty if nothing says so
    decision: Any
    label: Any
    values: tuple[Any, ...]  # of the columns that promises and strata use
    due: bool = False  # whether its time is over, so that no more bets are made on it


@dataclass(frozen=True, eq=False)
class Calendar:
    """What is counted by month, and the rows that are known by their ids."""

    months: Mapping[str, Month] = field(default_factory=dict)
    awaited: Mapping[int, Awaited] = field(default_factory=dict)  # by the number of the row's id
    known: frozenset[int] = frozenset()  # of all rows so far

    def counted(self, rows: Given, months: Array | None, how: Counting) -> Calendar:
        """The calendar with rows that are counted now, each in its month (n,)."""
        if months is None or not len(months):
            return self
        after = dict(self.months)
        for name in dict.fromkeys(months.tolist()):
            part = only_rows(rows, np.flatnonzero(months == name))
            after[name] = after.get(name, Month()).with_rows(*part, how)
        return replace(self, months=dict(sorted(after.items())))

    def at_evidence(self, month: str, evidence: Sequence[tuple[float, float]]) -> Calendar:
        """The calendar with the evidence after the last row of a month."""
        if month not in self.months:
            return self
        month_after = replace(self.months[month], evidence=tuple(evidence))
        return replace(self, months={**self.months, month: month_after})

    def arrived(
        self,
        rows: Given,
        ids: Array,
        moments: Array,
        months: Array | None,
        how: Counting,
        names: Sequence[Name],
    ) -> Calendar:
        """The calendar with rows whose ids have these numbers (n,); known rows bring labels alone."""
        labels = rows[1]
        old = np.fromiter((int(each) in self.known for each in ids), bool, len(ids))
        calendar = (
            self if labels is None else self.labelled(ids[old], as_array(labels)[old], how, names)[0]
        )
        fresh = np.flatnonzero(~old)
        part = only_rows(rows, fresh)
        own = None if months is None else months[fresh]
        calendar = calendar.counted(part, own, how)
        said, truths, held = part
        told = [None] * len(fresh) if truths is None else listed(truths)
        values = list(zip(*(listed(held[name]) for name in names), strict=True)) or [()] * len(fresh)
        awaited = dict(calendar.awaited)
        for place, (decision, label) in enumerate(zip(listed(said), told, strict=True)):
            at = int(fresh[place])
            month = "" if own is None else str(own[place])
            row = Awaited(float(moments[at]), month, decision, label, values[place])
            awaited[int(ids[at])] = row
        known = calendar.known | {int(ids[at]) for at in fresh}
        return replace(calendar, awaited=awaited, known=known)

    def labelled(
        self, ids: Array, labels: Array, how: Counting, names: Sequence[Name]
    ) -> tuple[Calendar, int]:
        """The calendar with labels of rows that wait for one, and how many these are."""
        awaited, months, labelled = dict(self.awaited), dict(self.months), dict[str, list[Awaited]]()
        for number, label in zip(ids.tolist(), listed(labels), strict=True):
            row = awaited.get(number)
            if label is None or row is None or row.label is not None:
                continue
            row = replace(row, label=label)
            labelled.setdefault(row.month, []).append(row)
            if row.due:
                del awaited[number]
            else:
                awaited[number] = row
        for name, rows in labelled.items():
            if name in months:
                cells = cells_of(*rows_as_given(rows, names), how)
                months[name] = months[name].with_labels(cells, how)
        return replace(self, awaited=awaited, months=months), sum(map(len, labelled.values()))

    @property
    def waiting(self) -> list[Awaited]:
        """The rows whose time has not come."""
        return [row for row in self.awaited.values() if not row.due]

    def passed(self, until: float) -> Calendar:
        """The calendar once bets were made on all rows decided until then."""
        awaited = {
            number: replace(row, due=True) if row.moment <= until else row
            for number, row in self.awaited.items()
            if row.moment > until or row.label is None
        }
        return replace(self, awaited=awaited)

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data."""
        rows = [
            [number, row.moment, row.month, row.decision, row.label, list(row.values), row.due]
            for number, row in self.awaited.items()
        ]
        return {
            "months": {name: month.to_json() for name, month in self.months.items()},
            "awaited": rows,
            "known": packed(np.array(sorted(self.known), dtype=np.uint64)),
        }


def calendar_from_json(
    data: dict[str, Any], how: Counting | None, names: Sequence[Name], promises: int
) -> Calendar:
    """The calendar that `to_json` wrote, checked."""
    known = frozenset(unpacked(data["known"]).tolist())
    awaited: dict[int, Awaited] = {}
    for number, moment, month, decision, label, values, due in data["awaited"]:
        sound = number in known and type(moment) in (int, float) and math.isfinite(moment)
        if not (sound and type(month) is str and type(due) is bool and len(values) == len(names)):
            raise ValueError("the rows that wait are not as they were written")
        if any(isinstance(each, list | dict) for each in (decision, label, *values)):
            raise ValueError("the rows that wait hold lists or mappings")
        awaited[number] = Awaited(float(moment), month, decision, label, tuple(values), due)
    if how is None:
        return Calendar({}, awaited, known)
    months = {str(m): month_from_json(own, how, promises) for m, own in data["months"].items()}
    return Calendar(months, awaited, known)


def rows_as_given(rows: Sequence[Awaited], names: Sequence[Name]) -> Given:
    """Decisions, labels and columns of rows that waited."""
    columns = {name: column_of(row.values[at] for row in rows) for at, name in enumerate(names)}
    return column_of(row.decision for row in rows), column_of(row.label for row in rows), columns


def ids_of(columns: Mapping[Any, Any], key: Name) -> Array:
    """The number of each row's id, (n,)."""
    if key not in columns:
        raise ValueError(f"no column {key!r} is given, by whose ids rows are known again")
    return numbers_of(as_array(columns[key]), key, SALT)
