"""Any scikit-learn classifier that takes sample weights, as an oracle: each round is a whole fit.

In a file, models whose score is w · x + b are written as numbers, and LightGBM's and XGBoost's as their
trees (see `OracleFit.settled`). All others are written with skops (see `_archives`).

An estimator is asked in weighted rows. Let a row cost c(d) if it is decided d, and have a copy for each
class d, labelled d, of weight g(d) = max c - c(d). If h is decided, the copies have the weighted error
Σ_d g(d) [h != d] = c(h) + a constant. So the decisions of least weighted error are those of least cost:
exactly, for a classifier that minimises its errors. Most minimise a loss in their place, and answer as
well as that stands for it. Copies of no weight are left out; errors and recalls leave one for each row.
It answers with a score for each class, also for those it saw no row of.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.checks import check_made, check_number
from ratebound._old.base.types import Array
from ratebound._old.game.learner import Answering, Learner, Rows, Style
from ratebound._old.game.scorer import Saved, Scorer, check_indices, register_scorer
from ratebound._old.game.trace import Trace
from ratebound._old.learners._archives import archived, restored
from ratebound._old.learners._boosters import LIBRARIES
from ratebound._old.learners.boosted import (
    BoostedScorer,
    as_trees,
    categories_of,
    library_of,
    own_margins,
)
from ratebound._old.learners.linear import LinearScorer
from ratebound._old.problem.deciding import score_count
from ratebound._old.problem.frames import as_array, frame_columns, is_sparse, rows_of

FAINTEST = 1e-12  # a probability that is never the largest, and has a logarithm
ROUNDING = 1e-13  # costs are the same up to this share of the largest
COMPARED = 200  # rows on which what is deployed is compared with the estimator


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """A weighted problem: rows by their places, some of them more than once, each with a label."""

    rows: Array  # (r,) in order
    labels: Array  # (r,) int
    weights: Array  # (r,) positive


def weighted_rows(cost: Array, row_weights: Array | None = None) -> WeightedRows:
    """The weighted problem of rows that cost (n, D) for each decision.

    Weights sum to those of the rows, so that even to a regularised model a row of weight 2 is two.

    >>> asked = weighted_rows(np.array([[0.0, 1.0, 1.0], [3.0, 1.0, 0.0], [2.0, 2.0, 2.0]]))
    >>> asked.rows, asked.labels, asked.weights
    (array([0, 1, 1]), array([0, 1, 2]), array([0.33333333, 0.66666667, 1.        ]))
    """
    gains = cost.max(axis=1, keepdims=True) - cost
    gains[gains <= ROUNDING * np.abs(cost).max(initial=0.0)] = 0.0
    rows, labels = np.nonzero(gains)
    weights = gains[rows, labels] / gains.max(initial=ROUNDING)  # equal ones are 1 to the last bit
    counted = np.unique(rows)
    total = len(counted) if row_weights is None else row_weights[counted].sum()
    return WeightedRows(rows, labels, weights * (total / weights.sum()) if len(rows) else weights)


def member_scores(member: Any, X: Any, decisions: int) -> Array:
    """Scores (A, n) of a member, a fitted estimator or the one class it decides."""
    each = score_count(decisions)
    if isinstance(member, int):
        chosen = np.arange(decisions)[-each:] == member
        return np.where(chosen, 1.0, -1.0)[:, None].repeat(X.shape[0], axis=1)
    if (margins := own_margins(member, X, decisions)) is not None:
        return margins
    return _yes(member, X)[None] if each == 1 else _each_class(member, X, decisions)


def _yes(member: Any, X: Any) -> Array:
    """Scores (n,) of a yes, from 0 on."""
    if hasattr(member, "decision_function"):
        return np.asarray(member.decision_function(X), dtype=float)
    if hasattr(member, "predict_proba"):
        odds = np.asarray(member.predict_proba(X), dtype=float).clip(min=FAINTEST)
        scores = np.log(odds[:, 1] / odds[:, 0])
        return np.where(scores == 0, -FAINTEST, scores)  # its own predict says no at a half
    return np.asarray(member.predict(X), dtype=float) - 0.5


def _each_class(member: Any, X: Any, decisions: int) -> Array:
    """Scores (D, n); classes that an estimator saw no row of are never the largest."""
    seen = _seen(member, decisions)
    if hasattr(member, "decision_function") and not _in_pairs(member):
        margins = np.asarray(member.decision_function(X), dtype=float)
        if margins.ndim == 1:
            margins = np.column_stack([-margins, margins])
        if margins.shape[1] == len(seen):
            return _placed(margins.T, seen, margins.mean(axis=1) - 1, decisions)
    if hasattr(member, "predict_proba"):
        odds = np.asarray(member.predict_proba(X), dtype=float)
        return _placed(np.log(odds.T.clip(min=FAINTEST)), seen, np.log(FAINTEST), decisions)
    return np.where(np.arange(decisions)[:, None] == member.predict(X), 1.0, -1.0)


def _in_pairs(member: Any) -> bool:
    """Whether it scores pairs of classes, as an SVC can; three classes have as many pairs."""
    given = member.get_params() if hasattr(member, "get_params") else {}
    return any(v == "ovo" for name, v in given.items() if name.endswith("decision_function_shape"))


def _placed(scores: Array, seen: Array, otherwise: Any, decisions: int) -> Array:
    """Values (k, ...) of the classes seen, among those of all (D, ...)."""
    every = np.empty((decisions, *scores.shape[1:]))
    every[:] = otherwise
    every[seen] = scores
    return every


def _seen(member: Any, decisions: int) -> Array:
    """The numbers of the classes that an estimator was fitted to, as its scores are in order."""
    if not hasattr(member, "classes_"):
        raise TypeError(
            f"{type(member).__name__} has no classes_ once it is fitted: more than two classes need a "
            "classifier, such as LogisticRegression or RandomForestClassifier"
        )
    classes = np.asarray(member.classes_).astype(int)
    if classes.ndim != 1 or not np.isin(classes, np.arange(decisions)).all():
        raise ValueError(f"{type(member).__name__} was not fitted to {decisions} classes: {classes}")
    return classes


def linear_scorer(decisions: int) -> LinearScorer:
    """The scorer of members that are kept as their numbers."""
    return LinearScorer("float64", decisions)


def as_linear(member: Any, X: Any, decisions: int) -> tuple[Array | None, Array]:
    """The parameters of a member whose scores are w · x + b, else None; and its scores."""
    scores = member_scores(member, X, decisions)
    if frame_columns(X) or X.ndim != 2 or X.dtype.kind not in "buif":
        return None, scores
    forms = _forms(member, X.shape[1], scores, decisions)
    if forms is None:
        return None, scores
    flat = forms.ravel().astype(float)
    linear = linear_scorer(decisions).scores(flat[None], X)[0]
    same = np.allclose(linear, scores, rtol=1e-4, atol=1e-4)
    return (flat, linear) if same else (None, scores)


def _forms(member: Any, width: int, scores: Array, decisions: int) -> Array | None:
    """The weights and intercepts (A, d + 1) of a member; None if it has none."""
    if isinstance(member, int):
        return np.column_stack([np.zeros((len(scores), width)), scores[:, :1]])
    weights = np.atleast_2d(getattr(member, "coef_", ()))
    intercepts = np.ravel(getattr(member, "intercept_", ()))
    if weights.shape != (len(intercepts), width) or not hasattr(member, "decision_function"):
        return None
    forms = np.column_stack([weights, intercepts])
    if len(scores) == 1:
        return forms if len(forms) == 1 else None
    seen = _seen(member, decisions)
    if len(forms) == 1:
        forms = np.vstack([-forms, forms])
    if len(forms) != len(seen):
        return None
    lower = forms.mean(axis=0)
    lower[-1] -= 1
    return _placed(forms, seen, lower, decisions)


MOST_CLASSES = 2**16  # a file could declare any number of scores a row in a few words


@dataclass(frozen=True)
class Oracle(Learner):
    """A scikit-learn classifier as the model: at each state of the multipliers it fits weighted rows.

    If the estimator has no `random_state`, it is set from the seed of `rb.play`. The arguments of
    `rb.play` about batches, losses, proxies, estimates and what is kept do not apply: every fit sees all
    rows, and is kept.

    Parameters
    ----------
    estimator : classifier
        Any whose fit takes `sample_weight`. It is cloned for each fit and reads rows as they were given,
        so it may be a pipeline that reads tables. An `LGBMClassifier` is silent unless it says so; it
        and an `XGBClassifier` are deployed as their trees.
    tolerance : float, default=1e-4
        The rounds end once the duality gap is at most this. The default is a hundredth of a percentage
        point of the objective, less than most tables can tell.
    n_jobs : int, default=None
        Parallel jobs in which players of several settings fit them. None is one, as in joblib.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> people = rb.Population(X, X.sum(axis=1) > 0, columns={"group": X[:, 1] > 0})
    >>> goal = [rb.positive_rate(group=False) >= 0.8 * rb.positive_rate()]
    >>> compiled = rb.compile(rb.Problem(rb.error_rate(), goal), people)
    >>> trace = rb.play(compiled, rb.Oracle(LogisticRegression()))
    >>> trace.ended, rb.shrink(trace).status.feasible
    ('gap', True)
    """

    estimator: Any
    tolerance: float = 1e-4
    n_jobs: int | None = None

    fit: ClassVar[Any] = Answering

    def __post_init__(self) -> None:
        check_made("rb.Oracle", self.estimator)
        if not hasattr(self.estimator, "fit"):
            raise TypeError(f"an oracle takes an estimator to clone and fit, got {self.estimator!r}")
        check_number("tolerance", self.tolerance, least=0)

    @property
    def style(self) -> Style:
        """A pipeline, also inside a search or a calibration, encodes tables itself."""
        inner = self.estimator
        while hasattr(inner, "estimator"):
            inner = inner.estimator
        return "table" if hasattr(inner, "steps") else "plain"

    @property
    def takes_missing(self) -> bool:
        from sklearn.utils import get_tags

        return (
            hasattr(self.estimator, "__sklearn_tags__") and get_tags(self.estimator).input_tags.allow_nan
        )

    @property
    def takes_sparse(self) -> bool:
        from sklearn.utils import get_tags

        if (library := library_of(self.estimator)) is not None:
            return LIBRARIES[library].takes_sparse
        return hasattr(self.estimator, "__sklearn_tags__") and get_tags(self.estimator).input_tags.sparse

    def check_weighing(self) -> None:
        weight_argument(self.estimator)

    @property
    def takes_weights(self) -> bool:
        """Whether the estimator's fit takes sample weights, without which it plays no promises."""
        try:
            self.check_weighing()
        except TypeError:
            return False
        return True

    def start(self, rows: Rows, settings: int, seed: int) -> OracleFit:
        return OracleFit(self, rows, settings, seed)


