"""How the estimator finds its solution, in four steps: judge, margins, train, choose.

1. `judge` assigns the rows: models are trained on some, a setting is chosen on others, and candidates
   are judged on the rows in memory.
2. `find_margins` trains the model without promises. If promises must hold on new rows too, the variation
   of its rates determines the margins here.
3. `train` plays the game for the promises with these margins, and chooses a setting. Anything else that
   gives a trace of candidates, judged on the same rows, can take its place.
4. `choose` finds the best mixture of the candidates, at any threshold, that keeps the margins.

Rows on disk, or in several processes, take the same steps. Only steps that need all scores at once use a
sample, and the candidates from it are then counted on all rows (`ProposalsOnDisk`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from ratebound._old.base.progress import TimeLimit
from ratebound._old.base.types import Array
from ratebound._old.estimators.choices import Training
from ratebound._old.estimators.finishing import HELD_OUT, TRAINED_ON, Calibrating
from ratebound._old.estimators.margins import (
    at_confidence,
    errors_of,
    from_safest,
    raises_of,
    without_margins,
)
from ratebound._old.estimators.plugging_in import search_rules
from ratebound._old.estimators.proposals import Proposals, counted_on_all_rows, out_of_fold
from ratebound._old.estimators.rules import Rules as ForecastRules
from ratebound._old.estimators.sampling import sample_and_rest
from ratebound._old.game.learner import SMALL, Learner
from ratebound._old.game.moving import with_moved_thresholds
from ratebound._old.game.players import Player
from ratebound._old.game.programs import Pool
from ratebound._old.game.rounds import play
from ratebound._old.game.rules import Folds, Keep, Rules, Stop
from ratebound._old.game.trace import Trace, beside, judged_on
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile, parted
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import FIRST, Expression
from ratebound._old.rates.kinds import referral_of
from ratebound._old.rates.named import error_rate, referred
from ratebound._old.solution.mixture import Mixture, mixture
from ratebound._old.solution.solutions import Stalled, best_iterate, select, shrink
from ratebound._old.solution.thresholds import known_groups

PLAIN_TIME = 0.25  # the largest share of the time for a model without promises
KEPT = 60  # iterates kept of each setting
KEPT_ON_DISK = 20  # the same if each of them is evaluated in a pass over the rows
KEPT_PLAIN = 6  # iterates kept of each setting trained without promises
MOST_MOVED = 12  # iterates of each setting whose thresholds move before one is chosen
FEWEST_ROUNDS = 1000  # rounds in batches by default, even if data is small
MOST_ROUNDS = 5000  # the same, even if data is large; at least a whole pass


@dataclass(frozen=True)
class Search:
    """The search: the problem, the learner and player, and how to train."""

    compiled: Compiled  # on all rows
    learner: Learner  # each setting once
    pairs: tuple[Learner, Player]  # with their settings paired one to one
    solve: Callable[[Trace], Mixture]
    known: Sequence[str] | None
    confidence: float | None  # that all promises hold on new rows; None for only these rows
    certify: float | None  # share of all rows set aside for a certificate; none of them is here
    training: Training
    clock: TimeLimit
    seed: int
    progress: bool | None
    together: Array | None = None  # (n,) which rows were drawn together, if some were

    @property
    def effect(self) -> float:
        """How many rows that belong together count as one independent row, at most."""
        if self.together is None:
            return 1.0
        sizes = np.bincount(self.together)
        return float(sizes @ sizes / sizes.sum())

    @property
    def takes_any_rule(self) -> bool:
        """Whether any rule is acceptable, not only one made of a game's iterates."""
        return self.solve in (shrink, best_iterate)

    @property
    def for_new_rows(self) -> bool:
        """Whether there are promises about rates that must hold on new rows too."""
        about_rates = len(self.compiled.constraints) > len(self.compiled.general)
        return about_rates and self.confidence is not None

    @property
    def starts_anew(self) -> bool:
        """Whether training starts anew: a model to start from has seen all rows."""
        return self.learner.initial is None

    @property
    def folds(self) -> Folds | None:
        """How rows are judged out of fold, if promises are for new rows and rows are in memory.

        This is also done for a goal that is not a sum of rates: among many thresholds on many iterates,
        the one with the best F1 here is not the best on new rows.
        """
        folds, goal = self.learner.folds, self.compiled.goal
        wanted = self.for_new_rows or (goal is not None and self.confidence is not None)
        wanted = wanted and self.starts_anew and self.compiled.all_in_memory
        wanted = wanted and not self.compiled.general  # it is about one model, not models of folds
        return Folds(folds, self.together) if wanted and folds is not None else None

    @property
    def takes_any_threshold(self) -> bool:
        """Whether a solution is chosen among iterates and the plain model at any threshold.

        The other solutions use iterates as they were played. If only errors count, models decide best at
        0.
        """
        errors_only = self.compiled.problem.objective == error_rate() and not self.compiled.constraints
        return self.solve in (shrink, best_iterate) and not errors_only

    @property
    def moves(self) -> bool:
        """Whether thresholds move; known groups have thresholds anyway.

        A custom constraint is about the scores as they are.
        """
        return self.known is None and self.takes_any_threshold and not self.compiled.general

    @property
    def batch_size(self) -> int | None:
        """Rows per round; None if there are so few, in memory, that every round takes all of them."""
        few = self.compiled.sizes[FIRST] <= SMALL and not self.compiled.stored
        return None if few else self.training.batch_size

    @property
    def patience(self) -> int | None:
        """Training ends after so many kept iterates without a better mixture; None for never."""
        return self.training.patience or self.pairs[0].patience

    def rounds(self, rows: Compiled) -> int:
        """The number of rounds in `epochs`; a tree or a fit of an estimator is a round over all rows."""
        epochs = self.training.epochs
        if self.learner.rounds is not None:
            return epochs or self.learner.rounds
        many = sum(rows.sizes.values())
        per_epoch = 1 if self.batch_size is None else max(1, many // self.batch_size)
        if epochs is not None:
            return epochs * per_epoch
        return max(min(40 * per_epoch, MOST_ROUNDS), FEWEST_ROUNDS, per_epoch)

    def margins(self, model: Mixture, rows: Compiled) -> Array:
        """The margins (m,) to train for, if violations vary as they do for `model` on these rows."""
        assert self.confidence is not None
        errors = errors_of(model, rows, effect=self.effect)
        if self.certify is None:
            return errors.margins(self.confidence)
        drawn = errors_of(model, rows, drawn=True, effect=self.effect)
        return errors.to_be_certified(self.confidence, self.certify, drawn)

    def proposals(self, trace: Trace, rows: Compiled) -> Proposals:
        """Candidates on rows in memory, by scores out of fold if these exist."""
        proposals = Proposals(rows, trace, self.solve, self.known, self.moves)
        return proposals if trace.folds is None else out_of_fold(proposals)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search: a solution, the iterates of its setting, and the whole trace."""

    solution: Mixture
    margins: Array  # (m,) that it keeps
    safer: tuple[tuple[Mixture, Array], ...]  # others and their margins, the safest first, to certify
    setting: int
    trace: Trace
    held_out: int  # rows for choosing a setting, on which no model was trained
    pool: Callable[[Array], Pool]  # the pool for a solution with such margins, for prices
    resolved: Callable[[Array], Mixture]  # the solution with other margins
    rules: ForecastRules | None = None  # all rules of a forecast, if the solution is one of those
    lets_go: bool = False  # whether it breaks promises, but only ones that too few rows can show


def search(asked: Search) -> SearchResult:
    """The solution of a problem on its rows, in four steps."""
    if asked.learner.cross_fits:
        return search_rules(asked)
    rows, clock = judge(asked), asked.clock
    plain, margins = find_margins(asked, rows, clock)
    trained = train(asked, rows, plain, margins, clock)
    return choose(asked, rows, plain, trained, margins, clock)


# --- 1. judge: the use of each row ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SearchRows:
    """The rows of a search, by what they are for."""

    every: Compiled  # for keeping promises
    train: Compiled  # for training models for the promises
    plain: Compiled  # for training the model without promises
    held_out: Compiled | None  # for choosing a setting and calibrating a solution
    here: Compiled  # for judging candidates, in memory: all rows, or a sample

    @property
    def sampled(self) -> bool:
        """Whether candidates are judged on a sample of the rows first."""
        return self.here is not self.every


def judge(asked: Search) -> SearchRows:
    """The rows to train on, to choose a setting on, and to judge candidates on.

    No rows are held out if data is small, if there is nothing to choose, or if rows are judged out of
    fold. For rows on disk, a sample in memory is held out.
    """
    every, fraction = asked.compiled, asked.training.validation_fraction
    if not every.all_in_memory:
        sample, rest = sample_and_rest(every, fraction, asked.seed, asked.known or ())
        if asked.known is not None:
            known_groups(asked.known, sample)  # so that errors are raised before training
        return SearchRows(every, rest, rest, sample, sample)
    several = max(each.settings for each in asked.pairs) > 1 or asked.patience is not None
    if several and asked.folds is None and fraction and len(every.first) > SMALL:
        try:
            rest, held_out = parted(every, fraction, asked.seed)
            return SearchRows(every, rest, every, held_out, every)
        except ValueError:  # a group is too small to be split: choose on the training rows
            pass
    return SearchRows(every, every, every, None, every)


# --- 2. margins: how far inside their bounds promises must be kept
# -------------------------------------------------


def find_margins(asked: Search, rows: SearchRows, clock: TimeLimit) -> tuple[Trace | None, Array]:
    """The model without promises, if useful, and the margins (m,) to keep promises with.

    Most people would first try this model and move its threshold. With it among the candidates, no
    promise costs more than that.
    """
    none = np.zeros(len(rows.every.constraints))
    if not (asked.takes_any_threshold or asked.for_new_rows):
        return None, none
    played = play_plainly(asked, rows.plain, clock.part(PLAIN_TIME))
    weights = np.zeros((len(played), 1 + len(none)))
    weights[:, 0] = 1.0
    plain = replace(judged_on(played, rows.here), multipliers=weights)
    if not asked.for_new_rows:
        return plain, none
    first = asked.proposals(plain, rows.here)
    model = mixture(first.trace, np.arange(len(plain)) == np.argmin(plain.objectives))
    return plain, asked.margins(model, rows.every if rows.sampled else first.compiled)


# --- 3. train: candidates that keep promises with margins --------------------------------------------


@dataclass(frozen=True, eq=False)
class Trained:
    """The iterates of every setting, and the iterates of the best one."""

    trace: Trace
    own: Trace  # with values on the rows for judging candidates
    held_out: Compiled | None  # rows that none of them was trained on


def train(
    asked: Search, rows: SearchRows, plain: Trace | None, margins: Array, clock: TimeLimit
) -> Trained:
    """The iterates of games for promises with `margins` (m,); violations are without them."""
    if plain is not None and plain.interrupted:  # only its thresholds can move
        iterates = plain.of_setting(plain.setting[np.argmin(plain.objectives)])
        return Trained(iterates, iterates, rows.held_out if rows.sampled else None)
    learner, player = asked.pairs
    rounds, patience = asked.rounds(rows.train), asked.patience
    tight, held_out = rows.train.tightened(margins), rows.held_out
    watch = {} if held_out is None else {"validation": held_out.tightened(margins)}
    on = "train" if held_out is None else "validation"
    trace = _play(
        asked,
        tight,
        learner,
        player=player,
        rounds=rounds,
        keep=Keep(max(1, rounds // (KEPT_ON_DISK if rows.train.stored else KEPT))),
        watch=watch,
        stop=Stop(clock.left, None if patience is None else Stalled(patience, on=on)),
    )
    # Held-out rows choose by the cost of a setting that keeps its promises on them. A mixture solved on
    # the training rows breaks a promise there by chance, every other time; one that says no to everyone
    # never does.
    on_rows, there = (tight, trace) if held_out is None else (watch[on], _as_watched(trace, on))
    chosen = _best_setting(asked, there, on_rows)
    if held_out is not None and not chosen.status.feasible and not rows.sampled:
        # Which of the settings breaks promises least on these few rows is mostly chance. On all rows,
        # where they must hold, another setting may keep them.
        every = rows.every.tightened(margins)
        chosen = _best_setting(asked, judged_on(trace, every), every)
    trace = _relaxed(trace, margins)
    if held_out is rows.here:
        iterates = _relaxed(there.of_setting(chosen.setting), margins)
    else:  # the promises must hold on all rows given to `fit`
        iterates = trace.of_setting(chosen.setting)
        iterates = iterates if held_out is None else judged_on(iterates, rows.here)
    return Trained(trace, iterates, held_out)


def play_plainly(asked: Search, rows: Compiled, max_time: float | None, **how: Any) -> Trace:
    """The model trained only to minimize errors on these rows, for as many rounds as on all rows."""
    errors = compile(Problem(_plain_errors(rows)), rows.first)
    rounds = asked.rounds(asked.compiled)
    keep = Keep(max(1, rounds // KEPT_PLAIN))
    return _play(asked, errors, asked.learner, rounds=rounds, keep=keep, stop=Stop(max_time), **how)


def _plain_errors(rows: Compiled) -> Expression:
    """The plain model's objective: errors, with a referral as one, or all would be referred."""
    plain: Expression = error_rate()
    return plain if referral_of(rows.classes) is None else plain + referred()


def _cross_fitted(asked: Search, clock: TimeLimit) -> Trace | None:
    """The model without promises, with each row also scored by a model that has not seen it.

    None if there are too few rows, or no time. Earlier results must not be lost by it.
    """
    if asked.learner.folds is None or not asked.starts_anew:
        return None
    folds = Folds(asked.learner.folds, asked.together)
    try:
        crossed = play_plainly(asked, asked.compiled, clock.left, judge=folds)
    except (ValueError, RuntimeError):
        return None
    return None if crossed.interrupted else crossed


def _play(asked: Search, compiled: Compiled, learner: Learner, *, keep: Keep, **how: Any) -> Trace:
    return play(
        compiled,
        learner,
        keep=replace(keep, folder=asked.training.folder),
        batch_size=asked.batch_size,
        rules=Rules(loss=asked.training.loss, proxy=asked.training.proxy),
        seed=asked.seed,
        progress=asked.progress,
        **{"judge": asked.folds} | how,
    )


def _best_setting(asked: Search, trace: Trace, rows: Compiled) -> Mixture:
    """The solution of the setting that does best on these rows, at thresholds of a few iterates."""
    moved = with_moved_thresholds(trace, rows, at_most=MOST_MOVED) if asked.moves else trace
    return select(moved, asked.solve, on="train")


def _as_watched(trace: Trace, on: str) -> Trace:
    """The trace with its values on rows that it was watched on."""
    return replace(trace, **vars(trace.watched[on]), watched={})


def _relaxed(trace: Trace, margins: Array) -> Trace:
    """A trace that was judged with margins, restated without them."""
    watched = {
        name: replace(values, violations=values.violations - margins)
        for name, values in trace.watched.items()
    }
    return replace(trace, violations=trace.violations - margins, watched=watched)


# --- 4. choose: the cheapest mixture that keeps the margins ------------------------------------------


def choose(
    asked: Search,
    rows: SearchRows,
    plain: Trace | None,
    trained: Trained,
    margins: Array,
    clock: TimeLimit,
) -> SearchResult:
    """The best solution from candidates, calibrated, and safer ones if it will be certified."""
    together = trained.own
    if asked.takes_any_threshold and plain is not None and not trained.trace.interrupted:
        together = beside(together, plain)
    candidates = asked.proposals(together, rows.here)
    if rows.sampled:
        candidates = counted_on_all_rows(rows.every, candidates)
    safer: tuple[tuple[Mixture, Array], ...] = ()
    if asked.confidence is None or not asked.for_new_rows:
        solution = candidates.solved(margins)
    else:
        optimism = candidates.optimism(margins, asked.seed)
        solution, margins = at_confidence(candidates, asked.confidence, margins, optimism, asked.effect)
        if asked.certify is not None:
            wide = asked.margins(solution, candidates.compiled)
            raises = raises_of(solution, candidates.compiled, asked.certify)
            safer = from_safest(candidates, wide + optimism, raises, asked.confidence)
    held_out = trained.held_out if asked.starts_anew or rows.sampled else None
    calibrating = Calibrating(
        compiled=rows.every,
        held_out=None if held_out is None else held_out.first,
        called=HELD_OUT if asked.starts_anew and rows.train is not rows.every else TRAINED_ON,
        trace=together,
        own=len(together) if rows.sampled else len(trained.own),
        train_stand_ins=lambda: play_plainly(asked, rows.train, clock.left),
        cross_fit=cache(partial(_cross_fitted, asked, clock)),
    )

    def finished(chosen: Mixture) -> Mixture:
        real = candidates.real(chosen)
        return real if real.calibration is not None else calibrating.calibrated(real)

    return SearchResult(
        finished(solution),
        margins,
        tuple((finished(one), kept) for one, kept in safer),
        trained.own.settings[0],
        trained.trace,
        0 if trained.held_out is None else trained.held_out.sizes[FIRST],
        candidates.pool,
        lambda margins: finished(without_margins(candidates.solved(margins), margins)),
    )
