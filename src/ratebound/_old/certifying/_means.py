"""A promise as a sum of means: rates that are shares of the same rows are one mean over those rows.

The room of a promise is `constant + Σ mean`, and the promise is kept if it is at least 0. The promise's
text determines what a row can add to a mean. Often that is one of two values; then the mean is a
proportion.

Two groups count as disjoint or nested only if their conditions imply it, never because a sample happens
to look so. So every combination of truth values that the conditions allow is listed: a row has one value
in a column, passes a low threshold if it passes a high one, has one label, and gets one decision.
Whatever the conditions do not exclude is treated as possible.

What a condition means is decided by the column and not by its letters: `"2024-10-1"` comes after
`"2024-2-1"` among dates and before it among texts. So values are ordered as the column reads them, by
every order that it might have if no column is given, and each combination that a row has is possible.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ratebound._old.auditing.tally import Countable, Lines, Tally, at_of, counted, over_of, scale
from ratebound._old.base.dates import DateOrder, read_dates
from ratebound._old.base.types import Array
from ratebound._old.problem.masks import patterns
from ratebound._old.problem.values import Comparable
from ratebound._old.rates.costs import cost_columns, largest_cost
from ratebound._old.rates.demands import form_of, unscaled
from ratebound._old.rates.expressions import Expression, Rate
from ratebound._old.rates.kinds import Classes, atoms
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import Compare, In, Missing, Name, Subset, Value, holds, leaves

ROUNDING = 1e-9  # of values that are sums of a few coefficients
MOST_COMBINATIONS = 200_000  # combinations; where the words allow more, nothing is concluded from them
ORDERS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
Answer = tuple[float | str, Value | None]  # a threshold, and the class that is decided there
Said = dict[object, bool]  # what holds of one row
DATES: tuple[DateOrder, ...] = ("ymd", "dmy", "mdy")


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of what rows of one set add to the room."""

    population: str
    beside: frozenset[str]  # populations of other rows, which are drawn independently
    possible: Array  # the values that a row can have, by the words; sorted
    over_kinds: Array | None  # (kinds,) which kinds of row are in the set; None if they are too many
    value_kinds: Array | None  # (kinds,) what each kind of row would add
    inside: Array  # (n,) bool, the rows of the set
    values: Array  # (rows,) what they add
    weights: Array | None  # (rows,) None where all rows count the same
    times: Array  # (rows,) how many rows alike each stands for
    order: Array | None  # (n,) which of these each row is, in the order of the rows, if that is known
    decided: bool  # whether each row is decided; otherwise its value is an expectation over members

    @property
    def low(self) -> float:
        return float(self.possible[0])

    @property
    def reach(self) -> float:
        """Between the least and the largest value that a row can have."""
        return float(self.possible[-1] - self.possible[0])

    @cached_property
    def rows(self) -> int:
        """How many rows are in the set."""
        return int(self.times.sum())

    @cached_property
    def row_weights(self) -> Array:
        """What each of the rows counts, (rows,)."""
        return np.ones(len(self.values)) if self.weights is None else self.weights

    @cached_property
    def mean(self) -> float:
        return float(np.average(self.values, weights=self.times * self.row_weights))

    @cached_property
    def variance(self) -> float:
        """The variance of the mean, from the rows; with weights the mean is a ratio."""
        weights = self.times * self.row_weights
        squares = weights * self.row_weights
        return float(squares @ (self.values - self.mean) ** 2 / weights.sum() ** 2)

    def deviation_at(self, rate: float) -> float:
        """What the mean would be off by, were its rate this one."""
        weights = self.times * self.row_weights
        equal_rows = float(weights.sum() ** 2 / (weights @ self.row_weights))
        return self.reach * float(np.sqrt(rate * (1 - rate) / equal_rows))

    def count(self, chosen: Array) -> int:
        """How many rows are `chosen` (rows,)."""
        return int(self.times[chosen].sum())

    @cached_property
    def binary(self) -> bool:
        """Whether it is a proportion of rows that count the same, each one decided."""
        return self.weights is None and self.decided and len(self.possible) == 2

    @cached_property
    def ternary(self) -> bool:
        """Whether rows count the same, each one decided, and add one of three values."""
        return self.weights is None and self.decided and len(self.possible) == 3

    @cached_property
    def successes(self) -> int:
        """For a proportion, the rows with the larger value."""
        return self.count(self.values > self.possible.mean())


