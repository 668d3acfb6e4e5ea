"""How sums of rates vary from sample to sample, together: the influence of every row on each of them.

One more row moves a rate by how far it lies from it, over the weight of the rows that the rate is a
share of. So a group inside everyone is not taken to be independent of everyone, weights count, and a
mixture varies less in expectation than the decisions drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ratebound.auditing.decided import Decided
from ratebound.auditing.measure import at_of, counted, largest, scale
from ratebound.base.types import Array
from ratebound.rates.demands import Demand
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
    of_all, often = alike * weight, np.sqrt(alike)  # products of two moves count `alike` times
    fallen: list[Array] = []
    for place, (rate, per_row) in enumerate(shares):
        over = decided.mask(name, rate.subset if per_row else decided.over(rate))
        among, times = float(of_all[over].sum()), 1.0 if per_row else scale(decided, rate)
        hits = counted(decided, rate)
        value, most = float(of_all @ hits) / among, largest(decided, rate)
        moved[place] = times * weight * (hits - value * over) / among * often
        typical = float(of_all[over] @ weight[over]) / among  # a row's weight among those counted
        imagined[place] = (times * typical / among) ** 2 * ((most - value) ** 2 + value**2)
        if drawn:
            swing = times * weight * _swing(decided, rate) / among * often
            fallen.append(swing.astype(np.float32))
    found: Array = (moved @ moved.T).astype(float)
    if drawn:
        swings = np.array(fallen).reshape(len(shares), -1)
        found += swings @ swings.T
    found[np.diag_indices(len(shares))] += imagined
    return found


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
