"""What each promise costs: the objective that relaxing it would gain."""

from __future__ import annotations

from ratebound.base.linear_program import mixture_prices
from ratebound.base.types import Array
from ratebound.game.trace import Trace


def prices(trace: Trace) -> Array:
    """The price of each constraint (m,): what `rb.shrink`'s objective falls by, per unit it is relaxed.

    A unit is the constraint's own: of ``positive_rate() <= 0.3`` a relaxation by .01, at a price of .7,
    gains .007; of ``predicted_positives() <= 1800`` the price is that of one row. Ratios have the units
    of their cross-multiplied form, as their violations do: rows right per row of the subset, for
    precision. Relaxing by more gains at most as much per unit. A constraint that is kept with room to
    spare has the price 0, and all have NaN where they cannot be kept together.

    >>> import numpy as np
    >>> import ratebound as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> people = rb.Population(X, X[:, 0] > 0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> trace = rb.play(rb.compile(problem, people), rb.Linear(0.1), rounds=100, batch_size=None)
    >>> prices(trace).round(6)
    array([1.])
    """
    return mixture_prices(trace.objectives, trace.violations, trace.scale)
