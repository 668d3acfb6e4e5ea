"""A group inside everyone, as a group beside the rest.

Everyone's rate is the group's and the rest's, mixed by the group's share π of everyone, which is unknown
too. `Inside` has the test. With very many rows, or if π decides whether the group's rate counts for the
promise, the two rates are tested at the ends of an interval of π: for fixed rates the room is linear in
π, so a promise that is broken for some π in an interval is broken at one of its ends; and the lines on
which the room is 0 all meet in one point, so that one end is enough unless that point lies among the
possible rates.

Each of N rows is in the group with probability s, its share. A row of the group counts for the promise
with probability p, and a row of the rest counts against it with probability q. The promise is

    g(s) p - h(s) q + o(s) >= 0,    g and h > 0, all of them affine in s.

Samples are ordered by a score: the room over its standard deviation at the boundary of the promise,
given the group's rows, including the variance of the share. Two nuisance parameters are left, s and q.
For fixed s and q the probability grows with p, so the worst p is at the boundary.

The probability of a set of samples is bounded between the nodes of a grid. A sample is multinomial, an
exponential family: log P(set) is a convex function of the natural parameters less the log-partition A,
which is known. So at a mixture of nodes' parameters it is at most the same mixture of its values at the
nodes, plus the amount by which A is below its own mixture. That gap falls with the square of the
spacing; at half a standard deviation it is less than a tenth of the probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.certifying._bounds import Aim, Finding, normal
from ratebound._old.certifying._means import Mean, same_once
from ratebound._old.certifying._pair import (
    BISECTIONS,
    ROUNDING,
    SCORE,
    Line,
    Share,
    one_sided,
    pair_p_value,
)

TURNING = 0.02  # of the rest's part in the promise: the group's must be more, whatever its share
LEAST_EXPECTED = 1e-5  # expected rows: rates are kept so far from 0 and from 1
FAR = 5.5  # standard deviations; what lies farther out is added to the probability
FAR_OUT = (
    4e-6 + 3 * LEAST_EXPECTED
)  # more than its probability, by Bernstein's inequality, and what LEAST_EXPECTED adds
HALVINGS = 36
COARSE, FINE = 0.9, 0.45  # spacing of the grid in standard deviations; fine where it may matter
CLOSE_LOGITS = 1e-7  # of logits
CHUNK = 2e5  # numbers at a time
MOST_ROWS = 150_000  # rows; of more, this would take too long
BLOCK = 0.25  # times the root of the smaller part: sizes of the group so close count as one in the score
BETWEEN = np.linspace(0.0, 1.0, 5)  # places in a cell at which it is compared with its corners
Ends = tuple[float, float]
Intervals = tuple[Ends, Ends, Ends]  # of the share, of good rows in the group, of bad rows in the rest


@dataclass(frozen=True)
class Nested:
    """What rows of the group and rows of the rest add, by whether they are successes."""

    successes: int  # of the group's rows
    rows: int
    rest_successes: int
    rest_rows: int
    alone: tuple[float, float]  # what a row of the group adds to the group's mean
    among: tuple[float, float]  # and to everyone's
    rest: tuple[float, float]  # what a row of the rest adds to everyone's

    def tested(self, constant: float, aim: Aim) -> Finding:
        """The test of ``constant + the group's mean + everyone's mean >= 0``."""
        p_value = self._jointly(constant, aim)
        if p_value is None:
            p_values = [
                pair_p_value(*self.at(share, constant), aim.gamma / 2)
                for share in self.ends(constant, aim.gamma / 2)
            ]
            p_value = max(p_values) + aim.gamma / 2
        return Finding(min(p_value, 1.0), SCORE, self.spread(aim))

    def _jointly(self, constant: float, aim: Aim) -> float | None:
        """The p-value with the share's variance in the score, as `Inside` has it.

        None if it depends on the share whether a larger rate of the group speaks for the promise, or if
        there are too many rows. Then the share is tested at the ends of its interval.
        """
        everyone = self.rows + self.rest_rows
        tail = aim.gamma / 6  # both ends of three intervals
        shares = one_sided(self.rows, everyone, tail)
        start, slope = self.alone[1] - self.alone[0], self.among[1] - self.among[0]
        rest, sign = self.rest[1] - self.rest[0], np.sign(start + slope * self.share)
        times = sign * (start + slope * window(everyone, *shares) / everyone)
        if not rest or everyone > MOST_ROWS or times.min() <= TURNING * max(abs(start), abs(rest)):
            return None
        failed = int(sign < 0)  # whether failures of the group speak for the promise
        offset = constant + self.alone[failed] + max(self.rest)
        change = self.among[failed] - max(self.rest)
        promise = Inside(everyone, (sign * start, sign * slope), abs(rest), (offset, change))
        good = self.successes if sign > 0 else self.rows - self.successes
        bad = self.rest_successes if rest < 0 else self.rest_rows - self.rest_successes
        rates = [one_sided(*each, tail) for each in ((good, self.rows), (bad, self.rest_rows))]
        enough = aim.delta - aim.gamma
        return promise.p_value(self.rows, good, bad, (shares, rates[0], rates[1]), enough) + aim.gamma

    def spread(self, aim: Aim) -> float:
        """The room that would be shown, with what the group's share may be off by."""
        group, rest, _ = self.at(self.share, 0.0)
        gain = self._gain(self.successes / self.rows, self.rest_successes / self.rest_rows)
        share = math.sqrt(self.share * (1 - self.share) / (self.rows + self.rest_rows)) * gain
        deviation = math.hypot(group.deviation, rest.deviation, share)
        return (normal(aim.delta - aim.gamma) + aim.luck) * deviation

    def at_rate(self, rate: float) -> Nested:
        """The same, were the rate this one, in the group and in the rest alike."""
        alike = self.among[1] >= self.among[0]  # whether successes are the same thing in both
        rest = round((rate if alike else 1 - rate) * self.rest_rows)
        return replace(self, successes=round(rate * self.rows), rest_successes=rest)

    @property
    def share(self) -> float:
        """The group's share of everyone in this sample."""
        return self.rows / (self.rows + self.rest_rows)

    def at(self, share: float, constant: float) -> tuple[Share, Share, float]:
        """The promise where the group has this share: two proportions and a constant."""
        offset = constant + self.alone[0] + share * self.among[0] + (1 - share) * self.rest[0]
        group = self.alone[1] - self.alone[0] + share * (self.among[1] - self.among[0])
        rest = (1 - share) * (self.rest[1] - self.rest[0])
        return (
            Share(self.successes, self.rows, group),
            Share(self.rest_successes, self.rest_rows, rest),
            offset,
        )

    def ends(self, constant: float, tail: float) -> list[float]:
        """Shares of the group that may be the worst, none of them missed but with probability `tail`."""
        rows = self.rows + self.rest_rows
        low, high = one_sided(self.rows, rows, tail)
        signs = [self._gain(p, q) for p, q in self._corners(low, constant)]
        if signs and min(signs) >= 0:
            return [low]
        if signs and max(signs) <= 0:
            return [high]
        return list(one_sided(self.rows, rows, tail / 2))

    def _gain(self, p: float, q: float) -> float:
        """What a larger share of the group adds to the room at these rates."""
        (a, b), (c, d) = self.among, self.rest
        return a + (b - a) * p - c - (d - c) * q

    def _corners(self, share: float, constant: float) -> list[tuple[float, float]]:
        """The points at which the line of zero room enters and leaves the possible rates."""
        group, rest, offset = self.at(share, constant)
        corners = []
        for q in (0.0, 1.0):
            if group.times and 0 <= (p := -(offset + rest.times * q) / group.times) <= 1:
                corners.append((p, q))
        for p in (0.0, 1.0):
            if rest.times and 0 <= (q := -(offset + group.times * p) / rest.times) <= 1:
                corners.append((p, q))
        return corners


