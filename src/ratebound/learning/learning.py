"""Rows and a problem become the model that is deployed: fold, forecast, solve, choose."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ratebound.learning.confidence import EVEN, Claim, MarginSearch
from ratebound.learning.features import take_rows
from ratebound.learning.floors import find_floor
from ratebound.learning.folds import deal_folds, digest_rows, find_shared_rows, find_units
from ratebound.learning.forecast import Forecast, learn_forecast
from ratebound.learning.given import Rows
from ratebound.learning.influence import Influence, measure_influence
from ratebound.learning.known import Known, find_known_groups
from ratebound.learning.models import ignore_feature_names, predict_probabilities
from ratebound.learning.rules import Rule, Rules, build_terms, choose_cheapest, compute_costs
from ratebound.learning.solve import (
    choose_levels,
    find_best_rule,
    find_unleveled_ratios,
    rebuild_rules,
)
from ratebound.problem.compile import compile
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population, as_pieces, collect_classes
from ratebound.problem.problem import Problem
from ratebound.problem.slices import Classes
from ratebound.rates.sums import FIRST

ANY_LEVEL = 0.5  # to learn at: sets of rows are the same at all levels
PARTS = 100  # that rows are dealt to, if a share is drawn
INTERRUPTED = "Training was interrupted: this is the best rule so far."
OUT_OF_TIME = "The time was over: this is the best rule so far."


# --- what decides ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Model:
    """What decides new rows: a forecast, and the weights of a rule."""

    forecast: Forecast
    terms: Any  # (T, D-1, J)
    weights: Any  # (T,)

    @property
    def known(self) -> Known | None:
        """The known groups, if columns may be used when deciding."""
        return self.forecast.known

    @property
    def fits(self) -> tuple[Any, ...]:
        """The models of labels, one without each fold."""
        return self.forecast.labels.fits

    def predict_labels(self, X: Any) -> Any:
        """Return the probability of each label (L, n)."""
        return self.forecast.predict_labels(X)

    def compute_costs(self, X: Any, group: Any = None) -> Any:
        """Return the expected costs (D-1, n) of decisions but the first."""
        forecast = self.forecast(X, group)
        return compute_costs(self.terms, self.weights[None], forecast)[0]

    def decide(self, X: Any, group: Any = None) -> Any:
        """Return the index of each row's decision (n,)."""
        costs = self.compute_costs(X, group)
        return choose_cheapest(costs[None])[0]

    def split_costs(self, X: Any, group: Any = None) -> Any:
        """Return what each weight adds to the costs (T, D-1, n)."""
        one_at_a_time = np.diag(self.weights)
        return compute_costs(self.terms, one_at_a_time, self.forecast(X, group))


@dataclass(frozen=True, eq=False)
class PlainModel:
    """A classifier that decides by itself, among labels 0, 1, ..."""

    fit: Any
    count: int  # of labels
    known = None

    @property
    def fits(self) -> tuple[Any, ...]:
        return (self.fit,)

    def predict_labels(self, X: Any) -> Any:
        return predict_probabilities(self.fit, X, self.count)

    def compute_costs(self, X: Any, group: Any = None) -> Any:
        if hasattr(self.fit, "predict_proba"):
            scores = np.log(np.maximum(self.predict_labels(X), 1e-300))
        else:
            scores = self.fit.decision_function(X).T
        if scores.ndim == 1:
            return -scores[None]
        return scores[:1] - scores[1:]

    def decide(self, X: Any, group: Any = None) -> Any:
        with ignore_feature_names():
            decisions = self.fit.predict(X) if X.shape[0] else []
        return np.asarray(decisions, dtype=int)

    def split_costs(self, X: Any, group: Any = None) -> Any:
        costs = self.compute_costs(X)
        nothing_else = np.zeros((len(costs) + 1, *costs.shape))  # biases and errors
        return np.concatenate([costs[None], nothing_else])


# --- rows to learn from ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of a problem's populations, one after another."""

    compiled: Compiled
    features: Any
    codes: Any  # (k,) the labels of the first population
    unit: Any  # (n,) which rows were drawn together
    unleveled: list[str]  # constraints that compare two ratios, at any level

    @property
    def kinds(self) -> Any:
        """A number for every row (n,), the same for rows with one cell and one label."""
        return _number_kinds(self.compiled, self.codes)

    @property
    def populations(self) -> dict[str, Population]:
        """The rows by population."""
        return {name: pieces[0] for name, pieces in self.compiled.populations.items()}

    def select(self, mask: Any) -> Sample:
        """Return some of the rows."""
        return Sample(
            compiled=self.compiled.select(mask),
            features=take_rows(self.features, np.flatnonzero(mask)),
            codes=self.codes[mask[: len(self.codes)]],
            unit=self.unit[mask],
            unleveled=self.unleveled,
        )


def read_sample(
    problem: Problem,
    populations: Mapping[str, Population],
    features: Rows,
    clusters: Any = None,
) -> Sample:
    """Return the rows of populations, whose `features` follow each other.

    `clusters` (n,) says which rows were drawn together.
    """
    unleveled = _find_unleveled(problem, populations)
    problem = problem.at_levels(dict.fromkeys(unleveled, ANY_LEVEL))
    compiled = compile_problem(problem, populations)
    labels = compiled.classes.values[: compiled.classes.labels]
    codes = populations[FIRST].class_indices(None, labels)
    unit = find_units(features, digest_rows(features), _number_kinds(compiled, codes), clusters)
    return Sample(compiled, features, codes, unit, unleveled)


