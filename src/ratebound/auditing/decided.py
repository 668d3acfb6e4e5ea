"""Any model, seen as decisions on populations.

A `Mixture` decides by its members' scores, each used with its weight; every other classifier by what
it predicts. From here on only probabilities of yes, row by row, are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.amounts import read_amounts
from ratebound.problem.masks import masker
from ratebound.problem.population import Population
from ratebound.rates.kinds import Atom
from ratebound.rates.rate import FIRST
from ratebound.rates.subsets import Name, Subset
from ratebound.solution.deciders import Decider, Draw


def called(name: str) -> str:
    """What a report calls a population: the rows audited first are "train" to a problem."""
    return "audited" if name == FIRST else name


@dataclass(frozen=True, eq=False)
class Decided:
    """A model of M members on named populations."""

    populations: dict[str, Population]
    scores: dict[str, Array]  # (M, n) each
    weights: Array  # (M,) summing to 1
    thresholds: dict[str, Array]  # learned thresholds, (M,) each
    words: str  # what the model is

    @cached_property
    def mask(self) -> Callable[[str, Subset], Array]:
        """Which rows of a population are in a subset, (n,) bool; remembered, since subsets recur."""
        masks = {name: masker(population) for name, population in self.populations.items()}
        return lru_cache(maxsize=256)(lambda name, subset: masks[name](subset))

    @cached_property
    def yes(self) -> Callable[[str, float | str], Array]:
        """The probability of yes at a threshold, (n,); remembered, since thresholds recur."""
        return lru_cache(maxsize=16)(self._yes)

    def _yes(self, name: str, at: float | str) -> Array:
        found = np.zeros(len(self.populations[name]))
        for scores, weight, level in zip(self.scores[name], self.weights, self.levels(at), strict=True):
            found += weight * (scores >= level)
        return found.clip(0.0, 1.0)

    @cached_property
    def amounts(self) -> Callable[[str, Name], Array]:
        """What an error on each row costs by a column, (n,); 0 where that is not said."""
        return lru_cache(maxsize=16)(
            lambda name, column: np.nan_to_num(read_amounts(self.populations[name], column))
        )

    def worth(self, name: str, atom: Atom) -> Array:
        """What each row that an atom may count adds to it, (n,), and 0 of others."""
        inside = self.mask(name, atom.given)
        found = inside if atom.factor == 1 else inside * atom.factor
        return found if atom.amounts is None else found * self.amounts(name, atom.amounts)

    @property
    def deterministic(self) -> bool:
        return len(self.weights) == 1

    def row_weights(self, name: str) -> Array:
        """What each row counts, (n,)."""
        return self.populations[name].row_weights

    def levels(self, at: float | str) -> Array:
        """The threshold of every member, (M,)."""
        return self.thresholds[at] if isinstance(at, str) else np.full(len(self.weights), float(at))


def decide(model: Any, populations: dict[str, Population]) -> Decided:
    """The decisions of `model` on every population.

    >>> from types import SimpleNamespace
    >>> two = SimpleNamespace(
    ...     weights=[0.25, 0.75], thresholds={}, member_scores=lambda X: np.outer(X, [1, -1])
    ... )
    >>> decide(two, {"train": Population([[1.0], [-1.0]])}).yes("train", 0.0)
    array([0.25, 0.75])
    """
    for name, population in populations.items():
        if population.X is None:
            raise ValueError(
                f"population {called(name)!r} has no features X, so {_kind(model)} cannot decide on its "
                "rows: pass them, rb.Population(X, y, ...)"
            )
    model = getattr(model, "solution_", model)
    if is_mixture(model):
        weights = _read_weights(model)
        found = {n: _member_scores(model, n, p, len(weights)) for n, p in populations.items()}
        thresholds = {n: np.reshape(t, -1).astype(float) for n, t in dict(model.thresholds).items()}
        for name, values in thresholds.items():
            if len(values) != len(weights):
                raise ValueError(f"threshold {name!r} has {len(values)} values, members {len(weights)}")
        decider = _decider(model)
        if thresholds and decider.draw is None:
            raise ValueError("a vote has no thresholds of its own: audit its best member instead")
        words, members = decider.called(len(weights)), weights
        for name, scores in found.items():
            weights, found[name] = decider.choices(members, scores)
    elif callable(getattr(model, "predict", None)):
        weights, thresholds, words = np.ones(1), {}, f"one model ({_kind(model)})"
        found = {name: _predicted(model, name, p) for name, p in populations.items()}
    else:
        raise TypeError(
            f"the model must be a rb.Mixture or a fitted classifier with predict, got {_kind(model)}"
        )
    return Decided(populations, found, weights, thresholds, words)


def decided_by(populations: dict[str, Population], scores: dict[str, Array], words: str) -> Decided:
    """The decisions of one model that gives the rows of each population these scores, (n,)."""
    rows = {name: np.asarray(values, dtype=float)[None] for name, values in scores.items()}
    return Decided(populations, rows, np.ones(1), {}, words)


def is_mixture(model: Any) -> bool:
    """Whether `model` has a mixture's parts: weights, thresholds and the scores of its members."""
    model = getattr(model, "solution_", model)
    return all(hasattr(model, part) for part in ("weights", "thresholds", "member_scores"))


def _decider(model: Any) -> Decider:
    """How a model's members decide; where it does not say, one of them is drawn."""
    return getattr(model, "decider", None) or Draw()


def _read_weights(model: Any) -> Array:
    weights = np.asarray(model.weights, dtype=float).reshape(-1)
    if not len(weights) or (weights < 0).any() or abs(weights.sum() - 1.0) > 1e-6:
        raise ValueError(f"the weights of a mixture are probabilities that sum to 1, got {weights}")
    return weights / weights.sum()


def _member_scores(model: Any, name: str, population: Population, members: int) -> Array:
    # Thresholds by known group look at columns too; other models, of ours or not, take the features.
    known = {"columns": population.columns} if _decider(model).known else {}
    scores = np.asarray(model.member_scores(population.X, **known), dtype=float)
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.shape != (len(population), members):
        raise ValueError(
            f"{_kind(model)}.member_scores gives an array of shape {scores.shape} on population "
            f"{called(name)!r}; expected a score for each of {len(population):,} rows and {members} "
            "members"
        )
    return scores.T


def _predicted(model: Any, name: str, population: Population) -> Array:
    decisions = np.asarray(model.predict(population.X))
    if decisions.shape != (len(population),):
        raise ValueError(
            f"{_kind(model)}.predict gives an array of shape {decisions.shape} on population "
            f"{called(name)!r}; expected one decision for each of {len(population):,} rows"
        )
    yes = population.spelling.as_yes(
        decisions, f"what {_kind(model)} predicts on population {called(name)!r}"
    )
    return np.where(yes, 1.0, -1.0)[None]


def _kind(model: Any) -> str:
    return type(model).__name__
