"""``ratebound monitor``: a saved model's promises, watched on the rows that come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ratebound.certifying.monitor import Monitor
from ratebound.commands.answers import note, one_notice, tell, working
from ratebound.commands.folders import check_files
from ratebound.commands.on_disk import files_of, on_disk, opened, tables_of
from ratebound.commands.predict import decisions
from ratebound.commands.rows import labelled
from ratebound.commands.runs import Use
from ratebound.commands.saved import load_model, rows_for, table_for, truths
from ratebound.problem.frames import columns_by_name, is_missing
from ratebound.problem.labels import class_array
from ratebound.rates.expressions import FIRST
from ratebound.rates.kinds import KINDS
from ratebound.solution.mixture import Mixture
from ratebound.tables.contents import STANDARD_INPUT, digests_of
from ratebound.tables.table import Table


def monitor(use: Use) -> int:
    """Take in the rows, print the table and write the state; the exit status says whether it is calm."""
    assert use.state is not None
    check_files({"--state": use.state, "--json": use.json}, use.files)
    mixture = load_model(use.model, use.trusted)
    for promise in mixture.problem.constraints:
        if use.label is None and any(KINDS[rate.kind].labels for rate in promise.rates):
            raise ValueError(f"{promise} cannot be watched without labels: give --label COLUMN")
    watching = _watching(mixture, use.state, use)
    with one_notice(), working("watching", use.quiet):
        _take_in(watching, mixture, use.data, use, FIRST)
        for name, path in use.population.items():
            _take_in(watching, mixture, (path,), use, name)
    watching.save(use.state)
    tell(str(watching), watching.to_dict(), use.json)
    return 1 if watching.alarms else 0


def _watching(mixture: Mixture, state: Path, use: Use) -> Monitor:
    """The monitor in the file, or a new one if there is none."""
    asked: dict[str, Any] = {"confidence": use.confidence, "strata": tuple(use.strata)}
    asked |= {"decided": use.decided, "wait": use.wait}
    asked = {name: value for name, value in asked.items() if value not in (None, ())}
    if not state.exists():
        return Monitor(mixture.problem, classes=mixture.classes, **asked)
    monitor = Monitor.load(state, mixture.problem)
    for name, value in asked.items():
        if value != getattr(monitor, name):
            raise ValueError(
                f"{state} was begun with {name} {getattr(monitor, name) or 'left out'}, which cannot "
                "change: begin a new state file"
            )
    return monitor


def _take_in(watching: Monitor, mixture: Mixture, paths: Sequence[str], use: Use, name: str) -> None:
    """Take in files that were not before, each known again by a digest of what it holds.

    If it is known when rows were decided, more of a file's rows may count at another moment.
    """
    moment = _moment(use.now) if watching.decided is not None else use.now
    stored = on_disk(paths, use.on_disk and name == FIRST)
    for path in files_of(paths):
        once = path == STANDARD_INPUT or (Path(path).exists() and not Path(path).is_file())
        digests = [(path, None)] if once else list(digests_of([path]).items())
        for file, digest in digests:
            batch = digest if digest is None or moment is None else f"{digest} at {moment}"
            if batch in watching.batches.get(name, ()):
                note(f"{file} was taken in before and is passed over: its rows would count twice")
                continue
            for table in _tables(mixture, file, use, stored):
                _take_in_table(watching, mixture, table, use, name, moment)
            watching.update([], on=name, batch=batch)


def _moment(now: str | None) -> str | float:
    """What --now says: a number, or a date, today by default."""
    if now is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return float(now)
    except ValueError:
        return now


def _tables(mixture: Mixture, file: str, use: Use, stored: bool) -> Iterable[Table]:
    """The rows of a file, all at once or some at a time."""
    if not stored:
        return [table_for(mixture, [file], use.reading, use.label, key=use.key, promises=True)]
    rows = opened([file], use.on_disk)
    return tables_of(rows, rows.groups.names)


def _take_in_table(
    watching: Monitor, mixture: Mixture, table: Table, use: Use, name: str, moment: str | float | None
) -> None:
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
    watching.update(said, labels, columns_by_name(table) | people.columns, on=name, now=moment)
