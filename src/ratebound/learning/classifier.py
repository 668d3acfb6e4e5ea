"""A scikit-learn classifier that meets rate constraints: fit, predict, what_if, prices, reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from ratebound.learning.features import fit_encoding, stack_rows
from ratebound.learning.given import as_problem, check_order, check_rows, read_population
from ratebound.learning.learning import Learned, Model, PlainModel, learn_rules
from ratebound.learning.models import fit_clone, make_label_model
from ratebound.learning.reasons import Reasons, give_reasons
from ratebound.learning.rules import Rule, Rules
from ratebound.learning.solve import CHANGES, Price, compute_price, find_best_rule, rebuild_rules
from ratebound.learning.status import Status, make_status, warn_if_violated
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.sums import FIRST

UNCONSTRAINED = "minimize error_rate()"  # a problem that the plain model solves


class RateConstrainedClassifier(ClassifierMixin, BaseEstimator):
    """Trains the cheapest model that meets rate constraints, and says how sure it is on new rows.

    Parameters
    ----------
    constraints : texts, or built of rates. Without any, it is the plain model, bit for bit.
    objective : what to minimise, or a text such as "maximize f_score()".
    model : "linear", "lightgbm", "xgboost", "catboost", "mlp", or a classifier with predict_proba.
    confidence : that all constraints hold on new rows; None asks only for these rows.
    known : columns that may be used when deciding, besides the features.
    refer : the name of one more decision, which no row has as label: to ask a person.
    positive_label : of two labels the one that means yes; by default the last.
    features : the columns of a table that the model sees; constraints may use others, too.
    """

    model_: Model | PlainModel
    __metadata_request__fit = {"columns": True}  # noqa: RUF012  # scikit-learn's own convention

    def __init__(
        self,
        constraints: Any = (),
        *,
        objective: Any = "error_rate()",
        model: Any = "linear",
        confidence: float | None = 0.9,
        known: str | Sequence[str] | None = None,
        refer: str | None = None,
        positive_label: Any = None,
        features: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.objective = objective
        self.model = model
        self.confidence = confidence
        self.known = known
        self.refer = refer
        self.positive_label = positive_label
        self.features = features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # --- fitting ---

    def fit(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        clusters: Any = None,
        **populations: Any,
    ) -> Any:
        """Train on rows `X` with labels `y`.

        Constraints may name `columns`, which the model does not see. `clusters` (n,) name rows
        that were drawn together, such as those of one customer. `populations` are further ones,
        for rates with ``on=``: each a table, or a tuple of a table, labels (or None) and columns.
        """
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise ValueError(f"confidence= is between 0 and 1, or None, got {self.confidence!r}")
        check_order(X, y, columns)
        X = check_rows(self, X, reset=True)
        y = column_or_1d(y, warn=True)
        self.classes_ = _read_classes(X, y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        problem = as_problem(self.objective, self.constraints)
        _check_names(problem, populations)

        model = make_label_model(self.model, len(y), sparse=hasattr(X, "tocsr"))
        is_named = isinstance(self.model, str)
        self.encoding_ = fit_encoding(X, self.features, model, is_named)
        if str(problem) == UNCONSTRAINED and self.refer is None:
            return self._fit_plain(model, X, y, weights, seed)

        options = {"weights": weights, "classes": self.labels_, "refer": self.refer}
        first = read_population(X, y, columns, **options)
        if isinstance(clusters, str):
            clusters = np.unique(first.columns[clusters], return_inverse=True)[1]
        tables = [X]
        read = {FIRST: first}
        for name, rows in populations.items():
            table, read[name] = self._read_other(rows)
            tables.append(table)
        self.learned_ = learn_rules(
            problem,
            read,
            stack_rows([self.encoding_(table) for table in tables]),
            self.model,
            known=self.known,
            clusters=clusters,
            seed=seed,
            jobs=self.n_jobs,
        )
        self._deploy()
        warn_if_violated(self.status_)
        return self

    def _fit_plain(
        self,
        model: Any,
        X: Any,
        y: Any,
        weights: Any,
        seed: int,
    ) -> Any:
        """Fit the model as it is: nothing else is asked."""
        features = self.encoding_(X)
        codes = np.searchsorted(self.classes_, y)
        fit = fit_clone(model, features, codes, weights, seed)
        error = float(np.average(fit.predict(features) != codes, weights=weights))
        remarks = ("Its error is of the rows it saw.",)
        self.model_ = PlainModel(fit, self._label_of_class)
        self.learned_ = None
        self.status_ = Status("error_rate()", error, error, (), None, remarks)
        return self

    def _read_other(self, rows: Any) -> tuple[Any, Population]:
        """Return the table and the population of a table, or of a table, labels and columns."""
        table, *rest = rows if isinstance(rows, tuple) else (rows,)
        missing = [None] * (2 - len(rest))
        return table, read_population(table, *rest, *missing, classes=self.labels_)

    def _deploy(self) -> None:
        """Choose a rule among those learned, and say how it stands."""
        rule, claim, self.margins_ = self.learned_.choose_rule(self.confidence)
        self.model_ = self.learned_.make_model(rule)
        self.status_ = make_status(self.learned_.rules, rule, claim, self.learned_.influence)

    @property
    def labels_(self) -> list[Any]:
        """The labels in order, with the one that means yes last."""
        labels = self.classes_.tolist()
        positive = self.positive_label
        if positive is None:
            return labels
        if len(labels) != 2 or positive not in labels:
            raise ValueError(f"positive_label={positive!r} is not one of two labels {labels}")
        labels.remove(positive)
        return [*labels, positive]

    @property
    def _label_of_class(self) -> Any:
        """The index among `labels_` of every class in `classes_`."""
        labels = self.labels_
        return np.array([labels.index(label) for label in self.classes_.tolist()])

    @property
    def decisions_(self) -> Any:
        """All decisions: the labels, yes last, and the referral if there is one."""
        if self.refer:
            return np.array([*self.labels_, self.refer], dtype=object)
        return np.array(self.labels_)

    # --- deciding ---

    def predict(self, X: Any, columns: Any = None, *, exactly: int | None = None) -> Any:
        """Return the decision of each row (n,); `exactly` so many are yes, where most is gained."""
        if exactly is None:
            features, group = self._read(X, columns)
            return self.decisions_[self.model_.decide(features, group)]
        scores = self._score(X, columns)
        if scores.ndim > 1 or not 0 <= exactly <= len(scores):
            raise ValueError(
                f"exactly= takes two decisions, and at most {len(scores):,} rows, got {exactly}"
            )
        highest_first = np.argsort(-scores, kind="stable")
        decisions = np.zeros(len(scores), dtype=int)
        decisions[highest_first[:exactly]] = 1
        return self.decisions_[decisions]

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each label (n, L); constraints change decisions, not this."""
        X = check_rows(self, X)
        probabilities = self.model_.predict_labels(self.encoding_(X))
        return probabilities[self._label_of_class].T

    def decision_function(self, X: Any, columns: Any = None) -> Any:
        """Return what deciding for ``classes_[1]`` saves (n,), or each of more decisions (n, D)."""
        scores = self._score(X, columns)
        yes_is_first = len(self.classes_) == 2 and self.labels_[0] == self.classes_[1]
        return -scores if scores.ndim == 1 and yes_is_first else scores

    def reasons(self, X: Any, columns: Any = None) -> Reasons:
        """Return what the objective and each constraint add to the score of each row."""
        compiled = self._check_learned().rules.compiled
        features, group = self._read(X, columns)
        parts = -self.model_.split_costs(features, group)
        return give_reasons(compiled, parts, self.decisions_.tolist())

    def _score(self, X: Any, columns: Any) -> Any:
        """Return what a yes saves against a no (n,), or what each of D decisions saves (n, D)."""
        features, group = self._read(X, columns)
        savings = -self.model_.compute_costs(features, group)
        if len(savings) == 1:
            return savings[0]
        of_first = np.zeros(savings.shape[1])
        return np.column_stack([of_first, *savings])

    def _read(self, X: Any, columns: Any) -> tuple[Any, Any]:
        """Return the features of rows, and their known groups (n,), if columns may be used."""
        X = check_rows(self, X)
        known = getattr(self.model_, "known", None)
        if known is None:
            return self.encoding_(X), None
        rows = read_population(X, None, columns, allow_absent=True)
        missing = [name for name in known.columns if name not in rows.columns]
        if missing:
            raise ValueError(
                f"this model decides by known={list(known.columns)}: "
                f"give columns={{{missing[0]!r}: ...}}, a value for each row"
            )
        return self.encoding_(X), known.find(rows)

    # --- what if ---

    def what_if(self, constraints: Any, objective: Any = None) -> tuple[Rule, Status]:
        """Find the cheapest rule for other constraints on the same sets of rows, without a fit."""
        if objective is None:
            objective = self.objective
        rules = self._rebuild_rules(as_problem(objective, constraints))
        rule = find_best_rule(rules, np.zeros(rules.constraint_count))
        return rule, make_status(rules, rule, None)

    def with_constraints(self, constraints: Any) -> Any:
        """Return this classifier for other constraints on the same sets of rows, without a fit."""
        rules = self._rebuild_rules(as_problem(self.objective, constraints))
        options = self.get_params() | {"constraints": constraints}
        other = type(self)(**options)
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(other, name, value)
        other.learned_ = replace(self._check_learned(), rules=rules)
        other._deploy()
        return other

    def prices(self, changes: Sequence[float] = CHANGES) -> tuple[Price, ...]:
        """Return for each constraint the objective at nearby bounds, with the same margins."""
        rules = self._check_learned().rules
        constraints = range(rules.constraint_count)
        return tuple(compute_price(rules, self.margins_, index, changes) for index in constraints)

    def _rebuild_rules(self, problem: Problem) -> Rules:
        learned = self._check_learned()
        return rebuild_rules(problem, learned.rules, learned.forecast)

    def _check_learned(self) -> Learned:
        check_is_fitted(self)
        if self.learned_ is None:
            raise ValueError("the plain model was fitted, without constraints: fit it with some")
        return self.learned_


def _read_classes(X: Any, y: Any) -> Any:
    check_classification_targets(y)
    classes = np.unique(y)
    rows = X.shape[0]
    if len(y) != rows or len(classes) < 2:
        raise ValueError(f"X has {rows:,} rows, and y {len(y):,} labels of {len(classes)} class")
    return classes


def _check_names(problem: Problem, names: Iterable[str]) -> None:
    """Refuse populations that no constraint names: they are slips, or misplaced columns."""
    text = str(problem)
    for name in names:
        if f'on="{name}"' not in text:
            raise TypeError(
                f"{name}= is no argument of fit, and no constraint has on={name!r}. "
                "Give columns that constraints name as columns={'sex': sex}"
            )
