"""How sure it is that promises hold on new rows, of a rule that was chosen among many.

The cheapest rule that passes a fixed margin is one that chance has favoured: along all thresholds of one
score, rates wander, and what is taken is where they first look good enough. For a single rule, the 90%
point of a standardized deviation is 1.28; for the largest along all thresholds it is 2.3. So a rule is
judged by how far *any* of those that it was chosen among may be off (Chernozhukov, Chetverikov and Kato,
2013): each row's influence on each promise is multiplied by a normal number, and the largest deviation
over the rules, promise by promise, is what room is compared with.

The price of confidence is a curve. Along it, the rule is taken at which more would cost more than it is
worth: a share of what the model gains over one decision for everyone, for each unit of confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from ratebound.base.linear_program import TOLERANCE, worst_violation
from ratebound.base.progress import TimeLimit
from ratebound.base.types import Array
from ratebound.estimators.margins import POWER, decided_alike
from ratebound.estimators.rule_search import Rule, RuleSearch

SHARES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)  # of standard errors that are asked for as margins
DRAWS = 2000  # of the multipliers
MOST = 2**27  # numbers that influences of rules may take
TOGETHER = 360  # deviations of rules that are drawn together
ROWS = 5000  # rows whose influences say how rules vary together
LOOKED = 10.0  # independent rules that the largest deviation is at most of, about
WORTH = 0.3  # share of what a model gains that a unit of confidence may cost
REFINED = 3  # halvings of the way to the cheapest rule that is sure enough
SURELY = 3.0  # standard errors by which a promise is broken, however few its rows are
SMALLEST = 1e-12
BETWEEN = 6  # points that are added on the way to the cheapest, where it goes in large steps
FAR = 10.0  # standard errors, more than which is as good
WIDER = (1.0, 1.25, 1.5, 1.75, 2.0)  # of the margins by which a certificate has a good chance


def deviations(influence: Array, random: np.random.Generator) -> Array:
    """Draws (B, N, m) of how far N rules may be off in m promises, together, in standard errors.

    `influence` (N, m, columns) has the length 1, as by `standardized`. Each column gets a normal number.
    """
    flat = influence.reshape(-1, influence.shape[-1])
    values, vectors = np.linalg.eigh((flat @ flat.T).astype(float))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = random.standard_normal((DRAWS, len(root)), dtype=np.float32)
    drawn = normal @ root.T.astype(np.float32)
    return np.asarray(drawn.reshape(DRAWS, *influence.shape[:2]))


def standardized(moved: Array, real: Array) -> Array:
    """How far some rows move each promise, (m, rows), in standard errors (m, rows + m).

    `real` (m,) is the share of the variances that is not by imagined rows. What these add is in the last
    m columns, one a promise: a recall of 1 that no row here moves may still be less than 1 on new rows.
    """
    own = moved - moved.mean(axis=1, keepdims=True)
    length = np.linalg.norm(own, axis=1)
    told = np.where(length > 0, real, 0.0)
    rows = own * (np.sqrt(told) / np.maximum(length, SMALLEST))[:, None]
    return np.hstack([rows, np.diag(np.sqrt(1.0 - told))])


@dataclass(frozen=True, eq=False)
class Point:
    """A rule on the way, found with margins."""

    rule: Rule
    margins: Array  # (m,)
    errors: Array  # (m,) standard errors of its violations

    @property
    def kept(self) -> Array:
        """Of the margins, what the rule keeps (m,): all of them may be too much for any rule."""
        return np.clip(-self.rule.violations, 0.0, np.maximum(self.margins, 0.0))

    @property
    def room(self) -> Array:
        """To spare in each promise, in standard errors (m,)."""
        return -self.rule.violations / np.maximum(self.errors, SMALLEST)


@dataclass(eq=False)
class Curve:
    """Rules at rising margins, and how sure each is."""

    rules: RuleSearch
    seed: int
    clock: TimeLimit
    asked: float | None  # the confidence; None if no way is walked, and points are only those given
    points: list[Point] = field(default_factory=list)
    cut_short: bool = False  # for want of time
    few: dict[int, tuple[int, int]] = field(default_factory=dict)  # promises let go, for want of rows

    def __post_init__(self) -> None:
        if self.asked is None:
            return
        if self.rules.promises:
            # Of this many promises all are to be shown together.
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
                break  # more cannot be kept at all
            if point.room[self.shown].min() > enough:
                break

    @property
    def _scale(self) -> Array:
        return self.rules.compiled.scale[1:]

    @property
    def shown(self) -> Array:
        """Which promises (m,) confidence is bought for: all that are not let go for want of rows."""
        return ~np.isin(np.arange(self.rules.promises), list(self.few))

    def _margins(self, margins: Array) -> Array:
        """These margins (m,) where promises are asked for, and -inf where they are not."""
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
        """Draws (B, m) of the largest deviation, in standard errors, over the rules chosen among."""
        rules, m = self.rules, self.rules.promises
        random = np.random.default_rng(self.seed)
        rows = rules.drawn
        chosen = np.arange(rows) if rows <= ROWS else np.sort(random.choice(rows, ROWS, replace=False))
        near = self._chosen_among(max(1, min(MOST // (len(chosen) * m), TOGETHER // m)))
        influence = np.empty((len(near), m, len(chosen) + m), dtype=np.float32)
        for place, weights in enumerate(near):
            moved, _, real = rules.moves.of(rules.decided(weights), chosen)
            influence[place] = standardized(moved, real)
        return deviations(influence, random).max(axis=1)

    def _chosen_among(self, most: int) -> list[Array]:
        """The weights of rules on the way, and of some of all others that might have been chosen.

        Also of those that look bad: which look good is what chance decides. What costs more than any on
        the way, such as nearly the same decision for everyone, is not chosen by chance.
        """
        own = [point.rule.weights for point in self.points][:most]
        dearest = max(point.rule.objective for point in self.points)
        weights = self.rules.weights[self.rules.values[:, 0] <= dearest]
        random = np.random.default_rng(self.seed)
        count = min(most - len(own), len(weights))
        return [*own, *weights[random.choice(len(weights), count, replace=False)]]

    def confidence(self, point: Point, *, shown: bool = False) -> float:
        """The confidence with which all promises hold on new rows, of a rule chosen as these were.

        With `shown`, those that are not let go for want of rows.

        It is that of a test: a rule that breaks a promise is said to keep all of them with a confidence
        of c or more in at most a share 1 - c of all samples.
        """
        if not self.rules.promises:
            return 1.0
        own = self.shown if shown else np.full(self.rules.promises, True)
        return float((self.largest[:, own] <= point.room[own]).all(axis=1).mean())

    def refined(self, confidence: float) -> None:
        """Add points between the last that is not sure enough and the first that is."""
        for _ in range(REFINED):
            ordered = sorted(self.points, key=lambda point: float(point.margins[self.shown].sum()))
            sure = [self.confidence(point, shown=True) >= confidence for point in ordered]
            first = next((place for place, own in enumerate(sure) if own), 0)
            if first == 0 or self._out_of_time():
                return
            self.add((ordered[first - 1].margins + ordered[first].margins) / 2)

    def safest_first(self, confidence: float, share: float) -> list[Point]:
        """Points from the safest to the cheapest, for a certificate on this share of all rows.

        Those that were walked along keep promises on new rows; fewer rows, set aside, must show it too.
        The first test that fails is the last, so there are points between those that are far apart.
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
        """The different points that keep all promises and cost no more, the safest first."""
        fine = {
            point.rule.place: point
            for point in self.points
            if worst_violation(point.rule.violations, self._scale) <= TOLERANCE
            and point.rule.objective <= alike + TOLERANCE
        }
        return sorted(fine.values(), key=lambda point: -float(point.room.min(initial=np.inf)))

    def _retake(self) -> None:
        """For each point the cheapest rule of all: one that was found later may be cheaper."""
        for place, point in enumerate(self.points):
            rule = self.rules.cheapest(point.margins)
            if rule.place != point.rule.place:
                self.points[place] = Point(rule, point.margins, self.rules.errors(rule))

    def chosen(self, confidence: float, gain: float) -> Point:
        """The point that is worth its price, if `gain` is what the model is worth.

        What is let go for want of rows is kept on these rows nevertheless, if that is worth its price.
        """
        self.refined(confidence)
        self._retake()
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
