"""Tests and bounds for means of values between known ends, valid for any number of rows.

Proportions have binomial tails. Fractions have the bound of Hoeffding and Bentkus: a binomial tail
times e, or Chernoff's. Other values are bet on: wealth that starts at 1 and is multiplied by
1 + bet · value does not grow in expectation where the mean is not above 0, so that it ever reaches 1/p
has probability p at most (Ville; Waudby-Smith and Ramdas, 2024). A bet depends on the rows before it
only; rows are shuffled, always the same way, since a table's order may follow its labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ratebound._old.base.types import Array

SPENT, FEW_PROMISES = (
    0.02,
    10,
)  # share of δ for what is not known beside the promise; less for more promises
AIM = 0.05  # the p-value that bets are sized for
BOLDEST = 0.75  # of the bet that one row could ruin
STEPS = 45
MOST_BETS = 2_000_000  # about so many rows on disk are bet on
LEAST_P_VALUE = 1e-12  # p-values are not told apart below


@dataclass(frozen=True)
class Aim:
    """The error that is allowed, of how many promises, and the chance of showing one that holds."""

    delta: float
    promises: int = 1
    power: float = 0.8

    @property
    def gamma(self) -> float:
        """What is spent on what is not known: the nuisance, and a group's share of everyone.

        It is .001 at δ = .05, and less among many promises, since Holm asks for small p-values.
        """
        return SPENT * min(self.delta, 0.05) * min(1.0, FEW_PROMISES / max(self.promises, 1))

    @property
    def luck(self) -> float:
        """Deviations that a sample may fall short by and still show the promise."""
        return _deviations(self.power)


def normal(tail: float) -> float:
    """Deviations that an exact test asks for, about, to be wrong with probability `tail`."""
    return _deviations(1.0 - tail)


def bentkus(tail: float) -> float:
    """The same for the bound of Hoeffding and Bentkus."""
    return normal(tail / math.e)


def bets(tail: float) -> float:
    """The same for betting."""
    return math.sqrt(2 * math.log(1 / tail))


@dataclass(frozen=True)
class Finding:
    """What a test found.

    `spread` is the room that as many rows as here would show with the power aimed at, about: it falls
    with the square root of the rows.
    """

    p_value: float
    method: str
    spread: float
    why: str = ""  # nothing could be tested


def _deviations(probability: float) -> float:
    """Below how many standard deviations from the mean a normal number stays with that probability."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def binomial_tail(successes: int, rows: int, at: float) -> float:
    """How likely so many successes or more are at a proportion of `at`.

    >>> round(binomial_tail(3, 3, 0.5), 3)
    0.125
    """
    if successes <= 0 or at >= 1:
        return 1.0
    from scipy.special import bdtrc

    return float(bdtrc(successes - 1, rows, at)) if at > 0 else 0.0


def hoeffding_bentkus(mean: float, rows: int, at: float) -> float:
    """A bound on the probability of so large a mean of `rows` fractions, if their expectation is `at`.

    >>> binomial_tail(9, 10, 0.5) < hoeffding_bentkus(0.9, 10, 0.5) < 0.03
    True
    """
    if mean <= at or at >= 1:
        return 1.0
    if at <= 0:
        return 0.0
    from scipy.special import xlogy

    apart = xlogy(mean, mean / at) + xlogy(1.0 - mean, (1.0 - mean) / (1.0 - at))
    whole = math.ceil(rows * mean - 1e-9 * rows)
    return min(math.exp(-rows * float(apart)), math.e * binomial_tail(whole, rows, at), 1.0)


def shuffled(values: Array, times: Array, order: Array | None = None) -> Array:
    """The rows (n,) in an order that does not depend on them, each repeated `times` times.

    `order` says which of the values each row has, in the order of the rows. It is unknown for rows on
    disk. Independent rows may be bet on in any order that does not depend on them, so a random order is
    valid. A random sample of very many rows is valid too.
    """
    rows = int(times.sum())
    random = np.random.default_rng(rows)
    if order is not None:
        values = values[order]
    elif len(values) < rows:
        values = np.repeat(values, random.binomial(times, min(1.0, MOST_BETS / rows)))
    return values[random.permutation(len(values))]


def betting(values: Array, low: float) -> float:
    """The p-value of a mean above 0, of shuffled values none of which can be below `low` < 0.

    The bets are the best ones for normal values with the variance seen so far.

    >>> betting(np.array([1.0] * 30), -1.0) < 0.001 < betting(np.array([1.0, -1.0] * 30), -1.0)
    True
    """
    count = np.arange(1, len(values) + 1)
    first = 0.25 * low * low  # as if one row had been seen before
    mean = np.cumsum(values) / (count + 1)
    variance = (first + np.cumsum((values - mean) ** 2)) / (count + 1)
    before = np.append(first, variance[:-1])
    bets = np.minimum(np.sqrt(2 * math.log(1 / AIM) / (len(values) * before)), -BOLDEST / low)
    wealth = np.cumsum(np.log1p(bets * values))
    return float(min(math.exp(-max(float(wealth.max(initial=0.0)), 0.0)), 1.0))


def lower_bound(p_value: Callable[[float], float], low: float, high: float, tail: float) -> float:
    """The largest number up to which `p_value`, of a mean above it, is at most `tail`."""
    if p_value(low) > tail:
        return low
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) <= tail else (low, middle)
    return low


def smallest_tail(room: Callable[[float], float]) -> float:
    """The smallest δ whose lower bound of the room is not below 0, or 1."""
    if room(1.0) < 0:
        return 1.0
    if room(LEAST_P_VALUE) >= 0:
        return LEAST_P_VALUE
    low, high = math.log(LEAST_P_VALUE), 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if room(math.exp(middle)) >= 0 else (middle, high)
    return math.exp(high)
