"""One ensemble of trees while it grows and once it is grown, in LightGBM's words and in XGBoost's.

Everything the learner needs of either library is here: its settings read off an estimator, a tree
grown on a gradient and a curvature, the scores on the training rows, the scores of a range of trees,
and the ensemble as bytes. For more than two classes a round grows a tree for each of them, and scores
are (D, n) where they are (n,) for two; scores start at 0, whatever the shares of the classes.

What an LGBMClassifier or an XGBClassifier asks for is read off its parameters. The objective, the
weights of classes and the number of classes are the game's to say; what would make a model that is not
the sum of its first trees is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from threading import Lock
from typing import Any

import numpy as np

from ratebound.base import processes
from ratebound.base.extras import import_extra
from ratebound.base.types import Array
from ratebound.learners._checking_trees import checked_lightgbm, checked_xgboost
from ratebound.learners._tree_graph import flat_lightgbm, flat_xgboost
from ratebound.problem.matrices import as_dense

# --- what an estimator asks for -----------------------------------------------------------------


SEEDS = ("seed", "random_seed", "random_state")  # what the libraries call it


@dataclass(frozen=True)
class Recipe:
    """How an estimator would be trained: the library's own parameters, and what is left to us."""

    params: dict[str, Any]
    rounds: int
    patience: int | None
    data: dict[str, Any]  # what is said of the features where the training rows are read
    categorical: Sequence[int] = ()  # features that hold codes of categories
    decisions: int = 2  # how many classes there are

    def on(self, categorical: Sequence[int], seed: int, decisions: int) -> Recipe:
        """The recipe with the features that are codes, and the game's seed where it has none."""
        own = [self.params[name] for name in SEEDS if name in self.params]
        if not all(isinstance(one, Integral) for one in own):
            raise TypeError(
                f"random_state of the estimator must be a whole number or None, got {own[0]!r}"
            )
        params = self.params if own else self.params | {"seed": seed}
        codes = tuple(map(int, categorical))
        return replace(self, params=params, categorical=codes, decisions=decisions)


def lightgbm_recipe(model: Any) -> Recipe:
    """What an LGBMClassifier asks for; the library's parameters may go by any of their names."""
    params = {name: value for name, value in model.get_params().items() if value is not None}
    _refuse_weights(params, class_weight=None, scale_pos_weight=1, is_unbalance=False, unbalance=False)
    # "dart" and "rf" rescale earlier trees: their first t are not the model of round t.
    boosting = [params.get(name, "gbdt") for name in ("boosting", "boosting_type", "boost")]
    _refuse("boosting_type", boosting, ("gbdt", "gbrt", "goss"))
    linear = [params.get(name, False) for name in ("linear_tree", "linear_trees")]
    _refuse("linear_tree", linear, (False,))  # a tree's score is read off the leaf a row falls into
    names = ("objective", "objective_type", "application", "app", "loss")
    given = [params.pop(name, "binary") for name in names]
    _refuse("objective", given, ("binary", "multiclass", "softmax"))
    _taken(params, "num_class num_classes")  # as many as the rows have
    rounds = _taken(params, "n_estimators num_iterations num_iteration num_boost_round num_round "
                    "num_rounds nrounds num_tree num_trees n_iter max_iter")  # fmt: skip
    patience = _taken(params, "early_stopping_round early_stopping_rounds early_stopping "
                      "n_iter_no_change")  # fmt: skip
    categorical = _taken(params, "categorical_feature categorical_features categorical_column "
                         "cat_feature cat_column")  # fmt: skip
    params.pop("importance_type", None)
    params |= lightgbm_unsaid(params)
    return Recipe(
        params=params | {"objective": "none", "metric": "none"},
        rounds=100 if rounds is None else int(rounds),
        patience=_positive(patience),
        data={} if categorical is None else {"categorical_feature": categorical},
    )


def lightgbm_unsaid(params: Mapping[str, Any]) -> dict[str, Any]:
    """What we say where an LGBMClassifier says nothing: to be silent, and to be the same every time."""
    found: dict[str, Any] = {}
    if not params.keys() & {"verbosity", "verbose"}:
        found["verbosity"] = -1
    if not params.keys() & {"force_col_wise", "force_row_wise"}:
        # Otherwise LightGBM times both and takes the faster, and bits depend on how busy a machine is.
        found["force_col_wise"] = True
    return found


