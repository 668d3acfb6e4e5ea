"""Which test a promise gets, and what comes of it.

One mean of two values: a binomial tail. Two proportions of independent rows, or of a group and of
everyone: the score test of `_pair`. Everything else: a box, every mean at its own bound, wrong with a
share of δ each; the p-value is the smallest δ whose box keeps the promise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ratebound.base.types import Array
from ratebound.certifying._bounded import (
    betting,
    binomial_tail,
    hoeffding_bentkus,
    lower_bound,
    shuffled,
    smallest_tail,
)
from ratebound.certifying._means import Mean, same_once
from ratebound.certifying._nested import Nested, nested
from ratebound.certifying._pair import Share, one_sided, pair_p_value

SPENT, FEW = 0.02, 10  # share of δ for what is not known beside the promise; less for more promises
EXACT, SCORE = "exact binomial test", "exact score test (Berger–Boos)"
HEAVIEST = ", taking no row to weigh more than the heaviest here"


@dataclass(frozen=True)
class Finding:
    """What a test found, and what planning needs.

    `spread` is how far above 0 the room must be, on as many rows as here, to be shown with
    the power asked for; it falls with the square root of the rows.
    """

    p_value: float
    method: str
    spread: float
    why: str = ""


@dataclass(frozen=True)
class Aim:
    """What a certificate is planned for."""

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
        """Deviations that the sample may fall short by and still show the promise."""
        return float(ndtri(self.power))

    def surprise(self, tail: float) -> float:
        """Deviations that an exact test asks for at this tail."""
        return float(ndtri(1.0 - tail))


def tested(parts: Sequence[Mean], constant: float, aim: Aim) -> Finding:
    """The test of ``constant + Σ mean >= 0``; means that cannot vary are part of the constant."""
    constant += sum(part.low for part in parts if part.reach == 0)
    varying = [part for part in parts if part.reach > 0]
    if len(varying) == 1:
        return _one(varying[0], constant, aim)
    if len(varying) == 2 and all(part.binary for part in varying):
        first, second = varying
        if first.population != second.population or _disjoint(first, second):
            return _pair(first, second, constant, aim)
        for inner, outer in ((first, second), (second, first)):
            whole = nested(inner, outer)
            if whole is not None:
                return _inside(whole, constant, aim)
    return _box(varying, constant, aim)


def _one(mean: Mean, constant: float, aim: Aim) -> Finding:
    """One mean: rows that add nothing say nothing, and if the others add one of two values, they are
    successes or failures."""
    possible, values = same_once(mean.possible + constant), mean.values + constant
    room = mean.mean + constant
    if possible[0] >= 0 or possible[-1] <= 0:
        return Finding(0.0 if possible[0] >= 0 else 1.0, "whatever is decided", math.inf)
    ups, downs = possible[possible > 0], possible[possible < 0]
    luck = aim.luck * math.sqrt(mean.variance)
    if mean.weights is None and mean.decided and len(ups) == len(downs) == 1:
        successes, failures = int((values > ups[0] / 2).sum()), int((values < downs[0] / 2).sum())
        rows, at = successes + failures, float(-downs[0] / (ups[0] - downs[0]))
        if not rows:
            return Finding(1.0, EXACT, math.inf, "no row here counts for or against it")
        p_value = binomial_tail(successes, rows, at)
        sure = (ups[0] - downs[0]) * math.sqrt(rows * at * (1 - at)) / len(values)
        return Finding(p_value, EXACT, aim.surprise(aim.delta) * float(sure) + luck)
    if mean.weights is None and len(possible) == 2:
        at, share = float(-possible[0] / mean.reach), (room - float(possible[0])) / mean.reach
        p_value = hoeffding_bentkus(share, len(values), at)
        sure = mean.reach * math.sqrt(at * (1 - at) / len(values))
        return Finding(p_value, "Hoeffding–Bentkus bound", _bentkus(aim.delta) * sure + luck)
    weights = np.ones(len(values)) if mean.weights is None else mean.weights
    p_value = betting(shuffled(weights * values), float(weights.max() * possible[0]))
    words = "betting" + HEAVIEST * (mean.weights is not None)
    return Finding(p_value, words, (_bets(aim.delta) + aim.luck) * math.sqrt(mean.variance))


def _pair(first: Mean, second: Mean, constant: float, aim: Aim) -> Finding:
    one, two = (Share(mean.successes, len(mean.values), mean.reach) for mean in (first, second))
    p_value = pair_p_value(one, two, constant + first.low + second.low, aim.gamma)
    spread = math.hypot(_deviation(one), _deviation(two))
    return Finding(p_value, SCORE, (aim.surprise(aim.delta - aim.gamma) + aim.luck) * spread)


def _inside(whole: Nested, constant: float, aim: Aim) -> Finding:
    """A group and everyone: the worse of the two ends of what the group's share of everyone may be."""
    found = []
    for share in whole.ends(constant, aim.gamma / 2):
        group, rest, offset = whole.at(share, constant)
        found.append(pair_p_value(group, rest, offset, aim.gamma / 2))
    group, rest, offset = whole.at(whole.share, constant)
    spread = math.hypot(_deviation(group), _deviation(rest))
    spread = (aim.surprise(aim.delta - aim.gamma) + aim.luck) * spread + whole.moved(aim.gamma / 2)
    return Finding(min(max(found) + aim.gamma / 2, 1.0), SCORE, spread)


