"""One ensemble of trees while it grows, in LightGBM's words and in XGBoost's.

Everything the learner needs of either library is here: its settings read off an estimator, a tree
grown on a gradient and a curvature, the scores on the training rows, and the trees as arrays. For more
than two classes a round grows a tree for each of them, and scores are (D, n) instead of (n,);
they start at 0, whatever the shares of the classes.

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
from typing import Any

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.extras import import_extra
from ratebound._old.base.types import Array
from ratebound._old.learners._trees import BY_CATEGORY, MISSING_LEFT, ZERO_MISSING, Trees
from ratebound._old.problem.frames import as_dense

# --- what an estimator asks for -----------------------------------------------------------------


SEEDS = ("seed", "random_seed", "random_state")  # what the libraries call it


@dataclass(frozen=True)
class Recipe:
    """How an estimator would be trained: the library's own parameters, and what is left to us."""

    params: dict[str, Any]
    rounds: int
    patience: int | None
    data: dict[str, Any]  # settings of the features for reading the training rows
    categorical: Sequence[int] = ()  # features that hold codes of categories
    decisions: int = 2  # how many classes there are

    def on(self, categorical: Sequence[int], seed: int, decisions: int) -> Recipe:
        """The recipe with the features that are codes, and the game's seed unless it has its own."""
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
    settings: dict[str, Any] = {}
    if not params.keys() & {"verbosity", "verbose"}:
        settings["verbosity"] = -1
    if not params.keys() & {"force_col_wise", "force_row_wise"}:
        # Otherwise LightGBM times both and takes the faster, and bits depend on how busy a machine is.
        settings["force_col_wise"] = True
    return settings


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
    values = [params.pop(name) for name in names.split() if name in params]
    return values[-1] if values else None


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

    recipe = staticmethod(lightgbm_recipe)
    CLASSIFIER = "LGBMClassifier"
    takes_sparse = True

    def __init__(self, booster: Any) -> None:
        self.booster = booster
        self.read: Trees | None = None

    @staticmethod
    def library() -> Any:
        return import_extra("lightgbm", "LightGBM", "lightgbm")

    @staticmethod
    def of_matrix(matrix: Any) -> Any:
        """A sparse matrix as the library reads it: what is not stored is 0."""
        from scipy.sparse import csr_matrix

        return csr_matrix(matrix)

    @staticmethod
    def planted(
        recipe: Recipe, rows: Any, names: Sequence[str] | None, weights: Array | None, settings: int
    ) -> list[LightGBM]:
        """Ensembles without trees, side by side on the same rows; a table's features have names."""
        if processes.count() > 1:
            raise ValueError(
                f"LightGBM is not trained by {processes.count()} processes together: each would grow "
                'trees of its own share of the rows. Use rb.Boosted("xgboost"), or one process'
            )
        library, params, data = LightGBM.library(), recipe.params, dict(recipe.data)
        if recipe.categorical:
            data["categorical_feature"] = list(recipe.categorical)
        if names is not None:
            data["feature_name"] = list(names)
        if _miscounted(rows) and not BUNDLING & params.keys():
            params = params | {"enable_bundle": False}
        count = rows.shape[0]
        unread = np.zeros(count)  # LightGBM wants labels; only the game knows the real goal
        training = library.Dataset(rows, unread, weight=weights, params=params, **data).construct()
        names_of_least = {"min_data_in_leaf", "min_data_per_leaf", "min_data", "min_child_samples",
                          "min_samples_leaf"}  # fmt: skip
        least = min(params[name] for name in names_of_least & params.keys())
        used = any(training.feature_num_bin(i) for i in range(training.num_feature()))
        if not used or count < 2 * least:  # without a tree everyone would get a yes
            raise ValueError(
                f"LightGBM can split none of the features of these {count:,} rows: they need values "
                f"that differ, and {least} rows on either side; lower min_child_samples, as in "
                "LGBMClassifier(min_child_samples=5), or use more rows"
            )
        if recipe.decisions > 2:
            params = params | {"num_class": recipe.decisions}
        return [LightGBM(library.Booster(params, training)) for _ in range(settings)]

    @staticmethod
    def unsaid(params: Mapping[str, Any]) -> dict[str, Any]:
        """What we say where an estimator that the library fits says nothing."""
        return lightgbm_unsaid(params)

    @staticmethod
    def margins(fitted: Any, X: Any) -> Array:
        """The scores (n,) or (D, n) that an estimator fitted by the library gives to rows."""
        # The booster, since older estimators warn about arrays that they were fitted to themselves.
        return np.asarray(fitted.booster_.predict(X, raw_score=True)).T

    @staticmethod
    def within(fitted: Any) -> Trees:
        """The trees of an estimator that the library has fitted."""
        return lightgbm_trees(fitted.booster_)

    @staticmethod
    def grown(recipe: Recipe, rows: Any, answers: Array, count: int, weights: Array | None) -> Trees:
        """The trees that tell `answers` apart, of rows in an array or LightGBM's sequences.

        They are those of the library's estimator, which copies each model on the way.
        """
        params = recipe.params | {"objective": "binary"}
        if count > 2:
            params |= {"objective": "multiclass", "num_class": count}
        library = LightGBM.library()
        data = library.Dataset(rows, answers, weight=weights, params=params, **recipe.data)
        booster = library.Booster(params, data)
        for _ in range(recipe.rounds):
            if booster.update():  # no split is worth making any more
                break
        return lightgbm_trees(booster)

    def grow(self, gradient: Array, curvature: Array) -> None:
        """One more tree, or none if no split is worth making: a later round may find one again."""
        bend = curvature.T
        if gradient.ndim == 2:  # the game counts p(1 - p) twice, LightGBM D/(D - 1) times
            bend = bend * (len(gradient) / (2 * len(gradient) - 2))
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
    def trees(self) -> Trees:
        """The trees that it has so far."""
        if self.read is None or self.read.count != self.count:
            self.read = lightgbm_trees(self.booster)
        return self.read


