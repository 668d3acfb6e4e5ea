"""What the words of the estimator's parameters stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from ratebound.base.extras import import_torch
from ratebound.game.cutting_plane import CuttingPlane
from ratebound.game.players import ExternalRegret, Lagrangian, Player, SwapRegret
from ratebound.learners.boosted import Boosted
from ratebound.learners.columns import Style
from ratebound.learners.encoding import Encoding
from ratebound.learners.lattice import Lattice
from ratebound.learners.linear import Linear
from ratebound.learners.oracle import Oracle
from ratebound.learners.torch import Torch
from ratebound.solution import solutions
from ratebound.solution.mixture import Mixture

# Leaves a tenth to all constraints together: what the start costs does not grow with their number.
OBJECTIVE_WEIGHT = 0.9
PLAYERS: dict[str, Callable[..., Player]] = {
    "swap": partial(SwapRegret, objective_weight=OBJECTIVE_WEIGHT),
    "external": ExternalRegret,
    "lagrangian": partial(Lagrangian, optimizer="sgd"),
}
MANY = 100  # constraints
BOOSTING = ("lightgbm", "xgboost")
SOLUTIONS = {
    "shrink": solutions.shrink,
    "best": solutions.best_iterate,
    "average": solutions.average,
    "last": solutions.last_iterate,
}


def as_learner(
    model: Any,
    encoding: Encoding,
    rates: Any,
    hidden: Sequence[int],
    monotone: Mapping[str, int],
    l2: float,
    precision: str,
) -> Any:
    """The learner that `model` names, for rows so encoded; a learner stands for itself."""
    if not isinstance(monotone, Mapping):
        raise ValueError(f"monotone takes a mapping such as {{'income': 1}}, got {monotone!r}")
    if monotone and model != "lattice":
        raise ValueError(
            "monotone= is for model='lattice'; rb.Lattice, LightGBM, XGBoost and scikit-learn's "
            "HistGradientBoostingClassifier have such a setting of their own"
        )
    if isinstance(model, Boosted | Lattice):
        return replace(model, categorical=model.categorical or tuple(encoding.codes))
    if is_learner(model):
        return model
    if is_boosted(model):
        return Boosted(model, categorical=tuple(encoding.codes))
    if is_estimator(model):
        return Oracle(model)
    width = len(encoding.names)
    if isinstance(model, str):
        if model == "linear":
            return Linear(learning_rate=rates, l2=l2, dtype=precision)
        if model == "lattice":
            signs = _signs(monotone, encoding)
            return Lattice(monotone=signs, categorical=encoding.codes, learning_rate=rates, l2=l2)
        return Torch(lambda: mlp(width, hidden), learning_rate=rates, l2=l2)
    if callable(model) and not isinstance(model, import_torch().nn.Module):
        return Torch(lambda: model(width), learning_rate=rates, l2=l2)
    return Torch(model, learning_rate=rates, l2=l2)


def encoding_style(model: Any) -> Style:
    """How a table is to be encoded for `model`: as little as it can do with."""
    if isinstance(model, Boosted | Lattice) or is_boosted(model):
        return "codes"
    if isinstance(model, str) and model == "lattice":
        return "codes"
    if isinstance(model, Oracle) or is_estimator(model):
        while hasattr(model, "estimator"):  # of an oracle, a search, a calibration
            model = model.estimator
        return "table" if hasattr(model, "steps") else "plain"
    return "scaled"


def _signs(monotone: Mapping[str, int], encoding: Encoding) -> dict[int, int]:
    """Which features the score is to rise or fall with, by their numbers."""
    places = {str(column.name): place for place, column in enumerate(encoding.columns)}
    for name, sign in monotone.items():
        if sign not in (-1, 0, 1):
            raise ValueError(
                f"monotone: column {name!r} takes 1 (rising), -1 (falling) or 0, got {sign!r}"
            )
        if str(name) not in places:
            known = ", ".join(places)
            raise ValueError(f"monotone: there is no column {name!r} that the model sees, only {known}")
        if places[str(name)] in encoding.codes:
            raise ValueError(
                f"monotone: column {name!r} holds texts or truth values, which have no order: make it "
                "numbers, or use rb.Lattice(orders=...)"
            )
    return {places[str(name)]: sign for name, sign in monotone.items()}


def is_learner(model: Any) -> bool:
    """Whether `model` is a learner such as ``rb.Linear(...)``, with rates of its own."""
    return hasattr(model, "start") and hasattr(model, "settings")


def is_boosted(model: Any) -> bool:
    """Whether `model` is boosted trees: LGBMClassifier, XGBClassifier, or the name of a library."""
    if isinstance(model, str):
        return model in BOOSTING
    families = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    return is_estimator(model) and not families.isdisjoint(BOOSTING)


def is_estimator(model: Any) -> bool:
    """Whether `model` is a scikit-learn estimator, or looks like one."""
    return all(hasattr(model, name) for name in ("fit", "predict", "get_params"))


def mlp(width: int, hidden: Sequence[int]) -> Any:
    """A chain of linear layers with ReLU between them."""
    nn = import_torch().nn
    sizes = [width, *hidden]
    layers: list[Any] = []
    for inside, outside in pairwise(sizes):
        layers += [nn.Linear(inside, outside), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))


def game_named(game: Any, model: Any, constraints: int) -> Any:
    """What "auto" stands for; anything else stands for itself.

    The linear system of swap regret grows with the cube of the number of constraints, and is solved
    every round: among many, a model of small steps would mostly wait for it.
    """
    if not (isinstance(game, str) and game == "auto"):
        return game
    if isinstance(model, Oracle) or (is_estimator(model) and not is_boosted(model)):
        return CuttingPlane()
    few = constraints <= MANY or isinstance(model, Boosted) or is_boosted(model)
    return "swap" if few else "external"


def as_player(game: Any, rates: Any) -> Any:
    """The λ-player that `game` names; one given as such keeps its own rates."""
    if isinstance(game, Player | CuttingPlane):
        return game
    if isinstance(game, type) and issubclass(game, Player):
        return game(learning_rate=rates)
    if game not in PLAYERS:
        raise ValueError(f"game must be one of auto, {', '.join(PLAYERS)}, or a player, got {game!r}")
    return PLAYERS[game](learning_rate=rates)


def as_solution(solution: Any) -> Callable[..., Mixture]:
    """The function from traces to mixtures that `solution` names, or is."""
    if callable(solution):
        return solution
    if solution not in SOLUTIONS:
        raise ValueError(f"solution must be one of {', '.join(SOLUTIONS)}, got {solution!r}")
    return SOLUTIONS[solution]
