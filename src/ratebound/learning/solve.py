"""The search finds the cheapest single rule at given margins, and solves again for other bounds.

Weights come from cutting planes: a linear program over the rules so far says at which weights
least is known, and the rule there comes next. Rules are judged by their actual rates out of fold,
which forgives errors of the forecast. A mixture of such rules nearly always has a single rule
beside it that is as good, so the last step looks around the program's weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.learning.forecast import Forecast
from ratebound.learning.program import RADIUS, solve_mixture
from ratebound.learning.rules import TOLERANCE, Rule, Rules, build_terms, compute_costs
from ratebound.problem.compile import compile_pieces
from ratebound.problem.expand import spell_out
from ratebound.problem.problem import Problem

ROUNDS = 40  # of the program at each margin
MOST_PLANES = 60  # the latest rules, that the program goes on with
LEAST_ROWS = 0.1  # rows that better weights could still gain
FACTORS = np.r_[np.linspace(0.9, 1.1, 9), 0.5, 0.75, 1.2, 1.4]  # of multipliers
STEPS = (0.1, 0.03, 0.01)  # by which the best multipliers are moved
STEP_FACTORS = np.array([-2, -1, -0.5, 0.5, 1, 2])
MOST_MOVED = 8  # the largest multipliers, which are moved one by one
DEAR = 2e-4  # how much more of the objective than a mixture a rule may cost before more are tried
VERY_DEAR = 2e-3  # the same before thresholds are tried
SHARES = np.linspace(0, 1, 33)  # of rows that thresholds let pass
CHANGES = (-0.02, -0.01, 0.0, 0.01, 0.02)  # of a bound, for its price
WIDTHS = (0.4, 0.1, 0.025)  # of the grids of levels, one after another


# --- one rule -----------------------------------------------------------------------------------


def find_best_rule(rules: Rules, margins: Any) -> Rule:
    """Return the cheapest rule that meets the constraints with margins (m,), or else the nearest.

    A margin of -inf requires nothing.
    """
    if not rules.constraint_count and rules.compiled.objective.is_sum:
        return rules.get_rule(0)
    if len(rules.weights) == 1:
        _try_thresholds(rules, rules.plain_weights)  # as most people would, and constant rules
    plan = run_cutting_planes(rules, margins)
    for weights in (plan.mean, plan.weights):
        rules.evaluate(_scale_multipliers(rules, weights, FACTORS))
    if _costs_more(rules, margins, plan.value + DEAR):
        best = rules.find_cheapest(margins).weights
        _try_between(rules, [best, plan.mean, plan.weights])
    if _costs_more(rules, margins, plan.value + VERY_DEAR):
        best = rules.find_cheapest(margins).weights
        _try_thresholds(rules, best)
        _try_thresholds(rules, plan.mean)
    for step in STEPS:
        best = rules.find_cheapest(margins).weights
        _try_around(rules, best, step)
    return rules.find_cheapest(margins)


@dataclass(frozen=True, eq=False)
class Plan:
    """What the cutting planes ended with."""

    mean: Any  # (T,) the mean weights of the best mixture
    weights: Any  # (T,) those that are its prices
    value: float  # of the mixture, in units


@dataclass(eq=False)
class Tangents:
    """Tangents of the objective, in units: it is at least as large as each if it is convex."""

    rules: Rules
    slopes: Any  # (k, p)
    heights: Any  # (k,) at pieces of 0

    def measure(self, pieces: Any) -> Any:
        """Return how high pieces (K, p) are on each tangent (K, k)."""
        return self.heights + pieces @ self.slopes.T

    def add(self, point: Any) -> bool:
        """Add the tangent at pieces (p,) if the others are too low there; return whether."""
        slope, height = _compute_tangent(self.rules, point)
        highest = (self.heights + self.slopes @ point).max()
        error = float((height + slope @ point - highest)[0])
        if error <= LEAST_ROWS / self.rules.forecast.shape[1]:
            return False
        if self.rules.compiled.objective.shape == "sum":  # of a ratio: only the latest is of use
            self.slopes = slope
            self.heights = height
        else:
            self.slopes = np.vstack([self.slopes, slope])
            self.heights = np.append(self.heights, height)
        return True


def run_cutting_planes(rules: Rules, margins: Any) -> Plan:
    """Mix the rules so far and add the rule that the prices ask for, until it gains nothing."""
    least_gain = LEAST_ROWS / rules.forecast.shape[1]
    is_required = margins > -np.inf
    tangents = Tangents(rules, *_compute_tangent(rules, rules.get_rule(0).pieces))
    for _ in range(ROUNDS):
        heights, violations = _place_rules(rules, tangents, rules.planes, margins)
        program = solve_mixture(heights, violations)
        point = program.shares @ rules.values[rules.planes, : rules.piece_count]
        mean = program.shares @ rules.weights[rules.planes]
        prices = np.zeros(rules.constraint_count)
        prices[is_required] = program.prices
        weights = rules.join_weights(program.tangents @ tangents.slopes, prices / rules.scale)

        between = (weights + mean) / 2
        new = rules.evaluate(np.stack([weights, between, mean]))
        rules.planes += new.tolist()
        heights, violations = _place_rules(rules, tangents, new, margins)
        costs = heights @ program.tangents + violations @ program.prices
        gain = program.value - float(costs.min())
        is_bent = tangents.add(point)  # the objective is not linear there
        if not is_bent and gain < least_gain:
            break
    del rules.planes[1 : max(1, len(rules.planes) - MOST_PLANES)]
    return Plan(mean, weights, program.value)


def _place_rules(
    rules: Rules,
    tangents: Tangents,
    indices: Any,
    margins: Any,
) -> tuple[Any, Any]:
    """Return how high rules are on each tangent, and their violations if required."""
    pieces, violations = np.split(rules.values[indices], [rules.piece_count], axis=1)
    in_units = (violations + margins) / rules.scale
    return tangents.measure(pieces), in_units[:, margins > -np.inf]


def _compute_tangent(rules: Rules, point: Any) -> tuple[Any, Any]:
    """Return the objective's slope (1, p) at pieces (p,), and the tangent's height (1,) at 0."""
    objective = rules.compiled.objective
    slope = objective.slope(point)
    height = float(objective.value(point)) - slope @ point
    return slope[None] / rules.unit, np.array([height]) / rules.unit


def _costs_more(rules: Rules, margins: Any, value: float) -> bool:
    """Return whether every rule so far costs more than `value`, or violates a constraint."""
    rule = rules.find_cheapest(margins)
    return not _meets(rules, rule, margins) or rule.objective / rules.unit > value


def _meets(rules: Rules, rule: Rule, margins: Any) -> bool:
    violations = (rule.violations + margins) / rules.scale
    return bool(violations.max(initial=0.0) <= TOLERANCE)


def _scale_multipliers(rules: Rules, weights: Any, factors: Any) -> Any:
    """Return weights (K, T) whose multipliers are these factors (K,) times as large."""
    scaled = np.tile(weights, (len(factors), 1))
    scaled[:, rules.multipliers] *= factors[:, None]
    return scaled


def _try_around(rules: Rules, weights: Any, step: float) -> None:
    """Compute rules whose multipliers differ by a share, together and one by one, and biases."""
    tried = [_scale_multipliers(rules, weights, 1 + step * STEP_FACTORS)]
    largest_first = np.argsort(-weights[rules.multipliers] * rules.scale)
    moves = []
    for index in rules.piece_count + largest_first[:MOST_MOVED]:
        if weights[index] > 0:
            moves.append((index, step * weights[index]))
    for index in rules.biases.start + np.flatnonzero(weights[rules.biases]):
        moves.append((index, step / 10))
    for index, change in moves:
        moved = np.tile(weights, (2, 1))
        moved[:, index] += [-change, change]
        tried.append(moved)
    rules.evaluate(np.concatenate(tried))


def _try_between(rules: Rules, ends: Sequence[Any]) -> None:
    """Compute rules between weights that are far apart, along straight and geometric lines."""
    tried = []
    for index, start in enumerate(ends):
        for end in ends[index + 1 :]:
            sizes = np.abs(np.stack([start, end]))
            low, high = np.maximum(sizes, 1e-3 * sizes.max())
            for step in (0.2, 0.4, 0.6, 0.8):
                straight = (1 - step) * start + step * end
                geometric = low ** (1 - step) * high**step
                tried.append(straight)
                tried.append(np.where(straight > 0, geometric, straight))
    rules.evaluate(np.array(tried))


def _try_thresholds(rules: Rules, weights: Any) -> None:
    """Compute rules with biases, from making each decision for nobody to making it for everyone."""
    if rules.biases.start >= len(weights):  # rules for pairs have no biases
        return
    unbiased = weights.copy()
    unbiased[rules.biases] = 0
    other_costs = compute_costs(rules.terms, unbiased[None], rules.forecast)[0]
    of_first = np.zeros_like(other_costs[:1])
    costs = np.concatenate([of_first, other_costs])
    is_end = (SHARES >= 1).astype(float) - (SHARES <= 0)
    tried = []
    for decision in range(1, rules.compiled.decisions):
        cheapest_other = np.delete(costs, decision, axis=0).min(axis=0)
        largest_bias = cheapest_other - costs[decision]  # at which the decision is the cheapest
        biases = np.quantile(largest_bias, SHARES)
        beyond = 1e-6 * (1 + np.abs(biases).max()) * is_end
        moved = np.tile(unbiased, (len(SHARES), 1))
        moved[:, rules.biases.start + decision - 1] = biases + beyond
        tried.append(moved)
    rules.evaluate(np.concatenate(tried))


def find_conflict(rules: Rules, is_required: Any) -> Any:
    """Return which required constraints (m,) no rule so far meets together, by prices."""
    violations = rules.values[:, rules.piece_count :] / rules.scale
    no_objective = np.zeros((len(violations), 1))
    program = solve_mixture(no_objective, violations[:, is_required])
    required = np.flatnonzero(is_required)
    conflicts = np.zeros(rules.constraint_count, dtype=bool)
    conflicts[required[program.prices > 1e-6 * RADIUS]] = True
    return conflicts


# --- other bounds -------------------------------------------------------------------------------


def rebuild_rules(problem: Problem, rules: Rules, forecast: Forecast) -> Rules:
    """Return the rules for another problem about the same sets of rows; nothing is fitted."""
    if not forecast.by_cells:
        raise ValueError(
            "so many sets of rows were learned that others cannot be told from them: fit again"
        )
    known = rules.compiled
    compiled = compile_pieces(problem, known.populations, known.reference)
    of_cell = np.zeros(len(known.bits), dtype=np.int64)
    of_cell[known.cell] = compiled.cell
    cells_agree = np.array_equal(of_cell[known.cell], compiled.cell)
    if not cells_agree or not _have_same_amounts(compiled, known):
        raise ValueError("this tells rows apart that were not told apart in training: fit again")
    return Rules(compiled, build_terms(compiled, forecast, of_cell), rules.forecast)


def _have_same_amounts(compiled: Any, known: Any) -> bool:
    if len(compiled.blocks) != len(known.blocks):
        return False
    pairs = zip(compiled.blocks, known.blocks, strict=True)
    return all(np.array_equal(new.amounts, old.amounts) for new, old in pairs)


@dataclass(frozen=True)
class Price:
    """What a constraint costs at nearby bounds."""

    constraint: str
    changes: tuple[float, ...]  # of its bound, above 0 if it asks for more
    objectives: tuple[float, ...]  # NaN where no rule meets all constraints

    def __str__(self) -> str:
        at_bound = self.objectives[self.changes.index(0.0)]
        parts = []
        for change, objective in zip(self.changes, self.objectives, strict=True):
            parts.append(f"{change:+.3f}: {objective - at_bound:+.4f}")
        listed = ", ".join(parts)
        return f"{self.constraint}, by how much more it asks, changes the objective: {listed}"


def compute_price(
    rules: Rules,
    margins: Any,
    constraint: int,
    changes: Sequence[float] = CHANGES,
) -> Price:
    """Solve with one constraint's bound moved, and the other margins (m,) as they are."""
    is_moved = np.arange(rules.constraint_count) == constraint
    objectives = []
    for change in changes:
        moved = np.where(is_moved, margins + change, margins)
        rule = find_best_rule(rules, moved)
        objective = rules.compiled.objective.sign * rule.objective
        objectives.append(objective if _meets(rules, rule, moved) else float("nan"))
    label = rules.compiled.labels[constraint]
    return Price(label, tuple(changes), tuple(objectives))


