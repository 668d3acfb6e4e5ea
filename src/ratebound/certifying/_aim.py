"""What a certificate is tested at and planned for, and what a test found."""

from __future__ import annotations

import math
from dataclasses import dataclass

SPENT, FEW = 0.02, 10  # share of δ for what is not known beside the promise; less for more promises


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
        return SPENT * min(self.delta, 0.05) * min(1.0, FEW / max(self.promises, 1))

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
