"""Rows with labels: which label is yes, what the model may see, and which rows are held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.auditing.groups import rates_of
from ratebound.base.spelling import nearest
from ratebound.commands.runs import Run
from ratebound.commands.tables import Kind, Table
from ratebound.problem.compiling import FIRST
from ratebound.problem.frames import distinct, is_missing, some
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Rate
from ratebound.rates.subsets import All, Any_, Compare, In, Not, Subset

Array = NDArray[Any]
MANY = 1000  # distinct texts above which a column cannot be one of categories


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with its labels; `columns` are those read otherwise for constraints than in the table."""

    table: Table
    yes: Array  # (n,) bool
    classes: tuple[Any, Any]  # what no and yes are called
    columns: dict[str, Array]
    weights: Array | None

    def __len__(self) -> int:
        return len(self.table)

    def only(self, chosen: Array) -> Rows:
        columns = {name: values[chosen] for name, values in self.columns.items()}
        weights = None if self.weights is None else self.weights[chosen]
        return Rows(self.table[chosen], self.yes[chosen], self.classes, columns, weights)

    def population(self) -> Population:
        return Population(self.table, self.yes, columns=self.columns, weights=self.weights)


def rows_of(table: Table, run: Run, problem: Problem) -> Rows:
    """The rows of a table to train on; the labels found there are the classes."""
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
    table: Table, label: str, classes: tuple[Any, Any], problem: Problem, weight: str | None
) -> Rows:
    """The rows of a table whose labels are `classes`."""
    labels = table.column(label, "label")
    unknown = [value for value in distinct(labels) if value not in classes]
    if unknown:
        raise ValueError(
            f"{table.name}: label column {label!r} holds {some(unknown)}, where the classes are "
            f"{classes[0]!r} and {classes[1]!r}"
        )
    weights = None if weight is None else _weights(table, weight)
    decisions = _decisions(table, classes, problem)
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


def stated(run: Run) -> Problem:
    """What is promised; every rate must speak of the one table there is."""
    problem = Problem(run.minimize, run.require)
    for rate in (*(rate for rate, _ in problem.minimize.terms), *rates_of(problem)):
        if rate.on not in (None, FIRST):
            raise ValueError(
                f"{rate}: here is one table only, so leave out on={rate.on!r}, or use Python"
            )
    return problem


def text_columns(problem: Problem) -> dict[str, Kind]:
    """The columns that constraints compare with texts; a model was trained on them as such."""
    found: dict[str, Kind] = {}
    for rate in rates_of(problem):
        for condition in _conditions(rate.subset):
            values = condition.values if isinstance(condition, In) else (condition.value,)
            if all(isinstance(value, str) for value in values):
                found[condition.column] = "text"
    return found


def _conditions(subset: Subset) -> Iterator[Compare | In]:
    if isinstance(subset, All | Any_):
        for part in subset.parts:
            yield from _conditions(part)
    elif isinstance(subset, Not):
        yield from _conditions(subset.part)
    elif isinstance(subset, Compare | In):
        yield subset


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
    rates: list[Rate] = [*(rate for rate, _ in problem.minimize.terms), *rates_of(problem)]
    found: dict[str, Array] = {}
    for name in {rate.versus for rate in rates if rate.versus in table.columns}:
        values = table.column(str(name), "decision")
        if set(distinct(values)) <= set(classes):
            found[str(name)] = np.asarray(values == classes[1], dtype=bool)
    return found
