"""A problem once there are rows: a group for every value of a column, and counts out of known rows.

A goal on the values of columns becomes the constraints that it stands for. "At most 1,800 yeses" means
one thing for 6,000 rows and another for the 600 of them that were held out. So every count says out of
how many, `predicted_positives(per=6000)`; on any other number of rows it is scaled.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.masks import masker, spoken_of
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import LeftOut, Problem
from ratebound._old.problem.sharing import is_whole, of_all
from ratebound._old.problem.values import ReadColumn
from ratebound._old.rates.demands import is_even
from ratebound._old.rates.expressions import (
    FIRST,
    Constraint,
    Expression,
    Metric,
    MixedSum,
    Rate,
    Ratio,
    Top,
)
from ratebound._old.rates.grouping import Goal, Promise, group_of, of_every_class, rates_of_every_class
from ratebound._old.rates.kinds import TWO, Classes, counted, counted_over, is_count, is_top_count
from ratebound._old.rates.subsets import Name, Value, column_text, in_order, plain_value
from ratebound._old.rates.text import EachValue

MOST_GROUPS = 100  # the most groups that columns may define without being listed
GROUPS_NAMED = 10  # how many groups an error or a notice names
Counts = dict[tuple[Value | None, ...], Array]  # by combination: how many rows each rate counts


def spelled_out(
    problem: Problem,
    populations: Mapping[str, Population],
    first: str = FIRST,
    *,
    countable: bool = False,
) -> Problem:
    """`problem` with its goals as constraints, a group for each value in the goal's population.

    Errors call the first population `first`. With `countable`, a group without rows to count on is an
    error, which names all such groups. Without it, such a group's promises are included.

    >>> problem = Problem("error_rate()", ["equal_opportunity(sex, ratio=0.95)"])
    >>> people = Population(None, [1, 0, 1], columns={"sex": ["Male", "Female", None]})
    >>> print(spelled_out(problem, {"train": people}))
    minimize error_rate()
    subject to
      recall(sex == "Female") >= 0.95 * recall()
      recall(sex == "Male") >= 0.95 * recall()
    """
    classes = next((p.classes for p in populations.values() if p.classes is not None), ())
    each_class = [each for p in problem.subject_to for each in _each_class(p, classes)]
    if tuple(each_class) == problem.subject_to and not any(isinstance(p, Goal) for p in each_class):
        return problem
    promises: list[Promise] = []
    notices: list[str] = []
    left_out: list[LeftOut] = []
    for promise in each_class:
        if not isinstance(promise, Goal):
            promises.append(promise)
            continue
        name = promise.population
        if name not in populations:
            known = ", ".join(map(repr, populations))
            raise ValueError(
                f"{promise}: population {name!r} is not given, only {known}. Pass it as a keyword, "
                f"{name}=..., beside the first population"
            )
        try:
            values, small, told = _values(promise, populations[name], countable)
            promises += [
                each for c in promise.constraints(values) for each in of_every_class(c, classes)
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{promise}: population {promise.on or first!r}: {error}") from None
        notices += [f"{promise}: {notice}" for notice in told]
        left_out += [LeftOut(str(promise), group, rows) for group, rows in small]
    if notices:
        warnings.warn("\n".join(notices), UserWarning, stacklevel=3)
    return problem.promising(promises).leaving_out(left_out)


def _each_class(promise: Promise, classes: Classes) -> Sequence[Promise]:
    if isinstance(promise, Goal):
        return promise.of_every_class(classes)
    return of_every_class(promise, classes) if isinstance(promise, Constraint) else [promise]


@dataclass(frozen=True, eq=False)
class _Combinations:
    """The combinations of some columns' values that occur, in order."""

    names: tuple[Name, ...]
    of_each: list[list[Value | None]]  # the values of each column, None for missing
    values: list[tuple[Value | None, ...]]
    sizes: Array  # how many rows each is counted on, the fewest of any rate

    @property
    def possible(self) -> int:
        """The number of possible combinations."""
        return math.prod(map(len, self.of_each))

    def words(self, chosen: Sequence[int] | Array) -> str:
        return self._listed(self.values[index] for index in chosen)

    def absent_words(self) -> str:
        present = set(self.values)
        return self._listed(values for values in product(*self.of_each) if values not in present)

    def _listed(self, groups: Iterable[tuple[Value | None, ...]]) -> str:
        words = [str(group_of(self.names, values)) for values in islice(groups, GROUPS_NAMED + 1)]
        return ", ".join(words[:GROUPS_NAMED]) + (", ..." if len(words) > GROUPS_NAMED else "")


