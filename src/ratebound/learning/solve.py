"""The search finds the cheapest single rule at given margins, and solves again for other bounds.

Weights come from cutting planes: a linear program over the rules so far says at which weights
least is known, and the rule there comes next. Rules are judged by their actual rates out of fold,
which forgives errors of the forecast. A mixture of such rules nearly always has a single rule
beside it that is as good, so the last step looks around the program's weights, at random. With many
constraints no rule is near: then multipliers follow the violations, as in a game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.learning.forecast import Forecast
from ratebound.learning.program import solve_mixture
from ratebound.learning.rules import Rule, Rules, build_terms
from ratebound.learning.sample import take_sample
from ratebound.problem.compile import compile_pieces
from ratebound.problem.expand import spell_out
from ratebound.problem.problem import Problem

MOST_ROWS = 100_000  # of more, a sample is searched
FEW_ROWS = 4_000  # of a sample, about, that is searched in a few hundredths of a second
CORRECTIONS = 2  # times that a sample is searched
BELOW = (0.0, 0.001, 0.003, 0.01)  # how far below bounds rules of a sample are tried, in units
ROUNDS = 40  # of the program at each margin
MOST_PLANES = 60  # the latest rules, that the program goes on with
LEAST_ROWS = 0.1  # rows that better weights could still gain
EXPENSIVE = 5e-3  # how much more than the plain model a rule may cost before planes are far away
DEAR = 2e-4  # how much more of the objective than a mixture a rule may cost before more are tried
VERY_DEAR = 2e-3  # the same before rules far away are tried
FAR_RULES = 60  # at random
SIZES = (-2.0, 0.5)  # of their multipliers, as powers of ten
WIDE = 0.5  # how far they may be, in logarithms of multipliers
NEAR_RULES = 20  # at random around the best, step by step
CLOSER = (0.4, 0.1, 0.03)  # how far they may be
FOLLOWED = 100  # rules along the way of violations
FIRST_STEPS = (0.04, 0.02)  # in multipliers for a violation of 1
SLOWING = 30  # steps after which they are half as large
AIMING = 2.5  # how fast they aim below bounds, as a share of steps
LEAST_PRICE = 1e-4  # of a constraint that conflicts with others
CHANGES = (-0.02, -0.01, 0.0, 0.01, 0.02)  # of a bound, for its price
WIDTHS = (0.4, 0.1, 0.025)  # of the grids of levels, one after another
LEAST_LEVEL = 0.005


# --- one rule -----------------------------------------------------------------------------------


def find_best_rule(rules: Rules, margins: Any, most_rows: int = MOST_ROWS) -> Rule:
    """Return the cheapest rule that meets the constraints with margins (m,), or else the nearest.

    A margin of -inf requires nothing. With more rows than `most_rows`, a sample is searched.
    """
    has_choice = rules.constraint_count > 0 or not rules.compiled.objective.is_sum
    if has_choice and rules.by_row and rules.row_count > most_rows:
        _search_sample(rules, margins, most_rows)
    elif has_choice:
        _search(rules, margins)
    return rules.find_cheapest(margins)


def _search_sample(rules: Rules, margins: Any, most_rows: int) -> None:
    """Compute the rules that are best on a sample, corrected by how far its rates are off."""
    if rules.sample is None:
        rules.sample = take_sample(rules, most_rows)
    difference = np.zeros(rules.constraint_count)
    for _ in range(CORRECTIONS):
        corrected = margins + difference
        _search(rules.sample, corrected)
        tried = []
        for below in BELOW:
            tried.append(rules.sample.find_cheapest(corrected + below * rules.scale))
        indices = rules.evaluate(np.stack([rule.weights for rule in tried]))
        difference = rules.get_rule(indices[0]).violations - tried[0].violations


def _search(rules: Rules, margins: Any) -> None:
    plan = run_cutting_planes(rules, margins)
    plain = rules.get_rule(0).objective / rules.unit
    if _costs_more(rules, margins, plain + EXPENSIVE):
        rules.planes += _explore(rules)
        plan = run_cutting_planes(rules, margins)

    def scatter(count: int, spread: float, *others: Any) -> None:
        best = rules.find_cheapest(margins)
        _scatter(rules, np.stack([best.weights, *others]), count, spread)

    if _costs_more(rules, margins, plan.value + DEAR):
        scatter(FAR_RULES, WIDE, plan.mean, plan.weights)
    for step in FIRST_STEPS:
        if _costs_more(rules, margins, plan.value + VERY_DEAR):
            _follow_violations(rules, margins, plan.mean, step)
    if _costs_more(rules, margins, plan.value + VERY_DEAR):
        scatter(FAR_RULES, WIDE, plan.mean, plan.weights)
    for spread in CLOSER:
        scatter(NEAR_RULES, spread)


def _costs_more(rules: Rules, margins: Any, value: float) -> bool:
    """Return whether every rule so far costs more than `value`, or violates a constraint."""
    rule = rules.find_cheapest(margins)
    return not rules.meets(rule, margins) or rule.objective / rules.unit > value


def find_conflict(rules: Rules, is_required: Any) -> Any:
    """Return which required constraints (m,) no rule so far meets together, by prices."""
    violations = rules.values[:, rules.piece_count :] / rules.scale
    no_objective = np.zeros((len(violations), 1))
    program = solve_mixture(no_objective, violations[:, is_required])
    conflicts = np.zeros(rules.constraint_count, dtype=bool)
    conflicts[is_required] = program.prices > LEAST_PRICE
    return conflicts


# --- cutting planes -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """What the cutting planes ended with."""

    mean: Any  # (T,) the mean weights of the best mixture
    weights: Any  # (T,) those that are its prices
    value: float  # of the mixture, in units


@dataclass(frozen=True, eq=False)
class Tangents:
    """Tangents of the objective, in units: it is at least as large as each if it is convex."""

    slopes: Any  # (k, p)
    heights: Any  # (k,) at pieces of 0

    def measure(self, pieces: Any) -> Any:
        """Return how high pieces (K, p) are on each tangent (K, k)."""
        return self.heights + pieces @ self.slopes.T


def _compute_tangents(rules: Rules, points: Sequence[Any]) -> Tangents:
    """Return the tangents at pieces (k, p)."""
    objective = rules.compiled.objective
    slopes = np.array([objective.slope(point) for point in points])
    values = objective.value(np.array(points))
    heights = values - (slopes * points).sum(axis=1)
    return Tangents(slopes / rules.unit, heights / rules.unit)


def run_cutting_planes(rules: Rules, margins: Any) -> Plan:
    """Mix the rules so far and add the rule that the prices ask for, until it gains nothing."""
    is_required = margins > -np.inf
    least_gain = LEAST_ROWS / rules.row_count
    points = [rules.get_rule(0).pieces]
    for _ in range(ROUNDS):
        tangents = _compute_tangents(rules, points)
        heights, violations = _place_rules(rules, tangents, rules.planes, margins)
        program = solve_mixture(heights, violations)
        mean = program.shares @ rules.weights[rules.planes]
        prices = np.zeros(rules.constraint_count)
        prices[is_required] = program.prices
        slope = program.tangents @ tangents.slopes
        weights = rules.join_weights(slope, prices / rules.scale)

        between = (weights + mean) / 2
        new = rules.evaluate(np.stack([weights, between, mean]))
        rules.planes += new.tolist()
        heights, violations = _place_rules(rules, tangents, new, margins)
        costs = heights @ program.tangents + violations @ program.prices
        gain = program.value - float(costs.min())
        point = program.shares @ rules.values[rules.planes[: -len(new)], : rules.piece_count]
        here = _compute_tangents(rules, [point])
        error = float(here.measure(point)[0] - tangents.measure(point).max())
        if error <= least_gain:  # the objective is linear there
            if gain < least_gain:
                break
        elif rules.compiled.objective.shape == "sum":  # of a ratio: only the latest is of use
            points = [point]
        else:
            points.append(point)
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


# --- rules beside a mixture -----------------------------------------------------------------------


def _scatter(
    rules: Rules,
    ends: Any,
    count: int,
    spread: float,
) -> None:
    """Compute rules at random between weights (k, T), their multipliers moved together and apart."""
    random = np.random.default_rng(len(rules.weights))
    shares = random.dirichlet(np.full(len(ends), 0.5), count)
    tried = shares @ ends
    together = random.standard_normal((count, 1))
    apart = random.standard_normal((count, rules.constraint_count))
    sizes = spread * random.random((count, 1))
    tried[:, rules.multipliers] *= np.exp(sizes * (together + apart))
    rules.evaluate(tried)


def _explore(rules: Rules) -> list[int]:
    """Compute rules with multipliers of any size, and return which they are."""
    random = np.random.default_rng(len(rules.weights))
    sizes = 10.0 ** random.uniform(*SIZES, (FAR_RULES, rules.constraint_count))
    tried = np.tile(rules.plain_weights, (FAR_RULES, 1))
    tried[:, rules.multipliers] = sizes / rules.scale
    return rules.evaluate(tried).tolist()


def _follow_violations(
    rules: Rules,
    margins: Any,
    weights: Any,
    first_step: float,
) -> None:
    """Compute rules on a way that raises multipliers of what is violated, and lowers the others.

    It aims a little below the bounds, the more so the longer a violation lasts.
    """
    below = 0.0
    for number in range(FOLLOWED):
        index = rules.evaluate(weights[None])[0]
        violations = (rules.get_rule(index).violations + margins) / rules.scale
        worst = violations.max(initial=-1.0)
        below = max(0.0, below + AIMING * first_step * worst)
        step = first_step / (1 + number / SLOWING)
        multipliers = weights[rules.multipliers] * rules.scale
        multipliers = np.maximum(multipliers + step * (violations + below), 0.0)
        pieces = weights[: rules.piece_count]
        weights = rules.join_weights(pieces, multipliers / rules.scale)


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
    new = [block.amounts for block in compiled.blocks]
    old = [block.amounts for block in known.blocks]
    return len(new) == len(old) and all(map(np.array_equal, new, old))


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
    objectives = []
    is_moved = np.arange(rules.constraint_count) == constraint
    for change in changes:
        moved = margins + change * is_moved
        rule = find_best_rule(rules, moved)
        objective = rules.compiled.objective.sign * rule.objective
        objectives.append(objective if rules.meets(rule, moved) else float("nan"))
    label = rules.compiled.labels[constraint]
    return Price(label, tuple(changes), tuple(objectives))


# --- constraints that compare two ratios ----------------------------------------------------------


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
    levels = dict(problem.levels)
    for width in WIDTHS:
        for text in constraints:
            solved = {}
            for level in levels[text] + width * np.linspace(-1, 1, 5):
                tried = levels | {text: max(float(level), LEAST_LEVEL)}
                at_levels = rebuild_rules(problem.at_levels(tried), rules, forecast)
                rule = find_best_rule(at_levels, np.zeros(at_levels.constraint_count))
                worst = at_levels.find_worst(rule, 0.0)
                solved[round(worst, 9), rule.objective] = tried
            levels = solved[min(solved)]
    return problem.at_levels(levels)
