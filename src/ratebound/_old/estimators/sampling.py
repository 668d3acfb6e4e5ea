"""A sample of rows on disk, or in several processes, for steps that need all scores at once.

The same share of every cell is drawn, and more of small cells, so that every group is represented. Each
drawn row is weighted by the number of rows it stands for, so rates on the sample equal rates on all rows
up to chance.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ratebound._old.base.processes import rank
from ratebound._old.base.types import Array
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile, compile_part
from ratebound._old.problem.frames import stacked_rows
from ratebound._old.problem.population import Population
from ratebound._old.problem.sharing import of_all, total_of
from ratebound._old.rates.subsets import Name
from ratebound._old.tables.kinds import as_texts, read_cells

MOST_SAMPLED = 200_000  # rows of a sample
BYTES = 2**28  # bytes of its features
GATHERED = 2**31  # bytes of all features that each process may hold
ROWS_OF_A_CELL = 50  # rows in a sample, or half of the cell's rows, if that is more than its share
DRAWN = 2**20  # rows to draw from at a time


def sample_and_rest(
    compiled: Compiled, fraction: float, seed: int, known: Sequence[str] = ()
) -> tuple[Compiled, Compiled]:
    """The problem on a sample of its rows, in memory, and on the other rows, for training.

    The sample is a `fraction` of the rows, or as many as memory allows, and the same in every process.
    For a fraction of 0, or if a group has too few rows to be split, the sample is trained on too. All
    values of the `known` columns occur in it.
    """
    most = min(MOST_SAMPLED, max(BYTES // (4 * max(compiled.features.shape[1], 1)), 1))
    share = min(fraction or 1.0, most / sum(compiled.sizes.values()))
    sampled = drawn(compiled.cells, compiled.cell_count, share, seed + rank())
    for name, population in compiled.populations.items():
        if known:
            sampled[compiled.rows[name]][first_of_each(population, known)] = True
    sample = _sample(compiled, sampled, known)
    if not fraction:
        return sample, compiled
    try:
        return sample, compile_part(compiled, ~sampled)
    except ValueError:  # some group has no row left for training
        return sample, compiled


def some_in_memory(population: Population) -> Population:
    """Random rows of a population, as many as fit in memory; itself if it is in memory."""
    if not population.stored:
        return population
    chance = np.random.default_rng(0).random(len(population)) < MOST_SAMPLED / len(population)
    return population.only(chance | (np.arange(len(population)) == 0)).in_memory()


def drawn(cells: Array, count: int, share: float, seed: int) -> Array:
    """Which rows (n,) are in a sample: a share of each of `count` cells, and more of small ones.

    >>> chosen = drawn(np.repeat([0, 1, 2], [10_000, 60, 1]), 3, share=0.1, seed=0)
    >>> [int(chosen[:10_000].sum() // 100), int(chosen[10_000:-1].sum() // 10), int(chosen[-1])]
    [10, 2, 1]
    """
    random = np.random.default_rng(seed)
    sizes = np.bincount(cells, minlength=count)
    chance = np.maximum(share, np.minimum(ROWS_OF_A_CELL / np.maximum(sizes, 1), 0.5))
    chosen = np.zeros(len(cells), dtype=bool)
    for start in range(0, len(cells), DRAWN):
        some = cells[start : start + DRAWN]
        chosen[start : start + DRAWN] = random.random(len(some)) < chance[some]
    lacking = np.flatnonzero((np.bincount(cells[chosen], minlength=count) == 0) & (sizes > 0))
    if len(lacking):
        places = np.flatnonzero(np.isin(cells, lacking))
        chosen[places[np.unique(cells[places], return_index=True)[1]]] = True
    return chosen


def fits_in_each(compiled: Compiled) -> bool:
    """Whether all rows of all processes fit into the memory of each."""
    return 8 * sum(compiled.sizes.values()) * compiled.first.X.shape[1] <= GATHERED


def in_each_process(compiled: Compiled) -> Compiled:
    """The problem on all rows of all processes, in each of them, in the order they were dealt out in."""
    people = {}
    for name, population in compiled.populations.items():
        own = copy.copy(population)
        with suppress(ValueError):  # a population that promises do not name
            own.columns = {each: population.column(each) for each in _needed(compiled)}
        people[name] = _gathered(own, dealt_out=True)
    return compile(compiled.problem, **people)


def _needed(compiled: Compiled, known: Sequence[str] = ()) -> list[Name]:
    """All columns that promises use."""
    decisions = [each for rate in compiled.problem.rates for each in (rate.versus, rate.expert) if each]
    return list(dict.fromkeys([*compiled.problem.columns, *decisions, *known]))


def first_of_each(population: Population, known: Sequence[str]) -> Array:
    """The number of one row for each combination of values of the `known` columns."""
    seen: dict[tuple[object, ...], int] = {}
    start = 0
    for piece in population.pieces(known):
        code = np.zeros(len(piece), dtype=np.int64)
        for name in known:
            cells = as_texts(read_cells(piece.column(name)))
            code = np.unique(code, return_inverse=True)[1] * (len(cells.levels or ()) + 1)
            code += cells.values + 1
        places = np.unique(code, return_index=True)[1]
        few = piece.only(places)
        groups = zip(*(few.plain_column(name) for name in known), strict=True)
        for place, group in zip(places.tolist(), groups, strict=True):
            seen.setdefault(group, start + place)
        start += len(piece)
    return np.array(sorted(seen.values()))


def _sample(compiled: Compiled, sampled: Array, known: Sequence[str]) -> Compiled:
    """The problem on the drawn rows, in memory, with all columns that promises use."""
    needed, people = _needed(compiled, known), compiled.populations
    there, here = (
        total_of(people, np.bincount(cells, minlength=compiled.cell_count))
        for cells in (compiled.cells, compiled.cells[sampled])
    )
    stands_for = there / np.maximum(here, 1)
    people_here = {}
    for name, population in people.items():
        rows = compiled.rows[name]
        chosen = sampled[rows]
        there_too = population.only(chosen)
        few = copy.copy(there_too.in_memory())
        lacking = [each for each in needed if each not in few.column_names]
        with suppress(ValueError):  # for a population without these columns
            few.columns = few.columns | {each: there_too.column(each) for each in lacking}
        few.weights = few.row_weights * stands_for[compiled.cells[rows][chosen]]
        people_here[name] = _gathered(few)
    return compile(compiled.problem, **people_here)


def _gathered(few: Population, *, dealt_out: bool = False) -> Population:
    """These rows and the rows of other processes, the same in all of them.

    Rows that were `dealt_out` in turn are put back into their order.
    """
    parts = of_all(few, few)
    if len(parts) == 1:
        return few
    order: Any = slice(None)
    if dealt_out:
        turns = [(np.arange(len(part)), np.full(len(part), place)) for place, part in enumerate(parts)]
        order = np.lexsort(np.hstack(turns)[::-1])
    columns = {
        name: np.concatenate([part.column(name) for part in parts])[order] for name in few.columns
    }
    together = Population(stacked_rows([part.X for part in parts])[order], columns=columns)
    together.y = None if few.y is None else np.concatenate([part.y for part in parts])[order]
    weights = None if few.weights is None else np.concatenate([part.weights for part in parts])[order]
    together.weights, together.labels = weights, few.labels
    together.everywhere = True
    return together
