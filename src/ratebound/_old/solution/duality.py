"""How far from the best: the duality gap of a trace whose iterates answer their multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound._old.base.linear_program import best_mixture
from ratebound._old.game.players_by_fits import elastic, lower_bounds
from ratebound._old.game.trace import Trace, check_trace


@dataclass(frozen=True, repr=False)
class DualityGap:
    """The gap between the best mixture's objective and a lower bound on all; it prints its meaning."""

    upper: float  # reached by the best mixture of the iterates
    lower: float  # no mixture that keeps the constraints goes below, if the oracle's answers are best
    feasible: bool  # whether that mixture keeps the constraints
    radius: float  # if it does not: the penalty per unit of violation, in both `upper` and `lower`

    @property
    def gap(self) -> float:
        """How much better than the best mixture another one can be; 0 up to rounding if none can be."""
        return max(self.upper - self.lower, 0.0)

    def __repr__(self) -> str:
        if self.feasible:
            best = f"The best mixture keeps the constraints with an objective of {self.upper:.6g}"
            others = f"none that keeps them goes below {self.lower:.6g}"
        else:
            cost = f"objective + {self.radius:.4g} · worst violation"
            best = (
                f"No mixture of the iterates keeps the constraints. {cost} is {self.upper:.6g} at best"
            )
            others = f"no other mixture brings it below {self.lower:.6g}"
        return (
            f"duality gap {self.gap:.3g}. {best}; {others}, provided that the estimator's answers are "
            "the best there are: a proof for exact oracles, an estimate for others."
        )


def duality_gap(trace: Trace) -> DualityGap:
    """How far the best mixture of an oracle's iterates is from the best mixture of all models.

    By weak duality, each λ >= 0 gives a bound that no mixture which keeps the constraints goes below:
    the least value of objective + λ · violations over all models. An exact oracle's answer to λ attains
    it; with others, such as logistic regression, it is the least over the iterates, and the bound is
    only as good as these.

    Parameters
    ----------
    trace : Trace
        From training a scikit-learn classifier, `rb.Oracle`. Give the whole trace: one of several
        settings lacks the answers of the others, so its gap may be too small. A trace thinned to its
        frontier lacks some multipliers, so its gap may be larger.

    Returns
    -------
    DualityGap
        Its `lower` is the best of these bounds, its `upper` the objective of `rb.shrink`, and its `gap`
        the difference. If no mixture of the iterates keeps the constraints, `feasible` is False. Both
        then include the objective plus a penalty on the worst violation (for counts, per row); the
        penalty is the largest sum of multipliers that was played. It prints its meaning.

    Raises
    ------
    ValueError
        If the models were not answers to multipliers, as models trained by gradients are not, or the
        objective is not a sum of rates.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> people = rb.Population([[0], [1]] * 2, [0, 1, 1, 1], columns={"side": [0, 1] * 2})
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.6])
    >>> trace = rb.play(rb.compile(problem, people), rb.Oracle(DecisionTreeClassifier()))
    >>> gap = rb.duality_gap(trace)
    >>> round(gap.upper, 6), round(gap.gap, 6)
    (0.25, 0.0)
    """
    check_trace("duality_gap", trace)
    if not trace.answers:
        raise ValueError(
            "duality_gap needs iterates that are best answers to their multipliers, and this trace is "
            "of a model that descends step by step: play with rb.Oracle(estimator)"
        )
    if trace.goal is not None:
        raise ValueError(
            f"duality_gap needs an objective that is a sum of rates, and {trace.problem.objective} is "
            f"not: the status of rb.shrink(trace) says how far it is from the best mixture of the "
            "candidates"
        )
    values = np.column_stack([trace.objectives, trace.violations / trace.scale])
    multipliers = np.column_stack([trace.multipliers[:, 0], trace.multipliers[:, 1:] * trace.scale])
    bounds = lower_bounds(values, multipliers)
    lower = float(bounds.max())
    weights, least = best_mixture(trace.objectives, trace.violations, trace.scale)
    if least.violation == 0:
        return DualityGap(float(weights @ trace.objectives), lower, True, 0.0)
    counted = multipliers[np.isfinite(bounds)]
    radius = float((counted[:, 1:].sum(axis=1) / counted[:, 0]).max(initial=0.0))
    return DualityGap(elastic(values, radius).value, lower, False, radius)
