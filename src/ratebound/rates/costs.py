"""What errors cost: a number for each kind of error, or a column with each row's own amount.

Weights and costs are different things: weights say how many rows a row stands for, costs what an error
on it is worth. A cost is the mean of what every row costs, so that it is a sum of rates like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ratebound.base.checks import as_number
from ratebound.rates.expressions import Rate
from ratebound.rates.kinds import YES, Atom
from ratebound.rates.subsets import Name, Value, plain_value

ERRORS = ("false_negative", "false_positive")
CLASSES = ("label", "predicted")
OWN = (*ERRORS, *CLASSES, "column")


def check_costs(own: Mapping[str, Any]) -> dict[str, Value]:
    """The options of a cost in their one form.

    Of the two errors both are said where there is no column, and else those that do not cost it once.

    >>> check_costs({"false_negative": 10}), check_costs({"false_positive": 1, "column": "amount"})
    ({'false_negative': 10, 'false_positive': 1}, {'column': 'amount'})
    """
    if not own:
        raise TypeError(
            "cost: say what errors cost, as in cost(false_negative=10, false_positive=1), or the column "
            'with what an error on each row costs, as in cost(column="amount")'
        )
    column = _column(own)
    if any(option in own for option in CLASSES):
        if not all(option in own for option in CLASSES) or any(error in own for error in ERRORS):
            raise TypeError(
                "cost: of one class taken for another, both are said and a number multiplies it, as in "
                '5 * cost(label="cat", predicted="dog")'
            )
        return {option: plain_value(own[option]) for option in CLASSES} | column
    costs = {error: _cost(error, own.get(error, 1)) for error in ERRORS}
    if all(each == 0 for each in costs.values()):
        raise ValueError("cost: with false_negative=0 and false_positive=0 there is nothing to count")
    if not column:
        return costs
    if text := next((error for error in ERRORS if isinstance(costs[error], str)), None):
        raise ValueError(
            f"cost: {text}={costs[text]!r} is a column already: give column= with numbers, or a column "
            "for each error"
        )
    return {error: each for error, each in costs.items() if each != 1} | column


def _column(own: Mapping[str, Any]) -> dict[str, Value]:
    column = own.get("column")
    if column is None:
        return {}
    if isinstance(column, bool) or not isinstance(column, str | int) or column == "":
        raise TypeError(f"cost: column= takes the name of a column, got {column!r}")
    return {"column": plain_value(column)}


def _cost(error: str, given: Any) -> Value:
    if isinstance(given, str) and given:
        return str.__str__(given)
    number = as_number(given, f"{error}= of a cost, or a column")
    if number < 0:
        raise ValueError(
            f"cost: {error}= takes a number from 0 on, got {given!r}; what a right decision gains is "
            "what the wrong one costs more"
        )
    return int(number) if number.is_integer() else number


def priced(atoms: tuple[Atom, ...], own: Mapping[str, Any]) -> tuple[Atom, ...]:
    """The atoms of missed rows of a class and of false alarms, each times what it costs.

    Those that cost nothing are left out. Of one class taken for another, there is one: the rows of the
    class that are decided so.
    """
    column = own.get("column")
    if "predicted" in own:
        return (replace(atoms[0], predicted=YES, amounts=column),)
    kept = []
    for atom in atoms:
        cost = own.get("false_positive" if atom.predicted is YES else "false_negative", 1)
        if isinstance(cost, str):
            kept.append(replace(atom, amounts=cost))
        elif cost > 0:
            kept.append(replace(atom, factor=float(cost), amounts=column))
    return tuple(kept)


def cost_columns(rate: Rate) -> list[Name]:
    """The columns whose amounts a rate counts.

    >>> from ratebound import cost
    >>> cost_columns(cost(false_negative="loan", false_positive=25).rates[0])
    ['loan']
    """
    own: dict[str, Any] = dict(rate.own)
    names = [own.get("column"), *(own.get(error) for error in ERRORS if isinstance(own.get(error), str))]
    return [name for name in names if name is not None]


def largest_cost(rate: Rate) -> float | None:
    """The most that a row can cost; None where that is a matter of its amount."""
    own: dict[str, Any] = dict(rate.own)
    return None if cost_columns(rate) else float(max(own.get(error, 1) for error in ERRORS))
