"""Influence is how far rows move constraints; from it follow errors, and how rules vary.

A constraint is a constant and a sum of shares: of some rows, so many are counted. One more row
moves a share by its distance from it, divided by the weight of the rows that it is a share of. Rows
drawn together, a *unit*, add up and count as one. Two units are imagined beside those of each share,
one that it counts and one that it does not, if the decisions made allow for both: ten right
decisions of ten are not certainty, but without any yes every recall is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.problem.slices import Slice, list_denominator_slices, list_decision_slices
from ratebound.rates.conditions import EVERYONE
from ratebound.rates.sums import Part, Rate

MOST_UNITS = 20_000  # of which correlations are measured; standard errors are of all
LEAST_VARIANCE = 1e-24
LARGE = 2**16  # elements from which a matrix of zeros and ones is sparse


@dataclass(frozen=True, eq=False)
class Moves:
    """How far rows move constraints at some decisions. A *cell* is a kind of rows with a decision."""

    cell: Any  # (n,)
    violations: Any  # (m,)
    parts: list[tuple[Any, Any]]  # (m, cells) and (n,): how far a row in a cell, and its weight
    imagined: Any  # (m,) variances of the units that are imagined


@dataclass(frozen=True, eq=False)
class Influence:
    """How rows move constraints, whatever is decided on them, by way of E shares."""

    kind: Any  # (n,) rows of one kind are counted alike
    decisions: int
    weights: Any  # (n,)
    constants: Any  # (m,)
    worth: Any  # (m, E) of shares in constraints
    counted: Any  # (E, cells) whether a share counts rows; sparse if large, as the next
    among: Any  # (E, cells) whether it is one of them
    sizes: Any  # (E,) units that a share is one of; of pairs, at the end with fewer
    total: Any  # (E,) the weight of the rows that it is a share of
    imagined: Any  # (E,) the weight of a unit that is imagined
    amounts: tuple[Any, ...]  # (n,) each: what rows count for; first ones
    column: Any  # (E,) which of the amounts multiply the rows of a share
    units: tuple[Any, ...]  # (n,) each: the unit of every row, or of both ends of a pair

    @property
    def cells(self) -> int:
        return self.counted.shape[1]

    @cached_property
    def unit_count(self) -> int:
        return 1 + int(np.max(self.units))

    def compute_errors(self, decisions: Any) -> Any:
        """Return the standard errors (m,) of violations at decisions (n,), on as many new rows."""
        moves = self._measure_moves(decisions)
        return self._compute_errors(moves)

    def _compute_errors(self, moves: Moves) -> Any:
        rows_are_units = len(self.units) == 1 and self.unit_count == len(self.kind)
        if rows_are_units and len(moves.parts) == 1:  # rows of one cell move constraints alike
            by_cell, weights = moves.parts[0]
            squares = np.bincount(moves.cell, weights**2, self.cells)
            variances = by_cell**2 @ squares
        else:
            by_unit = self._sum_by_unit(moves, np.arange(self.unit_count))
            variances = np.einsum("mu,mu->m", by_unit, by_unit, dtype=float)
        return np.sqrt(variances + moves.imagined + LEAST_VARIANCE)

    def correlate(self, decisions: Iterable[Any], random: np.random.Generator) -> Any:
        """Return how N rules (n,) deviate together in m constraints (N m, N m)."""
        units = np.arange(self.unit_count)
        if len(units) > MOST_UNITS:
            units = np.sort(random.choice(units, MOST_UNITS, replace=False))
        scale = np.sqrt(self.unit_count / len(units))
        deviations = []
        for of_rule in decisions:
            moves = self._measure_moves(of_rule)
            by_unit = scale * self._sum_by_unit(moves, units)
            of_imagined = np.diag(np.sqrt(moves.imagined))  # all rules share these units
            by_row = np.hstack([by_unit, of_imagined.astype(np.float32)])
            lengths = np.linalg.norm(by_row, axis=1, keepdims=True)
            deviations.append(by_row / np.maximum(lengths, LEAST_VARIANCE))
        together = np.concatenate(deviations)
        return (together @ together.T).astype(float)

    def favour(self, constraint: int, decisions: Any) -> tuple[int, float]:
        """Return the units of the smallest set of a constraint, and its room if all favoured it.

        The room is in standard errors. Rows outside of the set get these decisions (n,).
        """
        shares = np.flatnonzero(self.worth[constraint])
        smallest = shares[self.sizes[shares].argmin()]
        worth = self.worth[constraint, smallest]
        costs = worth * self._read_share(self.counted, smallest)
        best = costs.argmin(axis=1)
        inside = self._read_share(self.among, smallest)[:, 0] > 0
        favourable = np.where(inside[self.kind], best[self.kind], decisions)
        moves = self._measure_moves(favourable, [constraint])
        room = -moves.violations / self._compute_errors(moves)
        return int(self.sizes[smallest]), float(room[0])

    def _read_share(self, matrix: Any, share: int) -> Any:
        """Return a share's row of a matrix (kinds, D)."""
        row = matrix[[share]]
        if issparse(row):
            row = row.toarray()
        return row.reshape(-1, self.decisions)

    def measure_between(self) -> Any:
        """Return how far each bound is from one of the same from the other side; inf without (m,)."""
        products = self.worth @ self.worth.T
        squares = np.diag(products)
        is_opposite = np.isclose(products, -squares) & np.isclose(products, -squares[:, None])
        between = -(self.constants + self.constants[:, None])
        return np.where(is_opposite, between, np.inf).min(axis=1)

    def _sum_by_unit(self, moves: Moves, units: Any) -> Any:
        """Return how far some units move each constraint (m, units)."""
        position = np.full(self.unit_count, -1)
        position[units] = np.arange(len(units))
        total = 0
        for of_unit in self.units:
            rows = np.flatnonzero(position[of_unit] >= 0)
            index = (moves.cell[rows], position[of_unit[rows]])
            for by_cell, weights in moves.parts:
                of_rows = weights[rows].astype(np.float32)
                of_units = csr_array((of_rows, index), (self.cells, len(units)))
                total = total + by_cell.astype(np.float32) @ of_units
        return total

    def _measure_moves(self, decisions: Any, constraints: Any = slice(None)) -> Moves:
        cell = self.kind * self.decisions + decisions
        per_row = self.worth[constraints] / self.total
        sums = np.zeros(len(self.total))
        largest = np.zeros(len(self.total))
        parts = []
        for index, amounts in enumerate(self.amounts):
            is_priced = self.column == index
            weights = self.weights * amounts
            of_cells = np.bincount(cell, weights, self.cells)
            sums += is_priced * (self.counted @ of_cells)
            largest += is_priced * amounts.max()
            by_cell = (per_row * is_priced) @ self.counted
            parts.append((by_cell, weights))
        shares = sums / self.total
        by_cell = parts[0][0]
        by_cell -= (per_row * shares) @ self.among

        is_made = np.bincount(decisions, minlength=self.decisions) > 0
        is_possible = np.resize(is_made, self.cells).astype(float)
        counted = self.counted @ is_possible
        most = np.where(counted > 0, largest, 0.0)
        least = np.where(self.among @ is_possible > counted, 0.0, most)
        spread = (most - shares) ** 2 + (shares - least) ** 2
        imagined = (per_row * self.imagined) ** 2 @ spread
        violations = self.constants[constraints] + per_row @ sums
        return Moves(cell, violations, parts, imagined)


