"""Subsets on data: which rows of a population a condition picks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ratebound.problem.frames import Array, distinct, some
from ratebound.problem.population import Population
from ratebound.rates.subsets import (
    All,
    Any_,
    Compare,
    Decision,
    In,
    Label,
    Not,
    Subset,
    Value,
    column_text,
    value_text,
)

Masker = Callable[[Subset], Array]


def masker(population: Population) -> Masker:
    """A function from subsets to boolean rows; simple conditions are remembered, they recur."""
    leaf = lru_cache(maxsize=64)(lambda subset: _leaf(subset, population))

    def mask(subset: Subset) -> Array:
        if isinstance(subset, All):
            found = np.ones(len(population), dtype=bool)
            for part in subset.parts:
                found &= mask(part)
            return found
        if isinstance(subset, Any_):
            found = np.zeros(len(population), dtype=bool)
            for part in subset.parts:
                found |= mask(part)
            return found
        if isinstance(subset, Not):
            return ~mask(subset.part)
        return leaf(subset)

    return mask


def _leaf(subset: Subset, population: Population) -> Array:
    if isinstance(subset, Label):
        if population.y is None:
            raise ValueError(
                "this rate needs labels and there are none: pass y, or use a rate without labels such "
                "as positive_rate or churn"
            )
        return population.y
    if isinstance(subset, Decision):
        return population.decisions(subset.versus)
    if isinstance(subset, Compare):
        return _compare(subset, population.column(subset.column))
    assert isinstance(subset, In), subset
    values = population.column(subset.column)
    found = np.zeros(len(population), dtype=bool)
    for value in subset.values:
        found |= _equals(subset.column, values, value)
    return found


def _compare(condition: Compare, values: Array) -> Array:
    name, relation, value = condition.column, condition.relation, condition.value
    if relation == "==":
        return _equals(name, values, value)
    if relation == "!=":
        return ~_equals(name, values, value)
    _check_kind(name, values, value)
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[relation]
    return np.asarray(compare(values, value), dtype=bool)


def _equals(name: str, values: Array, value: Value) -> Array:
    _check_kind(name, values, value)
    found = np.asarray(values == value, dtype=bool)
    if not found.any():
        raise ValueError(
            f"no row has {column_text(name)} == {value_text(value)}; the column holds "
            f"{some(distinct(values))}"
        )
    return found


def _check_kind(name: str, values: Array, value: Value) -> None:
    """Text compares with text and numbers with numbers; anything else is a slip, not an empty set."""
    holds_text = isinstance(values[0], str) if values.dtype.kind == "O" else values.dtype.kind in "US"
    if holds_text != isinstance(value, str):
        held, given = ("text", "a number") if holds_text else ("numbers", "text")
        raise ValueError(
            f"column {name!r} holds {held} and is compared with {given}, {value!r}; it holds "
            f"{some(distinct(values))}"
        )
