"""How the estimator finds its solution: train every setting, choose one, and solve."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ratebound.base.types import Array
from ratebound.estimators.choices import Training
from ratebound.game.learner import Learner
from ratebound.game.moving import with_moved_thresholds
from ratebound.game.players import Player
from ratebound.game.rounds import play
from ratebound.game.rules import Keep, Rules, Stop
from ratebound.game.settings import SMALL
from ratebound.game.trace import Trace, beside, judged_on
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.holding_out import parted
from ratebound.problem.problem import Problem
from ratebound.rates.named import error_rate
from ratebound.solution.mixture import Mixture
from ratebound.solution.prices import prices
from ratebound.solution.solutions import best_iterate, select, shrink
from ratebound.solution.stalling import Stalled
from ratebound.solution.thresholds import priced_thresholds

KEPT = 60  # iterates kept of each setting
KEPT_PLAIN = 6  # iterates kept of each setting trained without promises
FEW = 12  # iterates of each setting whose thresholds move before one is chosen
FEWEST = 1000  # rounds in batches by default, even if data is small


@dataclass(frozen=True)
class Search:
    """Everything a search needs: the problem, the learner and player, and how to train."""

    everyone: Compiled
    learner: Learner  # each setting once
    pairs: tuple[Learner, Player]  # with their settings paired one to one
    solve: Callable[[Trace], Mixture]
    known: Sequence[str] | None
    training: Training
    seed: int
    progress: bool | None

    @property
    def batch_size(self) -> int | None:
        """Rows per round; None where there are so few that every round takes all of them."""
        return None if len(self.everyone.first) <= SMALL else self.training.batch_size


@dataclass(frozen=True)
class Found:
    """The result of a search: a solution, the iterates of its setting, and the whole trace."""

    solution: Mixture
    own: Trace
    trace: Trace
    prices: Array  # (m,) of each constraint


def found(search: Search) -> Found:
    """Train every setting on some rows, choose one on the others, and solve on all rows."""
    training, everyone = search.training, search.everyone
    learner, player = search.pairs
    patience = training.patience or learner.patience
    several = max(learner.settings, player.settings) > 1 or patience is not None
    train, validation = _validated(
        everyone, training.validation_fraction if several else 0.0, search.seed
    )
    rounds = _rounds(search, train)
    watch = {} if validation is None else {"validation": validation}
    on = "train" if validation is None else "validation"
    started = time.monotonic()
    trace = _play(
        search,
        train,
        learner,
        player=player,
        rounds=rounds,
        keep=Keep(max(1, rounds // KEPT)),
        watch=watch,
        stop=Stop(training.max_time, None if patience is None else Stalled(patience, on=on)),
    )
    # Other solutions use iterates as they were played, and known groups have thresholds anyway.
    movable = search.known is None and search.solve in (shrink, best_iterate)
    moves = movable and bool(everyone.constraints)
    searched = with_moved_thresholds(trace, train, watch=watch, at_most=FEW) if moves else trace
    own = trace.of_setting(select(searched, search.solve, on=on).setting)
    # The promises must hold on all rows given to `fit`.
    candidates = own if validation is None else judged_on(own, everyone)
    left = None if training.max_time is None else training.max_time - (time.monotonic() - started)
    if moves and not trace.interrupted and (left is None or left > 0):
        candidates = beside(candidates, _trained_plainly(search, int(own.round.max()), left))
    if search.known is not None:
        solution, paid = priced_thresholds(candidates, everyone, search.known)
    else:
        candidates = with_moved_thresholds(candidates, everyone) if moves else candidates
        solution, paid = search.solve(candidates), prices(candidates)
    return Found(solution, own, trace, paid)


def _play(search: Search, compiled: Compiled, learner: Learner, **how: Any) -> Trace:
    return play(
        compiled,
        learner,
        batch_size=search.batch_size,
        rules=Rules(loss=search.training.loss, proxy=search.training.proxy),
        seed=search.seed,
        progress=search.progress,
        **how,
    )


def _trained_plainly(search: Search, rounds: int, max_time: float | None) -> Trace:
    """The same model trained only to minimize errors, and evaluated by the problem's own rates.

    Most people would first try this model and move its threshold. As one of the candidates it ensures
    that no promise costs more than that.
    """
    errors = compile(Problem(error_rate()), search.everyone.first)
    keep = Keep(max(1, rounds // KEPT_PLAIN))
    plain = _play(search, errors, search.learner, rounds=rounds, keep=keep, stop=Stop(max_time))
    return judged_on(plain, search.everyone)


def _validated(everyone: Compiled, fraction: float, seed: int) -> tuple[Compiled, Compiled | None]:
    """Rows to train on, and rows to choose a setting on; None for the latter if data is small."""
    if len(everyone.first) <= SMALL or not fraction:
        return everyone, None
    try:
        return parted(everyone, fraction, seed)
    except ValueError:  # a group is too small to be split: choose on the rows trained on
        return everyone, None


def _rounds(search: Search, train: Compiled) -> int:
    """The number of rounds in `epochs`; a tree or a fit of an estimator is a round over all rows."""
    epochs, batch_size = search.training.epochs, search.batch_size
    if search.learner.rounds is not None:
        return epochs or search.learner.rounds
    per_epoch = 1 if batch_size is None else max(1, len(train.cells) // batch_size)
    return max(40 * per_epoch, FEWEST) if epochs is None else epochs * per_epoch
