"""Rows in memory: labels, columns, weights and features. A list of populations is pieces of one.

`mask` says which rows meet a condition, by the rule of comparison in `problem/comparison.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from ratebound.problem.columns import Encoded, as_array, encode_values, fold, is_frame, read_columns
from ratebound.rates.conditions import (
    All,
    AnyOf,
    Compare,
    Condition,
    Decided,
    In,
    Missing,
    Name,
    Not,
    Value,
    as_value,
    format_column,
    format_value,
    suggest_name,
)

# Labels of which one is the yes, though rows may hold only the other; the last of each is yes.
TEXT_PAIRS = ("no yes", "No Yes", "n y", "N Y", "false true", "False True", "0 1", "-1 1")
PAIRS = ((0, 1), (-1, 1), (False, True), *(tuple(pair.split()) for pair in TEXT_PAIRS))


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """Hold rows with what is known about them.

    Labels are compared as they are. If there are two classes, the last is yes; pairs such as no and yes
    are known even if the rows hold only one of them.

    Parameters
    ----------
    X : array, sparse matrix or data frame, default=None
        The features (n, ...). Without `columns`, those of a data frame are what constraints may name.
    y : array, default=None
        The labels (n,).
    columns : mapping or data frame, default=None
        Values (n,) by name: what constraints may name.
    weights : array, default=None
        How much each row weighs. By default 1.
    classes : list, default=None
        The classes in order, if the labels do not tell.
    refer : str, default=None
        The decision to ask a person: one more than the classes, which no label has.
    positive : object, default=None
        The label that is yes, if it is not the last of two.
    counts : array, default=None
        How many rows each row stands for where groups are counted. By default 1.
    allow_absent : bool, default=False
        Whether a condition may name a value that no row has. By default that is an error.

    Examples
    --------
    >>> import ratebound as rb
    >>> rows = rb.Population(y=["no", "yes", "no"], columns={"age": [20, 40, None]})
    >>> rows.mask(rb.column("age") >= 30)
    array([False,  True, False])
    """

    X: Any = None  # (n, ...) features, dense or sparse
    y: Any = None  # (n,) labels
    columns: Any = None  # a mapping of names to (n,) values, or a table
    weights: Any = None  # (n,) how many rows each stands for
    classes: Sequence[Any] | None = None
    refer: str | None = None  # the decision to ask a person: a class that no label has
    _: KW_ONLY
    positive: Any = None  # the label that is yes, if not the last of two
    counts: Any = None  # (n,) how many rows each stands for when groups are counted, by default one
    allow_absent: bool = False  # whether a condition may name a value that no row has

    def __post_init__(self) -> None:
        is_table = self.columns is None and is_frame(self.X)
        columns = read_columns(self.X if is_table else self.columns)
        y = None if self.y is None else as_array(self.y)
        weights = None if self.weights is None else np.asarray(self.weights, dtype=float)
        _check_weights(weights, self.allow_absent)
        classes = _read_classes(y, self.classes, self.positive)
        size = _count_rows({"X": self.X, "y": y, "weights": weights}, columns)
        fields = {
            "size": size,
            "y": y,
            "columns": columns,
            "weights": weights,
            "classes": classes,
            "positive": None,  # the order of the classes says it
            "encoded": {},  # columns that were read
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"Population({len(self):,} rows, classes {self.classes}, columns {list(self.columns)})"
        )

    def __len__(self) -> int:
        return self.size  # type: ignore[attr-defined]

    @property
    def row_weights(self) -> Any:
        return np.ones(len(self)) if self.weights is None else self.weights

    def weigh(self, mask: Any) -> float:
        """Return the weight of some rows."""
        if self.weights is None:
            return float(np.count_nonzero(mask))
        return float(self.weights[mask].sum())

    def select(self, rows: Any) -> Population:
        """Return some of the rows.

        Parameters
        ----------
        rows : array
            A mask (n,), or indices.

        Returns
        -------
        Population
            These rows, with the same classes.
        """
        columns = {name: values[rows] for name, values in self.columns.items()}
        return replace(
            self,
            X=None if self.X is None else _select_rows(self.X, rows),
            y=None if self.y is None else self.y[rows],
            columns=columns,
            weights=None if self.weights is None else self.weights[rows],
            counts=None if self.counts is None else self.counts[rows],
            allow_absent=True,
        )

    # --- columns ---

    def encode(self, name: Name | None) -> Encoded:
        """Return the distinct values of a column, or of y if None, and every row's code."""
        cache: dict[Any, Any] = self.encoded  # type: ignore[attr-defined]
        if name not in cache:
            cache[name] = _encode(self._find_column(name), f"column {name!r}")
        return cache[name]

    def _find_column(self, name: Name | None) -> Any:
        if name is None:
            return self.y
        if name in self.columns:
            return self.columns[name]
        width = self.X.shape[1] if getattr(self.X, "ndim", 0) == 2 else 0
        if isinstance(name, int) and 0 <= name < width:
            column = self.X[:, [name]]
            dense = column.toarray() if hasattr(column, "toarray") else column
            return np.asarray(dense).ravel()
        raise ValueError(f"there is no column {name!r}{suggest_name(name, self.columns)}")

    def list_combinations(self, names: list[Name]) -> set[tuple[Value | None, ...]]:
        """Return the combinations of the columns' values that occur."""
        encoded = [self.encode(name) for name in names]
        first, _ = fold(column.codes for column in encoded)
        return set(zip(*(column.decode()[first].tolist() for column in encoded), strict=True))

    def class_indices(self, name: Name | None, classes: tuple[Value, ...]) -> Any:
        """Return the class of every row's label, or of its value in a column of decisions (n,)."""
        cache: dict[Any, Any] = self.encoded  # type: ignore[attr-defined]
        if (name, classes) not in cache:
            column = self.encode(name)
            values = column.values.tolist()
            if name is not None and set(values) <= {0, 1} and not {0, 1} & set(classes):
                values = [classes[int(value)] for value in values]  # True is yes
            self._check_classes(name, values, column, classes)
            index_of_value = np.array([classes.index(value) for value in values], dtype=np.int64)
            cache[name, classes] = index_of_value[column.codes]
        return cache[name, classes]

    def _check_classes(
        self,
        name: Name | None,
        values: list[Any],
        column: Encoded,
        classes: tuple[Value, ...],
    ) -> None:
        unknown = [value for value in values if value not in classes]
        if (column.codes < 0).any():
            unknown.append(None)
        if unknown:
            where = "y" if name is None else f"the column {name!r} of a live model's decisions"
            known = ", ".join(map(format_value, classes))
            raise ValueError(
                f"{where} holds {unknown[0]!r}, which is not one of the classes {known}"
            )

    def amounts(self, name: Name, needed: Any) -> Any:
        """Return the amounts (n,) of a column that costs use; 0 for rows not `needed` (n,)."""
        column = self.encode(name)
        if column.words - {"numbers"}:
            raise ValueError(f"column {name!r} is used as a cost, but does not hold numbers")
        amounts = np.append(column.values.astype(float), 0.0)[column.codes]
        if (amounts < 0).any() or not np.isfinite(amounts).all():
            raise ValueError(f"column {name!r}: costs and weights are finite and not negative")
        missing = int(((column.codes < 0) & needed).sum())
        if missing:
            raise ValueError(
                f"column {name!r} has no value in {missing:,} rows whose errors it prices: "
                f"leave them out, as in cost(not missing({format_column(name)}), ...)"
            )
        return np.where(needed, amounts, 0.0)

    # --- conditions ---

    def mask(self, condition: Condition) -> Any:
        """Return which rows meet a condition.

        Parameters
        ----------
        condition : Condition
            As in ``rb.column("age") < 25``.

        Returns
        -------
        array of shape (n,)
            True for rows that meet it.
        """
        if isinstance(condition, Not):
            return ~self.mask(condition.part)
        if isinstance(condition, All):
            met = np.ones(len(self), dtype=bool)
            for part in condition.parts:
                met &= self.mask(part)
            return met
        if isinstance(condition, AnyOf):
            met = np.zeros(len(self), dtype=bool)
            for part in condition.parts:
                met |= self.mask(part)
            return met
        if isinstance(condition, Decided):  # the rate's event says so; any row may be decided
            return np.ones(len(self), dtype=bool)
        if isinstance(condition, Missing):
            return self.encode(condition.column).codes < 0
        if isinstance(condition, In):
            met = np.zeros(len(self), dtype=bool)
            for value in condition.values:
                met |= self._compare(Compare(condition.column, "==", value))
            return met
        assert isinstance(condition, Compare), condition
        return self._compare(condition)

    def _compare(self, leaf: Compare) -> Any:
        column = self.encode(leaf.column)
        met = column.compare(leaf)
        is_equality = leaf.relation in ("==", "!=")
        if is_equality and not self.allow_absent:
            is_absent = met.all() if leaf.relation == "!=" else not met.any()
            if is_absent:
                hint = suggest_name(leaf.value, column.values.tolist())
                equality = f"{format_column(leaf.column)} == {format_value(leaf.value)}"
                raise ValueError(f"no row has {equality}{hint}")
        return met


