"""Offsets of several classes as candidates of the threshold program, as `ranking` has thresholds.

Prices of the constraints make every decision on every row cost a known amount, and `offset_search` looks
for the offsets that cost least. It starts from the offsets that were found at other prices, and so gets
better as the program goes on. Candidates are numbered in the order in which they were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ratebound.base.types import Array
from ratebound.game.candidates import Candidates
from ratebound.game.offset_search import SWEEPS, costs_at, descended, proven
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import decided

SEARCHED = 2**14  # rows of a group that are searched; of more, so many stand for all
GLANCED = 2**11  # the same where nothing is to be proven
STARTS = 3  # of the offsets found so far, those that are cheapest at new prices
AROUND = 3  # rows around whose scores a search starts
SMALL = 64  # rows that are few enough for all of this in every search
ADDED = 8  # offsets of a model that are added to the program at a time


class Found:
    """Offsets that were found so far, by their numbers."""

    def __init__(self) -> None:
        self.group: list[int] = []
        self.at: list[Array] = []  # (D,) each
        self.values: list[Array] = []  # (1+m,) each
        self.number: dict[tuple[int, bytes], int] = {}


@dataclass(frozen=True, eq=False)
class Offsets(Candidates):
    """Rules that decide by the largest of one model's scores less offsets, in every group."""

    compiled: Compiled
    scores: Array  # (D, n)
    rows: tuple[Array, ...]  # the rows of each group
    searched: tuple[Array, ...]  # those of them that are searched
    apart: float  # scores that differ by no more are not told apart
    offset: Array  # (1+m,)
    work: int  # for one proof of how near the best of a group is; 0 for none
    found: Found = field(default_factory=Found)

    @property
    def groups(self) -> int:
        return len(self.rows)

    def cheapest(self, prices: Array, costs: Sequence[Array], prove: bool) -> tuple[Array, Array, Array]:
        best, bounds = [], np.full(self.groups, -np.inf)
        for group, rows in enumerate(self.searched):
            self._search(group, prices, self._costs(costs, rows))
            if prove and self.work:
                own = self.rows[group]
                start = self.found.at[self._known(group, prices)[0]]
                paid = self._costs(costs, own)
                sure = proven(self.scores[:, own], paid, start, self.work, self.apart)
                self._numbered(group, sure.offsets[None])
                bounds[group] = sure.bound
            best.append(self._known(group, prices)[0])
        return np.array(best), self.values(np.array(best)) @ prices, bounds

    def others(self, prices: Array, below: Array) -> Array:
        values, group = np.array(self.found.values), np.array(self.found.group)
        gains = below[group] - values @ prices
        best = np.argsort(-gains, kind="stable")[:ADDED]
        return best[gains[best] > 0]

    def values(self, candidates: Array) -> Array:
        return np.array([self.found.values[each] for each in candidates])

    def group(self, candidates: Array) -> Array:
        return np.array([self.found.group[each] for each in candidates], dtype=int)

    def at(self, candidates: Array) -> Array:
        return np.array([self.found.at[each] for each in candidates])

    def constant(self) -> list[Array]:
        never = np.where(np.eye(len(self.scores), dtype=bool), 0.0, np.inf)
        each = [self._numbered(group, never) for group in range(self.groups)]
        return list(np.array(each).T)

    def spread(self, count: int) -> Array:
        none = np.zeros((1, len(self.scores)))
        return np.concatenate([self._numbered(group, none) for group in range(self.groups)])

    def near(self, candidates: Array) -> Array:
        return np.arange(len(self.found.at))

    def generosity(self, candidates: Array) -> Array:
        return -np.asarray(candidates)

    @property
    def reach(self) -> float:
        return 2 * float(np.abs(self.scores).max())

    def tightened(self, compiled: Compiled, margins: Array) -> Offsets:
        return replace(self, compiled=compiled, offset=self.offset + margins)

    def _search(self, group: int, prices: Array, costs: Array) -> None:
        """Add the cheapest offsets that a search from several starts finds."""
        rows = self.searched[group]
        scores = self.scores[:, rows]
        # Where nothing is to be proven, little is lost if the best is missed in one search of many.
        few = not self.work and len(rows) > SMALL
        known = [self.found.at[each] for each in self._known(group, prices)[: 1 if few else STARTS]]
        around = scores[:, np.linspace(0, len(rows) - 1, 0 if few else AROUND).astype(int)].T
        starts = np.unique(np.stack([*known, *around]), axis=0)
        ends = descended(scores, costs, starts, self.apart, sweeps=2 if few else SWEEPS)
        self._numbered(group, ends[[costs_at(scores, costs, ends).argmin()]])

    def _known(self, group: int, prices: Array) -> list[int]:
        """The candidates of a group, the cheapest first."""
        own = [i for i, each in enumerate(self.found.group) if each == group]
        order = np.argsort([self.found.values[i] @ prices for i in own], kind="stable")
        return [own[i] for i in order]

    def _costs(self, costs: Sequence[Array], rows: Array) -> Array:
        """What each decision costs on these rows, (D, rows), the first nothing."""
        found = np.zeros((len(self.scores), len(rows)))
        for block, own in zip(self.compiled.at_zero, costs, strict=True):
            each = own.reshape(len(self.scores) - 1, -1)[:, self.compiled.cells[rows]]
            weights = self.compiled.weights_in(block)
            found[1:] += each if weights is None else each * weights[rows]
        return found

    def _numbered(self, group: int, offsets: Array) -> Array:
        """The numbers (k,) of offsets (k, D), which are added where they are new."""
        found, rows, numbers = self.found, self.rows[group], []
        finite = np.where(np.isfinite(offsets), offsets, np.inf)
        first = np.argmax(np.isfinite(finite), axis=1)
        offsets = finite - finite[np.arange(len(finite)), first][:, None]  # only differences matter
        for at in offsets + 0.0:
            key = (group, at.tobytes())
            if key not in found.number:
                decisions = np.zeros(len(self.compiled.cells), dtype=int)
                decisions[rows] = decided((self.scores[:, rows] - at[:, None])[None])[0]
                found.number[key] = len(found.at)
                found.group.append(group)
                found.at.append(at)
                found.values.append(self._values_of(decisions))
            numbers.append(found.number[key])
        return np.array(numbers)

    def _values_of(self, decisions: Array) -> Array:
        """What decisions (n,) add to the objective and each constraint, (1+m,)."""
        found = [
            block.net @ self.compiled.decided_weight(decisions[None], block)[0]
            for block in self.compiled.at_zero
        ]
        return np.sum(found, axis=0)


def offsets_of(
    compiled: Compiled,
    scores: Array,
    groups: Array,
    apart: float = 0.0,
    offset: Array | None = None,
    work: int = 0,
) -> Offsets:
    """The offsets of scores (D, n) within `groups` (n,), numbered from 0; the rest is as for `rank`."""
    rows = tuple(np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1))
    chance, most = np.random.default_rng(0), SEARCHED if work else GLANCED
    searched = tuple(
        own if len(own) <= most else np.sort(chance.choice(own, most, replace=False)) for own in rows
    )
    start = compiled.offset if offset is None else offset
    made = Offsets(compiled, scores.astype(float), rows, searched, 4 * apart, start, work)
    made.spread(0)  # the scores as they are, from which the first search starts
    return made
