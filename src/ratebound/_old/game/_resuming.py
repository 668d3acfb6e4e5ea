"""Resuming an interrupted game: its state is written to disk while it is played.

A file holds one game, and is named by everything that determines the game: the problem and the rows, the
model at its start, the players and their settings. So a game finds its own file or none, and continues
from it as if nothing had happened, to the last bit. With several processes, only the first reads and
writes.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copyreg import dispatch_table
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from os import PathLike, fspath
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.arrays import Array, namespace
from ratebound._old.base.tensors import read_tensors
from ratebound._old.base.writing import write_whole
from ratebound._old.game._keeping import Iterate, Keeper
from ratebound._old.game._state import PLAIN, put_together, taken_apart
from ratebound._old.game.learner import Fit, Taking
from ratebound._old.game.rules import Stop
from ratebound._old.game.scorer import Saved, read_scorer
from ratebound._old.game.trace import BY_CANDIDATE, Trace, joined
from ratebound._old.game.turns import Turns
from ratebound._old.problem.compiled import Compiled

OWN = __name__.partition(".")[0]


class Contents:
    """Contents of values as plain JSON, in which everything but numbers and texts is a digest.

    Two games share a file only if everything that determines them is the same. Numbers, texts and
    containers stand for themselves, arrays and tensors for their bytes, and other objects for what
    pickle would write. Functions and classes of a library are identified by name. The user's own are
    identified by their code and what it refers to, so a function differs once its code or a number in it
    changes. Values that cannot be identified by their content are refused.
    """

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, Any]] = {}  # together with the values, so that no id is reused
        self.open: list[int] = []  # values being examined, from the outermost
        self.tensors: dict[int, int] = {}  # their numbers: tied parameters differ from two equal ones

    def of(self, value: Any, where: str) -> Any:
        """The content of the value that `where` names."""
        if isinstance(value, PLAIN):
            return value
        if id(value) in self.open:  # it contains itself
            return {"outer": len(self.open) - self.open.index(id(value))}
        if id(value) not in self.done:
            self.open.append(id(value))
            described = json.dumps(self._parts(value, where)).encode()
            self.done[id(value)] = [_digest(described)], value
            self.open.pop()
        return self.done[id(value)][0]

    def _parts(self, value: Any, where: str) -> Any:
        if isinstance(value, bytes):
            return {"bytes": _digest(value)}
        if isinstance(value, PathLike):
            return {"path": fspath(value)}
        if isinstance(value, tuple | list):
            return [self.of(each, f"{where}[{i}]") for i, each in enumerate(value)]
        if isinstance(value, set | frozenset):
            return {"set": sorted(json.dumps(self.of(each, where)) for each in value)}
        if isinstance(value, Mapping):
            pairs = ([self.of(k, where), self.of(v, f"{where}[{k!r}]")] for k, v in value.items())
            return {"type": self.of(type(value), where), "pairs": list(pairs)}
        if isinstance(value, np.ndarray | np.generic) or namespace(value) is not np:
            return self._array(value, where)
        if isinstance(value, ModuleType):
            return {"module": value.__name__, "file": _file_of(value.__name__)}
        if isinstance(value, type):
            return self._type(value, where)
        if isinstance(value, FunctionType):
            return self._function(value, where)
        return self._object(value, where)

    def _array(self, value: Any, where: str) -> Any:
        if namespace(value) is np:
            array = np.asarray(value)
            if array.dtype.hasobject:
                return {"array": list(array.shape), "of": self.of(array.ravel().tolist(), where)}
            return {"array": [array.dtype.str, array.shape], "bytes": _digest(array.tobytes())}
        try:
            flat = value.detach().cpu().contiguous().reshape(-1).view(namespace(value).uint8).numpy()
        except RuntimeError as error:
            raise _unnamed(where, value, error) from error
        number = self.tensors.setdefault(id(value), len(self.tensors))
        about = [number, str(value.dtype), list(value.shape), value.requires_grad]
        return {"tensor": about, "bytes": _digest(flat.tobytes())}

    def _type(self, kind: type, where: str) -> Any:
        """A class by its name, and by its members if it is the caller's own."""
        name = f"{kind.__module__}.{kind.__qualname__}"
        if _of_library(kind.__module__):
            return name
        bare = ("__dict__", "__weakref__", "__doc__", "__module__", "__static_attributes__",
                "__firstlineno__", "__annotations__", "_abc_impl")  # fmt: skip
        own = {n: _plain_member(m) for n, m in vars(kind).items() if n not in bare}
        return {
            "class": name,
            "bases": [self.of(base, where) for base in kind.__bases__],
            "members": [[n, self.of(own[n], f"{where}.{n}")] for n in sorted(own)],
        }

    def _function(self, function: FunctionType, where: str) -> Any:
        """A function by its name; the caller's own also by its code and what that refers to."""
        name = f"{function.__module__}.{function.__qualname__}"
        if function.__module__ is not None and _of_library(function.__module__):
            return name
        code = function.__code__
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        used = {
            name: function.__globals__[name]
            for name in sorted(_names(code) & function.__globals__.keys())
        }
        return {
            "function": name,
            "code": self._code(code, where),
            "defaults": self.of([function.__defaults__, function.__kwdefaults__], where),
            "closure": [[n, self.of(_inside(cell), f"{where}: {n}")] for n, cell in cells],
            "uses": [[n, self.of(each, f"{where}: {n}")] for n, each in used.items()],
        }

    def _code(self, code: CodeType, where: str) -> Any:
        constants = [
            self._code(each, where) if isinstance(each, CodeType) else self.of(each, where)
            for each in code.co_consts
        ]
        about = [code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags]
        return [_digest(code.co_code), constants, str(about)]

    def _object(self, value: Any, where: str) -> Any:
        kind = self.of(type(value), where)
        if is_dataclass(value):
            own = {each.name: getattr(value, each.name) for each in fields(value)}
        elif hasattr(value, "get_params"):
            own = value.get_params(deep=False)
        else:
            return {"type": kind, "state": self._reduced(value, where)}
        return {"type": kind, "parts": [[n, self.of(own[n], f"{where}.{n}")] for n in sorted(own)]}

    def _reduced(self, value: Any, where: str) -> Any:
        """What pickle would write for an object."""
        try:
            reduce = dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:  # an object that cannot be pickled may raise anything
            raise _unnamed(where, value, error) from error
        if isinstance(reduced, str):  # something global
            return f"{getattr(value, '__module__', None)}.{reduced}"
        made, given, *rest = reduced
        later = [list(each) if i else each for i, each in enumerate(rest[:3]) if each is not None]
        return [self.of(each, where) for each in (made, given, *later)]


