"""Linear models in NumPy: K settings are the rows of one weight matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from ratebound.base.checks import check_number, check_word
from ratebound.base.types import Array
from ratebound.game.learner import Descending, Rows, Stepping
from ratebound.game.scorer import Graph, Saved, Scorer, register_scorer
from ratebound.game.settings import SMALL, checked_rates
from ratebound.learners._descent import Descent, Optimizer, project_onto_norm_ball

if TYPE_CHECKING:
    from ratebound.problem.compiled import Compiled


@dataclass(frozen=True)
class Linear(Stepping):
    """A linear model, ``score = w · x + b``, from w = 0.

    Several learning rates are several settings, trained side by side. `l2` adds l2/2 · |w|², and
    `radius` keeps (w, b) in a Euclidean ball, as the convergence theorems assume. `dtype` is "float32",
    "float64", or "auto": double precision for a table of at most 2,000 rows.

    >>> Linear(learning_rate=[0.001, 0.01, 0.1]).settings
    3
    """

    learning_rate: float | Sequence[float] = 0.01
    optimizer: Optimizer = "adam"
    l2: float = 0.0
    radius: float | None = None
    dtype: str = "float32"
    initial: Array | None = field(default=None, compare=False)  # parameters to start from

    def __post_init__(self) -> None:
        checked_rates(self.learning_rate)
        check_word("optimizer", self.optimizer, get_args(Optimizer))
        check_number("l2", self.l2, least=0)
        if self.radius is not None:
            check_number("radius", self.radius, above=0)
        check_word("dtype", self.dtype, ("float32", "float64", "auto"))

    def prepared(self, names: Sequence[str], codes: Sequence[int], rows: int) -> Linear:
        dtype = "float64" if rows <= SMALL else "float32"
        return replace(self, dtype=dtype) if self.dtype == "auto" else self

    def start(self, rows: Rows, settings: int, seed: int) -> LinearFit:
        spec = self.prepared((), (), len(rows.features))
        return LinearFit(spec, rows.features, settings)


@register_scorer
@dataclass(frozen=True)
class LinearScorer(Scorer):
    """Scores of linear models from their flat parameters: weights, then the intercept.

    A score has the same bits whatever other rows and models are asked for with it, so that a row on
    the boundary is decided the same alone and among others.
    """

    dtype: str = "float32"
    kind: ClassVar[str] = "linear"

    def scores(self, parameters: Array, X: Array) -> Array:
        """(M, n) scores of M models (M, d + 1) on rows (n, d)."""
        wide = np.asarray(parameters, dtype=self.dtype)
        if X.ndim != 2 or X.shape[1] != wide.shape[1] - 1:
            raise ValueError(f"expected rows of {wide.shape[1] - 1} features, got shape {X.shape}")
        rows = np.asarray(X, dtype=self.dtype)
        if rows.strides[1] != rows.itemsize:
            rows = np.ascontiguousarray(rows)
        # A matrix product adds up in an order that depends on its shape. Matrices of one row and one
        # column are multiplied one by one, each by the same dot product.
        products = np.matmul(rows[:, None, None, :], wide[None, :, :-1, None])[..., 0, 0]
        return np.ascontiguousarray(products.T) + wide[:, -1:]

    def width(self, parameters: Array) -> int:
        return parameters.shape[1] - 1

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"dtype": self.dtype}, {}

    @classmethod
    def read(cls, saved: Saved) -> LinearScorer:
        dtype, shape = saved.description["dtype"], saved.parameters.shape
        if dtype not in ("float32", "float64") or shape[1] < 1:
            raise ValueError(f"its linear models are of {dtype!r} with shape {shape}")
        return cls(dtype)

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        wide = np.asarray(parameters, dtype=self.dtype)
        products = graph("MatMul", graph.cast(features, self.dtype), wide[:, :-1].T)
        return graph("Add", products, wide[:, -1])


class LinearFit(Descending):
    """Linear models being trained; `scores` for a batch, then `descend` its gradient."""

    def __init__(self, spec: Linear, features: Array, settings: int) -> None:
        if features.ndim != 2:
            raise ValueError(f"a linear model needs rows (n, d), got shape {features.shape}")
        if not np.isfinite(features).all():
            column = int(np.flatnonzero(~np.isfinite(features).all(axis=0))[0])
            raise ValueError(f"feature {column} holds NaN or infinite values: fill or scale them first")
        self.spec, self.scorer, self.precision = spec, LinearScorer(spec.dtype), spec.dtype
        self.X = _with_ones(features, spec.dtype)
        self.weights = np.zeros((settings, self.X.shape[1]), dtype=spec.dtype)
        self.descent = Descent(self.weights, spec.learning_rate, spec.optimizer)
        self._buffer = np.empty((0, self.X.shape[1]), dtype=spec.dtype)
        self._judged: tuple[Compiled, Array] | None = None  # a judge and its rows

    def scores(self, rows: Array | None) -> Array:
        """(K, b) scores of these rows, or of all rows."""
        if rows is None:
            self._batch = self.X
        else:
            if len(self._buffer) != len(rows):
                self._buffer = np.empty((len(rows), self.X.shape[1]), dtype=self.X.dtype)
            self._batch = self.X.take(rows, axis=0, out=self._buffer, mode="clip")
        return self.weights @ self._batch.T

    def judged_scores(self, judge: Compiled, rows: Array | None) -> Array:
        if self._judged is None or self._judged[0] is not judge:
            self._judged = judge, _with_ones(judge.features, self.X.dtype)
        X = self._judged[1]
        return self.weights @ (X if rows is None else X.take(rows, axis=0)).T

    def descend(self, gradient: Array) -> None:
        """One step against the gradient with respect to the scores last given, (K, b)."""
        by_weights = gradient @ self._batch
        if self.spec.l2:
            by_weights[:, :-1] += self.spec.l2 * self.weights[:, :-1]
        self.descent.step(self.weights, by_weights)
        if self.spec.radius is not None:
            project_onto_norm_ball(self.weights, self.spec.radius)

    def restore(self, parameters: Array) -> None:
        self.weights[:] = parameters

    def parameters(self) -> Array:
        return self.weights.copy()

    def all_scores(self) -> Array:
        return self.scorer.scores(self.weights, self.X[:, :-1])


def _with_ones(features: Array, dtype: Any) -> Array:
    """Rows (n, d + 1) whose last feature is 1, for the intercept."""
    rows = np.empty((len(features), features.shape[1] + 1), dtype=dtype)
    rows[:, :-1], rows[:, -1] = features, 1.0
    return rows
