"""The search finds the cheapest single rule at given margins, and solves again for other bounds.

Weights come from cutting planes: a linear program over the rules so far says at which weights
least is known, and the rule there comes next. Rules are judged by their actual rates out of fold,
which forgives errors of the forecast. Beside a mixture of such rules there often is a single one
that is as good. If not, a smooth descent moves all multipliers at once. Last, rules near
the best one are drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.learning.descent import descend
from ratebound.learning.forecast import Forecast
from ratebound.learning.program import solve_mixture
from ratebound.learning.rules import Rule, Rules, build_terms, compute_costs
from ratebound.learning.sample import take_sample
from ratebound.problem.compile import compile_pieces
from ratebound.problem.compiled import Compiled
from ratebound.problem.expand import spell_out
from ratebound.problem.problem import Problem
from ratebound.rates.sums import Constraint, Sum

MOST_ROWS = 100_000  # of more, a sample is searched
FEW_ROWS = 4_000  # of a sample, about, that is searched in a few hundredths of a second
CORRECTIONS = 6  # rules of a sample that are tried on all rows
BETWEEN = np.linspace(0.1, 0.9, 8)[:, None]  # the last two of them
LEAST_RAISE = 5e-4  # of margins if a rule of a sample violates constraints on all rows, in units
ROUNDS = 40  # of the program at each margin
MOST_PLANES = 60  # the latest rules, that the program goes on with
NOTHING = 1e6  # units below its bound that a constraint may be which is not required
LEAST_ROWS = 0.1  # rows that better weights could still gain
DEAR = 2e-4  # how much more of the objective than a mixture a rule may cost before a descent
EXPENSIVE = 0.01  # the same more than the plain model: mixtures of the rules cost too much then
LARGE = 10_000_000  # numbers of a forecast, of which more take too long to descend on
SHARES = np.concatenate([np.geomspace(0.005, 0.1, 12), np.linspace(0.12, 0.98, 44)])  # of rows
NEAR_RULES = 24  # at random around the best
DRAWS = 10  # of near rules, one after another
NEAR = 0.3  # how far they may be, as a share of multipliers
ADDED = 0.1  # the same for multipliers of 0, as a share of typical ones
FAR = 1.0  # the same of biases, if no rule meets the constraints
WIDER = 1.2  # after a better rule
CLOSER = 0.6  # after none
PENALTY = 30.0  # for a violation, of rules to go on from
KNOWN_RULES = 10  # the best, that are tried for other bounds
CHANGES = (-0.02, -0.01, 0.0, 0.01, 0.02)  # of a bound, for its price
WIDTHS = (0.4, 0.1, 0.025)  # of the grids of levels, one after another
LEAST_LEVEL = 0.005


# --- one rule -----------------------------------------------------------------------------------


def find_best_rule(
    rules: Rules,
    margins: Any,
    most_rows: int = MOST_ROWS,
    is_quick: bool = False,
) -> Rule:
    """Return the cheapest rule that meets the constraints with margins (m,), or else the nearest.

    A margin of -inf requires nothing. With more rows than `most_rows`, a sample is searched.
    """
    if rules.is_plain_enough(margins):
        return rules.get_rule(0)
    if rules.by_row and rules.row_count > most_rows:
        _search_sample(rules, margins, most_rows)
    else:
        _search(rules, margins, is_quick)
    return rules.find_cheapest(margins)


def _search_sample(
    rules: Rules,
    margins: Any,
    most_rows: int,
) -> None:
    """Compute rules that are best on a sample, with margins for how far its rates are off."""
    if rules.sample is None:
        rules.sample = take_sample(rules, most_rows)
    best = rules.find_cheapest(margins)
    tried = [best.weights]
    index = rules.sample.evaluate(best.weights[None])[0]
    difference = best.violations - rules.sample.get_rule(index).violations
    for _ in range(CORRECTIONS):
        corrected = margins + difference
        _search(rules.sample, corrected)
        best = rules.sample.find_cheapest(corrected)
        tried.append(best.weights)
        index = rules.evaluate(best.weights[None])[0]
        rule = rules.get_rule(index)
        if rules.meets(rule, margins):
            break
        difference = rule.violations - best.violations + LEAST_RAISE * rules.scale
    rules.evaluate(BETWEEN * tried[-2] + (1 - BETWEEN) * tried[-1])


def _search(rules: Rules, margins: Any, is_quick: bool = False) -> None:
    if rules.by_row and rules.compiled.decisions == 2 and not rules.compiled.objective.is_sum:
        _try_thresholds(rules)
    plan = run_cutting_planes(rules, margins)
    _draw_near(rules, margins)
    best = rules.get_rule(_find_nearest(rules, margins))
    plain = rules.get_rule(0).objective / rules.unit
    is_good = best.objective / rules.unit <= min(plan.value + DEAR, plain + EXPENSIVE)
    is_large = rules.by_row and rules.forecast.size > LARGE
    if is_quick or is_large or (is_good and rules.meets(best, margins)):
        return
    if rules.by_row:
        objective = rules.compiled.objective
        slope = objective.slope(rules.get_rule(0).pieces) / rules.unit
        no_multipliers = np.zeros(rules.constraint_count)
        descend(rules, margins, plan.weights)
        descend(rules, margins, rules.join_weights(slope, no_multipliers))
    _draw_near(rules, margins)


def _try_thresholds(rules: Rules) -> None:
    """Compute the rules that decide as many rows in the second way as a threshold lets pass."""
    costs = compute_costs(rules.terms, rules.plain_weights[None], rules.forecast)[0, 0]
    tried = np.tile(rules.plain_weights, (len(SHARES), 1))
    tried[:, rules.biases] = -np.quantile(costs, SHARES)[:, None]
    rules.evaluate(tried)


def _draw_near(rules: Rules, margins: Any) -> None:
    """Compute rules at random around the best one that is not a constant, again and again."""
    random = np.random.default_rng(len(rules.weights))
    least = np.zeros_like(rules.plain_weights)
    least[rules.multipliers] = ADDED / rules.reach[rules.multipliers]
    shape = (NEAR_RULES, len(least))
    one_each = (NEAR_RULES, 1)
    spread = NEAR
    best = _find_nearest(rules, margins)
    if not rules.meets(rules.get_rule(best), margins):
        least[rules.biases] = FAR
    for _ in range(DRAWS):
        weights = rules.weights[best]
        most_moved = random.random(one_each) + 1 / len(least)
        is_moved = random.random(shape) < most_moved
        sizes = spread * random.random(one_each)
        changes = sizes * random.standard_normal(shape)
        changes *= is_moved * (np.abs(weights) + least)
        changes[:, : rules.piece_count] = 0.0
        tried = weights + changes
        multipliers = tried[:, rules.multipliers]
        np.abs(multipliers, out=multipliers)
        rules.evaluate(tried)
        last = best
        best = _find_nearest(rules, margins)
        spread *= CLOSER if best == last else WIDER


def _find_nearest(rules: Rules, margins: Any) -> int:
    """Return the best rule but constants."""
    costs = _measure_costs(rules, margins)
    costs[rules.constants] = np.inf
    return int(costs.argmin())


def _measure_costs(rules: Rules, margins: Any) -> Any:
    """Return every rule's objective (N,) in units, with a penalty for its worst violation."""
    objectives = rules.get_objectives() / rules.unit
    return objectives + PENALTY * rules.get_worst_violations(margins)


