"""Rounds on a GPU, recorded once and replayed.

On a GPU, a round of a small model is limited by the launches of its hundred or so kernels. A CUDA graph
launches all of them at once: the first rounds are played as usual, then one is recorded, with its inputs
and the state of the game at fixed addresses, and every later round is a replay.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.arrays import Array, exactly, namespace
from ratebound._old.game._constraints import Models
from ratebound._old.game._state import GameState
from ratebound._old.problem.general import modules_of

if TYPE_CHECKING:
    from ratebound._old.game.game import Game

Played = Callable[..., tuple[Any, GameState]]  # from a state and inputs to a result and the next state
FIRST = 3  # rounds before recording, in which libraries initialise themselves
MOST = 8  # the most shapes of batches recorded, as each recording holds its own memory


@dataclass(frozen=True)
class Recording:
    """A recorded round of one shape, with fixed addresses for its inputs and its result."""

    replay: Callable[[], None]
    places: list[Any]
    result: Any


class Recorder:
    """Plays rounds on a GPU; rounds of a known shape are replayed."""

    def __init__(self, example: Array, prepare: Callable[[], None] = lambda: None) -> None:
        self.torch, self.device = namespace(example), example.device
        self.prepare = prepare  # called once, before anything is recorded
        self.state: Any = None  # every replay updates its tensors
        self.seen: Counter[tuple[Any, ...]] = Counter()
        self.recordings: dict[tuple[Any, ...], Recording] = {}

    def __call__(self, play: Played, state: GameState, given: Sequence[Any]) -> tuple[Any, GameState]:
        """The result of `play` and the next state; every replay overwrites the same tensors.

        Numbers among the inputs become part of the recording; tensors are copied to fixed addresses.
        """
        given = [self._tensor(each) for each in given]
        shape = tuple((each.shape, each.dtype) if hasattr(each, "copy_") else each for each in given)
        recording = self.recordings.get(shape)
        self.seen[shape] += recording is None
        if recording is None and (self.seen[shape] <= FIRST or len(self.recordings) == MOST):
            return self._aside(lambda: play(state, *given))
        self._take_over(state)
        if recording is None:
            recording = self.recordings[shape] = self._recorded(play, given)
        for place, each in zip(recording.places, given, strict=True):
            if hasattr(place, "copy_"):
                place.copy_(each, non_blocking=True)
        recording.replay()
        return recording.result, self.state

    def _tensor(self, given: Any) -> Any:
        """Arrays as tensors on the same device; numbers and None unchanged."""
        return self.torch.as_tensor(given) if isinstance(given, np.ndarray | list) else given

    def _take_over(self, state: GameState) -> None:
        """Continue from a state, at the addresses that replays use."""
        if self.state is None:
            self.prepare()
            kind: Any = {"dtype": self.torch.float64, "device": self.device}
            steps = self.torch.tensor(state.multipliers.steps, **kind)
            self.state = replace(state, multipliers=replace(state.multipliers, steps=steps))
        elif state is not self.state:
            _move(state, self.state)

    def _recorded(self, play: Played, given: Sequence[Any]) -> Recording:
        places = [each.to(self.device, copy=True) if hasattr(each, "copy_") else each for each in given]
        results = []

        def work() -> None:
            result, after = play(self.state, *places)
            _move(after, self.state)
            results.append(result)

        return Recording(self._captured(work), places, results[0])

    def _aside(self, work: Callable[[], Any]) -> Any:
        """Run `work` on another stream, as capturing requires at first."""
        cuda = self.torch.cuda
        with cuda.device(self.device):
            self._beside.wait_stream(cuda.current_stream())
            with cuda.stream(self._beside):
                result = work()
            cuda.current_stream().wait_stream(self._beside)
        return result

    @cached_property
    def _beside(self) -> Any:
        return self.torch.cuda.Stream()

    def _captured(self, work: Callable[[], None]) -> Callable[[], None]:
        """A function that repeats all of the work in one launch."""
        graph = self.torch.cuda.CUDAGraph()
        # Other threads, such as one that reads batches ahead, must not disturb the capture.
        mode = {"capture_error_mode": "thread_local"}
        with self.torch.cuda.device(self.device), self.torch.cuda.graph(graph, **mode):
            work()
        replay: Callable[[], None] = graph.replay
        return replay


class Rounds:
    """The rounds of a game in the user's own loop; see `Game.recorded`."""

    def __init__(self, game: Game, state: GameState) -> None:
        if not isinstance(state, GameState):
            raise TypeError(f"recorded takes a state, as game.start(scores) gives, got {state!r}")
        self.game, self._state = game, state
        # User-defined functions may do anything, which no recording could replay.
        can_record = recordable(game.example) and not game.compiled.general
        self._recorder = Recorder(game.example) if can_record else None
        self._weights: Array | None = None  # of the latest round
        self._descended = True  # whether the proxies of the latest round were used

    @property
    def state(self) -> GameState:
        """The state after the latest round; later rounds do not change it."""
        return self._state if self._recorder is None else copy.deepcopy(self._state)

    def __call__(
        self,
        scores: Array,
        rows: Array | None = None,
        share: Array | float | None = None,
        *,
        module: Any = None,
        whole: Array | None = None,
    ) -> Array:
        """The gradient with respect to the scores of a batch, after which both players have moved.

        User-defined constraints see ``module`` as their ``model.module``. Constraints with
        ``exact=True`` see the scores of all rows, ``whole``.
        """
        own = scores.detach() if hasattr(scores, "detach") else np.asarray(scores)
        given = (own, rows, share)
        if self.game.compiled.general:
            self._check_descended()
            self._weights, self._descended = self._state.multipliers.weights, False
            models = Models(modules_of(module, self.game.settings), _detached(whole))
            gradient, self._state = self._played(self._state, *given, models=models)
        elif self._recorder is None:
            gradient, self._state = self._played(self._state, *given)
        else:
            gradient, self._state = self._recorder(self._played, self._state, given)
        return gradient

    @property
    def weights(self) -> Array:
        """The multipliers (K, 1+m) of the latest round, by which its gradient was computed."""
        self._descended = True
        return self._state.multipliers.weights if self._weights is None else self._weights

    def proxies(
        self,
        scores: Any,
        rows: Array | None = None,
        *,
        module: Any = None,
    ) -> Any:
        """The term that user-defined constraints (`rb.constraint`) add to the latest round's loss.

        It is the sum of their proxies, each times its multiplier. The scores must carry their history,
        so that there is a gradient. Multipliers change, so do not call it in code that is compiled once,
        as by ``jax.jit``: there, multiply the proxies by `weights` yourself.
        """
        return self.game.descended(self.weights, scores, rows, module=module)

    def _check_descended(self) -> None:
        """Raise if a loop would train without its proxies."""
        if not self._descended:
            names = ", ".join(str(each.left) for _, each in self.game.compiled.general)
            raise ValueError(
                f"{names}: the model must also descend the proxies of user-defined constraints: add "
                "rounds.proxies(scores, rows, module=...) to the loss, as in "
                "(scores * gradient).sum() + rounds.proxies(scores, rows, module=model)"
            )

    def _played(
        self,
        state: GameState,
        scores: Array,
        rows: Any,
        share: Any,
        *,
        models: Models | None = None,
    ) -> tuple[Array, GameState]:
        with exactly(self.game.example):  # the game counts rows in float32
            batch = self.game.batch(rows, share)
            return self.game.round(state, scores, batch, models=models)


def _detached(scores: Any) -> Any:
    return scores.detach() if hasattr(scores, "detach") else scores


def recordable(example: Array) -> bool:
    """Whether rounds played on arrays like this one can be recorded."""
    return getattr(example, "is_cuda", False) and processes.count() == 1


def _move(state: Any, places: Any) -> None:
    """Copy the tensors of a state onto another's."""
    for value, place in zip(_tensors(state), _tensors(places), strict=True):
        if place is not value:
            place.copy_(value)


def _tensors(node: Any) -> list[Any]:
    """All tensors of a state, in order."""
    if is_dataclass(node):
        node = [getattr(node, field.name) for field in fields(node)]
    if isinstance(node, tuple | list):
        return [tensor for part in node for tensor in _tensors(part)]
    return [node] if hasattr(node, "copy_") else []
