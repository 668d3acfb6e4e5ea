"""Compilation: a problem on rows becomes arrays of cells and coefficients.

A *cell* is a set of rows that all rates treat alike: rows in the same slices. Coefficients say what
each decision in a slice is worth. A population may come in pieces: their totals add up and their cells
are merged, so no step needs all rows at once.
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
from ratebound.problem.population import Pieces, Population, as_pieces, collect_classes
from ratebound.problem.problem import Problem
from ratebound.problem.slices import Classes, Slice, list_decision_slices, list_denominator_slices
from ratebound.rates.conditions import Name
from ratebound.rates.sums import FIRST, Rate, Sum

ROUNDING = 1e-12  # relative tolerance of sums of weights
MOST_COEFFICIENTS = 2**29  # 4 GiB; they are dense, which suits up to about a thousand constraints

BlockKey = tuple[float | str, Name | None]  # a threshold and a column of amounts
PLAIN: BlockKey = (0.0, None)


def compile(problem: Problem, rows: Any, **others: Any) -> Compiled:
    """Compile a problem on rows into cells and coefficients.

    Parameters
    ----------
    problem : Problem
        The objective and the constraints.
    rows : Population, or list of Population
        The rows of rates without ``on=``; a list holds pieces of them.
    **others : Population, or list of Population
        Other rows, by the names that rates give with ``on=``.

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

    Counts without ``per=`` are scaled to `reference` rows, by default to all rows. With `like`, goals
    and columns are not spelled out anew, so the constraints are the same.
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
    coefficients.register_slices(sums)
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
    """The coefficients of all sums, in three steps: register slices, read the rows, fill the sums.

    The rows are read once, for all sums together.
    """

    def __init__(
        self,
        classes: Classes,
        populations: Mapping[str, Pieces],
        reference: Mapping[str, float] | None,
    ) -> None:
        self.classes = classes
        self.totals: dict[str, float] = {}  # the weight of each population
        for name, pieces in populations.items():
            weights = [piece.row_weights.sum() for piece in pieces]
            self.totals[name] = float(sum(weights))
        self.reference = dict(reference or self.totals)
        # The slices in which a decision is worth something, with their indices.
        self.slices: dict[Slice, int] = {}
        # The weight of each slice times a column of amounts, or its weight alone for None.
        self.weight: dict[tuple[Slice, Name | None], float] = {}
        self.rate_of_slice: dict[Slice, str] = {}  # for errors
        # Columns of amounts (n,), which are 0 in rows that no cost needs.
        self.amounts: dict[Name | None, Any] = {None: None}
        # What a decision is worth, by block, row, decision and slice.
        self.worth: dict[tuple[BlockKey, int, int, int], float] = defaultdict(float)
        self.offset = np.zeros(0)  # (p+m,)
        self.scale = np.ones(0)  # (p+m,)

    # --- slices ---

    def register_slices(self, sums: list[tuple[Sum, str]]) -> None:
        """Register every slice whose weight or rows the sums need."""
        for sum_, text in sums:
            for rate in sum_.terms:
                assert isinstance(rate, Rate)  # expand leaves no quotients
                self._check_threshold(rate, text)
                self._register_rate(rate)

    def _register_rate(self, rate: Rate) -> None:
        if rate.among is not None:
            for slice_ in list_denominator_slices(rate, self.classes):
                self._register_slice(rate, slice_, None)
        for part in rate.counted:
            by_decision = list_decision_slices(rate, part.event, self.classes)
            depends_on_decision = len(set(by_decision)) > 1
            for slice_ in _distinct_slices(by_decision):
                self._register_slice(rate, slice_, part.amounts)
                if depends_on_decision:
                    self.slices.setdefault(slice_, len(self.slices))

    def _register_slice(self, rate: Rate, slice_: Slice, amounts: Name | None) -> None:
        self.weight[slice_, amounts] = 0.0
        self.rate_of_slice[slice_] = f"{rate}: population {rate.population!r}"

    def _check_threshold(self, rate: Rate, text: str) -> None:
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
        amounts: dict[Name, list[Any]] = {}
        for _, column in self.weight:
            if column is not None:
                amounts[column] = []
        start = 0
        for name, pieces in populations.items():
            columns_of_slice: dict[Slice, list[Name | None]] = defaultdict(list)
            for slice_, column in self.weight:
                if slice_.population == name:
                    columns_of_slice[slice_].append(column)
            for piece in pieces:
                bits = self._read_piece(piece, columns_of_slice, amounts)
                distinct, index = _find_patterns(bits)
                patterns.append(distinct)
                cells.append(index + start)
                start += len(distinct)
        distinct, index = np.unique(np.concatenate(patterns), return_inverse=True)
        self._join_amounts(amounts)
        cell = index[np.concatenate(cells)].astype(np.int32)
        return cell, distinct.view(np.uint8).reshape(len(distinct), -1)

    def _join_amounts(self, amounts: Mapping[Name, list[Any]]) -> None:
        for column, parts in amounts.items():
            self.amounts[column] = np.concatenate(parts)
            if not self.amounts[column].any():
                raise ValueError(
                    f"column {column!r} is used as a cost but is 0 in every row that it prices"
                )

    def _read_piece(
        self,
        piece: Population,
        columns_of_slice: Mapping[Slice, list[Name | None]],
        amounts: dict[Name, list[Any]],
    ) -> Any:
        """Return the bits of a piece's rows; add up its weights, and append its amounts.

        Every slice is read once. Amounts are read last, when it is known which rows need them.
        """
        width = max(1, math.ceil(len(self.slices) / 8))
        bits = np.zeros((width, len(piece)), dtype=np.uint8)
        priced: list[tuple[Slice, Name, Any]] = []
        needed = {column: np.zeros(len(piece), dtype=bool) for column in amounts}
        for slice_, columns in columns_of_slice.items():
            mask = self._read_slice(piece, slice_)
            index = self.slices.get(slice_)
            if index is not None:
                shift = np.uint8(7 - index % 8)
                bits[index // 8] |= mask.view(np.uint8) << shift
            for column in columns:
                if column is None:
                    self.weight[slice_, None] += piece.weigh(mask)
                else:
                    needed[column] |= mask
                    priced.append((slice_, column, mask))
        for column, rows in needed.items():
            amounts_of_piece = np.zeros(len(piece))
            if rows.any():
                amounts_of_piece = piece.amounts(column, rows)
            amounts[column].append(amounts_of_piece)
        for slice_, column, mask in priced:
            weighted = piece.row_weights * amounts[column][-1]
            self.weight[slice_, column] += float(weighted[mask].sum())
        return bits.T

    def _read_slice(self, piece: Population, slice_: Slice) -> Any:
        try:
            return slice_.mask(piece, self.classes)
        except ValueError as error:
            raise ValueError(f"{self.rate_of_slice[slice_]}: {error}") from None

    # --- coefficients ---

    def fill_rows(self, sums: list[tuple[Sum, str]]) -> tuple[Any, Any]:
        """Enter the coefficients of every sum as one row, and return offset and scale (p+m,)."""
        self.offset = np.zeros(len(sums))
        self.scale = np.ones(len(sums))
        for row, (sum_, text) in enumerate(sums):
            self.offset[row] += sum_.constant
            for rate, coefficient in sum_.terms.items():
                assert isinstance(rate, Rate)
                self._add_rate(row, rate, coefficient, text)
        return self.offset, self.scale

    def _add_rate(
        self,
        row: int,
        rate: Rate,
        coefficient: float,
        text: str,
    ) -> None:
        """Enter one term of a sum."""
        value_of_row = self._value_of_one_row(rate, text)
        largest = 0.0  # the rate if every counted event happens
        for part in rate.counted:
            key = (rate.option("at", 0.0), part.amounts)
            by_decision = list_decision_slices(rate, part.event, self.classes)
            self._add_part(row, key, by_decision, coefficient * value_of_row * part.price)
            for slice_ in _distinct_slices(by_decision):
                largest += part.price * value_of_row * self.weight[slice_, part.amounts]
        unit = 1.0
        if rate.among is None:
            unit = rate.option("per", self.reference[rate.population])
        if rate.name == "cost":
            self.scale[row] = largest
        else:
            self.scale[row] = max(self.scale[row], unit)

    def _add_part(
        self,
        row: int,
        key: BlockKey,
        by_decision: list[Slice | None],
        worth: float,
    ) -> None:
        """Enter one counted event: the first decision as offset, differences from it as worth."""
        first = by_decision[0]
        if first is not None:
            self.offset[row] += worth * self.weight[first, key[1]]
        for decision, slice_ in enumerate(by_decision[1:]):
            if slice_ == first:
                continue  # only differences between decisions matter
            self._add_worth(row, key, decision, slice_, worth)
            self._add_worth(row, key, decision, first, -worth)

    def _add_worth(
        self,
        row: int,
        key: BlockKey,
        decision: int,
        slice_: Slice | None,
        worth: float,
    ) -> None:
        if slice_ is not None:
            self.worth[key, row, decision, self.slices[slice_]] += worth

    def _value_of_one_row(self, rate: Rate, text: str) -> float:
        """Return what one counted row of weight 1 adds to the rate."""
        name = rate.population
        if rate.among is None:
            return rate.option("per", self.reference[name]) / self.totals[name]
        slices = list_denominator_slices(rate, self.classes)
        weight = sum(self.weight[slice_, None] for slice_ in slices)
        if weight > 0:
            return 1 / weight
        where = f"where {rate.condition}" if str(rate.condition) else "at all"
        if any(len(slice_.table) > 1 for slice_ in slices):
            where += " that has a label it counts"
        raise ValueError(
            f"{rate}: population {name!r} has no row (or no weight) {where}, so this rate does not "
            "exist here: widen the group, or leave the constraint out, as min_rows=1 does in a goal "
            f"(in {text})"
        )

    # --- results ---

    def make_blocks(self) -> tuple[Block, ...]:
        """Return the coefficients as arrays, one block for each threshold and column of amounts."""
        keys = list(dict.fromkeys(key for key, *_ in self.worth))
        if not keys:
            keys = [PLAIN]  # decisions change nothing
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
        for key in keys:
            at, column = key
            blocks.append(Block(at, self.amounts[column], coefficients[key]))
        return tuple(blocks)

    def find_thresholds(self, rows: Iterable[Row]) -> dict[str, Budget]:
        """Return every learned threshold that has a budget, by name."""
        thresholds = {}
        for row in rows:
            if row.threshold is not None:
                thresholds[row.threshold.name] = self._find_budget(row.threshold)
        return thresholds

    def _find_budget(self, threshold: Threshold) -> Budget:
        """Return the weight of rows that a learned threshold lets pass."""
        rate = threshold.rate
        if len(self.classes.values) > 2:
            raise ValueError(
                f"{rate}: a learned threshold ranks rows by one score, so it takes two classes"
            )
        by_decision = list_decision_slices(rate, rate.counted[0].event, self.classes)
        (slice_,) = _distinct_slices(by_decision)
        weight = self.weight[slice_, None]
        unit = weight
        if rate.among is None:
            unit = 1 / self._value_of_one_row(rate, str(rate))
        passed = threshold.share * unit
        if passed > weight * (1 + ROUNDING) or weight == 0:
            raise ValueError(
                f"{rate}: there are no rows, or fewer than {threshold.share:g}: ask for fewer rows, "
                "or for a share of them, as in precision(top=0.1)"
            )
        return Budget(self.slices[slice_], passed, threshold.at_most)


def _find_patterns(bits: Any) -> tuple[Any, Any]:
    """Return the distinct rows of bits (n, bytes), each as one value of bytes, and every row's index."""
    width = bits.shape[1]
    if width > 8:
        rows = np.ascontiguousarray(bits).view(f"V{width}")
        return np.unique(rows.ravel(), return_inverse=True)
    # Up to 64 slices, numbering the rows byte by byte is faster than sorting them.
    code = np.zeros(len(bits), dtype=np.int64)
    for column in bits.T:
        _, code = find_distinct(256 * code + column)
    example = np.zeros(code.max() + 1, dtype=np.int64)
    example[code] = np.arange(len(code))
    distinct = np.ascontiguousarray(bits[example]).view(f"V{width}")
    return distinct.ravel(), code


def _distinct_slices(by_decision: list[Slice | None]) -> list[Slice]:
    """Return the slices of all decisions, each once, in order."""
    return list(dict.fromkeys(slice_ for slice_ in by_decision if slice_ is not None))
