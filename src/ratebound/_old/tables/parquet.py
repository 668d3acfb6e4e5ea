"""A population on disk: rows in Parquet files, only some of which are in memory at a time.

Its columns have roles: some are features, one holds the labels, and one the weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ratebound._old.base.checks import check_whole, nearest
from ratebound._old.base.extras import import_extra
from ratebound._old.base.processes import count, gathered, rank
from ratebound._old.base.progress import bar
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_array, some, stacked
from ratebound._old.problem.labels import Labels, label_values, labels_of
from ratebound._old.problem.population import Population, assembled, read_weights
from ratebound._old.problem.rows import Header, Rows
from ratebound._old.problem.stored import HELD
from ratebound._old.rates.subsets import Name
from ratebound._old.tables._row_groups import ENDINGS, NEEDS, RowGroups, files_of, open_groups
from ratebound._old.tables.contents import STANDARD_INPUT

NUMBER = 8  # the most bytes of a number
MOST_ROWS, MOST_BYTES = 10_000_000, 2**31  # a larger table stays on disk
SMALL_FILES = 2**24  # files with fewer bytes are never too large
MOST_LABELS = 100_000  # more distinct labels than any real task has
CODES = np.int16  # the type of labels' positions, if there are more than two


class Parquet(Rows):
    """Rows in Parquet files, which may be larger than memory. Use it wherever a population is taken.

    A CSV is converted to Parquet once, beside it as rows.csv.parquet or in the folder `into`, and again
    if it has changed.

    Each pass of training reads the row groups in a new order, as many at a time as `memory` holds, and
    shuffles their rows. So write files with row groups of some hundred thousand rows. With several
    processes, each reads its own row groups.

    Parameters
    ----------
    paths : str, Path or sequence of these
        Files, patterns such as ``"rows/*.parquet"``, and folders. Folders named `key=value` add a column
        for each key.
    label : str, default=None
        The column of labels. By default there are no labels, which is enough for rates that need none.
    features : sequence of str, default=None
        The columns that the model sees; constraints may use them too. By default all columns that have
        no other role.
    columns : sequence of str, default=None
        Columns that constraints use. By default all that have no other role.
    weight : str, default=None
        The column with the number of rows that each row stands for. By default each counts once.
    positive : str, bool, int or float, default=None
        Which label is yes, as for `Population`.
    classes : sequence, default=None
        The possible labels, as for `Population`.
    drop_unlabelled : bool, default=False
        Whether to leave out rows without a label. By default they are an error, so that nobody loses
        rows without noticing.
    memory : int, default=2**30
        The bytes that features in memory may take. By default a gibibyte, which most machines have free.
        In addition, every row's label is kept in memory, and its weight if there is one.
    into : str or Path, default=None
        The folder for the Parquet files of CSVs. By default each is written beside its CSV.

    Examples
    --------
    >>> import pyarrow, pyarrow.parquet, tempfile, ratebound._old as rb
    >>> table = pyarrow.table({"age": [25, 40, 61], "sex": ["F", "M", "F"], "repaid": [0, 1, 1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.parquet.write_table(table, f"{folder}/rows.parquet")
    ...     rb.Parquet(f"{folder}/*.parquet", label="repaid", features=["age"], columns=["sex"])
    Parquet(3 rows, 2 positive, columns age, sex)
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        label: str | None = None,
        features: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        *,
        weight: str | None = None,
        positive: Any = None,
        classes: Sequence[Any] | None = None,
        drop_unlabelled: bool = False,
        memory: int = Rows.memory,
        into: str | Path | None = None,
    ) -> None:
        check_whole("memory", memory)
        groups = open_groups(paths, into)
        self.memory = memory
        self.features_read, self.columns_read = chosen(groups, label, weight, features, columns)
        own = groups if count() == 1 else groups.share(rank(), count())
        self.groups = own.joined(memory // (NUMBER * HELD * max(len(self.features_read), 1)))
        self._labelled: Array | None = None  # which rows of the files are used; None for all
        self.labels, self.y = labels_of(None, positive, classes), None
        if label is not None:
            self.labels, self.y, self._labelled = read_label(
                self.groups, label, positive, classes, drop_unlabelled
            )
        self.weights = None if weight is None else read_weight(self.groups, weight, self._labelled)
        self.X = Header(self.features_read, (self.size, len(self.features_read)))

    @property
    def column_names(self) -> list[Name]:
        return list(dict.fromkeys([*self.features_read, *self.columns_read]))

    @cached_property
    def piece_sizes(self) -> Array:
        """The number of its rows in each unit of row groups that is read at once."""
        if self._labelled is None:
            return self.groups.rows
        starts = np.cumsum(self.groups.rows) - self.groups.rows
        return np.add.reduceat(self._labelled, starts, dtype=np.int64)

    def piece(self, place: int, columns: Collection[Name] = (), *, inputs: bool = False) -> Population:
        own = list(map(str, columns))
        names = list(dict.fromkeys([*own, *(self.features_read if inputs else ())]))
        table: Any = self.groups.read(place, names) if names else None
        if table is not None and self._labelled is not None:
            start = int(self.groups.rows[:place].sum())
            table = table.filter(self._labelled[start : start + int(self.groups.rows[place])])
        size, start = int(self.piece_sizes[place]), int(self.piece_sizes[:place].sum())
        return assembled(
            X=table.select(self.features_read) if inputs else None,
            y=None if self.y is None else self.y[start : start + size],
            columns={name: table[name] for name in own},
            weights=None if self.weights is None else self.weights[start : start + size],
            labels=self.labels,
            size=size,
        )

    def joined(self, tables: list[Any]) -> Any:
        arrow, whole = import_extra("pyarrow", NEEDS, "parquet"), stacked(tables)
        return arrow.table({name: _decoded(whole[name]) for name in self.features_read})

    def number_type(self, example: Array) -> np.dtype[Any]:
        kinds = [self.groups.schema.field(name).type.to_pandas_dtype() for name in self.features_read]
        return np.result_type(np.float32, *(np.dtype(k) if k is not object else float for k in kinds))

    @cached_property
    def digest(self) -> str:
        """A digest of the files and of the chosen rows, which identifies these rows."""
        chosen = b"" if self._labelled is None else np.packbits(self._labelled).tobytes()
        return hashlib.sha256(self.groups.digest.encode() + chosen).hexdigest()

    def check_column(self, name: Name) -> None:
        if name in self.groups.names and name not in self.column_names:
            raise ValueError(
                f"column {name!r} is in the files, but neither in features= nor in columns=: name it in "
                "columns=, so that constraints can use it"
            )
        super().check_column(name)


def _decoded(column: Any) -> Any:
    """A column with plain texts; codes would mean categories."""
    types = import_extra("pyarrow.types", NEEDS, "parquet")
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


# --- files that are too large for memory ----------------------------------------------------------


def files_in(paths: Sequence[str]) -> list[str]:
    """The files that paths, patterns and folders name."""
    return [file for path in paths for file in files_of(path)]


def stays_on_disk(paths: Sequence[str]) -> bool:
    """Whether rows should stay on disk: these are large Parquet files, or folders."""
    if STANDARD_INPUT in paths:
        return False
    if any(Path(path).is_dir() for path in paths):
        return True
    try:
        files = files_in(paths)
    except FileNotFoundError:  # the reader gives a better error
        return False
    if not all(file.endswith(ENDINGS) for file in files):
        return False
    if sum(Path(file).stat().st_size for file in files) < SMALL_FILES:
        return False
    try:
        groups = open_groups(list(paths))
    except ValueError:
        return False
    size = sum(group.row_groups[0].total_byte_size for unit in groups.units for group in unit)
    return int(groups.rows.sum()) > MOST_ROWS or size > MOST_BYTES


def chosen(
    groups: RowGroups,
    label: str | None,
    weight: str | None,
    features: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """The columns that are features, and the columns that only constraints use."""
    for role, names in (("features", features), ("columns", columns)):
        if isinstance(names, str):
            raise TypeError(f"{role} takes a list of columns, as in [{names!r}]")
    roles = {"label": [label], "weight": [weight], "features": features or (), "columns": columns or ()}
    for role, given in roles.items():
        for name in given:
            if name is not None and name not in groups.names:
                raise ValueError(
                    f"{groups.name} has no column {name!r}, given as {role}"
                    f"{nearest(str(name), groups.names)} It has {some(groups.names)}"
                )
    hidden = {label, weight}
    for name in features or ():
        if name in hidden:
            raise ValueError(f"column {name!r} cannot be a feature: it is the label or the weight")
    others = [name for name in groups.names if name not in hidden]
    if features is None:
        features = [name for name in others if name not in (columns or ())]
    if columns is None:
        columns = [name for name in others if name not in features]
    return list(features), list(columns)


def read_label(
    groups: RowGroups, label: str, positive: Any, classes: Sequence[Any] | None, drop: bool
) -> tuple[Labels, Array, Array | None]:
    """The labels, each row's label, and which rows have one.

    A row's label is whether it is yes, or its position among several classes. The last result is None
    unless rows without a label are dropped.
    """
    places: dict[Any, int] = {}
    parts = []
    with bar(int(groups.rows.sum()), "row") as shown:
        for unit in range(len(groups.units)):
            parts.append(_coded(groups.read(unit, [label])[label].combine_chunks(), places))
            shown.update(len(parts[-1]))
            if len(places) > MOST_LABELS:
                break
    codes = np.concatenate(parts)
    labelled = codes >= 0
    if not drop and not labelled.all():
        raise ValueError(
            f"label column {label!r} of {groups.name} has missing labels in {int((~labelled).sum()):,} "
            "rows: leave them out with drop_unlabelled=True, or give them as a population of their own"
        )
    if not labelled.any():
        raise ValueError(f"label column {label!r} of {groups.name} has no value in any row")
    values = list(dict.fromkeys([value for part in gathered(list(places)) for value in part]))
    try:
        different = label_values(values)
        labels = labels_of(different, positive, classes)
        meaning = labels.places(different, "y")
    except ValueError as error:
        raise ValueError(f"label column {label!r} of {groups.name}: {error}") from None
    own = meaning[[values.index(value) for value in places]]
    own = own if own.dtype == bool else own.astype(CODES)
    return (labels, own[codes], None) if labelled.all() else (labels, own[codes[labelled]], labelled)


def _coded(column: Any, places: dict[Any, int]) -> Array:
    """The positions (n,) of a column's values in `places`, which is extended; -1 for a missing value."""
    coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    own = [
        -1 if value is None or value != value else places.setdefault(value, len(places))
        for value in coded.dictionary.to_pylist()
    ]
    kind = np.result_type(np.int8, np.min_scalar_type(-len(places) - 1))
    codes: Array = np.array([*own, -1], dtype=kind)[
        coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    ]
    return codes


def read_weight(groups: RowGroups, weight: str, mask: Array | None) -> Array:
    """The weights of the rows in `mask`, or of all rows."""
    parts = [as_array(groups.read(unit, [weight])[weight]) for unit in range(len(groups.units))]
    weights = np.concatenate(parts)
    try:
        return read_weights(weights if mask is None else weights[mask])
    except ValueError as error:
        raise ValueError(f"weight column {weight!r} of {groups.name}: {error}") from None
