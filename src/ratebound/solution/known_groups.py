"""Known groups: what may be looked at when deciding, and which combination of it each row has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.compiled import Compiled
from ratebound.rates.expressions import Area
from ratebound.rates.subsets import Value, in_order

FEW = 20  # groups that are never too many


def _check_decisions(compiled: Compiled) -> None:
    """Raise for rates at other thresholds: thresholds by group are set for the decisions alone."""
    for block in compiled.blocks:
        rows = np.flatnonzero(np.diff(block.net.indptr))
        if block.at == 0.0 or not len(rows):
            continue
        where = f"the constraint {compiled.constraints[rows[0] - 1]}" if rows[0] else "the objective"
        area = rows[0] > 0 and isinstance(compiled.constraints[rows[0] - 1].left, Area)
        remedy = "leave it out, and choose scores that keep it" if area else "leave at= out"
        raise ValueError(
            f"{where} is about decisions at a threshold other than the one to be set, and thresholds "
            f"by group have no other: {remedy}, or train with rb.play and use rb.shrink"
        )


def known_names(known: Any) -> tuple[str, ...]:
    """The columns that a parameter `known` names; a text is one column.

    >>> known_names("sex"), known_names(["sex", "race", "sex"])
    (('sex',), ('sex', 'race'))
    """
    if isinstance(known, str):
        return (known,)
    if not isinstance(known, Iterable):
        raise TypeError(f"known takes columns, as in ['sex'] or [], got {known!r}")
    return tuple(dict.fromkeys(known))


def known_groups(
    known: str | Sequence[str], compiled: Compiled
) -> tuple[tuple[str, ...], tuple[tuple[Value | None, ...], ...], Array]:
    """The known columns, the combinations of their values that occur, and which each row has (n,).

    Raises where thresholds cannot be set for this problem or by these columns; that needs no model.
    """
    _check_decisions(compiled)
    names, rows = known_names(known), len(compiled.cells)
    if not names:
        return (), ((),), np.zeros(rows, dtype=int)
    columns = [_column(name, compiled) for name in names]
    found = set(zip(*columns, strict=True))
    if len(found) > max(FEW, rows // 5):
        distinct = {name: len(set(column)) for name, column in zip(names, columns, strict=True)}
        many = [name for name, count in distinct.items() if count > max(FEW, rows // 5)]
        what = f"column {many[0]!r}" if many else f"columns {', '.join(map(repr, names))} together"
        raise ValueError(
            f"known: {what} make{'s' * bool(many)} {len(found):,} groups of {rows:,} rows, too few rows "
            f"each to set a threshold by: {'bin it first' if many else 'merge values, or leave one out'}"
        )
    plain = [tuple(_plain(value) for value in group) for group in found]
    groups = tuple(sorted(plain, key=lambda group: [in_order(value) for value in group]))
    number = {group: index for index, group in enumerate(groups)}
    return names, groups, np.fromiter(map(number.__getitem__, zip(*columns, strict=True)), int, rows)


def _column(name: str, compiled: Compiled) -> list[Any]:
    """A known column of all rows, which may be anything but the label."""
    found: list[Any] = []
    beside_labels: set[tuple[Any, int]] = set()
    for on, population in compiled.populations.items():
        try:
            values = population.plain_column(name)
        except ValueError as error:
            raise ValueError(f"known: population {on!r}: {error}") from None
        found += values
        if population.y is not None:
            beside_labels |= set(zip(values, population.y.tolist(), strict=True))
    pairs = len(beside_labels)
    if pairs > 1 and all(len(set(part)) == pairs for part in zip(*beside_labels, strict=True)):
        raise ValueError(
            f"known: column {name!r} equals the label on every row, which is not known when deciding: "
            "leave it out"
        )
    return found


def _plain(value: Any) -> Value | None:
    plain = value.item() if hasattr(value, "item") else value
    if not isinstance(plain, str | bool | int | float | None):
        raise ValueError(f"known: a column holds {value!r}: make it a text or a number first")
    return plain
