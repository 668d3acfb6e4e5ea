"""A ranker meets constraints on pairs of rows, such as how often certain pairs are ranked right.

They are pairs of rows of one fold, judged by models that saw neither. P(first, group | x) is learned
as P(label, cell | x) is, where *first* says that a row stands first in its pairs. Ranking a pair right
is worth W[c, d] = -(λ · terms)[c, d] if its rows are in cells c and d. If W were a product
u[c] · v[d], rows would best be ordered by log Σ u[c] P(c | x) - log Σ v[d] P(d | x), so the nearest
product is taken. Without constraints that is the log odds of standing first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ratebound._bridge import list_sources
from ratebound.learning.features import encode_rows, fit_encoding, take_rows
from ratebound.learning.folds import deal_folds, digest_rows, find_units
from ratebound.learning.forecast import MOST_CELLS, learn_forecast
from ratebound.learning.given import as_problem, check_order, check_rows, read_clusters
from ratebound.learning.learning import Learned
from ratebound.learning.options import FEATURES, check_options, number
from ratebound.learning.pairs import (
    RankedRows,
    compile_pairs,
    draw_pairs,
    read_conditions,
    read_ranked_rows,
    weigh_standing,
)
from ratebound.learning.roles import choose_features, describe_features
from ratebound.learning.rules import Rule, Rules
from ratebound.learning.status import make_status, warn_of_status
from ratebound.problem.columns import fold
from ratebound.problem.compile import compile
from ratebound.problem.problem import Problem
from ratebound.rates.table import KINDS

MANY_QUERIES = 20  # from so many on, queries are what was drawn, and not rows
LEAST_WORTH = 1e-3  # of ranking a pair right, as a share of the largest
LEAST_CHANCE = 1e-9  # that has a logarithm
CHECKS = {"confidence": number(above=0, below=1), "features": FEATURES, "pairs": number(above=1)}
OF_PAIRS = "Rates are of pairs, each judged by models that saw neither row."


class RateConstrainedRanker(BaseEstimator):
    """Scores rows so that pairs of them are in the right order, and meets constraints on pairs.

    Constraints are about `ranked_right`, the share of pairs in the right order. They name the
    columns of either row, as in ``ranked_right(first.group == "b", second.group == "a") >= 0.9``.

    Parameters
    ----------
    constraints : constraint, str, or list of them, default=()
        On `ranked_right`, the share of pairs in the right order.
    objective : sum of rates, str or Problem, default="1 - ranked_right()"
        What to minimise. With two labels the default is 1 minus the area under the ROC curve.
    model : str or classifier, default="linear"
        As of `RateConstrainedClassifier`.
    confidence : float, default=0.9
        How sure it is to be that all constraints hold together on new rows. None asks only for these
        rows.
    features : list of str, default=None
        The columns of a table that the model reads. By default all.
    pairs : int, default=100_000
        How many pairs to judge rules on; all if there are fewer.
    random_state : int or RandomState, default=None
        The seed. The same seed gives the same scores.

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "status_")

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
        clusters : str or array of shape (n,), default=None
            Which rows were drawn together: a column, or ids. By default queries, if they are many.

        Returns
        -------
        RateConstrainedRanker
            Itself, fitted.
        """
        self.__dict__.pop("status_", None)  # of an earlier fit
        check_options(self, CHECKS)
        check_order(X, y, columns)
        X = check_rows(self, X, reset=True)
        rows = read_ranked_rows(X, y, columns, sample_weight, query)
        problem = as_problem(self.objective, self.constraints)
        not_features = [clusters] if isinstance(clusters, str) else []
        chosen, left_out = choose_features(X, problem, self.features, not_features)
        self.encoding_ = fit_encoding(X, chosen, self.model, rows.population.weights)
        self.features_ = list(dict.fromkeys(list_sources(self.encoding_)))
        learned = self._learn_order(problem, rows, encode_rows(self.encoding_, X), clusters)
        rule, claim, _ = learned.choose_rule(self.confidence)
        rules: Any = learned.rules
        self.forecast_ = learned.forecast
        self.worth_ = rules.split_worth(rule.weights[None])
        status = make_status(rules, rule, claim)
        remarks = (OF_PAIRS, *describe_features(self.features_, left_out))
        self.status_ = replace(status, remarks=remarks)
        warn_of_status(self.status_)
        return self

    def _learn_order(
        self,
        problem: Problem,
        rows: RankedRows,
        features: Any,
        clusters: Any,
    ) -> Learned:
        """Learn each row as one that stands first and as one that stands second, and rules for both."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        conditions = read_conditions(problem, rows.population)
        row, standing = weigh_standing(rows)
        bounds = [KINDS["predicted_positives"](condition) >= 0 for condition in conditions]
        of_rows = compile(Problem("error_rate()", bounds), standing)  # tells conditions apart
        cells = np.full((2, len(rows.y)), -1)  # of second and of first rows; -1 for none
        cells[standing.y, row] = of_rows.cell

        if clusters is not None:
            clusters = read_clusters(clusters, rows.population)
        elif rows.query.max() + 1 >= MANY_QUERIES:
            clusters = rows.query
        kinds = 2 * cells.max(axis=0) + (rows.y > np.median(rows.y))
        unit = find_units(features, digest_rows(features), kinds, clusters)
        fold_of_row = deal_folds(unit, kinds, seed)
        block = rows.query * (fold_of_row.max() + 1) + fold_of_row
        first, second = draw_pairs(block, rows.y, int(self.pairs), seed)
        compiled = compile_pairs(problem, rows.population, conditions, (first, second))

        of_standing = take_rows(features, row)
        forecast = learn_forecast(
            of_rows, of_standing, fold_of_row[row], self.model, standing.y, seed=seed
        )
        if not forecast.by_cells:
            raise ValueError(
                f"the constraints tell more than {MOST_CELLS} groups apart: name fewer"
            )
        out_of_fold = forecast.predict_out_of_fold(features, fold_of_row)
        of_pairs = np.stack([cells[1][first], cells[0][second]])
        example, _ = fold(of_pairs)
        (goal,) = compiled.blocks
        worth = compiled.per_cell(goal.coefficients)[:, 0]
        rules = PairRules(
            compiled=compiled,
            forecast=out_of_fold[-forecast.width :],
            first=first,
            second=second,
            cells=of_pairs[:, example],
            worth=worth[:, compiled.cell[example]],
        )
        drawn = (unit[first], unit[second])
        if np.array_equal(*drawn):
            drawn = drawn[0]
        return Learned(rules, forecast, drawn, seed)

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
        check_is_fitted(self)
        X = check_rows(self, X)
        forecast = self.forecast_(encode_rows(self.encoding_, X))
        of_cells = forecast[-self.forecast_.width :]
        return score_rows(self.worth_, of_cells)[0]

    def predict(self, X: Any) -> Any:
        """Return the score of each row, as `decision_function` does.

        Parameters
        ----------
        X : table, array or sparse matrix (n, ...)
            The rows.

        Returns
        -------
        array of shape (n,)
            The scores.
        """
        return self.decision_function(X)

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
        rows = read_ranked_rows(X, y, None, sample_weight, query)
        first, second = draw_pairs(rows.query, rows.y, int(self.pairs), seed=0)
        weights = rows.population.row_weights
        is_right = scores[first] > scores[second]
        return float(np.average(is_right, weights=weights[first] * weights[second]))


