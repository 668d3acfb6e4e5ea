"""Known columns may be used when deciding: rows of a known group are only in that group's cells."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.problem.columns import fold
from ratebound.problem.population import Population
from ratebound.rates.conditions import Name

MOST_GROUPS = 64


@dataclass(frozen=True, eq=False)
class Known:
    """The groups that known columns make: every combination of values that training rows had."""

    columns: tuple[str, ...]
    groups: dict[tuple[Any, ...], int]  # by their values; a missing one is None

    @property
    def count(self) -> int:
        return len(self.groups)

    def find(self, rows: Population) -> Any:
        """Return the group of every row (n,); `count` for groups that training did not have."""
        for name in self.columns:
            if name not in rows.columns:
                raise ValueError(
                    f"this model decides by known={list(self.columns)}: "
                    f"give columns={{{name!r}: ...}}, a value for each row"
                )
        combinations, index = _list_combinations(rows, self.columns)
        groups = [self.groups.get(values, self.count) for values in combinations]
        group = np.array(groups)[index]
        new_rows = (group == self.count).sum()
        if new_rows:
            warnings.warn(
                f"known={list(self.columns)} have values that no training row had, rows: "
                f"{new_rows:,}. These are decided by their features alone",
                stacklevel=4,
            )
        return group


def find_known_groups(names: str | Sequence[str], rows: Population) -> Known:
    """Return the groups that the columns `names` make of training rows."""
    columns = (names,) if isinstance(names, Name) else tuple(names)
    combinations, _ = _list_combinations(rows, columns)
    if len(combinations) > MOST_GROUPS:
        raise ValueError(
            f"known={list(columns)} makes {len(combinations):,} groups, and {MOST_GROUPS} is the "
            "most: band the values, or name fewer columns"
        )
    groups = {values: group for group, values in enumerate(combinations)}
    return Known(columns, groups)


def _list_combinations(rows: Population, names: Sequence[str]) -> tuple[list[Any], Any]:
    """Return the combinations of values that occur in columns, and the one of every row (n,)."""
    encoded = [rows.encode(name) for name in names]
    example, index = fold([column.codes for column in encoded])
    values = [column.decode()[example].tolist() for column in encoded]
    return list(zip(*values, strict=True)), index


def find_group_chances(group: Any, count: int, inside: Any) -> Any:
    """Return the chance of each column of cells or slices in each group (count + 1, k).

    It is 0 for never, 1 for always and NaN for neither. `inside` (n, k) says which rows are in
    which column, and `group` (n,) is theirs.
    """
    rows = np.bincount(group, minlength=count + 1)
    hits = [np.bincount(group, is_inside, count + 1) for is_inside in inside.T]
    with np.errstate(invalid="ignore"):
        chances = np.column_stack(hits) / rows[:, None]
    chances[(chances > 0) & (chances < 1)] = np.nan
    return chances
