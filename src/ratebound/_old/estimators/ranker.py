"""A ranker that keeps promises about pairs: fit, decision_function, audit, save.

Rows are split into folds, and only rows of one fold make pairs. So a model that sees no pair of a fold
has seen none of its rows, and pairs are judged by models that have seen neither row. The plug-in learns
once how likely each row is to come first (`pair_rules`). If it cannot keep the promises, or the model is
meant to play, the game is used (`pair_game`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ratebound._old.auditing.report import Audit
from ratebound._old.base.checks import check_number, check_whole, check_word
from ratebound._old.base.choices import METHODS
from ratebound._old.base.progress import TimeLimit
from ratebound._old.base.types import Array
from ratebound._old.estimators.choices import Training, as_learner, as_plug_in, plug_in_for
from ratebound._old.estimators.finishing import given_seed
from ratebound._old.estimators.given import asked_for, encoding_for
from ratebound._old.estimators.pair_game import PairGame
from ratebound._old.estimators.pair_rules import NotLearned, chosen_order, learned_of_pairs
from ratebound._old.estimators.policy import as_policy
from ratebound._old.estimators.ranking import Ranking, pairs_of
from ratebound._old.game.learner import Answering, Learner
from ratebound._old.game.of_pairs import of_pairs
from ratebound._old.game.trace import Trace
from ratebound._old.learners.forecast import Forecasting
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.frames import frame_columns, is_missing
from ratebound._old.problem.pairs import PAIRS, Pairs
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.subsets import Name
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.record import Making
from ratebound._old.solution.status import warn_if_broken
from ratebound._old.tables.encoding import Encoding
from ratebound._old.tables.treatments import Features

FOLDS = 3  # folds to split rows into


class RateConstrainedRanker(BaseEstimator):
    """Scores rows so that pairs of them are in the right order, and keeps promises about such pairs.

    A promise says how often which pairs are ranked right: ``ranked_right(first.group == "b",
    second.group == "a") >= 0.9`` is about pairs whose first row, which should rank higher, is in group b
    and whose second row is in group a. The gradient of a pair's score goes to both of its rows, so any
    model that gives a score can learn from pairs.

    Every row gets one score from one model, the best single iterate of training. It is judged on pairs
    of the training rows by models that have seen neither row.

    Parameters
    ----------
    constraints : constraint, str, or list of them, default=()
        The promises, about `ranked_right`.
    objective : rate or str, default="1 - ranked_right()"
        What to minimize: by default the share of pairs in the wrong order. With two labels that is one
        minus the area under the ROC curve.
    model : str, module or learner, default="linear"
        "linear", "mlp", "lightgbm", "xgboost", "lattice", a scikit-learn classifier, a PyTorch
        module, or a learner such as ``rb.Boosted(LGBMClassifier(num_leaves=7))``.
    method : {"auto", "plug-in", "game"}, default="auto"
        How the ranker is found. "plug-in" learns how likely each row is to be first in its pairs, and
        its group, and then solves for the one score that keeps the promises; "game" trains the model on
        pairs against multipliers. "auto" is the plug-in, then the game if that breaks a promise; for
        modules, lattices and learners, or with `player`, it is the game.
    player : str or Player, default="auto"
        The player of the multipliers, as in `RateConstrainedClassifier`.
    features : list of str or Features, default=None
        The columns that the model sees. By default all of `X`.
    pairs : int, default=100_000
        How many pairs to learn from, if `fit` gets rows; all pairs if there are fewer.
    confidence : float, default=0.9
        The confidence that promises hold on new rows: they are kept with a margin from pairs out of
        fold, whose rates vary as U-statistics do. It is an estimate, not a certificate. None keeps them
        only on the training rows' pairs.
    training : Training, default=None
        How long to train; by default ``rb.Training()``. A batch has two pairs for each row of
        `batch_size`.
    verbose : bool, default=None
        Whether to show progress, as in `RateConstrainedClassifier`.
    random_state : int, RandomState instance or None, default=None
        The seed of everything random.

    Attributes
    ----------
    solution_ : Ranking
        The ranker, with its record.
    status_ : Status
        Whether the promises are kept on out-of-fold pairs of the training rows, and the confidence on
        new rows.
    violations_ : dict
        The violation of each promise on those pairs, kept if <= 0.
    objective_ : float
        The objective on those pairs.
    constraints_ : tuple of Constraint
        The promises as compiled.
    trace_ : Trace
        The iterates of the game for the promises.
    n_features_in_ : int
        The number of features.

    See Also
    --------
    Pairs : The input. RateConstrainedClassifier : Decides rows, with promises about rates of decisions.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(400, 3))
    >>> group = np.where(X[:, 1] + random.normal(size=400) > 0, "a", "b")
    >>> y = X[:, 0] + X[:, 1] + random.normal(size=400) > 0
    >>> pairs = rb.Pairs(X, y, columns={"group": group}, count=20_000)
    >>> rule = 'ranked_right(first.group == "b", second.group == "a") >= 0.7'
    >>> ranker = rb.RateConstrainedRanker(rule, random_state=0).fit(pairs)
    >>> ranker.status_.feasible, ranker.decision_function(X).shape
    (True, (400,))
    >>> best_first = np.argsort(-ranker.decision_function(X), kind="stable")
    """

    solution_: Ranking

    def __init__(
        self,
        constraints: Any = (),
        *,
        objective: Any = "1 - ranked_right()",
        model: Any = "linear",
        method: str = "auto",
        player: Any = "auto",
        features: Features | Sequence[str] | None = None,
        pairs: int = PAIRS,
        confidence: float | None = 0.9,
        training: Training | None = None,
        verbose: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.objective = objective
        self.model = model
        self.method = method
        self.player = player
        self.features = features
        self.pairs = pairs
        self.confidence = confidence
        self.training = training
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, columns: Any = None, sample_weight: Any = None, *, query: Any = None
    ) -> Any:
        """Learn from pairs, or from the pairs of rows `X` with `y`.

        Parameters
        ----------
        X : Pairs, DataFrame, array or sparse matrix
            Pairs, or the rows to make pairs of. As many pairs as these are drawn again, so that both
            rows of a pair are in one fold.
        y : array of shape (n,), default=None
            The relevance of each row, larger for higher ranks; only pairs have their own.
        columns : DataFrame or mapping, default=None
            Columns that promises use and the model must not see, a value for each row.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        query : array of shape (n,), default=None
            The query that each row answers: only rows of one query make a pair.

        Returns
        -------
        RateConstrainedRanker
            Itself, fitted. A warning is given if it breaks promises on these rows; see `status_`.

        Raises
        ------
        ValueError
            If a promise names columns or values that pairs do not have, or no two rows make a pair.
        """
        learners, training = self._checked_parameters()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given = pairs_of(X, y, columns, query, sample_weight, count=self.pairs, seed=seed)
        problem = asked_for(self.objective, self.constraints)
        remedy = "Train for it with rb.shrink(rb.play(rb.compile(problem, pairs), rb.Torch(module)))."
        refuse_general(problem.subject_to, "RateConstrainedRanker", remedy)
        compile(problem, given)  # errors name the given pairs
        ranked = self._found(learners, training, given, problem, seed)
        solution, trace, compiled = ranked.solution, ranked.trace, ranked.compiled
        encoding = ranked.encoding
        made = Making(
            call=repr(self),
            rows={"trained on": given.rows.size, "pairs trained on": len(compiled.first)},
            candidates=len(trace),
            ended=trace.ended,
        )
        solution = replace(solution, encoding=encoding, classes=(False, True))
        own = as_policy(solution.recorded(seed=given_seed(self), data=compiled.digest, made=made))
        assert isinstance(own, Ranking)
        self.solution_, self.status_, self.trace_ = own, own.status, trace
        self.constraints_ = compiled.constraints
        self.violations_ = dict(zip(compiled.labels, own.violations["train"].tolist(), strict=True))
        self.objective_ = own.objectives["train"]
        names = frame_columns(given.rows.X) or range(np.shape(given.rows.X)[1])
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        warn_if_broken(self.status_, self)
        return self

    def _checked_parameters(self) -> tuple[list[Learner], Training]:
        """The learners to try, in turn, and how to train."""
        check_whole("pairs", self.pairs)
        check_word("method", self.method, METHODS)
        if self.confidence is not None:
            check_number("confidence, a probability such as 0.9,", self.confidence, above=0, below=1)
        training = Training() if self.training is None else self.training
        if not isinstance(training, Training):
            raise TypeError(f"training takes rb.Training(...), got {training!r}")
        learner, plugged = as_learner(self.model), plug_in_for(self.model, folds=FOLDS)
        if self.method == "plug-in" or learner.cross_fits:
            return [as_plug_in(self.model)], training
        if self.player != "auto" or self.method == "game" or plugged is None:
            return [of_pairs(learner)], training
        played = [] if issubclass(learner.fit, Answering) else [of_pairs(learner)]
        return [plugged, *played], training

    def _found(
        self, learners: Sequence[Learner], training: Training, given: Pairs, problem: Problem, seed: int
    ) -> _Found:
        """The best ranker by these learners; the next one is tried if one breaks promises."""
        clock = TimeLimit(training.max_time)
        progress = None if self.verbose is None else bool(self.verbose)
        tried: list[_Found] = []
        for learner in learners:
            folds = dealt(given, problem.columns, learner.folds or FOLDS, seed)
            inside = within(given, folds)
            encoding = encoding_for(inside.rows, learner, self.features)
            compiled = compile(problem, inside.seen_through(encoding.transform, problem.columns))
            learner = learner.prepared(encoding.names, encoding.codes, inside.rows.size)
            if isinstance(learner, Forecasting):
                try:
                    epochs = training.epochs
                    rules = learned_of_pairs(compiled, learner, folds, seed, progress, epochs)
                except NotLearned:
                    if len(learners) == 1:
                        raise
                    continue
                solution, trace = chosen_order(rules, self.confidence, clock)
            else:
                fold = folds[inside.first]
                game = PairGame(
                    compiled,
                    learner,
                    self.player,
                    fold,
                    training,
                    self.confidence,
                    seed,
                    progress,
                    clock,
                )
                solution, trace = game.solved()
            tried.append(_Found(solution, trace, compiled, encoding))
            if solution.status.feasible or clock.left == 0:
                break
        best = min(tried, key=lambda each: each.solution.status.violation)
        return best if len(tried) == 1 else best.told(tried)

    def decision_function(self, X: Any) -> Array:
        """The score of every row: the higher, the higher it should be ranked.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or Pairs
            The rows, with the columns that it was fitted on.

        Returns
        -------
        array of shape (n,)
            The scores. A row's score does not depend on the other rows.
        """
        check_is_fitted(self)
        return self.solution_.decision_function(X)

    def predict(self, X: Any, *, exactly: int) -> Array:
        """Whether each row is among the `exactly` highest-ranked ones.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        exactly : int
            How many rows come first. Rows with equal scores are ordered by a hash of their features.

        Returns
        -------
        array of shape (n,)
            Truth values, exactly so many of them true.
        """
        check_is_fitted(self)
        return self.solution_.predict(X, exactly=exactly)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of pairs of these rows that are in the right order.

        Parameters
        ----------
        X : Pairs, DataFrame, array or sparse matrix
            Pairs, or the rows to make pairs of.
        y : array of shape (n,), default=None
            Where each row should stand; only pairs have their own.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.

        Returns
        -------
        float
            From 0 to 1; with two labels the area under the ROC curve, with ties counting zero.
        """
        check_is_fitted(self)
        pairs = pairs_of(X, y, None, None, sample_weight)
        right = pairs.differences(self.decision_function(pairs)) >= 0
        return float(np.average(right, weights=pairs.weights))

    def audit(
        self, X: Any, y: Any = None, columns: Any = None, sample_weight: Any = None, *, query: Any = None
    ) -> Audit:
        """Judge every promise on the pairs of other rows: its value, bound and interval.

        Parameters
        ----------
        X : Pairs, DataFrame, array or sparse matrix
            Pairs, or the rows to make pairs of.
        y : array of shape (n,), default=None
            Where each row should stand; only pairs have their own.
        columns : DataFrame or mapping, default=None
            Columns that promises use and `X` does not have.
        sample_weight : array of shape (n,), default=None
            How much each row counts; by default each counts once.
        query : array of shape (n,), default=None
            The query that each row answers.

        Returns
        -------
        Audit
            Print it, or take it as a frame, JSON or a page.
        """
        check_is_fitted(self)
        return self.solution_.audit(X, y, columns, sample_weight, query=query)

    def certify(self, X: Any, *given: Any, **how: Any) -> NoReturn:
        """Refused: pairs share rows, and the tests of certificates are of independent rows.

        Parameters
        ----------
        X : Pairs, DataFrame, array or sparse matrix
            The rows.
        *given : object
            What `RateConstrainedClassifier.certify` takes.
        **how : object
            Its options.

        Raises
        ------
        ValueError
            Always. `audit` has intervals for pairs.
        """
        check_is_fitted(self)
        self.solution_.certify(X, *given, **how)

    def save(self, path: str | Path) -> Path:
        """Write the ranker to a file; `rb.load` reads it back.

        Parameters
        ----------
        path : str or path
            The file, if the name ends in ``.safetensors``; otherwise a folder.

        Returns
        -------
        Path
            The file.
        """
        check_is_fitted(self)
        return self.solution_.save(path)


