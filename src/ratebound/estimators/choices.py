"""What the words of the estimator's parameters stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ratebound.game.multipliers import ExternalRegret, Lagrangian, Player, SwapRegret
from ratebound.learners.extras import import_torch
from ratebound.learners.linear import Linear
from ratebound.learners.torch import Torch
from ratebound.solution import solutions
from ratebound.solution.mixture import Mixture

PLAYERS: dict[str, Callable[..., Player]] = {
    "swap": SwapRegret,
    "external": ExternalRegret,
    "lagrangian": Lagrangian,
}
SOLUTIONS = {
    "shrink": solutions.shrink,
    "best": solutions.best_iterate,
    "average": solutions.average,
    "last": solutions.last_iterate,
}


def as_learner(
    model: Any, width: int, rates: Any, hidden: Sequence[int], l2: float, precision: str
) -> Any:
    """The learner that `model` names, for rows of `width` features; a learner stands for itself."""
    if is_learner(model):
        return model
    if isinstance(model, str):
        if model == "linear":
            return Linear(learning_rate=rates, l2=l2, dtype=precision)
        if model == "mlp":
            return Torch(lambda: mlp(width, hidden), learning_rate=rates, l2=l2)
        raise ValueError(f"model must be 'linear', 'mlp', a torch module or a function, got {model!r}")
    if callable(model) and not isinstance(model, import_torch().nn.Module):
        return Torch(lambda: model(width), learning_rate=rates, l2=l2)
    return Torch(model, learning_rate=rates, l2=l2)


def is_learner(model: Any) -> bool:
    """Whether `model` is a learner such as ``rb.Linear(...)``, with rates of its own."""
    return hasattr(model, "start") and hasattr(model, "settings")


def mlp(width: int, hidden: Sequence[int]) -> Any:
    """A chain of linear layers with ReLU between them."""
    nn = import_torch().nn
    sizes = [width, *hidden]
    layers: list[Any] = []
    for inside, outside in pairwise(sizes):
        layers += [nn.Linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))


def as_player(game: Any, rates: Any) -> Player:
    """The λ-player that `game` names; one given as such keeps its own rates."""
    if isinstance(game, Player):
        return game
    if isinstance(game, type) and issubclass(game, Player):
        return game(learning_rate=rates)
    if game not in PLAYERS:
        raise ValueError(f"game must be one of {', '.join(PLAYERS)}, or a player, got {game!r}")
    if game == "lagrangian":  # relaxed constraints may be out of reach, so its multipliers must be slow
        return Lagrangian(learning_rate=[rate / 1000 for rate in rates], optimizer="sgd")
    return PLAYERS[game](learning_rate=rates)


def as_solution(solution: Any) -> Callable[..., Mixture]:
    """The function from traces to mixtures that `solution` names, or is."""
    if callable(solution):
        return solution
    if solution not in SOLUTIONS:
        raise ValueError(f"solution must be one of {', '.join(SOLUTIONS)}, got {solution!r}")
    return SOLUTIONS[solution]
