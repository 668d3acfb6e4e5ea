"""Subsets on data: the rows that a condition selects, and the costs of errors on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import distinct, some
from ratebound._old.problem.population import Population
from ratebound._old.problem.values import Comparable, ReadColumn, dated
from ratebound._old.rates.kinds import place_of
from ratebound._old.rates.subsets import (
    EVERYONE,
    Any_,
    Combined,
    Compare,
    Decided,
    Decision,
    In,
    Label,
    Missing,
    Name,
    Subset,
    Value,
    column_text,
    holds,
    leaves,
    value_text,
)

Masker = Callable[[Subset], Array]
MOST_CODES = 2**20  # up to this many codes, counting is faster than sorting


def masker(population: Population, *, absent: bool = False) -> Masker:
    """A function from subsets to boolean masks of rows.

    Simple conditions recur and are cached, and every column is read once, however many conditions use
    it. A value that no row has is treated as a slip, unless values may be `absent`, as in a batch of a
    stream.
    """
    column = lru_cache(maxsize=None)(population.values)
    leaf = lru_cache(maxsize=64)(
        lambda subset, excused: _leaf(subset, population, column, absent or excused)
    )

    def mask(subset: Subset) -> Array:
        excused = is_excused(subset)
        inside: Array = holds(subset, lambda condition: leaf(condition, condition in excused))
        return np.ones(len(population), dtype=bool) if subset == EVERYONE else inside

    return mask


def is_excused(subset: Subset) -> set[Subset]:
    """Conditions `missing(...)` that may select no rows, since each is one of several alternatives.

    >>> from ratebound._old import missing, where
    >>> is_excused(where(race="black") | missing("race")), is_excused(missing("race"))
    ({missing(race)}, set())
    """
    if not isinstance(subset, Combined):
        return set()
    own = (
        {part for part in subset.parts if isinstance(part, Missing)}
        if isinstance(subset, Any_)
        else set()
    )
    return own.union(*(is_excused(part) for part in subset.parts))


def reader(population: Population) -> Callable[[Name, Value, bool], Comparable]:
    """A function from a column and a value to the value as conditions on that column read it.

    In a column of dates, a text is a date. Texts compared `in_order` may be dates as well.
    """
    column = lru_cache(maxsize=None)(population.values)

    def read(name: Name, value: Value, in_order: bool) -> Comparable:
        return dated(name, column(name), value, in_order=in_order)[1]

    return read


def spoken_of(subset: Subset) -> list[Name]:
    """The columns that a subset uses, including the columns of existing models' decisions."""
    pairs = ((getattr(leaf, "column", None), getattr(leaf, "versus", None)) for leaf in leaves(subset))
    return [name for pair in pairs for name in pair if name is not None]


def elementary(subset: Subset) -> Iterator[Subset]:
    """The simple conditions of a subset that count as slips if no row meets them.

    >>> from ratebound._old import where
    >>> list(elementary(where(sex="Female", race=("Black", "White"))))
    [sex == "Female", race == "Black", race == "White"]
    """
    excused = is_excused(subset)
    for leaf in leaves(subset):
        if isinstance(leaf, In):
            yield from (Compare(leaf.column, "==", value) for value in leaf.values)
        elif isinstance(leaf, Compare) and leaf.relation in ("==", "!="):
            yield Compare(leaf.column, "==", leaf.value)
        elif isinstance(leaf, Missing) and leaf not in excused:
            yield leaf


