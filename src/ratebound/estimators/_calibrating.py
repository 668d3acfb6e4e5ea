"""The probability of the label, calibrated on rows that the models were not trained on if it can be.

Rows that are held out to choose a setting are such for the iterates of the game. A model trained without
promises has seen all rows; there a stand-in takes its place, trained as it was but without those rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Scorer
from ratebound.game.trace import Trace
from ratebound.problem.population import Population
from ratebound.solution.mixture import Mixture

HELD_OUT, TRAINED_ON = "held-out rows", "training rows"  # what a calibration calls its rows


@dataclass(frozen=True, eq=False)
class Calibrating:
    """What a solution that was chosen from `trace` is calibrated on."""

    everyone: Population
    held_out: Population | None  # rows that the first `own` candidates were not trained on, if any
    trace: Trace
    own: int  # candidates of the game; those after them were trained without promises, on all rows
    train_stand_ins: Callable[[], Trace]  # for those, one for each, without the rows held out

    def calibrated(self, solution: Mixture) -> Mixture:
        """The solution with its calibration, which says which rows it was fitted on."""
        if self.held_out is None:
            return solution.calibrated(self.everyone, TRAINED_ON)
        scores = _scores(solution.scorer, solution.parameters, self.held_out)
        candidate = self._candidates_of(scores)
        if (candidate >= self.own).any():
            if len(self._stand_ins) < len(self.trace) - self.own:  # there was no time for them
                return solution.calibrated(self.everyone, TRAINED_ON)
            after = candidate - self.own
            scores = np.where((after >= 0)[:, None], self._stand_ins[after.clip(min=0)], scores)
        return solution.calibrated(self.held_out, HELD_OUT, scores=solution.model_weights @ scores)

    def _candidates_of(self, scores: Array) -> Array:
        """Which candidate each model is, (B,), told by its scores (B, n) on the rows held out."""
        assert self.held_out is not None
        every = _scores(self.trace.scorer, self.trace.parameters, self.held_out)
        return np.array([np.abs(every - one).sum(axis=1).argmin() for one in scores])

    @cached_property
    def _stand_ins(self) -> Array:
        """Scores of the stand-ins on the rows held out, one line for each."""
        assert self.held_out is not None
        trained = self.train_stand_ins()
        return _scores(trained.scorer, trained.parameters, self.held_out)


def _scores(scorer: Scorer, parameters: Array, rows: Population) -> Array:
    return scorer.scores(parameters, rows.inputs if scorer.tables else rows.features)
