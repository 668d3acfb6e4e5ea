"""The best mixture of candidates, by linear programming.

With objectives f (T,), violations G (T, m) and weights p in the simplex, the first program finds the
least violation that any mixture reaches, which is 0 if one is feasible,

    t* = min_{p, t >= 0}  t   with  Gᵀp <= t,

and the second finds the best objective among the mixtures that reach it,

    min_p  f·p   with  Gᵀp <= t*.

A vertex of the second program has at most m+1 members: T unknowns need T tight constraints, of which at
most m are rates and one is the sum, so at least T-m-1 weights are zero. The first program is always
feasible, which is why it comes first: solvers can take minutes to find that the second is infeasible.

Violations are compared in units: 1 for rates, and for counts the weight of the rows they are counted
among. A constraint is kept if its violation is at most `TOLERANCE` units. The programs allow the same
tolerance as the statuses, so that rounding errors never worsen the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ratebound._old.base.solver import ROUNDING, Unsolved, Vertex, polished, solve, weights_of
from ratebound._old.base.types import Array

NEARBY = 1e-7  # units by which a bound is relaxed to find the price of relaxing it further
TOLERANCE = 1e-9  # a constraint is kept if its violation is at most this many units


def kept(violations: Any, scale: Any = 1.0) -> Any:
    """Which constraints are kept, at `violations` (..., m) with units `scale` (m,).

    >>> kept([-0.1, 1e-16, 0.2])
    array([ True,  True, False])
    """
    return np.asarray(violations) <= TOLERANCE * np.asarray(scale)


def worst_violation(violations: Any, scale: Any = 1.0) -> Any:
    """The worst of `violations` (..., m) in their units `scale` (m,), 0 if none is violated."""
    return np.max(np.asarray(violations) / np.asarray(scale), axis=-1, initial=0.0)


# --- the two programs, for mixtures and anything else with weights that sum to 1 ------------------


@dataclass(frozen=True, eq=False)
class LeastViolation:
    """The least violation of any mixture, and the constraints in conflict there; all in units."""

    violation: float  # t*, 0 if some mixture is feasible
    prices: Array  # (m,) >= 0: the dual, summing to 1 if t* > 0; constraints in conflict have prices > 0
    violations: Array  # (m,) of a mixture that reaches it
    unsolved: str = ""  # the solver's message if it failed; the rest is then approximate


def least_program(H: Array, room: Array, elastic: Array, most: float, groups: Array) -> Vertex:
    """min t / most with Hᵀp <= room + elastic·t, with `H` (k, m) in units and `most` above t*."""
    cost = np.append(np.zeros(len(H)), 1.0)
    granted = np.where(elastic > 0, room, room + TOLERANCE / 2)
    return solve(cost, np.column_stack([H.T, -elastic * most]), granted, groups)


def best_program(f: Array, H: Array, least: LeastViolation, groups: Array, room: Any = 0.0) -> Vertex:
    """min f·p with Hᵀp <= t* + room, and the tolerance."""
    return solve(f, H.T, granted(least) + room, groups)


@dataclass(frozen=True, eq=False)
class Lowest:
    """The solution of the third program, which minimises the largest of several sums."""

    vertex: Vertex
    least: float  # the largest of the sums
    shares: Array  # (J,) of the sums in the dual, summing to 1
    prices: Array  # (m,) of the constraints, per unit


def largest_program(
    F: Array, constants: Array, H: Array, least: LeastViolation, groups: Array
) -> Lowest:
    """min max_j (Fᵀp + constants)_j with Hᵀp <= t*, for sums `F` (k, J): one more variable for the max.

    With a single sum, this is the second program and needs no such variable.
    """
    if F.shape[1] == 1:
        vertex = best_program(F[:, 0], H, least, groups)
        value = float(weights_of(vertex, groups) @ F[:, 0] + constants[0])
        return Lowest(vertex, value, np.ones(1), vertex.prices)
    lowest, highest = (np.empty((int(groups.max()) + 1, F.shape[1])) for _ in range(2))
    lowest.fill(np.inf)
    highest.fill(-np.inf)
    np.minimum.at(lowest, groups, F)
    np.maximum.at(highest, groups, F)
    # Below every value of the largest sum, so that the dual always has prices.
    floor, top = (
        float((lowest.sum(axis=0) + constants).max()),
        float((highest.sum(axis=0) + constants).max()),
    )
    most = 2 * max(top - floor, 1e-6)
    floor -= most / 2
    m = H.shape[1]
    room = np.concatenate([granted(least) - TOLERANCE / 2, floor - constants])
    elastic = np.concatenate([np.zeros(m), np.ones(F.shape[1])])
    vertex = least_program(np.hstack([H, F]), room, elastic, most, groups)
    weights = weights_of(vertex, groups)
    prices = vertex.prices[m:]
    total = float(prices.sum())
    shares = prices / total if total > 0 else np.full(len(prices), 1 / len(prices))
    value = float((weights @ F + constants).max())
    return Lowest(vertex, value, shares, vertex.prices[:m] / (total or 1.0))


def prices_of(vertex: Vertex, relaxed: Callable[[Array], Vertex]) -> Array:
    """What relaxing each constraint alone is worth (m,), per unit, by the second program's dual.

    At a vertex several duals may be valid, and the price of a bound depends on whether it is tightened
    or relaxed. So a price that is not zero is taken from the program `relaxed` a little.
    """
    prices = np.zeros(len(vertex.prices))
    for i in np.flatnonzero(vertex.prices):
        prices[i] = relaxed(NEARBY * (np.arange(len(prices)) == i)).prices[i]
    return prices


def granted(least: LeastViolation) -> Array:
    """The right side (m,) of the second program: half of the tolerance is left to the solver."""
    return np.maximum(least.violation + TOLERANCE / 2, least.violations)


def judged(vertex: Vertex, H: Array, room: Array, elastic: Array, groups: Array) -> LeastViolation:
    """The solved first program; its value comes from the dual, free of the solver's rounding."""
    reached = weights_of(vertex, groups) @ H
    none = LeastViolation(0.0, np.zeros(len(room)), reached)
    total = float((vertex.prices * elastic).sum())
    over = np.max(np.where(elastic > 0, reached - room, 0.0), initial=0.0)
    if over <= TOLERANCE or total <= 0:
        return none
    # Every mixture has prices · (violations - room) >= t*: take the least of each group.
    prices = vertex.prices / total
    used = np.flatnonzero(prices)
    cost = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(cost, groups, H[:, used] @ prices[used])
    violation = float(cost.sum() - room[used] @ prices[used])
    return none if violation <= TOLERANCE else LeastViolation(violation, prices, reached)


