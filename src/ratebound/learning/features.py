"""Features are what models see of rows: columns of tables become numbers, matrices stay as they are.

A row's features depend on that row alone, and on the names of its columns, not on their order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, get_tags

from ratebound.learning.given import Rows
from ratebound.problem.columns import as_array, encode_values, is_frame, list_names
from ratebound.rates.conditions import Name

TAKE_GAPS = ("lightgbm", "xgboost", "catboost")  # libraries whose models take missing values
FREQUENT = 5  # rows of a value that has a flag of its own
SAMPLE = 20_000  # rows, about, that typical features are of


def take_rows(X: Rows, rows: Any) -> Any:
    """Return some rows of a table, an array or a sparse matrix."""
    return _safe_indexing(X, rows)


def stack_rows(parts: Sequence[Rows]) -> Any:
    """Return the features of several populations, one after another."""
    if len(parts) == 1:
        return parts[0]
    if is_frame(parts[0]):
        import narwhals as nw

        return nw.concat([nw.from_native(part) for part in parts]).to_native()
    if issparse(parts[0]):
        return vstack(parts).tocsr()
    return np.concatenate(parts)


@dataclass(frozen=True)
class Category:
    """A column of texts: a flag for each frequent value, and one for all others if some are rare."""

    name: Name
    values: tuple[Any, ...]
    has_rare: bool

    @property
    def feature_names(self) -> list[str]:
        names = [f"{self.name} == {value!r}" for value in self.values]
        return [*names, f"{self.name} is rare"] if self.has_rare else names

    def encode(self, values: Any) -> Any:
        """Return the flags (n, k) of values (n,)."""
        column = encode_values(values)
        distinct = [*column.values.tolist(), None]  # missing values have the code -1
        flags = np.zeros((len(distinct), len(self.feature_names)))
        for row, value in enumerate(distinct):
            if value in self.values:
                flags[row, self.values.index(value)] = 1
            elif self.has_rare:
                flags[row, -1] = 1
        is_new = flags[column.codes].sum(axis=1) == 0
        if is_new.any():
            example = distinct[column.codes[is_new.argmax()]]
            warnings.warn(
                f"column {self.name!r} has values that no training row had, such as {example!r}, "
                f"rows: {int(is_new.sum()):,}. These are decided by the other columns",
                stacklevel=5,
            )
        return flags[column.codes]


@dataclass(frozen=True, eq=False)
class Encoding:
    """How rows become what the model reads."""

    columns: tuple[Name, ...] | None  # that the model reads; None for every one of a matrix
    is_named: bool  # whether rows are tables
    numbers: tuple[Name, ...] | None = None  # None if rows stay as they are
    categories: tuple[Category, ...] = ()
    imputer: Any = None  # of numbers, if the model takes no gaps
    typical: Any = None  # (d,) medians of features

    def __call__(self, X: Rows) -> Any:
        if self.is_named:
            self._check_columns(X)
        if self.numbers is None:
            return _select_columns(X, self.columns)
        numbers = self.read_numbers(X)
        if self.imputer is not None:
            numbers = self.imputer.transform(numbers)
        flags = [category.encode(X[category.name]) for category in self.categories]
        return np.hstack([numbers, *flags]) if flags else numbers

    def _check_columns(self, X: Rows) -> None:
        if not is_frame(X):
            raise TypeError("the model was trained on a table with named columns: give a table")
        names = list_names(X)
        for name in self.columns or ():
            if name not in names:
                raise ValueError(
                    f"the table has no column {name!r}, which the model was trained on"
                )

    def read_numbers(self, X: Rows) -> Any:
        """Return the numbers (n, k) of a table, or a matrix."""
        if not self.is_named:
            return _select_columns(X, self.columns)
        parts = [np.empty((len(X), 0))]
        for name in self.numbers or ():
            values = _read_number(X[name])
            if values is None:
                raise ValueError(f"column {name!r} held numbers in training, and holds texts here")
            parts.append(values[:, None])
        return np.hstack(parts)

    def list_features(self) -> list[tuple[Name, str]]:
        """Return the column that each feature is made of, and the name of the feature."""
        numbers = self.numbers or ()
        features = [(name, str(name)) for name in numbers]
        if self.imputer is not None:
            gaps = [numbers[index] for index in self.imputer.indicator_.features_]
            features += [(name, f"{name} is missing") for name in gaps]
        for category in self.categories:
            features += [(category.name, name) for name in category.feature_names]
        return features


def _select_columns(X: Rows, columns: Sequence[Name] | None) -> Any:
    if columns is None:
        return X
    if not is_frame(X):
        return X[:, list(columns)]
    import narwhals as nw

    return nw.from_native(X).select(*columns).to_native()


def _read_number(values: Any) -> Any:
    """Return a column as floats (n,), dates too; None if it holds texts."""
    array = as_array(values)
    if array.dtype.kind in "biuf":
        return array.astype(float)
    column = encode_values(array)
    if "text" in column.words:
        return None
    return np.append(column.values.astype(float), np.nan)[column.codes]


# --- fitting --------------------------------------------------------------------------------------


def fit_encoding(
    X: Rows,
    columns: Sequence[Name] | None,
    model: Any,
    is_named: bool,
) -> Encoding:
    """Fit what a model sees of rows like these; a user's pipeline gets tables as they are."""
    is_table = is_frame(X)
    every: Sequence[Name] = list_names(X) if is_table else range(X.shape[1])
    numbers: list[Name] = list(every if columns is None else columns)
    selected = tuple(numbers) if is_table or numbers != list(every) else None
    if issparse(X) or (is_table and isinstance(model, Pipeline) and not is_named):
        return Encoding(selected, is_table)
    categories = []
    for name in every if is_table else ():
        if name in numbers and _read_number(X[name]) is None:
            categories.append(_fit_category(name, X[name]))
            numbers.remove(name)
    encoding = Encoding(selected, is_table, tuple(numbers), tuple(categories))
    if not _takes_gaps(model):
        imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        encoding = replace(encoding, imputer=imputer.fit(encoding.read_numbers(X)))
    some = np.arange(0, X.shape[0], 1 + X.shape[0] // SAMPLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a number
        typical = np.nanmedian(encoding(take_rows(X, some)), axis=0)
    return replace(encoding, typical=np.nan_to_num(typical))


def _fit_category(name: Name, values: Any) -> Category:
    column = encode_values(values)
    distinct = [*column.values.tolist(), None]
    codes, sizes = np.unique(column.codes, return_counts=True)
    is_frequent = sizes >= FREQUENT
    frequent = [distinct[code] for code in codes[is_frequent]]
    return Category(name, tuple(frequent), not is_frequent.all())


def _takes_gaps(model: Any) -> bool:
    """Return whether a classifier, or the last step of a pipeline, takes missing values."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    library = type(last).__module__.partition(".")[0]
    return library in TAKE_GAPS or get_tags(last).input_tags.allow_nan


# --- what models read most ------------------------------------------------------------------------


def average_over_fits(fits: Sequence[Any], name: str) -> Any:
    """Return the mean coefficients in the units of features, or importances that sum to 1."""
    parts = []
    for fit in fits:
        *scalers, (_, last) = fit.steps if isinstance(fit, Pipeline) else [("", fit)]
        values = getattr(last, name, None)
        if values is None or not all(isinstance(step, StandardScaler) for _, step in scalers):
            raise AttributeError(
                f"{type(fit).__name__} has no {name}: reasons(X) shows the effects of columns"
            )
        if name == "coef_":
            for _, scaler in scalers:
                values = values / scaler.scale_
        else:
            values = values / values.sum()
        parts.append(values)
    return np.mean(parts, axis=0)
