"""Small networks as their weights: layers with one activation between them, for scores in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph, Saved, Scorer, register_scorer

NODES = {"identity": "Identity", "relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}
MOST = 2**20  # units of a layer


@register_scorer
@dataclass(frozen=True)
class NetworkScorer(Scorer):
    """Scores of networks whose parameters (M, P) are the weights and the biases of each layer."""

    sizes: tuple[int, ...]  # of the features, each hidden layer, and the scores
    activation: str
    kind: ClassVar[str] = "network"

    def scores(self, parameters: Array, X: Any) -> Array:
        if X.ndim != 2 or X.shape[1] != self.sizes[0]:
            raise ValueError(f"expected rows of {self.sizes[0]} features, got shape {X.shape}")
        return np.stack([self._score(self._layers(of_model), X) for of_model in parameters])

    def _score(self, layers: Sequence[tuple[Array, Array]], X: Any) -> Array:
        values = X
        for number, (weights, biases) in enumerate(layers):
            values = activate(self.activation, values) if number else values
            values = values @ weights + biases
        return np.asarray(values, dtype=float).T

    def _layers(self, of_model: Array) -> list[tuple[Array, Array]]:
        layers, start = [], 0
        for inputs, outputs in pairwise(self.sizes):
            end = start + inputs * outputs
            weights = of_model[start:end].reshape(inputs, outputs)
            layers.append((weights, of_model[end : end + outputs]))
            start = end + outputs
        return layers

    def width(self, parameters: Array) -> int:
        return self.sizes[0]

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"sizes": list(self.sizes), "activation": self.activation}, {}

    @classmethod
    def read(cls, saved: Saved) -> NetworkScorer:
        sizes, activation = saved.description["sizes"], saved.description["activation"]
        if not all(type(size) is int and 0 < size < MOST for size in sizes) or len(sizes) < 2:
            raise ValueError(f"its networks have layers of {sizes!r}")
        if activation not in NODES or sizes[-1] == 2:
            raise ValueError(f"its networks have {sizes[-1]} scores and {activation!r} between layers")
        count = sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))
        if saved.parameters.shape[1] != count:
            raise ValueError(f"its networks have {saved.parameters.shape[1]} weights, not {count}")
        return cls(tuple(sizes), activation)

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        inputs = graph.cast(features, "float64")
        models = []
        for of_model in parameters:
            values = inputs
            for number, (weights, biases) in enumerate(self._layers(of_model)):
                values = graph(NODES[self.activation], values) if number else values
                values = graph("Add", graph("MatMul", values, weights), biases)
            models.append(graph("Unsqueeze", values, np.array([1])))
        return models[0] if len(models) == 1 else graph("Concat", *models, axis=1)


def activate(activation: str, values: Array) -> Array:
    """Return what a layer of this kind makes of sums."""
    if activation == "relu":
        return np.maximum(values, 0)
    if activation == "tanh":
        return np.tanh(values)
    if activation == "logistic":
        from scipy.special import expit

        return np.asarray(expit(values))
    return values


def flatten(layers: Sequence[tuple[Array, Array]]) -> Array:
    """Return the parameters (P,) of one network."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])