@register_scorer
@dataclass(frozen=True)
class OracleScorer(Scorer):
    """Scores of fitted estimators, known by their places: the parameters are indices (M, 1)."""

    members: tuple[Any, ...]  # fitted estimators, or the one decision a constant member makes
    decisions: int = 2
    kind: ClassVar[str] = "oracle"
    tables: ClassVar[bool] = True

    def scores(self, parameters: Array, X: Any) -> Array:
        """(M, A, n) scores of M members on n rows; one that occurs twice is asked once."""
        used, where = np.unique(parameters[:, 0].astype(int), return_inverse=True)
        return np.stack([member_scores(self.members[i], X, self.decisions) for i in used])[where]

    def importances(self, parameters: Array) -> Array | None:
        used, where = np.unique(parameters[:, 0].astype(int), return_inverse=True)
        own = [getattr(self.members[index], "feature_importances_", None) for index in used]
        width = next((len(each) for each in own if each is not None), 0)
        constant = [isinstance(self.members[index], int) for index in used]
        if not width or any(e is None and not c for e, c in zip(own, constant, strict=True)):
            return None
        shares = np.array([np.zeros(width) if each is None else each for each in own], dtype=float)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        return shares[where.reshape(-1)]

    def kept(self, parameters: Array) -> tuple[OracleScorer, Array]:
        used, where = np.unique(parameters[:, 0].astype(int), return_inverse=True)
        return replace(self, members=tuple(self.members[index] for index in used)), where[:, None]

    def beside(self, other: Any, parameters: Array) -> tuple[OracleScorer, Array]:
        return replace(self, members=self.members + other.members), parameters + len(self.members)

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        fitted = {i: each for i, each in enumerate(self.members) if not isinstance(each, int)}
        constants = [int(each) if isinstance(each, int) else None for each in self.members]
        arrays = {f"member {i}": np.frombuffer(archived(each), np.uint8) for i, each in fitted.items()}
        return {"constants": constants, "decisions": self.decisions}, arrays

    @classmethod
    def read(cls, saved: Saved) -> OracleScorer:
        constants, decisions = saved.description["constants"], saved.description["decisions"]
        if type(decisions) is not int or not 2 <= decisions <= MOST_CLASSES:
            raise ValueError(f"its members decide between {decisions!r} classes")
        if not all(c is None or (type(c) is int and 0 <= c < decisions) for c in constants):
            raise ValueError("its constant members decide for classes there are not")
        check_indices(saved.parameters, [len(constants)])
        members = [
            restored(saved.arrays[f"member {i}"].tobytes(), saved.trusted) if each is None else each
            for i, each in enumerate(constants)
        ]
        return cls(tuple(members), decisions)


