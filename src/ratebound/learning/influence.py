"""Influence is how far rows move constraints; from it follow errors, and how rules vary.

A constraint is a constant and a sum of *shares*: of some rows, so many are counted. One more row
moves a share by its distance from it, divided by the weight of the rows that it is a share of. Rows
drawn together, a *unit*, add up and count as one. Two units are imagined beside those of each share,
one that it counts and one that it does not, if the decisions made allow for both: ten right
decisions of ten are not certainty, but without any yes every recall is 0.

In what follows there are E shares in m constraints, and a *cell* is a kind of rows with a decision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.problem.slices import Slice, list_decision_slices, list_denominator_slices
from ratebound.rates.conditions import EVERYONE, Name
from ratebound.rates.sums import Part, Rate

MOST_UNITS = 20_000  # of which correlations are measured; standard errors are of all
LEAST_VARIANCE = 1e-24
LEAST_WEIGHT = 1e-300  # of the rows of a share

Counted = tuple[Rate, Part]


@dataclass(frozen=True, eq=False)
class Moves:
    """How far rows move constraints at some decisions."""

    cell: Any  # (n,)
    violations: Any  # (m,)
    by_cell: Any  # (m, a, cells) for each of the amounts
    imagined: Any  # (m,) variances of the units that are imagined


@dataclass(frozen=True, eq=False)
class Influence:
    """How rows move constraints, whatever is decided on them."""

    kind: Any  # (n,) rows of one kind are counted alike
    decisions: int
    amounts: Any  # (a, n) what rows count for: their weights, and these times each column
    counting: Any  # (a, E) which shares count it, as ones and zeros
    largest: Any  # (E,) the largest amount that a row counts for, whatever its weight
    constants: Any  # (m,)
    worth: Any  # (m, E) of shares in constraints
    counted: csr_array  # (E, cells) what a share counts, divided by the weight of all its rows
    among: csr_array  # (E, cells) the rows that it is a share of, divided by the same
    sizes: Any  # (E,) units that it is a share of; of pairs, at the end with fewer
    imagined: Any  # (E,) the weight of a unit that is imagined, divided by the same
    units: Any  # (1, n) the unit of every row, or (2, n) of both ends of every pair

    @property
    def weights(self) -> Any:
        return self.amounts[0]

    @property
    def cells(self) -> int:
        return self.counted.shape[1]

    @cached_property
    def unit_count(self) -> int:
        return 1 + int(self.units.max())

    # --- errors ---

    def compute_errors(self, decisions: Any) -> Any:
        """Return the standard errors (m,) of violations at decisions (n,), on as many new rows."""
        moves = self._measure_moves(decisions)
        return self._compute_errors(moves)

    def _compute_errors(self, moves: Moves) -> Any:
        variances = [sums @ sums for sums in self._sum_by_unit(moves)]
        return np.sqrt(variances + moves.imagined + LEAST_VARIANCE)

    def correlate(
        self,
        decisions: Iterable[Any],
        random: np.random.Generator,
    ) -> Any:
        """Return how N rules (n,) deviate together in m constraints (N m, N m)."""
        units = np.arange(self.unit_count)
        if len(units) > MOST_UNITS:
            units = random.choice(units, MOST_UNITS, replace=False)
        scale = np.sqrt(self.unit_count / len(units))
        directions = []
        for of_rule in decisions:
            moves = self._measure_moves(of_rule)
            by_unit = [scale * sums[units] for sums in self._sum_by_unit(moves)]
            by_imagined = np.diag(np.sqrt(moves.imagined))  # all rules share these units
            deviations = np.hstack([by_unit, by_imagined], dtype=np.float32)
            lengths = np.linalg.norm(deviations, axis=1, keepdims=True)
            directions.append(deviations / np.maximum(lengths, LEAST_VARIANCE))
        stacked = np.concatenate(directions)
        cosines = stacked @ stacked.T
        return cosines.astype(float)

    def _sum_by_unit(self, moves: Moves) -> Iterator[Any]:
        """Yield for each constraint how far units move it (units,)."""
        for by_cell in moves.by_cell:
            by_row = (by_cell[:, moves.cell] * self.amounts).sum(axis=0)
            yield sum(np.bincount(unit, by_row, self.unit_count) for unit in self.units)

    # --- what decisions can reach ---

    def favour(
        self,
        constraint: int,
        decisions: Any,
    ) -> tuple[int, float]:
        """Return the units of the smallest set of a constraint, and its room if all favoured it.

        The room is in standard errors. Rows outside of the set get these decisions (n,).
        """
        worth = self.worth[constraint]
        sizes = np.where(worth == 0, np.inf, self.sizes)
        smallest = int(sizes.argmin())
        counted = self.counted[[smallest]].toarray()
        costs = worth[smallest] * counted.reshape(-1, self.decisions)
        cheapest = costs.argmin(axis=1)
        among = self.among[[smallest]].toarray()
        is_inside = among.reshape(costs.shape).any(axis=1)
        favourable = np.where(is_inside[self.kind], cheapest[self.kind], decisions)
        moves = self._measure_moves(favourable, [constraint])
        room = -moves.violations / self._compute_errors(moves)
        return int(sizes[smallest]), float(room[0])

    def measure_between(self) -> Any:
        """Return how far each bound is from one of the same from the other side; inf without (m,)."""
        products = self.worth @ self.worth.T
        squares = np.diag(products)
        squares_of_pairs = squares + squares[:, None]
        are_opposite = np.isclose(squares_of_pairs, -2 * products)
        between = -(self.constants + self.constants[:, None])
        return np.where(are_opposite, between, np.inf).min(axis=1)

    # --- moves ---

    def _measure_moves(
        self,
        decisions: Any,
        constraints: Any = slice(None),
    ) -> Moves:
        cell = self.kind * self.decisions + decisions
        worth = self.worth[constraints]
        shares = np.zeros(len(self.sizes))
        by_cell = []
        for amounts, counting in zip(self.amounts, self.counting, strict=True):
            of_cells = np.bincount(cell, amounts, self.cells)
            shares += counting * (self.counted @ of_cells)
            by_cell.append((worth * counting) @ self.counted)
        by_cell[0] -= (worth * shares) @ self.among
        of_imagined = worth * self.imagined
        spread = self._spread(shares, decisions)
        return Moves(
            cell=cell,
            violations=self.constants[constraints] + worth @ shares,
            by_cell=np.stack(by_cell, axis=1),
            imagined=of_imagined**2 @ spread,
        )

    def _spread(self, shares: Any, decisions: Any) -> Any:
        """Return the squared distances (E,) of two rows from shares: one counts, one does not."""
        is_made = np.zeros(self.decisions)
        is_made[decisions] = 1.0
        is_possible = np.resize(is_made, self.cells)
        counted = self.counted @ is_possible
        among = self.among @ is_possible
        most = np.where(counted > 0, self.largest, 0.0)
        least = np.where(among > counted, 0.0, most)
        return (most - shares) ** 2 + (shares - least) ** 2


# --- reading what constraints count ---------------------------------------------------------------


class RowReader:
    """Reads the rows of a problem, populations one after another."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.slices: dict[Slice, Any] = {}

    def read(
        self,
        population: str,
        read: Callable[[Population], Any],
    ) -> Any:
        """Return what is read of the rows of one population, and 0 for those of others (n,)."""
        parts = []
        for name, pieces in self.compiled.populations.items():
            for rows in pieces:
                parts.append(read(rows) if name == population else np.zeros(len(rows)))
        return np.concatenate(parts)

    def find(self, part: Slice | None) -> Any:
        """Return which rows (n,) are in a slice; None has none."""
        if part is None:
            return np.zeros(len(self.compiled.cell), dtype=bool)
        if part not in self.slices:
            read = partial(part.mask, classes=self.compiled.classes)
            inside = self.read(part.population, read)
            self.slices[part] = inside.astype(bool)
        return self.slices[part]

    def find_among(self, rate: Rate) -> Any:
        """Return the rows (n,) that a rate is a share of; a count is a share of all rows."""
        if rate.among is None:
            rate = replace(rate, condition=EVERYONE)
        slices = list_denominator_slices(rate, self.compiled.classes)
        masks = [self.find(part) for part in slices]
        return np.any(masks, axis=0)

    def find_by_decision(self, rate: Rate, part: Part) -> list[Any]:
        """Return for each decision the rows (n,) that count if it is made."""
        slices = list_decision_slices(rate, part.event, self.compiled.classes)
        return [self.find(counted) for counted in slices]

    def number_kinds(self) -> tuple[Any, Any]:
        """Return a number for rows that are in the same of the slices (n,), and a row of each."""
        masks = np.column_stack([*self.slices.values()])
        packed = np.packbits(masks, axis=1)
        as_one_value = packed.view(f"V{packed.shape[1]}").ravel()
        _, example, kind = np.unique(as_one_value, return_index=True, return_inverse=True)
        return kind, example


