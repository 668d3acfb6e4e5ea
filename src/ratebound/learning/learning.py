"""Rows and a problem become the model that is deployed: fold, forecast, solve, choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ratebound.learning.confidence import Claim, MarginSearch
from ratebound.learning.folds import deal_folds, digest_rows, find_shared_rows, find_units
from ratebound.learning.forecast import Forecast, learn_forecast
from ratebound.learning.influence import Influence, measure_influence
from ratebound.learning.known import Known, find_known_groups
from ratebound.learning.models import predict_probabilities
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
    """A classifier that decides by itself; `label_of_class` is the label index of each class."""

    fit: Any
    label_of_class: Any  # (L,)

    def predict_labels(self, X: Any) -> Any:
        of_classes = predict_probabilities(self.fit, X, len(self.label_of_class))
        return of_classes[np.argsort(self.label_of_class)]

    def compute_costs(self, X: Any, group: Any = None) -> Any:
        logarithms = np.log(np.maximum(self.predict_labels(X), 1e-300))
        return logarithms[:1] - logarithms[1:]

    def decide(self, X: Any, group: Any = None) -> Any:
        classes = np.asarray(self.fit.predict(X), dtype=int)
        return self.label_of_class[classes]


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

    def choose_rule(self, confidence: float | None) -> tuple[Rule, Claim | None, Any]:
        """Return the rule to deploy, its claim, and the margins (m,) it was solved with."""
        no_margins = np.zeros(self.rules.constraint_count)
        if confidence is None or not self.rules.constraint_count:
            return find_best_rule(self.rules, no_margins), None, no_margins
        solve = partial(find_best_rule, self.rules)
        search = MarginSearch(self.rules, solve, self.influence, confidence, self.seed)
        best, claim = search.choose()
        margins = np.where(search.is_testable, best.margins, -np.inf)
        return best.rule, claim, margins

    def make_model(self, rule: Rule) -> Model:
        return Model(self.forecast, self.rules.terms, rule.weights)


def learn_rules(
    problem: Problem,
    populations: Mapping[str, Population],
    features: Any,
    model: Any,
    *,
    known: Sequence[str] | str | None = None,
    clusters: Any = None,
    seed: int = 0,
    jobs: int | None = None,
) -> Learned:
    """Learn the forecast of populations, whose `features` follow each other, and its rules."""
    unleveled = _find_unleveled(problem, populations)
    problem = problem.at_levels(dict.fromkeys(unleveled, ANY_LEVEL))
    compiled = _compile_problem(problem, populations)
    if len(populations) > 1 and clusters is not None:
        raise ValueError("clusters= names rows of one population, and there are several")
    first = next(iter(populations.values()))
    codes = first.class_indices(None, compiled.classes.values[: compiled.classes.labels])

    digests = digest_rows(features)
    kinds = _number_kinds(compiled, codes)
    unit = find_units(digests, kinds, clusters)
    fold = deal_folds(unit, kinds, seed)

    known_groups = None
    group = None
    if known:
        known_groups = find_known_groups(known, first)
        group = np.concatenate([known_groups.find(rows) for rows in populations.values()])
    forecast = learn_forecast(
        compiled,
        features,
        fold,
        model,
        codes,
        known=known_groups,
        group=group,
        seed=seed,
        jobs=jobs,
    )
    shared = find_shared_rows(digests)
    out_of_fold = forecast.predict_out_of_fold(features, fold, group, shared)
    rules = Rules(compiled, build_terms(compiled, forecast), out_of_fold)
    if unleveled:
        leveled = choose_levels(problem, unleveled, rules, forecast)
        rules = rebuild_rules(leveled, rules, forecast)
    return Learned(rules, forecast, unit, seed)


def _find_unleveled(problem: Problem, populations: Mapping[str, Population]) -> list[str]:
    pieces = {name: as_pieces(rows) for name, rows in populations.items()}
    classes = Classes(*collect_classes(pieces))
    return find_unleveled_ratios(problem, pieces, classes)


def _compile_problem(problem: Problem, populations: Mapping[str, Population]) -> Compiled:
    other_populations = {name: rows for name, rows in populations.items() if name != FIRST}
    compiled = compile(problem, populations[FIRST], **other_populations)
    if any(block.at != 0 for block in compiled.blocks):
        raise ValueError(
            "a rate with at=, or an area such as roc_auc(), is of other thresholds than the one "
            "that decides: train for it with rb.ProxyLagrangianClassifier"
        )
    return compiled


def _number_kinds(compiled: Compiled, codes: Any) -> Any:
    """Return a number for every row (n,), the same for rows with one cell and one label."""
    unlabeled = np.full(len(compiled.cell) - len(codes), -1)
    labels = np.append(codes, unlabeled)
    return compiled.cell.astype(np.int64) * (compiled.classes.labels + 1) + labels
