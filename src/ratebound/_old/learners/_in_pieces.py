"""Models of the answers to a question that read rows on disk some at a time, one for each fold.

A logistic regression is fitted to a sample of the rows, in memory; the gradient on all rows and the
curvature on some of the sample then take it to the optimum on all of them, in a few passes (Jordan, Lee
and Yang, 2019). LightGBM and XGBoost read pieces themselves, and keep a byte for each feature of a row.
Others learn by `partial_fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ratebound._old.base.processes import in_turn
from ratebound._old.base.types import Array
from ratebound._old.game.learner import Learner
from ratebound._old.game.scorer import Scorer
from ratebound._old.learners._boosters import LIBRARIES, LightGBM, Recipe, xgboost_trees
from ratebound._old.learners._cross import BLOCK, Cross
from ratebound._old.learners._trees import Trees
from ratebound._old.learners.boosted import BoostedScorer, library_of
from ratebound._old.learners.oracle import Oracle, deployed, prototype_of, weight_argument
from ratebound._old.problem.deciding import score_count

CURVED = 10_000  # rows of a sample whose curvature stands for the curvature on all rows
LARGEST = 1_500  # numbers of a logistic regression whose curvature is a matrix
STEPS = 8  # passes over all rows, at most
FLAT = 1e-6  # gradient of the mean loss at which it is at its optimum
PASSES = 5, 40  # over the rows, of models that learn by `partial_fit`, at least and at most
SEEN = 10**6  # rows that such a model is to see in all passes together


def why_not_in_pieces(learner: Learner) -> str:
    """Why a learner cannot be trained on rows on disk, in words; empty if it can."""
    if not isinstance(learner, Oracle):
        return "" if learner.takes_stored else f"{type(learner).__name__} needs all rows in memory"
    estimator = learner.estimator
    name = type(estimator).__name__
    if (library := library_of(estimator)) is not None:
        try:
            recipe = LIBRARIES[library].recipe(estimator)
        except ValueError as error:
            return f"rows on disk are read by the library, and {error}"
        if library == "xgboost" and recipe.params.get("tree_method", "hist") not in ("auto", "hist"):
            return f"{name} reads rows on disk with tree_method='hist' alone"
        return ""
    if _logistic(estimator) is not None or hasattr(estimator, "partial_fit"):
        return ""
    return f"rows are on disk, and {name} has no partial_fit to read them with"


def _logistic(estimator: Any) -> Any:
    """The logistic regression that an estimator is, or ends in after scaling; None if it is another."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    steps = [each for _, each in estimator.steps] if hasattr(estimator, "steps") else [estimator]
    last = steps[-1]
    if type(last) is not LogisticRegression:
        return None
    given = last.get_params()
    plain = given["penalty"] in ("l2", "deprecated") and given["class_weight"] is None
    plain = plain and not given.get("l1_ratio") and given["fit_intercept"]
    known = all(type(each) in (SimpleImputer, StandardScaler) for each in steps[:-1])
    return last if plain and known else None


def learned_in_pieces(
    cross: Cross,
    learner: Oracle,
    rows: Array,
    answers: Array,
    count: int,
    members_of_sample: Callable[[], list[Any]],
    some: Array,
) -> tuple[Scorer, Array]:
    """The models (F, P) that tell `answers` (r,) apart, and what scores by them.

    `members_of_sample` are estimators fitted to a sample of the rows, and `some` rows of that sample.
    """
    library = library_of(learner.estimator)
    if library is not None:
        recipe = LIBRARIES[library].recipe(prototype_of(learner, cross.seed))
        return _grown(cross, library, rows, answers, recipe, count)
    if _logistic(learner.estimator) is None:
        return deployed(learner, _by_passes(cross, learner, rows, answers, count), some, count)
    members = members_of_sample()
    if len(rows) > len(some):
        _descended(cross, members, rows, answers, count, some)
    return deployed(learner, members, some, count)


# --- trees -------------------------------------------------------------------------------------------


