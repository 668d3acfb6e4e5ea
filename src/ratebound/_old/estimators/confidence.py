"""The confidence that promises hold on new rows, for a rule that was chosen among many.

The cheapest rule that passes a fixed margin is one that chance has favoured: rates vary along all
thresholds of one score, and the first threshold that looks good enough is taken. For a single rule, the
90% point of a standardized deviation is 1.28; for the largest along all thresholds it is 2.3. So a rule
is judged by how far *any* of its rivals may be off (Chernozhukov, Chetverikov and Kato, 2013): each
row's influence on each promise is multiplied by a normal number, and the room is compared with the
largest deviation over the rules, promise by promise.

The price of confidence is a curve. The chosen rule is the point on it beyond which more confidence costs
more than it is worth: a share of the model's gain over one decision for everyone, for each unit of
confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from ratebound._old.base.linear_program import TOLERANCE, worst_violation
from ratebound._old.base.progress import TimeLimit
from ratebound._old.base.types import Array
from ratebound._old.estimators.margins import POWER, decided_alike
from ratebound._old.estimators.rule_search import Rule, RuleSearch

SHARES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)  # margins to try, in standard errors
DRAWS = 2000  # draws of the multipliers
MOST = 2**27  # numbers for influences of rules, at most
TOGETHER = 360  # deviations of rules, drawn together
ROWS = 5000  # rows whose influences give the rules' correlations, if not all rows do
LOOKED = 10.0  # independent rules that the largest deviation is at most of, about
WORTH = 0.3  # the share of a model's gain that a unit of confidence may cost
REFINED = 3  # halvings on the way to the cheapest rule with enough confidence
SURELY = 3.0  # standard errors at which a promise is broken, however few its rows are
SMALLEST = 1e-12
BETWEEN = 6  # points added on the way to the cheapest, if its steps are large
FAR = 10.0  # standard errors; more make no difference
WIDER = (1.0, 1.25, 1.5, 1.75, 2.0)  # multiples of the margins that give a certificate a good chance


def deviations(influence: Array, random: np.random.Generator) -> Array:
    """Draws (B, N, m) of the joint deviations of N rules in m promises, in standard errors.

    `influence` (N, m, columns) has the length 1, as from `standardized`. Each column gets a normal
    number.
    """
    flat = influence.reshape(-1, influence.shape[-1])
    return drawn_together(flat @ flat.T, random).reshape(DRAWS, *influence.shape[:2])


def drawn_together(correlation: Array, random: np.random.Generator) -> Array:
    """Draws (B, k) of normal variables with this correlation (k, k)."""
    values, vectors = np.linalg.eigh(correlation.astype(float))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = random.standard_normal((DRAWS, len(root)), dtype=np.float32)
    return np.asarray(normal @ root.T.astype(np.float32))


def standardized(moved: Array, real: Array) -> Array:
    """How far some rows move each promise, (m, rows), in standard errors (m, rows + m).

    `real` (m,) is the share of the variances that is not from imagined rows. The imagined rows' part is
    in the last m columns, one per promise: a recall of 1 that no row here moves may still be less than 1
    on new rows.
    """
    own = moved - moved.mean(axis=1, keepdims=True)
    length = np.linalg.norm(own, axis=1)
    told = np.where(length > 0, real, 0.0)
    rows = own * (np.sqrt(told) / np.maximum(length, SMALLEST))[:, None]
    return np.hstack([rows, np.diag(np.sqrt(1.0 - told))])


@dataclass(frozen=True, eq=False)
class Point:
    """A rule on the curve, solved with margins."""

    rule: Rule
    margins: Array  # (m,)
    errors: Array  # (m,) standard errors of its violations

    @property
    def kept(self) -> Array:
        """The part (m,) of the margins that the rule keeps: all of them may be too much for any rule."""
        return np.clip(-self.rule.violations, 0.0, np.maximum(self.margins, 0.0))

    @property
    def room(self) -> Array:
        """The room in each promise, in standard errors (m,)."""
        return -self.rule.violations / np.maximum(self.errors, SMALLEST)


@dataclass(eq=False)
class Curve:
    """Rules at rising margins, and their confidence."""

    rules: RuleSearch
    seed: int
    clock: TimeLimit
    asked: float | None  # the confidence; None if only the given points are used
    points: list[Point] = field(default_factory=list)
    cut_short: bool = False  # for lack of time
    few: dict[int, tuple[int, int]] = field(default_factory=dict)  # promises given up for lack of rows

    def __post_init__(self) -> None:
        if self.asked is None:
            return
        if self.rules.promises:
            # All of these promises must be shown together.
            self.few = self.rules.few_rows(float(ndtri(1 - (1 - self.asked) / self.rules.promises)))
        first = self.add(self._margins(np.zeros(self.rules.promises)))
        broken = {place for place in self.few if -first.room[place] > SURELY}
        if broken:
            self.few = {place: rows for place, rows in self.few.items() if place not in broken}
            self.points.clear()
            first = self.add(self._margins(np.zeros(self.rules.promises)))
        if not self.shown.any():
            return
        enough = float(ndtri(1 - (1 - self.asked) / (LOOKED * self.rules.promises)))
        for share in SHARES[1:]:
            if self._out_of_time():
                break
            point = self.add(self._margins(share * first.errors))
            if worst_violation(point.rule.violations + point.margins, self._scale) > TOLERANCE:
                break  # no rule keeps more
            if point.room[self.shown].min() > enough:
                break

    @property
    def _scale(self) -> Array:
        return self.rules.compiled.scale[1:]

    @property
    def shown(self) -> Array:
        """Which promises (m,) need confidence: all that are not given up for lack of rows."""
        return ~np.isin(np.arange(self.rules.promises), list(self.few))

    def _margins(self, margins: Array) -> Array:
        """These margins (m,) for promises that are required, and -inf for the others."""
        return np.where(self.shown, margins, -np.inf)

    def _out_of_time(self) -> bool:
        self.cut_short = self.clock.left == 0
        return self.cut_short

    def add(self, margins: Array) -> Point:
        """The cheapest rule that keeps these margins (m,), as one more point."""
        rule = self.rules.best(margins)
        point = Point(rule, margins, self.rules.errors(rule))
        self.points.append(point)
        return point

    @cached_property
    def largest(self) -> Array:
        """Draws (B, m) of the largest deviation, in standard errors, over the candidate rules."""
        rules, m = self.rules, self.rules.promises
        random = np.random.default_rng(self.seed)
        near = self._chosen_among(max(1, TOGETHER // m))
        if (correlation := rules.correlation(near)) is not None:
            return np.asarray(drawn_together(correlation, random).reshape(DRAWS, -1, m).max(axis=1))
        rows = rules.drawn
        chosen = np.arange(rows) if rows <= ROWS else np.sort(random.choice(rows, ROWS, replace=False))
        near = self._chosen_among(max(1, min(MOST // (len(chosen) * m), TOGETHER // m)))
        influence = np.empty((len(near), m, len(chosen) + m), dtype=np.float32)
        for place, weights in enumerate(near):
            moved, _, real = rules.moves.of(rules.decided(weights), chosen)
            influence[place] = standardized(moved, real)
        return deviations(influence, random).max(axis=1)

    def _chosen_among(self, most: int) -> list[Array]:
        """The weights of rules on the curve, and of a sample of other possible choices.

        Rules that look bad are included: which rules look good is a matter of chance. A rule that costs
        more than any on the curve, such as nearly one decision for everyone, is not chosen by chance.
        """
        own = [point.rule.weights for point in self.points][:most]
        dearest = max(point.rule.objective for point in self.points)
        weights = self.rules.weights[self.rules.values[:, 0] <= dearest]
        random = np.random.default_rng(self.seed)
        count = min(most - len(own), len(weights))
        return [*own, *weights[random.choice(len(weights), count, replace=False)]]

    def confidence(self, point: Point, *, shown: bool = False) -> float:
        """The confidence with which all promises hold on new rows, for a rule chosen like these.

        With `shown`, only the promises that are not given up for lack of rows.

        It is the confidence of a test: for a rule that breaks a promise, it is c or more in at most a
        share 1 - c of all samples.
        """
        if not self.rules.promises:
            return 1.0
        own = self.shown if shown else np.full(self.rules.promises, True)
        return float((self.largest[:, own] <= point.room[own]).all(axis=1).mean())

    def refined(self, confidence: float) -> None:
        """Add points between the last one without enough confidence and the first one with it."""
        for _ in range(REFINED):
            ordered = sorted(self.points, key=lambda point: float(point.margins[self.shown].sum()))
            sure = [self.confidence(point, shown=True) >= confidence for point in ordered]
            first = next((place for place, own in enumerate(sure) if own), 0)
            if first == 0 or self._out_of_time():
                return
            self.add((ordered[first - 1].margins + ordered[first].margins) / 2)

    def safest_first(self, confidence: float, share: float) -> list[Point]:
        """Points from the safest to the cheapest, for a certificate on this share of all rows.

        Points on the curve keep promises on new rows; the fewer rows set aside must show it too. The
        first test that fails is the last, so points are added between distant ones.
        """
        there = math.sqrt((1.0 - share) / share)
        needed = float(ndtri(confidence)) * there + float(ndtri(POWER)) * math.hypot(1.0, there)
        first = self.points[0]
        for wider in WIDER if self.rules.promises else ():
            if not self._out_of_time():
                self.add(self._margins(wider * needed * first.errors))
        alike = decided_alike(self.rules.compiled)
        for _ in range(BETWEEN):
            fine = self._kept_at_less_than(alike)
            if len(fine) < 2 or self._out_of_time():
                return fine
            least = [float(point.room.min(initial=FAR)) for point in fine]
            place = int(np.argmin(np.diff(np.minimum(least, FAR))))
            self.add((fine[place].margins + fine[place + 1].margins) / 2)
        return self._kept_at_less_than(alike)

    def _kept_at_less_than(self, alike: float) -> list[Point]:
        """The distinct points that keep all promises and cost no more, the safest first."""
        fine = {
            point.rule.place: point
            for point in self.points
            if worst_violation(point.rule.violations, self._scale) <= TOLERANCE
            and point.rule.objective <= alike + TOLERANCE
        }
        return sorted(fine.values(), key=lambda point: -float(point.room.min(initial=np.inf)))

    def _retake(self) -> None:
        """For each point the cheapest rule of all: a later one may be cheaper."""
        for place, point in enumerate(self.points):
            rule = self.rules.cheapest(point.margins)
            if rule.place != point.rule.place:
                self.points[place] = Point(rule, point.margins, self.rules.errors(rule))

    def chosen(self, confidence: float, gain: float) -> Point:
        """The point that is worth its price, given the model's `gain`.

        The plain model is among them: where it keeps the promises, more is paid only for more
        confidence. A promise that is given up for lack of rows is still kept on these rows, if that is
        worth its price.
        """
        self.refined(confidence)
        self._retake()
        plain = self.rules.rule(0)
        none = self._margins(np.zeros(self.rules.promises))
        self.points.append(Point(plain, none, self.rules.errors(plain)))
        kept = [p for p in self.points if self._worst(p, self.shown) <= TOLERANCE]
        if not kept:
            return min(self.points, key=lambda point: self._worst(point, self.shown))

        def worth(point: Point, *, shown: bool = True) -> float:
            sure = min(self.confidence(point, shown=shown), confidence)
            return WORTH * gain * sure - point.rule.objective

        best = max(kept, key=worth)
        if self._worst(best, ~self.shown) > TOLERANCE and not self._out_of_time():
            every = self.add(np.where(self.shown, best.margins, 0.0))
            kept_too = self._worst(every, np.full(self.rules.promises, True)) <= TOLERANCE
            if kept_too and worth(every, shown=False) >= worth(best, shown=False):
                return every
        return best

    def _worst(self, point: Point, own: Array) -> float:
        """The worst violation of some promises (m,)."""
        return float(worst_violation(point.rule.violations[own], self._scale[own]))