# --- rules ----------------------------------------------------------------------------------------


def score_rows(worth: Any, forecast: Any) -> Any:
    """Return scores (K, n) at the worth (2, K, J) of standing first and second in each cell."""
    chances = np.maximum(worth @ forecast, LEAST_CHANCE)
    first, second = np.log(chances)
    return first - second


@dataclass(eq=False, kw_only=True)
class PairRules(Rules):
    """Rules that order rows, judged on pairs. The forecast is of rows."""

    by_row = False
    terms: Any = field(init=False, default=None)
    first: Any  # (P,) the row of each pair that should be higher
    second: Any  # (P,)
    cells: Any  # (2, C) of first and of second rows, as they occur together
    worth: Any  # (p + m, C) of ranking such a pair right

    def __post_init__(self) -> None:
        of_any_pair = -np.ones_like(self.worth[:1])  # for the plain model
        self.worth = np.concatenate([self.worth, of_any_pair])
        self.terms = np.zeros((len(self.worth), 1, 1))  # a weight for each, and no biases
        super().__post_init__()

    def split_worth(self, weights: Any) -> Any:
        """Return the worth (2, K, J) of standing first and second in each cell, u and v."""
        cell = np.eye(len(self.forecast))
        ends = cell[np.stack(self.cells)]
        nearest = np.linalg.pinv(ends.sum(axis=0))
        worth = -weights @ self.worth
        largest = np.abs(worth).max(axis=1, keepdims=True)
        least = LEAST_WORTH * np.where(largest > 0, largest, 1)
        logarithms = np.log(np.maximum(worth, least)) @ nearest.T
        return np.exp(logarithms) * ends.max(axis=1)[:, None]

    def decide(self, weights: Any) -> Any:
        scores = score_rows(self.split_worth(weights), self.forecast)
        is_right = scores[:, self.first] > scores[:, self.second]
        return is_right.astype(np.int64)

    def list_constant_rules(self) -> list[Rule]:
        """Return ranking by chance, which is halfway between all right and all wrong."""
        right, wrong = super().list_constant_rules()
        halfway = (right.objective + wrong.objective) / 2
        return [replace(right, objective=halfway)]
