"""Playing the game: run the rounds and keep iterates on the way.

A goal that is not a sum of rates takes a few games, each on the linear problem at a point (`in_stages`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.checks import check_whole
from ratebound._old.base.interrupts import put_off
from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.game._keeping import Keeper
from ratebound._old.game._resuming import (
    GameFile,
    finished,
    game_file,
    naming,
    save_finished,
    save_game,
    take_up,
)
from ratebound._old.game.game import Game
from ratebound._old.game.learner import (
    ANSWERS,
    Answering,
    Differentiating,
    Fit,
    Growing,
    Learner,
    Taking,
)
from ratebound._old.game.players import Player
from ratebound._old.game.programs import best_goal_mixture
from ratebound._old.game.rules import Keep, Rules, Stop
from ratebound._old.game.trace import Trace, Values, pooled, score_pieces
from ratebound._old.game.turns import Asking, Turns, batches, taking
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import at_point
from ratebound._old.problem.reductions.goal import Linearization, NonlinearObjective, start_of
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.general import refuse_general

EPOCHS = 40  # by default


def play(
    compiled: Compiled,
    learner: Learner,
    *,
    player: Player | None = None,
    rounds: int | None = None,
    epochs: int | None = None,
    batch_size: int | None = 512,
    rules: Rules | None = None,
    keep: Keep | None = None,
    stop: Stop | None = None,
    watch: Mapping[str, Compiled] | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Trace:
    """Train a learner against a λ-player and return every iterate kept, with its exact rates.

    An interrupt from the keyboard ends the game and returns the trace so far. To continue from a model,
    pass ``learner.starting_at(trace.parameters[-1])`` as the learner. An objective that is not a sum of
    rates takes a few such games (``docs/goals_beyond_sums.md``).

    Parameters
    ----------
    compiled : Compiled
        The problem on its rows.
    learner : Learner
        The model to train, such as `Linear`.
    player : Player, default=None
        The player that sets the constraints' weights. By default the learner's own: `SwapRegret`, or
        `CuttingPlane` for `Oracle`, whose rounds are whole fits.
    rounds : int, default=None
        The number of steps. By default 40 epochs; boosted trees grow as many trees as the model says,
        and `Oracle` fits at most 50 models, all of which are kept.
    epochs : int, default=None
        The same in passes over the first population; give one of the two.
    batch_size : int, default=512
        The number of rows of every population that each round draws; None takes all. Boosted trees and
        `Oracle` always use all rows. The default keeps rounds short and still covers rare groups.
    rules : Rules, default=None
        What the model descends, and how rates are estimated. By default ``rb.Rules()``.
    keep : Keep, default=None
        Which iterates are kept. By default one for each epoch, at most 1,000 of each setting.
    stop : Stop, default=None
        When to end early. By default only after the last round.
    watch : dict of str to Compiled, default=None
        Other populations, such as a validation set, on which kept iterates are also evaluated. By
        default none.
    seed : int, default=0
        Determines all random draws, so that the same call gives the same trace.
    progress : bool, default=None
        Whether to show progress. By default a bar on a terminal only; True prints lines elsewhere.

    Returns
    -------
    Trace
        The candidates for `select`, `shrink`, `best_iterate` and similar functions.

    Raises
    ------
    ValueError
        If learner, player and rows do not fit together; the error says which do.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> compiled = rb.compile(rb.Problem("error_rate()", ["positive_rate() <= 0.25"]), people)
    >>> trace = rb.play(compiled, rb.Linear(learning_rate=0.1), rounds=100, batch_size=None)
    >>> print(rb.shrink(trace))
    one model: feasible: every constraint is kept on the training rows
      train: objective 0.2500, worst violation +0.0000
    """
    rules, keep, stop = rules or Rules(), keep or Keep(), stop or Stop()
    _check(compiled, learner, player, watch, rules=rules, keep=keep, stop=stop)
    numbers = {"rounds": rounds, "epochs": epochs, "batch_size": batch_size, "seed": seed}
    _check_numbers(compiled, **numbers)
    processes.check_same("to play", {**numbers, "learner": type(learner).__name__, "rules": rules})
    if compiled.goal is not None:
        same: dict[str, Any] = {"rules": rules, "keep": keep, "progress": progress, **numbers}
        linear = partial(play, learner=learner, player=player, **same)
        return in_stages(compiled, dict(watch or {}), stop, linear)
    player, watched = learner.player if player is None else player, dict(watch or {})
    _check_pair(learner, player, epochs)
    _check_general(compiled, learner)
    settings = _settings(learner, player)
    fit = _started(learner, compiled, settings, seed)
    averaging = player.averaging
    keeper = Keeper(compiled, fit, watched, keep.frontier, averaging, seed, progress)
    own: dict[str, Any] = {"learner": learner, "player": player}
    if isinstance(fit, Answering):
        total, stride = player.fits or rounds or learner.rounds or ANSWERS, 1
        turns: Turns = Asking(compiled, fit, player, total)
    else:
        assert isinstance(fit, Taking)
        _restore(fit, learner.initial)
        if isinstance(fit, Growing):
            batch_size, rounds = None, rounds or (learner.rounds if epochs is None else None)
        total, stride = _length(compiled, keep, rounds, epochs, batch_size)
        own |= {"rules": rules, "batch_size": batch_size, "every": stride}
        how = {"settings": settings, "rules": rules, "device": fit.device, "precision": fit.dtype}
        turns = _turns(fit, Game(compiled, player, **how), total, batch_size, seed)
    game = Play(turns, keeper, total, stride, stop.when)
    return _run(game, stop, progress, _file(keep, keeper, total, own, stop))


@dataclass
class Play:
    """A game in progress: `step` plays a round, and `ended` says why there is no next one.

    It does not handle the clock, the keyboard, the bar or the file; `_run` does.
    """

    turns: Turns
    keeper: Keeper
    rounds: int
    keep_every: int
    stop: Callable[[Trace], bool] | None
    done: int = 0  # rounds
    ended: str | None = None  # the reason if the game ended before the last round
    note: str = ""  # about the iterates kept last, for a progress bar

    def step(self) -> None:
        """Play a round, and keep its iterates if that is due."""
        self.turns.step()
        self.done += 1
        if self.due:
            self.keep()

    @property
    def due(self) -> bool:
        """Whether the iterates of the round just played are kept."""
        return self.done % self.keep_every == 0 or self.done == self.rounds

    def keep(self) -> None:
        """Keep the present iterates, and check whether they end the game."""
        turns, keeper = self.turns, self.keeper
        keeper.keep(*turns.weighed(), self.done)
        self.note = keeper.summary() + turns.noted(keeper.latest)
        if turns.over:
            self.ended = "gap"
        elif self.stop and keeper.kept and self.stop(turns.settled(keeper.trace())):
            self.ended = "stopped"

    def trace(self) -> Trace:
        """The trace of the game."""
        return self.turns.settled(self.keeper.finished(self.ended or "rounds"))


def _run(play: Play, stop: Stop, progress: bool | None, file: GameFile | None) -> Trace:
    """Play a game to its end, with a time limit, interrupts, a progress bar and its file."""
    turns, keeper = play.turns, play.keeper
    if file is not None and (whole := finished(file, keeper)) is not None:
        return whole
    deadline = None if stop.max_time is None else time.monotonic() + stop.max_time
    resumable = file is not None and processes.count() == 1 and turns.held() is not None
    with bar(play.rounds, "round", progress) as shown, turns.playing(), naming(file):
        try:
            if file is not None:
                play.done = take_up(file, turns, keeper, stop)
                shown.update(play.done)
            with put_off(resumable) as interrupted:
                while play.done < play.rounds and play.ended is None and not interrupted():
                    play.step()
                    shown.update()
                    late = deadline is not None and processes.of_first(time.monotonic() > deadline)
                    if not (late or play.due):
                        continue
                    goes_on = play.done < play.rounds and play.ended is None
                    if file is not None and goes_on and (late or file.due):
                        save_game(file, turns, keeper, play.done)
                    if late and not play.due:  # an iterate that only this trace keeps is not written
                        play.keep()
                    if late:
                        play.ended = play.ended or "time"
                    shown.set_postfix_str(play.note, refresh=False)
                if file is not None and interrupted():
                    save_game(file, turns, keeper, play.done)
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            if processes.count() > 1:
                raise  # other processes may be in another round
            play.ended = "interrupted"
            turns.leave_off(keeper, play.done)
    trace = play.trace()
    if file is not None and trace.ended in ("rounds", "gap", "stopped") and file.due:
        save_finished(file, trace, turns.held() is not None)
    return trace


def _length(
    compiled: Compiled, keep: Keep, rounds: int | None, epochs: int | None, batch_size: int | None
) -> tuple[int, int]:
    """The number of rounds, and after how many of them an iterate is kept."""
    per_epoch = 1 if batch_size is None else max(1, compiled.sizes[FIRST] // batch_size)
    total = rounds if rounds is not None else (epochs or EPOCHS) * per_epoch
    stride = per_epoch if keep.every == "epoch" else keep.every
    return total, max(stride, -(-total // keep.at_most))


def _file(keep: Keep, keeper: Keeper, rounds: int, own: dict[str, Any], stop: Stop) -> GameFile | None:
    """The file of the game, written while it is played and named by all that determines it."""
    if keep.folder is None:
        return None
    rows = {"": keeper.compiled, **keeper.watch}
    settings = {"seed": keeper.seed, "keep": keep.frontier, "rounds": rounds, **own}
    if keeper.compiled.general:  # their words do not determine their functions
        settings["constraints"] = [each.left for _, each in keeper.compiled.general]
    return game_file(keep.folder, keeper.fit, rows, settings, stop)


def _check_pair(learner: Learner, player: Player, epochs: int | None) -> None:
    """Raise if learner and player do not fit: whole fits need a player by fits, and rounds."""
    answers = issubclass(learner.fit, Answering)
    if answers and processes.count() > 1:
        raise ValueError(
            f"{type(learner).__name__} fits whole models on all rows, but each of {processes.count()} "
            "processes has a share: train in one, or use rb.Linear, rb.MLP or rb.Torch"
        )
    if answers and epochs is not None:
        raise ValueError(f"{type(learner).__name__} fits anew each round: give rounds=, not epochs=")
    if player.by_fits and not answers:
        raise ValueError(f"rb.{type(player).__name__} moves by whole fits: play it with rb.Oracle(...)")


def _check_general(compiled: Compiled, learner: Learner) -> None:
    """Raise if a learner does not support user-defined constraints."""
    name = type(learner).__name__
    if not issubclass(learner.fit, Differentiating):
        remedy = "Use rb.Torch(module), rb.MLP() or rb.Lattice(), whose models descend any function."
        refuse_general(compiled.constraints, f"rb.{name}", remedy)


def _started(learner: Learner, compiled: Compiled, models: int, seed: int) -> Fit:
    if compiled.stored and not learner.takes_stored:
        raise ValueError(
            f"{type(learner).__name__} needs its rows in memory, but some of these are on disk: use "
            "rb.Linear, rb.MLP or rb.Torch, or load them into memory with population.in_memory()"
        )
    if compiled.constraints:
        learner.check_weighing()
    fit = learner.start(compiled, models, seed)
    if not isinstance(fit, learner.fit):
        name, kind = type(learner).__name__, type(fit).__name__
        raise TypeError(f"{name}.start gave a {kind}, but {name}.fit says rb.{learner.fit.__name__}")
    return fit


def _turns(fit: Taking, game: Game, rounds: int, batch_size: int | None, seed: int) -> Turns:
    """The rounds of a fit on batches, from the start."""
    own = batches(game.compiled, game, batch_size, seed)
    scores: Any = _first_scores(fit, game.compiled) if game.compiled.stored else fit.all_scores()
    return taking(game, fit, game.start(scores, rounds=rounds), own, seed)


def _first_scores(fit: Taking, compiled: Compiled) -> Iterator[Array]:
    """Scores of rows on disk, some at a time; raises if features are not finite numbers."""
    for scores in score_pieces(compiled, fit.scorer, fit.parameters()):
        if not np.isfinite(scores).all():
            broken = (np.flatnonzero(~np.isfinite(X).all(axis=0)) for X in compiled.features.pieces())
            feature = next((int(each[0]) for each in broken if len(each)), None)
            names = compiled.first.features.names
            which = "the features hold" if feature is None else f"feature {feature} holds"
            if feature is not None and names:
                which = f"column {names[feature]!r} holds"
            raise ValueError(f"{which} NaN or infinite values: fill or scale them first")
        yield scores


def _check(compiled: Any, learner: Any, player: Any, watch: Any, **groups: Any) -> None:
    """Raise an error for a wrong argument of `play`, before anything is trained."""
    if not isinstance(compiled, Compiled):
        raise TypeError(f"play takes what rb.compile gives first, got {type(compiled).__name__}")
    if not isinstance(learner, Learner):
        raise TypeError(f"play takes a learner such as rb.Linear() second, got {learner!r}")
    if player is not None and not isinstance(player, Player):
        raise TypeError(f"player takes one such as rb.SwapRegret(), got {player!r}")
    for (name, given), kind in zip(groups.items(), (Rules, Keep, Stop), strict=True):
        if not isinstance(given, kind):
            raise TypeError(f"{name} takes rb.{kind.__name__}(...), got {given!r}")
    named = watch or {}
    if not isinstance(named, Mapping) or not all(isinstance(c, Compiled) for c in named.values()):
        raise TypeError("watch takes compiled populations by name: {'validation': rb.compile(...)}")


def _check_numbers(compiled: Compiled, seed: Any, **counts: Any) -> None:
    if counts["batch_size"] is None and compiled.stored:
        raise ValueError("batch_size=None takes all rows at once, but some are on disk: give a number")
    if counts["rounds"] is not None and counts["epochs"] is not None:
        raise ValueError("give rounds or epochs, not both")
    for name, given in counts.items():
        if given is not None:
            check_whole(name, given)
    check_whole("seed", seed, least=0)


def _restore(fit: Taking, initial: Any) -> None:
    """Start from parameters, one set for all settings or one for each; None keeps the fit's own."""
    if initial is None:
        return
    given, shape = np.asarray(initial), fit.parameters().shape
    if given.shape not in (shape, shape[1:]) or given.dtype.kind not in "buif":
        raise ValueError(
            f"initial takes the parameters of a trace, {shape[1]:,} numbers for each of {shape[0]} "
            f"settings or for all of them, got {given.dtype} of shape {given.shape}"
        )
    fit.restore(np.broadcast_to(given, shape))


