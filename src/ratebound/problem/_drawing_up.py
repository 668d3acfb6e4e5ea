"""What a problem asks of its rows, found in one pass over them, some rows at a time.

Two things are asked of a population: what the rows of some subsets weigh, and which *cell* each row is
in, where rows in the same *slices* share a cell. Pieces of the rows, and the shares of several
processes, each find their own answers; these are then put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from ratebound.base.progress import bar
from ratebound.base.types import Array
from ratebound.problem.amounts import amounts_where, check_amounts, read_amounts
from ratebound.problem.masks import (
    Masker,
    elementary,
    masker,
    nobody,
    patterns,
    spoken_of,
)
from ratebound.problem.population import Population
from ratebound.problem.sharing import is_shared, of_all
from ratebound.rates.subsets import Name, Subset

CHUNK = 4096  # cells unpacked at a time, so that no array of cells x slices is ever whole
Weighed = tuple[Subset, Name | None]  # a subset, and the column of amounts that its rows are worth


@dataclass
class Asked:
    """What is asked of one population, each once and in the order of asking."""

    weighed: dict[Weighed, None] = field(default_factory=dict)
    slices: dict[Subset, None] = field(default_factory=dict)

    @property
    def subsets(self) -> list[Subset]:
        return list(dict.fromkeys([*(subset for subset, _ in self.weighed), *self.slices]))

    @property
    def columns(self) -> list[Name]:
        """The columns that subsets and amounts speak of."""
        named = (name for subset in self.subsets for name in spoken_of(subset))
        amounts = (column for _, column in self.weighed if column is not None)
        return list(dict.fromkeys([*named, *amounts]))

    @property
    def order(self) -> list[int]:
        """The slices in the order that cells are numbered by: 64 at a time, the last counting most."""
        return sorted(range(len(self.slices)), key=lambda place: (place // 64, -place))


@dataclass(frozen=True, eq=False)
class Drawn:
    """What was asked of one population, or of some of its rows."""

    weight: dict[Weighed, float]
    failed: dict[Subset | Weighed, ValueError]  # where there is no answer
    amounts: dict[Name, Array]  # (n,) of every column of amounts
    patterns: Array  # (cells, ceil(slices / 8)) the bits of each cell, its slices in `Asked.order`
    cells: Array  # (n,) int32
    present: frozenset[Subset]  # simple conditions that some row meets

    def weigh(self, subset: Subset, column: Name | None = None) -> float:
        """The weight of a subset's rows, or with a column of amounts what they are worth."""
        self.check(subset)
        if (subset, column) in self.failed:
            raise self.failed[subset, column]
        return self.weight[subset, column]

    def check(self, subset: Subset) -> None:
        """Raise where a subset means nothing on these rows."""
        if subset in self.failed:
            raise self.failed[subset]


def draw_up(population: Population, asked: Asked) -> Drawn:
    """All that is asked of a population, in one pass over its rows."""
    whole = not population.stored and not is_shared(population)
    unknown = _unknown(population, asked)
    known = [name for name in asked.columns if name not in unknown]
    parts = []
    with bar(len(population), "row", None if population.stored else False) as shown:
        for piece in population.pieces(known):
            parts.append(_drawn(piece, asked, unknown, whole))
            shown.update(len(piece))
    return parts[0] if whole else _together(parts, population, asked)


def _unknown(population: Population, asked: Asked) -> dict[Name, ValueError]:
    """The columns that are not there, and what to say about each."""
    found = {}
    for name in asked.columns:
        try:
            population.check_column(name)
        except ValueError as error:
            found[name] = error
    return found


def _drawn(rows: Population, asked: Asked, unknown: dict[Name, ValueError], whole: bool) -> Drawn:
    """All that is asked of these rows; a value may be absent from them unless they are the `whole`."""
    mask = masker(rows, absent=not whole)
    weight: dict[Weighed, float] = {}
    failed: dict[Subset | Weighed, ValueError] = {}
    amounts: dict[Name, Array] = {}
    bits: dict[Subset, Array] = {}
    columns: dict[Subset, list[Name | None]] = {}
    for subset, column in asked.weighed:
        columns.setdefault(subset, []).append(column)
    for subset in asked.subsets:
        try:
            for name in filter(unknown.__contains__, spoken_of(subset)):
                raise unknown[name]
            inside = mask(subset)
        except ValueError as error:
            failed[subset], inside = error, np.zeros(len(rows), dtype=bool)
        if subset in asked.slices:
            bits[subset] = np.packbits(inside)
        for column in columns.get(subset, ()):
            try:
                if column in unknown:
                    raise unknown[column]
                weight[subset, column] = _weigh(rows, inside, column, amounts, whole)
            except ValueError as error:
                failed[subset, column] = error
    present = frozenset() if whole else _present(mask, asked.subsets, failed)
    packed = [bits[subset] for subset in asked.slices]
    ordered = (np.unpackbits(packed[place], count=len(rows)) for place in asked.order)
    example, cells = patterns(ordered, len(rows))
    return Drawn(weight, failed, amounts, _bits(packed, asked.order, example), cells.astype(np.int32),
                 present)  # fmt: skip


