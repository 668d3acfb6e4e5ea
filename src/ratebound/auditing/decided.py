"""Any model, seen as decisions on populations.

A `Mixture` decides by its members' scores, each used with its weight; every other classifier by what
it predicts. From here on only the probability of each decision, row by row, is looked at. Rows that are
on disk, or with other processes, are folded into kinds first; then a row stands for so many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ratebound.auditing.answers import (
    answering_of,
    answers_of,
    called,
    chances,
    decider_of,
    is_mixture,
    kind_of,
    spelled,
    thresholds_of,
)
from ratebound.auditing.kinds import Kinds, asked_of, fold
from ratebound.base.types import Array
from ratebound.problem.amounts import read_amounts
from ratebound.problem.deciding import decided_at
from ratebound.problem.masks import masker, reader
from ratebound.problem.population import Population
from ratebound.problem.sharing import is_shared
from ratebound.problem.values import Comparable
from ratebound.rates.kinds import TWO, Atom, Classes, atoms, place_of
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import EVERYONE, Name, Subset, Value


def over_of(atom: Atom) -> Subset:
    """The rows an atom is a share of; a count is so many times a share of everyone."""
    return EVERYONE if atom.over is None else atom.over


@dataclass(frozen=True, eq=False)
class Decided:
    """A model of M members on named populations."""

    populations: dict[str, Population]
    scores: dict[str, Array]  # (M, n) each, or (M, D, n) where there are D > 2 classes
    weights: Array  # (M,) summing to 1
    thresholds: dict[str, Array]  # learned thresholds, (M,) each, or (M, D - 1)
    words: str  # what the model is
    clustered: Name | None = None  # the column whose values tell which rows were drawn together

    def clusters(self, name: str) -> Array | None:
        """Which cluster each row of a population is in, (n,); None where rows are drawn alone."""
        return None if self.clustered is None else self._clusters(name)

    @cached_property
    def _clusters(self) -> Callable[[str], Array]:
        return lru_cache(maxsize=None)(
            lambda name: _clusters_of(self.populations[name], name, self.clustered)
        )

    @cached_property
    def mask(self) -> Callable[[str, Subset], Array]:
        """Which rows of a population are in a subset, (n,) bool; remembered, since subsets recur."""
        masks = {name: masker(population) for name, population in self.populations.items()}
        return lru_cache(maxsize=256)(lambda name, subset: masks[name](subset))

    @cached_property
    def read(self) -> Callable[[str, Name, Value, bool], Comparable]:
        """A value as conditions on a population's column read it: among dates, a text is a date."""
        reads = {name: reader(population) for name, population in self.populations.items()}
        return lambda name, column, value, in_order: reads[name](column, value, in_order)

    @cached_property
    def said(self) -> Callable[[str, float | str, Value | None], Array]:
        """The probability that a population's rows are decided as a class, (n,), at a threshold.

        Of two classes that is yes. Remembered, since rates recur.
        """
        return lru_cache(maxsize=64)(self._said)

    def _said(self, name: str, at: float | str, of: Value | None) -> Array:
        if self.several and of is not None:
            return self._shares(name, at)[place_of(of, self.classes)]
        found = np.zeros(len(self.populations[name]))
        if self.several:  # no class at all
            return found
        for scores, weight, level in zip(self.scores[name], self.weights, self.levels(at), strict=True):
            found += weight * (scores >= level)
        return found.clip(0.0, 1.0)

    @cached_property
    def _shares(self) -> Callable[[str, float | str], Array]:
        """The probability of each of several decisions, (D, n); remembered, since all are asked for."""

        def shares(name: str, at: float | str) -> Array:
            scores, levels = self.scores[name], self.levels(at)
            decisions = decided_at(scores, levels.reshape(len(levels), -1))
            found = [self.weights @ (decisions == place) for place in range(len(self.classes))]
            return np.stack(found).clip(max=1.0)

        return lru_cache(maxsize=8)(shares)

    @cached_property
    def classes(self) -> Classes:
        """What may be decided; of two, no and then yes."""
        return _classes(self.populations)

    @property
    def several(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.classes) > 2

    @property
    def told_by(self) -> tuple[Value | None, ...]:
        """The classes that tell a decision: of two, yes alone, which atoms give no name."""
        return self.classes if self.several else (None,)

    def atoms(self, rate: Rate) -> tuple[Atom, ...]:
        """What a share or a count counts."""
        return atoms(rate, self.classes)

    def over(self, rate: Rate) -> Subset:
        """The rows that a rate is a share of."""
        return over_of(self.atoms(rate)[0])

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
        """What each row counts, (n,); of a kind, all of its rows together."""
        return self.populations[name].row_weights

    def times(self, name: str) -> Array:
        """How many rows each row stands for, (n,): itself alone, unless rows are folded into kinds."""
        population = self.populations[name]
        return population.times if isinstance(population, Kinds) else np.ones(len(population), int)

    def each_weight(self, name: str) -> Array:
        """What one row counts, (n,), where a kind has several."""
        population = self.populations[name]
        return population.each_weight if isinstance(population, Kinds) else population.row_weights

    def weighted(self, name: str) -> bool:
        """Whether rows have weights."""
        population = self.populations[name]
        return population.weighted if isinstance(population, Kinds) else population.weights is not None

    def size(self, name: str) -> int:
        """How many rows a population has."""
        return int(self.times(name).sum())

    def rows(self, name: str, inside: Array) -> int:
        """How many rows, unweighted, are `inside` (n,)."""
        population = self.populations[name]
        return int(population.times[inside].sum() if isinstance(population, Kinds) else inside.sum())

    def same_rows(self, one: str, other: str) -> bool:
        """Whether two populations are made of the same table."""
        first, second = (
            each.like if isinstance(each, Kinds) else each
            for each in (self.populations[one], self.populations[other])
        )
        return first is second or (first.X is not None and first.X is second.X)

    def levels(self, at: float | str) -> Array:
        """The threshold of every member, (M,), or of its classes but the first, (M, D - 1)."""
        return self.thresholds[at] if isinstance(at, str) else np.full(len(self.weights), float(at))


