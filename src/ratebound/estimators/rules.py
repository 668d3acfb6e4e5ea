"""The rules of a forecast: one for every λ, judged out of fold; and the best that keeps margins.

λ is found by cutting planes, on actual rates: a linear program over the rules so far has the multipliers
at which least is known, and their rule is the next. The rules do not depend on margins, so those that
were found for one margin are where the search for the next begins.

The program mixes rules that differ in few rows, since their multipliers are close. So there is nearly
always one rule, close to the mean of these, that does as well; it is looked for around it.

A rule may also have a threshold of its own: what a yes is to cost less than. Where no multipliers alone
do nearly as well as a mixture, thresholds are tried too, up to one decision for everyone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ratebound.auditing.influence import RowMoves, row_moves
from ratebound.auditing.tallying import NOBODY, tallied
from ratebound.base.linear_program import TOLERANCE, worst_violation
from ratebound.base.types import Array
from ratebound.estimators.known_rows import KnownRows
from ratebound.game.players_by_fits import elastic
from ratebound.game.trace import FoldModels, Split, Trace
from ratebound.learners.forecast import EVEN, Forecast, inputs_of, values_on
from ratebound.learners.plug_in import WHOLE, PlugInScorer, scored, terms_of
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import decided
from ratebound.rates.expressions import FIRST
from ratebound.rates.kinds import TWO, is_count

RADIUS = 100.0  # what a violation may cost at most, in units of the objective
ROUNDS = 80  # rules asked for at each margin, at most
GAP = 1e-6  # of the program, in units of the objective, at which its multipliers are the best
AT_ONCE = 2**19  # decisions of rules evaluated at a time
SCALES = np.r_[np.linspace(0.9, 1.1, 11), 1.15, 1.2, 1.3]  # of multipliers, around the program's
NUDGES = (0.9, 0.95, 0.98, 1.02, 1.05, 1.1)  # of one of them
DEAR = 2e-4  # of the objective, that a single rule may cost more than a mixture
STEPS = np.linspace(0, 1, 6)[1:-1]  # between two multipliers
MIXED = 4  # rules of a mixture between which others are looked for
NUDGED = 8  # multipliers that are moved one by one, the largest
FAR = 10.0  # times DEAR, from which on thresholds are tried too
SHARES = np.linspace(0, 1, 33)  # of rows that get a no, at thresholds
FINER = np.linspace(-1, 1, 33) / 32  # the same around one of them
BASES = 4  # rules whose thresholds are moved
CHANCE = 0.5  # standard deviations of one row's cost, by which a threshold is to be cheaper than none
STARTS = 8  # rules for other bounds that are asked for first
THRESHOLD = "the threshold"  # what it is called as a part of a score


def moves_on(compiled: Compiled, together: Array | None) -> RowMoves:
    """How rows move promises, of which those with one number in `together` (n,) were drawn together."""
    demands = compiled.problem.demands
    rates = [rate for demand in demands for rate in demand.expression.rates]
    alone = compiled.all_in_memory and not compiled.others and compiled.weights is None
    alone = alone and not any(map(is_count, rates))
    if not alone or any(block.amounts is not None for block in compiled.blocks):
        return row_moves(tallied(NOBODY, compiled.populations, rates), demands, together)
    # Rows of a cell are treated alike, so one of each says all, and no column is read again.
    _, one, cells = np.unique(compiled.cells, return_index=True, return_inverse=True)
    few = {FIRST: compiled.first.only(one)}
    moves = row_moves(tallied(NOBODY, few, rates), demands, together)
    return replace(moves, line=moves.line[cells])


@dataclass(frozen=True, eq=False)
class Rule:
    """One λ, and what its rule does out of fold."""

    place: int  # among those that were asked for
    weights: Array  # (T,) of the objective, each promise and the threshold
    objective: float
    violations: Array  # (m,)


@dataclass(eq=False)
class Rules:
    """All rules of a forecast; those that were asked for are kept."""

    compiled: Compiled
    scorer: PlugInScorer
    outside: Array  # (J, n) of the forecast, out of fold
    split: Split
    seed: int
    together: Array | None = None  # (n,) which rows were drawn together
    known: KnownRows | None = None  # the known groups, if columns may be used when deciding
    weights: Array = field(init=False)  # (N, T) of those asked for; T is 1+m, or 2+m with a threshold
    values: Array = field(init=False)  # (N, 1+m) their objectives and violations

    def __post_init__(self) -> None:
        self.weights = np.empty((0, len(self.scorer.terms)))
        self.values = np.empty((0, 1 + self.promises))
        self.planes: list[int] = []  # places of those that programs asked for
        self.by_goal: Compiled | None = None  # the problem whose goal these rules stand for, if any
        self.learned: Rules = self  # those of the problem that the forecast was learned for
        self.ask(np.eye(1 + self.promises)[:1])  # the plain model

    @property
    def promises(self) -> int:
        """The number m of promises."""
        return len(self.compiled.constraints)

    @property
    def bare(self) -> Array:
        """Which rules (N,) have no threshold of their own."""
        return np.asarray(~self.weights[:, 1 + self.promises :].any(axis=1))

    @cached_property
    def moves(self) -> RowMoves:
        """How rows move promises."""
        return moves_on(self.compiled, self.together)

    @cached_property
    def inside(self) -> Array:
        """The forecast (J, n) of these rows by what is deployed, also by models that saw them."""
        if self.learned is not self:
            return self.learned.inside
        forecast, group = self.scorer.forecast, None if self.known is None else self.known.of
        return values_on(forecast, inputs_of(self.compiled, tables=forecast.tables), group=group)

    def deployed(self, weights: Array) -> Array:
        """The values (1+m,) of a rule at weights (T,) on these rows, as it is deployed."""
        rows = self._pieces(weights[None], self.inside)
        objectives, violations, _ = (self.by_goal or self.compiled).measure(rows)
        return np.append(objectives, violations[0])

    def measured(self, places: Sequence[int]) -> tuple[Array, Array]:
        """The pieces (k, q) of a goal, and violations (k, m), of rules that were asked for."""
        assert self.by_goal is not None
        parts = [self.by_goal.measure(self._pieces(self.weights[[place]]))[1:] for place in places]
        violations, pieces = zip(*parts, strict=True)
        return np.concatenate(pieces), np.concatenate(violations)

    def objectives(self, places: Sequence[int]) -> list[float]:
        """The objectives of rules that were asked for, by the goal if there is one."""
        if self.by_goal is None or self.by_goal.goal is None:
            return self.values[list(places), 0].tolist()
        return [float(value) for value in self.by_goal.goal.value(self.measured(places)[0])]

    def scores(self, weights: Array) -> Array:
        """Scores (K, A, n) out of fold of rules at weights (K, 1+m) or (K, T)."""
        return scored(self._padded(weights) @ self.scorer.terms, self.outside)

    def _pieces(self, weights: Array, values: Array | None = None) -> Iterator[Array]:
        """The same of some rows at a time, also by other `values` (J, n) of the forecast."""
        values = self.outside if values is None else values
        costs, some = self._padded(weights) @ self.scorer.terms, max(AT_ONCE // len(weights), 1)
        for start in range(0, values.shape[1], some):
            yield scored(costs, values[:, start : start + some])

    def _padded(self, weights: Array) -> Array:
        """Weights (K, T), with a threshold of 0 if they have none."""
        return np.pad(weights, ((0, 0), (0, len(self.scorer.terms) - weights.shape[1])))

    def decided(self, weights: Array) -> Array:
        """What a rule decides of each row, (n,)."""
        return np.concatenate([decided(scores)[0] for scores in self._pieces(weights[None])])

    def ask(self, weights: Array) -> Array:
        """The values (K, 1+m) of rules at weights (K, 1+m) or (K, T), which are kept."""
        weights = self._padded(weights)
        many = max(1, AT_ONCE // max(self.outside.shape[1], 1))
        found = []
        for start in range(0, len(weights), many):
            objectives, violations, _ = self.compiled.measure(
                self._pieces(weights[start : start + many])
            )
            found.append(np.column_stack([objectives, violations]))
        values = np.concatenate(found)
        self.weights = np.vstack([self.weights, weights])
        self.values = np.vstack([self.values, values])
        return values

    def rule(self, place: int) -> Rule:
        """One of those asked for."""
        return Rule(place, self.weights[place], float(self.values[place, 0]), self.values[place, 1:])

    # --- the best rule ---------------------------------------------------------------------------

    def best(self, margins: Array) -> Rule:
        """The cheapest rule asked for that keeps the promises with `margins` (m,); else the nearest.

        A promise with a margin of -inf is not asked for.
        """
        if not self.promises:
            return self.rule(0)
        if self.bare.all():
            self._look_at_thresholds([self.weights[0]])  # what most people would try first
        mean, mixed, value = self._multipliers(margins)
        self._look_around(mean)
        if self._dearer(margins, value):
            self._look_between([*mixed, mean])
            if self._dearer(margins, value):
                self._look_between([self.cheapest(margins).weights, *mixed])
            if self._dearer(margins, value, FAR):
                self._look_at_thresholds([self.cheapest(margins).weights, mean, *mixed])
        near = self.cheapest(margins).weights
        self._look_around(near, finer=5.0)
        if near[1 + self.promises :].any():
            self._look_at_thresholds([near], self._share_below(near) + FINER)
        return self.cheapest(margins)

    def quickly(self, margins: Array) -> Rule:
        """As `best`, among few rules: those of the program, and on the line through their mean."""
        mean, _, _ = self._multipliers(margins)
        prices = SCALES[:, None] * self._prices(mean)
        self.ask(np.column_stack([np.ones(len(prices)), prices]))
        return self.cheapest(margins)

    def _share_below(self, weights: Array) -> float:
        """The share of rows that a rule says no to."""
        return float((self.decided(weights) == 0).mean())

    def _dearer(self, margins: Array, value: float, times: float = 1.0) -> bool:
        """Whether every rule so far costs more than a mixture of them, by more than is worth a look."""
        near = self.cheapest(margins)
        worst = worst_violation(near.violations + margins, self.compiled.scale[1:])
        return worst > TOLERANCE or near.objective / self.compiled.scale[0] > value + times * DEAR

    def _multipliers(self, margins: Array) -> tuple[Array, list[Array], float]:
        """The weights (T,) of the program's best mixture, by cutting planes.

        Their mean, each of them, and what the mixture costs.
        """
        asked_for = np.append(True, margins > -np.inf)
        scale, room = self.compiled.scale[asked_for], np.append(0.0, margins)[asked_for]
        unit = scale[0] / scale
        mean = self.weights[0]
        mixed, value = [mean], -np.inf
        center: Array | None = None  # next to which multipliers stay while that tells something
        bound, highest = -np.inf, np.eye(len(scale))[0]
        for _ in range(ROUNDS):
            bare = self.bare  # thresholds are of single rules
            values, weights = (self.values[bare][:, asked_for] + room) / scale, self.weights[bare]
            program = elastic(values, RADIUS)
            value, prices = program.value, program.weights
            mean, mixed = program.shares @ weights, list(weights[program.shares > 0])
            if value - bound <= GAP:
                break
            asked = prices if center is None else (prices + center) / 2
            known = float((values @ asked).min())
            self.planes.append(len(self.weights))
            every = np.zeros((1, 1 + self.promises))
            every[0, asked_for] = asked * unit
            new = float((self.ask(every)[0, asked_for] + room) / scale @ asked)
            if min(new, known) > bound:
                bound, highest = min(new, known), asked
            told = new < known - GAP
            if not told and center is None:
                break
            center = highest if told else None
        return mean, mixed, value

    def _look_between(self, ends: list[Array]) -> None:
        """Ask for rules on the way between weights (T,) that are far apart.

        Rules need not be as good as mixtures of them, as a forecast is not exact; then the program sees
        none of those between, and one of them is what is looked for.
        """
        tried = []
        for place, one in enumerate(ends[:MIXED]):
            for other in ends[place + 1 : MIXED]:
                both = np.stack([self._prices(one), self._prices(other)])
                if np.abs(both[0] - both[1]).max() <= 0.05 * np.abs(both).max():
                    continue
                low = np.log(np.maximum(both, 1e-3 * max(float(both.max()), 1e-9)))
                for step in STEPS:
                    even = (1 - step) * both[0] + step * both[1]
                    tried += [
                        even,
                        np.where(both.any(axis=0), np.exp((1 - step) * low[0] + step * low[1]), 0),
                    ]
        if tried:
            self.ask(np.column_stack([np.ones(len(tried)), tried]))

    def _look_around(self, weights: Array, finer: float = 1.0) -> None:
        """Ask for rules close to these weights (T,)."""
        promises = self._prices(weights)
        scales = 1.0 + (SCALES - 1.0) / finer
        tried = [scale * promises for scale in scales]
        for place in np.argsort(-promises)[:NUDGED]:
            if promises[place] > 0:
                for nudge in NUDGES:
                    moved = promises.copy()
                    moved[place] *= 1.0 + (nudge - 1.0) / finer
                    tried.append(moved)
        every = np.column_stack([np.ones(len(tried)), tried])
        threshold = weights[1 + self.promises :] / max(weights[0], 1e-9)
        self.ask(np.column_stack([every, np.tile(threshold, (len(every), 1))]))

    def _prices(self, weights: Array) -> Array:
        """The multipliers (m,) of weights (T,), for an objective that counts once."""
        return weights[1 : 1 + self.promises] / max(weights[0], 1e-9)

    def _look_at_thresholds(self, bases: list[Array], shares: Array = SHARES) -> None:
        """Ask for rules at these weights (T,) with thresholds at which such shares of rows get a no.

        By default up to one decision for everyone.
        """
        if len(self.scorer.terms) == 1 + self.promises:
            return
        for base in bases[:BASES]:
            own = np.append(base[:-1], 0.0)
            scores = self.scores(own[None])[0, 0]
            ends = np.quantile(scores, shares.clip(0, 1))
            beyond = 1e-6 * (1.0 + np.abs(ends).max())  # so that everyone lies on one side
            ends = ends + beyond * ((shares >= 1) - 1.0 * (shares <= 0))
            every = np.tile(own, (len(ends), 1))
            every[:, -1] = ends
            self.ask(every)

    def cheapest(self, margins: Array) -> Rule:
        """The cheapest rule so far that keeps `margins` (m,); where none does, the nearest.

        With a threshold only if that is clearly cheaper. Among many thresholds some are by chance.
        """
        costs = self.values[:, 0]
        worst = worst_violation(self.values[:, 1:] + margins, self.compiled.scale[1:])
        fine, bare = worst <= TOLERANCE, self.bare
        if not fine.any():
            return self.rule(int(np.argmin(worst)))
        any_place, own_place = (int(np.argmin(np.where(f, costs, np.inf))) for f in (fine, fine & bare))
        clearly = max(FAR * DEAR, CHANCE / np.sqrt(self.outside.shape[1])) * self.compiled.scale[0]
        near = fine[own_place] and bare[own_place] and costs[own_place] <= costs[any_place] + clearly
        return self.rule(own_place if near else any_place)

    # --- how it varies -----------------------------------------------------------------------------

    def few_rows(self, needed: float) -> dict[int, tuple[int, int]]:
        """Promises that no rule shows to be kept, for want of rows; their rows, and those it takes.

        Even if all rows of its smallest set were decided in its favour, and the others by the plain
        model, it would be kept by fewer than so many standard errors. Both numbers are of that set.
        """
        plain, few = self.rule(0), {}
        counts = self.moves.counts(self.decided(plain.weights))
        for place, violation in enumerate(plain.violations):
            change, error, rows = self.moves.at_best(counts, place)
            room = -(violation + change) / error
            if 0 < room < needed:  # none is not for want of rows
                few[place] = rows, math.ceil(rows * needed / room)
        return few

    def errors(self, rule: Rule) -> Array:
        """The standard errors (m,) of a rule's violations on as many new rows as these."""
        if not self.promises:
            return np.empty(0)
        variances = self.moves.of(self.decided(rule.weights), slice(0))[1]
        return np.sqrt(np.maximum(variances, 1e-24))

    # --- as a trace --------------------------------------------------------------------------------

    def trace(self, others: Iterable[int] = (), ended: str = "gap") -> Trace:
        """The rules that programs asked for, and `others`, as candidates with values out of fold.

        Their rounds are their places among all, from 1 on. Rules that were only looked at on the way to
        a single one are left out: there are thousands.
        """
        places = np.unique([0, *self.planes, *others])
        compiled, weights, values = self.compiled, self.weights[places], self.values[places]
        goal, pieces, objectives = None, None, values[:, 0]
        if self.by_goal is not None:
            goal = self.by_goal.goal
            assert goal is not None
            pieces = self.measured(places.tolist())[0]
            objectives = goal.value(pieces)
        count, folds = len(weights), self.scorer.forecast.folds
        own = np.column_stack([np.full((count, self.scorer.head), WHOLE), weights])
        each = np.repeat(own[:, None], folds, axis=1)
        each[:, :, 0] = np.arange(folds)
        return Trace(
            problem=compiled.problem,
            constraints=compiled.constraints,
            objectives=objectives,
            goal=goal,
            pieces=pieces,
            violations=values[:, 1:],
            watched={},
            multipliers=weights[:, : 1 + self.promises],
            parameters=own,
            thresholds={},
            setting=np.zeros(count, dtype=int),
            round=places + 1,
            scorer=self.scorer,
            averaging="all fits",
            answers=True,
            feature_scale=compiled.feature_scale,
            ended=ended,
            scale=compiled.scale[1:],
            seed=self.seed,
            data=compiled.digest,
            folds=FoldModels((self.split,), np.zeros(count, dtype=int), each),
            classes=TWO if compiled.decisions == 2 else compiled.classes,
        )


