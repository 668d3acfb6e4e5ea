"""Files as bytes: finding the files that a path names, reading the standard input, decompressing.

A compressed file is recognised by its first bytes, so its name does not matter.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from ratebound._old.base.extras import import_extra

STANDARD_INPUT = "-"
BLOCK = 1 << 22  # bytes read at a time
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
# Other kinds of files, and the pandas function that reads each.
READ_BY_PANDAS = {
    ".xlsx": "read_excel", ".xls": "read_excel", ".xlsm": "read_excel", ".ods": "read_excel",
    ".json": "read_json", ".jsonl": "read_json", ".ndjson": "read_json", ".xml": "read_xml",
    ".html": "read_html", ".dta": "read_stata", ".sav": "read_spss", ".sas7bdat": "read_sas",
    ".orc": "read_orc", ".h5": "read_hdf", ".pkl": "read_pickle", ".pickle": "read_pickle",
}  # fmt: skip
RUN_FILES = (".toml", ".yaml", ".yml")


@dataclass(frozen=True)
class Content:
    """A file's content, decompressed while it is read. It can be read several times."""

    name: str  # the file's name, for errors
    source: Path | bytes  # bytes if it can be read only once

    def blocks(self) -> Iterator[bytes]:
        """The content, block by block."""
        if isinstance(self.source, Path):
            with open(self.source, "rb") as file:
                yield from _unpacked(file, self.name)
        else:
            yield from _unpacked(io.BytesIO(self.source), self.name)

    def opened(self) -> BinaryIO:
        """The content as a stream."""
        return io.BufferedReader(_BlockStream(self.blocks()), BLOCK)

    @property
    def data(self) -> bytes:
        """The whole content."""
        return b"".join(self.blocks())

    @property
    def is_arrow(self) -> bool:
        """Whether it is Parquet or Arrow, by its name or by its first and last bytes."""
        if _suffix(self.name) in ARROW:
            return True
        with self.opened() as stream:
            first = stream.read(6)
            if first[:4] != b"PAR1":
                return first == b"ARROW1"
        if isinstance(self.source, bytes):
            return self.data.endswith(b"PAR1")
        with open(self.source, "rb") as file:  # the first bytes show that it is not compressed
            file.seek(-4, os.SEEK_END)
            return file.read() == b"PAR1"


class _BlockStream(io.RawIOBase):
    """A stream of an iterator's blocks."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.given, self.block = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.block:
            block = next(self.given, None)
            if block is None:
                return 0
            self.block = memoryview(block)
        size = min(len(buffer), len(self.block))
        buffer[:size], self.block = self.block[:size], self.block[size:]
        return size


def contents(paths: Sequence[str | Path]) -> list[Content]:
    """The contents of the files that `paths` name, in order; a path may be a pattern, or "-"."""
    files = [path for given in paths for path in _matching(str(given))]
    check_once(files)
    return [_content(path) for path in files]


def check_once(files: Sequence[str]) -> None:
    """Raise if a file is named twice, for example also by a pattern: its rows would count twice."""
    named: dict[Path | str, str] = {}
    for path in files:
        place = path if path == STANDARD_INPUT else Path(path).resolve()
        if place in named:
            also = "" if named[place] == path else f" (also as {named[place]})"
            raise ValueError(f"{path} is named twice{also}, so its rows would count twice: name it once")
        named[place] = path


def digests_of(paths: Sequence[str | Path]) -> dict[str, str]:
    """The SHA-256 of each file's decompressed content, by path; empty for the standard input."""
    digests: dict[str, str] = {}
    if STANDARD_INPUT in map(str, paths):  # it can be read only once
        return digests
    for content in contents(paths):
        one = hashlib.sha256()
        for block in content.blocks():
            one.update(block)
        digests[content.name] = one.hexdigest()
    return digests


def digest_of(digests: dict[str, str]) -> str | None:
    """One digest of several, which identifies files wherever they are; None if there are no files."""
    if not digests:
        return None
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests.values()))).hexdigest()


def _matching(path: str) -> list[str]:
    """The files that a path names: itself, or the files that match it if no file has that name."""
    if path == STANDARD_INPUT or Path(path).exists() or not glob.has_magic(path):
        return [path]
    matching = sorted(each for each in glob.glob(path, recursive=True) if Path(each).is_file())
    if not matching:
        raise FileNotFoundError(f"no file matches {path}")
    return matching


def _content(path: str) -> Content:
    if path == STANDARD_INPUT:
        return Content("the standard input", sys.stdin.buffer.read())
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {source}")
    if source.is_dir():
        raise ValueError(
            f"{source} is a folder, and a table was expected; write {str(source / '*.csv')!r} in quotes "
            "for all its tables"
        )
    _check_kind(source)
    return Content(path, source if source.is_file() else source.read_bytes())  # a pipe is read once


def _suffix(name: str) -> str:
    """The part of a file's name that shows its kind, without the ending of a compressed file."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in PACKED), "")


def _check_kind(source: Path) -> None:
    """Refuse a file whose name shows another kind, with what to do."""
    suffix = _suffix(source.name)
    if suffix in READ_BY_PANDAS:
        reader = READ_BY_PANDAS[suffix]
        what = "a spreadsheet: save the sheet as a CSV" if reader == "read_excel" else "not a CSV"
        raise ValueError(
            f"{source} is {what}, or write one with pandas.{reader}({source.name!r})"
            f".to_csv({source.stem + '.csv'!r}, index=False)"
        )
    if suffix in RUN_FILES:
        raise ValueError(
            f"{source} is a run file, and a table was expected; only train, explain and inspect take a "
            "run file"
        )
    if suffix == ".safetensors":
        raise ValueError(f"{source} is a saved model, and a table was expected")


def _unpacked(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The bytes of a file, decompressed if its first bytes show that it is compressed."""
    first = file.read(max(map(len, UNPACKED)))
    file.seek(0)
    unpack = next((opened for start, opened in UNPACKED.items() if first.startswith(start)), None)
    if unpack is None:
        yield from iter(lambda: file.read(BLOCK), b"")
        return
    try:
        with unpack(file) as stream:
            while block := bytes(stream.read(BLOCK)):
                yield block
    except UNREADABLE as error:
        raise ValueError(f"{name} cannot be decompressed: {error}") from None


def _unzipped(file: BinaryIO) -> BinaryIO:
    archive = zipfile.ZipFile(file)
    inside = [each for each in archive.namelist() if not each.endswith("/")]
    inside = [each for each in inside if not each.startswith("__MACOSX/")]
    if "[Content_Types].xml" in inside:
        raise ValueError("it is a spreadsheet or a document; save the sheet as a CSV")
    if len(inside) != 1:
        raise ValueError(
            f"it holds {len(inside)} files, {', '.join(inside[:5])}; unpack it, and name the tables to "
            "read"
        )
    return cast(BinaryIO, archive.open(inside[0]))


def _unpacked_zst(file: BinaryIO) -> BinaryIO:
    arrow = import_extra("pyarrow", "pyarrow, to unpack Zstandard", "parquet")
    return cast(BinaryIO, arrow.input_stream(file, compression="zstd"))


UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)
UNPACKED: dict[bytes, Callable[[BinaryIO], Any]] = {  # by the first bytes of a compressed file
    b"\x1f\x8b": gzip.open,
    b"BZh91AY&SY": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": _unpacked_zst,
    b"PK\x03\x04": _unzipped,
}
