"""Two proportions of independent rows: an exact test that a weighted sum of them is above zero.

Samples are ordered by the score statistic (Koopman; Miettinen and Nurminen). The p-value is the largest
probability of a sample at least as good where the promise is just kept (Barnard), over the rates that
an interval of one proportion leaves, and what that interval may miss is added (Berger and Boos).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ratebound.certifying._aim import Aim, Finding, normal
from ratebound.certifying._bounded import binomial_tail
from ratebound.certifying._region import SMALL, Line, Region

SCORE = "exact score test (Berger–Boos)"


@dataclass(frozen=True)
class Share:
    """Successes among rows of one kind; what a proportion of 1 in place of 0 adds to the promise."""

    successes: int
    rows: int
    times: float

    @property
    def turned(self) -> Share:
        """The same with successes that speak for the promise."""
        return self if self.times >= 0 else Share(self.rows - self.successes, self.rows, -self.times)

    @property
    def deviation(self) -> float:
        """What the proportion may be off by, times what it counts; a row of each kind is imagined."""
        rate = (self.successes + 1) / (self.rows + 2)
        return abs(self.times) * math.sqrt(rate * (1 - rate) / self.rows)


@dataclass(frozen=True)
class Pair:
    """Two proportions of independent rows, and what they add where there is no success."""

    first: Share
    second: Share
    low: float

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + low + Σ times · proportion >= 0``."""
        p_value = pair_p_value(self.first, self.second, constant + self.low, aim.gamma)
        return Finding(p_value, SCORE, self.spread(aim))

    def spread(self, aim: Aim) -> float:
        return pair_spread(self.first, self.second, aim)

    def at_rate(self, rate: float) -> Pair:
        """The same, were both rates this one."""
        one, two = (
            Share(round(rate * each.rows), each.rows, each.times) for each in (self.first, self.second)
        )
        return Pair(one, two, self.low)


def pair_spread(first: Share, second: Share, aim: Aim) -> float:
    """The room that the score test would show with the power aimed at, about."""
    return (normal(aim.delta - aim.gamma) + aim.luck) * math.hypot(first.deviation, second.deviation)


def one_sided(successes: float, rows: float, tail: float) -> tuple[float, float]:
    """Lower and upper Clopper–Pearson bounds, each of which is wrong with probability `tail`.

    >>> low, high = one_sided(0, 10, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.2589)
    """
    misses = rows - successes
    from scipy.special import betaincinv

    low = float(betaincinv(successes, misses + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, misses, 1.0 - tail)) if misses > 0 else 1.0
    return low, high


def share_p_value(share: Share, constant: float) -> float:
    """The p-value of ``constant + times · proportion > 0``, a binomial tail.

    >>> round(share_p_value(Share(3, 3, 1.0), -0.5), 3)
    0.125
    """
    own = share.turned
    bound = -constant + (own.times if share.times < 0 else 0.0)
    return binomial_tail(own.successes, own.rows, bound / own.times)


def pair_p_value(first: Share, second: Share, constant: float, gamma: float) -> float:
    """The p-value of ``constant + Σ times · proportion > 0``; `gamma` is spent on the nuisance.

    >>> from scipy.stats import barnard_exact
    >>> ours = pair_p_value(Share(7, 8, 1.0), Share(2, 9, -1.0), 0.0, 0.0)
    >>> scipy = barnard_exact([[7, 2], [1, 7]], alternative="greater").pvalue
    >>> bool(scipy <= ours <= scipy + 0.0002)
    True
    """
    if min(abs(first.times), abs(second.times)) <= SMALL * max(abs(first.times), abs(second.times)):
        return share_p_value(max(first, second, key=lambda share: abs(share.times)), constant)
    one, two = first.turned, second.turned
    bound = -constant + sum(-share.times for share in (first, second) if share.times < 0)
    line = Line(one.times, two.times, bound, one.rows, two.rows)
    if line.bound <= 0 or line.bound >= one.times + two.times:  # kept, or not, whatever the rates
        return 0.0 if line.bound <= 0 else 1.0
    score = line.score(one.successes, two.successes)
    if score <= 0:
        return 1.0
    least, most = line.ends
    # Points below the line are no worse than one on it with the same proportion of the larger sample.
    if gamma > 0:
        larger = one if one.rows > two.rows else two
        low, high = one_sided(larger.successes, larger.rows, gamma / 2)
        if larger is two:
            low, high = line.first(high), line.first(low)
        least, most = max(least, low), min(most, high)
    if least > most:  # the interval leaves no point of the line
        return min(gamma, 1.0)
    region = Region.of(line, score, (one.successes, two.successes), (least, most))
    return min(region.largest(least, most) + gamma, 1.0)
