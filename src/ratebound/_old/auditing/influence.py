"""How sums of rates vary together from sample to sample: the influence of every row on each of them.

One more row moves a rate by the row's distance from it, divided by the weight of the rows that the rate
is a share of. So a group within everyone does not count as independent of everyone, weights matter, and
a mixture varies less in expectation than the decisions drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ratebound._old.auditing.tally import Tally, at_of, counted, largest, over_of, scale, worth
from ratebound._old.base.types import Array
from ratebound._old.rates.demands import Demand
from ratebound._old.rates.expressions import Expression, Rate
from ratebound._old.rates.kinds import ANY, NO, YES, atoms


def covariance(tally: Tally, demands: Sequence[Demand], *, drawn: bool = False) -> Array:
    """The covariance (m, m) of demands, each measured on as many rows as there are here.

    For a mixture, in expectation, or with `drawn` for the decisions as they fall.

    Two rows are imagined beside each rate's rows, one that it counts and one that it does not: ten right
    decisions out of ten are not certainty.

    >>> from ratebound._old import Population, Problem, recall
    >>> from ratebound._old.auditing.judged import scored
    >>> from ratebound._old.auditing.tallying import tallied
    >>> problem, people = Problem("error_rate()", [recall() >= 0.4]), Population(None, [1] * 100)
    >>> model = scored({"train": np.repeat([1.0, -1.0], 50)}, "a model")
    >>> tally = tallied(model, {"train": people}, problem.rates)
    >>> round(float(covariance(tally, problem.demands)[0, 0]) ** 0.5, 3)  # (.5 * .5 / 100) ** .5 is .05
    0.05
    """
    shares = list(dict.fromkeys((rate, d.per_row) for d in demands for rate in d.expression.rates))
    of_shares = np.zeros((len(shares), len(shares)))
    for name in tally.lines:
        own = [place for place, (rate, _) in enumerate(shares) if rate.population == name]
        if own:
            of_shares[np.ix_(own, own)] = _of_shares(tally, [shares[place] for place in own], drawn)
    places = {share: place for place, share in enumerate(shares)}
    coefficients = np.zeros((len(demands), len(shares)))
    for row, demand in enumerate(demands):
        for rate, coefficient in demand.expression.terms:
            coefficients[row, places[rate, demand.per_row]] = coefficient
    of_demands: Array = coefficients @ of_shares @ coefficients.T
    return of_demands


def _of_shares(tally: Tally, shares: Sequence[tuple[Rate, bool]], drawn: bool) -> Array:
    """The covariance (R, R) of rates of one population; counts may be per row of their subset."""
    name = shares[0][0].population
    lines, codes = tally[name], tally.clusters(name)
    moved, imagined = np.empty((len(shares), len(lines))), np.empty(len(shares))
    often = np.sqrt(lines.rows)  # products of two moves count once for each row of a line
    fallen: list[Array] = []
    for place, (rate, per_row) in enumerate(shares):
        own = moves(tally, rate, per_row)
        moved[place] = own.rows * (often if codes is None else lines.rows)
        imagined[place] = own.high**2 + own.low**2
        if drawn:
            fallen.append(own.times * lines.weight * _swing(tally, rate) / own.among * often)
    if codes is not None:
        moved = np.array([np.bincount(codes, each) for each in moved])
    both: Array = moved @ moved.T
    if drawn:
        swings = np.array(fallen).reshape(len(shares), -1)
        both += swings @ swings.T
    both[np.diag_indices(len(shares))] += imagined
    return both


@dataclass(frozen=True, eq=False)
class Moves:
    """How far one more row moves a rate."""

    rows: Array  # (k,) how far a row of each line moves it
    over: Array  # (k,) the rows that the rate is a share of
    high: float  # an imagined row that the rate counts in full
    low: float  # one that it does not count
    among: float  # the weight of the rows that the rate is a share of
    times: float  # what the share is multiplied by


def moves(tally: Tally, rate: Rate, per_row: bool = False) -> Moves:
    """How far rows move a rate; a count may be per row of its subset."""
    lines = tally[rate.population]
    over = lines.inside(over_of(rate, tally.classes, per_row))
    among, times = float(lines.total[over].sum()), 1.0 if per_row else scale(tally, rate)
    hits = counted(lines, rate, tally.classes)
    share, most = float(lines.total @ hits) / among, largest(tally, rate)
    typical = float(lines.total[over] @ lines.weight[over]) / among  # a counted row's weight
    one = times * typical / among
    rows = times * lines.weight * (hits - share * over) / among
    return Moves(rows, over, one * (most - share), -one * share, among, times)


def moves_of_sum(tally: Tally, expression: Expression) -> dict[str, tuple[Array, Array]]:
    """How far each line's row, (k,), by population, moves a sum of rates, and which lines count."""
    moved: dict[str, tuple[Array, Array]] = {}
    for rate, coefficient in expression.terms:
        own = moves(tally, rate)
        before, over = moved.get(rate.population, (0.0, False))
        moved[rate.population] = before + coefficient * own.rows, over | own.over
    return moved


