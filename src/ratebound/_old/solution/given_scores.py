"""Scores of models that are not available: each row holds their scores, and is decided on these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph, Saved, Scorer, check_indices, register_scorer
from ratebound._old.problem.deciding import score_count, with_axes
from ratebound._old.problem.population import Population


def stacked_scores(
    given: Sequence[Array], populations: Mapping[str, Population], classes: Sequence[Any]
) -> Array:
    """The scores of one model or more on each population, as (B, A, n); checked."""
    each = score_count(len(classes))
    parts = [with_axes(np.atleast_1d(part), len(classes)) for part in given]
    for (name, rows), part, own in zip(populations.items(), parts, given, strict=True):
        wanted = (each, len(rows))
        if part.dtype.kind not in "buif" or part.shape[1:] != wanted:
            what = f"each of its {len(rows):,} rows, (n,), or (B, n) of several models"
            if each > 1:
                what = f"each of {each} classes and {len(rows):,} rows, (D, n), or (B, D, n)"
                what += ": pass scores.T" * (part.shape[-2:] == wanted[::-1])
            raise ValueError(
                f"scores of population {name!r} are {part.dtype} of shape {own.shape}: expected a "
                f"number for {what}"
            )
        if len(part) != len(parts[0]):
            first = next(iter(populations))
            raise ValueError(
                f"scores of {first!r} are from {len(parts[0])} models, and of {name!r} from {len(part)}"
            )
    return np.concatenate(parts, axis=-1).astype(float)


@register_scorer
@dataclass(frozen=True)
class GivenScores(Scorer):
    """Scores of models that are not here, which rows hold: (n, B * A), or (n, B, A) of B models.

    A model's parameter is its number. One model, or one score a row, needs no axis.
    """

    models: int
    each: int  # A, one for two classes, else one for each
    kind: ClassVar[str] = "given"

    def scores(self, parameters: Array, X: Array) -> Array:
        """Scores (M, A, n) of the models whose numbers are the parameters (M, 1)."""
        one = tuple(size for size in (self.models, self.each) if size > 1)
        shapes = [one, (self.models, self.each), (self.models * self.each,)]
        if X.shape[1:] not in shapes or X.dtype.kind not in "buif":
            raise ValueError(
                f"this policy decides on scores, {' x '.join(map(str, one or (1,)))} a row, but got "
                f"{X.dtype} of shape {X.shape}: pass the model's scores for these rows, and to audit "
                "the policy rb.Population(scores, y, columns=...)"
            )
        every = X.reshape(len(X), self.models, self.each)
        every = every if X.dtype.kind == "f" else every.astype(float)
        return np.ascontiguousarray(every.transpose(1, 2, 0)[parameters[:, 0].astype(int)])

    def width(self, parameters: Array) -> int:
        return self.models * self.each

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"models": self.models, "each": self.each}, {}

    @classmethod
    def read(cls, saved: Saved) -> GivenScores:
        sizes = saved.description["models"], saved.description["each"]
        if any(type(size) is not int or size < 1 for size in sizes):
            raise ValueError(f"its scores are {sizes[1]!r} a row of {sizes[0]!r} models")
        check_indices(saved.parameters, [sizes[0]])
        return cls(*sizes)

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        every = graph("Reshape", features, np.array([-1, self.models, self.each]))
        return graph("Gather", every, parameters[:, 0].astype(np.int64), axis=1)