def trees_of_folds(
    cross: Cross, learner: Oracle, rows: Array, answers: Array, count: int
) -> tuple[Scorer, Array] | None:
    """The same of LightGBM and rows in memory; None if the estimator must be fitted."""
    if library_of(learner.estimator) != "lightgbm" or not isinstance(cross.inputs, np.ndarray):
        return None
    of = cross.of[rows]
    if any(len(np.unique(answers[of != fold])) < count for fold in range(cross.folds)):
        return None
    try:
        recipe = LIBRARIES["lightgbm"].recipe(prototype_of(learner, cross.seed))
    except ValueError:
        return None
    return None if recipe.patience else _grown(cross, "lightgbm", rows, answers, recipe, count)


def _grown(
    cross: Cross, library: str, rows: Array, answers: Array, recipe: Recipe, count: int
) -> tuple[Scorer, Array]:
    grown = _grown_by_lightgbm if library == "lightgbm" else _grown_by_xgboost

    def of_fold(split: tuple[Array, Array]) -> Trees:
        trees = grown(cross, rows[split[0]], answers[split[0]], recipe, count)
        cross.shown.update()
        return trees

    trees = in_turn(of_fold, cross.splits(rows))
    counts = np.array([[place, each.count] for place, each in enumerate(trees)], dtype=float)
    return BoostedScorer(trees), counts


def _grown_by_lightgbm(cross: Cross, rows: Array, answers: Array, recipe: Recipe, count: int) -> Trees:
    given = _sequences(cross, rows) if cross.stored else cross.inputs[rows]
    weights = None if cross.weights is None else cross.weights[rows]
    return LightGBM.grown(recipe, given, answers, count, weights)


def _sequences(cross: Cross, rows: Array) -> list[Any]:
    """Rows on disk as LightGBM reads them, piece by piece."""
    library = LIBRARIES["lightgbm"].library()
    held: list[Any] = [None, None]  # the piece that was read last, and its rows

    class Piece(library.Sequence):  # type: ignore[name-defined]
        """The rows of one piece of a file."""

        batch_size = BLOCK

        def __init__(self, numbers: Array) -> None:
            self.numbers = numbers

        def __len__(self) -> int:
            return len(self.numbers)

        def __getitem__(self, places: Any) -> Array:
            if held[0] is not self:
                held[:] = self, np.ascontiguousarray(cross.inputs.take(self.numbers), dtype=float)
            chosen: Array = held[1][places]
            return chosen

    ends = [np.searchsorted(rows, [run.start, run.stop]) for run in cross.inputs.runs]
    return [Piece(rows[first:last]) for first, last in ends if last > first]


def _grown_by_xgboost(cross: Cross, rows: Array, answers: Array, recipe: Recipe, count: int) -> Trees:
    library = LIBRARIES["xgboost"].library()

    class Pieces(library.DataIter):  # type: ignore[name-defined]
        """The rows, some at a time."""

        def reset(self) -> None:
            self.blocks = cross.blocks(rows)

        def next(self, input_data: Any) -> bool:
            for block, where in self.blocks:
                weights = None if cross.weights is None else cross.weights[rows[where]]
                input_data(data=block, label=answers[where], weight=weights, **recipe.data)
                return True
            return False

    params = recipe.params | {"objective": "binary:logistic"}
    if count > 2:
        params |= {"objective": "multi:softprob", "num_class": count}
    blocks = Pieces()
    blocks.reset()
    data = library.QuantileDMatrix(
        blocks, max_bin=params.get("max_bin"), nthread=params.get("n_jobs"), enable_categorical=True
    )
    return xgboost_trees(library.train(params, data, recipe.rounds))


# --- by `partial_fit` --------------------------------------------------------------------------------


