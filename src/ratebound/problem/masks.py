"""Subsets on data: which rows of a population a condition picks."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Number

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import distinct, is_missing, some
from ratebound.problem.population import Population
from ratebound.rates.subsets import (
    EVERYONE,
    Compare,
    Decision,
    In,
    Label,
    Missing,
    Name,
    Subset,
    Value,
    column_text,
    holds,
    value_text,
)

Masker = Callable[[Subset], Array]
FEW = 2**20  # codes that are counted sooner than sorted
ORDERS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "bytes",
         "M": "dates", "m": "durations", "c": "complex numbers"}  # fmt: skip


def masker(population: Population, *, absent: bool = False) -> Masker:
    """A function from subsets to boolean rows.

    Simple conditions recur and are remembered, and every column is read once, however many conditions
    speak of it. A value that no row has is taken for a slip, unless values may be `absent`, as in a
    batch of a stream.
    """
    column = lru_cache(maxsize=None)(lambda name: read_values(population.column(name)))
    leaf = lru_cache(maxsize=64)(lambda subset: _leaf(subset, population, column, absent))

    def mask(subset: Subset) -> Array:
        found: Array = holds(subset, leaf)
        return np.ones(len(population), dtype=bool) if subset == EVERYONE else found

    return mask


def patterns(masks: Iterable[Array], rows: int) -> tuple[Array, Array]:
    """One row of each combination of `masks` (n,) that occurs, and which combination each row has.

    They are in order, the first mask counting most.

    >>> patterns([np.array([1, 0, 1, 0]), np.array([0, 0, 1, 0])], rows=4)[1]
    array([1, 0, 2, 0])
    """
    code = np.zeros(rows, dtype=np.int64)
    for count, mask in enumerate(masks, start=1):
        code = 2 * code + mask
        if count % 31 == 0:  # before codes overflow
            code = _renumbered(code)
    code = _renumbered(code)
    example = np.zeros(code.max() + 1, dtype=np.int64)
    example[code] = np.arange(rows)
    return example, code


def _renumbered(code: Array) -> Array:
    """The codes numbered from 0, in order; without sorting where there can only be few."""
    if code.max() < FEW:
        return (np.cumsum(np.bincount(code) > 0) - 1)[code]
    return np.unique(code, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Values:
    """A column's values; texts and objects by their distinct ones, so that each is looked at once.

    A row without a value compares with nothing: it is not equal, not below and not above.
    """

    values: Array  # (n,), or with codes (d,) distinct
    codes: Array | None  # (n,) which distinct value each row holds, -1 for none
    place: dict[Value, int]  # of each distinct value
    kinds: frozenset[str]  # what the values are

    def equal(self, value: Value) -> Array:
        if self.codes is None:
            return np.asarray(self.values == value, dtype=bool)
        place = self.place.get(value)
        return np.zeros(len(self.codes), dtype=bool) if place is None else self.codes == place

    def ordered(self, relation: str, value: Value) -> Array:
        found = np.asarray(ORDERS[relation](self.values, value), dtype=bool)
        return found if self.codes is None else np.append(found, False)[self.codes]

    @property
    def missing(self) -> Array:
        return is_missing(self.values) if self.codes is None else self.codes < 0


def read_values(values: Array) -> Values:
    """A column's values, looked at once.

    >>> read_values(np.array(["b", None, "a", "b"], dtype=object)).codes
    array([ 0, -1,  1,  0], dtype=int32)
    """
    if values.dtype.kind not in "OU":
        if is_missing(values).all():  # numbers only by the type that a table gives to no values
            return Values(np.empty(0, object), np.full(len(values), -1), {}, frozenset())
        return Values(values, None, {}, frozenset([KINDS[values.dtype.kind]]))
    listed = values.tolist()
    place: dict[Value, int] = {}
    try:
        codes = np.fromiter((place.setdefault(v, len(place)) for v in listed), np.int32, len(listed))
    except TypeError:  # lists, say, which compare with nothing that can be said
        return Values(values, None, {}, frozenset(map(_kind, {type(value) for value in listed})))
    held = np.fromiter(place, dtype=object, count=len(place))
    lacking = is_missing(held)
    if lacking.any():  # every way to say it becomes -1
        codes = np.where(lacking, -1, np.cumsum(~lacking) - 1).astype(np.int32)[codes]
        held = held[~lacking]
        place = {value: index for index, value in enumerate(held.tolist())}
    return Values(held, codes, place, frozenset(map(_kind, {type(value) for value in held.tolist()})))


def _kind(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, Number) and not issubclass(kind, complex):
        return "numbers"
    return "dates" if issubclass(kind, datetime.date) else f"values of type {kind.__name__}"


def _leaf(
    subset: Subset, population: Population, column: Callable[[Name], Values], absent: bool
) -> Array:
    if isinstance(subset, Label):
        if population.y is None:
            raise ValueError(
                "this rate needs labels and there are none: pass them, or use one without labels such "
                "as positive_rate or churn"
            )
        return population.y
    if isinstance(subset, Decision):
        return population.decisions(subset.versus)
    assert isinstance(subset, Compare | In | Missing), subset
    name, values = subset.column, column(subset.column)
    if isinstance(subset, Missing):
        found = values.missing
        if not found.any() and not absent:
            raise NoSuchValue(f"every row has a value in column {name!r}, so {subset} is nobody")
        return found
    if isinstance(subset, In):
        found = np.zeros(len(population), dtype=bool)
        for value in subset.values:
            found |= _equals(name, values, value, absent)
        return found
    if subset.relation in ("==", "!="):
        found = _equals(name, values, subset.value, absent)
        return found if subset.relation == "==" else ~found
    _check_kind(name, values, subset.value, absent, alone=True)
    return values.ordered(subset.relation, subset.value)


class NoSuchValue(ValueError):
    """A column holds a value that a condition names in no row."""


def _equals(name: Name, column: Values, value: Value, absent: bool) -> Array:
    _check_kind(name, column, value, absent, alone=False)
    found = column.equal(value)
    if not found.any() and not absent:
        raise NoSuchValue(
            f"no row has {column_text(name)} == {value_text(value)}; the column holds "
            f"{some(distinct(column.values))}"
        )
    return found


def _check_kind(name: Name, column: Values, value: Value, absent: bool, *, alone: bool) -> None:
    """Text compares with text and numbers with numbers; anything else is a slip, not an empty set.

    For an order all values must be of that kind `alone`, for equality only some.
    """
    given = "text" if isinstance(value, str) else "numbers"
    if not column.kinds:
        if absent:
            return
        raise ValueError(f"column {name!r} has no value in any row: it can only be {Missing(name)}")
    if given not in column.kinds or (alone and len(column.kinds) > 1):
        held, what = " and ".join(sorted(column.kinds)), "text" if given == "text" else "a number"
        remedy = "" if column.kinds <= {"text", "numbers"} else ": make them texts or numbers first"
        raise ValueError(
            f"column {name!r} holds {held} and is compared with {what}, {value!r}; it holds "
            f"{some(distinct(column.values))}{remedy}"
        )
