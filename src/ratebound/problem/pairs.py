"""Pairs of rows, for promises about order: of two rows, the one that should be first is scored higher.

A pair is a row whose score is a difference of two scores, and whose label is always yes. So
`ranked_right` is the share of yeses, and cells and games need nothing new. Only the row numbers of a
pair are in memory; its columns are looked up when they are asked for, as ``first.group``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ratebound.base.checks import check_whole
from ratebound.base.types import Array
from ratebound.problem.frames import as_array, check_order, distinct, is_missing, length, rows_of, some
from ratebound.problem.labels import Labels, label_values
from ratebound.problem.population import Population
from ratebound.problem.summaries import digest_of
from ratebound.rates.kinds import TWO
from ratebound.rates.subsets import ENDS, Name, column_text, value_text

PAIRS = 100_000  # drawn by default
MANY_QUERIES = 20  # from which on queries are drawn, and not rows within them


@dataclass(frozen=True, eq=False)
class Ends:
    """The features of pairs: the rows there are, and which two make each pair."""

    rows: Any  # a table, an array or a sparse matrix
    first: Array  # (P,) row numbers
    second: Array  # (P,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the pairs: their number, and what a row has."""
        return (len(self.first), *np.shape(self.rows)[1:])

    def __len__(self) -> int:
        return len(self.first)

    @property
    def iloc(self) -> Ends:
        """Itself: some pairs are taken as some rows of a table are."""
        return self

    def __getitem__(self, pairs: Any) -> Ends:
        return Ends(self.rows, self.first[pairs], self.second[pairs])


