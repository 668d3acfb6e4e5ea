"""The rules of a forecast: one for every λ, judged out of fold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.auditing.influence import RowMoves, correlation_of, row_moves
from ratebound._old.auditing.tallying import NOBODY, tallied
from ratebound._old.base.types import Array
from ratebound._old.estimators.known_rows import KnownRows
from ratebound._old.estimators.rule_search import AT_ONCE, STARTS, RuleSearch
from ratebound._old.game.trace import Split, Trace
from ratebound._old.learners.forecast import EVEN, Forecast, inputs_of, values_on
from ratebound._old.learners.plug_in import PlugInScorer, scored, terms_of
from ratebound._old.problem.compiled import Compiled
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import is_count

THRESHOLD = "the threshold"  # its name as a part of a score

LINES = 64  # kinds of rows up to which all rows say how rules vary together


def moves_on(compiled: Compiled, together: Array | None) -> RowMoves:
    """How rows move promises; rows with the same number in `together` (n,) were drawn together."""
    demands = compiled.problem.demands
    rates = [rate for demand in demands for rate in demand.expression.rates]
    alone = compiled.all_in_memory and not compiled.others and compiled.weights is None
    alone = alone and not any(map(is_count, rates))
    if not alone or any(block.amounts is not None for block in compiled.blocks):
        return row_moves(tallied(NOBODY, compiled.populations, rates), demands, together)
    # Rows of a cell are treated alike, so one of each is enough, and no column is read again.
    _, one, cells = np.unique(compiled.cells, return_index=True, return_inverse=True)
    tally = tallied(NOBODY, {FIRST: compiled.first.only(one)}, rates)
    # All rows together have the values that conditions name; these few may lack some, as of an "or".
    lines = {name: replace(own, partial=True) for name, own in tally.lines.items()}
    moves = row_moves(replace(tally, lines=lines), demands, together)
    return replace(moves, line=moves.line[cells])


@dataclass(eq=False)
class Rules(RuleSearch):
    """All rules of a forecast, for deciding rows."""

    scorer: PlugInScorer
    outside: Array  # (J, n) of the forecast, out of fold
    known: KnownRows | None  # the known groups, if columns may be used when deciding

    def __post_init__(self) -> None:
        self.by_goal: Compiled | None = None  # the problem whose goal these rules represent, if any
        self.learned: Rules = self  # the rules of the problem that the forecast was learned for
        super().__post_init__()

    @property
    def width(self) -> int:
        return len(self.scorer.terms)

    @property
    def head(self) -> int:
        return self.scorer.head

    def pieces(self, weights: Array, values: Array | None = None) -> Iterator[Array]:
        """Scores of rules, some rows at a time, also for other `values` (J, n) of the forecast."""
        values = self.outside if values is None else values
        costs, some = weights @ self.scorer.terms, max(AT_ONCE // len(weights), 1)
        for start in range(0, values.shape[1], some):
            yield scored(costs, values[:, start : start + some])

    def scores(self, weights: Array) -> Array:
        """Scores (K, A, n) out of fold of rules at weights (K, 1+m) or (K, T)."""
        return scored(self._padded(weights) @ self.scorer.terms, self.outside)

    def correlation(self, near: Sequence[Array]) -> Array | None:
        lines, decisions = self.moves.hits.shape[1:]
        if self.together is not None or lines > LINES or decisions > 2:
            return None
        return correlation_of(self.moves, [self.decided(weights) for weights in near])

    @cached_property
    def moves(self) -> RowMoves:
        """How rows move promises."""
        return moves_on(self.compiled, self.together)

    @cached_property
    def inside(self) -> Array:
        """The deployed forecast (J, n) of these rows, which includes models that saw them."""
        if self.learned is not self:
            return self.learned.inside
        forecast, group = self.scorer.forecast, None if self.known is None else self.known.of
        return values_on(forecast, inputs_of(self.compiled, tables=forecast.tables), group=group)

    def deployed(self, weights: Array) -> Array:
        """The values (1+m,) of a deployed rule at weights (T,) on these rows."""
        rows = self.pieces(weights[None], self.inside)
        objectives, violations, _ = (self.by_goal or self.compiled).measure(rows)
        return np.append(objectives, violations[0])

    def measured(self, places: Sequence[int]) -> tuple[Array, Array]:
        """The pieces (k, q) of a goal, and the violations (k, m), of these rules."""
        assert self.by_goal is not None
        parts = [self.by_goal.measure(self.pieces(self.weights[[place]]))[1:] for place in places]
        violations, pieces = zip(*parts, strict=True)
        return np.concatenate(pieces), np.concatenate(violations)

    def objectives(self, places: Sequence[int]) -> list[float]:
        """The objectives of these rules, by the goal if there is one."""
        if self.by_goal is None or self.by_goal.goal is None:
            return super().objectives(places)
        return [float(value) for value in self.by_goal.goal.value(self.measured(places)[0])]

    def few_rows(self, needed: float) -> dict[int, tuple[int, int]]:
        """Promises that no rule can show to be kept, for lack of rows; the rows present and needed.

        Even if all rows of its smallest set were decided in its favour, and the others by the plain
        model, its margin would be fewer than `needed` standard errors. Both numbers count rows of that
        set.
        """
        plain, few = self.rule(0), {}
        counts = self.moves.counts(self.decided(plain.weights))
        for place, violation in enumerate(plain.violations):
            change, error, rows = self.moves.at_best(counts, place)
            room = -(violation + change) / error
            if 0 < room < needed:  # without room, more rows would not help
                few[place] = rows, math.ceil(rows * needed / room)
        return few

    def trace(self, others: Iterable[int] = (), ended: str = "gap") -> Trace:
        trace = super().trace(others, ended)
        if self.by_goal is None:
            return trace
        goal, pieces = self.by_goal.goal, self.measured((trace.round - 1).tolist())[0]
        assert goal is not None
        return replace(trace, goal=goal, pieces=pieces, objectives=goal.value(pieces))


def rules_of(
    compiled: Compiled,
    forecast: Forecast,
    outside: Array,
    split: Split,
    seed: int,
    together: Array | None = None,
    known: KnownRows | None = None,
) -> Rules:
    """The rules of a forecast for a problem; its columns are the problem's cells or slices."""
    terms = terms_of(compiled, forecast)
    scorer = _scorer(compiled, forecast, terms)
    return Rules(compiled, scorer, split, forecast.folds, seed, together, outside, known)


