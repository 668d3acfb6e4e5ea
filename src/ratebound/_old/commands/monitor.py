"""``ratebound monitor``: promises of a saved model or of decisions, watched on incoming rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.auditing.decisions import Decisions
from ratebound._old.base.progress import working
from ratebound._old.certifying.monitor import Monitor, StateChanged
from ratebound._old.commands.answers import note, one_notice, tell
from ratebound._old.commands.decided import decision_in, problem_of
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.on_disk import files_of, on_disk, opened, seen_by, tables_of
from ratebound._old.commands.predict import decisions
from ratebound._old.commands.promises import compared_columns
from ratebound._old.commands.rows import labelled, read_noted, with_labels
from ratebound._old.commands.runs import Use
from ratebound._old.commands.saved import load_model, rows_for, table_for, truths
from ratebound._old.estimators.change_plan import ChangePlan
from ratebound._old.problem.frames import columns_by_name, is_missing
from ratebound._old.problem.labels import class_array
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import KINDS
from ratebound._old.rates.subsets import columns_in
from ratebound._old.rates.text import parse_condition
from ratebound._old.solution.mixture import Mixture
from ratebound._old.tables.contents import STANDARD_INPUT, digests_of
from ratebound._old.tables.table import Table
from ratebound._old.tables.texts import Kind


@dataclass(frozen=True)
class Source:
    """The source of decisions: a saved model, or a column of the tables."""

    problem: Problem
    how: dict[str, Any]  # the options that a monitor of it begins with
    table: Callable[[str], Table]  # of a file
    read: Callable[[Monitor, Table, str], tuple[Any, Any, Any]]  # decisions, labels and columns
    needs: frozenset[str]  # columns without all of which a table holds labels alone
    kind: dict[str, Kind]  # how a table of labels alone is read


def monitor(use: Use) -> int:
    """Take in the rows, print the table, write the state; the exit status says if there is an alarm."""
    assert use.state is not None
    check_files({"--state": use.state, "--json": use.json, "--html": use.html}, use.files)
    source = _of_decisions(use) if use.decision is not None else _of_model(use)
    for promise in source.problem.constraints:
        if use.label is None and any(KINDS[rate.kind].labels for rate in promise.rates):
            raise ValueError(f"{promise} cannot be watched without labels: give --label COLUMN")
    watching = _watched(source, use.state, use)
    if use.ledger is not None:
        ChangePlan.open(use.ledger).alarm(watching)
    if use.html is not None:
        watching.save_html(use.html, title=f"Monitor, {use.state.name}")
    tell(str(watching), watching.to_dict(), use.json)
    return 1 if watching.alarms else 0


def _watched(source: Source, state: Path, use: Use) -> Monitor:
    """The monitor after the rows, saved; if another run saved its own meanwhile, on top of these."""
    while True:
        watching = _watching(source, state, use)
        with one_notice(), working("watching", not use.quiet):
            _take_in(watching, source, use.data, use, FIRST)
            for name, path in use.population.items():
                _take_in(watching, source, (path,), use, name)
        try:
            watching.save(state)
        except StateChanged:
            if any(map(_read_once, files_of([*use.data, *use.population.values()]))):
                raise
            continue
        return watching


def _read_once(path: str) -> bool:
    """Whether a file cannot be read again, as the standard input or a pipe."""
    return path == STANDARD_INPUT or (Path(path).exists() and not Path(path).is_file())


def _of_model(use: Use) -> Source:
    """The decisions of a saved model."""
    mixture = load_model(use)

    def table(file: str) -> Table:
        return table_for(mixture, [file], use.reading, use.label, key=use.key, promises=True)

    def read(watching: Monitor, table: Table, name: str) -> tuple[Any, Any, Any]:
        return _decided(watching, mixture, table, use, name)

    how = {"classes": mixture.classes, "training": mixture if _has_bins(mixture) else None}
    kind: Kind = "text" if isinstance(mixture.classes[1], str) else "number"
    return Source(mixture.problem, how, table, read, frozenset(seen_by(mixture)), _of_labels(use, kind))


def _has_bins(mixture: Mixture) -> bool:
    """Whether its file says how its training rows spread, which old files do not."""
    return mixture.encoding is not None and bool(mixture.encoding.bins)


def _of_labels(use: Use, label: Kind | None) -> dict[str, Kind]:
    """How the columns of a table of labels are read."""
    kinds: dict[str, Kind] = {} if use.key is None else {use.key: "text"}
    return kinds if label is None or use.label is None else kinds | {use.label: label}


def _of_decisions(use: Use) -> Source:
    """Decisions that someone made; labels are read unchanged."""
    problem, said = problem_of(use), use.decision
    assert said is not None

    def read(watching: Monitor, table: Table, name: str) -> tuple[Any, Any, Any]:
        labels = None
        if use.label is not None and (name == FIRST or use.label in table.columns):
            if watching.decided is None:  # otherwise rows may wait for a label
                table = with_labels(table, use.label, use.drop_unlabelled)
            table.check(use.label, "label")
            labels = table[use.label]
        decisions = Decisions(decision_in(said, table.columns, table.name))
        return decisions.on(Population(table)), labels, columns_by_name(table)

    def table(file: str) -> Table:
        return read_noted([file], compared_columns(problem) | kinds, use.reading)

    positive, kinds = {} if use.positive is None else {"positive": use.positive}, _of_labels(use, None)
    return Source(problem, positive, table, read, _told_by(said), kinds)


def _told_by(decision: str) -> frozenset[str]:
    """The columns that decisions are read from, in a table that may lack them."""
    try:
        return frozenset(map(str, columns_in(parse_condition(decision))))
    except ValueError:  # the name of a column
        return frozenset([decision])


def _watching(source: Source, state: Path, use: Use) -> Monitor:
    """The monitor in the file, or a new one if the file does not exist."""
    asked: dict[str, Any] = {"confidence": use.confidence, "strata": tuple(use.strata)}
    asked |= {"decided": use.decided, "wait": use.wait, "month_of": use.month_of}
    asked |= {"key": use.key if use.decided is not None else None}
    asked = {name: value for name, value in asked.items() if value not in (None, ())}
    if not state.exists():
        return Monitor(source.problem, **source.how, **asked)
    monitor = Monitor.load(state, source.problem)
    asked |= {name: value for name, value in source.how.items() if name == "positive"}
    for name, value in asked.items():
        if value != getattr(monitor, name):
            raise ValueError(
                f"{state} was begun with {name} {getattr(monitor, name) or 'left out'}, which cannot "
                "change: begin a new state file"
            )
    return monitor


def _take_in(watching: Monitor, source: Source, paths: Sequence[str], use: Use, name: str) -> None:
    """Take in files that are new; a file is recognized by a digest of its content.

    If it is known when rows were decided, more of a file's rows may count later.
    """
    moment = _moment(use.now)
    ids = watching.key is not None and name == FIRST
    stored = on_disk(paths, use.on_disk and name == FIRST)
    for path in files_of(paths):
        digests = [(path, None)] if _read_once(path) else list(digests_of([path]).items())
        for file, digest in digests:
            again = watching.decided is not None and not ids  # more of its rows may have come of age
            batch = f"{digest} at {moment}" if digest is not None and again else digest
            if batch in watching.batches.get(name, ()):
                note(f"{file} was taken in before and is skipped: its rows would count twice")
                continue
            if ids and (labels := _labels_alone(source, file, use)) is not None:
                _add_labels(watching, labels, use)
                watching.update([], batch=batch, now=moment)
                continue
            for table in _tables(source, file, use, stored):
                decisions, labels, columns = source.read(watching, table, name)
                watching.update(decisions, labels, columns, on=name, now=moment)
            watching.update([], on=name, batch=batch, now=moment if ids else None)
    if ids:
        watching.update([], now=moment)


def _labels_alone(source: Source, file: str, use: Use) -> Table | None:
    """The table in a file of ids and labels, without a column to decide by; None if it holds more."""
    if file == STANDARD_INPUT or use.label is None:
        return None
    table = read_noted([file], source.kind, use.reading)
    held = {str(name) for name in table.columns}
    return table if {use.key, use.label} <= held and not source.needs & held else None


def _add_labels(watching: Monitor, table: Table, use: Use) -> None:
    """Add labels that came later, and note labels that no row waits for."""
    ids, labels = table[str(use.key)], table[str(use.label)]
    given = int((~is_missing(labels)).sum())
    matched = watching.add_labels(ids, labels)
    if matched < given:
        note(f"{table.name}: {given - matched:,} of {given:,} labels are of rows that wait for none")


def _moment(now: str | None) -> str | float:
    """The value of --now: a number, or a date; today by default."""
    if now is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return float(now)
    except ValueError:
        return now


def _tables(source: Source, file: str, use: Use, stored: bool) -> Iterable[Table]:
    """The rows of a file, all at once or some at a time."""
    if not stored:
        return [source.table(file)]
    rows = opened([file], use.on_disk)
    return tables_of(rows, rows.groups.names)


def _decided(
    watching: Monitor, mixture: Mixture, table: Table, use: Use, name: str
) -> tuple[Any, Any, Any]:
    """A saved model's decisions on a table's rows, their labels, and the columns of both."""
    if (
        use.label is not None
        and watching.decided is None
        and (name == FIRST or use.label in table.columns)
    ):
        table = with_labels(table, use.label, use.drop_unlabelled)
    lacking = np.zeros(len(table), dtype=bool)
    if watching.decided is not None and use.label in table.columns:  # such rows may wait for a label
        lacking = is_missing(table[str(use.label)])
        filled = table[str(use.label)].copy()
        filled[lacking] = mixture.classes[0]
        table = Table(table.values | {str(use.label): filled}, table.name)
    people = labelled(
        table,
        use.label or "",
        mixture.classes,
        None,
        other=use.label is None or name != FIRST,
        columns=truths(mixture, table),
        rows=rows_for(mixture, table),
    )
    said, labels = decisions(mixture, table, use.key), people.y
    if labels is not None:
        labels = class_array(mixture.classes)[labels.astype(np.intp)]
    if lacking.any() and labels is not None:
        labels = labels.astype(object)
        labels[lacking] = None
    return said, labels, columns_by_name(table) | people.columns
