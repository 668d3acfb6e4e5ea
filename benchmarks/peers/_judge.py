"""Promises as data, and the judge of all decisions: only NumPy, and no contender's code.

Every promise here compares the mean of the decisions over two sets of rows, so a judge needs only the
probability of a yes for each row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

KEPT = 1e-6  # a violation that may be rounding


@dataclass(frozen=True)
class Promise:
    """The `group`'s `rate` is at least, or at most, `factor` times the rate of `against`, plus `slack`.

    A group is a column and one of its values; `against` None means everyone.
    """

    rate: str
    group: tuple[str, str]
    relation: str
    factor: float = 1.0
    slack: float = 0.0
    against: tuple[str, str] | None = None

    def __str__(self) -> str:
        """The promise as ratebound reads it."""
        of, other = named(self.group), "" if self.against is None else named(self.against)
        times = "" if self.factor == 1 else f"{self.factor:g} * "
        plus = f" + {self.slack:g}" if self.slack else ""
        return f"{self.rate}({of}) {self.relation} {times}{self.rate}({other}){plus}"


def named(group: tuple[str, str]) -> str:
    return f'{group[0]} == "{group[1]}"'


@dataclass(frozen=True)
class Rows:
    """A contender's input; it never sees the labels of new rows."""

    X: np.ndarray
    y: np.ndarray | None
    columns: Mapping[str, np.ndarray]  # columns of texts that promises use

    @property
    def cells(self) -> np.ndarray:
        """A number for every combination of the columns' values, for libraries with disjoint groups."""
        texts = ["|".join(values) for values in zip(*self.columns.values(), strict=True)]
        return np.unique(texts, return_inverse=True)[1]


@dataclass(frozen=True)
class Verdict:
    """The result of decisions on some rows: their error, and by how much the worst promise is broken."""

    error: float
    violation: float

    @property
    def kept(self) -> bool:
        return self.violation <= KEPT


def rate(name: str, group: tuple[str, str] | None, chance: np.ndarray, rows: Rows) -> float:
    """The mean probability of a yes among the rows that a rate counts; 0 without such rows."""
    counted = {
        "positive_rate": np.ones(len(rows.y), bool), "recall": rows.y, "false_positive_rate": ~rows.y
    }[name]  # fmt: skip
    inside = counted if group is None else counted & (rows.columns[group[0]] == group[1])
    return float(chance[inside].mean()) if inside.any() else 0.0


def violation(promise: Promise, chance: np.ndarray, rows: Rows) -> float:
    """By how much a promise is broken; at most 0 if it is kept."""
    own = rate(promise.rate, promise.group, chance, rows)
    bound = promise.factor * rate(promise.rate, promise.against, chance, rows) + promise.slack
    return bound - own if promise.relation == ">=" else own - bound


def judged(promises: Sequence[Promise], chance: np.ndarray, rows: Rows) -> Verdict:
    """The verdict on decisions that say yes with these probabilities (n,)."""
    if chance.shape != rows.y.shape or not np.all((chance >= -KEPT) & (chance <= 1 + KEPT)):
        raise ValueError("a chance of yes between 0 and 1 is needed for every row")
    error = np.where(rows.y, 1 - chance, chance).mean()
    return Verdict(float(error), max(violation(promise, chance, rows) for promise in promises))
