"""Writing a file whole or not at all: it is written beside its target, then moved there."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_whole(path: str | Path, content: bytes) -> Path:
    """Write `content` to a file and make its folders, or leave the old file; return the path.

    A link stays a link to the file that is written, and a file keeps its permissions. A device or a pipe
    cannot be replaced by a file, so it is written to directly.
    """
    with whole_file(path) as file:
        file.write(content)
    return Path(path)


@contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """The same for a file written piece by piece: it appears once everything is written."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with open(target, "wb") as file:
            yield file
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")  # a name that is not in use
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.is_file():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # the error of a full disk does not name the file
        raise


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other run holds `folder`, then hold it, if the system supports locks."""
    try:
        import fcntl
    except ImportError:  # on Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network drives lock no folders
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
