"""The rows of a rate: conditions on columns, combined with ``&``, ``|`` and ``~``.

A subset holds no data; ``ratebound._old.problem`` evaluates it on a population. Here it can only be
built, compared and printed. It prints as the text that ``ratebound.parse`` reads.
"""

from __future__ import annotations

import keyword
import math
import operator
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from typing import Any, Literal

Name = (
    str | int
)  # a column's name; whole numbers are features of an array, or columns of tables that are named so
Value = str | bool | int | float
Relation = Literal["==", "!=", "<", "<=", ">", ">="]
TURNED: dict[Relation, Relation] = {
    "==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip
WORDS = ("and", "or", "not", "in")  # of the language, in capitals too
DEEPEST = 100  # levels of nested conditions; Python could print about 200 at most


class Said:
    """Something that prints as its user wrote it."""

    def __repr__(self) -> str:
        return str(self)


class Subset(Said):
    """A condition on rows. Build one with `where` or `column`; combine them with ``&``, ``|``, ``~``.

    It holds no data, and prints as text that `parse` reads. It is neither true nor false itself, so
    Python's ``and``, ``or`` and chains such as ``18 <= age < 25`` raise an error.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> young = rb.column("age") < 25
    >>> young & ~rb.where(sex="Male")
    age < 25 and not sex == "Male"
    """

    depth = 0  # how deep conditions are nested in it

    def __and__(self, other: Subset) -> Subset:
        return _combine(All, self, other)

    def __or__(self, other: Subset) -> Subset:
        if EVERYONE in (self, other):
            return EVERYONE
        return _combine(Any_, self, other)

    def __invert__(self) -> Subset:
        if self == EVERYONE:
            raise ValueError("the complement of all rows is empty: no rate is defined on it")
        return self.parts[0] if isinstance(self, Not) else Not((self,))

    def __bool__(self) -> bool:
        raise TypeError(
            "a subset is neither true nor false: combine conditions with & | ~ and parentheses, "
            "as in (rb.column('age') >= 18) & (rb.column('age') < 25), not with 'and', 'or' or chains"
        )


@dataclass(frozen=True, repr=False)
class Compare(Subset):
    """Rows whose `column` stands in `relation` to `value`."""

    column: Name
    relation: Relation
    value: Value

    def __str__(self) -> str:
        return f"{column_text(self.column)} {self.relation} {value_text(self.value)}"


@dataclass(frozen=True, repr=False)
class Missing(Subset):
    """Rows that have no value in `column`."""

    column: Name

    def __str__(self) -> str:
        return f"missing({column_text(self.column)})"


@dataclass(frozen=True, repr=False)
class In(Subset):
    """Rows whose `column` holds one of `values`."""

    column: Name
    values: tuple[Value, ...]

    def __str__(self) -> str:
        values = ", ".join(map(value_text, self.values))
        return f"{column_text(self.column)} in ({values}{',' if len(self.values) == 1 else ''})"


@dataclass(frozen=True, repr=False)
class Combined(Subset):
    """Conditions combined into one: see `All`, `Any_` and `Not`."""

    parts: tuple[Subset, ...]

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.parts), default=0)
        if depth > DEEPEST:
            raise ValueError(
                f"conditions are nested more than {DEEPEST} deep: put some into a column of their own"
            )
        object.__setattr__(self, "depth", depth)


class All(Combined):
    """Rows that meet every one of `parts`; with no parts, all rows."""

    def __str__(self) -> str:
        return " and ".join(f"({p})" if isinstance(p, Any_) else str(p) for p in self.parts)


class Chain(All):
    """Rows whose column lies between two values, as in ``25 <= age < 40``; `parts` are its two ends."""

    def __str__(self) -> str:
        low, high = self.parts
        assert isinstance(low, Compare)
        return f"{value_text(low.value)} {TURNED[low.relation]} {high}"


class Any_(Combined):
    """Rows that meet at least one of `parts`."""

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


class Not(Combined):
    """Rows that do not meet the one condition in `parts`."""

    def __str__(self) -> str:
        (part,) = self.parts
        return f"not ({part})" if isinstance(part, All | Any_) else f"not {part}"


@dataclass(frozen=True, repr=False)
class Label(Subset):
    """Rows with this label, by default the positive one of two. It is internal: users write `recall`."""

    of: Value | None = None

    def __str__(self) -> str:
        return f"the label is {'positive' if self.of is None else value_text(self.of)}"


