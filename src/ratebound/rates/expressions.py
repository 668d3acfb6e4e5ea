"""Rates, what can be computed from them, and what can be demanded of them.

An `Expression` has one normal form: rates with coefficients, plus a constant. Comparing two
expressions gives a `Constraint`. Nothing here knows of data; everything prints as it was written.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

from ratebound.base.checks import as_number, finite
from ratebound.rates.subsets import EVERYONE, Said, Subset, Value, value_text

if TYPE_CHECKING:
    from ratebound.rates.ranges import Absolute


FIRST = "train"  # the population that rates without ``on=`` speak of
# What any rate may take besides conditions, in the order it prints them: never the names of columns.
OPTIONS = ("of", "versus", "expert", "on", "at", "bins", "top", "per")


@dataclass(frozen=True, repr=False)
class Rate(Said):
    """One named rate on one subset: how often the model does something, among some rows.

    The functions of the rates, such as `recall`, say one and check it. Expressions are made of them.

    Parameters
    ----------
    kind : str
        The name of the rate, such as "recall".
    subset : Subset, default=rb.where()
        The rows that count. By default all.
    on : str, default=None
        The name of the population. By default the first, which the model is trained on.
    at : float or str, default=None
        The threshold that the score is compared with, or the name of one to be learned. By default 0,
        where the model itself decides.
    versus : str, default=None
        The column with an existing model's decisions. By default none: most rates need no other model.
    bins : int, default=None
        The number of budgets of an area; None for any other rate.
    per : float, default=None
        Of every how many rows of the population a count is taken. By default of all rows given.
    own : tuple of (str, value), default=()
        The options that its kind alone takes, such as the beta of an `f_score`, where they are not left
        at their defaults.
    of : str, bool, int or float, default=None
        The class it speaks of. By default the positive one of two.
    expert : str, default=None
        The column with what a person decides of rows that are referred. By default these are not
        decided.
    top : float, default=None
        How many of the rows, those with the largest scores, count as said yes to: a number of rows, or a
        share below 1. By default the model's own decisions count.

    Examples
    --------
    >>> import ratebound as rb
    >>> rate, = rb.recall(sex="Female", on="pool").rates
    >>> rate.kind, rate.subset, rate.on
    ('recall', sex == "Female", 'pool')
    """

    kind: str
    subset: Subset = EVERYONE
    on: str | None = None
    at: float | str | None = None
    versus: str | None = None
    bins: int | None = None
    per: float | None = None
    own: tuple[tuple[str, Value], ...] = ()
    of: Value | None = None
    expert: str | None = None
    top: float | None = None

    @property
    def compares_scores(self) -> bool:
        """Whether it depends on the order of the scores, and not on decisions."""
        return self.bins is not None or self.top is not None

    @property
    def population(self) -> str:
        """The population it speaks of, by name."""
        return self.on or FIRST

    def __str__(self) -> str:
        words = [] if self.subset == EVERYONE else [str(self.subset)]
        first, *others = [(option, getattr(self, option)) for option in OPTIONS]
        said = [(name, value) for name, value in (first, *self.own, *others) if value is not None]
        words += [f"{name}={value_text(value)}" for name, value in said]
        return f"{self.kind}({', '.join(words)})"


Bound = Literal["<=", ">="]
FLIPPED: dict[Bound, Bound] = {"<=": ">=", ">=": "<="}


class Metric(Said, ABC):
    """What can be bounded, from below or from above."""

    __array_ufunc__ = None  # NumPy numbers leave arithmetic and comparing to us

    @property
    @abstractmethod
    def rates(self) -> tuple[Rate, ...]:
        """The rates it speaks of."""

    def _bound(self, other: Any) -> Expression:
        return as_expression(other, "compared with a rate")

    def __le__(self, other: Expression | float) -> Constraint:
        return Constraint(self, "<=", self._bound(other))

    def __ge__(self, other: Expression | float) -> Constraint:
        return Constraint(self, ">=", self._bound(other))

    def __lt__(self, other: object) -> NoReturn:
        refuse_strict("<=")

    def __gt__(self, other: object) -> NoReturn:
        refuse_strict(">=")


@dataclass(frozen=True, repr=False, eq=False)
class Expression(Metric):
    """A sum of rates with coefficients, plus a constant; equal whatever the order of its terms.

    Rates are such sums, and give others by ``+``, ``-`` and ``*`` or ``/`` with numbers. Compared with
    ``<=`` or ``>=`` they give a `Constraint`; one divided by another is a `Ratio`.

    Parameters
    ----------
    terms : tuple of (Rate, float), default=()
        The rates, each once, with their coefficients. By default none: a sum starts so.
    constant : float, default=0.0
        What is added to them. By default nothing.

    Examples
    --------
    >>> import ratebound as rb
    >>> 0.5 * rb.recall(sex="Female") - rb.accuracy() / 4 + 1
    0.5 * recall(sex == "Female") - 0.25 * accuracy() + 1.0
    """

    terms: tuple[tuple[Rate, float], ...] = ()
    constant: float = 0.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self.constant == other.constant and dict(self.terms) == dict(other.terms)

    def __hash__(self) -> int:
        return hash((frozenset(self.terms), self.constant))

    def __add__(self, other: Any) -> Any:
        """Another sum; a `MixedSum` where `other` is a ratio."""
        if isinstance(other, Ratio | MixedSum):
            return other + self
        other = as_expression(other, "added to a rate")
        merged = dict(self.terms)
        for rate, coefficient in other.terms:
            merged[rate] = merged.get(rate, 0.0) + coefficient
        terms = tuple((rate, finite(c)) for rate, c in merged.items() if c != 0.0)
        return Expression(terms, finite(self.constant + other.constant))

    def __mul__(self, number: float) -> Expression:
        if isinstance(number, Metric):
            raise TypeError(
                f"cannot multiply {self} by {number}: rate constraints are linear, so a rate is only "
                "multiplied by a number"
            )
        factor = as_number(number, "multiplied with a rate")
        terms = tuple((rate, finite(c * factor)) for rate, c in self.terms if c * factor != 0.0)
        return Expression(terms, finite(self.constant * factor))

    def __truediv__(self, divisor: Any) -> Any:
        """A multiple of the sum where `divisor` is a number, a `Ratio` where it is another sum."""
        if isinstance(divisor, Expression) and divisor.terms:
            return Ratio(self, divisor)
        number = as_expression(divisor, "a divisor of a rate").constant
        if number == 0:
            raise ValueError(f"cannot divide {self} by zero")
        return self * (1.0 / number)

    def __rtruediv__(self, number: float) -> Ratio:
        return Ratio(as_expression(number, "divided by a rate"), self)

    def __neg__(self) -> Expression:
        return self * -1.0

    def __sub__(self, other: Expression | float) -> Expression:
        return self + -as_expression(other, "subtracted from a rate")

    def __rsub__(self, other: float) -> Expression:
        return as_expression(other, "combined with a rate") - self

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The rates it is a sum of."""
        return tuple(rate for rate, _ in self.terms)

    def __abs__(self) -> Absolute:
        from ratebound.rates.ranges import Absolute

        return Absolute(self)

    def with_rates(self, changed: Callable[[Rate], Rate]) -> Expression:
        """The same sum of other rates; adding merges those that became one.

        Parameters
        ----------
        changed : callable
            From each `Rate` to the one in its place.

        Returns
        -------
        Expression
            The new sum.
        """
        terms = tuple((changed(rate), coefficient) for rate, coefficient in self.terms)
        merged: Expression = Expression() + Expression(terms, self.constant)
        return merged

    def __str__(self) -> str:
        text = ""
        for rate, c in self.terms:
            size = str(rate) if abs(c) == 1.0 else f"{abs(c)!r} * {rate}"
            text += _joined(text, c, size)
        if self.constant != 0.0 or not text:
            text += _joined(text, self.constant, repr(abs(self.constant)))
        return text