def means(tally: Tally, expression: Expression) -> list[Mean]:
    """The means that a sum of rates is made of, population by population."""
    parts = []
    for name in dict.fromkeys(rate.population for rate in expression.rates):
        terms = [(r, c * scale(tally, r)) for r, c in expression.terms if r.population == name]
        kinds = row_kinds([rate for rate, _ in terms], tally.classes, tally[name])
        sets: list[tuple[Array | object, list[tuple[Rate, float]]]] = []
        for term in terms:
            subset = over_of(term[0], tally.classes)
            over = subset if kinds is None else kinds.inside(subset)
            same = [own for place, own in sets if np.array_equal(np.asarray(place), np.asarray(over))]
            if same:
                same[0].append(term)
            else:
                sets.append((over, [term]))
        parts += [_mean(tally, name, own, kinds) for _, own in sets]
    return parts


def _mean(tally: Tally, name: str, terms: Sequence[tuple[Rate, float]], kinds: RowKinds | None) -> Mean:
    lines, over = tally[name], over_of(terms[0][0], tally.classes)
    inside = lines.inside(over) & (lines.weight > 0)
    values = _added(lines, terms, tally.classes)[inside]
    if kinds is None:
        most = [c * (largest_cost(rate) or 1.0) for rate, c in terms]
        low, high = (sum(end(c, 0.0) for c in most) for end in (min, max))
        possible = np.linspace(low, high, 4)  # any value between them, never taken for a proportion
        return _made(tally, name, possible, None, inside, values)
    of_kinds = kinds.inside(over), _added(kinds, terms, tally.classes)
    return _made(tally, name, same_once(of_kinds[1][of_kinds[0]]), of_kinds, inside, values)


def _added(rows: Countable, terms: Sequence[tuple[Rate, float]], classes: Classes) -> Array:
    """What each row adds to a sum of rates, (n,)."""
    added: Array = np.sum([c * counted(rows, rate, classes) for rate, c in terms], axis=0)
    return added


def _made(
    tally: Tally,
    name: str,
    possible: Array,
    of_kinds: tuple[Array, Array] | None,
    inside: Array,
    values: Array,
) -> Mean:
    lines = tally[name]
    weight, order = lines.weight, lines.place
    if order is not None:
        order = (np.cumsum(inside) - 1)[order[inside[order]]]
    return Mean(
        population=name,
        beside=frozenset(n for n in tally.lines if not tally.same_rows(name, n)),
        possible=possible,
        over_kinds=None if of_kinds is None else of_kinds[0],
        value_kinds=None if of_kinds is None else of_kinds[1],
        inside=inside,
        values=values,
        weights=weight[inside] if lines.weighted and np.ptp(weight[weight > 0]) > 0 else None,
        times=lines.rows[inside],
        order=order,
        decided=tally.model.deterministic,
    )


def proportions(tally: Tally, parity: Parity) -> list[Mean] | None:
    """Both sides of a promise about two proportions, as means over the rows that each is of.

    Given which rows these are, those above the line are a proportion of them, as of precision among the
    yeses. So the room is a sum of two means. None of other ratios, and if decisions are expectations.
    """
    sign, sides = 1.0 if parity.relation == ">=" else -1.0, []
    ratios, classes = (parity.left, parity.right), tally.classes
    counts = [rate for r in ratios for part in (r.numerator, r.denominator) for rate in part.rates]
    for side, ratio in ((sign, parity.left), (-sign, parity.right)):
        times, plain = unscaled(ratio)
        if form_of(plain) != "proportion" or not tally.model.deterministic:
            return None
        name = plain.denominator.rates[0].population
        lines, below = tally[name], plain.denominator.terms
        above = [(rate, side * times * c) for rate, c in plain.numerator.terms]
        kinds = row_kinds([r for r in counts if r.population == name], classes, lines)
        inside = (_added(lines, below, classes) > 0) & (lines.weight > 0)
        values = _added(lines, above, classes)[inside]
        of_kinds = None
        if kinds is not None:
            of_kinds = _added(kinds, below, classes) > 0, _added(kinds, above, classes)
        possible = np.sort([0.0, side * times])
        sides.append(_made(tally, name, possible, of_kinds, inside, values))
    return sides