def rules_of(
    compiled: Compiled,
    forecast: Forecast,
    outside: Array,
    split: Split,
    seed: int,
    together: Array | None = None,
    known: KnownRows | None = None,
) -> Rules:
    """The rules of a forecast for a problem, whose cells or slices are its columns."""
    terms = terms_of(compiled, forecast)
    return Rules(compiled, _scorer(compiled, forecast, terms), outside, split, seed, together, known)


def _scorer(compiled: Compiled, forecast: Forecast, terms: Array) -> PlugInScorer:
    """The scorer of a problem whose objective and promises are `terms` (1+m, ...), and its threshold.

    A row is in one cell, so a cost in every cell is the same for every row. Slices overlap, and amounts
    differ; and where there are more than two decisions, one number is no threshold.
    """
    names = ("the objective", *compiled.labels)
    by_cells = all(
        (branch.part is None or branch.part.link == EVEN) and branch.amounts == (None,)
        for branch in forecast.branches
    )
    if compiled.decisions == 2 and by_cells:
        terms, names = np.vstack([terms, np.ones(terms.shape[1])]), (*names, THRESHOLD)
    return PlugInScorer(forecast, terms, names, compiled.decisions)


def rules_for(compiled: Compiled, known: Rules) -> Rules:
    """The rules of the same forecast for another problem on the same rows.

    Its cells must be the same or coarser: what a row costs then follows from its old cell.
    """
    known = known.learned
    forecast, own = known.scorer.forecast, known.compiled
    if forecast.width != own.cell_count:
        raise Finer("what was learned are sets of rows, of which there are too many to be told apart")
    cell = np.zeros(own.cell_count, dtype=int)
    cell[own.cells] = compiled.cells
    if not np.array_equal(cell[own.cells], compiled.cells):
        raise Finer("it tells rows apart that were not told apart before")
    others = compiled.decisions - 1
    terms = np.zeros((1 + len(compiled.constraints), others, len(own.at_zero), own.cell_count))
    for block in compiled.at_zero:
        place = _same_amounts(own, block)
        net = compiled.spread_each(block.net).reshape(len(terms), others, compiled.cell_count)
        terms[:, :, place] = net[:, :, cell]
    flat = terms.reshape(len(terms), -1) * float(len(compiled.cells))
    scorer = _scorer(compiled, forecast, flat)
    given = known.outside, known.split, known.seed, known.together, known.known
    rules = Rules(compiled, scorer, *given)
    rules.learned = known
    if known.planes and len(compiled.constraints) == known.promises:  # other bounds, most likely
        rules.ask(known.weights[known.planes[-STARTS:]])
    return rules


class Finer(ValueError):
    """A problem speaks of sets of rows that were not learned."""


def _same_amounts(compiled: Compiled, wanted: Any) -> int:
    for place, block in enumerate(compiled.at_zero):
        own, other = block.amounts, wanted.amounts
        if own is other or (own is not None and other is not None and np.array_equal(own, other)):
            return place
    raise Finer("it counts amounts that were not learned")
