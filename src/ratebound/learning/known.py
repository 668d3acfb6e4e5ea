"""Known columns may be used when deciding: rows of a known group are only in that group's cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.problem.columns import fold
from ratebound.problem.population import Population

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
        combinations, index = _list_combinations(rows, self.columns)
        groups = [self.groups.get(values, self.count) for values in combinations]
        return np.array(groups)[index]


def find_known_groups(names: str | Sequence[str], rows: Population) -> Known:
    """Return the groups that the columns `names` make of training rows."""
    columns = (names,) if isinstance(names, str) else tuple(names)
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
    values = []
    for column in encoded:
        of_examples = column._replace(codes=column.codes[example])
        values.append(of_examples.decode().tolist())
    return list(zip(*values, strict=True)), index


def find_group_chances(group: Any, count: int, inside: Any) -> Any:
    """Return the chance of each column of cells or slices in each group (count + 1, k).

    It is 0 for never, 1 for always and NaN for neither. `inside` (n, k) says which rows are in
    which column, and `group` (n,) is theirs.
    """
    rows = np.bincount(group, minlength=count + 1)
    chances = np.full((count + 1, inside.shape[1]), np.nan)
    for column, is_inside in enumerate(inside.T):
        hits = np.bincount(group, is_inside, count + 1)
        chances[hits == rows, column] = 1.0
        chances[hits == 0, column] = 0.0
    chances[rows == 0] = np.nan
    return chances
