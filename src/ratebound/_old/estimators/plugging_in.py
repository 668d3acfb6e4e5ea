"""The search with the plug-in learner: learn P(cell | x) once, then choose a rule on rising margins.

1. `judge`: rows are split into folds. Rows that were drawn together are in the same fold.
2. `learn`: each row gets its forecast from models that did not see it.
3. `walk`: at each of several rising margins the best single rule is found, by its rates out of fold.
4. `choose`: the rule with the requested confidence is taken, or the one beyond which more would cost too
   much.

The models of the folds are deployed, so rates out of fold are the deployed model's rates. One rule
decides, without chance; rules are mixed only if no rule keeps the promises but a mixture does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ratebound._old.base.linear_program import TOLERANCE, least_violation, worst_violation
from ratebound._old.base.processes import in_collective
from ratebound._old.base.progress import TimeLimit, working
from ratebound._old.base.types import Array
from ratebound._old.estimators.belonging import copied, shared
from ratebound._old.estimators.confidence import WORTH as WORTH_OF_CONFIDENCE
from ratebound._old.estimators.confidence import Curve, Point
from ratebound._old.estimators.every_grouping import Groupings, asked_of_every_grouping
from ratebound._old.estimators.known_rows import MOST_KNOWN, KnownRows, known_rows
from ratebound._old.estimators.margins import NEAR, about, gained, near
from ratebound._old.estimators.proposals import OUT_OF_FOLD
from ratebound._old.estimators.rule_search import RADIUS, Rule
from ratebound._old.estimators.rules import Rules, rules_for, rules_of
from ratebound._old.estimators.sampling import fits_in_each
from ratebound._old.game.folding import Folded, folded
from ratebound._old.game.learner import Learner
from ratebound._old.game.programs import Pool, best_goal_mixture, pool_of_candidates
from ratebound._old.game.trace import Trace
from ratebound._old.learners.calibration import Calibration
from ratebound._old.learners.forecast import (
    Forecast,
    Forecasting,
    given_groups,
    inputs_of,
    regressed,
    values_on,
)
from ratebound._old.problem.coefficients import Block
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import at_point, compile_again
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import frame_columns, rows_of
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.reductions.goal import Linearization, start_of
from ratebound._old.problem.sharing import any_shared
from ratebound._old.rates.expressions import FIRST, Ratio
from ratebound._old.rates.kinds import referral_of
from ratebound._old.rates.named import error_rate
from ratebound._old.solution.determinize import Outcome, evaluate
from ratebound._old.solution.leveling import Tried, as_tried, at_best_levels
from ratebound._old.solution.mixture import Mixture, mixture
from ratebound._old.solution.record import Pending
from ratebound._old.solution.solutions import shrink
from ratebound._old.solution.status import KEPT, MOST_NAMED, SearchWords, Status, status_in
from ratebound._old.solution.thresholds import known_groups

if TYPE_CHECKING:
    from ratebound._old.estimators.search import Search, SearchResult

FINE = (
    "feasible: every constraint is kept on the training rows, each judged by models that did not see it"
)
FEW = (
    "infeasible: on the training rows, each judged by models that did not see it, every constraint is "
    "kept but some that too few rows can show"
)
RULES = SearchWords(
    "No rule or mixture of them", "any mixture of the rules", "use a stronger model, or other features"
)
POINTS = 8  # linear problems on the way to a goal, at most
WORTH = 1e-5  # of the goal: the gain that another of them needs
ALIKE = 1e-3  # of the objective: levels that differ by less are as good, and one in the middle is taken
AT_ONCE = 2**16  # rows with widely shared features that are processed at a time


def cannot(compiled: Compiled, asked: Search, learner: Learner) -> str:
    """Why the plug-in learner cannot solve a problem, in words; empty if it can."""
    if compiled.general:
        names = ", ".join(str(each.left) for _, each in compiled.general)
        return f"{names} cannot be learned: it is a function, which a model has to descend"
    for block in compiled.blocks:
        if block.at != 0:
            return f"it decides only at 0, but {_speaking(compiled, block)} uses another threshold"
    if any_shared(compiled.populations) and (why := _why_not_gathered(asked, learner)):
        return f"some rows are in other processes, {why}"
    if compiled.stored and (why := learner.why_not_stored):  # type: ignore[attr-defined]
        return str(why)
    if asked.known and compiled.stored:
        return f"decisions may use {', '.join(asked.known)}, and rows are on disk"
    if asked.known and (groups := len(known_groups(asked.known, compiled)[1])) > MOST_KNOWN:
        by = ", ".join(asked.known)
        return f"{by} has {groups} values that decisions may use, and {MOST_KNOWN} is the most"
    of_ratios = any(isinstance(p.left, Ratio) for p in compiled.problem.constraints)
    if asked.certify is not None and of_ratios and referral_of(compiled.classes) is None:
        return "a certificate of a ratio needs a raised bound"
    if not asked.takes_any_rule:
        return "the solution must be made of the iterates of a game"
    if learner.style == "table" and frame_columns(compiled.first.X) and (what := regressed(compiled)):
        return f"{what} are learned from numbers, but the model reads a table"
    return ""


def _why_not_gathered(asked: Search, learner: Learner) -> str:
    """Why the rows of all processes cannot be gathered in each of them; empty if they can."""
    if asked.known:
        return f"and decisions may use {', '.join(asked.known)}"
    if in_collective():
        return "in XGBoost's collective"
    if asked.compiled.stored:
        return "which have them on disk"
    if asked.clock.left is not None:
        return "whose clocks differ, and max_time= is a limit"
    if learner.style == "table":
        return "and a model that reads tables is not given numbers"
    if asked.compiled.problem.guessed:
        return "and groups are guessed"
    return "" if fits_in_each(asked.compiled) else "and they are too many to be gathered in each"


def _speaking(compiled: Compiled, block: Block) -> str:
    row = int(np.flatnonzero(np.diff(block.net.indptr))[0])
    return str(compiled.constraints[row - 1] if row else compiled.problem.objective)


def search_rules(asked: Search) -> SearchResult:
    """The solution of a problem on its rows, from a forecast of their cells."""
    learner = asked.learner
    # The parts of a goal are learned, as well as the groups of promises.
    compiled = asked.compiled if asked.compiled.whole is None else asked.compiled.whole
    if compiled.stored and asked.together is None and asked.for_new_rows:
        asked = replace(asked, together=copied(compiled))
    apart = len(compiled.cells) if asked.together is None else int(asked.together.max()) + 1
    split = folded(compiled, min(learner.folds or 5, max(3, apart)), asked.seed, asked.together)
    assert isinstance(learner, Forecasting)  # like all learners that cross-fit
    epochs = asked.training.epochs
    forecast, outside = learner.learn(compiled, split, asked.seed, asked.progress, epochs)
    known = known_rows(compiled, asked.known)
    with working("solving", asked.progress):
        result = _solved(asked, compiled, forecast, outside, split)
        if known is None:
            return result
        forecast = given_groups(compiled, forecast, split.of, known.of, len(known.groups))
        inputs = inputs_of(compiled, tables=forecast.tables)
        outside = values_on(forecast, inputs, split.of, known.of)
        return better(_solved(asked, compiled, forecast, outside, split, known), result, asked)


def _solved(
    asked: Search,
    compiled: Compiled,
    forecast: Forecast,
    outside: Array,
    split: Folded,
    known: KnownRows | None = None,
) -> SearchResult:
    """The solution among the rules of a forecast, from its values (J, n) out of fold."""
    alike = shared(compiled)
    if len(alike):
        # A decision on widely shared features is a decision on all their rows. Models of single folds
        # may disagree there, and one row more or less among so many changes a model little.
        given = inputs_of(compiled, tables=forecast.tables)
        for some in np.array_split(alike, 1 + len(alike) // AT_ONCE):
            group = None if known is None else known.of[some]
            outside[:, some] = values_on(forecast, rows_of(given, some), group=group)
    rules = rules_of(compiled, forecast, outside, split.splits[0], asked.seed, asked.together, known)
    if asked.compiled.problem.asked.leveled:
        asked = replace(asked, compiled=at_its_levels(asked.compiled, rules))
        rules = learned_rules(asked.compiled, rules)
    elif asked.compiled.goal is not None:
        rules = for_goal(asked.compiled, rules)
    return solved_rules(asked, rules)


def better(known: SearchResult, blind: SearchResult, asked: Search) -> SearchResult:
    """The result with known groups, or the one without, whichever is worth more out of fold."""
    assert blind.rules is not None
    results = known, blind
    fine = [each.solution.status.feasible or each.lets_go for each in results]
    if not all(fine):
        worth = [-each.solution.status.violation for each in results]
    else:
        plain, result = blind.rules.objectives([0])[0], blind.solution.record.objectives[OUT_OF_FOLD]
        gain = gained(blind.rules.by_goal or blind.rules.compiled, plain, result)
        worth = [-each.solution.record.objectives[OUT_OF_FOLD] for each in results]
        if asked.confidence is not None:
            sure = [min(each.solution.status.confidence or 0.0, asked.confidence) for each in results]
            worth = [
                WORTH_OF_CONFIDENCE * gain * one + own for one, own in zip(sure, worth, strict=True)
            ]
    if worth[0] >= worth[1]:
        return known
    own = blind.solution.status
    note = f"It does not use {', '.join(asked.known or ())}, since that would not make it better."
    message = f"{own.message.removesuffix('.')}. {note}"
    return replace(blind, solution=blind.solution.recorded(status=replace(own, message=message)))


def at_its_levels(compiled: Compiled, known: Rules) -> Compiled:
    """A problem whose ratios are compared at the best levels for the rules of a forecast.

    The forecast is the same at all levels, and the rules at each level are solved quickly; for a goal
    that is not a sum, along its tangent at the best point without these comparisons.
    """
    asked, tangent = compiled.problem.asked, np.empty(0)
    if compiled.goal is not None:
        without = asked.at_levels(dict.fromkeys(asked.leveled))
        rules = learned_rules(compile_again(compiled, without), known)
        pieces, _ = rules.measured([rules.best(np.zeros(rules.promises)).place])
        tangent = compiled.goal.weights(pieces[0])

    def reached(problem: Problem) -> Tried:
        at = compile_again(compiled, problem)
        rules = rules_for(at, known) if at.goal is None else along_tangent(at, tangent, known)
        rule = rules.best(np.zeros(rules.promises))
        alike = ALIKE * float(rules.compiled.scale[0])
        cost = alike * round(rules.objectives([rule.place])[0] / alike)
        return as_tried(rules.compiled, rule.violations, cost)

    return compile_again(compiled, at_best_levels(asked, reached))


def what_if(known: Rules, problem: Problem) -> tuple[Rules, Rule]:
    """The cheapest rule that keeps other promises on the same rows, out of fold, after all its rules.

    It gives answers at once: no columns are read, nothing is fitted, and there are no margins, so there
    is no statement about new rows. On 20,000 rows it takes tens of milliseconds.
    """
    rules = learned_rules(compile_again(known.compiled, problem), known)
    return rules, rules.quickly(np.zeros(rules.promises))


def learned_rules(compiled: Compiled, known: Rules) -> Rules:
    """The rules for another problem on the same rows, from the forecast of `known`."""
    if compiled.goal is None:
        return rules_for(compiled, known)
    assert compiled.whole is not None
    return for_goal(compiled, rules_for(compiled.whole, known))


def for_goal(compiled: Compiled, known: Rules) -> Rules:
    """The rules for the linear problem that represents a goal at its best point.

    As in a game, the best mixture of all rules so far is found exactly, and the next rules are for the
    goal's tangent there.
    """
    goal = compiled.goal
    assert goal is not None
    assert compiled.whole is not None
    none = np.zeros(len(compiled.constraints))
    weights = start_of(goal, compiled.whole).weights
    pools: list[tuple[Array, Array]] = []
    best, least = None, np.inf
    for _ in range(POINTS):
        rules = along_tangent(compiled, weights, known)
        rule = rules.best(none)
        pieces, violations = rules.measured([0, *rules.planes, rule.place])
        pools.append((pieces, violations))
        broken = max(float(worst_violation(rule.violations, compiled.scale[1:])) - TOLERANCE, 0.0)
        value = float(goal.value(pieces[-1])) + RADIUS * broken
        if value < least - WORTH:
            best, least = rules, value
        elif len(pools) > 1:
            break
        every, broken_by = (np.concatenate(part) for part in zip(*pools, strict=True))
        solved = best_goal_mixture(goal, every, broken_by, compiled.scale[1:])[2]
        weights = solved.weights
    assert best is not None
    return best


def along_tangent(compiled: Compiled, weights: Array, known: Rules) -> Rules:
    """The rules for a sum of a goal's pieces at weights (q,), in place of the goal."""
    none = np.zeros(len(compiled.constraints))
    point = Linearization(weights, none, (np.empty((0, len(weights))), none[:0]))
    rules = rules_for(replace(at_point(compiled, point), problem=compiled.problem), known)
    rules.by_goal = compiled
    return rules