def _unnamed(where: str, value: Any, error: Exception) -> ValueError:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return ValueError(
        f"a game in a folder is named by the content of its settings, but {where} holds a {kind}, whose "
        f"content cannot be read ({error}): give a setting that can be pickled, or no folder"
    )


def _plain_member(member: Any) -> Any:
    """The content of a class member that is wrapped in a type that pickle does not know."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return [member.fget, member.fset]
    if isinstance(member, cached_property):
        return member.func
    described = hasattr(type(member), "__get__") and not isinstance(member, FunctionType)
    return type(member).__qualname__ if described else member  # such as a slot


def _inside(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet
        return None


def _names(code: CodeType) -> set[str]:
    """The names that code and its inner functions look up."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))


@cache
def _of_library(module: str) -> bool:
    """Whether a module is Python's, ours or an installed one, identified by its name."""
    top = module.partition(".")[0]
    if top == OWN or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is not None and bool({"site-packages", "dist-packages"} & set(Path(file).parts))


def _file_of(module: str) -> str | None:
    """The digest of the file of a module that is not a library's."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or _of_library(module):
        return None
    return _digest(Path(file).read_bytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


SECONDS = 10.0  # the least time between two writes
FORMAT = "ratebound game"
BESIDE = ("thresholds", "answers", "answered", "ended", "pieces")  # additional parts of a trace


@dataclass
class GameFile:
    """The file of one game, which need not exist yet."""

    path: Path
    until: str | None  # what ends the game early, by its content; None if unknown
    latest: float = field(default_factory=time.monotonic)  # when it was last written

    @property
    def due(self) -> bool:
        """Whether it is time to write it again."""
        return processes.of_first(time.monotonic() - self.latest >= SECONDS)

    def read(self) -> tuple[dict[str, Any], dict[str, Array]] | None:
        """Its document and arrays; None if there is no file."""
        return processes.of_first(_read(self.path) if processes.is_first() else None)

    def write(self, document: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Write it whole, or not at all."""
        from safetensors.numpy import save

        if processes.is_first():
            header = {"format": FORMAT, "game": json.dumps(document)}
            write_whole(self.path, save(arrays, metadata=header))
        self.latest = time.monotonic()


