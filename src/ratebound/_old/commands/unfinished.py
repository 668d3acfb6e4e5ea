"""What training keeps beside its model while it runs, each run in its own folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from ratebound._old.base import processes
from ratebound._old.commands.answers import note
from ratebound._old.commands.runs import WHERE, Run
from ratebound._old.problem.compiled import Compiled

GAMES = "unfinished"  # the folder of all runs, under --out
NOT_TOLD = ("data", "population", "max_time", "fail_on", *WHERE)
TAKEN = -1  # in place of a handle


def games_of(run: Run, out: Path, fitting: Compiled) -> Path:
    """The folder of a run, named by its rows and all settings that determine what is trained."""
    words = {name: value for name, value in asdict(run).items() if name not in NOT_TOLD}
    words |= {"rows": fitting.digest, "processes": processes.count()}
    name = hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode()).hexdigest()[:16]
    return out / GAMES / f"run-{name}"


def tell_of_others(own: Path) -> None:
    """Note that a run to be resumed finds only what other runs have kept."""
    if not is_kept(own) and own.parent.is_dir() and any(own.parent.iterdir()):
        note(
            f"nothing to resume: {own.parent} holds runs with other settings or rows (or another "
            "number of processes), which stay as they are"
        )


def is_kept(own: Path) -> bool:
    """Whether there is something of a run to resume."""
    return own.is_dir() and any(own.iterdir())


def forget(own: Path) -> None:
    """Remove what was kept of a run; the first of several processes does it."""
    if processes.is_first():
        shutil.rmtree(own, ignore_errors=True)


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Refuse to train into a folder that another process trains into, if the system can detect it."""
    is_new = not out.exists()
    handle = _locked(out / GAMES) if processes.is_first() else None
    if processes.of_first(handle == TAKEN):
        raise ValueError(
            f"--out {out}: another process trains into this folder now: wait for it, or give another"
        )
    try:
        yield
    finally:
        if processes.is_first():
            _remove_empty([out / GAMES, out] if is_new else [out / GAMES])
        if handle is not None:
            os.close(handle)


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # it is not empty, or does not exist
            folder.rmdir()


def _locked(folder: Path) -> int | None:
    """A handle that locks the folder while it is open, or TAKEN; None if folders cannot be locked."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return None
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return TAKEN
        except OSError:  # some network drives cannot lock folders
            return handle
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(folder)):
                return handle
        os.close(handle)  # its last holder has just removed it
