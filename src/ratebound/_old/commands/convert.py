"""``ratebound convert``: CSVs as Parquet, some rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ratebound._old.base.processes import is_first
from ratebound._old.commands.answers import note, one_notice, tell
from ratebound._old.commands.folders import check_files
from ratebound._old.commands.together import joined
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
    """Write Parquet files and name them; of several processes (``torchrun``), only the first does."""
    with joined():
        return _converted(data, out, Reading(sep, encoding, header), json, quiet) if is_first() else 0


def _converted(
    data: Sequence[str], out: Path | None, reading: Reading, json: str | None, quiet: bool
) -> int:
    check_files({"--out": out, "--json": json}, data)
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
