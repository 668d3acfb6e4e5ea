"""Linear models in NumPy: K settings, or each class of each, are the rows of one weight matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, get_args

import numpy as np

from ratebound._old.base import arrays
from ratebound._old.base.arrays import as_like, namespace
from ratebound._old.base.checks import check_number, check_word
from ratebound._old.base.processes import total
from ratebound._old.base.types import Array
from ratebound._old.game.learner import SMALL, Descending, Rows, Stepping
from ratebound._old.game.players import Optimizer, checked_rates
from ratebound._old.game.scorer import Graph, Saved, Scorer, register_scorer
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import is_sparse, rows_between
from ratebound._old.problem.stored import StoredRows

if TYPE_CHECKING:
    pass


AT_ONCE = 2**20  # scores computed at a time


@dataclass(frozen=True)
class Linear(Stepping):
    """A linear model, ``score = w · x + b``, from w = 0; with more than two classes, one for each.

    Parameters
    ----------
    learning_rate : float or list of float, default=0.01
        Step size. Several are several settings, trained side by side. The default suits features of
        about the same scale.
    optimizer : {"adam", "sgd"}, default="adam"
        How steps are taken. The default needs the least tuning; the convergence theorems are about
        "sgd".
    l2 : float, default=0.0
        Adds ``l2/2 · |w|²`` to the objective. By default nothing is added.
    radius : float, default=None
        Keeps (w, b) in a Euclidean ball of this radius, as the convergence theorems assume. By default
        they are free.
    dtype : {"float32", "float64", "auto"}, default="float32"
        Precision; "auto" is double precision for a table of at most 2,000 rows. The default takes half
        the memory and time.
    initial : array of shape (P,) or (K, P), default=None
        Parameters to start from, as traces hold them. By default zeros.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> rb.Linear(learning_rate=[0.001, 0.01, 0.1]).settings
    3
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None)
    >>> rb.shrink(trace).status.feasible
    True
    """

    learning_rate: float | Sequence[float] = 0.01
    optimizer: Optimizer = "adam"
    l2: float = 0.0
    radius: float | None = None
    dtype: str = "float32"
    initial: Array | None = field(default=None, compare=False)

    takes_sparse: ClassVar[bool] = True
    takes_stored: ClassVar[bool] = True

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
        spec = self.prepared((), (), rows.features.shape[0])
        return LinearFit(spec, rows.features, settings, rows.decisions)


@register_scorer
@dataclass(frozen=True)
class LinearScorer(Scorer):
    """Scores of linear models from their flat parameters: weights, then the intercept.

    With more than two classes those of each class come one after the other.
    A score has the same bits whatever other rows and models are asked for with it, so that a row on
    the boundary is decided the same alone and among others.
    """

    dtype: str = "float32"
    decisions: int = 2
    kind: ClassVar[str] = "linear"

    def scores(self, parameters: Array, X: Any) -> Array:
        """(M, A, n) scores of M models (M, A · (d + 1)) on rows (n, d), an array or a sparse matrix."""
        wide = self._each(parameters)
        if X.ndim != 2 or X.shape[1] != wide.shape[1] - 1:
            raise ValueError(f"expected rows of {wide.shape[1] - 1} features, got shape {X.shape}")
        scores = np.empty((len(wide), X.shape[0]), dtype=self.dtype)
        many = max(1, AT_ONCE // len(wide)) if len(wide) else X.shape[0]
        for start in range(0, X.shape[0], many):  # so that no second array of all scores is needed
            products = self._products(rows_between(X, start, start + many), wide[:, :-1])
            np.add(products.T, wide[:, -1:], out=scores[:, start : start + many])
        return scores.reshape(len(parameters), score_count(self.decisions), X.shape[0])

    def coefficients(self, parameters: Array) -> Array:
        each = self._each(parameters)[:, :-1]
        return each.reshape(len(parameters), score_count(self.decisions), -1).astype(float)

    def _each(self, parameters: Array) -> Array:
        """The weights and the intercept of each score of each model, (M · A, d + 1)."""
        return np.asarray(parameters, dtype=self.dtype).reshape(
            len(parameters) * score_count(self.decisions), self.width(parameters) + 1
        )

    def _products(self, X: Any, weights: Array) -> Array:
        """(n, M) products of rows and weights (M, d), the same for a row whatever others there are."""
        if is_sparse(X):  # added up entry by entry
            scores: Array = X.astype(self.dtype, copy=False) @ weights.T
            return scores
        rows = np.asarray(X, dtype=self.dtype)
        if rows.strides[1] != rows.itemsize:
            rows = np.ascontiguousarray(rows)
        # A matrix product adds up in an order that depends on its shape. Matrices of one row and one
        # column are multiplied one by one, each by the same dot product.
        products: Array = np.matmul(rows[:, None, None, :], weights[None, :, :, None])[..., 0, 0]
        return products

    def width(self, parameters: Array) -> int:
        return parameters.shape[1] // score_count(self.decisions) - 1

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"dtype": self.dtype, "decisions": self.decisions}, {}

    @classmethod
    def read(cls, saved: Saved) -> LinearScorer:
        dtype, decisions = saved.description["dtype"], saved.description["decisions"]
        shape = saved.parameters.shape
        if dtype not in ("float32", "float64") or type(decisions) is not int or decisions < 2:
            raise ValueError(f"its linear models are of {dtype!r} with {decisions!r} decisions")
        if shape[1] < 1 or shape[1] % score_count(decisions):
            raise ValueError(f"its linear models for {decisions} decisions have parameters {shape}")
        return cls(dtype, decisions)

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        wide = self._each(parameters)
        products = graph("MatMul", graph.cast(features, self.dtype), wide[:, :-1].T)
        shape = np.array([-1, len(parameters), score_count(self.decisions)])
        return graph("Reshape", graph("Add", products, wide[:, -1]), shape)


class LinearFit(Descending):
    """Linear models being trained; `scores` for a batch, then `descend` its gradient."""

    def __init__(self, spec: Linear, features: Any, settings: int, decisions: int) -> None:
        if features.ndim != 2:
            raise ValueError(f"a linear model needs rows (n, d), got shape {features.shape}")
        self.spec, self.dtype = spec, spec.dtype
        self.scorer = LinearScorer(spec.dtype, decisions)
        self.rows = _rows(features, spec.dtype)
        each, width = score_count(decisions), features.shape[1] + 1
        self.weights = np.zeros((settings, each * width), dtype=spec.dtype)
        self._each = self.weights.reshape(settings * each, width)  # the same numbers, a line a score
        self._shape = (settings, each, -1)
        self.descent = Descent(self.weights, spec.learning_rate, spec.optimizer)

    def scores(self, rows: Array | None) -> Array:
        """(K, A, b) scores of these rows, or of all rows."""
        self._batch = self.rows.batch(rows)
        return self.rows.products(self._each, self._batch).reshape(self._shape)

    def descend(self, gradient: Array) -> None:
        """One step against the gradient with respect to the scores last given, of their shape."""
        by_weights = total(self.rows.sums(gradient.reshape(len(self._each), -1), self._batch))
        if self.spec.l2:
            by_weights[:, :-1] += self.spec.l2 * self._each[:, :-1]
        self.descent.step(self.weights, by_weights.reshape(self.weights.shape))
        if self.spec.radius is not None:
            project_onto_norm_ball(self.weights, self.spec.radius)

    def restore(self, parameters: Array) -> None:
        self.weights[:] = parameters

    def held(self) -> dict[str, Any]:
        return {"weights": self.weights, "descent": self.descent.held()}

    def take_up(self, held: dict[str, Any]) -> None:
        self.weights[:] = held["weights"]
        self.descent.take_up(held["descent"])

    def parameters(self) -> Array:
        return self.weights.copy()

    def all_scores(self) -> Array:
        return self.scorer.scores(self.weights, self.rows.features)


class _ArrayRows:
    """Rows of an array (n, d + 1), whose last feature is 1, for the intercept."""

    def __init__(self, features: Array, dtype: Any) -> None:
        if not np.isfinite(features).all():
            _refuse(int(np.flatnonzero(~np.isfinite(features).all(axis=0))[0]))
        self.X = np.empty((len(features), features.shape[1] + 1), dtype=dtype)
        self.X[:, :-1], self.X[:, -1] = features, 1.0
        self._buffer = np.empty((0, self.X.shape[1]), dtype=dtype)

    @property
    def features(self) -> Any:
        return self.X[:, :-1]

    def batch(self, rows: Array | None) -> Array:
        """These rows, or all of them; the next batch takes their place."""
        if rows is None:
            return self.X
        if len(self._buffer) != len(rows):
            self._buffer = np.empty((len(rows), self.X.shape[1]), dtype=self.X.dtype)
        return self.X.take(rows, axis=0, out=self._buffer, mode="clip")

    def products(self, weights: Array, batch: Array) -> Array:
        """Weights (K, d + 1) times the features of each row: (K, b)."""
        return weights @ batch.T

    def sums(self, gradient: Array, batch: Array) -> Array:
        """The features of all rows, each times its gradient (K, b): (K, d + 1)."""
        return gradient @ batch


class _MatrixRows:
    """The same of a sparse matrix (n, d), where the intercept is added apart."""

    def __init__(self, features: Any, dtype: Any) -> None:
        if not np.isfinite(features.data).all():
            _refuse(int(features.indices[~np.isfinite(features.data)].min()))
        self.features = features.astype(dtype, copy=False)

    def batch(self, rows: Array | None) -> Any:
        return self.features if rows is None else self.features[rows]

    def products(self, weights: Array, batch: Any) -> Array:
        return np.ascontiguousarray((batch @ weights[:, :-1].T).T) + weights[:, -1:]

    def sums(self, gradient: Array, batch: Any) -> Array:
        return np.column_stack([(batch.T @ gradient.T).T, gradient.sum(axis=1)])


class _StoredRows(_ArrayRows):
    """The same of rows on disk, of which those of a batch are looked up in what is in memory."""

    def __init__(self, features: StoredRows, dtype: Any) -> None:
        self.stored = features
        self._buffer = np.ones((0, features.shape[1] + 1), dtype=dtype)

    @property
    def features(self) -> StoredRows:
        return self.stored

    def batch(self, rows: Array | None) -> Array:
        features = self.stored.everything() if rows is None else self.stored.take(rows)
        if len(self._buffer) != len(features):
            self._buffer = np.ones((len(features), self._buffer.shape[1]), dtype=self._buffer.dtype)
        self._buffer[:, :-1] = features
        return self._buffer


_Rows = _ArrayRows | _MatrixRows


def _rows(features: Any, dtype: Any) -> _Rows:
    if isinstance(features, StoredRows):
        return _StoredRows(features, dtype)
    return _MatrixRows(features, dtype) if is_sparse(features) else _ArrayRows(features, dtype)


def _refuse(feature: int) -> NoReturn:
    raise ValueError(f"feature {feature} holds NaN or infinite values: fill or scale them first")


# --- steps --------------------------------------------------------------------------------------
# On the flat parameters (K, P) of K settings at once, NumPy or torch alike.


class Descent:
    """Adam or SGD with one learning rate per setting; updates the parameters in place."""

    def __init__(self, parameters: arrays.Array, learning_rate: Any, optimizer: Optimizer) -> None:
        rates = np.zeros(len(parameters)) + np.asarray(learning_rate, dtype=float)
        self.rate = as_like(rates[:, None], parameters)
        self.adam = optimizer == "adam"
        self.steps = 0
        if self.adam:
            self.first, self.second = 0 * parameters, 0 * parameters

    def held(self) -> dict[str, Any]:
        """What the next steps depend on, besides the parameters."""
        return {"steps": self.steps} | ({"moments": (self.first, self.second)} if self.adam else {})

    def take_up(self, held: dict[str, Any]) -> None:
        """Continue from what `held` gave."""
        self.steps = held["steps"]
        if self.adam:
            for own, given in zip((self.first, self.second), held["moments"], strict=True):
                own[:] = as_like(given, own)

    def step(self, parameters: arrays.Array, gradient: arrays.Array) -> None:
        """Move `parameters` against `gradient`, both (K, P)."""
        if not self.adam:
            parameters -= self.rate * gradient
            return
        self.steps += 1
        self.first *= 0.9
        self.first += 0.1 * gradient
        self.second *= 0.999
        gradient *= gradient
        gradient *= 0.001
        self.second += gradient
        # lr · m̂ / (√v̂ + ε), with the bias corrections folded into two numbers
        unbias = (1 - 0.999**self.steps) ** 0.5
        root = namespace(parameters).sqrt(self.second)
        root += 1e-8 * unbias
        parameters -= self.rate * (unbias / (1 - 0.9**self.steps)) * self.first / root


def project_onto_norm_ball(parameters: arrays.Array, radius: float) -> None:
    """Scale each setting's parameters (K, P) back into the Euclidean ball of `radius`."""
    norms = (parameters * parameters).sum(-1)[:, None] ** 0.5
    parameters *= radius / norms.clip(min=radius)
