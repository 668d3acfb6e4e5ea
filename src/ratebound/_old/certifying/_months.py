"""What is counted of the rows of each month: their decisions, their labels, their groups and features.

A month's rows are counted in *cells*: rows that the promises, the decision and the label do not tell
apart are one entry and a number. Cells add, and a label that comes late moves its row from the cells
without labels to those with one. Nothing here depends on the order of rows, unlike the evidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ratebound._old.auditing.tally import Lines
from ratebound._old.auditing.tallying import asked_of
from ratebound._old.auditing.unpromised import MOST_VALUES, groups_of, looks_protected
from ratebound._old.base.types import Array
from ratebound._old.certifying._draws import StreamBatch
from ratebound._old.problem.frames import as_array, is_missing
from ratebound._old.problem.masks import masker
from ratebound._old.problem.population import Population
from ratebound._old.problem.values import dated, read_values
from ratebound._old.rates.expressions import FIRST, Rate
from ratebound._old.rates.kinds import Classes, label_classes
from ratebound._old.rates.subsets import EVERYONE, Name, Subset, only_decided
from ratebound._old.tables.bins import Bins

DATE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}")  # as NumPy writes a moment
MONTH = re.compile(r"\d{4}-\d{2}")
Reader = Callable[[Any, Any, Any], StreamBatch]  # decisions, labels and columns


@dataclass(frozen=True)
class Counting:
    """What tells rows of a month apart, and how to read them."""

    rates: tuple[Rate, ...]
    classes: Classes
    read: Reader
    bins: tuple[Bins, ...] = ()  # of the model's features, with counts of its training rows

    @property
    def columns(self) -> tuple[Name, ...]:
        """The columns that promises use."""
        return asked_of(self.rates, FIRST, self.classes).columns

    @property
    def subsets(self) -> list[Subset]:
        """The groups that promises name, after everyone."""
        named = (only_decided(rate.subset)[1] for rate in self.rates)
        return list(dict.fromkeys([EVERYONE, *named]))


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows counted by their decision, their label, if there is one, and what promises ask of them."""

    decisions: tuple[Any, ...] = ()
    labels: tuple[Any, ...] | None = None
    columns: Mapping[Name, tuple[Any, ...]] = field(default_factory=dict)
    rows: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(self.rows)

    def with_more(self, other: Cells, how: Counting) -> Cells:
        """The rows of both; of `other` they may be taken away, by negative numbers."""
        if not len(self) or not len(other):
            return other.folded(how) if len(other) else self
        labels = None if self.labels is None else (*self.labels, *(other.labels or ()))
        columns = {name: (*values, *other.columns[name]) for name, values in self.columns.items()}
        whole = Cells((*self.decisions, *other.decisions), labels, columns, (*self.rows, *other.rows))
        return whole.folded(how)

    def folded(self, how: Counting) -> Cells:
        """The same rows, with one entry for all rows that are alike."""
        if not len(self):
            return self
        place = self._read(how).place
        assert place is not None
        first = np.unique(place, return_index=True)[1]
        rows = np.bincount(place, self.rows).astype(int)
        kept = [(int(at), int(n)) for at, n in zip(first, rows, strict=True) if n]
        chosen = self._at([at for at, _ in kept])
        return replace(chosen, rows=tuple(n for _, n in kept))

    def unlabelled(self) -> Cells:
        """The same rows without their labels."""
        return replace(self, labels=None)

    def _at(self, places: Sequence[int]) -> Cells:
        def some(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[at] for at in places)

        columns = {name: some(values) for name, values in self.columns.items()}
        labels = None if self.labels is None else some(self.labels)
        return Cells(some(self.decisions), labels, columns, some(self.rows))

    def _read(self, how: Counting) -> Lines:
        columns = {name: column_of(values) for name, values in self.columns.items()}
        labels = None if self.labels is None else column_of(self.labels)
        return how.read(column_of(self.decisions), labels, columns).lines(how.rates, how.classes)

    def lines(self, how: Counting) -> Lines:
        """The lines of these rows, for audits."""
        lines = self._read(how)
        assert lines.place is not None
        return replace(lines, rows=np.bincount(lines.place, self.rows).astype(int), place=None)


