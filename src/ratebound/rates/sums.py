"""Rates, sums of rates, and constraints on them, in one normal form that prints as it was written.

A `Sum` adds quantities with coefficients, and a constant. A quantity is a `Rate`, a `Quotient` of
two sums, or a `Computed` number. A `Constraint` bounds a sum by other sums. Nothing here holds data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ratebound.rates.conditions import (
    EVERYONE,
    FLIPPED,
    Condition,
    Every,
    Name,
    Value,
    format_value,
    is_finite,
    leaves,
)

ROUNDING = 1e-9  # tolerance of comparisons with a bound
FIRST = "train"  # the population of rates without ``on=``
PAIRS = "(pairs)"  # the population of ranked_right
# Forms of quantities, which decide how they can be bounded.
LINEAR = "linear"
RATIO = "ratio"
RANKING = "ranking"
COMPUTED = "computed"
# Options of rates, in the order in which they are printed. All other keywords name columns.
OPTIONS = (
    "of", "label", "predicted", "false_negative", "false_positive", "column", "beta", "versus",
    "by", "on", "at", "bins", "top", "per",
)  # fmt: skip


class Written:
    """An object that prints as its user wrote it."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Part:
    """One event that a rate counts, and the price of each row where it holds."""

    event: str  # such as "d & ~y", in the letters of `rates/table.py`
    price: float = 1.0
    amounts: Name | None = None  # the column whose amount multiplies the price of each row


@dataclass(frozen=True, repr=False)
class Rate(Written):
    """A share of rows, or a count of them.

    A rate carries what it counts, so nothing looks up its name in the table later.

    >>> from ratebound import recall
    >>> recall(sex="Female", at=0.5).rates
    (recall(sex == "Female", at=0.5),)
    """

    name: str
    condition: Condition
    options: tuple[tuple[str, Value], ...]
    counted: tuple[Part, ...]
    among: tuple[Part, ...] | None  # None for a count

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)

    @property
    def population(self) -> str:
        default = PAIRS if self.name == "ranked_right" else FIRST
        return self.option("on", default)

    @property
    def parts(self) -> tuple[Part, ...]:
        """All events that it counts, above and below."""
        return self.counted + (self.among or ())

    @property
    def form(self) -> str:
        """Linear; or a ratio if decisions change the denominator; or a ranking of the scores."""
        if self.option("top") is not None or self.option("bins") is not None:
            return RANKING
        if self.among is not None and mentions_letter(self.among, "d"):
            return RATIO
        return LINEAR

    @property
    def largest(self) -> float:
        """The upper limit of its value: 1 for a share, else infinity."""
        if self.among is None or len(self.counted) > 1:
            return math.inf
        (part,) = self.counted
        # A share counts rows of its denominator, each once. So its event repeats the denominator's.
        literals = {"1", *part.event.split(" & ")}
        repeats_denominator = literals.issuperset(self.among[0].event.split(" & "))
        counts_once = part == Part(part.event)
        return 1.0 if repeats_denominator and counts_once else math.inf

    def with_options(self, **changed: Any) -> Rate:
        """Return the same rate with some options changed; None removes an option."""
        options = dict(self.options) | changed
        ordered = [(name, options[name]) for name in OPTIONS if options.get(name) is not None]
        return replace(self, options=tuple(ordered))

    @property
    def rates(self) -> tuple[Rate, ...]:
        return (self,)

    def map(self, change: Callable[[Rate], Rate]) -> Rate:
        return change(self)

    def __str__(self) -> str:
        arguments = [f"{name}={format_value(value)}" for name, value in self.options]
        if self.condition != EVERYONE:
            arguments.insert(0, str(self.condition))
        return f"{self.name}({', '.join(arguments)})"


@dataclass(frozen=True, repr=False)
class Quotient(Written):
    """One sum over another that is never negative. A quotient over 0 meets every bound."""

    top: Sum
    bottom: Sum
    form = RATIO
    largest = math.inf

    def __post_init__(self) -> None:
        coefficients = self.bottom.terms.values()
        if not coefficients or self.bottom.constant < 0 or min(coefficients) < 0:
            raise ValueError(
                f"cannot divide by {self.bottom}: a denominator must be a sum of rates without minus "
                "signs; write negative_rate() for 1 - positive_rate()"
            )
        for side in (self.top, self.bottom):
            if side.nonlinear:
                raise ValueError(
                    f"{self}: {side.nonlinear[0]} is a ratio and cannot be divided again"
                )

    @property
    def rates(self) -> tuple[Rate, ...]:
        return self.top.rates + self.bottom.rates

    def map(self, change: Callable[[Rate], Rate]) -> Quotient:
        return Quotient(self.top.map(change), self.bottom.map(change))

    def __str__(self) -> str:
        return f"{_format_side(self.top)} / {_format_side(self.bottom)}"