def xgboost_recipe(model: Any) -> Recipe:
    """What an XGBClassifier asks for."""
    given = {name: value for name, value in model.get_params().items() if value is not None}
    _refuse_weights(given, scale_pos_weight=1)
    _refuse("booster", [given.get("booster", "gbtree")], ("gbtree",))
    known = ("binary:logistic", "multi:softprob", "multi:softmax")
    _refuse("objective", [given.get("objective", known[0])], known)
    one_each = "one_output_per_tree"
    _refuse("multi_strategy", [given.get("multi_strategy", one_each)], (one_each,))
    _refuse("base_score", [given.get("base_score", 0.5)], (0.5,))
    if "callbacks" in given:
        raise ValueError("callbacks of the estimator are not called: use play(..., stop=)")
    missing = given.get("missing", math.nan)
    if not math.isnan(missing):
        raise ValueError(f"missing={missing} of the estimator: mark missing values as NaN instead")
    params = {name: value for name, value in model.get_xgb_params().items() if value is not None}
    for name in ("eval_metric", "num_class", "objective", "base_score"):
        params.pop(name, None)
    return Recipe(
        params=params,
        rounds=int(given.get("n_estimators", 100)),
        patience=_positive(given.get("early_stopping_rounds")),
        data={name: given[name] for name in ("feature_types", "feature_weights") if name in given},
    )


def _refuse(name: str, given: Sequence[Any], known: Sequence[Any]) -> None:
    for value in given:
        if value not in known:
            raise ValueError(
                f"{name}={value!r} cannot play the game: leave it out, or set it to {known[0]!r}"
            )


def _refuse_weights(params: dict[str, Any], **neutral: Any) -> None:
    """Raise for weights of classes, which would distort the rates: weights belong to the population."""
    for name, value in neutral.items():
        given = params.pop(name, value)
        if given != value:
            raise ValueError(
                f"{name}={given!r} of the estimator is not used: weigh rows by rb.Population(..., "
                "weights=), or say what matters as a constraint"
            )


def _taken(params: dict[str, Any], names: str) -> Any:
    """The value under the last of these names that is given; all are taken out."""
    found = [params.pop(name) for name in names.split() if name in params]
    return found[-1] if found else None


def _positive(patience: Any) -> int | None:
    return int(patience) if patience and patience > 0 else None


# --- ensembles ----------------------------------------------------------------------------------


BUNDLING = {"enable_bundle", "is_enable_bundle", "bundle"}  # LightGBM's names for it
LOOKED_AT = 10_000  # rows