class OracleFit(Answering):
    """An estimator fitted anew each round; `answer` takes what decisions cost and keeps the fits."""

    def __init__(self, spec: Oracle, rows: Rows, settings: int, seed: int) -> None:
        self.spec, self.settings, self.row_weights = spec, settings, rows.weights
        self.decisions = rows.decisions
        self.tolerance = spec.tolerance
        inputs = rows.inputs
        self.X = inputs if frame_columns(inputs) else as_array(inputs)
        self.prototype = prototype_of(spec, seed)
        self.library = library_of(self.prototype)
        if is_sparse(self.X) and not spec.takes_sparse:
            raise ValueError(
                f"{_name(self.prototype)} takes no sparse matrix: give it an array, X.toarray(), or use "
                "an estimator that takes one, such as LogisticRegression"
            )
        self.members: list[Any] = []
        self.forms: list[Any] = []  # each as weights and intercept, as trees, or None if it is neither
        self._scores = np.empty((0, score_count(self.decisions), self.X.shape[0]))

    def answer(self, costs: Iterable[Array]) -> None:
        from sklearn.utils.parallel import Parallel, delayed

        round = len(self.members) // self.settings + 1
        earlier = self.members[-self.settings :] or [None] * self.settings
        calls = (
            (
                self.prototype,
                before,
                self.X,
                weighted_rows(cost, self.row_weights),
                round,
            )
            for before, cost in zip(earlier, costs, strict=True)
        )
        if self.settings == 1:  # Parallel warns for no reason while another thread changes warnings
            fits = [_fitted(*call) for call in calls]
        else:
            fits = Parallel(n_jobs=self.spec.n_jobs)(delayed(_fitted)(*call) for call in calls)
        forms, scores = zip(*map(self._form, fits), strict=True)
        self._scores = np.stack(scores)
        if not np.isfinite(self._scores).all():
            raise ValueError(f"round {round}: {_name(self.prototype)} gives NaN or infinite scores")
        self.members += fits
        self.forms += forms
        self.scorer = OracleScorer(tuple(self.members), self.decisions)

    def parameters(self) -> Array:
        """The places of the latest members, (K, 1)."""
        return np.arange(len(self.members) - self.settings, len(self.members))[:, None]

    def all_scores(self) -> Array:
        return self._scores

    def _form(self, member: Any) -> tuple[Any, Array]:
        """A member as it is deployed, where that needs no estimator; and its scores."""
        if self.library is None:
            return as_linear(member, self.X, self.decisions)
        trees = as_trees(member, self.library, self.X, self.decisions)
        return (None, member_scores(member, self.X, self.decisions)) if trees is None else trees

    def settled(self, trace: Trace) -> Trace:
        """The trace with its members in their final form: linear models as their numbers, and trees."""
        scorer: Scorer
        if any(form is None for form in self.forms):
            return replace(trace, scorer=self.scorer)
        if self.library is None:
            scorer, numbers = linear_scorer(self.decisions), np.stack(self.forms)
        else:
            scorer = BoostedScorer(self.forms, categories_of(self.X))
            numbers = np.array([[i, trees.count] for i, trees in enumerate(self.forms)], dtype=float)
        return replace(trace, scorer=scorer, parameters=numbers[trace.parameters[:, 0]])