def cells_of(decisions: Any, labels: Any, columns: Mapping[Name, Any], how: Counting) -> Cells:
    """The cells of some rows."""
    count = len(decisions)
    own = {name: tuple(listed(columns[name])) for name in how.columns}
    said = None if labels is None else tuple(listed(labels))
    return Cells(tuple(listed(decisions)), said, own, (1,) * count).folded(how)


@dataclass(frozen=True, eq=False)
class Month:
    """All that is counted of a month's rows."""

    labelled: Cells = field(default_factory=lambda: Cells(labels=()))
    unlabelled: Cells = field(default_factory=Cells)
    groups: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # rows, and yeses among them
    features: Mapping[Name, Array] = field(default_factory=dict)  # (bins,) rows in each
    evidence: tuple[tuple[float, float], ...] = ()  # logarithms, after its last row that bets were on

    @property
    def rows(self) -> int:
        """How many rows were decided."""
        return self.labelled.size + self.unlabelled.size

    def with_rows(
        self, decisions: Any, labels: Any, columns: Mapping[Name, Any], how: Counting
    ) -> Month:
        """The month with more rows, some of which may lack a label."""
        decided = as_array(decisions)
        lacking = np.ones(len(decided), bool) if labels is None else is_missing(as_array(labels))
        cells = []
        for part, truth in ((~lacking, labels), (lacking, None)):
            own = {name: as_array(columns[name])[part] for name in how.columns}
            said = None if truth is None else as_array(truth)[part]
            cells.append(cells_of(decided[part], said, own, how) if part.any() else Cells())
        groups, features = dict(self.groups), dict(self.features)
        for words, (rows, yes) in _groups(how.read(decided, None, columns), how).items():
            before = groups.get(words, (0, 0))
            groups[words] = (before[0] + rows, before[1] + yes)
        for each in how.bins:
            if each.name in columns:
                counts = each.counted(columns[each.name])
                features[each.name] = features.get(each.name, 0) + counts
        labelled, unlabelled = (
            self.labelled.with_more(cells[0], how),
            self.unlabelled.with_more(cells[1], how),
        )
        return Month(labelled, unlabelled, groups, features, self.evidence)

    def with_labels(self, rows: Cells, how: Counting) -> Month:
        """The month after labels of some of its rows came."""
        gone = replace(rows.unlabelled(), rows=tuple(-count for count in rows.rows))
        return replace(
            self,
            labelled=self.labelled.with_more(rows, how),
            unlabelled=self.unlabelled.with_more(gone, how),
        )

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data."""
        return {
            "labelled": _stored(self.labelled),
            "unlabelled": _stored(self.unlabelled),
            "groups": {words: list(counts) for words, counts in self.groups.items()},
            "features": {str(name): counts.tolist() for name, counts in self.features.items()},
            "evidence": list(map(list, self.evidence)),
        }


def month_from_json(data: dict[str, Any], how: Counting, promises: int) -> Month:
    """The month that `to_json` wrote, checked."""
    widths = {str(each.name): (each.name, len(each.counts)) for each in how.bins}
    features = {}
    for said, counts in data["features"].items():
        name, width = widths[said]
        features[name] = _counts(counts, width)
    groups = {str(words): tuple(_counts(each, 2).tolist()) for words, each in data["groups"].items()}
    sound = all(0 < rows >= yes for rows, yes in groups.values())
    if not sound or (groups and "everyone" not in groups):
        raise ValueError("the groups of a month are not rows and yeses among them")
    evidence = np.array(data["evidence"], dtype=float).reshape(-1, 2)
    if len(evidence) not in (0, promises) or not np.isfinite(evidence).all():
        raise ValueError("the evidence of a month does not belong to its promises")
    return Month(
        _restored(data["labelled"], how, True),
        _restored(data["unlabelled"], how, False),
        {words: (rows, yes) for words, (rows, yes) in groups.items()},
        features,
        tuple((broken, kept) for broken, kept in evidence.tolist()),
    )


def months_of(values: Any, name: Name) -> Array:
    """The month (n,) of each row, as 2026-03, of a column of dates or of such months.

    >>> months_of(["2026-03-31", "2026-04-01"], "day").tolist()
    ['2026-03', '2026-04']
    """
    column = as_array(values)
    if is_missing(column).any():
        raise ValueError(
            f"column {name!r} is empty in {int(is_missing(column).sum()):,} rows: fill it in"
        )
    distinct = {str(value) for value in column.tolist()} if column.dtype.kind in "OU" else set()
    if distinct and all(MONTH.fullmatch(value) for value in distinct):
        return column.astype(str)
    try:
        dates, _ = dated(name, read_values(column), "2000-01-01", in_order=True)
        sound = dates.kinds == {"dates"} and dates.codes is None
    except ValueError:
        sound = False
    if not sound:
        raise ValueError(f"column {name!r} holds neither dates nor months such as 2026-03")
    return dates.values.astype("M8[M]").astype(str)


def runs_of(months: Array) -> list[slice]:
    """The rows of each month one after the other, if they are in order; otherwise all rows at once."""
    changes = np.flatnonzero(months[1:] != months[:-1]) + 1
    ends = [0, *changes.tolist(), len(months)]
    in_order = bool((months[1:] >= months[:-1]).all())
    return [slice(a, b) for a, b in pairwise(ends)] if in_order else [slice(0, len(months))]


def _groups(batch: StreamBatch, how: Counting) -> dict[str, tuple[int, int]]:
    """Rows and yeses of the groups that promises name, and of columns that look protected."""
    if len(label_classes(how.classes)) > 2:
        return {}
    people, yes = batch.rows, batch.scores[0, 0] >= 0
    mask = masker(people, absent=True)
    inside = {str(subset) or "everyone": mask(subset) for subset in how.subsets}
    for name in people.column_names:
        if looks_protected(name):
            inside |= _by_value(people, name)
    return {
        words: (int(rows.sum()), int(yes[rows].sum())) for words, rows in inside.items() if rows.any()
    }


def _by_value(people: Population, name: Name) -> dict[str, Array]:
    """The groups of a protected column, the same ones whatever else a batch holds."""
    groups = groups_of(people, name, banded=True)
    return {} if isinstance(groups, str) or len(groups) > MOST_VALUES else groups


def listed(values: Any) -> list[Any]:
    """Values as JSON holds them, one by one; None for missing ones, and a text for a date."""
    column = as_array(values)
    lacking = is_missing(column)
    if column.dtype.kind == "M":
        column = column.astype("M8[us]").astype(str)
    return [None if gone else _plain(each) for each, gone in zip(column.tolist(), lacking, strict=True)]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)


def column_of(values: Iterable[Any]) -> Array:
    """Values as a column: of dates as `listed` writes them; of objects if there are other texts."""
    every = list(values)
    held = [each for each in every if each is not None]
    if held and all(isinstance(each, str) and DATE.fullmatch(each) for each in held):
        return np.array(["NaT" if each is None else each for each in every], dtype="M8[us]")
    if any(isinstance(each, str) or each is None for each in every):
        return np.fromiter(every, dtype=object, count=len(every))
    return np.array(every)


def _stored(cells: Cells) -> dict[str, Any]:
    columns = {str(name): list(values) for name, values in cells.columns.items()}
    labels = None if cells.labels is None else list(cells.labels)
    return {
        "decisions": list(cells.decisions),
        "labels": labels,
        "columns": columns,
        "rows": list(cells.rows),
    }


def _restored(data: dict[str, Any], how: Counting, labelled: bool) -> Cells:
    rows = tuple(_counts(data["rows"], len(data["decisions"])).tolist())
    if not rows:
        return Cells(labels=() if labelled else None)
    if (data["labels"] is not None) != labelled:
        raise ValueError("rows of a month have labels where they should not, or lack them")
    columns = {name: tuple(data["columns"][str(name)]) for name in how.columns}
    cells = Cells(tuple(data["decisions"]), tuple(data["labels"]) if labelled else None, columns, rows)
    cells.folded(how)  # which reads all of it, and raises if it cannot be read
    return cells


def _counts(values: Any, width: int) -> Array:
    counts = np.array(values)
    if counts.shape != (width,) or (width and (counts.dtype.kind not in "iu" or (counts < 0).any())):
        raise ValueError("the counts of a month are not numbers of rows")
    return counts
