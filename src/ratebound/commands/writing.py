"""Writing files whole or not at all: beside their place first, then moved there."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A folder to write into, whose files come to lie in `target` only once all is written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = _beside(target)
    beside.mkdir()
    try:
        yield beside
        if target.exists():
            for file in sorted(beside.iterdir()):
                os.replace(file, target / file.name)
            beside.rmdir()
        else:
            os.rename(beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def write_whole(target: Path, text: str) -> None:
    """Write a text file, or leave what was there."""
    beside = _beside(target)
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def check_folder(target: Path) -> None:
    """Refuse, before any work, a place where no folder can be written."""
    if target.exists() and not target.is_dir():
        raise ValueError(f"--out {target} is a file; a folder is written")
    above = next(path for path in (target, *target.absolute().parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueError(f"--out {target}: cannot write in {above}")


def check_file(target: Path, flag: str) -> None:
    """Refuse, before any work, a place where no file can be written."""
    if target.is_dir():
        raise ValueError(f"{flag} {target} is a folder; a file is written")
    above = target.absolute().parent
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueError(f"{flag} {target}: cannot write in {above}")


def _beside(target: Path) -> Path:
    return target.absolute().with_name(f".{target.name}.{secrets.token_hex(8)}.part")
