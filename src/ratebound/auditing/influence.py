"""How sums of rates vary from sample to sample, together: the influence of every row on each of them.

One more row moves a rate by how far it lies from it, over the weight of the rows that the rate is a
share of. So a group inside everyone is not taken to be independent of everyone, weights count, and a
mixture varies less in expectation than the decisions drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.auditing.measure import at_of, counted, largest, scale
from ratebound.base.types import Array
from ratebound.rates.demands import Demand
from ratebound.rates.expressions import Expression
from ratebound.rates.kinds import ANY, NO, YES
from ratebound.rates.rate import Rate


def covariance(decided: Decided, demands: Sequence[Demand], *, drawn: bool = False) -> Array:
    """The covariance (m, m) of what is demanded, each measured on as many rows as there are here.

    Of a mixture in expectation, or with `drawn` of the decisions as they fall.

    Two rows are imagined beside those of each rate, one that it counts and one that it does not: ten
    right decisions of ten are not certainty.

    >>> from ratebound import Population, Problem, recall
    >>> from ratebound.auditing.decided import decided_by
    >>> people = Population(None, [1] * 100)
    >>> decided = decided_by({"train": people}, {"train": np.repeat([1.0, -1.0], 50)}, "a model")
    >>> demands = Problem("error_rate()", [recall() >= 0.4]).demands
    >>> round(float(covariance(decided, demands)[0, 0]) ** 0.5, 3)  # (.5 * .5 / 100) ** .5 is .05
    0.05
    """
    shares = list(dict.fromkeys((rate, d.per_row) for d in demands for rate in d.expression.rates))
    of_shares = np.zeros((len(shares), len(shares)))
    for name in decided.populations:
        own = [place for place, (rate, _) in enumerate(shares) if rate.population == name]
        if own:
            of_shares[np.ix_(own, own)] = _of_shares(decided, [shares[place] for place in own], drawn)
    places = {share: place for place, share in enumerate(shares)}
    coefficients = np.zeros((len(demands), len(shares)))
    for row, demand in enumerate(demands):
        for rate, coefficient in demand.expression.terms:
            coefficients[row, places[rate, demand.per_row]] = coefficient
    found: Array = coefficients @ of_shares @ coefficients.T
    return found


def _of_shares(decided: Decided, shares: Sequence[tuple[Rate, bool]], drawn: bool) -> Array:
    """The covariance (R, R) of rates of one population; counts may be per row of their subset."""
    name = shares[0][0].population
    weight, alike = decided.each_weight(name), decided.times(name)
    moved, imagined = np.empty((len(shares), len(weight)), dtype=np.float32), np.empty(len(shares))
    often = np.sqrt(alike)  # products of two moves count `alike` times
    fallen: list[Array] = []
    for place, (rate, per_row) in enumerate(shares):
        found = moves(decided, rate, per_row)
        moved[place] = found.rows * often
        imagined[place] = found.high**2 + found.low**2
        if drawn:
            swing = found.times * weight * _swing(decided, rate) / found.among * often
            fallen.append(swing.astype(np.float32))
    if (codes := decided.clusters(name)) is not None:
        moved = np.array([np.bincount(codes, each) for each in moved])
    both: Array = (moved @ moved.T).astype(float)
    if drawn:
        swings = np.array(fallen).reshape(len(shares), -1)
        both += swings @ swings.T
    both[np.diag_indices(len(shares))] += imagined
    return both


@dataclass(frozen=True, eq=False)
class Moves:
    """How far one more row moves a rate."""

    rows: Array  # (n,) as the rows here do
    over: Array  # (n,) the rows that the rate is a share of
    high: float  # an imagined row that the rate counts in full
    low: float  # one that it does not count
    among: float  # the weight of the rows that the rate is a share of
    times: float  # what the share is multiplied by


def moves(decided: Decided, rate: Rate, per_row: bool = False) -> Moves:
    """How far rows move a rate; a count may be per row of its subset."""
    name = rate.population
    weight = decided.each_weight(name)
    of_all = decided.times(name) * weight
    over = decided.mask(name, rate.subset if per_row else decided.over(rate))
    among, times = float(of_all[over].sum()), 1.0 if per_row else scale(decided, rate)
    hits = counted(decided, rate)
    value, most = float(of_all @ hits) / among, largest(decided, rate)
    typical = float(of_all[over] @ weight[over]) / among  # a row's weight among those counted
    one = times * typical / among
    rows = times * weight * (hits - value * over) / among
    return Moves(rows, over, one * (most - value), -one * value, among, times)


def moves_of_sum(decided: Decided, expression: Expression) -> dict[str, tuple[Array, Array]]:
    """How far each row of each population, (n,), moves a sum of rates; and which rows are counted."""
    found: dict[str, tuple[Array, Array]] = {}
    for rate, coefficient in expression.terms:
        own = moves(decided, rate)
        moved, over = found.get(rate.population, (0.0, False))
        found[rate.population] = moved + coefficient * own.rows, over | own.over
    return found


def design_effect(decided: Decided, expression: Expression, level: float) -> float:
    """How many rows of clusters tell as much about a sum of rates as one independent row would.

    Infinite where only one cluster is counted; 1 where there are no clusters.
    """
    if decided.clustered is None:
        return 1.0
    return effect_of_clusters(decided, moves_of_sum(decided, expression), level)


def effect_of_clusters(decided: Decided, moved: dict[str, tuple[Array, Array]], level: float) -> float:
    """The same, by how far each row of each population, (n,), moves what is measured, and which count.

    The variance with rows of a cluster summed is compared with that of single rows. As it is found on
    a few clusters, the quantile is Student's (Korn and Graubard, 1998). Where no row moves it, as where
    all are hits, rows of a cluster may all be alike, and count as one.
    """
    from scipy.special import ndtri, stdtrit

    single = together = largest = rows = 0.0
    freedom = 0
    for name, (own, over) in moved.items():
        codes = decided.clusters(name)
        assert codes is not None
        sizes = np.bincount(codes[over])
        clusters = int(np.count_nonzero(sizes))
        if clusters < 2:
            return np.inf
        freedom += clusters - 1
        single += float(own @ own)
        together += clusters / (clusters - 1) * float((np.bincount(codes, own) ** 2).sum())
        largest += float((sizes**2).sum())
        rows += float(sizes.sum())
    more = together / single if single > 0 else largest / rows
    tail = (1.0 + level) / 2
    return max(more, 1.0) * float(stdtrit(freedom, tail) / ndtri(tail)) ** 2


def _swing(decided: Decided, rate: Rate) -> Array:
    """How what each row adds to a rate swings as its decision is drawn, (decisions, n).

    Summed over the decisions, products of two rates' swings are covariances. Of two classes a yes says
    all; then it is the standard deviation, negative where a yes lowers the rate.
    """
    name = rate.population
    signs = {YES: 1.0, NO: -1.0}
    gains = {of: np.zeros(len(decided.populations[name])) for of in decided.told_by}
    for atom in decided.atoms(rate):
        if atom.predicted is not ANY:
            gains[atom.of] += signs[atom.predicted] * decided.worth(name, atom)
    chances = np.array([decided.said(name, at_of(rate), of) for of in gains])
    if len(chances) == 1:
        return np.asarray(next(iter(gains.values())) * np.sqrt(chances * (1.0 - chances)))
    added = np.array(list(gains.values()))
    return np.asarray(np.sqrt(chances) * (added - (chances * added).sum(axis=0)))
