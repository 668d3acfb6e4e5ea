"""Rows in memory: features, labels, columns and weights.

`mask` evaluates a condition on the rows, by the rule of comparison in `problem/comparison.py`. A
population may come in pieces, which are read one after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
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

# Known pairs of labels. The second is the yes, even if the rows hold only one of the two.
TEXT_PAIRS = ("no yes", "No Yes", "n y", "N Y", "false true", "False True", "0 1", "-1 1")
PAIRS = (
    (0, 1),
    (-1, 1),
    (False, True),
    *(tuple(pair.split()) for pair in TEXT_PAIRS),
)


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """Hold rows in memory: features, labels, columns and weights.

    Labels stay as they are. The last of two classes is the yes. Pairs such as no and yes are known, so
    the rows may hold only one of the two.

    Parameters
    ----------
    X : array, sparse matrix or data frame, default=None
        The features (n, ...). Without `columns`, constraints may name the columns of a data frame.
    y : array, default=None
        The labels (n,).
    columns : mapping or data frame, default=None
        Values (n,) by name, which constraints may use.
    weights : array, default=None
        The weight of each row. By default 1.
    classes : list, default=None
        The classes in order. By default they are read from the labels.
    refer : str, default=None
        The name of the decision to ask a person. It is one more than the classes; no label has it.
    positive : object, default=None
        The label that is the yes. By default the last of two.
    counts : array, default=None
        How many rows each row stands for when rows of groups are counted. By default 1.
    allow_absent : bool, default=False
        Whether a condition may name a value that no row has. By default that is an error.

    Examples
    --------
    >>> import ratebound as rb
    >>> rows = rb.Population(y=["no", "yes", "no"], columns={"age": [20, 40, None]})
    >>> rows.mask(rb.column("age") >= 30)
    array([False,  True, False])
    """

    X: Any = None
    y: Any = None
    columns: Any = None
    weights: Any = None
    classes: Sequence[Any] | None = None
    refer: str | None = None
    _: KW_ONLY
    positive: Any = None
    counts: Any = None
    allow_absent: bool = False
    size: int = field(init=False)
    cache: dict[Any, Any] = field(init=False, default_factory=dict)  # what was read

    def __post_init__(self) -> None:
        columns = self.columns
        if columns is None and is_frame(self.X):
            columns = self.X
        columns = read_columns(columns)
        y = None if self.y is None else as_array(self.y)
        weights = None if self.weights is None else np.asarray(as_array(self.weights), dtype=float)
        _check_weights(weights, self.allow_absent)
        attributes = {
            "y": y,
            "columns": columns,
            "weights": weights,
            "classes": _read_classes(y, self.classes, self.positive),
            "positive": None,  # the order of the classes holds it
            "size": _count_rows({"X": self.X, "y": y, "weights": weights}, columns),
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"Population({len(self):,} rows, classes {self.classes}, columns {list(self.columns)})"
        )

    def __len__(self) -> int:
        return self.size

    @property
    def row_weights(self) -> Any:
        """The weight of every row (n,)."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def weigh(self, mask: Any) -> float:
        """Return the total weight of some rows."""
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
        return replace(
            self,
            X=None if self.X is None else _select_rows(self.X, rows),
            y=None if self.y is None else self.y[rows],
            columns={name: values[rows] for name, values in self.columns.items()},
            weights=None if self.weights is None else self.weights[rows],
            counts=None if self.counts is None else self.counts[rows],
            allow_absent=True,
        )

    # --- columns ---

    def encode(self, name: Name | None) -> Encoded:
        """Return the distinct values and the codes of a column; None stands for the labels."""
        if name not in self.cache:
            self.cache[name] = _encode(self._find_column(name), f"column {name!r}")
        return self.cache[name]

    def _find_column(self, name: Name | None) -> Any:
        if name is None:
            return self.y
        if name in self.columns:
            return self.columns[name]
        width = 0
        if getattr(self.X, "ndim", 0) == 2:
            width = self.X.shape[1]
        if isinstance(name, int) and 0 <= name < width:
            column = self.X[:, [name]]
            if hasattr(column, "toarray"):
                column = column.toarray()
            return np.asarray(column).ravel()
        raise ValueError(f"there is no column {name!r}{suggest_name(name, self.columns)}")

    def list_combinations(self, names: list[Name]) -> set[tuple[Value | None, ...]]:
        """Return the combinations of the columns' values that occur in some row."""
        columns = [self.encode(name) for name in names]
        examples, _ = fold([column.codes for column in columns])
        values = [column.decode()[examples].tolist() for column in columns]
        return set(zip(*values, strict=True))

    def class_indices(self, name: Name | None, classes: tuple[Value, ...]) -> Any:
        """Return the class (n,) of every row's label, or of its value in a column of decisions."""
        key = (name, classes)
        if key not in self.cache:
            column = self.encode(name)
            values = column.values.tolist()
            are_bools = set(values) <= {0, 1} and not {0, 1} & set(classes)
            if name is not None and are_bools:
                values = [classes[int(value)] for value in values]  # True is the yes
            _check_classes(name, values, (column.codes < 0).any(), classes)
            indices = [classes.index(value) for value in values]
            self.cache[key] = np.array(indices, dtype=np.int64)[column.codes]
        return self.cache[key]

    def amounts(self, name: Name, needed: Any) -> Any:
        """Return the amounts (n,) in a column that costs use, 0 in rows that are not `needed`."""
        column = self.encode(name)
        if column.words - {"numbers"}:
            raise ValueError(f"column {name!r} is used as a cost, but does not hold numbers")
        values = np.append(column.values.astype(float), 0.0)  # the last one stands for -1
        amounts = values[column.codes]
        if (amounts < 0).any() or not np.isfinite(amounts).all():
            raise ValueError(f"column {name!r}: costs and weights must be finite and not negative")
        is_missing = (column.codes < 0) & needed
        if is_missing.any():
            raise ValueError(
                f"column {name!r} has no value in {is_missing.sum():,} rows whose errors it prices: "
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
        if isinstance(condition, Decided):  # any row may be; the rate's events select decisions
            return np.ones(len(self), dtype=bool)
        if isinstance(condition, Missing):
            return self.encode(condition.column).codes < 0
        if isinstance(condition, In):
            return self.mask(AnyOf(condition.equalities))
        assert isinstance(condition, Compare), condition
        return self._compare(condition)

    def _compare(self, leaf: Compare) -> Any:
        column = self.encode(leaf.column)
        met = column.compare(leaf)
        if self.allow_absent or leaf.relation not in ("==", "!="):
            return met
        is_equal = met if leaf.relation == "==" else ~met
        if not is_equal.any():
            equality = replace(leaf, relation="==")
            hint = suggest_name(leaf.value, column.values.tolist())
            raise ValueError(f"no row has {equality}{hint}")
        return met


def _encode(values: Any, name: str) -> Encoded:
    try:
        return encode_values(values)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _count_rows(parts: Mapping[str, Any], columns: Mapping[Name, Any]) -> int:
    """Return the number of rows; raise if the parts of a population do not agree on it."""
    named = dict(parts)
    for name, values in columns.items():
        named[f"column {name!r}"] = values
    sizes: dict[str, Any] = {}
    for key, part in named.items():
        if part is None:
            continue
        shape = part.shape if hasattr(part, "shape") else (len(part),)
        is_valid = key == "X" or len(shape) == 1
        sizes[key] = shape[0] if is_valid else shape  # a shape equals no number of rows
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
        raise ValueError("weights must be finite, not negative, and not all zero")


def _select_rows(features: Any, rows: Any) -> Any:
    if hasattr(features, "tocsr"):  # sparse
        return features[rows]
    if not is_frame(features):
        return np.asarray(features)[rows]
    import narwhals as nw

    frame = nw.from_native(features)
    indices = np.arange(len(frame))[rows]
    return frame[indices.tolist()].to_native()


# --- classes --------------------------------------------------------------------------------------


def _read_classes(
    y: Any,
    classes: Sequence[Any] | None,
    positive: Any,
) -> tuple[Value, ...] | None:
    """Return the classes in order, the yes last of two; None if there are no labels."""
    if classes is not None and positive is not None:
        raise ValueError("the last of classes= is the yes, so leave out positive=")
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


def _check_classes(
    name: Name | None,
    values: list[Any],
    has_missing: bool,
    classes: tuple[Value, ...],
) -> None:
    unknown = [value for value in values if value not in classes]
    if has_missing:
        unknown.append(None)
    if unknown:
        where = "y" if name is None else f"the column {name!r} of a live model's decisions"
        known = ", ".join(map(format_value, classes))
        raise ValueError(
            f"{where} holds {unknown[0]!r}, which is not one of the classes {known}: leave such rows out"
        )


def _find_classes(labels: list[Any], positive: Any) -> list[Any]:
    if positive is None:
        return _find_pair(labels) or labels
    pair = _find_pair([*labels, positive]) or labels
    negatives = [label for label in pair if label != positive]
    if positive not in pair or len(negatives) != 1:
        raise ValueError(
            f"positive={positive!r} must be one of two labels, but y holds {labels[:5]}: "
            "give classes=[no, yes]"
        )
    return [*negatives, positive]


def _find_pair(labels: list[Any]) -> list[Any] | None:
    """Return the known pair that holds all labels, if there is one."""
    for pair in PAIRS:
        are_bool = {isinstance(label, bool) for label in (*pair, *labels)}
        if labels and len(are_bool) == 1 and set(labels) <= set(pair):  # True equals 1
            return list(pair)
    return None


def collect_classes(populations: Mapping[str, Pieces]) -> tuple[tuple[Value, ...], int]:
    """Return all decisions, with a referral last, and the number of labels among them."""
    pieces = [piece for population in populations.values() for piece in population]
    listed = [piece.classes for piece in pieces if piece.classes is not None]
    labels: tuple[Value, ...] = (False, True)
    if listed:
        labels = tuple(dict.fromkeys(value for classes in listed for value in classes))
    if len({frozenset(classes) for classes in listed}) > 1:  # some piece lacks a class
        labels = tuple(sorted(labels, key=lambda value: (isinstance(value, str), value)))
    referrals = {piece.refer for piece in pieces if piece.refer is not None}
    if len(referrals) > 1:
        raise ValueError(f"a referral has one name in all populations, got {sorted(referrals)}")
    return (*labels, *referrals), len(labels)


# --- pieces ---------------------------------------------------------------------------------------

Pieces = Sequence[Population]  # parts of one population, which are read one after another


def as_pieces(population: Any) -> Pieces:
    """Return the pieces of a population; one of several pieces may lack values of a column."""
    pieces = [population] if isinstance(population, Population) else list(population)
    if not pieces or not all(isinstance(piece, Population) for piece in pieces):
        raise TypeError(
            f"rows are a rb.Population, or a list of its pieces, got {type(population).__name__}"
        )
    if len(pieces) == 1:
        return pieces
    return [replace(piece, allow_absent=True) for piece in pieces]
