"""Boosted trees, LightGBM's or XGBoost's: each round of the game grows the next tree.

A tree once grown never changes, so the model of round t is the first t trees. All iterates together
are one ensemble, and each of them is a number of trees: in training, in a mixture and in its file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.checks import check_made, nearest
from ratebound._old.base.types import Array
from ratebound._old.game.learner import Growing, Learner, Rows, Style
from ratebound._old.game.players import OBJECTIVE_WEIGHT, SwapRegret
from ratebound._old.game.scorer import Graph, Saved, Scorer, check_indices, register_scorer
from ratebound._old.learners._boosters import LIBRARIES, Booster, Recipe
from ratebound._old.learners._trees import ARRAYS, Trees
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import as_array, frame_columns, is_sparse, numbers
from ratebound._old.problem.population import Population


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
        The features that hold codes of categories. Categorical columns of a pandas table are
        recognised. NaN means missing.

    Raises
    ------
    ImportError
        If the library is not installed: ``ratebound[lightgbm]`` or ``ratebound[xgboost]``.

    Examples
    --------
    >>> import ratebound._old as rb
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

    def __post_init__(self) -> None:
        check_made("rb.Boosted", self.model)
        self._recipe  # noqa: B018  # raises at once if it cannot be played

    @property
    def takes_sparse(self) -> bool:
        return LIBRARIES[_library_of(self.model)].takes_sparse

    @property
    def player(self) -> SwapRegret:
        # A hundred rounds are few: from equal multipliers most would go by before the objective has its
        # weight, and a slower player would not keep a hard constraint by their end.
        return SwapRegret(0.05, objective_weight=OBJECTIVE_WEIGHT)

    @property
    def rounds(self) -> int:
        """How many trees the estimator asks for."""
        return self._recipe.rounds

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
        X = rows.inputs
        categories = categories_of(X)
        recipe = self._recipe.on(self.categorical or unordered(X), seed, rows.decisions)
        names = [str(name) for name in frame_columns(X)] or None
        readable = _readable(X, categories, kind)
        return BoostedFit(kind.planted(recipe, readable, names, rows.weights, settings), categories)

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
    """Scores of ensembles up to some tree; a model's parameters are (which ensemble, how many rounds).

    Ensembles that still grow are read from their library when they are asked for. `categories` are, by
    column of a table, what its categories are called, None for numbers.
    """

    kind = "boosted"
    tables = True

    def __init__(
        self, ensembles: Sequence[Trees | Booster], categories: Sequence[Any] | None = None
    ) -> None:
        self._ensembles, self.categories = list(ensembles), categories

    def __reduce__(self) -> tuple[Any, ...]:
        return BoostedScorer, (self.ensembles, self.categories)  # without training rows

    @property
    def ensembles(self) -> list[Trees]:
        """All ensembles, as they are now."""
        return [self._trees(index) for index in range(len(self._ensembles))]

    def _trees(self, index: int) -> Trees:
        each = self._ensembles[index]
        return each if isinstance(each, Trees) else each.trees

    def scores(self, parameters: Array, X: Any) -> Array:
        """(M, A, n) scores of M models (M, 2); every tree is asked once for all of them."""
        which, counts = _whole(parameters)
        rows, width = as_numbers(X, self.categories), self._trees(0).width
        if rows.shape[1] != width:
            raise ValueError(f"X has {rows.shape[1]} features, and the trees take {width}")
        scores = np.empty((len(which), self._trees(0).outputs, rows.shape[0]))
        for index in np.unique(which).tolist():
            own = np.flatnonzero(which == index)
            scores[own] = self._trees(index).scores(rows, counts[own])
        return scores

    def importances(self, parameters: Array) -> Array:
        """(M, d): the share of splits that look at each feature."""
        which, counts = _whole(parameters)
        each = zip(which.tolist(), counts.tolist(), strict=True)
        splits = np.array([self._trees(index).splits(count) for index, count in each], dtype=float)
        shares: Array = splits / np.maximum(splits.sum(axis=1, keepdims=True), 1.0)
        return shares

    def width(self, parameters: Array) -> int:
        return self._trees(0).width

    def kept(self, parameters: Array) -> tuple[BoostedScorer, Array]:
        """Only the ensembles these models use, cut after the last tree any of them needs."""
        which, counts = _whole(parameters)
        used, index = np.unique(which, return_inverse=True)
        last = [max(int(counts[which == one].max()), 1) for one in used]  # no file holds no trees
        short = [self._trees(one).cut(count) for one, count in zip(used, last, strict=True)]
        return BoostedScorer(short, self.categories), np.column_stack([index, counts]).astype(float)

    def beside(self, other: Any, parameters: Array) -> tuple[BoostedScorer, Array]:
        if self.categories != other.categories:
            raise ValueError("these trees were grown on tables of other categories")
        numbered_on = np.array([len(self._ensembles), 0])
        both = BoostedScorer(self._ensembles + other._ensembles, self.categories)
        return both, parameters + numbered_on

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        _check_names(self.categories)
        ensembles = self.ensembles
        arrays = {
            f"{name} {i}": getattr(trees, name) for i, trees in enumerate(ensembles) for name in ARRAYS
        }
        about = {"width": ensembles[0].width, "outputs": ensembles[0].outputs}
        return {**about, "ensembles": len(ensembles), "categories": self.categories}, arrays

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        running = [trees.to_graph(graph, features) for trees in self.ensembles]
        places = np.column_stack(_whole(parameters)).tolist()
        parts = [graph("Gather", running[i], np.array([count]), axis=1) for i, count in places]
        return parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)

    @classmethod
    def read(cls, saved: Saved) -> BoostedScorer:
        about, categories = saved.description, saved.description["categories"]
        width, outputs = about["width"], about["outputs"]
        if not all(type(each) is int and 0 < each < 2**31 for each in (width, outputs)) or outputs == 2:
            raise ValueError(f"its trees are of {width!r} features and {outputs!r} classes")
        if categories is not None and (type(categories) is not list or len(categories) != width):
            raise ValueError("its categories do not fit its features")
        _check_names(categories)
        ensembles = [
            Trees(width, outputs, **{name: saved.arrays[f"{name} {i}"] for name in ARRAYS})
            for i in range(about["ensembles"])
        ]
        for trees in ensembles:
            trees.check()
        check_indices(saved.parameters, [len(ensembles), 2**31])
        for index, trees in enumerate(ensembles):
            if (saved.parameters[saved.parameters[:, 0] == index, 1] > trees.count).any():
                raise ValueError("its models have more trees than there are")
        return cls(ensembles, categories)


class BoostedFit(Growing):
    """Ensembles being grown: `scores` on all rows, then `grow` by their gradient and curvature."""

    dtype = "float64"

    def __init__(self, ensembles: Sequence[Booster], categories: Sequence[Any] | None) -> None:
        self.ensembles, self.categories = list(ensembles), categories
        self.scorer = BoostedScorer(ensembles, categories)
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
            trees.grow(*(each[0] if len(each) == 1 else each for each in (slope, bend)))
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
            rows = _readable(other.inputs, self.categories, type(trees))
            self.watched[id(other)] = other, trees.watch(rows)
        return self._known_scores(self.watched[id(other)][1])

    def _known_scores(self, watched: Any = None) -> Array:
        each = [np.atleast_2d(trees.known_scores(watched)) for trees in self.ensembles]
        return np.stack(each).astype(np.float64)

    def parameters(self) -> Array:
        return np.array(list(enumerate(self.counts)), dtype=np.float64)

    def all_scores(self) -> Array:
        return self.current


def library_of(model: Any) -> str | None:
    """The library that an estimator comes from; None if it is not one of ours."""
    modules = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    return next((name for name in LIBRARIES if name in modules), None)


def _library_of(model: Any) -> str:
    """The library that an estimator comes from, or the one named."""
    library = model if isinstance(model, str) and model in LIBRARIES else library_of(model)
    if library is not None:
        return library
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
    kind = LIBRARIES[library]
    margins = np.atleast_2d(kind.margins(fitted, kind.of_matrix(X) if is_sparse(X) else X))
    return margins.astype(np.float64) if len(margins) == score_count(decisions) else None


def as_trees(member: Any, library: str, X: Any, decisions: int) -> tuple[Trees, Array] | None:
    """The ensemble of a fitted estimator, or of the one decision it makes, and its scores on rows.

    None if its scores are not the sums of its trees, so that it cannot be deployed as an ensemble.
    """
    if isinstance(member, int):
        leaf = np.array([2.0 * member - 1])
        none = np.empty(0, np.int32)
        trees = Trees(X.shape[1], 1, np.array([-1], np.int32), leaf, np.zeros(1, np.uint8), none, none)
        return (trees, leaf.repeat(X.shape[0])[None]) if decisions == 2 else None
    own = own_margins(member, X, decisions)
    try:
        trees = LIBRARIES[library].within(member)
    except ValueError:
        return None
    if own is None:
        return None
    scorer = BoostedScorer([trees], categories_of(X))
    scores = scorer.scores(np.array([[0, trees.count]]), X)[0]
    return (trees, scores) if np.allclose(scores, own, rtol=1e-5, atol=1e-6) else None


# --- rows as numbers ----------------------------------------------------------------------------


def categories_of(X: Any) -> list[Any] | None:
    """The names of the categories of each column of a pandas table; None for other columns."""
    if type(X).__module__.partition(".")[0] != "pandas":
        return None
    categories = [
        X[name].cat.categories.tolist() if str(X[name].dtype) == "category" else None
        for name in frame_columns(X)
    ]
    return None if all(names is None for names in categories) else categories


def unordered(X: Any) -> list[int]:
    """The columns of a pandas table that hold categories without an order."""
    return [
        place
        for place, names in enumerate(categories_of(X) or ())
        if names is not None and not X.iloc[:, place].cat.ordered
    ]


def as_numbers(X: Any, categories: Sequence[Any] | None) -> Any:
    """Rows as floating-point numbers, or a sparse matrix; a category that is not known is missing."""
    if categories is None or not (named := frame_columns(X)):
        values = Population(X).features
        return values if values.dtype.kind == "f" else values.astype(np.float64)
    if len(named) != len(categories):
        raise ValueError(f"X has {len(named)} features, and the trees take {len(categories)}")
    columns = []
    for name, names in zip(named, categories, strict=True):
        if names is None:
            columns.append(numbers(as_array(X[name]), name))
        else:
            codes = X[name].astype("category").cat.set_categories(names).cat.codes.to_numpy(float)
            columns.append(np.where(codes < 0, np.nan, codes))
    return np.column_stack(columns).astype(np.float64)


def _readable(X: Any, categories: Sequence[Any] | None, kind: type[Booster]) -> Any:
    """Rows as a library reads them."""
    values = as_numbers(X, categories)
    return kind.of_matrix(values) if is_sparse(values) else values


def _check_names(categories: Sequence[Any] | None) -> None:
    """ValueError unless what categories are called can be written as JSON."""
    for names in categories or ():
        plain = type(names) is list and all(isinstance(name, str | int | float) for name in names)
        if names is not None and not plain:
            raise ValueError("categories of a table have to be texts or numbers to be saved with trees")


def _whole(parameters: Array) -> tuple[Array, Array]:
    """Which ensemble and how many trees, of each model."""
    which, counts = np.asarray(parameters).astype(int).T
    return which, counts
