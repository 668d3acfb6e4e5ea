"""The best thresholds by known group: one linear program, solved by column generation.

For each known group g a policy says yes where the score of a model b is at least t, and uses the pair
(b, t) with probability p[g, b, t]. Every rate is linear in these, so the best policy is

    min_p  f·p   with  Gp <= t*,   Σ_{b,t} p[g, b, t] = 1 for every group g,   p >= 0,

t* being the least worst violation that any p reaches, as in `linear_program`. A vertex has at most
(groups + m) members: at most m groups leave anything to chance.

There is a column for every distinct score, far too many to write out, and no need to. Given prices λ
of the constraints, a yes costs each row a known amount, (λ @ coefficients) of its cell, so in rows
sorted by score the costs of all thresholds of a group are one cumulative sum. Its lowest point is the
best column there is; when the program over a few columns has none left to add, it has solved the
program over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from ratebound.base.linear_program import (
    TOLERANCE,
    LeastViolation,
    best_candidate,
    best_program,
    granted,
    judged,
    least_program,
    prices_of,
    worst_violation,
)
from ratebound.base.solver import SOLVER, Unsolved, Vertex, polished, weights_of
from ratebound.base.types import Array
from ratebound.problem.compiled import Compiled

FIRST = 256  # columns to begin with, in all
CHUNK = 2**22  # numbers of one array of columns x cells
AROUND = 2048  # columns that stand for all thresholds where other bounds are asked about


@dataclass(frozen=True, eq=False)
class Ranking:
    """One model's rows, group after group, from the highest score down: a threshold is a prefix.

    Candidates are numbered through all groups; a group's first says yes to no one, its last to everyone.
    """

    compiled: Compiled
    scores: Array  # (n,) in this order
    cell: Array  # (n,) int32: the cell of each row, in this order
    weights: Array | None  # (n,) in this order
    stops: Array  # (candidates,) int32: where in this order the rows that get a yes end
    first: Array  # (groups + 1,) each group's first candidate, and the end
    starts: Array  # (groups + 1,) each group's first row in this order, and the end
    offset: Array  # (1+m,) what the objective and each constraint are before anyone gets a yes

    def best(self, costs: Array) -> tuple[Array, Array]:
        """The cheapest candidate of each group and its cost, at `costs` (cells,) of a yes."""
        each = costs[self.cell]
        total = np.zeros(len(each) + 1)
        np.cumsum(each if self.weights is None else each * self.weights, out=total[1:])
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
        totals = np.empty((len(candidates), self.compiled.slice_count))
        step = max(1, CHUNK // self.compiled.cell_count)
        for start in range(0, len(candidates), step):
            part = slice(start, start + step)
            totals[part] = self._totals(begins[part], sizes[part])
        sums = np.cumsum(totals, axis=0)
        heads = np.flatnonzero(~follows)
        before = (sums - totals)[np.repeat(heads, np.diff(np.append(heads, len(candidates))))]
        return np.asarray((self.compiled.blocks[0].net @ (sums - before).T).T)

    def group(self, candidates: Array) -> Array:
        """The group of each candidate."""
        return np.searchsorted(self.first, candidates, side="right") - 1

    def _totals(self, begins: Array, sizes: Array) -> Array:
        """Weights per slice (k, slices) of k stretches of rows."""
        ends = np.cumsum(sizes)
        rows = np.arange(sizes.sum()) + np.repeat(begins - ends + sizes, sizes)
        places = self.cell[rows] + np.repeat(np.arange(len(sizes)) * self.compiled.cell_count, sizes)
        weights = None if self.weights is None else self.weights[rows]
        counted = np.bincount(places, weights, len(sizes) * self.compiled.cell_count)
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
    return Ranking(
        compiled=compiled,
        scores=scores,
        cell=compiled.cells[order],
        weights=None if compiled.weights is None else compiled.weights[order],
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


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of the program so far."""

    group: Array  # (k,)
    model: Array  # (k,)
    candidate: Array  # (k,) of the model's ranking
    values: Array  # (k, 1+m) what it adds to the objective and the constraints

    def plus(self, other: Columns) -> Columns:
        mine, others = vars(self).values(), vars(other).values()
        return Columns(*(np.concatenate(pair) for pair in zip(mine, others, strict=True)))

    def only(self, chosen: Array) -> Columns:
        return Columns(*(part[chosen] for part in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Policy:
    """The solved program: which candidates are used, and how often."""

    columns: Columns  # those used
    weights: Array  # (k,) > 0, summing to 1 in every group
    least: LeastViolation


def policy_prices(rankings: Sequence[Ranking], policy: Policy) -> Array:
    """What `linear_program.mixture_prices` says of mixtures, of the best policy."""
    compiled, least, m = rankings[0].compiled, policy.least, len(policy.least.violations)
    begun = _begin(rankings).plus(policy.columns)

    def relaxed(room: Array) -> Vertex:
        def program(columns: Columns) -> Vertex:
            f, H = columns.values[:, 0], _in_units(rankings, columns)
            return best_program(f, H, least, columns.group, room)

        return _generate(rankings, begun, program, weight=1.0)[1]

    try:
        if least.violation > 0 or least.unsolved:
            return np.full(m, np.nan)
        return np.asarray(prices_of(relaxed(np.zeros(m)), relaxed) / compiled.scale[1:])
    except Unsolved:
        return np.full(m, np.nan)


def best_policy(rankings: Sequence[Ranking]) -> Policy:
    """The best policy of all; where none is feasible, the best of those with the least violation."""
    m = len(rankings[0].compiled.constraints)
    columns, weights, least = _least(rankings, _begin(rankings), np.zeros(m), np.ones(m))

    def program(columns: Columns) -> Vertex:
        return best_program(columns.values[:, 0], _in_units(rankings, columns), least, columns.group)

    if not least.unsolved:
        try:
            columns, vertex = _generate(rankings, columns, program, weight=1.0)
            H = _in_units(rankings, columns)
            weights = polished(vertex, H, least.violation, granted(least), columns.group)
        except Unsolved as error:  # what violates least is still at hand
            least = replace(least, unsolved=str(error))
    used = np.flatnonzero(weights)
    return Policy(columns.only(used), weights[used], least)


def least_of_policies(rankings: Sequence[Ranking], room: Array, elastic: Array) -> LeastViolation:
    """What `linear_program.least_violation` says of mixtures, of all policies."""
    return _least(rankings, _begin(rankings), room, elastic)[2]


def _least(
    rankings: Sequence[Ranking], columns: Columns, room: Array, elastic: Array
) -> tuple[Columns, Array, LeastViolation]:
    """Columns and weights of a policy with the least worst violation, and what that is."""
    plain = _plain(rankings)
    alone = _in_units(rankings, plain).sum(axis=0)
    over = float(worst_violation(np.where(elastic > 0, alone - room, 0.0)))

    def program(columns: Columns) -> Vertex:
        return least_program(_in_units(rankings, columns), room, elastic, max(1.0, over), columns.group)

    try:
        columns, vertex = _generate(rankings, columns, program, enough=TOLERANCE / 2 / max(1.0, over))
    except Unsolved as error:
        least = LeastViolation(over, np.zeros(len(room)), alone, str(error))
        return plain, np.ones(len(plain.group)), least
    least = judged(vertex, _in_units(rankings, columns), room, elastic, columns.group)
    return columns, weights_of(vertex, columns.group), least


def _plain(rankings: Sequence[Ranking]) -> Columns:
    """The best policy that needs no program: yes to no one, to everyone, or by the objective alone."""
    first = rankings[0].first
    no_model = np.zeros(len(first) - 1, dtype=int)
    likes = _cheapest(rankings, np.eye(1 + len(rankings[0].compiled.constraints))[0])[:2]
    options = [
        _columns(rankings, *chosen)
        for chosen in ((no_model, first[:-1]), (no_model, first[1:] - 1), likes)
    ]
    f = np.array([columns.values[:, 0].sum() for columns in options])
    H = np.stack([_in_units(rankings, columns).sum(axis=0) for columns in options])
    return options[best_candidate(f, H)]


def _in_units(rankings: Sequence[Ranking], columns: Columns) -> Array:
    """What columns add to the constraints (k, m), in the units in which violations are compared."""
    return np.asarray(columns.values[:, 1:] / rankings[0].compiled.scale[1:])


def _generate(
    rankings: Sequence[Ranking],
    columns: Columns,
    program: Callable[[Columns], Vertex],
    weight: float = 0.0,
    enough: float = -np.inf,
) -> tuple[Columns, Vertex]:
    """Add columns until none is left that would help `program`, or its last unknown is `enough`.

    `weight` is what the objective's row counts in the program's cost.
    """
    while True:
        vertex = program(columns)
        if vertex.x[-1] <= enough:
            return columns, vertex
        prices = np.append(weight, vertex.prices / rankings[0].compiled.scale[1:])
        model, candidate, cost = _cheapest(rankings, prices)
        size = prices @ np.abs(columns.values).max(axis=0)
        held = set(zip(columns.model.tolist(), columns.candidate.tolist(), strict=True))
        found = list(zip(model.tolist(), candidate.tolist(), strict=True))
        helps = (cost < vertex.sums - SOLVER * size) & [pair not in held for pair in found]
        if not helps.any():
            return columns, vertex
        columns = columns.plus(_columns(rankings, model[helps], candidate[helps]))


def _cheapest(rankings: Sequence[Ranking], prices: Array) -> tuple[Array, Array, Array]:
    """Model, candidate and cost of each group's cheapest column at these prices, (groups,) each."""
    compiled = rankings[0].compiled
    costs = compiled.spread((prices @ compiled.blocks[0].net)[None])[0]
    for index, ranking in enumerate(rankings):
        other, lower = ranking.best(costs)
        lower[0] += prices @ ranking.offset  # which the columns of the first group carry
        if index == 0:
            model, candidate, cost = np.zeros_like(other), other, lower
            continue
        won = lower < cost
        model[won], candidate[won], cost[won] = index, other[won], lower[won]
    return model, candidate, cost


def thresholds_of(rankings: Sequence[Ranking], columns: Columns) -> Array:
    """The threshold of each column, (k,)."""
    pairs = zip(columns.model.tolist(), columns.candidate.tolist(), strict=True)
    return np.array([rankings[model].at(candidate) for model, candidate in pairs], dtype=float)


def _columns(rankings: Sequence[Ranking], model: Array, candidate: Array) -> Columns:
    """These candidates as columns, in order of their models."""
    parts = []
    for index in np.unique(model):
        ranking, chosen = rankings[index], np.sort(candidate[model == index])
        values = ranking.values(chosen)
        group = ranking.group(chosen)
        values[group == 0] += ranking.offset
        parts.append(Columns(group, np.full(len(chosen), index), chosen, values))
    return reduce(Columns.plus, parts)


def columns_around(rankings: Sequence[Ranking], policy: Policy) -> Columns:
    """The policy's columns, those at ever larger distances from them, and many spread over each group.

    At other bounds nearly the best policy is made of these: between two thresholds of a model it may
    choose at random, which costs little where they are close.
    """
    steps = np.append(0, 2 ** np.arange(16))
    used, pairs = policy.columns, set[tuple[int, int]]()
    for model, candidate, group in zip(used.model, used.candidate, used.group, strict=True):
        first, end = rankings[model].first[group : group + 2]
        near = np.clip(np.append(candidate - steps, candidate + steps), first, end - 1)
        pairs |= {(int(model), int(each)) for each in near}
    spread = _begin(rankings, AROUND)
    pairs -= set(zip(spread.model.tolist(), spread.candidate.tolist(), strict=True))
    model, candidate = np.array(sorted(pairs), dtype=int).reshape(-1, 2).T
    return spread.plus(_columns(rankings, model, candidate)) if len(pairs) else spread


def _begin(rankings: Sequence[Ranking], columns: int = FIRST) -> Columns:
    """Yes to no one and to everyone, and a few thresholds spread over each group."""
    groups = len(rankings[0].first) - 1
    inner = columns // (len(rankings) * groups)
    model, candidate = [], []
    for index, ranking in enumerate(rankings):
        ends = ranking.first[:-1], ranking.first[1:] - 1
        spread = np.linspace(*ends, inner + 2).round().astype(int)
        chosen = np.unique(spread if index == 0 else spread[1:-1])
        model.append(np.full(len(chosen), index))
        candidate.append(chosen)
    return _columns(rankings, np.concatenate(model), np.concatenate(candidate))
