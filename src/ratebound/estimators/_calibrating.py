"""The probability of the label, calibrated on rows that the models were not trained on if it can be.

Rows that are held out to choose a setting are such for the iterates of the game. A model trained without
promises has seen all rows; there a stand-in takes its place, trained as it was but without those rows.
Where no rows are held out, all there is are the training rows, which trees know by heart. How much that
flatters is then measured on a cross-fitted model without promises, and taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Scorer
from ratebound.game.trace import Trace
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import mean_score
from ratebound.problem.population import Population
from ratebound.rates.rate import FIRST
from ratebound.solution.calibration import Calibration
from ratebound.solution.mixture import Mixture

# What a calibration calls its rows.
HELD_OUT, TRAINED_ON = "held-out rows", "training rows"
CORRECTED = "training rows, corrected out of fold"


@dataclass(frozen=True, eq=False)
class Calibrating:
    """What a solution that was chosen from `trace` is calibrated on."""

    everyone: Compiled
    held_out: Population | None  # rows that the first `own` candidates were not trained on, if any
    called: str  # what these rows are called
    trace: Trace
    own: int  # candidates of the game; those after them were trained without promises, on all rows
    train_stand_ins: Callable[[], Trace]  # for those, one for each, without the rows held out
    cross_fit: Callable[[], Trace | None]  # the model without promises, also judged out of fold

    def calibrated(self, solution: Mixture) -> Mixture:
        """The solution with its calibration, which says which rows it was fitted on."""
        if self.held_out is None:
            return self._on_training_rows(solution)
        scores = _scores(solution.scorer, solution.parameters, self.held_out)
        candidate = self._candidates_of(scores)
        if (candidate >= self.own).any():
            if len(self._stand_ins) < len(self.trace) - self.own:  # there was no time for them
                return solution.calibrated(self.everyone.first, TRAINED_ON)
            after = candidate - self.own
            trained_on_all = (after >= 0).reshape(-1, *[1] * (scores.ndim - 1))
            scores = np.where(trained_on_all, self._stand_ins[after.clip(min=0)], scores)
        mean = mean_score(solution.model_weights, scores)
        return solution.calibrated(self.held_out, self.called, scores=mean)

    def _on_training_rows(self, solution: Mixture) -> Mixture:
        """Calibrated on the training rows, less what these flatter a model without promises."""
        rows = self.everyone.first
        seen = solution.calibrated(rows, TRAINED_ON)
        # Linear models and networks, which read numbers alone, know few of their rows by heart.
        crossed = self.cross_fit() if solution.scorer.tables else None
        if crossed is None:
            return seen
        last = crossed.only(np.array([len(crossed) - 1]))
        inside = _scores(last.scorer, last.parameters, rows)[0]
        outside = last.scores(self.everyone)[0][..., self.everyone.rows[FIRST]]
        flattered = _line(solution.calibrated(rows, TRAINED_ON, scores=inside))
        less = _line(solution.calibrated(rows, CORRECTED, scores=flattered.odds(outside)))
        return replace(seen, calibration=less.after(_line(seen)))

    def _candidates_of(self, scores: Array) -> Array:
        """Which candidate each model is, (B,), told by its scores (B, ...) on the rows held out."""
        assert self.held_out is not None
        every = _scores(self.trace.scorer, self.trace.parameters, self.held_out)
        others = tuple(range(1, every.ndim))
        return np.array([np.abs(every - one).sum(axis=others).argmin() for one in scores])

    @cached_property
    def _stand_ins(self) -> Array:
        """Scores of the stand-ins on the rows held out, one line for each."""
        assert self.held_out is not None
        trained = self.train_stand_ins()
        return _scores(trained.scorer, trained.parameters, self.held_out)


def _line(mixture: Mixture) -> Calibration:
    assert mixture.calibration is not None
    return mixture.calibration


def _scores(scorer: Scorer, parameters: Array, rows: Population) -> Array:
    return scorer.scores(parameters, rows.inputs if scorer.tables else rows.features)
