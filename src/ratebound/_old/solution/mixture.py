"""Mixtures are what is deployed: members, the probability of each, and how they decide."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ratebound._old.base.layout import printable
from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import Trace, Values, worst_of
from ratebound._old.learners.calibration import Calibration, fit_calibration
from ratebound._old.problem.deciding import (
    as_shown,
    decided,
    decision_count,
    decision_shares,
    each_class,
    mean_score,
    with_axes,
)
from ratebound._old.problem.frames import as_array, frame_columns, is_sparse, length, some
from ratebound._old.problem.labels import class_array
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem, left_out_words
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.kinds import label_classes, referral_of
from ratebound._old.rates.named import error_rate
from ratebound._old.solution._choosing import choose, warn_of_shared_keys
from ratebound._old.solution.certificate import Certificate
from ratebound._old.solution.deciders import Decider, Draw
from ratebound._old.solution.price import Price
from ratebound._old.solution.record import Record, course_of
from ratebound._old.solution.status import ITERATES, Status, reached, status_of
from ratebound._old.tables.encoding import Encoding

ALWAYS = 1e299  # beyond this lie scores of a member that always or never says yes


@dataclass(frozen=True, eq=False)
class Members:
    """What may decide: models, and how often each member is used.

    A member is a model; if the decider sets thresholds on models, it is a set of thresholds.
    """

    weights: Array  # (M,) > 0, summing to 1
    parameters: Array  # (B, P) of the models
    scorer: Scorer
    thresholds: dict[str, Array] = field(default_factory=dict)  # learned, (M, D - 1) each


@dataclass(frozen=True, eq=False)
class Mixture:
    """Models, each used with some probability, ready to decide; one model is a mixture of one.

    Solutions of a trace (`rb.shrink` and the others) make one. Models from your own
    training loop become one by ``rb.shrink(rb.trace_of(compiled, models))``, or with your own weights by
    ``rb.average(rb.trace_of(compiled, models), weighting=weights)``. The main parts of its `record` are
    attributes of the mixture too.

    Parameters
    ----------
    members : Members
        The models' parameters, and how often each is used.
    decider : Decider
        How the members' scores become one decision: one of them is drawn by a hash of the row, or they
        vote; either may be by thresholds for known groups, which `rule` puts into words.
    record : Record
        How it was made: problem, status, seed, digest of the rows, versions.
    classes : tuple, default=(False, True)
        The names of the decisions; with two, no and then yes.
    encoding : Encoding, default=None
        How the rows of a table become the features that the models were trained on; None for arrays.
    calibration : Calibration, default=None
        From mean scores to the probability of the label; without it there is no `predict_proba`.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem("error_rate()", ["positive_rate() <= 0.3"])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> mixture = rb.shrink(rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None))
    >>> len(mixture), float(mixture.weights.sum())
    (2, 1.0)
    >>> mixture.decision_proba(X[[0, 100, 150]])[:, 1].round(1)
    array([0. , 0.2, 1. ])
    """

    members: Members
    decider: Decider
    record: Record
    classes: tuple[Any, ...] = (False, True)  # (D,)
    encoding: Encoding | None = None
    calibration: Calibration | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def __str__(self) -> str:
        lines = [f"{self.decider.called(len(self))}: {self.status}"]
        for name, objective in self.objectives.items():
            worst = worst_of(self.violations[name][None])[0]
            lines.append(f"  {name}: objective {objective:.4f}, worst violation {worst:+.4f}")
        return printable("\n".join(lines))

    @property
    def weights(self) -> Array:
        """How often each member is used, (M,), summing to 1."""
        return self.members.weights

    @property
    def parameters(self) -> Array:
        """The models' parameters (B, P)."""
        return self.members.parameters

    @property
    def scorer(self) -> Scorer:
        """What turns the parameters into scores."""
        return self.members.scorer

    @property
    def thresholds(self) -> dict[str, Array]:
        """The thresholds learned with the models, (M, D - 1) each: for all classes but the first."""
        return self.members.thresholds

    @property
    def problem(self) -> Problem:
        """What it was trained for."""
        return self.record.problem

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The problem's constraints as compiled."""
        return self.record.constraints

    @property
    def status(self) -> Status:
        """Whether it keeps the constraints on the training rows, and if not, what conflicts."""
        status = self.record.status
        if self.problem.left_out:
            status = replace(status, left_out=left_out_words(self.problem.left_out))
        return status

    @property
    def objectives(self) -> dict[str, float]:
        """The expected objective, by population, as the problem states it: high is good if maximized."""
        return {name: self.problem.shown(value) for name, value in self.record.objectives.items()}

    @property
    def violations(self) -> Mapping[str, Array]:
        """The expected violation of each constraint (m,), feasible where <= 0, by population."""
        return self.record.violations

    @property
    def certificate(self) -> Certificate | None:
        """The certificate from rows that it was neither trained nor chosen on."""
        return self.record.certificate

    @property
    def drawn(self) -> float:
        """The share of decisions on the training rows that are left to a draw; 0 for a single rule.

        NaN if it was not counted.
        """
        if len(self) == 1 or self.decider.draw is None:
            return 0.0
        return float("nan") if self.record.drawn is None else self.record.drawn[0]

    @property
    def drawn_yeses(self) -> float:
        """The share of yeses on the training rows that a draw decides; with more classes, as `drawn`."""
        if len(self) == 1 or self.decider.draw is None:
            return 0.0
        return float("nan") if self.record.drawn is None else self.record.drawn[1]

    @property
    def prices(self) -> tuple[Price, ...]:
        """What its promises cost, as in `rb.price`.

        It is empty for a result of `rb.shrink`: ask `rb.price` with the trace.
        """
        return self.record.prices

    @property
    def setting(self) -> int | None:
        """The setting its members come from; None if they come from several."""
        return self.record.setting

    @property
    def model_weights(self) -> Array:
        """How often each model is used, (B,), summing to 1; all groups count the same."""
        weights = np.zeros(len(self.parameters))
        for member, weight in enumerate(self.weights):
            _, models = self.decider.alone(member)
            weights[models] += weight / len(models)
        return weights

    @property
    def rule(self) -> str:
        """How it decides, in words."""
        return self.decider.rule(self.weights, self.classes)

    @property
    def classes_(self) -> Array:
        """The labels in sorted order, as in scikit-learn; with two, `classes` has no, then yes."""
        return np.unique(np.asarray(label_classes(self.classes)))

    @property
    def decisions_(self) -> Array:
        """What may be decided: `classes_`, and after them a referral if rows may be referred."""
        referral = referral_of(self.classes)
        return self.classes_ if referral is None else class_array((*self.classes_, referral))

    @property
    def coefficients(self) -> dict[str, Any]:
        """The coefficient of each feature in linear models, by its name; empty if they are not linear.

        For an estimator's rule it is the coefficient for the log odds of the label, on average over the
        folds; for a mixture, the mean over its models. With D > 2 classes each name has D numbers.
        Features of ``model="linear"`` are scaled, so the numbers can be compared.
        """
        of_models = self.scorer.coefficients(self.parameters)
        if of_models is None:
            return {}
        mean = np.tensordot(self.model_weights, of_models, axes=1)  # (A, d)
        values = mean[0].tolist() if len(mean) == 1 else mean.T.tolist()
        return dict(zip(self._names(mean.shape[1]), values, strict=True))

    @property
    def importances(self) -> dict[str, float]:
        """The importance of each feature to trees, by its name; empty if the models do not have it.

        The numbers sum to 1. They are shares of splits, or a scikit-learn model's
        ``feature_importances_``. For an estimator's rule they are importances for the label, on average
        over the folds; for a mixture, the mean over its models.
        """
        of_models = self.scorer.importances(self.parameters)
        if of_models is None:
            return {}
        mean = self.model_weights @ of_models
        return dict(zip(self._names(len(mean)), mean.tolist(), strict=True))

    def _names(self, count: int) -> Sequence[str]:
        """The names of the features; x0, x1, ... if they have none."""
        names = None if self.encoding is None else self.encoding.names
        return names or [f"x{place}" for place in range(count)]

    def features(self, X: Any) -> Any:
        """What the models see of these rows.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows, with the columns it was trained on.

        Returns
        -------
        array or DataFrame
            The features (n, d); a table if the models read tables.
        """
        if isinstance(X, Population):
            raise TypeError("give a mixture the X of each of population.pieces(inputs=True)")
        if self.encoding is not None:
            return self.encoding.transform(X)
        return X if self.scorer.tables and frame_columns(X) else as_array(X)

    def member_scores(self, X: Any, *, columns: Any = None) -> Array:
        """Scores of every member; a member says yes if its score is at least 0.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.

        Returns
        -------
        array of shape (n, M) or (n, D, M)
            With D > 2 classes a member decides the class of its largest score.
        """
        return as_shown(self.scores_of_members(X, columns)).T

    def scores_of_members(self, X: Any, columns: Any) -> Array:
        """Scores of every member, with all axes whatever the number of classes.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping
            The columns of known groups, where `X` does not have them; else None.

        Returns
        -------
        array of shape (M, 1, n) or (M, D, n)
            As `member_scores` has them.
        """
        return self._scores(X, self.features(X), columns)

    def counted_scores(self, X: Any, *, columns: Any = None) -> Array:
        """Scores for counting rates: the members', or for widely shared features the deciding one.

        Rows with equal features get the same member in `predict`. The decisions on many such rows do not
        average to the members' expectation. So every member is given the score that decides these rows.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            All rows that are counted together.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.

        Returns
        -------
        array of shape (n, M) or (n, D, M)
            As in `member_scores`; a vote has one.
        """
        return as_shown(self.decider.as_they_fall(*self.choices(X, columns=columns))).T

    def choices(self, X: Any, *, columns: Any = None) -> tuple[Array, Array, Any]:
        """What may decide each row: the choices of the decider.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.

        Returns
        -------
        tuple
            The probability of each choice (C,), its scores (C, 1, n) or (C, D, n), and the features.
        """
        features = self.features(X)
        return *self.choices_of(X, features, columns), features

    def decision_function(self, X: Any, *, columns: Any = None) -> Array:
        """The members' mean score, or for a vote their median score, for ranking.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.

        Returns
        -------
        array of shape (n,) or (n, D)
            Positive favors ``classes_[1]``. With D > 2 classes it is the mean score of each, as in
            `classes_`, or for a vote its share.
        """
        mean = mean_score(*self.choices_of(X, self.features(X), columns))
        mean = self._of_labels(mean[None])[0]
        if len(mean) > 1:
            return self._by_class(mean)
        return mean[0] if self.classes_[1] == self.classes[1] else -mean[0]

    def predict_proba(self, X: Any) -> Array:
        """The probability of each label, whatever the decision.

        It is the `calibration` of the models' mean score, which uses neither thresholds nor known
        groups. The probability of each decision is in `decision_proba`.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.

        Returns
        -------
        array of shape (n, D)
            A column for each of `classes_`.

        Raises
        ------
        ValueError
            If the mixture is not calibrated; `calibrated` makes it so.
        """
        return self._by_class(each_class(self._label_probability(X)))

    def decision_proba(self, X: Any, *, columns: Any = None) -> Array:
        """The probability of each decision; 0 and 1 for one model or a vote.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.

        Returns
        -------
        array of shape (n, D)
            A column for each of `decisions_`: the `classes_`, and a referral if there is one.
        """
        return self._by_class(decision_shares(*self.choices_of(X, self.features(X), columns)))

    def calibrated(
        self, population: Population, on: str = "rows given", *, scores: Array | None = None
    ) -> Mixture:
        """The same mixture with `predict_proba` calibrated on a population with labels.

        Rows that the models were trained on flatter them. If only errors count, the likelier label is
        decided, so a score of 0 is a probability of a half.

        Parameters
        ----------
        population : Population
            Rows with labels.
        on : str, default="rows given"
            What the calibration calls these rows.
        scores : array of shape (n,) or (D, n), default=None
            Mean scores of models like these that have not seen the rows. By default these models' mean
            scores.

        Returns
        -------
        Mixture
            A copy; what it decides is the same.
        """
        if population.y is None:
            raise ValueError("a calibration needs labels: rb.Population(X, y)")
        if scores is None:
            mean = np.hstack([self._mean_scores(each.X) for each in population.pieces(inputs=True)])
        else:
            mean = self._of_labels(with_axes(scores, len(self.classes)))[0]
        errors_only = not self.constraints and self.problem == Problem(error_rate())
        fitted = fit_calibration(mean, population.y, population.weights, on, even_at_zero=errors_only)
        return replace(self, calibration=fitted)

    def mean_scores(self, X: Any) -> Array:
        """The models' mean score, weighted by how often each is used, without thresholds.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.

        Returns
        -------
        array of shape (n,) or (D, n)
            What the calibration takes.
        """
        return as_shown(self._mean_scores(X))

    def _mean_scores(self, X: Any) -> Array:
        features = self.features(X)
        scores = self._checked(self.scorer.label_scores, features, of_labels=True)
        return mean_score(self.model_weights, self._of_labels(scores))

    def _of_labels(self, scores: Array) -> Array:
        """Scores (M, A, n) of the labels alone, from the scores of all decisions."""
        if referral_of(self.classes) is None or scores.shape[1] < len(self.classes):
            return scores
        labels = scores[:, :-1]
        return labels[:, 1:] - labels[:, :1] if labels.shape[1] == 2 else labels

    def label_probability(self, X: Any) -> Array:
        """The probability that the label is yes, or with D > 2 classes that it is each of `classes`.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.

        Returns
        -------
        array of shape (n,) or (D, n)
            `predict_proba` has the same, in scikit-learn's order.
        """
        return as_shown(self._label_probability(X))

    def _label_probability(self, X: Any) -> Array:
        """The same, (A, n)."""
        if self.calibration is None:
            raise ValueError(
                "this mixture is not calibrated, so it has no probability of a label: decision_proba "
                "has the probability of each decision, and mixture.calibrated(population) calibrates "
                "it on labelled rows, preferably rows that it was not trained on"
            )
        return self.calibration.probability(self._mean_scores(X))

    def predict(
        self,
        X: Any,
        *,
        columns: Any = None,
        key: Any = None,
        seed: Any = None,
        exactly: int | None = None,
    ) -> Array:
        """A decision for each row, the same one for the same row every time.

        If members are drawn, a hash chooses the one that decides a row. A vote draws none.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.
        key : array of shape (n,), default=None
            An entity's id per row, to hash. By default the features are hashed, rounded to a small part
            of their usual spread. Thresholds on bare scores can only hash the scores, so rows with equal
            scores are decided alike: give ids.
        seed : int or Generator, default=None
            Draws members afresh instead. By default decisions are repeatable: the same row gets the same
            answer tomorrow.
        exactly : int, default=None
            Say yes to exactly so many of these rows, the best by score. Nothing is drawn: with a
            mixture, rows rank by its probability of yes, and then by the mean score. Ties are ordered by
            a hash of the features, or of `key`, and rows with equal features as they come. Promises that
            need no labels, such as positive rates of groups in `columns`, are kept on these rows; a
            warning names any that cannot be. By default each row is decided by itself.

        Returns
        -------
        array of shape (n,)
            The decisions, spelled as `classes` are.
        """
        if exactly is not None:
            return self._exactly(X, columns, key, exactly)
        decisive, weights, chosen, uniform = self._decisive(X, columns, key, seed)
        if key is None and seed is None:
            warn_of_shared_keys(weights, chosen, uniform)
        return class_array(self.classes)[decided(decisive[None])[0]]

    def _exactly(self, X: Any, columns: Any, key: Any, exactly: Any) -> Array:
        """A yes for exactly so many rows: the best that keep the promises."""
        from ratebound._old.solution.exactly import check_exactly, chosen_exactly, promises_on

        features = self.features(X)
        rows = length(features, "X")
        count = check_exactly(exactly, len(self.classes), rows)
        weights, scores = self.choices_of(X, features, columns)
        order = scores[0, 0].astype(float)
        if len(weights) > 1:  # likelier yeses first, and the mean score orders equally likely ones
            likely = decision_shares(weights, scores)[1]
            tell = (np.abs(scores[:, 0]) < ALWAYS) * weights[
                :, None
            ]  # not a member that always says the same
            order = (np.where(tell > 0, scores[:, 0], 0.0) * tell).sum(0) / np.maximum(
                tell.sum(0), 1e-12
            )
            steps = np.unique(likely.round(9), return_inverse=True)[1].reshape(-1)
            ranks = np.unique(order, return_inverse=True)[1].reshape(-1)
            order = steps + ranks / (2.0 * (ranks.max() + 1))
        ties = self.decider.uniform(features, key, None)
        batch = promises_on(self.problem, X, columns, rows, self.classes)
        return np.asarray(self.classes)[chosen_exactly(order, ties, count, batch).astype(int)]

    def decisive_scores(self, X: Any, *, columns: Any = None, key: Any = None) -> Array:
        """The score that decides each row in `predict`: the drawn member's score.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.
        key : array of shape (n,), default=None
            As in `predict`; by default the features are hashed.

        Returns
        -------
        array of shape (n,) or (D, n)
            Yes is decided from 0 on; with D > 2 classes, the class with the largest score.
        """
        return as_shown(self._decisive(X, columns, key)[0])

    def choices_of(self, X: Any, features: Any, columns: Any = None) -> tuple[Array, Array]:
        """What may decide each row if it had these features; known groups are as in `X`.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        features : array or sparse matrix
            The models' features of these rows, (n, d).
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.

        Returns
        -------
        tuple
            The probability of each choice (C,), and its scores (C, 1, n) or (C, D, n).
        """
        return self.decider.choices(self.weights, self._scores(X, features, columns))

    def deciding_member(self, X: Any, *, columns: Any = None, key: Any = None) -> Array:
        """Which member decides each row in `predict`.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        columns : DataFrame or mapping, default=None
            The columns of known groups, where `X` does not have them.
        key : array of shape (n,), default=None
            As in `predict`; by default the features are hashed.

        Returns
        -------
        array of shape (n,)
            The member's place; 0 for a single model and for a vote.
        """
        return self._decisive(X, columns, key)[2]

    def uniform(self, X: Any, *, key: Any = None) -> Array:
        """The number in [0, 1) that chooses each row's member in `predict`.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix
            The rows.
        key : array of shape (n,), default=None
            As in `predict`; by default the features are hashed.

        Returns
        -------
        array of shape (n,)
            The input of a file written by ``to_onnx(..., choose="uniform")``.
        """
        return self.decider.uniform(self.features(X), key, None)

    def recorded(self, **changes: Any) -> Mixture:
        """The same mixture with these parts of its record changed.

        Parameters
        ----------
        **changes : object
            Fields of the record by name, such as ``date="2026-01-31"``.

        Returns
        -------
        Mixture
            A copy.
        """
        return replace(self, record=replace(self.record, **changes))

    def save(self, path: str | Path, *, date: datetime.date | None = None) -> Path:
        """Write the mixture to a file, whole or not at all; `rb.load` reads it back.

        It is safetensors and JSON, never pickle: reading it runs no code.

        Parameters
        ----------
        path : str or path
            The file, if the name ends in ``.safetensors``; otherwise a folder, which gets a file of that
            kind.
        date : date, default=None
            The date for its record. None by default, so that equal mixtures are equal files.

        Returns
        -------
        Path
            The file.
        """
        from ratebound._old.solution.files import save

        return save(self if date is None else self.recorded(date=date.isoformat()), path)

    def to_onnx(self, path: str | Path, *, choose: Literal["key", "uniform"] = "key") -> Path:
        """Write the mixture to an ONNX file, as ``docs/onnx.md`` describes.

        Parameters
        ----------
        path : str or path
            The file to write.
        choose : {"key", "uniform"}, default="key"
            The input that chooses the deciding member: an entity's whole-number id, which the file
            hashes as `predict` does, or a number in [0, 1) from `uniform`. The default needs no Python
            beside the file.

        Returns
        -------
        Path
            The file.
        """
        from ratebound._old.solution.onnx import to_onnx

        return to_onnx(self, path, choose=choose)

    def _decisive(
        self, X: Any, columns: Any, key: Any = None, seed: Any = None
    ) -> tuple[Array, Array, Array, Array]:
        """Each row's deciding scores (A, n), the choices' weights, the chosen one, and its number."""
        features = self.features(X)
        weights, scores = self.choices_of(X, features, columns)
        rows = np.arange(scores.shape[-1])
        if len(weights) == 1 and key is None:
            uniform = np.zeros(len(rows))  # without a choice, nothing is hashed
        else:
            uniform = self.decider.uniform(features, key, seed)
        chosen = choose(weights, uniform)
        return scores[chosen, :, rows].T, weights, chosen, uniform

    def _by_class(self, each: Array) -> Array:
        """Values by class (D, n), with a column for each class as in `classes_`, (n, D)."""
        labels = label_classes(self.classes)
        order = np.argsort(np.asarray(labels))
        return each[[*order, *range(len(labels), len(each))]].T

    def _scores(self, X: Any, features: Any, columns: Any) -> Array:
        """Scores (M, A, n) of the members."""
        return self.decider.member_scores(self._model_scores(features), X, columns)

    def _model_scores(self, features: Any) -> Array:
        """Scores (B, A, n) of the models."""
        return self._checked(self.scorer.scores, features)

    def _checked(
        self, score: Callable[[Array, Any], Array], features: Any, of_labels: bool = False
    ) -> Array:
        """The scorer's scores, checked: NaN would silently mean no."""
        with np.errstate(all="ignore"):
            scores = score(self.parameters, features)
        if scores.ndim != 3:
            name = type(self.scorer).__name__
            raise ValueError(
                f"{name}.scores() has shape {scores.shape}, expected (models, scores, rows)"
            )
        fits = {len(self.classes), *([len(label_classes(self.classes))] if of_labels else [])}
        if decision_count(scores) not in fits:
            raise ValueError(
                f"its models decide among {decision_count(scores)} classes, but it has "
                f"{len(self.classes)} labels: {some(list(self.classes))}"
            )
        if not np.isfinite(scores).all():
            raise ValueError(self._without_score(features, scores))
        return scores

    def _without_score(self, features: Any, scores: Array) -> str:
        row = int(np.argwhere(~np.isfinite(scores))[:, -1].min())
        encoding = None if self.scorer.tables or is_sparse(features) else self.encoding
        if encoding is None or not encoding.from_frame or np.isfinite(features[row]).all():
            return f"row {row} has no score: its features hold NaN or infinite values"
        name = encoding.names[int(np.isfinite(features[row]).argmin())]
        return f"row {row} has no score: {name!r} is infinite or far larger than in training"


