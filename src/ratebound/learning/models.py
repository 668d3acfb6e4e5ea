"""Models are the classifiers that learn labels and groups, named or given by users."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

NAMES = ("linear", "lightgbm", "xgboost", "catboost", "mlp")
MANY_ROWS = 20_000  # from which trees are as large as usual; of fewer, shallow ones learn more
STAGES = (0.1, 0.2, 1 / 3, 2 / 3, 1.0)  # shares of boosting rounds that are compared
CALIBRATION_FOLDS = 3
MORE_ROUNDS = 3  # times as many as usual, of shallow trees: a third of them is the plain model
# Small trees shrink towards the share of a group: else they diverge where a group has few rows.
# Ten trees at .4 take a tenth less time; with a live model's column (churn) they cost .006.
SMALL = {"n_estimators": 20, "learning_rate": 0.25, "reg_lambda": 5.0, "n_jobs": 1}
BOOSTED: dict[str, dict[str, Any]] = {  # libraries whose number of rounds is chosen
    "lightgbm": {
        "num_leaves": 8,
        "min_child_samples": 5,
        "max_bin": 63,
        "force_row_wise": True,
        "verbose": -1,
    },
    "xgboost": {"max_depth": 3},
}
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
        is_number = np.ravel((X.astype(bool) != X).sum(axis=0)) > 0
        self.scale_ = np.where(is_number, self.scale_, 1.0)
        self.var_ = None  # only `partial_fit` reads it, and models are stored
        return self


def make_label_model(model: Any, rows: int, sparse: bool = False) -> Any:
    """Return the classifier that learns the labels of so many rows, maybe a sparse matrix."""
    if not isinstance(model, str):
        return _check_classifier(model)
    is_small = rows < MANY_ROWS
    if model == "linear":
        return make_pipeline(Scaler(with_mean=not sparse), LogisticRegression(max_iter=1000))
    if model == "lightgbm":
        from lightgbm import LGBMClassifier

        leaves = 8 if is_small else 31
        return LGBMClassifier(num_leaves=leaves, verbose=-1, n_jobs=1, force_row_wise=True)
    if model == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(max_depth=3, n_jobs=1) if is_small else XGBClassifier()
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
    if isinstance(model, type) or not (hasattr(model, "fit") and scores_rows(model)):
        raise TypeError(
            f"model= takes one of {', '.join(NAMES)}, or a classifier with predict_proba or "
            f"decision_function; got {model!r}"
        )
    if hasattr(model, "predict_proba"):
        return model
    return CalibratedClassifierCV(model, cv=CALIBRATION_FOLDS, ensemble=False)


def scores_rows(model: Any) -> bool:
    return hasattr(model, "predict_proba") or hasattr(model, "decision_function")


def list_rounds(name: Any, model: Any, rows: int) -> list[int]:
    """Return the numbers of boosting rounds to compare for a library that is named, or none.

    Shallow trees may need more than usual: on 10,000 rows of ACSIncome the error is .203 with 300
    rounds and .209 with 100; on 3,000 of COMPAS it is .318 with 300 and .312 with 100.
    """
    if name not in BOOSTED:
        return []
    most = model.n_estimators or 100
    if rows < MANY_ROWS:
        most *= MORE_ROUNDS
    return [round(share * most) for share in STAGES]


def make_group_model(model: Any) -> Any:
    """Return a small classifier of the same kind: it learns groups among the rows of a label."""
    if isinstance(model, Pipeline):
        pipeline = clone(model)
        pipeline.steps[-1] = ("groups", make_group_model(model.steps[-1][1]))
        return pipeline
    if type(model) is LogisticRegression:
        return clone(model).set_params(class_weight=None)
    library = _find_library(model)
    if library in BOOSTED:
        return type(model)(**SMALL | BOOSTED[library])
    if type(model).__name__.startswith("HistGradientBoosting"):
        return clone(model).set_params(**SMALL_HISTOGRAM)
    return _fill_and_scale(LogisticRegression(max_iter=1000))


def make_regression() -> Any:
    """Return a linear regression."""
    return _fill_and_scale(Ridge())


def _fill_and_scale(model: Any) -> Any:
    filler = SimpleImputer(keep_empty_features=True)
    scaler = StandardScaler(with_mean=False)  # as rows may be sparse
    return make_pipeline(filler, scaler, model)


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
    if scores_rows(model) and len(np.unique(y)) < 2:
        model = DummyClassifier(strategy="prior")
    fit = clone(model)
    for name, value in fit.get_params().items():
        if name.rpartition("__")[2] == "random_state" and value is None:
            fit.set_params(**{name: seed})
    if weights is not None and not isinstance(fit, Pipeline):
        params["sample_weight"] = weights
    elif weights is not None:
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
    probabilities = np.zeros((count, X.shape[0]))
    if not X.shape[0]:
        return probabilities
    options: dict[str, Any] = {}
    if rounds is not None:
        is_lightgbm = _find_library(fit) == "lightgbm"
        options = {"num_iteration": rounds} if is_lightgbm else {"iteration_range": (0, rounds)}
    answers = np.asarray(fit.classes_, dtype=int)
    with ignore_feature_names():
        probabilities[answers] = fit.predict_proba(X, **options).T
    return probabilities


@contextmanager
def ignore_feature_names() -> Iterator[None]:
    """Ignore a warning of older LightGBM, which names the columns of an array by itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _find_library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]
