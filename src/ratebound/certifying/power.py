"""How much room a promise needs to be certified: about as much as its test is off by, and some luck."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.base.types import Array
from ratebound.certifying._aim import Aim
from ratebound.certifying._means import means
from ratebound.certifying._tests import planned
from ratebound.rates.demands import Demand
from ratebound.rates.expressions import Rate


def power_margins(
    decided: Decided,
    demands: Sequence[Demand],
    rows: float,
    *,
    confidence: float = 0.95,
    power: float = 0.8,
) -> Array:
    """The room (m,) that each demand needs to be certified with that `power` on so many rows.

    In the units of compiled violations, at the rates that `decided` has here and the shares that
    groups have here, the other populations growing as the first; by the test that `rb.certify` would
    use. It is infinite for what is never certified.

    >>> from ratebound import Population, Problem, recall
    >>> from ratebound.auditing.decided import decided_by
    >>> people = Population(None, [1] * 100)
    >>> decided = decided_by({"train": people}, {"train": np.repeat([1.0, -1.0], 50)}, "a model")
    >>> demands = Problem("error_rate()", [recall() >= 0.4]).demands
    >>> power_margins(decided, demands, 400).round(3)  # about (1.64 + 0.84) * (.5 * .5 / 400) ** .5
    array([0.061])
    """
    aim = Aim(1.0 - confidence, len(demands), power)
    first = next(iter(decided.populations.values()))
    grown = math.sqrt(len(first) / rows)
    return grown * np.array([_margin(decided, demand, aim) for demand in demands])


def _margin(decided: Decided, demand: Demand, aim: Aim) -> float:
    rates = demand.expression.rates
    if any(isinstance(rate.at, str) and rate.at not in decided.thresholds for rate in rates):
        return math.inf
    spread = planned(means(decided, demand.expression * -1.0), -demand.expression.constant, aim)
    return spread * _unit(decided, rates[0]) if demand.per_row else spread


def _unit(decided: Decided, rate: Rate) -> float:
    """What one row of all is, in shares of the rows of a ratio."""
    weights = decided.row_weights(rate.population)
    return 1.0 / float(weights[decided.mask(rate.population, rate.subset)].sum())
