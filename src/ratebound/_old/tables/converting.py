"""Text files converted to Parquet once, in batches: first find each column's type, then write the rows.

The Parquet file holds the same values as the text in memory, so either one trains the same model.
"""

from __future__ import annotations

import errno
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.base.ahead import ahead
from ratebound._old.base.extras import import_extra
from ratebound._old.base.processes import is_first, of_first
from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.base.writing import whole_file
from ratebound._old.tables.contents import Content, contents
from ratebound._old.tables.settling import SettledColumn, no_collecting, settled, told
from ratebound._old.tables.table import texts_of
from ratebound._old.tables.texts import FOUND_OUT, Reading, Text

ENDING = ".parquet"  # added to a text file's name
GROUP_ROWS = 1 << 17  # the most rows in a row group
LEAST_GROUP_ROWS = 1 << 10  # fewer rows are not worth a row group
LEAST_GROUPS = 8  # the fewest row groups, so that each of several processes has some
RECORD = b"ratebound.converted"  # the metadata key with the file's source
VERSION = 1  # of the conversion
NEEDS = "pyarrow, to write Parquet files"


def converted(
    paths: str | Path | Sequence[str | Path],
    *,
    into: str | Path | None = None,
    reading: Reading = FOUND_OUT,
    progress: bool | None = None,
) -> list[Path]:
    """The Parquet files of text files, each beside its text or in the folder `into`: rows.csv.parquet.

    They are written if they do not exist, or if a text file's size or time has changed. Columns have the
    same type in all files, so a change in one file means that all are converted again. `progress` is as
    for `rb.play`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.csv").write_text("age,sex\\n25,F\\n40,M\\n")
    ...     [path.name for path in converted(f"{folder}/*.csv")]
    ['rows.csv.parquet']
    """
    files = contents([paths] if isinstance(paths, str | Path) else paths)
    places = _places(files, into)
    record = _record(files, reading)
    if any(_recorded(place) != record for place in places):
        _, notices = convert(files, places, reading, progress, record)
        if notices:
            warnings.warn("\n".join(notices), UserWarning, stacklevel=2)
    return places


def as_parquet(files: Sequence[str], into: str | Path | None) -> list[str]:
    """The given files if they are Parquet; otherwise the first process converts them to Parquet."""
    is_text = [not content.is_arrow for content in contents(files)]
    if not any(is_text):
        return list(files)
    if not all(is_text):
        one, other = files[is_text.index(False)], files[is_text.index(True)]
        raise ValueError(f"{one} is Parquet and {other} is not: give one kind of file")
    failed: Exception | None = None
    if is_first():
        try:
            converted(files, into=into)
        except (OSError, ValueError) as error:
            failed = error
    failed = of_first(failed)
    if failed is not None:
        raise failed
    return list(map(str, converted(files, into=into)))


def convert(
    files: Sequence[Content],
    places: Sequence[Path],
    reading: Reading = FOUND_OUT,
    progress: bool | None = None,
    record: bytes = b"",
) -> tuple[int, list[str]]:
    """Write text files as Parquet, each to its place or all to one; return the rows and notices."""
    import_extra("pyarrow.parquet", NEEDS, "parquet")
    arrow = [content.name for content in files if content.is_arrow]
    if arrow:
        raise ValueError(f"{arrow[0]} is already Parquet or Arrow: convert takes only text files")
    for place in places:
        if place.is_file() and place.stat().st_size and _recorded(place) is None:
            raise ValueError(
                f"{place} already exists, and ratebound did not convert it from a text file: move it "
                "away, or write elsewhere (into=, or ratebound convert --out FILE)"
            )
    texts = texts_of(files, reading)
    names = texts[0].names
    with bar(2 * sum(text.lines for text in texts), "row", progress) as shown:
        columns = settled(texts, names, {}, seen=shown.update)
        rows = columns[names[0]].cells
        if not rows:
            raise ValueError(f"{texts[0].name} holds no rows")
        written = [texts] if len(places) == 1 else [[text] for text in texts]
        for place, own in zip(places, written, strict=True):
            _write(place, own, columns, record, shown)
    return rows, [notice for text in texts for notice in text.notices] + told(columns)


def _places(files: Sequence[Content], into: str | Path | None) -> list[Path]:
    """The paths that text files are converted to."""
    places = []
    for content in files:
        if isinstance(content.source, bytes):
            raise ValueError(f"{content.name} can be read only once: write it to a file to convert it")
        beside = content.source.with_name(content.source.name + ENDING)
        places.append(beside if into is None else Path(into) / beside.name)
    twice = [place for place in places if places.count(place) > 1]
    if twice:
        raise ValueError(f"two files would be converted to {twice[0]}: convert them one by one")
    return places


def _record(files: Sequence[Content], reading: Reading) -> bytes:
    """What identifies text files, and how they are read."""
    stats = [(path.name, path.stat()) for path in (Path(str(content.source)) for content in files)]
    sources = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    return json.dumps({"version": VERSION, "sources": sources, "reading": astuple(reading)}).encode()


def _recorded(place: Path) -> bytes | None:
    """The record of a file's source, if it exists."""
    arrow = import_extra("pyarrow", NEEDS, "parquet")
    parquet = import_extra("pyarrow.parquet", NEEDS, "parquet")
    try:
        record: bytes | None = (parquet.read_schema(place).metadata or {}).get(RECORD)
    except (OSError, arrow.ArrowException):
        return None
    return record


def _write(
    place: Path, texts: Sequence[Text], columns: Mapping[str, SettledColumn], record: bytes, shown: Any
) -> None:
    arrow, parquet = (import_extra(name, NEEDS, "parquet") for name in ("pyarrow", "pyarrow.parquet"))
    types: dict[type, Any] = {object: arrow.string(), np.int64: arrow.int64(), float: arrow.float64()}
    kinds = [types[column.dtype] for column in columns.values()]
    fields = zip(columns, kinds, strict=True)
    schema = arrow.schema(fields, metadata={RECORD: record})
    held = schema.empty_table()
    size = min(GROUP_ROWS, max(LEAST_GROUP_ROWS, sum(text.lines for text in texts) // LEAST_GROUPS))
    try:
        with whole_file(place) as file, parquet.ParquetWriter(file, schema) as writer:
            for batch in _batches(texts, columns):
                arrays = [
                    arrow.array(v, kind, from_pandas=True) for v, kind in zip(batch, kinds, strict=True)
                ]
                held = arrow.concat_tables([held, arrow.table(arrays, schema=schema)])
                while len(held) >= size:
                    writer.write_table(held[:size], size)
                    held = held[size:]
                shown.update(len(batch[0]))
            if len(held):
                writer.write_table(held, size)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise PermissionError(
            f"{texts[0].name} cannot be converted to Parquet, since {place.parent} cannot be written "
            f"to: name another folder with into=, or run ratebound convert {texts[0].name} --out FILE"
        ) from None


def _batches(texts: Sequence[Text], columns: Mapping[str, SettledColumn]) -> Iterator[list[Array]]:
    """The columns' values, in batches of rows."""
    with no_collecting():
        for text in texts:
            for batch in ahead(text.batches(columns)):
                yield [column.values(batch[n], text.sep != ",") for n, column in columns.items()]
