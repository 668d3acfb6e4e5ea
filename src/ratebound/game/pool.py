"""What the best mixture is chosen from, as numbers alone: enough to say what other bounds would cost.

Models and rows are not needed for that, so a pool is small and outlives both. It holds more than the
candidates kept: thresholds that would be used at other bounds, which no one has asked for yet. Where
the objective is no sum of rates, its tangent at the best mixture stands for it: right for prices at the
bounds there are, and not for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ratebound.base.linear_program import mixture_prices
from ratebound.base.types import Array
from ratebound.game.candidates import Candidates
from ratebound.game.goal_programs import best_goal_mixture
from ratebound.game.threshold_program import Columns, Policy, columns_around, policy_prices
from ratebound.game.trace import Trace


@dataclass(frozen=True, eq=False)
class Pool:
    """Columns of a linear program over mixtures; in each group their weights sum to 1."""

    objectives: Array  # (k,)
    violations: Array  # (k, m), feasible where <= 0
    groups: Array  # (k,) from 0; mixtures of whole models are one group
    scale: Array | float  # (m,) the units in which violations are compared
    prices: Array | None = None  # (m,) what relaxing each gains, per unit of its violation, if known
    margins: Array | float = 0.0  # (m,) that violations were counted with
    watched: dict[str, Array] = field(default_factory=dict)  # (k,) objectives on other populations

    def paid(self) -> Array:
        """The price of each constraint (m,); NaN where they cannot all be kept."""
        if self.prices is not None:
            return self.prices
        return mixture_prices(self.objectives, self.violations, self.scale)


def pool_of_candidates(trace: Trace) -> Pool:
    """The candidates of a trace."""
    if trace.goal is not None:
        assert trace.pieces is not None
        solved = best_goal_mixture(trace.goal, trace.pieces, trace.violations, trace.scale)[2]
        alone, objectives = np.zeros(len(trace), dtype=int), trace.pieces @ solved.weights
        return Pool(objectives, trace.violations, alone, trace.scale, solved.prices)
    return Pool(
        trace.objectives,
        trace.violations,
        np.zeros(len(trace), dtype=int),
        trace.scale,
        watched={name: values.objectives for name, values in trace.watched.items()},
    )


def pool_of_thresholds(rankings: Sequence[Candidates], policy: Policy) -> Pool:
    """The best policy's thresholds, and those around and between them."""
    columns: Columns = columns_around(rankings, policy)
    if policy.solved is not None:
        m = len(policy.least.violations)
        violations, pieces = np.split(columns.values[:, 1:], [m], axis=1)
        objectives, scale = pieces @ policy.solved.weights, rankings[0].compiled.scale[1 : 1 + m]
        return Pool(objectives, violations, columns.group, scale, policy.solved.prices)
    return Pool(
        columns.values[:, 0],
        columns.values[:, 1:],
        columns.group,
        rankings[0].compiled.scale[1:],
        policy_prices(rankings, policy),
    )
