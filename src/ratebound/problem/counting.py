"""Counting rows into lines: arrays in memory, or a data frame by its own engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ratebound.problem.columns import encode_values, fold, is_frame, list_names
from ratebound.problem.lines import Lines, make_lines
from ratebound.problem.needs import Needs, find_needs
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import Condition, Name, suggest_name
from ratebound.rates.sums import FIRST


def count_lines(
    problem: Problem,
    rows: Any,
    label: str | None = None,
    decision: str = "decision",
    weight: str | None = None,
    *,
    by: Iterable[Name | Condition] = (),
    population: str = FIRST,
) -> Lines:
    """Count the rows of a table into lines.

    Parameters
    ----------
    problem : Problem
        The problem, which says what rows have to be counted apart.
    rows : mapping of arrays, or data frame
        The columns that the problem names, labels and decisions.
    label : str, default=None
        The column of labels. By default rows have no labels.
    decision : str, default="decision"
        The column of decisions.
    weight : str, default=None
        The column of weights. By default each row counts once.
    by : iterable of column names and conditions, default=()
        More keys of the lines, such as the groups of a report.
    population : str, default="train"
        The name that the problem gives to this population.

    Examples
    --------
    >>> import ratebound as rb
    >>> from ratebound.problem.counting import count_lines
    >>> problem = rb.Problem("error_rate()", ['recall(sex == "F") >= 0.9'])
    >>> table = {"sex": ["F", "M", "F", "F"], "y": [1, 1, 0, 1], "yes": [1, 1, 0, 1]}
    >>> lines = count_lines(problem, table, label="y", decision="yes")
    >>> len(lines), lines.total("rows").tolist()
    (3, [1.0, 1.0, 2.0])
    """
    needs = find_needs(problem, population, by)
    if not needs.has_label:
        label = None
    elif label is None:
        raise ValueError(f"the problem needs labels: name their column, as in label='y'\n{problem}")
    is_data_frame = is_frame(rows)
    names = list_names(rows) if is_data_frame else list(rows)
    _check_columns(needs, names, label, decision, weight)
    if is_data_frame:
        from ratebound.problem.frames import count_frame  # imports narwhals

        return count_frame(needs, rows, label, decision, weight)
    table = Population(columns=rows, allow_absent=True)
    labels = np.ones(len(table), dtype=int) if label is None else rows[label]
    weights = table.row_weights if weight is None else table.amounts(weight, np.True_)
    return count_rows(needs, table, labels, rows[decision], weights)


def count_rows(
    needs: Needs,
    rows: Population,
    labels: Any,
    decisions: Any,
    weights: Any,
) -> Lines:
    """Count rows in memory, each with a label and a decision, into lines that know their rows."""
    masks = [rows.mask(leaf) for leaf in needs.conditions]
    columns = [rows.encode(name) for name in needs.columns]
    columns += [encode_values(labels), encode_values(decisions)]
    codes = [column.codes for column in columns]
    first, line_of_row = fold([*masks, *codes])
    keys = [mask[first].tolist() for mask in masks]
    keys += [column.decode()[first].tolist() for column in columns]
    sums = [
        np.bincount(line_of_row),
        np.bincount(line_of_row, weights),
        np.bincount(line_of_row, weights**2),
    ]
    for name in needs.amounts:
        amounts = rows.amounts(name, np.True_)
        sums.append(np.bincount(line_of_row, weights * amounts))
    totals = [total.tolist() for total in sums]
    return make_lines(needs, zip(*keys, *totals, strict=True), line_of_row)


def _check_columns(needs: Needs, known: list[Any], *others: str | None) -> None:
    names = [leaf.column for leaf in needs.conditions]  # type: ignore[attr-defined]
    names += [*needs.columns, *needs.amounts]
    names += [name for name in others if name is not None]
    for name in names:
        if name not in known:
            raise ValueError(f"there is no column {name!r}{suggest_name(name, known)}")