@contextmanager
def naming(file: GameFile | None) -> Iterator[None]:
    """If another process is lost, name the folder from which the game can continue."""
    try:
        yield
    except processes.ProcessLost as error:
        if file is None or not file.path.parent.exists():  # the game was too short to be written
            raise
        where = f"what was kept so far is in {file.path.parent}, to continue from there train again "
        raise processes.ProcessLost(f"{error}; {where}with that folder (--resume)") from None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]] | None:
    if not path.exists():
        return None
    try:
        header, arrays = read_tensors(path)
    except ValueError as error:
        raise ValueError(f"{path} is a damaged game file ({error}): remove it") from None
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
    """The file in `folder` for the game of an initial fit on these rows, with `settings`."""
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
    """Write what was kept after `done` rounds, and the state that the next rounds need."""
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
    """Continue from the file; return the number of rounds already played, 0 without a file."""
    saved = file.read()
    if saved is None or "held" not in saved[0]:  # or a finished game that must not be read
        return 0
    document, arrays = saved
    turns.take_up(document["held"], arrays, document["done"])
    blank, before = keeper.blank(keeper.fit.scorer), document["trace"]["list"]
    keeper.pieces = [_joined(each, arrays, blank) for each in before]
    waiting = put_together(document["waiting"], arrays, None, np.empty(0))
    keeper.waiting, keeper.diverged = [Iterate(*each) for each in waiting], set(document["diverged"])
    if stop.when is not None and keeper.kept:  # it may have a memory
        trace = keeper.trace()
        for round in np.unique(trace.round).tolist():
            stop.when(turns.settled(trace.only(np.flatnonzero(trace.round <= round))))
    return int(document["done"])


def save_finished(file: GameFile, trace: Trace, resumable: bool) -> None:
    """Write the trace of a finished game, unless its model cannot be written."""
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
    """The trace of a finished game; None if it is not finished."""
    saved = file.read()
    if saved is None or "held" in saved[0]:
        return None
    document, arrays = saved
    ended = document["trace"]["names"]["ended"]["plain"]
    if ended == "stopped" and (file.until is None or document["until"] != file.until):
        return None  # it ended for another reason
    own = {n.removeprefix("scorer "): a for n, a in arrays.items() if n.startswith("scorer ")}
    try:
        said, parameters = document["scorer"], arrays["trace/parameters"]
        scorer = keeper.fit.scorer if said is None else read_scorer(Saved(said, own, parameters))
    except (ImportError, ValueError):  # such as objects of types that the caller does not trust
        return None
    return _joined(document["trace"], arrays, keeper.blank(scorer))


def _parts(trace: Trace) -> dict[str, Any]:
    """The parts that differ between the traces of one game."""
    names = ("objectives", "violations", "pieces")
    watched = {
        called: {name: getattr(values, name) for name in names}
        for called, values in trace.watched.items()
    }
    return {name: getattr(trace, name) for name in (*BY_CANDIDATE, *BESIDE)} | {"watched": watched}


def _joined(described: dict[str, Any], arrays: dict[str, Array], blank: Trace) -> Trace:
    parts = put_together(described, arrays, None, np.empty(0))
    watched = {
        name: replace(blank.watched[name], **values) for name, values in parts.pop("watched").items()
    }
    return replace(blank, **parts, watched=watched)
