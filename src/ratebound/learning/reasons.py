"""Reasons say what the objective and each constraint add to a row's score, and what columns do.

A column's effect is how far its value moves the score from where a typical value would leave it: half
of what the row loses without its value, and half of what a typical row gains with it. Two columns that
say the same share it. For two columns these are Shapley's values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.rates.conditions import Name

LEAST = 5e-4  # of a part that is listed: others would print as 0.000
ONE_THRESHOLD = "one threshold for everyone"
MOST_NAMED = 4  # columns, as is customary in notices


@dataclass(frozen=True, eq=False)
class Reasons:
    """The parts that sum to the scores of decisions but the first, and the effects of columns.

    Parameters
    ----------
    names : tuple of str
        The objective, each constraint, and the threshold.
    decisions : tuple
        All decisions (D,). Scores are those of each but the first, against the first.
    parts : array of shape (k, D-1, n)
        What each name adds.
    columns : tuple
        The columns that the model reads, if it does not read the table itself.
    effects : array of shape (C, D-1, n)
        How far each column moves the score. Effects need not sum to it.
    """

    names: tuple[str, ...]
    decisions: tuple[Any, ...]
    parts: Any
    columns: tuple[Name, ...]
    effects: Any

    def __str__(self) -> str:
        rows = range(self.parts.shape[2])
        decisions = range(1, len(self.decisions))
        return "\n".join(self._describe(row, decision) for row in rows for decision in decisions)

    def _describe(self, row: int, decision: int) -> str:
        parts = self.parts[:, decision - 1, row]
        effects = self.effects[:, decision - 1, row]
        choice = f"{self.decisions[decision]!r} rather than {self.decisions[0]!r}"
        listed = _list_largest(parts, self.names)
        columns = _list_largest(effects, self.columns)[:MOST_NAMED]
        text = f"row {row}, {choice}: {parts.sum():+.3f} = {', '.join(listed) or '0'}"
        return f"{text}; by column {', '.join(columns)}" if columns else text


def _list_largest(parts: Any, names: tuple[Name, ...]) -> list[str]:
    largest_first = np.argsort(-np.abs(parts))
    texts = []
    for index in largest_first:
        if abs(parts[index]) > LEAST:
            texts.append(f"{parts[index]:+.3f} {names[index]}")
    return texts


def make_reasons(
    names: Sequence[str],
    decisions: Sequence[Any],
    parts: Any,
    effects: dict[Name, Any],
) -> Reasons:
    """Add up the parts of weights (T, D-1, n): of the objective's pieces and errors, and of biases.

    `names` are those of the objective and the constraints.
    """
    errors = len(parts) - 1 - parts.shape[1]
    pieces = errors - len(names) + 1
    of_objective = parts[:pieces].sum(axis=0) + parts[errors]
    of_biases = parts[errors + 1 :].sum(axis=0)
    stacked = np.stack([of_objective, *parts[pieces:errors], of_biases])
    moves = np.reshape([*effects.values()], (len(effects), *of_biases.shape))
    every_name = (*names, ONE_THRESHOLD)
    return Reasons(every_name, tuple(decisions), stacked, tuple(effects), moves)


def measure_effects(
    score: Callable[[Any], Any],
    features: Any,
    typical: Any,
    sources: Sequence[Name],
) -> dict[Name, Any]:
    """Return the effect (D-1, n) of each column on a score (D-1, n) of features (n, d).

    `sources` are the columns that features are made of. If `typical` is None, there are no effects.
    """
    if typical is None:
        return {}
    typical = np.broadcast_to(typical, features.shape)
    difference = score(features) - score(typical)
    effects = {}
    for name in dict.fromkeys(sources):
        is_own = np.array([source == name for source in sources])
        without = score(np.where(is_own, typical, features))
        alone = score(np.where(is_own, features, typical))
        effects[name] = (difference + alone - without) / 2
    return effects