# --- reading what constraints count ---------------------------------------------------------------


class RowReader:
    """Reads the rows of a problem, populations one after another."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.slices: dict[Slice, Any] = {}

    def read(self, population: str, read: Callable[[Population], Any]) -> Any:
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
            classes = self.compiled.classes
            inside = self.read(part.population, lambda rows: part.mask(rows, classes))
            self.slices[part] = inside.astype(bool)
        return self.slices[part]

    def find_among(self, rate: Rate) -> Any:
        """Return the rows (n,) that a rate is a share of; a count is a share of all rows."""
        if rate.among is None:
            return self.find(Slice(rate.population, EVERYONE, ((True,),), None))
        slices = list_denominator_slices(rate, self.compiled.classes)
        return np.any([self.find(part) for part in slices], axis=0)

    def find_by_decision(self, rate: Rate, part: Part) -> list[Any]:
        """Return for each decision the rows (n,) that count if it is made."""
        slices = list_decision_slices(rate, part.event, self.compiled.classes)
        return [self.find(counted) for counted in slices]

    def number_kinds(self) -> tuple[Any, Any]:
        """Return a number for rows that are in the same of the slices (n,), and a row of each."""
        masks = np.column_stack([self.find(None), *self.slices.values()])
        packed = np.packbits(masks, axis=1)
        as_one_value = packed.view(f"V{packed.shape[1]}").ravel()
        _, example, kind = np.unique(as_one_value, return_index=True, return_inverse=True)
        return kind, example


def _read_amounts(rows: Population, column: Any) -> Any:
    is_present = rows.encode(column).codes >= 0
    return rows.amounts(column, is_present)


def measure_influence(compiled: Compiled, units: Any) -> Influence:
    """Return how rows move constraints.

    `units` (n,), or a tuple with one for each end of a pair, say which rows were drawn together.
    """
    ends = units if isinstance(units, tuple) else (units,)
    weights = compiled.weights
    if weights is None:
        weights = np.ones(len(compiled.cell))
    reader = RowReader(compiled)
    rates = list(dict.fromkeys(rate for row in compiled.rows for rate in row.sum.rates))
    shares = [(number, part) for number, rate in enumerate(rates) for part in rate.counted]
    among = [reader.find_among(rate) for rate in rates]
    masks = [reader.find_by_decision(rates[number], part) for number, part in shares]
    kind, example = reader.number_kinds()

    worth = _list_coefficients(compiled, rates)[:, [number for number, _ in shares]]
    counted = np.zeros((len(shares), len(example), compiled.decisions), dtype=bool)
    is_among = np.zeros_like(counted)
    sizes, total, imagined, column = np.zeros((4, len(shares)))
    amounts: dict[Any, Any] = {None: np.ones(len(kind))}
    for share, (number, part) in enumerate(shares):
        rate = rates[number]
        inside = among[number]
        counted[share] = np.column_stack([mask[example] for mask in masks[share]])
        is_among[share] = inside[example, None]
        worth[:, share] *= part.price
        if rate.among is None:
            worth[:, share] *= rate.option("per", compiled.reference[rate.population])
        sizes[share] = min(np.count_nonzero(np.bincount(unit[inside])) for unit in ends)
        total[share] = max(weights @ inside, 1e-300)
        rows_of_unit = inside.sum() / max(sizes[share], 1)
        imagined[share] = rows_of_unit * (weights**2 @ inside) / total[share]
        if part.amounts not in amounts:
            of_column = partial(_read_amounts, column=part.amounts)
            amounts[part.amounts] = reader.read(rate.population, of_column)
        column[share] = list(amounts).index(part.amounts)
    return Influence(
        kind=kind,
        decisions=compiled.decisions,
        weights=weights,
        constants=np.array([row.sum.constant for row in compiled.rows]),
        worth=worth,
        counted=_flatten(counted),
        among=_flatten(is_among),
        sizes=sizes,
        total=total,
        imagined=imagined,
        amounts=tuple(amounts.values()),
        column=column,
        units=ends,
    )


def _list_coefficients(compiled: Compiled, rates: Sequence[Rate]) -> Any:
    """Return the coefficient of each rate in each constraint (m, rates)."""
    number_of = {rate: number for number, rate in enumerate(rates)}
    coefficients = np.zeros((len(compiled.rows), len(rates)))
    for constraint, row in enumerate(compiled.rows):
        for rate in row.sum.rates:
            coefficients[constraint, number_of[rate]] = row.sum.terms[rate]
    return coefficients


def _flatten(shares: Any) -> Any:
    """Return what holds for kinds and decisions as a matrix (E, cells), sparse if it is large."""
    matrix = shares.reshape(len(shares), math.prod(shares.shape[1:]))
    return csr_array(matrix, dtype=float) if matrix.size > LARGE else matrix.astype(float)
