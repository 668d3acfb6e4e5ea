"""Running an experiment: every algorithm's settings at once, then four solutions of each.

Of each game only the table of its candidates is kept, without their parameters: that is all that rows
and figures need. It is written as soon as the game has ended, so an interrupted run resumes from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

from ratebound._old.game.rounds import play
from ratebound._old.game.rules import Keep, Rules
from ratebound._old.game.trace import Trace
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.solutions import average, best_iterate, last_iterate, select, shrink
from ratebound_experiments.experiment import FREE, POPULATIONS, Data, Experiment, player
from ratebound_experiments.kept import SUFFIX, name_of, print_of, read_game, write_game
from ratebound_experiments.rows import Chosen, Row

# The tables rank as the paper does: a promise kept with a margin is better than one just kept.
RANKING: Literal["literal"] = "literal"
SOLUTIONS: dict[str, Callable[[Trace], Mixture]] = {
    "m-stoch": shrink,
    "t-stoch": partial(average, weighting="uniform"),
    "best": partial(best_iterate, ranking=RANKING),
    "last": last_iterate,
}


@dataclass(frozen=True, eq=False)
class Played:
    """One algorithm's candidates, and the learning rates of each of its settings."""

    algorithm: str
    trace: Trace
    model_rates: list[float]
    multiplier_rates: list[float]
    seconds: float  # of playing, even if that was in an earlier run
    resumed: bool  # whether it was


def run(
    experiment: Experiment,
    seed: int,
    *,
    folder: Path | None = None,
    device: str | None = None,
    keep: Path | None = None,
    progress: bool | None = None,
) -> list[Played]:
    """Every algorithm of an experiment on one split of its data.

    `folder` holds the files that do not ship with the package. Finished games are written to `keep`, and
    read from there instead of being played again.
    """
    data = experiment.load(folder, seed, device)
    played_on = (print_of(data), device)
    found = []
    for algorithm in experiment.algorithms:
        pairs = experiment.rates.pairs(algorithm)
        game = (experiment.name, algorithm, seed)
        name = name_of(game, pairs, _settings(experiment, algorithm), played_on)
        file = None if keep is None else keep / f"{name}{SUFFIX}"
        held = None if file is None else read_game(file, data)
        if held is not None:
            trace, seconds = held
        else:
            started = time.perf_counter()
            trace = _play(experiment, data, algorithm, seed, progress)
            seconds = time.perf_counter() - started
            if file is not None:
                write_game(file, trace, seconds)
        found.append(Played(algorithm, trace, *pairs, seconds, held is not None))
    return found


def _play(experiment: Experiment, data: Data, algorithm: str, seed: int, progress: bool | None) -> Trace:
    model_rates, multiplier_rates = experiment.rates.pairs(algorithm)
    alone = algorithm == "steering-only"
    train = data.steering if alone else data.train
    assert train is not None
    # Rounds are counted on the problem's own rows: the few steering examples are gone over as often.
    per_epoch = max(1, len(data.train.first) // experiment.batch_size)
    keep_every = per_epoch if experiment.keep_every == "epoch" else experiment.keep_every
    with threadpool_limits(experiment.threads):
        trace = play(
            train,
            data.model.learner(model_rates),
            player=player(algorithm, multiplier_rates),
            rounds=experiment.epochs * per_epoch,
            batch_size=experiment.batch_size,
            rules=Rules(loss=experiment.loss, proxy=_proxy(experiment, algorithm)),
            keep=Keep(keep_every),
            watch={name: getattr(data, name) for name in POPULATIONS[not alone :]},
            seed=seed,
            progress=progress,
        )
    if trace.interrupted:  # half a game is not a result
        raise KeyboardInterrupt
    return _without_parameters(_judged_on(data, trace) if alone else trace)


def _settings(experiment: Experiment, algorithm: str) -> tuple[Any, ...]:
    """What the rules of a game depend on, beside its learning rates."""
    return (
        experiment.epochs, experiment.batch_size, experiment.keep_every, experiment.loss,
        _proxy(experiment, algorithm), player(algorithm, experiment.rates.pairs(algorithm)[1]),
    )  # fmt: skip


def _proxy(experiment: Experiment, algorithm: str) -> str:
    return "hinge" if algorithm == "hinge" else experiment.proxy


def _judged_on(data: Data, trace: Trace) -> Trace:
    """Candidates that were trained on other rows, with their values on the problem's own."""
    watched = dict(trace.watched)
    own = watched.pop("train")
    return replace(
        trace,
        problem=data.problem,
        constraints=data.train.constraints,
        objectives=own.objectives,
        violations=own.violations,
        scale=own.scale,
        watched=watched,
    )


def solved(played: list[Played]) -> list[tuple[Row, Chosen]]:
    """The table's rows, four solutions of every algorithm, and the learning rates chosen for each."""
    found = []
    for one in played:
        if one.algorithm in FREE:
            mixtures = {"last": _least_error(one.trace)}
        else:
            mixtures = {
                name: select(one.trace, solution, ranking=RANKING)
                for name, solution in SOLUTIONS.items()
            }
        for name, mixture in mixtures.items():
            assert mixture.setting is not None
            multipliers = None if one.algorithm in FREE else one.multiplier_rates[mixture.setting]
            chosen = Chosen(one.model_rates[mixture.setting], multipliers)
            found.append((_row(one.algorithm, name, mixture), chosen))
    return found


def _least_error(trace: Trace) -> Mixture:
    """The last iterate of the setting with the least error on validation rows."""
    last = [last_iterate(trace.of_setting(setting)) for setting in trace.settings]
    return min(last, key=lambda mixture: mixture.objectives["validation"])


def _row(algorithm: str, solution: str, mixture: Mixture) -> Row:
    errors = [mixture.objectives[name] for name in POPULATIONS]
    worst = [float(mixture.violations[name].max()) for name in POPULATIONS]
    return Row(algorithm, solution, *errors, *worst)


def _without_parameters(trace: Trace) -> Trace:
    nothing = np.empty((len(trace), 0), dtype=np.float32)
    return replace(trace, parameters=nothing, thresholds={}, scorer=LinearScorer())
