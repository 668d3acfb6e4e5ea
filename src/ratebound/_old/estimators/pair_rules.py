"""The search with the plug-in for rankers: learn once which row is first, then choose one ranker over λ.

A row is the first one in a share of its pairs, its *standing*, and the second one in the others. So each
row counts as good by its standing and as bad by the rest, and P(good, cell | x) is learned as for a
classifier, out of fold. Every λ then gives a score (`learners/plug_in_of_pairs.py`), and its rates are
counted on pairs of rows of one fold, by models that saw neither row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratebound._old.auditing.pairwise import PairMoves, pair_moves
from ratebound._old.base.progress import TimeLimit
from ratebound._old.base.types import Array
from ratebound._old.estimators.confidence import Curve
from ratebound._old.estimators.plugging_in import priced
from ratebound._old.estimators.rule_search import NUDGED, Rule, RuleSearch
from ratebound._old.game.folding import Folded
from ratebound._old.game.of_pairs import OfPairsScorer
from ratebound._old.game.trace import Trace, split_of
from ratebound._old.learners.forecast import MOST_CELLS, Forecasting, values_on
from ratebound._old.learners.plug_in_of_pairs import OddsScorer, log_odds
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.frames import rows_of
from ratebound._old.problem.masks import masker
from ratebound._old.problem.pairs import Pairs, differences
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.named import error_rate, positive_rate
from ratebound._old.rates.subsets import Compare, In, Missing, Subset, leaves
from ratebound._old.solution.mixture import Mixture, mixture
from ratebound._old.solution.status import status_there

JUDGED = (
    "feasible: every constraint is kept on pairs of the training rows, judged by models that saw "
    "neither row"
)
# Scales of the multipliers, all together and one by one. A forecast is not exact, so beyond some
# multipliers no order changes, and the program only has rules on either side of the best one.
FACTORS = 2.0 ** -np.arange(1, 11), np.linspace(0.5, 1.5, 17), np.linspace(0.94, 1.06, 17)
LEAST = 1e-3  # the least worth of ranking a pair right, as a share of the largest


class NotLearned(ValueError):
    """A problem that cannot be learned from rows: it needs the game."""


@dataclass(frozen=True, eq=False)
class Worth:
    """The worth of ranking pairs right, by the cells of their rows, and its nearest product."""

    terms: Array  # (1+m, C) the objective's coefficient and each promise's, for C combinations of cells
    nearest: Array  # (J, C) from logarithms for these to logarithms for each cell
    first: Array  # (J,) which cells belong to first rows

    def logs(self, weights: Array) -> Array:
        """The logarithms (K, J) of u and v at multipliers (K, 1+m)."""
        worth = -weights @ self.terms
        most = np.abs(worth).max(axis=1, keepdims=True, initial=0.0)
        return (
            np.asarray(np.log(np.maximum(worth, LEAST * np.where(most > 0, most, 1.0)))) @ self.nearest.T
        )


@dataclass(eq=False)
class PairRules(RuleSearch):
    """All rules of a forecast, for ranking rows."""

    scorer: OfPairsScorer
    worth: Worth
    outside: Array  # (J, n) of the forecast, out of fold

    @property
    def width(self) -> int:
        return 1 + self.promises

    def parameters(self, weights: Array) -> Array:
        return self.worth.logs(weights)

    def pieces(self, weights: Array) -> Iterator[Array]:
        pairs = self.compiled.first
        assert isinstance(pairs, Pairs)
        scores = log_odds(self.worth.logs(weights), self.outside, self.worth.first)
        yield differences(scores, pairs.first, pairs.second)

    def best(self, margins: Array) -> Rule:
        super().best(margins)
        if self.promises:
            for factors in FACTORS:
                near = self._prices(self.cheapest(margins).weights)
                tried = [factors[:, None] * near]
                active = np.argsort(-near, kind="stable")[: min(np.count_nonzero(near), NUDGED)]
                for place in active if len(active) > 1 else []:
                    one = np.eye(len(near))[place]
                    tried.append(near * (1 + (factors[:, None] - 1) * one))
                every = np.concatenate(tried)
                self.ask(np.column_stack([np.ones(len(every)), every]))
        return self.cheapest(margins)

    @cached_property
    def moves(self) -> PairMoves:
        return pair_moves(self.compiled)

    @property
    def drawn(self) -> int:
        return self.moves.drawn

    def few_rows(self, needed: float) -> dict[int, tuple[int, int]]:
        return {}  # every promise is required, however few its rows are


def learned_of_pairs(
    compiled: Compiled,
    learner: Forecasting,
    fold: Array,
    seed: int,
    progress: bool | None,
    epochs: int | None,
) -> PairRules:
    """The rules for a problem on pairs within folds, from a forecast of their rows; `fold` is (n,)."""
    pairs, count = compiled.first, int(fold.max()) + 1
    assert isinstance(pairs, Pairs)
    if compiled.goal is not None:
        raise NotLearned(f"{compiled.problem.objective} is not a sum of rates: use method='game'")
    rows, conditions = _standing_rows(pairs, compiled.problem)
    of = fold[rows.place]
    learned = compile(
        Problem(error_rate(), [positive_rate(each) >= 0 for each in conditions]), rows.rows
    )
    sides = [len(np.unique(learned.cells[rows.good == good])) for good in (True, False)]
    if max(sides) > MOST_CELLS:
        raise NotLearned(
            f"the promises distinguish {max(sides):,} groups, but the plug-in learns at most "
            f"{MOST_CELLS}: use method='game'"
        )
    split = Folded(count, of, np.ones((count + 1, count)), (split_of(learned, of),))
    forecast, _ = learner.learn(learned, split, seed, progress, epochs)
    inputs = pairs.rows.X if forecast.tables else pairs.rows.features
    outside = values_on(forecast, inputs, fold)
    cells = np.full((2, len(fold)), -1)
    cells[rows.good.astype(int), rows.place] = learned.cells
    worth = _worth(compiled, cells[1][pairs.first], cells[0][pairs.second], forecast.size)
    scorer = OfPairsScorer(OddsScorer(forecast, worth.first))
    of_pairs = split_of(compiled, fold[pairs.first])
    return PairRules(compiled, scorer, of_pairs, count, seed, None, worth, outside)


@dataclass(frozen=True, eq=False)
class _StandingRows:
    rows: Population  # each row as good and as bad, weighted by its standing
    place: Array  # the place of each among all rows
    good: Array


def _standing_rows(pairs: Pairs, problem: Problem) -> tuple[_StandingRows, list[Subset]]:
    """Rows as good and as bad ones, weighted by standing, and the conditions that promises use."""
    standing, own = pairs.standing, pairs.rows.row_weights
    weights = np.stack([own * (1 - standing), own * standing])
    good, place = np.nonzero(np.nan_to_num(weights) > 0)
    everyone = pairs.rows
    rows = Population(
        rows_of(everyone.X, place),
        good.astype(bool),
        columns={name: rows_of(values, place) for name, values in everyone.columns.items()},
        weights=None if (weights[good, place] == 1).all() else weights[good, place],
        classes=(False, True),
    )
    inside, conditions = masker(rows, absent=True), dict[Subset, None]()
    for rate in problem.rates:
        for leaf in leaves(rate.subset):
            if isinstance(leaf, Compare | In | Missing):
                own_leaf = replace(leaf, column=pairs.own_name(leaf.column))
                if inside(own_leaf).any():
                    conditions[own_leaf] = None
    return _StandingRows(rows, place, good.astype(bool)), list(conditions)


def _worth(compiled: Compiled, first: Array, second: Array, size: int) -> Worth:
    """The worth of pairs whose first rows are in cells `first` (P,) and second rows in `second` (P,)."""
    both, one = np.unique(first * size + second, return_index=True)
    terms = compiled.matrix[:, compiled.cells[one]]
    spoken_of = terms.any(axis=0)
    both, terms = both[spoken_of], terms[:, spoken_of]
    design = np.zeros((len(both), size))
    design[np.arange(len(both)), both // size] = 1.0
    design[np.arange(len(both)), both % size] = 1.0
    of_first = np.zeros(size, dtype=bool)
    of_first[np.unique(first)] = True
    return Worth(terms, np.linalg.pinv(design), of_first)


def chosen_order(rules: PairRules, confidence: float | None, clock: TimeLimit) -> tuple[Mixture, Trace]:
    """The rule that keeps the promises on new rows with this confidence, and the candidates."""
    compiled, curve = rules.compiled, Curve(rules, rules.seed, clock, confidence)
    if confidence is None or not rules.promises:
        point = curve.add(np.zeros(rules.promises))
    else:
        all_right, all_wrong = compiled.evaluate(
            np.array([[1.0], [-1.0]]) * np.ones(len(compiled.cells))
        )[0]
        by_chance = float(all_right + all_wrong) / 2
        point = curve.chosen(confidence, max(by_chance - curve.points[0].rule.objective, 0.0))
    trace = rules.trace((each.rule.place for each in curve.points), "time" if curve.cut_short else "gap")
    own = mixture(trace, (trace.round == point.rule.place + 1).astype(float))
    status = status_there(compiled.constraints, point.rule.violations, compiled.scale[1:], JUDGED)
    if confidence is not None and rules.promises:
        reached = round(curve.confidence(point), 2)
        words = priced(curve, point, reached, status.feasible, "all hold")
        status = replace(
            status, confidence=reached, message=f"{status.message.removesuffix('.')}. {words}"
        )
    return own.recorded(status=status), trace
