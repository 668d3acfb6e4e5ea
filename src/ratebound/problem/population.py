"""The rows a rate is computed on: features, labels, columns that constraints speak of, weights."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Population:
    """Rows with features `X`, labels `y` and `columns` for constraints to speak of.

    `X` is an array or a DataFrame; the columns of a DataFrame can be spoken of too. `y` may be left
    out for rates that need no labels. `positive` says which label is yes when the two are not 0 and
    1, -1 and 1, or False and True. `weights` count each row that many times. `models` maps a name to
    an existing fitted model, whose decisions on `X` become a column of that name.

    >>> people = Population([[0.1], [0.7]], [0, 1], columns={"sex": ["Female", "Male"]})
    >>> len(people)
    2
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        columns: Any = None,
        *,
        weights: Any = None,
        positive: Any = None,
        models: Mapping[str, Any] | None = None,
    ) -> None:
        self.X = X
        self.columns = _mapping(columns)
        lengths = {} if X is None else {"X": _length(X)}
        if y is not None:
            lengths["y"] = _length(y)
        if weights is not None:
            lengths["weights"] = _length(weights)
        lengths |= {f"columns[{name!r}]": _length(values) for name, values in self.columns.items()}
        if not lengths:
            raise ValueError("a population needs at least one of X, y and columns")
        self.size = next(iter(lengths.values()))
        if len(set(lengths.values())) > 1:
            different = ", ".join(f"{name} has {n}" for name, n in lengths.items())
            raise ValueError(f"all parts of a population need the same number of rows: {different}")
        if self.size == 0:
            raise ValueError("a population needs at least one row")
        self._positive = positive
        self._label_values: list[Any] = []
        self.y = None if y is None else self._read_labels(y)
        self.weights = None if weights is None else _read_weights(weights)
        for name, model in (models or {}).items():
            decisions = np.asarray(model.predict(X))
            if len(decisions) != self.size:
                raise ValueError(f"model {name!r} has {len(decisions)} decisions for {self.size} rows")
            self.columns[name] = decisions

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        labels = "no labels" if self.y is None else f"{int(self.y.sum()):,} positive"
        return f"Population({self.size:,} rows, {labels}, columns {', '.join(self.column_names)})"

    @property
    def column_names(self) -> list[str]:
        return [*self.columns, *(c for c in _frame_columns(self.X) if c not in self.columns)]

    @cached_property
    def features(self) -> Array:
        """`X` as an array of numbers, for learners that need one."""
        if self.X is None:
            raise ValueError("this population has no features X, so no model can be trained on it")
        if names := _frame_columns(self.X):
            return np.column_stack([_numbers(_as_array(self.X[name]), name) for name in names])
        values = _as_array(self.X)
        if values.ndim < 2:
            raise ValueError(f"X needs rows and features, got an array of shape {values.shape}")
        if values.dtype.kind not in "buif":
            raise ValueError(f"X must hold numbers, got an array of {values.dtype}")
        return values

    def column(self, name: str) -> Array:
        """A column's values, checked to have none missing."""
        if name in self.columns:
            values = _as_array(self.columns[name])
        elif name in _frame_columns(self.X):
            values = _as_array(self.X[name])
        else:
            raise ValueError(_unknown_column(name, self.column_names))
        if values.ndim != 1:
            raise ValueError(f"column {name!r} has shape {values.shape}, expected one value per row")
        missing = _missing(values)
        if missing.any():
            raise ValueError(
                f"column {name!r} has {int(missing.sum())} missing values: fill them with a value of "
                "their own, or leave those rows out"
            )
        return values

    def decisions(self, name: str) -> Array:
        """The yes-decisions of the existing model whose decisions are in column `name`."""
        return self._as_yes(self.column(name), f"column {name!r}")

    def _read_labels(self, y: Any) -> Array:
        values = _as_array(y)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"y has shape {values.shape}, expected one label per row")
        if _missing(values).any():
            raise ValueError(
                f"y has {int(_missing(values).sum())} missing labels: leave those rows out, or pass "
                "them as an unlabelled population of their own"
            )
        return self._as_yes(values, "y")

    def _as_yes(self, values: Array, what: str) -> Array:
        """Two-valued `values` as booleans, True where they say yes.

        Decisions may be spelled as the labels are; otherwise True, or 1 of 0 and 1 or of -1 and 1, is
        yes.
        """
        found = _distinct(values)
        is_label = what == "y"
        if is_label:
            self._label_values = found
        as_labels = self._positive in found or set(found) <= set(self._label_values)
        labels = self._label_values or [self._positive]
        same_kind = (values.dtype == bool) == all(isinstance(value, bool) for value in labels)
        if self._positive is not None and (is_label or (as_labels and same_kind)):
            if len(found) > 2 or (len(found) == 2 and self._positive not in found):
                raise ValueError(
                    f"{what} needs two values, one of them {self._positive!r}; it holds {_some(found)}"
                )
            return np.asarray(values == self._positive)
        if values.dtype == bool:
            return values
        if set(found) <= {0, 1} or set(found) <= {-1, 1}:
            return np.asarray(values == 1)
        remedy = (
            "say which of the two is yes: Population(..., positive=...)"
            if len(found) == 2
            else "two classes are needed; make it yes or no first"
        )
        raise ValueError(f"{what} holds {_some(found)}: {remedy}")


