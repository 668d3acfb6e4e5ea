"""Slices: the sets of rows that rates count, for each decision that a row may get."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.problem.population import Population
from ratebound.rates.conditions import Condition, Value, format_value, suggest_name
from ratebound.rates.sums import LINEAR, Rate
from ratebound.rates.table import evaluate_event

LONE_LETTER = re.compile(r"(?<![=!])\b[dyv]\b(?![=!])")  # not compared with another letter


@dataclass(frozen=True)
class Classes:
    """All decisions, with a referral last. The first `labels` of them are classes of rows."""

    values: tuple[Value, ...]
    labels: int

    def index(self, value: Value) -> int:
        labels = self.values[: self.labels]
        for index, label in enumerate(labels):
            if label == value and isinstance(label, str) == isinstance(value, str):
                return index
        raise ValueError(f"there is no class {format_value(value)}{suggest_name(value, labels)}")


@dataclass(frozen=True)
class Slice:
    """A set of rows that a rate counts: a condition, and a table of labels and live decisions."""

    population: str
    condition: Condition
    table: tuple[tuple[bool, ...], ...]  # (labels, live decisions); an axis of 1 counts them all
    versus: str | None  # the column of live decisions, if they matter

    def mask(self, rows: Population, classes: Classes) -> Any:
        """Return which of these rows are in the slice (n,)."""
        inside = rows.mask(self.condition)
        if self.table == ((True,),):
            return inside
        key = (self.table, self.versus, classes)
        if key not in rows.cache:
            rows.cache[key] = self._mask_labels(rows, classes)
        return inside & rows.cache[key]

    def _mask_labels(self, rows: Population, classes: Classes) -> Any:
        table = np.array(self.table)
        label = np.zeros(len(rows), dtype=int)
        live = label
        if len(table) > 1:
            if rows.y is None:
                raise ValueError(
                    "it needs labels, but the rows have none: pass y, or use a rate without labels"
                )
            label = rows.class_indices(None, classes.values[: classes.labels])
        if table.shape[1] > 1:
            live = rows.class_indices(self.versus, classes.values)
        return table[label, live]


def check_rate(rate: Rate, classes: Classes) -> Rate:
    """Return the rate; raise if it names an unknown class, or does not name one of several."""
    for option in ("of", "label", "predicted"):
        if rate.option(option) is not None:
            classes.index(rate.option(option))
    events = " & ".join(part.event for part in rate.parts)
    is_about_class = LONE_LETTER.search(events)
    if classes.labels > 2 and is_about_class and rate.option("of") is None:
        example = f"{rate.name}(of={format_value(classes.values[0])})"
        raise ValueError(f"there are {classes.labels} classes, so name one, as in {example}")
    has_referral = len(classes.values) > classes.labels
    if "decided" in events and not has_referral:
        raise ValueError(
            f"{rate}: no row can be referred here; name the decision, as in "
            'Population(..., refer="ask")'
        )
    return rate


def list_decision_slices(rate: Rate, event: str, classes: Classes) -> list[Slice | None]:
    """Return, for each decision, the rows where the event holds; None if it holds in no row."""
    named_classes = {}
    for option in ("label", "predicted"):
        if rate.option(option) is not None:
            named_classes[option] = classes.index(rate.option(option))
    of = classes.labels - 1
    if rate.option("of") is not None:
        of = classes.index(rate.option("of"))
    holds = evaluate_event(event, len(classes.values), classes.labels, of, named_classes)
    versus = rate.option("versus") or rate.option("by")
    slices: list[Slice | None] = []
    for decision in range(len(classes.values)):
        table = holds[min(decision, len(holds) - 1)]
        live = versus if table.shape[1] > 1 else None
        by_label = tuple(map(tuple, table.tolist()))
        slice_ = Slice(rate.population, rate.condition, by_label, live)
        slices.append(slice_ if table.any() else None)
    return slices


def list_denominator_slices(rate: Rate, classes: Classes) -> list[Slice]:
    """Return the rows that a rate is a share of; for any other rate, the rows of its condition."""
    if rate.form != LINEAR or rate.among is None:
        return [Slice(rate.population, rate.condition, ((True,),), None)]
    slices = []
    for part in rate.among:
        first, *_ = list_decision_slices(rate, part.event, classes)  # the same for all decisions
        if first is not None:
            slices.append(first)
    return slices
