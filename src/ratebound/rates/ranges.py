"""Two promises said at once: a metric between two bounds, or the size of a sum below one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from ratebound.rates.expressions import Constraint, Expression, Metric, SingleMetric, as_expression
from ratebound.rates.subsets import Said


@dataclass(frozen=True, repr=False)
class Absolute(SingleMetric):
    """The size of a sum of rates, whatever its sign. Bounded from above it is a `Range`.

    >>> from ratebound import recall
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
        raise TypeError(f"{self} can be bounded from above only: say which of two rates is larger")


@dataclass(frozen=True, repr=False)
class Range(Said):
    """Two promises said at once: a metric between two bounds. A problem holds its two constraints.

    A text with two bounds gives one, and so does ``abs`` of a difference with a bound.

    Parameters
    ----------
    low : Expression
        The bound from below.
    metric : Expression or Ratio
        What lies between the two.
    high : Expression
        The bound from above.

    Raises
    ------
    ValueError
        If nothing lies between the two.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.parse("0.7 <= recall() <= 0.8").constraints
    [recall() >= 0.7, recall() <= 0.8]
    >>> abs(rb.recall(sex="Female") - rb.recall(sex="Male")) <= 0.05
    abs(recall(sex == "Female") - recall(sex == "Male")) <= 0.05
    """

    low: Expression
    metric: Metric
    high: Expression

    def __post_init__(self) -> None:
        _ = self.constraints  # which objects to what cannot be compared
        gap = self.low - self.high
        if not gap.terms and gap.constant > 0:
            raise ValueError(f"{self}: nothing lies there, since {self.low} is above {self.high}")

    @property
    def constraints(self) -> list[Constraint]:
        """Its two bounds, each with the whole as its name."""
        ends = [self.metric >= self.low, self.metric <= self.high]
        return [replace(end, name=f"{self}: {end}") for end in ends]

    def __str__(self) -> str:
        if isinstance(self.metric, Expression) and self.low == -self.high:
            return f"abs({self.metric}) <= {self.high}"
        return f"{self.low} <= {self.metric} <= {self.high}"
