"""A problem on rows: decisions become counts, and values are ``offset + counts · coefficients``.

Scores are (K, A, n) for K models. With two classes A is 1, and a score of 0 or more is a yes. Else A is
the number of decisions D: the largest score decides, and the later of equals. Decisions are indices of
classes (K, n).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ratebound.problem.columns import find_distinct
from ratebound.problem.objectives import Objective
from ratebound.problem.population import Pieces, Population
from ratebound.problem.problem import Problem

if TYPE_CHECKING:
    from ratebound.problem.expand import Row
    from ratebound.problem.slices import Classes

CHUNK = 1024  # cells whose bits are unpacked at a time, so that cells x slices never exist at once
EXACT_IN_SINGLE = 2**24  # integers up to here add up exactly in single precision
CODE_BITS = 31  # slices in a code of cells before the codes are renumbered
ROUNDING = 1e-12  # relative tolerance of sums of weights


@dataclass(frozen=True, eq=False)
class Block:
    """What decisions at one threshold are worth, for each unit of a column of amounts."""

    at: float | str  # a number, or the name of a learned threshold
    amounts: Any  # (n,) factors of the weights, or None
    coefficients: Any  # (p+m, D-1, slices): each decision's worth minus the first one's


class Budget(NamedTuple):
    """The weight of the rows of a slice that a learned threshold lets pass."""

    slice: int
    weight: float
    at_most: bool  # whether they weigh at most this much, or at least


@dataclass(frozen=True, eq=False)
class Compiled:
    """Hold a problem on rows as arrays; `compile` makes it.

    The objective has p pieces, and there are m constraints, each met if its violation is at most 0.
    There are n rows and D decisions.

    Examples
    --------
    >>> import ratebound as rb
    >>> rows = rb.Population(y=[1, 1, 0, 0])
    >>> compiled = rb.compile(rb.Problem("error_rate()", ["recall() >= 0.9"]), rows)
    >>> compiled
    Compiled(1 constraints, 4 rows, 2 cells, 2 slices)
    >>> compiled.values(compiled.count([1.0, -1.0, -1.0, -1.0]))
    array([[0.25, 0.4 ]])
    """

    problem: Problem
    populations: Mapping[str, Pieces]
    classes: Classes
    objective: Objective
    rows: tuple[Row, ...]  # (m,) one for each bound
    cell: Any  # (n,) the cell of every row, populations one after another
    bits: Any  # (cells, ceil(slices / 8)) packed: whether a cell is in a slice
    slices: int
    blocks: tuple[Block, ...]
    offset: Any  # (p+m,) the values if every row gets the first decision
    scale: Any  # (p+m,) the unit of each violation: 1 for shares, larger for counts and costs
    weights: Any  # (n,) or None
    thresholds: dict[str, Budget]  # learned thresholds by name
    reference: dict[str, float]  # the rows of each population that counts are scaled to

    def __repr__(self) -> str:
        sizes = f"{len(self.cell):,} rows, {len(self.bits):,} cells, {self.slices:,} slices"
        return f"Compiled({len(self.rows)} constraints, {sizes})"

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(row.text for row in self.rows)

    @property
    def decisions(self) -> int:
        return len(self.classes.values)

    # --- cells and slices ---

    def unpack_cells(self, start: int, stop: int) -> Any:
        """Return 1 where a cell is in a slice, else 0 (stop - start, slices)."""
        return np.unpackbits(self.bits[start:stop], axis=1, count=self.slices)

    def per_slice(self, counts: Any) -> Any:
        """Sum numbers of cells (..., cells) over the cells of every slice (..., slices)."""
        flat = counts.reshape(-1, len(self.bits))
        total = np.zeros((len(flat), self.slices))
        are_whole = not (flat % 1).any() and np.abs(flat).sum() < EXACT_IN_SINGLE
        precision = np.float32 if are_whole else np.float64  # single is three times as fast
        numbers = flat.astype(precision)
        for start in range(0, len(self.bits), CHUNK):
            stop = start + CHUNK
            inside = self.unpack_cells(start, stop).astype(precision)
            total += numbers[:, start:stop] @ inside
        return total.reshape(*counts.shape[:-1], self.slices)

    def per_cell(self, worth: Any) -> Any:
        """Sum numbers of slices (..., slices) over the slices of every cell (..., cells)."""
        flat = worth.reshape(-1, self.slices)
        parts = []
        for start in range(0, len(self.bits), CHUNK):
            inside = self.unpack_cells(start, start + CHUNK)
            parts.append(flat @ inside.T)
        total = np.concatenate(parts, axis=1)
        return total.reshape(*worth.shape[:-1], len(self.bits))

    # --- counting ---

    def count(self, scores: Any, thresholds: Mapping[str, Any] | None = None) -> Any:
        """Return the weight of each decision but the first, in each cell.

        Parameters
        ----------
        scores : array
            Scores (n,) of one model, or (K, n) of K models. With D > 2 decisions (D, n) or (K, D, n).
        thresholds : mapping, default=None
            Learned thresholds (K, D-1) by name.

        Returns
        -------
        array of shape (B, K, D-1, cells)
            The counts of each block of coefficients and each model. Counts add up.
        """
        scores = self.check_scores(scores)
        learned = self.choose_thresholds(scores) | dict(thresholds or {})
        counts = []
        for block in self.blocks:
            at = _broadcast_thresholds(scores, _find_threshold(block, learned))
            counts.append(self._count_models(block, scores, at))
        return np.array(counts, dtype=float)

    def _count_models(self, block: Block, scores: Any, at: Any) -> list[Any]:
        """Count one model after another, so that the decisions of all never exist at once."""
        counts = []
        for model in range(len(scores)):
            one = slice(model, model + 1)
            decisions = decide(scores[one], at[one])
            counts.append(self._count_model(block, decisions[0]))
        return counts

    def count_decisions(self, decisions: Any) -> Any:
        """Return the same counts for decisions.

        Parameters
        ----------
        decisions : array of shape (n,) or (K, n)
            Indices of classes.

        Returns
        -------
        array of shape (B, K, D-1, cells)
            As `count` returns them.
        """
        if any(block.at != 0 for block in self.blocks):
            raise ValueError(
                "these constraints move the threshold, so they need scores, not decisions"
            )
        decisions = np.atleast_2d(decisions)
        are_indices = decisions.dtype.kind in "biu" and decisions.shape[1:] == self.cell.shape
        if not are_indices or decisions.min() < 0 or decisions.max() >= self.decisions:
            raise ValueError(
                f"decisions are indices of classes, one for each of {len(self.cell):,} rows"
            )
        counts = []
        for block in self.blocks:
            for model in decisions:
                counts.append(self._count_model(block, model))
        shape = (len(self.blocks), len(decisions), self.decisions - 1, len(self.bits))
        return np.array(counts, dtype=float).reshape(shape)

    def _count_model(self, block: Block, decisions: Any) -> Any:
        """Return the counts (D-1, cells) of one model's decisions (n,)."""
        cells = len(self.bits)
        index = self.cell + decisions.astype(np.int64) * cells
        counts = np.bincount(index, self.weight_of(block), self.decisions * cells)
        return counts[cells:].reshape(self.decisions - 1, cells)

    def weight_of(self, block: Block) -> Any:
        """Return the weight of every row (n,) times its amount; None if all are 1."""
        if block.amounts is None:
            return self.weights
        if self.weights is None:
            return block.amounts
        return block.amounts * self.weights

    def weigh_cells(self, block: Block) -> Any:
        """Return the weight of every cell (cells,), with the amounts of its rows."""
        return np.bincount(self.cell, self.weight_of(block), len(self.bits))

    def values(self, counts: Any) -> Any:
        """Return the values that belong to counts.

        Parameters
        ----------
        counts : array of shape (B, K, D-1, cells)
            As `count` returns them, or a sum of several.

        Returns
        -------
        array of shape (K, p+m)
            The pieces of the objective, then the violations.
        """
        total = self.offset
        for block, count in zip(self.blocks, counts, strict=True):
            by_slice = self.per_slice(count).reshape(len(count), -1)
            coefficients = block.coefficients.reshape(len(self.offset), -1)
            total = total + by_slice @ coefficients.T
        return total

    def evaluate(self, scores: Any, thresholds: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        """Return the objective, to be minimised, and the violations, met where <= 0.

        Parameters
        ----------
        scores : array
            As for `count`.
        thresholds : mapping, default=None
            As for `count`.

        Returns
        -------
        array of shape (K,)
            The objectives; for the scores of one model, a number.
        array of shape (K, m)
            The violations; for the scores of one model, (m,).
        """
        values = self.values(self.count(scores, thresholds))
        pieces = len(self.objective.pieces)
        objectives = self.objective.value(values[:, :pieces])
        violations = values[:, pieces:]
        if np.ndim(scores) == self._score_axes:
            return objectives, violations
        return objectives[0], violations[0]

    @property
    def _score_axes(self) -> int:
        return 3 if self.decisions > 2 else 2

    def check_scores(self, scores: Any) -> Any:
        """Return scores (n,), (K, n), (D, n) or (K, D, n) as finite floats (K, A, n)."""
        array = np.asarray(scores)
        shaped = array if array.ndim == self._score_axes else array[None]
        rows = len(self.cell)
        wanted: tuple[int, ...] = (self.decisions, rows)
        if self.decisions == 2:
            wanted = (rows,)
        if array.dtype.kind not in "biuf" or shaped.shape[1:] != wanted:
            sizes = ", ".join(f"{size:,}" for size in wanted)
            raise ValueError(
                f"scores of shape {array.shape}: expected ({sizes}) numbers for each model"
            )
        if not np.isfinite(shaped).all():
            raise ValueError("scores hold NaN or infinite values, so there is no decision to count")
        if shaped.dtype.kind != "f":
            shaped = shaped.astype(float)
        if self.decisions == 2:
            return shaped[:, None]
        return shaped

    def choose_thresholds(self, scores: Any) -> dict[str, Any]:
        """Return the best value (K, D-1) of every learned threshold that has a budget, by name."""
        learned = {}
        for name, budget in self.thresholds.items():
            inside = self._is_in_slice(budget.slice)[self.cell].astype(bool)
            weights = np.ones(int(inside.sum()))
            if self.weights is not None:
                weights = self.weights[inside]
            thresholds = []
            for model in scores:
                thresholds.append([_spend_budget(budget, model[0][inside], weights)])
            learned[name] = np.array(thresholds)
        return learned

    def _is_in_slice(self, index: int) -> Any:
        """Return 1 where a cell is in the slice, else 0 (cells,)."""
        byte = self.bits[:, index // 8]
        shift = 7 - index % 8
        return (byte >> shift) & 1

    # --- bounds ---

    def least_values(self) -> Any:
        """Return a lower limit (p+m,) of every value: the best decision in each cell and block."""
        total = self.offset.copy()
        for block in self.blocks:
            weight = self.weigh_cells(block)
            for row, worth in enumerate(block.coefficients):
                values, pattern_of_cell = self._find_worth(worth)
                weight_of_pattern = np.bincount(pattern_of_cell, weight, len(values))
                total[row] += weight_of_pattern @ values.min(axis=1)
        return total

    def _find_worth(self, worth: Any) -> tuple[Any, Any]:
        """Return what each decision is worth in each pattern (patterns, D), and every cell's pattern.

        A *pattern* is a set of cells that share all slices in which a decision is worth something. One
        constraint uses few slices, so there are far fewer patterns than cells.
        """
        code = np.zeros(len(self.bits), dtype=np.int64)
        used = np.flatnonzero(worth.any(axis=0))
        for number, index in enumerate(used.tolist(), start=1):
            code = 2 * code + self._is_in_slice(index)
            if number % CODE_BITS == 0:  # so that codes do not overflow
                _, code = find_distinct(code)
        _, pattern_of_cell = find_distinct(code)
        example = np.zeros(pattern_of_cell.max() + 1, dtype=np.int64)  # a cell of each pattern
        example[pattern_of_cell] = np.arange(len(pattern_of_cell))
        inside = np.unpackbits(self.bits[example], axis=1, count=self.slices)
        worth_of_first = np.zeros((len(example), 1))
        worth_of_others = inside[:, used] @ worth[:, used].T
        return np.hstack([worth_of_first, worth_of_others]), pattern_of_cell

    # --- the same problem on other rows ---

    def select(self, rows: Any) -> Compiled:
        """Compile the same problem on some of the rows.

        Parameters
        ----------
        rows : array of shape (n,)
            True for rows to keep.

        Returns
        -------
        Compiled
            The groups are the same as on all rows, and counts are scaled to all rows.
        """
        from ratebound.problem.compile import compile_pieces

        mask = np.asarray(rows)
        selected: dict[str, list[Population]] = {}
        start = 0
        for name, pieces in self.populations.items():
            selected[name] = []
            for piece in pieces:
                inside = mask[start : start + len(piece)]
                start += len(piece)
                if inside.any():
                    selected[name].append(piece.select(inside))
            if not selected[name]:
                raise ValueError(
                    f"no row of population {name!r} is left, so nothing can be measured there"
                )
        return compile_pieces(self.problem, selected, self.reference, like=self)


def decide(scores: Any, at: Any = 0.0) -> Any:
    """Return decisions (K, n) of scores (K, A, n) at a threshold: a number, or (K, D-1)."""
    at = _broadcast_thresholds(scores, at)
    if scores.shape[1] == 1:
        return (scores[:, 0] >= at).astype(np.int64)
    best = scores[:, 0].copy()
    decisions = np.zeros(best.shape, dtype=np.int64)
    for decision in range(1, scores.shape[1]):
        score = scores[:, decision] - at[:, decision - 1 : decision]
        np.copyto(decisions, decision, where=score >= best)
        np.maximum(best, score, out=best)
    return decisions


def _broadcast_thresholds(scores: Any, at: Any) -> Any:
    """Return the thresholds (K, D-1) of every model; the first decision has none."""
    shape = (len(scores), max(1, scores.shape[1] - 1))
    return np.broadcast_to(np.asarray(at, dtype=scores.dtype), shape)


def _find_threshold(block: Block, learned: Mapping[str, Any]) -> Any:
    if not isinstance(block.at, str):
        return block.at
    if block.at not in learned:
        raise ValueError(
            f"the threshold {block.at!r} is learned: pass thresholds={{{block.at!r}: ...}}"
        )
    return learned[block.at]


def _spend_budget(budget: Budget, scores: Any, weights: Any) -> float:
    """Return the lowest threshold within a budget, or the highest that passes enough rows."""
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    passed = np.cumsum(weights[order])
    if budget.at_most:
        first_beyond = int(np.searchsorted(passed, budget.weight, side="right"))
        if first_beyond == len(scores):
            return float(descending[-1])
        return float(np.nextafter(descending[first_beyond], np.inf))
    last = int(np.searchsorted(passed, budget.weight * (1 - ROUNDING)))
    last = min(last, len(scores) - 1)
    return float(descending[last])