def draw_rows(sample: Sample, share: float, seed: int) -> Any:
    """Return which rows (n,) are among those drawn: a share of the units of each kind."""
    part = deal_folds(sample.unit, sample.kinds, seed, most=PARTS)
    is_drawn = np.diff(np.floor(share * np.arange(PARTS + 1))) > 0
    return is_drawn[part]


def _find_unleveled(problem: Problem, populations: Mapping[str, Population]) -> list[str]:
    pieces = {name: as_pieces(rows) for name, rows in populations.items()}
    classes = Classes(*collect_classes(pieces))
    return find_unleveled_ratios(problem, pieces, classes)


def compile_problem(problem: Problem, populations: Mapping[str, Population]) -> Compiled:
    """Compile a problem that decisions alone can meet or violate."""
    other_populations = {name: rows for name, rows in populations.items() if name != FIRST}
    compiled = compile(problem, populations[FIRST], **other_populations)
    is_computed = any(row.computed is not None for row in compiled.rows)
    if is_computed or any(block.at != 0 for block in compiled.blocks):
        raise ValueError(
            "a function of one's own, a rate with at= and an area such as roc_auc() are of scores, "
            "not of decisions: train for them with rb.play"
        )
    return compiled


def _number_kinds(compiled: Compiled, codes: Any) -> Any:
    unlabeled = np.full(len(compiled.cell) - len(codes), -1)
    labels = np.append(codes, unlabeled)
    return compiled.cell.astype(np.int64) * (compiled.classes.labels + 1) + labels


# --- learning -------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A rule, what is claimed of it, and the margins (m,) that it was solved with."""

    rule: Rule
    claim: Claim | None
    margins: Any


@dataclass(eq=False)
class Search:
    """Finds the best rule at margins; once it is stopped, the best of those so far."""

    rules: Rules
    deadline: float = np.inf
    stopped: str = ""  # why

    def __call__(self, margins: Any) -> Rule:
        return self._search(margins, is_quick=False)

    def find_quickly(self, margins: Any) -> Rule:
        """Return a good rule, which a longer search might improve."""
        return self._search(margins, is_quick=True)

    def _search(self, margins: Any, is_quick: bool) -> Rule:
        if not self.stopped and time.monotonic() > self.deadline:
            self.stopped = OUT_OF_TIME
        if not self.stopped:
            try:
                return find_best_rule(self.rules, margins, is_quick=is_quick)
            except KeyboardInterrupt:
                self.stopped = INTERRUPTED
        return self.rules.find_cheapest(margins)


@dataclass(frozen=True, eq=False)
class Learned:
    """A forecast of the rows of a problem, and all that choosing a rule needs."""

    rules: Rules
    forecast: Forecast
    unit: Any  # (n,) which rows were drawn together
    seed: int

    @cached_property
    def influence(self) -> Influence:
        return measure_influence(self.rules.compiled, self.unit)

    def choose_rule(self, confidence: float | None) -> Choice:
        """Return the choice that is worth its price."""
        return self.list_choices(confidence, Search(self.rules))[0]

    def list_choices(
        self,
        confidence: float | None,
        search: Search,
        share: float | None = None,
    ) -> list[Choice]:
        """Return the choice that is worth its price, then safer ones for a test on a share of rows."""
        if not self.rules.constraint_count:
            nothing = np.zeros(0)
            return [Choice(search(nothing), None, nothing)]
        asked = EVEN if confidence is None else confidence
        margins = MarginSearch(
            self.rules, search, self.influence, asked, self.seed, search.find_quickly
        )
        if confidence is None:
            only, claim = margins.choose_on_rows()
            required = only.margins if claim is None else only.margins + margins.required
            return [Choice(only.rule, claim, required)]
        best, claim = margins.choose()
        safer = [] if share is None else margins.list_safer(best, share)
        choices = []
        for candidate in (best, *safer):
            required = np.where(margins.is_testable, candidate.margins, -np.inf)
            choices.append(Choice(candidate.rule, margins.make_claim(candidate), required))
        if claim.reached >= confidence and not best.margins.any():
            return choices
        floor = find_floor(self.rules, best.rule, self.influence, self.unit, confidence)
        if floor is not None:
            rule, claim = floor
            self.rules.evaluate(rule.weights[None])  # other bounds start from it, too
            choices[0] = Choice(rule, claim, -rule.violations)
        return choices

    def make_model(self, rule: Rule) -> Model:
        return Model(self.forecast, self.rules.terms, rule.weights)


def learn_rules(
    sample: Sample,
    model: Any,
    *,
    known: str | Sequence[str] | None = None,
    seed: int = 0,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Learned:
    """Learn the forecast of a sample, and its rules."""
    compiled = sample.compiled
    populations = [*sample.populations.values()]
    known_groups = None
    group = None
    if known is not None:
        known_groups = find_known_groups(known, populations[0])
        group = np.concatenate([known_groups.find(rows) for rows in populations])
    fold = deal_folds(sample.unit, sample.kinds, seed)
    forecast = learn_forecast(
        compiled,
        sample.features,
        fold,
        model,
        sample.codes,
        known=known_groups,
        group=group,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )
    shared = find_shared_rows(digest_rows(sample.features))
    out_of_fold = forecast.predict_out_of_fold(sample.features, fold, group, shared)
    rules = Rules(compiled, build_terms(compiled, forecast), out_of_fold)
    if sample.unleveled:
        leveled = choose_levels(compiled.problem, sample.unleveled, rules, forecast)
        rules = rebuild_rules(leveled, rules, forecast)
    return Learned(rules, forecast, sample.unit, seed)