# --- constraints that compare two ratios ---------------------------------------------------------


def find_unleveled_ratios(problem: Problem, populations: Any, classes: Any) -> list[str]:
    """Return the constraints that compare two ratios and have no level.

    They are linear only at a level between the two ratios.
    """
    unleveled = []
    for stated in problem.constraints:
        for constraint in spell_out(stated, populations, classes):
            for end in constraint.ends:
                text = str(end)
                if len(end.rows[0].nonlinear) == 2 and text not in problem.levels:
                    unleveled.append(text)
    return unleveled


def choose_levels(
    problem: Problem,
    constraints: Sequence[str],
    rules: Rules,
    forecast: Forecast,
) -> Problem:
    """Return the problem at the levels that cost least on these rows: first coarse, then closer."""
    levels = {text: problem.levels[text] for text in constraints}

    def measure_cost(tried: dict[str, float]) -> tuple[float, float]:
        at_levels = rebuild_rules(problem.at_levels(tried), rules, forecast)
        rule = find_best_rule(at_levels, np.zeros(at_levels.constraint_count))
        worst = (rule.violations / at_levels.scale).max(initial=0.0)
        return round(float(worst), 9), rule.objective

    for width in WIDTHS:
        for text in constraints:
            grid = levels[text] + width * np.linspace(-1, 1, 5)
            tried = np.clip(grid, 0.005, None).tolist()
            costs = [measure_cost(levels | {text: level}) for level in tried]
            levels[text] = tried[costs.index(min(costs))]
    return problem.at_levels(levels)
