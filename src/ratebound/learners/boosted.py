"""Boosted trees, LightGBM's or XGBoost's: each round of the game grows the next tree.

A tree once grown never changes, so the model of round t is the first t trees. All iterates together
are one ensemble, and each of them is a number of trees: in training, in a mixture and in its file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ratebound.base.checks import check_made
from ratebound.base.spelling import nearest
from ratebound.base.types import Array
from ratebound.game.learner import Growing, Learner, Rows, Style
from ratebound.game.players import OBJECTIVE_WEIGHT, Player, SwapRegret, opponent
from ratebound.game.scorer import Graph, Saved, Scorer, check_indices, register_scorer
from ratebound.learners._tree_graph import columns_of, running_scores
from ratebound.learners._trees import LIBRARIES, Recipe, Trees
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import score_count
from ratebound.problem.matrices import is_sparse
from ratebound.problem.population import Population


@dataclass(frozen=True)
class Boosted(Learner):
    """Boosted trees, LightGBM's or XGBoost's: each round of the game grows the next tree.

    Inside `xgboost.collective`, several processes grow the same XGBoost trees, each on its own share of
    the rows.

    Parameters
    ----------
    model : str, LGBMClassifier or XGBClassifier, default="lightgbm"
        The estimator, or "lightgbm" or "xgboost" for one with its defaults. It is read, never fitted or
        changed; its objective gives way to the game's, its number of trees to `rounds` where `rb.play`
        is given them.
    categorical : list of int, default=()
        The features that hold codes of categories. Categorical columns of a pandas table are recognised,
        and `RateConstrainedClassifier` finds them. NaN means missing.

    Raises
    ------
    ImportError
        If the library is not installed: ``ratebound[lightgbm]`` or ``ratebound[xgboost]``.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.Boosted("lightgbm").rounds
    100
    >>> from lightgbm import LGBMClassifier
    >>> rb.Boosted(LGBMClassifier(n_estimators=30, num_leaves=7)).rounds
    30
    """

    model: Any = "lightgbm"
    categorical: Sequence[int] = ()

    fit: ClassVar[Any] = Growing
    style: ClassVar[Style] = "codes"
    takes_missing: ClassVar[bool] = True
    multiplier_rates: ClassVar[tuple[float, ...]] = (0.01, 0.02, 0.05, 0.1)

    def __post_init__(self) -> None:
        check_made("rb.Boosted", self.model)
        self._recipe  # noqa: B018  # raises at once where it cannot be played

    @property
    def takes_sparse(self) -> bool:
        return LIBRARIES[_library_of(self.model)].takes_sparse

    @property
    def player(self) -> SwapRegret:
        # A hundred rounds are few: from equal multipliers most would go by before the objective has its
        # weight, and a slower player would not keep a hard constraint by their end.
        return SwapRegret(0.05, objective_weight=OBJECTIVE_WEIGHT)

    def opponent(self, constraints: int) -> Player:
        # However many constraints there are: growing a tree takes longer than moving the multipliers.
        return opponent("swap", constraints, self.multiplier_rates)

    @property
    def rounds(self) -> int:
        """How many trees the estimator asks for."""
        return self._recipe.rounds

    @property
    def patience(self) -> int | None:
        """The estimator's early stopping: after how many rounds without improvement, for `Stalled`."""
        return self._recipe.patience

    def prepared(self, names: Sequence[str], codes: Sequence[int], rows: int) -> Boosted:
        return replace(self, categorical=tuple(self.categorical) or tuple(codes))

    def start(self, rows: Rows, settings: int, seed: int) -> BoostedFit:
        """Ensembles at work on these rows, array or table; weights may move the bins of features.

        Parameters
        ----------
        rows : Rows
            A population, or a compiled problem.
        settings : int
            How many ensembles grow side by side.
        seed : int
            Of all that trees leave to chance.

        Returns
        -------
        Fit
            The ensembles, before their first tree.
        """
        kind = LIBRARIES[_library_of(self.model)]
        readable = _readable(rows.inputs, kind)
        recipe = self._recipe.on(self.categorical, seed, rows.decisions)
        return BoostedFit(kind.planted(recipe, readable, rows.weights, settings))

    @cached_property
    def _recipe(self) -> Recipe:
        kind = LIBRARIES[_library_of(self.model)]
        estimator = getattr(kind.library(), kind.CLASSIFIER)
        model = estimator() if isinstance(self.model, str) else self.model
        if not isinstance(model, estimator):
            raise TypeError(f"Boosted takes an {kind.CLASSIFIER}, got {type(model).__name__}")
        return kind.recipe(model)


