"""Running an experiment: every algorithm's settings at once, then four solutions of each.

What is kept of a game is the table of its candidates, without their parameters: all that rows and
figures need. It is written as soon as a game has ended, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

from ratebound.experiments.experiment import FREE, POPULATIONS, Data, Experiment, player
from ratebound.experiments.rows import Row
from ratebound.game.rounds import play
from ratebound.game.trace import Trace, Values
from ratebound.learners.linear import LinearScorer
from ratebound.solution.mixture import Mixture
from ratebound.solution.solutions import average, best_iterate, last_iterate, select, shrink
from ratebound.solution.writing import write_whole

Array = NDArray[Any]
WATCHED = POPULATIONS[1:]


def uniform(trace: Trace) -> Mixture:
    """The T-stochastic solution as the paper's tables show it."""
    return average(trace, weighting="uniform")


# The tables rank as the paper has it: a promise kept with room to spare is better than one just kept.
RANKING: Literal["literal"] = "literal"
SOLUTIONS: dict[str, Callable[[Trace], Mixture]] = {
    "m-stoch": shrink,
    "t-stoch": uniform,
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
    seconds: float  # of playing, also where that was in an earlier run
    resumed: bool  # whether it was


def run(
    experiment: Experiment,
    seed: int,
    *,
    folder: Path | None = None,
    device: str | None = None,
    keep: Path | None = None,
    epochs: int | None = None,
    progress: bool | None = None,
) -> list[Played]:
    """Every algorithm of an experiment on one split of its data.

    `folder` is where the files are that do not ship with the package; `keep` is where finished games
    are written, and read from again; `epochs` is for a shorter run than the experiment's own.
    """
    data = experiment.load(folder, seed, device)
    played_on = (_print_of(data), device)
    found = []
    for algorithm in experiment.algorithms:
        pairs = experiment.rates.pairs(algorithm)
        name = _digest(experiment, algorithm, seed, epochs, played_on)
        file = None if keep is None else keep / f"{name}.npz"
        held = None if file is None else _read(file, data)
        if held is not None:
            trace, seconds = held
        else:
            started = time.perf_counter()
            trace = _play(experiment, data, algorithm, pairs, seed, epochs, progress)
            seconds = time.perf_counter() - started
            if file is not None:
                _write(file, trace, seconds)
        found.append(Played(algorithm, trace, *pairs, seconds, held is not None))
    return found


def _play(
    experiment: Experiment,
    data: Data,
    algorithm: str,
    pairs: tuple[list[float], list[float]],
    seed: int,
    epochs: int | None,
    progress: bool | None,
) -> Trace:
    alone = algorithm == "steering-only"
    train = data.steering if alone else data.train
    assert train is not None
    # Rounds are counted on the problem's own rows: the few steering examples are gone over as often.
    per_epoch = max(1, len(next(iter(data.train.populations.values()))) // experiment.batch_size)
    keep_every = per_epoch if experiment.keep_every == "epoch" else experiment.keep_every
    with threadpool_limits(experiment.threads):
        trace = play(
            train,
            data.learner(pairs[0]),
            multipliers=player(algorithm, pairs[1]),
            rounds=(epochs or experiment.epochs) * per_epoch,
            batch_size=experiment.batch_size,
            loss=experiment.loss,
            proxy=_proxy(experiment, algorithm),
            keep_every=keep_every,
            watch={name: getattr(data, name) for name in POPULATIONS[not alone :]},
            seed=seed,
            progress=progress,
        )
    if trace.interrupted:  # half a game is not a result
        raise KeyboardInterrupt
    return _without_parameters(_judged_on(data, trace) if alone else trace)


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
        watched=watched,
    )


@dataclass(frozen=True)
class Solved:
    """A row of the table, and the setting that was chosen for it."""

    row: Row
    setting: int
    model_rate: float
    multiplier_rate: float


def solved(played: list[Played]) -> list[Solved]:
    """Of every algorithm four solutions, each of the setting chosen for it."""
    found = []
    for one in played:
        if one.algorithm in FREE:
            found.append(_solved(one, "last", _least_error(one.trace)))
            continue
        for name, solution in SOLUTIONS.items():
            found.append(_solved(one, name, select(one.trace, solution, ranking=RANKING)))
    return found


def rows(played: list[Played]) -> list[Row]:
    """The table's rows."""
    return [one.row for one in solved(played)]


def _solved(one: Played, solution: str, mixture: Mixture) -> Solved:
    assert mixture.setting is not None
    row, setting = _row(one.algorithm, solution, mixture), mixture.setting
    return Solved(row, setting, one.model_rates[setting], one.multiplier_rates[setting])


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


def _print_of(data: Data) -> str:
    """A digest of the problem in words and of all rows: another file or split is another game."""
    digest = hashlib.sha256(str(data.problem).encode())
    for name in POPULATIONS:
        for population in getattr(data, name).populations.values():
            digest.update(np.asarray(population.y, dtype=bool).tobytes())
            digest.update(np.ascontiguousarray(population.features).tobytes())
    return digest.hexdigest()


def _digest(
    experiment: Experiment, algorithm: str, seed: int, epochs: int | None, played_on: Any
) -> str:
    """A name that changes with all that a game depends on but the code and the model."""
    settings = (
        experiment.name, algorithm, seed, epochs or experiment.epochs, experiment.batch_size,
        experiment.keep_every, experiment.loss, _proxy(experiment, algorithm),
        experiment.rates.pairs(algorithm), played_on,
    )  # fmt: skip
    digest = hashlib.sha256(repr(settings).encode()).hexdigest()[:12]
    return f"{experiment.name}-{algorithm}-{seed}-{digest}"


ARRAYS = ("objectives", "violations", "multipliers", "setting", "round")


def _write(file: Path, trace: Trace, seconds: float) -> None:
    arrays = {name: getattr(trace, name) for name in ARRAYS}
    for name, values in trace.watched.items():
        arrays |= {f"{name} objectives": values.objectives, f"{name} violations": values.violations}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, swap=trace.swap, seconds=seconds, **arrays)
    write_whole(file, buffer.getvalue())


def _read(file: Path, data: Data) -> tuple[Trace, float] | None:
    """The candidates of a game that has ended, and the seconds it took.

    None where it has not, or its file cannot be read: it is played again then, and written over.
    """
    try:
        held = np.load(io.BytesIO(file.read_bytes()), allow_pickle=False)
    except (FileNotFoundError, EOFError, ValueError, BadZipFile):
        return None
    with held:
        watched = {
            name: Values(held[f"{name} objectives"], held[f"{name} violations"]) for name in WATCHED
        }
        trace = Trace(
            problem=data.problem,
            constraints=data.train.constraints,
            watched=watched,
            parameters=np.empty((len(held["setting"]), 0), dtype=np.float32),
            thresholds={},
            scorer=LinearScorer(),
            swap=bool(held["swap"]),
            **{name: held[name] for name in ARRAYS},
        )
        return trace, float(held["seconds"])
