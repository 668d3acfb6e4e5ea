"""What a promise asks of a stream of rows: numbers whose mean is at most 0 where it is kept.

A promise is a sum of means over sets of rows. Over one set, each of its rows gives such a number. Over
two sets, one within the other or apart from it, each row of either gives one, if the share of the first
set is known; `_wealth.py` does without. Over any other sets, the next row of each makes a block: the sum
over a block has the right mean, and rows that a block has no place for are lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ratebound.auditing.decided import over_of
from ratebound.auditing.measure import chance
from ratebound.base.types import Array
from ratebound.certifying._means import unbounded
from ratebound.certifying._row_kinds import RowKinds, row_kinds
from ratebound.certifying._wealth import Range
from ratebound.rates.costs import largest_cost
from ratebound.rates.demands import Demand, demands
from ratebound.rates.expressions import Area, Constraint
from ratebound.rates.kinds import TWO, Classes, atoms, is_count
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Subset, Value

Kind = Literal["one set", "within", "apart", "blocks"]


class Unwatchable(ValueError):
    """A promise that no monitor can watch, whatever it is told."""


@dataclass(frozen=True)
class Batch:
    """Rows of a stream, in the order in which they came."""

    size: int
    mask: Callable[[Subset], Array]  # from a subset to the rows in it, (n,) bool
    said: Callable[[Value | None], Array]  # from a class to the rows decided so; of two, None is yes


@dataclass(frozen=True)
class Part:
    """A sum of rates that are shares of one set of rows."""

    over: Subset
    terms: tuple[tuple[Rate, float], ...]
    ends: tuple[float, float]  # the least and the most that a row of the set can add

    def values(self, batch: Batch, classes: Classes) -> Array:
        """What each row adds, (n,), if it is in the set."""
        found = np.zeros(batch.size)
        for rate, coefficient in self.terms:
            found += coefficient * counted(rate, batch, classes)
        return found


@dataclass(frozen=True)
class Draws:
    """How the rows of a population become numbers."""

    kind: Kind
    parts: tuple[Part, ...]  # of two sets, the one within the other is the first
    constant: float
    population: str
    classes: Classes

    @property
    def range(self) -> Range:
        """Between which ends the numbers lie, as `_wealth` has them."""
        ends = [part.ends for part in self.parts]
        if self.kind in ("one set", "blocks"):
            low, high = (sum(end) + self.constant for end in zip(*ends, strict=True))
            return Range((0.0, 0.0), (-high, -low), two_sets=False)
        own, (low, high) = ends
        other = -high - self.constant, -low - self.constant
        if self.kind == "apart":
            other = min(other[0], own[0]), max(other[1], own[1])
        return Range(own, other, two_sets=True)


Block = tuple[float | None, ...]  # what the row of each set adds; None where it is still to come


def draws_of(constraint: Constraint, classes: Classes = TWO) -> Draws:
    """How a promise is watched; refused where decisions alone cannot tell, with the reason.

    >>> from ratebound import precision, recall
    >>> draws_of(precision() >= 0.8).kind, draws_of(recall(sex="Female") >= 0.9 * recall()).kind
    ('one set', 'within')
    """
    if isinstance(constraint.left, Area):
        raise Unwatchable(
            f"the promise {constraint} cannot be watched: an area is about scores, and a monitor sees "
            "decisions. Audit it, or promise recall() and false_positive_rate() instead"
        )
    (demand,) = demands(constraint)
    rates = demand.expression.rates
    populations = {rate.population for rate in rates}
    if len(populations) > 1:
        raise Unwatchable(
            f"the promise {constraint} cannot be watched: it compares the populations "
            f"{', '.join(sorted(populations))}, whose rows come in no common order. Audit it instead"
        )
    _check_rates(demand)
    kinds = row_kinds(rates, classes)
    kind, parts = _arranged(_parts(demand, kinds, classes), kinds)
    return Draws(kind, parts, demand.expression.constant, populations.pop(), classes)


def numbers(
    draws: Draws, batch: Batch, block: Block | None
) -> tuple[Array, tuple[Array, Array, Array], Block | None]:
    """The rows that give numbers, those numbers (inside, own, other), and the block left open."""
    inside = [batch.mask(part.over) for part in draws.parts]
    values = [part.values(batch, draws.classes) for part in draws.parts]
    if draws.kind == "blocks":
        at, totals, block = _blocks(inside, values, draws.constant, block)
        return at, (np.zeros(len(at)), np.zeros(len(at)), -totals), block
    if draws.kind == "one set":
        totals = values[0] + draws.constant
        at = np.flatnonzero(inside[0] & (totals != 0))
        return at, (np.zeros(len(at)), np.zeros(len(at)), -totals[at]), None
    at = np.flatnonzero(inside[0] | inside[1])
    small, own = inside[0][at], values[0][at]
    other = -values[1][at] - draws.constant
    if draws.kind == "apart":
        other = np.where(small, own, other)
    return at, (small.astype(float), np.where(small, own, 0.0), other), None


def counted(rate: Rate, batch: Batch, classes: Classes) -> Array:
    """How often each row is counted by the rate, (n,)."""
    found = np.zeros(batch.size)
    for atom in atoms(rate, classes):
        found += atom.factor * (batch.mask(atom.given) * chance(atom, batch.said))
    return found


def _check_rates(demand: Demand) -> None:
    """Raise where a rate needs scores, or counts out of nobody knows how many rows."""
    for rate in demand.expression.rates:
        if rate.at not in (None, 0):
            raise Unwatchable(
                f"the promise {demand.words} cannot be watched: {rate} is taken at a threshold, which "
                "needs scores, and a monitor sees decisions. Audit it instead"
            )
        if why := unbounded(rate):
            raise Unwatchable(f"the promise {demand.words} cannot be watched: {why}. Audit it instead")
        if is_count(rate) and rate.per is None and not demand.per_row:
            raise Unwatchable(
                f"the promise {demand.words} cannot be watched: say out of how many rows it counts, as "
                f"in {rate.kind}(per=1000)"
            )


def _parts(demand: Demand, kinds: RowKinds | None, classes: Classes) -> list[Part]:
    """The demand's rates by the rows that they are shares of."""
    found: dict[Subset, list[tuple[Rate, float]]] = {}
    for rate, coefficient in demand.expression.terms:
        over = rate.subset if demand.per_row else over_of(atoms(rate, classes)[0])
        times = rate.per or 1.0
        found.setdefault(over, []).append((rate, coefficient * times))
    return [Part(over, tuple(terms), _ends(terms, kinds)) for over, terms in found.items()]