def _settings(learner: Learner, player: Player) -> int:
    counts = {learner.settings, player.settings} - {1}
    if len(counts) > 1:
        raise ValueError(
            f"the learner has {learner.settings} settings and the player {player.settings}; give both "
            "the same number of learning rates (one pair per setting), or one of them a single rate"
        )
    return counts.pop() if counts else 1


STAGES = 6  # games at most
WORTH = 0.002  # the least gain, in the goal or the worst violation, that justifies another game


def in_stages(
    compiled: Compiled,
    watch: Mapping[str, Compiled],
    stop: Stop,
    play: Callable[..., Trace],
) -> Trace:
    """The candidates of several games on the way to a goal, judged by it; `play` plays each linear one.

    The first point belongs to random decisions. After each game, the best mixture of all candidates so
    far is computed exactly, and the goal's tangent there is the next game's objective: for a ratio, that
    is one step of Dinkelbach's method; for the worst of several groups, the prices of the groups. The
    groups must then reach a level as well, so that multipliers balance them within the game. If such a
    game gains nothing, the problem is reversed: the groups must reach the level, and the promised
    quantity is minimised. If a promise is hard to keep, such as no more errors than the plain model's,
    only such games have candidates near it. Candidates of all games are pooled, so no game is lost.
    """
    goal, started = compiled.goal, time.monotonic()
    assert goal is not None
    stages: list[Trace] = []
    turned = False
    assert compiled.whole is not None
    point, reached = start_of(goal, compiled.whole), (np.inf, np.inf)
    for stage in range(STAGES):
        given = {name: at_point(rows, point) for name, rows in watch.items()}
        left = None if stop.max_time is None else stop.max_time - (time.monotonic() - started)
        own = None if left is None else max(left / (STAGES - stage), 1e-3)
        ending = replace(stop, max_time=own, when=deepcopy(stop.when))
        played = play(at_point(compiled, point), watch=given, stop=ending)
        stages.append(_after(stages, _by_goal(played, compiled, goal)))
        pool = pooled(stages)
        if played.interrupted:
            break
        assert pool.pieces is not None
        _, least, solved = best_goal_mixture(goal, pool.pieces, pool.violations, pool.scale)
        gained = max(reached[0] - least.violation, reached[1] - solved.value)
        levels = goal.levels(solved.pieces)
        stuck = gained < WORTH
        if stuck and (turned or not len(levels[1]) or not compiled.constraints):
            break
        reached, turned = (least.violation, solved.value), stuck
        if turned:
            point = Linearization(np.zeros_like(solved.weights), 1 / compiled.scale[1:], levels)
        else:
            point = Linearization(solved.weights, np.nan_to_num(solved.prices), levels)
    return replace(pool, ended=stages[-1].ended)


def _by_goal(trace: Trace, compiled: Compiled, goal: NonlinearObjective) -> Trace:
    """A trace of a linear problem with the goal's own objectives, and only the promises."""
    m = len(compiled.constraints)

    def judged(values: Values) -> Values:
        assert values.pieces is not None
        scale = values.scale if isinstance(values.scale, float) else values.scale[:m]
        own = values.violations[:, :m]
        return replace(values, objectives=goal.value(values.pieces), violations=own, scale=scale)

    assert trace.pieces is not None
    return replace(
        trace,
        problem=compiled.problem,
        constraints=compiled.constraints,
        goal=goal,
        objectives=goal.value(trace.pieces),
        violations=trace.violations[:, :m],
        multipliers=trace.multipliers[:, : 1 + m],
        scale=compiled.scale[1:],
        watched={name: judged(values) for name, values in trace.watched.items()},
    )


def _after(stages: list[Trace], trace: Trace) -> Trace:
    """A trace whose rounds continue the count of earlier ones."""
    done = max((int(each.round.max()) for each in stages), default=0)
    return replace(trace, round=trace.round + done)
