"""Moved thresholds: every decision rule that an offset of an iterate's scores can reach.

An iterate decides at 0, the threshold that its training happened to produce. Its scores order the rows,
and a threshold anywhere in that order is as good a candidate as the iterate itself. There is one for
every distinct score: far too many to keep, and there is no need to. The program of `programs`, with all
rows in one group, finds the thresholds in the best mixture of all of them. So one rate with an upper or
lower bound can always be kept, and no mixture is worse than the best threshold on one of its models.
With more than two classes every class has an offset, and the offsets found need not be optimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.linear_program import best_mixture
from ratebound._old.base.types import Array
from ratebound._old.game.candidates import Candidates, candidates_of
from ratebound._old.game.programs import (
    Policy,
    Pool,
    best_of_thresholds,
    pool_of_thresholds,
    thresholds_of,
)
from ratebound._old.game.trace import Trace, joined, judged_on, values_of
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import decided, from_first_class, score_count

LARGEST = 2**24  # the most scores ranked at once; beyond it, only some iterates of each setting are used
SEARCHED = 2**17  # the same for scores of several classes, whose offsets are searched for
MODELS = 8  # the most iterates whose offsets are searched for at a time
APART = 8  # roundings of the largest score by which recomputed scores may differ


def with_moved_thresholds(
    trace: Trace,
    compiled: Compiled,
    *,
    watch: Mapping[str, Compiled] | None = None,
    at_most: int | None = None,
) -> Trace:
    """The trace, with the moved thresholds that the best mixtures use, in addition to its iterates.

    `compiled` holds the rows that the trace was judged on, `watch` the other populations it was
    evaluated on. For each setting, no mixture of its iterates at any thresholds is better than the one
    `rb.shrink` finds among these. `at_most` iterates of each setting are moved, evenly spaced and
    including the last; by default all, as far as memory allows. If a rate has its own threshold
    (``at=``), the trace is returned unchanged: one threshold cannot move without the other.

    >>> import ratebound._old as rb
    >>> X = np.arange(100.0)[:, None] / 100
    >>> people = rb.Population(X, np.arange(100) >= 30)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.25])
    >>> compiled = rb.compile(problem, people)
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=10, batch_size=None)
    >>> rb.shrink(trace).objectives["train"] > 0.5
    True
    >>> moved = rb.shrink(with_moved_thresholds(trace, compiled))
    >>> moved.status.feasible, round(moved.objectives["train"], 6)
    (True, 0.45)
    """
    if is_fixed(compiled):
        return trace
    whole = trace.iterates
    pieces = [replace(whole, at=_unmoved(whole, compiled))]
    for setting in whole.settings:
        pieces += ranked(whole.of_setting(setting), compiled, at_most).moved(watch or {})
    return joined(pieces)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Iterates that were judged on some rows, and each iterate's ranking of these rows."""

    compiled: Compiled
    whole: Trace  # all of the iterates
    own: Trace  # the iterates to move
    rankings: Sequence[Candidates]

    def tightened(self, margins: Array) -> Ranked:
        """The same with `margins` (m,) asked of every constraint: no ranking changes."""
        compiled = self.compiled.tightened(margins)
        rows = compiled.whole or compiled
        moved = rows.offset - (self.compiled.whole or self.compiled).offset
        return replace(
            self,
            compiled=compiled,
            whole=replace(self.whole, violations=self.whole.violations + margins),
            own=replace(self.own, violations=self.own.violations + margins),
            rankings=[r.tightened(rows, moved) for r in self.rankings],
        )

    @cached_property
    def policy(self) -> Policy:
        """The best mixture of these iterates at any thresholds."""
        return best_of_thresholds(self.rankings, self.compiled.goal)

    def moved(self, watch: Mapping[str, Compiled]) -> list[Trace]:
        """The members of the iterates' best mixture that have thresholds other than 0."""
        used = self.policy.columns
        at = self._finite(thresholds_of(self.rankings, used), used.model)
        others = np.flatnonzero(at.any(axis=1))  # at 0 it is the iterate itself
        if not len(others):
            return []
        moved = _at(self.own.only(used.model[others]), at[others])
        there = {name: values_of(rows, *_shifted(moved, rows)) for name, rows in watch.items()}
        here = values_of(self.compiled, *_shifted(moved, self.compiled))
        own: dict[str, Any] = {
            name: getattr(here, name) for name in ("objectives", "violations", "pieces")
        }
        return [replace(moved, **own, watched=there)]

    def spread(self, models: Array, count: int) -> Trace:
        """Some of the iterates to move, each at about `count` thresholds that are far apart.

        Their values are not computed: they are copied from the iterates themselves.
        """
        each = [self.rankings[model].at(self.rankings[model].spread(count)) for model in models]
        model = np.repeat(models, [len(at) for at in each])
        moved = _at(self.own.only(model), self._finite(np.concatenate(each), model))
        return replace(moved, watched={})

    def _finite(self, at: Array, model: Array) -> Array:
        """Thresholds of models; infinite ones are put beyond all scores."""
        far = np.array([2 * ranking.reach + 1 for ranking in self.rankings])[model]
        is_known = np.isfinite(at)
        beyond = np.abs(np.where(is_known, at, 0.0)).max(axis=1, initial=0.0) + far
        return np.where(is_known, at, np.sign(at) * beyond[:, None])

    def together(self) -> Trace:
        """`with_moved_thresholds` for all settings together.

        No mixture of any iterates at any thresholds is better than the one `rb.shrink` finds here.
        """
        kept = replace(self.whole, at=_unmoved(self.whole, self.compiled), watched={})
        return joined([kept, *self.moved({})])

    def pool(self) -> Pool:
        """The candidates of `together`, also for other bounds."""
        return pool_of_thresholds(self.rankings, self.policy)


