"""The coefficients of a compiled problem, and the costs that a model descends, into which they split.

On a row of data a constraint has one coefficient for each decision: the sum over the slices that the row
is in, and 0 for the first decision. Only differences count, so the cheapest decision costs nothing, and
each other decision costs the difference. Sorted, these costs rise in steps. Each step is paid if the
decision is outside the *target*, the set of cheaper decisions:

    cost(d) = Σ_steps rise · [d outside the target]        rise > 0

A model descends a bound of each bracket. With two classes a row has at most one step: a yes costs
max(c, 0), outside the target {no}, or a no max(-c, 0), outside {yes}.

A step is not linear in the slices' coefficients, but it depends only on *which* of the constraint's own
few slices the row is in. So for each constraint, list the patterns that occur, and solve for
coefficients over its slices that give the rise on each pattern. For one group against everyone
(patterns: neither, everyone, both) that always succeeds. If groups overlap it may fail. Then each
pattern of two or more slices becomes a slice of its own, which takes up the difference.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.masks import patterns

CHUNK = 4096  # cells unpacked at a time, so that no array of cells x slices is ever made
Entry = tuple[int, int, int, float]  # row, target, slice, coefficient
Target = tuple[bool, ...]  # whether each decision is in it


@dataclass(frozen=True, eq=False)
class Block:
    """The coefficients of decisions at one threshold, for one column of amounts if costs use one.

    Most problems have one block, at 0 and without amounts.

    `net` is sparse, with one row for the objective and each constraint. Let there be D decisions and S
    slices. A row of data that is in a slice and is decided d > 0 adds the entry of `net` in column
    (d - 1) S + slice: only differences between decisions matter, so the first decision adds nothing.
    """

    at: float | str  # a number, or the name of a threshold that is learned
    net: Any  # (1+m, (D - 1) * S) CSR
    amounts: Array | None = None  # (n,) the amount of each row, besides its weight


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of decisions over slices, as compiling computes them."""

    blocks: tuple[Block, ...]
    membership: Array  # (cells, ceil(slices / 8)) bits
    slice_count: int
    decisions: int

    @cached_property
    def split(self) -> SplitCosts:
        """The same as costs: computed when first needed, and kept for every copy of a problem."""
        return _split(self)


@dataclass(frozen=True, eq=False)
class SplitCosts:
    """A compiled problem's coefficients as costs, in column t S + slice of a block's matrix.

    With two classes the targets are {no} and {yes}: a yes pays the first S columns, a no the others.
    """

    membership: Array  # (cells, ceil(slices / 8)), with the new slices
    slice_count: int  # S
    blocks: tuple[Block, ...]  # the same coefficients, over S slices
    costs: tuple[Any, ...]  # of each block (1+m, T * S) CSR; never negative once summed per row
    targets: Array  # (T, D) bool, the decisions that avoid each cost


@dataclass
class _Collected:
    """Targets and slices, collected as they occur."""

    slice_count: int  # before any new ones
    targets: dict[Target, int]
    masks: dict[bytes, int] = field(default_factory=dict)  # packed over cells -> its new slice


def _split(given: Coefficients) -> SplitCosts:
    """The costs of all blocks, and membership with new slices."""
    from scipy import sparse

    decisions, slice_count, membership = given.decisions, given.slice_count, given.membership
    two: dict[Target, int] = {(True, False): 0, (False, True): 1} if decisions == 2 else {}
    collected = _Collected(slice_count, two)
    entries = [_split_rows(block.net, membership, decisions - 1, collected) for block in given.blocks]
    if not collected.targets:  # nothing has a cost, which is a cost of 0 for missing any target
        collected.targets[(True, *[False] * (decisions - 1))] = 0
    if collected.masks:
        membership = _widened(membership, slice_count, list(collected.masks))
    total, blocks = slice_count + len(collected.masks), []
    for block in given.blocks:
        entered, shape = block.net.tocoo(), (block.net.shape[0], (decisions - 1) * total)
        moved = entered.col // slice_count * total + entered.col % slice_count
        widened = sparse.csr_array((entered.data, (entered.row, moved)), shape=shape)
        blocks.append(replace(block, net=widened))
    rows = given.blocks[0].net.shape[0]
    return SplitCosts(
        membership=membership,
        slice_count=total,
        blocks=tuple(blocks),
        costs=tuple(_matrix(each, rows, len(collected.targets), total) for each in entries),
        targets=np.array(list(collected.targets), dtype=bool).reshape(-1, decisions),
    )


