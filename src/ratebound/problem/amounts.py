"""Columns of amounts: what an error on each row costs, in money say."""

from __future__ import annotations

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import distinct, some
from ratebound.problem.population import Population
from ratebound.rates.subsets import Name, column_text


def read_amounts(population: Population, name: Name, *, absent: bool = False) -> Array:
    """The amounts (n,) in a column, NaN where a row has none; no number of it is below 0.

    All of them may be 0, or `absent`, in some of the rows.

    >>> read_amounts(Population(None, columns={"loan": [100, None, 50]}), "loan")
    array([100.,  nan,  50.])
    """
    column = population.values(name)
    if column.kinds != {"numbers"} and not (absent and not column.kinds):
        held = " and ".join(sorted(column.kinds)) or "no value in any row"
        shown = f": it holds {some(distinct(column.values))}" if column.kinds else ""
        raise ValueError(f"column {name!r} is to say what an error costs, and has {held}{shown}")
    values = column.values.astype(float)
    amounts: Array = values if column.codes is None else np.append(values, np.nan)[column.codes]
    wrong = amounts[(amounts < 0) | np.isinf(amounts)]
    if len(wrong):
        raise ValueError(
            f"column {name!r} is to say what an error costs, and holds {wrong[0]:g}: costs are finite "
            "and not below 0"
        )
    if not absent:
        check_amounts(name, bool((amounts > 0).any()))
    return amounts


def check_amounts(name: Name, positive: bool) -> None:
    """Raise unless some amount in the column is `positive`."""
    if not positive:
        raise ValueError(f"column {name!r} is 0 in every row, so that no error costs anything")


def amounts_where(amounts: Array, inside: Array, name: Name) -> Array:
    """The amounts of the rows `inside` (n,), and 0 of all others; raises where one of them has none."""
    found = np.where(inside, amounts, 0.0)
    if lacking := int(np.isnan(found).sum()):
        raise ValueError(
            f"column {name!r} has no value in {lacking:,} of the {int(inside.sum()):,} rows whose "
            "errors it prices: fill it in, or leave such rows out by a condition, as in "
            f"cost(not missing({column_text(name)}), ...)"
        )
    return found
