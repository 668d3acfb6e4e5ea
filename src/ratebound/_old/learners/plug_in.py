"""The plug-in learner: learn P(cell | x) once, and every multiplier has its best decision for free.

At multipliers λ, a yes for a row of cell c costs (C_0 + λ·C)[c]. If only the features of a row are
known, the expected cost is Σ_c P(c | x) (C_0 + λ·C)[c], so the best decision is yes if that is below 0.
This needs no proxy and no fit. A model of this learner is therefore its multipliers, and its score is
minus this sum, in units of one error. At λ = 0 it decides as the plain model does. (Menon and
Williamson, 2018; Celis et al., 2019; Xian and Zhao, 2024.)

`forecast` learns P(cell | x).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.checks import check_whole, nearest
from ratebound._old.base.extras import import_extra
from ratebound._old.base.types import Array
from ratebound._old.game.folding import Folded, folded
from ratebound._old.game.learner import Answering, Learner, Rows, Style
from ratebound._old.game.scorer import Graph, Saved, Scorer, register_scorer
from ratebound._old.learners._in_pieces import why_not_in_pieces
from ratebound._old.learners.boosted import library_of
from ratebound._old.learners.forecast import Forecast, inputs_of, learn
from ratebound._old.learners.oracle import Oracle
from ratebound._old.learners.torch import MLP, Torch
from ratebound._old.problem.compiled import Compiled
from ratebound._old.rates.expressions import FIRST

FOLDS = 5  # three leave each model a third of the rows less
WHOLE = -1.0  # in place of a fold: the mean of all fold models
# One thread, as others would wait for each other longer than they work.
SMALL_TREES = {"n_estimators": 20, "learning_rate": 0.25, "n_jobs": 1}
# How far small trees shrink towards the share of a group. Without it they diverge if a group has few
# rows: on nine races of ACSIncome the log loss out of fold was 4.5, and .68 by shares alone; with it
# .004.
SHRUNK = 5.0
# The same trees bit for bit as by columns, and faster in one thread; of more, bits would depend on them.
ALONE = {"n_jobs": 1, "force_row_wise": True}
COARSE = {"max_bin": 63} | ALONE  # takes LightGBM less time, at the same log loss
LEARNING_RATES = (0.003, 0.01)  # of networks
MANY_ROWS = 20_000  # from which trees of labels are as large as their library makes them
SEVERAL_THREADS = 50_000  # rows from which LightGBM takes all threads
LEAST = 20  # rows in a leaf, as LightGBM has it
STAGES = 5  # numbers of trees that are tried, of a library that is named


def _logistic() -> Learner:
    from sklearn.linear_model import LogisticRegression

    return Oracle(LogisticRegression(max_iter=1000))


def _named_lightgbm(rows: int) -> Learner:
    if rows < 2 * LEAST:
        raise ValueError(
            f"LightGBM can split none of the features of these {rows:,} rows: it needs {LEAST} rows on "
            "either side; lower min_child_samples, as in LGBMClassifier(min_child_samples=5), or use "
            "more rows"
        )
    leaves = {} if rows >= MANY_ROWS else {"num_leaves": 8}
    return _lightgbm(**leaves, **({} if rows >= SEVERAL_THREADS else ALONE))


def _lightgbm(**settings: Any) -> Learner:
    library = import_extra("lightgbm", "LightGBM", "lightgbm")
    return Oracle(library.LGBMClassifier(**settings))


def _xgboost(**settings: Any) -> Learner:
    library = import_extra("xgboost", "XGBoost", "xgboost")
    return Oracle(library.XGBClassifier(**settings))


def catboost() -> Learner:
    """CatBoost's classifier with its defaults, silent, and without the folder that it writes."""
    library = import_extra("catboost", "CatBoost", "catboost")
    return Oracle(library.CatBoostClassifier(verbose=0, allow_writing_files=False))


# By the number of rows: of few, shallow trees learn more than deep ones, and threads only wait.
MODELS: dict[str, Callable[[int], Learner]] = {
    "linear": lambda rows: _logistic(),
    "mlp": lambda rows: MLP(learning_rate=LEARNING_RATES),
    "lightgbm": _named_lightgbm,
    "xgboost": lambda rows: _xgboost(**({} if rows >= MANY_ROWS else {"max_depth": 3, "n_jobs": 1})),
    "catboost": lambda rows: catboost(),
}