class XGBoost:
    """One ensemble of XGBoost's; it scores in float32, added tree by tree as in its training."""

    recipe = staticmethod(xgboost_recipe)
    CLASSIFIER = "XGBClassifier"
    takes_sparse = False  # what is not stored would be missing, not 0

    def __init__(self, booster: Any, training: Any) -> None:
        self.booster, self.training = booster, training
        self.read: Trees | None = None

    @staticmethod
    def library() -> Any:
        return import_extra("xgboost", "XGBoost", "xgboost")

    @staticmethod
    def of_matrix(matrix: Any) -> Any:
        """A sparse matrix as an array."""
        return as_dense(matrix, "XGBoost")

    @staticmethod
    def planted(
        recipe: Recipe, rows: Any, names: Sequence[str] | None, weights: Array | None, settings: int
    ) -> list[XGBoost]:
        """Ensembles without trees, side by side on the same rows; a table's features have names.

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
        data["feature_names"] = None if names is None else list(names)
        if params.get("tree_method", "auto") in ("auto", "hist"):  # as its own estimator decides
            training = library.QuantileDMatrix(rows, max_bin=params.get("max_bin"), **data)
        else:
            training = library.DMatrix(rows, **data)
        # The base score's margin is 0, the game's first score.
        kind: dict[str, Any] = {"objective": "binary:logistic", "base_score": 0.5}
        if recipe.decisions > 2:
            kind = {"objective": "multi:softprob", "base_score": 0.0, "num_class": recipe.decisions}
        params = params | kind
        return [XGBoost(library.Booster(params, [training]), training) for _ in range(settings)]

    @staticmethod
    def unsaid(params: Mapping[str, Any]) -> dict[str, Any]:
        """What we say where an estimator that the library fits says nothing, which is nothing."""
        return {}

    @staticmethod
    def margins(fitted: Any, X: Any) -> Array:
        """The scores (n,) or (D, n) that an estimator fitted by the library gives to rows."""
        return np.asarray(fitted.predict(X, output_margin=True)).T

    @staticmethod
    def within(fitted: Any) -> Trees:
        """The trees of an estimator that the library has fitted."""
        return xgboost_trees(fitted.get_booster())

    def grow(self, gradient: Array, curvature: Array) -> None:
        """One more tree."""
        rounds = self.booster.num_boosted_rounds()
        self.booster.boost(self.training, rounds, grad=gradient.T, hess=curvature.T)

    def watch(self, rows: Any) -> Any:
        """Other rows in a form whose scores are brought up to date tree by tree."""
        told = {name: getattr(self.booster, name) for name in ("feature_names", "feature_types")}
        return XGBoost.library().DMatrix(rows, enable_categorical=True, **told)

    def known_scores(self, watched: Any = None) -> Array:
        """Scores of watched rows, or the training rows, which the library keeps from tree to tree."""
        rows = self.training if watched is None else watched
        return np.asarray(self.booster.predict(rows, output_margin=True)).T

    @cached_property
    def parallel(self) -> int:
        """How many trees a round grows for each class."""
        config = json.loads(self.booster.save_config())["learner"]["gradient_booster"]
        return int(config["gbtree_model_param"]["num_parallel_tree"])

    @property
    def count(self) -> int:
        return int(self.booster.num_boosted_rounds()) * self.parallel

    @property
    def trees(self) -> Trees:
        """The trees that it has so far."""
        if self.read is None or self.read.count != self.count:
            self.read = xgboost_trees(self.booster)
        return self.read


def _check_group(library: Any) -> None:
    """Raise where our processes are not XGBoost's, which alone it adds up its histograms over."""
    own, joined = processes.count(), int(library.collective.get_world_size())
    if own != joined:
        raise ValueError(
            f"there are {own} processes, of which XGBoost knows {joined}: it talks over its own "
            "collective. Train inside `with xgboost.collective.CommunicatorContext(...)`, with the "
            "worker_args() of one xgboost.tracker.RabitTracker in every process"
        )


