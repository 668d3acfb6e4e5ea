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

from ratebound.auditing.kinds import Answering, Asked, Kinds, asked_of, fold
from ratebound.base import processes
from ratebound.base.types import Array
from ratebound.problem.amounts import read_amounts
from ratebound.problem.deciding import decided_at
from ratebound.problem.masks import masker
from ratebound.problem.population import Population
from ratebound.rates.kinds import TWO, Atom, Classes, atoms, place_of
from ratebound.rates.rate import FIRST, Rate
from ratebound.rates.subsets import EVERYONE, Name, Subset, Value
from ratebound.solution.deciders import Decider, Draw


def called(name: str) -> str:
    """What a report calls a population: the rows audited first are "train" to a problem."""
    return "audited" if name == FIRST else name


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

    @cached_property
    def mask(self) -> Callable[[str, Subset], Array]:
        """Which rows of a population are in a subset, (n,) bool; remembered, since subsets recur."""
        masks = {name: masker(population) for name, population in self.populations.items()}
        return lru_cache(maxsize=256)(lambda name, subset: masks[name](subset))

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

    def levels(self, at: float | str) -> Array:
        """The threshold of every member, (M,), or of its classes but the first, (M, D - 1)."""
        return self.thresholds[at] if isinstance(at, str) else np.full(len(self.weights), float(at))


def decide(model: Any, populations: dict[str, Population]) -> Decided:
    """The decisions of `model` on every population.

    >>> from types import SimpleNamespace
    >>> two = SimpleNamespace(
    ...     weights=[0.25, 0.75], thresholds={}, member_scores=lambda X: np.outer(X, [1, -1])
    ... )
    >>> decide(two, {"train": Population([[1.0], [-1.0]])}).said("train", 0.0, None)
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
        weights, thresholds, decider = chances(model), _thresholds(model), _decider(model)
        if thresholds and decider.draw is None:
            raise ValueError("a vote has no thresholds of its own: audit its best member instead")
        words = decider.called(len(model.weights))
        found = {name: _answers(model, name, each) for name, each in populations.items()}
    elif callable(getattr(model, "predict", None)):
        weights, thresholds, words = np.ones(1), {}, f"one model ({_kind(model)})"
        found = {
            name: _spelled(model, name, each, _answers(model, name, each))
            for name, each in populations.items()
        }
    else:
        raise TypeError(
            f"the model must be a rb.Mixture or a fitted classifier with predict, got {_kind(model)}"
        )
    return Decided(populations, found, weights, thresholds, words)


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
    known = _decider(model).known if is_mixture(model) else ()
    for name, population in populations.items():
        if population.stored or processes.count() > 1:
            asked = asked_of(spoken_of, name, classes)
            answering = None if model is None else _answering(model, name, asked)
            found[name] = fold(population, asked, answering, known, called(name))
    return found


def _classes(populations: dict[str, Population]) -> Classes:
    known = (population.classes for population in populations.values())
    return next((classes for classes in known if classes is not None), TWO)


def _answering(model: Any, name: str, asked: Asked) -> Answering:
    """What a model answers on rows, and what of it tells them apart: decisions, or scores of areas."""
    levels: list[Array] = []
    if is_mixture(model):
        learned, choices = _thresholds(model), len(chances(model))
        numbers = [at for at in asked.thresholds if not isinstance(at, str)]
        levels = [np.full((choices, 1), at) for at in numbers]
        levels += [at.reshape(choices, -1) for each, at in learned.items() if each in asked.thresholds]

    def answering(piece: Population) -> tuple[Array, list[Array]]:
        answers = _answers(model, name, piece)
        if asked.areas or not levels:
            return answers, list(answers.reshape(-1, answers.shape[-1]))
        return answers, [row for at in levels for row in decided_at(answers, at)]

    return answering


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
            raise ValueError(f"population {called(name)!r}, judged by {_kind(model)}: {error}") from None
    return found


def decided_by(populations: dict[str, Population], scores: dict[str, Array], words: str) -> Decided:
    """The decisions of one model that gives rows these scores, (n,) each, or (D, n)."""
    rows = {name: np.asarray(values, dtype=float)[None] for name, values in scores.items()}
    return Decided(populations, rows, np.ones(1), {}, words)


def is_mixture(model: Any) -> bool:
    """Whether `model` has a mixture's parts: weights, thresholds and the scores of its members."""
    model = getattr(model, "solution_", model)
    return all(hasattr(model, part) for part in ("weights", "thresholds", "member_scores"))


