"""A promise as a sum of means: rates that are shares of the same rows are one mean over those rows.

What a promise leaves as room is `constant + Σ mean`, kept where it is at least 0. What a row can add
to a mean is known from the words, and often it is one of two values; then the mean is a proportion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ratebound.auditing.tally import Countable, Tally, counted, over_of, scale
from ratebound.base.types import Array
from ratebound.certifying._row_kinds import RowKinds, row_kinds
from ratebound.rates.costs import cost_columns, largest_cost
from ratebound.rates.demands import form_of, unscaled
from ratebound.rates.expressions import Expression
from ratebound.rates.kinds import Classes
from ratebound.rates.parities import Parity
from ratebound.rates.rate import Rate

ROUNDING = 1e-9  # of values that are sums of a few coefficients


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
        """Of the mean, from the rows; weights make a ratio of it."""
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
    def successes(self) -> int:
        """Of a proportion: rows with the larger value."""
        return self.count(self.values > self.possible.mean())


def means(tally: Tally, expression: Expression) -> list[Mean]:
    """The means that a sum of rates is made of, population by population."""
    found = []
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
        found += [_mean(tally, name, own, kinds) for _, own in sets]
    return found


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
    sign, found = 1.0 if parity.relation == ">=" else -1.0, []
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
        found.append(_made(tally, name, possible, of_kinds, inside, values))
    return found


def unbounded(rate: Rate) -> str:
    """Why what a row can add is not known from the words; nothing where it is."""
    columns = cost_columns(rate)
    if not columns:
        return ""
    return (
        f"{rate} has no largest value that is known before the rows, since column {columns[0]!r} may "
        "hold any amount"
    )


def same_once(values: Array) -> Array:
    """The values in order, those that differ by rounding once; 0 is exactly 0."""
    size = ROUNDING * max(1.0, float(np.abs(values).max(initial=0.0)))
    ordered = np.unique(np.where(np.abs(values) < size, 0.0, values))
    return ordered[np.append(True, np.diff(ordered) > size)]
