"""What a solution is chosen from, on the rows it is judged on.

A cross-fitted candidate has a score out of fold for every row it was trained on. Such scores then stand
in for the rows: whatever is solved on them, thresholds and mixtures and their errors, is as honest as on
new rows. What comes out is given the models of all rows that the scores stood in for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ratebound.base.linear_program import best_mixture, kept, worst_violation
from ratebound.base.types import Array
from ratebound.estimators._margins import errors_of
from ratebound.game.moving import Ranked, is_fixed, ranked
from ratebound.game.pool import Pool, pool_of_candidates
from ratebound.game.scorer import Scorer
from ratebound.game.trace import Trace, judged_on
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile_again
from ratebound.problem.holding_out import parted
from ratebound.solution.determinize import evaluate
from ratebound.solution.given_scores import GivenScorer, GivenScores
from ratebound.solution.mixture import Mixture
from ratebound.solution.solutions import shrink
from ratebound.solution.status import KEPT, status_there
from ratebound.solution.thresholds import pool_on, thresholds_on

RARE = 0.01  # share of the rows that a member decides, below which it is hardly worth its chance
LITTLE = 0.05  # share by which the worst violation may grow for that
FEW = 12  # candidates from which solutions on half of the rows are chosen
HALVINGS = 3  # of the rows, each used both ways
OUT_OF_FOLD = "out of fold"  # what a record calls values by models that did not see the rows


@dataclass(frozen=True, eq=False)
class Candidates:
    """A trace and the rows it was judged on, and how a solution is chosen."""

    everyone: Compiled
    trace: Trace
    solve: Callable[[Trace], Mixture]
    known: Sequence[str] | None
    moves: bool

    @property
    def caveat(self) -> str:
        """What to add where something is said of new rows."""
        return ", as far as the rows it was trained on can tell"

    def solved(self, margins: Array) -> Mixture:
        """The solution that keeps the promises with `margins` (m,), and is judged with them."""
        tight, tightened = self._tightened(margins)
        if self.known is not None:
            return thresholds_on(tightened, tight, self.known)
        trace = self.moved(margins).together() if self.movable else tightened
        return _without_rare(shrink(trace), trace) if self.solve is shrink else self.solve(trace)

    def raised(self, raises: Array, margins: Array) -> Mixture | None:
        """The solution that keeps the promises with `margins`, and ratios with bounds raised so (m,).

        It is recorded with what it does for the promises themselves. None where no model could keep a
        bound that is raised so far.
        """
        if not raises.any():
            return self.solved(margins)
        everyone = self.everyone
        places = [own[0] for own in everyone.parts]
        pairs = zip(everyone.problem.constraints, places, strict=True)
        try:
            promises = [each.tightened(float(raises[place])) for each, place in pairs]
            tight = compile_again(everyone, everyone.problem.promising(promises))
        except ValueError:
            return None
        solution = replace(self, everyone=tight, trace=judged_on(self.trace, tight)).solved(margins)
        there = evaluate(solution, everyone)
        return solution.recorded(
            problem=everyone.problem,
            objectives={"train": there.objective},
            violations={"train": there.violations + margins},
        )

    def pool(self, margins: Array) -> Pool:
        """What `solved` chooses from at these margins."""
        tight, tightened = self._tightened(margins)
        if self.known is not None:
            pool = pool_on(tightened, tight, self.known)
        elif self.movable:
            pool = self.moved(margins).pool()
        else:
            pool = pool_of_candidates(tightened)
        return replace(pool, margins=margins)

    def optimism(self, margins: Array, seed: int) -> Array:
        """How much lower violations (m,) are where a solution was chosen than they are elsewhere.

        Of so many thresholds and mixtures, those that these rows happen to favour are chosen. Solutions
        found on halves of the rows and judged on the others show by how much; on twice as many rows
        it is less by the root of two, as all that chance does.
        """
        spaced = np.linspace(0, len(self.trace) - 1, min(FEW, len(self.trace))).round().astype(int)
        few, gaps = self.trace.only(spaced), []
        for split in range(HALVINGS):
            try:
                halves = parted(self.everyone, 0.5, seed + split)
                gaps += [self._gap(few, margins, *pair) for pair in (halves, halves[::-1])]
            except ValueError:  # a group is too small to be halved, and says nothing about new rows
                return errors_of(self.solved(margins), self.everyone).sizes
        found: Array = np.maximum(np.mean(gaps, axis=0), 0.0) / math.sqrt(2)
        return found

    def _gap(self, few: Trace, margins: Array, here: Compiled, there: Compiled) -> Array:
        """How much lower violations (m,) are `here`, where a solution is chosen, than `there`."""
        solution = replace(self, everyone=here, trace=judged_on(few, here)).solved(margins)
        found: Array = evaluate(solution, there).violations - evaluate(solution, here).violations
        return found

    @property
    def few(self) -> Compiled:
        """Rows in memory on which all can be decided alike, for comparison."""
        return self.everyone

    @property
    def movable(self) -> bool:
        """Whether thresholds move, and not those of known groups."""
        return self.moves and not is_fixed(self.everyone)

    @cached_property
    def _ranked(self) -> Ranked:
        return ranked(self.trace.iterates, self.everyone)

    def moved(self, margins: Array) -> Ranked:
        """The iterates at all thresholds, with these margins; the latest are asked about twice."""
        if margins.tobytes() not in self._latest:
            self._latest.clear()
            self._latest[margins.tobytes()] = self._ranked.tightened(margins)
        return self._latest[margins.tobytes()]

    @cached_property
    def _latest(self) -> dict[bytes, Ranked]:
        return {}

    def _tightened(self, margins: Array) -> tuple[Compiled, Trace]:
        trace = replace(self.trace, violations=self.trace.violations + margins)
        return self.everyone.tightened(margins), trace

    def real(self, solution: Mixture) -> Mixture:
        """A solution as it decides on rows."""
        return solution


@dataclass(frozen=True, eq=False)
class OutOfFold(Candidates):
    """Candidates whose scores out of fold stand in for the rows."""

    seen: Candidates  # on the rows themselves

    def _models(self, parameters: Array) -> Array:
        """Which candidates' scores these parameters of a solution repeat."""
        if self.everyone.decisions > 2:
            return parameters[:, 0].astype(int)
        return np.argmax(parameters[:, :-1], axis=1)

    @property
    def caveat(self) -> str:
        return ""

    def real(self, solution: Mixture) -> Mixture:
        """A solution on scores, with the models these are of; and its values on the training rows."""
        models = self._models(solution.parameters)
        scorer, parameters = self.seen.trace.scorer.kept(self.seen.trace.parameters[models])
        calibrated = solution.calibrated(self.everyone.first, OUT_OF_FOLD)
        members = replace(solution.members, scorer=scorer, parameters=parameters)
        real = replace(calibrated, members=members)
        everyone, status = self.seen.everyone, solution.status
        there = evaluate(real, everyone)
        violations = there.violations
        if not kept(violations, everyone.scale[1:]).all() and status.feasible:
            said = "kept out of fold, but on the training rows themselves "
            broken = status_there(everyone.constraints, violations, everyone.scale[1:], "")
            beyond = status.message.removeprefix(KEPT)  # what is said of new rows
            message = f"{said}{broken.message}{beyond}"
            status = replace(broken, message=message, confidence=status.confidence)
        return real.recorded(
            status=status,
            objectives={"train": there.objective, OUT_OF_FOLD: solution.record.objectives["train"]},
            violations={"train": violations, OUT_OF_FOLD: solution.violations["train"]},
        )


