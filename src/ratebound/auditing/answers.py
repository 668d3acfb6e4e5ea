"""What a model says of rows, whatever kind of model it is.

A `Mixture` has a few choices, each with its probability and its scores; every other classifier predicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.auditing.kinds import Answering, Asked, Kinds
from ratebound.base.types import Array
from ratebound.problem.deciding import decided_at
from ratebound.problem.population import Population
from ratebound.rates.kinds import TWO
from ratebound.rates.rate import FIRST, Rate
from ratebound.solution.deciders import Decider, Draw
from ratebound.solution.mixture import Mixture

MANY = 16  # choices, beyond which rows are told apart by how many of them decide alike
SHARE = 2.0**-40  # by which shares that differ by rounding are the same


def called(name: str) -> str:
    """What a report calls a population: the rows audited first are "train" to a problem."""
    return "audited" if name == FIRST else name


def is_mixture(model: Any) -> bool:
    """Whether `model` has a mixture's parts: weights, thresholds and the scores of its members."""
    model = getattr(model, "solution_", model)
    return all(hasattr(model, part) for part in ("weights", "thresholds", "member_scores"))


def answering_of(model: Any, name: str, asked: Asked) -> Answering:
    """How a model answers on rows, and what of it tells them apart: decisions, or scores of areas."""
    if not is_mixture(model):
        return Answering(lambda piece: (found := answers_of(model, name, piece), list(found)))
    learned, weights = thresholds_of(model), chances(model)
    numbers = [at for at in asked.thresholds if not isinstance(at, str)]
    levels = [np.full((len(weights), 1), at) for at in numbers]
    levels += [at.reshape(len(weights), -1) for key, at in learned.items() if key in asked.thresholds]

    def told(piece: Population) -> tuple[Array, list[Array]]:
        answers = answers_of(model, name, piece)
        if asked.areas:
            return answers, list(answers.reshape(-1, answers.shape[-1]))
        decisions = [decided_at(answers, at) for at in levels]
        if len(weights) <= MANY:
            return answers, [row for each in decisions for row in each]
        others = range(1, _classes(model))
        shares = [weights @ (each == place) for each in decisions for place in others]
        return answers, [np.rint(share / SHARE).astype(np.int64) for share in shares]

    return Answering(told, tuple(decider_of(model).known), len(model.weights) * _classes(model))


def chances(model: Any) -> Array:
    """How likely each of a model's choices is to decide, (M,); a model that predicts has one."""
    model = getattr(model, "solution_", model)
    if not is_mixture(model):
        return np.ones(1)
    weights, classes = _read_weights(model), _classes(model)
    none = np.zeros((len(weights), 1) if classes == 2 else (len(weights), classes, 1))
    return decider_of(model).choices(weights, none)[0]


@dataclass(frozen=True, eq=False)
class Counted:
    """A mixture whose rows are counted as they are decided where many share their features."""

    mixture: Mixture

    @property
    def weights(self) -> Array:
        return self.mixture.weights

    @property
    def thresholds(self) -> dict[str, Array]:
        return self.mixture.thresholds

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.mixture.classes

    @property
    def decider(self) -> Decider:
        return self.mixture.decider

    def member_scores(self, X: Any, *, columns: Any = None) -> Array:
        """Scores (n, M) or (n, D, M)."""
        return self.mixture.counted_scores(X, columns=columns)


def as_counted(model: Any, rates: Iterable[Rate]) -> Any:
    """A model as an audit counts its decisions; that is itself, unless it is a mixture that draws.

    Learned thresholds are each member's own, and so are areas: both are expectations over the members.
    """
    mixture = getattr(model, "solution_", model)
    if not isinstance(mixture, Mixture) or mixture.decider.draw is None or mixture.thresholds:
        return model
    return model if any(rate.bins is not None for rate in rates) else Counted(mixture)


def thresholds_of(model: Any) -> dict[str, Array]:
    """The thresholds that a mixture has learned, by name: (M,) each, or (M, D - 1)."""
    members = len(model.weights)
    found = {name: np.asarray(each, dtype=float) for name, each in dict(model.thresholds).items()}
    for name, values in found.items():
        if len(values) != members:
            raise ValueError(f"threshold {name!r} has {len(values)} values, members {members}")
    return found


def decider_of(model: Any) -> Decider:
    """How a model's members decide; where it does not say, one of them is drawn."""
    return getattr(model, "decider", None) or Draw()


def _read_weights(model: Any) -> Array:
    weights = np.asarray(model.weights, dtype=float).reshape(-1)
    if not len(weights) or (weights < 0).any() or abs(weights.sum() - 1.0) > 1e-6:
        raise ValueError(f"the weights of a mixture are probabilities that sum to 1, got {weights}")
    return weights / weights.sum()


def answers_of(model: Any, name: str, population: Population) -> Array:
    """What the model answers on rows: its choices' scores (M, n) or (M, D, n), or decisions (1, n)."""
    if isinstance(population, Kinds):
        return population.answers
    if population.X is None:
        raise ValueError(
            f"population {called(name)!r} has no features X, so {kind_of(model)} cannot decide on its "
            "rows: pass them, rb.Population(X, y, ...)"
        )
    if not is_mixture(model):
        return _predicted(model, name, population)
    scores = _member_scores(model, name, population)
    return decider_of(model).choices(_read_weights(model), scores)[1]


def _member_scores(model: Any, name: str, population: Population) -> Array:
    """Scores (M, n) or (M, D, n) of the members."""
    members, classes = len(model.weights), _classes(model)
    sizes = (members,) if classes == 2 else (classes, members)
    # Thresholds by known group look at columns too; other models, of ours or not, take the features.
    known = {"columns": population.columns} if decider_of(model).known else {}
    scores = np.asarray(model.member_scores(population.X, **known), dtype=float)
    if scores.ndim == 1:
        scores = scores[:, None]
    if scores.shape != (len(population), *sizes):
        each = f", {classes} classes" * (len(sizes) > 1)
        raise ValueError(
            f"{kind_of(model)}.member_scores gives an array of shape {scores.shape} on population "
            f"{called(name)!r}; expected a score for each of {len(population):,} rows{each} and "
            f"{members} members"
        )
    return scores.T


def _predicted(model: Any, name: str, population: Population) -> Array:
    if not callable(getattr(model, "predict", None)):
        raise TypeError(
            f"the model must be a rb.Mixture or a fitted classifier with predict, got {kind_of(model)}"
        )
    decisions = np.asarray(model.predict(population.X))
    if decisions.shape != (len(population),):
        raise ValueError(
            f"{kind_of(model)}.predict gives an array of shape {decisions.shape} on population "
            f"{called(name)!r}; expected one decision for each of {len(population):,} rows"
        )
    return decisions[None]


def spelled(model: Any, name: str, population: Population, decisions: Array) -> Array:
    """Scores (1, n) or (1, D, n) by which these decisions (1, n) would be taken."""
    what = f"what {kind_of(model)} predicts on population {called(name)!r}"
    if population.decisions > 2:
        places = population.spelling.as_codes(decisions[0], what)
        return np.where(places == np.arange(population.decisions)[:, None], 1.0, -1.0)[None]
    yes = population.spelling.as_yes(decisions[0], what)
    return np.where(yes, 1.0, -1.0)[None]


def kind_of(model: Any) -> str:
    return type(model).__name__


def _classes(model: Any) -> int:
    """How many classes a mixture decides between."""
    return len(getattr(model, "classes", TWO))