@dataclass(frozen=True, repr=False)
class Decision(Subset):
    """Rows for which the existing model in column `versus` decides yes, or the class `of`."""

    versus: str
    of: Value | None = None

    def __str__(self) -> str:
        return f"{column_text(self.versus)} says {'yes' if self.of is None else value_text(self.of)}"


@dataclass(frozen=True, repr=False)
class Decided(Subset):
    """Rows that the model decides itself and does not refer to a person.

    It is a condition for rates: ``rb.error_rate(rb.decided, sex="Female")``, in text
    ``error_rate(decided and sex == "Female")``. The model determines which rows these are, so such a
    rate is a ratio. It can be compared with numbers and with multiples of ratios.

    See Also
    --------
    referred : The share of rows that are not decided.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.error_rate(rb.decided, sex="Female") <= 0.1
    error_rate(decided and sex == "Female") <= 0.1
    """

    def __str__(self) -> str:
        return "decided"


EVERYONE: Subset = All(())
decided: Subset = Decided()


class Referral(str):
    """The name of the decision that refers a row to a person: a class that no label has."""

    __slots__ = ()


def only_decided(subset: Subset) -> tuple[bool, Subset]:
    """Whether a condition selects only rows that the model decides, and the rest of the condition.

    >>> only_decided(decided & where(sex="Female"))
    (True, sex == "Female")
    """
    parts = subset.parts if type(subset) is All else (subset,)
    rest = [part for part in parts if not isinstance(part, Decided)]
    if any(isinstance(leaf, Decided) for part in rest for leaf in leaves(part)):
        raise ValueError(
            f"{subset}: 'decided' can only be combined with other conditions by 'and'; the share of "
            "rows that are not decided is referred()"
        )
    return len(rest) < len(parts), reduce(operator.and_, rest, EVERYONE)


def _combine(kind: type[All] | type[Any_], left: Subset, right: Subset) -> Subset:
    """Join two conditions, flat: ``(a & b) & c`` and ``a & (b & c)`` are one conjunction of three."""
    if not isinstance(right, Subset):
        raise TypeError(f"expected a subset such as rb.where(sex='Female'), got {right!r}")
    parts: tuple[Subset, ...] = ()
    for side in (left, right):
        parts += side.parts if type(side) is kind else (side,)
    return parts[0] if len(parts) == 1 else kind(parts)


def holds(subset: Subset, leaf: Callable[[Subset], Any]) -> Any:
    """Whether a subset holds, given whether each simple condition in it holds; for one row or many.

    >>> holds(where(sex="Female") & ~where(age=25), lambda condition: condition.column == "sex")
    True
    """
    if not isinstance(subset, Combined):
        return leaf(subset)
    parts = (holds(part, leaf) for part in subset.parts)
    if isinstance(subset, Not):
        return next(parts) ^ True
    return reduce(operator.and_, parts, True) if isinstance(subset, All) else reduce(operator.or_, parts)


def leaves(subset: Subset) -> Iterator[Subset]:
    """The simple conditions that a subset is made of."""
    if not isinstance(subset, Combined):
        yield subset
        return
    for part in subset.parts:
        yield from leaves(part)


def columns_in(subset: Subset) -> list[Name]:
    """The columns that a subset names.

    >>> columns_in(where(sex="Female") & missing("age"))
    ['sex', 'age']
    """
    return [leaf.column for leaf in leaves(subset) if isinstance(leaf, Compare | In | Missing)]


def where(**columns: Value | Iterable[Value]) -> Subset:
    """Rows whose columns hold the given values; several values mean any of them.

    Parameters
    ----------
    **columns : str, bool, int, float or iterable
        A value for each column, or several values, any of which matches. All columns must match; without
        any, all rows match. If a column's name is not a plain word, use `column`.

    Returns
    -------
    Subset
        The condition.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.where(sex="Female", race=("Black", "White"))
    sex == "Female" and race in ("Black", "White")
    """
    subset = EVERYONE
    for name, value in columns.items():
        subset &= column(name).isin(value) if _is_collection(value) else column(name) == value
    return subset


def missing(name: Name) -> Subset:
    """Rows that have no value in this column.

    Such a row does not meet ``==``, ``<`` or ``>``; it meets ``!=`` and ``~``.

    Parameters
    ----------
    name : str or int
        The column's name; for an array without names, the number of the feature, counted from 0.

    Returns
    -------
    Subset
        The condition.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.missing("workclass") & ~rb.missing("hours per week")
    missing(workclass) and not missing(column("hours per week"))
    """
    return Missing(Column(name).name)


