"""The least room of a promise over all groupings that are possible given guesses and audited rows.

Rows with the same guess that a promise counts alike are a *stratum*. Its audited rows give an interval
for the number of rows of each true group among the others. The interval is exact: audited rows are drawn
from the stratum without replacement. The error probability is divided equally among strata and groups,
so all intervals hold at once. Any grouping within the intervals is possible. With m the rows of a
stratum in a group, a rate is

    Σ m(stratum, group) counted(stratum, group) / Σ m(stratum, group) over(stratum, group)

and its least value is a linear-fractional program. Dinkelbach's method solves a sequence of linear
programs, min Σ m (counted - t over), each of which separates into strata: shares that sum to one, within
bounds, are filled up from the cheapest group on. A promise about several rates takes each at its worst,
which is conservative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ratebound._old.auditing.tally import Lines, Tally, at_of, total
from ratebound._old.base.types import Array
from ratebound._old.problem.guessing import guess_of
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.values import ReadColumn
from ratebound._old.rates.expressions import FIRST, Constraint, Expression, Rate
from ratebound._old.rates.guesses import Guessed, speaks_of
from ratebound._old.rates.kinds import ANY, YES, Classes, atoms, is_cost, is_count
from ratebound._old.rates.subsets import Compare, In, Missing, Name, Subset, Value, columns_in, holds

STEPS = 100  # of Dinkelbach's method, at most; it needs a few


def least_room(
    promise: object, each: Guessed, tally: Tally, confidence: float, times: float = 1.0
) -> float | None:
    """The least room of a promise over all groupings that are possible; None if it is not known.

    It holds for the audited rows, with this confidence. With `times`, that many times as many rows are
    taken to be audited, with the same share of every group.
    """
    if not isinstance(promise, Constraint) or not isinstance(promise.left, Expression):
        return None
    if not speaks_of(promise, each.column) or tally.weighted or not tally.model.deterministic:
        return None
    room = promise.left - promise.right
    room = room if promise.relation == ">=" else -room
    named = [(rate, c) for rate, c in room.terms if each.column in columns_in(rate.subset)]
    if any(is_count(rate) or is_cost(rate) for rate, _ in named):
        return None
    if len({rate.population for rate, _ in named}) > 1:
        return None
    lines = tally[named[0][0].population]
    guess = guess_of(each)
    if guess not in lines.people.columns:
        return None
    values = _values(lines, each.column)
    sides = [_sides(lines, rate, each.column, values, tally.classes) for rate, _ in named]
    strata = _strata(lines, guess, each.column, values, sides, confidence, times)
    known = Expression(tuple(term for term in room.terms if term not in named), room.constant)
    least = total(tally, known)
    for place, (_, c) in enumerate(named):
        sign = 1.0 if c > 0 else -1.0
        value = lowest(
            strata.fixed,
            strata.open,
            strata.low,
            strata.high,
            sign * strata.counted[place],
            strata.over[place],
        )
        if value is None:
            return None
        least += abs(c) * value
    return least


def audits_needed(promise: object, each: Guessed, tally: Tally, confidence: float) -> int | None:
    """How many rows must be audited in all for a promise to be kept in the worst case.

    Every group is taken to have the same share among them as among the audited rows. None if the promise
    would be broken even if all rows were audited.
    """
    lines = next(own for own in tally.lines.values() if guess_of(each) in own.people.columns)
    rows, audited = lines.size, int(lines.rows[~lines.people.values(each.column).missing].sum())

    def kept(times: float) -> bool:
        room = least_room(promise, each, tally, confidence, times)
        return room is not None and room >= 0

    few, many = 1.0, rows / audited
    if not kept(many):
        return None
    while (many - few) * audited > max(1.0, 0.02 * many * audited):
        middle = (few + many) / 2
        few, many = (few, middle) if kept(middle) else (middle, many)
    return math.ceil(many * audited)


def told_by_guesses(problem: Problem, people: Mapping[str, Population]) -> list[Rate]:
    """Rates that distinguish rows by guess and true group, if some true groups are known."""
    rates = []
    for each in problem.guessed:
        guess = guess_of(each)
        for name, rows in people.items():
            if guess in rows.columns:
                on = None if name == FIRST else name
                columns = (guess, each.column)  # a promise may name only some of the groups
                named = [Compare(c, "==", value) for c in columns for value in _held(rows.values(c))]
                rates += [Rate("predicted_positives", group, on) for group in named]
    return rates


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows that a promise counts alike and that have the same guess."""

    fixed: Array  # (S, G) audited rows of each group
    open: Array  # (S,) rows that were not audited
    low: Array  # (S, G) the least share of them in each group
    high: Array  # (S, G) the largest share
    counted: Array  # (R, S, G) what a rate counts for a row if it is in the group
    over: Array  # (R, S, G) whether the rate is a share of such rows


