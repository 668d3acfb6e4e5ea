"""A fitted scikit-learn classifier that says yes from a threshold on: how it scores rows, and its file.

The classifier is written with skops (see `_archives`), and the threshold is the model's one parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Saved, Scorer, register_scorer
from ratebound._old.learners._archives import archived, restored

RESPONSES = ("auto", "predict_proba", "decision_function")
LARGEST = np.finfo(float).max  # stands for an infinite threshold
FAINTEST = 1e-12  # a probability that has a logarithm


@register_scorer
@dataclass(frozen=True, eq=False)
class TunedScorer(Scorer):
    """Scores of one classifier above thresholds, the parameters (M, 1)."""

    estimator: Any
    method: str  # that scores rows
    place: int  # of yes among its classes
    kind: ClassVar[str] = "tuned"
    tables: ClassVar[bool] = True

    def scores(self, parameters: Array, X: Any) -> Array:
        return (scored(self.estimator, X, self.method, self.place) - parameters)[:, None]

    def label_scores(self, parameters: Array, X: Any) -> Array:
        if not hasattr(self.estimator, "predict_proba"):
            return self.scores(parameters, X)
        likely = scored(self.estimator, X, "predict_proba", self.place)
        likely = likely.clip(FAINTEST, 1 - FAINTEST)
        return np.tile(np.log(likely / (1 - likely)), (len(parameters), 1, 1))

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        own = {"method": self.method, "place": self.place}
        return own, {"estimator": np.frombuffer(archived(self.estimator), np.uint8)}

    @classmethod
    def read(cls, saved: Saved) -> TunedScorer:
        method, place = saved.description["method"], saved.description["place"]
        if method not in RESPONSES[1:] or place not in (0, 1) or type(place) is not int:
            raise ValueError("it does not say what its threshold is on")
        if saved.parameters.shape[1] != 1:
            raise ValueError("each of its models has one threshold")
        estimator = restored(saved.arrays["estimator"].tobytes(), saved.trusted)
        if len(getattr(estimator, "classes_", ())) != 2 or not hasattr(estimator, method):
            raise ValueError(f"its {type(estimator).__name__} is not a classifier of two classes")
        return cls(estimator, method, place)


def tuned_scorer(estimator: Any, response: str, yes: Any) -> TunedScorer:
    """The scorer of a fitted classifier, the higher the more it favours `yes`."""
    return TunedScorer(estimator, response_of(estimator, response), _place(estimator, yes))


def scores_of(estimator: Any, X: Any, response: str, yes: Any) -> Array:
    """A score for each row (n,), the higher the more it favours `yes`; checked."""
    return scored(estimator, X, response_of(estimator, response), _place(estimator, yes))


def _place(estimator: Any, yes: Any) -> int:
    classes: Sequence[Any] = np.asarray(estimator.classes_).tolist()
    if yes not in classes or len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} was fitted on labels {classes}, and the threshold is for "
            f"{yes!r} against one other: bring more rows, or use fewer folds"
        )
    return classes.index(yes)


def scored(estimator: Any, X: Any, method: str, place: int) -> Array:
    """What a method of a classifier gives for each row (n,), towards the class at `place`; checked."""
    values = np.asarray(getattr(estimator, method)(X), dtype=float)
    if values.ndim == 2 and values.shape[1] == 2:
        other = 0.0 if method == "predict_proba" else values[:, 1 - place]
        scores = values[:, place] - other
    else:
        scores = values.reshape(-1) * (1.0 if place == 1 else -1.0)
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(
            f"{type(estimator).__name__}.{method} gives {scores[row]} for row {row}, so there is no "
            "order to set a threshold in: fill or cap what leads to it, or use another response_method"
        )
    return scores


def response_of(estimator: Any, asked: str) -> str:
    """The method that scores rows."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator takes a classifier, such as LogisticRegression(), got {estimator!r}")
    methods = RESPONSES[1:] if asked == "auto" else (asked,)
    for method in methods:
        if hasattr(estimator, method):
            return method
    raise TypeError(
        f"{type(estimator).__name__} has no {' or '.join(methods)}, so there is no score to set a "
        "threshold on: use a classifier that has, or wrap it in sklearn's CalibratedClassifierCV"
    )
