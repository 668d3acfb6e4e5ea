"""Rates and sums of rates on the rows of an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.base.types import Array
from ratebound.rates.expressions import Expression
from ratebound.rates.kinds import ANY, YES, Atom, counted_over, is_cost, is_count
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Subset


def counted(decided: Decided, rate: Rate) -> Array:
    """How likely each row is to be counted by the rate, (n,); of a cost, what it is expected to cost."""
    name = rate.population
    found = np.zeros(len(decided.populations[name]))
    for atom in decided.atoms(rate):
        decision = chance(atom, lambda of: decided.said(name, at_of(rate), of))
        found += decided.worth(name, atom) * decision
    return found


def chance(atom: Atom, said: Callable[[Any], Array]) -> Any:
    """How likely each row is to get the decision that an atom counts, (n,) or one number for all.

    `said` is how likely each row is decided as a class, or whether it is.
    """
    if atom.predicted is ANY:
        return 1.0
    return said(atom.of) if atom.predicted is YES else 1.0 - said(atom.of)


def value(decided: Decided, rate: Rate) -> float:
    """The rate on these rows, expected over a mixture."""
    name = rate.population
    v, over = decided.row_weights(name), decided.mask(name, decided.over(rate))
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
    return max(float(decided.worth(rate.population, atom).max()) for atom in decided.atoms(rate))


def total(decided: Decided, expression: Expression) -> float:
    """A sum of rates on these rows."""
    return expression.constant + sum(c * value(decided, rate) for rate, c in expression.terms)


def rows_behind(decided: Decided, rates: Iterable[Rate]) -> int:
    """Rows, unweighted, of the smallest set that one of `rates` is a share of."""
    return smallest_behind(decided, rates)[0]


def smallest_behind(decided: Decided, rates: Iterable[Rate]) -> tuple[int, Subset]:
    """The smallest set that one of `rates` is a share of, after its number of rows, unweighted."""
    among = [(rate.population, rows) for rate in rates for rows in counted_over(rate, decided.classes)]
    sizes = [decided.rows(name, decided.mask(name, subset)) for name, subset in among]
    smallest = min(range(len(sizes)), key=sizes.__getitem__)
    return sizes[smallest], among[smallest][1]


def at_of(rate: Rate) -> float | str:
    return 0.0 if rate.at is None else rate.at
