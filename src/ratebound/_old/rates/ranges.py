"""Promises that are two constraints: a metric between two bounds, or one ratio against another.

An upper bound on the absolute value of a sum is such a range. A comparison of two ratios, as in
predictive parity, becomes two constraints at a level between the ratios. The level is searched for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

from ratebound._old.rates.expressions import (
    FLIPPED,
    Bound,
    Constraint,
    Expression,
    Metric,
    Rate,
    Ratio,
    SingleMetric,
    as_expression,
)
from ratebound._old.rates.subsets import Said


@dataclass(frozen=True, repr=False)
class Absolute(SingleMetric):
    """The absolute value of a sum of rates. An upper bound on it is a `Range`.

    >>> from ratebound._old import recall
    >>> abs(recall(sex="Female") - recall(sex="Male")) <= 0.05
    abs(recall(sex == "Female") - recall(sex == "Male")) <= 0.05
    """

    expression: Expression
    rate: None = None
    example = "<= 0.05"

    def __str__(self) -> str:
        return f"abs({self.expression})"

    def __le__(self, other: Expression | float) -> Range:  # type: ignore[override]  # two promises
        bound = as_expression(other, f"compared with {self}")
        return Range(-bound, self.expression, bound)

    def __ge__(self, other: object) -> NoReturn:
        raise TypeError(f"{self} takes only an upper bound: write which of the two rates is larger")


@dataclass(frozen=True, repr=False)
class Range(Said):
    """Two promises at once: a metric between two bounds. A problem holds its two constraints.

    A text with two bounds gives one, and so does a bound on ``abs`` of a difference.

    Parameters
    ----------
    low : Expression
        The lower bound.
    metric : Expression or Ratio
        The metric between the two.
    high : Expression
        The upper bound.

    Raises
    ------
    ValueError
        If the range is empty.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.parse("0.7 <= recall() <= 0.8").constraints
    [recall() >= 0.7, recall() <= 0.8]
    >>> abs(rb.recall(sex="Female") - rb.recall(sex="Male")) <= 0.05
    abs(recall(sex == "Female") - recall(sex == "Male")) <= 0.05
    """

    low: Expression
    metric: Metric
    high: Expression

    def __post_init__(self) -> None:
        _ = self.constraints  # this raises if the parts cannot be compared
        gap = self.low - self.high
        if not gap.terms and gap.constant > 0:
            raise ValueError(f"{self}: the range is empty, since {self.low} is above {self.high}")

    @property
    def constraints(self) -> list[Constraint]:
        """Its two bounds, each with the whole as its name."""
        ends = [self.metric >= self.low, self.metric <= self.high]
        return [replace(end, name=f"{self}: {end}") for end in ends]

    def __str__(self) -> str:
        if isinstance(self.metric, Expression) and self.low == -self.high:
            return f"abs({self.metric}) <= {self.high}"
        return f"{self.low} <= {self.metric} <= {self.high}"


@dataclass(frozen=True, repr=False)
class Parity(Said):
    """A promise that one ratio is at least, or at most, another.

    Cross-multiplying does not make it linear. But it is kept if and only if some level lies between the
    two ratios. So at a given level it is two promises, each about one ratio and a number. The best level
    is searched for.

    >>> from ratebound._old import precision
    >>> fair = precision(sex="Female") >= 0.95 * precision()
    >>> fair, fair.at(0.7)
    (precision(sex == "Female") >= 0.95 * precision(), [0.95 * precision() <= 0.7, \
precision(sex == "Female") >= 0.7])
    """

    left: Ratio
    relation: Bound
    right: Ratio
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.left == self.right:
            raise ValueError(f"{self}: both sides are the same, so there is nothing to keep")

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Every rate in it, once."""
        return tuple(dict.fromkeys(self.left.rates + self.right.rates))

    def at(self, level: float) -> list[Constraint]:
        """The two promises that keep it at a level of its right side, each named after this promise."""
        bound, other = Expression((), level), FLIPPED[self.relation]
        ends = Constraint(self.right, other, bound), Constraint(self.left, self.relation, bound)
        return [replace(end, name=f"{self.name or self}: {end}", keeps=self) for end in ends]

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the promise {self} is neither true nor false before there is data")

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"
