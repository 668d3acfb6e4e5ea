"""The tally of a model's decisions: rows counted by everything that a problem and the model distinguish.

Rates depend on which conditions rows meet, on their labels, weights and costs, and on the decisions;
among millions of rows there are few distinct combinations of these. Equal rows share a *line*: one of
them, and their number. Rates, their intervals, tests and rows needed are read from the lines, so it does
not matter whether rows were in memory, on disk or with other processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from ratebound._old.auditing.judged import Judged, called
from ratebound._old.base.types import Array
from ratebound._old.problem.masks import masker, read_amounts, reader
from ratebound._old.problem.population import Population, assembled
from ratebound._old.problem.values import Comparable
from ratebound._old.rates.expressions import Expression, Rate
from ratebound._old.rates.kinds import (
    ANY,
    TWO,
    YES,
    Atom,
    Classes,
    atoms,
    counted_over,
    is_cost,
    is_count,
    place_of,
)
from ratebound._old.rates.subsets import EVERYONE, Name, Subset, Value

MOST_CODES = 2**20  # with fewer codes, counting is faster than sorting
MOST_ROWS = 10**12  # if more rows are needed, the answer is that no number is enough


class Countable(Protocol):
    """Rows, or kinds of row, with known conditions and decisions."""

    def __len__(self) -> int: ...

    def inside(self, subset: Subset) -> Array:
        """Which of them are in a subset, (n,) bool."""

    def chance(self, at: float | str, of: Value | None) -> Array:
        """The probability that each is decided as a class at a threshold, (n,); with two, as yes."""

    def amounts(self, column: Name) -> Array:
        """The cost of an error on each, from a column, (n,)."""


@dataclass(frozen=True, eq=False)
class Lines:
    """The rows of one population, with equal rows counted together.

    They are in the order in which they first occur.
    """

    source: Population  # the population of these rows
    people: Population  # one row of each line
    rows: Array  # (k,) how many there are
    codes: Array  # (keys, k) what distinguishes lines, the same numbers in all pieces and processes
    chances: dict[float | str, Array]  # (D, k) of each decision, at each threshold asked for
    answers: Array | None = None  # (M, 1, k) scores if areas compare them, or predictions (1, k)
    place: Array | None = None  # (n,) the line of each row, if it is kept
    partial: bool = False  # whether values that conditions name may be absent, as in a batch

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.rows.sum())

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.people.weights is not None

    @cached_property
    def weight(self) -> Array:
        """The weight of one row of each line, (k,)."""
        return self.people.row_weights

    @cached_property
    def total(self) -> Array:
        """The weight of all rows of each line together, (k,)."""
        return self.rows * self.weight

    def __add__(self, other: Lines) -> Lines:
        return together([self, other])

    def counted(self, inside: Array) -> int:
        """How many rows, unweighted, are on the lines `inside` (k,)."""
        return round(float(self.rows[inside].sum()))

    @cached_property
    def inside(self) -> Callable[[Subset], Array]:
        """Which lines are in a subset, (k,) bool; cached, since subsets recur."""
        return lru_cache(maxsize=256)(masker(self.people, absent=self.partial))

    @cached_property
    def read(self) -> Callable[[Name, Value, bool], Comparable]:
        """A value as conditions on a column read it: in a column of dates, a text is a date."""
        return reader(self.people)

    @cached_property
    def amounts(self) -> Callable[[Name], Array]:
        """The cost of an error on a row of each line, from a column, (k,); 0 if it is missing."""
        return lru_cache(maxsize=16)(lambda column: np.nan_to_num(read_amounts(self.people, column)))

    def chance(self, at: float | str, of: Value | None) -> Array:
        """The probability that each line is decided as a class at a threshold, (k,); of two, as yes."""
        each = self.chances[at]
        if of is None:
            return each[-1] if len(each) == 2 else np.zeros(len(self))
        return each[place_of(of, self.people.classes or TWO)]

    @cached_property
    def population(self) -> Population:
        """One row of each line that counts for all rows of it, for `compile`."""
        few = self.people
        whole = assembled(few.X, few.y, few.columns, self.total, few.labels, len(self))
        whole.everywhere = True
        return whole


@dataclass(frozen=True, eq=False)
class Tally:
    """The lines of named populations, and the model that decided."""

    lines: dict[str, Lines]
    model: Judged
    clustered: Name | None = None  # the column whose values say which rows were drawn together
    by_column: dict[Name, Lines | None] = field(default_factory=dict)  # the first population's rows
    _clusters: dict[str, Array] = field(default_factory=dict)

    def __getitem__(self, population: str) -> Lines:
        return self.lines[population]

    def __add__(self, other: Tally) -> Tally:
        lines = {name: own + other[name] for name, own in self.lines.items()}
        return Tally(lines, self.model, self.clustered)

    @cached_property
    def classes(self) -> Classes:
        """The possible decisions; with two, no and then yes."""
        known = (lines.people.classes for lines in self.lines.values())
        return next((classes for classes in known if classes is not None), TWO)

    @property
    def weighted(self) -> bool:
        """Whether rows of some population have weights."""
        return any(lines.weighted for lines in self.lines.values())

    @property
    def told_by(self) -> tuple[Value | None, ...]:
        """The classes that determine a decision: with two only yes, which atoms do not name."""
        return self.classes if len(self.classes) > 2 else (None,)

    @property
    def populations(self) -> dict[str, Population]:
        """One row of each line, which counts for all of them, by population; for `compile`."""
        return {name: lines.population for name, lines in self.lines.items()}

    def clusters(self, name: str) -> Array | None:
        """Which cluster each line of a population is in, (k,); None if rows are drawn one by one."""
        if self.clustered is None:
            return None
        if name not in self._clusters:
            self._clusters[name] = _clusters_of(self.lines[name], name, self.clustered)
        return self._clusters[name]

    def same_rows(self, one: str, other: str) -> bool:
        """Whether two populations are made of the same table."""
        first, second = self.lines[one].source, self.lines[other].source
        return first is second or (first.X is not None and first.X is second.X)


def together(parts: Sequence[Lines]) -> Lines:
    """The lines of several pieces of one population; equal lines become one."""
    if len(parts) == 1:
        return parts[0]

    def joined(arrays: Sequence[Array | None]) -> Array | None:
        present = [each for each in arrays if each is not None]
        return np.concatenate(present, axis=-1) if present else None

    codes = np.concatenate([part.codes for part in parts], axis=1)
    first, place = told_apart(list(codes))
    few = parts[0].people
    labels, weights = (
        joined([part.people.y for part in parts]),
        joined([p.people.weights for p in parts]),
    )
    answers = joined([part.answers for part in parts])
    columns = {
        name: np.concatenate([part.people.column(name) for part in parts])[first] for name in few.columns
    }
    people = assembled(
        np.empty((len(first), 0)),
        None if labels is None else labels[first],
        columns,
        None if weights is None else weights[first],
        few.labels,
        len(first),
    )
    rows = np.bincount(place, np.concatenate([part.rows for part in parts]), len(first))
    return replace(
        parts[0],
        source=people,
        people=people,
        rows=rows.astype(np.int64),
        codes=codes[:, first],
        chances={
            at: np.concatenate([part.chances[at] for part in parts], axis=1)[:, first]
            for at in parts[0].chances
        },
        answers=None if answers is None else answers[..., first],
        place=_placed(parts, place),
    )


def _placed(parts: Sequence[Lines], place: Array) -> Array | None:
    """The line (n,) of each row of all parts, if each part has its rows' lines."""
    of_parts, start = [], 0
    for part in parts:
        if part.place is None:
            return None
        of_parts.append(place[start : start + len(part)].astype(np.int32)[part.place])
        start += len(part)
    return np.concatenate(of_parts)