def design_effect(tally: Tally, expression: Expression, confidence: float) -> float:
    """How many rows of clusters carry as much information about a sum of rates as one independent row.

    Infinite if only one cluster is counted; 1 without clusters.
    """
    if tally.clustered is None:
        return 1.0
    return effect_of_clusters(tally, moves_of_sum(tally, expression), confidence)


def effect_of_clusters(tally: Tally, moved: dict[str, tuple[Array, Array]], confidence: float) -> float:
    """The same, given how far a row of each line, (k,), moves the measured value, and which lines count.

    The variance with rows summed by cluster is compared with the variance of single rows. As it is
    estimated from few clusters, the quantile is Student's (Korn and Graubard, 1998). If no row moves the
    value, for example if all are hits, the rows of a cluster may all be alike and count as one.
    """
    from scipy.special import ndtri, stdtrit

    single = summed = squares = rows = 0.0
    freedom = 0
    for name, (own, over) in moved.items():
        codes, often = tally.clusters(name), tally[name].rows
        assert codes is not None
        sizes = np.bincount(codes[over], often[over])
        clusters = int(np.count_nonzero(sizes))
        if clusters < 2:
            return np.inf
        freedom += clusters - 1
        single += float(often @ own**2)
        summed += clusters / (clusters - 1) * float((np.bincount(codes, often * own) ** 2).sum())
        squares += float((sizes**2).sum())
        rows += float(sizes.sum())
    more = summed / single if single > 0 else squares / rows
    tail = (1.0 + confidence) / 2
    return max(more, 1.0) * float(stdtrit(freedom, tail) / ndtri(tail)) ** 2


def _swing(tally: Tally, rate: Rate) -> Array:
    """How each row's contribution to a rate varies as its decision is drawn, (decisions, k).

    Summed over the decisions, products of two rates' swings are covariances. With two classes yes is
    enough; then it is the standard deviation, negative if a yes lowers the rate.
    """
    lines = tally[rate.population]
    signs = {YES: 1.0, NO: -1.0}
    gains = {of: np.zeros(len(lines)) for of in tally.told_by}
    for atom in atoms(rate, tally.classes):
        if atom.predicted is not ANY:
            gains[atom.of] += signs[atom.predicted] * worth(lines, atom)
    chances = np.array([lines.chance(at_of(rate), of) for of in gains])
    if len(chances) == 1:
        return np.asarray(next(iter(gains.values())) * np.sqrt(chances * (1.0 - chances)))
    added = np.array(list(gains.values()))
    return np.asarray(np.sqrt(chances) * (added - (chances * added).sum(axis=0)))


# --- of rows, whatever is decided of them ------------------------------------------------------------
