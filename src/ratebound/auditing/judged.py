"""A model as audits and certificates see it, whatever kind of model it is.

A `Mixture` has a few choices, each with its probability and its scores; every other classifier predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratebound.auditing.decisions import Decisions
from ratebound.base.types import Array
from ratebound.problem.deciding import score_count, with_axes
from ratebound.problem.frames import as_array
from ratebound.problem.population import Population
from ratebound.rates.expressions import FIRST, Rate
from ratebound.rates.kinds import TWO, Classes
from ratebound.rates.subsets import Name, plain_value
from ratebound.solution.deciders import Decider, Draw
from ratebound.solution.mixture import Mixture


@dataclass(frozen=True, eq=False)
class Judged:
    """What a model says of rows, and how its M choices decide together."""

    words: str  # what it is
    answers: Callable[[str, Population], Array]  # scores (M, A, n), or predictions (1, n)
    chances: Array = field(default_factory=lambda: np.ones(1))  # (M,) that each choice decides
    thresholds: dict[str, Array] = field(default_factory=dict)  # learned ones: (M,), or (M, D - 1)
    predicts: str = ""  # what its answers are, where they are decisions that are spelled as labels are
    known: tuple[Name, ...] = ()  # columns that it looks at, besides features
    width: int = 1  # numbers that it computes for each row
    inputs: bool = True  # whether it looks at features

    @property
    def deterministic(self) -> bool:
        """Whether no chance has a part in its decisions."""
        return len(self.chances) == 1

    def levels(self, at: float | str) -> Array:
        """The threshold of every choice, (M, 1), or of its classes but the first, (M, D - 1)."""
        if isinstance(at, str):
            return self.thresholds[at].reshape(len(self.chances), -1)
        return np.full((len(self.chances), 1), float(at))


def called(name: str) -> str:
    """What a report calls a population: the rows audited first are "train" to a problem."""
    return "audited" if name == FIRST else name


def is_mixture(model: Any) -> bool:
    """Whether `model` has a mixture's parts: weights, thresholds and the scores of its members."""
    model = getattr(model, "solution_", model)
    return all(hasattr(model, part) for part in ("weights", "thresholds", "member_scores"))


def judged(model: Any) -> Judged:
    """A model as the tally of its decisions needs it.

    >>> from types import SimpleNamespace
    >>> two = SimpleNamespace(
    ...     weights=[0.25, 0.75], thresholds={}, member_scores=lambda X: np.outer(X, [1, -1])
    ... )
    >>> judged(two).words, judged(two).answers("train", Population([[1.0], [-1.0]]))
    ('a mixture of 2 models', array([[[ 1., -1.]],
    <BLANKLINE>
           [[-1.,  1.]]]))
    """
    if isinstance(model, Decisions):
        return Judged(
            model.words,
            lambda _, rows: model.on(rows)[None],
            predicts=model.words,
            known=model.columns,
            inputs=False,
        )
    model = getattr(model, "solution_", model)
    if not is_mixture(model):
        return Judged(
            f"one model ({kind_of(model)})",
            lambda name, rows: _predicted(model, name, _with_features(model, name, rows)),
            predicts=f"what {kind_of(model)} predicts",
        )
    weights, decider, classes = _read_weights(model), decider_of(model), _classes(model)
    thresholds = thresholds_of(model)
    ids = () if not isinstance(model, Stands) or model.key is None else (model.key,)
    if thresholds and decider.draw is None:
        raise ValueError("a vote has no thresholds of its own: audit its best member instead")

    def answers(name: str, rows: Population) -> Array:
        scores = _member_scores(model, name, _with_features(model, name, rows), ids)
        return decider.choices(weights, scores)[1]

    none = np.zeros((len(weights), score_count(classes), 1))
    return Judged(
        words=decider.called(len(weights)),
        answers=answers,
        chances=decider.choices(weights, none)[0],
        thresholds=thresholds,
        known=(*decider.known, *ids),
        width=len(weights) * classes,
    )


def scored(scores: Mapping[str, Array], words: str) -> Judged:
    """One model that gives the rows of populations in memory these scores, (n,) each, or (D, n)."""
    return Judged(words, lambda name, _: np.atleast_2d(np.asarray(scores[name], dtype=float))[None])


@dataclass(frozen=True, eq=False)
class Stands:
    """A mixture that is judged by other scores than its members' own."""

    mixture: Mixture
    scores: Callable[..., Array]  # from features, and columns=, to scores (n, M) or (n, D, M)
    weights: Array
    thresholds: Mapping[str, Array]
    key: Name | None = None  # the column of ids that it hashes, if not the features

    @property
    def classes(self) -> Classes:
        return self.mixture.classes

    @property
    def decider(self) -> Decider:
        return self.mixture.decider

    def member_scores(self, X: Any, *, columns: Any = None) -> Array:
        """Scores (n, M) or (n, D, M)."""
        return self.scores(X, columns=columns)


