"""Features are what models see of rows: tables become numbers, all else stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

TAKE_GAPS = ("lightgbm", "xgboost", "catboost")  # libraries whose models take missing values


def is_table(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "iloc")


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of a table, an array or a sparse matrix."""
    return X.iloc[rows] if is_table(X) else X[rows]


def stack_rows(parts: Any) -> Any:
    """Return the features of several populations, one after another."""
    if len(parts) == 1:
        return parts[0]
    if is_table(parts[0]):
        import pandas

        return pandas.concat(parts, ignore_index=True)
    if issparse(parts[0]):
        return vstack(parts).tocsr()
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How rows become features: by a fitted transformer of the columns that the model sees."""

    columns: list[Any] | None  # of a table
    transformer: Any  # or None

    def __call__(self, X: Any) -> Any:
        if self.columns is not None:
            X = self._select_columns(X)
        return X if self.transformer is None else self.transformer.transform(X)

    def _select_columns(self, X: Any) -> Any:
        if not is_table(X):
            raise TypeError("the model was trained on a table with named columns: give a table")
        missing = [name for name in self.columns if name not in X.columns]
        if missing:
            raise ValueError(
                f"the table has no column {missing[0]!r}, which the model was trained on"
            )
        return X[self.columns]


def fit_encoding(
    X: Any,
    columns: Any,
    model: Any,
    is_named: bool,
) -> Encoding:
    """Fit what a model sees of rows like these; a user's pipeline gets tables as they are."""
    takes_gaps = _takes_gaps(model)
    filler = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    if not is_table(X):
        if takes_gaps or issparse(X) or not np.isnan(X).any():
            return Encoding(None, None)
        return Encoding(None, filler.fit(X))
    columns = list(X.columns if columns is None else columns)
    if isinstance(model, Pipeline) and not is_named:
        return Encoding(columns, None)
    seen = X[columns]
    numbers = [name for name in columns if seen[name].dtype.kind in "biuf"]
    texts = [name for name in columns if name not in numbers]
    has_gaps = bool(seen[numbers].isna().any(axis=None))
    of_numbers = filler if has_gaps and not takes_gaps else "passthrough"
    of_texts = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=5, sparse_output=False
    )
    transformer = make_column_transformer((of_numbers, numbers), (of_texts, texts))
    transformer.set_output(transform="default")
    return Encoding(columns, transformer.fit(seen))


def _takes_gaps(model: Any) -> bool:
    """Return whether a classifier, or the last step of a pipeline, takes missing values."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    library = type(last).__module__.partition(".")[0]
    return library in TAKE_GAPS or get_tags(last).input_tags.allow_nan