def best_candidate(f: Array, H: Array) -> int:
    """The candidate that keeps all constraints at the lowest objective, else the least violating one."""
    worst = np.maximum(worst_violation(H), TOLERANCE)  # candidates that keep everything tie
    return int(np.lexsort((f, worst))[0])


# --- mixtures --------------------------------------------------------------------------------------


def shrink_weights(objectives: Any, violations: Any, *, scale: Any = 1.0) -> Array:
    """Weights (T,) of the best mixture of T candidates, at most m+1 of them not zero.

    Among the mixtures with the least worst violation (0 if possible), this one has the lowest objective.
    `objectives` are (T,), and `violations` (T, m), feasible if <= 0. `scale` (m,) gives the units in
    which violations are compared: for counts, the number of rows they are counted among.

    >>> shrink_weights([0.0, 1.0], [[0.3], [-0.1]]).round(3)
    array([0.25, 0.75])
    >>> shrink_weights([0.0, 1.0], [[1e-17], [0.0]])
    array([1., 0.])
    """
    return best_mixture(objectives, violations, scale)[0]


def best_mixture(objectives: Any, violations: Any, scale: Any = 1.0) -> tuple[Array, LeastViolation]:
    """`shrink_weights`, and the least violation of any mixture, computed on the way."""
    f, G = _checked(objectives, violations)
    # Many iterates have equal rates, and equal candidates only slow the solver.
    _, first = np.unique(np.column_stack([f, G]), axis=0, return_index=True)
    weights = np.zeros(len(f))
    weights[first], least = _best_of_distinct(f[first], G[first] / np.asarray(scale))
    return weights, least


