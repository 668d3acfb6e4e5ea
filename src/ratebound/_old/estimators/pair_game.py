"""The search with games for rankers, for promises that the plug-in cannot learn or keep.

One game is played without promises, and one for the promises with margins. The single best iterate is
taken, since a ranker gives every row one score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.auditing.pairwise import PairErrors, pair_errors
from ratebound._old.base.linear_program import kept
from ratebound._old.base.progress import TimeLimit
from ratebound._old.base.types import Array
from ratebound._old.estimators.choices import Training, as_players
from ratebound._old.estimators.margins import about
from ratebound._old.estimators.pair_rules import JUDGED
from ratebound._old.estimators.search import KEPT, PLAIN_TIME
from ratebound._old.game.learner import Learner
from ratebound._old.game.players import Player
from ratebound._old.game.rounds import play
from ratebound._old.game.rules import Folds, Keep, Rules, Stop
from ratebound._old.game.trace import Trace, judged_on
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.solution.mixture import Mixture, mixture
from ratebound._old.solution.solutions import best_by_rank
from ratebound._old.solution.status import status_there

FEWEST_ROUNDS, MOST_ROUNDS = 1000, 4000  # rounds of batches, by default
BATCH = 2  # pairs for each row that a batch of rows would have
ROOM = 0.4  # the largest share of the room between two bounds for margins, from each side
LEVELS = 10  # confidences to try, if no candidate reaches the requested one


@dataclass(frozen=True, eq=False)
class PairGame:
    """The search on pairs within folds."""

    compiled: Compiled
    learner: Learner
    player: Any
    fold: Array  # (P,) of each pair
    training: Training
    confidence: float | None
    seed: int
    progress: bool | None
    clock: TimeLimit

    def solved(self) -> tuple[Mixture, Trace]:
        """The best single iterate of a game without promises and of one for them; the latter's trace."""
        plain = self._played(
            compile(self.compiled.problem.promising(()), self.compiled.first),
            (self.learner, self.learner.player),
            PLAIN_TIME if self.compiled.constraints else 1.0,
        )
        plain = judged_on(plain, self.compiled)
        if not self.compiled.constraints:
            return self._chosen(_Candidates(self.compiled, (plain,))), plain
        margins = self._margins(plain)
        pair = as_players(self.player, self.learner, len(self.compiled.constraints))
        trace = self._played(self.compiled.tightened(margins), pair, 1.0)
        trace = replace(trace, violations=trace.violations - margins)
        return self._chosen(_Candidates(self.compiled, (trace, plain))), trace

    def _played(self, compiled: Compiled, pair: tuple[Learner, Player], time: float) -> Trace:
        learner, player = pair
        size = BATCH * self.training.batch_size
        rounds = self._rounds(compiled, size)
        return play(
            compiled,
            learner,
            player=player,
            rounds=rounds,
            batch_size=size,
            rules=Rules(loss=self.training.loss, proxy=self.training.proxy),
            keep=Keep(max(1, rounds // KEPT), folder=self.training.folder),
            stop=Stop(self.clock.part(time) if time < 1 else self.clock.left),
            judge=Folds(int(self.fold.max()) + 1, self.fold),
            seed=self.seed,
            progress=self.progress,
        )

    def _rounds(self, compiled: Compiled, size: int) -> int:
        epochs = self.training.epochs
        if self.learner.rounds is not None:
            return epochs or self.learner.rounds
        in_a_pass = max(1, len(compiled.first) // size)
        if epochs is not None:
            return epochs * in_a_pass
        return max(min(40 * in_a_pass, MOST_ROUNDS), FEWEST_ROUNDS)

    def _margins(self, plain: Trace) -> Array:
        """The margins (m,) if rates vary as they do for the best model without promises."""
        if self.confidence is None:
            return np.zeros(len(self.compiled.constraints))
        best = plain.only(np.array([int(np.argmin(plain.objectives))]))
        errors = pair_errors(self.compiled, best.scores(self.compiled)[0, 0])
        level = 1 - (1 - self.confidence) / len(self.compiled.problem.constraints)
        margins = errors.above(max(level, 0.5))[1:]
        return np.minimum(margins, ROOM * room_between(self.compiled))

    def _chosen(self, candidates: _Candidates) -> Mixture:
        """The cheapest candidate with the requested confidence, or with the highest there is."""
        place, sure = candidates.best(self.confidence)
        solution = candidates.alone(place)
        status = status_there(
            self.compiled.constraints, solution.violations["train"], self.compiled.scale[1:], JUDGED
        )
        if sure is not None:
            words = f"On new rows like these all hold together with a confidence of {about(sure)}"
            low = self.confidence is not None and sure < self.confidence
            why = f", less than the requested {self.confidence:.0%}: bring more rows, or promise less"
            message = f"{status.message}. {words}{why if low else ''}."
            status = replace(status, message=message, confidence=sure)
        return solution.recorded(status=status)


def room_between(compiled: Compiled) -> Array:
    """For each constraint (m,), the distance to one that bounds the same rate from the other side."""
    net, offset = compiled.matrix[1:], compiled.offset[1:]
    room = np.full(len(net), np.inf)
    for one in range(len(net)):
        for other in range(len(net)):
            if np.allclose(net[one], -net[other], rtol=1e-9, atol=1e-15) and net[one].any():
                room[one] = min(room[one], -(offset[one] + offset[other]))
    return np.maximum(room, 0.0)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The iterates of some games, judged on the same pairs."""

    compiled: Compiled
    traces: tuple[Trace, ...]

    def best(self, confidence: float | None) -> tuple[int, float | None]:
        """The chosen candidate, and the confidence of its promises on new rows, if requested."""
        objectives = np.concatenate([trace.objectives for trace in self.traces])
        violations = np.concatenate([trace.violations for trace in self.traces])
        worst = violations.max(axis=1, initial=-np.inf)
        within = np.flatnonzero(kept(violations, self.compiled.scale[1:]).all(axis=1))
        if confidence is None or not violations.shape[1]:
            return best_by_rank(objectives, worst), None
        if not len(within):
            place = best_by_rank(objectives, worst)
            return place, self._sure(place)
        cheapest = within[np.argsort(objectives[within], kind="stable")]
        surest: list[tuple[float, int]] = []
        for place in cheapest.tolist():
            surest.append((self._sure(place), place))
            if surest[-1][0] >= confidence:
                return place, surest[-1][0]
        most = max(sure for sure, _ in surest)
        levels = np.linspace(confidence, 0, LEVELS + 1)
        level = next(float(each) for each in levels if most >= each)
        return next((place, sure) for sure, place in surest if sure >= level)

    def _sure(self, place: int) -> float:
        """The confidence that all promises of a candidate hold on new rows."""
        trace, own = self._at(place)
        violations = trace.violations[own]
        errors: PairErrors = pair_errors(
            self.compiled, trace.only(np.array([own])).scores(self.compiled)[0, 0]
        )
        each = errors.below_zero(np.concatenate([[0.0], violations]))[1:]
        return float(max(0.0, 1 - (1 - each).sum()))

    def _at(self, place: int) -> tuple[Trace, int]:
        for trace in self.traces:
            if place < len(trace):
                return trace, place
            place -= len(trace)
        raise IndexError(place)

    def alone(self, place: int) -> Mixture:
        """A mixture of one candidate."""
        trace, own = self._at(place)
        return mixture(trace, np.arange(len(trace)) == own)
