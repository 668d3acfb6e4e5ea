"""The language of promises: rates, expressions, constraints and goals. No data, no arrays.

`rb.rates` lists the rates; goals are in `rb.goals`.
"""

# Text and unpickled constraints look up rates and goals in tables. The two imports below fill these
# tables, so they are full for anyone who imports from this room.
from ratebound._old.rates import goals as goals
from ratebound._old.rates import named
from ratebound._old.rates.alike import equal
from ratebound._old.rates.beyond_sums import largest, smallest
from ratebound._old.rates.expressions import Area, Constraint, Expression, Rate, Ratio
from ratebound._old.rates.general import constraint
from ratebound._old.rates.grouping import Goal
from ratebound._old.rates.named import *  # noqa: F403  # every rate
from ratebound._old.rates.naming import rate, ratio
from ratebound._old.rates.ranges import Range
from ratebound._old.rates.stating import goal
from ratebound._old.rates.subsets import Subset, column, decided, missing, where
from ratebound._old.rates.text import parse

__all__ = [
    "Area",
    "Constraint",
    "Expression",
    "Goal",
    "Range",
    "Rate",
    "Ratio",
    "Subset",
    "column",
    "constraint",
    "decided",
    "equal",
    "goal",
    "largest",
    "missing",
    "parse",
    "rate",
    "ratio",
    "smallest",
    "where",
    *named.RATES,
]


def __dir__() -> list[str]:
    return sorted(__all__)
