"""Writing a folder whole or not at all, and refusing early if nothing can be written."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ratebound._old.base.writing import alone_in

OUTPUT = "-"  # the standard output, in place of a file


@contextmanager
def whole_folder(target: Path, names: Sequence[str]) -> Iterator[Path]:
    """A folder to write files of these names into; they are moved to `target` once all are written.

    Either all of them replace the files of an earlier run, or `target` is left as it was; other files
    there stay. The first file is never missing, and never next to files of another run: at worst, a
    process killed between two moves leaves it without the others.
    """
    is_new = not target.exists()
    beside = target / f".{secrets.token_hex(8)}.part"
    beside.mkdir(parents=True)
    try:
        yield beside
        with alone_in(target):
            _exchange(beside, target, names)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # it still holds what was written
                target.rmdir()


def _exchange(new: Path, target: Path, names: Sequence[str]) -> None:
    """Move the files of `new` over those in `target`, or leave `target` as it was."""
    first, *others = names
    old = new / "old"
    old.mkdir()
    try:
        for name in others:
            if (target / name).exists():
                os.replace(target / name, old / name)
        if (target / first).exists():
            _copy(target / first, old / first)
        for name in names:
            os.replace(new / name, target / name)
    except BaseException:
        for name in names:
            if (old / name).exists():
                os.replace(old / name, target / name)
            elif not (new / name).exists():  # it was moved, and there was none there before
                (target / name).unlink(missing_ok=True)
        raise


def _copy(source: Path, place: Path) -> None:
    """A second name for a file, or a copy that gets its name once it is whole."""
    try:
        os.link(source, place)
    except OSError:
        part = place.with_name(f"{place.name}.part")
        shutil.copy2(source, part)
        os.replace(part, place)


def check_folder(target: Path, names: Sequence[str] = ()) -> None:
    """Refuse, before any work, a path that cannot take a folder with files of these names."""
    if target.exists() and not target.is_dir():
        raise ValueError(f"--out {target} is a file; it must be a folder")
    for name in names:
        if (target / name).is_dir():
            raise ValueError(f"--out {target}: {name} in it is a folder; it must be a file")
    above = next(path for path in (target, *target.absolute().parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueError(f"--out {target}: cannot write in {above}")


def check_files(written: Mapping[str, str | Path | None], read: Iterable[str | Path] = ()) -> None:
    """Refuse, before any work, files that cannot be written or would replace another.

    `written` are files by their flags, and `read` the paths and patterns of input files. An input file
    must not be written, and no file twice; what is not a file, such as a pipe, may be.
    """
    paths = [path for given in read for path in glob.glob(str(given)) or [str(given)]]
    taken = {os.path.realpath(path): "is read here: write to another" for path in paths}
    for flag, target in written.items():
        if target is None or str(target) == OUTPUT:
            continue
        _check_file(Path(target), flag)
        place = os.path.realpath(target)
        if place in taken and (os.path.isfile(place) or not os.path.exists(place)):
            raise ValueError(f"{flag} {target} {taken[place]}")
        taken[place] = f"is what {flag} writes already"


def _check_file(target: Path, flag: str) -> None:
    if target.is_dir():
        raise ValueError(f"{flag} {target} is a folder; it must be a file")
    above = target.absolute().parent
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise ValueError(f"{flag} {target}: cannot write in {above}")
