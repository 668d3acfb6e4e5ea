"""Rows that a sum of rates treats alike, and how much the sum can vary through them.

Rows that lie in the same sets of an expression form a *stratum*. In it, what a row adds to the
expression depends on its decision alone: it lies between two known ends, and the stratum's mean is a
proportion between them. How many rows a stratum has is a matter of chance too, since another sample
would hold another number of women: one more row moves the expression by its *influence*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ratebound.auditing._intervals import Rows, equal_decisions
from ratebound.auditing.decided import Decided, over_of
from ratebound.auditing.measure import at_of, scale
from ratebound.base.types import Array
from ratebound.problem.masks import patterns
from ratebound.rates.expressions import Expression
from ratebound.rates.kinds import ANY, YES, Atom
from ratebound.rates.subsets import Subset, Value

ROUNDING = 1e-9  # of values that are sums of a few numbers
MANY = 10_000  # patterns; among so many, one row more shows nothing

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
    trials: Array  # (strata,) decisions of equal weight whose mean would vary as much
    rows: Array  # (strata,) of equal weight, in the smallest set that a rate of these rows is a share of
    influence: Array  # (strata,) mean over the rows of the stratum
    over: Array  # (atoms, strata) 1 / the share of the rows an atom is counted over, on those rows
    follows: Array  # (atoms, strata) how an atom's value follows the mean value of the stratum
    step: float  # the least by which one row changes the expression

    def thinned(self, alike: float) -> Strata:
        """The same, were so many rows to tell as much as one does."""
        if alike == 1:
            return self
        return replace(
            self, spread=self.spread * alike, trials=self.trials / alike, rows=self.rows / alike
        )


@dataclass(frozen=True, eq=False)
class _Term:
    atom: Atom
    at: float | str
    coefficient: float

    @property
    def answer(self) -> Answer:
        """What it asks about; no class where rows count whatever is decided."""
        return self.at, None if self.atom.predicted is ANY else self.atom.of

    @property
    def sign(self) -> float:
        """Of that answer: 1 where it is counted, -1 where others are, 0 where any is."""
        return 0.0 if self.atom.predicted is ANY else 1.0 if self.atom.predicted is YES else -1.0


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows by stratum: `patterns` says which strata lie in which of the `sets`."""

    sets: list[Subset]
    patterns: Array  # (strata, sets) bool
    stratum: Array  # (n,)
    count: Rows
    said: Array  # (answers, n) probability of each

    def total(self, values: Array) -> Array:
        """Values (n,) of single rows, summed over all rows of each stratum."""
        return np.bincount(self.stratum, self.count.times * values, len(self.patterns))

    def inside(self, subsets: list[Subset]) -> Array:
        """Which strata lie in each of `subsets`, as numbers (subsets, strata)."""
        return self.patterns[:, [self.sets.index(subset) for subset in subsets]].T.astype(float)


@dataclass(frozen=True, eq=False)
class _Values:
    """What decisions make of a row's value, stratum by stratum."""

    gain: Array  # (terms, strata) what a row adds that the term counts
    slope: Array  # (answers, strata) what each answer adds to none of them
    base: Array  # (strata,) where none of them is given
    low: Array  # (strata,) the least
    high: Array  # (strata,) the largest


def strata(decided: Decided, expression: Expression) -> list[Strata]:
    """The strata of an expression, population by population."""
    names = dict.fromkeys(rate.population for rate in expression.rates)
    return [_strata_of(decided, name, expression) for name in names]


def _strata_of(decided: Decided, name: str, expression: Expression) -> Strata:
    terms = [
        _Term(atom, at_of(rate), c * scale(decided, rate) * atom.factor)
        for rate, c in expression.terms
        if rate.population == name
        for atom in decided.atoms(rate)
    ]
    answers = list(dict.fromkeys(term.answer for term in terms))
    together = _together(decided, answers)
    even = 1 / max(len(decided.told_by), 2)
    rows = _imagining(_rows_of(decided, name, terms, answers), terms, together, even)
    weight, square = rows.total(rows.count.weight), rows.total(rows.count.weight**2)
    share = weight / weight.sum()
    over = rows.inside([over_of(term.atom) for term in terms])
    equal = (over @ weight) ** 2 / (over @ square)
    smallest = np.where(over > 0, equal[:, None], rows.count.times.sum()).min(axis=0)
    over /= (over @ share)[:, None]
    of = _values(rows, terms, together)
    values = of.base[rows.stratum] + (of.slope[:, rows.stratum] * rows.said).sum(axis=0)
    at = [answers.index(term.answer) for term in terms]
    sign = np.array([term.sign for term in terms])[:, None]
    said = np.array([rows.total(rows.count.weight * each) for each in rows.said]) / weight
    parts = of.gain * (sign * said[at] + (sign <= 0))
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


def _together(decided: Decided, answers: list[Answer]) -> list[list[int]]:
    """Which answers may be given together, by their places.

    Of two classes, a score passes the thresholds below it: its level among a member's sorted thresholds
    says all. Of several, a row is decided as one of them, which may be one that nothing asks about.
    """
    if len(decided.told_by) > 1:
        asked = [[place] for place, (_, of) in enumerate(answers) if of is not None]
        return asked if len(asked) == len(decided.told_by) else [*asked, []]
    levels = np.column_stack([decided.levels(at) for at, _ in answers])  # (M, answers)
    orders = {tuple(np.argsort(own, kind="stable").tolist()) for own in levels}
    return [list(order[:count]) for order in orders for count in range(len(answers) + 1)]


def _rows_of(decided: Decided, name: str, terms: list[_Term], answers: list[Answer]) -> _Rows:
    weight, times = decided.each_weight(name), decided.times(name)
    present = weight > 0
    sets = list(dict.fromkeys(s for term in terms for s in (term.atom.given, over_of(term.atom))))
    masks = [decided.mask(name, subset)[present] for subset in sets]
    example, stratum = patterns(masks, int(present.sum()))
    said = np.array([decided.said(name, at, of)[present] for at, of in answers])
    inside = np.column_stack([mask[example] for mask in masks])
    return _Rows(sets, inside, stratum, Rows(weight[present], times[present]), said)


def _values(rows: _Rows, terms: list[_Term], together: list[list[int]]) -> _Values:
    """The values that rows of each stratum can have, by the answers that may be given `together`."""
    shares = rows.inside([over_of(term.atom) for term in terms]) @ rows.total(rows.count.weight)
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
    """One more row for each pattern that chance may have left out, where it could have other values.

    Had none of twenty rows a positive label, it would seem certain that none has; so one is imagined.
    No pattern is imagined that adds nothing, such as positive rows where an error is an error. Its
    answers are equally likely, `even`.
    """
    places = [(rows.sets.index(t.atom.given), rows.sets.index(over_of(t.atom))) for t in terms]
    overs = sorted({over for _, over in places})
    inside = sorted({(given, over) for given, over in places if given not in overs})
    bare = np.unique(rows.patterns & np.isin(np.arange(len(rows.sets)), overs), axis=0)
    if not 0 < len(bare) * len(inside) <= MANY:
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
        count=Rows(
            np.concatenate([rows.count.weight, np.full(len(new), typical)]),
            np.concatenate([rows.count.times, np.ones(len(new), dtype=int)]),
        ),
        said=np.hstack([rows.said, np.full((len(rows.said), len(new)), even)]),
    )
