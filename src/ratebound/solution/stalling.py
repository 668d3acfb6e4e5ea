"""When to stop: once the best mixture of the iterates no longer improves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ratebound.base.linear_program import TOLERANCE, shrink_weights, worst_violation
from ratebound.game.trace import Trace
from ratebound.solution.solutions import values_on


@dataclass
class Stalled:
    """Stops the game after `patience` kept rounds in which the shrunk mixture has not improved.

    Better is a lower worst violation, or an equal one with a lower objective, by more than `tolerance`.
    With `on`, the mixture is still the best of the training rows, but judged on a watched population.
    The mixture was not chosen by its violations there, so these never settle; better is then a lower
    sum of the objective and the worst violation.

    >>> from ratebound import play
    >>> stop = Stalled(patience=5)  # for play(..., stop=stop)
    """

    patience: int
    tolerance: float = 1e-4
    on: str = "train"
    best: tuple[float, float] = field(default=(np.inf, np.inf))
    waited: int = 0

    def __call__(self, trace: Trace) -> bool:
        weights = shrink_weights(trace.objectives, trace.violations, scale=trace.scale)
        found = values_on(trace, self.on)
        violation = float(worst_violation(weights @ found.violations, found.scale))
        objective = float(weights @ found.objectives)
        if self.on != "train":
            violation, objective = 0.0, objective + violation
        safer = violation < self.best[0] - self.tolerance
        cheaper = violation <= self.best[0] + TOLERANCE and objective < self.best[1] - self.tolerance
        if safer or cheaper:
            self.best, self.waited = (violation, objective), 0
        else:
            self.waited += 1
        return self.waited >= self.patience
