"""Taking rounds one after the other; on a GPU, recorded once and replayed.

There a round of a small model is bound by the launching of its hundred or so kernels. A CUDA graph
launches all of them at once: the first rounds are played as they are, then one is recorded, with the
rows of the batch and the state of the game in places that stay, and every later round is a replay.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from ratebound.base.arrays import Array, namespace
from ratebound.game.game import Game, GameState

FIRST = 3  # rounds before recording: libraries set themselves up in them


class Turns:
    """Rounds of a game and a fit, as they come."""

    def __init__(self, game: Game, fit: Any, state: GameState) -> None:
        self.game, self.fit, self.state = game, fit, state

    def take(self, rows: Array | None, share: Any) -> None:
        """One round on these rows: both players step."""
        scores = self.fit.scores(rows)
        batch = self.game.batch(rows, share)
        gradient, moved = self.game.round(self.state, scores, batch)
        if getattr(self.fit, "newton", False):
            nats, curvature = self.game.nats, self.game.curvature(self.state, scores, batch)
            self.fit.descend(nats * gradient, nats * curvature)
        else:
            self.fit.descend(gradient)
        self.state = moved


class RecordedTurns(Turns):
    """The same rounds on a GPU, all but the first replayed."""

    def __init__(self, game: Game, fit: Any, state: GameState) -> None:
        super().__init__(game, fit, state)
        self.torch = namespace(game.example)
        self.beside = self.torch.cuda.Stream()
        self.taken = 0
        self.graph: Any = None
        self.rows: Any = None

    def take(self, rows: Array | None, share: Any) -> None:
        if self.taken < FIRST:
            self.beside.wait_stream(self.torch.cuda.current_stream())
            with self.torch.cuda.stream(self.beside):
                super().take(rows, share)
            self.torch.cuda.current_stream().wait_stream(self.beside)
        else:
            if self.graph is None:
                self._record(rows, share)
            elif rows is not None:
                self.rows.copy_(rows)
            self.graph.replay()
        self.taken += 1

    def _record(self, rows: Array | None, share: Any) -> None:
        self.rows = None if rows is None else rows.clone()
        self.fit.count_on_device()
        counter = self.torch.tensor(float(self.state.multipliers.steps), device=self.game.example.device)
        multipliers = replace(self.state.multipliers, steps=counter)
        before = self.state = replace(self.state, multipliers=multipliers)
        self.graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(self.graph):
            super().take(self.rows, share)
            for place, value in zip(_tensors(before), _tensors(self.state), strict=True):
                if place is not value:
                    place.copy_(value)
        self.state = before  # whose tensors every replay moves on


def turns(game: Game, fit: Any, state: GameState) -> Turns:
    """How rounds are taken: recorded where the fit can be."""
    return (RecordedTurns if getattr(fit, "recordable", False) else Turns)(game, fit, state)


def _tensors(node: Any) -> list[Any]:
    """All tensors that a state is made of, in order."""
    if is_dataclass(node):
        node = [getattr(node, field.name) for field in fields(node)]
    if isinstance(node, tuple | list):
        return [tensor for part in node for tensor in _tensors(part)]
    return [node] if hasattr(node, "copy_") else []
