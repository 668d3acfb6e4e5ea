"""The interval of a sum of rates: every value that a score test does not reject.

Rows that lie in the same sets of an expression form a *stratum*. Within a stratum, a row's contribution
to the expression depends only on its decision. It lies between two known ends, and the stratum's mean is
a proportion between them. The number of rows in a stratum is random too, since another sample would have
another number of women: one more row moves the expression by its *influence*.

To test a value, the yes-rates of the strata are moved so that the sum has that value, at the least loss
of likelihood (Miettinen and Nurminen, 1985). With t the multiplier of that condition, a stratum with n
rows, x yeses and the coefficient a moves to the p with x/p - (n - x)/(1 - p) = -t·a. That is a quadratic
equation, so all candidates for an end of the interval lie on one curve in t. The shares of the strata
are tilted along with it, by exp(t · influence / rows). The observed difference is compared with the
sum's standard deviation *there*, corrected for skewness (Gart and Nam, 1990; Laud, 2017) and by a
quarter of the effect of one row. So ten right decisions out of ten do not count as certainty, and no
rows need to be imagined in each of many groups, which would pull their sum towards one half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.auditing._intervals import Interval, Weighed, equal_decisions
from ratebound._old.auditing.tally import Tally, at_of, scale
from ratebound._old.base.types import Array
from ratebound._old.problem.masks import patterns
from ratebound._old.rates.expressions import Expression
from ratebound._old.rates.kinds import ANY, YES, Atom, atoms
from ratebound._old.rates.subsets import EVERYONE, Subset, Value

FIRST_TRY, FARTHEST = 1e-3, 1e15  # multipliers, if nothing varies in the sample
ROUNDING = 1e-9  # in values that are sums of a few numbers
MOST_PATTERNS = 10_000  # patterns; with more, one more row would show nothing

Answer = tuple[float | str, Value | None]  # a threshold, and the class that is decided there


@dataclass(frozen=True, eq=False)
class Strata:
    """The strata of one population, as an expression sees them.

    Summed over populations, `share · (least + reach · mean)` is the expression without its constant.
    """

    share: Array  # (strata,) of the population's weight
    spread: Array  # (strata,) squared weights of its rows, over the population's weight squared
    reach: Array  # (strata,) between the least and the largest value that a row can have
    mean: Array  # (strata,) of the rows' values, 0 at the least and 1 at the largest
    trials: Array  # (strata,) decisions of equal weight whose mean has the same variance
    rows: Array  # (strata,) of equal weight, in the smallest set that a rate of these rows is a share of
    influence: Array  # (strata,) mean over the rows of the stratum
    over: Array  # (atoms, strata) 1 / the share of the rows an atom is counted over, on those rows
    follows: Array  # (atoms, strata) how an atom's value depends on the stratum's mean value
    step: float  # the least by which one row changes the expression

    def thinned(self, alike: float) -> Strata:
        """The same if so many rows carry as much information as one."""
        if alike == 1:
            return self
        return replace(
            self, spread=self.spread * alike, trials=self.trials / alike, rows=self.rows / alike
        )


def score_interval(value: float, strata: list[Strata], confidence: float) -> Interval:
    """The interval of a sum that has `value` on the sample."""
    from scipy.special import ndtri

    z = float(ndtri((1.0 + confidence) / 2))
    return value + _end(strata, -1.0, z), value + _end(strata, 1.0, z)


def _end(strata: list[Strata], side: float, z: float) -> float:
    """How far from the sample's value the interval ends, below it (`side` -1) or above (1)."""
    step = min(s.step for s in strata) / 4

    def excess(t: float) -> float:
        """How much farther the sum at `t` is from the sample's value than chance explains."""
        shift, variance, third = _moments(strata, side * t)
        if variance <= (1e-6 * step) ** 2:  # only rounding
            return abs(shift) - step
        deviation = variance**0.5
        skewness = float(np.clip(side * (z * z - 1.0) / 6.0 * third / deviation**3, -z / 2, z / 2))
        return abs(shift) - step - (z - skewness) * deviation

    variance = _moments(strata, 0.0)[1]
    least, most = 0.0, z / variance**0.5 if variance > 0 else FIRST_TRY
    while excess(most) < 0:
        if most > FARTHEST:  # at the edge of the possible values
            return _moments(strata, side * most)[0]
        least, most = most, 2 * most
    from scipy.optimize import brentq  # which is slow to import

    return _moments(strata, side * brentq(excess, least, most, rtol=1e-9))[0]


