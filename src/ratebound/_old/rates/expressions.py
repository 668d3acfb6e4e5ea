"""Rates, sums and ratios of rates, and the constraints on them.

An `Expression` has one normal form: rates with coefficients, plus a constant. Comparing two
expressions gives a `Constraint`. Nothing here holds data; everything prints as it was written.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

from ratebound._old.base.checks import as_number, finite
from ratebound._old.rates.subsets import EVERYONE, Said, Subset, Value, value_text

if TYPE_CHECKING:
    from ratebound._old.rates.ranges import Absolute


FIRST = "train"  # the population of rates without ``on=``
# The options of rates besides conditions, in the order they are printed. No column goes by these names.
OPTIONS = ("of", "versus", "on", "at", "bins", "top", "per")


@dataclass(frozen=True, repr=False)
class Rate(Said):
    """One named rate on one subset: how often the model does something, among some rows.

    A rate's function, such as `recall`, makes one and checks it. Expressions are made of rates.

    Parameters
    ----------
    kind : str
        The name of the rate, such as "recall".
    subset : Subset, default=rb.where()
        The rows that count. By default all.
    on : str, default=None
        The name of the population. By default the first, which the model is trained on.
    at : float or str, default=None
        The threshold that scores are compared with, or the name of a threshold to learn. By default 0,
        the model's own threshold.
    versus : str, default=None
        The column with an existing model's decisions. By default none: most rates need no other model.
    bins : int, default=None
        The number of budgets of an area; None for any other rate.
    per : float, default=None
        A count is scaled to this many rows of the population. By default it is over all rows given.
    own : tuple of (str, value), default=()
        The options that only its kind takes, such as the beta of an `f_score`, unless they have their
        default values.
    of : str, bool, int or float, default=None
        The class it is about. By default the positive one of two.
    top : float, default=None
        Take the rows with the largest scores as the model's yeses: a number of rows, or a share below 1.
        By default the model's own decisions count.

    Examples
    --------
    >>> import ratebound._old as rb
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
    top: float | None = None

    @property
    def compares_scores(self) -> bool:
        """Whether it depends on the order of the scores instead of the decisions."""
        return self.bins is not None or self.top is not None

    @property
    def population(self) -> str:
        """The name of its population."""
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
    """A quantity that can be bounded, from below or from above."""

    __array_ufunc__ = None  # NumPy numbers leave arithmetic and comparisons to this class

    @property
    @abstractmethod
    def rates(self) -> tuple[Rate, ...]:
        """The rates in it."""

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
    """A sum of rates with coefficients, plus a constant; equality ignores the order of terms.

    A rate is such a sum. Use ``+`` and ``-``, and ``*`` or ``/`` with numbers, to make others. Comparing
    them with ``<=`` or ``>=`` gives a `Constraint`; dividing one by another gives a `Ratio`.

    Parameters
    ----------
    terms : tuple of (Rate, float), default=()
        The rates, each once, with their coefficients. By default the sum is empty.
    constant : float, default=0.0
        The number added to them.

    Examples
    --------
    >>> import ratebound._old as rb
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
        """Another sum; a `MixedSum` if `other` is a ratio."""
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
                f"cannot multiply {self} by {number}: rate constraints are linear, so a rate can only "
                "be multiplied by a number"
            )
        factor = as_number(number, "multiplied with a rate")
        terms = tuple((rate, finite(c * factor)) for rate, c in self.terms if c * factor != 0.0)
        return Expression(terms, finite(self.constant * factor))

    def __truediv__(self, divisor: Any) -> Any:
        """A multiple of the sum if `divisor` is a number; a `Ratio` if it is another sum."""
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
        from ratebound._old.rates.ranges import Absolute

        return Absolute(self)

    def with_rates(self, changed: Callable[[Rate], Rate]) -> Expression:
        """The same sum with each rate replaced; rates that become equal are merged.

        Parameters
        ----------
        changed : callable
            A function from each `Rate` to its replacement.

        Returns
        -------
        Expression
            The new sum.
        """
        terms = tuple((changed(rate), coefficient) for rate, coefficient in self.terms)
        merged: Expression = Expression() + Expression(terms, self.constant)
        return merged

    def __str__(self) -> str:
        first = self.constant > 0 and bool(self.terms) and self.terms[0][1] < 0  # as in 1 - recall()
        text = repr(self.constant) if first else ""
        for rate, c in self.terms:
            size = str(rate) if abs(c) == 1.0 else f"{abs(c)!r} * {rate}"
            text += _joined(text, c, size)
        if (self.constant != 0.0 and not first) or not text:
            text += _joined(text, self.constant, repr(abs(self.constant)))
        return text


class SingleMetric(Metric):
    """A metric that is not a sum of rates, so it can only be compared with numbers."""

    rate: Rate | None  # its name and options, if it has a name
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
                f"{self} can only be compared with a number, not with {other}: the product of two "
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
    """One sum of rates over another; a bound on it becomes linear by cross-multiplying.

    ``a / b`` of two expressions is a ratio. Give one a name of its own with `ratebound.ratio`.

    Parameters
    ----------
    numerator : Expression
        The sum above the line.
    denominator : Expression
        The sum below the line, which is never negative.
    rate : Rate, default=None
        Its name and options, if it has a name, such as `precision`. By default it prints as its two
        sides.
    factor : float, default=1.0
        The factor of the named rate when it prints. The numerator already includes it.

    Raises
    ------
    ValueError
        If a coefficient of the denominator is negative, or the denominator has no rate.

    Examples
    --------
    >>> import ratebound._old as rb
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
                raise TypeError(f"a ratio takes two sums of rates, got {part!r}")
        below = self.denominator
        if not below.terms or below.constant < 0 or any(c < 0 for _, c in below.terms):
            raise ValueError(
                f"cannot divide by {below}: the denominator of a ratio is a sum of rates that is never "
                "negative, so no coefficient in it may be below 0; for example, write negative_rate() "
                "for 1 - positive_rate()"
            )

    @property
    def rates(self) -> tuple[Rate, ...]:
        return super().rates or tuple(dict.fromkeys(self.numerator.rates + self.denominator.rates))

    def __mul__(self, number: Any) -> Any:  # type: ignore[override]  # others refuse anything
        """The ratio times a number above 0, so that it can be compared with another."""
        factor = as_number(number, "multiplied with a ratio")
        if factor <= 0:
            raise ValueError(f"a ratio can only be multiplied by numbers above 0, got {factor} * {self}")
        words = 1.0 if self.rate is None else self.factor * factor
        return replace(self, numerator=self.numerator * factor, factor=words)

    __rmul__ = __mul__  # type: ignore[assignment]  # others refuse anything here too

    def __add__(self, other: Any) -> MixedSum:  # type: ignore[override]  # others refuse anything
        """The ratio and a sum of rates, as an objective."""
        if isinstance(other, Ratio | MixedSum):
            raise TypeError(f"{self} + {other}: an objective can contain one ratio, not two")
        if not isinstance(other, Expression) or not other.terms:
            self._no_arithmetic()
        return MixedSum(self, other)

    __radd__ = __add__  # type: ignore[assignment]  # others refuse anything here too

    def __sub__(self, other: Any) -> MixedSum:  # type: ignore[override]  # others refuse anything
        return self + (-other if isinstance(other, Expression) else other)

    def _compared(self, relation: Bound, other: Any) -> Any:
        """A `Constraint` if `other` is a number; a `Parity` if it is another ratio."""
        from ratebound._old.rates.ranges import Parity

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
            raise TypeError(f"{self} + {other}: an objective can contain one ratio, not two")
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
    """A metric of the order of scores. It takes only lower bounds; compiling adds learned thresholds."""

    rate: Rate

    def __le__(self, other: Expression | float) -> Constraint:
        raise TypeError(f"{self} can be bounded from below only: write {self} >= {other}")


