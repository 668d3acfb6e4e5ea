"""The games that the estimator plays: which rows they are played on, how, and for how long."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.estimators._margins import errors_of
from ratebound.estimators._sampling import parted_on_disk
from ratebound.estimators.choices import Training
from ratebound.game.learner import SMALL, Learner
from ratebound.game.moving import with_moved_thresholds
from ratebound.game.players import Player
from ratebound.game.rounds import play
from ratebound.game.rules import Folds, Keep, Rules, Stop
from ratebound.game.trace import Trace, judged_on
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.holding_out import parted
from ratebound.problem.problem import Problem
from ratebound.rates.named import error_rate
from ratebound.rates.rate import FIRST
from ratebound.solution.known_groups import known_groups
from ratebound.solution.mixture import Mixture
from ratebound.solution.solutions import best_iterate, select, shrink
from ratebound.solution.stalling import Stalled

KEPT = 60  # iterates kept of each setting
KEPT_ON_DISK = 20  # the same where each of them is one more to be evaluated in a pass over the rows
KEPT_PLAIN = 6  # iterates kept of each setting trained without promises
FEW = 12  # iterates of each setting whose thresholds move before one is chosen
FEWEST = 1000  # rounds in batches by default, even if data is small
MOST = 5000  # the same, even if data is large; a whole pass at least


@dataclass(frozen=True)
class Search:
    """Everything a search needs: the problem, the learner and player, and how to train."""

    everyone: Compiled
    learner: Learner  # each setting once
    pairs: tuple[Learner, Player]  # with their settings paired one to one
    solve: Callable[[Trace], Mixture]
    known: Sequence[str] | None
    confidence: float | None  # that all promises hold on new rows; None for these rows alone
    certify: float | None  # share of all rows that was set aside for a certificate; none are here
    training: Training
    seed: int
    progress: bool

    def margins(self, model: Mixture, everyone: Compiled) -> Array:
        """The margins (m,) to train for, where violations vary as those of `model` do."""
        assert self.confidence is not None
        errors = errors_of(model, everyone)
        if self.certify is None:
            return errors.margins(self.confidence)
        drawn = errors_of(model, everyone, drawn=True)
        return errors.to_be_certified(self.confidence, self.certify, drawn)

    @property
    def batch_size(self) -> int | None:
        """Rows per round; None where there are so few, in memory, that every round takes all of them."""
        few = self.everyone.sizes[FIRST] <= SMALL and not self.everyone.stored
        return None if few else self.training.batch_size

    @property
    def aims(self) -> bool:
        """Whether promises are to hold on new rows too."""
        return bool(self.everyone.constraints) and self.confidence is not None

    @property
    def fresh(self) -> bool:
        """Whether training starts anew: a model to start from has seen all rows."""
        return self.learner.initial is None

    @property
    def judge(self) -> Folds | None:
        """How rows are judged: out of fold, if new ones are aimed at, or on a sample of those on disk.

        So they are for a goal that is no sum of rates: of many thresholds on many iterates, the one with
        the best F1 is not the best on new rows.
        """
        folds, goal = self.learner.folds, self.everyone.goal
        wanted = self.aims or (goal is not None and self.confidence is not None)
        wanted = wanted and self.fresh and not self.everyone.elsewhere
        return Folds(folds) if wanted and folds is not None else None

    @property
    def patience(self) -> int | None:
        """After how many kept iterates without a better mixture training ends; None for never."""
        return self.training.patience or self.pairs[0].patience

    @property
    def moves(self) -> bool:
        """Whether thresholds move; known groups have thresholds anyway."""
        return self.known is None and self.chooses

    @property
    def chooses(self) -> bool:
        """Whether a solution is chosen among iterates, at any threshold, and the plain model.

        The other solutions use iterates as they were played. Where nothing but errors counts, models
        decide best at 0.
        """
        errors_only = self.everyone.problem.objective == error_rate() and not self.everyone.constraints
        return self.solve in (shrink, best_iterate) and not errors_only


@dataclass(frozen=True)
class Clock:
    """How much of `max_time` is left."""

    max_time: float | None
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float | None:
        """Seconds left, None where there is no end."""
        return None if self.max_time is None else max(self.max_time - time.monotonic() + self.started, 0)

    def part(self, share: float) -> float | None:
        """A share of what is left."""
        return None if self.left is None else share * self.left


def trained(
    search: Search, train: Compiled, validation: Compiled | None, margins: Array, clock: Clock
) -> tuple[Trace, Trace]:
    """The iterates of every setting, trained for promises with `margins` (m,) to spare; and of the best.

    Violations are those of the promises themselves.
    """
    learner, player = search.pairs
    patience = search.patience
    rounds = _rounds(search, train)
    tight = train.tightened(margins)
    watch = {} if validation is None else {"validation": validation.tightened(margins)}
    on = "train" if validation is None else "validation"
    trace = _play(
        search,
        tight,
        learner,
        player=player,
        rounds=rounds,
        keep=Keep(max(1, rounds // (KEPT_ON_DISK if train.stored else KEPT))),
        watch=watch,
        stop=Stop(clock.left, None if patience is None else Stalled(patience, on=on)),
    )
    # Held-out rows choose by what a setting costs where its promises are kept on them. A mixture solved
    # on the rows trained on breaks a promise there by chance, every other time; one that says no to
    # everyone never does.
    rows, seen = (tight, trace) if validation is None else (watch[on], _as_watched(trace, on))
    chosen = _best_setting(search, seen, rows)
    if validation is not None and not chosen.status.feasible and not search.everyone.elsewhere:
        # Which of the settings breaks them least on these few rows is mostly chance. Where they must
        # hold, on all rows, another may keep them.
        everyone = search.everyone.tightened(margins)
        chosen = _best_setting(search, judged_on(trace, everyone), everyone)
    setting = chosen.setting
    trace = _relaxed(trace, margins)
    if search.everyone.elsewhere:  # where thresholds move on the sample alone
        return trace, _relaxed(seen.of_setting(setting), margins)
    own = trace.of_setting(setting)
    # The promises must hold on all rows given to `fit`.
    return trace, own if validation is None else judged_on(own, search.everyone)


def _best_setting(search: Search, trace: Trace, rows: Compiled) -> Mixture:
    """The solution of the setting that does best on these rows, at thresholds of a few iterates."""
    moved = with_moved_thresholds(trace, rows, at_most=FEW) if search.moves else trace
    return select(moved, search.solve, on="train")


def _as_watched(trace: Trace, on: str) -> Trace:
    """The trace as it is on rows that it was watched on."""
    return replace(trace, **vars(trace.watched[on]), watched={})


def _relaxed(trace: Trace, margins: Array) -> Trace:
    """A trace that was judged with margins, as it is without them."""
    watched = {
        name: replace(values, violations=values.violations - margins)
        for name, values in trace.watched.items()
    }
    return replace(trace, violations=trace.violations - margins, watched=watched)


def _play(search: Search, compiled: Compiled, learner: Learner, *, keep: Keep, **how: Any) -> Trace:
    return play(
        compiled,
        learner,
        keep=replace(keep, folder=search.training.folder),
        batch_size=search.batch_size,
        rules=Rules(loss=search.training.loss, proxy=search.training.proxy),
        seed=search.seed,
        progress=search.progress,
        **{"judge": search.judge} | how,
    )


def trained_plainly(search: Search, train: Compiled, here: Compiled, max_time: float | None) -> Trace:
    """The same model trained only to minimize errors, and evaluated by the problem's own rates.

    Most people would first try this model and move its threshold. As one of the candidates it ensures
    that no promise costs more than that.
    """
    plain = played_plainly(search, train if search.everyone.elsewhere else here, max_time)
    weights = np.zeros((len(plain), 1 + len(search.everyone.constraints)))
    weights[:, 0] = 1.0
    return replace(judged_on(plain, here), multipliers=weights)


def played_plainly(search: Search, rows: Compiled, max_time: float | None, **how: Any) -> Trace:
    """The model trained only to minimize errors on these rows, for as many rounds as on all of them."""
    errors = compile(Problem(error_rate()), rows.first)
    rounds = _rounds(search, search.everyone)
    keep = Keep(max(1, rounds // KEPT_PLAIN))
    return _play(search, errors, search.learner, rounds=rounds, keep=keep, stop=Stop(max_time), **how)


def cross_fitted(search: Search, clock: Clock) -> Trace | None:
    """The model without promises, each row also scored by one that has not seen it.

    None where there are too few rows, or no time. What is found already must not be lost over it.
    """
    if search.learner.folds is None or not search.fresh:
        return None
    folds = Folds(search.learner.folds)
    try:
        found = played_plainly(search, search.everyone, clock.left, judge=folds)
    except (ValueError, RuntimeError):
        return None
    return None if found.interrupted else found


def validated(search: Search) -> tuple[Compiled, Compiled | None]:
    """Rows to train on, and rows to choose a setting and to calibrate on.

    There are none of the latter if data is small, if there is nothing to choose, or if rows are judged
    out of fold. Of rows on disk they are a sample in memory.
    """
    everyone, known = search.everyone, search.known or ()
    if everyone.elsewhere:
        fraction = search.training.validation_fraction
        train, sample = parted_on_disk(everyone, fraction, search.seed, known)
        if search.known is not None:
            known_groups(search.known, sample)  # so that errors are raised before training
        return train, sample
    several = max(each.settings for each in search.pairs) > 1 or search.patience is not None
    fraction = search.training.validation_fraction if several and search.judge is None else 0.0
    if len(everyone.first) <= SMALL or not fraction:
        return everyone, None
    try:
        return parted(everyone, fraction, search.seed)
    except ValueError:  # a group is too small to be split: choose on the rows trained on
        return everyone, None


def _rounds(search: Search, train: Compiled) -> int:
    """The number of rounds in `epochs`; a tree or a fit of an estimator is a round over all rows."""
    epochs, batch_size = search.training.epochs, search.batch_size
    if search.learner.rounds is not None:
        return epochs or search.learner.rounds
    per_epoch = 1 if batch_size is None else max(1, sum(train.sizes.values()) // batch_size)
    if epochs is not None:
        return epochs * per_epoch
    return max(min(40 * per_epoch, MOST), FEWEST, per_epoch)