def _moments(strata: list[Strata], t: float) -> tuple[float, float, float]:
    """The shift of the sum at the multiplier `t`, and its variance and third central moment there."""
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
    # Variances estimated on n rows fall short by 1/n on average; a single row gives no estimate.
    several = s.rows >= 2
    few = np.where(several, s.rows / np.where(several, s.rows - 1.0, 1.0), 1.0)
    less = s.share**2 / s.spread / s.trials  # how much less rows vary than as many decisions
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


@dataclass(frozen=True, eq=False)
class _Term:
    atom: Atom
    at: float | str
    coefficient: float

    @property
    def answer(self) -> Answer:
        """The answer that it counts; no class if rows count whatever is decided."""
        return self.at, None if self.atom.predicted is ANY else self.atom.of

    @property
    def over(self) -> Subset:
        """The rows that it is a share of; a count is a multiple of a share of everyone."""
        return EVERYONE if self.atom.over is None else self.atom.over

    @property
    def sign(self) -> float:
        """1 if that answer is counted, -1 if the others are, 0 if any answer is."""
        return 0.0 if self.atom.predicted is ANY else 1.0 if self.atom.predicted is YES else -1.0


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows by stratum: `patterns` says which strata lie in which of the `sets`."""

    sets: list[Subset]
    patterns: Array  # (strata, sets) bool
    stratum: Array  # (n,)
    count: Weighed
    chances: Array  # (answers, n) probability of each

    def total(self, values: Array) -> Array:
        """Values (n,) of single rows, summed over all rows of each stratum."""
        return np.bincount(self.stratum, self.count.times * values, len(self.patterns))

    def inside(self, subsets: list[Subset]) -> Array:
        """Which strata lie in each of `subsets`, as numbers (subsets, strata)."""
        return self.patterns[:, [self.sets.index(subset) for subset in subsets]].T.astype(float)


@dataclass(frozen=True, eq=False)
class _Values:
    """How decisions change a row's value, stratum by stratum."""

    gain: Array  # (terms, strata) what a row adds that the term counts
    slope: Array  # (answers, strata) what each answer adds to none of them
    base: Array  # (strata,) the value if none of them is given
    low: Array  # (strata,) the least
    high: Array  # (strata,) the largest


def strata(tally: Tally, expression: Expression) -> list[Strata]:
    """The strata of an expression, population by population."""
    names = dict.fromkeys(rate.population for rate in expression.rates)
    return [_strata_of(tally, name, expression) for name in names]


def _strata_of(tally: Tally, name: str, expression: Expression) -> Strata:
    terms = [
        _Term(atom, at_of(rate), c * scale(tally, rate) * atom.factor)
        for rate, c in expression.terms
        if rate.population == name
        for atom in atoms(rate, tally.classes)
    ]
    answers = list(dict.fromkeys(term.answer for term in terms))
    together = _together(tally, answers)
    even = 1 / max(len(tally.told_by), 2)
    rows = _imagining(_rows_of(tally, name, terms, answers), terms, together, even)
    weight, square = rows.total(rows.count.weight), rows.total(rows.count.weight**2)
    share = weight / weight.sum()
    over = rows.inside([term.over for term in terms])
    equal = (over @ weight) ** 2 / (over @ square)
    smallest = np.where(over > 0, equal[:, None], rows.count.times.sum()).min(axis=0)
    over /= (over @ share)[:, None]
    of = _values(rows, terms, together)
    values = of.base[rows.stratum] + (of.slope[:, rows.stratum] * rows.chances).sum(axis=0)
    at = [answers.index(term.answer) for term in terms]
    sign = np.array([term.sign for term in terms])[:, None]
    answered = np.array([rows.total(rows.count.weight * each) for each in rows.chances]) / weight
    parts = of.gain * (sign * answered[at] + (sign <= 0))
    means, reach = parts.sum(axis=0), of.high - of.low
    changes = np.abs(of.gain) * square / weight / weight.sum()
    return Strata(
        share=share,
        spread=square / weight.sum() ** 2,
        reach=reach,
        mean=np.divide(means - of.low, reach, out=np.zeros(len(share)), where=reach > 0).clip(0.0, 1.0),
        trials=equal_decisions(rows.count, values, rows.stratum, of.low, of.high),
        rows=smallest,
        influence=means - over.T @ (parts @ share),
        over=over,
        follows=sign * of.gain * of.slope[at] * share / np.maximum((of.slope**2).sum(axis=0), 1e-300),
        step=float(changes[changes > 0].min()),
    )


