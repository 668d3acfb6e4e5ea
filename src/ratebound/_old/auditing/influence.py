"""How sums of rates vary together from sample to sample: the influence of every row on each of them.

One more row moves a rate by the row's distance from it, divided by the weight of the rows that the rate
is a share of. So a group within everyone does not count as independent of everyone, weights matter, and
a mixture varies less in expectation than the decisions drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, eq=False)
class RowMoves:
    """How far each row moves each demand, for any decisions; equal rows share a line."""

    line: Array  # (n,) of the stacked rows
    hits: Array  # (R, L, D) what each rate counts for a row of each line, decided as each class
    over: Array  # (R, L) the lines that it is a share of
    weight: Array  # (L,) what one row counts
    times: Array  # (R,) what the share is multiplied by
    coefficients: Array  # (m, R) of the rates in each demand
    together: Array | None = None  # (n,) which rows were drawn together, if some were

    def of(self, decided: Array, some: Array | slice = slice(None)) -> tuple[Array, Array, Array]:
        """How far `some` rows move each demand, (m, k), if all rows are `decided` so (n,).

        Also the variances (m,) from all rows and the imagined ones, and the share (m,) of the variance
        from real rows. Rows that were drawn together count as one.
        """
        code = self.line * self.hits.shape[2] + decided
        rows = self.counts(decided)
        moved, _, imagined = self._of_lines(rows, np.arange(len(self.hits)))
        demands = self.coefficients @ moved
        if self.together is None:
            own, variances = demands[:, code[some]], (rows * demands**2).sum(axis=1)
        else:
            every = np.stack([np.bincount(self.together, each) for each in demands[:, code]])
            own, variances = every[:, some], (every**2).sum(axis=1)
        whole = variances + self.coefficients**2 @ imagined
        return own, whole, variances / np.maximum(whole, 1e-300)

    def of_lines(self, decided: Array) -> tuple[Array, Array]:
        """How far a row of each line and decision moves each demand, (m, L · D), if all are decided so.

        Also the share (m,) of the variances that is not by imagined rows.
        """
        rows = self.counts(decided)
        moved, _, imagined = self._of_lines(rows, np.arange(len(self.hits)))
        demands: Array = self.coefficients @ moved
        variances = (rows * demands**2).sum(axis=1)
        return demands, variances / np.maximum(variances + self.coefficients**2 @ imagined, 1e-300)

    def counts(self, decided: Array) -> Array:
        """How many rows of each line are decided as each class, (L · D,), for these decisions (n,)."""
        lines, decisions = self.hits.shape[1:]
        code = self.line * decisions + decided
        return np.bincount(code, minlength=lines * decisions).astype(float)

    def _of_lines(self, rows: Array, rates: Array) -> tuple[Array, Array, Array]:
        """How far a row of each line and decision moves some rates (r, L · D), given these `rows`.

        Also the values (r,) of the rates, and what imagined rows add to their variances (r,).
        """
        decisions = self.hits.shape[2]
        hits, times = self.hits[rates].reshape(len(rates), -1), self.times[rates]
        over, weight = np.repeat(self.over[rates], decisions, axis=1), np.repeat(self.weight, decisions)
        among = over @ (rows * weight)
        share = hits @ (rows * weight) / among
        moved = (times / among)[:, None] * weight * (hits - share[:, None] * over)
        one = times * (over @ (rows * weight**2) / among) / among
        return moved, share, (one * (1.0 - share)) ** 2 + (one * share) ** 2

    def at_best(self, rows: Array, demand: int) -> tuple[float, float, int]:
        """The effect of deciding all rows of a demand's smallest set in its favour.

        `rows` (L · D,) are the `counts` of the decisions on all others. Returns the change in the
        demand, its standard error then, and the number of rows in the set.
        """
        lines, decisions = self.hits.shape[1:]
        rates = np.flatnonzero(self.coefficients[demand])
        coefficients = self.coefficients[demand, rates]
        each = rows.reshape(lines, decisions)
        sizes = self.over[rates] @ each.sum(axis=1)
        smallest = int(np.argmin(sizes))
        inside = self.over[rates[smallest]] > 0
        best = (coefficients[smallest] * self.hits[rates[smallest]]).argmin(axis=1)
        favoured = np.where(
            inside[:, None], each.sum(axis=1)[:, None] * np.eye(decisions)[best], each
        ).ravel()
        moved, share, imagined = self._of_lines(favoured, rates)
        before = self._of_lines(rows, rates)[1]
        change = float(coefficients * self.times[rates] @ (share - before))
        variance = favoured @ (coefficients @ moved) ** 2 + coefficients**2 @ imagined
        return change, float(np.sqrt(variance)), round(float(sizes[smallest]))


def row_moves(tally: Tally, demands: Sequence[Demand], together: Array | None = None) -> RowMoves:
    """How rows move demands, from a tally of rows in memory; its decisions are not used."""
    shares = list(dict.fromkeys((rate, d.per_row) for d in demands for rate in d.expression.rates))
    names, decisions = list(tally.lines), len(tally.classes)
    sizes = [len(tally[name]) for name in names]
    starts = dict(zip(names, np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
    total = sum(sizes)
    hits, over = np.zeros((len(shares), total, decisions)), np.zeros((len(shares), total))
    times = np.ones(len(shares))
    for place, (rate, per_row) in enumerate(shares):
        lines = tally[rate.population]
        own = slice(starts[rate.population], starts[rate.population] + len(lines))
        over[place, own] = lines.inside(over_of(rate, tally.classes, per_row))
        times[place] = 1.0 if per_row else scale(tally, rate)
        for decision in range(decisions):
            alike = np.zeros((decisions, len(lines)))
            alike[decision] = 1.0
            every = replace(lines, chances={at_of(rate): alike})
            hits[place, own, decision] = counted(every, rate, tally.classes)
    places = {share: place for place, share in enumerate(shares)}
    coefficients = np.zeros((len(demands), len(shares)))
    for row, demand in enumerate(demands):
        for rate, coefficient in demand.expression.terms:
            coefficients[row, places[rate, demand.per_row]] = coefficient
    placed = [tally[name].place for name in names]
    assert all(each is not None for each in placed)  # no model has decided on them
    line = np.concatenate([each + starts[name] for each, name in zip(placed, names, strict=True)])
    weight = np.concatenate([tally[name].weight for name in names])
    return RowMoves(line, hits, over, weight, times, coefficients, together)


def correlation_of(moves: RowMoves, decided: Sequence[Array]) -> Array:
    """How N rules' deviations in m promises go together (N m, N m), by all rows, with two decisions.

    Rows of a line that are decided alike move promises alike: a no by a, a yes by a + b. So products of
    the moves of two rules, summed over a line, need only how many rows each says yes to, and both do.
    """
    count, m, lines = len(decided), len(moves.coefficients), moves.hits.shape[1]
    each = [moves.of_lines(own) for own in decided]
    no = np.stack([demands[:, 0::2] for demands, _ in each]).reshape(count * m, lines)
    more = np.stack([demands[:, 1::2] for demands, _ in each]).reshape(count * m, lines) - no
    yes = np.array(decided, dtype=np.float32)
    sizes = np.bincount(moves.line, minlength=lines)
    sums, both = np.zeros(count * m), np.zeros((count * m, count * m))
    for line in np.flatnonzero(sizes):
        own = yes[:, moves.line == line]
        together = np.repeat(np.repeat((own @ own.T).astype(float), m, axis=0), m, axis=1)
        a, b = no[:, line], more[:, line]
        added = b * np.repeat(own.sum(axis=1, dtype=float), m)  # by the rows with a yes
        both += sizes[line] * np.outer(a, a) + np.outer(a, added) + np.outer(added, a)
        both += np.outer(b, b) * together
        sums += sizes[line] * a + added
    both -= np.outer(sums, sums) / len(moves.line)
    length = np.sqrt(np.maximum(np.diag(both), 0.0))
    real = np.concatenate([share for _, share in each])
    told = np.where(length > 1e-12, real, 0.0)
    scaled = np.sqrt(told) / np.maximum(length, 1e-12)
    imagined = np.sqrt(1.0 - told)
    same = np.tile(np.eye(m, dtype=bool), (count, count))
    return np.asarray(both * np.outer(scaled, scaled) + same * np.outer(imagined, imagined))
