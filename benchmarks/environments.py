"""An environment for each peer, made when it is first needed; this one's libraries come after."""

import os
import signal
import site
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / "build" / "peers"
INSTALLING = 900  # seconds


@dataclass(frozen=True)
class Environment:
    """A name, and what to install; nothing to install: this environment."""

    name: str
    requires: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class Failed(Exception):
    """Why a peer is not in the table."""


def python_of(peer: Environment) -> Path:
    """The interpreter of an environment, which is made if it is not there or out of date."""
    if not peer.requires:
        return Path(sys.executable)
    folder = ENVIRONMENTS / peer.name
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join((sys.version, *peer.requires, *peer.options))
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    venv.create(folder, clear=True, symlinks=True)
    (own,) = folder.glob("lib/*/site-packages")
    others = "; ".join(f"site.addsitedir({path!r})" for path in site.getsitepackages())
    (own / "others.pth").write_text(f"import site; {others}\n")
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    finished([*command, *peer.options, *peer.requires], INSTALLING, "it does not install")
    stamp.write_text(wanted)
    return python


def finished(command: list[str], seconds: float, trouble: str) -> str:
    """The output of a command; `Failed` with the last line of what it complains of."""
    paths = (HERE.parent / "src", HERE, HERE / "peers")
    own = {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    try:
        done = subprocess.run(
            command, env=os.environ | own, timeout=seconds, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{trouble}: it takes more than {seconds:g} seconds") from None
    if done.returncode == -signal.SIGXCPU:
        raise Failed(f"{trouble}: its CPU seconds are spent")
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["it says nothing"]
        raise Failed(f"{trouble}: {said[-1].strip()}")
    return done.stdout