@dataclass(frozen=True, repr=False)
class Computed(Written):
    """A number that a function computes from a model and rows, as `constraint` defines it."""

    name: str
    value: Callable[[Any, Any], Any] = field(compare=False)  # multipliers and reports read it
    proxy: Callable[[Any, Any], Any] = field(compare=False)  # the model descends it
    population: str = FIRST  # its rows are passed to both functions
    exact: bool = False  # multipliers read the value on all rows, not on a batch
    scale: float = 1.0  # the unit of its violation, where those of rates have 1
    form = COMPUTED
    largest = math.nan  # unknown: every comparison with it is False
    rates = ()

    def map(self, change: Callable[[Rate], Rate]) -> Computed:
        return self

    def __str__(self) -> str:
        return self.name


Quantity = Rate | Quotient | Computed


class Sum(Written):
    """Quantities with coefficients, plus a constant.

    >>> from ratebound import churn, error_rate
    >>> error_rate() + 0.5 * churn(versus="live")
    error_rate() + 0.5 * churn(versus="live")
    """

    __array_ufunc__ = None  # so that NumPy numbers leave arithmetic to this class

    def __init__(self, terms: Iterable[tuple[Quantity, float]] = (), constant: float = 0.0) -> None:
        merged: dict[Quantity, float] = {}
        for quantity, coefficient in terms:
            merged[quantity] = merged.get(quantity, 0.0) + coefficient
        self.terms = {quantity: factor for quantity, factor in merged.items() if factor != 0}
        self.constant = float(constant)
        numbers = (self.constant, *self.terms.values())
        if not all(map(math.isfinite, numbers)):
            raise ValueError("a number in this sum of rates is not finite")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sum):
            return NotImplemented
        return self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.constant))

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Every rate once, including the rates inside quotients."""
        return _collect_rates(self.terms)

    @property
    def nonlinear(self) -> list[Quantity]:
        return [quantity for quantity in self.terms if quantity.form != LINEAR]

    def map(self, change: Callable[[Rate], Rate]) -> Sum:
        """Return the sum with `change` applied to every rate; equal terms are merged."""
        terms = [(quantity.map(change), factor) for quantity, factor in self.terms.items()]
        return Sum(terms, self.constant)

    def __add__(self, other: Any) -> Sum:
        other = as_sum(other)
        terms = [*self.terms.items(), *other.terms.items()]
        return Sum(terms, self.constant + other.constant)

    def __mul__(self, factor: Any) -> Sum:
        if isinstance(factor, Sum) and not factor.terms:
            factor = factor.constant
        if isinstance(factor, Sum):
            if not self.terms:
                return factor * self.constant
            raise TypeError(f"cannot multiply {self} by {factor}: multiply rates by numbers only")
        number = as_number(factor)
        terms = [(quantity, coefficient * number) for quantity, coefficient in self.terms.items()]
        return Sum(terms, self.constant * number)

    def __truediv__(self, divisor: Any) -> Sum:
        divisor = as_sum(divisor)
        if divisor.terms:
            return Sum([(Quotient(self, divisor), 1.0)])
        number = divisor.constant
        if number == 0:
            raise ValueError(f"cannot divide {self} by zero")
        terms = [(quantity, coefficient / number) for quantity, coefficient in self.terms.items()]
        return Sum(terms, self.constant / number)

    def __rtruediv__(self, number: Any) -> Sum:
        return as_sum(number) / self

    def __neg__(self) -> Sum:
        return self * -1

    def __sub__(self, other: Any) -> Sum:
        return self + -as_sum(other)

    def __rsub__(self, other: Any) -> Sum:
        return -self + other

    def __abs__(self) -> Distance:
        return Distance(self)

    __radd__ = __add__
    __rmul__ = __mul__

    def __le__(self, other: Any) -> Constraint:
        return compare(self, "<=", other)

    def __ge__(self, other: Any) -> Constraint:
        return compare(self, ">=", other)

    def __lt__(self, other: Any) -> Any:
        raise TypeError("strict bounds are not supported: write <= instead of <")

    def __gt__(self, other: Any) -> Any:
        raise TypeError("strict bounds are not supported: write >= instead of >")

    def __str__(self) -> str:
        first_coefficient = next(iter(self.terms.values()), 0.0)
        starts_with_constant = self.constant > 0 > first_coefficient  # 1 - recall()
        text = ""
        if starts_with_constant:
            text = format_number(self.constant)
        for quantity, coefficient in self.terms.items():
            term = _format_term(quantity, coefficient)
            text += _format_signed(coefficient, term, is_first=not text)
        if not text or (self.constant and not starts_with_constant):
            term = format_number(abs(self.constant))
            text += _format_signed(self.constant, term, is_first=not text)
        return text


@dataclass(frozen=True, repr=False)
class Distance(Written):
    """The absolute value of a sum, which takes only an upper bound."""

    sum: Sum

    def __le__(self, bound: Any) -> Constraint:
        return Constraint(-as_sum(bound), self.sum, as_sum(bound))

    def __ge__(self, bound: Any) -> Constraint:
        raise TypeError(
            f"{self} takes only an upper bound; for a lower one choose a sign: {self.sum} >= {bound}"
        )

    def __str__(self) -> str:
        return f"abs({self.sum})"


@dataclass(frozen=True, repr=False)
class Shape(Written):
    """An objective on several sums: the smallest or the largest of them."""

    name: str
    parts: tuple[Sum, ...]

    @property
    def rates(self) -> tuple[Rate, ...]:
        return _collect_rates(self.parts)

    def map(self, change: Callable[[Rate], Rate]) -> Shape:
        parts = [part.map(change) for part in self.parts]
        return replace(self, parts=tuple(parts))

    def __le__(self, bound: Any) -> Any:
        raise TypeError(
            f"{self} is an objective and takes no bound; constrain its sums instead, "
            f"as in {self.parts[0]} >= 0.5"
        )

    __ge__ = __le__

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parts))})"


def smallest(*parts: Any) -> Shape:
    """Return the smallest of several sums of rates, as an objective to maximize.

    A column stands for each of its values: ``smallest(recall("sex"))`` is the lowest recall of any
    group.

    >>> from ratebound import recall, smallest
    >>> smallest(recall(sex="Female"), recall(sex="Male"))
    smallest(recall(sex == "Female"), recall(sex == "Male"))
    """
    return _make_shape("smallest", parts)


def largest(*parts: Any) -> Shape:
    """Return the largest of several sums of rates, as an objective to minimize.

    >>> from ratebound import error_rate, largest
    >>> largest(error_rate("sex"))
    largest(error_rate(sex))
    """
    return _make_shape("largest", parts)


def _make_shape(name: str, parts: tuple[Any, ...]) -> Shape:
    if len(parts) == 1 and not isinstance(parts[0], Sum):
        parts = tuple(parts[0])  # a list of sums
    sums = tuple(map(as_sum, parts))
    if len(sums) < 2 and not any(map(mentions_every_value, _collect_rates(sums))):
        raise ValueError(
            f"{name}(...) takes two or more sums of rates, or one on every value of a column"
        )
    return Shape(name, sums)


SHAPES: dict[str, Callable[..., Shape]] = {"smallest": smallest, "largest": largest}


def mentions_every_value(rate: Rate) -> bool:
    return any(isinstance(leaf, Every) for leaf in leaves(rate.condition))


@dataclass(frozen=True, repr=False)
class Constraint(Written):
    """A sum that stays at or above `low`, at or below `high`, or between them.

    >>> from ratebound import parse
    >>> parse("0.1 <= positive_rate() <= 0.2").ends
    [positive_rate() >= 0.1, positive_rate() <= 0.2]
    """

    low: Sum | None
    sum: Sum
    high: Sum | None

    def __post_init__(self) -> None:
        for row in self.rows:
            self._check_row(row)
        if self.low is not None and self.high is not None:
            gap = self.low - self.high
            if not gap.terms and gap.constant > 0:
                raise ValueError(f"{self}: the range is empty, since {self.low} > {self.high}")

    def _check_row(self, row: Sum) -> None:
        if not row.terms:
            raise ValueError(
                f"{self}: no rate is left in this comparison, so it constrains nothing"
            )
        ratios = row.nonlinear
        if not ratios or ratios[0].form == COMPUTED:
            return
        first = ratios[0]
        if len(ratios) < len(row.terms):
            raise TypeError(
                f"{self}: {first} is a ratio, so its difference from other rates is not linear; "
                f"compare it with a number, or with a multiple of one ratio, as in {first} >= 0.8"
            )
        if len(ratios) > 2 or (len(ratios) == 2 and not _compares_ratios(row)):
            raise TypeError(
                f"{self}: only two ratios can be compared, as in {first} >= 0.9 * {ratios[1]}"
            )
        if first.form == RANKING and row.terms[first] > 0:
            raise TypeError(f"{self}: {first} takes only a lower bound, as in {first} >= 0.8")

    def check_limits(self) -> None:
        """Raise if every model or no model meets a bound, as when 80 is written for 80%."""
        for row in self.rows:
            low = row.constant
            high = row.constant
            for quantity, coefficient in row.terms.items():
                low += min(coefficient * quantity.largest, 0.0)
                high += max(coefficient * quantity.largest, 0.0)
            # recall() <= 1 may be meant, but a bound that is off by a whole share is a slip.
            is_slip = low > ROUNDING or high <= -1
            if not is_slip:
                continue
            models = "no model meets this" if low > 0 else "every model meets this"
            number = max(abs(row.constant), *map(abs, row.terms.values()))
            hint = f"; write {number:g} percent as {number / 100:g}" if number >= 2 else ""
            reason = "a share is between 0 and 1, and a count is not negative"
            raise ValueError(f"{self}: {models}, since {reason}{hint}")

    @property
    def rows(self) -> list[Sum]:
        """The rows of a linear program: sums that are at most 0 if the constraint is met."""
        rows = []
        if self.low is not None:
            rows.append(self.low - self.sum)
        if self.high is not None:
            rows.append(self.sum - self.high)
        return rows

    @property
    def ends(self) -> list[Constraint]:
        """A constraint for each bound, in the order of `rows`."""
        if self.low is None or self.high is None:
            return [self]
        return [compare(self.sum, ">=", self.low), compare(self.sum, "<=", self.high)]

    @property
    def rates(self) -> tuple[Rate, ...]:
        return _collect_rates(self.rows)

    def map(self, change: Callable[[Rate], Rate]) -> Constraint:
        low = None if self.low is None else self.low.map(change)
        high = None if self.high is None else self.high.map(change)
        return Constraint(low, self.sum.map(change), high)

    def __bool__(self) -> bool:
        raise TypeError(
            f"the constraint {self} is neither true nor false before there is data; write a range "
            'as text, "0.1 <= positive_rate() <= 0.9", or as two constraints'
        )

    def __str__(self) -> str:
        if self.low is None:
            return f"{self.sum} <= {self.high}"
        if self.high is None:
            return f"{self.sum} >= {self.low}"
        if self.low == -self.high:
            return f"abs({self.sum}) <= {self.high}"
        return f"{self.low} <= {self.sum} <= {self.high}"


def compare(left: Any, relation: str, right: Any) -> Constraint:
    """Return the constraint that a comparison states, with a lone number on the right."""
    if isinstance(left, Distance):
        return left <= right if relation == "<=" else left >= right
    if isinstance(right, Distance):
        return compare(right, FLIPPED[relation], left)
    bounded = as_sum(left)
    bound = as_sum(right)
    if not bounded.terms and bound.terms:
        bounded, bound = bound, bounded
        relation = FLIPPED[relation]
    if relation == "<=":
        return Constraint(None, bounded, bound)
    return Constraint(bound, bounded, None)


def _compares_ratios(row: Sum) -> bool:
    """Return True if the row is one ratio minus a multiple of another, and nothing else."""
    first, second = row.terms
    has_opposite_signs = row.terms[first] * row.terms[second] < 0
    is_ranking = RANKING in (first.form, second.form)
    return has_opposite_signs and row.constant == 0 and not is_ranking


def equal(left: Sum, right: Sum | float, *, slack: float) -> Constraint:
    """Require two sums of rates to be equal, up to `slack` in either direction.

    >>> from ratebound import equal, positive_rate
    >>> equal(positive_rate(), 0.5, slack=0.25)
    abs(positive_rate() - 0.5) <= 0.25
    """
    if as_number(slack) < 0:
        raise ValueError(f"slack= must not be negative, got {slack!r}")
    return abs(as_sum(left) - right) <= slack


def constraint(
    value: Callable[[Any, Any], Any],
    proxy: Callable[[Any, Any], Any] | None = None,
    *,
    name: str,
    at_most: float = 0.0,
    on: str = FIRST,
    exact: bool = False,
    scale: float = 1.0,
) -> Constraint:
    """Bound any number that a function computes from a model and rows. Only games train for it.

    Parameters
    ----------
    value : callable
        A function of ``(model, rows)`` that returns the number to bound. The model has the `scores`
        of the rows, and its PyTorch `module`. The rows have `X`, `y`, `columns` and `weights`.
    proxy : callable, default=None
        What the model descends instead: a number with a gradient, ideally never below `value`. By
        default `value` itself.
    name : str
        Its name in reports and files.
    at_most : float, default=0.0
        The bound.
    on : str, default="train"
        The population whose rows are passed to the functions.
    exact : bool, default=False
        Whether multipliers read the value on all rows in each round. By default they read a batch.
    scale : float, default=1.0
        A typical size of its violation. Violations of rates are below 1.

    Examples
    --------
    >>> import ratebound as rb
    >>> def l1_norm(model, rows):
    ...     return model.module.weight.abs().sum()
    >>> rb.constraint(l1_norm, name="L1 norm", at_most=2)
    L1 norm <= 2
    """
    if proxy is None:
        proxy = value
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"constraint takes a name, as in name='L1 norm', got {name!r}")
    for option, function in (("value", value), ("proxy", proxy)):
        if not callable(function):
            raise TypeError(
                f"{name}: {option}= takes a function of (model, rows), got {function!r}"
            )
    if not isinstance(on, str):
        raise TypeError(f"{name}: on= takes the name of a population, got {on!r}")
    if as_number(scale) <= 0:
        raise ValueError(f"{name}: scale= takes a number above 0, got {scale!r}")
    computed = Computed(name.strip(), value, proxy, on, bool(exact), float(scale))
    return Constraint(None, Sum([(computed, 1.0)]), as_sum(at_most))


def _collect_rates(parts: Iterable[Sum | Quantity]) -> tuple[Rate, ...]:
    """Return the rates of all parts, each once, in order."""
    rates: dict[Rate, None] = {}
    for part in parts:
        rates |= dict.fromkeys(part.rates)
    return tuple(rates)


def mentions_letter(parts: Iterable[Part], letter: str) -> bool:
    """Return True if an event depends on the decision d, the label y or the live decision v."""
    pattern = r"\bd\b|decided" if letter == "d" else rf"\b{letter}\b"
    return any(re.search(pattern, part.event) for part in parts)


def as_number(value: Any) -> float:
    """Return a finite number as a float, from NumPy too; refuse booleans and text."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not is_finite(value):
        raise TypeError(f"expected a rate or a finite number, got {value!r}")
    return float(value)


