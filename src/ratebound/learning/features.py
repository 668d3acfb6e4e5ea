"""Features are what models see of rows: columns of tables become numbers, matrices stay as they are.

A row's features depend on that row alone, and on the names of its columns, not on their order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import InputTags, _safe_indexing, get_tags

from ratebound import _bridge
from ratebound.learning.given import Rows, has_columns
from ratebound.learning.models import make_label_model
from ratebound.problem.columns import is_frame

TAKE_GAPS = ("lightgbm", "xgboost", "catboost")  # libraries whose models take missing values
SAMPLE = 20_000  # rows, about, that typical features are of


def take_rows(X: Rows, rows: Any) -> Any:
    """Return some rows of a table, an array or a sparse matrix."""
    if has_columns(X) and not is_frame(X):
        return X[rows]
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


def fit_encoding(X: Rows, features: Any, model: Any, weights: Any = None) -> Any:
    """Fit how rows become what a model reads; a user's pipeline gets tables as they are.

    Numbers keep their units: models that need them scaled do so themselves. Missing values are
    filled in and flagged, unless the model takes them.
    """
    classifier = make_label_model(model, X.shape[0], issparse(X))
    library = type(classifier).__module__.partition(".")[0]
    tags = InputTags(sparse=True)
    if hasattr(classifier, "__sklearn_tags__"):
        tags = get_tags(classifier).input_tags
    while hasattr(model, "estimator"):  # of a search or a calibration
        model = model.estimator
    return _bridge.fit_encoding(
        X,
        weights,
        features,
        style="table" if isinstance(model, Pipeline) else "plain",
        takes_missing=library in TAKE_GAPS or tags.allow_nan,
        takes_sparse=library != "xgboost" and tags.sparse,
    )


def encode_rows(encoding: Any, X: Rows) -> Any:
    """Return the features of rows (n, d)."""
    features = encoding.transform(X)
    return csr_matrix(features) if issparse(features) else features  # LightGBM takes no csr_array


def find_typical(features: Any) -> Any:
    """Return the medians (d,) of features; None if they are a table or a sparse matrix."""
    if not isinstance(features, np.ndarray):
        return None
    some = features[:: 1 + len(features) // SAMPLE]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without a number
        return np.nan_to_num(np.nanmedian(some, axis=0))


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