def _read_weights(weights: Any) -> Array:
    values = np.asarray(_as_array(weights), dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"weights have shape {values.shape}, expected one number per row")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("weights must be finite and not negative")
    if not values.any():
        raise ValueError("all weights are zero, so no row counts")
    return values


def _mapping(columns: Any) -> dict[str, Any]:
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        return dict(columns)
    names = _frame_columns(columns)
    if not names:
        raise TypeError(
            f"columns takes a DataFrame or a mapping from names to values, got {type(columns).__name__}"
        )
    return {name: columns[name] for name in names}


def _frame_columns(X: Any) -> list[str]:
    """The column names of a DataFrame (pandas, polars), and none for anything else."""
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "to_numpy") else []


def _length(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") and values.shape else len(values)


def _as_array(values: Any) -> Array:
    if hasattr(values, "to_numpy"):
        frame: Array = values.to_numpy()
        return frame
    array = np.asarray(values)
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):
        array = np.asarray(values, dtype=object)  # a list's None or NaN among texts must stay missing
    return array


def _numbers(values: Array, name: str) -> Array:
    """A column of a DataFrame as numbers; missing ones as NaN, for learners that take them."""
    if values.dtype.kind == "O" and not any(isinstance(v, str) for v in values):
        missing = _missing(values)
        values = np.where(missing, np.nan, np.where(missing, 0, values)).astype(float)
    if values.dtype.kind not in "buif":
        raise ValueError(
            f"column {name!r} of X holds no numbers: encode it, or leave it out of X and pass it in "
            "columns= if only constraints speak of it"
        )
    return values


def _missing(values: Array) -> Array:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    """None, NaN, or a marker such as pandas' NA, which is not even comparable with itself."""
    differs = value != value
    return value is None or not isinstance(differs, bool | np.bool_) or bool(differs)


def _distinct(values: Array) -> list[Any]:
    """Up to eleven distinct values, found without sorting where values of one column differ in type."""
    if values.dtype.kind == "O":
        return list(dict.fromkeys(values.tolist()))[:11]
    found: list[Any] = np.unique(values)[:11].tolist()
    return found


def _some(values: list[Any]) -> str:
    return ", ".join(map(repr, values[:10])) + (", ..." if len(values) > 10 else "")


def _unknown_column(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, [str(k) for k in known], n=1)
    hint = f", did you mean {close[0]!r}?" if close else "."
    return f"there is no column {name!r}{hint} It has {_some(list(known)) or 'none'}."
