"""A smooth descent finds multipliers at which a single rule meets all constraints.

At a temperature, rows are decided at random, and what costs more is less likely. Rates are then
smooth in the weights, and their slopes say how all multipliers move at once. Violations are counted
on labels; each adds a price to the objective (an augmented Lagrangian). The objective is the
forecast's, so that no rule is preferred because labels happen to favour it. The temperature falls
step by step, and the weights on the way are rules, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize
from scipy.special import logsumexp, softmax

from ratebound.learning.rules import Rules, sum_terms

TEMPERATURES = (0.1, 0.05, 0.02, 0.02, 0.01, 0.01)
LOW = 0.02  # the temperature from which on rules aim below bounds by as much as they were above
STEPS = 20  # of the descent at each temperature, about
PENALTY = 100.0  # how fast prices rise for a violation
MOST_PRICE = 100.0
MOST_BELOW = 0.03
DIGITS = 9  # so that the way does not depend on rounding


def descend(
    rules: Rules,
    margins: Any,
    start: Any,
) -> None:
    """Compute rules on the way of a descent from weights (T,), with margins (m,)."""
    room = margins / rules.scale
    problem = SoftProblem(rules, start[rules.multipliers] * rules.scale)
    vector = start * rules.reach
    bounds = _bound_weights(rules, vector)
    options = {"maxiter": STEPS}
    below = 0.0
    for temperature in TEMPERATURES:
        problem.temperature = temperature
        problem.margins = room + below
        solved = minimize(
            problem,
            vector,
            method="L-BFGS-B",
            jac=True,
            bounds=bounds,
            options=options,
        )
        vector = solved.x
        problem.path.append(vector / rules.reach)
        indices = rules.evaluate(np.stack(problem.path))
        problem.path.clear()
        last = rules.get_rule(indices[-1])
        violations = last.violations / rules.scale
        change = PENALTY * (violations + problem.margins)
        problem.prices = np.clip(problem.prices + change, 0.0, MOST_PRICE)
        if temperature <= LOW:
            worst = (violations + room).max(initial=-1.0)
            below = min(max(below + worst, 0.0), MOST_BELOW)


def _bound_weights(rules: Rules, vector: Any) -> Bounds:
    """Return bounds of weights: prices are not negative, and only pieces of ratios may change."""
    is_free = np.ones(len(vector), dtype=bool)
    is_free[: rules.piece_count] = not rules.compiled.objective.is_sum
    is_free[rules.multipliers.stop : rules.biases.start] = False  # the weight of errors
    lower = np.where(is_free, -np.inf, vector)
    upper = np.where(is_free, np.inf, vector)
    lower[rules.multipliers] = 0.0
    return Bounds(lower, upper)


@dataclass(eq=False)
class SoftProblem:
    """The objective with prices for violations, at weights (T,) times their reach."""

    rules: Rules
    prices: Any  # (m,) for violations in units
    margins: Any = 0.0  # (m,) in units
    temperature: float = 1.0
    path: list[Any] = field(default_factory=list)  # the weights (T,) that were tried

    def __call__(self, vector: Any) -> tuple[float, Any]:
        """Return the value and its slope."""
        rules = self.rules
        weights = vector / rules.reach
        self.path.append(weights)
        per_column = sum_terms(rules.terms, weights[None])[0]
        costs = np.tensordot(per_column, rules.forecast, axes=1)
        chances = decide_softly(costs / self.temperature)

        value, worth = self._price_objective(chances)
        violations = count_softly(rules, chances) / rules.scale
        due = self.prices + PENALTY * (violations + self.margins)
        prices = np.maximum(due, 0.0)
        value += float(prices @ prices) / (2 * PENALTY)
        worth += price_rows(rules, prices / rules.scale)

        mean_worth = (chances * worth).sum(axis=0)
        change = chances * (mean_worth - worth)
        change /= self.temperature
        per_column = change @ rules.forecast.T
        of_terms = np.tensordot(rules.terms, per_column, axes=2)
        of_biases = change.sum(axis=1)
        slope = np.append(of_terms, of_biases) / rules.reach
        return round(value, DIGITS), slope.round(DIGITS)

    def _price_objective(self, chances: Any) -> tuple[float, Any]:
        """Return the forecast's objective, and what decisions of rows add to it (D-1, n)."""
        rules = self.rules
        terms = rules.terms[: rules.piece_count]
        weighted = chances * rules.shares
        per_column = weighted @ rules.forecast.T
        pieces = np.tensordot(terms, per_column, axes=2)
        pieces += rules.compiled.offset[: rules.piece_count]
        value, slope = self._smooth_objective(pieces)
        per_column = np.tensordot(slope, terms, axes=1)
        worth = np.tensordot(per_column, rules.forecast, axes=1)
        return value, worth * rules.shares

    def _smooth_objective(self, pieces: Any) -> tuple[float, Any]:
        """Return the objective and its slope (p,) in units, from all members near the decisive."""
        objective = self.rules.compiled.objective
        values = []
        slopes = []
        for linear, ratios in zip(objective.linear, objective.ratios, strict=True):
            member = replace(
                objective,
                linear=(linear,),
                ratios=(ratios,),
                shape="sum",
            )
            values.append(member.value(pieces))
            slopes.append(member.slope(pieces))
        sharpness = 1 / (self.temperature * self.rules.unit)
        is_worst = (objective.shape == "largest") == (objective.sign > 0)
        if not is_worst:
            sharpness = -sharpness
        sharp = sharpness * np.array(values)
        value = logsumexp(sharp) / sharpness
        slope = softmax(sharp) @ slopes
        return float(value) / self.rules.unit, slope / self.rules.unit


def decide_softly(costs: Any) -> Any:
    """Return the chances (D-1, n) of decisions but the first, which costs nothing."""
    lowest = np.minimum(costs.min(axis=0), 0.0)
    odds = np.exp(lowest - costs)
    odds_of_first = np.exp(lowest)
    return odds / (odds.sum(axis=0) + odds_of_first)


def count_softly(rules: Rules, chances: Any) -> Any:
    """Return the violations (m,) at chances (D-1, n)."""
    compiled = rules.compiled
    cells = len(compiled.bits)
    counts = []
    for block in compiled.blocks:
        weight = compiled.weight_of(block)
        of_block = []
        for of_decision in chances:
            if weight is not None:
                of_decision = of_decision * weight
            of_block.append(np.bincount(compiled.cell, of_decision, cells))
        counts.append([of_block])
    values = compiled.values(np.array(counts))
    return values[0, rules.piece_count :]


def price_rows(rules: Rules, prices: Any) -> Any:
    """Return what decisions of rows cost (D-1, n) at prices (m,) of violations."""
    compiled = rules.compiled
    total = 0.0
    for block in compiled.blocks:
        coefficients = block.coefficients[rules.piece_count :]
        per_slice = np.tensordot(prices, coefficients, axes=1)
        per_cell = compiled.per_cell(per_slice)
        costs = per_cell[:, compiled.cell]
        weight = compiled.weight_of(block)
        if weight is not None:
            costs *= weight
        total = total + costs
    return total