@register_scorer
class BoostedScorer(Scorer):
    """Scores of ensembles up to some tree; a model's parameters are (which ensemble, how many trees)."""

    kind = "boosted"
    tables = True

    def __init__(self, ensembles: Sequence[Trees]) -> None:
        self.ensembles = list(ensembles)

    def scores(self, parameters: Array, X: Any) -> Array:
        """(M, A, n) scores of M models (M, 2); every tree is asked once for all of them."""
        which, counts = _whole(parameters)
        rows, shape = _readable(X, type(self.ensembles[0])), self.ensembles[0].outputs
        found = np.empty((len(which), *shape, rows.shape[0]))
        for index in np.unique(which):
            trees, passed = self.ensembles[index], 0
            running = np.zeros((*shape, rows.shape[0]), trees.dtype)
            own = np.flatnonzero(which == index)
            for member in own[np.argsort(counts[own])]:
                if counts[member] > passed:
                    running = trees.added(running, rows, passed, int(counts[member]))
                    passed = int(counts[member])
                found[member] = running
        return found.reshape(len(which), -1, rows.shape[0])

    def width(self, parameters: Array) -> int:
        return self.ensembles[0].width

    def kept(self, parameters: Array) -> tuple[BoostedScorer, Array]:
        """Only the ensembles these models use, cut after the last tree any of them needs."""
        which, counts = _whole(parameters)
        used, index = np.unique(which, return_inverse=True)
        last = [max(int(counts[which == one].max()), 1) for one in used]  # no library writes no trees
        short = [self.ensembles[one].cut(count) for one, count in zip(used, last, strict=True)]
        return BoostedScorer(short), np.column_stack([index, counts]).astype(np.float64)

    def beside(self, other: Any, parameters: Array) -> tuple[BoostedScorer, Array]:
        numbered_on = np.array([len(self.ensembles), 0])
        return BoostedScorer(self.ensembles + other.ensembles), parameters + numbered_on

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Trees as they are read: without what only training needs, so that equal ones are equal."""
        names = {kind: name for name, kind in LIBRARIES.items()}
        arrays = {
            f"ensemble {i}": np.frombuffer(trees.checked(trees.to_bytes()), dtype=np.uint8)
            for i, trees in enumerate(self.ensembles)
        }
        library = names[type(self.ensembles[0])]
        return {"library": library, "ensembles": len(arrays)}, arrays

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        which, counts = _whole(parameters)
        running = []
        for trees in self.ensembles:
            flat = trees.flat(trees.to_bytes())
            if len(flat) != trees.count * math.prod(trees.outputs):
                raise ValueError("to_onnx cannot write ensembles of several trees a round and class")
            how: dict[str, Any] = {"branch": trees.branch, "unknown_left": trees.unknown_left}
            how |= {"dtype": trees.dtype, "outputs": trees.outputs}
            running.append(running_scores(graph, flat, features, **how))
        scores = columns_of(graph, running, np.column_stack([which, counts]))
        return graph("Reshape", scores, np.array([0, len(which), -1]))  # 0 stands for n

    @classmethod
    def read(cls, saved: Saved) -> BoostedScorer:
        library, count = saved.description["library"], saved.description["ensembles"]
        if library not in LIBRARIES:
            raise ValueError(f"its trees are of an unknown library, {library!r}")
        trees = LIBRARIES[library]
        raw = [saved.arrays[f"ensemble {i}"].tobytes() for i in range(count)]
        found = cls([trees.from_bytes(trees.checked(one)) for one in raw])
        if len({one.outputs for one in found.ensembles}) > 1:
            raise ValueError("its ensembles are not of the same number of classes")
        check_indices(saved.parameters, [len(found.ensembles), 2**31])
        return found


class BoostedFit(Growing):
    """Ensembles being grown: `scores` on all rows, then `grow` by their gradient and curvature."""

    dtype = "float64"

    def __init__(self, ensembles: Sequence[Trees]) -> None:
        self.ensembles, self.scorer = list(ensembles), BoostedScorer(ensembles)
        self._look()
        self.watched: dict[int, tuple[Compiled, Any]] = {}

    def scores(self, rows: Array | None) -> Array:
        """(K, A, n) scores of all rows."""
        return self.current

    def grow(self, gradient: Array, curvature: Array) -> None:
        """One more tree for each setting, or one for each class of each.

        By the gradient and the curvature of the scores last given.
        """
        for trees, slope, bend in zip(self.ensembles, gradient, curvature, strict=True):
            trees.grow(*(each.reshape(*trees.outputs, -1) for each in (slope, bend)))
        self._look()

    def _look(self) -> None:
        """Note the scores and counts; after an interrupt during `grow` the earlier ones stand."""
        self.current, self.counts = self._known_scores(), [trees.count for trees in self.ensembles]

    def watched_scores(self, other: Compiled) -> Array:
        """(K, A, n) scores of another population's rows, which grow with the trees.

        T rounds cost T trees. From scratch in each round they would cost T²/2.
        """
        if id(other) not in self.watched:  # kept here, so that its id is not used again
            trees = self.ensembles[0]
            self.watched[id(other)] = other, trees.watch(_readable(other.inputs, type(trees)))
        return self._known_scores(self.watched[id(other)][1])

    def judged_scores(self, judge: Compiled, rows: Array | None) -> Array:
        return self.watched_scores(judge)

    def _known_scores(self, watched: Any = None) -> Array:
        each = [np.atleast_2d(trees.known_scores(watched)) for trees in self.ensembles]
        return np.stack(each).astype(np.float64)

    def parameters(self) -> Array:
        return np.array(list(enumerate(self.counts)), dtype=np.float64)

    def all_scores(self) -> Array:
        return self.current


def library_of(model: Any) -> str | None:
    """The library that an estimator comes from; None if it is not one of ours."""
    found = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    return next((name for name in LIBRARIES if name in found), None)


def _library_of(model: Any) -> str:
    """The library that an estimator comes from, or the one named."""
    found = model if isinstance(model, str) and model in LIBRARIES else library_of(model)
    if found is not None:
        return found
    names, slip = ", ".join(map(repr, LIBRARIES)), nearest(str(model), LIBRARIES).rstrip(".")
    raise ValueError(
        f"Boosted takes an LGBMClassifier, an XGBClassifier, or one of {names}; got {model!r}{slip}"
    )


def own_margins(fitted: Any, X: Any, decisions: int) -> Array | None:
    """What an estimator that one of the libraries fitted gives to rows before it is a probability.

    (A, n). None for other estimators, and if it saw no row of some class.
    """
    if (library := library_of(fitted)) is None:
        return None
    margins = np.atleast_2d(LIBRARIES[library].within(fitted, _readable(X, LIBRARIES[library]))[1])
    return margins.astype(np.float64) if len(margins) == score_count(decisions) else None


def as_trees(member: Any, library: str, X: Any, decisions: int) -> tuple[Trees, Array] | None:
    """The ensemble of a fitted estimator, or of the one decision it makes, and its scores on rows.

    None where its scores are not the sums of its trees, so that it cannot be deployed as one.
    """
    kind = LIBRARIES[library]
    rows = _readable(X, kind)
    if isinstance(member, int):
        if decisions > 2:
            return None
        trees, own = kind.constant(member == 1, rows), np.full(rows.shape[0], 2.0 * member - 1)
    else:
        trees, own = kind.within(member, rows)
        if len(np.atleast_2d(own)) != score_count(decisions) or not _is_storable(trees):
            return None
    scores = BoostedScorer([trees]).scores(np.array([[0, trees.count]]), X)[0]
    return (trees, scores) if np.allclose(scores, own, rtol=1e-5, atol=1e-6) else None


def _is_storable(trees: Trees) -> bool:
    """Whether its text is one that is read back: not of a random forest, which averages its trees."""
    try:
        trees.checked(trees.cut(1).to_bytes())
    except ValueError:
        return False
    return True


def _readable(X: Any, kind: type[Trees]) -> Any:
    """A pandas table as it is, since the libraries know its categories; anything else as numbers."""
    if type(X).__module__.partition(".")[0] == "pandas":
        return X
    numbers = Population(X).features
    return kind.of_matrix(numbers) if is_sparse(numbers) else numbers


def _whole(parameters: Array) -> tuple[Array, Array]:
    """Which ensemble and how many trees, of each model."""
    which, counts = np.asarray(parameters).astype(int).T
    return which, counts