def mixture(trace: Trace, weights: Array, unsolved: str = "", gap: float | None = None) -> Mixture:
    """The candidates of `trace` mixed with `weights` (N,).

    `unsolved` is what the solver said if it failed to find better weights, for the status; `gap` is how
    far the goal is from the best of any mixture, if known.
    """
    chosen = np.flatnonzero(weights > 0)
    members = trace.only(chosen)
    p = weights[chosen] / weights[chosen].sum()
    models, decider = members.parameters, Draw(feature_scale=trace.feature_scale)
    scorer, parameters = trace.scorer.kept(models)
    violations = p @ members.violations
    settings = members.settings
    values: dict[str, Values | Trace] = {"train": members, **members.watched}
    objectives = {name: trace.objective_of(p, one) for name, one in values.items()}
    status = status_of(trace.constraints, violations, trace.violations, trace.scale, unsolved)
    if gap is not None:
        status = replace(status, reached=reached(trace.problem, objectives["train"], gap, ITERATES))
    record = Record(
        problem=trace.problem,
        status=status,
        objectives=objectives,
        violations={name: p @ one.violations for name, one in values.items()},
        setting=settings[0] if len(settings) == 1 else None,
        seed=trace.seed,
        data=trace.data,
        course=course_of(trace),
    )
    members_used = Members(p, parameters, scorer, members.thresholds)
    return Mixture(members_used, decider, record, trace.classes)


def member(whole: Mixture, index: int) -> Mixture:
    """One member of a mixture, as a mixture of one; its recorded values are no longer known."""
    decider, models = whole.decider.alone(index)
    thresholds = {name: values[[index]] for name, values in whole.thresholds.items()}
    members = Members(np.ones(1), whole.parameters[models], whole.scorer, thresholds)
    alone = replace(whole, members=members, decider=decider, calibration=None)
    nothing: dict[str, Any] = {"certificate": None, "prices": (), "course": None}
    return alone.recorded(objectives={}, violations={}, **nothing)


def without_promises(whole: Mixture) -> Mixture | None:
    """The same model without its promises, if it is known: a rule holds it."""
    parameters = whole.scorer.without_promises()
    if parameters is None or not whole.problem.subject_to:
        return None
    members = Members(np.ones(1), parameters, whole.scorer, {})
    return replace(whole, members=members, decider=Draw(), calibration=None)
