"""A classifier's threshold, set to keep promises: scikit-learn's interface, with promises."""

from __future__ import annotations

import copy
import datetime
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing, assert_all_finite, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    indexable,
)

from ratebound._old.auditing.report import Audit
from ratebound._old.base.checks import check_number, check_word
from ratebound._old.base.parameters import MethodAndParameter
from ratebound._old.base.types import Array
from ratebound._old.estimators.classifier import CERTIFIED
from ratebound._old.estimators.finishing import cheapest_certified, given_seed, said
from ratebound._old.estimators.given import (
    GROUPS,
    check_classes,
    check_spoken_of,
    check_targets,
    classes_of,
    in_order,
    labelled,
    trained_labels,
)
from ratebound._old.estimators.one_threshold import EveryThreshold, every_threshold
from ratebound._old.estimators.plugging_in import FINE
from ratebound._old.estimators.policy import Policy
from ratebound._old.estimators.proposals import OUT_OF_FOLD
from ratebound._old.learners.calibration import Calibration
from ratebound._old.learners.tuned import LARGEST, RESPONSES, response_of, scores_of, tuned_scorer
from ratebound._old.problem.compiling import compile, held_out
from ratebound._old.problem.frames import as_array, check_order, columns_by_name, frame_columns, unmasked
from ratebound._old.problem.labels import label_values
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem, promised
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.subsets import Name
from ratebound._old.solution.certificate import Certificate
from ratebound._old.solution.deciders import Draw
from ratebound._old.solution.leveling import at_levels
from ratebound._old.solution.mixture import Members
from ratebound._old.solution.record import ASIDE, Making, Record
from ratebound._old.solution.status import KEPT, Status, warn_if_broken


