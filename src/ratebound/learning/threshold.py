"""The best threshold on a classifier's score is found among all of them at once.

Rows in order of their scores make every threshold a prefix, so what each does is a cumulative sum.
From there on a threshold is a rule like any other. Constraints on one rate each are tested exactly
at every threshold; others take margins, by the same code as those of other rules.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_method_params,
    _check_response_method,
    check_is_fitted,
    validate_data,
)

from ratebound._bridge import digest_table
from ratebound.learning.confidence import MarginSearch
from ratebound.learning.evidence import Audited
from ratebound.learning.floors import Thresholds
from ratebound.learning.folds import deal_folds, digest_rows, find_units
from ratebound.learning.given import as_problem, check_order, read_clusters, read_labels
from ratebound.learning.influence import measure_influence
from ratebound.learning.learning import compile_problem
from ratebound.learning.models import fit_clone
from ratebound.learning.options import TEXT, Check, check_options, number
from ratebound.learning.status import make_status, warn_of_status
from ratebound.problem.compile import compile_pieces
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.rates.sums import FIRST

USUAL = {"predict_proba": 0.5, "decision_function": 0.0}  # thresholds of classifiers themselves
CHECKS = {
    "confidence": number(above=0, below=1),
    "refer": TEXT,
    "response_method": Check(
        lambda value: value in ("auto", *USUAL), f"'auto' or of {list(USUAL)}"
    ),
}


class ConstrainedThresholdClassifier(Audited, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier at the best of all thresholds on its score that meet rate constraints.

    It takes the place of scikit-learn's `TunedThresholdClassifierCV`. Each row is scored by a clone
    of the classifier that did not see it, and the mean score of these very clones decides new rows:
    what is judged is deployed, and nothing is fitted again.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier with `predict_proba` or `decision_function`.
    constraints : constraint, str, or list of them, default=()
        The constraints, such as ``"recall() >= 0.95"``, about everyone or about groups.
    objective : sum of rates, str or Problem, default="error_rate()"
        What to minimise, or a text such as ``"maximize precision()"``.
    confidence : float or None, default=0.9
        The confidence that all constraints hold on new rows. Constraints on one rate each, such as
        recall in a group, take exact binomial tests. Any others take margins, and so do all of them
        if no threshold is sure enough; then `status_` says which confidence is reached. None
        asks only for these rows.
    positive_label : label, default=None
        The label of rows from the threshold on; by default the last in order. With more than two
        labels it must be named, and other rows get the most likely other label.
    refer : str, default=None
        The decision on rows below the threshold, to ask a person. The score then belongs to the
        most likely label, which all other rows get.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The score; "auto" is the first of the two that the classifier has.
    cv : int, splitter, iterable or "prefit", default=5
        How many folds, or how rows are split. With "prefit" the classifier is taken as it is, and
        `fit` needs rows that it was not trained on.
    random_state : int or RandomState, default=None
        The seed of the folds, and of clones that have none.

    Attributes
    ----------
    best_threshold_ : float
        The score from which on rows pass; infinite if none do, or all.
    best_score_ : float
        The objective there, out of fold.
    estimators_ : list
        The fitted classifiers whose mean score decides.
    status_ : Status
        Whether constraints are met, and how sure that is on new rows; print it.
    problem_ : Problem
        The objective and the constraints.
    classes_ : array
        The labels in order.

    Examples
    --------
    The best precision at a recall of 80%, on new rows with a confidence of 90%:

    >>> from ratebound.learning.threshold import ConstrainedThresholdClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(4000, weights=[0.8], random_state=0)
    >>> goal = {"objective": "maximize precision()", "constraints": "recall() >= 0.8"}
    >>> model = ConstrainedThresholdClassifier(LogisticRegression(), **goal, random_state=0)
    >>> model = model.fit(X[:2000], y[:2000])
    >>> bool(model.predict(X[2000:])[y[2000:] == 1].mean() >= 0.8)
    True
    """

    __metadata_request__fit = {"columns": True, "clusters": True}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        constraints: Any = (),
        *,
        objective: Any = "error_rate()",
        confidence: float | None = 0.9,
        positive_label: Any = None,
        refer: str | None = None,
        response_method: str = "auto",
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.constraints = constraints
        self.objective = objective
        self.confidence = confidence
        self.positive_label = positive_label
        self.refer = refer
        self.response_method = response_method
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.classifier_tags.multi_class = bool(self.positive_label is not None or self.refer)
        return tags

    def get_metadata_routing(self) -> Any:
        """Return which arguments of `fit` go to the classifier, and to the splitter.

        Returns
        -------
        MetadataRouter
            As in scikit-learn's metadata routing.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    # --- fitting ---

    def fit(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        clusters: Any = None,
        **params: Any,
    ) -> Any:
        """Score rows out of fold, and choose a threshold.

        Parameters
        ----------
        X : data frame, array, sparse matrix or list
            The rows, as the classifier takes them. Constraints may name the columns of a table.
        y : array of shape (n,)
            The labels.
        columns : data frame or mapping, default=None
            Columns that constraints name and the classifier must not see.
        sample_weight : array of shape (n,), default=None
            How much each row counts, in rates and for the classifier; with scikit-learn's metadata
            routing, for the classifier if it requests it.
        clusters : str or array of shape (n,), default=None
            Which rows were drawn together, such as those of one customer: a column, or ids. By
            default copies were.
        **params : any
            What the classifier's `fit`, or the splitter, requests by metadata routing.

        Returns
        -------
        ConstrainedThresholdClassifier
            Itself. It warns if constraints are violated, or all rows are decided alike.
        """
        self.__dict__.pop("status_", None)  # of an earlier fit
        check_options(self, CHECKS)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(
                f"estimator= takes a classifier, as in LogisticRegression(); got {self.estimator!r}"
            )
        _raise_for_params(params, self, "fit")
        check_order(X, y, columns)
        X = self._check_table(X)
        validate_data(self, X, skip_check_array=True)
        y = read_labels(y, X.shape[0])
        self.classes_ = self._read_classes(y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if self.refer in self.classes_.tolist():
            raise ValueError(f"refer={self.refer!r} is one of the labels: give it another name")
        population = self._read_rows(X, y, columns, weights=sample_weight)
        if clusters is not None:
            clusters = read_clusters(clusters, population)
        self.problem_ = as_problem(self.objective, self.constraints)
        compiled = compile_problem(self.problem_, {FIRST: population})
        self.digest_ = digest_table(X, population.class_indices(None, tuple(self.labels_)))
        kinds = len(self.classes_) * compiled.cell + np.searchsorted(self.classes_, y)
        unit = find_units(X, _digest(X), kinds, clusters)

        if self.cv == "prefit":
            self.estimators_ = [self.estimator]
            rows = np.arange(len(y))
            responses = self._respond(self.estimator, X)
        else:
            for_fit = {"weights": sample_weight}
            for_split = {"groups": clusters}
            if _routing_enabled():
                routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
                for_fit = routed.estimator.fit
                for_split = routed.splitter.split
            splitter = self.cv
            if isinstance(splitter, int) and splitter > 1:
                splitter = PredefinedSplit(deal_folds(unit, kinds, seed, splitter))
                for_split = {}
            splits = list(check_cv(splitter, y, classifier=True).split(X, y, **for_split))
            rows = np.concatenate([test for _, test in splits])
            responses = self._fit_clones(X, y, splits, seed, for_fit)

        pieces = {FIRST: [population.select(rows)]}
        scored = compile_pieces(self.problem_, pieces, compiled.reference, like=compiled)
        unit = np.unique(unit[rows], return_inverse=True)[1]
        self._choose_threshold(scored, responses, unit, seed)
        warn_of_status(self.status_)
        if self.status_.feasible and self.status_.remarks:
            warnings.warn(str(self.status_), stacklevel=2)
        return self

    def _read_classes(self, y: Any) -> Any:
        if self.cv == "prefit":
            check_is_fitted(self.estimator)
            return np.asarray(self.estimator.classes_)
        classes = np.unique(y)
        if len(classes) > 2 and not get_tags(self).classifier_tags.multi_class:
            raise ValueError(
                "Only binary classification is supported. With more labels, name the one that the "
                f"threshold is for, as in positive_label={classes.tolist()[0]!r}"
            )
        return classes

    def _fit_clones(
        self,
        X: Any,
        y: Any,
        splits: Any,
        seed: int,
        options: Any,
    ) -> Any:
        """Fit a clone for every fold, and return the responses on the rows that it did not see."""
        self.estimators_ = []
        responses = []
        for train, test in splits:
            missing = np.setdiff1d(self.classes_, y[train])
            if len(missing):
                raise ValueError(
                    f"a fold trains on no row of class {missing[0].item()!r}: bring more such "
                    "rows, or fit the classifier before, and say cv='prefit'"
                )
            of_rows = _check_method_params(X, options, indices=train)
            part = _safe_indexing(X, train)
            fit = fit_clone(self.estimator, part, y[train], seed=seed, **of_rows)
            self.estimators_.append(fit)
            responses.append(self._respond(fit, _safe_indexing(X, test)))
        return np.concatenate(responses)

    def _choose_threshold(
        self,
        compiled: Compiled,
        responses: Any,
        unit: Any,
        seed: int,
    ) -> None:
        score, decisions = self._read_responses(responses)
        usual = USUAL[self._method] if self.refer is None else -np.inf
        rules = Thresholds(compiled, score[None], decisions=decisions, usual=usual)
        rule = rules.find_cheapest(0.0)
        claim = None
        if compiled.rows and self.confidence is not None:
            influence = measure_influence(compiled, unit)
            shown = rules.find_shown(influence.weights, unit, self.confidence)
            if shown is not None:
                rule, claim = shown
            else:
                search = MarginSearch(rules, rules.find_cheapest, influence, self.confidence, seed)
                best, claim = search.choose()
                rule = best.rule
        self.best_threshold_ = float(rule.weights[0])
        self.status_ = make_status(rules, rule, claim)
        self.best_score_ = self.status_.reached

    # --- labels and scores ---

    @property
    def _method(self) -> str:
        methods = list(USUAL) if self.response_method == "auto" else self.response_method
        return _check_response_method(self.estimator, methods).__name__

    def _respond(self, fit: Any, X: Any) -> Any:
        """Return how much a fitted classifier favours each label (n, L)."""
        values = np.asarray(getattr(fit, self._method)(X), dtype=float)
        if not np.isfinite(values).all():
            raise ValueError(
                f"{type(fit).__name__}.{self._method} gives NaN or infinite scores, so no "
                "threshold orders the rows: fill missing values before"
            )
        if values.ndim == 1:
            values = np.column_stack([-values, values])
        classes = self.classes_.tolist()
        return values[:, [classes.index(label) for label in self.labels_]]

    def _read_responses(self, responses: Any) -> tuple[Any, Any]:
        """Return scores (n,), and decisions (2, n) below a threshold and from it on."""
        last = np.full(len(responses), len(self.classes_))
        if self.refer is not None:
            return responses.max(axis=1), np.stack([last, responses.argmax(axis=1)])
        below = responses[:, :-1].argmax(axis=1)
        return responses[:, -1], np.stack([below, last - 1])

    def _score(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        responses = [self._respond(fit, X) for fit in self.estimators_]
        return self._read_responses(np.mean(responses, axis=0))

    # --- deciding ---

    def predict(self, X: Any) -> Any:
        """Return the decision on each row.

        Parameters
        ----------
        X : data frame, array, sparse matrix or list
            The rows, as the classifier takes them.

        Returns
        -------
        array of shape (n,)
            The labels, or the referral.
        """
        score, (below, above) = self._score(X)
        return self.decisions_[np.where(score >= self.best_threshold_, above, below)]

    def decision_function(self, X: Any) -> Any:
        """Return how far the score of each row is above the threshold.

        Parameters
        ----------
        X : data frame, array, sparse matrix or list
            The rows, as the classifier takes them.

        Returns
        -------
        array of shape (n,)
            With two labels, it is above 0 if the decision is ``classes_[1]``.
        """
        above = self._score(X)[0] - np.clip(self.best_threshold_, -1e300, 1e300)
        return -above if self.labels_ == self.classes_[::-1].tolist() else above

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each label, whatever the decision.

        Parameters
        ----------
        X : data frame, array, sparse matrix or list
            The rows, as the classifier takes them.

        Returns
        -------
        array of shape (n, L)
            A column for each of `classes_`.
        """
        check_is_fitted(self)
        return np.mean([fit.predict_proba(X) for fit in self.estimators_], axis=0)

    # --- evidence ---

    def _check_table(self, X: Any) -> Any:
        return indexable(X if hasattr(X, "shape") else np.asarray(X))[0]

    @property
    def _has_policy(self) -> bool:
        return len(self.classes_) == 2 or self.refer is not None

    def _predict(self, table: Any, rows: Population) -> Any:
        return self.predict(table)


def _digest(X: Any) -> Any:
    """Return a number for every row (n,), the same for equal ones, which may be texts."""
    if isinstance(X, np.ndarray) and (X.ndim != 2 or X.dtype.kind not in "biuf"):
        X = np.unique(X.astype(str), axis=0, return_inverse=True)[1].reshape(-1, 1)
    return digest_rows(X)
