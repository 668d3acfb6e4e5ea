"""The coefficients of a compiled problem: a block for each threshold, and for each column of amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ratebound.base.types import Array


@dataclass(frozen=True, eq=False)
class Block:
    """The coefficients of decisions at one threshold, and of one column's amounts where costs are such.

    Most problems have one block, at 0 and without amounts.

    Matrices are sparse, one row for the objective and each constraint. Let there be D decisions, S
    slices and T targets. A row of data that lies in a slice and is decided d > 0 adds what `net` has in
    column (d - 1) S + slice: only differences between decisions matter, so the first counts nothing.
    Seen from the cheapest decision, the same is a sum of costs, each paid where the decision lies
    outside a target (see `Compiled.targets`): `costs` has them in column t S + slice. Of two classes the
    targets are no and yes, so a yes pays the first S columns, and a no the others.
    """

    at: float | str  # a number, or the name of a threshold that is learned
    net: Any  # (1+m, (D - 1) * S) CSR
    costs: Any  # (1+m, T * S) CSR; not negative once summed per row
    amounts: Array | None = None  # (n,) what each row counts for besides its weight