def _values(
    goal: Goal, population: Population, countable: bool
) -> tuple[dict[tuple[Name, ...], list[tuple[Value | None, ...]]], list[tuple[str, int]], list[str]]:
    """The values that are groups, for each set of columns that the goal crosses.

    Then the groups that are too small, with their rows, and sentences about what is left out.
    """
    values, too_small, notices = {}, list[tuple[str, int]](), []
    for names in goal.crossed:
        combinations = _combinations(goal, population, names)
        sizes = combinations.sizes
        kept = np.flatnonzero(sizes >= (goal.min_rows or 0))
        if not len(kept):
            raise ValueError(
                f"no group has {goal.min_rows:,} rows to count on: choose a smaller min_rows="
            )
        if len(kept) > MOST_GROUPS:
            raise ValueError(_too_many(names, len(kept)))
        empty = np.flatnonzero(sizes == 0)
        if countable and goal.min_rows is None and len(empty):
            rates = " and ".join(map(str, goal.rates))
            remedy = "min_rows=1 leaves such groups out, and a larger number small ones too"
            if isinstance(goal, EachValue):  # which takes no min_rows=
                of_largest = {names: [combinations.values[int(np.argmax(sizes))]]}
                remedy = (
                    f"write a promise for each of the others, as in {goal.constraints(of_largest)[0]}"
                )
            raise ValueError(f"no row to count {rates} on where {combinations.words(empty)}: {remedy}")
        if small := sorted(set(range(len(sizes))) - set(kept.tolist())):
            too_small += [(str(group_of(names, combinations.values[i])), int(sizes[i])) for i in small]
            few = f"fewer than {goal.min_rows:,} rows to count on"
            notices.append(f"{len(small):,} groups with {few} are left out: {combinations.words(small)}")
        if absent := combinations.possible - len(sizes):
            share = f"{absent:,} of {combinations.possible:,} combinations"
            notices.append(f"{share} have no row and are left out: {combinations.absent_words()}")
        values[names] = [combinations.values[index] for index in kept]
    return values, too_small, notices


def _too_many(names: tuple[Name, ...], count: int) -> str:
    if len(names) > 1:
        return (
            f"columns {', '.join(map(repr, names))} have {count:,} combinations, too many to be a group "
            f"each ({MOST_GROUPS} at most): leave out small ones with min_rows=, or group values "
            "into bands in new columns"
        )
    return (
        f"column {names[0]!r} holds {count:,} different values, too many to be a group each "
        f"({MOST_GROUPS} at most): list the important ones, as in {column_text(names[0])} in (...), "
        "leave out small ones with min_rows=, or group values into bands in a new column"
    )


def _combinations(goal: Goal, population: Population, names: tuple[Name, ...]) -> _Combinations:
    whole = is_whole(population)
    parts = (_counts(goal, rows, names, whole) for rows in population.pieces(_asked(goal, names)))
    counts = _added(of_all(population, _added(list(parts))))
    counts = {values: sizes for values, sizes in counts.items() if None not in values}
    if not counts:
        raise ValueError(f"no row has a value of {', '.join(map(repr, names))}")
    of_each = [sorted({values[place] for values in counts}, key=in_order) for place in range(len(names))]
    places = [{value: place for place, value in enumerate(values)} for values in of_each]
    order = sorted(counts, key=lambda values: [own[v] for own, v in zip(places, values, strict=True)])
    return _Combinations(names, of_each, order, np.array([counts[each].min() for each in order]))


def _asked(goal: Goal, names: tuple[Name, ...]) -> list[Name]:
    """The columns that determine the combinations, and the rows that rates count."""
    of_rates = (name for rate in _rates(goal) for name in (*spoken_of(rate.subset), rate.versus))
    return [*names, *(name for name in of_rates if name is not None)]


def _rates(goal: Goal) -> list[Rate]:
    return [rate for rate in goal.rates if rate.population == goal.population]


