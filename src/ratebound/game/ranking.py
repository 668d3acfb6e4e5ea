"""Rows ranked by a model's scores: every threshold is a prefix of the ranking.

What a threshold costs is then a cumulative sum, so the cheapest of all thresholds is found in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.game.candidates import Candidates
from ratebound.problem.compiled import Compiled

CHUNK = 2**22  # numbers of one array of columns x cells
STEPS = np.append(0, 2 ** np.arange(16))  # how far candidates that are near to one are from it


@dataclass(frozen=True, eq=False)
class Ranking(Candidates):
    """One model's rows, group after group, from the highest score down: a threshold is a prefix.

    Candidates are numbered through all groups; a group's first says yes to no one, its last to everyone.
    """

    compiled: Compiled
    scores: Array  # (n,) in this order
    cell: Array  # (n,) int32: the cell of each row, in this order
    weights: tuple[Array | None, ...]  # (n,) in this order, for each block at zero
    stops: Array  # (candidates,) int32: where in this order the rows that get a yes end
    first: Array  # (groups + 1,) each group's first candidate, and the end
    starts: Array  # (groups + 1,) each group's first row in this order, and the end
    offset: Array  # (1+m,) what the objective and each constraint are before anyone gets a yes

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
        """Each group's cheapest candidate and its cost, at the costs (cells,) of a yes in each block."""
        each = [
            own[self.cell] if weights is None else own[self.cell] * weights
            for own, weights in zip(costs, self.weights, strict=True)
        ]
        total = np.zeros(len(self.cell) + 1)
        np.cumsum(each[0] if len(each) == 1 else np.sum(each, axis=0), out=total[1:])
        passed = total[self.stops]
        if len(self.first) == 2:  # one group, as where thresholds are the same for everyone
            hit = np.array([passed.argmin()])
            return hit, passed[hit]
        least = np.minimum.reduceat(passed, self.first[:-1])
        hits = np.flatnonzero(passed == np.repeat(least, np.diff(self.first)))
        return hits[np.searchsorted(hits, self.first[:-1])], least - total[self.starts[:-1]]

    def at(self, candidates: Any) -> Array:
        """The thresholds of these candidates: yes is said from there on."""
        stops, group = self.stops[candidates], self.group(candidates)
        upper, lower = (self.scores.take(stops - back, mode="clip").astype(float) for back in (1, 0))
        between = upper / 2 + lower / 2
        between = np.where(between > lower, between, upper)  # neighbours among the floats
        between = np.where(stops == self.starts[group + 1], -np.inf, between)
        return np.where(stops == self.starts[group], np.inf, between)

    def values(self, candidates: Array) -> Array:
        """What these candidates, in order, add to the objective and each constraint, (k, 1+m)."""
        group = self.group(candidates)
        begins = self.starts[group]
        follows = np.append(False, group[1:] == group[:-1])  # in a group only what is new is counted
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


def rank(
    compiled: Compiled, scores: Array, groups: Array, apart: float = 0.0, offset: Array | None = None
) -> Ranking:
    """The ranking of rows by `scores` (n,) within `groups` (n,), numbered from 0.

    There is no threshold between scores that differ by no more than `apart`: rounding does as much.
    `offset` (1+m,) stands in for the problem's own, where a model adds to it.
    """
    order, last = _from_highest(scores), int(groups.max())
    if last > 0:
        order = order[np.argsort(groups[order].astype(np.min_scalar_type(last)), kind="stable")]
    scores, starts = scores[order], np.append(0, np.cumsum(np.bincount(groups)))
    with np.errstate(over="ignore"):
        is_end = np.append(scores[:-1] - scores[1:] > apart, True)
    is_end[starts[1:] - 1] = True
    ends = np.flatnonzero(is_end).astype(np.int32)
    cut = np.searchsorted(ends, starts[:-1])  # where a group begins, with "yes to no one"
    own = map(compiled.weights_in, compiled.at_zero)
    return Ranking(
        compiled=compiled,
        scores=scores,
        cell=compiled.cells[order],
        weights=tuple(None if each is None else each[order] for each in own),
        stops=np.insert(ends + 1, cut, starts[:-1]),
        first=np.append(cut, len(ends)) + np.arange(len(starts)),
        starts=starts,
        offset=compiled.offset if offset is None else offset,
    )


def _from_highest(scores: Array) -> Array:
    """The order of scores (n,) from the highest down.

    Single precision is sorted by the lower half of its bits and then by the upper one: NumPy sorts short
    integers by counting them, which takes half of the time of comparing.
    """
    if scores.dtype != np.float32:
        return np.argsort(-scores)
    bits = np.ascontiguousarray(scores + 0).view(np.uint32)  # + 0 makes -0 one with 0
    falling = np.where(bits >> 31, bits, bits ^ 0x7FFFFFFF)
    lower, upper = falling.astype(np.uint16), (falling >> 16).astype(np.uint16)
    order = np.argsort(lower, kind="stable")
    found: Array = order[np.argsort(upper[order], kind="stable")]
    return found