def _by_passes(cross: Cross, learner: Oracle, rows: Array, answers: Array, count: int) -> list[Any]:
    """An estimator for each fold, taught block by block; each block in an order of its own."""
    members = [prototype_of(learner, cross.seed + fold) for fold in range(cross.folds)]
    weighed = cross.weights is not None
    named = [weight_argument(each, "partial_fit") if weighed else "" for each in members]
    random, of = np.random.default_rng(cross.seed), cross.of[rows]
    for first in range(cross.epochs or int(np.clip(SEEN // len(rows), *PASSES))):
        for block, where in cross.blocks(rows):
            order = random.permutation(len(block))
            for fold, (member, name) in enumerate(zip(members, named, strict=True)):
                own = order[of[where][order] != fold]
                classes = {"classes": np.arange(count)} if not hasattr(member, "classes_") else {}
                weights = {name: cross.weights_of(rows[where][own])} if name else {}
                if len(own):
                    member.partial_fit(block[own], answers[where][own], **classes, **weights)
        if first == 0:
            cross.shown.update(cross.folds)
    return members


# --- logistic regressions ----------------------------------------------------------------------------


def _descended(
    cross: Cross, members: list[Any], rows: Array, answers: Array, count: int, some: Array
) -> None:
    """Take logistic regressions from the optimum on a sample of the rows to that on all of them.

    Those that saw only some of the answers, or have too many numbers, are left as they are.
    """
    last: list[Any] = [None if isinstance(each, int) else _logistic(each) for each in members]
    full = [each is not None and len(each.classes_) == count for each in last]
    forms = score_count(count)
    if not all(full) or forms * (some.shape[1] + 1) > LARGEST:
        return
    penalty = 1.0 / last[0].C
    few = some[:: max(len(some) // CURVED, 1)]
    seen = [_seen_by(each, few) for each in members]
    weights, of = cross.weights_of(rows), cross.of[rows]
    total = np.array([weights[of != fold].sum() for fold in range(cross.folds)])
    theta = np.stack([np.column_stack([each.coef_, each.intercept_]) for each in last])  # (F, A, d + 1)
    ridge = np.full(theta.shape[1:], penalty)
    ridge[:, -1] = 0.0
    best, least = theta, np.full(cross.folds, np.inf)
    for _ in range(STEPS):
        slope = ridge * theta
        for block, where in cross.blocks(rows):
            for fold, member in enumerate(members):
                own = of[where] != fold
                X = _seen_by(member, block[own])
                error = _chances(X, theta[fold]) - (
                    answers[where][own][:, None] == np.arange(count)[-forms:]
                )
                slope[fold] += (weights[where][own][:, None] * error).T @ X
        size = np.abs(slope).max(axis=(1, 2)) / total
        better = size < least
        best, least = np.where(better[:, None, None], theta, best), np.where(better, size, least)
        if (least <= FLAT).all() or not better.any():
            break
        theta = best.copy()
        for fold in np.flatnonzero(better).tolist():
            bend = _curvature(seen[fold], theta[fold]) * total[fold] + np.diag(ridge.ravel())
            theta[fold] -= (np.linalg.pinv(bend, hermitian=True) @ slope[fold].ravel()).reshape(
                ridge.shape
            )
    for each, own in zip(last, best, strict=True):
        each.coef_, each.intercept_ = own[:, :-1].copy(), own[:, -1].copy()


def _seen_by(member: Any, X: Array) -> Array:
    """Rows as the last step of an estimator sees them, and a one for the intercept."""
    own = member[:-1].transform(X) if hasattr(member, "steps") and len(member.steps) > 1 else X
    return np.column_stack([own, np.ones(len(own))])


def _chances(X: Array, theta: Array) -> Array:
    """How likely each answer is, (n, A); of two, the second."""
    from scipy.special import expit, softmax

    odds = X @ theta.T
    return np.asarray(expit(odds) if len(theta) == 1 else softmax(odds, axis=1))


def _curvature(X: Array, theta: Array) -> Array:
    """The second derivative of the mean loss on rows `X`, (A (d + 1), A (d + 1))."""
    chance, width = _chances(X, theta), X.shape[1]
    curvature = np.empty((len(theta), width, len(theta), width))
    for one in range(len(theta)):
        for other in range(one + 1):
            bend = chance[:, one] * ((one == other) - chance[:, other])
            curvature[one, :, other] = curvature[other, :, one] = (X * bend[:, None]).T @ X / len(X)
    return curvature.reshape(len(theta) * width, -1)
