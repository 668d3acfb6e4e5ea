"""A scikit-learn classifier that meets rate constraints: fit, predict, what_if, prices, reasons."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from ratebound._bridge import digest_table, list_sources
from ratebound.learning.evidence import CERTIFIED, DECISION, OF_KNOWN_GROUPS, Audited, judge
from ratebound.learning.features import (
    average_over_fits,
    encode_rows,
    find_typical,
    fit_encoding,
    stack_rows,
    take_rows,
)
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
    FEATURES,
    FUNCTION,
    NAME_OR_NAMES,
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
    "features": FEATURES,
    "uncertain": Check(lambda value: isinstance(value, UncertainGroup), "rb.uncertain_group(...)"),
    "time_limit": number(above=0),
    "progress": FUNCTION,
}
NO_MARGIN = "This is without a margin for new rows."
UNCONSTRAINED = "minimize error_rate()"  # a problem that the plain model solves
NOT_CERTIFIED = "No rule passed its test: the certificate is of the safest rule that was tried."
NEGATIVE = ("no", "nein", "non", "nao", "não", "nie", "rejected", "refused", "unpaid", "failed")
ARGUMENTS = ("columns", "sample_weight", "clusters")


class RateConstrainedClassifier(Audited, ClassifierMixin, BaseEstimator):
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
    features : list of str, or Features, default=None
        The columns of a table that the model reads; ``rb.Features(...)`` also says which hold
        categories. By default all but a live model's decisions, amounts, clusters, the columns of
        `uncertain`, ids, and columns that never vary.
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
    >>> model.predict([[1.0], [4.0]])
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
        features: Any = None,
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
        return super().get_params(deep) | {"certify": self._share}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")  # the status comes after the certificate

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
        for name in ("model_", "certificate_", "learned_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        check_options(self, CHECKS)
        check_order(X, y, columns)
        self.problem_ = as_problem(self.objective, self.constraints)
        check_populations(self.problem_, populations, ARGUMENTS)
        X = check_rows(self, X, reset=True)
        y = read_labels(y, X.shape[0])
        self.classes_ = np.unique(y)
        self._check_names()
        rows = self._read_rows(X, y, columns, weights=sample_weight)
        self._fit_encoding(X, rows.weights, clusters)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if str(self.problem_) == UNCONSTRAINED and self.refer is None:
            return self._fit_plain(X, rows, seed)
        read = {FIRST: Read(X, rows), **self._read(populations)}
        sample = self._make_sample(read, clusters)
        kept_apart = None
        if self._share is not None:
            sample, kept_apart = self._keep_apart(sample, read, seed)
        self.learned_ = learn_rules(
            sample,
            self.model,
            known=self.known,
            seed=seed,
            jobs=self.n_jobs,
            progress=self.progress,
        )
        deadline = started + (self.time_limit or np.inf)
        self._deploy(Search(self.learned_.rules, deadline), kept_apart)
        warn_of_status(self.status_)
        return self

    def _check_names(self) -> None:
        """Refuse names that cannot be what they are given for."""
        if self.refer in self.classes_.tolist():
            raise ValueError(
                f"refer={self.refer!r} is one of the labels: leave out rows that were referred"
            )
        if self.positive_label is not None and len(self.labels_) > 2:
            raise ValueError(
                f"positive_label= is of two labels, and y has {len(self.labels_)}: name the label in "
                "constraints, as in recall(of=...)"
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
            raise ValueError(OF_KNOWN_GROUPS)

    @property
    def _share(self) -> Any:
        """The option `certify`."""
        return vars(self)["certify"]

    def _fit_encoding(self, X: Rows, weights: Any, clusters: Any) -> None:
        """Fit what the model reads, and say what it does not read."""
        not_features: set[Name] = {clusters} if isinstance(clusters, str) else set()
        if self.uncertain is not None:
            not_features |= {self.uncertain.column, *self.uncertain.probabilities.values()}
        chosen, left_out = choose_features(X, self.problem_, self.features, not_features)
        self.encoding_ = fit_encoding(X, chosen, self.model, weights)
        self.features_ = list(dict.fromkeys(list_sources(self.encoding_)))
        self._remarks = describe_features(self.features_, left_out)
        self._assumption = ""
        if left_out:
            warnings.warn(self._remarks[0], stacklevel=3)

    def _fit_plain(self, X: Rows, rows: Population, seed: int) -> Any:
        """Fit the model as it is: nothing else is asked."""
        features = encode_rows(self.encoding_, X)
        self.typical_ = find_typical(features)
        model = self.model
        if isinstance(model, str):
            model = make_label_model(model, len(rows), issparse(features))
        codes = rows.class_indices(None, tuple(self.labels_))
        self.digest_ = digest_table(features, codes)
        fit = fit_clone(model, features, codes, rows.weights, seed)
        self.model_ = PlainModel(fit, len(self.labels_))
        self.constraints_ = ()
        self.status_ = Status("error_rate()", np.nan, np.nan, (), None, tuple(self._remarks))
        return self

    def _make_sample(self, read: Mapping[str, Read], clusters: Any) -> Sample:
        """Return the rows to learn from, with a copy for each value of an uncertain group."""
        populations = {name: item.rows for name, item in read.items()}
        features = [encode_rows(self.encoding_, item.table) for item in read.values()]
        self.typical_ = find_typical(features[0])
        codes = populations[FIRST].class_indices(None, tuple(self.labels_))
        self.digest_ = digest_table(features[0], codes)
        if clusters is not None:
            clusters = read_clusters(clusters, populations[FIRST])
        if self.uncertain is not None:
            copies = self.uncertain.copy_rows(populations[FIRST])
            row = copies.columns[ROW]
            clusters = row if clusters is None else clusters[row]
            features[0] = take_rows(features[0], row)
            populations[FIRST] = copies
            self._assumption = f"the probabilities of {self.uncertain.column!r} are right"
        if len(read) > 1 and clusters is not None:
            raise ValueError(
                "clusters= and uncertain= are of rows of one population: give no others"
            )
        sample = read_sample(self.problem_, populations, stack_rows(features), clusters)
        if self.uncertain is not None:
            self._remarks.append(self.uncertain.describe_check(sample.compiled))
        counted: Any = populations[FIRST].cache  # the columns that constraints read
        groups = [name for name in self.features_ if name in counted]
        if groups:
            self._remarks.append(
                f"The model reads {join_names(groups)}, which constraints count by."
            )
        return sample

    def _keep_apart(
        self,
        sample: Sample,
        read: Mapping[str, Read],
        seed: int,
    ) -> tuple[Sample, dict[str, Read]]:
        """Split rows into those to learn from, and those to certify on."""
        mask = draw_rows(sample, self._share, seed)
        kept_apart = {}
        start = 0
        for name, (table, rows) in read.items():
            index = np.flatnonzero(mask[start : start + len(rows)])
            start += len(rows)
            kept_apart[name] = Read(take_rows(table, index), rows.select(index))
        try:
            return sample.select(~mask), kept_apart
        except ValueError as error:
            raise ValueError(f"certify={self._share}: {error}") from None

    def _deploy(self, search: Search, kept_apart: Mapping[str, Read] | None = None) -> None:
        """Choose a rule among those learned, and say how it stands."""
        learned = self._get_learned()
        confidence, share = self.confidence, None
        if kept_apart is not None:
            confidence, share = self.confidence or CERTIFIED, self._share
        try:
            choices = learned.list_choices(confidence, search, share)
        except KeyboardInterrupt:
            search.stopped = INTERRUPTED
            choices = learned.list_choices(confidence, search, share)
        choice = choices[0]
        if kept_apart is not None:
            choice = self._certify_cheapest(choices, kept_apart)
        self.model_ = learned.make_model(choice.rule)
        self.margins_ = choice.margins
        self.constraints_ = learned.rules.compiled.rows
        status = make_status(learned.rules, choice.rule, choice.claim)
        remarks = (*status.remarks, *self._remarks)
        if search.stopped:
            warnings.warn(search.stopped, RuntimeWarning, stacklevel=3)
            remarks = (search.stopped, *remarks)
        self.status_ = replace(status, remarks=remarks, assumption=self._assumption)

    def _certify_cheapest(self, choices: Sequence[Choice], read: Mapping[str, Read]) -> Choice:
        """Return the cheapest choice that passes, tested from the safest on until one fails."""
        passed = None
        for choice in reversed(choices):
            self.model_ = self._get_learned().make_model(choice.rule)
            options: Any = {"decisions": DECISION, "confidence": self.confidence or CERTIFIED}
            certificate = judge("certify", self.problem_, self._decide(read), **options)
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
    def _sign(self) -> int:
        """-1 if `labels_` are `classes_` in the other order."""
        return 1 if self.labels_[0] == self.classes_[0] else -1

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
        X : data frame, array, sparse matrix, dictionary or list of dictionaries
            The rows. Columns of a data frame may be in any order; a dictionary is one row.
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
            features, group = self._encode(X, columns)
            return self.decisions_[self.model_.decide(features, group)]
        scores = self._score(X, columns)
        if scores.ndim > 1 or exactly not in range(len(scores) + 1):
            raise ValueError(
                f"exactly= takes two decisions, and a whole number up to the {len(scores):,} rows; "
                f"got {exactly!r}"
            )
        no = np.full(len(scores), self.labels_[0])
        batch = self._read_rows(check_rows(self, X), no, columns, allow_absent=True)
        return self.decisions_[choose_rows(scores, exactly, self.constraints_, batch)]

    def predict_proba(self, X: Rows) -> Any:
        """Return the probability of each label (n, L); constraints change decisions, not this."""
        check_is_fitted(self)
        X = check_rows(self, X)
        features = encode_rows(self.encoding_, X)
        probabilities = self.model_.predict_labels(features)
        return probabilities[:: self._sign].T

    def decision_function(self, X: Rows, columns: Columns = None) -> Any:
        """Return what deciding for ``classes_[1]`` saves (n,), or each of more decisions (n, D)."""
        scores = self._score(X, columns)
        return self._sign * scores if scores.ndim == 1 else scores

    def score(
        self,
        X: Rows,
        y: Any,
        sample_weight: Any = None,
    ) -> float:
        """Return the share of right decisions; a referred row is not right."""
        check_consistent_length(X, y, sample_weight)
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
        features, group = self._encode(X, columns)
        model = self.model_

        def score(changed: Any) -> Any:
            return -model.compute_costs(changed, group)

        sources = list_sources(self.encoding_)
        effects = measure_effects(score, features, self.typical_, sources)
        parts = -model.split_costs(features, group)
        texts = [row.text for row in self.constraints_]
        names = (str(self.problem_.objective), *texts)
        return make_reasons(names, self.decisions_.tolist(), parts, effects)

    def _score(self, X: Rows, columns: Columns) -> Any:
        """Return what a yes saves against a no (n,), or what each of D decisions saves (n, D)."""
        features, group = self._encode(X, columns)
        savings = -self.model_.compute_costs(features, group)
        if len(savings) == 1:
            return savings[0]
        of_first = np.zeros(savings.shape[1])
        return np.column_stack([of_first, *savings])

    def _encode(self, X: Rows, columns: Columns) -> tuple[Any, Any]:
        """Return the features of rows, and their known groups (n,), if columns may be used."""
        check_is_fitted(self)
        X = check_rows(self, X)
        group = None
        if self.model_.known is not None:
            rows = read_population(X, None, columns, allow_absent=True)
            group = self.model_.known.find(rows)
        return encode_rows(self.encoding_, X), group

    # --- evidence ---

    certify: Any = MethodAndOption(Audited.certify)

    @property
    def _has_policy(self) -> bool:
        return self.uncertain is None

    def _predict(self, table: Rows, rows: Population) -> Any:
        return self.predict(table, rows.columns)

    def _decide(self, read: Mapping[str, Read]) -> dict[str, Population]:
        decided = super()._decide(read)
        if self.uncertain is not None:
            decided[FIRST] = self.uncertain.copy_rows(decided[FIRST])
        return decided

    # --- what it learned ---

    @property
    def coef_(self) -> Any:
        """The coefficients (1, d) or (L, d) of a linear model, for the log odds of labels."""
        return self._sign * average_over_fits(self.model_.fits, "coef_")

    @property
    def feature_importances_(self) -> Any:
        """The importances (d,) of trees for labels, which sum to 1."""
        return average_over_fits(self.model_.fits, "feature_importances_")

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of features (d,), as in `coef_` and `feature_importances_`."""
        check_is_fitted(self)
        return np.array(self.encoding_.names, dtype=object)

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
        status = make_status(rules, rule, None)
        return replace(status, remarks=(*status.remarks, NO_MARGIN))

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
        forecast = self._get_learned().forecast
        prices = []
        for constraint in range(rules.constraint_count):
            prices.append(compute_price(rules, forecast, self.margins_, constraint, changes))
        return tuple(prices)

    def _rebuild_rules(self, problem: Problem) -> Rules:
        learned = self._get_learned()
        return rebuild_rules(problem, learned.rules, learned.forecast)

    def _get_learned(self) -> Learned:
        learned = getattr(self, "learned_", None)
        if learned is None:
            check_is_fitted(self)
            raise ValueError(
                "this needs what was learned of the training rows, which a pickle and a model without "
                "constraints lack: fit it here, with constraints"
            )
        return learned
