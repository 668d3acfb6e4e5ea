"""What is trained side by side, on which rows it is chosen among, and for how long."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ratebound.estimators.choices import is_boosted, is_estimator, is_learner
from ratebound.game.cutting_plane import CuttingPlane
from ratebound.game.players import Player
from ratebound.game.rounds import play
from ratebound.game.trace import Trace, judged_on
from ratebound.learners.boosted import Boosted
from ratebound.learners.oracle import Oracle
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.problem import Problem
from ratebound.rates.named import error_rate

SMALL = 2000  # rows up to which all are used in every round, and to choose among settings
MODEL_RATES = (0.003, 0.01, 0.03)
LINEAR_RATES = (0.01, 0.02, 0.04)
MULTIPLIER_RATES = {
    "swap": (0.003, 0.01, 0.03),
    "external": (0.03, 0.1, 0.3),  # of all together
    "lagrangian": (1e-5, 3e-5, 1e-4),  # relaxed constraints may be out of reach
}
KEPT_PLAIN = 6  # iterates kept of each setting that is trained without promises
BOOSTED_RATES = (0.01, 0.02, 0.05, 0.1)  # of the multipliers, where a round is a tree


def rate_pairs(
    model: Any, game: Any, problem: Problem, learning_rate: Any, multiplier_rate: Any
) -> tuple[list[float], list[float]]:
    """Learning rates of the model and of the multipliers, one pair per setting."""

    def options(rate: Any, searched: tuple[float, ...]) -> list[float]:
        if isinstance(rate, str) and rate != "search":
            raise ValueError(f"a learning rate is a number, several, or 'search', got {rate!r}")
        found: list[float] = list(searched) if isinstance(rate, str) else np.atleast_1d(rate).tolist()
        return found

    # Learners and players given as such bring their own rates, and need no search.
    own_rates = is_learner(model) or is_boosted(model) or is_estimator(model)
    linear = isinstance(model, str) and model == "linear"
    for_model = (LINEAR_RATES if linear else MODEL_RATES)[: 1 if own_rates else None]
    alone = isinstance(game, Player | CuttingPlane) or not problem.subject_to
    trees = isinstance(model, Boosted) or is_boosted(model)
    named = game if isinstance(game, str) and game in MULTIPLIER_RATES else "swap"
    found: tuple[float, ...] = BOOSTED_RATES if trees else MULTIPLIER_RATES[named]
    if game == "external":  # where all multipliers rise at once, their sum should not rise faster with m
        found = tuple(rate / max(len(problem.subject_to), 1) for rate in found)
    for_multipliers = found[: 1 if alone else None]
    pairs = list(product(options(learning_rate, for_model), options(multiplier_rate, for_multipliers)))
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def parted(everyone: Compiled, fraction: float, seed: int) -> tuple[Compiled, Compiled | None]:
    """Rows to train on, and rows to choose among settings by; none of those where data is small."""
    problem, (people,) = everyone.problem, everyone.populations.values()
    if len(people) <= SMALL or not fraction:
        return everyone, None
    random, held_out = np.random.default_rng(seed), np.zeros(len(people), dtype=bool)
    assert people.y is not None
    for label in (False, True):
        rows = np.flatnonzero(people.y == label)
        held_out[random.permutation(rows)[: round(fraction * len(rows))]] = True
    try:
        return compile(problem, people.only(~held_out)), compile(problem, people.only(held_out))
    except ValueError:  # a group is too small to be split: choose on the rows trained on
        return everyone, None


def rounds_of(learner: Any, epochs: int | None, rows: int, batch_size: int | None) -> int:
    """How many rounds `epochs` are; a tree, and a fit of an estimator, is a round over all rows."""
    if isinstance(learner, Oracle | Boosted):
        return epochs if epochs is not None else learner.rounds
    per_epoch = 1 if batch_size is None else max(1, rows // batch_size)
    return max(40 * per_epoch, 1000) if epochs is None else epochs * per_epoch


def trained_plainly(train: Compiled, learner: Any, *, rounds: int, **how: Any) -> Trace:
    """The same model trained for few errors and nothing else, judged by the problem's own rates.

    With its threshold moved it is what a person would try first. As one of the candidates it makes sure
    that no promise costs more than that.
    """
    plain = play(
        compile(Problem(error_rate()), *train.populations.values()),
        learner,
        rounds=rounds,
        keep_every=max(1, rounds // KEPT_PLAIN),
        **how,
    )
    return judged_on(plain, train)