def _encode(values: Any, name: str) -> Encoded:
    try:
        return encode_values(values)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _count_rows(parts: Mapping[str, Any], columns: Mapping[Name, Any]) -> int:
    named = dict(parts)
    for name, values in columns.items():
        named[f"column {name!r}"] = values
    sizes: dict[str, Any] = {}
    for name, part in named.items():
        if part is None:
            continue
        shape = part.shape if hasattr(part, "shape") else (len(part),)
        is_one = name == "X" or len(shape) == 1
        sizes[name] = shape[0] if is_one else shape
    size = next(iter(sizes.values()), 0)
    if size == 0 or set(sizes.values()) != {size} or isinstance(size, tuple):
        raise ValueError(
            f"all parts of a population need the same number of rows, not 0, got {sizes}"
        )
    return size


def _check_weights(weights: Any, may_be_zero: bool) -> None:
    if weights is None:
        return
    are_valid = np.isfinite(weights).all() and weights.min(initial=0) >= 0
    if not are_valid or not (weights.any() or may_be_zero):
        raise ValueError("weights are finite, not negative, and not all zero")


def _select_rows(features: Any, rows: Any) -> Any:
    if not is_frame(features):
        return features[rows] if hasattr(features, "tocsr") else np.asarray(features)[rows]
    import narwhals as nw

    frame = nw.from_native(features)
    return frame[np.arange(len(frame))[rows].tolist()].to_native()


