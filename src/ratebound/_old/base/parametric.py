"""The best objective as a function of one bound, or of several at once: a parametric linear program.

With columns of objectives f and violations H in units, F(r) is the least f·p over weights p that sum to
1 in their groups, keep all constraints but one, and break that one by at most r, its room; or several
constraints, each by at most r. F is decreasing, convex and piecewise linear in r: each program's dual
gives a line below F that touches it at r.

So two points and their lines enclose F between a chord and a wedge, and the next program is solved at
the tip of the highest wedge. Its members and tight constraints stay optimal while no weight falls below
0 and no other constraint is broken, which gives the two ends of a piece of F. Smaller wedges remain on
either side, so there are about as many programs as pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.base.linear_program import NEARBY, TOLERANCE, least_program
from ratebound._old.base.solver import SOLVER, Unsolved, Vertex, solve, weights_of
from ratebound._old.base.types import Array

WELL = 1e9  # the largest condition number of a system that is solved well enough
CLOSED = 1e-9  # wedges below this height, relative to the objective's range, are ignored
ADDED = 24  # columns added to a program at a time


@dataclass(frozen=True, eq=False)
class Curve:
    """F at its breakpoints: linear in between, constant after the last, infeasible before the first."""

    rooms: Array  # (B,) ascending, in units; empty if the other constraints cannot be kept
    objectives: Array  # (B,) falling
    weights: Array  # (B, k) of the best mixture at each
    price: float  # what more room would gain at room 0, per unit; NaN if room 0 is infeasible
    exact: bool  # whether these are all the breakpoints


@dataclass(frozen=True, eq=False)
class Point:
    """A solved program: its room, its value, the line that touches F there, and the weights."""

    room: float
    objective: float
    price: float  # minus a slope of F there: at least as steep on the left, at most on the right
    weights: Array  # (k,)

    def line(self, room: float) -> float:
        """The height at `room` of the line that touches F here."""
        return self.objective - self.price * (room - self.room)


class Program:
    """Programs that differ only in the room of some constraints, over the few columns they need.

    A column that is left out helps if its reduced cost is negative. Columns are added until none helps.
    """

    def __init__(self, f: Array, H: Array, groups: Array, indices: Sequence[int]) -> None:
        self.f, self.H, self.groups = f, H, groups
        self.roomy = np.isin(np.arange(H.shape[1]), indices)  # (m,) which of them have room
        self.active = np.zeros(len(f), dtype=bool)

    def least_room(self) -> float | None:
        """The least room at which all constraints can be kept; None if the others cannot be."""
        right = self._granted(np.inf)
        most = max(1.0, float(np.abs(self.H).max(initial=0.0)) * (1 + int(self.groups.max())))
        alone = not self.groups.any() and (right >= self.H).all(axis=1).any()
        if not alone:
            free = np.where(self.roomy, np.inf, 0.0)
            vertex = least_program(self.H, free, 1.0 - self.roomy, most, self.groups)
            if vertex.x[-1] * most > TOLERANCE:
                return None
        if self.roomy.sum() == 1:
            vertex = solve(self.H[:, self.roomy][:, 0], self.H.T, right, self.groups)
        else:  # the least t >= -most, which no mixture is below
            below = np.where(self.roomy, -most, 0.0)
            vertex = least_program(self.H, below, self.roomy.astype(float), 2 * most, self.groups)
        weights = weights_of(vertex, self.groups)
        self.active |= weights > 0
        return self.room_of(weights)

    def room_of(self, weights: Array) -> float:
        """The room that a mixture takes."""
        return float((weights @ self.H[:, self.roomy]).max())

    def piece(self, room: float) -> tuple[Point, Point]:
        """The ends of the piece of F at `room`; one point twice if its members do not give them."""
        optimum, vertex = self._solved(room)
        members, tight = np.flatnonzero(optimum.weights), np.flatnonzero(vertex.prices > 0)
        group = self.groups[members]
        sums = group == np.arange(group.max() + 1)[:, None]
        H = self.H[members]
        system = np.vstack([H[:, tight].T, sums])
        if len(system) != len(members) or np.linalg.cond(system) > WELL:
            return optimum, optimum
        by_room = np.append(self.roomy[tight].astype(float), np.zeros(len(sums)))
        moves = np.linalg.solve(system, by_room)  # the weights, per unit of room
        loose = np.setdiff1d(np.arange(H.shape[1]), tight)
        rises = np.append(-moves, moves @ H[:, loose] - self.roomy[loose])
        granted = self._granted(room)[loose]
        left = np.append(optimum.weights[members], granted - optimum.weights[members] @ H[:, loose])
        left = np.maximum(left, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ahead = np.where(rises > 0, left / rises, np.inf).min()
            back = np.where(rises < 0, left / rises, -np.inf).max()
        if not np.isfinite([ahead, back]).all():
            return optimum, optimum
        back, ahead = (_moved(optimum, members, moves, by) for by in (back, ahead))
        return back, ahead

    def at(self, room: float) -> Point:
        """F and its line at `room`."""
        return self._solved(room)[0]

    def _granted(self, room: float) -> Array:
        """By how much each constraint may be broken, (m,)."""
        return np.where(self.roomy, room, TOLERANCE / 2)

    def _solved(self, room: float) -> tuple[Point, Vertex]:
        right = self._granted(room)
        while True:
            used = np.flatnonzero(self.active)
            vertex = solve(self.f[used], self.H[used].T, right, self.groups[used])
            if not self._add(vertex):
                break
        weights = np.zeros(len(self.f))
        weights[used] = weights_of(vertex, self.groups[used])
        price = float(vertex.prices[self.roomy].sum())
        return Point(room, float(weights @ self.f), price, weights), vertex

    def _add(self, vertex: Vertex) -> bool:
        """Add the columns that would help most; whether there are any."""
        costs = self.f + self.H @ vertex.prices
        size = np.abs(self.f).max() + np.abs(self.H).max(axis=0, initial=0.0) @ vertex.prices
        helps = np.where(self.active, 0.0, costs - vertex.sums[self.groups])
        best = np.argsort(helps, kind="stable")[:ADDED]
        best = best[helps[best] < -10 * SOLVER * size]
        self.active[best] = True
        return len(best) > 0


def curve(f: Array, H: Array, groups: Array, indices: Sequence[int], programs: int = 500) -> Curve:
    """The best objective of mixtures by the room of the constraints `indices`, all others kept.

    `f` are the columns' objectives (k,) and `H` their violations (k, m) in units. `groups` (k,) numbers
    the groups, from 0, in which weights sum to 1. At most about `programs` are solved. What is then
    unknown is interpolated linearly, a little above F.

    >>> f, H = np.array([0.0, 1.0, 3.0]), np.array([[0.5], [0.0], [-0.5]])
    >>> found = curve(f, H, np.zeros(3, dtype=int), [0])
    >>> found.rooms.round(6) + 0.0, found.objectives.round(6), round(found.price, 6)
    (array([-0.5,  0. ,  0.5]), array([3., 1., 0.]), 2.0)
    """
    program = Program(f, H, groups, indices)
    nothing = Curve(np.empty(0), np.empty(0), np.empty((0, len(f))), np.nan, True)
    try:
        least = program.least_room()
        if least is None:
            return nothing
        first, last = program.at(least), program.at(np.inf)
        last = replace(last, room=max(program.room_of(last.weights), least), price=0.0)
        price, start = np.nan if least > TOLERANCE else 0.0, [(first, last)]
        if least <= TOLERANCE and last.room > 2 * NEARBY:  # it must be exact at the present bound
            here = program.piece(max(least, 0.0) + NEARBY)
            price, start = here[0].price, [(first, here[0]), (here[1], last)]
        points, exact = _points(program, start, programs)
    except Unsolved:
        return nothing
    kept = points if not exact else _corners(points)
    rooms, objectives = (np.array([getattr(p, name) for p in kept]) for name in ("room", "objective"))
    return Curve(rooms, objectives, np.stack([p.weights for p in kept]), price, exact)


def _points(
    program: Program, open_: list[tuple[Point, Point]], programs: int
) -> tuple[list[Point], bool]:
    """Points of F in order, with points added between the pairs; whether F is linear after each."""
    done = [point for pair in open_ for point in pair]
    least = CLOSED * max(done[0].objective - done[-1].objective, CLOSED)
    for _ in range(programs):
        wedges = [_wedge(*pair) for pair in open_]
        open_ = [pair for pair, (height, _) in zip(open_, wedges, strict=True) if height > least]
        if not open_:
            break
        wedges = [wedge for wedge in wedges if wedge[0] > least]
        highest = int(np.argmax([height for height, _ in wedges]))
        (left, right), room = open_.pop(highest), wedges[highest][1]
        start, end = program.piece(room)
        done += [start, end]
        if start.objective - left.line(start.room) > least:
            open_.append((left, start))
        if end.objective - right.line(end.room) > least:
            open_.append((end, right))
    return sorted(done, key=lambda point: point.room), not open_


def _moved(point: Point, members: Array, moves: Array, by: float) -> Point:
    """The point of the same piece whose room is larger by `by`."""
    weights = point.weights.copy()
    weights[members] = np.maximum(weights[members] + by * moves, 0.0)
    return Point(point.room + by, point.line(point.room + by), point.price, weights)


def _wedge(left: Point, right: Point) -> tuple[float, float]:
    """How far the chord of two points is above the tip of their lines, and the room at the tip."""
    width, slopes = right.room - left.room, left.price - right.price
    if width <= 0 or slopes <= 0:
        return 0.0, left.room
    ahead = (left.objective - right.objective - right.price * width) / slopes
    ahead = min(max(ahead, 0.0), width)
    chord = left.objective + (right.objective - left.objective) * ahead / width
    return chord - left.line(left.room + ahead), left.room + ahead


def _corners(points: list[Point]) -> list[Point]:
    """The points where F bends; points on a line between two others are left out."""
    corners = points[:1]
    spread = max(points[0].objective - points[-1].objective, 0.0)
    if spread <= TOLERANCE:
        return corners
    for point, after in zip(points[1:], [*points[2:], None], strict=True):
        if after is None:
            corners.append(point)
            continue
        before = corners[-1]
        share = (point.room - before.room) / max(after.room - before.room, 1e-300)
        chord = before.objective + share * (after.objective - before.objective)
        if abs(chord - point.objective) > 10 * CLOSED * spread + TOLERANCE:
            corners.append(point)
    return corners
