"""The plug-in for rankers: learn how likely a row is to stand first, and of which group it is, once.

Ranking a pair right is worth W[c, d] = -(C_0 + λ·C) if its first row is in cell c and its second in
cell d. If only the features of two rows are known, placing x above x' is worth Σ_cd W[c, d] P(c | x)
P(d | x'), and the other order the same with x and x' exchanged. If W is a product u[c] · v[d], these
compare as the scores of the two rows do, with

    s(x) = log Σ_c u[c] P(c | x) - log Σ_d v[d] P(d | x).

Without promises that is the log odds of standing first. If features tell the groups apart, it is these
odds and a shift for each group, and of two groups every W orders as a product does. Otherwise the
nearest product is taken, by least squares of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph, Saved, Scorer, register_scorer
from ratebound._old.learners.forecast import Forecast
from ratebound._old.learners.plug_in import expected

SMALLEST = 1e-9  # probability of a cell, of which there is a logarithm


@register_scorer
@dataclass(frozen=True, eq=False)
class OddsScorer(Scorer):
    """Log odds of standing first; parameters (M, 1 + J) are a fold, and logarithms of u and v."""

    forecast: Forecast
    first: Array  # (J,) which of its columns are of first rows
    kind: ClassVar[str] = "plug-in of pairs"

    @property
    def tables(self) -> bool:  # type: ignore[override]  # of its models, some of which read tables
        return self.forecast.tables

    def scores(self, parameters: Array, X: Any) -> Array:
        of = parameters[:, 0].astype(int)
        folds = np.arange(self.forecast.folds) if (of < 0).any() else np.unique(of)
        values = self.forecast.values(X, folds)
        whole = values.mean(axis=0)
        seen = [whole if fold < 0 else values[np.searchsorted(folds, fold)] for fold in of]
        each = zip(parameters[:, 1:], seen, strict=True)
        return np.concatenate([log_odds(logs[None], own, self.first) for logs, own in each])

    def width(self, parameters: Array) -> int | None:
        part = self.forecast.labels
        return part.scorer.width(part.parameters)

    def beside(self, other: Any, parameters: Array) -> tuple[OddsScorer, Array]:
        if other.forecast is not self.forecast:
            raise ValueError("plug-in models of different forecasts cannot stand side by side")
        return self, parameters

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        sides = np.where(self.first, 1.0, 0.0), np.where(self.first, 0.0, 1.0)
        costs = np.concatenate([np.exp(parameters[:, 1:]) * side for side in sides])
        total = self.forecast.to_graph(graph, features).costs(costs)
        logs = graph("Log", graph("Max", total, np.array(SMALLEST)))
        ends = np.array([0]), np.array([len(parameters)]), np.array([2 * len(parameters)]), np.array([1])
        above, below = (graph("Slice", logs, *own, ends[3]) for own in (ends[:2], ends[1:3]))
        return graph("Unsqueeze", graph("Sub", above, below), np.array([2]))

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        description, arrays = self.forecast.describe()
        held = {f"forecast/{name}": each for name, each in arrays.items()}
        return {"forecast": description}, {"first": self.first.astype(np.int64), **held}

    @classmethod
    def read(cls, saved: Saved) -> OddsScorer:
        arrays = {name.removeprefix("forecast/"): each for name, each in saved.arrays.items()}
        first = arrays.pop("first")
        forecast = Forecast.read(saved.description["forecast"], arrays, saved.trusted, saved.module)
        if first.shape != (forecast.size,) or not np.isin(first, (0, 1)).all():
            raise ValueError("which of its cells are of first rows does not fit its forecast")
        shape = saved.parameters.shape
        folds = np.arange(-1, forecast.folds)
        if shape[1] != 1 + forecast.size or not np.isin(saved.parameters[:, 0], folds).all():
            raise ValueError("its parameters refer to models it does not have")
        return cls(forecast, first.astype(bool))


def log_odds(logs: Array, values: Array, first: Array) -> Array:
    """Scores (K, 1, n) with the logarithms (K, J) of u and v, of rows with `values` (J, n)."""
    weights = np.exp(logs)
    above, below = (expected(np.where(side, weights, 0.0), values) for side in (first, ~first))
    return np.asarray(np.log(np.maximum(above, SMALLEST)) - np.log(np.maximum(below, SMALLEST)))
