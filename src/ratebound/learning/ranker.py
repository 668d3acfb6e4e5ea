"""A ranker meets constraints on pairs, such as how often certain pairs are ranked right.

A pair is a row whose decision is yes if its first row, which should be higher, is scored higher. So
the language, the search and the confidence are those of decisions; only this module knows of pairs.
They are pairs of rows of one fold, judged by models that saw neither.

A row stands first in a share of its pairs, its *standing*, and P(first, group | x) is learned as
P(label, cell | x) is. Ranking a pair right is worth W[c, d] = -(λ · terms)[c, d] if its rows are in
cells c and d. If W were a product u[c] · v[d], rows would best be ordered by
log Σ u[c] P(c | x) - log Σ v[d] P(d | x), so the nearest product is taken. Without constraints that
is the log odds of standing first.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import column_or_1d

from ratebound.learning.confidence import MarginSearch
from ratebound.learning.features import fit_encoding, take_rows
from ratebound.learning.forecast import MOST_CELLS, Forecast, learn_forecast
from ratebound.learning.given import as_problem, check_order, check_rows, read_population
from ratebound.learning.influence import measure_influence
from ratebound.learning.models import make_label_model
from ratebound.learning.rules import Rule, Rules
from ratebound.learning.solve import find_best_rule
from ratebound.learning.status import make_status, warn_if_violated
from ratebound.problem.compile import compile
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import Compare, Condition, In, Missing, leaves
from ratebound.rates.definitions import rate
from ratebound.rates.table import KINDS

rate(
    "ranked_right",
    "d",
    meaning="Share of pairs whose first row is scored above the second.",
    better="more",
)
ENDS = ("first", "second")
FOLDS = 3  # as only rows of one fold make pairs
MANY_QUERIES = 20  # from so many on, queries are what was drawn, and not rows
LEAST_WORTH = 1e-3  # of ranking a pair right, as a share of the largest
LEAST_CHANCE = 1e-9  # that has a logarithm
MOST_MOVED = 8  # multipliers, one by one
FACTORS = (
    2.0 ** -np.arange(1, 9),
    np.linspace(0.5, 1.5, 17),
    np.linspace(0.94, 1.06, 13),
)


@dataclass(frozen=True, eq=False)
class Order:
    """What scores rows: a forecast, and how much standing first or second counts in each cell."""

    forecast: Forecast
    logs: Any  # (J,) logarithms of u and v
    is_first: Any  # (J,) which columns are of first rows

    def __call__(self, X: Any) -> Any:
        of_cells = self.forecast(X)[-self.forecast.width :]
        return score_rows(self.logs[None], of_cells, self.is_first)[0]


def score_rows(logs: Any, forecast: Any, is_first: Any) -> Any:
    """Return scores (K, n) at logarithms (K, J) of u and v, of rows with this forecast (J, n)."""
    weights = np.exp(logs)
    first = weights[:, is_first] @ forecast[is_first]
    second = weights[:, ~is_first] @ forecast[~is_first]
    log_first = np.log(np.maximum(first, LEAST_CHANCE))
    log_second = np.log(np.maximum(second, LEAST_CHANCE))
    return log_first - log_second


@dataclass(eq=False, kw_only=True)
class PairRules(Rules):
    """Rules that order rows, judged on pairs. The forecast is of rows."""

    first: Any  # (P,) the row of each pair that should be higher
    second: Any  # (P,)
    worth: Any  # (p + m, C) what combinations of cells are worth
    nearest: Any  # (J, C) from logarithms of worths to those of u and v
    is_first: Any  # (J,)
    terms: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.terms = np.zeros((len(self.worth), 1, 1))
        super().__post_init__()

    @property
    def plain_weights(self) -> Any:
        slope = self.compiled.objective.slope(self.compiled.offset[: self.piece_count])
        return np.concatenate([slope, np.zeros(self.constraint_count)])

    def compute_logs(self, weights: Any) -> Any:
        """Return the logarithms (K, J) of u and v at weights (K, T)."""
        worth = -weights @ self.worth
        largest = np.abs(worth).max(axis=1, keepdims=True)
        least = LEAST_WORTH * np.where(largest > 0, largest, 1)
        return np.log(np.maximum(worth, least)) @ self.nearest.T

    def decide(self, weights: Any) -> Any:
        scores = score_rows(self.compute_logs(weights), self.forecast, self.is_first)
        is_right = scores[:, self.first] > scores[:, self.second]
        return is_right.astype(np.int64)

    def list_constant_rules(self) -> list[Rule]:
        """Return ranking by chance, which is halfway between all right and all wrong."""
        right, wrong = super().list_constant_rules()
        halfway = (right.objective + wrong.objective) / 2
        return [replace(right, objective=halfway)]

    def find_best(self, margins: Any) -> Rule:
        """Return the best rule; scales are tried, as beyond some multipliers no order changes."""
        find_best_rule(self, margins)
        if self.constraint_count:
            for factors in FACTORS:
                self._try_factors(self.find_cheapest(margins).weights, factors)
        return self.find_cheapest(margins)

    def _try_factors(self, weights: Any, factors: Any) -> None:
        """Compute rules whose multipliers are scaled, together and one by one."""
        copies = np.tile(weights, (len(factors), 1))
        scaled = copies.copy()
        scaled[:, self.piece_count :] *= factors[:, None]
        tried = [scaled]
        used = np.flatnonzero(weights[self.piece_count :])
        for index in self.piece_count + used[:MOST_MOVED]:
            scaled = copies.copy()
            scaled[:, index] *= factors
            tried.append(scaled)
        self.evaluate(np.concatenate(tried))


class RateConstrainedRanker(BaseEstimator):
    """Scores rows so that pairs of them are in the right order and meet constraints on such pairs.

    Constraints name the columns of either row, as in
    ``ranked_right(first.group == "b", second.group == "a") >= 0.9``.
    """

    def __init__(
        self,
        constraints: Any = (),
        *,
        objective: Any = "1 - ranked_right()",
        model: Any = "linear",
        confidence: float | None = 0.9,
        pairs: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.objective = objective
        self.model = model
        self.confidence = confidence
        self.pairs = pairs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        query: Any = None,
    ) -> Any:
        """Learn from rows `X`, of which the larger `y` should be higher.

        With `query` (n,), rows are compared only within a query.
        """
        check_order(X, y, columns)
        X = check_rows(self, X, reset=True)
        y = column_or_1d(y).astype(float)
        check_consistent_length(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        population = read_population(X, None, columns, weights=sample_weight)
        if query is not None:
            query = np.unique(query, return_inverse=True)[1]

        fold = _deal_folds(y, population.columns, query, seed)
        block = fold if query is None else query * FOLDS + fold
        first, second = draw_pairs(block, y, self.pairs, seed)
        problem = as_problem(self.objective, self.constraints)
        compiled = compile(problem, _join_pairs(population, first, second))

        label_model = make_label_model(self.model, X.shape[0])
        self.encoding_ = fit_encoding(X, None, label_model, isinstance(self.model, str))
        rows = _weigh_standing(population, measure_standing(y, query))
        conditions = _list_conditions(compiled, population)
        of_rows = _compile_rows(conditions, rows.population)
        self._learn(compiled, of_rows, rows, self.encoding_(X), fold, (first, second), seed)
        drawn = query[first] if _has_many(query) else (first, second)
        self._choose_rule(drawn, seed)
        warn_if_violated(self.status_)
        return self

    def _learn(
        self,
        compiled: Compiled,
        of_rows: Compiled,
        rows: Standing,
        X: Any,
        fold: Any,
        pairs: tuple[Any, Any],
        seed: int,
    ) -> None:
        """Learn each row as one that stands first and as one that stands second."""
        first, second = pairs
        cells = np.full((2, len(fold)), -1)
        cells[rows.stands_first, rows.row] = of_rows.cell
        for side in cells:
            if len(np.unique(side[side >= 0])) > MOST_CELLS:
                raise ValueError(
                    f"the constraints tell more than {MOST_CELLS} groups apart: name fewer"
                )
        features = take_rows(X, rows.row)
        forecast = learn_forecast(
            of_rows, features, fold[rows.row], self.model, rows.stands_first, seed=seed
        )
        nobody = np.empty(0, int)
        out_of_fold = forecast.predict_out_of_fold(X, fold, None, nobody)[-forecast.width :]

        combinations = cells[1][first] * forecast.width + cells[0][second]
        combination, example = np.unique(combinations, return_index=True)
        first_cell, second_cell = np.divmod(combination, forecast.width)
        worth = sum(compiled.per_cell(block.coefficients)[:, 0] for block in compiled.blocks)
        design = np.zeros((len(combination), forecast.width))
        index = np.arange(len(combination))
        design[index, first_cell] = 1
        design[index, second_cell] = 1
        is_first = np.isin(np.arange(forecast.width), first_cell)
        self.order_ = Order(forecast, np.zeros(forecast.width), is_first)
        self.rules_ = PairRules(
            compiled=compiled,
            forecast=out_of_fold,
            first=first,
            second=second,
            worth=worth[:, compiled.cell[example]],
            nearest=np.linalg.pinv(design),
            is_first=is_first,
        )

    def _choose_rule(self, drawn: Any, seed: int) -> None:
        rules = self.rules_
        influence = None
        claim = None
        if rules.constraint_count:
            influence = measure_influence(rules.compiled, drawn)
        if influence is None or self.confidence is None:
            rule = rules.find_best(np.zeros(rules.constraint_count))
        else:
            search = MarginSearch(rules, rules.find_best, influence, self.confidence, seed)
            best, claim = search.choose()
            rule = best.rule
        logs = rules.compute_logs(rule.weights[None])[0]
        self.model_ = replace(self.order_, logs=logs)
        self.status_ = make_status(rules, rule, claim, influence)

    def decision_function(self, X: Any) -> Any:
        """Return the score of each row (n,): the higher, the higher it should be."""
        X = check_rows(self, X)
        return self.model_(self.encoding_(X))


# --- rows and pairs -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Standing:
    """Rows once as they stand first, and once as they stand second, where they do."""

    population: Population  # the label is 1 for first
    row: Any  # (k,)
    stands_first: Any  # (k,) 0 or 1


def _weigh_standing(population: Population, share: Any) -> Standing:
    """Weigh each row by the share (n,) of its pairs in which it stands first, and by the rest."""
    weights = np.stack([1 - share, share]) * population.row_weights
    has_weight = np.nan_to_num(weights) > 0
    stands_first, row = np.nonzero(has_weight)
    doubled = replace(
        population.select(row),
        y=stands_first,
        weights=weights[stands_first, row],
        classes=(0, 1),
    )
    return Standing(doubled, row, stands_first)


def _join_pairs(population: Population, first: Any, second: Any) -> Population:
    """Return pairs as rows, with the columns of either end."""
    columns = {}
    for end, rows in zip(ENDS, (first, second), strict=True):
        for name, values in population.columns.items():
            columns[f"{end}.{name}"] = values[rows]
    weights = population.weights
    if weights is not None:
        weights = weights[first] * weights[second]
    return Population(first, None, columns, weights)


def _compile_rows(conditions: list[Condition], population: Population) -> Compiled:
    """Compile a problem on single rows that tells these conditions apart."""
    bounds = [KINDS["positive_rate"](condition) >= 0 for condition in conditions]
    return compile(Problem("error_rate()", bounds), population)


def measure_standing(y: Any, query: Any) -> Any:
    """Return the share (n,) of its pairs in which each row stands first; NaN without pairs."""
    groups = np.zeros(len(y), dtype=int) if query is None else query
    below = _count_below(groups, y)
    above = _count_below(groups, -y)
    with np.errstate(invalid="ignore"):
        return below / (below + above)


def draw_pairs(
    block: Any,
    y: Any,
    count: int,
    seed: int,
) -> tuple[Any, Any]:
    """Return `count` pairs (P,) of rows of one block, or all; the first has the larger `y`."""
    order, start, below = _order_rows(block, y)
    ends = np.cumsum(below)
    pairs = ends[-1]
    if not pairs:
        raise ValueError(
            "no two rows with different y are in one query and fold, so there are no pairs: "
            "give more rows"
        )
    drawn = np.arange(pairs)
    if pairs > count:
        random = np.random.default_rng(seed)
        drawn = np.sort(random.choice(pairs, count, replace=False))
    first = np.searchsorted(ends, drawn, side="right")
    number = drawn - (ends[first] - below[first])  # among the pairs of the first row
    return order[first], order[start[first] + number]


def _order_rows(block: Any, y: Any) -> tuple[Any, Any, Any]:
    """Order rows by block and y; return the order, where blocks start, and how many are below."""
    order = np.lexsort((y, block))
    blocks = block[order]
    start = np.searchsorted(blocks, blocks)
    is_other_block = np.diff(blocks) != 0
    is_other_y = np.diff(y[order]) != 0
    index = np.arange(len(y))
    is_new = np.r_[True, is_other_block | is_other_y]
    first_equal = np.maximum.accumulate(np.where(is_new, index, 0))
    return order, start, first_equal - start


def _count_below(block: Any, y: Any) -> Any:
    """Return how many rows of its block each row (n,) is above."""
    order, _, below = _order_rows(block, y)
    counts = np.empty(len(y))
    counts[order] = below
    return counts


def _has_many(query: Any) -> bool:
    return query is not None and query.max() + 1 >= MANY_QUERIES


def _deal_folds(
    y: Any,
    columns: dict[Any, Any],
    query: Any,
    seed: int,
) -> Any:
    """Return the fold (n,) of rows: of whole queries if many, else with equal shares of groups."""
    random = np.random.default_rng(seed)
    if _has_many(query):
        of_query = random.permutation(query.max() + 1) % FOLDS
        return of_query[query]
    codes = [y > np.median(y)]
    for values in columns.values():
        distinct, code = np.unique(values.astype(str), return_inverse=True)
        if len(distinct) <= 2 * FOLDS:
            codes.append(code)
    _, kinds = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    kinds = kinds.ravel()
    by_kind = np.lexsort((random.random(len(y)), kinds))
    fold = np.empty(len(y), dtype=np.intp)
    fold[by_kind] = np.arange(len(y)) % FOLDS
    return fold


def _list_conditions(compiled: Compiled, population: Population) -> list[Condition]:
    """Return the conditions on single rows that constraints name, and that some rows meet."""
    sums = [*compiled.objective.pieces, *(row.sum for row in compiled.rows)]
    rates = {rate for one_sum in sums for rate in one_sum.rates}
    conditions = set()
    for rate_of_pairs in rates:
        for leaf in leaves(rate_of_pairs.condition):
            if not isinstance(leaf, Compare | In | Missing):
                continue
            end, _, name = str(leaf.column).partition(".")
            if end in ENDS:
                conditions.add(replace(leaf, column=name))
    rows = replace(population, allow_absent=True)
    ordered = sorted(conditions, key=str)
    return [condition for condition in ordered if rows.mask(condition).any()]
