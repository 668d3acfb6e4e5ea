"""What `fit` is given: rows and labels, checked as scikit-learn does, or a population with its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from ratebound.base import processes
from ratebound.base.types import Array
from ratebound.estimators._people import (
    check_classes,
    check_positive,
    check_targets,
    check_whole_population,
    classes_of,
    in_order,
    labelled,
    trained_labels,
)
from ratebound.problem.classes import classes_of as all_classes
from ratebound.problem.frames import check_order, frame_columns, unmasked
from ratebound.problem.labels import label_values
from ratebound.problem.population import Population
from ratebound.problem.sharing import of_all
from ratebound.rates.rate import FIRST


def given_rows(
    estimator: Any, X: Any, y: Any, columns: Any, sample_weight: Any
) -> tuple[Population, tuple[Any, ...]]:
    """The rows to train `estimator` on, and the classes in the order that rates have them.

    The estimator is given the attributes that scikit-learn expects of it.
    """
    if not isinstance(X, Population):
        check_order(X, {"y": y, "sample_weight": sample_weight})
        X, labels, weights = _checked(estimator, unmasked(X), y, unmasked(sample_weight))
        classes = in_order(estimator.classes_, estimator.positive_label)
        return labelled(X, labels, columns, weights, classes), classes
    check_whole_population(X, y=y, columns=columns, sample_weight=sample_weight)
    check_positive(X, estimator.positive_label)
    classes = all_classes({FIRST: X}, FIRST)
    assert X.y is not None  # or it has been refused
    own = {(X.classes or classes)[int(place)] for place in np.unique(X.y)}
    present = set().union(*of_all(X, own))
    check_classes(np.asarray([each for each in classes if each in present]), len(X))
    estimator.classes_ = np.sort(np.asarray(classes))
    _name_features(estimator, frame_columns(X.X) or range(np.shape(X.X)[1]))
    return X, classes


def _checked(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
    """X as given or as an array, labels, weights; all checked as scikit-learn does."""
    if y is not None:  # which scikit-learn has a message for
        labels = label_values(y)
        classes = classes_of(labels)
        column_or_1d(y, warn=True)
        y = labels
    if names := frame_columns(X):
        _name_features(estimator, names)
        if y is None:
            raise ValueError(
                "fit needs y, a label for each row; only a population has its own, such as "
                "rb.Parquet(..., label=...)"
            )
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows and y {len(y)}")
    elif hasattr(X, "columns") and not len(X.columns):
        raise ValueError("X is a table without columns, so there is nothing to train on")
    else:
        X, y = validate_data(estimator, X, y, accept_sparse="csr", ensure_all_finite="allow-nan")
    if y.dtype.kind != "f":  # which scikit-learn has a message for, as numbers
        check_classes(classes, len(y))
    check_targets(y)
    check_classes(classes, len(y))
    estimator.classes_ = classes
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
    return X, trained_labels(y, in_order(classes, estimator.positive_label)), weights


def _name_features(estimator: Any, names: Sequence[Any]) -> None:
    processes.check_same("rows with the features", list(names))
    estimator.n_features_in_ = len(names)
    vars(estimator).pop("feature_names_in_", None)  # of an earlier fit
    if all(isinstance(name, str) for name in names):  # the only names scikit-learn knows
        estimator.feature_names_in_ = np.array(names, dtype=object)