def _weigh(
    rows: Population, mask: Array, column: Name | None, amounts: dict[Name, Array], whole: bool
) -> float:
    weights = rows.weights
    if column is None:
        return float(mask.sum() if weights is None else weights[mask].sum())
    if column not in amounts:
        amounts[column] = read_amounts(rows, column, absent=not whole)
    inside = mask if weights is None else mask & (weights > 0)
    worth = amounts_where(amounts[column], inside, column)
    return float(worth.sum() if weights is None else weights @ worth)


def _bits(packed: Sequence[Array], order: Sequence[int], rows: Array) -> Array:
    """Which slices these rows are in, (rows, ceil(slices / 8)), in this order."""
    found = []
    for start in range(0, len(rows), CHUNK):
        chosen = rows[start : start + CHUNK]
        inside = np.zeros((len(chosen), len(order)), dtype=np.uint8)
        for index, place in enumerate(order):
            inside[:, index] = (packed[place][chosen // 8] >> (7 - chosen % 8)) & 1
        found.append(np.packbits(inside, axis=1))
    return np.concatenate(found)


def _present(mask: Masker, subsets: Iterable[Subset], failed: dict[Any, Any]) -> frozenset[Subset]:
    simple = {each for subset in subsets if subset not in failed for each in elementary(subset)}
    return frozenset(each for each in simple if mask(each).any())


# --- putting the answers of pieces and of processes together ---------------------------------------


def _together(parts: list[Drawn], population: Population, asked: Asked) -> Drawn:
    """The answers of pieces that follow each other, and of the other processes."""
    weight = _sums(parts)
    failed = reduce(lambda first, other: {**other, **first}, [part.failed for part in parts])
    present = frozenset().union(*(part.present for part in parts))
    bits = _distinct([part.patterns for part in parts])
    amounts = {
        column: np.concatenate([part.amounts[column] for part in parts])
        for column in parts[0].amounts
        if all(column in part.amounts for part in parts)
    }
    positive = {column: bool((values > 0).any()) for column, values in amounts.items()}
    everywhere = of_all(population, (weight, failed, present, bits, positive))
    weight = _sums_of([each[0] for each in everywhere])
    for other in everywhere:
        failed = {**other[1], **failed}
    present = frozenset().union(*(each[2] for each in everywhere))
    bits = _distinct([each[3] for each in everywhere])
    for column in amounts:
        check_amounts(column, any(each[4].get(column, False) for each in everywhere))
    for subset in asked.subsets:
        lacking = [each for each in elementary(subset) if each not in present]
        if lacking and subset not in failed:
            failed[subset] = _nobody(lacking[0], population)
    cells = np.concatenate([_places(part.patterns, bits)[part.cells] for part in parts])
    return Drawn(weight, failed, amounts, bits, cells.astype(np.int32), present)


def _nobody(condition: Subset, population: Population) -> ValueError:
    name = spoken_of(condition)[0]
    return nobody(condition, next(population.pieces([name])).values(name))


def _sums(parts: Sequence[Drawn]) -> dict[Weighed, float]:
    return _sums_of([part.weight for part in parts])


def _sums_of(weights: Sequence[dict[Weighed, float]]) -> dict[Weighed, float]:
    keys = dict.fromkeys(key for each in weights for key in each)
    return {key: float(sum(each.get(key, 0.0) for each in weights)) for key in keys}


def _distinct(bits: Sequence[Array]) -> Array:
    """The distinct lines, in order."""
    every = np.concatenate(bits)
    return np.unique(every, axis=0) if every.shape[1] else every[:1]


def _places(own: Array, every: Array) -> Array:
    """Where each line of `own` is among those of `every`, which are in order and hold them all."""
    if not every.shape[1]:
        return np.zeros(len(own), dtype=np.intp)
    both = np.unique(np.concatenate([every, own]), axis=0, return_inverse=True)[1].reshape(-1)
    return both[len(every) :]


def membership(drawn: Drawn, asked: Asked, own: Sequence[int], slices: int) -> Array:
    """Which cells are in which of all `slices`, as bits; `own` are those of this population."""
    found = []
    order = asked.order
    for start in range(0, len(drawn.patterns), CHUNK):
        bits = np.unpackbits(drawn.patterns[start : start + CHUNK], axis=1, count=len(order))
        inside = np.zeros((len(bits), slices), dtype=np.uint8)
        inside[:, [own[place] for place in order]] = bits
        found.append(np.packbits(inside, axis=1))
    return np.concatenate(found)
