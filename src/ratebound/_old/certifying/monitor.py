"""Watching promises in production: every batch of decisions adds evidence that they are broken, or kept.

You may look at the evidence after any row, for as long as you like. With probability at least
`confidence`, no promise that is kept is ever called broken. Likewise, no promise that is broken is
called kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np

from ratebound._bridge import accept
from ratebound._old.auditing.report import plain
from ratebound._old.base import document as doc
from ratebound._old.base.checks import check_number, nearest
from ratebound._old.base.rendering import Documented
from ratebound._old.base.types import Array
from ratebound._old.base.writing import alone_in, write_whole
from ratebound._old.certifying._batches import (
    LabelClock,
    check_lengths,
    in_time,
    moments_of,
    only_rows,
    read_batch,
)
from ratebound._old.certifying._by_month import ByMonth
from ratebound._old.certifying._calendar import (
    Calendar,
    Given,
    calendar_from_json,
    ids_of,
    rows_as_given,
)
from ratebound._old.certifying._draws import StreamBatch, Unwatchable
from ratebound._old.certifying._months import Counting, months_of, runs_of
from ratebound._old.certifying._watching import (
    FORMAT,
    VERSION,
    Watch,
    evidence_text,
    first_watch,
    rates_of,
    read_clock,
    restored,
    stored,
    texts,
    watched,
    whole,
)
from ratebound._old.certifying._watching import Alarm as Alarm
from ratebound._old.certifying._wealth import evidence
from ratebound._old.problem.frames import as_array, columns_by_name, is_missing, length
from ratebound._old.problem.labels import Labels, labels_of, with_referral
from ratebound._old.problem.problem import Asked, Problem, as_problem, from_plain, to_plain
from ratebound._old.rates.expressions import FIRST, Constraint
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.kinds import TWO, Classes, check_decided, label_classes, referral_of
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import Name, Value, plain_value
from ratebound._old.tables.bins import Bins

VERDICT = doc.Head("verdict", "verdict")
ASKED = ("positive", "classes", "refer", "strata", "decided", "wait", "key", "month_of")
HEADS = doc.heads("promise", "rows", "value", "bound", "for broken", "for kept", VERDICT)


class StateChanged(ValueError):
    """The file holds another state than the one that a monitor came from."""


class Monitor(Documented):
    """The promises of a problem, watched on a stream of decisions.

    With probability at least `confidence`, no promise that is kept is ever called broken, over all
    promises and all time, however often you look. Likewise, no promise that is broken is called kept.

    Kept means kept at every row: given all rows before it, the expected rates keep the promise. For a
    promise that compares groups, six adjacent rows of a stratum are assumed to come independently from
    one distribution. From one window of six to the next, rates and shares of groups may change. Rows
    must come in the order of decision, and which rows come must not depend on their labels.

    Parameters
    ----------
    problem : Problem, constraint, str or list of them
        The promises to watch.
    confidence : float, default=0.95
        For all promises together. Higher means fewer false alarms and later true ones.
    positive : label, default=None
        The label, and the decision, that is yes. By default it is True, 1, or the second of two
        `classes`.
    classes : list of labels, default=(False, True)
        All labels and decisions.
    refer : str, default=None
        The name of the decision to refer a row to a person, if there is one.
    strata : str or list of str, default=()
        Columns such as a site: groups are compared only among rows with the same value. By default all
        rows are compared.
    decided : str, default=None
        The column that says when rows were decided, as dates or numbers. Rows are then added in that
        order, once they are older than `wait`. By default they are added as given.
    wait : float, default=0.0
        How long labels take, in days if `decided` holds dates. A row without a label by then is left out
        of the evidence for good, and counted.
    key : str, default=None
        The column of ids. Rows are then passed once, with `decided`, and wait in the monitor for their
        time and their label; a row that is passed again is not counted again. Labels that come later are
        matched by `add_labels`. By default rows are passed again until their time has come.
    month_of : str, default=None
        The column that says in which month a row is counted, of dates or of texts such as "2026-03". By
        default it is `decided` if that holds dates, and otherwise the month of ``update(now=)``.
    training : fitted or loaded model, default=None
        The model whose features are watched for drift: their values in each month are compared with
        those of its training rows. By default drift is not measured.

    Attributes
    ----------
    watches : tuple of Watch
        The state of each promise; its size does not grow with the rows.
    rows : dict of str to int
        Rows seen so far, by population.
    batches : dict of str to tuple of str
        The names of the named batches so far, by population.
    calendar : Calendar
        What is counted by month, and the rows that wait for their time or their label.

    Raises
    ------
    ValueError
        If a promise cannot be watched: areas and rates ``at=`` a threshold need scores, counts need
        ``per=``, and rows of two populations have no shared order.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> monitor = rb.Monitor("recall() >= 0.9")
    >>> monitor.update([1, 0] * 40, labels=[1] * 80)
    [Alarm(constraint=recall() >= 0.9, row=24, ...)]
    >>> monitor.alarms[0].row, monitor.kept
    (24, False)
    """

    def __init__(
        self,
        problem: Asked,
        confidence: float = 0.95,
        *,
        positive: Any = None,
        classes: Sequence[Value] = TWO,
        refer: str | None = None,
        strata: str | Sequence[str] = (),
        decided: str | None = None,
        wait: float = 0.0,
        key: str | None = None,
        month_of: str | None = None,
        training: Any = None,
    ) -> None:
        problem = as_problem("Monitor", problem)
        remedy = "Leave it out of the problem given here, and audit it now and then: rb.audit."
        refuse_general(problem.subject_to, "a monitor, which sees decisions,", remedy)
        check_number("confidence, a probability such as 0.95,", confidence, above=0, below=1)
        if not (promises := _promises(problem)):
            raise ValueError("the problem makes no promises, so there is nothing to watch")
        self.problem = problem
        self.strata = (strata,) if isinstance(strata, str) else tuple(strata)
        check_number("wait, how long labels take,", wait, least=0)
        if wait and decided is None:
            raise ValueError("wait= needs decided=, the column that says when rows were decided")
        if key is not None and decided is None:
            raise ValueError(
                "key= needs decided=, the column that says when rows were decided: rows that wait for a "
                "label are taken in that order"
            )
        self.decided, self.wait, self.key, self.month_of = decided, float(wait), key, month_of
        self.confidence = float(confidence)
        self.positive, self.classes = _checked(positive, classes, refer)
        check_decided(problem.rates, self.classes)
        self.watches: tuple[Watch, ...] = tuple(_watch(each, self.classes) for each in promises)
        self.rows: dict[str, int] = {watch.draws.population: 0 for watch in self.watches}
        self.clocks: dict[str, LabelClock] = dict.fromkeys(self.rows, LabelClock())
        self.batches: dict[str, tuple[str, ...]] = dict.fromkeys(self.rows, ())
        self.bins = _bins_of(training)
        self.calendar = Calendar()
        self._files: dict[
            str, str
        ] = {}  # what its state was, at paths that it was read from or saved to

    @property
    def threshold(self) -> float:
        """The evidence that a verdict takes: m times as much for m promises, to cover all of them."""
        return len(self.watches) / (1.0 - self.confidence)

    @property
    def alarms(self) -> list[Alarm]:
        """The broken promises, in the order in which their alarms were raised."""
        alarms = [watch.alarm for watch in self.watches if watch.alarm is not None]
        return sorted(alarms, key=lambda alarm: alarm.row)

    @property
    def kept(self) -> bool:
        """Whether every promise was found to be kept."""
        return all(watch.verdict == "kept" for watch in self.watches)

    def update(
        self,
        decisions: Any,
        labels: Any = None,
        columns: Any = None,
        *,
        on: str | None = None,
        batch: str | None = None,
        now: Any = None,
    ) -> list[Alarm]:
        """Add rows, in the order in which they came.

        Batches may be cut anywhere: only the order of rows matters. An error leaves the monitor as it
        was.

        Parameters
        ----------
        decisions : array of shape (n,)
            The decisions that were made: yes or no, or each one of `classes`.
        labels : array of shape (n,), default=None
            The true outcomes. They may be left out if no promise needs them.
        columns : DataFrame or mapping, default=None
            The columns that promises use, as in `rb.Population`.
        on : str, default=None
            The population of the rows, for promises with ``on=``; None is the one without a name.
        batch : str, default=None
            A name for these rows, such as a date or a digest, so that they are not counted twice. By
            default there is no name, and equal rows count again.
        now : date, str or float, default=None
            The time of the call, if the monitor knows when rows were `decided`. Rows that are too young
            are skipped and must be passed again later. Rows that were due at an earlier call are skipped
            too. With `key`, rows that are too young wait in the monitor. Without `decided`, it is the
            date on which the rows came, and says in which month they are counted.

        Returns
        -------
        list of Alarm
            The alarms that these rows raise.

        Raises
        ------
        ValueError
            If rows cannot be read, or a batch of this name was taken in before.
        """
        name = on or FIRST
        if name not in self.rows:
            hint, known = nearest(name, self.rows), ", ".join(map(repr, self.rows))
            raise ValueError(f"no promise is about population {name!r}{hint} Pass on=, one of {known}")
        if batch is not None and batch in self.batches[name]:
            raise ValueError(f"the batch {batch!r} was taken in before: its rows would count twice")
        named = self.batches | {name: (*self.batches[name], *([] if batch is None else [str(batch)]))}
        waiting = self.key is not None and name == FIRST
        if not length(decisions, "decisions") and not (waiting and now is not None):
            self.batches = named
            return []
        rows: Given = (decisions, labels, columns_by_name(columns))
        check_lengths(length(decisions, "decisions"), *rows[1:])
        rows, months, clock, calendar = self._in_time(rows, now, name)
        after, seen = self._watched(rows, months, name, calendar)
        before, (self.watches, self.calendar) = self.alarms, after
        self.rows, self.batches = self.rows | {name: seen}, named
        self.clocks = self.clocks | {name: clock}
        return [alarm for alarm in self.alarms if alarm not in before]

    def _in_time(
        self, rows: Given, now: Any, name: str
    ) -> tuple[Given, Array | None, LabelClock, Calendar]:
        """The rows to bet on, in order, their months, and the clock and the calendar after them."""
        clock, calendar, how = self.clocks[name], self.calendar, self._counting
        by_month = name == FIRST and how is not None
        if self.decided is None:
            months = self._months_of(rows, now) if by_month else None
            return rows, months, clock, calendar if how is None else calendar.counted(rows, months, how)
        if self.key is None or name != FIRST:
            chosen, labelled, clock = in_time(rows, self.decided, self.wait, now, clock)
            due = only_rows(rows, chosen)
            months = self._months_of(due, now) if by_month and len(chosen) else None
            calendar = calendar if how is None else calendar.counted(due, months, how)
            own = np.flatnonzero(labelled)
            return only_rows(due, own), None if months is None else months[own], clock, calendar
        if how is None:
            raise ValueError("key= needs a promise about the first population, whose rows have ids")
        if length(rows[0], "decisions"):
            moments, moment = moments_of(rows[2], self.decided, now)
            months = self._months_of(rows, now)
            ids = ids_of(rows[2], self.key)
            calendar = calendar.arrived(rows, ids, moments, months, how, self._held)
        else:
            moment = moments_of({self.decided: _same_kind(now)}, self.decided, now)[1]
        waiting = calendar.waiting
        rows = rows_as_given(waiting, self._held)
        when = {**rows[2], self.decided: np.array([row.moment for row in waiting], dtype=float)}
        chosen, labelled, clock = in_time((*rows[:2], when), self.decided, self.wait, moment, clock)
        clock = replace(clock, early=0)  # these rows are not to be given again
        own = chosen[labelled]
        named = np.array([row.month for row in waiting], dtype=str)[own]
        assert clock.until is not None
        return (
            only_rows(rows, own),
            named if (named != "").all() else None,
            clock,
            calendar.passed(clock.until),
        )

    def _watched(
        self, rows: Given, months: Array | None, name: str, calendar: Calendar
    ) -> tuple[tuple[tuple[Watch, ...], Calendar], int]:
        """The watches and the calendar after rows of a population, and how many these have seen."""
        count, watches, seen = len(rows[0]), self.watches, self.rows[name]
        parts = [slice(0, count)] if months is None else runs_of(months)
        for part in parts if count else []:
            own = rows if len(parts) == 1 else only_rows(rows, np.arange(count)[part])
            batch = self._read(*own)
            after = []
            for watch in watches:
                if watch.draws.population != name:
                    after.append(watch)
                    continue
                try:
                    after.append(watched(watch, batch, seen, 1.0 / self.threshold))
                except ValueError as error:
                    raise ValueError(f"the promise {watch.constraint}: {error}") from None
            watches, seen = tuple(after), seen + len(batch.rows)
            if months is not None:
                money = [evidence(each.wealth) for each in watches if each.draws.population == name]
                calendar = calendar.at_evidence(max(months[part].tolist()), money)
        return (watches, calendar), seen

    def _read(
        self, decisions: Any, labels: Any, columns: Any, strata: Sequence[str] | None = None
    ) -> StreamBatch:
        """Rows as promises read them."""
        existing = {rate.versus for rate in self.problem.rates if rate.versus is not None}
        how = (_labels(self.positive, self.classes), sorted(existing))
        return read_batch(decisions, labels, columns, *how, self.strata if strata is None else strata)

    def _months_of(self, rows: Given, now: Any) -> Array | None:
        """The month of each row, (n,), if anything says so."""
        count, columns = length(rows[0], "decisions"), rows[2]
        if self.month_of is not None and count:
            if self.month_of not in columns:
                raise ValueError(f"no column {self.month_of!r} is given, which says the month of a row")
            return months_of(columns[self.month_of], self.month_of)
        if now is None or isinstance(now, Real):
            if now is not None and self.decided is None:
                raise ValueError(
                    "a number as now= needs rb.Monitor(..., decided=), which says when rows were "
                    "decided; without it, now= is the date on which rows came"
                )
            return None
        if self.decided is not None:
            return months_of(columns[self.decided], self.decided) if self.decided in columns else None
        return np.repeat(months_of([str(now)], "now"), count)

    @cached_property
    def _counting(self) -> Counting | None:
        """What is counted by month; None without a promise about the first population."""
        own = [watch for watch in self.watches if watch.draws.population == FIRST]
        if not own:
            return None
        rates = tuple(dict.fromkeys(rate for watch in own for rate in rates_of(watch.constraint)))
        return Counting(rates, own[0].draws.classes, self._plain_rows, self.bins)

    def _plain_rows(self, decisions: Any, labels: Any, columns: Any) -> StreamBatch:
        """Rows of a month, whose strata do not matter."""
        return self._read(decisions, labels, columns, ())

    @property
    def _held(self) -> tuple[Name, ...]:
        """The columns of rows that wait."""
        own = () if self._counting is None else self._counting.columns
        return tuple(dict.fromkeys([*own, *self.strata]))

    def add_labels(self, ids: Any, labels: Any) -> int:
        """Add labels of rows that were passed without one, matched by their ids.

        A label counts in the month in which its row was decided, however late it comes. It counts in the
        evidence too if it comes before the row's time is over.

        Parameters
        ----------
        ids : array of shape (n,)
            The ids, as in the column `key`.
        labels : array of shape (n,)
            The true outcomes; missing ones are passed over.

        Returns
        -------
        int
            How many of them belong to a row that waits for a label.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> monitor = rb.Monitor("recall() >= 0.9", decided="day", wait=30, key="id")
        >>> rows = {"id": [7, 8], "day": ["2026-03-02", "2026-03-05"]}
        >>> monitor.update([1, 0], [None, 1], rows, now="2026-03-31")
        []
        >>> monitor.add_labels([7, 9], [1, 1])
        1
        """
        if self.key is None or self._counting is None:
            raise ValueError("labels are matched by ids: rb.Monitor(..., key=, decided=)")
        given = as_array(labels)
        own = ids_of({self.key: ids}, self.key)
        if len(own) != len(given):
            raise ValueError(f"labels has {len(given):,} rows, and there are {len(own):,} ids")
        _labels(self.positive, self.classes).decided(given[~is_missing(given)], "labels")
        self.calendar, matched = self.calendar.labelled(own, given, self._counting, self._held)
        return matched

    @property
    def state(self) -> dict[str, Any]:
        """All that the monitor remembers, as texts, numbers, lists and dictionaries."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "confidence": self.confidence,
            "positive": self.positive,
            "classes": list(label_classes(self.classes)),
            "refer": referral_of(self.classes),
            "strata": list(self.strata),
            "decided": self.decided,
            "wait": self.wait,
            "key": self.key,
            "month_of": self.month_of,
            "bins": [each.to_json() for each in self.bins],
            "problem": to_plain(self.problem),
            "rows": self.rows,
            "clocks": {name: vars(clock) for name, clock in self.clocks.items()},
            "batches": {name: list(batches) for name, batches in self.batches.items()},
            "promises": [stored(watch) for watch in self.watches],
            "calendar": self.calendar.to_json(),
        }

    def to_dict(self) -> dict[str, Any]:
        """The results so far, for programs; `state` is what the monitor itself needs to continue.

        Returns
        -------
        dict
            Rows, alarms, and each promise with its rates and verdict, as plain types.
        """
        by_month = self._by_month
        return {
            "confidence": self.confidence,
            "rows": self.rows,
            "left_out": {
                name: {"unlabelled": clock.unlabelled, "early": clock.early, "late": clock.late}
                for name, clock in self.clocks.items()
            },
            "kept": self.kept,
            "alarms": [plain({**vars(alarm), "words": alarm.words}) for alarm in self.alarms],
            "promises": [_watch_to_dict(watch) for watch in self.watches],
            "awaited": len(self.calendar.awaited),
            "months": [] if by_month is None else by_month.to_list(),
        }

    def to_json(self) -> str:
        """The state as JSON; a monitor made from it continues as this one would, to the last bit.

        Returns
        -------
        str
            The text.
        """
        return json.dumps(self.state, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, problem: Problem | None = None) -> Self:
        """The monitor that `to_json` wrote.

        Parameters
        ----------
        text : str
            What `to_json` gave.
        problem : Problem, default=None
            Where given, its promises must be the same as those watched.

        Returns
        -------
        Monitor
            It goes on where the other was.

        Raises
        ------
        ValueError
            If the text is not as it was written, or of another problem.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> monitor = rb.Monitor(rb.Problem("error_rate()", ["positive_rate() <= 0.2"]))
        >>> rb.Monitor.from_json(monitor.to_json()).state == monitor.state
        True
        """
        try:
            data = json.loads(text)
            if not isinstance(data, dict) or data.get("format") != FORMAT:
                raise ValueError(f"it was not written by a rb.Monitor: it names no {FORMAT!r}")
            if data["version"] != VERSION:
                raise ValueError(f"it has format version {data['version']!r}, and this reads {VERSION}")
            how = {name: data[name] for name in ASKED}
            monitor = cls(from_plain(data["problem"]), data["confidence"], **how)
            monitor.bins = tuple(map(Bins.from_json, data["bins"]))
            monitor._restore(data)
        except (KeyError, IndexError, AttributeError, TypeError, OverflowError, RecursionError) as error:
            said = f"{type(error).__name__}: {error}"
            raise ValueError(f"the monitor's state is not as it was written: {said}") from None
        except ValueError as error:
            raise ValueError(f"the monitor's state cannot be read: {error}") from None
        if problem is not None and _promises(monitor.problem) != _promises(problem):
            raise ValueError(
                "the monitor's state is of another problem; it watches "
                f"{'; '.join(map(str, _promises(monitor.problem)))}. Start a new one for these promises"
            )
        return monitor

    def save(self, path: str | Path) -> Path:
        """Write the state to a file, whole or not at all.

        A state that this monitor did not come from is never replaced: two processes that load one file
        at once would otherwise lose the rows of one of them.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            If the file has changed since this monitor was loaded from it or saved to it, or was there
            before.
        """
        place, content = Path(os.path.realpath(path)), (self.to_json() + "\n").encode()
        place.parent.mkdir(parents=True, exist_ok=True)
        with alone_in(place.parent):
            there = _digest(place.read_bytes()) if place.is_file() else None
            if there != self._files.get(str(place)):
                other = (
                    "holds a state that this monitor did not come from, of another run or an "
                    "earlier one: load it and take in these rows again"
                )
                raise StateChanged(
                    f"{path} {other if there else 'was removed'}, or save to another file"
                )
            write_whole(path, content)
        self._files = self._files | {str(place): _digest(content)}
        return Path(path)

    @classmethod
    def load(cls, path: str | Path, problem: Problem | None = None) -> Self:
        """The monitor that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.
        problem : Problem, default=None
            Where given, its promises must be the same as those watched.

        Returns
        -------
        Monitor
            It goes on where the other was.

        Raises
        ------
        ValueError
            If the file is not as it was written, or of another problem.
        """
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no monitor's state at {source}")
        content = source.read_bytes()
        try:
            monitor = cls.from_json(content.decode(), problem)
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from None
        monitor._files = {os.path.realpath(source): _digest(content)}
        return monitor

    def _restore(self, data: dict[str, Any]) -> None:
        if len(data["promises"]) != len(self.watches) or data["rows"].keys() != self.rows.keys():
            raise ValueError("it has other promises or populations than its problem")
        self.rows = {name: whole(rows, "rows") for name, rows in data["rows"].items()}
        self.clocks = {name: read_clock(data["clocks"][name]) for name in self.rows}
        self.batches = {name: texts(data["batches"][name], "batches") for name in self.rows}
        pairs = zip(_promises(self.problem), data["promises"], strict=True)
        self.watches = tuple(
            restored(constraint, self.classes, promise) for constraint, promise in pairs
        )
        own = sum(watch.draws.population == FIRST for watch in self.watches)
        self.calendar = calendar_from_json(data["calendar"], self._counting, self._held, own)

    @property
    def _by_month(self) -> ByMonth | None:
        """The months measured, if there are any."""
        if self._counting is None or not self.calendar.months:
            return None
        own = [watch.constraint for watch in self.watches if watch.draws.population == FIRST]
        return ByMonth.of(self.calendar.months, own, self._counting, self.threshold)

    def document(self) -> doc.Document:
        rows = tuple(_row(watch, f"promises/{i}") for i, watch in enumerate(self.watches))
        notes = []
        if any(watch.draws.kind != "one set" for watch in self.watches):
            apart = " of one stratum" * bool(self.strata)
            notes = [f"Groups are compared among adjacent rows{apart}, which are taken to be alike."]
        notes += [*_left_out(self), *(f"ALARM: {alarm}." for alarm in self.alarms)]
        by_month = self._by_month
        state: doc.State = "broken" if self.alarms else "kept" if self.kept else "uncertain"
        return doc.Document(
            title="Monitor",
            lead=_heading(self),
            parts=(
                doc.ReportTable("Every promise so far", HEADS, rows, stacked=True),
                *([] if by_month is None else by_month.sections()),
            ),
            data=self.to_dict,
            conclusion=doc.Conclusion(_summary(self) + ".", state, notes=tuple(notes)),
        )

    def __repr__(self) -> str:
        return f"Monitor({_summary(self)})"


