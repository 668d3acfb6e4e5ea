"""The rates people ask about, for every group that the constraints name.

With two classes a few rates are enough. With more, there is also a table of decisions by label: each
label has a row and each decision a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.auditing.tally import Lines, Tally
from ratebound._old.base.types import Array
from ratebound._old.problem.masks import NoSuchValue
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import Classes, label_classes, referral_of
from ratebound._old.rates.subsets import EVERYONE, Subset, only_decided

HEADS = {
    "positive_rate": "says yes",
    "recall": "recall",
    "false_positive_rate": "false pos.",
    "precision": "precision",
    "accuracy": "accuracy",
}  # the names of the rates in tables
REFERRED = {"referred": "referred", **HEADS}  # the same if rows may be referred
ALL = "all"  # the head of the last row and the last column of a table of decisions


@dataclass(frozen=True)
class Group:
    """One group and its rates, decisions taken at 0; None where a rate does not exist."""

    population: str | None  # None for the population audited first
    words: str
    rows: int
    positives: int | None  # rows with a positive label, with two classes
    positive_rate: float | None
    recall: float | None
    false_positive_rate: float | None
    precision: float | None
    accuracy: float | None
    true_positives: float | None = None  # weights of rows, expected over a mixture; with two classes
    false_positives: float | None = None
    false_negatives: float | None = None
    true_negatives: float | None = None
    referred: float | None = None  # if rows may be referred


def heads(several: bool, referred: bool = False) -> dict[str, str]:
    """The names of groups' rates in tables; with several classes, one rate for all."""
    every = REFERRED if referred else HEADS
    if several:
        return {name: head for name, head in every.items() if name in ("accuracy", "referred")}
    return every


def named_subsets(problem: Problem, tally: Tally) -> list[tuple[str, Subset]]:
    """Everyone, and every distinct subset of the constraints, population by population."""
    spoken: dict[str, dict[Subset, None]] = {name: {EVERYONE: None} for name in tally.lines}
    for constraint in problem.subject_to:
        for rate in constraint.rates:
            spoken[rate.population].setdefault(only_decided(rate.subset)[1])
    places = []
    for name, subsets in spoken.items():
        for subset in subsets:
            with suppress(NoSuchValue):  # such a promise is reported as not measured
                tally[name].inside(subset)
                places.append((name, subset))
    return places


def groups(tally: Tally, places: Sequence[tuple[str, Subset]]) -> tuple[Group, ...]:
    """The rates of each subset of a population."""
    rates = _of_all_classes if len(label_classes(tally.classes)) > 2 else _of_yes
    if referral_of(tally.classes) is not None:
        rates = _or_referred(rates)
    return tuple(
        Group(
            population=None if name == FIRST else name,
            words=str(subset) or "everyone",
            rows=tally[name].counted(tally[name].inside(subset)),
            **dict.fromkeys(("positives", *HEADS)) | rates(tally[name], tally[name].inside(subset)),
        )
        for name, subset in places
    )


def _or_referred(rates: Callable[[Lines, Array], dict[str, Any]]) -> Any:
    """The same rates and the share of referrals."""

    def both(lines: Lines, inside: Array) -> dict[str, Any]:
        weights, passed_on = lines.total[inside], lines.chances[0.0][-1][inside]
        return {**rates(lines, inside), "referred": _share(weights @ passed_on, weights.sum())}

    return both


def _of_all_classes(lines: Lines, inside: Array) -> dict[str, Any]:
    """The share of right decisions, whatever the class."""
    labels = lines.people.y
    if labels is None:
        return {}
    weights = lines.total[inside]
    right = lines.chances[0.0][labels, np.arange(len(labels))][inside]
    return {"accuracy": _share(weights @ right, weights.sum())}


