"""Pairs of rows, for promises about order: the row that should be first must be scored higher.

A pair is a row whose score is the difference of two scores, and whose label is always yes. So
`ranked_right` is the share of yeses, and cells and games need nothing new. Only the row numbers of a
pair are in memory; its columns, such as ``first.group``, are looked up on demand.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.checks import check_whole
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import (
    as_array,
    check_order,
    distinct,
    is_missing,
    length,
    rows_of,
    some,
)
from ratebound._old.problem.labels import Labels, label_values
from ratebound._old.problem.population import Population
from ratebound._old.problem.summaries import digest_of
from ratebound._old.rates.kinds import TWO
from ratebound._old.rates.subsets import ENDS, Name, column_text, value_text

PAIRS = 100_000  # drawn by default
MANY_QUERIES = 20  # from this many on, queries count as drawn, and not rows within them


@dataclass(frozen=True, eq=False)
class Ends:
    """The features of pairs: all rows, and which two form each pair."""

    rows: Any  # a table, an array or a sparse matrix
    first: Array  # (P,) row numbers
    second: Array  # (P,)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the pairs: their number, and the shape of a row."""
        return (len(self.first), *np.shape(self.rows)[1:])

    def __len__(self) -> int:
        return len(self.first)

    @property
    def iloc(self) -> Ends:
        """Itself: pairs are indexed like rows of a table."""
        return self

    def __getitem__(self, pairs: Any) -> Ends:
        return Ends(self.rows, self.first[pairs], self.second[pairs])


