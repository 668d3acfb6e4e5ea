"""Whether any classifier at all could keep some promises, by linear programming.

A classifier that saw everything, the labels too, could say yes to any share p of the rows in each
cell, and no other classifier does more as far as the rates can tell. Its violations are
``offset + matrix @ (weight * p)``, so the least worst violation is

    minimise t  subject to  offset_i + Σ_c matrix_ic weight_c p_c <= t,  0 <= p <= 1,

and a t above zero proves that no classifier keeps them. Where rates are taken at several thresholds the
shares at each are left free of the others; then t = 0 proves nothing, but t > 0 still does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound.base.linear_program import TOLERANCE
from ratebound.base.solver import SOLVER
from ratebound.problem.compiled import Compiled
from ratebound.problem.frames import Array


@dataclass(frozen=True)
class Least:
    """The least worst violation that any classifier has, and the rows that hold it up."""

    violation: float  # in units of the rate, or per row where rows are counted
    binding: tuple[int, ...]  # which of the rows given are in each other's way

    @property
    def possible(self) -> bool:
        return self.violation <= TOLERANCE


def least_violation(compiled: Compiled, rows: list[int]) -> Least:
    """The least worst violation among `rows` of the compiled constraints, from 0 on."""
    from scipy.optimize import linprog

    chosen = 1 + np.array(rows)
    scale = compiled.scale[chosen]
    weights = np.tile(compiled.cell_weight, len(compiled.blocks))
    matrix: Array = compiled.matrix[chosen] * weights / scale[:, None]
    variables = matrix.shape[1]
    solved = linprog(
        np.append(np.zeros(variables), 1.0),
        A_ub=np.column_stack([matrix, -np.ones(len(rows))]),
        b_ub=-compiled.offset[chosen] / scale,
        bounds=[(0, 1)] * variables + [(0, None)],
        method="highs",
        options={"primal_feasibility_tolerance": SOLVER, "dual_feasibility_tolerance": SOLVER},
    )
    if solved.x is None:  # then nothing is proved
        return Least(0.0, ())
    prices = -solved.ineqlin.marginals
    return Least(
        float(solved.fun), tuple(row for row, price in zip(rows, prices, strict=True) if price > 1e-6)
    )
