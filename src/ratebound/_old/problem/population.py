"""The rows a rate is computed on: features, labels, columns that constraints use, weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base.checks import closest
from ratebound._old.base.layout import printable
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import (
    as_array,
    as_csr,
    check_order,
    columns_by_name,
    distinct,
    frame_columns,
    is_missing,
    is_sparse,
    length,
    numbers,
    rows_of,
    some,
    unmasked,
)
from ratebound._old.problem.labels import Labels, label_values, labels_of
from ratebound._old.problem.summaries import digest_of
from ratebound._old.problem.values import ReadColumn, bare, is_coded, read_coded, read_values
from ratebound._old.rates.kinds import TWO, Classes, place_of
from ratebound._old.rates.subsets import Name, Value, column_text

LIGHTEST, HEAVIEST = 1e-15, 1e15  # limits of the largest weight: games are played in single precision


class Population:
    """Rows with features `X`, labels `y` and `columns` for constraints.

    Parameters
    ----------
    X : array, sparse matrix, DataFrame or None
        The features. Constraints can use the columns of a DataFrame too. None for rows that no model is
        trained on.
    y : array of shape (n,), default=None
        The labels. By default the rows have no labels, which is enough for rates that need none.
    columns : dict or DataFrame, default=None
        Columns by name that constraints use and the model does not see. By default constraints can use
        only the columns of `X`.
    weights : array of shape (n,), default=None
        How many rows each row stands for. By default each counts once.
    positive : str, bool, int or float, default=None
        Which label is yes. By default the later of two in sorted order: 1 of 0 and 1, "yes" of "no" and
        "yes".
    classes : sequence, default=None
        The possible labels; with two, no and then yes. By default the labels that occur, in sorted
        order. Give them if some have no row here.
    refer : str, default=None
        The name of the decision that refers a row to a person, in addition to the labels; no row may
        have it as its label. By default every row is decided.
    models : dict of str to model, default=None
        Existing fitted models. The decisions of each on `X` become a column of its name, for
        ``versus=``. By default there are no such models.

    Attributes
    ----------
    X : object
        The features as they were given; a sparse matrix in row format.
    y : array of shape (n,) or None
        The labels: booleans with two classes, otherwise indices into `classes`.
    columns : dict
        The columns by name.
    weights : array of shape (n,) or None
        The weights as numbers.
    size : int
        The number of rows.

    Raises
    ------
    ValueError
        If parts have different numbers of rows or a different order of rows, if there are no rows, or if
        labels or weights are invalid; the error says which.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population([[0.1], [0.7]], [0, 1], columns={"sex": ["Female", "Male"]})
    >>> people
    Population(2 rows, 1 positive, columns sex)
    """

    stored = False  # whether its rows are read on demand, as in `Rows`
    everywhere = False  # whether every process has all of its rows, not a share

    def __init__(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        *,
        weights: Any = None,
        positive: Any = None,
        classes: Sequence[Any] | None = None,
        refer: str | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> None:
        self.X = as_csr(X) if is_sparse(X) else unmasked(X)
        self.columns = columns_by_name(columns)
        check_order(X, {"y": y, "columns": columns, "weights": weights})
        parts = {"X": X, "y": y, "weights": weights}
        parts |= {f"columns[{name!r}]": values for name, values in self.columns.items()}
        lengths = {name: length(part, name) for name, part in parts.items() if part is not None}
        if not lengths:
            raise ValueError("a population needs at least one of X, y and columns")
        self.size = next(iter(lengths.values()))
        if len(set(lengths.values())) > 1:
            different = ", ".join(f"{name} has {n}" for name, n in lengths.items())
            raise ValueError(f"all parts of a population need the same number of rows: {different}")
        if self.size == 0:
            raise ValueError("a population needs at least one row")
        given = None if y is None else label_values(y)
        self.labels = labels_of(given, positive, classes, refer)
        self.y = None if given is None else self.labels.places(given, "y")
        self.weights = None if weights is None else read_weights(weights)
        if not isinstance(models or {}, Mapping):
            raise TypeError(f"models takes a mapping from names to models, got {type(models).__name__}")
        for name, model in (models or {}).items():
            if not callable(getattr(model, "predict", None)):
                raise TypeError(f"model {name!r} has no predict: give a fitted model, got {model!r}")
            decisions = np.asarray(model.predict(X))
            if len(decisions) != self.size:
                raise ValueError(f"model {name!r} has {len(decisions)} decisions for {self.size} rows")
            self.columns[name] = decisions

    def __len__(self) -> int:
        return self.size

    def pieces(self, columns: Iterable[Name] = (), *, inputs: bool = False) -> Iterator[Population]:
        """All rows in order, some at a time, as populations in memory.

        Rows that are in memory come in one piece.

        Parameters
        ----------
        columns : iterable of str or int, default=()
            The columns that each piece needs. By default none, since reading takes time.
        inputs : bool, default=False
            Whether each has its `X` too. By default it has only labels and weights.

        Yields
        ------
        Population
            Some of the rows.
        """
        yield self

    def in_memory(self) -> Population:
        """The population with all its rows in memory.

        Returns
        -------
        Population
            Itself, if they already are.
        """
        return self

    def __repr__(self) -> str:
        labels = "no labels" if self.y is None else f"{len(self.classes or ()):,} classes"
        if self.y is not None and self.y.dtype == bool:
            labels = f"{int(self.y.sum()):,} positive"
        columns = printable(", ".join(map(str, self.column_names)), "")
        return f"{type(self).__name__}({self.size:,} rows, {labels}, columns {columns})"

    @property
    def row_weights(self) -> Array:
        """The weight of each row (n,), 1 if rows are not weighted."""
        return np.ones(self.size) if self.weights is None else self.weights

    @property
    def total_weight(self) -> float:
        """The weight of all rows; their number if rows are not weighted."""
        return float(self.row_weights.sum())

    @property
    def column_names(self) -> list[Name]:
        """The columns that constraints may use."""
        return [*self.columns, *(c for c in frame_columns(self.X) if c not in self.columns)]

    @property
    def classes(self) -> Classes | None:
        """The possible labels in order, with two no and then yes; None if unknown.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> rb.Population(None, ["cat", "bird", "dog", "cat"]).classes
        ('bird', 'cat', 'dog')
        """
        return self.labels.classes

    @property
    def decisions(self) -> int:
        """The number of possible decisions."""
        return len(self.classes or TWO)

    def among(self, classes: Classes) -> Population:
        """The same rows, with labels as indices into these classes.

        Parameters
        ----------
        classes : tuple
            All possible labels, in order, including this population's own classes.

        Returns
        -------
        Population
            The same rows.
        """
        if self.classes == classes:
            return self
        part = copy.copy(self)
        part.labels = Labels(classes)
        if self.y is not None:
            places = np.array([place_of(each, classes) for each in self.classes or ()])
            part.y = places[self.y.astype(np.intp)]
        return part

    @property
    def inputs(self) -> Any:
        """`X` as it was given, for models that read tables."""
        return self.X

    @cached_property
    def features(self) -> Any:
        """`X` as an array of numbers, or a sparse matrix, for learners that need one."""
        if self.X is None:
            raise ValueError("this population has no features X, so no model can be trained on it")
        if names := frame_columns(self.X):
            return np.column_stack([numbers(as_array(self.X[name]), name) for name in names])
        values = as_array(self.X)
        if values.ndim < 2:
            raise ValueError(f"X needs rows and features, got an array of shape {values.shape}")
        if values.dtype.kind not in "buif":
            raise ValueError(f"X must hold numbers, got an array of {values.dtype}")
        return values

    @cached_property
    def digest(self) -> str:
        """A digest of the features, which identifies the rows."""
        return digest_of([self.X])

    def column(self, name: Name) -> Array:
        """A column's values, some of which may be missing.

        Parameters
        ----------
        name : str or int
            The column; for an array `X`, the number of a feature.

        Returns
        -------
        array of shape (n,)
            The values.

        Raises
        ------
        ValueError
            If there is no such column; the error lists the columns.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> rb.Population([[0.1, 3.0], [0.7, 4.0]]).column(1)
        array([3., 4.])
        """
        values = as_array(self._given(name))
        if values.ndim != 1:
            raise ValueError(f"column {name!r} has shape {values.shape}, expected one value per row")
        return values

    def values(self, name: Name) -> ReadColumn:
        """A column's values as conditions compare them.

        Parameters
        ----------
        name : str or int
            The column.

        Returns
        -------
        ReadColumn
            Numbers, dates or texts, and which are missing.
        """
        given = self._given(name)
        return read_coded(given) if is_coded(given) else read_values(self.column(name))

    def _given(self, name: Name) -> Any:
        self.check_column(name)
        if name in self.columns:
            return self.columns[name]
        if name in frame_columns(self.X):
            return self.X[name]
        feature = as_array(self.X)[:, [name]]
        return (feature.toarray() if is_sparse(feature) else feature)[:, 0]

    def check_column(self, name: Name) -> None:
        """Raise if there is no such column.

        Parameters
        ----------
        name : str or int
            The column.

        Raises
        ------
        ValueError
            If there is no such column; the error lists the columns.
        """
        if name not in self.columns and name not in frame_columns(self.X) and not self._is_feature(name):
            raise ValueError(f"there is no column {name!r}{self._remedy(name)}")

    def plain_column(self, name: Name) -> list[Any]:
        """A column's values as plain Python, None for missing ones; texts without surrounding blanks.

        Parameters
        ----------
        name : str or int
            The column.

        Returns
        -------
        list
            The values.

        Examples
        --------
        >>> import numpy as np, ratebound._old as rb
        >>> rb.Population(None, columns={"age": [25.0, np.nan]}).plain_column("age")
        [25.0, None]
        """
        values = self.column(name)
        column: list[Any] = values.tolist()
        if values.dtype.kind in "OU":
            column = list(map(bare, column))
        for row in np.flatnonzero(is_missing(values)).tolist():
            column[row] = None
        return column

    def _is_feature(self, name: Name) -> bool:
        """Whether this is the number of a feature of an array."""
        if not isinstance(name, int) or self.X is None or frame_columns(self.X):
            return False
        shape: tuple[int, ...] = np.shape(self.X)
        return len(shape) == 2 and 0 <= name < shape[1]

    def _remedy(self, name: Name) -> str:
        """The remedy if there is no such column."""
        known = self.column_names
        if not known:
            return ". No columns were given: pass columns=."
        alike = closest(str(name), map(str, known))
        if alike is None:
            return f". It has {some(known)}."
        written = next(column_text(each) for each in known if str(each) == alike)
        how = "" if written == alike else f" In text it is written {written}."
        return f", did you mean {alike!r}?{how} It has {some(known)}."

    def seen_through(self, encode: Callable[[Any], Any], spoken_of: Iterable[Name] = ()) -> Population:
        """The same rows, with the features that `encode` makes from `X`; no column is lost.

        Parameters
        ----------
        encode : callable
            A function from `X` to features with the same number of rows.
        spoken_of : iterable of str or int, default=()
            Features of an array that constraints use by number, to be kept as columns. By default none.

        Returns
        -------
        Population
            The same rows, encoded.
        """
        table = columns_by_name(self.X if frame_columns(self.X) else None)
        table |= {name: self.column(name) for name in spoken_of if self._is_feature(name)}
        encoded = encode(self.X)
        if (rows := length(encoded, "X")) != self.size:
            raise ValueError(f"the encoding turned {self.size} rows into {rows}")
        columns = table | self.columns
        seen = assembled(encoded, self.y, columns, self.weights, self.labels, self.size)
        seen.everywhere = self.everywhere
        return seen

    def only(self, rows: Array) -> Population:
        """The population of some of the rows.

        Parameters
        ----------
        rows : array
            Indices of rows, or a boolean for each.

        Returns
        -------
        Population
            These rows, in this order.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> people = rb.Population([[0.1], [0.7]], [0, 1], columns={"sex": ["Female", "Male"]})
        >>> people.only([1]).column("sex")
        array(['Male'], dtype=object)
        """
        try:
            chosen = np.arange(self.size)[rows]
        except IndexError as error:
            raise ValueError(
                f"only takes indices of the {self.size:,} rows, or a boolean for each: {error}"
            ) from None
        if chosen.ndim != 1 or not chosen.size:
            raise ValueError("a population needs at least one row, given by a list of indices or a mask")
        part = copy.copy(self)
        for cached in ("features", "digest"):
            vars(part).pop(cached, None)
        part.size = len(chosen)
        part.X = None if self.X is None else rows_of(self.X, chosen)
        part.y = None if self.y is None else self.y[chosen]
        part.weights = None if self.weights is None else self.weights[chosen]
        if part.weights is not None and not part.weights.any():
            raise ValueError(f"the {len(chosen):,} rows chosen all have weight zero, so no row counts")
        part.columns = {name: rows_of(values, chosen) for name, values in self.columns.items()}
        return part

    def existing(self, name: str, of: Value | None = None) -> Array:
        """Which rows an existing model decides yes, or as a given class.

        Parameters
        ----------
        name : str
            The column with its decisions.
        of : str, bool, int or float, default=None
            The class. By default yes, the positive class of two.

        Returns
        -------
        array of shape (n,)
            Booleans.

        Raises
        ------
        ValueError
            If a decision is missing, or is not a class.
        """
        values = self.column(name)
        if lacking := int(is_missing(values).sum()):
            raise ValueError(
                f"column {name!r} has {lacking:,} missing values, but a decision is needed for every "
                "row: leave those rows out, or fill in the decisions"
            )
        decided = self.labels.decided(values, f"column {name!r}")
        return decided if of is None else decided == place_of(of, self.classes or TWO)


def assembled(
    X: Any,
    y: Array | None,
    columns: dict[Name, Any],
    weights: Array | None,
    labels: Labels,
    size: int,
) -> Population:
    """A population from parts that were already checked."""
    population = Population.__new__(Population)
    population.X, population.y, population.columns = X, y, columns
    population.weights, population.labels, population.size = weights, labels, size
    return population


def read_weights(weights: Any) -> Array:
    """Weights (n,) that are finite and not negative, and not all zero."""
    values = as_array(weights)
    if values.ndim != 1:
        raise ValueError(f"weights have shape {values.shape}, expected one number per row")
    try:
        values = values.astype(np.float64, casting="unsafe" if values.dtype.kind == "O" else "same_kind")
    except (TypeError, ValueError):
        raise ValueError(f"weights must be numbers, got {some(distinct(values))}") from None
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("weights must be finite and not negative")
    if not values.any():
        raise ValueError("all weights are zero, so no row counts")
    if not LIGHTEST <= values.max() <= HEAVIEST:
        raise ValueError(
            f"weights go up to {values.max():g}, too large or too small to add up precisely: "
            "divide them by their mean"
        )
    return values