def _split_rows(net: Any, membership: Array, others: int, known: _Collected) -> list[Entry]:
    entries: list[Entry] = []
    slices = known.slice_count
    for row in range(net.shape[0]):
        own = slice(net.indptr[row], net.indptr[row + 1])
        if not len(net.indices[own]):
            continue
        decision, index = np.divmod(net.indices[own], slices)
        columns, place = np.unique(index, return_inverse=True)
        coefficients = np.zeros((len(columns), 1 + others))
        coefficients[place, 1 + decision] = net.data[own]
        inside = [bit(membership, column) for column in columns]
        example, which = patterns(inside[::-1], len(membership))
        member = np.column_stack([mask[example] for mask in inside]).astype(float)  # (p, k)
        values = member @ coefficients  # (p, D)
        rounding = 1e-13 * np.abs(coefficients).max()
        for target, wanted in _steps(values, rounding).items():
            t = known.targets.setdefault(target, len(known.targets))
            solved = np.linalg.lstsq(member, wanted, rcond=None)[0]
            if not np.allclose(member @ solved, wanted, rtol=1e-12, atol=1e-14 * np.abs(values).max()):
                several = member.sum(axis=1) > 1
                solved = wanted[~several] @ member[~several]
                for pattern in np.flatnonzero(several):
                    mask = np.packbits(which == pattern).tobytes()
                    new = known.masks.setdefault(mask, slices + len(known.masks))
                    entries.append((row, t, new, float(wanted[pattern] - member[pattern] @ solved)))
            entries += [(row, t, int(c), float(x)) for c, x in zip(columns, solved, strict=True)]
    return entries


def _steps(values: Array, rounding: float) -> dict[Target, Array]:
    """The steps in which the costs of decisions (p, D) rise: targets, each with its rises (p,)."""
    order = np.argsort(values, axis=1, kind="stable")
    ranked, rows = np.take_along_axis(values, order, axis=1), np.arange(len(values))
    cheaper = np.zeros(values.shape, dtype=bool)
    rises: dict[Target, Array] = {}
    for place in range(1, values.shape[1]):
        cheaper[rows, order[:, place - 1]] = True
        rise = ranked[:, place] - ranked[:, place - 1]
        steps = np.flatnonzero(rise > rounding)
        targets, which = np.unique(cheaper[steps], axis=0, return_inverse=True)
        for index, target in enumerate(map(tuple, targets.tolist())):
            own = steps[which.reshape(-1) == index]
            rises.setdefault(target, np.zeros(len(values)))[own] = rise[own]
    return rises


def _widened(membership: Array, slice_count: int, masks: list[bytes]) -> Array:
    """Membership with one more slice for each packed mask over cells, a chunk of cells at a time."""
    chunks = []
    for start in range(0, len(membership), CHUNK):  # CHUNK is a multiple of 8, so bytes stay whole
        old = membership[start : start + CHUNK]
        part = slice(start // 8, (start + CHUNK) // 8)
        packed = np.stack([np.frombuffer(mask, np.uint8)[part] for mask in masks])
        new = np.unpackbits(packed, axis=1, count=len(old)).T
        chunks.append(
            np.packbits(np.hstack([np.unpackbits(old, axis=1, count=slice_count), new]), axis=1)
        )
    return np.concatenate(chunks)


def _matrix(entries: list[Entry], rows: int, targets: int, slices: int) -> Any:
    from scipy import sparse

    row, target, index, value = map(np.array, zip(*entries, strict=True)) if entries else [()] * 4
    column = np.asarray(target, dtype=np.int64) * slices + np.asarray(index, dtype=np.int64)
    shape = (rows, targets * slices)
    matrix = sparse.csr_array((np.asarray(value, float), (np.asarray(row, int), column)), shape=shape)
    matrix.eliminate_zeros()
    return matrix


def bit(membership: Array, index: int) -> Array:
    """One slice's column of the packed membership, as zeros and ones per cell."""
    return (membership[:, index // 8] >> (7 - index % 8)) & 1