@dataclass(frozen=True)
class PlugIn(Learner):
    """Learns the probability of each label and group once; the best decision at any multipliers follows.

    One model learns the probability of each label. Small models learn which of the promises' groups a
    row belongs to. Given these, the best decision at any multipliers is known without another fit. Each
    model is trained once without each fold, and the mean of these is deployed, so that `rb.play` judges
    out of fold.

    Parameters
    ----------
    model : str, classifier or learner, default="linear"
        What learns the labels: "linear" (a logistic regression), "lightgbm", "xgboost", "mlp", any
        scikit-learn classifier, or another learner, trained without promises.
    groups : str, classifier or learner, default=None
        What learns the groups among the rows of a label. By default it is small, and of the same kind:
        a logistic regression, or few shallow trees.
    folds : int, default=5
        The number of folds. More leave each model more rows, and take more time.

    See Also
    --------
    RateConstrainedClassifier : Uses it for promises on new rows.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> people = rb.Population(X, X.sum(axis=1) > 0, columns={"group": X[:, 1] > 0})
    >>> goal = [rb.positive_rate(group=False) >= 0.8 * rb.positive_rate()]
    >>> compiled = rb.compile(rb.Problem(rb.error_rate(), goal), people)
    >>> trace = rb.play(compiled, rb.PlugIn("linear"))
    >>> trace.ended, rb.shrink(trace).status.feasible
    ('gap', True)
    """

    model: Any = "linear"
    groups: Any = None
    folds: int = FOLDS

    fit: ClassVar[Any] = Answering

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, least=2)
        if isinstance(_as_learner(self.model), PlugIn):  # raises unless it is a learner
            raise TypeError("rb.PlugIn takes a model of labels, and a plug-in is more than that")

    def labels(self, rows: int = MANY_ROWS) -> Learner:
        """What learns the labels.

        Parameters
        ----------
        rows : int, default=20000
            Of how many rows: of few, trees are small.

        Returns
        -------
        Learner
            It is trained without promises.
        """
        return _as_learner(self.model, rows)

    def small(self, rows: int) -> Learner:
        """What learns the groups.

        Parameters
        ----------
        rows : int
            Of how many rows.

        Returns
        -------
        Learner
            It is trained on the rows of one label.
        """
        return _small(self.labels(rows)) if self.groups is None else _as_learner(self.groups, rows)

    def learn(
        self,
        compiled: Compiled,
        split: Folded,
        seed: int,
        progress: bool | None = None,
        epochs: int | None = None,
    ) -> tuple[Forecast, Array]:
        """Learn what the rows of a problem are, as far as their features tell.

        Parameters
        ----------
        compiled : Compiled
            The problem on the rows.
        split : Folded
            How they are split into folds.
        seed : int
            Of the models.
        progress : bool, default=None
            Whether to show a bar. By default on a terminal only; True prints lines elsewhere.
        epochs : int, default=None
            Passes over the rows, of models that learn by steps. By default 40, or enough for 1,000
            steps, at most 5,000.

        Returns
        -------
        Forecast
            The models of all folds.
        array of shape (J, n)
            What each row is expected to count in each cell, by models that did not see it.
        """
        rows = compiled.sizes[FIRST]
        stages = STAGES if isinstance(self.model, str) else 1
        models = self.labels(rows), self.small(rows)
        return learn(compiled, *models, split.of, split.count, seed, stages, progress, epochs)

    @property
    def style(self) -> Style:
        return "scaled" if self.model == "linear" else self.labels().style

    @property
    def takes_missing(self) -> bool:
        return self.labels().takes_missing and self.small(MANY_ROWS).takes_missing

    @property
    def takes_sparse(self) -> bool:
        return self.labels().takes_sparse

    @property
    def takes_stored(self) -> bool:
        return not self.why_not_stored

    @property
    def why_not_stored(self) -> str:
        """Why it cannot be trained on rows on disk, in words; empty if it can."""
        if self.style == "table":
            return "rows are on disk, and a pipeline that encodes tables reads all at once"
        learners = self.labels(), self.small(MANY_ROWS)
        return next(filter(None, map(why_not_in_pieces, learners)), "")

    @property
    def cross_fits(self) -> bool:
        return True

    def start(self, rows: Rows, settings: int, seed: int) -> PlugInFit:
        return PlugInFit(self, settings, seed)


