"""The cheapest offsets of several classes, when the largest of scores minus offsets decides.

Each row i has a score s[d] and a cost c[d] for every class d. Given offsets a[d], its decision is the
class with the largest s[d] - a[d], and it pays that class's cost. With all offsets but one fixed, the
decision is d if a[d] <= t_i = s[d] - max_{e != d} (s[e] - a[e]). So in rows sorted by t, the costs of
all values of a[d] are one cumulative sum: `descended` moves one offset after the other to its lowest
point.

It stops when no single offset can be improved, which need not be the optimum. `proven` bounds the
distance. Only differences of offsets matter: a row prefers d to e if a[d] - a[e] < s[d] - s[e]. In a
zone, every difference a[d] - a[e] is at most some room[d, e], so a row's decision can be d only if
room[e, d] > s[e] - s[d] for all e. The sum of the rows' cheapest possible decisions is a lower bound.
Zones are split at the difference of a row's scores, the one with the lowest bound first, until none is
below the best offsets found, or the work is used up. Every split settles a row, so this terminates.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.deciding import decided

SWEEPS = 30  # two to five are typical
BETTER = 1e-12  # the least improvement that counts, relative to the sum of all costs
ROUNDING = 4 * np.finfo(float).eps  # of differences of scores, relative to the scores
AT_ONCE = 2**18  # rows of zones that are processed together


@dataclass(frozen=True, eq=False)
class Cheapest:
    """Offsets, their cost, and a lower bound on the cost of any offsets."""

    offsets: Array  # (D,); infinite for a class that is never decided
    cost: float
    bound: float


def costs_at(scores: Array, costs: Array, offsets: Array) -> Array:
    """The total cost (P,) of deciding by scores (D, n) minus offsets (P, D), at costs (D, n)."""
    rows = np.arange(scores.shape[1])
    return np.array([costs[decided((scores - at[:, None])[None])[0], rows].sum() for at in offsets])


def descended(
    scores: Array, costs: Array, starts: Array, apart: float = 0.0, sweeps: int = SWEEPS
) -> Array:
    """Offsets (P, D) from `starts` (P, D), moved one by one until nothing is gained.

    Every class is moved at most `sweeps` times. Scores that differ by at most `apart`, the size of
    rounding, count as equal.

    >>> scores = np.array([[0.0, 0.0, 0.0], [0.1, 0.4, 0.6], [-1.0, 0.5, 0.2]])
    >>> wrong = 1.0 - np.eye(3)
    >>> best = descended(scores, wrong, np.zeros((1, 3)))
    >>> costs_at(scores, wrong, best)
    array([1.])
    """
    offsets, paid = starts.copy(), costs_at(scores, costs, starts)
    least = BETTER * np.abs(costs).sum()
    moving = np.arange(len(offsets))
    for _ in range(sweeps):
        moved = np.array([_swept(scores, costs, offsets[each], apart) for each in moving])
        now = costs_at(scores, costs, moved)
        gained = now < paid[moving] - least
        moving, moved, now = moving[gained], moved[gained], now[gained]
        if not len(moving):
            break
        offsets[moving], paid[moving] = moved, now
    return offsets


def _swept(scores: Array, costs: Array, at: Array, apart: float) -> Array:
    """Offsets (D,) after each in turn was moved to its best value.

    An offset that gains nothing stays: after a move, others might gain less.
    """
    at, rows = at.copy(), np.arange(scores.shape[1])
    least = BETTER * np.abs(costs).sum()
    size = np.abs(scores).max() + np.abs(at[np.isfinite(at)]).max()
    apart = max(apart, ROUNDING * float(size))
    after = _later(scores - at[:, None])
    before, earlier = np.full(len(rows), -np.inf), np.zeros(len(rows), dtype=int)
    for each in range(len(at)):
        best_after, later = after[each + 1]
        if np.isfinite(np.delete(at, each)).any():  # another class can still be decided
            wins = best_after >= before
            rival, best = np.where(wins, later, earlier), np.where(wins, best_after, before)
            gains, own = costs[each] - costs[rival, rows], scores[each] - at[each]
            decides = (own > best) | ((own == best) & (each > rival))
            place, is_alone, cost = _best_end(scores[each] - best, gains, apart)
            moves = cost < gains[decides].sum() - least
            at[each] = place if moves else at[each]
            if moves and is_alone:
                at[np.arange(len(at)) != each] = np.inf
                before[:] = -np.inf
                after = [(np.full(len(rows), -np.inf), later)] * len(after)
        own = scores[each] - at[each]
        earlier = np.where(own >= before, each, earlier)
        before = np.maximum(before, own)
    return at


def _later(shifted: Array) -> list[tuple[Array, Array]]:
    """For each class, the largest of shifted scores (D, n) from it on, and its class."""
    later = [(np.full(shifted.shape[1], -np.inf), np.zeros(shifted.shape[1], dtype=int))]
    for each in range(len(shifted) - 1, -1, -1):
        best, whose = later[-1]
        wins = shifted[each] > best
        later.append((np.where(wins, shifted[each], best), np.where(wins, each, whose)))
    return later[::-1]


def _best_end(ends: Array, gains: Array, apart: float) -> tuple[float, bool, float]:
    """The cheapest offset of a class whose decisions end at `ends` (n,) and cost `gains` (n,) more.

    Also whether it gets all rows; then the offset is 0, and no other class is ever decided. And the
    additional cost of its decisions in total.
    """
    order = np.argsort(-ends)  # equal ones stay together, in any order
    ends = ends[order]
    total = np.append(0.0, np.cumsum(gains[order]))
    stops = np.flatnonzero(np.concatenate([[True], ends[:-1] - ends[1:] > apart, [True]]))
    best = stops[total[stops].argmin()]
    if best in (0, len(ends)):
        return (0.0, True, total[best]) if best else (np.inf, False, 0.0)
    return ends[best - 1] / 2 + ends[best] / 2, False, total[best]


def proven(scores: Array, costs: Array, start: Array, work: int, apart: float = 0.0) -> Cheapest:
    """The cheapest offsets found from `start` (D,), and a lower bound on the cost of any others.

    `work` limits the number of rows of zones that are examined, times the pairs of classes. If it is
    enough, the bound is the cost.
    """
    scores, costs = _merged(scores, costs)
    best, paid = start, float(costs_at(scores, costs, start[None])[0])
    close, thin = BETTER * np.abs(costs).sum(), max(apart, ROUNDING * float(np.abs(scores).max()))
    made, heap, zones = 0, list[Bounded](), _everything(scores)
    pairs = list(combinations(range(len(scores)), 2))
    while True:
        zones, bounds = _bounded(scores, costs, zones)
        work -= (len(zones.rows) + len(zones.sizes)) * len(pairs)
        likely = np.unique([bounds.argmin(), _costs_inside(scores, costs, zones).argmin()])
        near = descended(scores, costs, zones.middles[likely], apart)
        there = costs_at(scores, costs, near)
        if there.min() < paid - close:
            best, paid = near[there.argmin()], float(there.min())
        for i in np.flatnonzero((bounds < paid - close) & (zones.sizes > 0)).tolist():
            made += 1
            heapq.heappush(heap, (float(bounds[i]), made, zones.only(i)))
        cut = None
        while work > 0 and cut is None and (popped := _lowest(heap, paid - close)):
            cut = _cut(scores, costs, _joined(popped), pairs, thin)
        if cut is None:
            break
        zones = cut
    bound = heap[0][0] if heap and heap[0][0] < paid - 2 * close else paid
    return Cheapest(best, paid, bound)


# --- zones -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Zones:
    """Zones of offsets; the rows with several possible decisions there follow zone by zone."""

    room: Array  # (z, D, D) by how much the first offset may exceed the second
    sure: Array  # (z,) the cost of the rows whose decision is settled
    rows: Array  # (L,) the other rows, zone after zone
    sizes: Array  # (z,) the number of open rows in each zone

    @property
    def of(self) -> Array:
        """The zone of each open row, (L,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def middles(self) -> Array:
        """Offsets (z, D) inside each: the mean of the points that are extreme in one offset."""
        ends = np.stack([self.room, -self.room.swapaxes(1, 2)])  # offsets relative to each class
        middle: Array = (ends - ends[:, :, :1]).mean(axis=(0, 3))
        return middle

    def sums(self, values: Array) -> Array:
        """Sums over the open rows of each zone (..., z), of values (..., L)."""
        summed = np.zeros((*values.shape[:-1], len(self.sizes)))
        filled = np.flatnonzero(self.sizes)
        if len(filled):
            starts = (np.cumsum(self.sizes) - self.sizes)[filled]
            summed[..., filled] = np.add.reduceat(values, starts, axis=-1)
        return summed

    def only(self, i: int) -> _Zones:
        """One of the zones."""
        end = int(self.sizes[: i + 1].sum())
        part, rows = slice(i, i + 1), self.rows[end - self.sizes[i] : end]
        return _Zones(self.room[part], self.sure[part], rows, self.sizes[part])


Bounded = tuple[float, int, _Zones]  # the bound of a zone, a unique number, the zone


def _joined(zones: Sequence[_Zones]) -> _Zones:
    parts = zip(*(vars(each).values() for each in zones), strict=True)
    return _Zones(*map(np.concatenate, parts))


def _merged(scores: Array, costs: Array) -> tuple[Array, Array]:
    """Rows with equal scores, which get the same decision, merged into one with their total cost."""
    distinct, which = np.unique(scores, axis=1, return_inverse=True)
    if distinct.shape[1] == scores.shape[1]:
        return scores, costs
    return distinct, np.array([np.bincount(which.reshape(-1), row, distinct.shape[1]) for row in costs])


def _everything(scores: Array) -> _Zones:
    """A zone that covers all different decisions.

    With offsets sorted, neighbours need not differ by more than a row's scores do.
    """
    classes, rows = scores.shape
    far = (classes - 1) * (float((scores.max(axis=0) - scores.min(axis=0)).max()) * 1.001 + 1e-300)
    room = far * (1 - np.eye(classes))
    return _Zones(room[None], np.zeros(1), np.arange(rows), np.array([rows]))


def _lowest(heap: list[Bounded], below: float) -> list[_Zones]:
    """The zones with the lowest bounds, popped from the heap, as many as are processed together."""
    taken, rows = list[_Zones](), 0
    while heap and heap[0][0] < below and rows < AT_ONCE:
        taken.append(heapq.heappop(heap)[2])
        rows += len(taken[-1].rows)
    return taken


def _possible(scores: Array, zones: _Zones) -> Array:
    """Which decisions each open row can get in its zone, (D, L)."""
    own, of = scores[:, zones.rows], zones.of
    possible = np.ones(own.shape, dtype=bool)
    for d, e in permutations(range(len(own)), 2):
        possible[d] &= zones.room[of, e, d] > own[e] - own[d]
    return possible


def _bounded(scores: Array, costs: Array, zones: _Zones) -> tuple[_Zones, Array]:
    """The zones without their settled rows, and a lower bound for each, (z,)."""
    possible, own = _possible(scores, zones), costs[:, zones.rows]
    cheapest = np.where(possible, own, np.inf).min(axis=0)
    is_open = np.where(possible, own, -np.inf).max(axis=0) > cheapest
    sure = zones.sure + zones.sums(np.where(is_open, 0.0, cheapest))
    sizes = zones.sums(is_open.astype(float)).astype(int)
    return _Zones(zones.room, sure, zones.rows[is_open], sizes), zones.sure + zones.sums(cheapest)


def _costs_inside(scores: Array, costs: Array, zones: _Zones) -> Array:
    """The cost of the offsets in the middle of each zone, (z,)."""
    shifted = scores[:, zones.rows] - zones.middles.T[:, zones.of]
    return zones.sure + zones.sums(costs[decided(shifted[None])[0], zones.rows])


def _cut(
    scores: Array, costs: Array, zones: _Zones, pairs: list[tuple[int, int]], thin: float
) -> _Zones | None:
    """Both parts of each zone, split along the difference of two offsets with the most at stake.

    Parts of width `thin` or less are left out: they lie between scores that count as equal.
    """
    possible, own, paid = _possible(scores, zones), scores[:, zones.rows], costs[:, zones.rows]
    open_to = np.stack([possible[d] & possible[e] for d, e in pairs])
    stakes = np.stack([np.abs(paid[d] - paid[e]) for d, e in pairs])
    most = zones.sums(stakes * open_to).argmax(axis=0)
    ends = np.cumsum(zones.sizes)
    parts = []
    for i, (end, size, pair) in enumerate(zip(ends, zones.sizes, most.tolist(), strict=True)):
        (d, e), rows = pairs[pair], slice(end - size, end)
        there = (own[d, rows] - own[e, rows])[open_to[pair, rows]]
        at = np.partition(there, len(there) // 2)[len(there) // 2]
        one = zones.only(i)
        for room in (_narrowed(one.room, d, e, at), _narrowed(one.room, e, d, -at)):
            widths = (room + room.swapaxes(1, 2))[:, *np.triu_indices(len(own), 1)]
            parts += [replace(one, room=room)] if widths.min() > thin else []
    return _joined(parts) if parts else None


def _narrowed(room: Array, d: int, e: int, most: float) -> Array:
    """The room (1, D, D) if offset d exceeds offset e by at most `most`."""
    through = room[:, :, d, None] + most + room[:, e, None, :]
    return np.minimum(room, through)
