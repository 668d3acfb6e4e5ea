"""Rates and sums of rates on the rows of an audit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.base.types import Array
from ratebound.rates.expressions import Expression
from ratebound.rates.kinds import ANY, NO, Atom, atoms, counted_over, is_cost, is_count
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import EVERYONE, Subset


def counted(decided: Decided, rate: Rate) -> Array:
    """How likely each row is to be counted by the rate, (n,); of a cost, what it is expected to cost."""
    name = rate.population
    yes = decided.yes(name, at_of(rate))
    found = np.zeros(len(yes))
    for atom in atoms(rate):
        decision = 1.0 if atom.predicted is ANY else 1.0 - yes if atom.predicted is NO else yes
        found += decided.worth(name, atom) * decision
    return found


def value(decided: Decided, rate: Rate) -> float:
    """The rate on these rows, expected over a mixture."""
    name = rate.population
    v, over = decided.row_weights(name), decided.mask(name, over_of(atoms(rate)[0]))
    return scale(decided, rate) * float(v @ counted(decided, rate)) / float(v[over].sum())


def scale(decided: Decided, rate: Rate) -> float:
    """1 for shares; out of how many rows where they are counted."""
    if not is_count(rate):
        return 1.0
    return float(rate.per or decided.row_weights(rate.population).sum())


def largest(decided: Decided, rate: Rate) -> float:
    """The most that a row adds to the rate: 1, unless it is a cost."""
    if not is_cost(rate):
        return 1.0
    return max(float(decided.worth(rate.population, atom).max()) for atom in atoms(rate))


def total(decided: Decided, expression: Expression) -> float:
    """A sum of rates on these rows."""
    return expression.constant + sum(c * value(decided, rate) for rate, c in expression.terms)


def rows_behind(decided: Decided, rates: Iterable[Rate]) -> int:
    """Rows, unweighted, of the smallest set that one of `rates` is a share of."""
    return smallest_behind(decided, rates)[0]


def smallest_behind(decided: Decided, rates: Iterable[Rate]) -> tuple[int, Subset]:
    """The smallest set that one of `rates` is a share of, after its number of rows, unweighted."""
    among = [(rate.population, rows) for rate in rates for rows in counted_over(rate)]
    sizes = [int(decided.mask(*place).sum()) for place in among]
    smallest = min(range(len(sizes)), key=sizes.__getitem__)
    return sizes[smallest], among[smallest][1]


def over_of(atom: Atom) -> Subset:
    """The rows an atom is a share of; a count is so many times a share of everyone."""
    return EVERYONE if atom.over is None else atom.over


def at_of(rate: Rate) -> float | str:
    return 0.0 if rate.at is None else rate.at
