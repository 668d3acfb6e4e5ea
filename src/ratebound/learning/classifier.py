"""A scikit-learn classifier that meets rate constraints: fit, predict, what_if, prices, reasons."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ratebound.learning.features import average_over_fits, fit_encoding, stack_rows, take_rows
from ratebound.learning.given import (
    Columns,
    Constraints,
    ModelName,
    Objective,
    Read,
    Rows,
    as_problem,
    check_order,
    check_populations,
    check_rows,
    read_clusters,
    read_labels,
    read_population,
    read_weights,
    split_rows,
)
from ratebound.learning.learning import (
    INTERRUPTED,
    Choice,
    Learned,
    Model,
    PlainModel,
    Sample,
    Search,
    draw_rows,
    learn_rules,
    read_sample,
)
from ratebound.learning.models import fit_clone, make_label_model
from ratebound.learning.options import (
    FUNCTION,
    NAME_OR_NAMES,
    NAMES,
    TEXT,
    Check,
    MethodAndOption,
    check_options,
    number,
)
from ratebound.learning.quota import choose_rows
from ratebound.learning.reasons import Reasons, make_reasons, measure_effects
from ratebound.learning.roles import choose_features, describe_features, join_names
from ratebound.learning.rules import Rules
from ratebound.learning.solve import (
    CHANGES,
    FEW_ROWS,
    Price,
    compute_price,
    find_best_rule,
    rebuild_rules,
)
from ratebound.learning.status import Status, make_status, warn_of_status
from ratebound.learning.uncertain import ROW, UncertainGroup
from ratebound.problem.expand import Row
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import Name
from ratebound.rates.sums import FIRST

CHECKS = {
    "confidence": number(above=0, below=1),
    "known": NAME_OR_NAMES,
    "refer": TEXT,
    "certify": number(above=0, below=1),
    "features": NAMES,
    "uncertain": Check(lambda value: isinstance(value, UncertainGroup), "rb.uncertain_group(...)"),
    "time_limit": number(above=0),
    "progress": FUNCTION,
}
UNCONSTRAINED = "minimize error_rate()"  # a problem that the plain model solves
NOT_CERTIFIED = "No rule passed its test: the certificate is of the safest rule that was tried."
DECISION = "(decision)"  # the column of decisions, for evidence
NEGATIVE = ("no", "nein", "non", "nao", "não", "nie", "rejected", "refused", "unpaid", "failed")
ROWS_TO_CHECK = 385  # of a group, whose rates are then known to within .05 with a confidence of .95
CERTIFIED = 0.95  # the confidence of a certificate, if none was asked for
ARGUMENTS = ("columns", "sample_weight", "clusters")


class RateConstrainedClassifier(ClassifierMixin, BaseEstimator):
    """Train the cheapest model that meets rate constraints, and say how sure it is on new rows.

    It is a scikit-learn classifier, for `Pipeline`, `GridSearchCV` and `cross_validate`. Decisions
    are one deterministic rule. Every statement is about rows judged by models that did not see them.

    Parameters
    ----------
    constraints : constraint, goal, str, or list of them, default=()
        Such as ``'recall(sex == "Female") >= 0.95 * recall()'``. Without any, it is the plain model,
        bit for bit.
    objective : sum of rates, str or Problem, default="error_rate()"
        What to minimise, or a text such as ``"maximize f_score()"``. The constraints of a problem
        count too.
    model : str or classifier, default="linear"
        "linear", "lightgbm", "xgboost", "catboost", "mlp", or a scikit-learn classifier, which is
        cloned. A pipeline gets tables as they are.
    confidence : float, default=0.9
        How sure it is to be that all constraints hold together on new rows. The status says what was
        reached. None asks only for these rows.
    known : str or list of str, default=None
        Columns that may be used when deciding, besides the features. `predict` needs them.
    refer : str, default=None
        The name of one more decision, which no row has as label: to ask a person.
    certify : float, default=None
        The share of rows, such as 0.3, that is kept for a certificate: the cheapest of safer and
        safer rules that passes its test is deployed.
    features : list of str, default=None
        The columns that the model reads. By default all but a live model's decisions, amounts,
        clusters, and the columns of `uncertain`.
    uncertain : UncertainGroup, default=None
        A group that is known by probabilities only, ``rb.uncertain_group(...)``.
    positive_label : label, default=None
        Of two labels the one that means yes. By default the last in order.
    time_limit : float, default=None
        The seconds after which no better rule is searched for. Models are learned in any case.
    progress : callable, default=None
        Called with (done, total) after each model of the labels, as in ``progress=print``.
    n_jobs : int, default=None
        How many models are learned at a time, in threads.
    random_state : int or RandomState, default=None
        The seed. The same seed gives the same decisions.

    Attributes
    ----------
    status_ : Status
        Whether the constraints are met, and how sure that is. Print it.
    certificate_ : Certificate
        With `certify`: what the rows that were kept apart show of this rule, or of a safer one if no
        rule passed.
    problem_ : Problem
        The objective and the constraints.
    constraints_ : tuple of Row
        The constraints on these rows, one for each group.
    classes_, decisions_ : array
        The labels in order; and all decisions, yes after no and the referral last.
    n_features_in_, feature_names_in_
        As in scikit-learn, of all columns of `X`.

    Examples
    --------
    >>> import numpy as np
    >>> from ratebound.learning.classifier import RateConstrainedClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex, income = rng.choice(["f", "m"], 3000), rng.normal(3, 1, 3000)
    >>> repays = income + rng.normal(0, 0.7, 3000) > np.where(sex == "f", 2.6, 3.2)
    >>> constraint = 'recall(sex == "f") >= 0.95 * recall()'
    >>> model = RateConstrainedClassifier(constraint, random_state=0)
    >>> print(model.fit(income[:, None], repays, columns={"sex": sex}).status_)
    Feasible on these rows. ...
    >>> model.predict([[1.0], [5.0]])
    array([False,  True])
    """

    model_: Model | PlainModel
    learned_: Learned
    constraints_: tuple[Row, ...]
    __metadata_request__fit = {"columns": True}  # noqa: RUF012  # scikit-learn's own convention

    def __init__(
        self,
        constraints: Constraints = (),
        objective: Objective = "error_rate()",
        *,
        model: ModelName | Any = "linear",
        confidence: float | None = 0.9,
        known: str | Sequence[str] | None = None,
        refer: str | None = None,
        certify: float | None = None,
        features: Sequence[Name] | None = None,
        uncertain: UncertainGroup | None = None,
        positive_label: Any = None,
        time_limit: float | None = None,
        progress: Callable[[int, int], None] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.constraints = constraints
        self.objective = objective
        self.model = model
        self.confidence = confidence
        self.known = known
        self.refer = refer
        self.certify = certify
        self.features = features
        self.uncertain = uncertain
        self.positive_label = positive_label
        self.time_limit = time_limit
        self.progress = progress
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return options by name; the attribute `certify` is the method."""
        return super().get_params(deep) | {"certify": vars(self)["certify"]}

    def __getstate__(self) -> Any:
        """Return the state without what was learned of each training row."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "learned_"}

    # --- fitting ---

    def fit(
        self,
        X: Rows,
        y: Any,
        columns: Columns = None,
        sample_weight: Any = None,
        *,
        clusters: Any = None,
        **populations: Any,
    ) -> Any:
        """Train on rows.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            The rows (n, d). Constraints may name the columns of a data frame.
        y : array of shape (n,)
            The labels.
        columns : data frame or mapping, default=None
            More columns that constraints may name. The model does not read them.
        sample_weight : array of shape (n,), default=None
            How many rows each row counts as. By default 1.
        clusters : str or array of shape (n,), default=None
            Which rows were drawn together, such as those of one customer: a column, or ids.
        **populations : table, or tuple of a table, labels or None, and columns
            Other rows, by the names that rates use with ``on=``.

        Returns
        -------
        RateConstrainedClassifier
            Itself, fitted. A warning says what was not reached.
        """
        started = time.monotonic()
        for name in ("certificate_", "learned_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        check_options(self, CHECKS)
        check_order(X, y, columns)
        self.problem_ = as_problem(self.objective, self.constraints)
        check_populations(self.problem_, populations, ARGUMENTS)
        X = check_rows(self, X, reset=True)
        y = read_labels(y, X.shape[0])
        weights = read_weights(sample_weight, len(y))
        self.classes_ = np.unique(y)
        self._check_names()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._fit_encoding(X, clusters)
        if str(self.problem_) == UNCONSTRAINED and self.refer is None:
            return self._fit_plain(X, y, weights, seed)
        read = self._read({FIRST: (X, y, columns, weights), **populations})
        sample = self._make_sample(read, clusters)
        kept_apart = None
        if self._share is not None:
            sample, kept_apart = self._keep_apart(self._share, sample, read, seed)
        self.learned_ = learn_rules(
            sample,
            self.model,
            known=self.known,
            seed=seed,
            jobs=self.n_jobs,
            progress=self.progress,
        )
        limit = np.inf if self.time_limit is None else self.time_limit
        self._deploy(Search(self.learned_.rules, started + limit), kept_apart)
        warn_of_status(self.status_)
        return self

    def _check_names(self) -> None:
        """Refuse names that cannot be what they are given for."""
        if self.refer in self.classes_.tolist():
            raise ValueError(
                f"refer={self.refer!r} is one of the labels: leave out rows that were referred"
            )
        yes = self.labels_[-1]
        if self.positive_label is None and str(yes).strip().casefold() in NEGATIVE:
            warnings.warn(
                f"{yes!r} is the last label and so means yes: give positive_label= to say which does",
                stacklevel=3,
            )
        if self.uncertain is None:
            return
        known = [self.known] if isinstance(self.known, Name) else self.known or []
        if self.uncertain.column in known:
            raise ValueError(f"known= names {self.uncertain.column!r}, which is uncertain")
        if self._share is not None:
            self._check_certain()

    @property
    def _share(self) -> float | None:
        """The option `certify`."""
        return vars(self)["certify"]

    def _fit_encoding(self, X: Rows, clusters: Any) -> None:
        """Fit what the model reads, and say what it does not read."""
        not_features: set[Name] = {clusters} if isinstance(clusters, str) else set()
        if self.uncertain is not None:
            not_features |= {self.uncertain.column, *self.uncertain.probabilities.values()}
        self.features_, left_out = choose_features(X, self.problem_, self.features, not_features)
        is_named = isinstance(self.model, str)
        self.encoding_ = fit_encoding(X, self.features_, self._make_model(X), is_named)
        self._remarks = describe_features(self.features_, left_out)
        self._assumption = ""
        if left_out:
            warnings.warn(self._remarks[0], stacklevel=3)

    def _make_model(self, X: Rows) -> Any:
        return make_label_model(self.model, X.shape[0], sparse=hasattr(X, "tocsr"))

    def _fit_plain(
        self,
        X: Rows,
        y: Any,
        weights: Any,
        seed: int,
    ) -> Any:
        """Fit the model as it is: nothing else is asked."""
        model = self._make_model(X) if isinstance(self.model, str) else self.model
        codes = self._label_of_class[np.searchsorted(self.classes_, y)]
        fit = fit_clone(model, self.encoding_(X), codes, weights, seed)
        self.model_ = PlainModel(fit, len(self.classes_))
        self.constraints_ = ()
        remarks = tuple(self._remarks)
        self.status_ = Status("error_rate()", np.nan, np.nan, (), None, remarks)
        return self

    def _read(self, populations: Mapping[str, Any]) -> dict[str, Read]:
        """Return rows by population: a table, or a tuple of it, labels, columns and weights."""
        read = {}
        for name, rows in populations.items():
            table, labels, columns, weights = split_rows(rows)
            table = check_rows(self, table)
            options = {"classes": self.labels_, "refer": self.refer, "weights": weights}
            read[name] = Read(table, columns, read_population(table, labels, columns, **options))
        return read

    def _make_sample(self, read: Mapping[str, Read], clusters: Any) -> Sample:
        """Return the rows to learn from, with a copy for each value of an uncertain group."""
        populations = {name: item.rows for name, item in read.items()}
        features = [self._encode(item.table) for item in read.values()]
        if clusters is not None:
            clusters = read_clusters(clusters, populations[FIRST])
        if self.uncertain is not None:
            copies = self.uncertain.copy_rows(populations[FIRST])
            row = copies.columns[ROW]
            clusters = row if clusters is None else clusters[row]
            features[0] = take_rows(features[0], row)
            populations[FIRST] = copies
            self._describe_uncertainty(self.uncertain.column, copies)
        if len(read) > 1 and clusters is not None:
            raise ValueError(
                "clusters= and uncertain= are of rows of one population: give no others"
            )
        sample = read_sample(self.problem_, populations, stack_rows(features), clusters)
        counted: Any = populations[FIRST].cache  # the columns that constraints read
        groups = [name for name in self.features_ if name in counted]
        if groups:
            self._remarks.append(
                f"The model reads {join_names(groups)}, which constraints count by."
            )
        return sample

    def _describe_uncertainty(self, column: Name, copies: Population) -> None:
        """Note what a claim rests on, and how many rows would check it."""
        weights = np.bincount(copies.encode(column).codes, copies.row_weights)
        rows = np.ceil(ROWS_TO_CHECK * weights.sum() / weights.min())
        self._assumption = f"the probabilities of {column!r} are right"
        self._remarks.append(
            f"To check the probabilities, learn {column!r} of about {rows:,.0f} random rows: that "
            "shows the rates of each group to within 0.05."
        )

    def _keep_apart(
        self,
        share: float,
        sample: Sample,
        read: Mapping[str, Read],
        seed: int,
    ) -> tuple[Sample, dict[str, Any]]:
        """Split rows into those to learn from, and those to certify on."""
        mask = draw_rows(sample, share, seed)
        kept_apart = {}
        start = 0
        for name, (table, _, rows) in read.items():
            index = np.flatnonzero(mask[start : start + len(rows)])
            start += len(rows)
            part = rows.select(index)
            kept_apart[name] = take_rows(table, index), part.y, part.columns, part.weights
        try:
            return sample.select(~mask), kept_apart
        except ValueError as error:
            raise ValueError(f"certify={share}: {error}") from None

    def _deploy(self, search: Search, kept_apart: Mapping[str, Any] | None = None) -> None:
        """Choose a rule among those learned, and say how it stands."""
        learned = self._get_learned()
        try:
            choices = learned.list_choices(self.confidence, search)
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
            choices = learned.list_choices(self.confidence, search)
        choice = choices[0]
        if kept_apart is not None:
            choice = self._certify_cheapest(choices, kept_apart)
        self.model_ = learned.make_model(choice.rule)
        self.margins_ = choice.margins
        self.constraints_ = learned.rules.compiled.rows
        status = make_status(learned.rules, choice.rule, choice.claim, learned.influence)
        remarks = (*status.remarks, *self._remarks)
        if search.stopped:
            warnings.warn(search.stopped, RuntimeWarning, stacklevel=3)
            remarks = (search.stopped, *remarks)
        self.status_ = replace(status, remarks=remarks, assumption=self._assumption)

    def _certify_cheapest(self, choices: Sequence[Choice], rows: Mapping[str, Any]) -> Choice:
        """Return the cheapest choice that passes, tested from the safest on until one fails."""
        passed = None
        for choice in reversed(choices):
            self.model_ = self._get_learned().make_model(choice.rule)
            certificate = self._gather("certify", rows, confidence=self.confidence or CERTIFIED)
            if passed is None or certificate.holds:
                self.certificate_ = certificate
            if not certificate.holds:
                break
            passed = choice
        if passed is None:
            self._remarks.append(NOT_CERTIFIED)
        return passed or choices[0]

    # --- classes ---

    @property
    def labels_(self) -> list[Any]:
        """The labels in order, with the one that means yes last."""
        labels = self.classes_.tolist()
        positive = self.positive_label
        if positive is None:
            return labels
        if len(labels) != 2 or positive not in labels:
            raise ValueError(f"positive_label={positive!r} is not one of two labels {labels}")
        return labels if labels[1] == positive else labels[::-1]

    @property
    def _label_of_class(self) -> Any:
        """The index among `labels_` of every class in `classes_`."""
        labels = self.labels_
        return np.array([labels.index(label) for label in self.classes_.tolist()])

    @property
    def _yes_is_first(self) -> bool:
        return bool(self._label_of_class[0])

    @property
    def decisions_(self) -> Any:
        """All decisions: the labels, yes last, and the referral if there is one."""
        if self.refer:
            return np.array([*self.labels_, self.refer], dtype=object)
        return np.array(self.labels_)

    # --- deciding ---

    def predict(
        self,
        X: Rows,
        columns: Columns = None,
        *,
        exactly: int | None = None,
    ) -> Any:
        """Decide rows, each by itself.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            The rows. Columns of a data frame may be in any order.
        columns : data frame or mapping, default=None
            The columns of `known` that are not in `X`; with `exactly`, the columns of constraints.
        exactly : int, default=None
            Say yes to exactly so many of these rows, the best that meet the constraints on them. A
            constraint that needs labels is not measured here.

        Returns
        -------
        array of shape (n,)
            The decisions, among `decisions_`.
        """
        if exactly is None:
            features, group = self._encode_groups(X, columns)
            return self.decisions_[self.model_.decide(features, group)]
        scores = self._score(X, columns)
        if scores.ndim > 1 or exactly not in range(len(scores) + 1):
            raise ValueError(
                f"exactly= takes two decisions, and a whole number up to the {len(scores):,} rows; "
                f"got {exactly!r}"
            )
        no = np.full(len(scores), self.labels_[0])
        options = {"classes": self.labels_, "allow_absent": True}
        batch = read_population(check_rows(self, X), no, columns, **options)
        return self.decisions_[choose_rows(scores, exactly, self.constraints_, batch)]

    def predict_proba(self, X: Rows) -> Any:
        """Return the probability of each label (n, L); constraints change decisions, not this."""
        features = self._encode(X)
        probabilities = self.model_.predict_labels(features)
        return probabilities[self._label_of_class].T

    def decision_function(self, X: Rows, columns: Columns = None) -> Any:
        """Return what deciding for ``classes_[1]`` saves (n,), or each of more decisions (n, D)."""
        scores = self._score(X, columns)
        return -scores if scores.ndim == 1 and self._yes_is_first else scores

    def score(
        self,
        X: Rows,
        y: Any,
        sample_weight: Any = None,
    ) -> float:
        """Return the share of right decisions; a referred row is not right."""
        is_right = self.predict(X) == np.ravel(y)
        return float(np.average(is_right, weights=sample_weight))

    def reasons(self, X: Rows, columns: Columns = None) -> Reasons:
        """Return what the objective, each constraint and each column add to the score of rows.

        Parameters
        ----------
        X : data frame, array or sparse matrix
            The rows.
        columns : data frame or mapping, default=None
            The columns of `known` that are not in `X`.

        Returns
        -------
        Reasons
            Print it, or take its arrays.
        """
        features, group = self._encode_groups(X, columns)
        model = self.model_

        def score(changed: Any) -> Any:
            return -model.compute_costs(changed, group)

        effects = measure_effects(score, features, self.encoding_)
        parts = -model.split_costs(features, group)
        texts = [row.text for row in self.constraints_]
        names = (str(self.problem_.objective), *texts)
        return make_reasons(names, self.decisions_.tolist(), parts, effects)

    def _score(self, X: Rows, columns: Columns) -> Any:
        """Return what a yes saves against a no (n,), or what each of D decisions saves (n, D)."""
        features, group = self._encode_groups(X, columns)
        savings = -self.model_.compute_costs(features, group)
        if len(savings) == 1:
            return savings[0]
        of_first = np.zeros(savings.shape[1])
        return np.column_stack([of_first, *savings])

    def _encode(self, X: Rows) -> Any:
        check_is_fitted(self)
        X = check_rows(self, X, takes_tables=self.encoding_.is_named)
        return self.encoding_(X)

    def _encode_groups(self, X: Rows, columns: Columns) -> tuple[Any, Any]:
        """Return the features of rows, and their known groups (n,), if columns may be used."""
        features = self._encode(X)
        known = self.model_.known
        if known is None:
            return features, None
        rows = read_population(check_rows(self, X), None, columns, allow_absent=True)
        for name in known.columns:
            if name not in rows.columns:
                raise ValueError(
                    f"this model decides by known={list(known.columns)}: "
                    f"give columns={{{name!r}: ...}}, a value for each row"
                )
        group = known.find(rows)
        new_rows = int((group == known.count).sum())
        if new_rows:
            warnings.warn(
                f"known={list(known.columns)} have values that no training row had, rows: "
                f"{new_rows:,}. These are decided by their features alone",
                stacklevel=3,
            )
        return features, group

    # --- evidence ---

    def audit(
        self,
        X: Rows,
        y: Any = None,
        columns: Columns = None,
        sample_weight: Any = None,
        *,
        confidence: float = CERTIFIED,
        clusters: Name | None = None,
        **populations: Any,
    ) -> Any:
        """Judge each constraint on rows, with an interval, as `ratebound.audit` does.

        Parameters
        ----------
        X, y, columns, sample_weight
            Rows, as for `fit`. Labels may be missing.
        confidence : float, default=0.95
            Of each verdict.
        clusters : str, default=None
            The column that says which rows were drawn together.
        **populations
            Other rows, as for `fit`.

        Returns
        -------
        Audit
            Print it.
        """
        populations[FIRST] = (X, y, columns, sample_weight)
        if self.uncertain is not None:
            clusters = clusters or ROW
        return self._gather("audit", populations, confidence=confidence, clusters=clusters)

    @MethodAndOption
    def certify(
        self,
        X: Rows,
        y: Any = None,
        columns: Columns = None,
        sample_weight: Any = None,
        *,
        confidence: float = CERTIFIED,
        **populations: Any,
    ) -> Any:
        """Test whether the constraints hold on new rows, as `ratebound.certify` does.

        Parameters
        ----------
        X, y, columns, sample_weight
            Rows, as for `fit`, that it was neither trained nor chosen on.
        confidence : float, default=0.95
            A false certificate has a probability of at most one minus this.
        **populations
            Other rows, as for `fit`.

        Returns
        -------
        Certificate
            Print it.
        """
        self._check_certain()
        populations[FIRST] = (X, y, columns, sample_weight)
        return self._gather("certify", populations, confidence=confidence)

    def _gather(
        self,
        function: str,
        populations: Mapping[str, Any],
        **options: Any,
    ) -> Any:
        """Ask the room of evidence about the decisions on rows."""
        check_is_fitted(self)
        decided = {}
        for name, (table, beside, rows) in self._read(populations).items():
            columns = rows.columns | {DECISION: self.predict(table, beside)}
            decided[name] = replace(rows, X=None, columns=columns)
        first = decided.pop(FIRST)
        if self.uncertain is not None:
            first = self.uncertain.copy_rows(first)
        from ratebound._bridge import find_old_name  # until the room of evidence stands

        ask = find_old_name(function)
        return ask(self.problem_, decisions=DECISION, rows=first, **decided, **options)

    def _check_certain(self) -> None:
        if self.uncertain is not None:
            raise ValueError(
                "a certificate is of groups that are known: leave out uncertain=, and give rows with "
                f"the column {self.uncertain.column!r}"
            )

    # --- what it learned ---

    @property
    def coef_(self) -> Any:
        """The coefficients (1, d) or (L, d) of a linear model, for the log odds of labels."""
        coefficients = average_over_fits(self.model_.fits, "coef_")
        return -coefficients if self._yes_is_first else coefficients

    @property
    def feature_importances_(self) -> Any:
        """The importances (d,) of trees for labels, which sum to 1."""
        return average_over_fits(self.model_.fits, "feature_importances_")

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of features (d,), as in `coef_` and `feature_importances_`."""
        check_is_fitted(self)
        names = [name for _, name in self.encoding_.list_features()]
        return np.array(names, dtype=object)

    # --- what if ---

    def what_if(self, constraints: Constraints, objective: Objective | None = None) -> Status:
        """Return how the cheapest rule for other constraints stands, without a fit.

        Parameters
        ----------
        constraints : as in the constructor
            Constraints on the same sets of rows: other bounds, fewer of them.
        objective : as in the constructor, default=None
            By default the same.

        Returns
        -------
        Status
            On the rows of training, without margins.
        """
        if objective is None:
            objective = self.objective
        rules = self._rebuild_rules(as_problem(objective, constraints))
        rule = find_best_rule(rules, np.zeros(rules.constraint_count), FEW_ROWS)
        return make_status(rules, rule, None)

    def with_constraints(self, constraints: Constraints) -> Any:
        """Return this classifier for other constraints on the same sets of rows, without a fit."""
        other = copy(self).set_params(constraints=constraints, certify=None)
        vars(other).pop("certificate_", None)
        other.problem_ = as_problem(self.objective, constraints)
        rules = self._rebuild_rules(other.problem_)
        other.learned_ = replace(self._get_learned(), rules=rules)
        other._deploy(Search(rules))
        return other

    def prices(self, changes: Sequence[float] = CHANGES) -> tuple[Price, ...]:
        """Return for each constraint the objective at nearby bounds, with the same margins."""
        rules = self._get_learned().rules
        constraints = range(rules.constraint_count)
        return tuple(compute_price(rules, self.margins_, index, changes) for index in constraints)

    def _rebuild_rules(self, problem: Problem) -> Rules:
        learned = self._get_learned()
        return rebuild_rules(problem, learned.rules, learned.forecast)

    def _get_learned(self) -> Learned:
        check_is_fitted(self)
        learned = getattr(self, "learned_", None)
        if learned is None:
            raise ValueError(
                "this needs what was learned of the training rows, which a pickle and a model without "
                "constraints lack: fit it here, with constraints"
            )
        return learned
