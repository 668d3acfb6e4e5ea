"""Scores of models that are not here: rows are their scores, to be decided on as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph, Saved, Scorer, check_indices, register_scorer
from ratebound.learners.linear import LinearScorer
from ratebound.problem.population import Population


def stacked_scores(
    given: Sequence[Array], populations: Mapping[str, Population], classes: Sequence[Any]
) -> Array:
    """The scores of one or several models on each population, as (B, n), or (B, D, n); checked."""
    several = len(classes) > 2
    parts = [part[None] if part.ndim == 1 + several else np.atleast_2d(part) for part in given]
    for (name, rows), part in zip(populations.items(), parts, strict=True):
        each = (len(classes), len(rows)) if several else (len(rows),)
        if part.dtype.kind not in "buif" or part.shape[1:] != each:
            wanted = f"each of its {len(rows):,} rows, (n,), or (B, n) of several models"
            if several:
                wanted = f"each of {each[0]} classes and {len(rows):,} rows, (D, n), or (B, D, n)"
                wanted += ": pass scores.T" * (part.shape[-2:] == each[::-1])
            raise ValueError(
                f"scores of population {name!r} are {part.dtype} of shape {part.shape}: expected a "
                f"number for {wanted}"
            )
        if len(part) != len(parts[0]):
            first = next(iter(populations))
            raise ValueError(f"scores of {first!r} are of {len(parts[0])} models, {name!r} {len(part)}")
    return np.concatenate(parts, axis=-1).astype(float)


@register_scorer
class GivenScorer(LinearScorer):
    """Scores of models that are not here: rows are their scores, and parameters say which to repeat."""

    kind = "given"

    def scores(self, parameters: Array, X: Array) -> Array:
        width = self.width(parameters)
        wide = X[:, None] if X.ndim == 1 else X
        if wide.ndim != 2 or wide.shape[1] != width or wide.dtype.kind not in "buif":
            raise ValueError(
                f"this policy decides on scores, {width} a row, and got {wide.dtype} of shape "
                f"{X.shape}: pass what the model gives for these rows, and to audit the policy "
                "rb.Population(scores, y, columns=...)"
            )
        return super().scores(parameters, wide)


@register_scorer
@dataclass(frozen=True)
class GivenScores(Scorer):
    """The same where rows are the scores of several classes, (n, D), or (n, B, D) of B models."""

    models: int
    classes: int
    kind: ClassVar[str] = "given of each class"

    def scores(self, parameters: Array, X: Array) -> Array:
        """Scores (M, D, n) of the models whose numbers are the parameters (M, 1)."""
        one = (self.classes,) if self.models == 1 else (self.models, self.classes)
        shapes = [one, (self.models, self.classes), (self.models * self.classes,)]
        if X.shape[1:] not in shapes or X.dtype.kind not in "buif":
            raise ValueError(
                f"this policy decides on scores, {' x '.join(map(str, one))} a row, and got {X.dtype} "
                f"of shape {X.shape}: pass what the model gives for these rows, and to audit the policy "
                "rb.Population(scores, y, columns=...)"
            )
        every = X.reshape(len(X), self.models, self.classes).astype(float)
        return np.ascontiguousarray(every.transpose(1, 2, 0)[parameters[:, 0].astype(int)])

    def width(self, parameters: Array) -> int:
        return self.models * self.classes

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"models": self.models, "classes": self.classes}, {}

    @classmethod
    def read(cls, saved: Saved) -> GivenScores:
        sizes = saved.description["models"], saved.description["classes"]
        if any(type(size) is not int or size < 1 for size in sizes):
            raise ValueError(f"its scores are of {sizes[0]!r} models and {sizes[1]!r} classes")
        check_indices(saved.parameters, [sizes[0]])
        return cls(*sizes)

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        every = graph("Reshape", features, np.array([-1, self.models, self.classes]))
        return graph("Gather", every, parameters[:, 0].astype(np.int64), axis=1)
