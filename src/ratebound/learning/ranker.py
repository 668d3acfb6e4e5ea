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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import column_or_1d

from ratebound.learning.features import fit_encoding, take_rows
from ratebound.learning.folds import deal_folds, digest_rows, find_units
from ratebound.learning.forecast import MOST_CELLS, Forecast, learn_forecast
from ratebound.learning.given import as_problem, check_order, check_rows, read_population
from ratebound.learning.learning import Learned
from ratebound.learning.models import make_label_model
from ratebound.learning.options import NAMES, check_options, number
from ratebound.learning.rules import Rule, Rules
from ratebound.learning.status import make_status, warn_of_status
from ratebound.problem.columns import as_array, encode_values
from ratebound.problem.compile import compile, compile_pieces
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import leaves
from ratebound.rates.sums import Part, Rate, Sum
from ratebound.rates.table import KINDS, Kind

PAIRS = "pairs"  # the population that rates of pairs are about
ENDS = ("first", "second")
MANY_QUERIES = 20  # from so many on, queries are what was drawn, and not rows
LEAST_WORTH = 1e-3  # of ranking a pair right, as a share of the largest
LEAST_CHANCE = 1e-9  # that has a logarithm
CHECKS = {"confidence": number(above=0, below=1), "features": NAMES, "pairs": number(above=0)}
OF_PAIRS = "Rates are of pairs, each judged by models that saw neither row."


# --- the rate of pairs ----------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class PairRate(Rate):
    """A rate of pairs. They are a population of their own, so no rule for rows takes it."""

    @property
    def population(self) -> str:
        return PAIRS


@dataclass(frozen=True)
class PairKind(Kind):
    """The name of a rate of pairs."""

    def __call__(self, *conditions: Any, **columns: Any) -> Sum:
        return super().__call__(*conditions, **columns).map(_as_pair_rate)


def _as_pair_rate(rate: Rate) -> Rate:
    return PairRate(**vars(rate))


ranked_right = PairKind(
    name="ranked_right",
    meaning="Share of pairs whose first row, which should be higher, is scored above the second.",
    better="more",
    parts=lambda _: ((Part("d"),), (Part("1"),)),
    takes=(),
)
KINDS[ranked_right.name] = ranked_right  # so that text knows it


# --- the ranker -----------------------------------------------------------------------------------


