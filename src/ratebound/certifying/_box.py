"""Any number of means, of rows that may overlap: a box, every mean at a bound of its own.

Each bound is wrong with an equal share of δ, so all of them hold at once but for δ; the p-value is the
smallest δ whose box keeps the promise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ratebound.base.types import Array
from ratebound.certifying._aim import Aim, Finding, bentkus, bets, normal
from ratebound.certifying._bounded import (
    betting,
    hoeffding_bentkus,
    lower_bound,
    shuffled,
    smallest_tail,
)
from ratebound.certifying._means import Mean
from ratebound.certifying._one import HEAVIEST
from ratebound.certifying._pair import one_sided

SURPRISES = {"Clopper–Pearson": normal, "Hoeffding–Bentkus": bentkus, "betting": bets}


@dataclass(frozen=True, eq=False)
class Box:
    """The bounds of several means."""

    bounds: tuple[Bound, ...]

    @classmethod
    def of(cls, means: Sequence[Mean]) -> Box:
        return cls(tuple(map(Bound.of, means)))

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + Σ mean >= 0``."""

        def room(delta: float) -> float:
            return constant + sum(bound.at(delta / len(self.bounds)) for bound in self.bounds)

        words = ", ".join(dict.fromkeys(bound.kind for bound in self.bounds))
        weighted = HEAVIEST * any(bound.mean.weights is not None for bound in self.bounds)
        method = f"{len(self.bounds)} bounds together ({words}){weighted}"
        return Finding(smallest_tail(room), method, self.spread(aim))

    def spread(self, aim: Aim) -> float:
        tail = aim.delta / len(self.bounds)
        sure = sum(SURPRISES[bound.kind](tail) * bound.deviation for bound in self.bounds)
        return sure + aim.luck * math.hypot(*(bound.deviation for bound in self.bounds))

    def at_rate(self, rate: float) -> Box:
        """The same, were every rate this one."""
        return Box(tuple(bound.at_rate(rate) for bound in self.bounds))


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound of one mean, at any tail."""

    mean: Mean
    values: Array  # shuffled, where they are bet on
    weights: Array  # alike
    kind: str
    deviation: float

    @classmethod
    def of(cls, mean: Mean, kind: str = "") -> Bound:
        two = mean.weights is None and len(mean.possible) == 2
        kind = kind or ("Clopper–Pearson" if mean.binary else "Hoeffding–Bentkus" if two else "betting")
        values, weights = mean.values, mean.row_weights
        if kind == "betting":
            values, weights = (shuffled(each, mean.times, mean.order) for each in (values, weights))
        return cls(mean, values, weights, kind, math.sqrt(mean.variance))

    def at(self, tail: float) -> float:
        """The bound, which is wrong with probability `tail` at most."""
        mean, rows = self.mean, self.mean.rows
        if self.kind == "Clopper–Pearson":
            return mean.low + mean.reach * one_sided(mean.successes, rows, tail)[0]
        if self.kind == "Hoeffding–Bentkus":
            share = (mean.mean - mean.low) / mean.reach
            least = lower_bound(lambda at: hoeffding_bentkus(share, rows, at), 0.0, share, tail)
            return mean.low + mean.reach * least
        heaviest = float(self.weights.max())

        def p_value(at: float) -> float:
            return betting(self.weights * (self.values - at), heaviest * (mean.low - at))

        found = lower_bound(p_value, mean.low + 1e-9 * mean.reach, mean.mean, tail)
        return found if found > mean.low + 1e-9 * mean.reach else mean.low

    def most(self, tail: float) -> float:
        """An upper bound of a mean that is bet on, wrong with probability `tail` at most."""
        high = self.mean.low + self.mean.reach
        turned = replace(self.mean, possible=-self.mean.possible[::-1], values=-self.mean.values)
        return min(-Bound.of(turned, kind="betting").at(tail), high)

    def at_rate(self, rate: float) -> Bound:
        return replace(self, deviation=self.mean.deviation_at(rate))
