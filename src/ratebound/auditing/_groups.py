"""The rates people ask about, for every group that the constraints speak of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.base.types import Array
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
    positives: int | None  # rows with a positive label, of two classes
    positive_rate: float | None
    recall: float | None
    false_positive_rate: float | None
    precision: float | None
    accuracy: float | None
    true_positives: float | None = None  # weights of rows, expected over a mixture; of two classes
    false_positives: float | None = None
    false_negatives: float | None = None
    true_negatives: float | None = None


def heads(several: bool) -> dict[str, str]:
    """What tables call the rates of groups; where there are several classes, one that is of all."""
    return {"accuracy": HEADS["accuracy"]} if several else HEADS


def spoken_of(problem: Problem, decided: Decided) -> list[tuple[str, Subset]]:
    """Everyone, and every distinct subset of the constraints, population by population."""
    spoken: dict[str, dict[Subset, None]] = {name: {EVERYONE: None} for name in decided.populations}
    for constraint in problem.subject_to:
        for rate in constraint.rates:
            spoken[rate.population].setdefault(rate.subset)
    found = []
    for name, subsets in spoken.items():
        for subset in subsets:
            with suppress(NoSuchValue):  # a promise that is reported as not measured
                decided.mask(name, subset)
                found.append((name, subset))
    return found


def groups(decided: Decided, places: Sequence[tuple[str, Subset]]) -> tuple[Group, ...]:
    """The rates of each subset of a population."""
    rates = _of_all_classes if len(decided.classes) > 2 else _of_yes
    return tuple(
        Group(
            population=None if name == FIRST else name,
            words=str(subset) or "everyone",
            rows=decided.rows(name, decided.mask(name, subset)),
            **dict.fromkeys(("positives", *HEADS)) | rates(decided, name, decided.mask(name, subset)),
        )
        for name, subset in places
    )


def _of_all_classes(decided: Decided, name: str, inside: Array) -> dict[str, Any]:
    """The share of right decisions, whatever the class."""
    labels = decided.populations[name].y
    if labels is None:
        return {}
    weights, said = (
        decided.row_weights(name)[inside],
        [decided.said(name, 0.0, c) for c in decided.classes],
    )
    right = np.stack(said)[labels, np.arange(len(labels))][inside]
    return {"accuracy": _share(weights @ right, weights.sum())}


def _of_yes(decided: Decided, name: str, inside: Array) -> dict[str, Any]:
    """The rates of two classes, told by yes."""
    weights, yes = decided.row_weights(name)[inside], decided.said(name, 0.0, None)[inside]
    labels = decided.populations[name].y
    said_yes = weights @ yes
    found: dict[str, Any] = {"positive_rate": _share(said_yes, weights.sum())}
    if labels is not None:
        label = labels[inside].astype(float)
        found["positives"] = decided.rows(name, inside & labels)
        found["recall"] = _share(weights @ (yes * label), weights @ label)
        found["false_positive_rate"] = _share(weights @ (yes * (1 - label)), weights @ (1 - label))
        found["precision"] = _share(weights @ (yes * label), said_yes)
        right = np.where(label > 0, yes, 1 - yes)
        found["accuracy"] = _share(weights @ right, weights.sum())
        found["true_positives"] = float(weights @ (yes * label))
        found["false_positives"] = float(weights @ (yes * (1 - label)))
        found["false_negatives"] = float(weights @ ((1 - yes) * label))
        found["true_negatives"] = float(weights @ ((1 - yes) * (1 - label)))
    return found


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole > 0 else None