def patterns(masks: Iterable[Array], rows: int) -> tuple[Array, Array]:
    """One row of each combination of `masks` (n,) that occurs, and each row's combination.

    They are sorted; the first mask is the most significant.

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
    """The codes renumbered from 0, in order; without sorting if there can only be few."""
    if code.max() < MOST_CODES:
        return (np.cumsum(np.bincount(code) > 0) - 1)[code]
    return np.unique(code, return_inverse=True)[1]


def _leaf(
    subset: Subset, population: Population, column: Callable[[Name], ReadColumn], absent: bool
) -> Array:
    if isinstance(subset, Label):
        if population.y is None:
            raise ValueError(
                "this rate needs labels, but the rows have no labels: pass them, or use a rate without "
                "labels such as positive_rate or churn"
            )
        if subset.of is None:
            return population.y
        return np.asarray(population.y == place_of(subset.of, population.classes or ()))
    if isinstance(subset, Decision):
        return population.existing(subset.versus, subset.of)
    if isinstance(subset, Decided):  # which depends on the model: any row may be decided so
        return np.ones(len(population), dtype=bool)
    assert isinstance(subset, Compare | In | Missing), subset
    name, values = subset.column, column(subset.column)
    if isinstance(subset, Missing):
        inside = values.missing
        if not inside.any() and not absent:
            raise nobody(subset, values)
        return inside
    if isinstance(subset, In):
        inside = np.zeros(len(population), dtype=bool)
        for value in subset.values:
            inside |= _equals(name, values, value, absent)
        return inside
    if subset.relation in ("==", "!="):
        inside = _equals(name, values, subset.value, absent)
        return inside if subset.relation == "==" else ~inside
    values, value = dated(name, values, subset.value, in_order=True)
    _check_kind(name, values, value, absent, alone=True)
    return values.ordered(subset.relation, value)


class NoSuchValue(ValueError):
    """No row of a column has a value that a condition names."""


def nobody(subset: Subset, column: ReadColumn) -> NoSuchValue:
    """The error if no row meets one of the `elementary` conditions."""
    if isinstance(subset, Compare):
        return NoSuchValue(
            f"no row has {column_text(subset.column)} == {value_text(subset.value)}; the column holds "
            f"{some(distinct(column.values))}"
        )
    assert isinstance(subset, Missing)
    return NoSuchValue(f"every row has a value in column {subset.column!r}, so {subset} selects no rows")


def _equals(name: Name, column: ReadColumn, given: Value, absent: bool) -> Array:
    column, value = dated(name, column, given)
    _check_kind(name, column, value, absent, alone=False)
    equal = column.equal(value)
    if not equal.any() and not absent:
        raise nobody(Compare(name, "==", given), column)
    return equal


def _check_kind(name: Name, column: ReadColumn, value: Comparable, absent: bool, *, alone: bool) -> None:
    """Text is compared with text and numbers with numbers; anything else is a slip, not an empty set.

    For an order all values must be of that kind (`alone`); for equality some are enough.
    """
    if isinstance(value, np.datetime64):
        return
    given = "text" if isinstance(value, str) else "numbers"
    if not column.kinds:
        if absent:
            return
        raise ValueError(f"column {name!r} has no value in any row: it can only be {Missing(name)}")
    if given not in column.kinds or (alone and len(column.kinds) > 1):
        held, what = " and ".join(sorted(column.kinds)), "text" if given == "text" else "a number"
        remedy = "" if column.kinds <= {"text", "numbers"} else ": make them texts or numbers first"
        raise ValueError(
            f"column {name!r} holds {held} but is compared with {what}, {value!r}; it holds "
            f"{some(distinct(column.values))}{remedy}"
        )


def read_amounts(population: Population, name: Name, *, absent: bool = False) -> Array:
    """The amounts (n,) in a column, NaN for rows without one; none is negative.

    If these are only some of the rows, all amounts may be 0 or `absent`.

    >>> read_amounts(Population(None, columns={"loan": [100, None, 50]}), "loan")
    array([100.,  nan,  50.])
    """
    column = population.values(name)
    if column.kinds != {"numbers"} and not (absent and not column.kinds):
        held = " and ".join(sorted(column.kinds)) or "no value in any row"
        shown = f": it holds {some(distinct(column.values))}" if column.kinds else ""
        raise ValueError(f"column {name!r} is used as a cost but contains {held}{shown}")
    values = column.values.astype(float)
    amounts: Array = values if column.codes is None else np.append(values, np.nan)[column.codes]
    wrong = amounts[(amounts < 0) | np.isinf(amounts)]
    if len(wrong):
        raise ValueError(
            f"column {name!r} is used as a cost but contains {wrong[0]:g}: costs must be finite "
            "and not negative"
        )
    if not absent:
        check_amounts(name, bool((amounts > 0).any()))
    return amounts


def check_amounts(name: Name, positive: bool) -> None:
    """Raise unless some amount in the column is `positive`."""
    if not positive:
        raise ValueError(f"column {name!r} is 0 in every row, so no error costs anything")


def amounts_where(amounts: Array, inside: Array, name: Name) -> Array:
    """The amounts of the rows `inside` (n,), and 0 for all others; raises if one is missing."""
    own = np.where(inside, amounts, 0.0)
    if lacking := int(np.isnan(own).sum()):
        raise ValueError(
            f"column {name!r} has no value in {lacking:,} of the {int(inside.sum()):,} rows whose "
            "errors it prices: fill it in, or exclude such rows with a condition, as in "
            f"cost(not missing({column_text(name)}), ...)"
        )
    return own