def _added(parts: Sequence[Counts]) -> Counts:
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: np.sum([part[key] for part in parts if key in part], axis=0) for key in keys}


def _counts(goal: Goal, rows: Population, names: tuple[Name, ...], whole: bool) -> Counts:
    """For each combination in these rows, how many rows each of the goal's rates is counted among.

    Values that a rate names may be absent from them, unless they are the `whole`.
    """
    values: list[tuple[Value | None, ...]] = [()]
    row = np.zeros(len(rows), dtype=np.int64)
    for name in names:
        held, place = _held(rows.values(name))
        codes, row = np.unique(row * len(held) + place, return_inverse=True)
        values = [(*values[code // len(held)], held[code % len(held)]) for code in codes.tolist()]
    mask, classes = masker(rows, absent=not whole), rows.classes or TWO
    counts = [np.bincount(row, minlength=len(values))]
    for each in (each for rate in _rates(goal) for each in rates_of_every_class(rate, classes)):
        for over in counted_over(each, classes):
            counts.append(np.bincount(row[mask(over) & (rows.row_weights > 0)], minlength=len(values)))
    return dict(zip(values, np.array(counts).T, strict=True))


def _held(read: ReadColumn) -> tuple[list[Value | None], Array]:
    """The distinct values of a column, with None last for missing; and the index of each row's value."""
    missing = read.missing
    if read.codes is None:
        held, codes = np.unique(read.values, return_inverse=True)
        listed, codes = held[held == held].tolist(), np.where(missing, -1, codes)
    else:
        listed, codes = read.values.tolist(), read.codes
    values: list[Any] = [plain_value(value) for value in listed]
    if missing.any() and all(isinstance(value, float) and value.is_integer() for value in values):
        values = list(map(int, values))  # tables store whole numbers with gaps as floats
    gap: list[Any] = [None] if missing.any() else []
    return [*values, *gap], np.where(codes < 0, len(values), codes)


def counting(problem: Problem, rows: Mapping[str, float]) -> Problem:
    """`problem` with every count out of this many `rows` of its population, unless it has its own.

    Counts of a population that is not in `rows` do not change. Neither do counts in a ratio in which the
    number of rows cancels.

    >>> problem = Problem("error_rate()", ["predicted_positives() <= 1800"])
    >>> print(counting(problem, {"train": 6000}))
    minimize error_rate()
    subject to
      predicted_positives(per=6000) <= 1800.0
    """

    def stated(rate: Rate) -> Rate:
        is_open = rate.per is None and rate.population in rows and (is_count(rate) or is_top_count(rate))
        return counted(rate, rows[rate.population]) if is_open else rate

    def stated_in(metric: Metric) -> Metric:
        if isinstance(metric, Expression):
            return metric.with_rates(stated)
        if isinstance(metric, Ratio) and not is_even(metric):
            return replace(
                metric,
                numerator=metric.numerator.with_rates(stated),
                denominator=metric.denominator.with_rates(stated),
            )
        if isinstance(metric, MixedSum):
            ratio = stated_in(metric.ratio)
            assert isinstance(ratio, Ratio)
            return MixedSum(ratio, metric.rest.with_rates(stated))
        if isinstance(metric, Top):
            return Top(stated(metric.rate))
        return metric

    def promise(constraint: Constraint) -> Constraint:
        right = constraint.right.with_rates(stated)
        return replace(constraint, left=stated_in(constraint.left), right=right)

    if all(rate.per is not None for rate in _counts_of(problem)):
        return problem
    return problem.derived(stated_in(problem.objective), map(promise, problem.constraints))


def rows_counted(problem: Problem) -> dict[str, float]:
    """The number of rows that the counts of each population are out of, if they agree."""
    stated: dict[str, set[float]] = {}
    for rate in _counts_of(problem):
        if rate.per is not None:
            stated.setdefault(rate.population, set()).add(rate.per)
    return {name: rows.pop() for name, rows in stated.items() if len(rows) == 1}


def _counts_of(problem: Problem) -> Iterator[Rate]:
    """Every count in the problem."""
    for demand in problem.demands:
        if not demand.per_row:
            yield from filter(is_count, demand.expression.rates)
    yield from filter(is_count, problem.objective.rates)
