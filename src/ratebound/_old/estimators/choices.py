"""The learners, players and solutions that the estimator's parameters name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from ratebound._old.base.checks import check_made, check_number, check_whole, check_word, nearest
from ratebound._old.base.parameters import Adjustable
from ratebound._old.game.learner import Learner
from ratebound._old.game.players import PLAYERS, Player, opponent
from ratebound._old.game.proxies import PROXIES
from ratebound._old.learners.boosted import Boosted
from ratebound._old.learners.lattice import Lattice
from ratebound._old.learners.linear import Linear
from ratebound._old.learners.oracle import Oracle
from ratebound._old.learners.plug_in import MODELS as PLUGGED
from ratebound._old.learners.plug_in import PlugIn, catboost
from ratebound._old.learners.torch import MLP, Torch
from ratebound._old.solution import solutions
from ratebound._old.solution.mixture import Mixture

LEARNING_RATES = (0.003, 0.01, 0.03)  # of networks, tried side by side
MODELS: dict[str, Callable[[], Learner]] = {
    "linear": lambda: Linear((0.01, 0.02, 0.04), dtype="auto"),
    "mlp": lambda: MLP(learning_rate=LEARNING_RATES),
    "lattice": lambda: Lattice(learning_rate=LEARNING_RATES),
    "lightgbm": lambda: Boosted("lightgbm"),
    "xgboost": lambda: Boosted("xgboost"),
    "catboost": catboost,
}
SOLUTIONS = {
    "shrink": solutions.shrink,
    "best": solutions.best_iterate,
    "average": solutions.average,
    "last": solutions.last_iterate,
}


@dataclass(frozen=True)
class Training(Adjustable):
    """How `RateConstrainedClassifier` trains, and for how long.

    Parameters
    ----------
    epochs : int, default=None
        Passes over the rows. By default 40, or more if these are fewer than 1,000 rounds, or fewer if
        they are more than 5,000: the multipliers need rounds, whatever the size of the table. For
        boosted trees a pass is one tree, and the default is the model's own number. For scikit-learn
        classifiers a pass is one fit, and by default there are at most 50. A plug-in uses them only if
        its models learn by steps, as networks do.
    batch_size : int, default=512
        Rows per round. Up to 2,000 rows, every round uses all of them.
    loss : {"logistic", "hinge", "sigmoid"}, default="logistic"
        The smooth surrogate of the objective, which the model minimizes. The default is convex, so a
        linear model without promises is a logistic regression.
    proxy : {"sigmoid", "hinge", "logistic"}, default="sigmoid"
        The smooth surrogate of the constraints. The default stays nearest to the step that a rate
        counts. It is not an upper bound of the step; the others are.
    validation_fraction : float, default=0.1
        The share of the rows held out to choose a setting, the same in every cell. 0 chooses on the
        training rows. For rows on disk it is a sample in memory of at most 200,000 rows, on which
        thresholds move too.
    patience : int, default=None
        Stop after this many kept iterates without a better mixture. None, the default, never stops
        early: a promise may be reached late.
    max_time : float, default=None
        Seconds after which training ends with the best result so far; a plug-in still finishes learning
        its models. None, the default, sets no limit.
    warm_start : bool, default=False
        Start from the previously fitted model. Off by default: `fit` starts anew, as scikit-learn
        expects.
    folder : str or path, default=None
        The folder where games are written while they are played. After an interruption, the same call
        resumes from there, see `rb.Keep`. None, the default, writes nothing.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> short = rb.Training(epochs=10, max_time=60)
    >>> short.batch_size, short.patience
    (512, None)

    Pass it to the estimator; scikit-learn's searches reach its parts:

    >>> model = rb.RateConstrainedClassifier("recall() >= 0.9", training=short)
    >>> model.set_params(training__epochs=20).training.epochs
    20
    """

    epochs: int | None = None
    batch_size: int = 512
    loss: str = "logistic"
    proxy: str = "sigmoid"
    validation_fraction: float = 0.1
    patience: int | None = None
    max_time: float | None = None
    warm_start: bool = False
    folder: str | PathLike[str] | None = None

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
    """The learner that `model` names, trains with, or is."""
    if isinstance(model, Learner):
        return model
    if isinstance(model, str) and model in MODELS:
        return MODELS[model]()
    if isinstance(model, type) and (issubclass(model, Learner) or hasattr(model, "fit")):
        check_made("model", model)
    if all(hasattr(model, name) for name in ("fit", "predict", "get_params")):
        _check_classifier(model)
        return Oracle(model)
    if callable(model) and not hasattr(model, "fit"):
        return Torch(model, learning_rate=LEARNING_RATES)
    slip = nearest(model, MODELS).rstrip(".") if isinstance(model, str) else ""
    raise ValueError(
        f"model must be {', '.join(map(repr, MODELS))}, a scikit-learn classifier, a torch module, "
        f"a function that makes one, or a learner such as rb.Linear(), got {model!r}{slip}"
    )


def as_plug_in(model: Any) -> Learner:
    """The plug-in learner whose labels `model` learns."""
    return model if isinstance(model, Learner) and model.cross_fits else PlugIn(model)


def plug_in_for(model: Any, **how: Any) -> Learner | None:
    """The plug-in learner to try for a model by default; None for a learner that is meant to play.

    A learner with its own settings plays the game, and a lattice keeps shapes that a sum of several
    models does not.
    """
    if isinstance(model, str):
        return PlugIn(model, **how) if model in PLUGGED else None
    estimator = hasattr(model, "fit") and hasattr(model, "get_params") and not isinstance(model, Learner)
    scores = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    return PlugIn(model, **how) if estimator and scores else None


def _check_classifier(estimator: Any) -> None:
    """Raise for an estimator that declares itself to be something else, such as a regression."""
    from sklearn.utils import get_tags

    tagged = hasattr(estimator, "__sklearn_tags__")
    kind = get_tags(estimator).estimator_type if tagged else None
    kind = kind or getattr(estimator, "_estimator_type", None)
    if kind not in (None, "classifier"):
        raise ValueError(
            f"{estimator!r} is a {kind.replace('_', ' ')}, not a classifier: give one, such as "
            "LogisticRegression(), or let its fits decide by their sign: rb.Oracle(...)"
        )


def as_players(player: Any, learner: Learner, constraints: int) -> tuple[Learner, Player]:
    """The learner and the λ-player, with their settings paired one to one.

    If `player` is a name, each of its learning rates is tried with each of the learner's. If it is a
    player, it keeps its own rates, which `rb.play` pairs with the learner's in order.
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
    """The function from a trace to a mixture that `solution` names or is."""
    if callable(solution):
        return solution
    if solution not in SOLUTIONS:
        raise ValueError(f"solution must be one of {', '.join(SOLUTIONS)}, got {solution!r}")
    return SOLUTIONS[solution]
