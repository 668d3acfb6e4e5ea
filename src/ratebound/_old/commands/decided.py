"""Decisions without a model: the tables, the promises, and the column of the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.auditing.decisions import Decisions
from ratebound._old.commands.answers import note
from ratebound._old.commands.on_disk import header, labelled_on_disk, labels_in, on_disk, opened
from ratebound._old.commands.promises import check_populations, compared_columns
from ratebound._old.commands.rows import (
    classes_among,
    classes_of,
    labelled,
    read_noted,
    tell_classes,
    weights_of,
    with_labels,
)
from ratebound._old.commands.runs import Use
from ratebound._old.problem.frames import is_missing
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.subsets import Subset
from ratebound._old.rates.text import parse_condition
from ratebound._old.tables.table import Table

OF_MODELS = ("key", "save", "in_expectation", "trusted")  # they are about a saved model


@dataclass(frozen=True)
class Decided:
    """Everything that a command needs about decisions that someone made."""

    problem: Problem
    decisions: str | Subset
    people: Population
    others: dict[str, Any]  # further populations, by their names


def problem_of(use: Use) -> Problem:
    """The promises about decisions; errors are measured too, if there are labels."""
    assert use.decision is not None
    for name in OF_MODELS:
        if getattr(use, name) and not (name == "key" and use.decided is not None):  # a monitor's
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"{flag} needs a saved model, and --decision has none")
    if not use.require and use.template not in ("ll144", "lending"):
        raise ValueError(
            'which promises? Give --require \'positive_rate(sex == "Female") >= 0.8 * '
            'positive_rate(sex == "Male")\', or another, once or several times'
        )
    problem = Problem("error_rate()", use.require)
    check_populations(problem, use.population)
    return problem


def read_decided(use: Use) -> Decided:
    """The tables with decisions; the labels found in the first, if any, are the classes."""
    problem = problem_of(use)
    assert use.decision is not None
    if on_disk(use.data, use.on_disk):
        people = _on_disk(use)
        decisions = decision_in(use.decision, people.column_names, Path(use.data[0]).name)
    else:
        table = table_of(use, use.data, problem)
        decisions = decision_in(use.decision, table.columns, table.name)
        people = population_of(use, table, decisions)
    others = {}
    for name, path in use.population.items():
        other = table_of(use, [path], problem)
        others[name] = labelled(other, use.label or "", people.classes or (), use.weight, other=True)
    return Decided(problem, decisions, people, others)


def decision_in(words: str, columns: Sequence[Any], table: str) -> str | Subset:
    """The column with that name, or the condition that the words state."""
    if words in columns:
        return words
    if not any(sign in words for sign in "=<>()") and " in " not in words:
        Table({str(name): np.empty(0) for name in columns}, table).check(words, "decision")
    return parse_condition(words)


def table_of(use: Use, paths: Sequence[str], problem: Problem) -> Table:
    """A table; columns that promises compare are read as the promises write their values."""
    return read_noted(paths, compared_columns(problem), use.reading)


def population_of(use: Use, table: Table, decisions: str | Subset) -> Population:
    """The rows of a table in memory."""
    if use.label is None:
        weights = None if use.weight is None else weights_of(table, use.weight)
        return Population(table, weights=weights, positive=use.positive)
    _tell_selected(table, use.label, decisions)
    table = with_labels(table, use.label, use.drop_unlabelled)
    classes = classes_of(table, use.label, use.positive)
    tell_classes(use.label, use.positive, classes)
    return labelled(table, use.label, classes, use.weight)


def _tell_selected(table: Table, label: str, decisions: str | Subset) -> None:
    """Note if labels are known for one decision much more often than for another."""
    table.check(label, "label")
    lacking = is_missing(table[label])
    if not lacking.any() or lacking.all():
        return
    decided = Decisions(decisions).on(Population(table))
    shares = {each: float(lacking[decided == each].mean()) for each in dict.fromkeys(decided.tolist())}
    if len(shares) > 1 and max(shares.values()) - min(shares.values()) > 0.1:
        where = ", ".join(f"{share:.0%} of the rows decided {each}" for each, share in shares.items())
        note(
            f"{label!r} is missing in {where}: rates of the rows that have a label differ from "
            "rates of all rows. Leave out --label to audit how often each decision is made"
        )


def _on_disk(use: Use) -> Population:
    """Rows that stay on disk."""
    rows = opened(use.data, use.on_disk)
    if use.label is None:
        return labelled_on_disk(use.data, (), None, None, use.weight, positive=use.positive)
    header(rows).check(use.label, "label")
    values = labels_in(rows, use.label, use.drop_unlabelled)
    classes = classes_among(values, len(rows), rows.groups.name, use.label, use.positive)
    tell_classes(use.label, use.positive, classes)
    return labelled_on_disk(use.data, (), use.label, classes, use.weight, use.drop_unlabelled)
