"""Populations whose rows are shared out among processes, each of which has its own.

Rows that were gathered from all processes are the same `everywhere`: nothing is added up for those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from ratebound.base import processes
from ratebound.base.types import Array
from ratebound.problem.population import Population

Value = TypeVar("Value")
People = Mapping[str, Population]


def is_shared(population: Population) -> bool:
    """Whether other processes have further rows of it."""
    return processes.count() > 1 and not population.everywhere


def any_shared(people: People) -> bool:
    """Whether other processes have further rows of any of these."""
    return any(map(is_shared, people.values()))


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