def column(name: Name) -> Column:
    """A column of a population. Compare it with a value to get a condition.

    Parameters
    ----------
    name : str or int
        The column's name; for an array without names, the number of the feature, counted from 0.

    Returns
    -------
    Column
        Comparing it with ``==``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``, or calling ``isin``, gives a
        `Subset`.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> (rb.column("age") < 25) & ~(rb.column("hours per week") == 40)
    age < 25 and not column("hours per week") == 40
    """
    return Column(name)


class Column:
    """A named column; comparing it with a value gives a `Subset`."""

    def __init__(self, name: Name) -> None:
        plain = name.item() if isinstance(name, Integral) and hasattr(name, "item") else name
        if isinstance(plain, bool) or not isinstance(plain, str | int) or plain == "":
            raise TypeError(f"a column's name is a non-empty string or a whole number, got {name!r}")
        self.name: Name = plain

    __hash__ = None  # type: ignore[assignment]  # == builds a condition, so columns have no equality

    def __eq__(self, value: object) -> Subset:  # type: ignore[override]  # a condition, as in SQL
        return Compare(self.name, "==", plain_value(value))

    def __ne__(self, value: object) -> Subset:  # type: ignore[override]  # a condition, as in SQL
        return Compare(self.name, "!=", plain_value(value))

    def __lt__(self, value: object) -> Subset:
        return Compare(self.name, "<", plain_value(value))

    def __le__(self, value: object) -> Subset:
        return Compare(self.name, "<=", plain_value(value))

    def __gt__(self, value: object) -> Subset:
        return Compare(self.name, ">", plain_value(value))

    def __ge__(self, value: object) -> Subset:
        return Compare(self.name, ">=", plain_value(value))

    def isin(self, values: Any) -> Subset:
        """Rows that hold any of several values.

        Parameters
        ----------
        values : iterable
            At least one value.

        Returns
        -------
        Subset
            The condition.
        """
        if not _is_collection(values):
            raise TypeError(f"isin takes several values, got {values!r}; write column == value")
        plain = tuple(plain_value(value) for value in values)
        if not plain:
            raise ValueError(f"column {self.name!r}: no values given, so no row can match")
        return In(self.name, plain)

    def __repr__(self) -> str:
        return f"column({self.name!r})"


def holding(name: Name, value: Value | None) -> Subset:
    """Rows with this value in the column; None stands for a missing value.

    >>> holding("race", "Black"), holding("race", None)
    (race == "Black", missing(race))
    """
    return Missing(name) if value is None else Compare(name, "==", plain_value(value))


def in_order(value: Value | None) -> tuple[bool, bool, Any]:
    """The sort key of a column's values: numbers first, then texts, then missing values."""
    return value is None, isinstance(value, str), 0 if value is None else value


def _is_collection(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)


def plain_value(value: object) -> Value:
    """A text, truth value or finite number as plain Python; NumPy scalars are unwrapped."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, Referral):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # members of an enumeration become plain, as text has them
    if isinstance(value, int):
        if abs(value) > sys.float_info.max:
            raise ValueError("a column is compared with a number that is too large for a float")
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    lacking = value is None or (isinstance(value, float) and math.isnan(value))
    remedy = "; for rows without a value write missing(column)" if lacking else ""
    raise TypeError(
        f"compare a column with a text, a truth value or a finite number, got {value!r}{remedy}"
    )


def column_text(name: Name) -> str:
    """A column as `parse` reads it: its bare name if that is a plain word.

    >>> column_text("age"), column_text("hours per week"), column_text(3)
    ('age', 'column("hours per week")', 'column(3)')
    """
    plain = isinstance(name, str) and _is_plain_word(name)
    return str(name) if plain else f"column({value_text(name)})"


def _is_plain_word(name: str) -> bool:
    if not name.isidentifier() or keyword.iskeyword(name):
        return False
    # Python reads a word in its NFKC form, so any other form would name another column.
    return name.lower() not in WORDS and unicodedata.normalize("NFKC", name) == name


def value_text(value: Value) -> str:
    """A value as ``parse`` reads it; a text is in double quotes unless it contains some."""
    if isinstance(value, str) and '"' not in value:
        return '"' + repr("'" + value)[2:]  # a leading ' makes repr choose double quotes
    return repr(value)