class Pairs(Population):
    """Pairs of rows, for promises about order: the first should be ranked above the second.

    Any two rows with different `y` can form a pair, and `count` pairs are drawn. The first row of a pair
    has the larger `y`. Constraints use the columns of either row, as in
    ``ranked_right(first.group == "b", second.group == "a")``.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame
        The features of each row, not of each pair. Constraints can use the columns of a DataFrame.
    y : array of shape (n,)
        The order that rows should have: the larger, the higher. Numbers or booleans.
    columns : dict or DataFrame, default=None
        Columns by name that constraints use and the model does not see, with a value for each row. By
        default constraints can use only the columns of `X`.
    query : array of shape (n,), default=None
        The query that each row answers: only rows of one query form pairs. By default any two may.
    weights : array of shape (n,), default=None
        How many rows each row stands for; a pair's weight is the product. By default 1 each.
    count : int, default=100_000
        How many pairs to draw, each at most once; all of them if there are fewer.
    seed : int, default=0
        Determines which pairs are drawn.

    Attributes
    ----------
    rows : Population
        The rows from which pairs are formed.
    first : array of shape (P,)
        The row of each pair that should be ranked higher.
    second : array of shape (P,)
        The other row.
    possible : int
        The number of pairs that could be drawn.
    size : int
        The number of pairs drawn.

    Raises
    ------
    ValueError
        If no two rows form a pair, because all `y` are equal or no query has two rows; if values of `y`
        or `query` are missing; or if parts have different numbers of rows.

    See Also
    --------
    RateConstrainedRanker : Learns from pairs to score rows.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> pairs = rb.Pairs([[0.1], [0.7], [0.4]], [0, 1, 1], columns={"group": ["a", "b", "a"]})
    >>> pairs
    Pairs(2 of 2 pairs of 3 rows, columns first.group, second.group)
    >>> pairs.first.tolist(), pairs.second.tolist()
    ([1, 2], [0, 0])
    >>> problem = rb.Problem("1 - ranked_right()", ['ranked_right(first.group == "b") >= 0.9'])
    >>> objective, violations = rb.compile(problem, pairs).evaluate(pairs.differences([0.3, 0.9, 0.2]))
    >>> float(objective), violations.round(3).tolist()
    (0.5, [-0.1])
    """

    paired = True

    def __init__(
        self,
        X: Any,
        y: Any,
        columns: Any = None,
        *,
        query: Any = None,
        weights: Any = None,
        count: int = PAIRS,
        seed: int = 0,
    ) -> None:
        check_whole("count, how many pairs to draw,", count)
        check_whole("seed", seed, least=0)
        if isinstance(X, Population):
            raise TypeError("rb.Pairs takes the rows themselves: rb.Pairs(X, y, columns=...)")
        if y is None:
            raise ValueError("rb.Pairs needs y, by which one row of a pair is ranked above the other")
        self.rows = Population(X, columns=columns, weights=weights)
        check_order(X, {"y": y, "query": query})
        self.outcome = outcome_of(y)
        self.query = None if query is None else _codes(query)
        for name, given in (("y", self.outcome), ("query", self.query)):
            if given is not None and len(given) != self.rows.size:
                raise ValueError(f"X has {self.rows.size} rows and {name} {length(given, name)}")
        self.labels, self.columns = Labels(TWO), {}
        self.X = self.rows.X
        self._draw(count, seed)

    def _draw(self, count: int, seed: int) -> None:
        """Draw pairs uniformly from all possible pairs."""
        self.count, self.seed = count, seed
        order, below, starts = _ranks(self.outcome, self.query)
        ends = np.cumsum(below)
        self.possible = int(ends[-1])
        if not self.possible:
            raise ValueError(self._why_none())
        if self.possible <= count:
            drawn = np.arange(self.possible)
        else:
            random = np.random.default_rng(seed)
            drawn = np.sort(random.choice(self.possible, count, replace=False))
        self._take(*_pairs_of(drawn, order, below, starts, ends))

    def _take(self, first: Array, second: Array) -> None:
        """Set the pairs."""
        self.first, self.second, self.size = first, second, len(first)
        self.y = np.ones(self.size, dtype=bool)
        own = self.rows.weights
        self.weights = None if own is None else own[first] * own[second]
        if self.weights is not None and not self.weights.any():
            raise ValueError("every pair contains a row with weight zero, so no pair counts")
        for cached in ("features", "digest"):
            vars(self).pop(cached, None)

    def _why_none(self) -> str:
        values = distinct(self.outcome)
        if len(values) == 1:
            return (
                f"all rows have the same y, {some(values)}, so none is ranked above another: give "
                "y two values or more, the larger for rows that should be ranked higher"
            )
        assert self.query is not None
        queries = int(self.query.max()) + 1
        if queries == self.rows.size:
            return (
                f"each of the {queries:,} queries has one row, so there is no pair within any: "
                "query= takes the same value for all rows that answer one query"
            )
        return (
            f"in each of the {queries:,} queries all rows have the same y, so there is no pair "
            "within any: leave query= out to compare rows of different queries"
        )

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.column_names))
        pairs = f"{self.size:,} of {self.possible:,} pairs of {self.rows.size:,} rows"
        return f"Pairs({pairs}, columns {names})"

    # --- what constraints use ---------------------------------------------------------------------

    @property
    def column_names(self) -> list[Name]:
        return [f"{end}.{name}" for name in self.rows.column_names for end in ENDS]

    def check_column(self, name: Name) -> None:
        end, own = self._split(name)
        if end is None or (own not in self.rows.column_names and not self.rows._is_feature(own)):
            raise ValueError(f"there is no column {name!r}{self._remedy(name)}")

    def _split(self, name: Name) -> tuple[str | None, Name]:
        """Which row of a pair a name refers to, None if it does not say, and which of its columns."""
        end, dot, own = str(name).partition(".")
        if not dot or end not in ENDS:
            return None, name
        named = next((each for each in self.rows.column_names if str(each) == own), own)
        return end, int(own) if named == own and own.isdigit() else named

    def own_name(self, name: Name) -> Name:
        """The name, in single rows, of a column of pairs.

        Parameters
        ----------
        name : str
            The name in pairs, such as "first.group".

        Returns
        -------
        str or int
            The name in rows.
        """
        return self._split(name)[1]

    def _remedy(self, name: Name) -> str:
        end, _ = self._split(name)
        if end is None and self.rows.column_names:
            own = str(name).rpartition(".")[2]
            example = own if own in map(str, self.rows.column_names) else self.rows.column_names[0]
            both = " or ".join(column_text(f"{each}.{example}") for each in ENDS)
            return f": a pair has two rows, so write {both}. It has {some(self.column_names)}."
        return super()._remedy(name)

    def _given(self, name: Name) -> Any:
        self.check_column(name)
        end, own = self._split(name)
        return rows_of(self.rows._given(own), self.first if end == "first" else self.second)

    # --- what models see --------------------------------------------------------------------------

    @property
    def inputs(self) -> Ends:
        """The rows as they were given, and which two form each pair."""
        return Ends(self.rows.X, self.first, self.second)

    @cached_property
    def features(self) -> Ends:
        """The same, with rows as numbers."""
        return Ends(self.rows.features, self.first, self.second)

    @cached_property
    def digest(self) -> str:
        """A digest of rows and pairs, which identifies them."""
        return digest_of([np.array([self.rows.digest]), self.first, self.second])

    def differences(self, scores: Any) -> Array:
        """By how much the first row of each pair is scored above the second.

        Equal scores rank neither row above the other, so a tie gives a value just below 0.

        Parameters
        ----------
        scores : array of shape (..., n)
            The score of every row.

        Returns
        -------
        array of shape (..., P)
            Positive for pairs that are ranked right: the scores that ``compiled.evaluate`` takes.
        """
        given = as_array(scores)
        if given.shape[-1:] != (self.rows.size,):
            raise ValueError(f"expected {self.rows.size:,} scores, one per row, got shape {given.shape}")
        return differences(given, self.first, self.second)

    @property
    def standing(self) -> Array:
        """The share (n,) of the rows it may form pairs with that each is above; NaN for none.

        On two labels it is 1 for good rows and 0 for bad ones.
        """
        lower, higher = np.empty((2, self.rows.size))
        for into, outcome in ((lower, self.outcome), (higher, -self.outcome)):
            order, below, _ = _ranks(outcome, self.query)
            into[order] = below
        with np.errstate(invalid="ignore"):
            return np.asarray(lower / (lower + higher))

    # --- the same rows otherwise ------------------------------------------------------------------

    def within(self, parts: Array) -> Pairs:
        """New pairs of the same rows, with both rows in one part.

        Parameters
        ----------
        parts : array of shape (n,)
            A number for each row.

        Returns
        -------
        Pairs
            As many as here, or all that are possible.
        """
        other = copy.copy(self)
        own = np.zeros(self.rows.size, dtype=np.intp) if self.query is None else self.query
        other.query = _codes(own * (int(np.max(parts)) + 1) + parts)
        other._draw(self.count, self.seed)
        return other

    @property
    def drawn_together(self) -> Array | None:
        """A number for each row, equal for rows drawn together; None if each was drawn by itself.

        With many queries, new rows come in new queries, so queries are the unit that was drawn.
        """
        if self.query is None or int(self.query.max()) + 1 < MANY_QUERIES:
            return None
        return self.query

    def seen_through(self, encode: Callable[[Any], Any], spoken_of: Iterable[Name] = ()) -> Pairs:
        features = [own for end, own in map(self._split, spoken_of) if end is not None]
        other = copy.copy(self)
        other.rows = self.rows.seen_through(encode, features)
        other.X = other.rows.X
        for cached in ("features", "digest"):
            vars(other).pop(cached, None)
        return other

    def only(self, rows: Array) -> Pairs:
        """Some of the pairs.

        Parameters
        ----------
        rows : array
            Indices of pairs, or a truth value for each.

        Returns
        -------
        Pairs
            These pairs, of the same rows.
        """
        chosen = np.arange(self.size)[rows]
        if not chosen.size:
            raise ValueError("at least one pair is needed, given by a list of indices or a mask")
        part = copy.copy(self)
        part._take(self.first[chosen], self.second[chosen])
        return part

    def existing(self, name: str, of: Any = None) -> Array:
        raise ValueError(
            f"versus={name!r}: an existing model decides rows, but these are pairs of rows: give its "
            "scores to rb.audit as a ranker's instead"
        )


