"""A rule decides by weights λ on the objective and the constraints; no rule needs a fit.

At weights λ, a decision costs a row Σ_j forecast[j] · (λ · terms)[j], and the cheapest decision is
made. The weights (T,) belong, in this order, to the p pieces of the objective, the m constraints,
a bias for each decision but the first, and errors. Without weights on constraints the rule is the
plain model; with a large bias it makes one decision for everyone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratebound.learning.forecast import Forecast
from ratebound.problem.compiled import Compiled

CHUNK = 2**21  # decisions that are computed at a time
TOLERANCE = 1e-9  # a constraint is met if its violation is at most this many units
LEAST_GAIN = 2e-3  # of the objective, that a bias must save
LEAST_DEVIATIONS = 0.5  # the same in standard deviations of one row; the larger of the two counts


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule, and its values out of fold."""

    weights: Any  # (T,)
    pieces: Any  # (p,) of the objective
    violations: Any  # (m,)
    objective: float


def build_terms(compiled: Compiled, forecast: Forecast, of_cell: Any = None) -> Any:
    """Return what each weight adds to the cost of decisions but the first: (T, D-1, J).

    The unit is one error: as one row in n counts 1 / n, costs are multiplied by n. `of_cell` says
    in which cell of the problem each cell of the forecast lies, if the two differ.
    """
    other_decisions = compiled.decisions - 1
    labels = compiled.classes.labels
    parts = [np.zeros((len(compiled.offset), other_decisions, 1 + labels))]
    for block in compiled.blocks:
        worth = block.coefficients
        if forecast.by_cells:
            worth = compiled.per_cell(worth)
        if of_cell is not None:
            worth = worth[:, :, of_cell]
        parts.append(worth)
    terms = np.concatenate(parts, axis=2) * len(compiled.cell)
    columns = terms.shape[2]

    biases = np.zeros((other_decisions, other_decisions, columns))
    decision = np.arange(other_decisions)
    biases[decision, decision, 0] = 1.0

    errors = np.zeros((1, other_decisions, columns))
    label = np.arange(1, labels)
    errors[0, :, 1] = 1.0  # of rows with the first label, for which the first decision is right
    errors[0, label - 1, 1 + label] = -1.0
    return np.concatenate([terms, biases, errors])


