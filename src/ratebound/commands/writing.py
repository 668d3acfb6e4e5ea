"""Writing a folder whole or not at all, and refusing early where nothing can be written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ratebound.solution.writing import place_beside


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A folder to write into, whose files come to lie in `target` only once all is written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = place_beside(target)
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