def prototype_of(spec: Oracle, seed: int) -> Any:
    """A fresh estimator to fit, with nothing left to chance."""
    from sklearn.base import clone

    prototype = clone(spec.estimator)
    _fix_chance(prototype, seed)
    if (library := library_of(prototype)) is not None:
        given = {n: v for n, v in prototype.get_params().items() if v is not None}
        prototype.set_params(**LIBRARIES[library].unsaid(given))
    return prototype


def deployed(spec: Oracle, members: Sequence[Any], X: Any, decisions: int) -> tuple[Scorer, Array]:
    """The scorer and parameters (M, P) of members: numbers or trees where all are such, on rows `X`."""
    library = library_of(spec.estimator)
    few = rows_of(X, np.arange(min(COMPARED, X.shape[0])))
    if library is None:
        numbers = [as_linear(each, few, decisions)[0] for each in members]
        if not any(each is None for each in numbers):
            return linear_scorer(decisions), np.array(numbers)
    else:
        ensembles = [as_trees(each, library, few, decisions) for each in members]
        trees = [each[0] for each in ensembles if each is not None]
        if len(trees) == len(members):
            counts = np.array([[i, each.count] for i, each in enumerate(trees)], dtype=float)
            return BoostedScorer(trees, categories_of(X)), counts
    return OracleScorer(tuple(members), decisions), np.arange(len(members))[:, None]