def unbounded(rate: Rate) -> str:
    """Why the promise's text does not determine what a row can add, or an empty text."""
    columns = cost_columns(rate)
    if not columns:
        return ""
    return (
        f"{rate} has no largest value that is known before the rows, since column {columns[0]!r} may "
        "hold any amount"
    )


def same_once(values: Array) -> Array:
    """The values in order, without duplicates up to rounding; 0 is exactly 0."""
    size = ROUNDING * max(1.0, float(np.abs(values).max(initial=0.0)))
    ordered = np.unique(np.where(np.abs(values) < size, 0.0, values))
    return ordered[np.append(True, np.diff(ordered) > size)]


# --- which rows are possible -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Every kind of row: whether it meets each condition, and what is decided at each threshold."""

    classes: Classes
    conditions: dict[Subset, Array]  # (kinds,) bool
    decisions: dict[Answer, Array]  # (kinds,) bool, whether it is given

    def __len__(self) -> int:
        return len(next(iter(self.decisions.values())))

    def inside(self, subset: Subset) -> Array:
        """Which kinds of row are in a subset, (kinds,) bool."""
        held = holds(subset, self.conditions.__getitem__)
        return np.broadcast_to(np.asarray(held, dtype=bool), (len(self),))

    def chance(self, at: float | str, of: Value | None) -> Array:
        """Which kinds of row are decided as a class at a threshold, (kinds,)."""
        return self.decisions[at, of].astype(float)

    def amounts(self, column: Name) -> Array:
        """What errors cost by a column is not known from the words."""
        raise ValueError(f"column {column!r} may hold any amount")


def row_kinds(rates: Sequence[Rate], classes: Classes, lines: Lines | None = None) -> RowKinds | None:
    """The kinds of row that `rates`, of one population, can tell apart; None if they are too many.

    Without the `lines` of its rows, it is not known how columns read what conditions name.

    >>> from ratebound._old import recall
    >>> female, male = recall(sex="Female").rates + recall(sex="Male").rates
    >>> kinds = row_kinds([female, male], (False, True))
    >>> both = female.subset & male.subset
    >>> bool(kinds.inside(both).any())
    False
    """
    pairs = [(rate, atom) for rate in rates for atom in atoms(rate, classes)]
    sets = (subset for _, atom in pairs for subset in (atom.given, atom.over) if subset is not None)
    conditions = list(dict.fromkeys(leaf for subset in sets for leaf in leaves(subset)))
    columns: dict[Name, list[Compare | In | Missing]] = {}
    said: dict[object, list[Subset]] = {}  # by labels, and by each existing model
    for condition in conditions:
        if isinstance(condition, Compare | In | Missing):
            columns.setdefault(condition.column, []).append(condition)
        else:
            said.setdefault(getattr(condition, "versus", None), []).append(condition)
    answers = list(dict.fromkeys((at_of(rate), atom.of) for rate, atom in pairs))
    axes = [_values(each, lines) for each in columns.values()]
    axes += [_one_of(each, len(classes)) for each in said.values()]
    axes += _decided(answers, len(classes))
    if float(np.prod([float(len(axis)) for axis in axes])) > MOST_COMBINATIONS:
        return None
    rows = list(product(*axes))
    truth = {key: np.array([part[key] for part in parts]) for parts in zip(*rows, strict=True)
             for key in parts[0]}  # fmt: skip
    return RowKinds(
        classes,
        {condition: truth[condition] for condition in conditions},
        {answer: truth[answer] for answer in answers},
    )


