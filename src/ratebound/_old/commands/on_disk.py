"""Rows that stay on disk: when they do, and how commands read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound._old.commands.answers import note
from ratebound._old.problem.frames import as_array, is_missing
from ratebound._old.problem.population import Population
from ratebound._old.rates.subsets import Name
from ratebound._old.tables.cells import as_ids
from ratebound._old.tables.contents import STANDARD_INPUT
from ratebound._old.tables.parquet import Parquet, files_in, stays_on_disk
from ratebound._old.tables.table import Table

if TYPE_CHECKING:
    from ratebound._old.solution.mixture import Mixture

ROWS_AT_ONCE = 2**17  # decided and written at a time
SAMPLED = 200_000  # rows that stand for all rows if these must be in memory


def on_disk(paths: Sequence[str], asked: bool) -> bool:
    """Whether rows stay on disk: if asked for, or if they are too many for memory."""
    if asked and STANDARD_INPUT in paths:
        raise ValueError("--on-disk is for files, and - is the standard input: write it to a file first")
    return asked or stays_on_disk(paths)


def files_of(paths: Sequence[str]) -> list[str]:
    """The paths, with the files in a folder in its place."""
    return [file for path in paths for file in (files_in([path]) if Path(path).is_dir() else [path])]


def opened(paths: Sequence[str], asked: bool) -> Parquet:
    """All columns of files whose rows stay on disk; a note says so unless it was asked for."""
    rows = Parquet(list(paths))
    if not asked:
        note(f"the rows of {rows.groups.name} stay on disk")
    return rows


def header(rows: Parquet) -> Table:
    """The names of the files' columns, as a table without rows."""
    return Table({name: np.empty(0) for name in rows.groups.names}, rows.groups.name)


def labels_in(rows: Parquet, label: str, drop: bool = False) -> list[Any]:
    """The distinct labels; an error if some are missing."""
    labels: dict[Any, None] = {}
    lacking = 0
    for piece in rows.pieces([label]):
        column = piece.columns[label]
        lacking += column.null_count
        values = as_array(column.unique())
        labels |= dict.fromkeys(values[~is_missing(values)].tolist())
    count = f"{lacking:,} of {len(rows):,} rows"
    if lacking and not drop:
        raise ValueError(
            f"{rows.groups.name}: label column {label!r} is missing in {count}: fill them in, or leave "
            "those rows out with --drop-unlabelled"
        )
    if lacking:
        note(f"{count} of {rows.groups.name} have no label and are left out")
    return list(labels)


def labelled_on_disk(
    paths: Sequence[str],
    seen: Sequence[str],
    label: str | None,
    classes: tuple[Any, ...] | None,
    weight: str | None,
    drop: bool = False,
    positive: Any = None,
    key: str | None = None,
) -> Population:
    """Rows on disk: a model sees these columns, and promises may use all others."""
    table = header(Parquet(list(paths)))
    roles = ((label, "label"), (weight, "weight"), (key, "key"), *((each, "feature") for each in seen))
    for name, role in roles:
        if name is not None:
            table.check(name, role)
    others = [name for name in table.columns if name not in {label, weight, *seen}]
    how = {"weight": weight, "drop_unlabelled": drop, "classes": classes, "positive": positive}
    rows = _WithIds(list(paths), label, list(seen), others, **how)
    rows.key = key
    return rows


class _WithIds(Parquet):
    """Rows on disk whose ids are read as `predict` reads them."""

    key: str | None = None

    def piece(self, place: int, columns: Collection[Name] = (), *, inputs: bool = False) -> Population:
        piece, key = super().piece(place, columns, inputs=inputs), self.key
        if key is not None and key in columns:
            piece.columns = {**piece.columns, key: as_ids(as_array(piece.columns[key]))}
        return piece


def seen_by(mixture: Mixture) -> list[str]:
    """The columns that a model reads."""
    assert mixture.encoding is not None
    return list(dict.fromkeys(str(column.name) for column in mixture.encoding.columns))


def tables_of(rows: Parquet, names: Sequence[str]) -> Iterator[Table]:
    """Some columns of files, in tables of some rows at a time."""
    for name in names:
        header(rows).check(name, "feature")
    for piece in rows.pieces(names):
        values = {name: as_array(piece.columns[name]) for name in names}
        for start in range(0, len(piece), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            yield Table({name: column[part] for name, column in values.items()}, rows.groups.name)


def sampled(rows: Parquet, seed: int) -> Table:
    """A table of randomly chosen rows that stand for all, if these must be in memory; a note says so."""
    names = rows.groups.names
    share = min(SAMPLED / len(rows), 1.0)
    random = np.random.default_rng(seed)
    parts: list[Mapping[str, Any]] = []
    for table in tables_of(rows, names):
        chosen = random.random(len(table)) < share
        parts.append({name: table[name][chosen] for name in names})
    columns = {name: np.concatenate([part[name] for part in parts]) for name in names}
    if share < 1:
        many = len(next(iter(columns.values())))
        note(f"{many:,} randomly chosen rows stand for the {len(rows):,} rows of {rows.groups.name}")
    return Table(columns, rows.groups.name)