@dataclass(frozen=True, repr=False)
class Area(OfScores):
    """The area under a ROC curve. It takes lower bounds only and is compiled at learned thresholds.

    Parameters
    ----------
    rate : Rate
        Its name and options, as `roc_auc` makes them.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.roc_auc(sex="Female") >= 0.8
    roc_auc(sex == "Female", bins=10) >= 0.8
    """

    rate: Rate


@dataclass(frozen=True, repr=False)
class Top(OfScores):
    """A rate of the rows with the largest scores, as if the model said yes to exactly these rows.

    Parameters
    ----------
    rate : Rate
        Its name and options, as `precision` and `recall` make them with ``top=``.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.precision(sex="Female", top=100) >= 0.8
    precision(sex == "Female", top=100) >= 0.8
    """

    rate: Rate


@dataclass(frozen=True, repr=False)
class Constraint(Said):
    """A promise that one expression is at most, or at least, another.

    Comparing rates with ``<=`` or ``>=`` gives one, so you need not build it yourself. It is neither
    true nor false before there is data. Two are equal if they promise the same, whatever their names.

    Parameters
    ----------
    left : Expression, Ratio, Area or Top
        The side that is bounded.
    relation : {"<=", ">="}
        From above, or from below.
    right : Expression
        The bound.
    name : str, default=""
        Its name in reports. By default the promise as text.
    every_class : bool, default=False
        Whether it holds for each class if there are more than two and it names none, as the promises of
        goals do. By default a rate that does not name its class is an error then.
    keeps : object, default=None
        The promise about two ratios that it keeps at a level, if any. By default it stands for itself.

    Examples
    --------
    >>> import ratebound._old as rb
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
        """Every rate in it, once."""
        return tuple(dict.fromkeys(self.left.rates + self.right.rates))

    def tightened(self, margin: float) -> Constraint:
        """The same promise with a margin: a lower bound is raised, an upper bound is lowered.

        A promise kept with a margin on the given rows is more likely to hold on new rows.

        Parameters
        ----------
        margin : float
            The margin in the unit of the bound; not negative.

        Returns
        -------
        Constraint
            The tighter promise.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> (rb.recall(sex="Female") >= 0.95 * rb.recall()).tightened(0.02)
        recall(sex == "Female") >= 0.95 * recall() + 0.02
        """
        if as_number(margin, "a margin") < 0:
            raise ValueError(f"{self}: a margin must not be negative, got {margin}")
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
