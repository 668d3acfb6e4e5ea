"""The counts that a problem needs from its rows, computed in one pass, some rows at a time.

A problem needs two things from a population: the weight of some subsets of its rows, and the *cell* of
each row, where rows in the same *slices* share a cell. Pieces of the rows, and the shares of several
processes, are processed separately, and their results are then combined.

Rows that are in exactly the same subsets are of one *kind*. Kinds are kept, so that the same queries
about some of the rows can be answered without reading a column again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np

from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.problem.coefficients import CHUNK, bit
from ratebound._old.problem.masks import (
    Masker,
    amounts_where,
    check_amounts,
    elementary,
    masker,
    nobody,
    patterns,
    read_amounts,
    spoken_of,
)
from ratebound._old.problem.population import Population
from ratebound._old.problem.sharing import is_whole, of_all
from ratebound._old.rates.subsets import All, Combined, Compare, In, Name, Not, Subset

Weighed = tuple[Subset, Name | None]  # a subset, and the column of amounts that its rows are worth


@dataclass
class Queries:
    """The queries to one population, each once, in the order in which they were made."""

    weighed: dict[Weighed, None] = field(default_factory=dict)
    slices: dict[Subset, None] = field(default_factory=dict)

    @property
    def subsets(self) -> list[Subset]:
        return list(dict.fromkeys([*(subset for subset, _ in self.weighed), *self.slices]))

    @property
    def columns(self) -> list[Name]:
        """The columns that subsets and amounts use."""
        named = (name for subset in self.subsets for name in spoken_of(subset))
        amounts = (column for _, column in self.weighed if column is not None)
        return list(dict.fromkeys([*named, *amounts]))

    @property
    def order(self) -> list[int]:
        """The order of slices by which cells are numbered: 64 at a time, the last most significant."""
        return sorted(range(len(self.slices)), key=lambda place: (place // 64, -place))

    @property
    def ordered(self) -> list[Subset]:
        """All subsets in the order by which kinds are numbered; kinds of one cell are adjacent."""
        slices = list(self.slices)
        others = [subset for subset in self.subsets if subset not in self.slices]
        return [*(slices[place] for place in self.order), *others]

    def same_as(self, other: Queries) -> bool:
        """Whether another makes the same queries, in the same order."""
        return list(self.weighed) == list(other.weighed) and list(self.slices) == list(other.slices)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The answers for one population, or for some of its rows."""

    asked: Queries
    weight: dict[Weighed, float]
    failed: dict[Subset | Weighed, ValueError]  # queries without an answer
    amounts: dict[Name, Array]  # (n,) of every column of amounts
    bits: Array  # (kinds, ceil(subsets / 8)) which subsets each kind is in, as in `Queries.ordered`
    kinds: Array  # (n,) int32
    present: frozenset[Subset]  # simple conditions that some row meets

    @cached_property
    def patterns(self) -> Array:
        """Which slices each cell is in, (cells, ceil(slices / 8)) bits in `Queries.order`."""
        bits, new = self._slices_of_kinds
        return bits[new]

    @cached_property
    def cells(self) -> Array:
        """The cell of each row, (n,) int32."""
        _, new = self._slices_of_kinds
        return self.kinds if new.all() else (np.cumsum(new, dtype=np.int32) - 1)[self.kinds]

    @property
    def _slices_of_kinds(self) -> tuple[Array, Array]:
        """The slices that each kind is in, and whether it is the first of its cell."""
        slices = len(self.asked.slices)
        bits = self.bits[:, : -(-slices // 8)].copy()
        if slices % 8:
            bits[:, -1] &= 0xFF << (8 - slices % 8) & 0xFF
        new = np.ones(len(bits), dtype=bool)
        new[1:] = (bits[1:] != bits[:-1]).any(axis=1)
        return bits, new

    def weigh(self, subset: Subset, column: Name | None = None) -> float:
        """The weight of a subset's rows, or, with a column of amounts, their total amount."""
        self.check(subset)
        if (subset, column) in self.failed:
            raise self.failed[subset, column]
        return self.weight[subset, column]

    def check(self, subset: Subset) -> None:
        """Raise if a subset has no meaning on these rows."""
        if subset in self.failed:
            raise self.failed[subset]


def draw_up(population: Population, asked: Queries) -> Drawn:
    """The answers to all queries about a population, in one pass over its rows."""
    whole = is_whole(population)
    unknown = _unknown(population, asked)
    known = [name for name in asked.columns if name not in unknown]
    parts = []
    with bar(len(population), "row", None if population.stored else False) as shown:
        for piece in population.pieces(known):
            parts.append(_drawn(piece, asked, unknown, whole))
            shown.update(len(piece))
    return parts[0] if whole else _together(parts, population, asked)


def _unknown(population: Population, asked: Queries) -> dict[Name, ValueError]:
    """The columns that do not exist, and the error for each."""
    unknown = {}
    for name in asked.columns:
        try:
            population.check_column(name)
        except ValueError as error:
            unknown[name] = error
    return unknown


def _drawn(rows: Population, asked: Queries, unknown: dict[Name, ValueError], whole: bool) -> Drawn:
    """The answers for these rows; a value may be absent from them unless they are the `whole`."""
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
        bits[subset] = np.packbits(inside)
        for column in columns.get(subset, ()):
            try:
                if column in unknown:
                    raise unknown[column]
                if column is not None and column not in amounts:
                    amounts[column] = read_amounts(rows, column, absent=not whole)
                weight[subset, column] = _weigh(rows, inside, column, amounts)
            except ValueError as error:
                failed[subset, column] = error
    present = frozenset() if whole else _present(mask, asked.subsets, failed)
    packed = [bits[subset] for subset in asked.ordered]
    example, kinds = patterns((np.unpackbits(each, count=len(rows)) for each in packed), len(rows))
    return Drawn(asked, weight, failed, amounts, _bits(packed, example), kinds.astype(np.int32), present)


def _weigh(rows: Population, mask: Array, column: Name | None, amounts: dict[Name, Array]) -> float:
    weights = rows.weights
    if column is None:
        return float(mask.sum() if weights is None else weights[mask].sum())
    inside = mask if weights is None else mask & (weights > 0)
    worth = amounts_where(amounts[column], inside, column)
    return float(worth.sum() if weights is None else weights @ worth)


def _bits(packed: Sequence[Array], rows: Array) -> Array:
    """Which subsets these rows are in, (rows, ceil(subsets / 8)), given the bits of each over all."""
    packed_parts = []
    for start in range(0, len(rows), CHUNK):
        chosen = rows[start : start + CHUNK]
        inside = np.zeros((len(chosen), len(packed)), dtype=np.uint8)
        for index, each in enumerate(packed):
            inside[:, index] = (each[chosen // 8] >> (7 - chosen % 8)) & 1
        packed_parts.append(np.packbits(inside, axis=1))
    return np.concatenate(packed_parts)


def _present(mask: Masker, subsets: Iterable[Subset], failed: dict[Any, Any]) -> frozenset[Subset]:
    simple = {each for subset in subsets if subset not in failed for each in elementary(subset)}
    return frozenset(each for each in simple if mask(each).any())


# --- some of the rows ------------------------------------------------------------------------------


def draw_part(drawn: Drawn, rows: Array, part: Population) -> Drawn:
    """The same for `part`, the population of some of the `rows`, from their kinds.

    Columns are read again only if the part may lack a value that a condition names, which is an error.
    """
    asked, kinds = drawn.asked, drawn.kinds[rows]
    used = np.logical_or.reduce(of_all(part, np.bincount(kinds, minlength=len(drawn.bits)) > 0))
    bits, kinds = drawn.bits[used], (np.cumsum(used, dtype=np.int32) - 1)[kinds]
    inside = {subset: bit(bits, place).astype(bool) for place, subset in enumerate(asked.ordered)}
    if drawn.failed or not all(_is_certain(subset, bool(own.any())) for subset, own in inside.items()):
        return draw_up(part, asked)
    amounts = {column: values[rows] for column, values in drawn.amounts.items()}
    for column, values in amounts.items():
        check_amounts(column, any(of_all(part, bool((values > 0).any()))))
    weight = {each: _weigh(part, inside[each[0]][kinds], each[1], amounts) for each in asked.weighed}
    return Drawn(asked, _sums_of(of_all(part, weight)), {}, amounts, bits, kinds, drawn.present)


def _is_certain(subset: Subset, met: bool) -> bool:
    """Whether every value that a subset names surely occurs, given that some row meets it or not."""
    return not spoken_of(subset) or (met and _is_conjunction(subset))


def _is_conjunction(subset: Subset) -> bool:
    """Whether a row in a subset meets all the conditions that it names."""
    if isinstance(subset, Combined):
        if isinstance(subset, Not):
            return not spoken_of(subset)
        return isinstance(subset, All) and all(map(_is_conjunction, subset.parts))
    if isinstance(subset, In):
        return len(subset.values) == 1
    return not isinstance(subset, Compare) or subset.relation != "!="


# --- combining the answers of pieces and of processes ----------------------------------------------


def _together(parts: list[Drawn], population: Population, asked: Queries) -> Drawn:
    """The combined answers of consecutive pieces and of the other processes."""
    weight = _sums(parts)
    failed = reduce(lambda first, other: {**other, **first}, [part.failed for part in parts])
    present = frozenset().union(*(part.present for part in parts))
    bits = _distinct([part.bits for part in parts])
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
    kinds = np.concatenate([_places(part.bits, bits)[part.kinds] for part in parts])
    return Drawn(asked, weight, failed, amounts, bits, kinds.astype(np.int32), present)


def _nobody(condition: Subset, population: Population) -> ValueError:
    name = spoken_of(condition)[0]
    return nobody(condition, next(population.pieces([name])).values(name))


def _sums(parts: Sequence[Drawn]) -> dict[Weighed, float]:
    return _sums_of([part.weight for part in parts])


def _sums_of(weights: Sequence[dict[Weighed, float]]) -> dict[Weighed, float]:
    keys = dict.fromkeys(key for each in weights for key in each)
    return {key: float(sum(each.get(key, 0.0) for each in weights)) for key in keys}


def _distinct(bits: Sequence[Array]) -> Array:
    """The distinct rows, sorted."""
    every = np.concatenate(bits)
    return np.unique(every, axis=0) if every.shape[1] else every[:1]


def _places(own: Array, every: Array) -> Array:
    """The index of each row of `own` in `every`, which is sorted and contains them all."""
    if not every.shape[1]:
        return np.zeros(len(own), dtype=np.intp)
    both = np.unique(np.concatenate([every, own]), axis=0, return_inverse=True)[1].reshape(-1)
    return both[len(every) :]


def membership(drawn: Drawn, own: Sequence[int], slices: int) -> Array:
    """Which cells are in which of all `slices`, as bits; `own` are this population's slices."""
    packed_parts = []
    order = drawn.asked.order
    for start in range(0, len(drawn.patterns), CHUNK):
        bits = np.unpackbits(drawn.patterns[start : start + CHUNK], axis=1, count=len(order))
        inside = np.zeros((len(bits), slices), dtype=np.uint8)
        inside[:, [own[place] for place in order]] = bits
        packed_parts.append(np.packbits(inside, axis=1))
    return np.concatenate(packed_parts)