def _scorer(compiled: Compiled, forecast: Forecast, terms: Array) -> PlugInScorer:
    """The scorer of a problem whose objective and promises are `terms` (1+m, ...), and its threshold.

    A row is in one cell, so a cost in every cell is the same for every row. Slices overlap, and amounts
    differ; with more than two decisions, one number is not a threshold.
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

    Its cells must be the same or coarser: a row's cost then follows from its old cell.
    """
    known = known.learned
    forecast, own = known.scorer.forecast, known.compiled
    if forecast.width != own.cell_count:
        raise Finer("sets of rows were learned, too many to be distinguished")
    cell = np.zeros(own.cell_count, dtype=int)
    cell[own.cells] = compiled.cells
    if not np.array_equal(cell[own.cells], compiled.cells):
        raise Finer("it distinguishes rows that were not distinguished before")
    others = compiled.decisions - 1
    terms = np.zeros((1 + len(compiled.constraints), others, len(own.at_zero), own.cell_count))
    for block in compiled.at_zero:
        place = _same_amounts(own, block)
        net = compiled.spread_each(block.net).reshape(len(terms), others, compiled.cell_count)
        terms[:, :, place] = net[:, :, cell]
    flat = terms.reshape(len(terms), -1) * float(len(compiled.cells))
    scorer = _scorer(compiled, forecast, flat)
    how = known.split, known.folds, known.seed, known.together
    rules = Rules(compiled, scorer, *how, known.outside, known.known)
    rules.learned = known
    if known.planes and len(compiled.constraints) == known.promises:  # other bounds, most likely
        rules.ask(known.weights[known.planes[-STARTS:]])
    return rules


class Finer(ValueError):
    """A problem names sets of rows that were not learned."""


def _same_amounts(compiled: Compiled, wanted: Any) -> int:
    for place, block in enumerate(compiled.at_zero):
        own, other = block.amounts, wanted.amounts
        if own is other or (own is not None and other is not None and np.array_equal(own, other)):
            return place
    raise Finer("it counts amounts that were not learned")