def dealt(pairs: Pairs, spoken_of: Sequence[Name], count: int, seed: int) -> Array:
    """The fold (n,) of each row: the same share of every group, above and below the middle of y.

    With many queries, all rows of a query are in the same fold.
    """
    random = np.random.default_rng(seed)
    if pairs.drawn_together is not None:
        queries = int(pairs.drawn_together.max()) + 1
        order = random.permutation(queries)
        return np.asarray((order % count)[pairs.drawn_together])
    codes = [pairs.outcome > np.median(pairs.outcome)]
    if not codes[0].any():
        codes = [pairs.outcome >= np.median(pairs.outcome)]
    for name in dict.fromkeys(map(pairs.own_name, spoken_of)):
        values = pairs.rows.column(name)
        if values.dtype.kind in "OUSb" or len(np.unique(values[~is_missing(values)])) <= count:
            codes.append(np.unique(values.astype(str), return_inverse=True)[1])
    kinds = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((random.random(len(kinds)), kinds))
    folds = np.empty(len(kinds), dtype=np.intp)
    folds[order] = np.arange(len(kinds)) % count
    return folds


def within(pairs: Pairs, folds: Array) -> Pairs:
    """The pairs of rows of one fold."""
    try:
        return pairs.within(folds)
    except ValueError:
        raise ValueError(
            f"{pairs.rows.size:,} rows are too few to judge a ranker by rows it has not seen: they "
            f"are dealt into {int(folds.max()) + 1} folds, and no two rows of one fold make a pair; "
            "give more rows"
        ) from None


@dataclass(frozen=True, eq=False)
class _Found:
    """A ranker, the candidates it was chosen from, and the pairs within folds they were judged on."""

    solution: Mixture
    trace: Trace
    compiled: Compiled
    encoding: Encoding

    def told(self, tried: Sequence[_Found]) -> _Found:
        """The same, with a status that names the other method tried."""
        way, other = ("the plug-in", "the game")[:: 1 if self is tried[0] else -1]
        status = self.solution.status
        words = status.message.removesuffix(".")
        message = f"{words}. It comes from {way}; {other} breaks promises by more."
        return replace(self, solution=self.solution.recorded(status=replace(status, message=message)))
