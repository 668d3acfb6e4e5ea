"""Mixtures: what is deployed, that is members, the probability of each, and how they decide."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Scorer
from ratebound.game.trace import NO_SETTING, Trace, Values, worst_of
from ratebound.problem.deciding import decided, decision_count, decision_shares, each_class, mean_score
from ratebound.problem.frames import as_array, frame_columns, some
from ratebound.problem.matrices import is_sparse
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Constraint
from ratebound.rates.named import error_rate
from ratebound.solution._choosing import choose, warn_of_shared_keys
from ratebound.solution._group_thresholds import GroupThresholds
from ratebound.solution._record import Record
from ratebound.solution.calibration import Calibration, fit_calibration
from ratebound.solution.certificate import Certificate
from ratebound.solution.deciders import Decider, Draw
from ratebound.solution.price import Price
from ratebound.solution.status import ITERATES, Status, reached, status_of
from ratebound.tables.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Members:
    """Who may decide: models, and how often each member is used.

    A member is a model, unless the decider sets thresholds on models; then it is a set of thresholds.
    """

    weights: Array  # (M,) > 0, summing to 1
    parameters: Array  # (B, P) of the models
    scorer: Scorer
    thresholds: dict[str, Array] = field(default_factory=dict)  # learned, (M,) each, or (M, D - 1)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Models, each used with some probability, ready to decide; one model is a mixture of one.

    `decider` says how the members' scores become one decision: one of them is drawn by a hash of the
    row, or they vote; either may be by thresholds for known groups, which `rule` puts into words.
    `encoding`, where there is one, turns the rows of a table into the features the models were trained
    on. `calibration` is for the probability of the label. `record` says where all this came from; its
    main parts can be read off the mixture itself.
    """

    members: Members
    decider: Decider
    record: Record
    classes: tuple[Any, ...] = (False, True)  # (D,) what decisions are called; of two, no and yes
    encoding: Encoding | None = None
    calibration: Calibration | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def __str__(self) -> str:
        lines = [f"{self.decider.called(len(self))}: {self.status}"]
        for name, objective in self.objectives.items():
            worst = worst_of(self.violations[name][None])[0]
            lines.append(f"  {name}: objective {objective:.4f}, worst violation {worst:+.4f}")
        return "\n".join(lines)

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
        """The thresholds learned with the models, (M,) each; with D > 2 classes (M, D - 1)."""
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
        return self.record.status

    @property
    def objectives(self) -> dict[str, float]:
        """The expected objective, by population, as the problem says it: high where it is maximized."""
        return {name: self.problem.shown(value) for name, value in self.record.objectives.items()}

    @property
    def violations(self) -> dict[str, Array]:
        """The expected violation of each constraint (m,), feasible where <= 0, by population."""
        return self.record.violations

    @property
    def certificate(self) -> Certificate | None:
        """What was certified of it, on rows that it was neither trained nor chosen on."""
        return self.record.certificate

    @property
    def prices(self) -> tuple[Price, ...]:
        """What its promises cost, as `rb.price` says; none of ratios, nor of what `rb.shrink` gives."""
        return self.record.priced

    @property
    def setting(self) -> int | None:
        """The setting its members come from, None where from several."""
        return self.record.setting

    @property
    def model_weights(self) -> Array:
        """How often each model is used, (B,), summing to 1; all groups count the same."""
        found = np.zeros(len(self.parameters))
        for member, weight in enumerate(self.weights):
            _, models = self.decider.alone(member)
            found[models] += weight / len(models)
        return found

    @property
    def rule(self) -> str:
        """How it decides, in words."""
        return self.decider.rule(self.weights, self.classes)

    @property
    def classes_(self) -> Array:
        """The labels in sorted order, as scikit-learn has them; of two `classes` has no, then yes."""
        return np.unique(np.asarray(self.classes))

    def features(self, X: Any) -> Any:
        """What the models see of these rows: an array or, where they read tables, a table."""
        if isinstance(X, Population):
            raise TypeError("give a mixture the X of each of population.pieces(inputs=True)")
        if self.encoding is not None:
            return self.encoding.transform(X)
        return X if self.scorer.tables and frame_columns(X) else as_array(X)

    def member_scores(self, X: Any, *, columns: Any = None) -> Array:
        """Scores (n, M) of every member; a member says yes where its score is at least 0.

        With D > 2 classes they are (n, D, M), and a member decides the class of its largest score.
        `columns` holds the columns of known groups, where `X` does not.
        """
        return self._scores(X, self.features(X), columns).T

    def decision_function(self, X: Any, *, columns: Any = None) -> Array:
        """The members' mean score (n,), or for a vote their median, for ranking.

        Positive speaks for ``classes_[1]``. With D > 2 classes it is the mean score of each, (n, D) as
        in `classes_`, or for a vote the share of it.
        """
        found = mean_score(*self._choices(X, self.features(X), columns))
        if found.ndim == 2:
            return self._by_class(found)
        return found if self.classes_[1] == self.classes[1] else -found

    def predict_proba(self, X: Any) -> Array:
        """The probability of each label, (n, D) as in `classes_`, whatever is decided.

        It is the `calibration` of the models' mean score, which knows neither thresholds nor known
        groups. For the probability with which the mixture decides, ask `decision_proba`.
        """
        return self._by_class(each_class(self.label_probability(X)))

    def decision_proba(self, X: Any, *, columns: Any = None) -> Array:
        """The probability of each decision, (n, D) as in `classes_`; 0 and 1 for one model or a vote."""
        return self._by_class(decision_shares(*self._choices(X, self.features(X), columns)))

    def calibrated(
        self, population: Population, on: str = "rows given", *, scores: Array | None = None
    ) -> Mixture:
        """The same mixture with `predict_proba` calibrated on a population with labels.

        Rows that the models were trained on flatter them. `on` is what the calibration calls the rows.
        Mean `scores` (n,) or (D, n) may be given, of models like these that have not seen the rows.
        Where nothing but errors counts, the likelier label is decided, so a score of 0 is a half.
        """
        if population.y is None:
            raise ValueError("a calibration needs labels: rb.Population(X, y)")
        if scores is None:
            scores = np.hstack([self.mean_scores(each.X) for each in population.pieces(inputs=True)])
        errors_only = not self.constraints and self.problem == Problem(error_rate())
        found = fit_calibration(scores, population.y, population.weights, on, even_at_zero=errors_only)
        return replace(self, calibration=found)

    def mean_scores(self, X: Any) -> Array:
        """The models' mean score (n,) or (D, n), each counted as often as used, without thresholds."""
        return mean_score(self.model_weights, self._model_scores(self.features(X)))

    def label_probability(self, X: Any) -> Array:
        """The probability that the label is yes, (n,), or with D > 2 of each of `classes`, (D, n)."""
        if self.calibration is None:
            raise ValueError(
                "this mixture is not calibrated, so it has no probability of a label: decision_proba "
                "has the probability of each decision, and mixture.calibrated(population) is the "
                "same mixture calibrated on labelled rows, best on some it was not trained on"
            )
        return self.calibration.probability(self.mean_scores(X))

    def predict(self, X: Any, *, columns: Any = None, key: Any = None, seed: Any = None) -> Array:
        """A decision for each row, the same one for the same row every time.

        A hash chooses the member that decides: of `key`, an entity's id per row, where given, else of
        the features, rounded to a small part of what they usually differ by. `seed` draws
        members afresh instead. A vote needs neither. Thresholds on bare scores have only these to hash,
        so rows with equal scores are decided alike: give ids.
        """
        decisive, weights, chosen, uniform = self._decisive(X, columns, key, seed)
        if key is None and seed is None:
            warn_of_shared_keys(weights, chosen, uniform)
        return np.asarray(self.classes)[decided(decisive[None])[0]]

    def decisive_scores(self, X: Any, *, columns: Any = None) -> Array:
        """The score that decides each row in `predict`, (n,) or (D, n): that of the member drawn."""
        return self._decisive(X, columns, None, None)[0]

    def uniform(self, X: Any, *, key: Any = None) -> Array:
        """The number in [0, 1) that chooses each row's member in `predict`, (n,)."""
        return self.decider.uniform(self.features(X), key, None)

    def recorded(self, **changes: Any) -> Mixture:
        """The same mixture with these parts of its record changed."""
        return replace(self, record=replace(self.record, **changes))

    def save(self, path: str | Path, *, date: datetime.date | None = None) -> Path:
        """Write the mixture to a ``.safetensors`` file, or into a folder; `rb.load` reads it back.

        `date` goes into its record. Without one, equal mixtures are equal files.
        """
        from ratebound.solution.files import save

        return save(self if date is None else self.recorded(date=date.isoformat()), path)

    def to_onnx(self, path: str | Path, *, choose: Literal["key", "uniform"] = "key") -> Path:
        """Write the mixture to an ONNX file, as `ratebound.solution.onnx.to_onnx` says."""
        from ratebound.solution.onnx import to_onnx

        return to_onnx(self, path, choose=choose)

    def _decisive(self, X: Any, columns: Any, key: Any, seed: Any) -> tuple[Array, Array, Array, Array]:
        """Each row's deciding score; the choices' weights, which was chosen, and by what number."""
        features = self.features(X)
        weights, scores = self._choices(X, features, columns)
        rows = np.arange(scores.shape[-1])
        if len(weights) == 1 and key is None:
            uniform = np.zeros(len(rows))  # where there is no choice, nothing is hashed
        else:
            uniform = self.decider.uniform(features, key, seed)
        chosen = choose(weights, uniform)
        return scores[chosen, ..., rows].T, weights, chosen, uniform

    def _choices(self, X: Any, features: Any, columns: Any) -> tuple[Array, Array]:
        return self.decider.choices(self.weights, self._scores(X, features, columns))

    def _by_class(self, each: Array) -> Array:
        """What each class has (D, n), with a column for each class as in `classes_`, (n, D)."""
        return each[np.argsort(np.asarray(self.classes))].T

    def _scores(self, X: Any, features: Any, columns: Any) -> Array:
        """Scores (M, n) or (M, D, n) of the members."""
        return self.decider.member_scores(self._model_scores(features), X, columns)

    def _model_scores(self, features: Any) -> Array:
        """Scores (B, n) or (B, D, n) of the models, checked: no number would silently say no."""
        with np.errstate(all="ignore"):
            scores = self.scorer.scores(self.parameters, features)
        if decision_count(scores) != len(self.classes):
            raise ValueError(
                f"its models decide among {decision_count(scores)} classes, and it has "
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

    `unsolved` is what the solver said where it failed to find better weights, for the status; `gap` how
    far the goal is from the best of any mixture, where that is known.
    """
    chosen = np.flatnonzero(weights > 0)
    members = trace.only(chosen)
    p = weights[chosen] / weights[chosen].sum()
    models, decider = members.parameters, Draw(feature_scale=trace.feature_scale)
    deciding: Decider = decider
    if members.at is not None and members.at.any():  # members are thresholds on the scores of models
        models, model = np.unique(models, axis=0, return_inverse=True)
        deciding = GroupThresholds((), ((),), model.reshape(-1, 1), members.at[:, None], decider)
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
        setting=settings[0] if len(settings) == 1 and settings[0] != NO_SETTING else None,
        seed=trace.seed,
        data=trace.data,
    )
    own = Members(p, parameters, scorer, members.thresholds)
    return Mixture(own, deciding, record, trace.classes)


def member(whole: Mixture, index: int) -> Mixture:
    """One member of a mixture, as a mixture of one; its recorded values are no longer known."""
    decider, models = whole.decider.alone(index)
    thresholds = {name: values[[index]] for name, values in whole.thresholds.items()}
    members = Members(np.ones(1), whole.parameters[models], whole.scorer, thresholds)
    alone = replace(whole, members=members, decider=decider, calibration=None)
    return alone.recorded(objectives={}, violations={}, certificate=None, prices=(), pool=None)
