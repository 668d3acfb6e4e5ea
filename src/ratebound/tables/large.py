"""Files whose rows are too many for memory, or that are a folder of files: their rows stay on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ratebound.tables._row_groups import ENDINGS, files_of, open_groups
from ratebound.tables.contents import STANDARD_INPUT

ROWS, BYTES = 10_000_000, 2**31  # of a table, from which it stays on disk
SMALL = 2**24  # bytes of files that are never too large


def files_in(paths: Sequence[str]) -> list[str]:
    """The files that paths, patterns and folders mean."""
    return [file for path in paths for file in files_of(path)]


def stays_on_disk(paths: Sequence[str]) -> bool:
    """Whether these are Parquet files so large that rows should stay on disk, or a folder of such."""
    if STANDARD_INPUT in paths:
        return False
    if any(Path(path).is_dir() for path in paths):
        return True
    try:
        files = files_in(paths)
    except FileNotFoundError:  # which whoever reads them says better
        return False
    if not all(file.endswith(ENDINGS) for file in files):
        return False
    if sum(Path(file).stat().st_size for file in files) < SMALL:
        return False
    try:
        groups = open_groups(list(paths))
    except ValueError:
        return False
    size = sum(group.row_groups[0].total_byte_size for unit in groups.units for group in unit)
    return int(groups.rows.sum()) > ROWS or size > BYTES
