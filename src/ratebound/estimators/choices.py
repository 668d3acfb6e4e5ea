"""What the words of the estimator's parameters stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ratebound.base.checks import check_number, check_whole, check_word
from ratebound.base.parameters import Adjustable
from ratebound.game.learner import Learner
from ratebound.game.opponents import PLAYERS, opponent
from ratebound.game.players import Player
from ratebound.game.proxies import PROXIES
from ratebound.learners.boosted import Boosted
from ratebound.learners.lattice import Lattice
from ratebound.learners.linear import Linear
from ratebound.learners.mlp import MLP
from ratebound.learners.oracle import Oracle
from ratebound.learners.torch import Torch
from ratebound.solution import solutions
from ratebound.solution.mixture import Mixture

SEVERAL = (0.003, 0.01, 0.03)  # learning rates of networks worth trying side by side
MODELS: dict[str, Callable[[], Learner]] = {
    "linear": lambda: Linear((0.01, 0.02, 0.04), dtype="auto"),
    "mlp": lambda: MLP(learning_rate=SEVERAL),
    "lattice": lambda: Lattice(learning_rate=SEVERAL),
    "lightgbm": lambda: Boosted("lightgbm"),
    "xgboost": lambda: Boosted("xgboost"),
}
SOLUTIONS = {
    "shrink": solutions.shrink,
    "best": solutions.best_iterate,
    "average": solutions.average,
    "last": solutions.last_iterate,
}
BOOSTING = {"lightgbm", "xgboost"}


@dataclass(frozen=True)
class Training(Adjustable):
    """How `RateConstrainedClassifier` trains, and for how long.

    epochs, batch_size : passes over the rows, and rows per round. By default 40 passes, or as many as
        1,000 rounds take where data is small; up to 2,000 rows all are used in every round. Every tree
        of boosted trees, and every fit of a scikit-learn classifier, is a pass of its own; by default
        there are as many trees as the model says, and at most 50 fits.
    loss, proxy : the stand-ins the model descends for the objective and the constraints.
    validation_fraction : share of the rows by which settings are chosen among, the same of every cell.
    patience : stop when so many kept iterates have brought no better mixture; None to go on.
    max_time : seconds after which training ends with what there is.
    warm_start : start from the model fitted before.

    >>> Training(epochs=10).batch_size
    512
    """

    epochs: int | None = None
    batch_size: int = 512
    loss: str = "logistic"
    proxy: str = "sigmoid"
    validation_fraction: float = 0.1
    patience: int | None = None
    max_time: float | None = None
    warm_start: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "patience"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        check_whole("batch_size", self.batch_size)
        check_word("loss", self.loss, PROXIES)
        check_word("proxy", self.proxy, PROXIES)
        check_number("validation_fraction", self.validation_fraction, least=0, below=1)
        if self.max_time is not None:
            check_number("max_time", self.max_time, least=0)


def as_learner(model: Any) -> Learner:
    """The learner that `model` names, or that trains it; a learner stands for itself."""
    if isinstance(model, Learner):
        return model
    if isinstance(model, str) and model in MODELS:
        return MODELS[model]()
    if all(hasattr(model, name) for name in ("fit", "predict", "get_params")):
        families = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
        return Oracle(model) if families.isdisjoint(BOOSTING) else Boosted(model)
    if callable(model) and not hasattr(model, "fit"):
        return Torch(model, learning_rate=SEVERAL)
    raise ValueError(
        f"model must be {', '.join(map(repr, MODELS))}, a scikit-learn classifier, a torch module, "
        f"a function that makes one, or a learner such as rb.Linear(), got {model!r}"
    )


def as_players(player: Any, learner: Learner, constraints: int) -> tuple[Learner, Player]:
    """The learner, and the λ-player that `player` names or is, setting by setting.

    A player that is named brings several learning rates, each of which is tried with each of the
    learner's; one given as such keeps its own, paired with the learner's as `rb.play` does.
    """
    if isinstance(player, Player):
        return learner, player
    if player == "auto":
        named = learner.opponent(constraints)
    elif isinstance(player, str) and player in PLAYERS:
        named = opponent(player, constraints, learner.multiplier_rates)
    else:
        known = ", ".join(PLAYERS)
        raise ValueError(
            f"player must be one of auto, {known}, or one such as rb.SwapRegret(), got {player!r}"
        )
    if learner.settings == 1 or named.settings == 1:
        return learner, named
    return learner.repeated(named.settings), named.tiled(learner.settings)


def as_solution(solution: Any) -> Callable[..., Mixture]:
    """The function from traces to mixtures that `solution` names, or is."""
    if callable(solution):
        return solution
    if solution not in SOLUTIONS:
        raise ValueError(f"solution must be one of {', '.join(SOLUTIONS)}, got {solution!r}")
    return SOLUTIONS[solution]