def _as_learner(model: Any, rows: int = MANY_ROWS) -> Learner:
    if isinstance(model, Learner):
        return model
    if isinstance(model, str):
        if model not in MODELS:
            names, slip = ", ".join(map(repr, MODELS)), nearest(model, MODELS).rstrip(".")
            raise ValueError(f"rb.PlugIn takes one of {names}, or a classifier; got {model!r}{slip}")
        return MODELS[model](rows)
    if callable(model) and not hasattr(model, "fit"):
        return Torch(model, learning_rate=LEARNING_RATES)
    return Oracle(model)


def _small(labels: Learner, *, gaps: bool = False) -> Learner:
    """A small model of the same kind, and of the same features, which may have `gaps`."""
    if not isinstance(labels, Oracle):
        return _logistic()
    from sklearn.base import clone
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import StandardScaler

    estimator = labels.estimator
    if isinstance(estimator, Pipeline):
        before = clone(Pipeline(estimator.steps[:-1])) if len(estimator.steps) > 1 else None
        last = _small(Oracle(estimator.steps[-1][1]), gaps=True)
        assert isinstance(last, Oracle)
        return Oracle(
            last.estimator
            if before is None
            else Pipeline([("before", before), ("last", last.estimator)])
        )
    if type(estimator) is LogisticRegression:
        return Oracle(clone(estimator).set_params(class_weight=None))
    if library_of(estimator) == "lightgbm":
        few = {"num_leaves": 8, "min_child_samples": 5, "reg_lambda": SHRUNK} | COARSE
        return _lightgbm(**SMALL_TREES | few | _own(estimator))
    if library_of(estimator) == "xgboost":
        return _xgboost(**SMALL_TREES | {"max_depth": 3} | _own(estimator))
    if type(estimator).__name__.startswith("HistGradientBoosting"):
        few = {"max_iter": 20, "learning_rate": 0.25, "max_leaf_nodes": 8, "early_stopping": False}
        return Oracle(clone(estimator).set_params(l2_regularization=SHRUNK, **few))
    # Other kinds get a linear model: nothing in it has to be trusted to read it from a file.
    filled = [SimpleImputer(add_indicator=True, keep_empty_features=True)] * (
        gaps and labels.takes_missing
    )
    scaler = StandardScaler(with_mean=not labels.takes_sparse)
    return Oracle(make_pipeline(*filled, scaler, LogisticRegression(max_iter=1000)))


def _own(estimator: Any) -> dict[str, Any]:
    """The settings of an estimator about threads and randomness, for another estimator of its kind."""
    given = estimator.get_params()
    names = ("n_jobs", "random_state", "verbose", "enable_categorical", "tree_method", "device")
    return {name: given[name] for name in names if given.get(name) is not None}


