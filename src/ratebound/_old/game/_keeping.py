"""Keeping iterates during a game: each is evaluated exactly, and dominated ones can be dropped."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.arrays import as_numpy, joined_in_numpy, namespace
from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.game.learner import Fit
from ratebound._old.game.players import Averaging
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import (
    Trace,
    Values,
    joined,
    models_on,
    on_frontier,
    values_of,
)
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import rows_of
from ratebound._old.problem.general import within_reach
from ratebound._old.problem.spelling_out import rows_counted
from ratebound._old.rates.kinds import TWO

FEW = 32  # rows on which a fit is compared with its scorer
AT_ONCE = 2**27  # the most numbers of iterates that wait on a GPU
THIN_AFTER = 32  # pieces; regular thinning bounds the memory of a frontier


@dataclass(frozen=True, eq=False)
class Iterate:
    """An iterate of each of K settings, before it is evaluated; its arrays may be on a GPU."""

    parameters: Array  # (K, P)
    multipliers: Array  # (K, 1+m)
    learned: Array  # (K, L) thresholds
    round: Array  # (K,)

    def __len__(self) -> int:
        return len(self.round)

    @property
    def finite(self) -> Array:
        """Which of them have not diverged, (K,)."""
        together = np.hstack([self.parameters, self.multipliers])
        return np.asarray(np.isfinite(together).all(axis=1))

    @property
    def parts(self) -> tuple[Array, ...]:
        return self.parameters, self.multipliers, self.learned, self.round

    def only(self, chosen: Array) -> Iterate:
        return Iterate(*(part[chosen] for part in self.parts))


@dataclass
class Keeper:
    """Evaluates iterates of a fit exactly, and keeps them as pieces of a trace."""

    compiled: Compiled
    fit: Fit
    watch: dict[str, Compiled]
    frontier: bool
    averaging: Averaging
    seed: int
    progress: bool | None = None  # whether to show the progress of a pass over rows on disk
    pieces: list[Trace] = field(default_factory=list)
    waiting: list[Iterate] = field(default_factory=list)  # to be evaluated together
    latest: Trace | None = None
    last: int | None = None  # the last round that was kept
    diverged: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        own = rows_counted(self.compiled.problem)
        for name, other in self.watch.items():
            for on, rows in rows_counted(other.problem).items():
                if own.get(on, rows) != rows:
                    raise ValueError(
                        f"watch: the counts of {name!r} are out of {rows:,} rows, but training's are "
                        f"out of {own[on]:,}: compile it from compiled.problem, or write per="
                    )

    def blank(self, scorer: Scorer) -> Trace:
        """A trace without candidates, with everything that the game's candidates share."""
        none, compiled = np.empty(0, dtype=int), self.compiled
        lines = np.empty((0, len(compiled.constraints)))
        return Trace(
            problem=compiled.problem,
            constraints=compiled.constraints,
            objectives=np.empty(0),
            violations=lines,
            watched={name: Values(none, lines, other.scale[1:]) for name, other in self.watch.items()},
            multipliers=lines,
            parameters=lines,
            thresholds={},
            setting=none,
            round=none,
            scorer=scorer,
            feature_scale=compiled.feature_scale,
            averaging=self.averaging,
            frontier=self.frontier,
            scale=compiled.scale[1:],
            seed=int(self.seed),
            data=compiled.digest,
            classes=TWO if compiled.decisions == 2 else compiled.classes,
        )

    @property
    def deferred(self) -> bool:
        """Whether iterates are evaluated together at the end."""
        return self.compiled.stored or (self.fit.batched and not self.compiled.general)

    @property
    def kept(self) -> bool:
        """Whether any iterates are kept."""
        return bool(self.pieces or self.waiting)

    def keep(self, multipliers: Array, learned: Array, done: int) -> None:
        """Keep the present iterate of every setting that is still finite, after `done` rounds.

        `multipliers` are the weights (K, 1+m), `learned` the thresholds (K, L) that go with them.
        Rows on disk are read once for all iterates, at the end. A GPU does not wait for each iterate.
        """
        if self.last == done:
            return
        self.last = done
        rounds = np.full(len(multipliers), done)
        if self.deferred:
            models = self.fit.snapshot().reshape(len(rounds), -1)
            self.waiting.append(Iterate(models, multipliers, learned, rounds))
            if processes.count() > 1:
                self._check_copies(self.fit.parameters())
            if self.fit.batched and len(self.waiting) * math.prod(models.shape) > AT_ONCE:
                self._evaluate()
            return
        learned = as_numpy(learned)
        now = Iterate(self.fit.parameters(), as_numpy(multipliers), learned, rounds)
        if processes.count() > 1:
            self._check_copies(now.parameters)
        scores = self.fit.all_scores()
        if self.latest is None:
            self._check_fit(now.parameters, scores, len(multipliers))
        finite = np.isfinite(scores).reshape(len(scores), -1).all(axis=1) & now.finite
        if self.compiled.general:
            finite &= within_reach(scores)
        sound = np.flatnonzero(np.logical_and.reduce(processes.gathered(finite)))
        self.diverged |= set(range(len(scores))) - set(sound.tolist())
        if not len(sound):
            return
        thresholds, models = self._thresholds(learned[sound]), now.parameters[sound]
        values, spent = self._values_there(self.compiled, scores[sound], models, thresholds)
        watched = {
            name: self._values_there(other, self.fit.watched_scores(other)[sound], models, thresholds)[0]
            for name, other in self.watch.items()
        }
        self._add(now.only(sound), sound, values, spent, watched)

    def _values_there(
        self, rows: Compiled, scores: Array, parameters: Array, thresholds: dict[str, Array]
    ) -> tuple[Values, dict[str, Array]]:
        """The exact values of models on some rows, by their scores there; and the thresholds."""
        models = models_on(rows, self.fit.scorer, parameters, scores)
        spent = thresholds | rows.spend_budgets(scores, rows.tops)
        return values_of(rows, scores, spent, models), spent

    def _check_copies(self, parameters: Array) -> None:
        """Raise if the models of several processes have drifted apart."""
        if len(set(processes.gathered(hashlib.sha256(parameters.tobytes()).digest()))) > 1:
            raise ValueError(
                f"{type(self.fit).__name__}: its models differ between processes. A step must be the "
                "same in all: against the sum of their gradients (ratebound._old.base.processes.total), "
                "from the same start"
            )

    def _evaluate(self) -> None:
        """Evaluate all waiting iterates in one pass over the rows."""
        if not self.waiting:
            return
        settings = np.tile(np.arange(len(self.waiting[0])), len(self.waiting))
        every = Iterate(*map(joined_in_numpy, zip(*(each.parts for each in self.waiting), strict=True)))
        self.waiting = []
        if self.latest is None and not self.compiled.stored:
            first = every.parameters[:1]
            self._check_scores(first, as_numpy(next(self.fit.score_pieces(self.compiled, first))))
        sound = np.flatnonzero(np.logical_and.reduce(processes.gathered(every.finite)))
        chosen, finite = every.only(sound), np.ones(len(sound), dtype=bool)
        values, spent = self._values(self.compiled, chosen, finite) if len(sound) else (None, {})
        finite = np.logical_and.reduce(processes.gathered(finite))
        sound, chosen = sound[finite], chosen.only(finite)
        self.diverged |= set(np.delete(settings, sound).tolist())
        if values is None or not len(sound):
            return
        watched = {name: self._values(other, chosen)[0] for name, other in self.watch.items()}
        spent = {name: each[finite] for name, each in spent.items()}
        self._add(chosen, settings[sound], values.only(finite), spent, watched)

    def _values(
        self, rows: Compiled, iterates: Iterate, finite: Array | None = None
    ) -> tuple[Values, dict[str, Array]]:
        """The exact values of iterates on some rows, and their thresholds.

        Thresholds of tops are set so that enough rows pass them; on rows on disk, they are as learned.
        `finite` (N,) is cleared for scores that are not finite.
        """
        thresholds = self._thresholds(iterates.learned)
        with bar(len(rows.cells), "row", self.progress if rows.stored else False) as shown:
            scores = self.fit.score_pieces(rows, iterates.parameters)
            noted: Any = _noted(scores, shown, finite)
            if rows.tops and not rows.stored:
                noted = np.concatenate(list(map(as_numpy, noted)), axis=-1)
                thresholds |= rows.spend_budgets(noted, rows.tops)
            return values_of(rows, noted, thresholds), thresholds

    def _add(
        self,
        iterates: Iterate,
        settings: Array,
        values: Values,
        thresholds: dict[str, Array],
        watched: dict[str, Values],
    ) -> None:
        """Keep iterates whose values are known."""
        self.latest = replace(
            self.blank(self.fit.scorer),
            objectives=values.objectives,
            violations=values.violations,
            watched=watched,
            multipliers=iterates.multipliers,
            parameters=iterates.parameters,
            thresholds=thresholds,
            setting=settings,
            round=iterates.round,
            pieces=values.pieces,
        )
        self.pieces.append(self.latest)
        if self.frontier and len(self.pieces) > THIN_AFTER:
            self.pieces = [_thinned(joined(self.pieces))]

    def _thresholds(self, learned: Array) -> dict[str, Array]:
        """Learned thresholds by name, (N, D - 1) each, for all classes but the first."""
        names = self.compiled.learnable
        parts = learned.reshape(len(learned), len(names), self.compiled.decisions - 1)
        return {name: parts[:, j] for j, name in enumerate(names)}

    def _check_fit(self, parameters: Array, scores: Array, settings: int) -> None:
        """Raise if a fit violates its type: the models deployed would be different ones."""
        name, rows = type(self.fit).__name__, len(self.compiled.cells)
        if np.ndim(parameters) != 2 or len(parameters) != settings:
            raise ValueError(
                f"{name}.parameters() has shape {np.shape(parameters)}, expected ({settings}, P)"
            )
        expected = (settings, score_count(self.compiled.decisions), rows)
        if np.shape(scores) != expected:
            raise ValueError(f"{name}.all_scores() has shape {np.shape(scores)}, expected {expected}")
        self._check_scores(parameters, scores)

    def _check_scores(self, parameters: Array, scores: Array) -> None:
        """Raise if the scores of the first rows differ from the scorer's."""
        few, scorer = np.arange(min(len(self.compiled.cells), FEW)), self.fit.scorer
        given = self.compiled.inputs if scorer.tables else self.compiled.features
        deployed, trained = scorer.scores(parameters, rows_of(given, few)), scores[..., few]
        finite = np.isfinite(deployed) & np.isfinite(trained)
        if not np.allclose(deployed[finite], trained[finite], rtol=1e-3, atol=1e-3):
            raise ValueError(
                f"{type(self.fit).__name__}.all_scores() differs from its scorer's scores for the "
                "same parameters"
            )

    def summary(self) -> str:
        """The best of the latest iterates, for a progress bar."""
        if self.waiting:
            return f"{sum(map(len, self.waiting)):,} iterates kept"
        if self.latest is None:
            return "diverged"
        objectives, worst = self.latest.objectives, self.latest.worst
        best = int(np.argmin(objectives + worst.clip(min=0)))
        return f"objective {objectives[best]:.4f}, worst violation {worst[best]:+.4f}"

    def trace(self) -> Trace:
        """The trace so far."""
        self._evaluate()
        whole = joined(self.pieces)
        return _thinned(whole) if self.frontier else whole

    def finished(self, ended: str) -> Trace:
        """The trace of a game that has ended, after a check that it is not empty."""
        self._evaluate()
        if not self.pieces:
            raise FloatingPointError(
                "training diverged in every setting before an iterate could be kept: lower the "
                "learner's learning rate, or scale the features"
            )
        if self.diverged:
            warnings.warn(
                f"settings {sorted(self.diverged)} diverged and have no later iterates: their learning "
                "rates are too high",
                RuntimeWarning,
                stacklevel=5,
            )
        return replace(self.trace(), ended=ended)


def _noted(scores: Iterator[Array], shown: Any, finite: Array | None) -> Iterator[Array]:
    """The same pieces of scores; a bar counts their rows, and models with infinite scores are noted."""
    flags = []
    for piece in scores:
        shown.update(piece.shape[-1])
        if finite is not None:
            flags.append(namespace(piece).isfinite(piece).reshape(len(piece), -1).all(-1))
        yield piece
    if finite is not None:  # at the end, to avoid waiting for a GPU
        finite &= np.logical_and.reduce(list(map(as_numpy, flags)))


def _thinned(trace: Trace) -> Trace:
    """The trace without dominated candidates of each setting; each setting's last one stays."""
    stays = np.zeros(len(trace), dtype=bool)
    for setting in trace.settings:
        own = np.flatnonzero(trace.setting == setting)
        stays[own] = on_frontier(trace.objectives[own], trace.violations[own])
        stays[own[-1]] = True
    return trace.only(np.flatnonzero(stays))
