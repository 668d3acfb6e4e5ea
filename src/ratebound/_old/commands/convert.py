"""``ratebound convert``: CSVs as Parquet, some rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ratebound._old.commands.answers import note, one_notice, tell
from ratebound._old.commands.folders import check_files
from ratebound._old.tables.contents import contents
from ratebound._old.tables.converting import convert as convert_files
from ratebound._old.tables.converting import converted
from ratebound._old.tables.texts import Reading


def convert(
    data: Sequence[str],
    out: Path | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    json: str | None = None,
    quiet: bool = False,
) -> int:
    """Write Parquet files and name them."""
    check_files({"--out": out, "--json": json}, data)
    reading = Reading(sep, encoding, header)
    progress = not quiet
    with one_notice():
        if out is None:
            places = converted(data, reading=reading, progress=progress)
        else:
            places = [out]
            _, notices = convert_files(contents(data), places, reading, progress)
            for notice in notices:
                note(notice)
    tell("\n".join(map(str, places)), {"written": list(map(str, places))}, json)
    return 0