@register_scorer
@dataclass(frozen=True, eq=False)
class PlugInScorer(Scorer):
    """Minus what a decision is expected to cost; parameters (M, 1 + T) are a fold and multipliers.

    Where columns may be used when deciding, a model is of one known group, and its parameters (M, 2 + T)
    have the group after the fold: -1 for none.
    """

    forecast: Forecast
    terms: Array  # (T, (D - 1) · J) what the objective and each promise add to the cost of a decision
    names: tuple[str, ...]  # (T,) what they are called
    decisions: int = 2
    kind: ClassVar[str] = "plug-in"

    @property
    def tables(self) -> bool:  # type: ignore[override]  # of its models, some of which read tables
        return self.forecast.tables

    @property
    def head(self) -> int:
        """How many parameters stand before the multipliers."""
        return 1 if self.forecast.given is None else 2

    def _groups(self, parameters: Array) -> list[int | None]:
        """The known group of each model, if it is of one."""
        groups = parameters[:, 1] if self.head == 2 else np.full(len(parameters), -1)
        return [None if group < 0 else int(group) for group in groups]

    def scores(self, parameters: Array, X: Any) -> Array:
        of, groups = parameters[:, 0].astype(int), self._groups(parameters)
        folds = np.arange(self.forecast.folds) if (of < 0).any() else np.unique(of)
        answers = self.forecast.answers(X, folds)
        costs = parameters[:, self.head :] @ self.terms
        scores: list[Any] = [None] * len(parameters)
        for group in dict.fromkeys(groups):
            values = self.forecast.combined(answers, group)
            whole = values.mean(axis=0)
            for place in (place for place, own in enumerate(groups) if own == group):
                fold = of[place]
                seen = whole if fold < 0 else values[np.searchsorted(folds, fold)]
                scores[place] = scored(costs[place][None], seen)[0]
        return np.stack(scores)

    def without_promises(self) -> Array:
        none = [0.0] * (len(self.terms) - 1)
        return np.array([[*[WHOLE] * self.head, 1.0, *none]])

    def parts(self, parameters: Array, X: Any) -> tuple[tuple[str, ...], Array]:
        values = self.forecast.values(X, group=self._groups(parameters[None])[0]).mean(axis=0)
        return self.names, scored(parameters[self.head :, None] * self.terms, values)

    def coefficients(self, parameters: Array) -> Array | None:
        part = self.forecast.labels  # of the label's log odds, the same for all multipliers
        own = part.scorer.coefficients(part.parameters)
        if own is None:
            return None
        slope = 1.0 if part.line is None else part.line.slope
        return np.repeat(slope * own.mean(axis=0, keepdims=True), len(parameters), axis=0)

    def importances(self, parameters: Array) -> Array | None:
        part = self.forecast.labels  # for the label, the mean of the models of all folds
        own = part.scorer.importances(part.parameters)
        return None if own is None else np.repeat(own.mean(axis=0, keepdims=True), len(parameters), 0)

    def label_scores(self, parameters: Array, X: Any) -> Array:
        likely = self.forecast.label_probabilities(X).clip(1e-9, 1.0)
        odds = np.log(likely[1:] / likely[0]) if len(likely) == 2 else np.log(likely)
        return np.repeat(odds[None], len(parameters), axis=0)

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        costs, forecast = (
            parameters[:, self.head :] @ self.terms,
            self.forecast.to_graph(graph, features),
        )
        groups, totals, order = self._groups(parameters), [], []
        for group in dict.fromkeys(groups):
            own = [place for place, other in enumerate(groups) if other == group]
            totals.append(forecast.costs(costs[own].reshape(-1, self.forecast.size), group))
            order += own
        total = totals[0]
        if len(totals) > 1:
            others = self.decisions - 1
            places = (np.argsort(order)[:, None] * others + np.arange(others)).ravel()
            total = graph("Gather", graph("Concat", *totals, axis=1), places, axis=1)
        scores = graph("Neg", total)
        if self.decisions == 2:
            return graph("Unsqueeze", scores, np.array([2]))
        each = graph("Reshape", scores, np.array([-1, len(parameters), self.decisions - 1]))
        first = graph("Sub", *[graph("Slice", each, *map(np.array, ([0], [1], [2])))] * 2)
        return graph("Concat", first, each, axis=2)

    def label_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        likely = self.forecast.to_graph(graph, features).labels
        odds = graph("Log", graph("Max", likely, np.array(1e-9)))
        if self.forecast.label_count == 2:
            ends = [graph("Gather", odds, np.array([place]), axis=1) for place in (1, 0)]
            odds = graph("Sub", *ends)
        each = graph("Unsqueeze", odds, np.array([1]))
        return graph("Concat", *[each] * len(parameters), axis=1)

    def kept(self, parameters: Array) -> tuple[PlugInScorer, Array]:
        """Without the promises that none of these models weighs."""
        used: Array = np.any(parameters[:, self.head :], axis=0)
        used[0] = True
        names = tuple(name for name, own in zip(self.names, used, strict=True) if own)
        head, multipliers = np.split(parameters, [self.head], axis=1)
        few = np.column_stack([head, multipliers[:, used]])
        return replace(self, terms=self.terms[used], names=names), few

    def width(self, parameters: Array) -> int | None:
        part = self.forecast.labels
        return part.scorer.width(part.parameters)

    def beside(self, other: Any, parameters: Array) -> tuple[PlugInScorer, Array]:
        if other.forecast is not self.forecast or other.terms.shape != self.terms.shape:
            raise ValueError("plug-in models of different forecasts cannot stand side by side")
        return self, parameters

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        description, arrays = self.forecast.describe()
        own = {"forecast": description, "names": list(self.names), "decisions": self.decisions}
        return own, {"terms": self.terms, **{f"forecast/{name}": each for name, each in arrays.items()}}

    @classmethod
    def read(cls, saved: Saved) -> PlugInScorer:
        given, arrays = saved.description, saved.arrays
        held = {n.removeprefix("forecast/"): each for n, each in arrays.items() if n != "terms"}
        forecast = Forecast.read(given["forecast"], held, saved.trusted, saved.module)
        names, decisions, terms = given["names"], given["decisions"], arrays["terms"]
        if type(decisions) is not int or decisions < 2 or not all(isinstance(n, str) for n in names):
            raise ValueError("its multipliers do not say what they are of")
        if terms.shape != (len(names), (decisions - 1) * forecast.size) or not np.isfinite(terms).all():
            raise ValueError("what its promises cost does not fit its forecast")
        sizes = [forecast.folds] if forecast.given is None else [forecast.folds, forecast.given.groups]
        fits = saved.parameters.shape[1] == len(sizes) + len(names)
        heads = zip(saved.parameters.T, sizes, strict=False)
        if not fits or not all(np.isin(head, np.arange(-1, size)).all() for head, size in heads):
            raise ValueError("its parameters refer to models it does not have")
        return cls(forecast, terms, tuple(names), decisions)


