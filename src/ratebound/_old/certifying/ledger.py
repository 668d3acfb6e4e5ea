"""A file to which lines are added and none is ever changed, so that what was said before stays said.

Each line is JSON and holds the digest of the line before it, so a line that was edited, left out or
moved is noticed. The digest of the last line is kept in a file beside it, so a ledger that was cut is
noticed too. Whoever rewrites both files can forge a ledger; the digests of its lines, which people can
keep elsewhere, show that.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ratebound._old.base.writing import alone_in, write_whole

FIRST_LINE = "0" * 64  # the digest before the first line
HEAD_SUFFIX = ".head"
Entry = dict[str, Any]


class Ledger:
    """The lines of one file, or of none: then they are gone with the process.

    Parameters
    ----------
    path : Path, default=None
        The file. By default lines are kept in memory.

    Attributes
    ----------
    entries : tuple of dict
        What the lines say, in order; each with its `digest`.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.entries: tuple[Entry, ...] = ()
        self.read()

    @property
    def head(self) -> str:
        """The digest of the last line."""
        return str(self.entries[-1]["digest"]) if self.entries else FIRST_LINE

    def read(self) -> None:
        """Take in what the file says by now.

        Raises
        ------
        ValueError
            If a line was changed, or the file was cut.
        """
        if self.path is None:
            return
        kept = self.path.with_name(self.path.name + HEAD_SUFFIX)
        if not self.path.exists():
            if kept.exists():
                raise ValueError(f"{self.path} is gone, and {kept} says that it was there: restore it")
            self.entries = ()
            return
        self.entries = tuple(_checked(self.path, self.path.read_bytes()))
        if not kept.is_file():
            raise ValueError(
                f"{kept} is missing, which holds the digest of the last line of {self.path.name}: move "
                "the two files together. Without it nobody can tell whether the ledger was cut"
            )
        head = kept.read_text().strip()
        if head not in [entry["digest"] for entry in self.entries]:
            raise ValueError(
                f"{self.path} was cut, changed in its last line, or is an older copy: it ends with "
                f"{self.head[:12]}, and {kept.name} knows of {head[:12]}. Restore the whole ledger"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Read what the file says by now, and let no other process add a line meanwhile."""
        if self.path is None:
            yield
            return
        folder = Path(os.path.realpath(self.path)).parent
        folder.mkdir(parents=True, exist_ok=True)
        with alone_in(folder):
            self.read()
            yield

    def add(self, entry: Entry) -> Entry:
        """Add a line, inside `alone`; it is returned with its digest."""
        line = _line({**entry, "before": self.head})
        added = {**json.loads(line), "digest": _digest(line)}
        if self.path is not None:
            content = self.path.read_bytes() if self.path.exists() else b""
            if _last_digest(content) != self.head:  # where the system locks no folders
                raise ValueError(f"{self.path} was changed by another process meanwhile: try again")
            write_whole(self.path, content + line + b"\n")
            head = self.path.with_name(self.path.name + HEAD_SUFFIX)
            write_whole(head, f"{added['digest']}\n".encode())
        self.entries = (*self.entries, added)
        return added


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, allow_nan=False, ensure_ascii=False).encode()


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _last_digest(content: bytes) -> str:
    lines = content.splitlines()
    return _digest(lines[-1]) if lines else FIRST_LINE


def _checked(path: Path, content: bytes) -> Sequence[Entry]:
    """The entries of a file whose lines follow each other, or an error that names the line."""
    if not content.endswith(b"\n"):
        raise ValueError(f"{path} is empty, or its last line was cut: restore the whole ledger")
    entries: list[Entry] = []
    before = FIRST_LINE
    for number, line in enumerate(content[:-1].split(b"\n"), 1):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or entry.get("before") != before:
            which = f"line {number}" if number == 1 else f"line {number - 1} or {number}"
            raise ValueError(
                f"{path} was changed: {which} is not as it was written, since each line holds the "
                "digest of the one before. Restore the ledger from a copy"
            )
        before = _digest(line)
        entries.append({**entry, "digest": before})
    return entries
