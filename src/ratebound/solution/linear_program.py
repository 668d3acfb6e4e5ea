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
    cost, own = np.append(np.zeros(count), 1.0), _scales(G)
    # First each constraint in units of its own, to see whether anything is violated at all.
    solved = _solve(cost, np.column_stack([G.T, -own]), np.zeros(m), count)
    if solved.x[-1] <= TOLERANCE:
        return LeastViolation(0.0, np.zeros(m))
    solved = _solve(cost, np.column_stack([G.T, -np.ones(m)]), np.zeros(m), count)
    # By duality every mixture has prices · violations >= t*, so this bound is exact.
    prices = np.maximum(-solved.ineqlin.marginals, 0) / own
    prices /= prices.sum()
    return LeastViolation(float((G @ prices).min()), prices)


def _best_at(f: Array, G: Array, violation: float) -> Array:
    """The vertex with the lowest objective whose violations are at most `violation`."""
    count, m = G.shape
    if m == 0:
        return np.eye(count)[np.argmin(f)]
    # The first program's answer is rounded; this much slack keeps it feasible for the second.
    slack = TOLERANCE * _scales(G) if violation > 0 else 0.0
    solved = _solve(f, G.T, violation + slack + np.zeros(m), count)
    return _polished(solved.x, G, violation, solved.slack)


def _solve(cost: Array, A: Array, b: Array, simplex: int) -> Any:
    """min cost·x with A x <= b, x >= 0, and the first `simplex` entries summing to 1, at a vertex."""
    from scipy.optimize import linprog

    scale = np.abs(A[:, :simplex]).max(axis=1)
    scale[scale == 0] = 1.0
    size = max(float(np.abs(cost).max()), 1e-300)
    solved = linprog(
        cost / size,
        A_ub=A / scale[:, None],
        b_ub=b / scale,
        A_eq=(np.arange(len(cost)) < simplex)[None].astype(float),
        b_eq=[1.0],
        bounds=(0, None),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if solved.x is None:
        raise RuntimeError(f"the linear program could not be solved: {solved.message}")
    solved.slack = solved.slack * scale
    return solved


def _polished(x: Array, G: Array, violation: float, slack: Array) -> Array:
    """The vertex the solver found, recomputed from its tight constraints to full precision."""
    members = np.flatnonzero(x > TOLERANCE)
    tight = np.argsort(np.abs(slack) / _scales(G), kind="stable")[: len(members) - 1]
    system = np.vstack([G[np.ix_(members, tight)].T, np.ones(len(members))])
    exact = x[members] / x[members].sum()
    if np.linalg.cond(system) < 1e8:
        exact = np.linalg.solve(system, np.append(np.full(len(tight), violation), 1.0))
    polished = np.zeros_like(x)
    polished[members] = exact
    rough = np.where(x > TOLERANCE, x, 0) / x[members].sum()
    worse = (polished @ G).max() > max((rough @ G).max(), violation) + 1e-15
    return rough if worse or (exact < 0).any() else polished


def _scales(G: Array) -> Array:
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
