"""One mean against a number. Rows that add nothing say nothing; where the others add one of two values,
they are successes or failures, and the test is binomial: Clopper–Pearson, the sign test, precision."""

from __future__ import annotations

import math

from ratebound.certifying._aim import Aim, Finding, bentkus, bets, normal
from ratebound.certifying._bounded import betting, binomial_tail, hoeffding_bentkus, shuffled
from ratebound.certifying._means import ROUNDING, Mean, same_once

EXACT = "exact binomial test"
HEAVIEST = ", taking no row to weigh more than the heaviest here"


def fixed(room: float) -> Finding:
    """What there is to say if the same room is left whatever is decided."""
    if room >= -ROUNDING:
        return Finding(0.0, "kept whatever is decided", 0.0)
    return Finding(1.0, "broken whatever is decided", math.inf)


def tested_alone(mean: Mean, constant: float, aim: Aim) -> Finding:
    """The test of ``constant + mean >= 0``."""
    possible = same_once(mean.possible + constant)
    if possible[0] >= 0:
        return fixed(float(possible[0]))
    if possible[-1] <= 0:
        return Finding(1.0, "never more than just kept", math.inf)
    at = threshold(mean, constant)
    if mean.weights is None and mean.decided and at is not None:
        return _binomial(mean, constant, at, aim)
    luck = aim.luck * math.sqrt(mean.variance)
    if mean.weights is None and len(possible) == 2:
        below = -float(possible[0]) / mean.reach
        share, rows = (mean.mean - mean.low) / mean.reach, mean.rows
        sure = bentkus(aim.delta) * mean.reach * math.sqrt(below * (1 - below) / rows)
        return Finding(hoeffding_bentkus(share, rows, below), "Hoeffding–Bentkus bound", sure + luck)
    weights = mean.row_weights
    values = shuffled(weights * (mean.values + constant), mean.times, mean.order)
    words = "betting" + HEAVIEST * (mean.weights is not None)
    sure = bets(aim.delta) * math.sqrt(mean.variance)
    return Finding(betting(values, float(weights.max() * possible[0])), words, sure + luck)


def threshold(mean: Mean, constant: float) -> float | None:
    """The share of successes, among rows that add anything, above which the promise is kept.

    None where rows may add more than two values.
    """
    possible = same_once(mean.possible + constant)
    ups, downs = possible[possible > 0], possible[possible < 0]
    if len(ups) != 1 or len(downs) != 1:
        return None
    return float(-downs[0] / (ups[0] - downs[0]))


def _binomial(mean: Mean, constant: float, at: float, aim: Aim) -> Finding:
    possible, values = same_once(mean.possible + constant), mean.values + constant
    up, down = float(possible[-1]), float(possible[0])
    successes, failures = mean.count(values > up / 2), mean.count(values < down / 2)
    rows = successes + failures
    if not rows:
        return Finding(1.0, EXACT, math.inf, "no row here counts for or against it")
    sure = normal(aim.delta) * (up - down) * math.sqrt(rows * at * (1 - at)) / mean.rows
    spread = sure + aim.luck * math.sqrt(mean.variance)
    return Finding(binomial_tail(successes, rows, at), EXACT, spread)
