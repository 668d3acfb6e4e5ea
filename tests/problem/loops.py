"""Rates by loops over rows, written from their definitions.

Nothing of the library is used but what a text parses to: no table of rates, no cells, no slices.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import ratebound as rb
from ratebound.rates.conditions import All, AnyOf, Decided, In, Missing, Not
from ratebound.rates.sums import Quotient, Rate, Shape, Sum

COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# What a rate counts, among which rows (None: it is a count): facts of `Case`, all of which hold.
DEFINITIONS = {
    "positive_rate": ("yes", "anyone"),
    "negative_rate": ("no", "anyone"),
    "recall": ("yes positive", "positive"),
    "false_negative_rate": ("no positive", "positive"),
    "false_positive_rate": ("yes negative", "negative"),
    "true_negative_rate": ("no negative", "negative"),
    "accuracy": ("right", "anyone"),
    "error_rate": ("wrong", "anyone"),
    "prevalence": ("positive", "anyone"),
    "churn": ("changed", "anyone"),
    "loss_only_churn": ("wrong live_right", "live_right"),
    "confusion": ("confused", "labelled"),
    "referred": ("referred", "anyone"),
    "precision": ("yes positive", "yes"),
    "false_discovery_rate": ("yes negative", "yes"),
    "negative_predictive_value": ("no negative", "no"),
    "false_omission_rate": ("no positive", "no"),
    "jaccard": ("yes positive", "yes_or_positive"),
    "win_loss_ratio": ("right live_wrong", "wrong live_right"),
    "predicted_positives": ("yes", None),
    "predicted_negatives": ("no", None),
    "true_positives": ("yes positive", None),
    "false_positives": ("yes negative", None),
    "true_negatives": ("no negative", None),
    "false_negatives": ("no positive", None),
    "errors": ("wrong", None),
    "wins": ("right live_wrong", None),
    "losses": ("wrong live_right", None),
    "referrals": ("referred", None),
    "decisions": ("decided", None),
}


@dataclass(frozen=True)
class Case:
    """A row as a rate sees it. A referral is a decision, but no class."""

    decision: Any
    label: Any
    live: Any
    rate: Rate
    labels: Sequence[Any]  # all classes
    anyone: bool = True

    @property
    def of(self) -> Any:
        return self.rate.option("of", self.labels[-1])

    @property
    def yes(self) -> bool:
        return self.decision == self.of

    @property
    def no(self) -> bool:
        return self.decided and self.decision != self.of

    @property
    def positive(self) -> bool:
        return self.label == self.of

    @property
    def negative(self) -> bool:
        return self.label != self.of

    @property
    def yes_or_positive(self) -> bool:
        return self.yes or self.positive

    @property
    def decided(self) -> bool:
        return self.decision in self.labels

    @property
    def referred(self) -> bool:
        return not self.decided

    @property
    def right(self) -> bool:
        return self.decision == self.label

    @property
    def wrong(self) -> bool:
        return self.decided and self.decision != self.label

    @property
    def live_right(self) -> bool:
        return self.live == self.label

    @property
    def live_wrong(self) -> bool:
        return self.live in self.labels and self.live != self.label

    @property
    def changed(self) -> bool:
        return self.decision != self.live

    @property
    def labelled(self) -> bool:
        return self.label == self.rate.option("label")

    @property
    def confused(self) -> bool:
        return self.labelled and self.decision == self.rate.option("predicted")

    def all_hold(self, facts: str) -> bool:
        return all(getattr(self, fact) for fact in facts.split())


@dataclass(frozen=True)
class Table:
    """The rows of one population as dictionaries; the label is under "y"."""

    rows: Sequence[Mapping[str, Any]]
    weights: Sequence[float]

    @cached_property
    def total(self) -> float:
        return sum(self.weights)


@dataclass(frozen=True)
class Weights:
    """The weight of what one rate counts."""

    counted: float
    among: float | None
    inside: float  # of all rows of its condition, decided or referred


@dataclass(frozen=True)
class World:
    """All populations, and the scores of one model for their rows."""

    tables: Mapping[str, Table]
    scores: Mapping[str, Any]  # (n,), or (D, n) for more than two decisions
    labels: Sequence[Any]
    decisions: Sequence[Any]  # the labels, and perhaps a referral
    thresholds: Mapping[str, Any] = field(default_factory=dict)  # (D-1,) by name

    # --- decisions ---

    def decide(self, population: str, row: int, at: float | str = 0.0) -> Any:
        """Return the decision of a row: the largest score less its threshold, the later of equals."""
        scores = self.scores[population]
        if scores.ndim == 1:
            (threshold,) = self.thresholds[at] if isinstance(at, str) else [at]
            return self.decisions[int(scores[row] >= threshold)]
        lowered = scores[:, row].tolist()
        for decision in range(1, len(lowered)):
            lowered[decision] -= self.thresholds[at][decision - 1] if isinstance(at, str) else at
        largest = max(lowered)
        best = [decision for decision, score in enumerate(lowered) if score == largest]
        return self.decisions[best[-1]]

    # --- rates ---

    def weigh(self, rate: Rate) -> Weights:
        """Weigh one rate's rows one after another."""
        population = rate.option("on", "train")
        table = self.tables[population]
        counted = 0.0
        among = 0.0
        inside = 0.0
        for index, row in enumerate(table.rows):
            case = self._make_case(rate, population, index)
            weight = table.weights[index]
            inside += weight * meets(rate.condition, row, is_decided=True)
            if not meets(rate.condition, row, case.decided):
                continue
            counted += weight * count_row(rate, case, row)
            among += weight * count_denominator(rate, case)
        return Weights(counted, None if is_count(rate) else among, inside)

    def _make_case(self, rate: Rate, population: str, index: int) -> Case:
        row = self.tables[population].rows[index]
        live = row.get(rate.option("versus") or rate.option("by"))
        decision = self.decide(population, index, rate.option("at", 0.0))
        if rate.option("by") is not None:
            decision = live
        return Case(decision, row["y"], live, rate, self.labels)

    def value(self, rate: Rate) -> float:
        weights = self.weigh(rate)
        if weights.among is None:
            total = self.tables[rate.population].total
            return weights.counted / total * rate.option("per", total)
        return weights.counted / weights.among if weights.among else 0.0

    # --- sums ---

    def value_of_sum(self, total: Sum) -> float:
        """Return the value of a sum; a ratio over 0 is 0."""
        value = total.constant
        for quantity, coefficient in total.terms.items():
            if isinstance(quantity, Quotient):
                top = self.value_of_sum(quantity.top)
                bottom = self.value_of_sum(quantity.bottom)
                value += coefficient * (top / bottom if bottom else 0.0)
            else:
                value += coefficient * self.value(quantity)
        return value

    def objective(self, sense: str, objective: Sum | Shape) -> float:
        """Return the value to be minimised."""
        if isinstance(objective, Shape):
            members = [self.value_of_sum(part) for part in objective.parts]
            value = min(members) if objective.name == "smallest" else max(members)
        else:
            value = self.value_of_sum(objective)
        return value if sense == "minimize" else -value

    def violation(self, text: str) -> float:
        """Return what is at most 0 if a constraint with one bound is met.

        A ratio is cross-multiplied: ``top - bound * bottom``, both as shares of the same rows.
        """
        (row,) = rb.parse(text).rows
        if not row.nonlinear:
            return self.value_of_sum(row)
        ((ratio, coefficient),) = row.terms.items()
        top, bottom = self._find_sides(ratio)
        return coefficient * top + row.constant * bottom

    def _find_sides(self, ratio: Rate | Quotient) -> tuple[float, float]:
        if isinstance(ratio, Rate):
            weights = self.weigh(ratio)
            return weights.counted / weights.inside, weights.among / weights.inside
        top = self.value_of_sum(ratio.top)
        bottom = self.value_of_sum(ratio.bottom)
        if are_counts_of_the_same_rows(ratio):
            first = ratio.rates[0]
            scale = self.weigh(first).inside
            return top / scale, bottom / scale
        return top, bottom