Booster = LightGBM | XGBoost
LIBRARIES: dict[str, type[LightGBM] | type[XGBoost]] = {"lightgbm": LightGBM, "xgboost": XGBoost}


# --- trees as arrays ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The nodes of all trees of an ensemble, tree after tree, the root of each first."""

    starts: Array  # (T,) the roots
    left: Array  # (N,) a node; -1 for a leaf
    right: Array  # (N,)
    feature: Array  # (N,) -1 for a leaf
    number: Array  # (N,)
    flags: Array  # (N,)
    codes: Mapping[int, Array]  # by node that splits by category, what goes left


def lightgbm_trees(booster: Any) -> Trees:
    """The trees of a LightGBM booster; ValueError if scores are not the sums of their leaves."""
    head, _, trees = booster.model_to_string().partition("\nend of trees")[0].partition("\nTree=")
    about, named = _lines(head), _lines(trees)
    if "average_output" in about:
        raise ValueError("the scores of a random forest are not sums of leaves")
    if _numbers(named, "is_linear", int).any():
        raise ValueError("the leaves of linear trees have no values")
    width = int(about["max_feature_idx"][0]) + 1
    return _joined(width, int(about["num_tree_per_iteration"][0]), _lightgbm_nodes(named), np.float64)


def _lines(text: str) -> dict[str, list[str]]:
    """What stands under each name, line by line; all trees have the same names."""
    named: dict[str, list[str]] = {}
    for line in text.split("\n"):
        name, _, value = line.partition("=")
        named.setdefault(name, []).append(value)
    return named


def _numbers(named: Mapping[str, list[str]], name: str, dtype: Any) -> Array:
    """The numbers under one name, those of all trees in a row."""
    return np.fromstring(" ".join(named.get(name, ())), dtype, sep=" ")


def _lightgbm_nodes(named: Mapping[str, list[str]]) -> _Nodes:
    """Nodes from the lines of trees, which call leaves -1, -2, ...; here they follow the splits.

    All trees are read at once: to read numbers one tree at a time takes as long as to grow the trees.
    """

    def numbers(name: str, dtype: Any) -> Array:
        return _numbers(named, name, dtype)

    leaves = numbers("num_leaves", int)
    sizes = 2 * leaves - 1
    starts = np.cumsum(sizes) - sizes
    tree = np.repeat(np.arange(len(leaves)), leaves - 1)  # of each split
    own = np.arange(len(tree)) - np.repeat(np.cumsum(leaves - 1) - (leaves - 1), leaves - 1)
    split = starts[tree] + own
    is_leaf = np.ones(int(sizes.sum()), dtype=bool)
    is_leaf[split] = False

    def placed(values: Array, leaf: Any) -> Array:
        """Values of the splits, and of the leaves, by node."""
        every = np.empty(len(is_leaf), dtype=values.dtype)
        every[split], every[is_leaf] = values, leaf
        return every

    def children(name: str) -> Array:
        child = numbers(name, int)
        return placed(starts[tree] + np.where(child >= 0, child, leaves[tree] - 2 - child), -1)

    kind, threshold = numbers("decision_type", int), numbers("threshold", float)
    by_category, missing = kind & 1 > 0, kind >> 2  # 0 stands for missing as 0, 1 for 0 as missing
    flags = MISSING_LEFT * np.where(missing == 0, threshold >= 0, kind & 2 > 0)
    flags |= ZERO_MISSING * (missing == 1)
    codes = {}
    with_codes = (np.cumsum(numbers("num_cat", int) > 0) - 1).tolist()  # only such trees list them
    for place in np.flatnonzero(by_category).tolist():
        which, line = int(threshold[place]), with_codes[tree[place]]
        ends, words = (
            np.fromstring(named[f"cat_{part}"][line], int, sep=" ")
            for part in ("boundaries", "threshold")
        )
        inside = words[slice(*ends[which : which + 2])]
        codes[int(split[place])] = np.flatnonzero(inside[:, None] >> np.arange(32) & 1)
    # At a split of missing values from all others, every number lies below the threshold.
    threshold = np.where(by_category, 0, np.minimum(threshold, np.finfo(float).max))
    return _Nodes(
        starts,
        children("left_child"),
        children("right_child"),
        placed(numbers("split_feature", int), -1),
        placed(threshold, numbers("leaf_value", float)),
        placed(np.where(by_category, BY_CATEGORY, flags), 0),
        codes,
    )


