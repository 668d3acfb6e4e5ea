"""``ratebound inspect``: what training would make of each column of a table."""

from __future__ import annotations

from dataclasses import replace

from ratebound.commands.answers import tell
from ratebound.commands.folders import check_files
from ratebound.commands.progress import working
from ratebound.commands.rows import classes_of, told_classes, visible, with_labels
from ratebound.commands.runs import Run
from ratebound.tables.inspecting import inspect as inspect_table
from ratebound.tables.reading import Kind
from ratebound.tables.table import Table, read_table


def inspect(run: Run) -> int:
    """Show each column and what is done with it, and which label is yes."""
    check_files({"--html": run.html, "--json": run.json}, run.data)
    with working("inspecting", run.quiet):
        codes: dict[str, Kind] = dict.fromkeys(run.categorical, "text")
        table = read_table(run.data, codes, run.reading)
        if run.label is not None:
            table.check(run.label, "label")
        found = inspect_table(table, visible(table, run), run.label)
        notices = [*table.notices, *_label_words(table, run)]
        found = replace(found, name=table.name, notices=tuple(notices))
    if run.html is not None:
        found.save_html(run.html)
    tell(str(found), found.to_dict(), run.json)
    return 0


def _label_words(table: Table, run: Run) -> list[str]:
    """Which label is yes, or which classes there are, or what training would object to."""
    if run.label is None:
        return []
    try:
        labels = with_labels(table, run.label, run.drop_unlabelled)
        classes = classes_of(labels, run.label, run.positive)
    except ValueError as error:
        return [f"training would refuse this: {error}"]
    return [told_classes(run.label, classes)]
