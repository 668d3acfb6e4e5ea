"""The simplex method for linear programs with few constraints and many unknowns.

A mixture of thousands of rules under a handful of promises is such a program. Passing it to a general
solver takes longer than solving it. Here a pivot is one product with the columns.
"""

from __future__ import annotations

import numpy as np

from ratebound._old.base.solver import ROUNDING
from ratebound._old.base.types import Array

PIVOTS = 200  # at most; where more are needed, the general solver is not slower
EXACT = 1e-11  # of what an unknown would save, in units of its column


def least_fined(values: Array, radius: float) -> tuple[Array, Array] | None:
    """The shares (N,) and prices (m,) that solve the following, for `values` (N, 1+m); None if unsure.

        min_{p, t >= 0}  f·p + radius·t   with  Gᵀp <= t,  Σp = 1

    It starts from the best column alone, so that no first phase is needed.

    >>> least_fined(np.array([[0.1, 0.2], [0.5, -0.2]]), 10.0)
    (array([0.5, 0.5]), array([1.]))
    """
    count, m = len(values), values.shape[1] - 1
    # Unknowns are the shares, t, and the room in each constraint; rows the constraints, and the sum.
    A = np.zeros((m + 1, count + 1 + m))
    A[:m, :count], A[:m, count], A[:m, count + 1 :] = values[:, 1:].T, -1.0, np.eye(m)
    A[m, :count] = 1.0
    cost = np.concatenate([values[:, 0], [radius], np.zeros(m)])
    right = np.append(np.zeros(m), 1.0)
    size = np.maximum(np.abs(A).max(axis=0), np.abs(cost))
    worst = values[:, 1:].max(axis=1)
    first = int(np.argmin(values[:, 0] + radius * np.maximum(worst, 0.0)))
    basis = count + np.arange(m + 1)  # t, and all room
    if worst[first] > 0:  # t is the worst violation, in whose constraint there is no room
        basis[1 + int(np.argmax(values[first, 1:]))] = first
    else:
        basis[0] = first
    for pivot in range(PIVOTS):
        try:
            inverse = np.linalg.inv(A[:, basis])
        except np.linalg.LinAlgError:
            return None
        held, prices = inverse @ right, cost[basis] @ inverse
        saved = (cost - prices @ A) / size
        saved[basis] = 0.0
        # The most at first; later the first of all, which cannot go in circles.
        entering = int(np.argmin(saved)) if 2 * pivot < PIVOTS else int(np.argmax(saved < -EXACT))
        if saved[entering] >= -EXACT:
            if held.min() < -EXACT or not np.isfinite(prices).all():
                return None
            shares = np.zeros(count)
            own = basis < count
            shares[basis[own]] = np.where(held[own] > ROUNDING, held[own], 0.0)
            return shares / shares.sum(), np.maximum(-prices[:m], 0.0)
        along = inverse @ A[:, entering]
        falls = along > EXACT
        if not falls.any():
            return None
        steps = np.where(falls, np.maximum(held, 0.0) / np.where(falls, along, 1.0), np.inf)
        least = np.flatnonzero(steps <= steps.min())
        basis[least[np.argmin(basis[least])]] = entering
    return None