class SingleMetric(Metric):
    """A metric that is no sum of rates, so that it compares with numbers only."""

    rate: Rate | None  # its words, where it has a name
    example: ClassVar[str] = ">= 0.8"  # a bound on it

    @property
    def rates(self) -> tuple[Rate, ...]:
        return () if self.rate is None else (self.rate,)

    def __str__(self) -> str:
        return str(self.rate)

    def _bound(self, other: Any) -> Expression:
        if isinstance(other, Expression) and not other.terms:
            return other
        if isinstance(other, Metric):
            raise TypeError(
                f"{self} compares with a number only, not with {other}: the product of two "
                f"rates is not linear. Fix a number for one side: {self} >= 0.8"
            )
        return Expression((), as_number(other, f"compared with {self}"))

    def _no_arithmetic(self, *_: object) -> Any:
        raise TypeError(
            f"{self} cannot be added, scaled or negated, since it is not a sum of rates; compare "
            f"it with a number: {self} {self.example}"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = _no_arithmetic


@dataclass(frozen=True, repr=False)
class Ratio(SingleMetric):
    """One sum of rates over another; compared with a number, it is kept by cross-multiplying.

    ``a / b`` of two expressions is a ratio. Give one a name of its own with `ratebound.ratio`.

    Parameters
    ----------
    numerator : Expression
        What is above the line.
    denominator : Expression
        What is below the line, which is never negative.
    rate : Rate, default=None
        Its words where it has a name, as `precision` has. By default it prints as its two sides.
    factor : float, default=1.0
        What the rate in its words is multiplied with; the numerator holds it already. By default it is
        the rate itself.

    Raises
    ------
    ValueError
        If a coefficient below the line is negative, or no rate is there.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.recall(sex="Female") / (rb.recall() + rb.positive_rate()) >= 0.4
    recall(sex == "Female") / (recall() + positive_rate()) >= 0.4
    >>> rb.precision(sex="Female") >= 0.8
    precision(sex == "Female") >= 0.8
    >>> rb.precision().denominator
    predicted_positives()
    """

    numerator: Expression
    denominator: Expression
    rate: Rate | None = None
    factor: float = 1.0

    def __post_init__(self) -> None:
        for part in (self.numerator, self.denominator):
            if not isinstance(part, Expression):
                raise TypeError(f"a ratio is of two sums of rates, got {part!r}")
        below = self.denominator
        if not below.terms or below.constant < 0 or any(c < 0 for _, c in below.terms):
            raise ValueError(
                f"cannot divide by {below}: the denominator of a ratio is a sum of rates that is never "
                "negative, so no coefficient in it may be below 0; 1 - positive_rate(), say, is "
                "negative_rate()"
            )

    @property
    def rates(self) -> tuple[Rate, ...]:
        return super().rates or tuple(dict.fromkeys(self.numerator.rates + self.denominator.rates))

    def __mul__(self, number: Any) -> Any:  # type: ignore[override]  # others refuse anything
        """The ratio times a number above 0, so that it can be compared with another."""
        factor = as_number(number, "multiplied with a ratio")
        if factor <= 0:
            raise ValueError(f"a ratio is multiplied by numbers above 0, got {factor} * {self}")
        words = 1.0 if self.rate is None else self.factor * factor
        return replace(self, numerator=self.numerator * factor, factor=words)

    __rmul__ = __mul__  # type: ignore[assignment]  # others refuse anything here too

    def __add__(self, other: Any) -> MixedSum:  # type: ignore[override]  # others refuse anything
        """The ratio and a sum of rates, as an objective."""
        if isinstance(other, Ratio | MixedSum):
            raise TypeError(f"{self} + {other}: an objective adds rates to one ratio, not to two")
        if not isinstance(other, Expression) or not other.terms:
            self._no_arithmetic()
        return MixedSum(self, other)

    __radd__ = __add__  # type: ignore[assignment]  # others refuse anything here too

    def __sub__(self, other: Any) -> MixedSum:  # type: ignore[override]  # others refuse anything
        return self + (-other if isinstance(other, Expression) else other)

    def _compared(self, relation: Bound, other: Any) -> Any:
        """A `Constraint` where `other` is a number, a `Parity` where it is another ratio."""
        from ratebound.rates.ranges import Parity

        if isinstance(other, Ratio):
            return Parity(self, relation, other)
        return Constraint(self, relation, self._bound(other))

    def __le__(self, other: Any) -> Any:
        return self._compared("<=", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(">=", other)

    def __str__(self) -> str:
        if self.rate is not None:
            return str(self.rate) if self.factor == 1.0 else f"{self.factor!r} * {self.rate}"
        return f"{_in_parentheses(self.numerator)} / {_in_parentheses(self.denominator)}"


@dataclass(frozen=True, repr=False)
class MixedSum(SingleMetric):
    """A ratio plus a sum of rates, as an objective: ``error_rate(decided) + 0.2 * referred()``."""

    ratio: Ratio
    rest: Expression
    rate: None = None

    @property
    def rates(self) -> tuple[Rate, ...]:
        return tuple(dict.fromkeys(self.ratio.rates + self.rest.rates))

    def __add__(self, other: Any) -> MixedSum:  # type: ignore[override]  # others refuse anything
        if isinstance(other, Ratio | MixedSum):
            raise TypeError(f"{self} + {other}: an objective adds rates to one ratio, not to two")
        return replace(self, rest=self.rest + as_expression(other, "added to a ratio"))

    __radd__ = __add__  # type: ignore[assignment]  # others refuse anything here too

    def __sub__(self, other: Any) -> MixedSum:  # type: ignore[override]  # others refuse anything
        return self + -as_expression(other, "subtracted from a ratio")

    def __mul__(self, number: Any) -> MixedSum:  # type: ignore[override]  # others refuse anything
        return MixedSum(self.ratio * number, self.rest * number)

    __rmul__ = __mul__  # type: ignore[assignment]  # others refuse anything here too

    def _bound(self, other: Any) -> NoReturn:
        raise TypeError(
            f"{self} is an objective, since it is not a sum of rates alone; as a promise, bound each "
            f"part: {self.ratio} <= 0.1, and {self.rest} by itself"
        )

    def __str__(self) -> str:
        text = str(self.rest)
        joined = f"- {text[1:]}" if text.startswith("-") else f"+ {text}"
        return f"{self.ratio} {joined}"


class OfScores(SingleMetric):
    """A metric of the order of the scores, bounded from below only; compiled at learnable thresholds."""

    rate: Rate

    def __le__(self, other: Expression | float) -> Constraint:
        raise TypeError(f"{self} can be bounded from below only: write {self} >= {other}")


@dataclass(frozen=True, repr=False)
class Area(OfScores):
    """The area under a ROC curve, bounded from below only; compiled to rates at learnable thresholds.

    Parameters
    ----------
    rate : Rate
        Its words, as `roc_auc` says them.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.roc_auc(sex="Female") >= 0.8
    roc_auc(sex == "Female", bins=10) >= 0.8
    """

    rate: Rate


@dataclass(frozen=True, repr=False)
class Top(OfScores):
    """A rate of the rows with the largest scores, as if the model said yes to these and no others.

    Parameters
    ----------
    rate : Rate
        Its words, as `precision` and `recall` say them with ``top=``.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.precision(sex="Female", top=100) >= 0.8
    precision(sex == "Female", top=100) >= 0.8
    """

    rate: Rate


@dataclass(frozen=True, repr=False)
class Constraint(Said):
    """A promise: one expression at most, or at least, another.

    Comparing rates with ``<=`` or ``>=`` gives one; nobody needs to write it out. It is neither true nor
    false before there is data. Two are equal if they promise the same, whatever their names.

    Parameters
    ----------
    left : Expression, Ratio, Area or Top
        What is bounded.
    relation : {"<=", ">="}
        From above, or from below.
    right : Expression
        The bound.
    name : str, default=""
        What reports call it. By default its own words.
    every_class : bool, default=False
        Whether it is said of each class where there are more than two and it names none, as promises of
        goals are. By default a rate that leaves out which class it means is then an error.
    keeps : object, default=None
        The promise about two ratios that it keeps at a level, if it does. By default it stands for
        itself.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.recall(sex="Female") >= 0.95 * rb.recall()
    recall(sex == "Female") >= 0.95 * recall()
    """

    left: Metric
    relation: Bound
    right: Expression
    name: str = field(default="", compare=False)
    every_class: bool = field(default=False, compare=False)
    keeps: Any = field(default=None, compare=False)  # a `Parity`

    def __post_init__(self) -> None:
        if not isinstance(self.left, Expression):
            return
        if not (self.left - self.right).terms:
            raise ValueError(f"{self}: no rate is left in this comparison, so there is nothing to keep")
        if not self.left.terms:  # one form for 0.5 <= rate and rate >= 0.5
            flipped = {"left": self.right, "right": self.left, "relation": FLIPPED[self.relation]}
            for name, value in flipped.items():
                object.__setattr__(self, name, value)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Every rate it speaks of, once."""
        return tuple(dict.fromkeys(self.left.rates + self.right.rates))

    def tightened(self, margin: float) -> Constraint:
        """The same promise with `margin` to spare: a higher bound from below, a lower one from above.

        What is kept with room on the rows at hand has better chances on new ones.

        Parameters
        ----------
        margin : float
            How much to spare, in the unit of the bound; not negative.

        Returns
        -------
        Constraint
            The tighter promise.

        Examples
        --------
        >>> import ratebound as rb
        >>> (rb.recall(sex="Female") >= 0.95 * rb.recall()).tightened(0.02)
        recall(sex == "Female") >= 0.95 * recall() + 0.02
        """
        if as_number(margin, "a margin") < 0:
            raise ValueError(f"{self}: a margin is not negative, got {margin}")
        sign = 1.0 if self.relation == ">=" else -1.0
        bound = round(self.right.constant + sign * margin, 15)  # .03, not .030000000000000002
        return replace(self, right=replace(self.right, constant=bound))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"the constraint {self} is neither true nor false before there is data. "
            "For 0.1 <= rate <= 0.9 write two constraints, [rate >= 0.1, rate <= 0.9], or a text"
        )

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


def as_expression(value: Any, role: str) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, SingleMetric):
        raise TypeError(
            f"{value} is not a sum of rates and cannot be {role}; "
            f"compare it with a number: {value} {value.example}"
        )
    return Expression((), as_number(value, role))


def refuse_strict(instead: str) -> NoReturn:
    raise TypeError(f"rates take no strict bounds: write {instead} instead of {instead[0]}")


def _joined(before: str, sign: float, size: str) -> str:
    negative = math.copysign(1.0, sign) < 0
    if before:
        return f" {'-' if negative else '+'} {size}"
    return f"-{size}" if negative else size


def _in_parentheses(expression: Expression) -> str:
    alone = not expression.constant and [c for _, c in expression.terms] == [1.0]
    return str(expression) if alone else f"({expression})"
