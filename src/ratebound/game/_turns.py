"""Taking rounds one after the other; on a GPU, recorded once and replayed.

There a round of a small model is bound by the launching of its hundred or so kernels. A CUDA graph
launches all of them at once: the first rounds are played as they are, then one is recorded, with the
rows of the batch and the state of the game in places that stay, and every later round is a replay.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ratebound.base.arrays import Array, namespace
from ratebound.game._held import Described, put_together
from ratebound.game._keeping import Keeper
from ratebound.game._state import Batch, GameState
from ratebound.game.game import Game
from ratebound.game.learner import Growing, Taking
from ratebound.game.trace import Trace

Move = Callable[[Array, Array, Batch], None]  # of the model, in a round
Draw = tuple[Any, Any]  # rows of a batch, None for all, and the share each stands for
FIRST = 3  # rounds before recording: libraries set themselves up in them


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
        self._take(*next(self.batches))

    def _take(self, own: Draw, shown: Draw | None = None) -> None:
        judged = None
        if self.judge is not None and shown is not None:
            seen = self.fit.judged_scores(self.judge.compiled, shown[0])
            judged = self.judge.look(self.state, seen, self.judge.batch(*shown))
        scores = self.fit.scores(own[0])
        batch = self.game.batch(*own)
        gradient, moved = self.game.round(self.state, scores, batch, judged)
        self._move(gradient, scores, batch)
        self.state = moved

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

    def __init__(self, game: Game, *rest: Any) -> None:
        super().__init__(game, *rest)
        self.torch = namespace(game.example)
        self.beside = self.torch.cuda.Stream()
        self.taken = 0
        self.graph: Any = None
        self.places: list[Any] = []  # where each replay finds its rows, None for all

    def _take(self, own: Draw, shown: Draw | None = None) -> None:
        draws = (own,) if shown is None else (own, shown)
        if self.taken < FIRST:
            self.beside.wait_stream(self.torch.cuda.current_stream())
            with self.torch.cuda.stream(self.beside):
                super()._take(*draws)
            self.torch.cuda.current_stream().wait_stream(self.beside)
        else:
            if self.graph is None:
                self._record(draws)
            for place, (rows, _) in zip(self.places, draws, strict=True):
                if place is not None:
                    place.copy_(rows)
            self.graph.replay()
        self.taken += 1

    def _record(self, draws: tuple[Draw, ...]) -> None:
        self.places = [None if rows is None else rows.clone() for rows, _ in draws]
        shares = [share for _, share in draws]
        self.fit.count_on_device()
        counter = self.torch.tensor(float(self.state.multipliers.steps), device=self.game.example.device)
        multipliers = replace(self.state.multipliers, steps=counter)
        before = self.state = replace(self.state, multipliers=multipliers)
        self.graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(self.graph):
            super()._take(*zip(self.places, shares, strict=True))
            for place, value in zip(_tensors(before), _tensors(self.state), strict=True):
                if place is not value:
                    place.copy_(value)
        self.state = before  # whose tensors every replay moves on


def taking(game: Game, fit: Taking, *rest: Any) -> Taken:
    """How rounds are taken: recorded where the fit can be."""
    return (Recorded if fit.recordable else Taken)(game, fit, *rest)


def _copied(array: Array) -> Array:
    """What replays will not move."""
    return array if namespace(array) is np else array.clone()


def _tensors(node: Any) -> list[Any]:
    """All tensors that a state is made of, in order."""
    if is_dataclass(node):
        node = [getattr(node, field.name) for field in fields(node)]
    if isinstance(node, tuple | list):
        return [tensor for part in node for tensor in _tensors(part)]
    return [node] if hasattr(node, "copy_") else []
