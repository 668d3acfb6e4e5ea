"""What a promise asks of a stream of rows: numbers whose mean is at most 0 where it is kept.

A promise is a sum of means over sets of rows. Over one set, each of its rows gives such a number. Over
two sets, one within the other or apart from it, each row of either gives one, if the share of the first
set is known; `_wealth.py` does without. Over any other sets, the next row of each makes a block: the sum
over a block has the right mean, and rows that a block has no place for are lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from ratebound.base.types import Array
from ratebound.certifying._wealth import Range
from ratebound.rates.demands import Demand, demands
from ratebound.rates.expressions import Area, Constraint, Rate
from ratebound.rates.kinds import ANY, atoms, is_count
from ratebound.rates.subsets import EVERYONE, All, Compare, In, Label, Subset, holds

Kind = Literal["one set", "within", "apart", "blocks"]
Mask = Callable[[Subset], Array]  # from a subset to the rows in it, (n,) bool
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Part:
    """A sum of rates that are shares of one set of rows."""

    over: Subset
    terms: tuple[tuple[Rate, float], ...]

    def values(self, mask: Mask, yes: Array) -> Array:
        """What each row adds, (n,), if it is in the set."""
        found = np.zeros(len(yes))
        for rate, coefficient in self.terms:
            found += coefficient * counted(rate, mask, yes)
        return found

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that a row of the set can add."""
        if len({(rate.subset, rate.versus) for rate, _ in self.terms}) > 1:
            signed = [coefficient for _, coefficient in self.terms]
            return sum(min(c, 0.0) for c in signed), sum(max(c, 0.0) for c in signed)
        rows = [row for row in product((False, True), repeat=3) if self._has(*row)]
        added = [sum(c * _counts(rate, *row) for rate, c in self.terms) for row in rows]
        return min(added), max(added)

    def _has(self, yes: bool, label: bool, existing: bool) -> bool:
        over = atoms(replace(self.terms[0][0], subset=EVERYONE))[0].over
        return over is None or bool(holds(over, _said(label, existing)))


@dataclass(frozen=True)
class Draws:
    """How the rows of a population become numbers."""

    kind: Kind
    parts: tuple[Part, ...]  # of two sets, the one within the other is the first
    constant: float
    population: str

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


@dataclass(frozen=True)
class Block:
    """A block that is not full yet: which sets have had their row, and what those rows add up to."""

    filled: tuple[bool, ...]
    total: float


def draws_of(constraint: Constraint) -> Draws:
    """How a promise is watched; refused where decisions alone cannot tell, with the reason.

    >>> from ratebound import precision, recall
    >>> draws_of(precision() >= 0.8).kind, draws_of(recall(sex="Female") >= 0.9 * recall()).kind
    ('one set', 'within')
    """
    if isinstance(constraint.left, Area):
        raise ValueError(
            f"the promise {constraint} cannot be watched: an area is about scores, and a monitor sees "
            "decisions. Audit it, or promise recall() and false_positive_rate() instead"
        )
    (demand,) = demands(constraint)
    populations = {rate.population for rate in demand.expression.rates}
    if len(populations) > 1:
        raise ValueError(
            f"the promise {constraint} cannot be watched: it compares the populations "
            f"{', '.join(sorted(populations))}, whose rows come in no common order. Audit it instead"
        )
    parts = _parts(demand)
    kind, ordered = _arranged(parts)
    return Draws(kind, ordered, demand.expression.constant, populations.pop())


def numbers(
    draws: Draws, mask: Mask, yes: Array, block: Block | None
) -> tuple[Array, tuple[Array, Array, Array], Block | None]:
    """The rows that give numbers, those numbers (inside, own, other), and the block left open."""
    inside = [mask(part.over) for part in draws.parts]
    values = [part.values(mask, yes) for part in draws.parts]
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


def counted(rate: Rate, mask: Mask, yes: Array) -> Array:
    """Whether each row is counted by the rate, (n,)."""
    found = np.zeros(len(yes))
    for atom in atoms(rate):
        found += mask(atom.given) & (True if atom.predicted is ANY else yes == atom.predicted)
    return found


