"""Models are the classifiers that learn labels and groups, named or given by users."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

BOOSTED: dict[
    str, Callable[[int], dict[str, Any]]
] = {  # the option by which a library uses some rounds only
    "lightgbm": lambda rounds: {"num_iteration": rounds},
    "xgboost": lambda rounds: {"iteration_range": (0, rounds)},
}
NAMES = ("linear", "lightgbm", "xgboost", "catboost", "mlp")
MANY_ROWS = 20_000  # from which trees are as large as usual; of fewer, shallow ones learn more
STAGES = (0.1, 0.2, 1 / 3, 2 / 3, 1.0)  # shares of boosting rounds that are compared
CALIBRATION_FOLDS = 3
MORE_ROUNDS = 3  # times as many as usual, of shallow trees: a third of them is the plain model
# Small trees shrink towards the share of a group: else they diverge where a group has few rows.
# Ten trees at .4 take a tenth less time; with a live model's column (churn) they cost .006.
SMALL = {"n_estimators": 20, "learning_rate": 0.25, "reg_lambda": 5.0, "n_jobs": 1}
SMALL_LIGHTGBM = {
    "num_leaves": 8,
    "min_child_samples": 5,
    "max_bin": 63,
    "force_row_wise": True,
    "verbose": -1,
}
SMALL_XGBOOST = {"max_depth": 3}
SMALL_HISTOGRAM = {
    "max_iter": 20,
    "learning_rate": 0.25,
    "max_leaf_nodes": 8,
    "l2_regularization": 5.0,
    "early_stopping": False,
}


class Scaler(StandardScaler):
    """Scales numbers, and leaves columns of zeros and ones as they are.

    Scaled too, a rare category would get the largest weight of all for the same penalty. That
    costs a linear model up to .009 of error on five tables with texts, and up to a quarter of its
    log loss.
    """

    scale_: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        super().fit(X, y, sample_weight)
        if issparse(X):
            other_values = (X.multiply(X) != X).sum(axis=0)
            is_flag = np.asarray(other_values).ravel() == 0
        else:
            values = np.asarray(X)
            is_flag = ((values == 0) | (values == 1)).all(axis=0)
        self.scale_ = np.where(is_flag, 1.0, self.scale_)
        return self


def make_label_model(model: Any, rows: int, sparse: bool = False) -> Any:
    """Return the classifier that learns the labels of so many rows, maybe a sparse matrix."""
    if not isinstance(model, str):
        return _check_classifier(model)
    size: dict[str, Any] = {}
    if model == "linear":
        return make_pipeline(Scaler(with_mean=not sparse), LogisticRegression(max_iter=1000))
    if model == "lightgbm":
        from lightgbm import LGBMClassifier

        if rows < MANY_ROWS:
            size = {"num_leaves": 8}
        return LGBMClassifier(verbose=-1, n_jobs=1, force_row_wise=True, **size)
    if model == "xgboost":
        from xgboost import XGBClassifier

        if rows < MANY_ROWS:
            size = {"max_depth": 3, "n_jobs": 1}
        return XGBClassifier(**size)
    if model == "catboost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(verbose=0, allow_writing_files=False)
    if model == "mlp":
        from sklearn.neural_network import MLPClassifier

        network = MLPClassifier((64,), early_stopping=True, random_state=0)
        return make_pipeline(Scaler(with_mean=not sparse), network)
    near = get_close_matches(model, NAMES, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"model= takes one of {', '.join(NAMES)}, or a classifier; got {model!r}{hint}"
    )


def _check_classifier(model: Any) -> Any:
    """Return a classifier with probabilities; one that only scores rows is calibrated."""
    is_object = not isinstance(model, type)
    if is_object and hasattr(model, "fit") and hasattr(model, "predict_proba"):
        return model
    if is_object and hasattr(model, "fit") and hasattr(model, "decision_function"):
        return CalibratedClassifierCV(model, cv=CALIBRATION_FOLDS, ensemble=False)
    raise TypeError(
        f"model= takes one of {', '.join(NAMES)}, or a classifier with predict_proba or "
        f"decision_function; got {model!r}"
    )


def list_rounds(name: Any, model: Any, rows: int) -> list[int]:
    """Return the numbers of boosting rounds to compare for a library that is named, or none.

    Shallow trees may need more than usual: on 10,000 rows of ACSIncome the error is .203 with 300
    rounds and .209 with 100; on 3,000 of COMPAS it is .318 with 300 and .312 with 100.
    """
    if not isinstance(name, str) or name not in BOOSTED:
        return []
    most = model.n_estimators or 100
    if rows < MANY_ROWS:
        most *= MORE_ROUNDS
    return [max(1, round(share * most)) for share in STAGES]


def make_group_model(model: Any) -> Any:
    """Return a small classifier of the same kind: it learns groups among the rows of a label."""
    if isinstance(model, Pipeline):
        pipeline = clone(model)
        pipeline.steps[-1] = ("groups", make_group_model(model.steps[-1][1]))
        return pipeline
    if type(model) is LogisticRegression:
        return clone(model).set_params(class_weight=None)
    if _find_library(model) == "lightgbm":
        return type(model)(**SMALL | SMALL_LIGHTGBM)
    if _find_library(model) == "xgboost":
        return type(model)(**SMALL | SMALL_XGBOOST)
    if type(model).__name__.startswith("HistGradientBoosting"):
        return clone(model).set_params(**SMALL_HISTOGRAM)
    filler = SimpleImputer(keep_empty_features=True)
    scaler = StandardScaler(with_mean=False)
    return make_pipeline(filler, scaler, LogisticRegression(max_iter=1000))


def make_regression(X: Any) -> Any:
    """Return a linear regression on features like these."""
    filler = SimpleImputer(keep_empty_features=True)
    scaler = StandardScaler(with_mean=not issparse(X))
    return make_pipeline(filler, scaler, Ridge())


def fit_clone(
    model: Any,
    X: Any,
    y: Any,
    weights: Any = None,
    seed: int | None = None,
    **params: Any,
) -> Any:
    """Return a clone fitted to labels; without two of them, one that knows their share.

    `seed` fills in every random state that is not set.
    """
    is_classifier = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    if is_classifier and len(np.unique(y)) < 2:
        model = DummyClassifier(strategy="prior")
    fit = clone(model)
    if seed is not None:
        for name, value in fit.get_params().items():
            if name.rpartition("__")[2] == "random_state" and value is None:
                fit.set_params(**{name: seed})
    if weights is None:
        return fit.fit(X, y, **params)
    if not isinstance(fit, Pipeline):
        return fit.fit(X, y, sample_weight=weights)
    for name, step in fit.steps:
        if has_fit_parameter(step, "sample_weight"):
            params[f"{name}__sample_weight"] = weights
    return fit.fit(X, y, **params)


def predict_probabilities(
    fit: Any,
    X: Any,
    count: int,
    rounds: int | None = None,
) -> Any:
    """Return the probability (count, n) of each answer 0, 1, ..., after some rounds of boosting."""
    library = _find_library(fit)
    options = {}
    if rounds is not None and library in BOOSTED:
        options = BOOSTED[library](rounds)
    probabilities = np.zeros((count, X.shape[0]))
    answers = np.asarray(fit.classes_, dtype=int)
    probabilities[answers] = fit.predict_proba(X, **options).T
    return probabilities


def _find_library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]