# --- cutting planes -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """What the cutting planes ended with."""

    weights: Any  # (T,) the prices of the best mixture
    value: float  # of the mixture, in units


def run_cutting_planes(rules: Rules, margins: Any) -> Plan:
    """Mix the rules so far and add the rule that the prices ask for, until it gains nothing."""
    objective = rules.compiled.objective
    least_gain = LEAST_ROWS / rules.row_count
    finite_margins = np.maximum(margins, -NOTHING * rules.scale)
    points = [rules.get_rule(0).pieces]
    for _ in range(ROUNDS):
        tangents = _compute_tangents(rules, points)
        pieces, violations = _place_rules(rules, rules.planes, finite_margins)
        program = solve_mixture(tangents.measure(pieces), violations)
        mean = program.shares @ rules.weights[rules.planes]
        slope = program.tangents @ tangents.slopes
        weights = rules.join_weights(slope, program.prices / rules.scale)
        between = (weights + mean) / 2
        new = rules.evaluate(np.stack([weights, between, mean]))
        rules.planes += new.tolist()

        point = program.shares @ pieces
        height = tangents.measure(point).max()
        if objective.value(point) / rules.unit - height > least_gain:  # it is not linear there
            if objective.shape == "sum":  # of a ratio: only the latest is of use
                points.clear()
            points.append(point)
            continue
        pieces, violations = _place_rules(rules, new, finite_margins)
        costs = tangents.measure(pieces) @ program.tangents
        costs += violations @ program.prices
        if program.value - costs.min() < least_gain:
            break
    del rules.planes[1 : max(1, len(rules.planes) - MOST_PLANES)]
    return Plan(weights, program.value)


@dataclass(frozen=True, eq=False)
class Tangents:
    """Tangents of the objective, in units: it is at least as large as each if it is convex."""

    slopes: Any  # (k, p)
    at_zero: Any  # (k,) their heights at pieces of 0

    def measure(self, pieces: Any) -> Any:
        """Return how high pieces (..., p) are on each tangent (..., k)."""
        return self.at_zero + pieces @ self.slopes.T