def _best_of_distinct(f: Array, H: Array) -> tuple[Array, LeastViolation]:
    m, one = H.shape[1], np.zeros(len(f), dtype=int)
    alone = np.eye(len(f))[best_candidate(f, H)]
    least, mixed = _least(H, np.zeros(m), np.ones(m))
    if m == 0 or least.unsolved:
        return alone, least
    try:
        vertex = best_program(f, H, least, one)
    except Unsolved as error:
        least = replace(least, unsolved=str(error))
    else:
        mixed = polished(vertex, H, least.violation, granted(least), one)
    return _better(f, H, mixed, alone, least), least


def _better(f: Array, H: Array, mixed: Array, alone: Array, least: LeastViolation) -> Array:
    """The mixture, unless one candidate violates less, or is feasible at a lower objective."""
    options = np.stack([mixed, alone])
    reached = np.max(options @ H - ROUNDING * (options @ np.abs(H)), axis=1)
    if reached[0] > least.violation + TOLERANCE:
        return options[np.argmin(reached)]
    cheaper = reached[1] <= TOLERANCE and alone @ f < mixed @ f
    return alone if cheaper else mixed


def mixture_prices(objectives: Any, violations: Any, scale: Any = 1.0) -> Array:
    """What the best mixture's objective would fall by, per unit each constraint is relaxed (m,).

    In the units of `violations`; NaN if they cannot all be kept, or if the solver failed.

    >>> mixture_prices([0.0, 1.0], [[0.3], [-0.1]])
    array([2.5])
    """
    f, G = _checked(objectives, violations)
    H, one = G / np.asarray(scale), np.zeros(len(f), dtype=int)
    m = H.shape[1]
    least = _least(H, np.zeros(m), np.ones(m))[0]
    try:
        if least.violation > 0 or least.unsolved:
            return np.full(m, np.nan)
        program = partial(best_program, f, H, least, one)
        return prices_of(program(), program) / np.asarray(scale)
    except Unsolved:
        return np.full(m, np.nan)


def least_violation(
    violations: Any, scale: Any = 1.0, room: Any = 0.0, elastic: Any = 1.0
) -> LeastViolation:
    """The least worst violation any mixture of candidates reaches, and the constraints' prices.

    More generally, the least t at which some mixture has ``violations / scale <= room + elastic * t``.
    `room` (m,) is how much each constraint is relaxed, infinite to leave it out. Constraints whose
    `elastic` (m,) is 0 must be kept, and some mixture must keep them.

    >>> least_violation([[0.2, 0.0], [0.0, 0.2]]).violation
    0.1
    >>> least_violation([[0.5, 0.0], [0.0, 0.5]], elastic=[1, 0]).violation
    0.5
    """
    H = np.asarray(violations, dtype=float) / np.asarray(scale)
    parts = (np.broadcast_to(np.asarray(part, float), H.shape[1]) for part in (room, elastic))
    return _least(H, *parts)[0]


def _least(H: Array, room: Array, elastic: Array) -> tuple[LeastViolation, Array]:
    """The least violation, and the weights of a mixture that reaches it."""
    over = np.max(np.where(elastic > 0, H - room, -np.inf), axis=1, initial=0.0)
    broken = np.max(np.where(elastic > 0, -np.inf, H - room), axis=1, initial=0.0)
    best = int(np.lexsort((over, np.maximum(broken, TOLERANCE)))[0])
    alone = LeastViolation(float(over[best]), np.zeros(H.shape[1]), H[best])
    if max(over[best], broken[best]) <= TOLERANCE:
        return replace(alone, violation=0.0), np.eye(len(H))[best]
    one = np.zeros(len(H), dtype=int)
    try:
        vertex = least_program(H, room, elastic, max(1.0, float(over[best])), one)
    except Unsolved as error:
        return replace(alone, unsolved=str(error)), np.eye(len(H))[best]
    return judged(vertex, H, room, elastic, one), weights_of(vertex, one)


def _checked(objectives: Any, violations: Any) -> tuple[Array, Array]:
    f, G = np.asarray(objectives, dtype=float), np.asarray(violations, dtype=float)
    if f.ndim != 1 or G.ndim != 2 or len(f) != len(G) or not len(f):
        raise ValueError(
            f"expected objectives (T,) and violations (T, m), got shapes {f.shape} and {G.shape}"
        )
    if not (np.isfinite(f).all() and np.isfinite(G).all()):
        raise ValueError("objectives and violations must be finite")
    return f, G
