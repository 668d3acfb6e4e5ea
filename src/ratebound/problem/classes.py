"""The classes that a problem decides between, as several populations and processes spell them."""

from __future__ import annotations

import numpy as np

from ratebound.problem.frames import some
from ratebound.problem.labels import labels_of
from ratebound.problem.population import Population
from ratebound.problem.sharing import of_all
from ratebound.rates.kinds import TWO, Classes
from ratebound.rates.rate import FIRST
from ratebound.rates.subsets import in_order


def classes_of(populations: dict[str, Population], first: str) -> Classes:
    """The classes there are to decide between: those of the first population that knows any."""
    known = [_known(population) for population in populations.values()]
    found = next((classes for classes in known if classes is not None), TWO)
    for name, classes in zip(populations, known, strict=True):
        several = max(len(found), len(classes or ())) > 2  # two may be called yes and no by any name
        strange = [each for each in classes or () if several and each not in found]
        if strange:
            raise ValueError(
                f"population {first if name == FIRST else name!r} has the label {strange[0]!r}, which "
                f"is not among the classes {some(list(found))}: give the classes of all by "
                "rb.Population(..., classes=[...])"
            )
    return found


def _known(population: Population) -> Classes | None:
    """The classes of a population, where each process knows those of its own rows."""
    every = list(dict.fromkeys(filter(None, of_all(population, population.classes))))
    if len(every) <= 1:
        return every[0] if every else None
    # Two classes differ if a process has rows of one of them only, and does not know the other's name.
    y = population.y
    own = set() if y is None else {(population.classes or ())[int(place)] for place in np.unique(y)}
    held = sorted(set().union(*of_all(population, own)), key=in_order)
    if len(held) <= 2 and all(len(classes) == 2 and classes[1] == every[0][1] for classes in every):
        return labels_of(np.array(held, dtype=object), every[0][1]).classes
    return tuple(sorted({value for each in every for value in each}, key=in_order))