def _strata(
    lines: Lines,
    guess: Name,
    column: Name,
    values: Sequence[Value],
    sides: Sequence[tuple[Array, Array]],
    confidence: float,
    times: float,
) -> Strata:
    counted = np.stack([each for each, _ in sides])  # (R, k, G)
    over = np.stack([each for _, each in sides])
    codes = _codes(lines, guess)
    keys = np.column_stack(
        [codes, *(np.concatenate([counted, over]).transpose(1, 0, 2).reshape(len(lines), -1).T)]
    )
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    true = lines.people.values(column)
    fixed = np.stack(
        [np.bincount(place, lines.rows * true.equal(value), len(first)) for value in values], axis=1
    )
    unknown = np.bincount(place, lines.rows * true.missing, len(first))
    audited = fixed.sum(axis=1)
    more = np.minimum(times, 1.0 + unknown / np.maximum(audited, 1.0))  # at most all rows of a stratum
    fixed, audited, unknown = (
        fixed * more[:, None],
        audited * more,
        np.maximum(unknown - audited * (more - 1.0), 0.0),
    )
    each = 1.0 - (1.0 - confidence) / fixed.size
    low, high = shares_of_rest(fixed, unknown[:, None], each)
    return Strata(fixed, unknown, low, high, counted[:, first], over[:, first])


def shares_of_rest(audited: Array, rest: Array, confidence: float) -> tuple[Array, Array]:
    """The least and the largest share (S, G) of each group among rows that were not audited.

    `audited` (S, G) counts the rows of each group drawn from a stratum without replacement, and `rest`
    (S, 1) the rows not drawn. A share is possible if both tails at the audited number of the group's
    rows have more than half of the error probability.

    >>> low, high = shares_of_rest(np.array([[10.0, 30.0]]), np.array([[40.0]]), 0.9)
    >>> (40 * low).round(), (40 * high).round()  # of the 40 others, how many are of each group
    (array([[ 4., 22.]]), array([[18., 36.]]))
    """
    from scipy.stats import hypergeom

    drawn = np.round(audited)
    others = np.round(rest) + np.zeros_like(drawn)
    sample, tail = drawn.sum(axis=1, keepdims=True) + np.zeros_like(drawn), (1.0 - confidence) / 2

    def so_many(
        more: Array,
    ) -> Array:  # likely enough if `more` of the others are in the group
        return 1.0 - hypergeom.cdf(drawn - 1, sample + others, drawn + more, sample) > tail

    def so_few(more: Array) -> Array:
        return np.asarray(hypergeom.cdf(drawn, sample + others, drawn + more, sample) > tail)

    least, most = np.zeros_like(drawn), others.copy()
    ends = []
    for possible in (so_many, lambda more: ~so_few(more + 1)):  # the first number for which it is true
        below, above = least.copy(), most.copy()
        while (below < above).any():
            middle = np.floor((below + above) / 2)
            yes = possible(middle)
            below, above = (
                np.where(yes, below, np.minimum(middle + 1, above)),
                np.where(yes, middle, above),
            )
        ends.append(above / np.maximum(others, 1.0))
    return ends[0], ends[1]


