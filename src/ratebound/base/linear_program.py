"""The best mixture of candidates, by linear programming.

With objectives f (T,), violations G (T, m) and weights p in the simplex, first the least violation
that any mixture reaches, 0 where one is feasible,

    t* = min_{p, t >= 0}  t   with  Gᵀp <= t,

then the best objective among the mixtures that reach it,

    min_p  f·p   with  Gᵀp <= t*.

A vertex of the second has at most m+1 members: T unknowns need T tight constraints, of which at most
m are rates and one is the sum, so at least T-m-1 weights are zero. The first is always feasible,
which is why it comes first: solvers can take minutes to say that the second is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
TOLERANCE = 1e-10


@dataclass(frozen=True)
class LeastViolation:
    """What no mixture can go below, and which constraints are at odds there."""

    violation: float  # t*, 0 where some mixture is feasible
    prices: Array  # (m,) >= 0: the dual, summing to 1 where t* > 0; the conflict has prices > 0


def shrink_weights(objectives: Any, violations: Any) -> Array:
    """Weights (T,) of the best mixture of T candidates, at most m+1 of them not zero.

    Of the mixtures with the least worst violation (none, where that is possible), the one with the
    lowest objective; `objectives` are (T,), `violations` (T, m), feasible where <= 0.

    >>> shrink_weights([0.0, 1.0], [[0.3], [-0.1]]).round(3)
    array([0.25, 0.75])
    """
    f, G = _checked(objectives, violations)
    # Many iterates have equal rates, and equal candidates only slow the solver.
    _, first = np.unique(np.column_stack([f, G]), axis=0, return_index=True)
    weights = np.zeros(len(f))
    weights[first] = _best_at(f[first], G[first], least_violation(G[first]).violation)
    return weights


def least_violation(violations: Any) -> LeastViolation:
    """The least worst violation any mixture of candidates reaches, and the constraints' prices.

    >>> least_violation([[0.2, 0.0], [0.0, 0.2]]).violation
    0.1
    """
    G = np.asarray(violations, dtype=float)
    count, m = G.shape
    if m == 0 or (G <= 0).all(axis=1).any():
        return LeastViolation(0.0, np.zeros(m))
    cost, own, one = np.append(np.zeros(count), 1.0), scales(G), np.zeros(count, dtype=int)
    # First each constraint in units of its own, to see whether anything is violated at all.
    if solve(cost, np.column_stack([G.T, -own]), np.zeros(m), one).x[-1] <= TOLERANCE:
        return LeastViolation(0.0, np.zeros(m))
    solved = solve(cost, np.column_stack([G.T, -np.ones(m)]), np.zeros(m), one)
    # By duality every mixture has prices · violations >= t*, so this bound is exact.
    prices = solved.prices / solved.prices.sum()
    return LeastViolation(float((G @ prices).min()), prices)


def _best_at(f: Array, G: Array, violation: float) -> Array:
    """The vertex with the lowest objective whose violations are at most `violation`."""
    count, m = G.shape
    if m == 0:
        return np.eye(count)[np.argmin(f)]
    one = np.zeros(count, dtype=int)
    solved = solve(f, G.T, violation + slack_at(violation, G), one)
    return polished(solved, G, violation, one)


def slack_at(violation: float, G: Array) -> Array:
    """The room (m,) that keeps the second program feasible, the first one's answer being rounded."""
    return TOLERANCE * scales(G) * (violation > 0)


@dataclass(frozen=True, eq=False)
class Vertex:
    """A solved program: its unknowns, the room left in each constraint, and the dual."""

    x: Array
    room: Array  # (m,) b - A x
    prices: Array  # (m,) >= 0: what the cost would fall by, per unit of more room
    sums: Array  # (groups,) what the cost would rise by, per unit of a group's sum


def solve(cost: Array, A: Array, b: Array, groups: Array) -> Vertex:
    """min cost·x with A x <= b and x >= 0, at a vertex.

    `groups` (k,) numbers from 0 the group of each of the first k unknowns; each group sums to 1.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    scale = np.abs(A[:, : len(groups)]).max(axis=1)
    scale[scale == 0] = 1.0
    size = max(float(np.abs(cost).max()), 1e-300)
    count = int(groups.max()) + 1
    solved = linprog(
        cost / size,
        A_ub=A / scale[:, None],
        b_ub=b / scale,
        A_eq=csr_array(
            (np.ones(len(groups)), (groups, np.arange(len(groups)))), shape=(count, len(cost))
        ),
        b_eq=np.ones(count),
        bounds=(0, None),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if solved.x is None:
        raise RuntimeError(f"the linear program could not be solved: {solved.message}")
    return Vertex(
        x=solved.x,
        room=solved.slack * scale,
        prices=np.maximum(-solved.ineqlin.marginals, 0) * size / scale,
        sums=solved.eqlin.marginals * size,
    )


def polished(vertex: Vertex, G: Array, violation: float, groups: Array) -> Array:
    """The weights of a vertex, recomputed from its tight constraints to full precision.

    A group with one member needs no computing; for the members of the others, their groups' sums and
    the tightest constraints make a square system.
    """
    rough = np.where(vertex.x[: len(groups)] > TOLERANCE, vertex.x[: len(groups)], 0.0)
    rough /= np.bincount(groups, rough)[groups]
    alone = np.bincount(groups, rough > 0)[groups] == 1
    members = np.flatnonzero((rough > 0) & ~alone)
    if not len(members):
        return rough
    shared, group = np.unique(groups[members], return_inverse=True)
    tightest = np.argsort(np.abs(vertex.room) / scales(G), kind="stable")
    tight = tightest[: len(members) - len(shared)]
    unit = scales(G)[tight]
    system = np.vstack([G[np.ix_(members, tight)].T / unit[:, None], shared[:, None] == shared[group]])
    fixed = np.where(alone, rough, 0.0) @ G[:, tight]
    exact = rough[members]
    if len(tight) == len(members) - len(shared) and np.linalg.cond(system) < 1e8:
        exact = np.linalg.solve(system, np.append((violation - fixed) / unit, np.ones(len(shared))))
    found = rough.copy()
    found[members] = exact
    worse = (found @ G).max() > max((rough @ G).max(), violation) + 1e-15
    return rough if worse or (exact < 0).any() else found


def scales(G: Array) -> Array:
    """The size of each constraint, (m,)."""
    sizes: Array = np.abs(G).max(axis=0)
    return np.where(sizes > 0, sizes, 1.0)


def _checked(objectives: Any, violations: Any) -> tuple[Array, Array]:
    f, G = np.asarray(objectives, dtype=float), np.asarray(violations, dtype=float)
    if f.ndim != 1 or G.ndim != 2 or len(f) != len(G) or not len(f):
        raise ValueError(
            f"expected objectives (T,) and violations (T, m), got shapes {f.shape} and {G.shape}"
        )
    if not (np.isfinite(f).all() and np.isfinite(G).all()):
        raise ValueError("objectives and violations must be finite")
    return f, G