def as_sum(value: Any) -> Sum:
    """Return a sum of rates; a number becomes a constant."""
    if isinstance(value, Distance | Shape):
        raise TypeError(f"{value} is not a sum of rates: it takes no arithmetic and stands alone")
    return value if isinstance(value, Sum) else Sum((), as_number(value))


def format_number(number: float) -> str:
    is_whole = number == int(number) and abs(number) < 1e15
    return str(int(number)) if is_whole else repr(float(number))


def _format_term(quantity: Quantity, coefficient: float) -> str:
    """Write a quantity with its coefficient, without the sign."""
    term = str(quantity)
    if coefficient != 1 and isinstance(quantity, Quotient):
        term = f"({term})"  # 0.5 * a / b would read as (0.5 * a) / b
    if abs(coefficient) == 1:
        return term
    return f"{format_number(abs(coefficient))} * {term}"


def _format_signed(sign: float, term: str, is_first: bool) -> str:
    if is_first:
        return f"-{term}" if sign < 0 else term
    return f" - {term}" if sign < 0 else f" + {term}"


def _format_side(side: Sum) -> str:
    """Write one side of a quotient, in parentheses unless it is a single rate."""
    is_one_quantity = not side.constant and list(side.terms.values()) == [1.0]
    if is_one_quantity and isinstance(next(iter(side.terms)), Rate):
        return str(side)
    return f"({side})"