def compute_costs(terms: Any, weights: Any, forecast: Any) -> Any:
    """Return the expected costs (K, D-1, n) at weights (K, T) on a forecast (J, n).

    They are summed column by column, so that a row's bits do not depend on the other rows.
    """
    per_column = np.tensordot(weights, terms, axes=1)
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
    """All rules computed for a problem, judged out of fold; the first is the plain model."""

    compiled: Compiled
    terms: Any  # (T, D-1, J)
    forecast: Any  # (J, n) out of fold
    weights: Any = field(init=False)  # (N, T)
    values: Any = field(init=False)  # (N, p + m)
    planes: list[int] = field(default_factory=lambda: [0])  # the rules that linear programs mix

    def __post_init__(self) -> None:
        self.weights = np.empty((0, len(self.terms)))
        self.values = np.empty((0, len(self.compiled.offset)))
        self.evaluate(self.plain_weights[None])

    # --- sizes and units ---

    @property
    def piece_count(self) -> int:
        return len(self.compiled.objective.pieces)

    @property
    def constraint_count(self) -> int:
        return len(self.compiled.rows)

    @property
    def unit(self) -> float:
        """The unit of the objective: 1 for shares, otherwise that of counts or costs."""
        if not self.compiled.objective.is_sum:
            return 1.0
        return float(self.compiled.scale[: self.piece_count].max())

    @property
    def scale(self) -> Any:
        """The units (m,) of the constraints."""
        return self.compiled.scale[self.piece_count :]

    @property
    def plain_weights(self) -> Any:
        """The weights of the plain model: the objective alone or, if it is not a sum, errors."""
        weights = np.zeros(len(self.terms))
        objective = self.compiled.objective
        if objective.is_sum:
            weights[: self.piece_count] = objective.slope(self.compiled.offset[: self.piece_count])
        else:
            weights[-1] = 1.0
        return weights

    @property
    def multipliers(self) -> slice:
        """Which weights belong to constraints."""
        return slice(self.piece_count, self.piece_count + self.constraint_count)

    @property
    def biases(self) -> slice:
        """Which weights are biases."""
        return slice(self.piece_count + self.constraint_count, len(self.terms) - 1)

    def join_weights(self, pieces: Any, multipliers: Any) -> Any:
        """Join weights of pieces (p,) and constraints (m,) to those of a rule without a bias."""
        rest = np.zeros(len(self.terms) - len(pieces) - len(multipliers))
        return np.concatenate([pieces, multipliers, rest])

    # --- computing ---

    def decide(self, weights: Any) -> Any:
        """Return the decisions (K, n) out of fold of the rules at weights (K, T)."""
        costs = compute_costs(self.terms, weights, self.forecast)
        return choose_cheapest(costs)

    def evaluate(self, weights: Any) -> Any:
        """Compute the rules at weights (K, T), and return their indices among all rules."""
        start = len(self.weights)
        rules_at_once = max(1, CHUNK // self.forecast.shape[1])
        values = [self.values]
        for first in range(0, len(weights), rules_at_once):
            decisions = self.decide(weights[first : first + rules_at_once])
            counts = self.compiled.count_decisions(decisions)
            values.append(self.compiled.values(counts))
        self.weights = np.concatenate([self.weights, weights])
        self.values = np.concatenate(values)
        return np.arange(start, len(self.weights))

    # --- choosing ---

    def get_objectives(self) -> Any:
        """Return the objective (N,) of every rule."""
        return self.compiled.objective.value(self.values[:, : self.piece_count])

    def get_worst_violations(self, margins: Any) -> Any:
        """Return every rule's worst violation (N,) with margins (m,), in units; 0 if none."""
        violations = self.values[:, self.piece_count :] + margins
        return (violations / self.scale).max(axis=1, initial=0.0)

    def get_rule(self, index: int) -> Rule:
        pieces, violations = np.split(self.values[index], [self.piece_count])
        objective = float(self.compiled.objective.value(pieces))
        return Rule(self.weights[index], pieces, violations, objective)

    def find_cheapest(self, margins: Any) -> Rule:
        """Return the cheapest rule that meets constraints with margins (m,), or the nearest.

        It has a bias only if that clearly pays: among many thresholds, some are cheaper by chance.
        """
        worst = self.get_worst_violations(margins)
        meets = worst <= TOLERANCE
        if not meets.any():
            return self.get_rule(int(worst.argmin()))
        objectives = self.get_objectives()
        is_biased = self.weights[:, self.biases].any(axis=1)
        meets_unbiased = meets & ~is_biased
        cheapest = int(np.where(meets, objectives, np.inf).argmin())
        if not meets_unbiased.any():
            return self.get_rule(cheapest)
        unbiased = int(np.where(meets_unbiased, objectives, np.inf).argmin())
        deviations = LEAST_DEVIATIONS / np.sqrt(self.forecast.shape[1])
        clear_gain = max(LEAST_GAIN, deviations) * self.unit
        if objectives[unbiased] <= objectives[cheapest] + clear_gain:
            return self.get_rule(unbiased)
        return self.get_rule(cheapest)

    def list_constant_rules(self) -> list[Rule]:
        """Return the rules that make one decision for everyone."""
        decision = np.arange(self.compiled.decisions)[:, None]
        decisions = np.repeat(decision, len(self.compiled.cell), axis=1)
        values = self.compiled.values(self.compiled.count_decisions(decisions))
        pieces, violations = np.split(values, [self.piece_count], axis=1)
        objectives = self.compiled.objective.value(pieces)
        return [
            Rule(self.plain_weights, pieces[index], violations[index], objectives[index])
            for index in range(len(values))
        ]