def _decided(answers: Sequence[Answer], classes: int) -> list[list[Said]]:
    """What may be decided of one row; of several classes, at each threshold by itself."""
    if classes == 2:
        return [_thresholds(answers)]
    by_threshold: dict[float | str, list[Answer]] = {}
    for answer in answers:
        by_threshold.setdefault(answer[0], []).append(answer)
    return [_one_of(each, classes) for each in by_threshold.values()]


def _one_of(keys: Sequence[Any], classes: int) -> list[Said]:
    """The possible truth values of one row: it has each key's class or not, and at most one class.

    >>> _one_of(["cat", "dog"], 2)
    [{'cat': True, 'dog': False}, {'cat': False, 'dog': True}]
    """
    chosen = [*([None] if len(keys) < classes else []), *keys]
    return [{key: key == one for key in keys} for one in chosen]


def _values(conditions: Sequence[Compare | In | Missing], rows: Lines | None) -> list[Said]:
    """The truth of the conditions on one column for each value it may hold, and for a missing one."""
    compared = [c for c in conditions if not isinstance(c, Missing)]
    named = list({v: None for c in compared for v in (c.values if isinstance(c, In) else (c.value,))})
    in_order = any(isinstance(c, Compare) and c.relation not in ("==", "!=") for c in compared)
    seen: list[Said] = []
    if rows is None:
        readings = _readings(named)
    else:
        readings = [{value: rows.read(conditions[0].column, value, in_order) for value in named}]
        masks = [rows.inside(condition) for condition in conditions]
        seen = [
            {condition: bool(mask[row]) for condition, mask in zip(conditions, masks, strict=True)}
            for row in patterns(masks, len(rows))[0]
        ]
    possible = [kind for reading in readings for kind in _placed(conditions, reading, in_order)]
    lacking: Said = {
        c: isinstance(c, Missing) or (isinstance(c, Compare) and c.relation == "!=") for c in conditions
    }
    return _once([*possible, lacking, *seen])


def _placed(
    conditions: Sequence[Compare | In | Missing], read: dict[Value, Comparable], in_order: bool
) -> list[Said]:
    """The truth of the conditions for each value that is not missing, given how named values are read.

    Values differ only by their place in the order: at a named value, or between two of them.
    """
    ordered = sorted(set(read.values()), key=lambda value: (isinstance(value, str), value))
    place = {value: 2 * index + 1 for index, value in enumerate(ordered)}

    def said(condition: Compare | In | Missing, at: int) -> bool:
        if isinstance(condition, Missing):
            return False
        if isinstance(condition, In):
            return any(place[read[value]] == at for value in condition.values)
        return bool(ORDERS[condition.relation](at, place[read[condition.value]]))

    places = range(2 * len(ordered) + 1) if in_order else [0, *place.values()]
    return [{c: said(c, at) for c in conditions} for at in places]


def _readings(named: Sequence[Value]) -> list[dict[Value, Comparable]]:
    """All that the named values may be to a column that is not known yet: as they stand, or dates.

    >>> len(_readings(["a", 1])), len(_readings(["2024-2-1", "2024-10-1"]))
    (1, 2)
    """
    readings: list[dict[Value, Comparable]] = [{value: value for value in named}]
    texts = [value for value in named if isinstance(value, str)]
    for order in DATES if texts and len(texts) == len(named) else ():
        reading: dict[Value, Comparable] = {}
        reading.update(zip(texts, read_dates(texts, order).tolist(), strict=True))
        if None not in reading.values() and reading not in readings:
            readings.append(reading)
    return readings


def _once(said: Sequence[Said]) -> list[Said]:
    return list({tuple(each.values()): each for each in said}.values())


def _thresholds(answers: Sequence[Answer]) -> list[Said]:
    """What may be decided of two classes: a score that passes a number passes those below it."""
    numbers = sorted(at for at, _ in answers if not isinstance(at, str))
    names = [at for at, _ in answers if isinstance(at, str)]
    possible: list[Said] = []
    for count in range(len(numbers) + 1):
        for learned in product((False, True), repeat=len(names)):
            said: Said = {(at, None): i < count for i, at in enumerate(numbers)}
            said.update({(at, None): yes for at, yes in zip(names, learned, strict=True)})
            possible.append(said)
    return possible
