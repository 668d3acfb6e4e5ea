"""A quota: exactly so many rows of a batch get a yes, and constraints that need no labels hold there.

The rows of the least cost get a yes, and the multipliers of the constraints are part of the cost. So a
choice of rows is a rule like any other, found by the same search.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from ratebound.learning.rules import TOLERANCE, Rules, compute_costs
from ratebound.learning.solve import find_best_rule
from ratebound.problem.compile import compile
from ratebound.problem.compiled import Compiled
from ratebound.problem.expand import Row
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.sums import FIRST, Constraint, Sum, mentions_letter

LOSS = "(loss)"  # the column of what a yes for each row loses against the best row
MINIMIZE_LOSS = f'cost(false_negative=0, false_positive="{LOSS}")'


@dataclass(eq=False, kw_only=True)
class Quotas(Rules):
    """Choices of so many rows. The forecast (p + m, n) is what a yes for each row adds."""

    by_row = False
    count: int

    def decide(self, weights: Any) -> Any:
        costs = compute_costs(self.terms, weights, self.forecast)[:, 0]
        decisions = np.zeros(costs.shape, dtype=np.int64)
        last = max(self.count - 1, 0)
        cheapest = np.argpartition(costs, last, axis=1)[:, : self.count]
        np.put_along_axis(decisions, cheapest, 1, axis=1)
        return decisions


def choose_rows(
    scores: Any,
    count: int,
    rows: Sequence[Row],
    population: Population,
) -> Any:
    """Return the decisions (n,) of a batch: of `count` yeses that meet the constraints, the best.

    `rows` are the constraints of training, and `population` the batch, with the label no in every
    row. A warning names constraints that are violated, and those whose columns or groups it lacks.
    """
    spread = max(np.ptp(scores), 1e-300)
    loss = 1 + (scores.max() - scores) / spread
    batch = replace(population, columns=population.columns | {LOSS: loss})
    measurable = []
    for row in rows:
        if any(map(_needs_labels, row.sum.rates)):
            continue
        try:
            _compile([row], batch)
            measurable.append(row)
        except ValueError as error:
            warnings.warn(f"exactly={count:,} cannot regard {row.text}: {error}", stacklevel=3)
    compiled = _compile(measurable, batch)
    worth = _compute_worth(compiled)
    terms = np.eye(len(worth))[:, None]
    rules = Quotas(compiled, terms, worth, count=count)
    best = find_best_rule(rules, np.zeros(len(measurable)))
    is_violated = best.violations / rules.scale > TOLERANCE
    for row in compress(measurable, is_violated):
        warnings.warn(f"exactly={count:,}: no such rows meet {row.text}", stacklevel=3)
    return rules.decide(best.weights[None])[0]


def _needs_labels(rate: Any) -> bool:
    parts = rate.counted + (rate.among or ())
    return mentions_letter(parts, "y") or rate.population != FIRST


def _compile(rows: Sequence[Row], batch: Population) -> Compiled:
    bounds = [Constraint(None, row.sum, Sum()) for row in rows]
    return compile(Problem(MINIMIZE_LOSS, bounds), batch)


def _compute_worth(compiled: Compiled) -> Any:
    """Return what a yes for each row adds (p + m, n)."""
    worth: Any = 0
    for block in compiled.blocks:
        of_cells = compiled.per_cell(block.coefficients)[:, 0]
        weight = compiled.weight_of(block)
        worth = worth + of_cells[:, compiled.cell] * (1 if weight is None else weight)
    return worth