def solved_rules(asked: Search, rules: Rules) -> SearchResult:
    """The solution among the rules of a forecast."""
    from ratebound._old.estimators.search import SearchResult

    chosen = chosen_rule(rules, asked.confidence, asked.clock)
    safer: list[Point] = []
    if asked.certify is not None and asked.confidence is not None:
        safer = chosen.curve.safest_first(asked.confidence, asked.certify)
    if chosen.groupings is not None:
        safer = [each for each in safer if (chosen.groupings.rooms(each.rule) >= -TOLERANCE).all()]
    solution = chosen.solved(chosen.point)
    return SearchResult(
        solution,
        chosen.point.kept,
        tuple((chosen.solved(each), each.kept) for each in safer),
        0,
        chosen.trace,
        0,
        partial(pool_at, chosen.trace),
        lambda room: chosen.of_rule(rules.best(room)),
        rules,
        chosen.only_few(solution.status),
    )


@dataclass(frozen=True, eq=False)
class ChosenRule:
    """The chosen rule, the curve it was chosen from, and all candidates."""

    rules: Rules
    curve: Curve
    point: Point
    trace: Trace
    confidence: float | None  # asked for
    groupings: Groupings | None  # promises must hold for each of these, if that was asked for

    def solved(self, point: Point) -> Mixture:
        """The deployed model for a point of the curve."""
        own = self.of_rule(point.rule)
        status = own.status
        if self.confidence is not None and self.rules.promises:
            reached = round(self.curve.confidence(point), 2)
            words = f"{status.message.removesuffix('.')}. {self._words(point, reached, status)}"
            status = replace(status, confidence=reached, message=words)
        if self.groupings is not None:
            status = self.groupings.told(status, point.rule if len(own) == 1 else None)
        if len(own) == 1 and self._never_refers(point.rule):
            message = f"{status.message.removesuffix('.')}. No row is referred, although some may be."
            status = replace(status, message=message)
        return own.recorded(status=status)

    def _never_refers(self, rule: Rule) -> bool:
        """Whether rows may be referred but none is."""
        classes = self.rules.compiled.classes
        if referral_of(classes) is None:
            return False
        return not (self.rules.decided(rule.weights) == len(classes) - 1).any()

    def of_rule(self, rule: Rule) -> Mixture:
        """The deployed model for a rule, with its values out of fold and on the training rows."""
        compiled, trace = self.rules.compiled, self.trace
        if rule.place + 1 not in trace.round:
            trace = self.rules.trace([rule.place])
        chances = (trace.round == rule.place + 1).astype(float)
        known = self.rules.known
        own, mixed = mixture(trace, chances), None
        if not own.status.feasible and not self.only_few(own.status):
            mixed = shrink(trace)
            own = mixed if mixed.status.feasible else own
        drawn = own is mixed
        own = own if known is None else known.by_group(own)
        status = own.status
        if status.feasible:
            status = replace(status, message=FINE if self.rules.promises else KEPT)
        elif self.only_few(status):
            status = replace(status, message=FEW)
        else:
            others = partial(least_violation, trace.violations, trace.scale)
            broken = own.violations["train"]
            status = status_in(RULES, trace.constraints, broken, others, trace.scale)

        @cache
        def there() -> Outcome:  # it takes five passes over the rows, so it is done on request
            if drawn:
                return evaluate(own, compiled)
            objective, *violations = self.rules.deployed(rule.weights)
            return Outcome(float(objective), np.array(violations))

        each = (0.0,) * score_count(compiled.label_count)
        calibration = Calibration(1.0, each, OUT_OF_FOLD, compiled.sizes[FIRST])
        return replace(own, calibration=calibration).recorded(
            status=status,
            objectives=Pending(
                "train", lambda: there().objective, {OUT_OF_FOLD: own.record.objectives["train"]}
            ),
            violations=Pending(
                "train", lambda: there().violations, {OUT_OF_FOLD: own.violations["train"]}
            ),
        )

    def only_few(self, status: Status) -> bool:
        """Whether promises are broken, but only ones that were given up for lack of rows."""
        few = {self.rules.compiled.constraints[place] for place in self.curve.few}
        return bool(status.broken) and few.issuperset(status.broken)

    def _words(self, point: Point, reached: float, status: Status) -> str:
        """The confidence that the promises hold on new rows, and the cost of more."""
        fine = status.feasible or self.only_few(status)
        if not self.curve.few:
            return priced(self.curve, point, reached, fine, "all hold")
        shown = round(self.curve.confidence(point, shown=True), 2)
        every = f"All hold together with a confidence of {about(reached)}. {self._few_rows()}"
        if not self.curve.shown.any():
            return every
        return f"{priced(self.curve, point, shown, fine, 'all the others hold')} {every}"

    def _few_rows(self) -> str:
        """Which promises cannot be shown on so few rows, and how many rows are needed."""
        few = list(self.curve.few.items())
        told = [
            f"{self.rules.compiled.constraints[place]} ({have:,} rows, at least {takes:,} needed)"
            for place, (have, takes) in few[:MOST_NAMED]
        ]
        told += [f"{len(few) - MOST_NAMED} more"] * (len(few) > MOST_NAMED)
        return f"No decisions could show these on so few rows: {'; '.join(told)}."


