"""Going on with a game that was interrupted: what it holds is on disk while it is played.

A file holds one game, and is named by all that decides how the game goes: the problem and the rows, the
model at its start, the players and their settings. So a game finds its own file or none, and goes on
from it as if nothing had happened, to the last bit. Of several processes the first reads and writes.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ratebound.base import processes
from ratebound.base.arrays import Array
from ratebound.base.tensors import read_tensors
from ratebound.base.writing import write_whole
from ratebound.game._contents import Contents
from ratebound.game._keeping import Iterate, Keeper
from ratebound.game._state import put_together, taken_apart
from ratebound.game.learner import Fit, Taking
from ratebound.game.rules import Stop
from ratebound.game.scorer import Saved, read_scorer
from ratebound.game.trace import BY_CANDIDATE, Trace, joined
from ratebound.game.turns import Turns
from ratebound.problem.compiled import Compiled

SECONDS = 10.0  # between two writings, at least
FORMAT = "ratebound game"
BESIDE = ("thresholds", "at", "answers", "answered", "ended", "pieces")  # further parts of a trace


@dataclass
class GameFile:
    """The file of one game, which need not be there yet."""

    path: Path
    until: str | None  # what ends the game early, by its content; None where that cannot be told
    latest: float = field(default_factory=time.monotonic)  # when it was last written

    @property
    def due(self) -> bool:
        """Whether it is time to write it again."""
        return processes.of_first(time.monotonic() - self.latest >= SECONDS)

    def read(self) -> tuple[dict[str, Any], dict[str, Array]] | None:
        """Its document and arrays, None where there is no file."""
        return processes.of_first(_read(self.path) if processes.is_first() else None)

    def write(self, document: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Write it whole, or leave it as it was."""
        from safetensors.numpy import save

        if processes.is_first():
            header = {"format": FORMAT, "game": json.dumps(document)}
            write_whole(self.path, save(arrays, metadata=header))
        self.latest = time.monotonic()


@contextmanager
def naming(file: GameFile | None) -> Iterator[None]:
    """Where another process is lost, say where the game is that can go on."""
    try:
        yield
    except processes.ProcessLost as error:
        if file is None or not file.path.parent.exists():  # nothing was long enough to be written
            raise
        where = f"what was kept so far is in {file.path.parent}, to go on from there train again "
        raise processes.ProcessLost(f"{error}; {where}with that folder (--resume)") from None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]] | None:
    if not path.exists():
        return None
    try:
        header, arrays = read_tensors(path)
    except ValueError as error:
        raise ValueError(f"{path} is not a whole file of a game ({error}): remove it") from None
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} does not hold a game: remove it, or give another folder")
    return json.loads(header["game"]), arrays


def game_file(
    folder: str | PathLike[str],
    fit: Fit,
    rows: Mapping[str, Compiled | None],
    settings: Mapping[str, Any],
    stop: Stop,
) -> GameFile:
    """The file in `folder` of the game that a fit at its start plays on these rows, with `settings`."""
    digest = hashlib.sha256()
    for name, compiled in rows.items():
        if compiled is not None:
            words = [name, str(compiled.problem), *map(str, compiled.constraints), compiled.digest]
            digest.update(json.dumps(words).encode() + compiled.offset.tobytes())
    contents = Contents()
    plain = {name: contents.of(value, name) for name, value in settings.items()}
    digest.update(json.dumps({**plain, "processes": processes.count()}, sort_keys=True).encode())
    if isinstance(fit, Taking):
        start = fit.parameters()
        digest.update(f"{start.dtype} {start.shape}".encode() + start.tobytes())
    try:
        until = json.dumps(contents.of(stop.when, "stop.when"))
    except ValueError:
        until = None
    return GameFile(Path(folder) / f"game-{digest.hexdigest()[:16]}.safetensors", until)