def are_counts_of_the_same_rows(ratio: Quotient) -> bool:
    if ratio.top.constant or ratio.bottom.constant:
        return False
    groups = {(rate.condition, rate.population) for rate in ratio.rates}
    has_unit = any(rate.option("per") for rate in ratio.rates)
    return len(groups) == 1 and all(map(is_count, ratio.rates)) and not has_unit


def is_count(rate: Rate) -> bool:
    if rate.name == "cost":
        return rate.option("per") is not None
    return rate.name in DEFINITIONS and DEFINITIONS[rate.name][1] is None


def count_row(rate: Rate, case: Case, row: Mapping[str, Any]) -> float:
    """Return how much one row adds to the numerator."""
    if rate.name == "cost":
        return price_row(rate, case, row)
    if rate.name == "f_score":
        return (1 + rate.option("beta", 1) ** 2) * (case.yes and case.positive)
    return float(case.all_hold(DEFINITIONS[rate.name][0]))


def count_denominator(rate: Rate, case: Case) -> float:
    """Return how much one row adds to the denominator."""
    if rate.name == "cost":
        return 1.0
    if rate.name == "f_score":  # 1 / F is the mean of 1 / precision and 1 / recall
        return case.yes + rate.option("beta", 1) ** 2 * case.positive
    among = DEFINITIONS[rate.name][1]
    return float(among is not None and case.all_hold(among))


def price_row(rate: Rate, case: Case, row: Mapping[str, Any]) -> float:
    """Return what the decision on one row costs."""
    column = rate.option("column")
    missed = rate.option("false_negative")
    alarm = rate.option("false_positive")
    if rate.option("label") is not None:
        price = float(case.confused)
    elif column is not None and (missed, alarm, rate.option("of")) == (None, None, None):
        price = float(case.wrong)
    else:
        price = 0.0
        if case.no and case.positive:
            price = _find_price(missed, row)
        if case.yes and case.negative:
            price = _find_price(alarm, row)
    if price == 0 or column is None:
        return price
    return price * row[column]


def _find_price(price: float | str | None, row: Mapping[str, Any]) -> float:
    if isinstance(price, str):  # the column with the price of each row
        return row[price]
    return 1.0 if price is None else price


# --- conditions -----------------------------------------------------------------------------------


def meets(condition: Any, row: Mapping[str, Any], is_decided: bool) -> bool:
    if isinstance(condition, All):
        return all(meets(part, row, is_decided) for part in condition.parts)
    if isinstance(condition, AnyOf):
        return any(meets(part, row, is_decided) for part in condition.parts)
    if isinstance(condition, Not):
        return not meets(condition.part, row, is_decided)
    if isinstance(condition, Decided):
        return is_decided
    value = row[condition.column]
    is_missing = value is None or value != value
    if isinstance(condition, Missing):
        return is_missing
    if isinstance(condition, In):
        return not is_missing and value in condition.values
    if is_missing:
        return condition.relation == "!="
    return COMPARISONS[condition.relation](value, condition.value)
