"""A scikit-learn classifier that keeps promises: fit, predict, audit, save."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from ratebound.auditing import Audit, audit
from ratebound.estimators.choices import (
    as_learner,
    as_player,
    as_solution,
    encoding_style,
    game_named,
)
from ratebound.estimators.parameters import check_parameters
from ratebound.estimators.sweep import SMALL, parted, rate_pairs, rounds_of, trained_plainly
from ratebound.game.moving import with_moved_thresholds
from ratebound.game.rounds import play
from ratebound.game.trace import Trace, beside, judged_on
from ratebound.learners.boosted import Boosted
from ratebound.learners.encoding import Encoding, fit_encoding
from ratebound.learners.oracle import Oracle
from ratebound.problem.compiling import compile
from ratebound.problem.frames import as_array, frame_columns, is_missing, unmasked
from ratebound.problem.population import Population, columns_by_name
from ratebound.problem.problem import Problem
from ratebound.solution.mixture import Mixture, member
from ratebound.solution.prices import prices
from ratebound.solution.solutions import best_iterate, select, shrink
from ratebound.solution.stalling import Stalled
from ratebound.solution.thresholds import known_groups, priced_thresholds

Array = NDArray[Any]
KEPT = 60  # iterates kept of each setting
FEW = 12  # of them, whose thresholds are moved to choose among settings


class RateConstrainedClassifier(ClassifierMixin, BaseEstimator):
    """Trains a model to keep rate constraints at the least cost, and says whether it does.

    Parameters
    ----------
    constraints : constraints or texts, such as ``'recall(sex == "Female") >= 0.95 * recall()'``. Counts
        speak of all rows given to `fit`, whichever of them are held out, unless they say ``out_of=``;
        in cross-validation, where every fold has fewer, say it or write a rate.
    objective : what to minimise, an expression or text.
    model : "linear", "mlp", "lattice", "lightgbm", "xgboost", an `LGBMClassifier` or `XGBClassifier`,
        any scikit-learn classifier whose fit takes sample_weight, a `torch.nn.Module`, a function from
        the number of features to one, or a learner such as ``rb.Linear(...)``. Estimators are cloned,
        never changed. A Pipeline is given the table as it is; the others see its texts encoded.
    hidden : sizes of the hidden layers of "mlp".
    monotone : for "lattice", columns with which the score may only rise (1) or only fall (-1), all
        else being equal, as in ``{"income": 1, "debt": -1}``; so does the probability of yes.
    game : "swap", "external", "lagrangian", or a player such as ``rb.SwapRegret(...)``; "auto" is
        "swap", "external" where a model of small steps has more than 100 constraints, and cutting
        planes for scikit-learn classifiers. "swap" starts with a weight of .9 for the objective, not
        uniform as `rb.SwapRegret` does, which with many constraints spends its rounds on getting there.
    solution : "shrink", "best", "average", "last", or a function such as `rb.shrink`. "shrink" and
        "best" choose among the iterates at any threshold, and the same model trained without promises
        at any threshold, so that one rate can always be kept and never costs more than that model's
        best threshold; the others are of iterates as they were played.
    features : columns of a DataFrame the model may see; all by default. Constraints may speak of others.
    known : columns that may be looked at when deciding, besides the model's score: thresholds are then
        set for each combination of their values. `predict` needs them, in `X` or in `columns`.
    positive_label : the label that is yes; the last in sorted order by default.
    learning_rate, multiplier_rate : numbers, or "search" for all combinations of a few, trained side by
        side and chosen among on held-out rows (`validation_fraction`) by the paper's heuristic.
    loss, proxy : the stand-ins the model descends for the objective and the constraints.
    epochs, batch_size : passes over the rows, and rows per round. By default 40 passes, or as many as
        1,000 rounds take where data is small; up to 2,000 rows all are used in every round. Every tree
        of boosted trees, and every fit of a scikit-learn classifier, is a pass of its own; by default
        there are as many trees as the model says, and at most 50 fits.
    patience : stop when so many kept iterates have brought no better mixture; None to go on.
    max_time : seconds after which training ends with what there is.
    warm_start : start from the model fitted before.
    random_state : seed; the same seed gives the same bits on the same machine.

    Attributes
    ----------
    solution_ : the `Mixture` that decides; `status_` says whether it keeps the constraints.
    constraints_ : each constraint with its violation on the training rows, feasible where <= 0.
    prices_ : what the objective on the training rows would fall by, per unit that each constraint is
        relaxed, among the candidates or thresholds chosen from; NaN where not all can be kept.
    multipliers_ : the weight of each constraint when training ended, the objective's being 1. They steer
        the training, in the units it is played in; what a constraint costs is in `prices_`.
    trace_ : every iterate kept.

    Examples
    --------
    >>> import pandas
    >>> people = pandas.DataFrame({"score": [1, 2, 3, 4] * 50, "group": ["a", "b"] * 100})
    >>> y = [False, False, True, True] * 50
    >>> model = RateConstrainedClassifier('recall(group == "a") >= 0.9', features=["score"])
    >>> model.fit(people, y).predict(people[:4])
    array([False, False,  True,  True])
    """

    __metadata_request__fit = {"columns": True}  # noqa: RUF012  # scikit-learn's own convention

    def __init__(
        self,
        constraints: Any = (),
        *,
        objective: Any = "error_rate()",
        model: Any = "linear",
        hidden: Sequence[int] = (32,),
        monotone: Mapping[str, int] | None = None,
        game: Any = "auto",
        solution: Any = "shrink",
        features: Sequence[str] | None = None,
        known: Sequence[str] | None = None,
        positive_label: Any = None,
        learning_rate: Any = "search",
        multiplier_rate: Any = "search",
        loss: str = "logistic",
        proxy: str = "sigmoid",
        l2: float = 0.0,
        epochs: int | None = None,
        batch_size: int = 512,
        validation_fraction: float = 0.1,
        patience: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.objective = objective
        self.model = model
        self.hidden = hidden
        self.monotone = monotone
        self.game = game
        self.solution = solution
        self.features = features
        self.known = known
        self.positive_label = positive_label
        self.learning_rate = learning_rate
        self.multiplier_rate = multiplier_rate
        self.loss = loss
        self.proxy = proxy
        self.l2 = l2
        self.epochs = epochs
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.max_time = max_time
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = encoding_style(self.model) == "codes" or (
            hasattr(self.model, "__sklearn_tags__") and get_tags(self.model).input_tags.allow_nan
        )
        return tags

    def fit(self, X: Any, y: Any, columns: Any = None, sample_weight: Any = None) -> Any:
        """Train on rows `X` with labels `y`.

        `columns` (a DataFrame or mapping) holds what constraints speak of and the model must not see;
        columns of a DataFrame `X` can be spoken of without it.
        """
        check_parameters(self.get_params(deep=False))
        before = getattr(self, "solution_", None) if self.warm_start else None
        X, labels, weights = self._checked(unmasked(X), unmasked(y), unmasked(sample_weight))
        encoding = fit_encoding(X, weights, self.features, encoding_style(self.model))
        people = self._population(encoding.transform(X), labels, X, columns, weights)
        everyone = compile(Problem(self.objective, self.constraints), people)
        problem = everyone.problem  # whose counts speak of all rows, whichever part they are counted on
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        game = game_named(self.game, self.model, len(problem.subject_to))
        rates = rate_pairs(self.model, game, problem, self.learning_rate, self.multiplier_rate)
        batch_size = None if len(people) <= SMALL else self.batch_size
        precision = "float64" if batch_size is None else "float32"
        learner = self._learner(encoding, rates[0], precision)
        if self.warm_start and isinstance(learner, Oracle | Boosted):
            raise ValueError(
                "warm_start: boosted trees and scikit-learn classifiers are fitted anew: leave it out"
            )
        solve = as_solution(self.solution)
        if self.known is not None:
            known_groups(self.known, everyone)  # before the training, not after it
        player = as_player(game, rates[1])
        patience = self.patience or getattr(learner, "patience", None)
        several = max(learner.settings, player.settings) > 1 or patience is not None
        held_out = self.validation_fraction if several else 0.0
        train, validation = parted(everyone, held_out, seed)
        rounds = rounds_of(learner, self.epochs, len(train.cells), batch_size)
        watch = {} if validation is None else {"validation": validation}
        on = "train" if validation is None else "validation"
        how: dict[str, Any] = {
            "loss": self.loss,
            "batch_size": batch_size,
            "start": None if before is None else _heaviest(before),
            "seed": seed,
            "progress": None if self.verbose else False,
        }
        started = time.monotonic()
        self.trace_ = play(
            train,
            learner,
            multipliers=player,
            proxy=self.proxy,
            rounds=rounds,
            keep_every=max(1, rounds // KEPT),
            watch=watch,
            stop=None if patience is None else Stalled(patience, on=on),
            max_time=self.max_time,
            **how,
        )
        # Other solutions are of iterates as they were played, and known groups have thresholds anyway.
        moves = bool(problem.subject_to) and solve in (shrink, best_iterate) and self.known is None
        searched = self.trace_
        if moves:
            searched = with_moved_thresholds(searched, train, watch=watch, at_most=FEW)
        chosen = select(searched, solve, on=on)
        own = self.trace_.of_setting(chosen.setting)
        # The promises are to hold on every row given.
        finalists = own if validation is None else judged_on(own, everyone)
        left = None if self.max_time is None else self.max_time - (time.monotonic() - started)
        if moves and self.trace_.ended != "interrupted" and (left is None or left > 0):
            same = self._learner(encoding, sorted(set(rates[0])), precision)
            plain = trained_plainly(everyone, same, rounds=int(own.round.max()), max_time=left, **how)
            finalists = beside(finalists, plain)
        if self.known is not None:
            chosen, paid = priced_thresholds(problem, finalists, people, known=self.known)
        else:
            candidates = with_moved_thresholds(finalists, everyone) if moves else finalists
            chosen, paid = solve(candidates), prices(candidates)
        chosen = replace(chosen, encoding=encoding, classes=self._no_and_yes())
        chosen = replace(chosen, decider=chosen.decider.salted(seed))
        return self._fitted(chosen.recorded(setting=own.settings[0], seed=seed), own, paid)

    def _fitted(self, solution: Mixture, own: Trace, paid: Array) -> RateConstrainedClassifier:
        """Itself with what was found: the solution, the trace of its setting, the prices (m,)."""
        self.solution_, self.status_ = solution, solution.status
        words = [str(constraint) for constraint in solution.constraints]
        self.constraints_ = dict(zip(words, solution.violations["train"].tolist(), strict=True))
        self.prices_ = dict(zip(words, paid.tolist(), strict=True))
        ended = own.multipliers[-1, 1:] / max(own.multipliers[-1, 0], 1e-12)
        self.multipliers_ = dict(zip(words, ended.tolist(), strict=True))
        return self

    def predict(self, X: Any, *, columns: Any = None, key: Any = None) -> Array:
        """A decision for each row, always the same for the same row, or the same `key`.

        `columns` holds what is `known` of the rows and is not in `X`.
        """
        rows = self._rows(X)
        return self.solution_.predict(rows, columns=columns, key=key)

    def predict_proba(self, X: Any, *, columns: Any = None) -> Array:
        """The mixture's probability of each class, (n, 2); 0 or 1 where it is a single model."""
        rows = self._rows(X)
        return self.solution_.predict_proba(rows, columns=columns)

    def decision_function(self, X: Any, *, columns: Any = None) -> Array:
        """The members' mean score (n,), for ranking; positive speaks for ``classes_[1]``."""
        rows = self._rows(X)
        return self.solution_.decision_function(rows, columns=columns)

    def audit(self, X: Any, y: Any, columns: Any = None, sample_weight: Any = None) -> Audit:
        """Every promise on these rows: its value, its bound, kept or broken, with intervals."""
        X = self._rows(X)
        labels = column_or_1d(unmasked(y))
        unknown = set(np.unique(labels).tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"y holds labels that were not trained on: {sorted(map(repr, unknown))}")
        weights = None if sample_weight is None else _check_sample_weight(unmasked(sample_weight), X)
        people = self._population(X, labels == self._yes(), X, columns, weights)
        return audit(self.solution_.problem, self.solution_, people)

    def save(self, path: str | Path) -> Path:
        """Write the fitted model to a file or folder that `rb.load` reads."""
        check_is_fitted(self)
        return self.solution_.save(path)

    def _learner(self, encoding: Encoding, rates: list[float], precision: str) -> Any:
        """The learner that plays with these rates, for rows so encoded."""
        monotone = self.monotone or {}
        return as_learner(self.model, encoding, rates, self.hidden, monotone, self.l2, precision)

    def _yes(self) -> Any:
        if self.positive_label is None:
            return self.classes_[1]
        if self.positive_label not in self.classes_.tolist():
            raise ValueError(f"positive_label {self.positive_label!r} is not among y's {self.classes_}")
        return self.positive_label

    def _no_and_yes(self) -> tuple[Any, Any]:
        yes = self._yes()
        return (self.classes_[0] if self.classes_[1] == yes else self.classes_[1]), yes

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
        """X as given or as an array, labels as yes or no, weights; all checked as scikit-learn does."""
        labels = as_array(y)
        if labels.dtype.kind == "O" and labels.ndim == 1 and (missing := int(is_missing(labels).sum())):
            raise ValueError(f"y has {missing:,} missing labels: leave those rows out")
        if frame_columns(X):
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            if len(y) != len(X):
                raise ValueError(f"X has {len(X)} rows and y {len(y)}")
        else:
            finite = encoding_style(self.model) == "scaled"
            X, y = validate_data(self, X, y, ensure_all_finite=finite or "allow-nan")
        check_classification_targets(y)
        self.classes_, _ = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            count = f"{len(self.classes_)} class{'es' if len(self.classes_) > 1 else ''}"
            raise ValueError(
                f"Only binary classification is supported: y needs two classes, it has {count}, "
                f"{self.classes_[:5].tolist()}"
            )
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        return X, np.asarray(y == self._yes()), weights

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X, encoding = unmasked(X), self.solution_.encoding
        if frame_columns(X) and encoding is not None and encoding.from_frame:
            if self.features is None:  # else the encoding says what it lacks; others need not be there
                validate_data(self, X, skip_check_array=True, reset=False)
            return X
        takes_nan = get_tags(self).input_tags.allow_nan
        return validate_data(self, X, reset=False, ensure_all_finite="allow-nan" if takes_nan else True)

    def _population(
        self, model_X: Any, labels: Array, X: Any, columns: Any, weights: Array | None
    ) -> Population:
        spoken_of = columns_by_name(X if frame_columns(X) else None) | columns_by_name(columns)
        # Labels go by their names, so that an existing model's decisions may be spelled as they are.
        no, yes = self._no_and_yes()
        named = np.where(labels, yes, no)
        return Population(model_X, named, columns=spoken_of, weights=weights, positive=yes)


def _heaviest(mixture: Mixture) -> Array:
    """Parameters (P,) of the model of the heaviest member."""
    parameters: Array = member(mixture, int(np.argmax(mixture.weights))).parameters[0]
    return parameters