def _compute_tangents(rules: Rules, points: Sequence[Any]) -> Tangents:
    """Return the tangents at pieces (k, p)."""
    objective = rules.compiled.objective
    slopes = np.array([objective.slope(point) for point in points])
    values = objective.value(np.array(points))
    at_zero = values - (slopes * points).sum(axis=1)
    return Tangents(slopes / rules.unit, at_zero / rules.unit)


def _place_rules(
    rules: Rules,
    indices: Any,
    margins: Any,
) -> tuple[Any, Any]:
    """Return the pieces of rules, and their violations in units."""
    values = rules.values[indices]
    pieces, violations = np.split(values, [rules.piece_count], axis=1)
    return pieces, (violations + margins) / rules.scale


# --- other bounds -------------------------------------------------------------------------------


def rebuild_rules(problem: Problem, rules: Rules, forecast: Forecast) -> Rules:
    """Return the rules for another problem about the same sets of rows; nothing is fitted."""
    if not forecast.by_cells:
        raise ValueError(
            "so many sets of rows were learned that others are not known from them: fit again"
        )
    before = rules.compiled
    compiled = compile_pieces(problem, before.populations, before.reference)
    of_cell = np.zeros(len(before.bits), dtype=np.int64)
    of_cell[before.cell] = compiled.cell
    cells_agree = np.array_equal(of_cell[before.cell], compiled.cell)
    if not cells_agree or not _have_same_amounts(compiled, before):
        raise ValueError("this tells rows apart that were not told apart in training: fit again")
    rebuilt = Rules(compiled, build_terms(compiled, forecast, of_cell), rules.forecast)
    if rebuilt.terms.shape == rules.terms.shape:  # probably other bounds of the same rates
        best_first = _measure_costs(rules, 0.0).argsort()
        known = np.setdiff1d(best_first[:KNOWN_RULES], rules.constants)
        nearest = rules.find_cheapest(0.0)
        rebuilt.evaluate(np.vstack([rules.weights[known], nearest.weights]))
    return rebuilt


def _have_same_amounts(compiled: Any, before: Any) -> bool:
    new = [block.amounts for block in compiled.blocks]
    old = [block.amounts for block in before.blocks]
    return len(new) == len(old) and all(map(np.array_equal, new, old))


@dataclass(frozen=True)
class Price:
    """What a constraint costs at nearby bounds."""

    constraint: str
    changes: tuple[float, ...]  # of its bound, above 0 if it asks for more
    objectives: tuple[float, ...]  # NaN if no rule meets all constraints

    def __str__(self) -> str:
        lines = [self.constraint, f"{'asks more':>10}{'objective':>12}"]
        for change, objective in zip(self.changes, self.objectives, strict=True):
            reached = "infeasible" if np.isnan(objective) else f"{objective:z.4f}"
            lines.append(f"{change:>+10.3f}{reached:>12}")
        return "\n".join(lines)


def compute_price(
    rules: Rules,
    forecast: Forecast,
    margins: Any,
    constraint: int,
    changes: Sequence[float] = CHANGES,
) -> Price:
    """Solve with one constraint's bound moved, and the other margins (m,) as they are."""
    compiled = rules.compiled
    is_moved = np.arange(rules.constraint_count) == constraint
    problems = []
    for change in changes:
        if compiled.rows[constraint].ratio is None:
            problems.append((rules, margins + change * is_moved))
            continue
        problem = _move_ratio(compiled, constraint, change)
        problems.append((rebuild_rules(problem, rules, forecast), margins))
    for of_problem, moved in problems:
        find_best_rule(of_problem, moved)
    objectives = []
    for of_problem, moved in problems:
        rule = of_problem.find_cheapest(moved)  # maybe found at another bound
        objective = compiled.objective.sign * rule.objective
        objectives.append(objective if of_problem.meets(rule, moved) else float("nan"))
    return Price(compiled.labels[constraint], tuple(changes), tuple(objectives))


def _move_ratio(compiled: Compiled, constraint: int, change: float) -> Problem:
    """Return the problem with the bound of one ratio moved, which is multiplied by its bottom."""
    constraints = []
    for index, row in enumerate(compiled.rows):
        moved = row.sum
        if index == constraint and row.ratio is not None:
            moved = moved + row.ratio.bottom * change
        constraints.append(Constraint(None, moved, Sum()))
    objective: Any = {compiled.problem.sense: compiled.problem.objective}
    return Problem(subject_to=constraints, **objective)


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
            for level in levels[text] + width * np.linspace(-1, 1, 9):
                tried = levels | {text: max(float(level), LEAST_LEVEL)}
                at_levels = rebuild_rules(problem.at_levels(tried), rules, forecast)
                rule = find_best_rule(at_levels, np.zeros(at_levels.constraint_count))
                worst = at_levels.find_worst(rule, 0.0)
                solved[round(worst, 9), rule.objective] = tried
            levels = solved[min(solved)]
    return problem.at_levels(levels)
