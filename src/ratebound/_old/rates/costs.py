"""The cost of errors: a number for each kind of error, or a column with each row's own amount.

Weights and costs are different things. A weight is the number of rows that a row stands for. A cost is
the price of an error on it. The rate `cost` is the mean cost over rows, so it is a sum of rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ratebound._old.base.checks import as_number
from ratebound._old.rates.expressions import Rate
from ratebound._old.rates.kinds import YES, Atom
from ratebound._old.rates.subsets import Name, Value, plain_value

ERRORS = ("false_negative", "false_positive")
CLASSES = ("label", "predicted")
OWN = (*ERRORS, *CLASSES, "column")


def check_costs(own: Mapping[str, Any]) -> dict[str, Value]:
    """The options of a cost in normal form.

    Without a column, the costs of both kinds of error are listed. With a column, a kind of error is left
    out if its cost is 1, that is, once the column's amount.

    >>> check_costs({"false_negative": 10}), check_costs({"false_positive": 1, "column": "amount"})
    ({'false_negative': 10, 'false_positive': 1}, {'column': 'amount'})
    """
    if not own:
        raise TypeError(
            "cost: give the cost of errors, as in cost(false_negative=10, false_positive=1), or the "
            'column with the cost of an error on each row, as in cost(column="amount")'
        )
    column = _column(own)
    if any(option in own for option in CLASSES):
        if not all(option in own for option in CLASSES) or any(error in own for error in ERRORS):
            raise TypeError(
                "cost: for one class taken for another, give both label= and predicted=, without other "
                'costs, and multiply by a number, as in 5 * cost(label="cat", predicted="dog")'
            )
        return {option: plain_value(own[option]) for option in CLASSES} | column
    costs = {error: _cost(error, own.get(error, 1)) for error in ERRORS}
    if all(each == 0 for each in costs.values()):
        raise ValueError("cost: with false_negative=0 and false_positive=0 no error costs anything")
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
            f"cost: {error}= takes a number that is not negative, got {given!r}; to reward a right "
            "decision, add its gain to the cost of the wrong one"
        )
    return int(number) if number.is_integer() else number


def priced(atoms: tuple[Atom, ...], own: Mapping[str, Any]) -> tuple[Atom, ...]:
    """The atoms of a class's missed rows and of false alarms, each times its cost.

    Atoms that cost nothing are left out. If one class is taken for another, there is one atom: the rows
    of the first class that are decided to be the second.
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

    >>> from ratebound._old import cost
    >>> cost_columns(cost(false_negative="loan", false_positive=25).rates[0])
    ['loan']
    """
    own: dict[str, Any] = dict(rate.own)
    names = [own.get("column"), *(own.get(error) for error in ERRORS if isinstance(own.get(error), str))]
    return [name for name in names if name is not None]


def largest_cost(rate: Rate) -> float | None:
    """The most that a row can cost; None if a column determines it."""
    own: dict[str, Any] = dict(rate.own)
    return None if cost_columns(rate) else float(max(own.get(error, 1) for error in ERRORS))