def priced(curve: Curve, point: Point, reached: float, fine: bool, what: str) -> str:
    """The confidence that `what` holds on new rows, and the cost of more.

    `fine` says whether the promises are kept on these rows.
    """
    asked_for = curve.asked
    assert asked_for is not None
    said = f"On new rows like these {what} together with a confidence of {about(reached)}"
    if not fine:
        return f"{said}."
    if reached >= asked_for - NEAR:
        return f"{said}{near(reached, asked_for)}."
    asked = f"{said}, where {100 * asked_for:.10g}% was asked for"
    if curve.cut_short:
        return f"{asked}: there was no time to look for more."
    confidence = partial(curve.confidence, shown=True)
    sure = [p for p in curve.points if confidence(p) >= asked_for - NEAR]
    surest, words = max(curve.points, key=confidence), "no rule on the way reaches "
    if sure:
        surest, words = min(sure, key=lambda p: p.rule.objective), "that"
    elif surest is not point:
        words += f"that; {about(confidence(surest))}"
    else:
        return f"{asked}: {words}more; relax the promises, or bring more rows."
    remedy = "relax the promises, or bring more rows."
    more, metric = surest.rule.objective - point.rule.objective, curve.rules.compiled.problem.objective
    if more >= 0.5e-4:
        return (
            f"{asked}: {words} would cost {more:.4f} of {metric} more, which is more than it is worth; "
            f"{remedy}"
        )
    if (every := curve.confidence(surest)) >= curve.confidence(point):
        return f"{asked}; {remedy}"
    return (
        f"{asked}: {words} is possible at the same {metric}, but then all promises hold together with a "
        f"confidence of {about(every)}; {remedy}"
    )