def over_of(rate: Rate) -> Subset:
    """The rows that a rate is a share of; a count is so many times a share of everyone."""
    over = atoms(rate)[0].over
    return EVERYONE if over is None else over


def _parts(demand: Demand) -> list[Part]:
    """The demand's rates by the rows that they are shares of."""
    found: dict[Subset, list[tuple[Rate, float]]] = {}
    for rate, coefficient in demand.expression.terms:
        if rate.at not in (None, 0):
            raise ValueError(
                f"the promise {demand.words} cannot be watched: {rate} is taken at a threshold, which "
                "needs scores, and a monitor sees decisions. Audit it instead"
            )
        over = rate.subset if demand.per_row else over_of(rate)
        if is_count(rate) and not demand.per_row:
            if rate.out_of is None:
                raise ValueError(
                    f"the promise {demand.words} cannot be watched: say out of how many rows it counts, "
                    f"as in {rate.kind}(out_of=1000)"
                )
            coefficient *= rate.out_of
        found.setdefault(over, []).append((rate, coefficient))
    return [Part(over, tuple(terms)) for over, terms in found.items()]


def _arranged(parts: list[Part]) -> tuple[Kind, tuple[Part, ...]]:
    if len(parts) == 1:
        return "one set", tuple(parts)
    if len(parts) == 2:
        first, second = parts
        if _conditions(second.over) <= _conditions(first.over):
            return "within", (first, second)
        if _conditions(first.over) <= _conditions(second.over):
            return "within", (second, first)
        if _apart(first.over, second.over):
            return "apart", (first, second)
    return "blocks", tuple(parts)


def _conditions(subset: Subset) -> frozenset[Subset]:
    """What all rows of a subset meet, as far as its words say so."""
    return frozenset(subset.parts if isinstance(subset, All) else (subset,))


def _apart(one: Subset, other: Subset) -> bool:
    """Whether the words of two subsets say that no row is in both."""
    return any(_contradict(p, q) for p in _conditions(one) for q in _conditions(other))


def _contradict(one: Subset, other: Subset) -> bool:
    if one != EVERYONE and ~one == other:
        return True
    if not isinstance(one, Compare | In) or not isinstance(other, Compare | In):
        return False
    if one.column != other.column:
        return False
    if isinstance(one, Compare) and isinstance(other, Compare) and one.value == other.value:
        return OPPOSITE[one.relation] == other.relation
    values, others = _values(one), _values(other)
    return bool(values and others) and not values & others


def _values(condition: Compare | In) -> set[object]:
    """The values that a condition lets through, where it lists them."""
    if isinstance(condition, In):
        return set(condition.values)
    return {condition.value} if condition.relation == "==" else set()


def _blocks(
    inside: list[Array], values: list[Array], constant: float, block: Block | None
) -> tuple[Array, Array, Block]:
    """Where blocks are full, their sums, and the block left open; each has the next row of every set."""
    places = [np.flatnonzero(rows) for rows in inside]
    block = block or Block((False,) * len(inside), constant)
    at: list[int] = []
    totals: list[float] = []
    start = 0
    while True:
        filled, total, end = list(block.filled), block.total, start - 1
        for i, rows in enumerate(places):
            position = np.searchsorted(rows, start)
            if not filled[i] and position < len(rows):
                filled[i] = True
                total += float(values[i][rows[position]])
                end = max(end, int(rows[position]))
        if not all(filled):
            return np.array(at, dtype=int), np.array(totals), Block(tuple(filled), total)
        at.append(end)
        totals.append(total)
        block, start = Block((False,) * len(inside), constant), end + 1


def _counts(rate: Rate, yes: bool, label: bool, existing: bool) -> float:
    """How often a row of the rate's subset is counted."""
    said, total = _said(label, existing), 0.0
    for atom in atoms(replace(rate, subset=EVERYONE)):
        total += (atom.predicted is ANY or atom.predicted is yes) and holds(atom.given, said)
    return total


def _said(label: bool, existing: bool) -> Callable[[Subset], bool]:
    return lambda condition: label if isinstance(condition, Label) else existing