def out_of_fold(seen: Candidates) -> OutOfFold:
    """The same candidates on their scores out of fold."""
    everyone, trace = seen.everyone, seen.trace
    scores = trace.scores(everyone)  # (N, n), or (N, D, n)
    people = {}
    for name, population in everyone.populations.items():
        own = np.moveaxis(scores[..., everyone.rows[name]], -1, 0)
        people[name] = population.seen_through(partial(_instead, own.reshape(len(own), -1)))
    scorer: Scorer = GivenScorer(str(scores.dtype))
    parameters = np.column_stack([np.eye(len(trace)), np.zeros(len(trace))])
    if everyone.decisions > 2:
        scorer = GivenScores(len(trace), everyone.decisions)
        parameters = np.arange(len(trace), dtype=float)[:, None]
    repeating = replace(trace, scorer=scorer, parameters=parameters, folds=None)
    return OutOfFold(everyone.seen_as(people), repeating, seen.solve, seen.known, seen.moves, seen)


def _without_rare(solution: Mixture, trace: Trace) -> Mixture:
    """The best mixture of `trace`; if it breaks promises, without members that decide hardly any row.

    The least violation may need a member that decides one row in a thousand. It gains next to nothing,
    and whoever it decides was drawn by chance; so it goes if that costs little.
    """
    if solution.status.feasible or trace.goal is not None or solution.weights.min() >= RARE:
        return solution
    weights, least = best_mixture(trace.objectives, trace.violations, trace.scale)
    fewer = shrink(trace.only(np.flatnonzero(weights >= RARE)))
    worst = worst_violation(fewer.violations["train"], trace.scale)
    return fewer if worst <= least.violation * (1 + LITTLE) else solution


def _instead(scores: Array, _: Any) -> Array:
    return scores
