"""Reasons say what the objective and each constraint add to a row's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.problem.compiled import Compiled

LEAST = 1e-12  # of a part that is listed


@dataclass(frozen=True, eq=False)
class Reasons:
    """The parts that sum to the scores of decisions but the first."""

    names: tuple[str, ...]  # (k,) the objective, each constraint, and the biases
    decisions: tuple[Any, ...]  # (D,)
    parts: Any  # (k, D-1, n)

    def __str__(self) -> str:
        rows = range(self.parts.shape[2])
        decisions = range(1, len(self.decisions))
        return "\n".join(self._describe(row, decision) for row in rows for decision in decisions)

    def _describe(self, row: int, decision: int) -> str:
        parts = self.parts[:, decision - 1, row]
        largest_first = np.argsort(-np.abs(parts))
        texts = []
        for index in largest_first:
            if abs(parts[index]) > LEAST:
                texts.append(f"{parts[index]:+.3f} {self.names[index]}")
        listed = ", ".join(texts) or "0"
        choice = f"{self.decisions[decision]!r} rather than {self.decisions[0]!r}"
        return f"row {row}, {choice}: {parts.sum():+.3f} = {listed}"


def give_reasons(compiled: Compiled, parts: Any, decisions: Any) -> Reasons:
    """Add up the parts of weights (T, D-1, n): those of the objective, and those of biases."""
    pieces = len(compiled.objective.pieces)
    biases = pieces + len(compiled.rows)
    of_objective = parts[:pieces].sum(axis=0) + parts[-1]
    of_constraints = parts[pieces:biases]
    of_biases = parts[biases:-1].sum(axis=0)
    names = (str(compiled.problem.objective), *compiled.labels, "one threshold for everyone")
    stacked = np.stack([of_objective, *of_constraints, of_biases])
    return Reasons(names, tuple(decisions), stacked)