def _miscounted(rows: Any) -> bool:
    """Whether LightGBM may bundle features that are not exclusive, such as standardised 0/1 columns.

    It looks for the rows where a feature has not its usual value after it has sorted the feature's
    numbers other than 0, so where the usual value is not 0, and one of two others, it finds the wrong
    rows. Trees then see another value than the row has, and scores in training are not those of the
    model deployed. Without bundles all is exact, and slower.
    """
    if not isinstance(rows, np.ndarray):  # the usual value of a sparse matrix is 0
        return False
    some = rows[:: max(len(rows) // LOOKED_AT, 1)]
    usual = np.sort(some, axis=0)[len(some) // 2]  # what more than half of them are, if anything is
    most = (some == usual).mean(axis=0) > 0.5
    others = ((some != usual) & (some != 0)).any(axis=0)
    return bool((most & others & (usual != 0)).any())


class LightGBM:
    """One ensemble of LightGBM's."""

    recipe, checked = staticmethod(lightgbm_recipe), staticmethod(checked_lightgbm)
    flat = staticmethod(flat_lightgbm)
    branch, unknown_left = "BRANCH_LEQ", False  # what goes left: numbers up to the threshold
    CLASSIFIER = "LGBMClassifier"
    takes_sparse = True
    dtype = np.float64  # of its scores

    def __init__(self, booster: Any) -> None:
        # LightGBM keeps the range of trees of the last question, so threads take turns asking.
        self.booster, self.asking = booster, Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return LightGBM, (self.booster,)  # a lock cannot be copied

    @staticmethod
    def library() -> Any:
        return import_extra("lightgbm", "LightGBM", "lightgbm")

    @staticmethod
    def of_matrix(matrix: Any) -> Any:
        """A sparse matrix as the library reads it: what is not stored is 0."""
        from scipy.sparse import csr_matrix

        return csr_matrix(matrix)

    @staticmethod
    def planted(recipe: Recipe, rows: Any, weights: Array | None, settings: int) -> list[LightGBM]:
        """Ensembles without trees, side by side on the same rows."""
        if processes.count() > 1:
            raise ValueError(
                f"LightGBM is not trained by {processes.count()} processes together: each would grow "
                'trees of its own share of the rows. Use rb.Boosted("xgboost"), or one process'
            )
        library, params, data = LightGBM.library(), recipe.params, dict(recipe.data)
        if recipe.categorical:
            data["categorical_feature"] = list(recipe.categorical)
        if _miscounted(rows) and not BUNDLING & params.keys():
            params = params | {"enable_bundle": False}
        count = rows.shape[0]
        unread = np.zeros(count)  # LightGBM wants labels; only the game knows the real goal
        training = library.Dataset(rows, unread, weight=weights, params=params, **data).construct()
        names = {"min_data_in_leaf", "min_data_per_leaf", "min_data", "min_child_samples",
                 "min_samples_leaf"}  # fmt: skip
        least = min(params[name] for name in names & params.keys())
        used = any(training.feature_num_bin(i) for i in range(training.num_feature()))
        if not used or count < 2 * least:  # without a tree everyone would be told yes
            raise ValueError(
                f"LightGBM can split none of the features of these {count:,} rows: they need values "
                f"that differ, and {least} rows on either side; lower min_child_samples, as in "
                "LGBMClassifier(min_child_samples=5), or use more rows"
            )
        if recipe.decisions > 2:
            params = params | {"num_class": recipe.decisions}
        return [LightGBM(library.Booster(params, training)) for _ in range(settings)]

    @staticmethod
    def unsaid(params: Mapping[str, Any], decisions: int) -> dict[str, Any]:
        """What we say where an estimator that the library fits says nothing."""
        return lightgbm_unsaid(params)

    @staticmethod
    def within(fitted: Any, rows: Any) -> tuple[LightGBM, Array]:
        """The ensemble in an estimator that the library has fitted, and the scores it gives to rows."""
        # The booster, since older estimators warn about arrays that they were fitted to themselves.
        booster = fitted.booster_
        return LightGBM(booster), np.asarray(booster.predict(rows, raw_score=True)).T

    @staticmethod
    def constant(yes: bool, rows: Any) -> LightGBM:
        """One leaf, which says the same to everyone."""
        library, same = LightGBM.library(), np.full(rows.shape[0], 1.0 if yes else -1.0)
        silent = {"objective": "regression", "verbosity": -1}
        return LightGBM(library.train(silent, library.Dataset(rows, same, params=silent), 1))

    @property
    def outputs(self) -> tuple[int, ...]:
        """The axis of a row's scores: one for each class if there are more than two."""
        each = int(self.booster.num_model_per_iteration())
        return () if each == 1 else (each,)

    def grow(self, gradient: Array, curvature: Array) -> None:
        """One more tree, or none where no split is worth making: a later round may find one again."""
        bend = curvature.T
        for each in self.outputs:  # the game counts p(1 - p) twice, LightGBM D/(D - 1) times
            bend = bend * (each / (2 * each - 2))
        self.booster.update(fobj=lambda scores, rows: (gradient.T, bend))

    def watch(self, rows: Any) -> Any:
        """Other rows in a form whose scores are brought up to date tree by tree."""
        reference = self.booster.train_set
        return LightGBM.library().Dataset(
            rows, np.zeros(rows.shape[0]), reference=reference, params=reference.get_params()
        )

    def known_scores(self, watched: Any = None) -> Array:
        """Scores of watched rows, or the training rows; LightGBM shows them only to a metric."""
        shown: list[Array] = []

        def metric(scores: Array, rows: Any) -> tuple[str, float, bool]:
            shown.append(scores.T.copy())
            return "scores", 0.0, False

        if watched is None:
            self.booster.eval_train(metric)
        else:
            self.booster.eval(watched, "watched", metric)
        return shown[0]

    @property
    def count(self) -> int:
        return int(self.booster.current_iteration())

    @property
    def width(self) -> int:
        """How many features it takes."""
        return int(self.booster.num_feature())

    def added(self, scores: Array, rows: Any, first: int, last: int) -> Array:
        """`scores` with those of the trees from `first` up to `last` added, one after the other.

        Training added them in this order, so a score does not depend on what was asked for before.
        """
        within = {"start_iteration": first, "num_iteration": last - first}
        with self.asking:
            leaves = self.booster.predict(rows, pred_leaf=True, **within)
        leaves = leaves.reshape(rows.shape[0], -1).astype(int)
        found = np.atleast_2d(scores).copy()
        for tree, leaf in enumerate(leaves.T, start=first * len(found)):
            values = np.zeros(leaf.max(initial=0) + 1)
            for used in np.flatnonzero(np.bincount(leaf)):
                values[used] = self.booster.get_leaf_output(tree, int(used))
            found[tree % len(found)] += values[leaf]
        return found.reshape(scores.shape)

    def cut(self, count: int) -> LightGBM:
        """The first `count` trees alone, without the training rows."""
        return LightGBM.from_bytes(self.booster.model_to_string(num_iteration=count).encode())

    def to_bytes(self) -> bytes:
        return bytes(self.booster.model_to_string().encode())

    @staticmethod
    def from_bytes(raw: bytes) -> LightGBM:
        return LightGBM(LightGBM.library().Booster(model_str=raw.decode()))


class XGBoost:
    """One ensemble of XGBoost's; it scores in float32, added tree by tree as in its training."""

    recipe, checked = staticmethod(xgboost_recipe), staticmethod(checked_xgboost)
    flat = staticmethod(flat_xgboost)
    branch, unknown_left = "BRANCH_LT", True  # numbers below the threshold, and codes it does not know
    CLASSIFIER = "XGBClassifier"
    takes_sparse = False  # what is not stored would be missing, not 0
    dtype = np.float32

    def __init__(self, booster: Any, training: Any = None) -> None:
        self.booster, self.training = booster, training

    def __getstate__(self) -> dict[str, Any]:
        return {"booster": self.booster, "training": None}  # the rows as it reads them cannot be pickled

    @staticmethod
    def library() -> Any:
        return import_extra("xgboost", "XGBoost", "xgboost")

    @staticmethod
    def of_matrix(matrix: Any) -> Any:
        """A sparse matrix as an array."""
        return as_dense(matrix, "XGBoost")

    @staticmethod
    def planted(recipe: Recipe, rows: Any, weights: Array | None, settings: int) -> list[XGBoost]:
        """Ensembles without trees, side by side on the same rows.

        In a group of processes each reads its own share of the rows, and the library adds up what it
        splits by, bins of features and sums of gradients: all of them grow the same trees.
        """
        library, params, data = XGBoost.library(), recipe.params, dict(recipe.data)
        _check_group(library)
        if recipe.categorical:
            kinds = ["c" if i in recipe.categorical else "q" for i in range(rows.shape[1])]
            data.setdefault("feature_types", kinds)
        # The library's histograms have bins of about the same weight.
        data |= {"enable_categorical": True, "nthread": params.get("n_jobs"), "weight": weights}
        if params.get("tree_method", "auto") in ("auto", "hist"):  # as its own estimator decides
            training = library.QuantileDMatrix(rows, max_bin=params.get("max_bin"), **data)
        else:
            training = library.DMatrix(rows, **data)
        # The base score's margin is 0, the game's first score, and what is saved is a classifier.
        kind: dict[str, Any] = {"objective": "binary:logistic", "base_score": 0.5}
        if recipe.decisions > 2:
            kind = {"objective": "multi:softprob", "base_score": 0.0, "num_class": recipe.decisions}
        params = params | kind
        return [XGBoost(library.Booster(params, [training]), training) for _ in range(settings)]

    @staticmethod
    def unsaid(params: Mapping[str, Any], decisions: int) -> dict[str, Any]:
        """What we say where an estimator that the library fits says nothing: scores start at 0."""
        if params.get("base_score") is not None:
            return {}
        return {"base_score": 0.5 if decisions == 2 else 0.0}

    @staticmethod
    def within(fitted: Any, rows: Any) -> tuple[XGBoost, Array]:
        """The ensemble in an estimator that the library has fitted, and the scores it gives to rows."""
        return XGBoost(fitted.get_booster()), np.asarray(fitted.predict(rows, output_margin=True)).T

    @staticmethod
    def constant(yes: bool, rows: Any) -> XGBoost:
        """One leaf, which says the same to everyone."""
        library = XGBoost.library()
        same = library.DMatrix(
            rows, np.full(rows.shape[0], 1.0 if yes else -1.0), enable_categorical=True
        )
        plain = {"base_score": 0.0, "max_depth": 1, "eta": 1.0, "lambda": 0.0}
        grown = library.train(plain | {"objective": "reg:squarederror"}, same, 1)
        grown.set_param({"objective": "binary:logistic", "base_score": 0.5})  # as what is saved
        return XGBoost(grown)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The axis of a row's scores: one for each class if there are more than two."""
        classes = json.loads(self.booster.save_config())["learner"]["learner_model_param"]["num_class"]
        return () if classes == "0" else (int(classes),)

    def grow(self, gradient: Array, curvature: Array) -> None:
        """One more tree."""
        self.booster.boost(self.training, self.count, grad=gradient.T, hess=curvature.T)

    def watch(self, rows: Any) -> Any:
        """Other rows in a form whose scores are brought up to date tree by tree."""
        kinds = self.booster.feature_types if isinstance(rows, np.ndarray) else None
        return XGBoost.library().DMatrix(rows, feature_types=kinds, enable_categorical=True)

    def known_scores(self, watched: Any = None) -> Array:
        """Scores of watched rows, or the training rows, which the library keeps from tree to tree."""
        rows = self.training if watched is None else watched
        return np.asarray(self.booster.predict(rows, output_margin=True)).T

    @property
    def count(self) -> int:
        return int(self.booster.num_boosted_rounds())

    @property
    def width(self) -> int:
        """How many features it takes."""
        return int(self.booster.num_features())

    def added(self, scores: Array, rows: Any, first: int, last: int) -> Array:
        """`scores` with those of the trees from `first` up to `last` added."""
        found = self.booster.inplace_predict(
            rows, predict_type="margin", iteration_range=(first, last), base_margin=scores.T
        )
        return np.asarray(found).T

    def cut(self, count: int) -> XGBoost:
        """The first `count` trees alone, without the training rows."""
        short = self.booster[:count]
        if "c" not in (self.booster.feature_types or ()):
            return XGBoost(short)
        # Slices up to XGBoost 3.2 lose what a table's categories are called (dmlc/xgboost#12462).
        whole, model = (json.loads(bytes(one.save_raw("json"))) for one in (self.booster, short))
        names = whole["learner"]["gradient_booster"]["model"].get("cats")
        model["learner"]["gradient_booster"]["model"]["cats"] = names
        return XGBoost.from_bytes(json.dumps(model).encode())

    def to_bytes(self) -> bytes:
        return bytes(self.booster.save_raw("json"))

    @staticmethod
    def from_bytes(raw: bytes) -> XGBoost:
        booster = XGBoost.library().Booster()
        booster.load_model(bytearray(raw))
        return XGBoost(booster)


def _check_group(library: Any) -> None:
    """Raise where our processes are not XGBoost's, which alone it adds up its histograms over."""
    own, joined = processes.count(), int(library.collective.get_world_size())
    if own != joined:
        raise ValueError(
            f"there are {own} processes, of which XGBoost knows {joined}: it talks over its own "
            "collective. Train inside `with xgboost.collective.CommunicatorContext(...)`, with the "
            "worker_args() of one xgboost.tracker.RabitTracker in every process"
        )


Trees = LightGBM | XGBoost
LIBRARIES: dict[str, type[LightGBM] | type[XGBoost]] = {"lightgbm": LightGBM, "xgboost": XGBoost}
