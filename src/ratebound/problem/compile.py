"""From a problem and rows to arrays: which cell a row is in, and what every decision in a cell is
worth.

A *cell* is a set of rows that all rates treat alike: rows in the same slices. A population may come
in pieces: totals add up and the cells of pieces are merged, so no step needs all rows at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ratebound.problem.columns import find_distinct
from ratebound.problem.compiled import Block, Budget, Compiled
from ratebound.problem.expand import Row, Threshold, expand
from ratebound.problem.population import (
    Pieces,
    Population,
    as_pieces,
    collect_classes,
)
from ratebound.problem.problem import Problem
from ratebound.problem.slices import Classes, Slice, slices_among, slices_by_decision
from ratebound.rates.sums import FIRST, Rate, Sum

ROUNDING = 1e-12
MOST_COEFFICIENTS = 2**29  # 4 GiB: they are dense, which suits up to a thousand constraints or so

BlockKey = tuple[float | str, Any]  # a threshold and a column of amounts
PLAIN: BlockKey = (0.0, None)


def compile(problem: Problem, rows: Any, **others: Any) -> Compiled:
    """Compile a problem on rows into cells and coefficients.

    Parameters
    ----------
    problem : Problem
        The objective and the constraints.
    rows : Population, or list of Population
        The rows that rates without ``on=`` are about; a list holds pieces of them.
    **others : Population, or list of Population
        Other rows, by the names that rates use with ``on=``.

    Returns
    -------
    Compiled
        Its `evaluate` gives the exact objective and violations of any scores.

    Raises
    ------
    ValueError
        If a constraint names a column, a value, a class or a population that does not exist, or a group
        without rows. The error names the constraint and says what to write.

    Examples
    --------
    >>> import ratebound as rb
    >>> rows = rb.Population(y=[1, 1, 0, 0], columns={"sex": ["F", "M", "F", "M"]})
    >>> problem = rb.Problem("error_rate()", [rb.recall(sex="F") >= 0.9])
    >>> compiled = rb.compile(problem, rows)
    >>> objective, violations = compiled.evaluate([-1.0, 1.0, -1.0, -1.0])
    >>> float(objective), violations
    (0.25, array([0.9]))
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"compile takes a rb.Problem first, got {problem!r}")
    if FIRST in others:
        raise TypeError(f"{FIRST!r} is the name of the first population: choose another")
    populations = {FIRST: as_pieces(rows)}
    for name, other in others.items():
        populations[name] = as_pieces(other)
    return compile_pieces(problem, populations)


def compile_pieces(
    problem: Problem,
    populations: Mapping[str, Pieces],
    reference: Mapping[str, float] | None = None,
    like: Compiled | None = None,
) -> Compiled:
    """Return the problem on pieces of populations.

    Counts are out of `reference` rows, by default all that there are; goals are spelled out as in
    `like`.
    """
    if like is None:
        classes = Classes(*collect_classes(populations))
        objective, rows = expand(problem, populations, classes)
    else:
        classes = like.classes
        objective = like.objective
        rows = list(like.rows)
    sums = [(piece, str(problem.objective)) for piece in objective.pieces]
    sums += [(row.sum, row.text) for row in rows]
    coefficients = _Coefficients(classes, populations, reference)
    for sum_, text in sums:
        coefficients.register(sum_, text)
    cell, bits = coefficients.assign_cells(populations)
    offset, scale = coefficients.fill_rows(sums)
    for index, row in enumerate(rows, start=len(objective.pieces)):
        if row.computed is not None:
            scale[index] = row.computed.scale
    return Compiled(
        problem=problem,
        populations=dict(populations),
        classes=classes,
        objective=objective,
        rows=tuple(rows),
        cell=cell,
        bits=bits,
        slices=len(coefficients.slices),
        blocks=coefficients.make_blocks(),
        offset=offset,
        scale=scale,
        weights=_join_weights(populations),
        thresholds=coefficients.find_thresholds(rows),
        reference=coefficients.reference,
    )