def _promises(problem: Problem) -> tuple[Constraint | Parity, ...]:
    """The promises; a comparison of two ratios stays as written, not at a level."""
    asked = problem.asked
    asked.at_levels(dict.fromkeys(asked.leveled)).constraints  # noqa: B018  # goals have no groups yet
    return tuple(each for each in asked.subject_to if isinstance(each, Constraint | Parity))


def _watch(constraint: Constraint | Parity, classes: Classes) -> Watch:
    try:
        return first_watch(constraint, classes)
    except Unwatchable:  # which says all
        raise
    except ValueError as error:
        hint = ": give all of them by rb.Monitor(..., classes=[...])" * (classes == TWO)
        raise ValueError(f"the promise {constraint}: {error}{hint}") from None


def _checked(
    positive: Any, classes: Sequence[Value], refer: str | None = None
) -> tuple[Value | None, Classes]:
    """The yes of two classes, by default the second, and all classes, which must differ."""
    given = classes if isinstance(classes, str) else tuple(map(plain_value, classes))
    if not isinstance(given, str) and (refer is not None or referral_of(given) is not None):
        yes, labels = _checked(positive, label_classes(given))
        return yes, with_referral(labels, refer or str(referral_of(given)))
    if isinstance(classes, str) or len(set(classes)) != len(classes) or len(classes) < 2:
        raise ValueError(f"classes takes two different labels or more, got {classes!r}")
    labels = tuple(map(plain_value, classes))
    if positive is None:
        return (None if len(labels) > 2 or labels == TWO else labels[1]), labels
    if len(labels) > 2:
        raise ValueError("more than two classes have no yes: leave out positive=, write recall(of=...)")
    if labels == TWO:
        return plain_value(positive), labels
    if positive not in labels:
        raise ValueError(f"positive={positive!r} is not one of classes={list(labels)!r}")
    return plain_value(positive), labels if labels[1] == positive else labels[::-1]


