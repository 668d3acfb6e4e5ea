"""Any model that scores rows, trained on pairs of rows.

The score of a pair is the difference of its rows' scores. So its gradient is added to the first row and
subtracted from the second; a curvature is added to both. Everything else is the model's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.base.arrays import Array, namespace
from ratebound._old.game.learner import Answering, Descending, Fit, Growing, Learner, Rows, Style, Taking
from ratebound._old.game.players import Player
from ratebound._old.game.scorer import Graph, Saved, Scorer, read_scorer, register_scorer
from ratebound._old.problem.frames import rows_of
from ratebound._old.problem.pairs import Ends, differences
from ratebound._old.problem.population import Population


@register_scorer
class OfPairsScorer(Scorer):
    """Scores of rows by another scorer; scores of pairs are their differences."""

    kind = "pairs"

    def __init__(self, each: Scorer) -> None:
        self.each = each
        self.tables = each.tables  # type: ignore[misc]  # as for the scorer of rows

    def scores(self, parameters: Array, X: Any) -> Array:
        if not isinstance(X, Ends):
            return self.each.scores(parameters, X)
        if len(X.first) + len(X.second) > np.shape(X.rows)[0]:
            return differences(self.each.scores(parameters, X.rows), X.first, X.second)
        used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
        own = self.each.scores(parameters, rows_of(X.rows, used))
        return differences(own, place[: len(X)], place[len(X) :])

    def width(self, parameters: Array) -> int | None:
        return self.each.width(parameters)

    def kept(self, parameters: Array) -> tuple[Scorer, Array]:
        each, own = self.each.kept(parameters)
        return OfPairsScorer(each), own

    def beside(self, other: Any, parameters: Array) -> tuple[Scorer, Array]:
        each, own = self.each.beside(other.each, parameters)
        return OfPairsScorer(each), own

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        about, arrays = self.each.describe()
        return {"each": {"kind": self.each.kind, **about}}, arrays

    @classmethod
    def read(cls, saved: Saved) -> OfPairsScorer:
        each = saved.description["each"]
        if not isinstance(each, dict) or each.get("kind") == cls.kind:
            raise ValueError("its models of pairs do not name the scorer of rows")
        return cls(read_scorer(replace(saved, description=each)))

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        return self.each.to_graph(graph, parameters, features)


@dataclass(frozen=True)
class OfPairs(Learner):
    """A learner of rows, on pairs of rows; `rb.play` makes it if the rows are `rb.Pairs`."""

    learner: Learner

    def __post_init__(self) -> None:
        if issubclass(self.learner.fit, Answering):
            raise ValueError(
                f"{type(self.learner).__name__} fits decisions on single rows, but a ranker learns from "
                "pairs by the gradient of their scores: use 'linear', 'mlp', 'lightgbm', 'xgboost', or "
                "a torch module"
            )

    @property
    def fit(self) -> Any:
        return Growing if issubclass(self.learner.fit, Growing) else Descending

    @property
    def style(self) -> Style:
        return self.learner.style

    @property
    def takes_missing(self) -> bool:
        return self.learner.takes_missing

    @property
    def takes_sparse(self) -> bool:
        return self.learner.takes_sparse

    @property
    def initial(self) -> Array | None:
        return self.learner.initial

    @property
    def rounds(self) -> int | None:
        return self.learner.rounds

    @property
    def patience(self) -> int | None:
        return self.learner.patience

    @property
    def folds(self) -> int | None:
        return self.learner.folds

    @property
    def multiplier_rates(self) -> tuple[float, ...] | None:
        return self.learner.multiplier_rates

    @property
    def settings(self) -> int:
        return self.learner.settings

    @property
    def player(self) -> Player:
        return self.learner.player

    def opponent(self, constraints: int) -> Player:
        return self.learner.opponent(constraints)

    def prepared(self, names: Sequence[str], codes: Sequence[int], rows: int) -> OfPairs:
        return OfPairs(self.learner.prepared(names, codes, rows))

    def repeated(self, times: int) -> OfPairs:
        return OfPairs(self.learner.repeated(times))

    def starting_at(self, parameters: Array) -> OfPairs:
        return OfPairs(self.learner.starting_at(parameters))

    def start(self, rows: Rows, settings: int, seed: int) -> Fit:
        ends = rows.inputs
        own = self.learner.start(Population(ends.rows), settings, seed)
        assert isinstance(own, Descending | Growing)
        return GrowingOnPairs(own, ends) if isinstance(own, Growing) else DescendingOnPairs(own, ends)


class _OnPairs(Taking):
    """A fit of rows that sees pairs: everything but its scores and steps is unchanged."""

    def __init__(self, own: Any, ends: Ends) -> None:
        self.own, self.ends = own, ends
        self.device, self.dtype = own.device, own.dtype
        self.scorer = OfPairsScorer(own.scorer)

    def parameters(self) -> Array:
        parameters: Array = self.own.parameters()
        return parameters

    def all_scores(self) -> Array:
        return differences(self.own.all_scores(), self.ends.first, self.ends.second)

    def restore(self, parameters: Array) -> None:
        self.own.restore(parameters)

    def held(self) -> dict[str, Any] | None:
        held: dict[str, Any] | None = self.own.held()
        return held

    def take_up(self, held: dict[str, Any]) -> None:
        self.own.take_up(held)

    def randomness(self, seed: int) -> AbstractContextManager[None]:
        seeded: AbstractContextManager[None] = self.own.randomness(seed)
        return seeded


class DescendingOnPairs(_OnPairs, Descending):
    """Models of rows that step against the gradient of the differences."""

    def scores(self, rows: Array | None) -> Array:
        first, second = self.ends.first, self.ends.second
        if rows is not None:
            rows = np.asarray(rows if self.device is None else rows.cpu())
            first, second = first[rows], second[rows]
        many, size = len(first), np.shape(self.ends.rows)[0]
        if 2 * many < size:  # score only the rows of the batch
            self._first, self._second = np.arange(many), np.arange(many, 2 * many)
            self._size = 2 * many
            own = self.own.scores(np.concatenate([first, second]))
        else:
            self._first, self._second, self._size = first, second, size
            own = self.own.scores(None)
        return apart(own, self._first, self._second)

    def descend(self, gradient: Array) -> None:
        self.own.descend(onto_rows(gradient, self._first, self._second, self._size, -1.0))


class GrowingOnPairs(_OnPairs, Growing):
    """Trees that grow by gradient and curvature of the differences.

    Both are divided by the mean number of pairs that a row is in. So a row counts about as much as in
    training on single rows, and a library's limits on leaves keep their meaning.
    """

    def __init__(self, own: Any, ends: Ends) -> None:
        super().__init__(own, ends)
        self.size = int(np.shape(ends.rows)[0])
        self.share = self.size / (2 * len(ends))

    def scores(self, rows: Array | None) -> Array:
        return apart(self.own.scores(None), self.ends.first, self.ends.second)

    def grow(self, gradient: Array, curvature: Array) -> None:
        first, second = self.ends.first, self.ends.second
        slopes = onto_rows(gradient, first, second, self.size, -1.0)
        bends = onto_rows(curvature, first, second, self.size, 1.0)
        self.own.grow(self.share * slopes, self.share * bends)


def of_pairs(learner: Learner) -> OfPairs:
    """The learner on pairs; itself if it is one already."""
    return learner if isinstance(learner, OfPairs) else OfPairs(learner)


def apart(scores: Array, first: Array, second: Array) -> Array:
    """`differences`, for tensors too."""
    if namespace(scores) is np:
        return differences(scores, first, second)
    torch: Any = namespace(scores)
    apart = scores[..., torch.as_tensor(first)] - scores[..., torch.as_tensor(second)]
    return torch.where(apart == 0, -torch.finfo(apart.dtype).tiny, apart)


def onto_rows(values: Array, first: Array, second: Array, size: int, sign: float) -> Array:
    """Values (K, 1, P) of pairs summed on their rows, (K, 1, size); on second rows times `sign`."""
    if namespace(values) is not np:
        torch: Any = namespace(values)
        summed = values.new_zeros((*values.shape[:-1], size))
        summed.index_add_(-1, torch.as_tensor(first, device=values.device), values)
        return summed.index_add_(-1, torch.as_tensor(second, device=values.device), sign * values)
    from scipy import sparse

    many = len(first)
    ends = np.column_stack([first, second]).ravel()
    signs = np.tile(np.array([1.0, sign], dtype=values.dtype), many)
    incidence = sparse.csr_array((signs, ends, np.arange(0, 2 * many + 1, 2)), shape=(many, size))
    onto: Array = (incidence.T @ values[:, 0].T).T
    return np.ascontiguousarray(onto)[:, None]
