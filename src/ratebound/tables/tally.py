"""What is known of a column once its rows were seen, all at once or piece by piece.

That is all that is asked to decide what is done with it and to fit it: which values it holds and how
often, and of numbers, dates and durations their mean and spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ratebound.base.types import Array
from ratebound.tables import distinct, spread
from ratebound.tables.columns import PARTS, ReadAs
from ratebound.tables.distinct import Distinct, distinct_numbers, distinct_texts
from ratebound.tables.kinds import Cells, Holds, as_texts
from ratebound.tables.moments import number_of
from ratebound.tables.spread import Spread, spread_of

READ_AS: dict[Holds, tuple[ReadAs, ...]] = {
    "numbers": ("number",),
    "dates": ("days", "month", "weekday", "hour"),
    "durations": ("duration",),
}


@dataclass(frozen=True, eq=False)
class Tally:
    """What is known of the rows of a column that count."""

    holds: Holds
    missing: int  # rows without a value
    present: int  # rows with one
    distinct: Distinct
    category: bool = False  # whether it was said to hold categories
    spreads: Mapping[ReadAs, Spread] = field(default_factory=dict)  # of what becomes a number
    measured: bool = False  # whether its numbers were stored as decimals

    @cached_property
    def distinct_count(self) -> int:
        return self.present if self.all_differ else min(len(self.distinct), self.present)

    @property
    def all_differ(self) -> bool:
        """Whether no two rows share a value."""
        return self.distinct.all_differ

    @property
    def texts(self) -> list[str] | None:
        """Its distinct texts; None where it holds numbers, dates or durations."""
        return None if self.spreads else self.distinct.values.tolist()

    @property
    def parts(self) -> list[ReadAs]:
        """Of dates, the days and which other parts vary; of all else, what becomes a number."""
        return [part for part, own in self.spreads.items() if part not in PARTS or own.varies]


def tally(
    cells: Cells, weights: Array | None = None, *, categorical: bool = False, halvings: int = 0
) -> Tally:
    """What is known of a column, whose rows are counted with their weights.

    `categorical` says that it holds categories, and `halvings` how few of its values are held already.

    >>> import numpy as np
    >>> from ratebound.tables.kinds import read_cells
    >>> found = tally(read_cells(np.array([20.0, np.nan, 40.0])))
    >>> found.missing, found.distinct_count, found.spreads["number"].center_and_scale()
    (1, 2, (30.0, 10.0))
    """
    category = categorical or cells.category
    if category:
        cells = as_texts(cells)
    lacking = cells.missing
    missing = int(lacking.sum())
    if cells.levels is not None:
        own = distinct_texts(cells.values, cells.levels, weights, halvings)
        return Tally(cells.holds, missing, len(lacking) - missing, own, category)
    if missing:
        cells, weights = cells.only(~lacking), None if weights is None else weights[~lacking]
    own = distinct_numbers(cells.values, halvings)
    return _of_numbers(cells.holds, cells.values, weights, own, missing, len(cells.values))


def read_as(holds: Holds, values: Array, given: Tally) -> Tally:
    """What is known of a column of texts that stand for these values (v,), one for each."""
    own = given.distinct
    return _of_numbers(holds, values, own.weights, own, given.missing, given.present)


def _of_numbers(
    holds: Holds, values: Array, weights: Array | None, own: Distinct, missing: int, present: int
) -> Tally:
    spreads = {part: spread_of(number_of(values, part), weights) for part in READ_AS[holds]}
    measured = values.dtype.kind == "f"
    return Tally(holds, missing, present, own, False, spreads, measured)


def merged(parts: Sequence[Tally]) -> Tally:
    """What is known of a column whose rows were seen in parts."""
    if len(parts) == 1:
        return parts[0]
    # Where nothing is present, nothing says what the column holds.
    telling = [part for part in parts if part.present] or parts[:1]
    first = telling[0]
    if any(part.holds != first.holds for part in telling):
        kinds = ", ".join(sorted({part.holds for part in telling}))
        raise ValueError(f"in some of its parts it holds other things than in others: {kinds}")
    return Tally(
        first.holds,
        sum(part.missing for part in parts),
        sum(part.present for part in parts),
        distinct.merged([part.distinct for part in telling]),
        first.category,
        {name: spread.joined(part.spreads[name] for part in telling) for name in first.spreads},
        any(part.measured for part in telling),
    )
