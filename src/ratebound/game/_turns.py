"""Taking rounds one after the other: both players move, and what the next rounds need can be written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from ratebound.base.arrays import Array, namespace
from ratebound.game._held import Described, put_together
from ratebound.game._keeping import Keeper
from ratebound.game._recording import Recorder
from ratebound.game._state import Batch, GameState
from ratebound.game.game import Game
from ratebound.game.learner import Growing, Taking
from ratebound.game.trace import Trace

Move = Callable[[Array, Array, Batch], None]  # of the model, in a round
Draw = tuple[Any, Any]  # rows of a batch, None for all, and the share each stands for


class Turns(ABC):
    """Rounds of one game, as `play` takes them."""

    over: bool = False  # whether nothing better can come

    @abstractmethod
    def take(self) -> None:
        """Play one round: both players move."""

    @abstractmethod
    def weighed(self) -> tuple[Array, Array]:
        """The weights (K, 1+m) and learned thresholds (K, L) that go with the present iterates."""

    def playing(self) -> AbstractContextManager[Any]:
        """Where the rounds are played."""
        return nullcontext()

    def noted(self, latest: Trace | None) -> str:
        """Take note of iterates that were just kept; what it comes to is for the progress bar."""
        return ""

    def settled(self, trace: Trace) -> Trace:
        """A trace so far as it is handed over."""
        return trace

    def held(self) -> dict[str, Any] | None:
        """All that the next rounds depend on; None where that cannot be written."""
        return None

    def take_up(self, described: Described, arrays: dict[str, Array], done: int) -> None:
        """Continue from what `held` gave after `done` rounds, taken apart."""
        raise NotImplementedError(f"{type(self).__name__} writes nothing that could be taken up")

    def leave_off(self, keeper: Keeper, done: int) -> None:
        """Keep what there is after an interrupt."""
        keeper.keep(*self.weighed(), done)


class Taken(Turns):
    """Rounds of batches: the model moves by the gradient of its scores, the multipliers by its rates."""

    def __init__(
        self,
        game: Game,
        fit: Taking,
        state: GameState,
        batches: Iterator[tuple[Draw, ...]],
        seed: int,
        judge: Game | None = None,
    ) -> None:
        self.game, self.fit, self.state, self.batches, self.seed = game, fit, state, batches, seed
        self.judge = judge  # on the rows that the λ-player sees, where they are not the model's
        self._move = self._growing(fit) if isinstance(fit, Growing) else self._descending(fit)

    def take(self) -> None:
        self.state = self._after(self.state, *next(self.batches))

    def _after(self, state: GameState, own: Draw, shown: Draw | None = None) -> GameState:
        """The state after a round, in which the model moves too."""
        judged = None
        if self.judge is not None and shown is not None:
            seen = self.fit.judged_scores(self.judge.compiled, shown[0])
            judged = self.judge.look(state, seen, self.judge.batch(*shown))
        scores = self.fit.scores(own[0])
        batch = self.game.batch(*own)
        gradient, moved = self.game.round(state, scores, batch, judged)
        self._move(gradient, scores, batch)
        return moved

    def _descending(self, fit: Any) -> Move:
        return lambda gradient, scores, batch: fit.descend(gradient)

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
        for _ in range(done):  # the order of the rows is that of the seed
            next(self.batches)

    @contextmanager
    def playing(self) -> Iterator[None]:
        # Numbers that overflow are found where iterates are kept, and reported once.
        with self.fit.randomness(self.seed), np.errstate(all="ignore"):
            yield


class Recorded(Taken):
    """The same rounds on a GPU, all but the first replayed."""

    def __init__(self, game: Game, fit: Taking, *rest: Any) -> None:
        super().__init__(game, fit, *rest)
        self.recorder = Recorder(game.example, fit.count_on_device)

    def take(self) -> None:
        rows, shares = zip(*next(self.batches), strict=True)

        def play(state: GameState, *rows: Any) -> tuple[None, GameState]:
            return None, self._after(state, *zip(rows, shares, strict=True))

        _, self.state = self.recorder(play, self.state, rows)


def taking(game: Game, fit: Taking, *rest: Any) -> Taken:
    """How rounds are taken: recorded where the fit can be."""
    return (Recorded if fit.recordable else Taken)(game, fit, *rest)


def _copied(array: Array) -> Array:
    """What replays will not move."""
    return array if namespace(array) is np else array.clone()