def _fitted(prototype: Any, earlier: Any, X: Any, asked: WeightedRows, round: int) -> Any:
    """A fresh estimator fitted to weighted rows, or the one decision that is best on all of them."""
    labels = np.unique(asked.labels)
    if len(labels) < 2:
        return int(labels[0]) if len(labels) else 0
    estimator = _beginning(prototype, earlier, labels)
    if not np.array_equal(asked.rows, np.arange(X.shape[0])):
        X = rows_of(X, asked.rows)
    even = (asked.weights == 1.0).all() and (
        _draws_by_weights(estimator) or not Oracle(estimator).takes_weights
    )
    weighted = {} if even else {weight_argument(estimator): asked.weights}
    try:
        return estimator.fit(X, asked.labels, **weighted)
    except Exception as error:  # anyone's estimator may raise anything; say in which round it was
        kind = ValueError if isinstance(error, ValueError) else RuntimeError
        raise kind(f"round {round}: {_name(estimator)} could not be fitted: {error}") from error


def _draws_by_weights(estimator: Any) -> bool:
    """Whether weights of 1 are not as none to it: forests draw rows by weights, if there are any."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return hasattr(last, "bootstrap")


def _beginning(prototype: Any, earlier: Any, labels: Array) -> Any:
    """A fresh estimator to fit; a logistic regression goes on from where the `earlier` one ended.

    Its optimum is the same from any start. Others may not be so: forests would add trees.
    """
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression

    fresh = clone(prototype)
    alike = type(fresh) is LogisticRegression and type(earlier) is LogisticRegression
    if alike and np.array_equal(earlier.classes_, labels):
        fresh.set_params(warm_start=True)
        fresh.coef_, fresh.intercept_ = earlier.coef_, earlier.intercept_
    return fresh


def _fix_chance(estimator: Any, seed: int) -> None:
    """Set every `random_state` that is left to chance, those of a pipeline's steps included.

    LightGBM and XGBoost leave none to chance: they have seeds of their own, by which LightGBM also draws
    the rows that it bins by, if there are more than 200,000. So their models stay those of the library.
    """
    given = estimator.get_params() | {"": estimator}
    open_ends = sorted(
        name
        for name, value in given.items()
        if value is None
        and name.rpartition("__")[2] == "random_state"
        and library_of(given[name.rpartition("__")[0]]) is None
    )
    drawn = np.random.default_rng(seed).integers(2**31, size=len(open_ends)).tolist()
    estimator.set_params(**dict(zip(open_ends, drawn, strict=True)))


def weight_argument(estimator: Any, method: str = "fit") -> str:
    """What the sample weights are called in the estimator's `fit`, or another method.

    A pipeline passes them to its last step, a search (which takes any keyword) to what it searches.
    """
    if hasattr(estimator, "steps"):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_argument(last)}"
    asked = getattr(estimator, method, None)
    parameters = () if asked is None else inspect.signature(asked).parameters.values()
    if any(p.name == "sample_weight" for p in parameters):
        return "sample_weight"
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        inner = getattr(estimator, "estimator", None)
        return "sample_weight" if inner is None else weight_argument(inner)
    raise TypeError(
        f"{_name(estimator)} takes no sample_weight in {method}, which an oracle needs: "
        "use an estimator that takes it"
    )


def _name(estimator: Any) -> str:
    return type(estimator).__name__
