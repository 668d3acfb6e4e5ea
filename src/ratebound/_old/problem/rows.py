"""Rows that are read on demand: from files, a query, or any other source.

A source gives the names of its columns and reads one piece of its rows at a time. All other methods of
a population follow from that, for parts of the rows and for encoded rows too.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.ahead import ahead
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_dense, frame_columns, rows_of, stacked
from ratebound._old.problem.labels import Labels
from ratebound._old.problem.population import Population, assembled
from ratebound._old.problem.stored import WindowedRows
from ratebound._old.problem.summaries import digest_of
from ratebound._old.rates.kinds import Classes
from ratebound._old.rates.subsets import Name


@dataclass(frozen=True)
class Header:
    """Names and shape of features that are not in memory, for code that needs nothing else."""

    column_names: list[Any]  # empty for an array
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]


class Rows(Population, ABC):
    """A source of rows that is read in pieces, usable as a population; subclass it for your own source.

    A subclass has three members: `column_names`, `piece_sizes` and `piece`. Pieces are in the order of
    the rows. Training holds as many of them at a time as `memory` allows, in a new order in each pass;
    everything else reads them one after the other. Labels and weights of all rows are kept in memory. If
    there are several processes, each has its own rows, unless the subclass sets ``everywhere = True``.

    Attributes
    ----------
    column_names : list of str
        The columns that constraints may use.
    piece_sizes : sequence of int
        The number of rows of each piece.
    memory : int
        How many bytes of features training may hold at a time.

    See Also
    --------
    Parquet : Rows in Parquet files.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> class Drawn(rb.Rows):
    ...     column_names, piece_sizes = ["site"], [500, 500]
    ...
    ...     def piece(self, place, columns=(), *, inputs=False):
    ...         rng = np.random.default_rng(place)
    ...         X, site = rng.normal(size=(500, 2)), rng.choice(["A", "B"], 500)
    ...         y = X[:, 0] > 0
    ...         return rb.Population(X if inputs else None, y, columns={c: site for c in columns})
    >>> rb.compile(rb.Problem("error_rate()", ["minimum_recall(site, at_least=0.9)"]), Drawn())
    Compiled(2 constraints, 1,000 rows, 3 cells, 4 slices)
    """

    stored = True
    memory = 2**30
    columns: dict[Name, Any] = {}  # noqa: RUF012  # none is in memory

    column_names: Any = ()
    piece_sizes: Any = ()

    def __init__(self) -> None:  # it has none of the arrays of a population in memory
        pass

    @abstractmethod
    def piece(self, place: int, columns: Collection[Name] = (), *, inputs: bool = False) -> Population:
        """Read one piece.

        Parameters
        ----------
        place : int
            Its number, from 0.
        columns : collection of str, default=()
            The columns that it needs. By default none, since reading takes time.
        inputs : bool, default=False
            Whether it has its `X` too. By default it has only labels and weights.

        Returns
        -------
        Population
            Its rows, in memory. Give `classes` or `positive` if a piece may lack a label.
        """

    def pieces(self, columns: Iterable[Name] = (), *, inputs: bool = False) -> Iterator[Population]:
        asked = list(dict.fromkeys(columns))
        for name in asked:
            self.check_column(name)
        return ahead(self.piece(place, asked, inputs=inputs) for place in self._places)

    @property
    def _places(self) -> list[int]:
        """The pieces that have rows."""
        return np.flatnonzero(self.piece_sizes).tolist()

    @property
    def _starts(self) -> Array:
        """The first row number of each piece."""
        return np.cumsum(self.piece_sizes) - self.piece_sizes

    # --- labels, weights and columns --------------------------------------------------------------

    @cached_property
    def size(self) -> int:  # type: ignore[override]
        """The number of rows."""
        return int(np.sum(self.piece_sizes))

    @cached_property
    def _read(self) -> tuple[Labels, Array | None, Array | None]:
        """Labels and weights of all rows, read once."""
        parts = list(self.pieces())
        first = parts[0]
        if len({part.classes for part in parts}) > 1:
            raise ValueError(
                f"pieces of {type(self).__name__} have different labels: name all labels with "
                "rb.Population(..., classes=[...]) in each"
            )
        y = None if first.y is None else np.concatenate([part.y for part in parts])
        weighted = first.weights is not None
        return first.labels, y, np.concatenate([p.weights for p in parts]) if weighted else None

    @cached_property
    def labels(self) -> Labels:  # type: ignore[override]
        """The possible labels, on which all pieces agree."""
        return self._read[0]

    @cached_property
    def y(self) -> Array | None:  # type: ignore[override]
        """The labels: booleans with two classes, otherwise indices into `classes`."""
        return self._read[1]

    @cached_property
    def weights(self) -> Array | None:  # type: ignore[override]
        """The weights, None if each row counts once."""
        return self._read[2]

    @cached_property
    def X(self) -> Any:
        """The names and the shape of the features."""
        first = self.piece(self._places[0], inputs=True).X
        return None if first is None else Header(frame_columns(first), (self.size, *np.shape(first)[1:]))

    def check_column(self, name: Name) -> None:
        if name not in self.column_names:
            raise ValueError(f"there is no column {name!r}{self._remedy(name)}")

    def _given(self, name: Name) -> Any:
        return stacked([piece.columns[name] for piece in self.pieces([name])])

    # --- features, for models that are trained on them --------------------------------------------

    @cached_property
    def features(self) -> WindowedRows:
        """The features as numbers, for learners that read them in pieces or windows."""
        places, sizes = self._places, np.asarray(self.piece_sizes)
        first = self.piece(places[0], inputs=True)
        example = as_dense(first.features, "a model of rows on disk")
        kind = self.number_type(example)
        width, largest = example.shape[1] * kind.itemsize, int(sizes.max())
        if largest * width > self.memory:
            raise ValueError(
                f"a piece of {self!r} has {largest:,} rows of {width:,} bytes each, but memory= allows "
                f"{self.memory:,}: allow more, or make pieces (row groups of files) of fewer rows"
            )
        names = frame_columns(first.X) or None
        return WindowedRows(
            lambda place: self._numbers(places[place]), sizes[places], example.shape[1], kind,
            self.memory, names,
        )  # fmt: skip

    def _numbers(self, place: int) -> Array:
        """The features of a piece."""
        return as_dense(self.piece(place, inputs=True).features, "a model of rows on disk")

    def number_type(self, example: Array) -> np.dtype[Any]:
        """The type of all features, the same for pieces with gaps and without.

        Parameters
        ----------
        example : array
            The features of one piece.

        Returns
        -------
        numpy.dtype
            By default the example's if it is a floating-point type, otherwise double precision.
        """
        return example.dtype if example.dtype.kind == "f" else np.dtype(float)

    def joined(self, tables: list[Any]) -> Any:
        """The features of all pieces as one table or array.

        Parameters
        ----------
        tables : list
            The `X` of each piece, in order.

        Returns
        -------
        object
            All of them, one below the other.
        """
        return stacked(tables)

    @cached_property
    def digest(self) -> str:
        """A digest of the features, which identifies the rows."""
        return digest_of([np.array([piece.digest for piece in self.pieces(inputs=True)])])

    # --- the same rows, changed -------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """The state that another process needs to read the same rows, without features already read."""
        return {name: value for name, value in vars(self).items() if name != "features"}

    def in_memory(self) -> Population:
        """A plain population with all its rows.

        Returns
        -------
        Population
            Its `X` is of the pieces' kind, or the encoding's result.
        """
        names = [name for name in self.column_names if name not in frame_columns(self.X)]
        parts = list(self.pieces(names, inputs=True))
        X = None if self.X is None else self.joined([part.X for part in parts])
        columns = {name: stacked([part.columns[name] for part in parts]) for name in names}
        return assembled(X, self.y, columns, self.weights, self.labels, self.size)

    @property
    def _seen(self) -> tuple[Rows, Array | None, Callable[[Any], Any] | None]:
        """The source, the rows of it that are here (None: all), and the encoding, if any."""
        return self, None, None

    def seen_through(self, encode: Callable[[Any], Any], spoken_of: Iterable[Name] = ()) -> Population:
        source, chosen, _ = self._seen
        return View(source, chosen, encode, self.labels, self.y, self.weights)

    def among(self, classes: Classes) -> Population:
        named = super().among(classes)
        return named if named is self else View(*self._seen, named.labels, named.y, self.weights)

    def labelled(self, y: Array, classes: Classes) -> Population:
        """The same rows with other labels: indices into `classes`, or booleans with two classes.

        Parameters
        ----------
        y : array of shape (n,)
            The labels.
        classes : tuple
            The possible labels.

        Returns
        -------
        Population
            These rows, still to be read.
        """
        return View(*self._seen, Labels(classes), y, self.weights)

    def only(self, rows: Array) -> Population:
        """The population of some of the rows, still to be read.

        Parameters
        ----------
        rows : array
            A boolean for each row, or increasing indices.

        Returns
        -------
        Population
            These rows.
        """
        kept = np.zeros(self.size, dtype=bool)
        try:
            kept[rows] = True
        except IndexError as error:
            raise ValueError(
                f"only takes indices of the {self.size:,} rows, or a boolean for each: {error}"
            ) from None
        given = np.asarray(rows)
        if not kept.any() or (given.dtype != bool and (np.diff(given) <= 0).any()):
            raise ValueError("a population on disk needs at least one row, given by increasing indices")
        y, weights = (None if each is None else each[kept] for each in (self.y, self.weights))
        if weights is not None and not weights.any():
            raise ValueError(
                f"the {int(kept.sum()):,} rows chosen all have weight zero, so no row counts"
            )
        source, chosen, encode = self._seen
        if chosen is not None:
            chosen = chosen.copy()
            chosen[chosen] = kept
        return View(source, kept if chosen is None else chosen, encode, self.labels, y, weights)


class View(Rows):
    """Some of a source's rows, or its rows with an encoding, or both."""

    def __init__(
        self,
        source: Rows,
        chosen: Array | None,
        encode: Callable[[Any], Any] | None,
        labels: Labels,
        y: Array | None,
        weights: Array | None,
    ) -> None:
        self.source, self.chosen, self.encode = source, chosen, encode
        self.labels, self.y, self.weights = labels, y, weights
        self.memory, self.everywhere = source.memory, source.everywhere

    @property
    def _seen(self) -> tuple[Rows, Array | None, Callable[[Any], Any] | None]:
        return self.source, self.chosen, self.encode

    def __repr__(self) -> str:
        return super().__repr__().replace(type(self).__name__, type(self.source).__name__, 1)

    @property
    def column_names(self) -> list[Name]:
        return self.source.column_names

    @cached_property
    def piece_sizes(self) -> Array:
        if self.chosen is None:
            return np.asarray(self.source.piece_sizes)
        parts = np.split(self.chosen, np.cumsum(self.source.piece_sizes)[:-1])
        return np.array([int(part.sum()) for part in parts])

    def piece(self, place: int, columns: Collection[Name] = (), *, inputs: bool = False) -> Population:
        rows = slice(start := int(self._starts[place]), start + int(self.piece_sizes[place]))
        X, own = None, {}
        if columns or inputs:
            part = self.source.piece(place, columns, inputs=inputs)
            X, own = part.X if inputs else None, part.columns
            if self.chosen is not None:
                start = int(self.source._starts[place])
                chosen = self.chosen[start : start + len(part)]
                X = None if X is None else rows_of(X, chosen)
                own = {name: rows_of(values, chosen) for name, values in own.items()}
            if X is not None and self.encode is not None:
                X = as_dense(self.encode(X), "a model of rows on disk")
        y, weights = (None if each is None else each[rows] for each in (self.y, self.weights))
        return assembled(X, y, own, weights, self.labels, rows.stop - rows.start)

    @property
    def X(self) -> Any:
        """The names and the shape of the features, or the features themselves if they are encoded."""
        if self.encode is not None:
            return self.features
        return None if self.source.X is None else Header(
            self.source.X.column_names, (self.size, *self.source.X.shape[1:])
        )  # fmt: skip

    def check_column(self, name: Name) -> None:
        self.source.check_column(name)

    def number_type(self, example: Array) -> np.dtype[Any]:
        return self.source.number_type(example) if self.encode is None else example.dtype

    def joined(self, tables: list[Any]) -> Any:
        return self.source.joined(tables) if self.encode is None else np.concatenate(tables)

    @cached_property
    def digest(self) -> str:
        chosen = b"" if self.chosen is None else np.packbits(self.chosen).tobytes()
        return hashlib.sha256(self.source.digest.encode() + chosen).hexdigest()
