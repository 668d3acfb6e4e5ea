"""Known columns may be used when deciding: rows of a known group are only in that group's cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.problem.population import Population

MOST_GROUPS = 64


@dataclass(frozen=True, eq=False)
class Known:
    """The groups that known columns make: every combination of values that training rows had."""

    columns: tuple[str, ...]
    codes: tuple[dict[Any, int], ...]  # of the values of every column; that of None is missing
    groups: dict[tuple[int, ...], int]  # by the codes of their values

    @property
    def count(self) -> int:
        return len(self.groups)

    def find(self, rows: Population) -> Any:
        """Return the group of every row (n,); `count` for groups that training did not have."""
        codes = _encode_columns(rows, self.columns, self.codes)
        distinct, index = np.unique(codes, axis=1, return_inverse=True)
        groups = []
        for of_columns in distinct.T.tolist():
            groups.append(self.groups.get(tuple(of_columns), self.count))
        return np.array(groups)[index.ravel()]


def find_known_groups(names: str | Sequence[str], rows: Population) -> Known:
    """Return the groups that the columns `names` make of training rows."""
    columns = (names,) if isinstance(names, str) else tuple(names)
    codes = []
    for name in columns:
        values = rows.encode(name).list_values()
        codes.append({value: code for code, value in enumerate(values)})
    distinct = np.unique(_encode_columns(rows, columns, codes), axis=1)
    groups = {}
    for group, of_columns in enumerate(distinct.T.tolist()):
        groups[tuple(of_columns)] = group
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"known={list(columns)} makes {len(groups):,} groups, and {MOST_GROUPS} is the most: "
            "band the values, or name fewer columns"
        )
    return Known(columns, tuple(codes), groups)


def _encode_columns(rows: Population, names: Sequence[str], codes: Sequence[Any]) -> Any:
    """Return codes (columns, n) of values, -1 for values that training did not have."""
    encoded = []
    for name, known in zip(names, codes, strict=True):
        values, index = rows.encode(name)
        of_values = [_find_code(known, value) for value in values.tolist()]
        of_missing = known.get(None, -1)
        encoded.append(np.array([*of_values, of_missing])[index])
    return np.stack(encoded)


def _find_code(known: dict[Any, int], value: Any) -> int:
    if value not in known and isinstance(value, float) and value.is_integer():
        value = int(value)
    return known.get(value, -1)


def find_group_chances(group: Any, count: int, inside: Any) -> Any:
    """Return what each group says of being in columns of cells or slices (count + 1, k).

    It is 0 for never, 1 for always and NaN for neither. `inside` (n, k) says which rows are in
    which column, and `group` (n,) is theirs.
    """
    rows = np.bincount(group, minlength=count + 1)[:, None]
    hits = np.zeros((count + 1, inside.shape[1]))
    for column, is_inside in enumerate(inside.T):
        hits[:, column] = np.bincount(group, is_inside, count + 1)
    chances = np.full(hits.shape, np.nan)
    chances[hits == rows] = 1.0
    chances[hits == 0] = 0.0
    chances[np.broadcast_to(rows == 0, hits.shape)] = np.nan
    return chances
