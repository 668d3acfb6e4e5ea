"""The rows of a table: one solution of one algorithm, with its error and worst violation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

SOLUTIONS = {"m-stoch": "m-stoch.", "t-stoch": "T-stoch.", "best": "Best", "last": "Last"}
CALLED = {  # what the paper calls its algorithms
    "unconstrained": "Unconstrained",
    "steering-only": "Trained on steering",
    "hinge": "Hinge",
    "swap": "0-1 swap",
    "ext": "0-1 ext",
}


@dataclass(frozen=True)
class Row:
    """Error and worst violation (kept where <= 0) on the training, validation and test rows."""

    algorithm: str
    solution: str
    train_error: float
    valid_error: float
    test_error: float
    train_violation: float
    valid_violation: float
    test_violation: float

    @property
    def title(self) -> str:
        """As in the paper's tables.

        >>> Row("swap", "best", 0, 0, 0, 0, 0, 0).title
        '0-1 swap Best'
        """
        called = CALLED[self.algorithm]
        if self.algorithm in ("unconstrained", "steering-only"):
            return called
        return f"{called} {SOLUTIONS[self.solution]}"

    def values(self) -> list[float]:
        """The six numbers, in order."""
        return [getattr(self, name) for name in VALUES]


VALUES = tuple(field.name for field in fields(Row))[2:]


@dataclass(frozen=True)
class Chosen:
    """The learning rates a row was chosen with, on validation rows."""

    model: float
    multipliers: float | None  # None without constraints

    def __str__(self) -> str:
        """The model's rate, then the multipliers'.

        >>> str(Chosen(0.1, 0.00001))
        '0.1/1e-05'
        """
        return f"{self.model:g}" if self.multipliers is None else f"{self.model:g}/{self.multipliers:g}"


@dataclass(frozen=True)
class Summary:
    """One row over several seeds."""

    row: Row  # the means
    deviations: Row  # the standard deviations; NaN with one seed only
    seeds: int

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"algorithm": self.row.algorithm, "solution": self.row.solution}
        for name in VALUES:
            mean, deviation = getattr(self.row, name), getattr(self.deviations, name)
            found[name] = mean
            if self.seeds > 1:
                found |= {f"{name}_mean": mean, f"{name}_sd": deviation}
        return found


def summarised(tables: Sequence[Sequence[Row]]) -> list[Summary]:
    """Means and standard deviations of the rows of several seeds' tables, row by row."""
    found = []
    for rows in zip(*tables, strict=True):
        values = np.array([row.values() for row in rows])
        spread = values.std(axis=0, ddof=1) if len(rows) > 1 else np.full(len(VALUES), np.nan)
        first = rows[0]
        found.append(
            Summary(
                Row(first.algorithm, first.solution, *values.mean(axis=0).tolist()),
                Row(first.algorithm, first.solution, *spread.tolist()),
                len(rows),
            )
        )
    return found
