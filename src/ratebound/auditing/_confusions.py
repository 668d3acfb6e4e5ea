"""What rows of each label are decided to be, for every group that the constraints speak of.

With two classes a few rates say it all. With more, each label has a row and each decision a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.rates.kinds import Classes
from ratebound.rates.rate import FIRST
from ratebound.rates.subsets import Subset

ALL = "all"  # what the last row and the last column are called


@dataclass(frozen=True)
class Confusion:
    """The weight of a group's rows by their label and their decision, expected over a mixture.

    Where there are no labels, `counts` is None and `decided` says how often each class is decided.
    """

    population: str | None  # None for the population audited first
    words: str
    rows: int  # unweighted
    classes: Classes
    counts: tuple[tuple[float, ...], ...] | None  # of each label, by the decision
    decided: tuple[float, ...]  # of all rows, by the decision

    @property
    def shares(self) -> tuple[tuple[float | None, ...], ...] | None:
        """Of the rows with each label, the share that gets each decision; None where there is no row."""
        return None if self.counts is None else tuple(map(_shares, self.counts))

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.words if self.population is None else f"{self.population}: {self.words}"

    @property
    def lines(self) -> list[tuple[str, tuple[float, ...]]]:
        """Every row of the table with its head: one for each label, and one for all."""
        labels = zip(map(str, self.classes), self.counts or (), strict=False)
        return [*labels, (ALL, self.decided)]

    def entries(self) -> list[dict[str, Any]]:
        """One entry for each label and decision, for a long table."""
        found = []
        for label, counts in zip(self.classes, self.counts or (), strict=False):
            for decision, count, share in zip(self.classes, counts, _shares(counts), strict=True):
                where = {"population": self.population, "group": self.words}
                found.append(
                    {**where, "label": label, "decision": decision, "count": count, "share": share}
                )
        return found


def confusions(decided: Decided, spoken_of: Sequence[tuple[str, Subset]]) -> tuple[Confusion, ...]:
    """The table of each subset of a population; none where there are only two classes."""
    if len(decided.classes) <= 2:
        return ()
    return tuple(_confusion(decided, name, subset) for name, subset in spoken_of)


def _confusion(decided: Decided, name: str, subset: Subset) -> Confusion:
    inside, people = decided.mask(name, subset), decided.populations[name]
    weight = decided.row_weights(name)[inside]
    said = np.stack([decided.said(name, 0.0, of)[inside] for of in decided.classes])  # (D, n)
    counts = None
    if people.y is not None:
        label = people.y[inside]
        own = [np.bincount(label, weight * each, len(decided.classes)) for each in said]
        counts = tuple(map(tuple, np.stack(own, axis=1).tolist()))
    return Confusion(
        population=None if name == FIRST else name,
        words=str(subset) or "everyone",
        rows=decided.rows(name, inside),
        classes=decided.classes,
        counts=counts,
        decided=tuple((said @ weight).tolist()),
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
    """A weight: whole where it is, otherwise with one digit.

    >>> weight_text(1234.0), weight_text(0.25)
    ('1,234', '0.2')
    """
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.1f}"
