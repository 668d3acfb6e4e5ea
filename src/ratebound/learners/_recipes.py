"""What an LGBMClassifier or an XGBClassifier asks for, read off its parameters.

The objective, the weights of classes and the number of classes are the game's to say; what would make a
model that is not the sum of its first trees is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

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
