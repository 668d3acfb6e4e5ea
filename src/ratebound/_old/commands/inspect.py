"""``ratebound inspect``: how training would treat each column of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ratebound._old.base.progress import working
from ratebound._old.commands.answers import tell
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.on_disk import header, labels_in, on_disk
from ratebound._old.commands.rows import (
    classes_among,
    classes_in_words,
    classes_of,
    coded,
    naming,
    visible,
    with_labels,
)
from ratebound._old.commands.runs import Run
from ratebound._old.tables.inspecting import Inspection
from ratebound._old.tables.inspecting import inspect as inspect_table
from ratebound._old.tables.parquet import Parquet
from ratebound._old.tables.table import Table, read_table
from ratebound._old.tables.treatments import Features


def inspect(run: Run) -> int:
    """Show each column and its treatment, and which label is yes."""
    check_files({"--html": run.html, "--json": run.json}, run.data)
    with working("inspecting", not run.quiet):
        inspection = _inspected_on_disk(run) if on_disk(run.data, run.on_disk) else _inspected(run)
    if run.html is not None:
        inspection.save_html(run.html)
    tell(str(inspection), inspection.to_dict(), run.json)
    return 0


def _inspected(run: Run) -> Inspection:
    table = read_table(run.data, coded(run), run.reading)
    inspection = inspect_table(table, _seen(table, run), run.label)
    notices = _label_words(run, lambda label: _classes(table, label, run))
    return replace(inspection, name=table.name, notices=(*table.notices, *notices))


def _inspected_on_disk(run: Run) -> Inspection:
    """The same for rows that stay on disk, in two passes at most."""
    rows = Parquet(list(run.data))
    table = header(rows)
    inspection = inspect_table(rows, _seen(table, run), run.label)
    notices = _label_words(
        run,
        lambda label: classes_among(labels_in(rows, label), len(rows), table.name, label, run.positive),
    )
    return replace(inspection, notices=("its rows stay on disk", *notices))


def _seen(table: Table, run: Run) -> Features:
    """What the model may see; the label must be one of the columns."""
    if run.label is not None:
        table.check(run.label, "label")
    return visible(table, naming(run, table.columns))


def _classes(table: Table, label: str, run: Run) -> tuple[Any, ...]:
    return classes_of(with_labels(table, label, run.drop_unlabelled), label, run.positive)


def _label_words(run: Run, classes: Callable[[str], tuple[Any, ...]]) -> list[str]:
    """Which label is yes, or the classes, or why training would refuse them."""
    if run.label is None:
        return []
    try:
        return [classes_in_words(run.label, classes(run.label))]
    except ValueError as error:
        return [f"training would refuse this: {error}"]
