"""Parquet files as one table on disk: their row groups, which pyarrow reads on demand."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.base.extras import import_extra
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import VIEWS
from ratebound._old.tables.contents import check_once
from ratebound._old.tables.converting import as_parquet

ENDINGS = (".parquet", ".pq")
ROWS_TOGETHER = 2**17  # neighbouring row groups with at most this many rows are read at once
NEEDS = "pyarrow, to read Parquet files"


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The row groups of Parquet files that have the same columns, in order."""

    name: str  # the files' name, for errors
    schema: Any
    units: tuple[tuple[Any, ...], ...]  # neighbouring row groups that are read at once
    rows: Array  # (units,) the rows of each
    files: dict[str, tuple[int, int] | None]  # each file's size and time when it was opened

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def share(self, rank: int, count: int) -> RowGroups:
        """The row groups that process `rank` of `count` reads: every `count`-th one."""
        groups = [group for unit in self.units for group in unit]
        if len(groups) < count:
            raise ValueError(
                f"{self.name} has {len(groups)} row groups for {count} processes: write it with "
                "more, as pyarrow.parquet.write_table(..., row_group_size=...) does"
            )
        return self._of(groups[rank::count], 1)

    def joined(self, most: int) -> RowGroups:
        """The same with neighbours joined into units of at most `most` rows, for fewer reads."""
        return self._of([group for unit in self.units for group in unit], min(most, ROWS_TOGETHER))

    def _of(self, groups: Sequence[Any], most: int) -> RowGroups:
        units = _together(groups, most)
        return replace(self, units=units, rows=_rows_of(units))

    def read(self, unit: int, names: Sequence[str]) -> Any:
        """Some columns of a unit as a PyArrow table, with texts as dictionaries."""
        arrow = import_extra("pyarrow", NEEDS, "parquet")
        for path in dict.fromkeys(group.path for group in self.units[unit]):
            if _stamp(path) != self.files[path]:
                raise ValueError(
                    f"{path} has changed since its labels were read: open it again with rb.Parquet(...)"
                )
        try:
            parts = [g.to_table(schema=self.schema, columns=list(names)) for g in self.units[unit]]
        except (arrow.ArrowException, OSError) as error:
            raise ValueError(f"{self.name} cannot be read: {error}") from None
        table = parts[0] if len(parts) == 1 else arrow.concat_tables(parts)
        return arrow.table({name: _plain(table[name]) for name in names})

    @cached_property
    def digest(self) -> str:
        """A digest of the files' names, sizes and times, which identifies them."""
        digest = hashlib.sha256()
        for path in dict.fromkeys(group.path for unit in self.units for group in unit):
            digest.update(f"{Path(path).name} {self.files[path]} ".encode())
        digest.update(str([[g.row_groups[0].id for g in unit] for unit in self.units]).encode())
        return digest.hexdigest()


def open_groups(paths: str | Path | Sequence[str | Path], into: str | Path | None = None) -> RowGroups:
    """The row groups of the files that `paths` name: files, patterns, and folders of files.

    Text files are converted, into the folder `into` if it is given.
    """
    arrow = import_extra("pyarrow", NEEDS, "parquet")
    dataset = import_extra("pyarrow.dataset", NEEDS, "parquet")
    given = [paths] if isinstance(paths, str | Path) else list(paths or ())
    if not given:
        raise ValueError("no file is given: give a path, a pattern, a folder or a list of these")
    files = [file for each in given for file in files_of(each)]
    if not files:
        raise ValueError(f"{', '.join(map(str, given))} holds no Parquet file")
    check_once(files)
    files = as_parquet(files, into)
    name = Path(files[0]).name + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    try:
        whole = dataset.dataset(
            files, format="parquet", partitioning=dataset.partitioning(flavor="hive")
        )
        fragments = list(whole.get_fragments())
        schemas = [_as_plain_texts(arrow, fragment.physical_schema) for fragment in fragments]
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{name} cannot be read as Parquet: {error}") from None
    _check_same([(Path(f.path).name, s.names) for f, s in zip(fragments, schemas, strict=True)])
    groups = [group for each in fragments for group in each.split_by_row_group() if _rows(group)]
    units = _together(groups, 1)
    if not units:
        raise ValueError(f"{name} holds no rows")
    schema = _schema(arrow, whole.schema, schemas, name)
    return RowGroups(name, schema, units, _rows_of(units), {f.path: _stamp(f.path) for f in fragments})


