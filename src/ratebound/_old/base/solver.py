"""Linear programs over weights that sum to 1 in groups, solved at a vertex and to full precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.types import Array

SOLVER = 1e-10  # the solver's own tolerance, in rows whose largest entry is 1; it accepts no smaller one
ROUNDING = 1e-12  # of sums, relative to their terms; smaller weights count as zero
NOTHING = 1e-9  # weights below 0 by less than this are 0
ATTEMPTS = (("highs-ds", True), ("highs-ds", False), ("highs-ipm", True))  # method, presolve


class Unsolved(RuntimeError):
    """The solver gave up; the message is the solver's."""


@dataclass(frozen=True, eq=False)
class Vertex:
    """A solved program: its unknowns, the slack of each constraint, and the dual."""

    x: Array
    room: Array  # (m,) b - A x
    prices: Array  # (m,) >= 0: how much the cost would fall per unit of additional room
    sums: Array  # (groups,) how much the cost would rise per unit of a group's sum


@np.errstate(all="ignore")  # numbers that are too large raise Unsolved
def solve(cost: Array, A: Array, b: Array, groups: Array) -> Vertex:
    """min cost·x with A x <= b and x >= 0, at a vertex.

    `groups` (k,) numbers, from 0, the group of each of the first k unknowns; each group sums to 1. The
    other unknowns can only ease constraints: their entries in `A` are not positive. Rows that no x can
    break are left out, so that rounding errors are not magnified into constraints.
    """
    from scipy.sparse import csr_array

    k, extra = len(groups), len(cost) - len(groups)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    size = max(float(np.abs(cost).max()), 1e-300)
    scaled = cost / size
    low = np.minimum.reduceat(scaled[:k][order], starts)  # the same for all x: it costs digits
    scaled[:k] -= low[groups]
    spread = max(float(scaled[:k].max()), 1e-6 * float(np.abs(scaled).max())) or 1.0
    reach = np.maximum.reduceat(A[:, :k][:, order], starts, axis=1).sum(axis=1)
    rows = np.flatnonzero(reach > b)
    units = np.abs(A[rows]).max(axis=1)
    solved = _linprog(
        scaled / spread,
        A_ub=A[rows] / units[:, None] if len(rows) else None,
        b_ub=b[rows] / units if len(rows) else None,
        A_eq=csr_array((np.ones(k), (groups, np.arange(k))), shape=(len(starts), k + extra)),
        b_eq=np.ones(len(starts)),
    )
    prices = np.zeros(len(b))
    if len(rows):
        prices[rows] = np.maximum(-solved.ineqlin.marginals, 0) * size * spread / units
    sums = (solved.eqlin.marginals * spread + low) * size
    if not (np.isfinite(prices).all() and np.isfinite(sums).all()):
        raise Unsolved("its numbers are too large")
    return Vertex(np.maximum(solved.x, 0.0), b - A @ solved.x, prices, sums)


def _linprog(cost: Array, **program: Any) -> Any:
    """SciPy's solution, by the first method that succeeds."""
    from scipy.optimize import linprog

    tight = {"primal_feasibility_tolerance": SOLVER, "dual_feasibility_tolerance": SOLVER}
    said = ""
    for method, presolve in ATTEMPTS:
        options = {**tight, "presolve": presolve}
        try:
            solved = linprog(cost, **program, bounds=(0, None), method=method, options=options)
        except Exception as error:  # another method may work after any error
            said = said or str(error)
            continue
        if solved.status == 0 and solved.x is not None:
            return solved
        said = said or str(solved.message)
    raise Unsolved(said)


def weights_of(vertex: Vertex, groups: Array) -> Array:
    """The weights of a vertex, as the solver returned them."""
    rounded = vertex.x[: len(groups)]
    rounded = np.where(rounded > ROUNDING, rounded, 0.0)
    weights: Array = rounded / np.bincount(groups, rounded)[groups]
    return weights


@np.errstate(all="ignore")
def polished(vertex: Vertex, H: Array, level: float, right: Array, groups: Array) -> Array:
    """The weights of a vertex with ``Hᵀp <= right``, moved so that its tight constraints equal `level`.

    A group with one member needs no computation. For the other members, their groups' sums and the tight
    constraints form a square system, which is solved to full precision. Constraints with a price come
    first: while they are tight, the weights stay optimal.
    """
    rough = weights_of(vertex, groups)
    alone = np.bincount(groups, rough > 0)[groups] == 1
    members = np.flatnonzero((rough > 0) & ~alone)
    if not len(members):
        return rough
    shared, group = np.unique(groups[members], return_inverse=True)
    sizes = np.abs(H).max(axis=0)
    sizes[sizes == 0] = 1.0
    priced = vertex.prices * sizes > SOLVER * max(float((vertex.prices * sizes).max()), 1e-300)
    tight = np.lexsort((np.abs(vertex.room) / sizes, ~priced))[: len(members) - len(shared)]
    if len(tight) < len(members) - len(shared):
        return rough
    units = sizes[tight]
    system = np.vstack([H[np.ix_(members, tight)].T / units[:, None], shared[:, None] == shared[group]])
    if not (np.isfinite(system).all() and np.linalg.cond(system) < 1e8):
        return rough
    fixed = np.where(alone, rough, 0.0) @ H[:, tight]
    solved = rough.copy()
    solved[members] = np.linalg.solve(system, np.append((level - fixed) / units, np.ones(len(shared))))
    least = float(solved.min())
    solved = np.maximum(solved, 0.0)
    solved /= np.bincount(groups, solved)[groups]
    within = solved @ H <= right + ROUNDING * (solved @ np.abs(H))
    return solved if within.all() and least >= -NOTHING else rough