def nested(inner: Mean, outer: Mean) -> Nested | None:
    """The two means as a group's and everyone's, if the one set lies inside the other by its words.

    What a row of the group adds to everyone's mean must follow from what it adds to its own.
    """
    over, everyone = inner.over_kinds, outer.over_kinds
    if over is None or everyone is None or inner.population != outer.population:
        return None
    assert inner.value_kinds is not None
    assert outer.value_kinds is not None
    rest = everyone & ~over
    if (over & ~everyone).any() or not rest.any():
        return None
    yes = inner.value_kinds > inner.possible.mean()
    among = [_only(outer.value_kinds[over & (yes == state)]) for state in (False, True)]
    others = same_once(outer.value_kinds[rest])
    aside = outer.inside & ~inner.inside
    if among[0] is None or among[1] is None or len(others) > 2 or not aside.any():
        return None
    others_rows = aside[outer.inside]
    successes = outer.count(others_rows & (outer.values > others.mean())) if len(others) == 2 else 0
    return Nested(
        successes=inner.successes,
        rows=inner.rows,
        rest_successes=successes,
        rest_rows=outer.count(others_rows),
        alone=(float(inner.possible[0]), float(inner.possible[1])),
        among=(among[0], among[1]),
        rest=(float(others[0]), float(others[-1])),
    )


