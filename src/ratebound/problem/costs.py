"""Coefficients as costs that a model descends, each paid if the decision misses a *target* set.

Sorted, what decisions cost in a cell rises in steps: ``cost(d) = Σ rise · [d outside target]``,
where the target is the set of cheaper decisions. A row touches few slices, so few patterns of them
occur; each pattern is a slice of the costs, and in it a rise is one number that is never negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.problem.compiled import Block, Compiled

SMALLEST_RISE = 1e-13  # as a share of a row's largest coefficient; below it, rounding


@dataclass(frozen=True, eq=False)
class Costs:
    """What missing each target costs: ``Σ rises[b][r, t, pattern]`` over the patterns of a cell."""

    targets: Any  # (T, D) bool: the decisions that avoid the cost
    patterns: tuple[
        Any, ...
    ]  # of cells, each (cells / 8) packed; those of one row and block are disjoint
    rises: tuple[
        tuple[Any, Any, Any, Any], ...
    ]  # of each block: rows, targets, patterns, rises, as entries

    def per_cell(self, block: int, row: int, cells: int) -> Any:
        """Return the cost of missing each target in each cell (T, cells)."""
        costs = np.zeros((len(self.targets), cells))
        rows, targets, patterns, rises = self.rises[block]
        for entry in np.flatnonzero(rows == row):
            packed = self.patterns[patterns[entry]]
            inside = np.unpackbits(packed, count=cells).astype(bool)
            costs[targets[entry], inside] += rises[entry]
        return costs


def split_costs(compiled: Compiled) -> Costs:
    """Return the coefficients of every row as costs, but for constants."""
    splitter = _Splitter(compiled)
    rises = tuple(splitter.split_block(block) for block in compiled.blocks)
    targets = np.array(list(splitter.targets), dtype=bool)
    targets = targets.reshape(-1, compiled.decisions)
    patterns = tuple(np.frombuffer(packed, np.uint8) for packed in splitter.patterns)
    return Costs(targets, patterns, rises)


class _Splitter:
    """The targets and patterns met so far, numbered in order."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.targets: dict[tuple[bool, ...], int] = {}
        self.patterns: dict[bytes, int] = {}

    def split_block(self, block: Block) -> Any:
        entries: list[tuple[int, int, int, float]] = []
        for row, worth in enumerate(block.coefficients):
            smallest = SMALLEST_RISE * np.abs(worth).max(initial=0)
            worth_of_pattern, pattern_of_cell = self.compiled.worth_by_pattern(worth)
            for pattern, costs in enumerate(worth_of_pattern):
                steps = self._list_rises(costs, smallest)
                if steps:
                    number = self._number_pattern(pattern_of_cell == pattern)
                    entries += [(row, target, number, rise) for target, rise in steps]
        columns = zip(*entries, strict=True) if entries else ((), (), (), ())
        return tuple(np.array(column) for column in columns)

    def _list_rises(self, costs: Any, smallest: float) -> list[tuple[int, float]]:
        """Return the targets of one pattern and what missing each costs."""
        order = np.argsort(costs, kind="stable")
        rises = np.diff(costs[order])
        steps = []
        for step in np.flatnonzero(rises > smallest):
            is_cheaper = np.zeros(len(order), dtype=bool)
            is_cheaper[order[: step + 1]] = True
            target = tuple(is_cheaper.tolist())
            number = self.targets.setdefault(target, len(self.targets))
            steps.append((number, float(rises[step])))
        return steps

    def _number_pattern(self, inside: Any) -> int:
        packed = np.packbits(inside).tobytes()
        return self.patterns.setdefault(packed, len(self.patterns))