# --- classes --------------------------------------------------------------------------------------


def _read_classes(
    y: Any,
    classes: Sequence[Any] | None,
    positive: Any,
) -> tuple[Value, ...] | None:
    """Return the classes in order, the yes last of two; None if nothing tells them."""
    if classes is not None and positive is not None:
        raise ValueError(
            "classes= says which label is yes, as the last of two, so leave out positive="
        )
    if classes is None and y is None:
        return None
    if classes is None:
        labels = _encode(y, "y").values.tolist()
        if any(isinstance(label, float) and not label.is_integer() for label in labels):
            raise ValueError(
                f"y holds numbers such as {labels[0]!r}: give classes= if they are labels"
            )
        classes = _find_classes(labels, positive)
    if len(classes) < 2:
        raise ValueError(
            f"y holds only {list(classes)}, but two classes are needed: give classes=[no, yes]"
        )
    return tuple(map(as_value, classes))


def _find_classes(labels: list[Any], positive: Any) -> list[Any]:
    if positive is None:
        return _find_pair(labels) or labels
    pair = _find_pair([*labels, positive]) or labels
    negatives = [label for label in pair if label != positive]
    if positive not in pair or len(negatives) != 1:
        raise ValueError(
            f"positive={positive!r} is one of two labels, but y holds {labels[:5]}: "
            "give classes=[no, yes]"
        )
    return [*negatives, positive]


def _find_pair(labels: list[Any]) -> list[Any] | None:
    """Return the known pair that the labels belong to, if any."""
    for pair in PAIRS:
        types = {isinstance(label, bool) for label in (*pair, *labels)}  # True equals 1
        if labels and len(types) == 1 and set(labels) <= set(pair):
            return list(pair)
    return None


def collect_classes(populations: Mapping[str, Pieces]) -> tuple[tuple[Value, ...], int]:
    """Return all decisions, a referral last, and how many of them are labels."""
    pieces = [piece for population in populations.values() for piece in population]
    listed = [piece.classes for piece in pieces if piece.classes is not None]
    labels: tuple[Value, ...] = (False, True)
    if listed:
        labels = tuple(dict.fromkeys(value for classes in listed for value in classes))
    if len({frozenset(classes) for classes in listed}) > 1:  # pieces may lack a class
        labels = tuple(sorted(labels, key=lambda value: (isinstance(value, str), value)))
    referrals = {piece.refer for piece in pieces if piece.refer is not None}
    if len(referrals) > 1:
        raise ValueError(f"a referral has one name in all populations, got {sorted(referrals)}")
    return (*labels, *referrals), len(labels)


# --- pieces ---------------------------------------------------------------------------------------

Pieces = Sequence[Population]  # of one population: read one after another, never together


def as_pieces(population: Any) -> Pieces:
    """Return a population's pieces, itself alone or those listed, each of which may lack values."""
    pieces = [population] if isinstance(population, Population) else list(population)
    if not pieces or not all(isinstance(piece, Population) for piece in pieces):
        raise TypeError(
            f"rows are a rb.Population, or a list of its pieces, got {type(population).__name__}"
        )
    if len(pieces) == 1:
        return pieces
    return [replace(piece, allow_absent=True) for piece in pieces]