def _clusters_of(population: Population, name: str, column: Any) -> Array:
    if isinstance(population, Kinds):
        raise ValueError(
            f"clusters={column!r}: the rows of population {called(name)!r} are on disk or with other "
            "processes, and clusters need all of them: pass population.in_memory()"
        )
    try:
        found = population.values(column)
    except ValueError as error:
        raise ValueError(f"clusters={column!r}: population {called(name)!r}: {error}") from None
    if missing := int(found.missing.sum()):
        raise ValueError(
            f"clusters={column!r}: {missing:,} rows of population {called(name)!r} have no value in "
            "that column, so nothing says which cluster they are in: fill it, or leave them out"
        )
    codes = np.unique(found.values if found.codes is None else found.codes, return_inverse=True)[1]
    if codes.max() == 0:
        raise ValueError(
            f"clusters={column!r}: all rows of population {called(name)!r} are one cluster, and one "
            "says nothing about others: name a column with more values"
        )
    return codes


def decide(model: Any, populations: dict[str, Population], clusters: Name | None = None) -> Decided:
    """The decisions of `model` on every population.

    >>> from types import SimpleNamespace
    >>> two = SimpleNamespace(
    ...     weights=[0.25, 0.75], thresholds={}, member_scores=lambda X: np.outer(X, [1, -1])
    ... )
    >>> decide(two, {"train": Population([[1.0], [-1.0]])}).said("train", 0.0, None)
    array([0.25, 0.75])
    """
    model = getattr(model, "solution_", model)
    if is_mixture(model):
        weights, thresholds, decider = chances(model), thresholds_of(model), decider_of(model)
        if thresholds and decider.draw is None:
            raise ValueError("a vote has no thresholds of its own: audit its best member instead")
        words = decider.called(len(model.weights))
        found = {name: answers_of(model, name, each) for name, each in populations.items()}
    else:
        weights, thresholds, words = np.ones(1), {}, f"one model ({kind_of(model)})"
        found = {
            name: spelled(model, name, each, answers_of(model, name, each))
            for name, each in populations.items()
        }
    decided = Decided(populations, found, weights, thresholds, words, clusters)
    for name in populations:
        decided.clusters(name)  # so that a column that is none is refused before anything is measured
    return decided


def folded(
    model: Any, populations: dict[str, Population], rates: Iterable[Rate]
) -> dict[str, Population]:
    """The populations, those whose rows are elsewhere as the kinds that `rates` and `model` tell apart.

    Rows are elsewhere if they are on disk, or if other processes hold a share of them. Without a model,
    which is None, nothing is decided.
    """
    found = dict(populations)
    spoken_of, classes = tuple(rates), _classes(populations)
    model = getattr(model, "solution_", model)
    for name, population in populations.items():
        if population.stored or is_shared(population):
            asked = asked_of(spoken_of, name, classes)
            answering = None if model is None else answering_of(model, name, asked)
            found[name] = fold(population, asked, answering, called(name))
    return found


def _classes(populations: dict[str, Population]) -> Classes:
    known = (population.classes for population in populations.values())
    return next((classes for classes in known if classes is not None), TWO)


def among_trained(model: Any, populations: dict[str, Population]) -> dict[str, Population]:
    """The populations with labels among the classes of a model, where these are more than two.

    A few rows need not hold every class that a model was trained on.
    """
    model = getattr(model, "solution_", model)
    classes = getattr(model, "classes", getattr(model, "classes_", ()))
    if np.ndim(classes) != 1 or len(classes) <= 2:
        return populations
    plain: Classes = tuple(np.asarray(classes).tolist())
    found = {}
    for name, population in populations.items():
        try:
            found[name] = population.among(plain)
        except ValueError as error:
            raise ValueError(
                f"population {called(name)!r}, judged by {kind_of(model)}: {error}"
            ) from None
    return found


def decided_by(populations: dict[str, Population], scores: dict[str, Array], words: str) -> Decided:
    """The decisions of one model that gives rows these scores, (n,) each, or (D, n)."""
    rows = {name: np.asarray(values, dtype=float)[None] for name, values in scores.items()}
    return Decided(populations, rows, np.ones(1), {}, words)
