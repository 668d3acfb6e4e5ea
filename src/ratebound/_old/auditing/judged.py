"""A model of any kind, as audits and certificates see it.

A `Mixture` has a few choices, each with its probability and its scores; every other classifier predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratebound._bridge import DIGEST, digest_table
from ratebound._old.auditing.decisions import Decisions
from ratebound._old.base.types import Array
from ratebound._old.problem.compiling import compile_on
from ratebound._old.problem.deciding import score_count, with_axes
from ratebound._old.problem.frames import as_array
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import FIRST, Rate
from ratebound._old.rates.kinds import TWO, Classes
from ratebound._old.rates.subsets import Name, plain_value
from ratebound._old.solution.deciders import Decider, Draw
from ratebound._old.solution.mixture import Mixture


@dataclass(frozen=True, eq=False)
class Judged:
    """A model's answers on rows, and how its M choices decide together."""

    words: str  # what it is
    answers: Callable[[str, Population], Array]  # scores (M, A, n), or predictions (1, n)
    chances: Array = field(default_factory=lambda: np.ones(1))  # (M,) the choices' probabilities
    thresholds: dict[str, Array] = field(default_factory=dict)  # learned ones: (M,), or (M, D - 1)
    predicts: str = ""  # a name for its answers, if they are decisions spelled as labels
    known: tuple[Name, ...] = ()  # columns that it looks at, besides features
    width: int = 1  # numbers that it computes for each row
    inputs: bool = True  # whether it looks at features

    @property
    def deterministic(self) -> bool:
        """Whether its decisions involve no chance."""
        return len(self.chances) == 1

    def levels(self, at: float | str) -> Array:
        """The threshold of every choice, (M, 1), or of its classes except the first, (M, D - 1)."""
        if isinstance(at, str):
            return self.thresholds[at].reshape(len(self.chances), -1)
        return np.full((len(self.chances), 1), float(at))


def called(name: str) -> str:
    """The name of a population in a report; a problem calls the first audited rows "train"."""
    return "audited" if name == FIRST else name


def is_mixture(model: Any) -> bool:
    """Whether `model` has a mixture's parts: weights, thresholds and the scores of its members."""
    return all(hasattr(model, part) for part in ("weights", "thresholds", "member_scores"))


def judged(model: Any) -> Judged:
    """A model in the form that the tally of its decisions needs.

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
        raise ValueError("a vote has no thresholds: audit its best member instead")

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
    """One model with these scores on rows of populations in memory, (n,) each, or (D, n)."""
    return Judged(words, lambda name, _: np.atleast_2d(np.asarray(scores[name], dtype=float))[None])


@dataclass(frozen=True, eq=False)
class Stands:
    """A mixture that is judged by scores other than its members' scores."""

    mixture: Mixture
    scores: Callable[..., Array]  # from features, and columns=, to scores (n, M) or (n, D, M)
    weights: Array
    thresholds: Mapping[str, Array]
    key: Name | None = None  # the column of ids that it hashes instead of the features

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
    """A model as an audit counts its decisions: itself, unless it is a mixture that draws.

    For such a mixture, rows that share their features with many are counted as they are decided; with a
    `key`, all rows are. Each member has its own learned thresholds and areas, so both are expectations
    over the members.
    """
    if not isinstance(model, Mixture) or model.decider.draw is None:
        return model
    if model.thresholds or any(rate.compares_scores for rate in rates):
        if key is not None and len(model) > 1:
            raise ValueError(
                f"key={key!r} says which member decides each row, but each member has its own learned "
                "thresholds and rates that compare scores: leave key out, or leave these rates out"
            )
        return model
    if key is not None:
        return as_deployed(model, key)
    return Stands(model, model.counted_scores, model.weights, model.thresholds)


def as_deployed(model: Any, key: Name | None = None) -> Any:
    """The model that makes the decisions of `model`: itself, unless it draws its members.

    A hash of a row's features, or of its id in the column `key`, chooses the member that decides it. So
    a deployed mixture is one model.
    """
    if len(judged(model).chances) == 1:
        return model
    if not isinstance(model, Mixture):
        raise TypeError(
            f"{type(model).__name__} has {len(model.weights)} members and does not say which of them "
            "decides a row: certify its average behaviour, in_expectation=True"
        )

    def decisive(X: Any, *, columns: Any = None) -> Array:
        ids = None if key is None else as_array(columns[key])
        return model.decisive_scores(X, columns=columns, key=ids)[None].T

    return Stands(model, decisive, np.ones(1), {}, key)


def among_trained(model: Any, populations: dict[str, Population]) -> dict[str, Population]:
    """The populations with labels among the classes of a model, if it has more than two.

    A few rows need not have every class that a model was trained on. With two classes, rows and model
    must agree on which one is yes.
    """
    classes = getattr(model, "classes", getattr(model, "classes_", ()))
    if np.ndim(classes) != 1 or len(classes) < 2:
        return populations
    plain: Classes = tuple(map(plain_value, classes))
    if len(classes) == 2:
        for name, population in populations.items():
            if is_mixture(model) and population.classes == plain[::-1]:
                raise ValueError(
                    f"population {called(name)!r} takes {plain[0]!r} for yes, and the model takes "
                    f"{plain[1]!r}: give the rows the same, positive={plain[1]!r}"
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
    """How a model's members decide; if it does not say, one of them is drawn."""
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
    """Scores (M, A, n) of the members, which may look at known groups or at `ids`."""
    members, classes = len(model.weights), _classes(model)
    sizes = (members,) if classes == 2 else (classes, members)
    # Models from other libraries take only the features.
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
    """A classifier's predictions, (1, n), as it spells them."""
    if not callable(getattr(model, "predict", None)):
        raise TypeError(
            f"the model must be a rb.Mixture or a fitted classifier with predict, got {kind_of(model)}; "
            "give decisions that were made as decisions=..., rows=..."
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


def are_training_rows(
    problem: Problem, model: Any, people: Mapping[str, Population], first: str
) -> bool | None:
    """Whether these are the very rows that a mixture was trained on; parts of them are not recognized.

    None if it is not known. If it is known, every promise can be counted on these rows.
    """
    if not isinstance(model, Mixture) or model.record.data is None:
        return None
    if model.record.data.startswith(DIGEST):
        rows = people[FIRST]
        if rows.y is None or rows.stored:
            return None
        return digest_table(model.features(rows.X), rows.y) == model.record.data
    if problem != model.problem.asked:
        return None
    seen = {name: each.seen_through(model.features) for name, each in people.items()}
    try:
        digest = compile_on(model.problem, seen, first).digest
    except ValueError:  # a group is not among these rows, so they are others
        return None
    return bool(digest == model.record.data)
