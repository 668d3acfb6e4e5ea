"""Betting on a stream of bounded numbers: money that grows only if their mean is not what was promised.

Two gamblers watch the same numbers, whose mean is at most 0 if a promise is kept. One bets that it is
above 0, the other that it is below. Stakes depend on earlier rows only, so by Ville's inequality a
gambler who is wrong multiplies their money by 1/δ, at any time at all, with probability δ at most.

A number is ``inside * (own - centre) + share * (centre - other)``: `inside` says whether the row is in
the first of two sets, `share` is the probability of that, and the centre is guessed from earlier rows.
Its mean is ``share * (mean of own inside - mean of other)``, whatever the centre. Since the share is not
known, money is counted at a grid of shares. The logarithm of money is concave in the share, so over a
confidence interval of the share it is least at one of the two points of the grid around it. The centre
follows `other` closely: then money hardly depends on the share, and not knowing it costs little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from ratebound.base.types import Array

EFFECTS = 0.3 * 0.4 ** np.arange(4)  # (K,) means over standard deviations that are bet on, equally
BOLDEST = 0.8  # of the money is the most that one row can lose
MEMORY = 32  # rows that the centre looks back
SHARES = np.sin(np.linspace(0.0, np.pi / 2, 65)) ** 2  # (G,) about equally many standard errors apart
ALONE = np.ones(1)  # the share where every row is in the one set
DOUBT = 0.1  # of the error allowed is for the interval of the share
RESERVE = 0.1  # of the money is held back for later
PAUSE = 256  # rows after which some of it is brought in, again and again
IMAGINED = 8  # rows of a middling variance, before there are any
MOST = 1_000_000  # numbers held at a time


@dataclass(frozen=True)
class Range:
    """Between which numbers rows can lie."""

    own: tuple[float, float]
    other: tuple[float, float]
    two_sets: bool

    @property
    def losses(self) -> tuple[float, float]:
        """The most that a row can be below 0, and above 0; a little, where it cannot be."""
        width = self.other[1] - self.other[0]
        if not self.two_sets:
            return max(self.other[1], width / 1000), max(-self.other[0], width / 1000)
        return max(self.other[1] - self.own[0], width), max(self.own[1] - self.other[0], width)


@dataclass(frozen=True, eq=False)
class Wealth:
    """What both gamblers own, and what they remember."""

    given: Range
    rows: int
    inside: int
    centre: float
    squares: float  # the sum of squared numbers, with the imagined ones
    shares: Array  # (G,) that are left
    logs: Array  # (2, K, G) of the money: against "at most 0", against "at least 0"
    reserve: float  # money not yet in play


def evidence(wealth: Wealth) -> tuple[float, float]:
    """The logarithms of what either gambler can count on, whatever the share is."""
    broken, kept = _counted_on(wealth.logs[..., 0], wealth.logs[..., -1], wealth).tolist()
    return broken, kept


def opening(given: Range) -> Wealth:
    """The wealth before any row."""
    below, above = given.losses
    shares = SHARES if given.two_sets else ALONE
    start = math.log((1 - RESERVE) / len(EFFECTS))
    return Wealth(
        given=given,
        rows=0,
        inside=0,
        centre=sum(given.other) / 2 if given.two_sets else 0.0,
        squares=IMAGINED * below * above / (4 if given.two_sets else 1),
        shares=shares,
        logs=np.full((2, len(EFFECTS), len(shares)), start),
        reserve=RESERVE,
    )


def played(wealth: Wealth, rows: tuple[Array, Array, Array], error: float) -> tuple[Wealth, Array]:
    """The wealth after more rows (inside, own, other), and the evidence after each (n, 2).

    `error` is the probability with which either gambler may reach 1 / error though they are wrong. The
    evidence is the logarithm of what can be counted on at that error.
    """
    found = [np.empty((0, 2))]
    start, count = 0, len(rows[0])
    while start < count:
        room = max(1, MOST // wealth.logs.size)
        stop = min(count, start + room, start + PAUSE - wealth.rows % PAUSE)
        wealth, after = _played(wealth, tuple(part[start:stop] for part in rows), error)
        found.append(after)
        start = stop
    return wealth, np.concatenate(found)


def _played(wealth: Wealth, rows: tuple[Array, ...], error: float) -> tuple[Wealth, Array]:
    given, (inside, own, other) = wealth.given, rows
    seen = wealth.rows + np.arange(len(other) + 1)
    within = np.cumsum(np.concatenate([[wealth.inside], inside]))
    centres = _centres(wealth.centre, other) if given.two_sets else np.zeros(len(other) + 1)
    centre = centres[:-1]
    guess = (within[:-1] + 0.5) / (seen[:-1] + 1) if given.two_sets else 1.0
    first, second = inside * (own - centre), centre - other
    squares = np.cumsum(np.concatenate([[wealth.squares], (first + guess * second) ** 2]))
    deviation = np.sqrt(squares[:-1] / (IMAGINED + seen[:-1]))
    limits = BOLDEST / np.array(given.losses)[:, None]
    stakes = np.minimum((EFFECTS / deviation[:, None])[:, None, :], limits)  # (n, 2, K)
    stakes *= np.array([1.0, -1.0])[:, None]
    numbers = first[:, None] + wealth.shares * second[:, None]  # (n, G)
    gains = np.log1p(stakes[..., None] * numbers[:, None, None, :])
    logs = np.cumsum(np.concatenate([wealth.logs[None], gains]), axis=0)[1:]
    low, high = _around(wealth.shares, seen[1:], within[1:], error)
    at = np.arange(len(other))
    found = _counted_on(logs[at, :, :, low], logs[at, :, :, high], wealth)
    kept = slice(low[-1], high[-1] + 1)
    after = replace(
        wealth,
        rows=int(seen[-1]),
        inside=int(within[-1]),
        centre=float(centres[-1]),
        squares=float(squares[-1]),
        shares=wealth.shares[kept],
        logs=logs[-1][:, :, kept],
    )
    return _released(after), found


def _counted_on(low: Array, high: Array, wealth: Wealth) -> Array:
    """The logarithm (..., 2) of the money at the worse of two shares, of (..., 2, K) at either."""
    least = np.minimum(low, high)
    top = np.maximum(least.max(axis=-1), math.log(wealth.reserve))
    money = np.exp(least - top[..., None]).sum(axis=-1) + wealth.reserve * np.exp(-top)
    certain = 1.0 - DOUBT if wealth.given.two_sets else 1.0
    return top + np.log(certain * money)


def _released(wealth: Wealth) -> Wealth:
    """Bring in some of the reserve when it is time: a promise may break after it was kept for long.

    The pauses have the weights 1 / (j (j + 1)) of the reserve at the start, which sum to all of it.
    """
    pauses, since = divmod(wealth.rows, PAUSE)
    if since:
        return wealth
    brought = wealth.reserve / (pauses + 1)
    return replace(
        wealth,
        logs=np.logaddexp(wealth.logs, math.log(brought / len(EFFECTS))),
        reserve=wealth.reserve - brought,
    )


def _centres(start: float, other: Array) -> Array:
    """Exponentially weighted means before each row and after the last, (n + 1,)."""
    means = accumulate(other.tolist(), lambda mean, new: mean + (new - mean) / MEMORY, initial=start)
    return np.fromiter(means, float, len(other) + 1)


def _around(shares: Array, seen: Array, within: Array, error: float) -> tuple[Array, Array]:
    """The positions (n,) of the grid's points around the shares that are not refuted yet.

    A share is refuted where the likelihood of a Beta mixture is too many times its own. If the share
    itself drifts, all can be refuted; then the last point to be refuted is all that is left.
    """
    if len(shares) == 1:
        return np.zeros(len(seen), dtype=int), np.zeros(len(seen), dtype=int)
    from scipy.special import betaln, xlog1py, xlogy

    mixed = betaln(within + 0.5, seen - within + 0.5) - betaln(0.5, 0.5)
    own = xlogy(within[:, None], shares) + xlog1py((seen - within)[:, None], -shares)
    refuted = mixed[:, None] - own >= -math.log(DOUBT * error)
    left = shares < (within / seen)[:, None]
    last = len(shares) - 1
    low = np.where(refuted & left, np.arange(last + 1), 0).max(axis=1)
    high = np.where(refuted & ~left, np.arange(last + 1), last).min(axis=1)
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
    crossed = np.flatnonzero(low >= high)
    if len(crossed):
        row = crossed[0]
        before = (low[row - 1], high[row - 1]) if row else (0, last)
        low[row:] = high[row:] = before[0] if high[row] <= before[0] else before[1]
    return low, high