class Pairs(Population):
    """Pairs of rows, of which the first should be ranked above the second, for promises about order.

    All pairs of rows with different `y` can be drawn, and as many are drawn as `count` says. The first
    row of a pair is that with the larger `y`. Constraints speak of the columns of either row, as in
    ``ranked_right(first.group == "b", second.group == "a")``.

    Parameters
    ----------
    X : array, sparse matrix or DataFrame
        What the model sees of each row, not of each pair. The columns of a DataFrame can be spoken of.
    y : array of shape (n,)
        Where each row should stand: the larger, the higher. Numbers, or truth values.
    columns : dict or DataFrame, default=None
        Columns by name that constraints speak of and the model does not see, a value for each row. By
        default only those of `X` can be spoken of.
    query : array of shape (n,), default=None
        What each row is an answer to: only rows of one query make a pair. By default any two rows may.
    weights : array of shape (n,), default=None
        How many rows each row stands for; a pair counts the product. By default each counts once.
    count : int, default=100_000
        How many pairs to draw, each at most once; all of them if there are not more.
    seed : int, default=0
        Determines which pairs are drawn.

    Attributes
    ----------
    rows : Population
        The rows that pairs are made of.
    first : array of shape (P,)
        The row of each pair that should be ranked higher.
    second : array of shape (P,)
        The other row.
    possible : int
        How many pairs could be drawn.
    size : int
        How many were.

    Raises
    ------
    ValueError
        If no two rows make a pair, since all `y` are equal or no query has two rows; if values of `y` or
        `query` are missing; or if parts have different numbers of rows.

    See Also
    --------
    RateConstrainedRanker : Learns from pairs to score rows.

    Examples
    --------
    >>> import ratebound as rb
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
        """Draw pairs, so that each that is possible is as likely as any other."""
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
        """Consist of these pairs."""
        self.first, self.second, self.size = first, second, len(first)
        self.y = np.ones(self.size, dtype=bool)
        own = self.rows.weights
        self.weights = None if own is None else own[first] * own[second]
        if self.weights is not None and not self.weights.any():
            raise ValueError("in every pair a row has weight zero, so that no pair counts")
        for cached in ("features", "digest"):
            vars(self).pop(cached, None)

    def _why_none(self) -> str:
        values = distinct(self.outcome)
        if len(values) == 1:
            return (
                f"all rows have the same y, {some(values)}, so that none is ranked above another: give "
                "y two values or more, the larger for what should be ranked higher"
            )
        assert self.query is not None
        queries = int(self.query.max()) + 1
        if queries == self.rows.size:
            return (
                f"each of the {queries:,} queries has one row, so that there is no pair within any: "
                "query= takes the same value for all rows that are answers to one question"
            )
        return (
            f"in each of the {queries:,} queries all rows have the same y, so that there is no pair "
            "within any: leave query= out to compare rows of different queries"
        )

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.column_names))
        pairs = f"{self.size:,} of {self.possible:,} pairs of {self.rows.size:,} rows"
        return f"Pairs({pairs}, columns {names})"

    # --- what constraints speak of ----------------------------------------------------------------

    @property
    def column_names(self) -> list[Name]:
        return [f"{end}.{name}" for name in self.rows.column_names for end in ENDS]

    def check_column(self, name: Name) -> None:
        end, own = self._split(name)
        if end is None or (own not in self.rows.column_names and not self.rows._is_feature(own)):
            raise ValueError(f"there is no column {name!r}{self._remedy(name)}")

    def _split(self, name: Name) -> tuple[str | None, Name]:
        """Which row of a pair a name speaks of, None if it does not say, and which of its columns."""
        end, dot, own = str(name).partition(".")
        if not dot or end not in ENDS:
            return None, name
        named = next((each for each in self.rows.column_names if str(each) == own), own)
        return end, int(own) if named == own and own.isdigit() else named

    def own_name(self, name: Name) -> Name:
        """What a row calls a column that a pair has.

        Parameters
        ----------
        name : str
            As pairs have it, such as "first.group".

        Returns
        -------
        str or int
            As its rows have it.
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
        """The rows as they were given, and which two make each pair."""
        return Ends(self.rows.X, self.first, self.second)

    @cached_property
    def features(self) -> Ends:
        """The same, with rows as numbers."""
        return Ends(self.rows.features, self.first, self.second)

    @cached_property
    def digest(self) -> str:
        """A digest of rows and pairs, by which the same are known again."""
        return digest_of([np.array([self.rows.digest]), self.first, self.second])

    def differences(self, scores: Any) -> Array:
        """By how much the first row of each pair is scored above the second.

        Equal scores put none above the other, so a tie comes out just below 0.

        Parameters
        ----------
        scores : array of shape (..., n)
            The score of every row.

        Returns
        -------
        array of shape (..., P)
            Above 0 for pairs that are ranked right: the scores that ``compiled.evaluate`` takes.
        """
        given = as_array(scores)
        if given.shape[-1:] != (self.rows.size,):
            raise ValueError(f"a score for each of the {self.rows.size:,} rows, got shape {given.shape}")
        return differences(given, self.first, self.second)

    # --- the same rows otherwise ------------------------------------------------------------------

    def within(self, parts: Array) -> Pairs:
        """Pairs of the same rows, drawn anew, of which both are in one part.

        Parameters
        ----------
        parts : array of shape (n,)
            A number for each row.

        Returns
        -------
        Pairs
            As many as here, or all there are.
        """
        other = copy.copy(self)
        own = np.zeros(self.rows.size, dtype=np.intp) if self.query is None else self.query
        other.query = _codes(own * (int(np.max(parts)) + 1) + parts)
        other._draw(self.count, self.seed)
        return other

    @property
    def drawn_together(self) -> Array | None:
        """A number for each row, the same for those that were drawn as one; None if each was by itself.

        With many queries new rows come in new queries, so that these are what was drawn.
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
            raise ValueError("pairs need at least one, given by a list of indices or a mask")
        part = copy.copy(self)
        part._take(self.first[chosen], self.second[chosen])
        return part

    def existing(self, name: str, of: Any = None) -> Array:
        raise ValueError(
            f"versus={name!r}: an existing model decides rows, and these are pairs of rows: give its "
            "scores as those of a ranker to rb.audit instead"
        )


def differences(scores: Array, first: Array, second: Array) -> Array:
    """Scores (..., n) of rows as those of pairs (..., P); a tie is just below 0, since it ranks none."""
    apart: Array = scores[..., first] - scores[..., second]
    apart[apart == 0] = -np.finfo(apart.dtype if apart.dtype.kind == "f" else float).tiny
    return apart


def outcome_of(y: Any) -> Array:
    """Where rows should stand, as numbers (n,), from numbers or truth values."""
    given = as_array(y)
    if lacking := int(is_missing(given).sum()):
        row = int(np.argwhere(is_missing(given))[0, 0])
        raise ValueError(
            f"y has {lacking:,} missing values, the first in row {row}: a row that should stand nowhere "
            "makes no pair, so leave it out"
        )
    values = label_values(y)
    if values.dtype.kind in "buif":
        if not np.isfinite(values.astype(float)).all():
            raise ValueError("y holds infinite values, of which none is above another: give numbers")
        return values.astype(float)
    kinds = distinct(values)
    raise ValueError(
        f"y holds {some(kinds)}, and which is ranked above which is not known: give numbers, the larger "
        f"for what should be ranked higher, or y == {value_text(kinds[0])} for two labels"
    )


def _codes(query: Any) -> Array:
    """A number from 0 on for each query."""
    values = as_array(query)
    if values.ndim != 1:
        raise ValueError(f"query= takes a value for each row, got shape {values.shape}")
    if lacking := int(is_missing(values).sum()):
        raise ValueError(f"query= has {lacking:,} missing values: say which query each row is of")
    if values.dtype == object:
        values = values.astype(str)
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _ranks(outcome: Array, query: Array | None) -> tuple[Array, Array, Array]:
    """Rows by query and outcome; how many of its query each is above, and where its query starts."""
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
    """The two rows of pairs that are numbered from 0 on, place by place and then by what is below."""
    place = np.searchsorted(ends, drawn, side="right")
    rank = drawn - (ends[place] - below[place])
    return order[place], order[starts[place] + rank]
