"""Constraints are explained before training: are they possible, and what do they cost?

A linear program over cells shows what no classifier can do, even one that saw the labels. A quick
model shows what some model can do: it is the search itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ratebound.learning.features import fit_encoding
from ratebound.learning.learning import learn_rules
from ratebound.learning.models import make_label_model
from ratebound.learning.rules import TOLERANCE
from ratebound.learning.status import Status, make_status
from ratebound.problem.compile import compile_pieces
from ratebound.problem.compiled import Compiled
from ratebound.problem.population import Population, as_pieces
from ratebound.problem.problem import Problem
from ratebound.problem.slices import slices_among
from ratebound.rates.sums import FIRST

FEW = 100  # with fewer rows, the text says how much one row matters


@dataclass(frozen=True)
class Explained:
    """One constraint on its own."""

    constraint: str
    rows: int  # of the smallest set that it is about
    misses: float  # by how much the best classifier misses it, though it saw the labels
    met_by: tuple[str, ...]  # simple classifiers

    def __str__(self) -> str:
        start = self.constraint
        if self.rows < FEW:
            start += f" ({self.rows:,} rows: each moves it by {1 / max(self.rows, 1):.2g})"
        if self.misses:
            return f"{start}: impossible; the best classifier misses it by {self.misses:.4g}."
        if self.met_by:
            return f"{start}: met by {', '.join(self.met_by)}."
        return f"{start}: possible; a model must show it."


@dataclass(frozen=True)
class Explanation:
    """Whether constraints can be met, which conflict, and what they cost in the objective."""

    objective: str
    constraints: tuple[Explained, ...]
    conflict: tuple[str, ...]  # that no classifier meets together
    relax: float  # by which relaxing each of them is enough, in units
    at_least: float | None  # the objective of any classifier that meets them, if it is a sum
    quick: Status | None  # of a quick model, if there are features and labels

    @property
    def possible(self) -> bool:
        return not self.conflict

    def __str__(self) -> str:
        lines = [str(explained) for explained in self.constraints]
        if self.conflict:
            listed = " and ".join(self.conflict)
            together = " together" if len(self.conflict) > 1 else ""
            remedy = f"relaxing each by {self.relax:.4g} is enough"
            lines.append(f"No classifier meets {listed}{together}; {remedy}.")
        if self.at_least is not None:
            bound = f"{self.objective} below {self.at_least:.4f}"
            lines.append(f"No classifier that meets all has {bound}.")
        if self.quick is not None:
            lines.append(f"A quick model: {self.quick}")
        return "\n".join(lines)


def explain(
    problem: Problem,
    people: Population,
    *,
    model: Any = "linear",
    confidence: float | None = 0.9,
    seed: int = 0,
    **others: Population,
) -> Explanation:
    """Return whether the constraints can be met on these rows, and about what they cost."""
    if not problem.constraints:
        raise ValueError("the problem has no constraints, so there is nothing to explain")
    populations = {FIRST: people, **others}
    pieces = {name: as_pieces(rows) for name, rows in populations.items()}
    compiled = compile_pieces(problem, pieces)
    every_constraint = np.arange(len(compiled.rows))
    relax, prices = _find_least_miss(compiled, every_constraint)
    conflict = []
    if relax:
        conflict = [compiled.labels[index] for index in np.flatnonzero(prices > 1e-6)]

    simple = _judge_simple_classifiers(compiled)
    quick = None
    is_learnable = people.X is not None and people.y is not None and not others
    if is_learnable and not conflict:
        label_model = make_label_model(model, len(people))
        encoding = fit_encoding(people.X, None, label_model, isinstance(model, str))
        learned = learn_rules(problem, populations, encoding(people.X), model, seed=seed)
        rule, claim, _ = learned.choose_rule(confidence)
        quick = make_status(learned.rules, rule, claim, learned.influence)
        simple["the quick model without constraints"] = learned.rules.get_rule(0).violations
    at_least = None
    if compiled.objective.is_sum and not conflict:
        at_least = _find_least_objective(compiled)
    return Explanation(
        objective=str(problem.objective),
        constraints=tuple(_explain_one(compiled, index, simple) for index in every_constraint),
        conflict=tuple(conflict),
        relax=relax,
        at_least=at_least,
        quick=quick,
    )


def _explain_one(compiled: Compiled, constraint: int, simple: dict[str, Any]) -> Explained:
    unit = float(compiled.scale[len(compiled.objective.pieces) + constraint])
    misses, _ = _find_least_miss(compiled, np.array([constraint]))
    met_by = []
    for name, violations in simple.items():
        if violations[constraint] <= TOLERANCE * unit:
            met_by.append(name)
    rows = _count_fewest_rows(compiled, constraint)
    return Explained(compiled.labels[constraint], rows, misses * unit, tuple(met_by))


# --- what no classifier can do --------------------------------------------------------------------


def _find_least_miss(compiled: Compiled, constraints: Any) -> tuple[float, Any]:
    """Return by how much any decisions in cells miss some constraints at least, and prices."""
    rows = len(compiled.objective.pieces) + constraints
    scale = compiled.scale[rows]
    worth = _compute_worth(compiled)[rows] / scale[:, None]
    limits = -compiled.offset[rows] / scale
    slack = -np.ones(len(rows))
    cost_of_slack = np.r_[np.zeros(worth.shape[1]), 1.0]
    misses, prices = _decide_cells(compiled, cost_of_slack, np.column_stack([worth, slack]), limits)
    return (misses if misses > TOLERANCE else 0.0), prices


def _find_least_objective(compiled: Compiled) -> float:
    """Return the least objective of any decisions in cells that meet all constraints."""
    pieces = len(compiled.objective.pieces)
    worth = _compute_worth(compiled)
    slope = compiled.objective.slope(compiled.offset[:pieces])
    limits = TOLERANCE * compiled.scale[pieces:] - compiled.offset[pieces:]
    value, _ = _decide_cells(compiled, slope @ worth[:pieces], worth[pieces:], limits)
    at_first_decision = float(slope @ compiled.offset[:pieces])
    return compiled.objective.sign * (value + at_first_decision)


def _compute_worth(compiled: Compiled) -> Any:
    """Return what each decision but the first in each cell is worth (p + m, (D - 1) · cells)."""
    worth = 0
    for block in compiled.blocks:
        rows = np.bincount(compiled.cell, compiled.weight_of(block), len(compiled.bits))
        worth = worth + compiled.per_cell(block.coefficients) * rows
    return worth.reshape(len(compiled.offset), -1)


def _decide_cells(
    compiled: Compiled,
    cost: Any,
    upper: Any,
    limits: Any,
) -> tuple[float, Any]:
    """Return the least cost of shares of decisions in cells within limits, and the limits' prices.

    Columns beyond the decisions of cells are slacks.
    """
    cells = len(compiled.bits)
    once = np.tile(np.eye(cells), compiled.decisions - 1)
    slacks = np.zeros((cells, upper.shape[1] - once.shape[1]))
    once = np.column_stack([once, slacks])
    every_limit = np.concatenate([limits, np.ones(cells)])
    rows = np.vstack([upper, once])
    solved = linprog(cost, rows, every_limit, bounds=(0, None), method="highs")
    return float(solved.fun), -solved.ineqlin.marginals[: len(upper)]


# --- simple classifiers ---------------------------------------------------------------------------


def _judge_simple_classifiers(compiled: Compiled) -> dict[str, Any]:
    """Return the violations (m,) of one decision for everyone, and of the labels themselves."""
    decisions = {}
    for index, value in enumerate(compiled.classes.values):
        decisions[f"{value!r} for everyone"] = np.full(len(compiled.cell), index)
    pieces = [piece for part in compiled.populations.values() for piece in part]
    if all(piece.y is not None for piece in pieces):
        labels = compiled.classes.values[: compiled.classes.labels]
        codes = [piece.class_indices(None, labels) for piece in pieces]
        decisions["the labels themselves"] = np.concatenate(codes)
    counts = compiled.count_decisions(np.stack(list(decisions.values())))
    violations = compiled.values(counts)[:, len(compiled.objective.pieces) :]
    return dict(zip(decisions, violations, strict=True))


def _count_fewest_rows(compiled: Compiled, constraint: int) -> int:
    """Return the rows of the smallest set that a constraint is a share of."""
    rates = compiled.rows[constraint].sum.rates
    return min(_count_rows_among(compiled, rate) for rate in rates)


def _count_rows_among(compiled: Compiled, rate: Any) -> int:
    slices = slices_among(rate, compiled.classes)
    count = 0
    for piece in compiled.populations[rate.population]:
        inside = [part.mask(piece, compiled.classes) for part in slices]
        count += int(np.any(inside, axis=0).sum())
    return count