def _stamp(path: str) -> tuple[int, int] | None:
    """A file's size and the time it was written; None if it is gone."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def files_of(given: str | Path) -> list[str]:
    """The files that a path names: itself, a folder's files, or all files that match a pattern."""
    path = Path(given)
    if not str(given):
        raise ValueError("a path is empty: name a file, a pattern or a folder")
    if path.is_dir():
        files = (each for each in path.rglob("*") if each.suffix in ENDINGS and each.is_file())
        return sorted(
            str(each) for each in files if not any(map(_is_aside, each.relative_to(path).parts))
        )
    if path.exists():
        return [str(path)]
    if not glob.has_magic(str(given)):
        raise FileNotFoundError(f"there is no file {given}")
    matching = sorted(glob.glob(str(given), recursive=True))
    if not matching:
        raise FileNotFoundError(f"no file matches {given}")
    return [file for each in matching if not _is_aside(Path(each).name) for file in files_of(each)]


def _is_aside(name: str) -> bool:
    """Whether a file or folder holds no rows but is a program's own: _SUCCESS, _temporary, ..."""
    return name.startswith((".", "_"))


def _schema(arrow: Any, whole: Any, schemas: Sequence[Any], name: str) -> Any:
    """One schema for all files, whose numbers may have different widths; with the folders' keys."""
    keys = [field for field in whole if field.name not in schemas[0].names]
    names = schemas[0].names
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise ValueError(f"{name}: two columns are named {twice!r}: rename one of them")
    try:
        unified = arrow.unify_schemas(schemas, promote_options="permissive")
    except arrow.ArrowException as error:
        raise ValueError(
            f"a column's type differs between the files of {name}: write each column with one type in "
            f"all files ({error})"
        ) from None
    return arrow.schema([*unified, *keys])


def _as_plain_texts(arrow: Any, schema: Any) -> Any:
    """The schema with plain texts, also if a file stores them as dictionaries or views."""
    types = import_extra("pyarrow.types", NEEDS, "parquet")
    held = [f.type.value_type if types.is_dictionary(f.type) else f.type for f in schema]
    plain = [getattr(arrow, VIEWS[str(kind)])() if str(kind) in VIEWS else kind for kind in held]
    return arrow.schema([field.with_type(kind) for field, kind in zip(schema, plain, strict=True)])


def _check_same(named: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise unless all files have the columns of the first."""
    (first, names), *others = named
    for other, others_names in others:
        odd = sorted(set(names) ^ set(others_names))
        if odd:
            which, has = (other, first) if odd[0] in names else (first, other)
            raise ValueError(
                f"{which} has no column {odd[0]!r}, which {has} has: write both with the same columns"
            )


def _rows(group: Any) -> int:
    return int(group.row_groups[0].num_rows)


def _rows_of(units: Sequence[Sequence[Any]]) -> Array:
    """How many rows each unit has (units,)."""
    return np.array([sum(map(_rows, unit)) for unit in units])


def _together(groups: Sequence[Any], most: int) -> tuple[tuple[Any, ...], ...]:
    """Neighbours joined into units of at most `most` rows, to avoid many small reads."""
    units: list[list[Any]] = []
    filled = 0
    for group in groups:
        if units and filled + _rows(group) <= most:
            units[-1].append(group)
            filled += _rows(group)
        else:
            units.append([group])
            filled = _rows(group)
    return tuple(map(tuple, units))


def _plain(column: Any) -> Any:
    """A column as a table in memory has it: decimals as numbers, times of day as texts."""
    types = import_extra("pyarrow.types", NEEDS, "parquet")
    if types.is_decimal(column.type):
        return column.cast("float64")
    if types.is_time(column.type):
        column = column.cast("string")
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return column
    return column.combine_chunks().dictionary_encode()