def chances(model: Any) -> Array:
    """How likely each of a model's choices is to decide, (M,); a model that predicts has one."""
    model = getattr(model, "solution_", model)
    if not is_mixture(model):
        return np.ones(1)
    weights = _read_weights(model)
    classes = len(getattr(model, "classes", TWO))
    none = np.zeros((len(weights), 1) if classes == 2 else (len(weights), classes, 1))
    return _decider(model).choices(weights, none)[0]


def _thresholds(model: Any) -> dict[str, Array]:
    """The thresholds that a mixture has learned, by name: (M,) each, or (M, D - 1)."""
    members = len(model.weights)
    found = {name: np.asarray(each, dtype=float) for name, each in dict(model.thresholds).items()}
    for name, values in found.items():
        if len(values) != members:
            raise ValueError(f"threshold {name!r} has {len(values)} values, members {members}")
    return found


def _decider(model: Any) -> Decider:
    """How a model's members decide; where it does not say, one of them is drawn."""
    return getattr(model, "decider", None) or Draw()


def _read_weights(model: Any) -> Array:
    weights = np.asarray(model.weights, dtype=float).reshape(-1)
    if not len(weights) or (weights < 0).any() or abs(weights.sum() - 1.0) > 1e-6:
        raise ValueError(f"the weights of a mixture are probabilities that sum to 1, got {weights}")
    return weights / weights.sum()


def _answers(model: Any, name: str, population: Population) -> Array:
    """What the model answers on rows: its choices' scores (M, n) or (M, D, n), or decisions (1, n)."""
    if isinstance(population, Kinds):
        return population.answers
    if not is_mixture(model):
        return _predicted(model, name, population)
    scores = _member_scores(model, name, population)
    return _decider(model).choices(_read_weights(model), scores)[1]


def _member_scores(model: Any, name: str, population: Population) -> Array:
    """Scores (M, n) or (M, D, n) of the members."""
    members, classes = len(model.weights), len(getattr(model, "classes", TWO))
    sizes = (members,) if classes == 2 else (classes, members)
    # Thresholds by known group look at columns too; other models, of ours or not, take the features.
    known = {"columns": population.columns} if _decider(model).known else {}
    scores = np.asarray(model.member_scores(population.X, **known), dtype=float)
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.shape != (len(population), *sizes):
        each = f", {classes} classes" * (len(sizes) > 1)
        raise ValueError(
            f"{_kind(model)}.member_scores gives an array of shape {scores.shape} on population "
            f"{called(name)!r}; expected a score for each of {len(population):,} rows{each} and "
            f"{members} members"
        )
    return scores.T


def _predicted(model: Any, name: str, population: Population) -> Array:
    decisions = np.asarray(model.predict(population.X))
    if decisions.shape != (len(population),):
        raise ValueError(
            f"{_kind(model)}.predict gives an array of shape {decisions.shape} on population "
            f"{called(name)!r}; expected one decision for each of {len(population):,} rows"
        )
    return decisions[None]


def _spelled(model: Any, name: str, population: Population, decisions: Array) -> Array:
    """Scores (1, n) or (1, D, n) by which these decisions (1, n) would be taken."""
    what = f"what {_kind(model)} predicts on population {called(name)!r}"
    if population.decisions > 2:
        places = population.spelling.as_codes(decisions[0], what)
        return np.where(places == np.arange(population.decisions)[:, None], 1.0, -1.0)[None]
    yes = population.spelling.as_yes(decisions[0], what)
    return np.where(yes, 1.0, -1.0)[None]


def _kind(model: Any) -> str:
    return type(model).__name__
