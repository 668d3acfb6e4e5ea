"""Populations whose rows are shared out among processes, each of which has its own.

Rows that were gathered from all processes are the same `everywhere`: nothing is added up for those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from ratebound.base import processes
from ratebound.base.types import Array
from ratebound.problem.frames import frame_columns
from ratebound.problem.population import Population

Value = TypeVar("Value")
People = Mapping[str, Population]


def is_shared(population: Population) -> bool:
    """Whether other processes have further rows of it."""
    return processes.count() > 1 and not population.everywhere


def any_shared(people: People) -> bool:
    """Whether other processes have further rows of any of these."""
    return any(map(is_shared, people.values()))


def check_alike(people: People) -> None:
    """Raise where the shares of a population have other features in other processes."""
    for name, population in people.items():
        if is_shared(population):
            names: object = frame_columns(population.X) or np.shape(population.X)[1:]
            processes.check_same(f"population {name!r} with the features", names)


def check_not_shared(asker: str, people: People) -> None:
    """Raise where processes have a share of the rows each, and `asker` has to look at all at once."""
    for name, population in people.items():
        if isinstance(population, Population) and is_shared(population):
            raise ValueError(
                f"{asker} looks at all rows at once, and each process has a share of population "
                f"{name!r}: call it in a process of its own, on all rows or some of them"
            )


def check_in_memory(asker: str, people: People) -> None:
    """Raise where rows are on disk, or elsewhere, and `asker` has to look at all of them at once."""
    check_not_shared(asker, people)
    for name, population in people.items():
        if isinstance(population, Population) and population.stored:
            raise ValueError(
                f"{asker} looks at all rows at once, and those of population {name!r} are on disk: give "
                "it some of them in memory, population.only(rows).in_memory()"
            )


def of_all(population: Population, value: Value) -> list[Value]:
    """A value of the rows here, and those of the other processes that have further rows."""
    return processes.gathered(value) if is_shared(population) else [value]


def total_of(people: People, own: Array) -> Array:
    """Numbers of these rows, added up over the processes that have further ones."""
    return processes.total(own) if any_shared(people) else own


def rows_of_all(people: People, own: Array) -> Array:
    """Arrays (..., n) of these rows, those of all processes one after the other."""
    parts = processes.gathered(own) if any_shared(people) else [own]
    return own if len(parts) == 1 else np.concatenate(parts, axis=-1)