def _labels(positive: Value | None, classes: Classes) -> Labels:
    """The labels of batches: these classes, or, if they were left out, `positive` and any other."""
    if label_classes(classes) == TWO:
        return labels_of(None, positive, refer=referral_of(classes))
    return Labels(classes)


def _bins_of(training: Any) -> tuple[Bins, ...]:
    """The bins of a model's features, with counts of its training rows."""
    if training is None:
        return ()
    model = accept(training)
    encoding = getattr(model, "encoding", None)
    if encoding is None or not encoding.bins:
        raise ValueError(
            "training= takes a model that was fitted on a DataFrame, which knows how its training rows "
            f"spread over each column; {type(training).__name__} does not"
        )
    bins: tuple[Bins, ...] = encoding.bins
    return bins


def _same_kind(now: Any) -> list[Any]:
    """A column that `now` may be compared with."""
    return [float(now) if isinstance(now, Real) else "2000-01-01"]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _heading(monitor: Monitor) -> str:
    """What is watched, and for how long."""
    first = monitor.rows.get(FIRST, 0)
    others = ", ".join(f"{name}: {n:,}" for name, n in monitor.rows.items() if name != FIRST)
    rows = f"{first:,} rows ({others})" if others else f"{first:,} rows"
    within = f", within each {' and '.join(monitor.strata)}" if monitor.strata else ""
    return f"Monitor after {rows}, confidence {monitor.confidence:.4g}{within}"