def chosen_rule(rules: Rules, confidence: float | None, clock: TimeLimit) -> ChosenRule:
    """The rule that keeps the promises on new rows with this confidence; None for no margins."""
    ways = asked_of_every_grouping(rules.compiled.problem)
    groupings = Groupings(rules, ways) if ways and rules.promises else None
    curve = Curve(rules, rules.seed, clock, confidence)
    if confidence is None:
        point = curve.add(np.zeros(rules.promises))
    else:
        plain, cheapest = rules.objectives([0, curve.points[0].rule.place])
        point = curve.chosen(confidence, gained(rules.by_goal or rules.compiled, plain, cheapest))
    if groupings is not None:
        point = groupings.kept_by(curve, point)
    ended = "time" if curve.cut_short else "gap"
    candidates = rules.trace((each.rule.place for each in curve.points), ended)
    return ChosenRule(rules, curve, point, candidates, confidence, groupings)


def pool_at(trace: Trace, margins: Array) -> Pool:
    """The pool for a rule with such margins, for prices."""
    tight = replace(trace, violations=trace.violations + margins)
    return replace(pool_of_candidates(tight), margins=margins)


def errors_only(compiled: Compiled) -> bool:
    """Whether there are no promises and only errors count, so that the plain model is best."""
    return compiled.problem.objective == error_rate() and not compiled.constraints