def differences(scores: Array, first: Array, second: Array) -> Array:
    """Scores (..., n) of rows as scores of pairs (..., P); a tie ranks neither and is just below 0."""
    apart: Array = scores[..., first] - scores[..., second]
    apart[apart == 0] = -np.finfo(apart.dtype if apart.dtype.kind == "f" else float).tiny
    return apart


def outcome_of(y: Any) -> Array:
    """The order that rows should have, as numbers (n,), from numbers or booleans."""
    given = as_array(y)
    if lacking := int(is_missing(given).sum()):
        row = int(np.argwhere(is_missing(given))[0, 0])
        raise ValueError(
            f"y has {lacking:,} missing values, the first in row {row}: a row without a rank "
            "forms no pair, so leave it out"
        )
    values = label_values(y)
    if values.dtype.kind in "buif":
        if not np.isfinite(values.astype(float)).all():
            raise ValueError("y holds infinite values, which cannot be ranked: give finite numbers")
        return values.astype(float)
    kinds = distinct(values)
    raise ValueError(
        f"y holds {some(kinds)}, whose order is not known: give numbers, the larger "
        f"for rows that should be ranked higher, or y == {value_text(kinds[0])} for two labels"
    )


def _codes(query: Any) -> Array:
    """A number for each query, from 0."""
    values = as_array(query)
    if values.ndim != 1:
        raise ValueError(f"query= takes a value for each row, got shape {values.shape}")
    if lacking := int(is_missing(values).sum()):
        raise ValueError(f"query= has {lacking:,} missing values: give the query of each row")
    if values.dtype == object:
        values = values.astype(str)
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _ranks(outcome: Array, query: Array | None) -> tuple[Array, Array, Array]:
    """Rows by query and outcome; how many of its query each is above, and the start of its query."""
    groups = np.zeros(len(outcome), dtype=np.intp) if query is None else query
    order = np.lexsort((outcome, groups))
    own, ranked = groups[order], outcome[order]
    new_query = np.r_[True, own[1:] != own[:-1]]
    new_value = new_query | np.r_[True, ranked[1:] != ranked[:-1]]
    places = np.arange(len(order))
    starts = np.maximum.accumulate(np.where(new_query, places, 0))
    ties = np.maximum.accumulate(np.where(new_value, places, 0))
    return order, ties - starts, starts


def _pairs_of(
    drawn: Array, order: Array, below: Array, starts: Array, ends: Array
) -> tuple[Array, Array]:
    """The two rows of pairs, given by pair numbers: by upper row, then by lower row."""
    place = np.searchsorted(ends, drawn, side="right")
    rank = drawn - (ends[place] - below[place])
    return order[place], order[starts[place] + rank]
