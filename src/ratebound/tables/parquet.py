"""A population on disk: rows in Parquet files, of which only a part is ever in memory.

Its columns have roles: some are features, and one says the labels, another the weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ratebound.base.checks import check_whole, nearest
from ratebound.base.extras import import_extra
from ratebound.base.processes import count, gathered, rank
from ratebound.base.progress import bar
from ratebound.base.types import Array
from ratebound.problem.frames import as_array, some, stacked
from ratebound.problem.labels import Labels, label_values, labels_of
from ratebound.problem.population import Population, assembled, read_weights
from ratebound.problem.rows import Header, Rows
from ratebound.problem.stored import HELD
from ratebound.rates.subsets import Name
from ratebound.tables._row_groups import ENDINGS, NEEDS, RowGroups, files_of, open_groups
from ratebound.tables.contents import STANDARD_INPUT

NUMBER = 8  # bytes of one, at most
MOST_ROWS, MOST_BYTES = 10_000_000, 2**31  # of a table, from which it stays on disk
SMALL_FILES = 2**24  # bytes of files that are never too large
MOST_LABELS = 100_000  # labels, more than anyone decides between
CODES = np.int16  # of labels that are more than two


class Parquet(Rows):
    """Rows in Parquet files, larger than memory if need be, wherever a population stands.

    A CSV is converted to Parquet once, beside it as rows.csv.parquet or in the folder `into`, and again
    where it has changed.

    Each pass of training goes through the row groups in a new order, as many of them at a time as
    `memory` holds, and through their rows in a new order again. So write files with row groups of some
    hundred thousand rows. In a group of several processes each of them reads its own row groups.

    Parameters
    ----------
    paths : str, Path or sequence of these
        Files, patterns such as ``"rows/*.parquet"``, and folders; folders named `key=value` make a
        column of each key.
    label : str, default=None
        The column of labels. By default there are none, which is enough for rates that need none.
    features : sequence of str, default=None
        The columns that the model sees; constraints may speak of them too. By default all columns that
        have no other role.
    columns : sequence of str, default=None
        Columns that constraints speak of. By default all that have no other role.
    weight : str, default=None
        The column with how many rows each row stands for. By default each counts once.
    positive : str, bool, int or float, default=None
        Which label is yes, as for `Population`.
    classes : sequence, default=None
        What labels may be, as for `Population`.
    drop_unlabelled : bool, default=False
        Whether to leave out rows without a label. By default they are an error, since nobody should lose
        rows unawares.
    memory : int, default=2**30
        How many bytes the features may take that are read at a time. By default a gibibyte, which most
        machines have to spare. Besides them a label, and where there is one a weight, of every row is
        kept.
    into : str or Path, default=None
        The folder for what CSVs are converted to. By default it is written beside each CSV.

    Examples
    --------
    >>> import pyarrow, pyarrow.parquet, tempfile, ratebound as rb
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
        self._labelled: Array | None = None  # which of the rows in the files are here; None for all
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
        """How many of its rows are in each unit of row groups that is read at once."""
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
        """A digest of the files and of which rows are chosen, by which the same rows are known again."""
        chosen = b"" if self._labelled is None else np.packbits(self._labelled).tobytes()
        return hashlib.sha256(self.groups.digest.encode() + chosen).hexdigest()

    def check_column(self, name: Name) -> None:
        if name in self.groups.names and name not in self.column_names:
            raise ValueError(
                f"column {name!r} is in the files, but neither among features= nor among columns=: name "
                "it in columns=, if constraints are to speak of it"
            )
        super().check_column(name)


def _decoded(column: Any) -> Any:
    """A column with its texts themselves; codes would say that these are categories."""
    types = import_extra("pyarrow.types", NEEDS, "parquet")
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


# --- files whose rows are too many for memory -----------------------------------------------------


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
    """The columns that are features, and those that constraints alone speak of."""
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
            raise ValueError(f"column {name!r} cannot be a feature, it is the label or the weight")
    others = [name for name in groups.names if name not in hidden]
    if features is None:
        features = [name for name in others if name not in (columns or ())]
    if columns is None:
        columns = [name for name in others if name not in features]
    return list(features), list(columns)


def read_label(
    groups: RowGroups, label: str, positive: Any, classes: Sequence[Any] | None, drop: bool
) -> tuple[Labels, Array, Array | None]:
    """Which labels there are, and what they say: whether yes, or of several classes the place.

    And which rows have one, if those without are to be dropped and there are any.
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
            "rows: leave those out, drop_unlabelled=True, or give them as a population of their own"
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
    """The places (n,) of a column's values among all, which grow with it; -1 where there is none."""
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
    """The weights of the rows that count, or of all."""
    parts = [as_array(groups.read(unit, [weight])[weight]) for unit in range(len(groups.units))]
    weights = np.concatenate(parts)
    try:
        return read_weights(weights if mask is None else weights[mask])
    except ValueError as error:
        raise ValueError(f"weight column {weight!r} of {groups.name}: {error}") from None
