"""The candidates that a solution is chosen from, judged on rows in memory, out of fold, or on disk.

A cross-fitted candidate has a score out of fold for every row it was trained on. These scores take the
place of the rows: thresholds, mixtures and their errors that are solved on them are as honest as on new
rows. The result then gets the models trained on all rows, whose scores these were.

If rows are on disk, steps that need the scores of all rows at once, such as moving thresholds, use a
sample in memory. The sample gives the best mixture at several margins, and the rules in these mixtures
are the candidates. Their exact rates on all rows are counted in one pass, and the solution is chosen by
these rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ratebound._old.base.linear_program import best_mixture, kept, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.estimators.margins import errors_of
from ratebound._old.game.moving import Ranked, is_fixed, ranked
from ratebound._old.game.programs import Pool, pool_of_candidates
from ratebound._old.game.trace import Trace, joined, judged_on
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile_again, parted
from ratebound._old.solution.determinize import evaluate
from ratebound._old.solution.given_scores import GivenScores
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.solutions import shrink
from ratebound._old.solution.status import KEPT, status_there
from ratebound._old.solution.threshold_rules import (
    ThresholdRules,
    numbered,
    rules_of_candidates,
    rules_of_mixtures,
)
from ratebound._old.solution.thresholds import pool_on, thresholds_on

RARE = 0.01  # the share of the rows that a member decides, below which it is hardly worth its chance
LITTLE = 0.05  # the share by which the worst violation may grow for leaving it out
CANDIDATES_ON_HALVES = 12  # candidates to choose solutions on half of the rows from
HALVINGS = 3  # halvings of the rows, each used both ways
# Standard errors on a sample by which promises are tightened or relaxed to get candidates.
AROUND = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)
SPREAD = 30  # other thresholds of each model in them
OUT_OF_FOLD = "out of fold"  # a record's name for values by models that did not see the rows


@dataclass(frozen=True, eq=False)
class Proposals:
    """A trace and the rows it was judged on, and how a solution is chosen."""

    compiled: Compiled
    trace: Trace
    solve: Callable[[Trace], Mixture]
    known: Sequence[str] | None
    moves: bool

    @property
    def caveat(self) -> str:
        """A caveat for statements about new rows."""
        names = ", ".join(str(each.left) for _, each in self.compiled.general)
        aside = f" (except {names}, about which nothing is known there)" if names else ""
        return f"{aside}, as far as the training rows show"

    def solved(self, margins: Array) -> Mixture:
        """The solution that keeps the promises with `margins` (m,), and is judged with them."""
        tight, tightened = self._tightened(margins)
        if self.known is not None:
            return thresholds_on(tightened, tight, self.known)
        trace = self.moved(margins).together() if self.movable else tightened
        return _without_rare(shrink(trace), trace) if self.solve is shrink else self.solve(trace)

    def raised(self, raises: Array, margins: Array) -> Mixture | None:
        """The solution that keeps the promises with `margins`, and ratios with raised bounds.

        It is recorded with its values for the original promises. None if no model could keep a bound
        that is raised so far.
        """
        if not raises.any():
            return self.solved(margins)
        compiled = self.compiled
        places = [own[0] for own in compiled.parts]
        pairs = zip(compiled.problem.constraints, places, strict=True)
        try:
            promises = [each.tightened(float(raises[place])) for each, place in pairs]
            tight = compile_again(compiled, compiled.problem.promising(promises))
        except ValueError:
            return None
        solution = replace(self, compiled=tight, trace=judged_on(self.trace, tight)).solved(margins)
        there = evaluate(solution, compiled)
        return solution.recorded(
            problem=compiled.problem,
            objectives={"train": there.objective},
            violations={"train": there.violations + margins},
        )

    def pool(self, margins: Array) -> Pool:
        """The pool that `solved` chooses from at these margins."""
        tight, tightened = self._tightened(margins)
        if self.known is not None:
            pool = pool_on(tightened, tight, self.known)
        elif self.movable:
            pool = self.moved(margins).pool()
        else:
            pool = pool_of_candidates(tightened)
        return replace(pool, margins=margins)

    def optimism(self, margins: Array, seed: int) -> Array:
        """How much lower violations (m,) are on the rows that chose a solution than elsewhere.

        Among many thresholds and mixtures, the ones that these rows happen to favour are chosen.
        Solutions chosen on half of the rows and judged on the other half show by how much; on twice as
        many rows the effect is smaller by the square root of two, like any sampling error.
        """
        count = min(CANDIDATES_ON_HALVES, len(self.trace))
        spaced = np.linspace(0, len(self.trace) - 1, count).round().astype(int)
        few, gaps = self.trace.only(spaced), []
        for split in range(HALVINGS):
            try:
                halves = parted(self.compiled, 0.5, seed + split)
                gaps += [self._gap(few, margins, *pair) for pair in (halves, halves[::-1])]
            except ValueError:  # a group is too small to be halved, and shows nothing about new rows
                return errors_of(self.solved(margins), self.compiled).sizes
        return np.asarray(np.maximum(np.mean(gaps, axis=0), 0.0) / math.sqrt(2))

    def _gap(self, few: Trace, margins: Array, here: Compiled, there: Compiled) -> Array:
        """How much lower violations (m,) are `here`, where a solution is chosen, than `there`."""
        solution = replace(self, compiled=here, trace=judged_on(few, here)).solved(margins)
        return np.asarray(evaluate(solution, there).violations - evaluate(solution, here).violations)

    @property
    def few(self) -> Compiled:
        """Rows in memory for comparison with one decision for everyone."""
        return self.compiled

    @property
    def movable(self) -> bool:
        """Whether thresholds move; thresholds of known groups do not."""
        return self.moves and not is_fixed(self.compiled)

    @cached_property
    def _ranked(self) -> Ranked:
        return ranked(self.trace.iterates, self.compiled)

    def moved(self, margins: Array) -> Ranked:
        """The iterates at all thresholds, with these margins; the latest are cached."""
        if margins.tobytes() not in self._latest:
            self._latest.clear()
            self._latest[margins.tobytes()] = self._ranked.tightened(margins)
        return self._latest[margins.tobytes()]

    @cached_property
    def _latest(self) -> dict[bytes, Ranked]:
        return {}

    def _tightened(self, margins: Array) -> tuple[Compiled, Trace]:
        trace = replace(self.trace, violations=self.trace.violations + margins)
        return self.compiled.tightened(margins), trace

    def real(self, solution: Mixture) -> Mixture:
        """A solution as it decides on rows."""
        return solution


@dataclass(frozen=True, eq=False)
class ProposalsOutOfFold(Proposals):
    """Candidates whose scores out of fold take the place of the rows."""

    seen: Proposals  # on the rows themselves

    @property
    def caveat(self) -> str:
        return ""

    def real(self, solution: Mixture) -> Mixture:
        """A solution on scores, with the models of these scores, and its values on the training rows."""
        models = solution.parameters[:, 0].astype(int)  # the models whose scores they repeat
        scorer, parameters = self.seen.trace.scorer.kept(self.seen.trace.parameters[models])
        calibrated = solution.calibrated(self.compiled.first, OUT_OF_FOLD)
        members = replace(solution.members, scorer=scorer, parameters=parameters)
        real = replace(calibrated, members=members)
        compiled, status = self.seen.compiled, solution.status
        there = evaluate(real, compiled)
        violations = there.violations
        if not kept(violations, compiled.scale[1:]).all() and status.feasible:
            said = "kept out of fold, but on the training rows themselves "
            broken = status_there(compiled.constraints, violations, compiled.scale[1:], "")
            beyond = status.message.removeprefix(KEPT)  # the sentence about new rows
            message = f"{said}{broken.message}{beyond}"
            status = replace(broken, message=message, confidence=status.confidence)
        return real.recorded(
            status=status,
            objectives={"train": there.objective, OUT_OF_FOLD: solution.record.objectives["train"]},
            violations={"train": violations, OUT_OF_FOLD: solution.violations["train"]},
        )


def out_of_fold(seen: Proposals) -> ProposalsOutOfFold:
    """The same candidates on their scores out of fold."""
    compiled, trace = seen.compiled, seen.trace
    scores = trace.scores(compiled)
    people = {}
    for name, population in compiled.populations.items():
        own = np.moveaxis(scores[..., compiled.rows[name]], -1, 0)
        people[name] = population.seen_through(partial(_instead, own.reshape(len(own), -1)))
    scorer, numbers = GivenScores(*scores.shape[:2]), np.arange(len(trace), dtype=float)[:, None]
    repeating = replace(trace, scorer=scorer, parameters=numbers, folds=None)
    return ProposalsOutOfFold(
        compiled.seen_as(people), repeating, seen.solve, seen.known, seen.moves, seen
    )


@dataclass(frozen=True, eq=False)
class ProposalsOnDisk(Proposals):
    """Candidates with their exact values on rows on disk, found on a sample of them."""

    sample: Proposals
    by_group: ThresholdRules | None = None  # the candidates, if thresholds are by known group

    @property
    def few(self) -> Compiled:
        return self.sample.compiled

    @property
    def caveat(self) -> str:
        return ""

    def solved(self, margins: Array) -> Mixture:
        tightened = self._tightened(margins)[1]
        if self.by_group is None:
            return self.solve(tightened)
        return self.by_group.drawn(shrink(tightened))

    def pool(self, margins: Array) -> Pool:
        return replace(pool_of_candidates(self._tightened(margins)[1]), margins=margins)

    def optimism(self, margins: Array, seed: int) -> Array:
        """How much lower violations (m,) are on all rows than on the sample, which was held out.

        Only the part beyond a standard error counts: the sample is far smaller.
        """
        solution = self.solved(margins)
        apart = evaluate(solution, self.few).violations - (solution.violations["train"] - margins)
        return np.asarray(np.maximum(apart - errors_of(solution, self.few).sizes, 0.0))


def counted_on_all_rows(compiled: Compiled, sample: Proposals) -> ProposalsOnDisk:
    """The candidates that a sample in memory proposes, on all rows."""
    by_group = None
    if sample.known is None:
        trace = _moved(sample)
        rules = rules_of_candidates(trace)
    else:
        rules = by_group = rules_of_mixtures([sample.solved(margins) for margins in _spots(sample)])
        trace = numbered(sample.trace, len(rules))
    exact = _measured(trace, rules, compiled)
    return ProposalsOnDisk(compiled, exact, sample.solve, sample.known, sample.moves, sample, by_group)


def _spots(sample: Proposals) -> list[Array]:
    """The margins (m,) at which the sample gives the best mixture."""
    none = np.zeros(len(sample.compiled.constraints))
    if not len(none):
        return [none]
    sizes = errors_of(sample.solved(none), sample.compiled).sizes
    return [by * sizes for by in AROUND]


def _moved(sample: Proposals) -> Trace:
    """The iterates, and moved thresholds of the iterates in the best mixtures on the sample.

    These are the thresholds there, and others over the whole range, since all rows may favour these.
    """
    if not sample.movable:
        return sample.trace
    mixtures = [sample.moved(margins) for margins in _spots(sample)]
    used = np.unique(np.concatenate([each.policy.columns.model for each in mixtures]))
    parts = [each.together() for each in mixtures]
    others = [part.only(_moved_ones(part)) for part in parts[1:]]
    every = joined([parts[0], *others, mixtures[0].spread(used, SPREAD)])
    assert every.at is not None
    rules = np.column_stack([every.parameters, every.at])
    return every.only(np.sort(np.unique(rules, axis=0, return_index=True)[1]))


def _moved_ones(trace: Trace) -> Array:
    """The candidates whose thresholds were moved."""
    assert trace.at is not None
    return np.flatnonzero(trace.at.any(axis=1))


def _measured(trace: Trace, rules: ThresholdRules, compiled: Compiled) -> Trace:
    """The candidates with their exact values on all rows, in one pass over these."""
    objectives, violations, pieces = compiled.measure(rules.scores(compiled), trace.thresholds)
    return replace(
        trace,
        problem=compiled.problem,
        constraints=compiled.constraints,
        objectives=objectives,
        violations=violations,
        pieces=pieces,
        watched={},
        scale=compiled.scale[1:],
        goal=compiled.goal,
    )


def _without_rare(solution: Mixture, trace: Trace) -> Mixture:
    """The best mixture of `trace`; if it breaks promises, without members that decide hardly any row.

    The least violation may need a member that decides one row in a thousand. It gains almost nothing,
    and the rows it decides are drawn by chance; so it is left out if that costs little.
    """
    if solution.status.feasible or trace.goal is not None or solution.weights.min() >= RARE:
        return solution
    weights, least = best_mixture(trace.objectives, trace.violations, trace.scale)
    fewer = shrink(trace.only(np.flatnonzero(weights >= RARE)))
    worst = worst_violation(fewer.violations["train"], trace.scale)
    return fewer if worst <= least.violation * (1 + LITTLE) else solution


def _instead(scores: Array, _: Any) -> Array:
    return scores