def xgboost_trees(booster: Any) -> Trees:
    """The trees of an XGBoost booster; ValueError if scores are not the sums of their leaves.

    Where scores do not start at 0, the first round is the score that they start at.
    """
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    about, name = learner["learner_model_param"], learner["gradient_booster"]["name"]
    if name != "gbtree" or about.get("num_target", "1") != "1":
        raise ValueError(f"the scores of a {name} are not sums of leaves")
    model = learner["gradient_booster"]["model"]
    outputs = max(int(about["num_class"]), 1)
    parallel = int(model["gbtree_model_param"]["num_parallel_tree"])
    trees = model["trees"]
    # A round's trees of one class follow each other; here each tree of a class is a round.
    order = np.arange(len(trees)).reshape(-1, outputs, parallel).swapaxes(1, 2).ravel().tolist()
    leaves = [_leaf(start) for start in _first_scores(learner, outputs)]
    nodes = _xgboost_nodes([*leaves, *(trees[place] for place in order)])
    return _joined(int(about["num_feature"]), outputs, nodes, np.float32)


def _first_scores(learner: Mapping[str, Any], outputs: int) -> list[float]:
    """The score of each class before there are trees; none if they all are 0."""
    given = np.array(learner["learner_model_param"]["base_score"].strip("[]").split(","), np.float32)
    if learner["objective"]["name"] == "binary:logistic":
        one = np.float32(1)  # as the library has it: all in single precision, to the last bit
        given = (-np.log((one / given - one).astype(float))).astype(np.float32)
    return np.broadcast_to(given, outputs).tolist() if given.any() else []


def _leaf(value: float) -> dict[str, Any]:
    """A tree that is one leaf, as the library writes it."""
    none: dict[str, Any] = {f"categories_{part}": [] for part in ("nodes", "segments", "sizes")}
    number = {"split_conditions": [value], "split_indices": [0], "split_type": [0]}
    return none | number | {"left_children": [-1], "right_children": [-1], "default_left": [0]}


def _xgboost_nodes(trees: Sequence[Mapping[str, Any]]) -> _Nodes:
    """Nodes from the JSON of trees: numbers below a condition go left, categories in a set go right."""

    def numbers(name: str, dtype: Any = int) -> Array:
        return np.array([value for tree in trees for value in tree[name]], dtype=dtype)

    sizes = np.array([len(tree["left_children"]) for tree in trees], dtype=int)
    starts = np.cumsum(sizes) - sizes
    first = np.repeat(starts, sizes)  # the root of each node's tree
    left, right = numbers("left_children"), numbers("right_children")
    is_leaf = left < 0
    left, right = (np.where(is_leaf, -1, first + child) for child in (left, right))
    number = numbers("split_conditions", np.float32)
    by_category = ~is_leaf & (numbers("split_type") == 1)
    below = np.nextafter(number, np.float32(-np.inf))  # up to which numbers are below the condition
    codes = {}
    for start, tree in zip(starts.tolist(), trees, strict=True):
        parts = (tree[f"categories_{part}"] for part in ("nodes", "segments", "sizes"))
        for node, begin, size in zip(*parts, strict=True):
            codes[start + node] = np.array(tree["categories"][begin : begin + size], dtype=int)
    missing_left = (numbers("default_left") == 1) != by_category
    return _Nodes(
        starts,
        np.where(by_category, right, left),
        np.where(by_category, left, right),
        np.where(is_leaf, -1, numbers("split_indices")),
        np.where(is_leaf, number, np.where(by_category, 0, below)),
        np.where(is_leaf, 0, MISSING_LEFT * missing_left + BY_CATEGORY * by_category),
        codes,
    )


def _joined(width: int, outputs: int, nodes: _Nodes, dtype: Any) -> Trees:
    """Trees one after the other, the nodes of each level by level; pruned ones are left out."""
    reached, trees = [nodes.starts], [np.arange(len(nodes.starts))]  # level by level
    while (goes_on := nodes.left[reached[-1]] >= 0).any():
        splits = reached[-1][goes_on]
        reached.append(np.column_stack([nodes.left[splits], nodes.right[splits]]).ravel())
        trees.append(np.repeat(trees[-1][goes_on], 2))
    order = np.concatenate(reached)[np.argsort(np.concatenate(trees), kind="stable")]
    codes = [nodes.codes[node] for node in order.tolist() if node in nodes.codes] if nodes.codes else []
    return Trees(
        width,
        outputs,
        nodes.feature[order].astype(np.int32),
        nodes.number[order].astype(dtype),
        nodes.flags[order].astype(np.uint8),
        np.array([len(each) for each in codes], np.int32),
        np.concatenate([*codes, np.empty(0)]).astype(np.int32),
    )
