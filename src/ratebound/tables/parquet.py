"""A population on disk: rows in Parquet files, of which only a part is ever in memory."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ratebound.base.ahead import ahead
from ratebound.base.checks import check_whole
from ratebound.base.extras import import_extra
from ratebound.base.processes import count, rank
from ratebound.base.types import Array
from ratebound.problem.labels import labels_of
from ratebound.problem.matrices import as_dense
from ratebound.problem.population import Population, assembled
from ratebound.rates.subsets import Name
from ratebound.tables._roles import chosen, read_label, read_weight
from ratebound.tables._row_groups import NEEDS, open_groups
from ratebound.tables._windows import HELD, WindowedRows

MEMORY = 2**30  # bytes that features read from disk take at a time, by default
NUMBER = 8  # bytes of one, at most


class StoredTable:
    """The columns of features on disk, as much of a table as those who only look at it ask for."""

    def __init__(self, population: Parquet) -> None:
        self._population = population
        self.column_names = list(population.features_read)
        self.shape = (len(population), len(self.column_names))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, name: str) -> Any:
        return self._population.read_column(name)


class Parquet(Population):
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
        memory: int = MEMORY,
        into: str | Path | None = None,
    ) -> None:
        check_whole("memory", memory)
        groups = open_groups(paths, into)
        self.memory = memory
        self.features_read, self.columns_read = chosen(groups, label, weight, features, columns)
        own = groups if count() == 1 else groups.share(rank(), count())
        self.groups = own.joined(memory // (NUMBER * HELD * max(len(self.features_read), 1)))
        self._encode: Callable[[Any], Any] | None = None
        self._mask: Array | None = None  # which of the rows in the files are here; None for all
        self.columns: dict[Name, Any] = {}
        self.size = int(self.groups.rows.sum())
        self.labels, self.y = labels_of(None, positive, classes), None
        if label is not None:
            self.labels, self.y, self._mask = read_label(
                self.groups, label, positive, classes, drop_unlabelled
            )
            self.size = len(self.y)
        self.weights = None if weight is None else read_weight(self.groups, weight, self._mask)

    @property
    def X(self) -> Any:
        """The features: as they are in the files, or encoded."""
        return StoredTable(self) if self._encode is None else self.features

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs to read the same files: nothing that was read."""
        return {name: value for name, value in vars(self).items() if name != "features"}

    def __repr__(self) -> str:
        return f"Parquet{super().__repr__().removeprefix('Population')}"

    @property
    def stored(self) -> bool:
        return True

    @property
    def column_names(self) -> list[Name]:
        return list(dict.fromkeys([*self.features_read, *self.columns_read]))

    @cached_property
    def unit_sizes(self) -> Array:
        """How many of its rows are in each unit that is read at once."""
        if self._mask is None:
            return self.groups.rows
        starts = np.cumsum(self.groups.rows) - self.groups.rows
        return np.add.reduceat(self._mask, starts, dtype=np.int64)

    def _read(self, unit: int, names: Collection[str]) -> Any:
        """Some columns of its rows in a unit, as a table of PyArrow."""
        table = self.groups.read(unit, list(names))
        if self._mask is None:
            return table
        start = int(self.groups.rows[:unit].sum())
        return table.filter(self._mask[start : start + int(self.groups.rows[unit])])

    def pieces(self, columns: Iterable[Name] = (), *, inputs: bool = False) -> Iterator[Population]:
        asked = list(dict.fromkeys(columns))
        for name in asked:
            self.check_column(name)
        own = [str(name) for name in asked]
        names = list(dict.fromkeys([*own, *(self.features_read if inputs else ())]))
        units = [unit for unit, rows in enumerate(self.unit_sizes.tolist()) if rows]
        starts = np.cumsum(self.unit_sizes) - self.unit_sizes
        tables = ahead(self._read(unit, names) for unit in units) if names else [None] * len(units)
        for unit, table in zip(units, tables, strict=True):
            rows = slice(int(starts[unit]), int(starts[unit] + self.unit_sizes[unit]))
            yield assembled(
                X=self._inputs(table) if inputs else None,
                y=None if self.y is None else self.y[rows],
                columns={name: table[name] for name in own},
                weights=None if self.weights is None else self.weights[rows],
                labels=self.labels,
                size=rows.stop - rows.start,
            )

    def _inputs(self, table: Any) -> Any:
        """The features in a table, encoded where they are seen through an encoding."""
        own = table.select(self.features_read)
        return own if self._encode is None else _dense(self._encode(own))

    def in_memory(self) -> Population:
        """A plain population with all its rows.

        Returns
        -------
        Population
            Its `X` is a table of PyArrow, or what the encoding makes of it.
        """
        arrow = import_extra("pyarrow", NEEDS, "parquet")
        parts = list(self.pieces(self.columns_read, inputs=True))
        stack = np.concatenate if self._encode is not None else arrow.concat_tables
        X = stack([part.X for part in parts])
        if self._encode is None:
            X = arrow.table({name: _decoded(X[name]) for name in self.features_read})
        columns: dict[Name, Any] = {
            name: arrow.chunked_array([chunk for part in parts for chunk in part.columns[name].chunks])
            for name in self.columns_read
        }
        if self._encode is not None:  # then features are no columns any more, which may be spoken of
            others = [name for name in self.features_read if name not in columns]
            columns |= {name: self.read_column(name) for name in others}
        return assembled(X, self.y, columns, self.weights, self.labels, self.size)

    @cached_property
    def features(self) -> Any:
        """The features as numbers on disk, for learners that read them in pieces or windows."""
        units = np.flatnonzero(self.unit_sizes)
        example = self._matrix(int(units[0]))
        largest = int(self.unit_sizes.max())
        size = example.shape[1] * self._dtype(example).itemsize
        if largest * size > self.memory:
            raise ValueError(
                f"a row group of {self.groups.name} has {largest:,} rows of {size:,} bytes each, and "
                f"memory= allows {self.memory:,}: allow more, or write row groups of fewer rows"
            )
        names = self.features_read if self._encode is None else None
        kind, sizes = self._dtype(example), self.unit_sizes[units]

        def read(place: int) -> Array:
            return self._matrix(int(units[place]))

        return WindowedRows(read, sizes, example.shape[1], kind, self.memory, names)

    def _dtype(self, example: Array) -> Any:
        """The type of all numbers, the same for units with gaps and without."""
        if self._encode is not None:
            return example.dtype
        kinds = [self.groups.schema.field(name).type.to_pandas_dtype() for name in self.features_read]
        return np.result_type(np.float32, *(np.dtype(k) if k is not object else float for k in kinds))

    def _matrix(self, unit: int) -> Array:
        given = self._inputs(self._read(unit, self.features_read))
        return Population(given).features if self._encode is None else given

    @cached_property
    def digest(self) -> str:
        """A digest of the files and of which rows are chosen, by which the same rows are known again."""
        chosen = b"" if self._mask is None else np.packbits(self._mask).tobytes()
        return hashlib.sha256(self.groups.digest.encode() + chosen).hexdigest()

    def read_column(self, name: str) -> Any:
        """A whole column, as PyArrow has it.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        pyarrow.ChunkedArray
            Its values.
        """
        arrow = import_extra("pyarrow", NEEDS, "parquet")
        units = [unit for unit, rows in enumerate(self.unit_sizes.tolist()) if rows]
        return arrow.chunked_array([c for u in units for c in self._read(u, [name])[name].chunks])

    def _given(self, name: Name) -> Any:
        self.check_column(name)
        return self.read_column(str(name))

    def check_column(self, name: Name) -> None:
        if name in self.column_names:
            return
        if name in self.groups.names:
            raise ValueError(
                f"column {name!r} is in the files, but neither among features= nor among columns=: name "
                "it in columns=, if constraints are to speak of it"
            )
        raise ValueError(f"there is no column {name!r}{self._remedy(name)}")

    def seen_through(self, encode: Callable[[Any], Any], spoken_of: Iterable[Name] = ()) -> Population:
        seen = copy.copy(self)
        vars(seen).pop("features", None)
        seen._encode = encode
        return seen

    def only(self, rows: Array) -> Population:
        """The population of some of the rows, still on disk.

        Parameters
        ----------
        rows : array
            A truth value for each row, or indices that only grow.

        Returns
        -------
        Population
            These rows.
        """
        chosen = np.zeros(self.size, dtype=bool)
        try:
            chosen[rows] = True
        except IndexError as error:
            raise ValueError(
                f"only takes indices of the {self.size:,} rows, or a truth value for each: {error}"
            ) from None
        given = np.asarray(rows)
        if not chosen.any() or (given.dtype != bool and (np.diff(given) <= 0).any()):
            raise ValueError("a population on disk needs at least one row, by indices that only grow")
        part = copy.copy(self)
        for cached in ("features", "digest", "unit_sizes"):
            vars(part).pop(cached, None)
        part.size = int(chosen.sum())
        part.y = None if self.y is None else self.y[chosen]
        part.weights = None if self.weights is None else self.weights[chosen]
        if part.weights is not None and not part.weights.any():
            raise ValueError(f"the {part.size:,} rows chosen all have weight zero, so no row counts")
        part._mask = chosen
        if self._mask is not None:
            part._mask = self._mask.copy()
            part._mask[self._mask] = chosen
        return part


def _decoded(column: Any) -> Any:
    """A column with its texts themselves; codes would say that these are categories."""
    types = import_extra("pyarrow.types", NEEDS, "parquet")
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def _dense(features: Any) -> Array:
    return as_dense(features, "a model of rows on disk")
