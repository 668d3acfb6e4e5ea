"""The rates people ask about, for every group that the constraints speak of."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.problem.masks import NoSuchValue
from ratebound.problem.problem import Problem
from ratebound.rates.rate import FIRST
from ratebound.rates.subsets import EVERYONE, Subset

HEADS = {
    "positive_rate": "says yes",
    "recall": "recall",
    "false_positive_rate": "false pos.",
    "precision": "precision",
    "accuracy": "accuracy",
}  # what tables call the rates


@dataclass(frozen=True)
class Group:
    """One group and its rates, decisions taken at 0; None where a rate does not exist."""

    population: str | None  # None for the population audited first
    words: str
    rows: int
    positives: int | None  # rows with a positive label
    positive_rate: float | None
    recall: float | None
    false_positive_rate: float | None
    precision: float | None
    accuracy: float | None


def groups(problem: Problem, decided: Decided) -> tuple[Group, ...]:
    """Everyone, and every distinct subset of the constraints, population by population."""
    spoken: dict[str, dict[Subset, None]] = {name: {EVERYONE: None} for name in decided.populations}
    for constraint in problem.subject_to:
        for rate in constraint.rates:
            spoken[rate.population].setdefault(rate.subset)
    found = []
    for name, subsets in spoken.items():
        for subset in subsets:
            with suppress(NoSuchValue):  # a promise that is reported as not measured
                found.append(_group(decided, name, subset))
    return tuple(found)


def _group(decided: Decided, name: str, subset: Subset) -> Group:
    inside = decided.mask(name, subset)
    weights, yes = decided.row_weights(name)[inside], decided.yes(name, 0.0)[inside]
    labels = decided.populations[name].y
    label = None if labels is None else labels[inside].astype(float)
    said_yes = weights @ yes
    found: dict[str, float | None] = dict.fromkeys(HEADS)
    found["positive_rate"] = _share(said_yes, weights.sum())
    if label is not None:
        found["recall"] = _share(weights @ (yes * label), weights @ label)
        found["false_positive_rate"] = _share(weights @ (yes * (1 - label)), weights @ (1 - label))
        found["precision"] = _share(weights @ (yes * label), said_yes)
        right = np.where(label > 0, yes, 1 - yes)
        found["accuracy"] = _share(weights @ right, weights.sum())
    return Group(
        population=None if name == FIRST else name,
        words=str(subset) or "everyone",
        rows=int(inside.sum()),
        positives=None if label is None else int(label.sum()),
        **found,
    )


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole > 0 else None