def _left_out(monitor: Monitor) -> list[str]:
    """Which rows were not added, and why, for each population."""
    lines = []
    for name, clock in monitor.clocks.items():
        of = "" if name == FIRST else f" of {name}"
        if clock.unlabelled:
            lines.append(
                f"{clock.unlabelled:,} rows{of} had no label by their time and do not count: a promise "
                "is watched on the others, which they may differ from."
            )
        if clock.early:
            lines.append(f"{clock.early:,} rows{of} are too young: give them again later.")
        if clock.late:
            lines.append(f"{clock.late:,} rows{of} are passed over: their time was over before.")
    return lines


def _summary(monitor: Monitor) -> str:
    """The verdicts, counted."""
    verdicts = [watch.verdict for watch in monitor.watches]
    told = [f"{verdicts.count(each)} {each}" for each in ("broken", "kept", "not known yet")]
    threshold = evidence_text(monitor.threshold)
    return f"{', '.join(told)}; a verdict takes evidence of {threshold} to 1"


def _row(watch: Watch, at: str) -> doc.Row:
    (value, bound), (broken, kept) = watch.sides, watch.evidence
    state: doc.State = "uncertain" if watch.verdict == "not known yet" else watch.verdict
    return (
        doc.Quoted(str(watch.constraint)),
        doc.count(watch.rows, f"{at}/rows"),
        doc.rate(value, f"{at}/value", beside=bound),
        doc.rate(bound, f"{at}/bound", beside=value, sign=watch.constraint.relation),
        doc.Datum(broken, evidence_text(broken), f"{at}/evidence_broken"),
        doc.Datum(kept, evidence_text(kept), f"{at}/evidence_kept"),
        doc.Standing("BROKEN" if state == "broken" else watch.verdict, state),
    )


def _watch_to_dict(watch: Watch) -> dict[str, Any]:
    """The results for a promise, for programs."""
    (value, bound), (broken, kept) = watch.sides, watch.evidence
    data = {
        "words": str(watch.constraint),
        "rows": watch.rows,
        "value": value,
        "bound": bound,
        "evidence_broken": broken,
        "evidence_kept": kept,
        "verdict": watch.verdict,
    }
    return {name: plain(each) for name, each in data.items()}
