"""Prices of promises from a pool: a parametric linear program each, in the promise's own units."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ratebound.base.linear_program import TOLERANCE
from ratebound.base.parametric import Curve, curve
from ratebound.game.pool import Pool
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Ratio
from ratebound.solution.price import Price

PROGRAMS = 12  # solved for each price of a model: enough to draw it, and to save many of them
MOST = 24  # promises whose prices a model keeps: of more, those with the highest


def price_in(
    pool: Pool, problem: Problem, promises: Sequence[int], programs: int = PROGRAMS, said: str = ""
) -> Price:
    """The price of one of a problem's promises, or of several that are `said` at once.

    They are counted from 0. At most so many `programs` are solved.
    """
    for constraint in (problem.constraints[promise] for promise in promises):
        if not isinstance(constraint.left, Ratio):
            continue
        raise ValueError(
            f"{constraint}: the price of a ratio is not known. It is kept by cross-multiplying, and how "
            "much a candidate has below the line was not kept, so other bounds cannot be computed: "
            "train with each bound, or bound a rate instead"
        )
    rows = [_row(problem, promise) for promise in promises]
    scale = np.broadcast_to(np.asarray(pool.scale, dtype=float), pool.violations.shape[1])
    found = curve(pool.objectives, pool.violations / scale, pool.groups, rows, programs)
    unit = float(scale[rows[0]])
    paid = found.price / unit if pool.prices is None else float(pool.prices[rows].sum())
    if said:
        return _together(found, unit, paid, pool, problem, promises, said)
    return _said(found, unit, paid, pool, problem, promises[0])


def _together(
    found: Curve,
    unit: float,
    paid: float,
    pool: Pool,
    problem: Problem,
    promises: Sequence[int],
    said: str,
) -> Price:
    """A curve by room in units, as a price of several promises by how much all are loosened."""
    objective = math.inf
    if len(found.rooms) and found.rooms[0] <= TOLERANCE:
        objective = float(np.interp(0.0, found.rooms, found.objectives))
    return Price(
        constraint=problem.constraints[promises[0]],
        objective=str(problem.cost),
        bounds=unit * found.rooms,
        objectives=found.objectives,
        here=(0.0, objective),
        slope=-paid,
        judged={name: found.weights @ values for name, values in pool.watched.items()},
        exact=found.exact,
        said=said,
    )


def _said(found: Curve, unit: float, paid: float, pool: Pool, problem: Problem, promise: int) -> Price:
    """A curve by room in units, as a price by bound."""
    constraint = problem.constraints[promise]
    rises = constraint.relation == ">="
    order = slice(None, None, -1) if rises else slice(None)
    margin = float(np.broadcast_to(pool.margins, pool.violations.shape[1])[_row(problem, promise)])
    bound = constraint.right.constant + (margin if rises else -margin)
    bounds = bound + (-unit if rises else unit) * found.rooms[order]
    objective = math.inf
    if len(found.rooms) and found.rooms[0] <= TOLERANCE:
        objective = float(np.interp(0.0, found.rooms, found.objectives))
    weights = found.weights[order]
    return Price(
        constraint=constraint,
        objective=str(problem.cost),
        bounds=bounds,
        objectives=found.objectives[order],
        here=(bound, objective),
        slope=float(paid if rises else -paid),
        judged={name: weights @ values for name, values in pool.watched.items()},
        exact=found.exact,
    )


def all_prices(pool: Pool, problem: Problem) -> tuple[Price, ...]:
    """The prices of a problem's promises, but for ratios, in their order."""
    sums = [i for i, each in enumerate(problem.constraints) if not isinstance(each.left, Ratio)]
    if len(sums) > MOST and pool.prices is not None:
        highest = np.nan_to_num(pool.prices[[_row(problem, i) for i in sums]])
        sums = sorted(sums[i] for i in np.argsort(-highest, kind="stable")[:MOST])
    return tuple(price_in(pool, problem, [promise]) for promise in sums[:MOST])


def _row(problem: Problem, promise: int) -> int:
    """The row of a compiled problem with this promise's bound; an area has others for its budgets."""
    return next(row for row, demand in enumerate(problem.demands) if demand.promise == promise)
