"""Choosing where rows are on disk: found on a sample in memory, and chosen by all rows.

Whatever has to look at the scores of all rows at once, as moving thresholds does, looks at a sample. It
is asked for the best mixture at several margins; the rules that these are made of are the candidates.
Their exact rates on all rows are counted in one pass, and by these the solution is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ratebound.base.types import Array
from ratebound.estimators._candidates import Candidates
from ratebound.estimators._margins import errors_of
from ratebound.game.pool import Pool, pool_of_candidates
from ratebound.game.trace import Trace, joined
from ratebound.problem.compiled import Compiled
from ratebound.solution.determinize import evaluate
from ratebound.solution.mixture import Mixture
from ratebound.solution.rules import Rules, numbered, rules_of_candidates, rules_of_mixtures
from ratebound.solution.solutions import shrink

# Standard errors on the sample by which promises are tightened or relaxed to find candidates.
AROUND = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)
SPREAD = 30  # other thresholds of each model that was found


@dataclass(frozen=True, eq=False)
class OnDisk(Candidates):
    """Candidates with their exact values on rows on disk, found on a sample of them."""

    sample: Candidates
    by_group: Rules | None = None  # what candidates are, where thresholds are by known group

    @property
    def few(self) -> Compiled:
        return self.sample.everyone

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

        Only what goes beyond a standard error counts: the sample is far smaller.
        """
        solution = self.solved(margins)
        apart = evaluate(solution, self.few).violations - (solution.violations["train"] - margins)
        found: Array = np.maximum(apart - errors_of(solution, self.few).sizes, 0.0)
        return found


def on_disk(everyone: Compiled, sample: Candidates) -> OnDisk:
    """The candidates that a sample in memory proposes, on all rows."""
    by_group = None
    if sample.known is None:
        trace = _moved(sample)
        rules = rules_of_candidates(trace)
    else:
        rules = by_group = rules_of_mixtures([sample.solved(margins) for margins in _spots(sample)])
        trace = numbered(sample.trace, len(rules))
    exact = _measured(trace, rules, everyone)
    return OnDisk(everyone, exact, sample.solve, sample.known, sample.moves, sample, by_group)


def _spots(sample: Candidates) -> list[Array]:
    """Margins (m,) each at which the sample is asked for the best mixture."""
    none = np.zeros(len(sample.everyone.constraints))
    if not len(none):
        return [none]
    sizes = errors_of(sample.solved(none), sample.everyone).sizes
    return [by * sizes for by in AROUND]


def _moved(sample: Candidates) -> Trace:
    """The iterates, and moved thresholds of those that the best mixtures on the sample are made of.

    These are the thresholds found there, and others from all over, as all rows may favour these.
    """
    if not sample.movable:
        return sample.trace
    asked = [sample.moved(margins) for margins in _spots(sample)]
    used = np.unique(np.concatenate([each.policy.columns.model for each in asked]))
    parts = [each.together() for each in asked]
    others = [part.only(_elsewhere(part)) for part in parts[1:]]
    found = joined([parts[0], *others, asked[0].spread(used, SPREAD)])
    assert found.at is not None
    rules = np.column_stack([found.parameters, found.at.reshape(len(found), -1)])
    return found.only(np.sort(np.unique(rules, axis=0, return_index=True)[1]))


def _elsewhere(trace: Trace) -> Array:
    """The candidates whose thresholds were moved."""
    assert trace.at is not None
    return np.flatnonzero(trace.at.reshape(len(trace), -1).any(axis=1))


def _measured(trace: Trace, rules: Rules, everyone: Compiled) -> Trace:
    """The candidates with their exact values on all rows, in one pass over these."""
    objectives, violations, pieces = everyone.measure(rules.scores(everyone), trace.thresholds)
    return replace(
        trace,
        problem=everyone.problem,
        constraints=everyone.constraints,
        objectives=objectives,
        violations=violations,
        pieces=pieces,
        watched={},
        scale=everyone.scale[1:],
        goal=everyone.goal,
    )