def _only(values: Array) -> float | None:
    """The one value that all of these are; None where they differ."""
    distinct = same_once(values) if len(values) else values
    return float(distinct[0]) if len(distinct) == 1 else None


# --- samples at least as good as one seen, and how likely they can be --------------------------------


@dataclass(frozen=True)
class Inside:
    """The promise, where the group's share of `rows` rows is s: g(s) p - h (1 - s) q + o(s) >= 0."""

    rows: int
    g: tuple[float, float]  # at 0, and its slope
    h: float
    o: tuple[float, float]

    def p_value(self, group: int, good: int, bad: int, intervals: Intervals, enough: float) -> float:
        """The largest probability of a sample as good as `good` of the `group` and `bad` of the rest.

        The share and the two rates lie in `intervals`. The grid is fine unless the probability is far
        from what is `enough`.
        """
        score = self.score(group, good, bad)
        if score <= 0:
            return 1.0
        samples = _Samples.of(self, score, (group, good, bad), intervals)
        bound, largest = samples.largest(_Nodes.of(self, group, intervals, COARSE))
        if bound > enough / 2 and largest < 2 * enough:
            bound, _ = samples.largest(_Nodes.of(self, group, intervals, FINE))
        return bound + FAR_OUT

    def score(self, group: int, good: float, bad: float) -> float:
        """The room of a sample over its deviation where the promise is just kept.

        A sample of some size of the group counts as one of about that size with the same rates.
        """
        blocks = _blocks(self.rows)
        centre = int(_centres(blocks)[np.searchsorted(blocks, group, side="right") - 1])
        good, bad = good * centre / group, bad * (self.rows - centre) / (self.rows - group)
        line, group, rest = self._line(np.asarray(centre)), centre, self.rows - centre
        room = line.a * good / group + line.b * (rest - bad) / rest - line.bound
        low, high = _ends(line)
        for _ in range(BISECTIONS):
            p = (low + high) / 2
            q = line.second(p)
            slope = (good - group * p) * q * (1 - q) * line.b
            slope -= (rest - bad - rest * q) * p * (1 - p) * line.a
            low, high = np.where(slope > 0, p, low), np.where(slope > 0, high, p)
        deviation = float(np.sqrt(sum(self._variances(line, (low + high) / 2))))
        return float(room) / max(deviation, ROUNDING)

    def critical(self, score: float, group: Array, bad: Array) -> Array:
        """For each size of the `group` (m, 1) and number of `bad` ones (m, r): the least good, (m, r).

        As in `Line.critical`, samples with this score are known where their estimate is.
        """
        line, good_rest = self._line(group), self.rows - group - bad
        low, high = (np.broadcast_to(end, good_rest.shape) for end in _ends(line))

        def at(p: Array) -> tuple[Array, Array]:
            own, share = self._variances(line, p)
            q = line.second(p)
            times = score * np.sqrt(own + share) / np.maximum(own, ROUNDING**2)
            good = group * p + times * line.a * p * (1 - p)
            return good, (self.rows - group) * q + times * line.b * q * (1 - q)

        none = at(high)[1] > good_rest + 1e-9 * self.rows
        for _ in range(HALVINGS):
            p = (low + high) / 2
            right = at(p)[1] > good_rest
            low, high = np.where(right, p, low), np.where(right, high, p)
        return np.where(none | (good_rest < 0), group + 1.0, at((low + high) / 2)[0])

    def by_group(self, group: int) -> bool:
        """Whether an interval of the group's rate is the shorter one where the promise is just kept."""
        rest = self.rows - group
        return self.h * rest / self.rows * math.sqrt(group / rest) > float(
            self._times(group / self.rows)
        )

    def worst(self, share: Array, rate: Array, of_group: bool) -> Array:
        """The rest's rate that just keeps the promise at the group's `rate`, or the other way round."""
        offset, rest = self.o[0] + self.o[1] * share, self.h * (1 - share)
        group = self._times(share)
        worst: Array = (group * rate + offset) / rest if of_group else (rest * rate - offset) / group
        return worst

    def _times(self, share: Array | float) -> Array | float:
        return self.g[0] + self.g[1] * share

    def _line(self, group: Array) -> Line:
        """The promise given the rows of the group, as one about two rates of rows that speak for it."""
        share = group / self.rows
        b = self.h * (1 - share)
        bound = b - self.o[0] - self.o[1] * share
        return Line(self._times(share), b, bound, group, self.rows - group)  # type: ignore[arg-type]  # arrays, of an array

    def _variances(self, line: Line, p: Array) -> tuple[Array, Array]:
        """The variance of the room given the group's rows, and what the group's share adds."""
        share, q = line.rows1 / self.rows, line.second(p)
        own = line.a**2 * p * (1 - p) / line.rows1 + line.b**2 * q * (1 - q) / line.rows2
        gain = self.g[1] * p + self.h * (1 - q) + self.o[1]
        return own, gain**2 * share * (1 - share) / self.rows