def _has(method: str) -> Callable[[Any], bool]:
    """Whether the inner classifier has a method; if not, its own error is raised."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class TunedThreshold(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier at the best threshold that keeps promises, such as precision at 95% recall.

    It has the interface of scikit-learn's `TunedThresholdClassifierCV`, with promises besides the
    objective. Each row is scored by a classifier that did not see it. The threshold is the best of all
    possible thresholds on these scores, not of a grid.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier for two classes with `predict_proba` or `decision_function`.
    promises : constraint, str, Problem, or list of them, default=()
        The promises, such as ``"recall() >= 0.95"``, about everyone or about groups. A `rb.Problem` has
        its objective too. Empty by default.
    maximize : expression or str, default=None
        What to maximise among the thresholds that keep the promises: a rate, a ratio such as
        ``"precision()"`` or ``"f_score()"``.
    minimize : expression or str, default=None
        What to minimise instead, such as ``"cost(false_negative=5, false_positive=1)"``. Without either
        it is ``"error_rate()"``: few errors of any kind.
    confidence : float or None, default=0.9
        The confidence with which all promises should hold together on new rows of the same kind: the
        threshold keeps a margin to their bounds that depends on the number of rows. If no threshold
        reaches it, a lower confidence is accepted, and `status_` says which. None asks only for these
        rows.
    certify : float, default=None
        The share of the rows, such as 0.3, to keep only for a certificate. The best threshold that
        passes is chosen, and `certificate_` is its `rb.Certificate` at `confidence`, or 0.95 if that is
        None.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The score for the threshold. "auto" is the first of the two that the classifier has.
    thresholds : int or array, default=None
        Thresholds to choose among: so many between the lowest and the highest score, or these. By
        default all possible ones.
    cv : int, float, splitter, iterable or "prefit", default=5
        How rows are scored by classifiers that did not see them: a number of stratified folds, one split
        with this share of the rows to score, or a scikit-learn splitter. "prefit" takes the classifier
        as it is; then `fit` needs rows that it was not trained on.
    refit : bool, default=True
        Whether the classifier is fitted on all rows after the threshold is set. It can be False for one
        split, and must be for "prefit".
    positive_label : label, default=None
        The label that means yes; by default the last in sorted order, as in scikit-learn.
    n_jobs : int, default=None
        How many folds are fitted at a time, as in scikit-learn.
    random_state : int or RandomState, default=None
        The seed of the split, if `cv` is a share, and of the rows set aside for a certificate.
    store_cv_results : bool, default=False
        Whether to keep every threshold's results in `cv_results_`.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    solution_ : Policy
        The classifier and its threshold, in the form that `save` writes.
    best_threshold_ : float
        The score from which on it says yes; infinite if it says no, or yes, to everyone.
    best_score_ : float
        The objective at this threshold, out of fold.
    status_ : Status
        Whether the promises are kept, and if not, what to relax; print it. ``status_.confidence`` is the
        confidence that all hold on new rows.
    problem_ : Problem
        The objective and the promises, spelled out on the rows.
    constraints_ : tuple of Constraint
        The promises, one for each group.
    violations_ : dict of str to float
        The violation of each promise out of fold, by its words; a promise is kept if it is <= 0.
    certificate_ : Certificate
        The certificate from the rows set aside by `certify`; it exists only with `certify`.
    cv_results_ : dict
        Arrays "thresholds" (k,), "scores" (k,), the objective at each, "violations" (k, m) and "kept"
        (k,); they exist only with `store_cv_results`.
    classes_ : array of shape (2,)
        The labels in sorted order.
    n_features_in_ : int
        The number of columns of `X`, if the classifier has it.
    feature_names_in_ : array of str
        The names of these columns, if the classifier has them.

    See Also
    --------
    RateConstrainedClassifier : Trains for the promises, which may compare groups.
    thresholds : A threshold for each known group, on existing scores.
    make_scorer : Puts promises first in a search for parameters.

    Examples
    --------
    The best precision at a recall of 95%:

    >>> import numpy as np, ratebound._old as rb
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(4000, weights=[0.8], random_state=0)
    >>> model = rb.TunedThreshold(LogisticRegression(), "recall() >= 0.95", maximize="precision()")
    >>> print(model.fit(X[:2000], y[:2000]).status_)
    feasible: every constraint is kept on the training rows, each judged by models that did not see it.
    On new rows like these all hold together with a confidence of about 9...%.
    >>> report = model.audit(X[2000:], y[2000:])
    >>> report.kept, round(report.objective.value, 1)
    (True, 0.4)
    """

    certificate_: Certificate
    cv_results_: dict[str, Array]
    __metadata_request__fit = {"columns": True, "groups": True}  # noqa: RUF012  # scikit-learn's own

    def __init__(
        self,
        estimator: Any,
        promises: Any = (),
        *,
        maximize: Any = None,
        minimize: Any = None,
        confidence: float | None = 0.9,
        certify: float | None = None,
        response_method: str = "auto",
        thresholds: Any = None,
        cv: Any = 5,
        refit: bool = True,
        positive_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        store_cv_results: bool = False,
    ) -> None:
        self.estimator = estimator
        self.promises = promises
        self.maximize = maximize
        self.minimize = minimize
        self.confidence = confidence
        self.certify = certify  # the method of the same name passes it on, see MethodAndParameter
        self.response_method = response_method
        self.thresholds = thresholds
        self.cv = cv
        self.refit = refit
        self.positive_label = positive_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.store_cv_results = store_cv_results

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inside = get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags = inside.input_tags
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, including `certify`, whose attribute is the method.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the parameters of its parts too, as in ``estimator__C``.

        Returns
        -------
        dict
            The values by name.
        """
        return super().get_params(deep) | {"certify": self._share_to_certify}

    @property
    def _share_to_certify(self) -> float | None:
        share: float | None = vars(self)["certify"]
        return share

    def get_metadata_routing(self) -> Any:
        """Which arguments of `fit` go to the classifier, to the splitter, and to itself.

        Returns
        -------
        MetadataRouter
            As in scikit-learn's metadata routing.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=to_fit).add(
            splitter=self.cv, method_mapping=to_split
        )

    def fit(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        **params: Any,
    ) -> Any:
        """Score rows `X` with labels `y` out of fold, set the threshold, and fit the classifier.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list
            The rows, as the classifier takes them. If it is a table, promises can use its columns.
        y : array of shape (n,)
            The labels.
        columns : DataFrame or mapping, default=None
            Columns that promises use and the classifier must not see. By default only the columns of `X`
            are used.
        sample_weight : array of shape (n,), default=None
            How much each row counts in every rate, and for the classifier if its `fit` takes it; with
            scikit-learn's metadata routing, if it requests it. By default each counts once.
        groups : str or array of shape (n,), default=None
            Which rows belong together, such as those of one customer: a column, or an id for each row.
            They are in one fold, and count as one row for the confidence of a promise. By default each
            row is independent.
        **params : any
            Arguments that the classifier's `fit` or the splitter requests by scikit-learn's metadata
            routing.

        Returns
        -------
        TunedThreshold
            Itself, fitted. A warning is given if no threshold keeps the promises; see `status_`.

        Raises
        ------
        ValueError
            If there are not two classes, a promise names columns, groups or thresholds that do not
            exist, or scores are not numbers.
        """
        problem = self._checked_problem(params)
        check_order(X, {"y": y, "sample_weight": sample_weight, "columns": columns})
        X, y = indexable(X, unmasked(y))
        people = self._people(X, y, columns, sample_weight)
        together = _ids(groups, people)
        fits, splits = self._routed(columns, people.weights, together, params)
        inside, aside = self._set_aside(problem, people, together)
        scored = self._scored(X, y, inside, fits, splits)
        every = self._every(problem, people, scored, together)
        place, status = self._chosen(every, scored.fine)
        self.__dict__.pop("certificate_", None)  # of an earlier fit
        if len(aside):
            there = scores_of(self.estimator_, _rows(X, aside), self.response_method, people.labels.yes)
            place, status = self._certified(every, place, status, people.only(aside), there, scored.fine)
        self._finished(every, place, status, scored, {ASIDE: len(aside)} if len(aside) else {})
        warn_if_broken(status, self)
        return self

    # --- what is given -------------------------------------------------------------------------------

    def _checked_problem(self, params: Mapping[str, Any]) -> Problem:
        """The problem of the parameters, all checked before anything is read or fitted."""
        problem = promised(self.promises, self.maximize, self.minimize)
        remedy = "Train for it: rb.RateConstrainedClassifier(..., model='mlp')."
        refuse_general(problem.subject_to, "a threshold", remedy)
        if self.confidence is not None:
            check_number("confidence, a probability such as 0.9,", self.confidence, above=0, below=1)
        if self._share_to_certify is not None:
            check_number(
                "certify, a share of the rows such as 0.3,", self._share_to_certify, above=0, below=1
            )
        check_word("response_method", self.response_method, RESPONSES)
        response_of(self.estimator, self.response_method)
        for rate in problem.rates:
            if rate.on not in (None, FIRST):
                raise ValueError(
                    f"{rate} is about another population, but the threshold is set only on the rows "
                    "given to fit: set it by rb.thresholds on scores of both"
                )
        if params and not sklearn.get_config()["enable_metadata_routing"]:
            name = next(iter(params))
            if name.lower() in GROUPS:
                check_spoken_of(params, problem)  # its error says what to write
            raise TypeError(
                f"{name}= is not an argument of fit; what the classifier's own fit takes is passed on "
                "with sklearn.set_config(enable_metadata_routing=True)"
            )
        return problem

    def _people(self, X: Any, y: Any, columns: Any, sample_weight: Any) -> Population:
        """Labels, weights and the columns that promises use; X is the number of each row."""
        if y is None:
            raise ValueError(
                "fit requires y to be passed, but the target y is None: a label for each row"
            )
        labels = label_values(y)
        column_or_1d(y, warn=True)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
            check_targets(labels)
        classes = classes_of(labels)
        check_classes(classes, len(labels))
        check_targets(labels)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. One threshold decides between two classes, "
                f"but y has {len(classes)}: use rb.RateConstrainedClassifier, or make y yes or no"
            )
        counts = {label: int((labels == label).sum()) for label in classes.tolist()}
        rarest = min(counts, key=lambda label: counts[label])
        if counts[rarest] < 2 and self.cv != "prefit":
            raise ValueError(
                f"y has one row of class {rarest!r}, which cannot be both fitted and scored: bring "
                "more such rows, or set a threshold for a fitted classifier, cv='prefit'"
            )
        weights = None if sample_weight is None else _check_sample_weight(unmasked(sample_weight), X)
        ordered = in_order(classes, self.positive_label)
        spoken_of = columns_by_name(X if frame_columns(X) else None) | columns_by_name(columns)
        which = np.arange(len(labels))[:, None]
        return labelled(which, trained_labels(labels, ordered), spoken_of, weights, ordered)

    def _routed(
        self,
        columns: Any,
        sample_weight: Array | None,
        groups: Array | None,
        params: dict[str, Any],
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments for the classifier's fit, and for the splitter."""
        given = {"columns": columns, "sample_weight": sample_weight, "groups": groups}
        given = {name: each for name, each in given.items() if each is not None}
        if sklearn.get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given, **params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        split = {} if groups is None else {"groups": groups}
        if sample_weight is None:
            return {}, split
        if has_fit_parameter(self.estimator, "sample_weight"):
            return {"sample_weight": sample_weight}, split
        warnings.warn(
            f"{type(self.estimator).__name__}.fit does not take sample_weight, so the weights count "
            "only in rates; a Pipeline passes them on with scikit-learn's metadata routing",
            stacklevel=3,
        )
        return {}, split

    def _set_aside(
        self, problem: Problem, people: Population, together: Array | None
    ) -> tuple[Array, Array]:
        """The rows to fit and tune on, and to certify on: the same share of every cell."""
        every = np.arange(len(people))
        if self._share_to_certify is None:
            return every, every[:0]
        cells = compile(problem.at_levels(dict.fromkeys(problem.leveled)), people).cells
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if together is None:
            aside = held_out(cells, self._share_to_certify, seed)
        else:
            first = np.unique(together, return_index=True)[1]
            aside = held_out(cells[first], self._share_to_certify, seed)[together]
        if aside.all() or not aside.any():
            raise ValueError(
                f"certify={self._share_to_certify} of {len(aside)} rows leaves none on one side: choose "
                "another share"
            )
        return every[~aside], every[aside]

    # --- scores out of fold --------------------------------------------------------------------------

    def _scored(
        self, X: Any, y: Any, inside: Array, fits: dict[str, Any], splits: dict[str, Any]
    ) -> Scored:
        """The rows `inside`, scored by classifiers that did not see them; `estimator_` is fitted."""
        yes = in_order(classes_of(label_values(y)), self.positive_label)[1]
        fits, splits = (_check_method_params(X, each, indices=inside) for each in (fits, splits))
        if len(inside) < len(label_values(y)):
            X, y = _rows(X, inside), _rows(y, inside)
        if isinstance(self.cv, str) and self.cv == "prefit":
            self.estimator_ = self._prefitted()
            return Scored(inside, scores_of(self.estimator_, X, self.response_method, yes), KEPT)
        folds = list(self._splitter(y, "groups" in splits).split(X, y, **splits))
        if not self.refit and len(folds) > 1:
            raise ValueError("When cv has several folds, refit cannot be False.")
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fitted_and_scored)(
                clone(self.estimator), X, y, train, test, fits, self.response_method, yes
            )
            for train, test in folds
        )
        self.estimator_ = clone(self.estimator).fit(X, y, **fits) if self.refit else fitted[0][0]
        rows = np.concatenate([np.arange(len(inside))[test] for _, test in folds])
        order = np.argsort(rows, kind="stable")
        scores = np.concatenate([each for _, each in fitted])
        return Scored(inside[rows[order]], scores[order], FINE)

    def _prefitted(self) -> Any:
        if self.refit is True:
            raise ValueError("When cv='prefit', refit cannot be True: say refit=False.")
        try:
            check_is_fitted(self.estimator, "classes_")
        except NotFittedError as error:
            raise NotFittedError(
                "When cv='prefit', `estimator` must be fitted, on other rows than these"
            ) from error
        return self.estimator

    def _splitter(self, y: Any, grouped: bool) -> Any:
        if isinstance(self.cv, Real) and not isinstance(self.cv, Integral):
            check_number("cv, if it is a share of the rows,", self.cv, above=0, below=1)
            seed = check_random_state(self.random_state)
            return StratifiedShuffleSplit(n_splits=1, test_size=self.cv, random_state=seed)
        if grouped and (self.cv is None or isinstance(self.cv, Integral)):
            return StratifiedGroupKFold(n_splits=5 if self.cv is None else self.cv)
        return check_cv(self.cv, y=y, classifier=True)

    # --- the threshold -------------------------------------------------------------------------------

    def _every(
        self, problem: Problem, people: Population, scored: Scored, together: Array | None
    ) -> EveryThreshold:
        """The results of every threshold on the scored rows."""
        seen = people.only(scored.rows)
        if problem.leveled:
            problem = at_levels(problem, scored.scores, seen, known=())
        spelled_out = compile(problem, people).problem  # here counts are out of all rows
        if together is None and len(np.unique(scored.rows)) < len(scored.rows):
            together = np.arange(len(people))  # rows that are scored several times count once
        if together is not None:
            together = np.unique(together[scored.rows], return_inverse=True)[1]
        only = self.thresholds
        if isinstance(only, Integral):
            check_number("thresholds, if it is a number of them,", only, least=1)
            only = np.linspace(scored.scores.min(), scored.scores.max(), int(only))
        elif only is not None:
            only = np.asarray(only, dtype=float).reshape(-1)
            if not len(only) or np.isnan(only).any():
                raise ValueError(f"thresholds takes numbers to choose among, got {self.thresholds!r}")
        return every_threshold(compile(spelled_out, seen), scored.scores, only=only, together=together)

    def _chosen(self, every: EveryThreshold, fine: str) -> tuple[int, Status]:
        """The threshold with the requested confidence, and its status."""
        if self.confidence is None or not len(every.compiled.constraints):
            place = every.best()
            return place, every.status(place, fine)
        sure = every.sure(self.confidence)
        place = every.worth_it() if sure is None else sure
        status = every.status(place, fine)
        if status.feasible:
            words = f"{status.message}. {every.words(place, self.confidence)}"
            status = replace(status, message=words, confidence=round(every.confidence(place), 2))
        return place, status

    def _certified(
        self,
        every: EveryThreshold,
        place: int,
        status: Status,
        people: Population,
        scores: Array,
        fine: str,
    ) -> tuple[int, Status]:
        """The best threshold that passes on the rows set aside; if none does, the one chosen before."""
        assert self._share_to_certify is not None
        confidence = self.confidence or CERTIFIED
        rows = copy.copy(people)
        rows.X = scores[:, None]
        aside = compile(every.compiled.problem, rows)
        places = every.safest_first(confidence, self._share_to_certify)
        candidates = [Cut(float(every.at[each]), aside.classes) for each in [*places, place]]
        passed, certificate = cheapest_certified(candidates[:-1], candidates[-1], aside, confidence)
        words = f"one model ({type(self.estimator).__name__} from a score of {{:.4g}} on)"
        chosen = place if passed is None else places[passed]
        self.certificate_ = replace(certificate, model=words.format(every.at[chosen]))
        if passed is None:
            return chosen, status
        shown = f"{fine}. The test for new rows used {len(rows):,} other rows: see the certificate."
        return chosen, every.status(chosen, shown)

    def _finished(
        self, every: EveryThreshold, place: int, status: Status, scored: Scored, aside: dict[str, int]
    ) -> None:
        """Keep the fitted model, at a threshold."""
        compiled = every.compiled
        rows, folds = len(np.unique(scored.rows)), scored.fine == FINE
        on = OUT_OF_FOLD if folds else "train"
        used = {"trained on": rows, "judged out of fold": rows} if folds else {"threshold set on": rows}
        record = Record(
            problem=compiled.problem,
            status=status,
            objectives={on: float(every.objectives[place])},
            violations={on: every.violations[place]},
            seed=given_seed(self),
            drawn=(0.0, 0.0),
            made=Making(said(self), used | aside),
            certificate=vars(self).get("certificate_"),
        )
        scorer = tuned_scorer(self.estimator_, self.response_method, compiled.classes[1])
        at = np.clip([[every.at[place]]], -LARGEST, LARGEST)
        self.solution_ = Policy(
            Members(np.ones(1), at, scorer),
            Draw(),
            record,
            compiled.classes,
            calibration=Calibration(1.0, (0.0,), "the classifier's own", rows)
            if hasattr(self.estimator_, "predict_proba")
            else None,
        )
        self.best_threshold_ = float(every.at[place])
        self.best_score_ = float(compiled.problem.shown(every.objectives[place]))
        self.status_, self.problem_ = status, compiled.problem
        self.constraints_ = compiled.constraints
        pairs = zip(compiled.labels, every.violations[place].tolist(), strict=True)
        self.violations_ = dict(pairs)
        self._yes = compiled.classes[1]
        for name in ("cv_results_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if self.store_cv_results:
            self.cv_results_ = {
                "thresholds": every.at,
                "scores": np.asarray(compiled.problem.shown(every.objectives)),
                "violations": every.violations,
                "kept": every.keeps(),
            }

    # --- deciding ------------------------------------------------------------------------------------

    @property
    def classes_(self) -> Array:
        """The labels in sorted order."""
        return np.asarray(self.estimator_.classes_)

    def predict(self, X: Any) -> Array:
        """A decision for each row: yes from the threshold on.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list
            The rows, as the classifier takes them.

        Returns
        -------
        array of shape (n,)
            The decisions, spelled as the labels were.
        """
        check_is_fitted(self, "best_threshold_")
        scores = scores_of(self.estimator_, X, self.response_method, self._yes)
        no, yes = in_order(self.classes_, self._yes)
        return np.where(scores >= self.best_threshold_, np.asarray(yes), np.asarray(no))

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """The classifier's probability of each label, whatever the decision.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list
            The rows.

        Returns
        -------
        array of shape (n, 2)
            A column for each of `classes_`.
        """
        check_is_fitted(self, "best_threshold_")
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list
            The rows.

        Returns
        -------
        array of shape (n, 2)
            A column for each of `classes_`.
        """
        check_is_fitted(self, "best_threshold_")
        return self.estimator_.predict_log_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """The classifier's score of each row, whatever the decision.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list
            The rows.

        Returns
        -------
        array of shape (n,)
            Higher favours ``classes_[1]``.
        """
        check_is_fitted(self, "best_threshold_")
        return self.estimator_.decision_function(X)

    def audit(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        clusters: Name | None = None,
    ) -> Audit:
        """Judge every promise on these rows: its value, bound and interval, and whether it is kept.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list
            The rows.
        y : array of shape (n,)
            The labels.
        columns : DataFrame or mapping, default=None
            Columns that promises use, as in `fit`.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        clusters : str or int, default=None
            The column whose values say which rows were drawn together. By default each row is drawn by
            itself.

        Returns
        -------
        Audit
            Print it, or take it as a frame, JSON or a page.
        """
        check_is_fitted(self, "best_threshold_")
        return self.solution_.audit(_given(X), y, columns, sample_weight, clusters=clusters)

    @MethodAndParameter
    def certify(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        confidence: float = 0.95,
    ) -> Certificate:
        """Whether the promises hold on new rows, tested on unseen rows as by `rb.certify`.

        The parameter of the same name sets rows aside for a certificate in `fit`.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list
            Rows that neither the classifier nor the threshold was fitted on.
        y : array of shape (n,)
            The labels.
        columns : DataFrame or mapping, default=None
            Columns that promises use, as in `fit`.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        confidence : float, default=0.95
            A false certificate has a probability of at most one minus this.

        Returns
        -------
        Certificate
            What holds, by which test, and how many rows would be needed.
        """
        check_is_fitted(self, "best_threshold_")
        return self.solution_.certify(_given(X), y, columns, sample_weight, confidence=confidence)

    def save(self, path: str | Path, *, date: datetime.date | None = None) -> Path:
        """Write the classifier with its threshold to a file, which `rb.load` reads.

        It is safetensors and JSON, never pickle; the classifier in it is written with skops, so that
        reading it runs no code from the file. It is loaded as a `Policy`, which predicts, audits and
        certifies.

        Parameters
        ----------
        path : str or path
            The file, if the name ends in ``.safetensors``; otherwise a folder, which gets a file of that
            kind.
        date : date, default=None
            The date for its record. None by default, so that equal models are equal files.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import tempfile, ratebound._old as rb
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = make_classification(500, random_state=0)
        >>> model = rb.TunedThreshold(LogisticRegression(), "recall() >= 0.9", confidence=None).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     loaded = rb.load(model.save(folder))
        >>> bool((loaded.predict(X) == model.predict(X)).all())
        True
        """
        check_is_fitted(self, "best_threshold_")
        return self.solution_.save(path, date=date)


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows that were scored by classifiers that did not see them."""

    rows: Array  # (r,) their numbers, repeated if scored several times
    scores: Array  # (r,)
    fine: str  # a status's words for promises that are kept on them


@dataclass(frozen=True)
class Cut:
    """Decides on scores (n, 1): yes from `at` on."""

    at: float
    classes: tuple[Any, ...]  # no and yes

    def predict(self, X: Array) -> Array:
        """A decision for each row."""
        return np.asarray(self.classes)[(X[:, 0] >= self.at).astype(np.intp)]


def _fitted_and_scored(
    estimator: Any,
    X: Any,
    y: Any,
    train: Array,
    test: Array,
    fits: dict[str, Any],
    response: str,
    yes: Any,
) -> tuple[Any, Array]:
    """A classifier fitted on some rows, and its scores of others."""
    own = _check_method_params(X, fits, indices=train)
    estimator.fit(_rows(X, train), _rows(y, train), **own)
    return estimator, scores_of(estimator, _rows(X, test), response, yes)


def _given(X: Any) -> Any:
    """Rows as passed, with lists as arrays."""
    return X if hasattr(X, "shape") else np.asarray(X)


def _rows(values: Any, chosen: Array) -> Any:
    return _safe_indexing(values, chosen)


def _ids(groups: Any, people: Population) -> Array | None:
    """A number for each row (n,), the same for rows that belong together; None if no rows do."""
    if groups is None:
        return None
    ids = people.column(groups) if isinstance(groups, str) else as_array(unmasked(groups))
    if ids.shape != (len(people),):
        raise ValueError(
            f"groups has the shape {ids.shape}: give an id for each of {len(people):,} rows, or a column"
        )
    return np.unique(ids, return_inverse=True)[1]