def save_game(file: GameFile, turns: Turns, keeper: Keeper, done: int) -> None:
    """Write what has been kept after `done` rounds, and what the next rounds depend on."""
    held = turns.held()
    if held is not None and (keeper.kept or not keeper.diverged):
        arrays: dict[str, Array] = {}
        document = {
            "done": done,
            "diverged": sorted(keeper.diverged),
            "trace": taken_apart(
                [_parts(joined(keeper.pieces))] if keeper.pieces else [], arrays, "trace"
            ),
            "waiting": taken_apart([each.parts for each in keeper.waiting], arrays, "waiting"),
            "held": taken_apart(held, arrays, "held"),
        }
        file.write(document, arrays)


def take_up(file: GameFile, turns: Turns, keeper: Keeper, stop: Stop) -> int:
    """Go on from what the file holds; after how many rounds that was, 0 where there is none."""
    found = file.read()
    if found is None or "held" not in found[0]:  # or one that has ended, and was not to be read
        return 0
    document, arrays = found
    turns.take_up(document["held"], arrays, document["done"])
    blank, before = keeper.blank(keeper.fit.scorer), document["trace"]["list"]
    keeper.pieces = [_joined(each, arrays, blank) for each in before]
    waiting = put_together(document["waiting"], arrays, None, np.empty(0))
    keeper.waiting, keeper.diverged = [Iterate(*each) for each in waiting], set(document["diverged"])
    if stop.when is not None and keeper.kept:  # which may remember what it saw
        trace = keeper.trace()
        for round in np.unique(trace.round).tolist():
            stop.when(turns.settled(trace.only(np.flatnonzero(trace.round <= round))))
    return int(document["done"])


def save_finished(file: GameFile, trace: Trace, resumable: bool) -> None:
    """Write the trace of a game that has ended; where a model cannot be written, nothing."""
    arrays: dict[str, Array] = {}
    document: dict[str, Any] = {"trace": taken_apart(_parts(trace), arrays, "trace"), "scorer": None}
    document["until"] = file.until
    if not resumable:
        try:
            words, own = trace.scorer.describe()
        except (ImportError, ValueError, TypeError):
            return
        document["scorer"] = {"kind": trace.scorer.kind, **words}
        arrays |= {f"scorer {name}": array for name, array in own.items()}
    file.write(document, arrays)


def finished(file: GameFile, keeper: Keeper) -> Trace | None:
    """The trace of a game that has ended before; None where it has not."""
    found = file.read()
    if found is None or "held" in found[0]:
        return None
    document, arrays = found
    ended = document["trace"]["names"]["ended"]["plain"]
    if ended == "stopped" and (file.until is None or document["until"] != file.until):
        return None  # something else ended it
    own = {n.removeprefix("scorer "): a for n, a in arrays.items() if n.startswith("scorer ")}
    try:
        said, parameters = document["scorer"], arrays["trace/parameters"]
        scorer = keeper.fit.scorer if said is None else read_scorer(Saved(said, own, parameters))
    except (ImportError, ValueError):  # such as objects of types that nobody said to trust
        return None
    return _joined(document["trace"], arrays, keeper.blank(scorer))


def _parts(trace: Trace) -> dict[str, Any]:
    """What differs between the traces of one game."""
    names = ("objectives", "violations", "pieces")
    watched = {
        called: {name: getattr(values, name) for name in names}
        for called, values in trace.watched.items()
    }
    found = {name: getattr(trace, name) for name in (*BY_CANDIDATE, *BESIDE)} | {"watched": watched}
    models = trace.folds
    return found | {"folds": None if models is None else (models.game, models.parameters)}


def _joined(described: dict[str, Any], arrays: dict[str, Array], blank: Trace) -> Trace:
    parts = put_together(described, arrays, None, np.empty(0))
    watched = {
        name: replace(blank.watched[name], **values) for name, values in parts.pop("watched").items()
    }
    folds = parts.pop("folds")
    if folds is not None:
        assert blank.folds is not None
        folds = replace(blank.folds, game=folds[0], parameters=folds[1])
    return replace(blank, **parts, watched=watched, folds=folds)
