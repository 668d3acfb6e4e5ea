"""Influence is how far rows move constraints; from it follow errors, and how rules vary.

One more row moves a rate by its distance from the rate, divided by the weight of the rows that the
rate is a share of. Rows drawn together add up and count as one. Two rows are imagined beside those
of each rate, one that it counts and one that it does not: ten right decisions of ten are not
certainty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population
from ratebound.problem.slices import Slice, slices_among, slices_by_decision
from ratebound.rates.sums import Part, Rate

MOST_UNITS = 20_000  # of which correlations are measured; standard errors are of all
LEAST_VARIANCE = 1e-24


@dataclass(frozen=True, eq=False)
class Counted:
    """One event that some constraints count, at a price."""

    prices: Any  # (kinds, D) of a row of each kind, by its decision
    among: Any  # (kinds,) whether it is one of the rows that the event is a share of
    amounts: Any  # (n,) that multiply the price of each row, or None
    factor: float  # that the share is multiplied by
    worth: Any  # (m,) the coefficient in each constraint


@dataclass(frozen=True, eq=False)
class Moves:
    """How far rows move constraints, by their kind and decision."""

    cell: Any  # (n,) the kind and decision of each row
    by_cell: Any  # (m, cells)
    by_row: Any  # (m, n) that amounts add, or None
    imagined: Any  # (m,) variances of the rows that are imagined


@dataclass(frozen=True, eq=False)
class Influence:
    """How rows move constraints, whatever is decided on them."""

    kind: Any  # (n,) rows of one kind are counted alike
    weights: Any  # (n,)
    counted: tuple[Counted, ...]
    units: tuple[Any, ...]  # (n,) each: the unit of every row, or of both ends of a pair
    unit_count: int
    constraint_count: int
    is_weighted: bool

    def compute_errors(self, decisions: Any) -> Any:
        """Return the standard errors (m,) of violations at decisions (n,), on as many new rows."""
        moves = self._measure_moves(decisions)
        if moves.by_row is None and not self.units:  # rows of one cell move constraints alike
            cells = moves.by_cell.shape[1]
            squared_weights = np.bincount(moves.cell, self.weights**2, cells)
            variances = moves.by_cell**2 @ squared_weights
        else:
            by_unit = self._sum_by_unit(moves, slice(None)).astype(float)
            variances = (by_unit**2).sum(axis=1)
        return np.sqrt(np.maximum(variances + moves.imagined, LEAST_VARIANCE))

    def correlate(self, decisions: Sequence[Any], random: np.random.Generator) -> Any:
        """Return how N rules (n,) deviate together in m constraints (N m, N m)."""
        some_units = slice(None)
        scale = 1.0
        if self.unit_count > MOST_UNITS:
            some_units = np.sort(random.choice(self.unit_count, MOST_UNITS, replace=False))
            scale = self.unit_count / MOST_UNITS
        deviations = []
        shares = []
        for of_rule in decisions:
            moves = self._measure_moves(of_rule)
            by_unit = self._sum_by_unit(moves, some_units)
            # sums are 0, as rows differ from their rates
            of_units = scale * np.einsum("mu,mu->m", by_unit, by_unit)
            total = np.maximum(of_units + moves.imagined, 1e-30)
            errors = np.sqrt(total / scale)[:, None].astype(np.float32)
            deviations.append(by_unit / errors)
            shares.append(of_units / total)
        flat = np.concatenate(deviations)
        correlation = (flat @ flat.T).astype(float)
        imagined = np.sqrt(1 - np.concatenate(shares))  # rows that all rules share
        same_constraint = np.eye(self.constraint_count, dtype=bool)
        same_constraint = np.tile(same_constraint, (len(decisions), len(decisions)))
        return correlation + same_constraint * np.outer(imagined, imagined)

    def favour(self, constraint: int, decisions: Any) -> tuple[Any, Any]:
        """Return the rows (n,) of the smallest set a constraint is about, decided in its favour."""
        rows = np.bincount(self.kind)
        about = [counted for counted in self.counted if counted.worth[constraint]]
        smallest = min(about, key=lambda counted: rows @ counted.among)
        inside = smallest.among[self.kind]
        best = (smallest.worth[constraint] * smallest.prices).argmin(axis=1)
        return inside, np.where(inside, best[self.kind], decisions)

    def _sum_by_unit(self, moves: Moves, some_units: Any) -> Any:
        """Return how far some units move each constraint (m, units)."""
        rows = slice(None) if self.units else some_units
        by_row = moves.by_cell.astype(np.float32)[:, moves.cell[rows]]
        if moves.by_row is not None:
            by_row = by_row + moves.by_row[:, rows]
        if self.is_weighted:
            by_row = by_row * self.weights[rows].astype(np.float32)
        if not self.units:
            return by_row
        sums = []
        for of_constraint in by_row:
            ends = [np.bincount(unit, of_constraint, self.unit_count) for unit in self.units]
            sums.append(sum(ends))
        return np.stack(sums)[:, some_units]

    def _measure_moves(self, decisions: Any) -> Moves:
        kinds, size = self.counted[0].prices.shape
        cell = self.kind * size + decisions
        weights = np.bincount(cell, self.weights, kinds * size)
        squared_weights = np.bincount(self.kind, self.weights**2, kinds)
        by_cell = np.zeros((self.constraint_count, kinds * size))
        by_row = None
        imagined = np.zeros(self.constraint_count)
        for counted in self.counted:
            prices = counted.prices.ravel()
            among = np.repeat(counted.among, size).astype(float)
            total = max(float(weights @ among), 1e-300)
            worth = counted.factor / total * counted.worth
            if counted.amounts is None:
                share = float(weights @ prices) / total
                most = float(prices.max(initial=0))
                by_cell += worth[:, None] * (prices - share * among)
            else:
                amounts = prices[cell] * counted.amounts
                share = float(self.weights @ amounts) / total
                most = float(amounts.max(initial=0))
                by_cell -= worth[:, None] * share * among
                so_far = 0 if by_row is None else by_row
                by_row = so_far + worth[:, None] * amounts
            typical_weight = float(squared_weights @ counted.among) / total
            imagined += (worth * typical_weight) ** 2 * ((most - share) ** 2 + share**2)
        return Moves(cell, by_cell, by_row, imagined)


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

    def find(self, part: Slice) -> Any:
        """Return which rows (n,) are in a slice."""
        if part not in self.slices:
            classes = self.compiled.classes
            inside = self.read(part.population, lambda rows: part.mask(rows, classes))
            self.slices[part] = inside.astype(bool)
        return self.slices[part]

    def find_among(self, rate: Rate) -> Any:
        """Return the rows (n,) that a rate is a share of; a count is a share of all rows."""
        if rate.among is None:
            everyone = self.read(rate.population, lambda rows: np.ones(len(rows)))
            return everyone.astype(bool)
        slices = slices_among(rate, self.compiled.classes)
        return np.any([self.find(part) for part in slices], axis=0)

    def find_by_decision(self, rate: Rate, part: Part) -> list[Any]:
        """Return for each decision the rows (n,) that count if it is made."""
        nowhere = np.zeros(len(self.compiled.cell), dtype=bool)
        by_decision = []
        for counted in slices_by_decision(rate, part.event, self.compiled.classes):
            by_decision.append(nowhere if counted is None else self.find(counted))
        return by_decision

    def read_amounts(self, rate: Rate, column: str | None) -> Any:
        if column is None:
            return None
        return self.read(rate.population, lambda rows: _read_column(rows, column))


def _read_column(rows: Population, column: str) -> Any:
    is_present = rows.encode(column).codes >= 0
    return rows.amounts(column, is_present)


def measure_influence(compiled: Compiled, units: Any) -> Influence:
    """Return how rows move constraints.

    `units` (n,), or a tuple with one for each end of a pair, say which rows were drawn together.
    """
    reader = RowReader(compiled)
    sums = [row.sum for row in compiled.rows]
    rates = dict.fromkeys(rate for one_sum in sums for rate in one_sum.rates)
    entries = []
    for rate in rates:
        coefficients = np.array([one_sum.terms.get(rate, 0.0) for one_sum in sums])
        among = reader.find_among(rate)
        factor = 1.0
        if rate.among is None:
            factor = rate.option("per", compiled.reference[rate.population])
        for part in rate.counted:
            by_decision = reader.find_by_decision(rate, part)
            amounts = reader.read_amounts(rate, part.amounts)
            entries.append((by_decision, among, amounts, factor, coefficients * part.price))

    kind, example = _number_kinds(entries, len(compiled.cell))
    counted = []
    for by_decision, among, *rest in entries:
        prices = np.column_stack([inside[example] for inside in by_decision])
        counted.append(Counted(prices.astype(float), among[example], *rest))

    ends = units if isinstance(units, tuple) else (units,)
    unit_count = 1 + int(max(unit.max() for unit in ends))
    rows_are_units = len(ends) == 1 and unit_count == len(kind)
    is_weighted = compiled.weights is not None
    return Influence(
        kind=kind,
        weights=compiled.weights if is_weighted else np.ones(len(kind)),
        counted=tuple(counted),
        units=() if rows_are_units else ends,
        unit_count=unit_count,
        constraint_count=len(sums),
        is_weighted=is_weighted,
    )


def _number_kinds(entries: Sequence[Any], rows: int) -> tuple[Any, Any]:
    """Return the kind of every row (n,), and a row of every kind."""
    masks = [np.zeros(rows, dtype=bool)]
    for by_decision, among, *_ in entries:
        masks += [*by_decision, among]
    packed = np.packbits(np.column_stack(masks), axis=1)
    as_one_value = packed.view(f"V{packed.shape[1]}").ravel()
    _, example, kind = np.unique(as_one_value, return_index=True, return_inverse=True)
    return kind, example