def told_apart(codes: Sequence[Array]) -> tuple[Array, Array]:
    """The first row of each combination of `codes` (n,), in order, and which combination rows have.

    >>> told_apart([np.array([7, 3, 7]), np.array([0, 0, 0])])
    (array([0, 1]), array([0, 1, 0]))
    """
    code, size = np.zeros(len(codes[0]), dtype=np.int64), 1
    for own in codes:
        low, high = int(own.min()), int(own.max())
        span = high - low + 1
        if span > MOST_CODES:
            values, own = np.unique(own, return_inverse=True)
            low, span = 0, len(values)
        if size * span > MOST_CODES:  # so many combinations are rare, and codes must not overflow
            code, size = _renumbered(code, size)
        code = code * span + (own - low)
        size *= span
    code, size = _renumbered(code, size)
    first = np.empty(size, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    order = np.argsort(first)
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    return first[order], rank[code]


def _renumbered(code: Array, size: int) -> tuple[Array, int]:
    """Codes below `size` renumbered without gaps; without sorting if there can only be few."""
    if size <= MOST_CODES:
        place = np.cumsum(np.bincount(code, minlength=size) > 0)
        return (place - 1)[code], int(place[-1])
    values, codes = np.unique(code, return_inverse=True)
    return codes, len(values)


def _clusters_of(lines: Lines, name: str, column: Name) -> Array:
    values = lines.people.values(column)
    if missing := lines.counted(values.missing):
        raise ValueError(
            f"clusters={column!r}: {missing:,} rows of population {called(name)!r} have no value in "
            "that column, so nothing says which cluster they are in: fill it, or leave them out"
        )
    codes: Array = np.unique(
        values.values if values.codes is None else values.codes, return_inverse=True
    )[1]
    if codes.max() == 0:
        raise ValueError(
            f"clusters={column!r}: all rows of population {called(name)!r} are one cluster, which "
            "shows nothing about others: name a column with more values"
        )
    return codes


# --- what is read from a tally ---------------------------------------------------------------------


def over_of(rate: Rate, classes: Classes, per_row: bool = False) -> Subset:
    """The rows that a rate is a share of; a count is a multiple of a share of everyone.

    With `per_row` a count is taken per row of its subset.
    """
    over = rate.subset if per_row else atoms(rate, classes)[0].over
    return EVERYONE if over is None else over


def at_of(rate: Rate) -> float | str:
    """The threshold at which a rate's decisions are taken."""
    return 0.0 if rate.at is None else rate.at


def worth(rows: Countable, atom: Atom) -> Array:
    """What each row that an atom may count adds to it, (n,); 0 for other rows."""
    inside = rows.inside(atom.given)
    priced: Array = inside if atom.factor == 1 else inside * atom.factor
    return priced if atom.amounts is None else priced * rows.amounts(atom.amounts)


def counted(rows: Countable, rate: Rate, classes: Classes) -> Array:
    """The probability that the rate counts each row, (n,); for a cost, its expected cost."""
    expected = np.zeros(len(rows))
    for atom in atoms(rate, classes):
        if atom.predicted is ANY:
            expected += worth(rows, atom)
        else:
            yes = rows.chance(at_of(rate), atom.of)
            expected += worth(rows, atom) * (yes if atom.predicted is YES else 1.0 - yes)
    return expected


def value(tally: Tally, rate: Rate, per_row: bool = False) -> float:
    """The rate on these rows, expected over a mixture.

    With `per_row` a count is taken per row of its subset.
    """
    lines = tally[rate.population]
    above = float(lines.total @ counted(lines, rate, tally.classes))
    among = float(lines.total[lines.inside(over_of(rate, tally.classes, per_row))].sum())
    return (1.0 if per_row else scale(tally, rate)) * above / among


def total(tally: Tally, expression: Expression, per_row: bool = False) -> float:
    """A sum of rates on these rows."""
    return expression.constant + sum(c * value(tally, rate, per_row) for rate, c in expression.terms)


def scale(tally: Tally, rate: Rate) -> float:
    """1 for shares; for counts, the number of rows they are out of."""
    return float(rate.per or tally[rate.population].total.sum()) if is_count(rate) else 1.0


def largest(tally: Tally, rate: Rate) -> float:
    """The most that a row adds to the rate: 1, unless it is a cost."""
    if not is_cost(rate):
        return 1.0
    lines = tally[rate.population]
    return max(float(worth(lines, atom).max()) for atom in atoms(rate, tally.classes))


def smallest_behind(tally: Tally, rates: Iterable[Rate]) -> tuple[int, Subset]:
    """The smallest set that one of `rates` is a share of, after its number of rows, unweighted."""
    among = [(rate.population, rows) for rate in rates for rows in counted_over(rate, tally.classes)]
    sizes = [tally[name].counted(tally[name].inside(subset)) for name, subset in among]
    smallest = min(range(len(sizes)), key=sizes.__getitem__)
    return sizes[smallest], among[smallest][1]


def rows_behind(tally: Tally, rates: Iterable[Rate]) -> int:
    """Rows, unweighted, of the smallest set that one of `rates` is a share of."""
    return smallest_behind(tally, rates)[0]


def rows_showing(room: float, spread: float, rows: int) -> int | None:
    """Rows of the smallest set that would show the `room` of a promise, if all sets grew alike.

    With as many `rows` as here the room would have to be the `spread`, which falls with their square
    root. None if no number of rows is enough.
    """
    if room <= 0 or not math.isfinite(spread):
        return None
    needed = max(rows, 1) * (spread / room) ** 2
    return max(math.ceil(needed), 1) if needed < MOST_ROWS else None