def _ends(terms: list[tuple[Rate, float]], kinds: RowKinds | None) -> tuple[float, float]:
    """The least and the most that a row can add, among those that the words allow."""
    if kinds is None:
        signed = [coefficient * (largest_cost(rate) or 1.0) for rate, coefficient in terms]
        return sum(min(c, 0.0) for c in signed), sum(max(c, 0.0) for c in signed)
    inside = kinds.over(terms[0][0])
    added = sum((c * kinds.counted(rate) for rate, c in terms), np.zeros(len(inside)))[inside]
    return float(added.min()), float(added.max())


def _arranged(parts: list[Part], kinds: RowKinds | None) -> tuple[Kind, tuple[Part, ...]]:
    if len(parts) == 1:
        return "one set", tuple(parts)
    if len(parts) == 2 and kinds is not None:
        first, second = (kinds.over(part.terms[0][0]) for part in parts)
        if not (first & second).any():
            return "apart", tuple(parts)
        if not (first & ~second).any():
            return "within", tuple(parts)
        if not (second & ~first).any():
            return "within", (parts[1], parts[0])
    return "blocks", tuple(parts)


def _blocks(
    inside: list[Array], values: list[Array], constant: float, block: Block | None
) -> tuple[Array, Array, Block]:
    """Where blocks are full, their sums, and the block left open; each has the next row of every set."""
    places = [np.flatnonzero(rows) for rows in inside]
    block = block or (None,) * len(inside)
    at: list[int] = []
    totals: list[float] = []
    start = 0
    while True:
        end, filled = start - 1, list(block)
        for i, rows in enumerate(places):
            position = np.searchsorted(rows, start)
            if filled[i] is None and position < len(rows):
                filled[i] = float(values[i][rows[position]])
                end = max(end, int(rows[position]))
        if None in filled:
            return np.array(at, dtype=int), np.array(totals), tuple(filled)
        at.append(end)
        totals.append(constant + sum(each for each in filled if each is not None))
        block, start = (None,) * len(inside), end + 1
