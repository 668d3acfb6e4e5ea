"""Finished games, kept in files whose names change with everything a game depends on except the code.

A file starts with a line that holds a digest of its name and of the rest. So a file that was damaged, or
renamed to another game's name, is recognised before anything else in it is read.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.base.writing import write_whole
from ratebound._old.game.players import Averaging
from ratebound._old.game.trace import Trace, Values
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.problem.frames import as_array
from ratebound_experiments.experiment import POPULATIONS, Data

FORMAT = "ratebound game 3"
SUFFIX = ".game"
WATCHED = POPULATIONS[1:]
ARRAYS = ("objectives", "violations", "multipliers", "setting", "round")


def print_of(data: Data) -> str:
    """A digest of the model's kind and size, the problem in words, and all of its rows."""
    digest = hashlib.sha256(data.model.words.encode())
    for name in (*POPULATIONS, "steering"):
        compiled = getattr(data, name)
        if compiled is None:
            continue
        digest.update(f"{name} {compiled.problem}".encode())
        for place, people in compiled.populations.items():
            digest.update(repr((place, list(people.columns))).encode())
            for part in (people.features, people.y, people.weights, *people.columns.values()):
                _add(digest, np.array([]) if part is None else as_array(part))
    return digest.hexdigest()


def _add(digest: Any, values: Array) -> None:
    if values.dtype.kind == "O":  # its bytes are addresses
        values = np.array([repr(value) for value in values.tolist()])
    digest.update(f"{values.dtype} {values.shape}".encode())
    digest.update(np.ascontiguousarray(values))


def name_of(game: tuple[str, str, int], *settings: Any) -> str:
    """A name of a game: experiment, algorithm and seed, and a digest of these and all other settings."""
    digest = hashlib.sha256(repr((FORMAT, game, settings)).encode()).hexdigest()[:16]
    return f"{'-'.join(map(str, game))}-{digest}"


def write_game(file: Path, trace: Trace, seconds: float) -> None:
    """Write the candidates of a game, and the seconds it took."""
    arrays = {name: getattr(trace, name) for name in ARRAYS}
    for name, values in trace.watched.items():
        arrays |= {f"{name} objectives": values.objectives, f"{name} violations": values.violations}
    content = io.BytesIO()
    np.savez_compressed(content, averaging=trace.averaging, seconds=seconds, **arrays)
    write_whole(file, _first_line(file, content.getvalue()) + content.getvalue())


def read_game(file: Path, data: Data) -> tuple[Trace, float] | None:
    """The candidates of a game and the seconds it took; None if it must be played (again)."""
    try:
        line, _, content = file.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if line + b"\n" != _first_line(file, content):
        warnings.warn(
            f"{file} is damaged or another game's, so the game is played again",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        return _trace(held, data), float(held["seconds"])


def _first_line(file: Path, content: bytes) -> bytes:
    return f"{FORMAT} {hashlib.sha256(file.stem.encode() + content).hexdigest()}\n".encode()


def _trace(held: Any, data: Data) -> Trace:
    watched = {
        name: Values(
            held[f"{name} objectives"], held[f"{name} violations"], getattr(data, name).scale[1:]
        )
        for name in WATCHED
    }
    return Trace(
        problem=data.problem,
        constraints=data.train.constraints,
        watched=watched,
        parameters=np.empty((len(held["setting"]), 0), dtype=np.float32),
        thresholds={},
        scorer=LinearScorer(),
        averaging=cast(Averaging, str(held["averaging"])),
        scale=data.train.scale[1:],
        **{name: held[name] for name in ARRAYS},
    )
