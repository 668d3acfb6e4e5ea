"""The best of all thresholds on one score: exactly, and with a margin for new rows.

Rows in order of their scores make every threshold a prefix, so the objective and all promises at every
threshold are cumulative sums. The best is the cheapest threshold that keeps the promises.

On new rows each promise is off by some standard errors, and the threshold was chosen on these rows. How
much that matters depends on the promise. If every yes can only help it, or only harm it, as with recall
or the share of yeses, it is kept up to one threshold and broken from there on. So it is broken on new
rows only if the rows mislead at *that* threshold: the 90% point of one normal deviation, 1.28 standard
errors. Any other promise, such as precision, may look good by chance at any threshold, so its room is
compared with the largest deviation along all thresholds, whose 90% point is about 2.3.

A threshold that misses nothing in thirty rows is not certain to miss nothing. So standard errors are
computed for a promise that is just kept: at the threshold where it changes sides, or for a ratio as if
it were at its bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ratebound._old.auditing.influence import RowMoves
from ratebound._old.base.linear_program import TOLERANCE, LeastViolation, kept, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.estimators.confidence import ROWS, WIDER, WORTH, deviations, standardized
from ratebound._old.estimators.margins import NEAR, POWER, about, gained, near
from ratebound._old.estimators.rules import moves_on
from ratebound._old.game.candidates import Ranking, rank
from ratebound._old.game.moving import apart
from ratebound._old.problem.compiled import Compiled
from ratebound._old.rates.expressions import Ratio
from ratebound._old.solution.status import SearchWords, Status, status_in
from ratebound._old.solution.thresholds import known_groups

ONE = SearchWords(
    "No threshold on these scores",
    "any one threshold on these scores",
    "use a better classifier, or train for the promises (rb.RateConstrainedClassifier)",
)
LOOKED_AT = 160  # deviations of promises at thresholds, drawn together
FEWEST = 16  # thresholds among them, at least
TRIED = 2000  # thresholds whose confidence is compared, if none reaches the requested one
SAFER = (
    3.5,
    3.0,
    2.5,
    2.0,
    1.5,
    1.0,
    0.5,
    0.0,
)  # margins in standard errors, down to the cheapest
MONOTONE = 1e-12  # of the largest coefficient: smaller coefficients may have their sign from rounding
EVEN = 12  # digits of objectives; differences in later digits do not count
SMALLEST = 1e-12
NUMBERS = 2**24  # numbers that coefficients of cells may take to be checked one by one


@dataclass(frozen=True, eq=False)
class EveryThreshold:
    """What every threshold does on the rows of `compiled`, from no for everyone to yes for everyone."""

    compiled: Compiled
    scores: Array  # (n,)
    at: Array  # (k,) yes from this score on
    yeses: Array  # (k,) rows that get a yes
    objectives: Array  # (k,) to be minimised
    violations: Array  # (k, m) kept where <= 0
    together: Array | None  # (n,) which rows were drawn together, if some were

    @property
    def scale(self) -> Array:
        """The units (m,) of the promises."""
        return self.compiled.scale[1:]

    # --- on these rows ---------------------------------------------------------------------------

    def best(self, margins: Any = 0.0) -> int:
        """The threshold that keeps the promises with `margins` (m,) or (k, m) at the lowest objective.

        Among equals it has the most room. If none keeps them, it is the one that breaks them least.
        """
        short = (self.violations + margins) / self.scale
        worst = short.max(axis=1, initial=-np.inf)
        over = np.maximum(worst, TOLERANCE)  # all that keep everything are equal
        over = np.where(over > TOLERANCE, over.round(EVEN), TOLERANCE)
        return int(np.lexsort((worst, self.objectives.round(EVEN), over))[0])

    def keeps(self, margins: Any = 0.0) -> Array:
        """Which thresholds (k,) keep the promises with `margins` (m,) or (k, m)."""
        return np.asarray(kept(self.violations + margins, self.scale).all(axis=1))

    def status(self, place: int, fine: str) -> Status:
        """A threshold's status: `fine` if it keeps the promises; else what to relax, and how far."""
        violations = self.violations[place]
        program = partial(least_broken, self.violations / self.scale)
        status = status_in(ONE, self.compiled.constraints, violations, program, self.scale)
        return replace(status, message=fine) if status.feasible else status

    # --- on new rows -----------------------------------------------------------------------------

    @cached_property
    def way(self) -> Array:
        """How far promises have moved up to each threshold, (k,); thresholds are spread along this."""
        moved = np.abs(np.diff(self.violations / self.scale, axis=0)).sum(axis=1)
        moved = moved + np.diff(self.yeses) / max(len(self.scores), 1)
        return np.append(0.0, np.cumsum(moved))

    def spread(self, count: int) -> Array:
        """About `count` thresholds, evenly along the way."""
        targets = np.linspace(0.0, self.way[-1], count)
        return np.unique(np.searchsorted(self.way, targets).clip(max=len(self.way) - 1))

    @cached_property
    def one_sided(self) -> Array:
        """Which promises (m,) every yes can only help, or can only harm."""
        compiled, m = self.compiled, self.violations.shape[1]
        if (1 + m) * compiled.cell_count > NUMBERS:
            return np.zeros(m, dtype=bool)
        net = np.hstack([compiled.spread_each(block.net) for block in compiled.at_zero])[1:]
        room = MONOTONE * np.abs(net).max(axis=1, initial=0.0)[:, None]
        return np.asarray((net >= -room).all(axis=1) | (net <= room).all(axis=1))

    @cached_property
    def varying(self) -> Varying:
        """How promises vary from sample to sample, along all thresholds."""
        m = self.violations.shape[1]
        crossing = np.abs(self.violations).argmin(axis=0)  # where each promise is just kept
        along = 2 if self.one_sided.all() else max(FEWEST, LOOKED_AT // m)
        places = np.union1d(self.spread(along), crossing)
        moves = moves_on(self.compiled, self.together)
        random = np.random.default_rng(0)
        rows = len(self.scores) if self.together is None else int(self.together.max()) + 1
        chosen = np.arange(rows) if rows <= ROWS else np.sort(random.choice(rows, ROWS, replace=False))
        influence = np.empty((len(places), m, len(chosen) + m), dtype=np.float32)
        errors = np.empty((len(places), m))
        ratios = self._ratios
        for number, place in enumerate(places):
            decided = (self.scores >= self.at[place]).astype(np.intp)
            moved, variances, real = moves.of(decided, chosen)
            influence[number] = standardized(moved, real)
            at_bound = np.where(ratios, variances_at_bound(moves, decided), 0.0)
            errors[number] = np.sqrt(np.maximum(variances, at_bound))
        drawn = deviations(influence, random)
        largest, crossed = drawn.max(axis=1), np.searchsorted(places, crossing)
        each = np.empty_like(self.violations)
        for j in range(m):
            if self.one_sided[j]:
                largest[:, j] = drawn[:, crossed[j], j]
                each[:, j] = errors[crossed[j], j]
            else:
                each[:, j] = np.interp(self.way, self.way[places], errors[:, j])
        return Varying(np.maximum(each, SMALLEST), largest)

    @property
    def _ratios(self) -> Array:
        """Which promises (m,) bound a ratio."""
        problem = self.compiled.problem
        parts = [problem.constraints[demand.promise].left for demand in problem.demands]
        return np.array([isinstance(part, Ratio) for part in parts], dtype=bool)

    @cached_property
    def room(self) -> Array:
        """The room of each promise at each threshold, in standard errors (k, m)."""
        return np.asarray(-self.violations / self.varying.errors)

    def confidence(self, place: int) -> float:
        """The probability that all promises hold on new rows at a threshold that was chosen so."""
        if not self.violations.shape[1]:
            return 1.0
        return float((self.varying.largest <= self.room[place]).all(axis=1).mean())

    def sure(self, confidence: float) -> int | None:
        """The threshold with the lowest objective at which all promises hold with this probability."""
        if not self.violations.shape[1]:
            return self.best()
        largest, keeps = self.varying.largest, self.keeps()
        each = np.quantile(largest, confidence, axis=0, method="higher")  # needed by every one of them
        every = float(np.quantile(largest.max(axis=1), confidence, method="higher"))  # for all of them
        may = keeps & (self.room >= each).all(axis=1)
        enough = may & (self.room >= every).all(axis=1)
        order = np.lexsort((-self.room.min(axis=1), self.objectives.round(EVEN)))
        for place in order[may[order]]:
            if enough[place] or self.confidence(place) >= confidence:
                return int(place)
        return None

    def worth_it(self) -> int:
        """The threshold beyond which more confidence costs more than it is worth, if none is sure."""
        keeps = np.flatnonzero(self.keeps())
        if not len(keeps):
            return self.best()
        few = np.intersect1d(keeps, np.append(self.spread(TRIED), self.best()))
        gain = gained(self.compiled, float(self.objectives.min()), float(self.objectives[keeps].min()))
        worth = [WORTH * gain * self.confidence(place) - self.objectives[place] for place in few]
        return int(few[int(np.argmax(worth))])

    def words(self, place: int, confidence: float) -> str:
        """The confidence that the promises hold on new rows, and what to do if it is too low."""
        reached = self.confidence(place)
        words = f"On new rows like these all hold together with a confidence of {about(reached)}"
        if reached >= confidence - NEAR:
            return f"{words}{near(reached, confidence)}."
        return (
            f"{words}, where {100 * confidence:.10g}% was asked for: no threshold reaches that; relax "
            "the promises, or bring more rows."
        )

    def safest_first(self, confidence: float, share: float) -> list[int]:
        """Thresholds from the safest to the cheapest, for a certificate on this share of all rows."""
        from scipy.special import ndtri

        if not self.violations.shape[1]:
            return []
        there = float(np.sqrt((1.0 - share) / share))
        needed = float(ndtri(confidence)) * there + float(ndtri(POWER)) * float(np.hypot(1.0, there))
        spared = [*(wider * needed for wider in reversed(WIDER)), *SAFER]
        tried = (z * self.varying.errors for z in spared)
        fine = {self.best(margins) for margins in tried if self.keeps(margins).any()}
        return sorted(fine, key=lambda place: -float(self.room[place].min()))


@dataclass(frozen=True, eq=False)
class Varying:
    """How promises vary from sample to sample."""

    errors: Array  # (k, m) standard errors at every threshold
    largest: Array  # (B, m) draws of the relevant deviation, in standard errors


def every_threshold(
    compiled: Compiled,
    scores: Array,
    *,
    only: Array | None = None,
    together: Array | None = None,
) -> EveryThreshold:
    """What every threshold on `scores` (n,) does, or `only` these (k,).

    No threshold lies between scores that differ only by rounding.
    """
    everyone = known_groups((), compiled)[2]  # it refuses promises that one threshold cannot express
    whole = compiled.whole or compiled
    ranking = rank(whole, scores, everyone, apart(scores) if only is None else 0.0, whole.offset)
    at, stops = _thresholds(ranking, only)
    values = ranking.values(np.arange(len(ranking.stops)))[stops] + ranking.offset
    m = len(compiled.constraints)
    violations, pieces = values[:, 1 : 1 + m], values[:, 1 + m :]
    objectives = values[:, 0] if compiled.goal is None else compiled.goal.value(pieces)
    return EveryThreshold(
        compiled, scores, at, ranking.stops[stops], np.asarray(objectives), violations, together
    )


def _thresholds(ranking: Ranking, only: Array | None) -> tuple[Array, Array]:
    """Thresholds (k,) from the highest down, and the candidate (k,) of each."""
    if only is None:
        every = np.arange(len(ranking.stops))
        return ranking.at(every)[:, 0], every
    at = np.unique(only)[::-1]
    yeses = np.searchsorted(-ranking.scores, -at, side="right")
    return at, np.searchsorted(ranking.stops, yeses)


def variances_at_bound(moves: RowMoves, decided: Array) -> Array:
    """The variances (m,) of ratios less their bounds, if the ratios were at their bounds.

    Each row that a ratio counts raises it by one amount or lowers it by another, `high` and `low`. If
    they balance, the mean square is the product of the two: for a share at its bound b, b (1 - b).
    """
    lines, decisions = moves.hits.shape[1:]
    rows = np.bincount(moves.line * decisions + decided, minlength=lines * decisions).astype(float)
    weight = np.repeat(moves.weight, decisions)
    among = moves.over @ (rows.reshape(lines, decisions).sum(axis=1) * moves.weight)
    hits = moves.hits.reshape(len(moves.hits), -1)
    added = moves.coefficients @ ((moves.times / among)[:, None] * hits)  # (m, lines * decisions)
    low, high = -added.min(axis=1, initial=0.0), added.max(axis=1, initial=0.0)
    return np.asarray(low * high * ((added != 0) @ (rows * weight**2)))


def least_broken(violations: Array, room: Array, elastic: Array) -> LeastViolation:
    """The least t at which one of these (k, m), in units, has at most `room + elastic * t`, both (m,).

    If none keeps all, the constraints with a price cannot be kept together, but could without any one of
    them.

    >>> both = np.array([[0.5, -0.1], [-0.1, 0.3]])
    >>> least_broken(both, np.zeros(2), np.ones(2))
    LeastViolation(violation=0.3, prices=array([0.5, 0.5]), violations=array([-0.1,  0.3]), unsolved='')
    """
    free = elastic > 0
    over = violations - room
    hard = kept(over[:, ~free]).all(axis=1)
    short = worst_violation(over[:, free] / np.where(free, elastic, 1.0)[free])
    short = np.where(hard, short, np.inf)
    place = int(short.argmin())
    if short[place] <= TOLERANCE:
        return LeastViolation(0.0, np.zeros(len(room)), violations[place])
    broken = ~kept(over)
    odds, count = np.ones(len(room), dtype=bool), broken.sum(axis=1)
    for j in range(len(room)):  # a constraint is left out if the others conflict without it
        if (count - broken[:, j]).min() > 0:
            odds[j], count = False, count - broken[:, j]
    return LeastViolation(float(short[place]), odds / odds.sum(), violations[place])
