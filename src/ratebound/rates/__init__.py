"""The language of promises: rates, expressions, constraints and goals. No data, no arrays.

`rb.rates` lists the rates; goals are in `rb.goals`.
"""

# Text and unpickled constraints look up rates and goals in tables. The two imports below fill these
# tables, so they are full for anyone who imports from this room.
from ratebound.rates import goals as goals
from ratebound.rates import named
from ratebound.rates.alike import equal
from ratebound.rates.beyond_sums import g_mean, h_mean, kl_divergence, largest, smallest
from ratebound.rates.expressions import Area, Constraint, Expression, Rate, Ratio
from ratebound.rates.general import constraint
from ratebound.rates.grouping import Goal
from ratebound.rates.guesses import Guessed, guessed
from ratebound.rates.named import *  # noqa: F403  # every rate
from ratebound.rates.naming import rate, ratio
from ratebound.rates.ranges import Range
from ratebound.rates.stating import goal
from ratebound.rates.subsets import Subset, column, decided, missing, where
from ratebound.rates.text import parse

__all__ = [
    "Area",
    "Constraint",
    "Expression",
    "Goal",
    "Guessed",
    "Range",
    "Rate",
    "Ratio",
    "Subset",
    "column",
    "constraint",
    "decided",
    "equal",
    "g_mean",
    "goal",
    "guessed",
    "h_mean",
    "kl_divergence",
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