def is_fixed(compiled: Compiled) -> bool:
    """Whether a rate has its own threshold, so that the others cannot move without it."""
    return any(not isinstance(block.at, str) and block.at != 0 for block in compiled.blocks)


def ranked(whole: Trace, compiled: Compiled, at_most: int | None = None) -> Ranked:
    """The iterates of a trace, each with its ranking of the rows it was judged on."""
    each = score_count(compiled.decisions)
    largest = (LARGEST if each == 1 else SEARCHED) // each
    count = min(at_most or len(whole), max(largest // len(compiled.cells), 1))
    own = movable_iterates(whole, compiled.decisions, count)
    scores = own.scores(compiled)
    if compiled.budgets:  # their thresholds are known exactly, while training only approximated them
        own = judged_on(own, compiled)
    everyone = np.zeros(len(compiled.cells), dtype=int)
    rankings = [
        candidates_of(compiled.whole or compiled, each, everyone, apart(each), offset)
        for each, offset in zip(scores, _besides(compiled, own, scores), strict=True)
    ]
    return Ranked(compiled, whole, own, rankings)


def movable_iterates(whole: Trace, decisions: int, count: int | None = None) -> Trace:
    """The iterates whose thresholds are moved, at most `count`, evenly spaced; by default all.

    Offsets must be searched for, so there are few: the best mixture's iterates, and others between them.
    """
    count = min(count or len(whole), len(whole))
    if score_count(decisions) == 1:
        return whole.only(_spaced(whole, count))
    count = min(count, MODELS)
    if len(whole) == count:
        return whole
    weights = best_mixture(whole.objectives, whole.violations, whole.scale)[0]
    used = np.argsort(-weights, kind="stable")[: min(count // 2, np.count_nonzero(weights))]
    return whole.only(np.union1d(used, _spaced(whole, count - len(used))))


def _spaced(whole: Trace, count: int) -> Array:
    """Evenly spaced iterates, counted back from the last, which is always included."""
    spaced = np.linspace(0, len(whole) - 1, count).round().astype(int)
    return len(whole) - 1 - spaced[::-1]


def _unmoved(trace: Trace, compiled: Compiled) -> Array:
    """The thresholds or offsets (N, A) of unmoved iterates."""
    return np.zeros((len(trace), score_count(compiled.decisions)))


def _at(trace: Trace, at: Array) -> Trace:
    """Iterates with thresholds `at` (N, A); learned thresholds move along."""
    by = from_first_class(at)
    return replace(trace, at=at, thresholds={n: t - by for n, t in trace.thresholds.items()})


def _shifted(moved: Trace, rows: Compiled) -> tuple[Array, dict[str, Array]]:
    """Scores (N, A, n) on some rows relative to their thresholds, and the learned thresholds."""
    assert moved.at is not None
    scores = moved.scores(rows).astype(float) - moved.at[..., None]
    return scores, {n: t for n, t in moved.thresholds.items() if n not in rows.budgets}


def _besides(compiled: Compiled, own: Trace, scores: Array) -> Array:
    """The contribution of learned thresholds and of the problem's constants, (B, 1+m).

    Learned thresholds move along with the scores, so this does not change.
    """
    rows = compiled.whole or compiled
    known = [own.objectives, own.violations, *([] if own.pieces is None else [own.pieces])]
    values: Array = np.column_stack(known)
    for block in rows.at_zero:
        values = values - (block.net @ rows.decided_weight(decided(scores), block).T).T
    return values


def apart(scores: Array) -> float:
    """The least difference between two scores of a model that survives recomputation."""
    return float(APART * np.finfo(scores.dtype).eps * np.abs(scores).max())
