"""The interval of a sum of rates: every value that a score test does not reject.

To test a value, the yes-rates of the strata are moved to where the sum has it, at the least loss of
likelihood (Miettinen and Nurminen, 1985). With t the multiplier of that condition, a stratum of n rows
of which x say yes, and whose coefficient is a, moves to the p with x/p - (n - x)/(1 - p) = -t·a. That is
a quadratic equation, so all candidates for an end of the interval lie on one curve in t. The shares of
the strata are tilted along with it, by exp(t · influence / rows). What was observed is compared with
the sum's standard deviation *there*, corrected for skewness (Gart and Nam, 1990; Laud, 2017) and by a
quarter of what one row changes. So ten right decisions of ten are not taken for certainty, and no
rows need to be imagined in each of many groups, which would pull their sum towards one half.
"""

from __future__ import annotations

import numpy as np

from ratebound.auditing._intervals import Interval
from ratebound.auditing._strata import Strata
from ratebound.base.types import Array

FIRST_TRY, FARTHEST = 1e-3, 1e15  # multipliers, where nothing varies in the sample


def score_interval(value: float, strata: list[Strata], level: float) -> Interval:
    """The interval of a sum that has `value` on the sample."""
    from scipy.special import ndtri

    z = float(ndtri((1.0 + level) / 2))
    return value + _end(strata, -1.0, z), value + _end(strata, 1.0, z)


def _end(strata: list[Strata], side: float, z: float) -> float:
    """How far from the sample's value the interval ends, below it (`side` -1) or above (1)."""
    step = min(s.step for s in strata) / 4

    def excess(t: float) -> float:
        """How much farther the sum is from the sample's at `t` than chance explains."""
        shift, variance, third = _moments(strata, side * t)
        if variance <= (1e-6 * step) ** 2:  # nothing but rounding
            return abs(shift) - step
        deviation = variance**0.5
        skewness = float(np.clip(side * (z * z - 1.0) / 6.0 * third / deviation**3, -z / 2, z / 2))
        return abs(shift) - step - (z - skewness) * deviation

    variance = _moments(strata, 0.0)[1]
    least, most = 0.0, z / variance**0.5 if variance > 0 else FIRST_TRY
    while excess(most) < 0:
        if most > FARTHEST:  # at the edge of what is possible
            return _moments(strata, side * most)[0]
        least, most = most, 2 * most
    from scipy.optimize import brentq  # which is slow to import

    return _moments(strata, side * brentq(excess, least, most, rtol=1e-9))[0]


def _moments(strata: list[Strata], t: float) -> tuple[float, float, float]:
    """How far the sum is moved at the multiplier `t`; its variance and third central moment there."""
    shift, variance, third = np.sum([_moments_of(s, t) for s in strata], axis=0)
    return float(shift), float(variance), float(third)


def _moments_of(s: Strata, t: float) -> tuple[float, float, float]:
    p = _moved(s.mean, s.trials, t * s.share * s.reach)
    values = s.reach * (p - s.mean)
    influence = s.influence + values - s.over.T @ (s.follows @ values)
    push = t * influence * s.spread / s.share
    share = s.share * np.exp(push - push.max())
    share /= share.sum()
    moved = share @ influence
    influence -= moved
    # Variances found on n rows fall short by 1/n on average; of a single row none can be found.
    several = s.rows >= 2
    few = np.where(several, s.rows / np.where(several, s.rows - 1.0, 1.0), 1.0)
    less = s.share**2 / s.spread / s.trials  # how much less rows vary than as many decisions would
    within = less * s.reach**2 * np.where(several, p * (1.0 - p), 0.25)
    third = less * within * s.reach * (1.0 - 2.0 * p) + 3.0 * influence * within + influence**3
    weight = s.spread * share / s.share
    variance = weight @ (few * (within + influence**2))
    return s.share @ values + moved, variance, (weight * s.spread / s.share) @ third


def _moved(mean: Array, n: Array, push: Array) -> Array:
    """The p in [0, 1] with n·mean/p - n·(1 - mean)/(1 - p) = -push."""
    up, push = push > 0, np.abs(push)
    x = n * np.where(up, 1.0 - mean, mean)
    root = np.sqrt(np.maximum((push + n) ** 2 - 4.0 * push * x, 0.0))
    p = np.minimum(2.0 * x / (push + n + root), 1.0)
    return np.where(up, 1.0 - p, p)
