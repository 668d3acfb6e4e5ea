"""What is asked of a scikit-learn classifier, and what it answers, for any number of classes.

It is asked in weighted rows. Let a row cost c(d) if it is decided d, and have a copy for each class d,
labelled d, of weight g(d) = max c - c(d). If h is decided, the copies have the weighted error
Σ_d g(d) [h != d] = c(h) + a constant. So the decisions of least weighted error are those of least cost:
exactly, for a classifier that minimises its errors. Most minimise a loss in their place, and answer as
well as that stands for it. Copies of no weight are left out; errors and recalls leave one for each row.

It answers with a score for each class, also for those it saw no row of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.learners.boosted import own_margins
from ratebound.learners.linear import LinearScorer
from ratebound.problem.deciding import score_count
from ratebound.problem.frames import frame_columns

FAINTEST = 1e-12  # a probability that is never the largest, and has a logarithm
ROUNDING = 1e-13  # costs are the same up to this share of the largest


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """A weighted problem: rows by their places, some of them more than once, each with a label."""

    rows: Array  # (r,) in order
    labels: Array  # (r,) int
    weights: Array  # (r,) positive


def weighted_rows(cost: Array, row_weights: Array | None = None) -> WeightedRows:
    """The weighted problem of rows that cost (n, D) for each decision.

    Weights sum to those of the rows, so that even to a regularised model a row of weight 2 is two.

    >>> asked = weighted_rows(np.array([[0.0, 1.0, 1.0], [3.0, 1.0, 0.0], [2.0, 2.0, 2.0]]))
    >>> asked.rows, asked.labels, asked.weights
    (array([0, 1, 1]), array([0, 1, 2]), array([0.33333333, 0.66666667, 1.        ]))
    """
    gains = cost.max(axis=1, keepdims=True) - cost
    gains[gains <= ROUNDING * np.abs(cost).max(initial=0.0)] = 0.0
    rows, labels = np.nonzero(gains)
    weights = gains[rows, labels] / gains.max(initial=ROUNDING)  # equal ones are 1 to the last bit
    counted = np.unique(rows)
    total = len(counted) if row_weights is None else row_weights[counted].sum()
    return WeightedRows(rows, labels, weights * (total / weights.sum()) if len(rows) else weights)


def member_scores(member: Any, X: Any, decisions: int) -> Array:
    """Scores (A, n) of a member, a fitted estimator or the one class it decides."""
    each = score_count(decisions)
    if isinstance(member, int):
        chosen = np.arange(decisions)[-each:] == member
        return np.where(chosen, 1.0, -1.0)[:, None].repeat(X.shape[0], axis=1)
    if (margins := own_margins(member, X, decisions)) is not None:
        return margins
    return _yes(member, X)[None] if each == 1 else _each_class(member, X, decisions)


def _yes(member: Any, X: Any) -> Array:
    """Scores (n,) of a yes, from 0 on."""
    if hasattr(member, "decision_function"):
        return np.asarray(member.decision_function(X), dtype=float)
    if hasattr(member, "predict_proba"):
        return np.asarray(member.predict_proba(X), dtype=float)[:, 1] - 0.5
    return np.asarray(member.predict(X), dtype=float) - 0.5


def _each_class(member: Any, X: Any, decisions: int) -> Array:
    """Scores (D, n); classes that an estimator saw no row of are never the largest."""
    seen = _seen(member, decisions)
    if hasattr(member, "decision_function") and not _in_pairs(member):
        found = np.asarray(member.decision_function(X), dtype=float)
        if found.ndim == 1:
            found = np.column_stack([-found, found])
        if found.shape[1] == len(seen):
            return _placed(found.T, seen, found.mean(axis=1) - 1, decisions)
    if hasattr(member, "predict_proba"):
        odds = np.asarray(member.predict_proba(X), dtype=float)
        return _placed(np.log(odds.T.clip(min=FAINTEST)), seen, np.log(FAINTEST), decisions)
    return np.where(np.arange(decisions)[:, None] == member.predict(X), 1.0, -1.0)


def _in_pairs(member: Any) -> bool:
    """Whether it scores pairs of classes, as an SVC can; three classes have as many pairs."""
    given = member.get_params() if hasattr(member, "get_params") else {}
    return any(v == "ovo" for name, v in given.items() if name.endswith("decision_function_shape"))


def _placed(found: Array, seen: Array, otherwise: Any, decisions: int) -> Array:
    """Values (k, ...) of the classes seen, among those of all (D, ...)."""
    every = np.empty((decisions, *found.shape[1:]))
    every[:] = otherwise
    every[seen] = found
    return every


def _seen(member: Any, decisions: int) -> Array:
    """The numbers of the classes that an estimator was fitted to, as its scores are in order."""
    if not hasattr(member, "classes_"):
        raise TypeError(
            f"{type(member).__name__} has no classes_ once it is fitted: more than two classes need a "
            "classifier, such as LogisticRegression or RandomForestClassifier"
        )
    found = np.asarray(member.classes_).astype(int)
    if found.ndim != 1 or not np.isin(found, np.arange(decisions)).all():
        raise ValueError(f"{type(member).__name__} was not fitted to {decisions} classes: {found}")
    return found


def linear_scorer(decisions: int) -> LinearScorer:
    """The scorer of members that are kept as their numbers."""
    return LinearScorer("float64", decisions)


def as_linear(member: Any, X: Any, decisions: int) -> tuple[Array | None, Array]:
    """The parameters of a member whose scores are w · x + b, else None; and its scores."""
    scores = member_scores(member, X, decisions)
    if frame_columns(X) or X.ndim != 2 or X.dtype.kind not in "buif":
        return None, scores
    forms = _forms(member, X.shape[1], scores, decisions)
    if forms is None:
        return None, scores
    flat = forms.ravel().astype(float)
    linear = linear_scorer(decisions).scores(flat[None], X)[0]
    same = np.allclose(linear, scores, rtol=1e-4, atol=1e-4)
    return (flat, linear) if same else (None, scores)


def _forms(member: Any, width: int, scores: Array, decisions: int) -> Array | None:
    """Weights and intercepts (A, d + 1) as they stand in a member; None where none do."""
    if isinstance(member, int):
        return np.column_stack([np.zeros((len(scores), width)), scores[:, :1]])
    weights = np.atleast_2d(getattr(member, "coef_", ()))
    intercepts = np.ravel(getattr(member, "intercept_", ()))
    if weights.shape != (len(intercepts), width) or not hasattr(member, "decision_function"):
        return None
    forms = np.column_stack([weights, intercepts])
    if len(scores) == 1:
        return forms if len(forms) == 1 else None
    seen = _seen(member, decisions)
    if len(forms) == 1:
        forms = np.vstack([-forms, forms])
    if len(forms) != len(seen):
        return None
    lower = forms.mean(axis=0)
    lower[-1] -= 1
    return _placed(forms, seen, lower, decisions)