def _of_yes(lines: Lines, inside: Array) -> dict[str, Any]:
    """The rates of two classes, in terms of yes."""
    weights, labels = lines.total[inside], lines.people.y
    no, yes = lines.chances[0.0][:2, inside]
    said_yes = weights @ yes
    rates: dict[str, Any] = {"positive_rate": _share(said_yes, weights.sum())}
    if labels is not None:
        label = labels[inside].astype(float)
        right = np.where(label > 0, yes, no)
        rates |= {
            "positives": lines.counted(inside & (labels == 1)),
            "recall": _share(weights @ (yes * label), weights @ label),
            "false_positive_rate": _share(weights @ (yes * (1 - label)), weights @ (1 - label)),
            "precision": _share(weights @ (yes * label), said_yes),
            "accuracy": _share(weights @ right, weights.sum()),
            "true_positives": float(weights @ (yes * label)),
            "false_positives": float(weights @ (yes * (1 - label))),
            "false_negatives": float(weights @ (no * label)),
            "true_negatives": float(weights @ (no * (1 - label))),
        }
    return rates


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole > 0 else None


@dataclass(frozen=True)
class Confusion:
    """The weight of a group's rows by their label and their decision, expected over a mixture.

    Without labels, `counts` is None and `decided` says how often each class is decided.
    """

    population: str | None  # None for the population audited first
    words: str
    rows: int  # unweighted
    classes: Classes
    counts: tuple[tuple[float, ...], ...] | None  # for each label, by the decision
    decided: tuple[float, ...]  # for all rows, by the decision

    @property
    def shares(self) -> tuple[tuple[float | None, ...], ...] | None:
        """The share of each label's rows that gets each decision; None if there is no such row."""
        return None if self.counts is None else tuple(map(_shares, self.counts))

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.words if self.population is None else f"{self.population}: {self.words}"

    @property
    def lines(self) -> list[tuple[str, tuple[float, ...]]]:
        """Every row of the table with its head: one for each label, and one for all."""
        labels = zip(map(str, self.classes), self.counts or (), strict=False)
        return [*labels, (ALL, self.decided)]

    def entries(self) -> list[dict[str, Any]]:
        """One entry for each label and decision, for a long table."""
        entries = []
        for label, counts in zip(self.classes, self.counts or (), strict=False):
            for decision, count, share in zip(self.classes, counts, _shares(counts), strict=True):
                where = {"population": self.population, "group": self.words}
                entries.append(
                    {**where, "label": label, "decision": decision, "count": count, "share": share}
                )
        return entries


def confusions(tally: Tally, places: Sequence[tuple[str, Subset]]) -> tuple[Confusion, ...]:
    """The table of each subset of a population; empty with only two classes."""
    if len(tally.classes) <= 2:
        return ()
    return tuple(_confusion(tally, name, subset) for name, subset in places)


def _confusion(tally: Tally, name: str, subset: Subset) -> Confusion:
    lines = tally[name]
    inside = lines.inside(subset)
    weight, chances, counts = lines.total[inside], lines.chances[0.0][:, inside], None
    if lines.people.y is not None:
        label = lines.people.y[inside]
        labels = len(label_classes(tally.classes))
        by_decision = [np.bincount(label, weight * each, labels) for each in chances]
        counts = tuple(map(tuple, np.stack(by_decision, axis=1).tolist()))
    return Confusion(
        population=None if name == FIRST else name,
        words=str(subset) or "everyone",
        rows=lines.counted(inside),
        classes=tally.classes,
        counts=counts,
        decided=tuple((chances @ weight).tolist()),
    )


def _shares(counts: Sequence[float]) -> tuple[float | None, ...]:
    total = sum(counts)
    return tuple(count / total if total > 0 else None for count in counts)


def cells(counts: Sequence[float]) -> list[tuple[str, str]]:
    """The count and the share of each decision as text, and the total."""
    shares = [*_shares(counts), 1.0 if sum(counts) > 0 else None]
    numbers = [*counts, sum(counts)]
    return [
        (weight_text(n), "–" if s is None else f"{s:.3f}") for n, s in zip(numbers, shares, strict=True)
    ]


def weight_text(value: float) -> str:
    """A weight: without digits if it is whole, otherwise with one digit.

    >>> weight_text(1234.0), weight_text(0.25)
    ('1,234', '0.2')
    """
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.1f}"
