"""Betting on a stream of bounded numbers: money that grows only if their mean is not what was promised.

Two gamblers watch the same numbers, whose mean is at most 0 if a promise is kept. One bets that it is
above 0, the other that it is below. Stakes depend on earlier numbers only, so by Ville's inequality a
gambler who is wrong multiplies their money by 1/δ, at any time at all, with probability δ at most.

A number is what one row gives, or one pair of rows if two sets of rows are compared. Pairs come from
windows of `WINDOW` adjacent rows. There are several ways to pair all rows of a window. A gambler who
bets on one of them multiplies money by ``1 + stake * number`` for each of its pairs, which is fair
because the pairs share no row; and so is the mean over all ways, which uses what every pair says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ratebound._old.base.types import Array

WINDOW = 6  # adjacent rows that are compared with each other
EFFECTS = 0.3 * 0.4 ** np.arange(4)  # (K,) means over standard deviations that are bet on, equally
BOLDEST = 0.8  # of the money is the most that one number can lose
RESERVE = 0.1  # of the money is held back for later
PAUSE = 256  # rows after which some of it is brought in, again and again
IMAGINED = 8  # numbers or windows of a middling variance, before there are any
FACTORS_AT_ONCE = 1_000_000  # factors held at a time

PAIRS = list(combinations(range(WINDOW), 2))  # (P,) of a window's rows


def _pairings(rows: tuple[int, ...]) -> list[list[int]]:
    """All ways to pair rows, each as places in `PAIRS`."""
    if not rows:
        return [[]]
    first, *others = rows
    return [
        [PAIRS.index((first, other)), *rest]
        for other in others
        for rest in _pairings(tuple(row for row in others if row != other))
    ]


PAIRINGS = np.array(_pairings(tuple(range(WINDOW))))  # (M, WINDOW / 2)
ALONE = np.zeros((1, 1), dtype=int)  # a row by itself


@dataclass(frozen=True)
class DrawRange:
    """Between which ends numbers lie, and whether they come from windows of rows."""

    low: float
    high: float
    windows: bool = False

    @property
    def losses(self) -> tuple[float, float]:
        """The most that a number can be below 0, and above 0; a little, if it cannot be."""
        little = (self.high - self.low) / 1000
        return max(-self.low, little), max(self.high, little)

    @property
    def ways(self) -> Array:
        """Which numbers are multiplied with each other, one row for each way."""
        return PAIRINGS if self.windows else ALONE


@dataclass(frozen=True, eq=False)
class Wealth:
    """What both gamblers own, and what they remember."""

    given: DrawRange
    draws: int  # numbers, or windows of them, so far
    squares: float  # the sum of squared draws, with the imagined ones
    logs: Array  # (2, K) of the money: against "at most 0", against "at least 0"
    reserve: float  # money not yet in play


def evidence(wealth: Wealth) -> tuple[float, float]:
    """The logarithms of what either gambler owns."""
    broken, kept = _owned(wealth.logs, wealth.reserve).tolist()
    return broken, kept


def opening(given: DrawRange) -> Wealth:
    """The wealth before any row."""
    below, above = given.losses
    middling = below * above * (given.ways.shape[1] / 16 if given.windows else 1.0)
    start = math.log((1 - RESERVE) / len(EFFECTS))
    return Wealth(given, 0, IMAGINED * middling, np.full((2, len(EFFECTS)), start), RESERVE)


def played(wealth: Wealth, numbers: Array) -> tuple[Wealth, Array]:
    """The wealth after more numbers (n, 1), or windows of them (n, P), and the evidence (n, 2) of each.

    The evidence is the logarithm of what either gambler owns.
    """
    low, high = wealth.given.low, wealth.given.high
    if len(numbers) and not low - 1e-9 <= numbers.min() <= numbers.max() <= high + 1e-9:
        raise ValueError(
            f"a row gives {max(numbers.max(), -numbers.min()):g}, and by its words only what is from "
            f"{low:g} to {high:g} is possible: compare columns with values that they can hold"
        )
    pause = max(1, PAUSE // WINDOW) if wealth.given.windows else PAUSE
    room = max(1, FACTORS_AT_ONCE // (wealth.logs.size * wealth.given.ways.size))
    logs = [np.empty((0, 2))]
    start = 0
    while start < len(numbers):
        stop = min(len(numbers), start + room, start + pause - wealth.draws % pause)
        wealth, after = _played(wealth, numbers[start:stop])
        wealth = _released(wealth, pause)
        logs.append(after)
        start = stop
    return wealth, np.concatenate(logs)


def _played(wealth: Wealth, numbers: Array) -> tuple[Wealth, Array]:
    given, ways = wealth.given, wealth.given.ways
    draws = numbers.sum(axis=1) / (WINDOW - 1 if given.windows else 1)  # the mean over all ways
    squares = np.cumsum(np.concatenate([[wealth.squares], draws**2]))
    deviation = np.sqrt(squares[:-1] / (IMAGINED + wealth.draws + np.arange(len(draws))))
    effects = EFFECTS * math.sqrt(ways.shape[1])
    limits = BOLDEST / np.array(given.losses)[:, None]
    stakes = np.minimum((effects / deviation[:, None])[:, None, :], limits)  # (n, 2, K)
    stakes *= np.array([1.0, -1.0])[:, None]
    factors = 1.0 + stakes[..., None] * numbers[:, None, None, :]  # (n, 2, K, P)
    gains = np.log(factors[..., ways].prod(axis=-1).mean(axis=-1))
    logs = np.cumsum(np.concatenate([wealth.logs[None], gains]), axis=0)[1:]
    after = replace(wealth, draws=wealth.draws + len(draws), squares=float(squares[-1]), logs=logs[-1])
    return after, _owned(logs, wealth.reserve)


def _owned(logs: Array, reserve: float) -> Array:
    """The logarithm (..., 2) of all money, of (..., 2, K) in play."""
    return np.logaddexp(np.logaddexp.reduce(logs, axis=-1), math.log(reserve))


def _released(wealth: Wealth, pause: int) -> Wealth:
    """Bring in some of the reserve when it is time: a promise may break after it was kept for long.

    The pauses have the weights 1 / (j (j + 1)) of the reserve at the start, which sum to all of it.
    """
    pauses, since = divmod(wealth.draws, pause)
    if since:
        return wealth
    brought = wealth.reserve / (pauses + 1)
    return replace(
        wealth,
        logs=np.logaddexp(wealth.logs, math.log(brought / len(EFFECTS))),
        reserve=wealth.reserve - brought,
    )