def measure_influence(compiled: Compiled, units: Any) -> Influence:
    """Return how rows move constraints.

    `units` (n,), or a tuple with one for each end of a pair, say which rows were drawn together.
    """
    ends = np.atleast_2d(units)
    weights = compiled.weights
    if weights is None:
        weights = np.ones(len(compiled.cell))
    shares, worth = _list_shares(compiled)
    reader = RowReader(compiled)
    among = [reader.find_among(rate) for rate, _ in shares]
    counted = [reader.find_by_decision(rate, part) for rate, part in shares]
    kind, example = reader.number_kinds()
    sizes, total, imagined = _measure_sizes(among, weights, ends)
    values, amounts_of_share = _read_amounts(reader, shares)
    return Influence(
        kind=kind,
        decisions=compiled.decisions,
        amounts=weights * values,
        counting=np.eye(len(values))[:, amounts_of_share],
        largest=values.max(axis=1)[amounts_of_share],
        constants=np.array([row.sum.constant for row in compiled.rows]),
        worth=worth,
        counted=_flatten(counted, example, total),
        among=_flatten([[mask] * compiled.decisions for mask in among], example, total),
        sizes=sizes,
        imagined=imagined / total,
        units=ends,
    )


def _list_shares(compiled: Compiled) -> tuple[list[Counted], Any]:
    """Return the shares, and what each adds to each constraint (m, E)."""
    worth: dict[Counted, Any] = defaultdict(lambda: np.zeros(len(compiled.rows)))
    for constraint, row in enumerate(compiled.rows):
        for rate in row.sum.rates:
            coefficient = row.sum.terms[rate]
            if rate.among is None:
                reference = compiled.reference[rate.population]
                coefficient *= rate.option("per", reference)
            for part in rate.counted:
                worth[rate, part][constraint] += part.price * coefficient
    return [*worth], np.column_stack([*worth.values()])