def expected(costs: Array, values: Array) -> Array:
    """(M, D - 1, n): what decisions cost at `costs` (M, (D - 1) · J) on rows with `values` (J, n).

    Sums go column by column, so that a row has the same bits whatever other rows there are.
    """
    each = costs.reshape(len(costs), -1, len(values))
    total = np.zeros((*each.shape[:2], values.shape[1]))
    own = np.empty_like(total)
    for place, column in enumerate(np.flatnonzero(each.any(axis=(0, 1)))):
        np.multiply(each[:, :, column, None], values[column], out=own if place else total)
        if place:
            total += own
    return total


def scored(costs: Array, values: Array) -> Array:
    """Scores (M, A, n) of rules by what decisions are expected to cost."""
    scores = expected(-costs, values)
    if scores.shape[1] == 1:
        return scores
    return np.concatenate([np.zeros_like(scores[:, :1]), scores], axis=1)


def terms_of(compiled: Compiled, forecast: Forecast) -> Array:
    """(1+m, (D - 1) · J): what the objective and each promise add to the cost of a decision.

    In units of one error: times the number of rows, as a row of n is counted by 1 / n.
    """
    others = compiled.decisions - 1
    by_cells = forecast.width == compiled.cell_count
    parts = []
    for block in compiled.at_zero:
        net = compiled.spread_each(block.net) if by_cells else block.net.toarray()
        parts.append(net.reshape(len(net), others, forecast.width))
    together = np.concatenate(parts, axis=2) * float(len(compiled.cells))
    return together.reshape(len(together), -1)


class PlugInFit(Answering):
    """A forecast, learned at the first multipliers; each answer is these multipliers."""

    tolerance = 1e-5
    scorer: PlugInScorer

    def __init__(self, spec: PlugIn, models: int, seed: int) -> None:
        self.spec, self.models, self.seed = spec, models, seed
        self.values: Array = np.empty((0, 0, 0))  # (F + 1, J, n) by the model of each fold, and by all
        self.latest = np.empty((0, 0))

    def answer(self, costs: Iterable[Array]) -> None:
        raise TypeError("rb.PlugIn answers multipliers, not the costs of rows: call respond")

    def respond(self, compiled: Compiled, weights: Array, folds: Folded | None) -> None:
        if not hasattr(self, "scorer"):
            split = folds or folded(compiled, self.spec.folds, self.seed)
            forecast, _ = self.spec.learn(compiled, split, self.seed, False)
            every = forecast.values(inputs_of(compiled, tables=forecast.tables))
            self.values = np.concatenate([every, every.mean(axis=0, keepdims=True)])
            names = ("the objective", *compiled.labels)
            self.scorer = PlugInScorer(forecast, terms_of(compiled, forecast), names, compiled.decisions)
        own = weights * compiled.scale[0] / compiled.scale
        of = [WHOLE] if self.models == len(weights) else [*range(self.scorer.forecast.folds), WHOLE]
        self.latest = np.array([[fold, *each] for each in own for fold in of])

    def parameters(self) -> Array:
        return self.latest.copy()

    def all_scores(self) -> Array:
        costs = self.latest[:, 1:] @ self.scorer.terms
        seen = self.latest[:, 0].astype(int)
        return np.concatenate(
            [scored(c[None], self.values[f]) for c, f in zip(costs, seen, strict=True)]
        )
