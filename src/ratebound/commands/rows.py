"""Rows with labels: which label is yes, what the model may see, and which rows are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.base.spelling import nearest
from ratebound.commands.runs import Run
from ratebound.commands.tables import Table, read_table
from ratebound.problem.frames import distinct, is_missing, some
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem

Array = NDArray[Any]
MANY = 1000  # distinct texts above which a column cannot be one of categories


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with its labels; `columns` are those read otherwise for constraints than in the table."""

    table: Table
    yes: Array | None  # (n,) bool; None where there are no labels
    classes: tuple[Any, Any]  # what no and yes are called
    columns: dict[str, Array]
    weights: Array | None

    def __len__(self) -> int:
        return len(self.table)

    def only(self, chosen: Array) -> Rows:
        columns = {name: values[chosen] for name, values in self.columns.items()}
        weights = None if self.weights is None else self.weights[chosen]
        yes = None if self.yes is None else self.yes[chosen]
        return Rows(self.table[chosen], yes, self.classes, columns, weights)

    def population(self) -> Population:
        return Population(self.table, self.yes, columns=self.columns, weights=self.weights)


@dataclass(frozen=True, eq=False)
class Given:
    """All the rows that a run speaks of."""

    rows: Rows  # the table to train on, or to audit
    others: dict[str, Rows]  # by the names of their populations

    def only(self, chosen: Array) -> Given:
        """Some rows of each, given by the truth values of all of them, one table after the other."""
        first, *rest = np.split(
            chosen, np.cumsum([len(self.rows), *map(len, self.others.values())])[:-1]
        )
        others = zip(self.others.items(), rest, strict=True)
        return Given(self.rows.only(first), {name: rows.only(part) for (name, rows), part in others})

    def populations(self) -> tuple[Population, dict[str, Any]]:
        return self.rows.population(), {name: rows.population() for name, rows in self.others.items()}


def read_given(run: Run, problem: Problem) -> tuple[Given, list[str]]:
    """The tables of a run, and the columns the model may see; the labels found are the classes."""
    table = read_table(run.data)
    rows, features = _rows_of(table, run, problem), visible(table, run)
    check_known(table, run)
    others: dict[str, Rows] = {}
    for name, path in run.population.items():
        other = read_table(path, table.kinds)
        for feature in features:
            other.check(feature, "feature")
        others[name] = with_classes(other, run.label, rows.classes, problem, run.weight, other=True)
    return Given(rows, others), features


def _rows_of(table: Table, run: Run, problem: Problem) -> Rows:
    labels = table.column(run.label, "label")
    found = sorted(distinct(labels), key=lambda value: (str(type(value)), value))
    if len(found) != 2:
        raise ValueError(
            f"{table.name}: label column {run.label!r} needs two values, it holds {some(found)}"
        )
    yes = found[1] if run.positive is None else _positive(run.positive, found, run.label)
    no = found[0] if found[1] == yes else found[1]
    return with_classes(table, run.label, (no, yes), problem, run.weight)


def with_classes(
    table: Table,
    label: str,
    classes: tuple[Any, Any],
    problem: Problem,
    weight: str | None,
    other: bool = False,
) -> Rows:
    """The rows of a table whose labels are `classes`; an `other` one may lack labels and weights."""
    if other and weight not in table.columns:
        weight = None
    weights = None if weight is None else _weights(table, weight)
    decisions = _decisions(table, classes, problem)
    if other and label not in table.columns:
        return Rows(table, None, classes, decisions, weights)
    labels = table.column(label, "label")
    unknown = [value for value in distinct(labels) if value not in classes]
    if unknown:
        raise ValueError(
            f"{table.name}: label column {label!r} holds {some(unknown)}, where the classes are "
            f"{classes[0]!r} and {classes[1]!r}"
        )
    return Rows(table, np.asarray(labels == classes[1], dtype=bool), classes, decisions, weights)


def visible(table: Table, run: Run) -> list[str]:
    """The columns the model may see: all, or those asked for, but never the label or the weights."""
    for name in (*(run.features or ()), *run.exclude):
        table.check(name, "feature" if name in (run.features or ()) else "excluded")
    hidden = {run.label, run.weight, *run.exclude}
    for name in run.features or ():
        if name in hidden:
            role = {run.label: "the label", run.weight: "the weight"}.get(name, "excluded")
            raise ValueError(f"column {name!r} cannot be a feature, it is {role}")
    chosen = [name for name in run.features or table.columns if name not in hidden]
    if not chosen:
        raise ValueError(f"{table.name}: no column is left for the model to see")
    for name in chosen:
        values = table[name]
        texts = (
            {v for v in values[~is_missing(values)] if isinstance(v, str)}
            if values.dtype == object
            else ()
        )
        if len(texts) > MANY:
            raise ValueError(
                f"{table.name}: column {name!r} holds {len(texts):,} different texts, which looks like "
                f"a name or an id: --exclude {name!r}"
            )
        if is_missing(values).all():
            raise ValueError(f"{table.name}: column {name!r} is empty: --exclude {name!r}")
    return chosen


def check_known(table: Table, run: Run) -> None:
    """The columns that may be known when deciding are there, and the label is not one of them."""
    for name in run.known or ():
        table.check(name, "known")
        if name in (run.label, run.weight):
            role = "the label" if name == run.label else "the weight"
            raise ValueError(f"column {name!r} is {role}, which is not known when deciding")


def _positive(given: Any, found: list[Any], label: str) -> Any:
    """The label that `given` means; on the command line it is always text."""
    for value in found:
        if given == value or str(given) == str(value) or _as_number(given) == value:
            return value
    hint = nearest(str(given), map(str, found))
    raise ValueError(
        f"--positive {given!r} is not among the labels in {label!r}{hint} It holds {some(found)}"
    )


def _as_number(given: Any) -> float | None:
    try:
        return float(given)
    except ValueError:
        return None


def _weights(table: Table, name: str) -> Array:
    values = table.column(name, "weight")
    if values.dtype.kind not in "iuf" or (values < 0).any() or not np.isfinite(values).all():
        raise ValueError(f"{table.name}: weight column {name!r} must hold numbers that are not negative")
    return values.astype(float)


def _decisions(table: Table, classes: tuple[Any, Any], problem: Problem) -> dict[str, Array]:
    """Existing models' decisions that are spelled as the labels are, as yes or no."""
    found: dict[str, Array] = {}
    for name in {rate.versus for rate in problem.rates if rate.versus in table.columns}:
        values = table.column(str(name), "decision")
        if set(distinct(values)) <= set(classes):
            found[str(name)] = np.asarray(values == classes[1], dtype=bool)
    return found