def _measure_sizes(
    among: Sequence[Any],
    weights: Any,
    ends: Any,
) -> Any:
    """Return the units of each share, their weight, and the weight of an imagined one (3, E)."""
    sizes, total, imagined = np.zeros((3, len(among)))
    for share, inside in enumerate(among):
        sizes[share] = min(np.count_nonzero(np.bincount(unit[inside])) for unit in ends)
        total[share] = max(weights @ inside, LEAST_WEIGHT)
        weight_of_row = weights**2 @ inside / total[share]
        rows_of_unit = inside.sum() / max(sizes[share], 1)
        imagined[share] = weight_of_row * rows_of_unit
    return sizes, total, imagined


def _read_amounts(reader: RowReader, shares: Sequence[Counted]) -> tuple[Any, list[int]]:
    """Return ones and the columns that shares count (a, n), and which of them each counts (E,)."""
    values: dict[Any, Any] = {None: np.ones(len(reader.compiled.cell))}
    columns = []
    for rate, part in shares:
        column = None
        if part.amounts is not None:
            column = rate.population, part.amounts
            read = partial(_read_column, name=part.amounts)
            values[column] = reader.read(rate.population, read)
        columns.append(column)
    order = [*values]
    return np.stack([*values.values()]), [order.index(column) for column in columns]


def _read_column(rows: Population, name: Name) -> Any:
    is_present = rows.encode(name).codes >= 0
    return rows.amounts(name, is_present)


def _flatten(
    masks: Sequence[Sequence[Any]],
    example: Any,
    total: Any,
) -> csr_array:
    """Return masks of rows, by share and decision, as a matrix (E, cells) divided by weights (E,)."""
    matrix = []
    for by_decision in masks:
        of_kinds = [mask[example] for mask in by_decision]
        matrix.append(np.column_stack(of_kinds).ravel())
    return csr_array(matrix / total[:, None])
