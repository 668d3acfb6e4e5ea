"""A scorer for searches that puts promises first: searches pick by accuracy otherwise.

Each score is an audit of the fitted model on the rows that a search holds out. A promise that these rows
cannot measure, such as the recall of a group without a positive label, does not count against a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from ratebound._old.auditing.auditing import CONFIDENCE, audit
from ratebound._old.auditing.report import Audit, Promise
from ratebound._old.base.checks import check_number
from ratebound._old.estimators.given import in_order, labelled, trained_labels
from ratebound._old.problem.frames import check_order
from ratebound._old.problem.problem import Problem, promised
from ratebound._old.rates.reach import span

ASKED = {"columns": True, "sample_weight": None}  # requests to searches, by default


def make_scorer(
    promises: Any = (),
    *,
    maximize: Any = None,
    minimize: Any = None,
    positive_label: Any = None,
    confidence: float | None = None,
) -> PromisesFirst:
    """A scorer that ranks every model that keeps the promises above every model that does not.

    Use it wherever scikit-learn takes `scoring`: `GridSearchCV`, `RandomizedSearchCV`,
    `cross_val_score`. The models may be any classifiers, with two classes or more.

    - Promises kept: 1 or more. The addition is the objective, if it is a share to maximise, or 1 minus
      the objective, if it is a share to minimise; an objective that is not between 0 and 1, such as a
      cost, is mapped to between 0 and 1 in the same order. So a precision of .62 with a kept recall
      scores 1.62, and an error of .12 scores 1.88.
    - A promise broken: between 0 and 1. If the worst promise is broken by v, the score is 1 / (1 + v),
      so .99 for a recall that is 1 point too low.

    Searches take the mean over folds. A fold has few rows, so a promise that holds on new rows is
    sometimes broken there by chance: with `confidence`, that does not count against a model.

    Parameters
    ----------
    promises : constraint, str, Problem, or list of them, default=()
        The promises. A `rb.Problem` has its objective too. Empty by default.
    maximize : expression or str, default=None
        The objective to maximise among models that keep the promises.
    minimize : expression or str, default=None
        The objective to minimise instead. Without either, it is ``"error_rate()"``.
    positive_label : label, default=None
        With two labels, the one that means yes; by default the model's own, or the last in sorted order.
    confidence : float, default=None
        If given, such as 0.95, a promise counts as broken if the rows show that at this confidence. By
        default it counts as broken if it is broken on these rows.

    Returns
    -------
    PromisesFirst
        Called with a fitted model, rows and labels, and optionally ``columns=`` and ``sample_weight=``,
        it gives the score. With scikit-learn's metadata routing, searches pass `columns` on to it, and
        `sample_weight` after ``set_score_request(sample_weight=True)``.

    See Also
    --------
    ConstrainedThresholdClassifier : A classifier at the best threshold that meets constraints.
    audit : The measurements behind a score.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = make_classification(600, flip_y=0.2, random_state=0)
    >>> scorer = rb.make_scorer("recall() >= 0.8", maximize="precision()")
    >>> search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=scorer).fit(X, y)
    >>> scorer(search.best_estimator_, X, y) > 1
    True
    """
    problem = promised(promises, maximize, minimize)
    if confidence is not None:
        check_number("confidence, a probability such as 0.95,", confidence, above=0.5, below=1)
    return PromisesFirst(problem, positive_label, confidence)


class PromisesFirst(BaseEstimator):
    """The result of `make_scorer`: called with a fitted model and rows, it gives a number.

    Parameters
    ----------
    problem : Problem
        The promises, and the objective.
    positive_label : label, default=None
        With two labels, the one that means yes.
    confidence : float, default=None
        The confidence at which rows must show that a promise is broken.
    """

    def __init__(
        self, problem: Problem, positive_label: Any = None, confidence: float | None = None
    ) -> None:
        self.problem = problem
        self.positive_label = positive_label
        self.confidence = confidence

    def __call__(
        self, estimator: Any, X: Any, y: Any, columns: Any = None, sample_weight: Any = None
    ) -> float:
        """The score of a fitted model on rows with labels `y`; above 1 if it keeps the promises."""
        report = self.audit(estimator, X, y, columns, sample_weight)
        return score_of(self.problem, report, self.confidence)

    def set_score_request(self, **requests: Any) -> PromisesFirst:
        """Set what searches pass on to it, with scikit-learn's metadata routing.

        Parameters
        ----------
        **requests : bool or str
            For `columns` and `sample_weight`, whether it is passed on, or the name it has there.

        Returns
        -------
        PromisesFirst
            Itself.
        """
        if unknown := [name for name in requests if name not in ASKED]:
            raise TypeError(f"{unknown[0]}: a score may request {' and '.join(ASKED)}")
        self._metadata_request = _asking(self, {**ASKED, **requests})
        return self

    def get_metadata_routing(self) -> Any:
        """Its requests: columns, and weights if that was set.

        Returns
        -------
        MetadataRequest
            As in scikit-learn's metadata routing.
        """
        return getattr(self, "_metadata_request", None) or _asking(self, ASKED)

    def audit(
        self, estimator: Any, X: Any, y: Any, columns: Any = None, sample_weight: Any = None
    ) -> Audit:
        """The audit behind a score.

        Parameters
        ----------
        estimator : classifier
            The fitted model.
        X : DataFrame, array, sparse matrix or list
            The rows.
        y : array of shape (n,)
            The labels.
        columns : DataFrame or mapping, default=None
            Columns that promises use and `X` does not have.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.

        Returns
        -------
        Audit
            Every promise and the objective on these rows.
        """
        check_order(X, {"y": y, "sample_weight": sample_weight})
        positive = self.positive_label
        if positive is None:
            positive = getattr(estimator, "positive_label", None)
        classes = in_order(np.asarray(estimator.classes_), positive)
        rows = X if hasattr(X, "shape") else np.asarray(X)
        people = labelled(rows, trained_labels(y, classes), columns, sample_weight, classes)
        return audit(self.problem, estimator, people, confidence=self.confidence or CONFIDENCE)


def _asking(scorer: PromisesFirst, requests: Mapping[str, Any]) -> MetadataRequest:
    request = MetadataRequest(owner=scorer)
    for name, alias in requests.items():
        request.score.add_request(param=name, alias=alias)
    return request


def score_of(problem: Problem, report: Audit, confidence: float | None = None) -> float:
    """The score of an audit of a problem: promises first, then the objective."""
    broken = [
        promise
        for promise in report.promises
        if (promise.kept is False if confidence is None else promise.verdict == "broken")
    ]
    if broken:
        worst = max(max(_violation(promise), 0.0) for promise in broken)
        return 1.0 / (1.0 + worst) if worst > 0 else 1.0 - np.finfo(float).eps
    assert report.objective.value is not None  # scorers are given labels
    return 1.0 + _worth(problem, report.objective.value)


def _violation(promise: Promise) -> float:
    """By how much a promise is broken, in its own units."""
    if math.isfinite(promise.violation) or promise.slack is None:
        return promise.violation
    return -promise.slack


def _worth(problem: Problem, value: float) -> float:
    """An objective as a number from 0 to 1; more is better."""
    if value is None or not math.isfinite(value):  # such as a precision without any yes
        return 0.0
    low, high = span(problem.objective)
    if low >= 0 and high <= 1:
        return value if problem.sense == "maximize" else 1.0 - value
    gain = value if problem.sense == "maximize" else -value
    return 0.5 + gain / (2.0 * (1.0 + abs(gain)))