def _box(parts: Sequence[Mean], constant: float, aim: Aim) -> Finding:
    bounds = [_Bound.of(part) for part in parts]

    def room(delta: float) -> float:
        return constant + sum(bound.at(delta / len(bounds)) for bound in bounds)

    sure = sum(bound.surprise(aim.delta / len(bounds)) * bound.deviation for bound in bounds)
    spread = sure + aim.luck * math.sqrt(sum(bound.deviation**2 for bound in bounds))
    words = ", ".join(dict.fromkeys(bound.words for bound in bounds))
    weighted = HEAVIEST * any(part.weights is not None for part in parts)
    return Finding(smallest_tail(room), f"{len(bounds)} bounds together ({words}){weighted}", spread)


@dataclass(frozen=True, eq=False)
class _Bound:
    """A lower bound of one mean, at any tail."""

    mean: Mean
    values: Array  # shuffled
    weights: Array  # alike
    words: str
    deviation: float

    @classmethod
    def of(cls, mean: Mean) -> _Bound:
        two = mean.weights is None and len(mean.possible) == 2
        words = "Clopper–Pearson" if mean.binary else "Hoeffding–Bentkus" if two else "betting"
        weights = np.ones(len(mean.values)) if mean.weights is None else mean.weights
        return cls(mean, shuffled(mean.values), shuffled(weights), words, math.sqrt(mean.variance))

    def surprise(self, tail: float) -> float:
        if self.mean.binary:
            return float(ndtri(1.0 - tail))
        return _bets(tail) if self.words == "betting" else _bentkus(tail)

    def at(self, tail: float) -> float:
        mean, rows = self.mean, len(self.values)
        if self.mean.binary:
            return mean.low + mean.reach * one_sided(mean.successes, rows, tail)[0]
        if self.words == "Hoeffding–Bentkus":
            share = (mean.mean - mean.low) / mean.reach
            return mean.low + mean.reach * lower_bound(
                lambda at: hoeffding_bentkus(share, rows, at), 0.0, share, tail
            )
        heaviest = float(self.weights.max())
        return lower_bound(
            lambda at: betting(self.weights * (self.values - at), heaviest * (mean.low - at)),
            mean.low + 1e-9 * mean.reach,
            mean.mean,
            tail,
        )


def _disjoint(first: Mean, second: Mean) -> bool:
    return first.kinds is not None and not (first.over_kinds & second.over_kinds).any()


def _deviation(share: Share) -> float:
    """What a proportion may be off by, times what it counts; a success and a failure are imagined."""
    rate = (share.successes + 1) / (share.rows + 2)
    return abs(share.times) * math.sqrt(rate * (1 - rate) / max(share.rows, 1))


def _bentkus(tail: float) -> float:
    return float(ndtri(1.0 - tail / math.e))


def _bets(tail: float) -> float:
    return math.sqrt(2 * math.log(1 / tail))
