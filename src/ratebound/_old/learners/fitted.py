"""Fitted classifiers and regressions as scorers: arrays and trees if possible.

Linear models and networks are kept as arrays, after imputers and scalers, and models of LightGBM and
XGBoost as trees. Each is compared with the fitted model on some rows. All others are archived.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Scorer, register_scorer
from ratebound._old.learners._trees import Trees
from ratebound._old.learners.boosted import BoostedScorer, as_trees, library_of
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.learners.network import NetworkScorer, flatten
from ratebound._old.learners.oracle import FAINTEST, OracleScorer, member_scores
from ratebound._old.learners.rule import Question

Found = tuple[Scorer, Array, Array | None]  # parameters, and what fills gaps (F, d)
NEVER = -1000.0  # log odds of an answer that a model does not know
COMPARED = 200  # rows
NEAR = 1e-5  # probabilities in single precision differ by less
SLIGHT = 1e-12  # what a score that contradicts the decision is moved beyond 0


@register_scorer
@dataclass(frozen=True)
class ClassifierScorer(OracleScorer):
    """Scores of fitted classifiers that decide exactly as the classifiers do themselves."""

    kind: ClassVar[str] = "classifier"

    def scores(self, parameters: Array, X: Any) -> Array:
        return np.stack([self._score(self.members[int(index)], X) for index in parameters[:, 0]])

    def _score(self, member: Any, X: Any) -> Array:
        scores = self._label_scores(member, X)
        decided = np.asarray(member.predict(X), dtype=int)
        if len(scores) > 1:
            rows = np.arange(len(decided))
            scores[decided, rows] = np.nextafter(scores.max(axis=0), np.inf)
            return scores
        is_yes = decided == 1
        return np.where(is_yes, np.maximum(scores, 0.0), np.minimum(scores, -SLIGHT))

    def label_scores(self, parameters: Array, X: Any) -> Array:
        members = [self.members[int(index)] for index in parameters[:, 0]]
        return np.stack([self._label_scores(member, X) for member in members])

    def _label_scores(self, member: Any, X: Any) -> Array:
        if not hasattr(member, "predict_proba"):
            return member_scores(member, X, self.decisions)
        chances = np.full((self.decisions, X.shape[0]), FAINTEST)
        chances[np.asarray(member.classes_, dtype=int)] = member.predict_proba(X).T
        logs = np.log(chances.clip(min=FAINTEST))
        return logs[1:] - logs[:1] if self.decisions == 2 else logs


def as_scorer(classifier: Any, labels: int, is_table: bool) -> tuple[Scorer, Array]:
    """Return a scorer and parameters (1, P) for a classifier that decides itself, among 0, 1, ..."""
    if hasattr(classifier, "predict_proba"):
        question = ask_classifiers([classifier], labels, [list_codes(classifier)], is_table)
        if not question.places and question.fill is None:
            return question.scorer, question.parameters
    return ClassifierScorer((classifier,), labels), np.zeros((1, 1))


def list_codes(fit: Any) -> tuple[int, ...]:
    """Return the labels that a classifier knows."""
    return tuple(np.asarray(fit.classes_, dtype=int).tolist())


def ask_classifiers(
    fits: Sequence[Any],
    answers: int,
    places: Sequence[tuple[int, ...]],
    is_table: bool,
    sharpness: float = 1.0,
) -> Question:
    """Return the classifiers of all folds as a question; `places` are the answers that each knows."""
    archived = OracleScorer(tuple(fits), answers)
    indices = np.arange(len(fits))[:, None]
    as_they_are = Question(
        archived, indices, answers, sharpness=sharpness, places=tuple(map(tuple, places))
    )
    if is_table:
        return as_they_are
    width = max(getattr(each, "n_features_in_", 1) for each in fits)
    rows = np.random.default_rng(0).normal(size=(COMPARED, width))
    parts = _find_trees(fits, answers, places, rows) or _find_layers(fits, answers, places, width)
    if parts is None:
        return as_they_are
    scorer, parameters, fill = parts
    question = Question(scorer, parameters, answers, sharpness=sharpness, fill=fill)
    return question if _agree(question, as_they_are, rows) else as_they_are


def ask_regressions(fits: Sequence[Any], answers: int) -> Question:
    """Return linear regressions, one for each fold, as a question of so many values."""
    width = fits[0].n_features_in_
    decisions = 2 if answers == 1 else max(answers, 3)
    parts = _join([_read_layers(fit, width) for fit in fits], decisions)
    if parts is None:
        raise ValueError(f"only linear regressions can be saved, not {fits[0]!r}")
    scorer, parameters, fill = parts
    return Question(scorer, parameters, answers, of_values=True, fill=fill)


def ask_scores(fits: Sequence[Any], is_table: bool) -> Question:
    """Return the scores of classifiers of two labels, one for each fold, as a question of one value."""
    indices = np.arange(len(fits))[:, None]
    as_they_are = Question(OracleScorer(tuple(fits)), indices, 1, of_values=True)
    if is_table:
        return as_they_are
    width = fits[0].n_features_in_
    parts = _join([_read_layers(fit, width) for fit in fits], 2)
    if parts is None:
        return as_they_are
    scorer, parameters, fill = parts
    question = Question(scorer, parameters, 1, of_values=True, fill=fill)
    rows = np.random.default_rng(0).normal(size=(COMPARED, width))
    return question if _agree(question, as_they_are, rows) else as_they_are


def _agree(question: Question, as_they_are: Question, rows: Array) -> bool:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the names of features
        difference = question.ask(rows) - as_they_are.ask(rows)
    return bool(np.abs(difference).max() < NEAR)


# --- trees ----------------------------------------------------------------------------------------


def _find_trees(
    fits: Sequence[Any], answers: int, places: Sequence[tuple[int, ...]], rows: Array
) -> Found | None:
    """Return the trees of LightGBM or XGBoost, and a leaf for a fold with one answer."""
    libraries = {library_of(fit) for fit in fits} - {None}
    if len(libraries) != 1:
        return None
    library = str(libraries.pop())
    ensembles = []
    for fit, known in zip(fits, places, strict=True):
        if library_of(fit) is None and len(known) == 1 and answers == 2:
            ensembles.append(_make_leaf(rows.shape[1], NEVER * (1 - 2 * known[0])))
            continue
        if library_of(fit) != library or list(known) != list(range(answers)):
            return None
        trees = as_trees(fit, library, rows, answers)
        if trees is None:
            return None
        ensembles.append(trees[0])
    counts = [[index, trees.count] for index, trees in enumerate(ensembles)]
    return BoostedScorer(ensembles), np.array(counts, dtype=float), None


def _make_leaf(width: int, value: float) -> Trees:
    nothing = np.empty(0, np.int32)
    flags = np.zeros(1, np.uint8)
    return Trees(width, 1, np.array([-1], np.int32), np.array([value]), flags, nothing, nothing)


# --- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Layers:
    """The weights (inputs, outputs) and biases of layers, after missing features are filled in."""

    layers: list[tuple[Array, Array]]
    activation: str = "identity"
    fill: Array | None = None


def _find_layers(
    fits: Sequence[Any], answers: int, places: Sequence[tuple[int, ...]], width: int
) -> Found | None:
    """Return linear models or networks as arrays."""
    placed = []
    for fit, known in zip(fits, places, strict=True):
        layers = _read_layers(fit, width)
        placed.append(None if layers is None else _place(layers, answers, known))
    return _join(placed, answers)


def _read_layers(fit: Any, width: int) -> Layers | None:
    """Return a linear model or a network, with the imputer and the scalers before it."""
    from sklearn.dummy import DummyClassifier

    *before, last = _list_steps(fit)
    if isinstance(last, DummyClassifier):
        shares = np.atleast_1d(last.class_prior_)
        return Layers([(np.zeros((width, len(shares))), np.log(shares))])
    if hasattr(last, "coefs_") and hasattr(last, "activation"):
        layers = list(zip(last.coefs_, last.intercepts_, strict=True))
        activation = last.activation
    elif hasattr(last, "coef_") and hasattr(last, "intercept_"):
        weights = np.atleast_2d(last.coef_).T
        layers = [(weights, np.zeros(weights.shape[1]) + last.intercept_)]
        activation = "identity"
    else:
        return None
    fill = None
    for step in reversed(before):
        if hasattr(step, "statistics_"):
            fill = np.asarray(step.statistics_, dtype=float)
        elif hasattr(step, "scale_") and hasattr(step, "with_mean"):
            scale = 1.0 if step.scale_ is None else step.scale_
            center = np.zeros(width) if not step.with_mean else step.mean_
            weights, biases = layers[0]
            weights = (weights.T / scale).T
            layers[0] = weights, biases - center @ weights
            fill = fill if fill is None else fill * scale + center
        else:
            return None
    is_filled = fill is None or (len(fill) == width and bool(np.isfinite(fill).all()))
    return Layers(layers, activation, fill) if is_filled and len(layers[0][0]) == width else None


def _list_steps(pipeline: Any) -> list[Any]:
    """Return the steps of a pipeline, in which there may be others."""
    if not hasattr(pipeline, "steps"):
        return [pipeline]
    return [part for _, step in pipeline.steps for part in _list_steps(step)]


def _place(read: Layers, answers: int, places: tuple[int, ...]) -> Layers:
    """Return layers whose scores are those of all answers, or of the second of two."""
    *hidden, (weights, biases) = read.layers
    if len(biases) == 1 and len(places) == 2:
        weights = np.column_stack([np.zeros(len(weights)), weights])
        biases = np.append(0.0, biases)
    of_all = np.zeros((len(weights), answers))
    constants = np.full(answers, NEVER)
    of_all[:, list(places)] = weights
    constants[list(places)] = biases
    if answers == 2:
        of_all = of_all[:, 1:] - of_all[:, :1]
        constants = constants[1:] - constants[:1]
    return Layers([*hidden, (of_all, constants)], read.activation, read.fill)


def _join(models: Sequence[Layers | None], decisions: int) -> tuple[Scorer, Array, Array | None] | None:
    """Return one scorer for the models of all folds, their parameters, and what fills gaps (F, d)."""
    known = [model for model in models if model is not None]
    if len(known) < len(models):
        return None
    sizes = {tuple(len(weights) for weights, _ in model.layers) for model in known}
    fills = [model.fill for model in known if model.fill is not None]
    activations = {model.activation for model in known}
    if len(sizes) > 1 or len(activations) > 1 or len(fills) not in (0, len(known)):
        return None
    fill = np.stack(fills) if fills else None
    if len(known[0].layers) > 1:
        outputs = len(known[0].layers[-1][1])
        scorer: Scorer = NetworkScorer((*sizes.pop(), outputs), activations.pop())
        return scorer, np.stack([flatten(model.layers) for model in known]), fill
    forms = [_make_form(*model.layers[0], decisions) for model in known]
    return LinearScorer("float64", decisions), np.stack(forms), fill


def _make_form(weights: Array, biases: Array, decisions: int) -> Array:
    """Return the parameters (P,) of a linear scorer, which has one score or three and more."""
    form = np.column_stack([weights.T, biases])
    missing = (1 if decisions == 2 else decisions) - len(form)
    return np.vstack([form, np.zeros((missing, form.shape[1]))]).ravel()