class RateConstrainedRanker(BaseEstimator):
    """Scores rows so that pairs of them are in the right order, and meets constraints on pairs.

    Constraints are about `ranked_right`, the share of pairs in the right order. They name the
    columns of either row, as in ``ranked_right(first.group == "b", second.group == "a") >= 0.9``.

    Parameters
    ----------
    constraints : texts, or built of `ranked_right`
        By default none.
    objective : sum of rates or text, default="1 - ranked_right()"
        What to minimise. With two labels the default is 1 minus the area under the ROC curve.
    model : text or classifier, default="linear"
        As of `RateConstrainedClassifier`.
    confidence : float, default=0.9
        That all constraints hold on new rows; None asks only for these rows.
    features : list of columns, default=None
        The columns of a table that the model sees. By default all.
    pairs : int, default=100_000
        How many pairs to judge rules on; all if there are fewer.
    random_state : int, default=None
        The seed of everything random.

    Attributes
    ----------
    status_ : Status
        Whether constraints are met on pairs that were judged by models that saw neither row.

    Examples
    --------
    >>> import numpy as np
    >>> from ratebound.learning.ranker import RateConstrainedRanker
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(600, 3))
    >>> group = np.where(X[:, 1] > 0, "a", "b")
    >>> y = X[:, 0] + X[:, 1] + random.normal(size=600)
    >>> constraint = 'ranked_right(first.group == "b", second.group == "a") >= 0.6'
    >>> ranker = RateConstrainedRanker(constraint, random_state=0).fit(X, y, {"group": group})
    >>> ranker.status_.feasible, ranker.decision_function(X).shape
    (True, (600,))
    """

    __metadata_request__fit = {"columns": True}  # noqa: RUF012  # scikit-learn's own convention

    def __init__(
        self,
        constraints: Any = (),
        *,
        objective: Any = "1 - ranked_right()",
        model: Any = "linear",
        confidence: float | None = 0.9,
        features: Sequence[Any] | None = None,
        pairs: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.objective = objective
        self.model = model
        self.confidence = confidence
        self.features = features
        self.pairs = pairs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        sample_weight: Any = None,
        *,
        query: Any = None,
        clusters: Any = None,
    ) -> Any:
        """Learn from rows `X`, of which those with a larger `y` should be higher.

        Parameters
        ----------
        X : table, array or sparse matrix (n, ...)
            The rows.
        y : array of shape (n,)
            Numbers or truth values.
        columns : table or mapping, default=None
            What constraints name and the model does not see.
        sample_weight : array of shape (n,), default=None
            How many rows each row stands for.
        query : array of shape (n,), default=None
            Rows are compared only within a query.
        clusters : array of shape (n,), default=None
            The same for rows that were drawn together. By default queries, if there are many.

        Returns
        -------
        RateConstrainedRanker
            Itself, fitted.
        """
        check_options(self, CHECKS)
        check_order(X, y, columns)
        X = check_rows(self, X, reset=True)
        rows = _read_rows(X, y, columns, sample_weight, query)
        label_model = make_label_model(self.model, len(rows.y), hasattr(X, "tocsr"))
        self.encoding_ = fit_encoding(X, self.features, label_model, isinstance(self.model, str))
        learned = learn_order(
            as_problem(self.objective, self.constraints),
            rows,
            self.encoding_(X),
            self.model,
            clusters=clusters,
            pairs=self.pairs,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        rule, claim, _ = learned.choose_rule(self.confidence)
        rules: Any = learned.rules
        logs = rules.compute_logs(rule.weights[None])[0]
        self.model_ = Order(learned.forecast, logs, rules.is_first)
        status = make_status(rules, rule, claim, learned.influence)
        self.status_ = replace(status, remarks=(OF_PAIRS,))
        warn_of_status(self.status_)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the score of each row: the higher, the higher it should be.

        Parameters
        ----------
        X : table, array or sparse matrix (n, ...)
            The rows. The score of a row does not depend on the others.

        Returns
        -------
        array of shape (n,)
            The scores.
        """
        X = check_rows(self, X)
        return self.model_(self.encoding_(X))

    def predict(self, X: Any, exactly: int | None = None) -> Any:
        """Return which rows come first, or without `exactly` the scores, as other rankers do.

        Parameters
        ----------
        X : table, array or sparse matrix (n, ...)
            The rows.
        exactly : int, default=None
            How many rows come first. Rows with equal scores are ordered by their features, so the
            order of rows does not matter.

        Returns
        -------
        array of shape (n,)
            Whether each row is among the `exactly` highest; without it, the scores.
        """
        X = check_rows(self, X)
        features = self.encoding_(X)
        scores = self.model_(features)
        if exactly is None:
            return scores
        if not 0 <= exactly <= len(scores):
            raise ValueError(f"exactly= is at most the {len(scores):,} rows given, got {exactly}")
        highest_first = np.lexsort((digest_rows(features), -scores))
        is_chosen = np.zeros(len(scores), dtype=bool)
        is_chosen[highest_first[:exactly]] = True
        return is_chosen

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        query: Any = None,
    ) -> float:
        """Return the share of pairs of these rows that are in the right order.

        Parameters
        ----------
        X : table, array or sparse matrix (n, ...)
            The rows.
        y : array of shape (n,)
            The larger, the higher a row should be.
        sample_weight, query : array of shape (n,), default=None
            As in `fit`.

        Returns
        -------
        float
            With two labels and no ties the area under the ROC curve; a tie is not right.
        """
        scores = self.decision_function(X)
        rows = _read_rows(X, y, None, sample_weight, query)
        first, second = draw_pairs(rows.query, rows.y, self.pairs, seed=0)
        weights = rows.population.row_weights
        is_right = scores[first] > scores[second]
        return float(np.average(is_right, weights=weights[first] * weights[second]))


# --- learning -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows, the order that they should have, and the query (n,) that each answers."""

    population: Population
    y: Any  # (n,)
    query: Any  # (n,)


def learn_order(
    problem: Problem,
    rows: RankedRows,
    features: Any,
    model: Any,
    *,
    clusters: Any,
    pairs: int,
    seed: int,
) -> Learned:
    """Learn each row as one that stands first and as one that stands second, and rules for both."""
    conditions = _read_conditions(problem, rows.population)
    row, standing = _weigh_standing(rows)
    bounds = [KINDS["predicted_positives"](condition) >= 0 for condition in conditions]
    of_rows = compile(Problem("error_rate()", bounds), standing)  # tells conditions apart
    cells = _find_cells(of_rows, row, standing.y, len(rows.y))

    if clusters is None and rows.query.max() + 1 >= MANY_QUERIES:
        clusters = rows.query
    kinds = 2 * cells.max(axis=0) + (rows.y > np.median(rows.y))
    unit = find_units(features, digest_rows(features), kinds, clusters)
    fold = deal_folds(unit, kinds, seed)
    block = rows.query * (fold.max() + 1) + fold
    first, second = draw_pairs(block, rows.y, pairs, seed)
    compiled = _compile_pairs(problem, rows.population, conditions, (first, second))

    of_standing = take_rows(features, row)
    forecast = learn_forecast(of_rows, of_standing, fold[row], model, standing.y, seed=seed)
    nobody = np.empty(0, int)
    out_of_fold = forecast.predict_out_of_fold(features, fold, None, nobody)
    rules = _make_rules(compiled, out_of_fold[-forecast.width :], cells, (first, second))
    drawn = (unit[first], unit[second])
    if np.array_equal(*drawn):
        drawn = drawn[0]
    return Learned(rules, forecast, drawn, seed)


def _make_rules(
    compiled: Compiled,
    forecast: Any,
    cells: Any,
    pairs: tuple[Any, Any],
) -> PairRules:
    """Return rules judged on pairs; `cells` (2, n) are of rows as second and as first."""
    first, second = pairs
    width = len(forecast)
    combinations = cells[1][first] * width + cells[0][second]
    combination, example = np.unique(combinations, return_index=True)
    first_cell, second_cell = np.divmod(combination, width)
    cell = np.eye(width)
    design = cell[first_cell] + cell[second_cell]
    (block,) = compiled.blocks
    worth = compiled.per_cell(block.coefficients)[:, 0]
    return PairRules(
        compiled=compiled,
        forecast=forecast,
        first=first,
        second=second,
        worth=worth[:, compiled.cell[example]],
        nearest=np.linalg.pinv(design),
        is_first=np.isin(np.arange(width), first_cell),
    )


# --- rules ----------------------------------------------------------------------------------------


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

    by_row = False
    first: Any  # (P,) the row of each pair that should be higher
    second: Any  # (P,)
    worth: Any  # (p + m, C) what combinations of cells are worth
    nearest: Any  # (J, C) from logarithms of worths to those of u and v
    is_first: Any  # (J,)
    terms: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.terms = np.zeros((len(self.worth), 1, 1))  # a weight for each, and no biases
        super().__post_init__()

    @property
    def plain_weights(self) -> Any:
        slope = self.compiled.objective.slope(self.compiled.offset[: self.piece_count])
        return self.join_weights(slope, np.zeros(self.constraint_count))

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


# --- constraints on pairs -------------------------------------------------------------------------


def _read_conditions(problem: Problem, population: Population) -> list[Any]:
    """Return the conditions on single rows that a problem on pairs names."""
    conditions = set()
    for statement in (problem.objective, *problem.constraints):
        for rate in statement.rates:
            if rate.population != PAIRS:
                raise ValueError(
                    f"{statement}: {rate.name} counts rows, and a ranker orders pairs of them; "
                    'write a constraint such as ranked_right(first.group == "b") >= 0.9'
                )
            for leaf in leaves(rate.condition):
                condition = _take_end(statement, leaf)
                population.encode(condition.column)  # an unknown column is an error that names it
                conditions.add(condition)
    return sorted(conditions, key=str)


def _take_end(statement: Any, condition: Any) -> Any:
    """Return a condition on either row of a pair as one on rows."""
    name = condition.column
    end, _, column = str(name).partition(".")
    if end not in ENDS:
        raise ValueError(
            f"{statement}: a pair has two rows, so write first.{name} or second.{name}"
        )
    return replace(condition, column=column)


def _compile_pairs(
    problem: Problem,
    population: Population,
    conditions: Sequence[Any],
    pairs: tuple[Any, Any],
) -> Compiled:
    """Compile a problem on pairs, with the columns that conditions name of either row."""
    columns = {}
    for name in {condition.column for condition in conditions}:
        for end, row in zip(ENDS, pairs, strict=True):
            columns[f"{end}.{name}"] = population.columns[name][row]
    weights = population.weights
    if weights is not None:
        weights = weights[pairs[0]] * weights[pairs[1]]
    as_rows = Population(pairs[0], None, columns, weights)  # features only say how many
    return compile_pieces(problem, {PAIRS: [as_rows]})


# --- rows and pairs -------------------------------------------------------------------------------


def _weigh_standing(rows: RankedRows) -> tuple[Any, Population]:
    """Return rows (k,) once as first and once as second rows of pairs, if they stand so.

    They are weighed by the share of their pairs in which they stand so. The label of first is 1.
    """
    share = measure_standing(rows.y, rows.query)
    weights = np.stack([1 - share, share]) * rows.population.row_weights
    has_weight = np.nan_to_num(weights) > 0
    stands_first, row = np.nonzero(has_weight)
    standing = replace(
        rows.population.select(row),
        y=stands_first,
        weights=weights[stands_first, row],
        classes=(0, 1),
    )
    return row, standing


def _find_cells(
    of_rows: Compiled,
    row: Any,
    stands_first: Any,
    count: int,
) -> Any:
    """Return the cells (2, n) of rows as second and as first, -1 where they never are."""
    cells = np.full((2, count), -1)
    cells[stands_first, row] = of_rows.cell
    for of_end in cells:
        if len(np.unique(of_end[of_end >= 0])) > MOST_CELLS:
            raise ValueError(
                f"the constraints tell more than {MOST_CELLS} groups apart: name fewer"
            )
    return cells


def _read_rows(
    X: Any,
    y: Any,
    columns: Any,
    weights: Any,
    query: Any,
) -> RankedRows:
    y = np.asarray(column_or_1d(as_array(y), warn=True).tolist())
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"Unknown label type: y holds {y[0]!r}, whose order is not known: give numbers, the "
            "larger for rows that should be higher"
        )
    if not np.isfinite(y).all():
        raise ValueError(
            "Input y contains NaN or infinity, and such a row makes no pair: leave it out"
        )
    check_consistent_length(X, y, weights, query)
    codes = np.zeros(len(y), dtype=int)
    if query is not None:
        codes = encode_values(query).codes
    if (codes < 0).any():
        raise ValueError("query= has missing values: give the query of each row")
    is_high = y > y.min()  # any label: what is learned is the standing
    return RankedRows(read_population(X, is_high, columns, weights=weights), y, codes)


