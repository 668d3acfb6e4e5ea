"""Checks that some decisions on these rows meet each constraint and keep denominators above 0.

Each check looks at one constraint at a time and allows any decision in any cell. So what it refuses is
impossible for every model. Whether several constraints conflict is for a solver to say.
"""

from __future__ import annotations

import numpy as np

from ratebound.problem.compiled import Compiled

TOLERANCE = 1e-9  # of values
PRICES = 2.0 ** np.arange(-20, 20)  # of a constraint, in units of a denominator


def check_feasible(compiled: Compiled) -> None:
    """Raise if no decisions on these rows meet some constraint, even alone.

    Parameters
    ----------
    compiled : Compiled
        The problem on rows.

    Raises
    ------
    ValueError
        If no decisions meet some constraint. It names the constraint, and by how much the best miss it.

    Examples
    --------
    >>> import ratebound as rb
    >>> rows = rb.Population(y=[1, 0, 0])
    >>> rb.check_feasible(rb.compile(rb.Problem("error_rate()", ["recall() >= 0.9"]), rows))
    """
    least = compiled.least_values()[len(compiled.objective.pieces) :]
    for row, violation in zip(compiled.rows, least, strict=True):
        if violation > TOLERANCE:
            raise ValueError(
                f"{row.text}: no model can meet this on these rows; "
                f"the best misses it by {violation:.3g}"
            )


def check_denominators(compiled: Compiled) -> None:
    """Raise if a ratio in the objective may be divided by 0 and no constraint alone prevents it."""
    pieces = compiled.objective.pieces
    least = compiled.least_values()
    constraints = range(len(pieces), len(compiled.offset))
    for ratios in compiled.objective.ratios:
        for _, _, bottom in ratios:
            if least[bottom] > TOLERANCE:
                continue
            if not any(_keeps_positive(compiled, bottom, row) for row in constraints):
                raise ValueError(
                    f"{compiled.problem.objective} may be divided by 0 though every constraint "
                    "is met: add one that prevents this, as in positive_rate() >= 0.05"
                )


def _keeps_positive(compiled: Compiled, bottom: int, row: int) -> bool:
    """Return True if one row of values is above 0 wherever another row is at most 0.

    By duality that is so if ``min(bottom + price * row)`` is above 0 at some price.
    """
    worth_in_cells = []
    for block in compiled.blocks:
        per_cell = compiled.per_cell(block.coefficients[[bottom, row]])
        first_decision = np.zeros_like(per_cell[:, :1])
        per_decision = np.concatenate([first_decision, per_cell], axis=1)
        worth_in_cells.append(per_decision * compiled.weigh_cells(block))
    for price in PRICES:
        least = compiled.offset[bottom] + price * compiled.offset[row]
        for worth in worth_in_cells:
            decisions = worth[0] + price * worth[1]  # (D, cells)
            least += decisions.min(axis=0).sum()
        if least > TOLERANCE:
            return True
    return False