def as_counted(model: Any, rates: Iterable[Rate], key: Name | None = None) -> Any:
    """A model as an audit counts its decisions; that is itself, unless it is a mixture that draws.

    Of that, rows that share their features with many are counted as they are decided; with a `key`, all
    rows are. Learned thresholds are each member's own, and so are areas: both are expectations over the
    members.
    """
    mixture = getattr(model, "solution_", model)
    if not isinstance(mixture, Mixture) or mixture.decider.draw is None:
        return model
    if mixture.thresholds or any(rate.compares_scores for rate in rates):
        if key is not None and len(mixture) > 1:
            raise ValueError(
                f"key={key!r} says which member decides each row, and thresholds that were learned and "
                "rates that compare scores are each member's own: leave key out, or leave them out"
            )
        return model
    if key is not None:
        return as_deployed(model, key)
    return Stands(mixture, mixture.counted_scores, mixture.weights, mixture.thresholds)


def as_deployed(model: Any, key: Name | None = None) -> Any:
    """The model that makes the decisions of `model`; that is itself, unless it draws its members.

    The hash of a row chooses the member that decides it, so a mixture is one model there: a hash of its
    features, or of its id in the column `key`.
    """
    if len(judged(model).chances) == 1:
        return model
    model = getattr(model, "solution_", model)
    if not isinstance(model, Mixture):
        raise TypeError(
            f"{type(model).__name__} has {len(model.weights)} members and does not say which of them "
            "decides a row: certify what it does on average, in_expectation=True"
        )

    def decisive(X: Any, *, columns: Any = None) -> Array:
        ids = None if key is None else as_array(columns[key])
        return model.decisive_scores(X, columns=columns, key=ids)[None].T

    return Stands(model, decisive, np.ones(1), {}, key)


def among_trained(model: Any, populations: dict[str, Population]) -> dict[str, Population]:
    """The populations with labels among the classes of a model, if these are more than two.

    A few rows need not hold every class that a model was trained on. Of two classes, both have to take
    the same one for yes.
    """
    model = getattr(model, "solution_", model)
    classes = getattr(model, "classes", getattr(model, "classes_", ()))
    if np.ndim(classes) != 1 or len(classes) < 2:
        return populations
    plain: Classes = tuple(map(plain_value, classes))
    if len(classes) == 2:
        for name, population in populations.items():
            if is_mixture(model) and population.classes == plain[::-1]:
                raise ValueError(
                    f"population {called(name)!r} takes {plain[0]!r} for yes, and the model "
                    f"{plain[1]!r}: say so of the rows too, positive={plain[1]!r}"
                )
        return populations
    among = {}
    for name, population in populations.items():
        try:
            among[name] = population.among(plain)
        except ValueError as error:
            raise ValueError(
                f"population {called(name)!r}, judged by {kind_of(model)}: {error}"
            ) from None
    return among


def thresholds_of(model: Any) -> dict[str, Array]:
    """The thresholds that a mixture has learned, by name: (M,) each, or (M, D - 1)."""
    members = len(model.weights)
    learned = {name: np.asarray(each, dtype=float) for name, each in dict(model.thresholds).items()}
    for name, values in learned.items():
        if len(values) != members:
            raise ValueError(f"threshold {name!r} has {len(values)} values, members {members}")
    return learned


def decider_of(model: Any) -> Decider:
    """How a model's members decide; where it does not say, one of them is drawn."""
    return getattr(model, "decider", None) or Draw()


def kind_of(model: Any) -> str:
    return type(model).__name__


def _read_weights(model: Any) -> Array:
    weights = np.asarray(model.weights, dtype=float).reshape(-1)
    if not len(weights) or (weights < 0).any() or abs(weights.sum() - 1.0) > 1e-6:
        raise ValueError(f"the weights of a mixture are probabilities that sum to 1, got {weights}")
    return weights / weights.sum()


def _with_features(model: Any, name: str, population: Population) -> Population:
    if population.X is None:
        raise ValueError(
            f"population {called(name)!r} has no features X, so {kind_of(model)} cannot decide on its "
            "rows: pass them, rb.Population(X, y, ...)"
        )
    return population


def _member_scores(model: Any, name: str, population: Population, ids: Sequence[Name]) -> Array:
    """Scores (M, A, n) of the members, who may look at known groups, or at `ids`."""
    members, classes = len(model.weights), _classes(model)
    sizes = (members,) if classes == 2 else (classes, members)
    # Other models than ours take the features alone.
    columns = {**population.columns, **{name: population.column(name) for name in ids}}
    known = {"columns": columns} if ids or decider_of(model).known else {}
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
    return with_axes(scores.T, classes)


def _predicted(model: Any, name: str, population: Population) -> Array:
    """What a classifier predicts, (1, n), in its own words."""
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


def _classes(model: Any) -> int:
    """How many classes a mixture decides between."""
    return len(getattr(model, "classes", TWO))
