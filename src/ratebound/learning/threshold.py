"""The best threshold on a classifier's score is found among all of them at once.

Rows in order of their scores make every threshold a prefix, so what each does is a cumulative sum.
From there on a threshold is a rule like any other, judged and chosen by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ratebound.learning.confidence import Candidate, MarginSearch
from ratebound.learning.features import take_rows
from ratebound.learning.folds import deal_folds, digest_rows, find_units
from ratebound.learning.given import as_problem, check_order, check_rows, read_population
from ratebound.learning.influence import measure_influence
from ratebound.learning.models import fit_clone
from ratebound.learning.rules import Rule, Rules
from ratebound.learning.status import make_status, warn_if_violated
from ratebound.problem.compile import compile
from ratebound.problem.compiled import Compiled

MOST_COMPARED = 40  # thresholds, evenly among all, whose deviations are compared


@dataclass(eq=False)
class Thresholds(Rules):
    """Every threshold on one score, from no for everyone to yes for everyone.

    A rule's only weight is its threshold. The classifier's own comes first.
    """

    usual: float = 0.5  # the threshold of the classifier itself
    worth: Any = field(init=False)  # (p + m, n) what a yes for each row adds

    def __post_init__(self) -> None:
        compiled = self.compiled
        if compiled.decisions != 2 or any(block.at != 0 for block in compiled.blocks):
            raise ValueError(
                "one threshold decides between yes and no, and constraints on it set no other"
            )
        score = self.forecast[0]
        self.worth = self._compute_worth()
        highest_first = np.argsort(-score, kind="stable")
        scores = score[highest_first]
        last_of_score = np.flatnonzero(np.diff(scores, append=-np.inf))
        total = np.cumsum(self.worth[:, highest_first], axis=1)[:, last_of_score]
        of_nobody = np.zeros(len(compiled.offset))
        values = compiled.offset + np.column_stack([of_nobody, total]).T

        distinct = scores[last_of_score]
        between = (distinct[:-1] + distinct[1:]) / 2
        thresholds = np.concatenate([[np.inf], between, [-np.inf]])
        usual = 0
        if len(between):
            usual = 1 + int(np.argmin(np.abs(between - self.usual)))
        rest = np.delete(np.arange(len(thresholds)), usual)
        order = np.r_[usual, rest]
        self.weights = thresholds[order, None]
        self.values = values[order]

    def _compute_worth(self) -> Any:
        compiled = self.compiled
        worth = np.zeros((len(compiled.offset), len(compiled.cell)))
        for block in compiled.blocks:
            weight = compiled.weight_of(block)
            of_cells = compiled.per_cell(block.coefficients)[:, 0]
            worth += of_cells[:, compiled.cell] * (1 if weight is None else weight)
        return worth

    @property
    def plain_weights(self) -> Any:
        return self.weights[0]

    def decide(self, weights: Any) -> Any:
        return (self.forecast[0] >= weights).astype(np.int64)

    @cached_property
    def one_sided(self) -> Any:
        """The constraints (k,) that every yes can only help, or only harm."""
        worth = self.worth[self.piece_count :]
        largest = np.abs(worth).max(axis=1, initial=0)
        rounding = 1e-12 * largest[:, None]
        only_harms = (worth >= -rounding).all(axis=1)
        only_helps = (worth <= rounding).all(axis=1)
        return np.flatnonzero(only_harms | only_helps)

    @cached_property
    def crossing(self) -> Any:
        """The rules (m,) that just meet each constraint."""
        violations = self.values[:, self.piece_count :]
        return np.abs(violations).argmin(axis=0)


@dataclass(eq=False)
class ThresholdSearch(MarginSearch):
    """The search among thresholds, where some constraints change sides once.

    A constraint that every yes helps, or harms, is violated on new rows only if these rows mislead
    at the threshold where it changes sides. So only its deviation there counts, and not the
    largest.
    """

    rules: Thresholds

    def make_candidate(self, rule: Rule, margins: Any) -> Candidate:
        errors = self.influence.compute_errors(self._decide(rule.weights))
        for constraint in self.rules.one_sided:
            threshold = self.rules.weights[self.rules.crossing[constraint]]
            at_crossing = self.influence.compute_errors(self._decide(threshold))
            errors[constraint] = at_crossing[constraint]
        return Candidate(rule, margins, -rule.violations / errors)

    def draw_largest_deviations(self, most: int) -> Any:
        rules = self.rules
        count = min(MOST_COMPARED, max(2, most // rules.constraint_count))
        spread = np.linspace(1, len(rules.weights) - 1, count).astype(int)
        thresholds = [*rules.weights[rules.crossing], *rules.weights[spread]]
        draws = self.draw_deviations(thresholds, np.random.default_rng(self.seed))
        largest = draws.max(axis=1)
        one_sided = rules.one_sided
        largest[:, one_sided] = draws[:, one_sided, one_sided]
        return largest


class ConstrainedThresholdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier at the best of all thresholds on its score that meet rate constraints.

    Rows are scored by models that did not see them; with ``prefit=True`` the classifier is taken as
    it is, and `fit` needs rows that it was not trained on.
    """

    __metadata_request__fit = {"columns": True}  # noqa: RUF012  # scikit-learn's own convention

    def __init__(
        self,
        estimator: Any,
        constraints: Any = (),
        *,
        objective: Any = "error_rate()",
        confidence: float | None = 0.9,
        prefit: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.constraints = constraints
        self.objective = objective
        self.confidence = confidence
        self.prefit = prefit
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = of_estimator.sparse
        tags.input_tags.allow_nan = of_estimator.allow_nan
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        clusters: Any = None,
    ) -> Any:
        """Score rows with labels `y`, and choose a threshold; constraints may name `columns`."""
        check_order(X, y, columns)
        X = check_rows(self, X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.prefit:
            self.classes_ = np.asarray(self.estimator.classes_)
        if len(self.classes_) != 2:
            count = len(self.classes_)
            raise ValueError(f"Only binary classification is supported: y holds {count} classes")
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        classes = self.classes_.tolist()
        population = read_population(X, y, columns, weights=weights, classes=classes)
        compiled = compile(as_problem(self.objective, self.constraints), population)

        labels = population.class_indices(None, compiled.classes.values)
        kinds = 2 * compiled.cell.astype(np.int64) + labels
        unit = find_units(digest_rows(X), kinds, clusters)
        if self.prefit:
            self.estimator_ = self.estimator
            scores = self._score(self.estimator, X)
        else:
            self.estimator_ = fit_clone(self.estimator, X, y, weights, seed)
            scores = self._score_out_of_fold(X, y, weights, deal_folds(unit, kinds, seed), seed)
        self._choose_threshold(compiled, scores, unit, seed)
        warn_if_violated(self.status_)
        return self

    def _score_out_of_fold(
        self,
        X: Any,
        y: Any,
        weights: Any,
        fold: Any,
        seed: int,
    ) -> Any:
        scores = np.empty(len(y))
        for held_out in range(fold.max() + 1):
            train = np.flatnonzero(fold != held_out)
            test = np.flatnonzero(fold == held_out)
            train_weights = None if weights is None else weights[train]
            fit = fit_clone(self.estimator, take_rows(X, train), y[train], train_weights, seed)
            scores[test] = self._score(fit, take_rows(X, test))
        return scores

    def _choose_threshold(
        self,
        compiled: Compiled,
        scores: Any,
        unit: Any,
        seed: int,
    ) -> None:
        usual = 0.5 if hasattr(self.estimator_, "predict_proba") else 0.0
        no_terms = np.zeros((len(compiled.offset), 1, 1))
        rules = Thresholds(compiled, no_terms, scores[None], usual=usual)
        rule = rules.find_cheapest(np.zeros(rules.constraint_count))
        claim = None
        influence = None
        if rules.constraint_count:
            influence = measure_influence(compiled, unit)
        if influence is not None and self.confidence is not None:
            solve = rules.find_cheapest
            search = ThresholdSearch(rules, solve, influence, self.confidence, seed)
            best, claim = search.choose()
            rule = best.rule
        self.threshold_ = float(rule.weights[0])
        self.rules_ = rules
        self.status_ = make_status(rules, rule, claim, influence)

    def decision_function(self, X: Any) -> Any:
        """Return how far the score of each row is above the threshold (n,)."""
        X = check_rows(self, X)
        finite = np.clip(self.threshold_, -1e300, 1e300)
        return self._score(self.estimator_, X) - finite

    def predict(self, X: Any) -> Any:
        X = check_rows(self, X)
        is_yes = self._score(self.estimator_, X) >= self.threshold_
        return self.classes_[is_yes.astype(int)]

    def predict_proba(self, X: Any) -> Any:
        X = check_rows(self, X)
        return self.estimator_.predict_proba(X)

    def _score(self, fit: Any, X: Any) -> Any:
        """Return the score of each row (n,) for the last class."""
        if not hasattr(fit, "predict_proba"):
            return np.asarray(fit.decision_function(X), dtype=float).ravel()
        column = np.flatnonzero(np.asarray(fit.classes_) == self.classes_[1])
        if not len(column):
            return np.zeros(X.shape[0])
        return np.asarray(fit.predict_proba(X))[:, column[0]]
