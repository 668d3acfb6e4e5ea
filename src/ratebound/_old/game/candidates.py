"""Columns of the threshold program: the decision rules that one model's scores allow.

A candidate is a rule for one known group, identified by its number: with two classes, a threshold on the
row's one score; with more, an offset for each class. `candidates_of` makes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.offset_search import SWEEPS, costs_at, descended, proven
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import decided


class Candidates(ABC):
    """All decision rules on one model's scores, for every group."""

    compiled: Compiled
    offset: Array  # (1+m,) the objective and each constraint if all rows get the first decision

    @property
    @abstractmethod
    def groups(self) -> int:
        """The number of known groups."""

    @abstractmethod
    def cheapest(self, prices: Array, costs: Sequence[Array], prove: bool) -> tuple[Array, Array, Array]:
        """Each group's cheapest candidate, its cost, and a lower bound on all costs, (groups,) each.

        `prices` (1+m,) belong to the objective and the constraints. `costs` ((D - 1) * cells,) are the
        costs of decisions other than the first at these prices, for each block at zero. Without `prove`,
        bounds may be infinite.
        """

    def others(self, prices: Array, below: Array) -> Array:
        """Other candidates known to cost less at these prices than `below` (groups,), to add as well.

        If one pass finds the cheapest, it is best to look again; if it takes a search, it is not.
        """
        return np.empty(0, dtype=int)

    @abstractmethod
    def values(self, candidates: Array) -> Array:
        """The contribution of these candidates, in order, to objective and constraints, (k, 1+m)."""

    @abstractmethod
    def group(self, candidates: Array) -> Array:
        """The group of each candidate."""

    @abstractmethod
    def at(self, candidates: Array) -> Array:
        """The thresholds (k, 1) of these candidates, or their offsets (k, D)."""

    @abstractmethod
    def constant(self) -> list[Array]:
        """Candidates (groups,) that give everyone the same decision, one array for each decision."""

    @abstractmethod
    def spread(self, count: int) -> Array:
        """About `count` candidates of each group that differ from each other, none of them constant."""

    @abstractmethod
    def near(self, candidates: Array) -> Array:
        """These candidates and some similar ones, for judging other bounds."""

    @abstractmethod
    def generosity(self, candidates: Array) -> Array:
        """How many rows get a yes, or another number that orders a group's candidates, (k,)."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """The largest absolute score; any threshold beyond it is equivalent to infinity."""

    @abstractmethod
    def tightened(self, compiled: Compiled, margins: Array) -> Candidates:
        """The same for `compiled`, with `margins` (1+m,) added to every value."""


# --- thresholds ---------------------------------------------------------------------------------
# Rows are ranked by a model's scores, and every threshold is a prefix of the ranking. The cost of a
# threshold is then a cumulative sum, so the cheapest threshold is found in one pass.


CHUNK = 2**22  # numbers of one array of columns x cells
STEPS = np.append(0, 2 ** np.arange(16))  # the distances of nearby candidates


@dataclass(frozen=True, eq=False)
class Ranking(Candidates):
    """One model's rows, group after group, from the highest score down: a threshold is a prefix.

    Candidates are numbered across all groups. A group's first says yes to no one, its last to everyone.
    """

    compiled: Compiled
    scores: Array  # (n,) in this order
    cell: Array  # (n,) int32: the cell of each row, in this order
    weights: tuple[Array | None, ...]  # (n,) in this order, for each block at zero
    stops: Array  # (candidates,) int32: the end, in this order, of the rows that get a yes
    first: Array  # (groups + 1,) each group's first candidate, and the end
    starts: Array  # (groups + 1,) each group's first row in this order, and the end
    offset: Array  # (1+m,) the objective and each constraint if no one gets a yes

    @property
    def groups(self) -> int:
        return len(self.first) - 1

    def cheapest(self, prices: Array, costs: Sequence[Array], prove: bool) -> tuple[Array, Array, Array]:
        candidates, cost = self.best(costs)
        return candidates, cost, cost.copy()

    def constant(self) -> list[Array]:
        return [self.first[:-1], self.first[1:] - 1]

    def spread(self, count: int) -> Array:
        spread = np.linspace(self.first[:-1], self.first[1:] - 1, count + 2).round().astype(int)
        return np.unique(spread[1:-1])

    def near(self, candidates: Array) -> Array:
        steps, group = np.append(-STEPS[::-1], STEPS), self.group(candidates)
        around = np.clip(candidates + steps[:, None], self.first[group], self.first[group + 1] - 1)
        return np.unique(around)

    def generosity(self, candidates: Array) -> Array:
        return self.stops[candidates]

    @property
    def reach(self) -> float:
        return max(abs(float(self.scores[0])), abs(float(self.scores[-1])))

    def tightened(self, compiled: Compiled, margins: Array) -> Ranking:
        return replace(self, compiled=compiled, offset=self.offset + margins)

    def best(self, costs: Sequence[Array]) -> tuple[Array, Array]:
        """Each group's cheapest candidate and its cost, given the costs (cells,) of a yes per block."""
        each = [
            own[self.cell] if weights is None else own[self.cell] * weights
            for own, weights in zip(costs, self.weights, strict=True)
        ]
        total = np.zeros(len(self.cell) + 1)
        np.cumsum(each[0] if len(each) == 1 else np.sum(each, axis=0), out=total[1:])
        passed = total[self.stops]
        if len(self.first) == 2:  # one group: thresholds are the same for everyone
            hit = np.array([passed.argmin()])
            return hit, passed[hit]
        least = np.minimum.reduceat(passed, self.first[:-1])
        hits = np.flatnonzero(passed == np.repeat(least, np.diff(self.first)))
        return hits[np.searchsorted(hits, self.first[:-1])], least - total[self.starts[:-1]]

    def at(self, candidates: Any) -> Array:
        """The thresholds of these candidates: scores from there on get a yes."""
        stops, group = self.stops[candidates], self.group(candidates)
        upper, lower = (self.scores.take(stops - back, mode="clip").astype(float) for back in (1, 0))
        between = upper / 2 + lower / 2
        between = np.where(between > lower, between, upper)  # adjacent floating-point numbers
        between = np.where(stops == self.starts[group + 1], -np.inf, between)
        return np.where(stops == self.starts[group], np.inf, between)[:, None]

    def values(self, candidates: Array) -> Array:
        """The contribution of these candidates, in order, to objective and constraints, (k, 1+m)."""
        group = self.group(candidates)
        begins = self.starts[group]
        follows = np.append(False, group[1:] == group[:-1])  # within a group, only new rows are counted
        begins[follows] = self.stops[candidates[:-1]][follows[1:]]
        sizes = self.stops[candidates] - begins
        heads = np.flatnonzero(~follows)
        first = np.repeat(heads, np.diff(np.append(heads, len(candidates))))
        values = []
        for block, weights in zip(self.compiled.at_zero, self.weights, strict=True):
            totals = self._totals(begins, sizes, weights)
            sums = np.cumsum(totals, axis=0)
            values.append((block.net @ (sums - (sums - totals)[first]).T).T)
        return np.asarray(values[0] if len(values) == 1 else np.sum(values, axis=0))

    def group(self, candidates: Array) -> Array:
        """The group of each candidate."""
        return np.searchsorted(self.first, candidates, side="right") - 1

    def _totals(self, begins: Array, sizes: Array, weights: Array | None) -> Array:
        """Weights per slice (k, slices) of k stretches of rows."""
        totals = np.empty((len(sizes), self.compiled.slice_count))
        step = max(1, CHUNK // self.compiled.cell_count)
        for start in range(0, len(sizes), step):
            part = slice(start, start + step)
            totals[part] = self._some_totals(begins[part], sizes[part], weights)
        return totals

    def _some_totals(self, begins: Array, sizes: Array, weights: Array | None) -> Array:
        ends = np.cumsum(sizes)
        rows = np.arange(sizes.sum()) + np.repeat(begins - ends + sizes, sizes)
        places = self.cell[rows] + np.repeat(np.arange(len(sizes)) * self.compiled.cell_count, sizes)
        counted = np.bincount(
            places, None if weights is None else weights[rows], len(sizes) * self.compiled.cell_count
        )
        return self.compiled.per_slice(counted.reshape(len(sizes), -1).astype(float))


def rank(compiled: Compiled, scores: Array, groups: Array, apart: float, offset: Array) -> Ranking:
    """The ranking of rows by `scores` (n,) within `groups` (n,), numbered from 0.

    There is no threshold between scores that differ by at most `apart`.
    """
    order, last = _from_highest(scores), int(groups.max())
    if last > 0:
        order = order[np.argsort(groups[order].astype(np.min_scalar_type(last)), kind="stable")]
    scores, starts = scores[order], np.append(0, np.cumsum(np.bincount(groups)))
    with np.errstate(over="ignore"):
        is_end = np.append(scores[:-1] - scores[1:] > apart, True)
    is_end[starts[1:] - 1] = True
    ends = np.flatnonzero(is_end).astype(np.int32)
    cut = np.searchsorted(ends, starts[:-1])  # the start of a group, with "yes to no one"
    own = map(compiled.weights_in, compiled.at_zero)
    return Ranking(
        compiled=compiled,
        scores=scores,
        cell=compiled.cells[order],
        weights=tuple(None if each is None else each[order] for each in own),
        stops=np.insert(ends + 1, cut, starts[:-1]),
        first=np.append(cut, len(ends)) + np.arange(len(starts)),
        starts=starts,
        offset=offset,
    )


def _from_highest(scores: Array) -> Array:
    """The order of scores (n,) from the highest down.

    Single precision is sorted by the lower half of its bits and then by the upper half: NumPy sorts
    short integers by counting them, which takes half the time of comparing.
    """
    if scores.dtype != np.float32:
        return np.argsort(-scores)
    bits = np.ascontiguousarray(scores + 0).view(np.uint32)  # + 0 turns -0 into 0
    falling = np.where(bits >> 31, bits, bits ^ 0x7FFFFFFF)
    lower, upper = falling.astype(np.uint16), (falling >> 16).astype(np.uint16)
    order = np.argsort(lower, kind="stable")
    ranked: Array = order[np.argsort(upper[order], kind="stable")]
    return ranked


# --- offsets of more than two classes -----------------------------------------------------------
# At given prices of the constraints, every decision on every row has a known cost, and `offset_search`
# looks for the cheapest offsets. It starts from offsets found at other prices, so it improves as the
# program goes on. Candidates are numbered in the order in which they were found.


SEARCHED = 2**14  # the most rows of a group that are searched; a sample stands for more
GLANCED = 2**11  # the same if no proof is needed
STARTS = 3  # how many of the offsets known so far, the cheapest at new prices, start a search
AROUND = 3  # the number of rows around whose scores a search starts
SMALL = 64  # up to this many rows, every search does all of this
ADDED = 8  # offsets of a model added to the program at a time


class Known:
    """The offsets found so far, by number."""

    def __init__(self) -> None:
        self.group: list[int] = []
        self.at: list[Array] = []  # (D,) each
        self.values: list[Array] = []  # (1+m,) each
        self.number: dict[tuple[int, bytes], int] = {}


@dataclass(frozen=True, eq=False)
class Offsets(Candidates):
    """Rules that decide by the largest of one model's scores minus offsets, in every group."""

    compiled: Compiled
    scores: Array  # (D, n)
    rows: tuple[Array, ...]  # the rows of each group
    searched: tuple[Array, ...]  # the rows of them that are searched
    apart: float  # scores that differ by at most this count as equal
    offset: Array  # (1+m,)
    work: int  # for one proof of the distance from a group's best; 0 for no proof
    known: Known = field(default_factory=Known)

    @property
    def groups(self) -> int:
        return len(self.rows)

    def cheapest(self, prices: Array, costs: Sequence[Array], prove: bool) -> tuple[Array, Array, Array]:
        best, bounds = [], np.full(self.groups, -np.inf)
        for group, rows in enumerate(self.searched):
            self._search(group, prices, self._costs(costs, rows))
            if prove and self.work:
                own = self.rows[group]
                start = self.known.at[self._by_cost(group, prices)[0]]
                paid = self._costs(costs, own)
                sure = proven(self.scores[:, own], paid, start, self.work, self.apart)
                self._numbered(group, sure.offsets[None])
                bounds[group] = sure.bound
            best.append(self._by_cost(group, prices)[0])
        return np.array(best), self.values(np.array(best)) @ prices, bounds

    def others(self, prices: Array, below: Array) -> Array:
        values, group = np.array(self.known.values), np.array(self.known.group)
        gains = below[group] - values @ prices
        best = np.argsort(-gains, kind="stable")[:ADDED]
        return best[gains[best] > 0]

    def values(self, candidates: Array) -> Array:
        return np.array([self.known.values[each] for each in candidates])

    def group(self, candidates: Array) -> Array:
        return np.array([self.known.group[each] for each in candidates], dtype=int)

    def at(self, candidates: Array) -> Array:
        return np.array([self.known.at[each] for each in candidates])

    def constant(self) -> list[Array]:
        never = np.where(np.eye(len(self.scores), dtype=bool), 0.0, np.inf)
        each = [self._numbered(group, never) for group in range(self.groups)]
        return list(np.array(each).T)

    def spread(self, count: int) -> Array:
        none = np.zeros((1, len(self.scores)))
        return np.concatenate([self._numbered(group, none) for group in range(self.groups)])

    def near(self, candidates: Array) -> Array:
        return np.arange(len(self.known.at))

    def generosity(self, candidates: Array) -> Array:
        return -np.asarray(candidates)

    @property
    def reach(self) -> float:
        return 2 * float(np.abs(self.scores).max())

    def tightened(self, compiled: Compiled, margins: Array) -> Offsets:
        return replace(self, compiled=compiled, offset=self.offset + margins)

    def _search(self, group: int, prices: Array, costs: Array) -> None:
        """Add the cheapest offsets from a search with several starts."""
        rows = self.searched[group]
        scores = self.scores[:, rows]
        # If no proof is needed, little is lost if one search of many misses the best.
        few = not self.work and len(rows) > SMALL
        known = [self.known.at[each] for each in self._by_cost(group, prices)[: 1 if few else STARTS]]
        around = scores[:, np.linspace(0, len(rows) - 1, 0 if few else AROUND).astype(int)].T
        starts = np.unique(np.stack([*known, *around]), axis=0)
        ends = descended(scores, costs, starts, self.apart, sweeps=2 if few else SWEEPS)
        self._numbered(group, ends[[costs_at(scores, costs, ends).argmin()]])

    def _by_cost(self, group: int, prices: Array) -> list[int]:
        """The candidates of a group, the cheapest first."""
        own = [i for i, each in enumerate(self.known.group) if each == group]
        order = np.argsort([self.known.values[i] @ prices for i in own], kind="stable")
        return [own[i] for i in order]

    def _costs(self, costs: Sequence[Array], rows: Array) -> Array:
        """The cost of each decision on these rows, (D, rows); 0 for the first."""
        total = np.zeros((len(self.scores), len(rows)))
        for block, own in zip(self.compiled.at_zero, costs, strict=True):
            each = own.reshape(len(self.scores) - 1, -1)[:, self.compiled.cells[rows]]
            weights = self.compiled.weights_in(block)
            total[1:] += each if weights is None else each * weights[rows]
        return total

    def _numbered(self, group: int, offsets: Array) -> Array:
        """The numbers (k,) of offsets (k, D); new offsets are added."""
        known, rows, numbers = self.known, self.rows[group], []
        finite = np.where(np.isfinite(offsets), offsets, np.inf)
        first = np.argmax(np.isfinite(finite), axis=1)
        offsets = finite - finite[np.arange(len(finite)), first][:, None]  # only differences matter
        for at in offsets + 0.0:
            key = (group, at.tobytes())
            if key not in known.number:
                decisions = np.zeros(len(self.compiled.cells), dtype=int)
                decisions[rows] = decided((self.scores[:, rows] - at[:, None])[None])[0]
                known.number[key] = len(known.at)
                known.group.append(group)
                known.at.append(at)
                known.values.append(self._values_of(decisions))
            numbers.append(known.number[key])
        return np.array(numbers)

    def _values_of(self, decisions: Array) -> Array:
        """The contribution of decisions (n,) to the objective and each constraint, (1+m,)."""
        parts = [
            block.net @ self.compiled.decided_weight(decisions[None], block)[0]
            for block in self.compiled.at_zero
        ]
        return np.sum(parts, axis=0)


def candidates_of(
    compiled: Compiled,
    scores: Array,
    groups: Array,
    apart: float = 0.0,
    offset: Array | None = None,
    work: int = 0,
) -> Candidates:
    """All rules on one model's scores (A, n) within `groups` (n,), numbered from 0.

    Scores that differ by at most `apart`, the size of rounding, count as equal. `offset` (1+m,) replaces
    the problem's own if a model adds to it. `work` limits one proof of the distance from the best
    offsets of a group, 0 for no proof; the best threshold needs none.
    """
    start = compiled.offset if offset is None else offset
    if len(scores) == 1:
        return rank(compiled, scores[0], groups, apart, start)
    return offsets_of(compiled, scores, groups, apart, start, work)


def offsets_of(
    compiled: Compiled, scores: Array, groups: Array, apart: float, offset: Array, work: int
) -> Offsets:
    """The offsets of scores (D, n) within `groups` (n,), numbered from 0."""
    rows = tuple(np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1))
    chance, most = np.random.default_rng(0), SEARCHED if work else GLANCED
    searched = tuple(
        own if len(own) <= most else np.sort(chance.choice(own, most, replace=False)) for own in rows
    )
    made = Offsets(compiled, scores.astype(float), rows, searched, 4 * apart, offset, work)
    made.spread(0)  # the unmoved scores, from which the first search starts
    return made