def _ends(line: Line) -> tuple[Array, Array]:
    """The least and the largest rate of the group on the line, as in `Line.ends`."""
    low, high = np.asarray((line.bound - line.b) / line.a), np.asarray(line.bound / line.a)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Nodes where the promise is just kept, and what the probability is at most between them."""

    share: Array  # (a, 1)
    good: Array  # (a, b) of the group
    bad: Array  # (a, b) of the rest
    gap: Array  # (a - 1, b - 1) of the logarithm; -inf where the promise cannot be broken

    @classmethod
    def of(cls, promise: Inside, group: int, intervals: Intervals, spacing: float) -> _Nodes:
        """A grid over the intervals of the share and of a rate, so many standard deviations apart."""
        rows, by_group = promise.rows, promise.by_group(group)
        share = _spaced(*intervals[0], rows, rows, spacing)[:, None]
        (known, ends), own = intervals[1:], group
        if not by_group:
            known, ends, own = ends, known, rows - group
        rate = _spaced(*known, own, rows, spacing)[None, :]
        share, rate = np.broadcast_arrays(share, rate)
        just, level, little = (
            promise.worst(share, rate, by_group),
            np.zeros(share.shape),
            LEAST_EXPECTED / rows,
        )
        possible = ~_all_corners(just > ends[1] if by_group else just < ends[0])
        inner = little, 1 - little
        for _ in range(50):  # until mixtures of nodes are no better than where the promise is just kept
            other = _moved(np.clip(just, *inner), -level if by_group else level, little)
            good, bad = (rate, other) if by_group else (other, rate)
            (at, mixed_good, mixed_bad), gap = _mixed(share, good, bad, rows)
            mixed, given = (mixed_bad, mixed_good) if by_group else (mixed_good, mixed_bad)
            short = _logit(np.clip(promise.worst(at, given, by_group), *inner)) - _logit(mixed)
            short = (-short if by_group else short).max(axis=(-2, -1)) * possible
            if short.max() <= CLOSE_LOGITS:
                break
            level = level + _at_corners(np.maximum(1.2 * short, 0.0))
        gap = np.where(short <= CLOSE_LOGITS, 1.02 * gap.max(axis=(-2, -1)), np.inf)
        return cls(share[:, :1], good, bad, np.where(possible, gap, -np.inf))

    @property
    def needed(self) -> Array:
        """Which nodes (a, b) are corners of a cell in which the promise can be broken."""
        return _at_corners(self.gap > -np.inf)

    def bounded(self, probabilities: Array) -> float:
        """The most that the probability can be anywhere, from what it is at the nodes (a, b)."""
        return float((np.maximum.reduce(_corners(probabilities)) * np.exp(self.gap)).max())


def _corners(nodes: Array) -> tuple[Array, Array, Array, Array]:
    """What is at the four corners of each cell, (a - 1, b - 1) each."""
    return nodes[:-1, :-1], nodes[1:, :-1], nodes[:-1, 1:], nodes[1:, 1:]


def _all_corners(nodes: Array) -> Array:
    return np.logical_and.reduce(_corners(nodes))


def _spaced(low: float, high: float, own: int, rows: int, spacing: float) -> Array:
    """Rates from `low` to `high`, equally many standard deviations of their `own` rows apart."""
    little = LEAST_EXPECTED / rows
    least, most = (math.asin(math.sqrt(min(max(end, little), 1 - little))) for end in (low, high))
    cells = max(1, math.ceil(2 * math.sqrt(own) * (most - least) / spacing))
    # A little more at both ends, since mixtures of their nodes may lie a little further in.
    wider = np.linspace(least, most, cells + 1) + np.linspace(-1, 1, cells + 1) * 0.05 / math.sqrt(own)
    inner = np.sin(np.clip(wider, 0.0, math.pi / 2)) ** 2
    return np.clip(inner, little, 1 - little)


def _logit(rate: Array) -> Array:
    return np.log(rate / (1 - rate))


def _moved(rate: Array, level: Array, little: float) -> Array:
    """Rates with so much more of their logit, but for a `little`."""
    odds = rate / (1 - rate) * np.exp(level)
    return np.clip(odds / (1 + odds), little, 1 - little)


def _at_corners(cells: Array) -> Array:
    """At each node (a, b), the largest value of the cells (a - 1, b - 1) around it."""
    return np.maximum.reduce(_corners(np.pad(cells, 1)))


def _mixed(share: Array, good: Array, bad: Array, rows: int) -> tuple[tuple[Array, ...], Array]:
    """In each cell, rates at mixtures of its corners' parameters; and how far A is below its mixture.

    (a - 1, b - 1, places, places) each. A is the log of 1 + the odds of the three other kinds of row
    against a row of the rest that is not bad.
    """
    rest, fail = _logit(bad), _logit(share) + np.log((1 - good) / (1 - bad))
    right = fail + _logit(good)
    whole = rows * np.log1p(np.exp(rest) + np.exp(fail) + np.exp(right))

    def between(values: Array) -> Array:
        a, b, c, d = (corner[..., None, None] for corner in _corners(values))
        u, v = BETWEEN[:, None], BETWEEN[None, :]
        mixed: Array = (1 - v) * ((1 - u) * a + u * b) + v * ((1 - u) * c + u * d)
        return mixed

    r, f, k = (between(each) for each in (rest, fail, right))
    odds = [np.exp(each) for each in (r, f, k)]
    total = 1 + odds[0] + odds[1] + odds[2]
    gap = between(whole) - rows * np.log(total)
    group = odds[1] + odds[2]
    return (group / total, odds[2] / group, odds[0] / (1 + odds[0])), gap


@lru_cache(maxsize=4)
def _blocks(rows: int) -> Array:
    """From which sizes of the group on blocks begin, from 1 to `rows` - 1, which ends the last."""
    half = rows // 2 + 1
    roots = np.arange(2.0, 2 * math.sqrt(half) / BLOCK + 1)
    below = np.unique(np.minimum((BLOCK * roots / 2) ** 2, half).astype(np.int64))
    starts = np.unique(np.concatenate([below, rows - below[::-1]]))
    return starts[(starts >= 1) & (starts <= rows)]


def _centres(blocks: Array) -> Array:
    """The size of the group that stands for those of each block in the score."""
    return (blocks[:-1] + blocks[1:] - 1) // 2


@dataclass(frozen=True, eq=False)
class _Samples:
    """Those at least as good as one seen: so many good of the group, for each size and number of bad."""

    rows: int
    start: Array  # (m,) the least size of the group in each block that is looked at
    size: Array  # (m,) of the block
    first: Array  # (m, 1) the least number of bad ones that is looked at
    least: Array  # (m, sizes, r) of the good, for each number of bad ones from the first on

    @classmethod
    def of(
        cls, promise: Inside, score: float, seen: tuple[int, int, int], intervals: Intervals
    ) -> _Samples:
        rows, blocks = promise.rows, _blocks(promise.rows)
        group, rates = window(rows, *intervals[0]), intervals[2]
        low, high = np.searchsorted(blocks, [max(group[0], 1), min(group[-1], rows - 1)], side="right")
        at = np.arange(low - 1, high)
        start, end, centre = blocks[at], blocks[at + 1] - 1, _centres(blocks)[at][:, None]
        first, last = _likely(rows - end, *rates)[0], _likely(rows - start, *rates)[1]
        bad = first[:, None] + np.arange((last - first).max() + 2)
        critical = promise.critical(score * (1 - 1e-9), centre, bad)
        critical = np.minimum.accumulate(critical[:, ::-1], axis=1)[:, ::-1]
        # Other sizes of a block have the same least share of good ones for the same share of bad ones.
        sizes = np.minimum(start[:, None] + np.arange((end - start).max() + 1), end[:, None])
        alike = bad[:, None, :] * ((rows - centre) / (rows - sizes))[..., None] - first[:, None, None]
        below = np.clip(np.floor(alike).astype(np.int64), 0, bad.shape[1] - 2)
        place, part = np.arange(len(at))[:, None, None], np.clip(alike - below, 0.0, 1.0)
        least = (1 - part) * critical[place, below] + part * critical[place, below + 1]
        least = np.ceil(least * (sizes / centre)[..., None] - 1e-5)
        own = np.nonzero(sizes == seen[0])
        kept = np.where(bad[own[0]] <= seen[2], np.minimum(least[own], seen[1]), least[own])
        least[own] = kept
        return cls(rows, start, end - start + 1, first[:, None], np.clip(least, 0, rows + 1).astype(int))

    def largest(self, grid: _Nodes) -> tuple[float, float]:
        """What their probability is at most, less what lies far out; and the largest at a node."""
        probabilities = np.zeros(grid.good.shape)
        for i, share in enumerate(grid.share[:, 0]):
            group = window(self.rows, share, share)
            ends = np.searchsorted(self.start, group[[0, -1]], side="right")
            own = slice(max(int(ends[0]) - 1, 0), int(ends[1]))
            nodes = np.flatnonzero(grid.needed[i])
            step = max(1, int(CHUNK / (self.least[own].size + 1)))
            for at in range(0, len(nodes), step):
                some = nodes[at : at + step]
                probabilities[i, some] = self.probability(
                    own, share, grid.good[i, some], grid.bad[i, some]
                )
        return grid.bounded(probabilities), float(probabilities.max())

    def probability(self, own: slice, share: float, good: Array, bad: Array) -> Array:
        """The probability at nodes (c,) that have one share, from some of the blocks.

        Rows are added to the group and to the rest one by one, which needs no more logarithms.
        """
        start, size, first = self.start[own], self.size[own], self.first[own, 0]
        end, most = start + size - 1, int(size.max())
        low = _likely(self.rows - end, bad.min(), bad.min())[0] - first
        high = _likely(self.rows - start, bad.max(), bad.max())[1] - first
        ends = max(int(low.min()), 0), min(int(high.max()) + 1, self.least.shape[2])
        each = first[:, None] + np.arange(*ends)
        rest, q = [_mass((self.rows - end)[:, None], each, bad)], bad[:, None, None]
        for _ in range(most - 1):
            rest.append((1 - q) * rest[-1])
            rest[-1][..., 1:] += q * rest[-2][..., :-1]
        low = _likely(start, good.min(), good.min())[0]
        width = int((_likely(end, good.max(), good.max())[1] - low).max()) + 1
        masses = _mass(start[:, None], low[:, None] + np.arange(width), good)
        above, p = np.zeros((*masses.shape[:2], width + 1)), good[:, None, None]
        above[..., :-1] = np.cumsum(masses[..., ::-1], axis=2)[..., ::-1]
        sizes = start[:, None] + np.arange(most)
        weight = _mass(np.asarray(self.rows), sizes, np.array([share]))[0]
        place, probability = np.arange(len(start))[:, None], np.zeros(len(good))
        for step in range(most):
            if step:
                above, before = (1 - p) * above, above
                above[..., 1:] += p * before[..., :-1]
                above[..., :1] += p
            at = np.clip(self.least[own, step, slice(*ends)] - low[:, None], 0, width)
            counted = np.flatnonzero(step < size)
            masses = np.stack([rest[size[i] - 1 - step][:, i] for i in counted], axis=1)
            tails = above[:, place[counted], at[counted]]
            probability += np.einsum("cmr,cmr,m->c", masses, tails, weight[counted, step])
        return probability


def window(rows: int, low: float, high: float) -> Array:
    """The numbers that are likely among `rows` for a proportion between the two."""
    first, last = _likely(np.asarray(rows), low, high)
    return np.arange(int(first), int(last) + 1)


def _likely(rows: Array, low: float, high: float) -> tuple[Array, Array]:
    """The least and the largest number that is likely, of each number of rows."""
    least, most = (
        rows * q + side * (FAR * np.sqrt(rows * q * (1 - q)) + FAR**2 / 3)
        for q, side in ((low, -1), (high, 1))
    )
    return np.maximum(np.floor(least), 0).astype(int), np.minimum(np.ceil(most), rows).astype(int)


def _mass(rows: Array, k: Array, q: Array) -> Array:
    """Binomial probabilities (c, ...) of `k` among `rows`, which broadcast; 0 if `rows` is smaller."""
    logs, rest = _factorials(int(rows.max())), rows - k
    ways = logs[rows] - logs[np.minimum(k, rows)] - logs[np.maximum(rest, 0)]
    ways = np.where(rest >= 0, ways, -np.inf)
    yes, no = (np.log(each).reshape(-1, *[1] * ways.ndim) for each in (q, 1 - q))
    mass: Array = np.exp(ways + k * yes + np.maximum(rest, 0) * no)
    return mass


@lru_cache(maxsize=2)
def _log_factorials(rows: int) -> Array:
    from scipy.special import gammaln

    logs: Array = gammaln(np.arange(rows + 2.0) + 1)
    return logs


def _factorials(rows: int) -> Array:
    """The logarithms of the factorials up to at least `rows`; tables double, so that few are made."""
    return _log_factorials(1 << max(10, rows.bit_length()))
