"""Intervals of objectives that are no sums of rates, from intervals of their parts.

The parts' intervals hold together where each holds at a level that leaves them a share of the doubt
(Bonferroni). A smallest, a largest or a mean of rates rises with each of them, so its ends are those of
the parts; a divergence is lowest at the share aimed at, and highest at one of the ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ratebound.auditing._intervals import Interval
from ratebound.problem.reductions.curves import Convex
from ratebound.problem.reductions.goal import Goal
from ratebound.rates.beyond_sums import Curve, Extreme
from ratebound.rates.expressions import Expression, Metric, Ratio

# The interval of a sum or a ratio at a level, None where there is none.
Interval_of = Callable[[Expression | Ratio, float], Interval | None]


def goal_interval(metric: Metric, goal: Goal, level: float, interval_of: Interval_of) -> Interval | None:
    """An interval of a goal in its own sense that holds the truth with a probability of `level`."""
    if isinstance(metric, Extreme):
        found = _together(metric.parts, level, interval_of)
        if found is None:
            return None
        end = np.min if metric.kind == "smallest" else np.max
        return float(end(found[0])), float(end(found[1]))
    assert isinstance(metric, Curve)
    assert isinstance(goal, Convex)
    if metric.kind != "kl_divergence":
        found = _together(goal.pieces, level, interval_of)
        return None if found is None else (-float(goal.value(found[0])), -float(goal.value(found[1])))
    if metric.target is None:  # the labels vary too
        return None
    found = _together(goal.pieces[:1], level, interval_of)
    if found is None:
        return None
    low, high = float(found[0][0]), float(found[1][0])
    ends = [float(goal.value(np.array([share, 1 - share]))) for share in (low, high)]
    return (0.0 if low <= metric.target <= high else min(ends)), max(ends)


def _together(
    parts: tuple[Expression | Ratio, ...], level: float, interval_of: Interval_of
) -> tuple[np.ndarray, np.ndarray] | None:
    """The lower and the upper ends of the parts' intervals, which hold together at `level`."""
    each = 1 - (1 - level) / len(parts)
    found = [interval_of(part, each) for part in parts]
    known = [interval for interval in found if interval is not None]
    if len(known) < len(parts):
        return None
    low, high = np.array(known).T
    return np.clip(low, 0.0, None), high
