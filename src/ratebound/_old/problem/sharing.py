"""Populations whose rows are divided among processes.

Rows that were gathered from all processes are the same `everywhere`: they are not added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import frame_columns, some
from ratebound._old.problem.labels import labels_of
from ratebound._old.problem.population import Population
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import TWO, Classes, label_classes, referral_of
from ratebound._old.rates.subsets import in_order

Value = TypeVar("Value")
People = Mapping[str, Population]


def is_shared(population: Population) -> bool:
    """Whether other processes hold more of its rows."""
    return processes.count() > 1 and not population.everywhere


def is_whole(population: Population) -> bool:
    """Whether all of its rows are in this process's memory."""
    return not population.stored and not is_shared(population)


def any_shared(people: People) -> bool:
    """Whether other processes hold more rows of any of these."""
    return any(map(is_shared, people.values()))


def check_alike(people: People) -> None:
    """Raise if the shares of a population have different features in different processes."""
    for name, population in people.items():
        if is_shared(population):
            names: object = frame_columns(population.X) or np.shape(population.X)[1:]
            processes.check_same(f"population {name!r} with the features", names)


def of_all(population: Population, value: Value) -> list[Value]:
    """A value from the rows here, and the values of other processes that hold more rows."""
    return processes.gathered(value) if is_shared(population) else [value]


def total_of(people: People, own: Array) -> Array:
    """Numbers from these rows, added up over the processes that hold more of them."""
    return processes.total(own) if any_shared(people) else own


def rows_of_all(people: People, own: Array) -> Array:
    """Arrays (..., n) of these rows, concatenated over all processes."""
    parts = processes.gathered(own) if any_shared(people) else [own]
    return own if len(parts) == 1 else np.concatenate(parts, axis=-1)


def classes_of(populations: dict[str, Population], first: str) -> Classes:
    """The possible decisions: the classes of the first population that has any."""
    known = [_known(population) for population in populations.values()]
    first_known = next((classes for classes in known if classes is not None), TWO)
    for name, classes in zip(populations, known, strict=True):
        several = (
            max(len(first_known), len(classes or ())) > 2
        )  # any two labels may stand for no and yes
        strange = [each for each in classes or () if several and each not in first_known]
        if strange:
            raise ValueError(
                f"population {first if name == FIRST else name!r} has the label {strange[0]!r}, which "
                f"is not among the classes {some(list(first_known))}: give the classes of all with "
                "rb.Population(..., classes=[...])"
            )
    return first_known


def _known(population: Population) -> Classes | None:
    """The classes of a population, from what each process knows about its own rows."""
    every = list(dict.fromkeys(filter(None, of_all(population, population.classes))))
    if len(every) <= 1:
        return every[0] if every else None
    # Two classes may seem to differ: a process with rows of only one does not know the other's name.
    y = population.y
    own = set() if y is None else {(population.classes or ())[int(place)] for place in np.unique(y)}
    held = sorted(set().union(*of_all(population, own)), key=in_order)
    if len(held) <= 2 and all(len(classes) == 2 and classes[1] == every[0][1] for classes in every):
        return labels_of(np.array(held, dtype=object), every[0][1]).classes
    labels = {value for each in every for value in label_classes(each)}
    referral = referral_of(every[0])
    return (*sorted(labels, key=in_order), *(() if referral is None else (referral,)))
