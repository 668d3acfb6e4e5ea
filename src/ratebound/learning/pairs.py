"""Pairs of rows of which one should be higher: how they are drawn, weighed and compiled.

A pair is a row whose decision is yes if its first row, which should be higher, is scored higher. So
the language, the search and the confidence are those of decisions. A row stands first in a share of
its pairs, its *standing*.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from ratebound.learning.given import read_population
from ratebound.problem.columns import as_array, encode_values
from ratebound.problem.compile import compile_pieces
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.conditions import ENDS, leaves
from ratebound.rates.sums import PAIRS


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows, the order that they should have, and the query that each answers."""

    population: Population
    y: Any  # (n,)
    query: Any  # (n,)


def read_ranked_rows(
    X: Any,
    y: Any,
    columns: Any,
    weights: Any,
    query: Any,
) -> RankedRows:
    """Return rows with an order."""
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
    codes = np.zeros(len(y), dtype=int) if query is None else encode_values(query).codes
    if codes.min() < 0:
        raise ValueError("query= has missing values: give the query of each row")
    is_high = y > y.min()  # any label: what is learned is the standing
    return RankedRows(read_population(X, is_high, columns, weights), y, codes)


# --- drawing and weighing -------------------------------------------------------------------------


def draw_pairs(
    block: Any,
    y: Any,
    count: int,
    seed: int,
) -> tuple[Any, Any]:
    """Return `count` pairs (P,) of rows of one block, or all; the first has the larger `y`."""
    order, start, below, _ = _sort_rows(block, y)
    ends = np.cumsum(below)
    pairs = ends[-1]
    random = np.random.default_rng(seed)
    drawn = np.sort(random.choice(pairs, min(pairs, count), replace=False))
    first = np.searchsorted(ends, drawn, side="right")
    number = drawn - (ends[first] - below[first])  # among the pairs of the first row
    return first, order[start[first] + number]


def measure_standing(y: Any, query: Any) -> Any:
    """Return the share (n,) of its pairs in which each row stands first; NaN without pairs."""
    _, _, below, above = _sort_rows(query, y)
    with np.errstate(invalid="ignore"):
        return below / (below + above)


def _sort_rows(block: Any, y: Any) -> tuple[Any, ...]:
    """Return the order of rows by block and `y`, and three numbers for each row (n,).

    They say at which position its block starts, and how many rows of it are below and above.
    """
    level = np.unique(y, return_inverse=True)[1]
    lowest = block * len(y)
    key = lowest + level
    order = np.argsort(key, kind="stable")
    keys = key[order]
    start = np.searchsorted(keys, lowest)
    below = np.searchsorted(keys, key) - start
    end = np.searchsorted(keys, lowest + len(y))
    above = end - np.searchsorted(keys, key, side="right")
    if not below.any():
        raise ValueError(
            f"no two rows with different y are in one query and fold (n_samples={len(y)}), so "
            "there are no pairs: give more rows, or leave query= out"
        )
    return order, start, below, above


def weigh_standing(rows: RankedRows) -> tuple[Any, Population]:
    """Return rows (k,) once as first and once as second rows of pairs, if they stand so.

    They are weighed by the share of their pairs in which they stand so. The label of first is 1.
    """
    share = measure_standing(rows.y, rows.query)
    weights = np.stack([1 - share, share]) * rows.population.row_weights
    stands_first, row = np.nonzero(np.nan_to_num(weights))
    standing = replace(
        rows.population.select(row),
        y=stands_first,
        weights=weights[stands_first, row],
        classes=(0, 1),
    )
    return row, standing


# --- constraints on pairs -------------------------------------------------------------------------


def read_conditions(problem: Problem, population: Population) -> list[Any]:
    """Return the conditions on single rows that a problem on pairs names."""
    conditions = {}
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
                conditions[str(condition)] = condition
    return [conditions[text] for text in sorted(conditions)]


def _take_end(statement: Any, condition: Any) -> Any:
    """Return a condition on either row of a pair as one on rows."""
    name = getattr(condition, "column", None)
    if name is None:
        raise ValueError(f"{statement}: a ranker decides no row: leave out 'decided'")
    end, _, column = str(name).partition(".")
    if end not in ENDS:
        raise ValueError(f"{statement}: a pair has two rows: write first.{name} or second.{name}")
    return replace(condition, column=column)


def compile_pairs(
    problem: Problem,
    population: Population,
    conditions: Iterable[Any],
    pairs: tuple[Any, Any],
) -> Compiled:
    """Compile a problem on pairs, with the columns that conditions name of either row."""
    columns = {}
    for condition in conditions:
        values = population.columns[condition.column]
        for end, row in zip(ENDS, pairs, strict=True):
            columns[f"{end}.{condition.column}"] = values[row]
    first, second = population.row_weights[np.stack(pairs)]
    as_rows = Population(None, None, columns, first * second)
    return compile_pieces(problem, {PAIRS: [as_rows]})
