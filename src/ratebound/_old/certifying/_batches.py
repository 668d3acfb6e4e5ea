"""A batch of a stream: decisions, labels and columns, read as a population is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.certifying._draws import StreamBatch
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import as_array, columns_by_name, is_missing, length
from ratebound._old.problem.labels import Labels, class_array
from ratebound._old.problem.population import Population
from ratebound._old.problem.values import dated, read_values
from ratebound._old.rates.kinds import TWO


def read_batch(
    decisions: Any,
    labels: Any,
    columns: Any,
    known: Labels,
    existing: Iterable[str],
    strata: Sequence[str],
) -> StreamBatch:
    """The rows of a batch; columns named in `existing` are decisions too.

    >>> batch = read_batch(["no", "yes"], None, {"at": [1, 2]}, Labels(("no", "yes")), (), ["at"])
    >>> batch.scores, batch.strata
    (array([[[-1.,  1.]]]), (('[1]', array([0])), ('[2]', array([1]))))
    """
    classes = known.classes or TWO
    classes = classes if len(classes) > 2 else TWO
    names = class_array(classes)

    def read(values: Any, what: str) -> Array:
        return names[known.decided(_one_each(values, what), what).astype(np.intp)]

    decided = read(decisions, "decisions")
    named = columns_by_name(columns)
    for name in existing:
        if name in named:
            named[name] = read(named[name], f"column {name!r}")
    check_lengths(len(decided), labels, named)
    truth = None if labels is None else read(labels, "labels")
    rows = Population(np.zeros((len(decided), 1)), truth, columns=named, classes=classes)
    told = names[-score_count(len(names)) :, None]  # of two classes yes alone
    return StreamBatch(rows, np.where(decided == told, 1.0, -1.0)[None], _strata(rows, strata))


def check_lengths(count: int, labels: Any, columns: dict[Any, Any]) -> None:
    """Raise unless there is a label, if any, and a value of each column for each decision."""
    for what, part in {"labels": labels, **{f"column {n!r}": v for n, v in columns.items()}}.items():
        if part is not None and length(part, what) != count:
            raise ValueError(
                f"{what} has {length(part, what):,} rows, and there are {count:,} decisions"
            )


def _strata(rows: Population, names: Sequence[str]) -> tuple[tuple[str, Array], ...]:
    """The name of each stratum, which is the values of all columns that tell them apart, and its rows.

    A whole number has one name, however a table holds it, and so has a missing value.
    """
    if not names:
        return (("[]", np.arange(len(rows))),)
    columns = [np.array(rows.column(name), dtype=object) for name in names]
    for column in columns:
        column[is_missing(column)] = None
    strata: dict[str, list[int]] = {}
    said: dict[tuple[Any, ...], str] = {}
    for row, key in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        if key not in said:
            said[key] = json.dumps([_plain(value) for value in key])
        strata.setdefault(said[key], []).append(row)
    return tuple((name, np.array(own)) for name, own in strata.items())


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _one_each(values: Any, what: str) -> Array:
    """Values (n,), none of them missing."""
    length(values, what)
    read = as_array(values)
    if read.ndim == 2 and read.shape[1] == 1:
        read = read[:, 0]
    if read.ndim != 1:
        raise ValueError(f"{what} takes one value for each row, got an array of shape {read.shape}")
    if is_missing(read).any():
        remedy = "fill them in"
        if what == "labels":  # rows whose labels come first are not like the others
            remedy = (
                "give rows once they are old enough to have one, by rb.Monitor(..., decided=, wait=)"
            )
        raise ValueError(f"{what} has {int(is_missing(read).sum()):,} missing values: {remedy}")
    return read


@dataclass(frozen=True)
class LabelClock:
    """Up to which decisions rows have been taken in, and how many of the others there were.

    Moments are numbers of the column, or days if it holds dates.
    """

    closed: float | None = None  # rows decided until then were taken in by earlier moments
    until: float | None = None  # and until then at the last one
    early: int = 0  # rows that were decided after that, at the last moment
    late: int = 0  # rows that were given after their time was over, or again, at the last moment
    unlabelled: int = 0  # rows without a label when it was their time, ever

    def moved(self, until: float) -> LabelClock:
        """The same at another moment, which is never an earlier one."""
        if self.until is not None and until < self.until:
            raise ValueError("now= is before the now= of an earlier update, and time goes one way")
        if until == self.until:
            return self
        return LabelClock(self.until, until, unlabelled=self.unlabelled)


def in_time(
    rows: tuple[Any, Any, dict[Any, Any]], decided: str, wait: float, now: Any, clock: LabelClock
) -> tuple[Array, Array, LabelClock]:
    """The rows whose time has come, in the order of decision, and which of them have a label.

    A row's time comes `wait` after it was decided. If it has no label by then, it is left out. Rows of
    one moment are taken in an order that is drawn, the same one for the same rows.

    >>> rows = [1, 1, 0], [None, 1, 0], {"day": ["2024-01-02", "2024-01-03", "2024-01-01"]}
    >>> chosen, labelled, clock = in_time(rows, "day", 30, "2024-02-01", LabelClock())
    >>> chosen.tolist(), labelled.tolist(), clock.early, clock.unlabelled
    ([2, 0], [True, False], 1, 1)
    """
    decisions, labels, columns = rows
    check_lengths(length(decisions, "decisions"), labels, columns)
    moments, moment = moments_of(columns, decided, now)
    clock = clock.moved(moment - wait)
    early = moments > clock.until
    late = moments <= (-math.inf if clock.closed is None else clock.closed)
    # Rows of one moment may be sorted by their labels in a table, so an order of our own is drawn.
    drawn = np.random.default_rng(np.float64(clock.until).view(np.uint64)).random(len(moments))
    chosen = np.lexsort((drawn, moments))
    chosen = chosen[~(early | late)[chosen]]
    clock = replace(clock, early=clock.early + int(early.sum()), late=clock.late + int(late.sum()))
    labelled = np.ones(len(chosen), dtype=bool)
    if labels is not None:
        labelled = ~is_missing(as_array(labels).reshape(len(moments))[chosen])
        clock = replace(clock, unlabelled=clock.unlabelled + int((~labelled).sum()))
    return chosen, labelled, clock


def only_rows(rows: tuple[Any, Any, dict[Any, Any]], chosen: Array) -> tuple[Any, Any, dict[Any, Any]]:
    """Some rows of decisions, labels and columns; labels beside which some were missing are plain."""
    decisions, labels, columns = rows
    part = {name: as_array(values)[chosen] for name, values in columns.items()}
    if labels is not None:
        given = as_array(labels)
        labels = (given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given)[chosen]
        if labels.dtype == object and len(labels) and not is_missing(labels).any():
            labels = np.array(labels.tolist())  # numbers or truth values
    return as_array(decisions)[chosen], labels, part


def moments_of(columns: dict[Any, Any], name: str, now: Any) -> tuple[Array, float]:
    """When rows were decided, (n,), and the moment `now`, as numbers; of dates, in days."""
    if name not in columns:
        raise ValueError(f"no column {name!r} is given, which says when rows were decided")
    column = as_array(columns[name])
    if is_missing(column).any():
        empty = int(is_missing(column).sum())
        raise ValueError(f"column {name!r} is empty in {empty:,} rows: fill in when they were decided")
    if now is None:
        raise ValueError(f"say which moment it is by now=, in the units of column {name!r}")
    if isinstance(now, Real) and not isinstance(now, bool):
        if column.dtype.kind not in "iuf":
            raise ValueError(f"column {name!r} does not hold numbers, and now={now!r} is one")
        return column.astype(float), float(now)
    text = now if isinstance(now, str) else now.isoformat() if hasattr(now, "isoformat") else str(now)
    dates, moment = dated(name, read_values(column), text, in_order=True)
    if dates.kinds != {"dates"} or dates.codes is not None:
        raise ValueError(f"column {name!r} does not hold dates, and now={now!r} is one")
    days = np.append(dates.values, moment).astype("M8[us]").astype(np.int64) / (24 * 3600 * 10**6)
    return days[:-1], float(days[-1])
