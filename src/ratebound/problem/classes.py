"""The classes that a problem decides between, as several populations and processes spell them."""

from __future__ import annotations

from dataclasses import replace

from ratebound.problem.frames import some
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
    first, *others = of_all(population, population.spelling)
    held = {label for spelling in (first, *others) for label in spelling.held}
    if len(held) <= 2 and not any(spelling.several for spelling in (first, *others)):
        return replace(first, held=tuple(sorted(held, key=in_order)) if others else first.held).classes
    every = list(dict.fromkeys(filter(None, of_all(population, population.classes))))
    if len(every) <= 1:
        return every[0] if every else None
    return tuple(sorted({value for each in every for value in each}, key=in_order))
