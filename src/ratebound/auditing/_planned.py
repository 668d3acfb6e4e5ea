"""How many rows it would take to certify a promise, as far as an audit can tell."""

from __future__ import annotations

import math

from ratebound.auditing.report import Promise

CONFIDENCE, POWER = 0.95, 0.8  # of the certificate, and the chance to get it
MOST_ROWS = 10**12  # where more would be needed, no number of rows is called enough


def rows_to_certify(promise: Promise, level: float) -> int | None:
    """Rows of the smallest set that would do, were all sets to grow alike and the rates to stay.

    The interval says how far the room may be off with as many rows as here; with more rows that falls
    with their square root. A certificate at 95% must be got with a chance of 80%. None where the promise
    has no room, so that no number of rows would do.
    """
    from scipy.special import ndtri

    if promise.slack is None or promise.slack_low is None or promise.slack <= 0 or not promise.rows:
        return None
    error = (promise.slack - promise.slack_low) / float(ndtri((1 + level) / 2))
    asked = float(ndtri(CONFIDENCE) + ndtri(POWER)) * error
    needed = promise.rows * (asked / promise.slack) ** 2
    return max(math.ceil(needed), 1) if needed < MOST_ROWS else None
