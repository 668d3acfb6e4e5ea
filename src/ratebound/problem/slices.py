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

BARE_LETTER = re.compile(
    r"(?<![=!])\b[dyv]\b(?![=!])"
)  # a letter that is not compared with another


@dataclass(frozen=True)
class Classes:
    """All decisions, a referral last; the first `labels` of them are classes of rows."""

    values: tuple[Value, ...]
    labels: int

    def index(self, value: Value) -> int:
        for index, known in enumerate(self.values[: self.labels]):
            if known == value and isinstance(known, str) == isinstance(value, str):
                return index
        raise ValueError(
            f"there is no class {format_value(value)}{suggest_name(value, self.values)}"
        )


@dataclass(frozen=True)
class Slice:
    """A set of rows that some rate counts: where a condition holds, by label and live decision."""

    population: str
    condition: Condition
    by_label: tuple[tuple[bool, ...], ...]  # (labels or 1, decisions or 1): 1 where it ignores them
    versus: str | None

    def mask(self, rows: Population, classes: Classes) -> Any:
        """Return which of these rows are in the slice (n,)."""
        inside = rows.mask(self.condition)
        if self.by_label == ((True,),):
            return inside
        cache = rows.encoded  # type: ignore[attr-defined]
        key = (self.by_label, self.versus, classes)
        if key not in cache:
            cache[key] = self._mask_labels(rows, classes)
        return inside & cache[key]

    def _mask_labels(self, rows: Population, classes: Classes) -> Any:
        table = np.array(self.by_label)
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
    """Return the rate; an error if it must name one of several classes, or needs a referral."""
    for option in ("of", "label", "predicted"):
        if rate.option(option) is not None:
            classes.index(rate.option(option))
    events = " & ".join(part.event for part in rate.counted + (rate.among or ()))
    names_no_class = BARE_LETTER.search(events) and rate.option("of") is None
    if names_no_class and classes.labels > 2:
        example = f"{rate.name}(of={format_value(classes.values[0])})"
        raise ValueError(f"there are {classes.labels} classes, so name one, as in {example}")
    if classes.labels == len(classes.values) and "decided" in events:
        raise ValueError(
            f"{rate}: no row can be referred here; name the decision that does, Population(refer=...)"
        )
    return rate


def slices_by_decision(
    rate: Rate,
    event: str,
    classes: Classes,
) -> list[Slice | None]:
    """Return, for each decision, the rows where the event holds if it is taken; None for no row."""
    named = {}
    for option in ("label", "predicted"):
        if rate.option(option) is not None:
            named[option] = classes.index(rate.option(option))
    of = classes.labels - 1
    if rate.option("of") is not None:
        of = classes.index(rate.option("of"))
    holds = evaluate_event(event, len(classes.values), classes.labels, of, named)
    versus = rate.option("versus") or rate.option("by")
    slices: list[Slice | None] = []
    for decision in range(len(classes.values)):
        table = holds[min(decision, len(holds) - 1)]
        by_label = tuple(map(tuple, table.tolist()))
        live = versus if table.shape[1] > 1 else None
        slice_ = Slice(rate.population, rate.condition, by_label, live)
        slices.append(slice_ if table.any() else None)
    return slices


def slices_among(rate: Rate, classes: Classes) -> list[Slice]:
    """Return the rows that a rate is divided by, or counts among."""
    if rate.form != LINEAR or rate.among is None:
        return [Slice(rate.population, rate.condition, ((True,),), None)]
    slices = []
    for part in rate.among:
        slice_ = slices_by_decision(rate, part.event, classes)[0]  # decisions do not change it
        if slice_ is not None:
            slices.append(slice_)
    return slices
