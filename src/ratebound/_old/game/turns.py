"""The steps of a game: in each, both players move, and the state for the next steps can be written.

With batches the model moves by the gradient of its scores, and the multipliers by its rates.

With an oracle the model answers multipliers with a whole fit (Algorithms 1 and 2). At weights λ the
Lagrangian, λ_0 · objective + Σ λ_i · constraint i, is a sum over the rows of their decisions' costs,
relative to the first decision. With two classes, minimising it is a weighted classification problem: a
row's label is yes if a yes has a negative cost, and its weight is the size of that cost. Any classifier
that takes weights can solve it, and no proxy is needed. With more classes, each row has a cost for each
decision.

An oracle need not be exact. So the answer to λ is the best, by the Lagrangian at λ, of the new fit and
the earlier ones of its setting. The multipliers move by the violations of the answer, and `rb.average`
averages the answers; every fit is kept, as a candidate for the other solutions. The gap
bounds the distance between the best mixture of the fits and the best at the multipliers tried.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.arrays import Array, as_like, namespace
from ratebound._old.game._constraints import Models
from ratebound._old.game._keeping import Keeper
from ratebound._old.game._recording import Recorder
from ratebound._old.game._state import Batch, Described, GameState, put_together
from ratebound._old.game.game import Game
from ratebound._old.game.learner import Answering, Differentiating, Growing, Taking
from ratebound._old.game.players import Player
from ratebound._old.game.players_by_fits import no_answers
from ratebound._old.game.trace import Trace
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.general import Modules
from ratebound._old.problem.population import Population
from ratebound._old.rates.general import General

# --- which rows a step sees ---------------------------------------------------------------------
# Every population has its own shuffle. With several processes, each draws from its own share of the
# rows, and their draws together are the batch.


def batches(
    compiled: Compiled, game: Game, batch_size: int | None, seed: int
) -> Iterator[tuple[Any, Any]]:
    """The rows of each round, None for all, and how many rows of its population each stands for."""
    sizes = list(compiled.sizes.values())
    if batch_size is None or all(size <= batch_size for size in sizes):
        while True:
            yield None, 1.0
    drawn = [min(size, batch_size) for size in sizes]
    here = [len(population) for population in compiled.populations.values()]
    shares = zip(*processes.gathered(here), strict=True)
    parts = [dealt_out(batch, each) for batch, each in zip(drawn, shares, strict=True)]
    own = [part[processes.rank()] for part in parts]
    share: Any = sizes[0] / drawn[0]
    if len(sizes) > 1:
        share = as_like(np.repeat(np.array(sizes) / drawn, own), game.example)
    random = np.random.default_rng([seed, processes.rank()] if processes.count() > 1 else seed)
    starts = [where.start for where in compiled.rows.values()]
    in_a_pass = [size // batch for size, batch in zip(sizes, drawn, strict=True)]
    orders = [partial(_orders, population, random, game) for population in compiled.populations.values()]
    streams = [_drawn(*each, game) for each in zip(orders, own, starts, in_a_pass, strict=True)]
    while True:
        rows = [next(stream) for stream in streams]
        yield rows[0] if len(rows) == 1 else namespace(rows[0]).concatenate(rows), share


def dealt_out(batch: int, shares: Sequence[int]) -> list[int]:
    """How many rows of a batch each process draws, in proportion to its number of rows.

    >>> dealt_out(10, [500, 500, 500])
    [4, 3, 3]
    >>> dealt_out(10, [900, 100])
    [9, 1]
    """
    quotas = batch * np.array(shares) / sum(shares)
    counts = np.floor(quotas + 1e-9).astype(int)
    largest = np.argsort(counts - quotas, kind="stable")
    counts[largest[: batch - counts.sum()]] += 1
    return counts.tolist()


def _orders(population: Population, random: np.random.Generator, game: Game) -> Iterator[Array]:
    """The numbers of all rows of a population once, in a new order; some at a time if on disk."""
    own = random if game.rules.shuffle else None
    if population.stored:
        yield from population.features.windows(own)
    else:
        yield np.arange(len(population)) if own is None else own.permutation(len(population))


def _drawn(
    orders: Callable[[], Iterator[Array]], batch: int, start: int, in_a_pass: int, game: Game
) -> Iterator[Any]:
    """Batches of one population; the rows left over by a pass wait for the next.

    A process with few rows may begin its next pass before the others finish theirs.
    """
    while True:
        left, given = np.empty(0, dtype=np.int64), 0
        for order in orders():
            # Not moved to a GPU if rows are on disk: they are looked up here first.
            rows = order + start
            rows = np.concatenate([left, rows]) if len(left) else rows
            whole = min(in_a_pass - given, len(rows) // max(batch, 1))
            given += whole
            placed = rows if game.compiled.stored else game.on_device(rows)
            yield from (placed[place * batch : (place + 1) * batch] for place in range(whole))
            left = rows[whole * batch :]


# --- steps by batches ---------------------------------------------------------------------------


Move = Callable[[Array, Array, Batch], None]  # of the model, in a round
Draw = tuple[Any, Any]  # rows of a batch, None for all, and how many rows each stands for


class Turns(ABC):
    """One game: `step` plays a round, `over` says whether to end, `held` is the state in between."""

    over: bool = False  # whether no further improvement is possible

    @abstractmethod
    def step(self) -> None:
        """Play one round: both players move."""

    @abstractmethod
    def weighed(self) -> tuple[Array, Array]:
        """The weights (K, 1+m) and learned thresholds (K, L) that go with the present iterates."""

    def playing(self) -> AbstractContextManager[Any]:
        """The context in which rounds are played."""
        return nullcontext()

    def noted(self, latest: Trace | None) -> str:
        """Take note of iterates that were just kept; return a note for the progress bar."""
        return ""

    def settled(self, trace: Trace) -> Trace:
        """The trace so far, in its final form."""
        return trace

    def held(self) -> dict[str, Any] | None:
        """All state that the next rounds need; None if it cannot be written."""
        return None

    def take_up(self, described: Described, arrays: dict[str, Array], done: int) -> None:
        """Continue from the decomposed state that `held` returned after `done` rounds."""
        raise NotImplementedError(f"{type(self).__name__} writes no state that could be resumed")

    def leave_off(self, keeper: Keeper, done: int) -> None:
        """Keep the current iterates after an interrupt."""
        keeper.keep(*self.weighed(), done)


class Taken(Turns):
    """Rounds of batches: the model moves by the gradient of its scores, the multipliers by its rates."""

    def __init__(
        self,
        game: Game,
        fit: Taking,
        state: GameState,
        batches: Iterator[Draw],
        seed: int,
    ) -> None:
        self.game, self.fit, self.state, self.batches, self.seed = game, fit, state, batches, seed
        self._move = self._growing(fit) if isinstance(fit, Growing) else self._descending(fit)

    def step(self) -> None:
        self.state = self._after(self.state, next(self.batches))

    def _after(self, state: GameState, own: Draw) -> GameState:
        """The state after a round, in which the model moves too."""
        scores = self.fit.scores(own[0])
        batch = self.game.batch(*own)
        gradient, moved = self.game.round(state, scores, batch, models=self._models())
        self._move(gradient, scores, batch)
        return moved

    def _models(self) -> Models | None:
        """The models as user-defined constraints see them, if there are such constraints."""
        general = self.game.compiled.general
        if not general:
            return None
        assert isinstance(self.fit, Differentiating)
        exact = any(isinstance(each.left, General) and each.left.exact for _, each in general)
        whole = self.fit.judged_scores(self.game.compiled, None) if exact else None
        return Models(partial(self.fit.modules, training=False), whole)

    def _descending(self, fit: Any) -> Move:
        if not self.game.compiled.general:
            return lambda gradient, scores, batch: fit.descend(gradient)

        def move(gradient: Array, scores: Array, batch: Batch) -> None:
            weights = self.state.multipliers.weights  # of this round: the next state is not taken yet

            def added(own: Array, modules: Modules) -> Any:
                return self.game.descended(weights, own, batch.rows, modules=modules)

            fit.descend(gradient, added)

        return move

    def _growing(self, fit: Growing) -> Move:
        def move(gradient: Array, scores: Array, batch: Batch) -> None:
            nats, curvature = self.game.nats, self.game.curvature(self.state, scores, batch)
            fit.grow(nats * gradient, nats * curvature)

        return move

    def weighed(self) -> tuple[Array, Array]:
        return _copied(self.state.multipliers.weights), _copied(self.state.thresholds)

    def held(self) -> dict[str, Any] | None:
        own = self.fit.held()
        return None if own is None else {"fit": own, "state": self.state}

    def take_up(self, described: Described, arrays: dict[str, Array], done: int) -> None:
        fit, state = (described["names"][name] for name in ("fit", "state"))
        self.fit.take_up(put_together(fit, arrays, None, np.empty(0)))
        self.state = put_together(state, arrays, self.state, self.game.example)
        for _ in range(done):  # the seed determines the order of the rows
            next(self.batches)

    @contextmanager
    def playing(self) -> Iterator[None]:
        # Overflow is detected when iterates are kept, and reported once.
        with self.fit.randomness(self.seed), np.errstate(all="ignore"):
            yield


class Recorded(Taken):
    """The same rounds on a GPU, all but the first replayed."""

    def __init__(self, game: Game, fit: Taking, *rest: Any) -> None:
        super().__init__(game, fit, *rest)
        self.recorder = Recorder(game.example, fit.count_on_device)

    def step(self) -> None:
        rows, share = next(self.batches)

        def play(state: GameState, rows: Any) -> tuple[None, GameState]:
            return None, self._after(state, (rows, share))

        _, self.state = self.recorder(play, self.state, (rows,))


def taking(game: Game, fit: Taking, *rest: Any) -> Taken:
    """The rounds of a fit, recorded if the fit supports it."""
    can_record = fit.recordable and not game.compiled.general  # functions may do anything
    return (Recorded if can_record else Taken)(game, fit, *rest)


def _copied(array: Array) -> Array:
    """A copy that replays do not change."""
    return array if namespace(array) is np else array.clone()


# --- steps by whole fits ------------------------------------------------------------------------


ROUNDING = 1e-10  # gaps up to this size come from the linear programs


class Asking(Turns):
    """Rounds of whole fits: the model answers the multipliers, which then move by its answers."""

    def __init__(
        self,
        compiled: Compiled,
        fit: Answering,
        player: Player,
        rounds: int,
    ) -> None:
        _check(compiled, player)
        self.compiled, self.fit, self.player = compiled, fit, player
        constraints = len(compiled.constraints)
        self.answers = no_answers(constraints)
        bound = Game(compiled, player).bound() if player.needs_bound else None
        self.multipliers = player.start(
            constraints, settings=player.settings, rounds=rounds, bound=bound
        )
        self.best: list[Array] = []  # the fits that were the answers (K,), round by round

    def step(self) -> None:
        if len(self.answers):
            self.multipliers = self.player.after(self.multipliers, self.answers)
        self.fit.respond(self.compiled, self.multipliers.weights)

    def weighed(self) -> tuple[Array, Array]:
        """The weights whose product with the values of a trace is the Lagrangian."""
        own = self.multipliers.weights * self.compiled.scale[0] / self.compiled.scale
        return own, np.empty((len(own), 0))

    def noted(self, latest: Trace | None) -> str:
        assert latest is not None  # fits with scores that are not finite are refused
        values = np.column_stack([latest.objectives, latest.violations]) / self.compiled.scale
        self.answers = self.answers.and_also(values, self.multipliers.weights)
        self.best.append(self.answers.best(self.multipliers.weights))
        gap = self.answers.gap(self.player.reach)
        self.over = gap <= max(self.fit.tolerance, ROUNDING)
        return f", gap {gap:.2g}"

    def settled(self, trace: Trace) -> Trace:
        settled = replace(self.fit.settled(trace), answers=True)
        if trace.frontier or trace.averaging == "all fits" or not self.best:
            return settled
        return replace(settled, answered=_answered(np.concatenate(self.best), trace.multipliers[:, 0]))

    def leave_off(self, keeper: Keeper, done: int) -> None:
        if not keeper.pieces:  # there is nothing to return yet
            raise KeyboardInterrupt


def _answered(best: Array, weights: Array) -> Array:
    """For each fit (N, 2): the number of rounds in which it was the answer, and the objective's weight.

    `best` are the answers round by round; `weights` (N,) are the objective's weights of the fits. An
    interrupted game may have kept a last fit without comparing it.
    """
    rounds = np.ones(len(best)), weights[: len(best)]
    return np.column_stack([np.bincount(best, each, len(weights)) for each in rounds])


def _check(compiled: Compiled, player: Player) -> None:
    if player.watches == "proxies":
        raise ValueError(
            f"{type(player).__name__} watches proxies, but an oracle has none: use rb.ExternalRegret()"
        )
    for block in compiled.blocks:
        if block.at != 0:
            row = int(np.flatnonzero(np.diff(block.net.indptr))[0])
            what = compiled.constraints[row - 1] if row else compiled.problem.objective
            raise ValueError(
                f"{what}: decisions at the threshold {block.at!r} cannot be asked of a scikit-learn "
                "classifier (rb.Oracle), which decides only at 0: use a linear model (rb.Linear), a "
                "network (rb.Torch) or boosted trees (rb.Boosted)"
            )
