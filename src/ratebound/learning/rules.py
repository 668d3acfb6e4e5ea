"""A rule decides by weights λ on the objective and the constraints; no rule needs a fit.

At weights λ, a decision costs a row Σ_j forecast[j] · (λ · terms)[j], and the cheapest decision is
made. The weights (T,) belong, in this order, to the p pieces of the objective, the m constraints,
and errors; after them comes a bias for each decision but the first. Without weights on constraints
the rule is the plain model. Biases alone make one decision for everyone. Other rules have biases only
if these help to meet constraints: among many biases, some look good by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ratebound.learning.forecast import Forecast
from ratebound.problem.compiled import Compiled

CHUNK = 2**21  # costs that are computed at a time
TOLERANCE = 1e-9  # a constraint is met if its violation is at most this many units


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule, and its values out of fold."""

    weights: Any  # (T,)
    pieces: Any  # (p,) of the objective
    violations: Any  # (m,)
    objective: float


def build_terms(
    compiled: Compiled,
    forecast: Forecast,
    of_cell: Any = None,
) -> Any:
    """Return what each weight but biases adds to the cost of decisions but the first: (t, D-1, J).

    The unit is one error: as one row in n counts 1 / n, costs are multiplied by n, or by the sum of
    weights. `of_cell` says in which cell of the problem each cell of the forecast lies, if the two
    differ.
    """
    other_decisions = compiled.decisions - 1
    labels = compiled.classes.labels
    rows = len(compiled.offset)
    parts = [np.zeros((rows, other_decisions, 1 + labels))]
    for block in compiled.blocks:
        worth = block.coefficients
        if forecast.by_cells:
            worth = compiled.per_cell(worth)
        if of_cell is not None:
            worth = worth[:, :, of_cell]
        parts.append(worth)
    total = len(compiled.cell)
    if compiled.weights is not None:
        total = compiled.weights.sum()
    terms = total * np.concatenate(parts, axis=2)

    errors = np.zeros_like(terms[:1])
    label = np.arange(1, labels)
    errors[0, :, 1] = 1.0  # of rows with the first label, for which the first decision is right
    errors[0, label - 1, 1 + label] = -1.0
    return np.concatenate([terms, errors])


def sum_terms(terms: Any, weights: Any) -> Any:
    """Return what decisions cost per column of a forecast (K, D-1, J), at weights (K, T)."""
    count = len(terms)
    per_column = np.tensordot(weights[:, :count], terms, axes=1)
    biases = weights[:, count:]
    per_column[:, : biases.shape[1], 0] += biases  # of the first column, which is ones
    return per_column


def compute_costs(
    terms: Any,
    weights: Any,
    forecast: Any,
) -> Any:
    """Return the expected costs (K, D-1, n) at weights (K, T) on a forecast (J, n).

    They are summed column by column, so that a row's bits do not depend on the other rows.
    """
    per_column = sum_terms(terms, weights)
    rules, decisions, _ = per_column.shape
    total = np.zeros((rules, decisions, forecast.shape[1]))
    product = np.empty_like(total)
    used = per_column.any(axis=(0, 1))
    for column in np.flatnonzero(used):
        np.multiply(per_column[:, :, column, None], forecast[column], out=product)
        total += product
    return total


def choose_cheapest(costs: Any) -> Any:
    """Return the cheapest decision (K, n), of equals the last; the first costs nothing."""
    if costs.shape[1] == 1:
        return (costs[:, 0] <= 0).astype(np.int64)
    of_first = np.zeros_like(costs[:, :1])
    all_costs = np.concatenate([of_first, costs], axis=1)
    last_first = all_costs[:, ::-1]
    return last_first.shape[1] - 1 - last_first.argmin(axis=1)


