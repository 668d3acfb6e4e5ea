"""Files as bytes: which files a path means, the standard input, and what is packed unpacked.

A packed file is known by its first bytes, so its name does not matter.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratebound.base.extras import import_extra

STANDARD_INPUT = "-"
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
# What people have besides, and the function of pandas that reads it.
ELSEWHERE = {
    ".xlsx": "read_excel", ".xls": "read_excel", ".xlsm": "read_excel", ".ods": "read_excel",
    ".json": "read_json", ".jsonl": "read_json", ".ndjson": "read_json", ".xml": "read_xml",
    ".html": "read_html", ".dta": "read_stata", ".sav": "read_spss", ".sas7bdat": "read_sas",
    ".orc": "read_orc", ".h5": "read_hdf", ".pkl": "read_pickle", ".pickle": "read_pickle",
}  # fmt: skip
RUN_FILES = (".toml", ".yaml", ".yml")


@dataclass(frozen=True)
class Content:
    """A file's bytes, unpacked."""

    name: str  # of the file, for errors
    data: bytes

    @property
    def is_arrow(self) -> bool:
        """Whether it is Parquet or Arrow, by its name or by its first bytes."""
        begins_so = self.data[:4] == b"PAR1" == self.data[-4:] or self.data[:6] == b"ARROW1"
        return begins_so or _suffix(self.name) in ARROW


def contents(paths: Sequence[str | Path]) -> list[Content]:
    """What the files hold that `paths` mean, in order; a path may be a pattern, or "-"."""
    return [_content(path) for given in paths for path in _matching(str(given))]


def digest_of(paths: Sequence[str | Path]) -> str | None:
    """A digest of what files hold, by which they are known again; None for the standard input."""
    if STANDARD_INPUT in map(str, paths):  # which can be read only once
        return None
    digest = hashlib.sha256()
    for content in contents(paths):
        digest.update(hashlib.sha256(content.data).digest())
    return digest.hexdigest()


def _matching(path: str) -> list[str]:
    """The files that a path means: itself, or those that match it where no file has that name."""
    if path == STANDARD_INPUT or Path(path).exists() or not glob.has_magic(path):
        return [path]
    found = sorted(each for each in glob.glob(path, recursive=True) if Path(each).is_file())
    if not found:
        raise FileNotFoundError(f"no file matches {path}")
    return found


def _content(path: str) -> Content:
    if path == STANDARD_INPUT:
        return Content("the standard input", _unpacked(sys.stdin.buffer.read(), "the standard input"))
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {source}")
    if source.is_dir():
        raise ValueError(
            f"{source} is a folder, a table was expected; {str(source / '*.csv')!r} in quotes means "
            "all its tables"
        )
    _check_kind(source)
    return Content(path, _unpacked(source.read_bytes(), path))


def _suffix(name: str) -> str:
    """What a file's name says of its kind; whether it is packed does not matter."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in PACKED), "")


def _check_kind(source: Path) -> None:
    """Refuse a file that is of another kind by its name, with what to do."""
    suffix = _suffix(source.name)
    if suffix in ELSEWHERE:
        reader = ELSEWHERE[suffix]
        what = "a spreadsheet: save the sheet as a CSV" if reader == "read_excel" else "not a CSV"
        raise ValueError(
            f"{source} is {what}, or write one with pandas.{reader}({source.name!r})"
            f".to_csv({source.stem + '.csv'!r}, index=False)"
        )
    if suffix in RUN_FILES:
        raise ValueError(
            f"{source} is a run file, and a table was expected; train, explain and inspect take one in "
            "its place"
        )
    if suffix == ".safetensors":
        raise ValueError(f"{source} is a saved model, and a table was expected")


def _unpacked(data: bytes, name: str) -> bytes:
    for start, unpack in UNPACKED.items():
        if data.startswith(start):
            try:
                return unpack(data)
            except UNREADABLE as error:
                raise ValueError(f"{name} cannot be unpacked: {error}") from None
    return data


def _unzipped(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside = [each for each in archive.namelist() if not each.endswith("/")]
        inside = [each for each in inside if not each.startswith("__MACOSX/")]
        if "[Content_Types].xml" in inside:
            raise ValueError("it is a spreadsheet or a document; save the sheet as a CSV")
        if len(inside) != 1:
            raise ValueError(
                f"it holds {len(inside)} files, {', '.join(inside[:5])}; unpack it, and name the tables "
                "that are meant"
            )
        return archive.read(inside[0])


def _unpacked_zst(data: bytes) -> bytes:
    arrow = import_extra("pyarrow", "pyarrow, to unpack Zstandard", "parquet")
    with arrow.input_stream(io.BytesIO(data), compression="zstd") as stream:
        return bytes(stream.read())


UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)
UNPACKED: dict[bytes, Callable[[bytes], bytes]] = {  # by the first bytes of what is packed
    b"\x1f\x8b": gzip.decompress,
    b"BZh91AY&SY": bz2.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"\x28\xb5\x2f\xfd": _unpacked_zst,
    b"PK\x03\x04": _unzipped,
}
