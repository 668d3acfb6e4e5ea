"""By how much a promise must be kept on the rows at hand, so that it holds on new ones.

On new rows of the same kind each violation lies about where it lies here, give or take a standard error,
and those of several promises move together. Margins of z standard errors each, with z such that a normal
vector of their correlation stays below z with the probability asked for, make all promises hold at once
with about that probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ratebound.auditing.influence import covariance
from ratebound.auditing.judged import Judged, judged
from ratebound.auditing.tally import Tally
from ratebound.auditing.tallying import tallied
from ratebound.base.types import Array
from ratebound.problem.compiled import Compiled
from ratebound.solution.mixture import Mixture

DRAWS = 2**23  # numbers drawn to find a quantile of the largest of several normal variables
LEAST = 1000  # draws of each, however many there are
POWER = 0.8  # chance of a certificate that margins aim at
SMALLEST = 1e-12  # the least standard error, of promises that no row could break


@dataclass(frozen=True, eq=False)
class Errors:
    """The standard errors of violations on so many rows, and how they move together."""

    covariance: Array  # (m, m)

    @cached_property
    def sizes(self) -> Array:
        """Standard errors (m,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), SMALLEST**2))

    @cached_property
    def _drawn(self) -> Array:
        """Draws (D, m) of normal variables with this correlation, the same every time."""
        m = len(self.sizes)
        correlation = self.covariance / np.outer(self.sizes, self.sizes)
        values, vectors = np.linalg.eigh(correlation)
        draws = min(max(DRAWS // max(m, 1), LEAST), 100_000)
        normal = np.random.default_rng(0).standard_normal((draws, m))
        found: Array = normal @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return found

    def margins(self, confidence: float) -> Array:
        """The margins (m,) with which all promises hold together with this probability.

        >>> two = Errors(np.diag([0.01, 0.02]) ** 2)
        >>> (two.margins(0.9) / two.sizes).round(1)  # the normal quantile of .9 ** .5
        array([1.6, 1.6])
        """
        if not len(self.sizes):
            return self.sizes
        return self._quantile(confidence) * self.sizes

    def to_be_certified(self, confidence: float, share: float, drawn: Errors) -> Array:
        """The margins (m,) that give a chance of 80% of a certificate at this confidence.

        `share` is that of all rows which is certified on; these errors are of the others, and `drawn`
        those of decisions as they fall, which are what is certified.
        """
        from scipy.special import ndtri

        if not len(self.sizes):
            return self.sizes
        there = drawn.sizes * math.sqrt((1.0 - share) / share)
        both = np.hypot(self.sizes, there)
        return float(ndtri(confidence)) * there + self._quantile(POWER) * both

    def _quantile(self, probability: float) -> float:
        """Below how many standard errors all stay together with this probability."""
        return max(float(np.quantile(self._drawn.max(axis=1), probability)), 0.0)

    def confidence(self, violations: Array) -> float:
        """The probability that promises with these violations (m,) here all hold on new rows.

        >>> Errors(np.diag([0.01, 0.01]) ** 2).confidence(np.array([-0.1, 0.0]))
        0.5
        """
        if not len(self.sizes):
            return 1.0
        return round(float((self._drawn <= -violations / self.sizes).all(axis=1).mean()), 2)


def errors_of(solution: Mixture, compiled: Compiled, *, drawn: bool = False) -> Errors:
    """The standard errors of a solution's violations on the rows of `compiled`, expected or as drawn."""
    return Errors(covariance(tally_on(compiled, solution), compiled.problem.demands, drawn=drawn))


def tally_on(compiled: Compiled, solution: Mixture, model: Judged | None = None) -> Tally:
    """The tally of a solution's decisions on the rows of `compiled`, or of those of another `model`."""
    rates = [rate for demand in compiled.problem.demands for rate in demand.expression.rates]
    return tallied(model or judged(solution), compiled.populations, rates)