def measure_standing(y: Any, query: Any) -> Any:
    """Return the share (n,) of its pairs in which each row stands first; NaN without pairs."""
    sorted_rows = _sort_rows(y, query)
    below = _count_below(sorted_rows)
    above = sorted_rows.end - sorted_rows.higher
    with np.errstate(invalid="ignore"):
        return below / (below + above)


def draw_pairs(
    block: Any,
    y: Any,
    count: int,
    seed: int,
) -> tuple[Any, Any]:
    """Return `count` pairs (P,) of rows of one block, or all; the first has the larger `y`."""
    sorted_rows = _sort_rows(y, block)
    below = _count_below(sorted_rows)
    ends = np.cumsum(below)
    pairs = ends[-1]
    if pairs <= count:
        drawn = np.arange(pairs)
    else:  # of so many that they are not all listed
        random = np.random.default_rng(seed)
        drawn = np.sort(random.choice(pairs, count, replace=False))
    first = np.searchsorted(ends, drawn, side="right")
    number = drawn - (ends[first] - below[first])  # among the pairs of the first row
    return first, sorted_rows.order[sorted_rows.start[first] + number]


class SortedRows(NamedTuple):
    """Rows by block and y, and where in this order some rows start, for each row (n,)."""

    order: Any  # (n,)
    start: Any  # those of its block
    equal: Any  # those of its block with the same y
    higher: Any  # those of its block with a larger y
    end: Any  # those of later blocks


def _sort_rows(y: Any, block: Any) -> SortedRows:
    level = np.unique(y, return_inverse=True)[1]
    first_of_block = block * len(y)
    key = first_of_block + level
    order = np.argsort(key, kind="stable")
    keys = key[order]
    return SortedRows(
        order=order,
        start=np.searchsorted(keys, first_of_block),
        equal=np.searchsorted(keys, key),
        higher=np.searchsorted(keys, key, side="right"),
        end=np.searchsorted(keys, first_of_block + len(y)),
    )


def _count_below(rows: SortedRows) -> Any:
    """Return how many rows of its block each row (n,) is above."""
    below = rows.equal - rows.start
    if not below.any():
        raise ValueError(
            f"no two rows with different y are in one query and fold (n_samples={len(below)}), so "
            "there are no pairs: give more rows, or leave query= out"
        )
    return below
