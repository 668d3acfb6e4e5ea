"""``ratebound predict``: a saved model's decisions on new rows, repeatable at any time.

Ids and labels are written as they were given, so that a table can be joined with its decisions. But a
spreadsheet runs a CSV cell that starts like a formula, whatever its origin. On request, an apostrophe
before such a text makes it plain text there. Texts that already have apostrophes before a formula get
one more, so that removing one apostrophe always restores the original.
"""

from __future__ import annotations

import csv
import operator
import re
import warnings
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

from ratebound._old.base.progress import working
from ratebound._old.base.types import Array
from ratebound._old.base.writing import whole_file, write_whole
from ratebound._old.commands.answers import one_notice, write_data, write_json
from ratebound._old.commands.folders import OUTPUT, check_files
from ratebound._old.commands.on_disk import on_disk, opened, seen_by, tables_of
from ratebound._old.commands.runs import Use
from ratebound._old.commands.saved import load_model, rows_for, table_for, truths
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.reasons import reasons
from ratebound._old.tables.cells import WHOLE_ID, as_ids
from ratebound._old.tables.table import Table

# Columns of the label and of the decision; with more than two classes one per class, probability_cat.
PROBABILITIES = ("probability", "decision_probability")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@＝＋－＠].", re.DOTALL)  # a sign by itself computes nothing


def predict(use: Use) -> int:
    """Write a decision for each row, in order, to a file or to the standard output."""
    check_files({"--out": use.out, "--json": use.json}, use.files)
    mixture = load_model(use)
    if on_disk(use.data, use.on_disk):
        return _predict_on_disk(mixture, use)
    with one_notice(), working("deciding", not use.quiet):
        columns = _decided(mixture, table_for(mixture, use.data, use.reading, key=use.key), use)
        text = _as_csv(_defused(columns) if use.safe_csv else columns)
    if use.out is not None:
        write_whole(use.out, text.encode())
    elif use.json != OUTPUT:
        write_data(text)
    if use.json is not None:
        write_json(_data(columns), use.json)
    return 0


def _predict_on_disk(mixture: Mixture, use: Use) -> int:
    """The same for rows that stay on disk: some are decided and written at a time."""
    if use.json is not None:
        raise ValueError("--json holds all rows at once, but these stay on disk: leave it out")
    names = dict.fromkeys([*seen_by(mixture), *mixture.decider.known, *([use.key] if use.key else ())])
    with one_notice(), working("deciding", not use.quiet), ExitStack() as stack:
        tables = tables_of(opened(use.data, use.on_disk), list(names))
        file = None if use.out is None else stack.enter_context(whole_file(use.out))
        for place, table in enumerate(tables):
            columns = _decided(mixture, table, use)
            text = _as_csv(_defused(columns) if use.safe_csv else columns, headed=place == 0)
            if file is None:
                write_data(text)
            else:
                file.write(text.encode())
    return 0


def _decided(mixture: Mixture, table: Table, use: Use) -> list[tuple[str, list[Any]]]:
    """The columns that are written."""
    columns = [] if use.key is None else [(use.key, _as_given(table.column(use.key, "key")))]
    columns.append(("prediction", decisions(mixture, table, use.key).tolist()))
    rows = rows_for(mixture, table)
    of_label, of_decision = PROBABILITIES
    if use.probability:
        columns += _chances(mixture, of_label, mixture.predict_proba(rows))
    if use.decision_probability:
        shares = mixture.decision_proba(rows, columns=truths(mixture, table))
        columns += _chances(mixture, of_decision, shares)
    if use.reasons:
        ids = None if use.key is None else as_ids(table.column(use.key, "key"))
        explained = reasons(mixture, rows, truths(mixture, table), ids)
        columns.append(("score", _digits(explained.scores)))
        parts = zip(explained.names, explained.parts.T, strict=True)
        columns += [(name, _digits(part)) for name, part in parts]
        columns.append(("reasons", ["; ".join(of_row) for of_row in explained.against()]))
    return columns


def _as_given(ids: Array) -> list[Any]:
    """Ids as they are written: numbers if all of them are whole numbers, otherwise texts."""
    values = ids.tolist()
    if ids.dtype.kind == "O" and all(map(WHOLE_ID.fullmatch, map(str, values))):
        return list(map(int, values))
    return values


def _data(columns: list[tuple[str, list[Any]]]) -> dict[str, Any]:
    """The decisions for programs, one list per column; a probability is a number there."""
    return {
        name: list(map(float, values)) if name.startswith(PROBABILITIES) else values
        for name, values in columns
    }


def _chances(mixture: Mixture, name: str, chances: Array) -> list[tuple[str, list[Any]]]:
    """Columns of probabilities (n, D): one for yes, or with more than two classes one for each."""
    if chances.shape[1] == 2:
        yes = mixture.classes_.tolist().index(mixture.classes[1])
        return [(name, _digits(chances[:, yes]))]
    each = zip(mixture.decisions_.tolist(), chances.T, strict=False)  # labels come first
    return [(f"{name}_{label}", _digits(own)) for label, own in each]


def decisions(mixture: Mixture, table: Table, key: str | None = None) -> Array:
    """The decision on each row (n,); it depends on that row alone."""
    ids = None if key is None else as_ids(table.column(key, "key"))
    return mixture.predict(rows_for(mixture, table), columns=truths(mixture, table), key=ids)


def _digits(chances: Array) -> list[str]:
    return [f"{chance:.6g}" for chance in chances]


def _defused(columns: list[tuple[str, list[Any]]]) -> list[tuple[str, list[Any]]]:
    """The columns with harmless texts in place of formulas; a warning says how many there were."""
    harmless = [(_harmless(name), _all_harmless(values)) for name, values in columns]
    count = sum(
        (name != given) + sum(map(operator.ne, values, cells))
        for (name, values), (given, cells) in zip(harmless, columns, strict=True)
    )
    if count:
        warnings.warn(
            f"{count:,} texts that a spreadsheet would run as formulas are written with a leading "
            "apostrophe: remove it before you match them with a table",
            RuntimeWarning,
            stacklevel=2,
        )
    return harmless


def _all_harmless(values: list[Any]) -> list[Any]:
    """The same for many values; only texts are checked, each distinct one once."""
    if str not in set(map(type, values)):
        return values
    harmless = {value: _harmless(value) for value in set(values)}
    return list(map(harmless.__getitem__, values))


def _harmless(value: Any) -> Any:
    """The value, with an apostrophe before it if it is a text that starts like a formula.

    >>> [_harmless(value) for value in ("=A1", "-2+3", "-2", "+", -2, "'=A1", "it's")]
    ["'=A1", "'-2+3", '-2', '+', -2, "''=A1", "it's"]
    """
    if not isinstance(value, str) or NUMBER.fullmatch(value) or not FORMULA.match(value.lstrip("'")):
        return value
    return f"'{value}"


def _as_csv(columns: list[tuple[str, list[Any]]], *, headed: bool = True) -> str:
    rows: list[str] = []
    # Cells are quoted if they hold any part of the line ending, so "\r" must be a part of it.
    writer = csv.writer(SimpleNamespace(write=rows.append), lineterminator="\r\n")
    if headed:
        writer.writerow([name for name, _ in columns])
    writer.writerows(zip(*(values for _, values in columns), strict=True))
    return "".join(row.removesuffix("\r\n") + "\n" for row in rows)