def _join_weights(populations: Mapping[str, Pieces]) -> Any:
    pieces = [piece for listed in populations.values() for piece in listed]
    if all(piece.weights is None for piece in pieces):
        return None
    return np.concatenate([piece.row_weights for piece in pieces])


class _Coefficients:
    """What all sums need to know of the rows, read once, and then their coefficients."""

    def __init__(
        self,
        classes: Classes,
        populations: Mapping[str, Pieces],
        reference: Mapping[str, float] | None,
    ) -> None:
        self.classes = classes
        self.totals: dict[str, float] = {}  # weight of each population
        for name, pieces in populations.items():
            weights = [piece.row_weights.sum() for piece in pieces]
            self.totals[name] = float(sum(weights))
        self.reference = dict(reference or self.totals)
        # slices in which a decision is worth something, by index
        self.slices: dict[Slice, int] = {}
        # of each slice, its weight times a column of amounts, or times 1 for None
        self.weight: dict[tuple[Slice, Any], float] = {}
        self.first_rate: dict[Slice, str] = {}  # for errors
        self.amounts: dict[Any, Any] = {None: None}  # (n,) by column, 0 for rows that no cost needs
        # by block, row, decision and slice
        self.worth: dict[tuple[BlockKey, int, int, int], float] = defaultdict(float)
        self.offset = np.zeros(0)
        self.scale = np.ones(0)

    # --- what is needed of the rows ---

    def register(self, sum_: Sum, text: str) -> None:
        """Register the slices of the rates of a sum."""
        for rate in sum_.terms:
            assert isinstance(rate, Rate)  # expand leaves no quotients
            self._check_rate(rate, text)
            if rate.among is not None:
                for slice_ in slices_among(rate, self.classes):
                    self._register_slice(rate, slice_, None)
            for part in rate.counted:
                by_decision = slices_by_decision(rate, part.event, self.classes)
                depends_on_decision = len(set(by_decision)) > 1
                for slice_ in _distinct_slices(by_decision):
                    self._register_slice(rate, slice_, part.amounts)
                    if depends_on_decision:
                        self.slices.setdefault(slice_, len(self.slices))

    def _register_slice(
        self,
        rate: Rate,
        slice_: Slice,
        amounts: Any,
    ) -> None:
        self.weight[slice_, amounts] = 0.0
        self.first_rate[slice_] = f"{rate}: population {rate.population!r}"

    def _check_rate(self, rate: Rate, text: str) -> None:
        at = rate.option("at", 0.0)
        moves_score = not isinstance(at, str) and at != 0
        if moves_score and len(self.classes.values) > 2:
            raise ValueError(
                f"{rate}: with {len(self.classes.values)} classes no single score compares with "
                f'{at}; name the threshold, as in at="cautious", and it is learned (in {text})'
            )

    # --- rows ---

    def assign_cells(self, populations: Mapping[str, Pieces]) -> tuple[Any, Any]:
        """Return the cell of every row (n,) and the bits of every cell, and add up weights."""
        patterns: list[Any] = []
        cells: list[Any] = []
        amounts: dict[Any, list[Any]] = {}
        for _, column in self.weight:
            if column is not None:
                amounts[column] = []
        start = 0
        for name, pieces in populations.items():
            columns_of: dict[Slice, list[Any]] = defaultdict(list)
            for slice_, column in self.weight:
                if slice_.population == name:
                    columns_of[slice_].append(column)
            for piece in pieces:
                bits = self._read_piece(piece, columns_of, amounts)
                distinct, index = _find_patterns(bits)
                patterns.append(distinct)
                cells.append(index + start)
                start += len(distinct)
        distinct, index = np.unique(np.concatenate(patterns), return_inverse=True)
        self._join_amounts(amounts)
        cell = index[np.concatenate(cells)].astype(np.int32)
        return cell, distinct.view(np.uint8).reshape(len(distinct), -1)

    def _join_amounts(self, amounts: Mapping[Any, list[Any]]) -> None:
        for column, parts in amounts.items():
            self.amounts[column] = np.concatenate(parts)
            if not self.amounts[column].any():
                raise ValueError(
                    f"column {column!r} is used as a cost but is 0 in every row that it prices"
                )

    def _read_piece(
        self,
        piece: Population,
        columns_of: Mapping[Slice, list[Any]],
        amounts: dict[Any, list[Any]],
    ) -> Any:
        """Return the bits of a piece's rows; add up its weights, and append its amounts."""
        width = max(1, math.ceil(len(self.slices) / 8))
        bits = np.zeros((width, len(piece)), dtype=np.uint8)
        priced: list[tuple[Slice, Any, Any]] = []
        needed = {column: np.zeros(len(piece), dtype=bool) for column in amounts}
        for slice_, columns in columns_of.items():
            mask = self._read_slice(piece, slice_)
            index = self.slices.get(slice_)
            if index is not None:
                shift = np.uint8(7 - index % 8)
                bits[index // 8] |= mask.view(np.uint8) << shift
            for column in columns:
                if column is None:
                    self.weight[slice_, None] += piece.weigh(mask)
                else:  # amounts are read once it is known which rows need them
                    needed[column] |= mask
                    priced.append((slice_, column, mask))
        for column, rows in needed.items():
            of_rows = np.zeros(len(piece))
            if rows.any():
                of_rows = piece.amounts(column, rows)
            amounts[column].append(of_rows)
        for slice_, column, mask in priced:
            weighted = piece.row_weights * amounts[column][-1]
            self.weight[slice_, column] += float(weighted[mask].sum())
        return bits.T

    def _read_slice(self, piece: Population, slice_: Slice) -> Any:
        try:
            return slice_.mask(piece, self.classes)
        except ValueError as error:
            raise ValueError(f"{self.first_rate[slice_]}: {error}") from None

    # --- coefficients ---

    def fill_rows(self, sums: list[tuple[Sum, str]]) -> tuple[Any, Any]:
        """Enter the coefficients of every sum as one row, and return offset and scale (p+m,)."""
        self.offset = np.zeros(len(sums))
        self.scale = np.ones(len(sums))
        for number, (sum_, text) in enumerate(sums):
            self._fill_row(number, sum_, text)
        return self.offset, self.scale

    def _fill_row(
        self,
        number: int,
        sum_: Sum,
        text: str,
    ) -> None:
        self.offset[number] += sum_.constant
        for rate, coefficient in sum_.terms.items():
            assert isinstance(rate, Rate)
            share = self._share_of_one_row(rate, text)
            largest = 0.0
            for part in rate.counted:
                key = (rate.option("at", 0.0), part.amounts)
                by_decision = slices_by_decision(rate, part.event, self.classes)
                self._add_part(number, key, by_decision, coefficient * share * part.price)
                for slice_ in _distinct_slices(by_decision):
                    largest += part.price * share * self.weight[slice_, part.amounts]
            unit = 1.0
            if rate.among is None:
                unit = rate.option("per", self.reference[rate.population])
            if rate.name == "cost":
                self.scale[number] = largest
            else:
                self.scale[number] = max(self.scale[number], unit)

    def _add_part(
        self,
        number: int,
        key: BlockKey,
        by_decision: list[Slice | None],
        worth: float,
    ) -> None:
        """Enter one counted event: the first decision as offset, differences from it as worth."""
        first = by_decision[0]
        if first is not None:
            self.offset[number] += worth * self.weight[first, key[1]]
        for decision, slice_ in enumerate(by_decision[1:]):
            if slice_ == first:
                continue  # only differences between decisions matter
            self._add_worth(number, key, decision, slice_, worth)
            self._add_worth(number, key, decision, first, -worth)

    def _add_worth(
        self,
        number: int,
        key: BlockKey,
        decision: int,
        slice_: Slice | None,
        worth: float,
    ) -> None:
        if slice_ is not None:
            self.worth[key, number, decision, self.slices[slice_]] += worth

    def _share_of_one_row(self, rate: Rate, text: str) -> float:
        """Return what one counted row adds to the rate."""
        name = rate.population
        if rate.among is None:
            return rate.option("per", self.reference[name]) / self.totals[name]
        slices = slices_among(rate, self.classes)
        rows = sum(self.weight[slice_, None] for slice_ in slices)
        if rows > 0:
            return 1 / rows
        where = f"where {rate.condition}" if str(rate.condition) else "at all"
        if any(len(slice_.by_label) > 1 for slice_ in slices):
            where += " that has a label it counts"
        raise ValueError(
            f"{rate}: population {name!r} has no row (or no weight) {where}, so this rate does not "
            f"exist here: widen the group, or leave the constraint out (in {text})"
        )

    # --- results ---

    def make_blocks(self) -> tuple[Block, ...]:
        keys = list(dict.fromkeys(key for key, *_ in self.worth)) or [PLAIN]
        rows = len(self.offset)
        decisions = len(self.classes.values)
        shape = (rows, decisions - 1, len(self.slices))
        size = len(keys) * math.prod(shape)
        if size > MOST_COEFFICIENTS:
            raise ValueError(
                f"{rows:,} constraints on {len(self.slices):,} sets of rows need {size:,} coefficients, "
                f"more than {MOST_COEFFICIENTS:,}: name fewer groups, or split the problem"
            )
        coefficients = {key: np.zeros(shape) for key in keys}
        for (key, *index), worth in self.worth.items():
            coefficients[key][tuple(index)] = worth
        blocks = []
        for at, column in keys:
            block = Block(at, self.amounts[column], coefficients[at, column])
            blocks.append(block)
        return tuple(blocks)

    def find_thresholds(self, rows: Iterable[Row]) -> dict[str, Budget]:
        """Return every learned threshold that has a budget, by name."""
        thresholds = {}
        for row in rows:
            if row.threshold is not None:
                thresholds[row.threshold.name] = self._find_budget(row.threshold)
        return thresholds

    def _find_budget(self, budget: Threshold) -> Budget:
        """Return the weight of rows above a threshold."""
        rate = budget.rate
        if len(self.classes.values) > 2:
            raise ValueError(f"{rate}: a threshold orders rows by one score: it takes two classes")
        by_decision = slices_by_decision(rate, rate.counted[0].event, self.classes)
        (slice_,) = _distinct_slices(by_decision)
        weight = self.weight[slice_, None]
        rows = weight
        if rate.among is None:
            rows = 1 / self._share_of_one_row(rate, str(rate))
        wanted = budget.share * rows
        if wanted > weight * (1 + ROUNDING) or weight == 0:
            raise ValueError(
                f"{rate}: there are no rows, or fewer than {budget.share:g}: ask for fewer rows, "
                "or for a share of them, as in precision(top=0.1)"
            )
        return Budget(self.slices[slice_], wanted, budget.at_most)


def _find_patterns(bits: Any) -> tuple[Any, Any]:
    """Return the distinct rows of bits as single values, and each row's index."""
    width = bits.shape[1]
    if width > 8:
        rows = np.ascontiguousarray(bits).view(f"V{width}")
        return np.unique(rows.ravel(), return_inverse=True)
    code = np.zeros(len(bits), dtype=np.int64)
    for column in bits.T:
        _, code = find_distinct(256 * code + column)
    example = np.zeros(code.max() + 1, dtype=np.int64)
    example[code] = np.arange(len(code))
    return np.ascontiguousarray(bits[example]).view(f"V{width}").ravel(), code


def _distinct_slices(by_decision: list[Slice | None]) -> list[Slice]:
    """Return the slices of all decisions, each once, in order."""
    return list(dict.fromkeys(slice_ for slice_ in by_decision if slice_ is not None))