def _together(tally: Tally, answers: list[Answer]) -> list[list[int]]:
    """The sets of answers that can occur together, by their places.

    With two classes, a score passes the thresholds below it, so its level among a member's sorted
    thresholds is enough. With several, a row is decided as one of them, possibly one that no rate asks
    about.
    """
    if len(tally.told_by) > 1:
        single = [[place] for place, (_, of) in enumerate(answers) if of is not None]
        return single if len(single) == len(tally.told_by) else [*single, []]
    levels = np.hstack([tally.model.levels(at) for at, _ in answers])  # (M, answers)
    orders = {tuple(np.argsort(own, kind="stable").tolist()) for own in levels}
    return [list(order[:count]) for order in orders for count in range(len(answers) + 1)]


def _rows_of(tally: Tally, name: str, terms: list[_Term], answers: list[Answer]) -> _Rows:
    lines = tally[name]
    present = lines.weight > 0
    sets = list(dict.fromkeys(s for term in terms for s in (term.atom.given, term.over)))
    masks = [lines.inside(subset)[present] for subset in sets]
    example, stratum = patterns(masks, int(present.sum()))
    chances = np.array([lines.chance(at, of)[present] for at, of in answers])
    inside = np.column_stack([mask[example] for mask in masks])
    return _Rows(sets, inside, stratum, Weighed(lines.weight[present], lines.rows[present]), chances)


def _values(rows: _Rows, terms: list[_Term], together: list[list[int]]) -> _Values:
    """The values that rows of each stratum can have, by the answers that can occur `together`."""
    shares = rows.inside([term.over for term in terms]) @ rows.total(rows.count.weight)
    times = np.array([term.coefficient for term in terms]) * rows.count.all.sum() / shares
    gain = times[:, None] * rows.inside([term.atom.given for term in terms])
    answers = list(dict.fromkeys(term.answer for term in terms))
    slope = np.zeros((len(answers), gain.shape[1]))
    for term, gained in zip(terms, gain, strict=True):
        slope[answers.index(term.answer)] += term.sign * gained
    base = gain[[term.sign <= 0 for term in terms]].sum(axis=0)
    added = np.array([slope[given].sum(axis=0) for given in together])
    return _Values(gain, slope, base, base + added.min(axis=0), base + added.max(axis=0))


def _imagining(rows: _Rows, terms: list[_Term], together: list[list[int]], even: float) -> _Rows:
    """One more row for each pattern that chance may have left out, if it could have other values.

    If none of twenty rows has a positive label, it would seem certain that none can; so one is imagined.
    No pattern is imagined that adds nothing, such as positive rows if every error counts alike. Its
    answers are equally likely, `even`.
    """
    places = [(rows.sets.index(t.atom.given), rows.sets.index(t.over)) for t in terms]
    overs = sorted({over for _, over in places})
    inside = sorted({(given, over) for given, over in places if given not in overs})
    bare = np.unique(rows.patterns & np.isin(np.arange(len(rows.sets)), overs), axis=0)
    if not 0 < len(bare) * len(inside) <= MOST_PATTERNS:
        return rows
    possible = {tuple(pattern): None for pattern in bare.tolist()}
    for pattern in list(possible):
        for given, over in inside:
            if pattern[over]:
                possible.setdefault((*pattern[:given], True, *pattern[given + 1 :]))
    both = replace(rows, patterns=np.concatenate([rows.patterns, np.array(list(possible))]))
    of = _values(both, terms, together)
    seen: dict[tuple[bool, ...], tuple[float, float]] = {}
    new = []
    for place, pattern in enumerate(both.patterns):
        key, ends = tuple(pattern[overs].tolist()), (float(of.low[place]), float(of.high[place]))
        low, high = seen.get(key, ends)
        if place < len(rows.patterns):
            seen[key] = min(low, ends[0]), max(high, ends[1])
        elif ends[0] < low - ROUNDING * abs(low) or ends[1] > high + ROUNDING * abs(high):
            new.append(place)
    if not new:
        return rows
    typical = rows.count.all.sum() / rows.count.times.sum()
    return _Rows(
        sets=rows.sets,
        patterns=np.concatenate([rows.patterns, both.patterns[new]]),
        stratum=np.concatenate([rows.stratum, len(rows.patterns) + np.arange(len(new))]),
        count=Weighed(
            np.concatenate([rows.count.weight, np.full(len(new), typical)]),
            np.concatenate([rows.count.times, np.ones(len(new), dtype=int)]),
        ),
        chances=np.hstack([rows.chances, np.full((len(rows.chances), len(new)), even)]),
    )
