"""The interval of a sum of rates: by scores, or by how far single rows move it where these cost amounts.

Scores rest on strata of rows that a sum treats alike but for their decisions. Rows with amounts of their
own are not alike, so a sum with such costs has the normal interval of a mean.
"""

from __future__ import annotations

from ratebound.auditing._intervals import Interval
from ratebound.auditing._score import score_interval
from ratebound.auditing._strata import strata
from ratebound.auditing.decided import Decided
from ratebound.auditing.influence import covariance
from ratebound.auditing.report import Method
from ratebound.rates.costs import cost_columns
from ratebound.rates.demands import Demand
from ratebound.rates.expressions import Expression


def sum_interval(
    found: float, expression: Expression, decided: Decided, level: float
) -> tuple[Interval, Method]:
    """The interval around what was `found` of a sum of rates on these rows."""
    if not any(cost_columns(rate) for rate in expression.rates):
        return score_interval(found, strata(decided, expression), level), "score"
    demand = Demand(expression <= 0, expression, 0)
    from scipy.special import ndtri

    reach = float(ndtri((1 + level) / 2)) * float(covariance(decided, [demand])[0, 0]) ** 0.5
    return (found - reach, found + reach), "normal"
