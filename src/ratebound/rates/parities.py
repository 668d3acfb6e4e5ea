"""Promises about two ratios, such as predictive parity: the precision of one group against another's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

from ratebound.rates.expressions import FLIPPED, Bound, Constraint, Expression, Ratio
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Said


@dataclass(frozen=True, repr=False)
class Parity(Said):
    """A promise about two ratios: one at least, or at most, the other.

    No cross-multiplying makes that linear. But it is kept exactly where some level lies between the two:
    so at a level it is two promises, each of a ratio and a number, and the best level is searched for.

    >>> from ratebound import precision
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
        """Every rate it speaks of, once."""
        return tuple(dict.fromkeys(self.left.rates + self.right.rates))

    def at(self, level: float) -> list[Constraint]:
        """The two promises that keep it at a level of its right side, each named after the whole."""
        bound, other = Expression((), level), FLIPPED[self.relation]
        ends = Constraint(self.right, other, bound), Constraint(self.left, self.relation, bound)
        return [replace(end, name=f"{self}: {end}", keeps=self) for end in ends]

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the promise {self} is neither true nor false before there is data")

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"