def lowest(
    fixed: Array, free: Array, low: Array, high: Array, counted: Array, over: Array
) -> float | None:
    """The least of Σ m counted / Σ m over, where m (S, G) is `fixed` plus shares of the `free` rows.

    The shares of a stratum sum to one and lie between `low` and `high` (S, G). None if the denominator
    can be zero.

    >>> one, none = np.ones((2, 1)), np.zeros((2, 1))
    >>> counted = np.array([[1.0, 0.0], [0.0, 0.0]])  # two strata, of which the first is counted
    >>> over = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> bounds = np.full((2, 2), 0.25), np.full((2, 2), 0.75)
    >>> round(lowest(np.zeros((2, 2)), np.array([100.0, 100.0]), *bounds, counted, over), 3)
    0.25
    """

    def made(shares: Array) -> tuple[float, float]:
        rows = fixed + free[:, None] * shares
        return float((rows * counted).sum()), float((rows * over).sum())

    if made(_cheapest(low, high, over))[1] <= 0:
        return None
    level = np.inf
    shares = _cheapest(low, high, counted)
    for _ in range(STEPS):
        above, below = made(shares)
        if above / below >= level - 1e-12:
            break
        level = above / below
        shares = _cheapest(low, high, counted - level * over)
    return float(level)


def _cheapest(low: Array, high: Array, cost: Array) -> Array:
    """Shares (S, G) between `low` and `high` that sum to one and cost least, stratum by stratum."""
    order = np.argsort(cost, axis=1, kind="stable")
    least, most = (np.take_along_axis(each, order, axis=1) for each in (low, high))
    left = np.maximum(1.0 - least.sum(axis=1), 0.0)
    added = np.zeros_like(least)
    for place in range(least.shape[1]):
        added[:, place] = np.minimum(most[:, place] - least[:, place], left)
        left = left - added[:, place]
    shares = np.empty_like(least)
    np.put_along_axis(shares, order, least + added, axis=1)
    return shares


def _values(lines: Lines, column: Name) -> list[Value]:
    """The true groups that occur."""
    return _held(lines.people.values(column))


def _held(read: ReadColumn) -> list[Value]:
    present = read.values if read.codes is not None else np.unique(read.values[~read.missing])
    return list(present.tolist())


def _codes(lines: Lines, guess: Name) -> Array:
    read = lines.people.values(guess)
    if read.codes is not None:
        return read.codes
    return np.unique(read.values, return_inverse=True)[1]


def _sides(
    lines: Lines, rate: Rate, column: Name, values: Sequence[Value], classes: Classes
) -> tuple[Array, Array]:
    """What a rate counts for each line, and whether it is a share of it, for each group, (k, G)."""
    counted, over = np.zeros((len(lines), len(values))), np.zeros((len(lines), len(values)))
    parts = atoms(rate, classes)
    for place, value in enumerate(values):
        inside = _were_it(lines, column, value)
        for atom in parts:
            yes = lines.chance(at_of(rate), atom.of)
            times = 1.0 if atom.predicted is ANY else yes if atom.predicted is YES else 1.0 - yes
            counted[:, place] += atom.factor * inside(atom.given) * times
        assert parts[0].over is not None
        over[:, place] = inside(parts[0].over)
    return counted, over


def _were_it(lines: Lines, column: Name, value: Value) -> Callable[[Subset], Array]:
    """Which lines would be in a subset if all of them had this value in `column`."""

    def leaf(condition: Subset) -> Array:
        if isinstance(condition, Compare | In | Missing) and condition.column == column:
            return np.full(len(lines), _meets(condition, value))
        return lines.inside(condition)

    return lambda subset: np.broadcast_to(holds(subset, leaf), len(lines))


def _meets(condition: Subset, value: Value) -> bool:
    if isinstance(condition, In):
        return value in condition.values
    if isinstance(condition, Missing):
        return False
    assert isinstance(condition, Compare)
    other, relation = condition.value, condition.relation
    if relation in ("==", "!="):
        return (value == other) == (relation == "==")
    order = {"<": value < other, "<=": value <= other, ">": value > other, ">=": value >= other}  # type: ignore[operator]
    return bool(order[relation])