@dataclass(eq=False)
class Rules:
    """All rules computed for a problem, judged out of fold: the plain model first, then constants.

    A *constant* is a rule that makes one decision for everyone.
    """

    by_row = True  # whether costs decide each row; other rules have no biases and no sample
    compiled: Compiled
    terms: Any  # (t, D-1, J)
    forecast: Any  # (J, n) out of fold
    weights: Any = field(init=False)  # (N, T)
    values: Any = field(init=False)  # (N, p + m)
    constants: Any = field(init=False)  # (k,) which rules are constants
    planes: list[int] = field(init=False)  # the rules that linear programs mix
    sample: Rules | None = field(init=False, default=None)  # on some of the rows, if they are many

    def __post_init__(self) -> None:
        self.planes = [0]
        self.constants = np.arange(0)
        self.weights = self.plain_weights[None]
        plain = self.decide(self.weights)
        self.values = self.compute_values(plain)
        if self.by_row:
            constants = self.list_constant_rules()
            self.constants = np.arange(1, 1 + len(constants))
            for rule in constants:
                values = np.append(rule.pieces, rule.violations)
                self._append(rule.weights, values)

    # --- sizes and units ---

    @property
    def piece_count(self) -> int:
        return len(self.compiled.objective.pieces)

    @property
    def constraint_count(self) -> int:
        return len(self.compiled.rows)

    @property
    def row_count(self) -> int:
        return len(self.compiled.cell)

    @property
    def shares(self) -> Any:
        """What share of all weight each row has (n,)."""
        weights = self.compiled.weights
        if weights is None:
            weights = np.ones(self.row_count)
        return weights / weights.sum()

    @property
    def unit(self) -> float:
        """The unit of the objective: 1 for shares, otherwise the unit of counts or costs."""
        if not self.compiled.objective.is_sum:
            return 1.0
        of_pieces = self.compiled.scale[: self.piece_count]
        return float(of_pieces.max())

    @property
    def scale(self) -> Any:
        """The units (m,) of the constraints."""
        return self.compiled.scale[self.piece_count :]

    @property
    def plain_weights(self) -> Any:
        """The weights of the plain model: the objective alone or, if it is not a sum, errors."""
        objective = self.compiled.objective
        if not objective.is_sum:
            return self._place_weights(len(self.terms) - 1, [1.0])
        nowhere = self.compiled.offset[: self.piece_count]
        return self._place_weights(0, objective.slope(nowhere))

    @property
    def multipliers(self) -> slice:
        """Which weights belong to constraints."""
        first = self.piece_count
        return slice(first, first + self.constraint_count)

    @property
    def biases(self) -> slice:
        """Which weights are biases."""
        return slice(len(self.terms), None)

    @cached_property
    def reach(self) -> Any:
        """How much (T,) a unit of each weight moves costs, about: the root of a mean square."""
        reach = np.ones(len(self.plain_weights))
        if self.by_row:
            means = self.forecast @ self.shares
            per_column = (self.terms**2).sum(axis=1)
            squares = per_column @ means
            squares[squares <= 0] = 1.0
            reach[: len(squares)] = np.sqrt(squares)
        return reach

    def join_weights(self, pieces: Any, multipliers: Any) -> Any:
        """Join weights of pieces (p,) and constraints (m,) to those of a rule."""
        joined = np.concatenate([pieces, multipliers])
        return self._place_weights(0, joined)

    def _place_weights(self, start: int, some_weights: Any) -> Any:
        count = len(self.terms)
        if self.by_row:
            count += self.compiled.decisions - 1
        weights = np.zeros(count)
        stop = start + len(some_weights)
        weights[start:stop] = some_weights
        return weights

    # --- computing ---

    def decide(self, weights: Any) -> Any:
        """Return the decisions (K, n) out of fold of the rules at weights (K, T)."""
        per_column = sum_terms(self.terms, weights)
        costs = np.tensordot(per_column, self.forecast, axes=1)
        return choose_cheapest(costs)

    def compute_values(self, decisions: Any) -> Any:
        """Return pieces and violations (K, p + m) at decisions (K, n)."""
        counts = self.compiled.count_decisions(decisions)
        return self.compiled.values(counts)

    def evaluate(self, weights: Any) -> Any:
        """Compute the rules at weights (K, T), and return their indices among all rules."""
        costs_of_rule = self.row_count * (self.compiled.decisions - 1)
        rules_at_once = max(1, CHUNK // costs_of_rule)
        for first in range(0, len(weights), rules_at_once):
            stop = first + rules_at_once
            some_weights = weights[first:stop]
            decisions = self.decide(some_weights)
            values = self.compute_values(decisions)
            self._append(some_weights, values)
        count = len(self.weights)
        return np.arange(count - len(weights), count)

    def _append(self, weights: Any, values: Any) -> None:
        all_weights = np.vstack([self.weights, weights])
        all_values = np.vstack([self.values, values])
        self.weights = all_weights  # no call between the two, so that Ctrl-C cannot part them
        self.values = all_values

    # --- choosing ---

    def get_objectives(self) -> Any:
        """Return the objective (N,) of every rule."""
        pieces = self.values[:, : self.piece_count]
        return self.compiled.objective.value(pieces)

    def get_worst_violations(self, margins: Any) -> Any:
        """Return every rule's worst violation (N,) with margins (m,), in units; 0 if none."""
        violations = self.values[:, self.piece_count :]
        in_units = (violations + margins) / self.scale
        return in_units.max(axis=1, initial=0.0)

    def find_worst(self, rule: Rule, margins: Any) -> float:
        """Return a rule's worst violation with margins (m,), in units; 0 if none."""
        violations = (rule.violations + margins) / self.scale
        return float(violations.max(initial=0.0))

    def meets(self, rule: Rule, margins: Any) -> bool:
        return self.find_worst(rule, margins) <= TOLERANCE

    def get_rule(self, index: int) -> Rule:
        return self._make_rule(self.weights[index], self.values[index])

    def _make_rule(self, weights: Any, values: Any) -> Rule:
        pieces, violations = np.split(values, [self.piece_count])
        objective = self.compiled.objective.value(pieces)
        return Rule(weights, pieces, violations, float(objective))

    def list_constant_rules(self) -> list[Rule]:
        """Return the rules that make one decision for everyone, by biases alone."""
        rules = []
        for decision in range(self.compiled.decisions):
            biases = np.ones(self.compiled.decisions)
            biases[decision] = -1.0
            everyone = np.full((1, self.row_count), decision)
            values = self.compute_values(everyone)[0]
            weights = np.zeros_like(self.plain_weights)
            weights[self.biases] = biases[1:]
            rules.append(self._make_rule(weights, values))
        return rules

    def is_plain_enough(self, margins: Any) -> bool:
        """Return whether the plain model, which is best by the forecast, meets the constraints."""
        is_best = self.by_row and self.compiled.objective.is_sum
        return is_best and self.meets(self.get_rule(0), margins)

    def find_cheapest(self, margins: Any) -> Rule:
        """Return the cheapest rule that meets constraints with margins (m,), or the nearest.

        If the plain model meets them, a rule that seems cheaper is one that chance has favoured.
        """
        if self.is_plain_enough(margins):
            return self.get_rule(0)
        violations = self.get_worst_violations(margins)
        missing = np.where(violations > TOLERANCE, violations.round(9), 0.0)
        nearest_first = np.lexsort((self.get_objectives(), missing))
        return self.get_rule(nearest_first[0])
