"""Mixtures: models with the probability each is used with, ready to decide."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.game.scorer import Scorer
from ratebound.game.trace import NO_SETTING, Trace
from ratebound.learners.encoding import Encoding
from ratebound.problem.feature_scale import FeatureScale
from ratebound.problem.frames import as_array, frame_columns
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Constraint
from ratebound.solution.cells import Cells
from ratebound.solution.choosing import (
    choose,
    uniform_from_features,
    uniform_from_key,
    uniform_from_scores,
    voted_scores,
    warn_of_shared_keys,
)
from ratebound.solution.status import Status, status_of

Array = NDArray[Any]


@dataclass(frozen=True)
class Mixture:
    """Models with the probability each is used with; one model is a mixture of one.

    `objectives` and `violations` are expectations over the mixture, by population. `encoding`, where
    there is one, turns the rows of a table into the features the models were trained on. With `vote`
    there is no chance: yes is said where members with half of the weight or more say yes. With `cells`
    members are not models but thresholds on the scores of models, by known cell: `print(mixture.cells)`.
    """

    problem: Problem
    constraints: tuple[Constraint, ...]
    weights: Array  # (M,) > 0, summing to 1
    parameters: Array  # (M, P); with cells (B, P), of the models that their thresholds are for
    thresholds: dict[str, Array]  # learnable thresholds, (M,) each
    scorer: Scorer
    objectives: dict[str, float]  # "train" and every watched population
    violations: dict[str, Array]  # (m,) each, feasible where <= 0
    setting: int | None  # the setting its members come from, None where from several
    status: Status
    classes: tuple[Any, Any] = (False, True)  # what no and yes are called
    encoding: Encoding | None = None
    feature_scale: FeatureScale | None = (
        None  # how large the features were in training, to be rounded by and hashed
    )
    salt: int = 0  # of the hash that chooses members; another salt, another draw
    audited: dict[str, Any] = field(default_factory=dict)  # the audit at the time of saving
    vote: bool = False  # whether the members decide by majority, not one of them by chance
    cells: Cells | None = None  # each member's thresholds by known cell, where it has any

    def __len__(self) -> int:
        return len(self.weights)

    def __str__(self) -> str:
        what = ""
        if self.cells is not None:
            by = f" by {', '.join(self.cells.columns)}" if self.cells.columns else ""
            what = f" set{'s' * (len(self) > 1)} of thresholds{by}"
        lines = [f"{'vote' if self.vote else 'mixture'} of {len(self)}{what}: {self.status}"]
        for name, objective in self.objectives.items():
            worst = self.violations[name].max() if self.constraints else 0.0
            lines.append(f"  {name}: objective {objective:.4f}, worst violation {worst:+.4f}")
        return "\n".join(lines)

    def features(self, X: Any) -> Any:
        """The features the models see of these rows, an array or, where they read tables, a table."""
        if self.encoding is not None:
            return self.encoding.transform(X)
        if self.cells is not None and self.cells.given:
            return self._given_scores(as_array(X))
        return X if self.scorer.tables and frame_columns(X) else as_array(X)

    @property
    def classes_(self) -> Array:
        """The two labels in sorted order, as scikit-learn has them; `classes` is no, then yes."""
        return np.unique(np.asarray(self.classes))

    def member_scores(self, X: Any, *, columns: Any = None) -> Array:
        """Scores (n, M) of every member; a member says yes where its score is at least 0.

        `columns` holds the columns that `cells` are made of, where `X` does not.
        """
        return self._scores(X, self.features(X), columns).T

    def decision_function(self, X: Any, *, columns: Any = None) -> Array:
        """The members' mean score (n,), of a vote their median, for ranking.

        Positive speaks for ``classes_[1]``.
        """
        scores = self._scores(X, self.features(X), columns)
        found = voted_scores(self.weights, scores) if self.vote else self.weights @ scores
        return found if self.classes_[1] == self.classes[1] else -found

    def predict_proba(self, X: Any, *, columns: Any = None) -> Array:
        """The mixture's probability of each class, (n, 2) as in `classes_`; 0 and 1 for a vote."""
        yes = self.yes_probability(X, columns=columns)
        found = np.column_stack([1 - yes, yes])
        return found if self.classes_[1] == self.classes[1] else found[:, ::-1]

    def yes_probability(self, X: Any, *, columns: Any = None) -> Array:
        """The mixture's probability of yes, (n,), whatever yes is called; 0 or 1 for a vote."""
        scores = self._scores(X, self.features(X), columns)
        if self.vote:
            return (voted_scores(self.weights, scores) >= 0).astype(float)
        return np.minimum(self.weights @ (scores >= 0), 1.0)

    def predict(
        self, X: Any, *, columns: Any = None, key: Any = None, random_state: Any = None
    ) -> Array:
        """A decision for each row, the same one for the same row every time.

        A hash chooses the member that decides: of `key`, an entity's id per row, where given, else of
        the features, rounded to a small part of what they usually differ by. `random_state` draws
        members afresh instead. A vote needs neither. Thresholds on bare scores have only these to hash,
        so that equal scores share a fate: give ids.
        """
        features = self.features(X)
        scores = self._scores(X, features, columns)
        if self.vote:
            decisive = voted_scores(self.weights, scores)
        else:
            uniform = self._uniform(features, key, random_state)
            chosen = choose(self.weights, uniform)
            if key is None and random_state is None:
                warn_of_shared_keys(self.weights, chosen, uniform)
            decisive = scores[chosen, np.arange(len(features))]
        return np.asarray(self.classes)[(decisive >= 0).astype(int)]

    def _scores(self, X: Any, features: Any, columns: Any) -> Array:
        """Scores (M, n), checked: a score that is not a number would silently say no."""
        with np.errstate(all="ignore"):
            scores = self.scorer.scores(self.parameters, features)
        if not np.isfinite(scores).all():
            row = int(np.flatnonzero(~np.isfinite(scores).all(axis=0))[0])
            raise ValueError(f"row {row} has no score: its features hold NaN or infinite values")
        return scores if self.cells is None else self.cells.scores(scores, self.cells.rows(X, columns))

    def _given_scores(self, scores: Array) -> Array:
        width = self.parameters.shape[1] - 1
        wide = scores[:, None] if scores.ndim == 1 else scores
        if wide.ndim != 2 or wide.shape[1] != width or wide.dtype.kind not in "buif":
            raise ValueError(
                f"this policy decides on scores, {width} a row, and got {wide.dtype} of shape "
                f"{scores.shape}: pass what the model gives for these rows, and to audit the policy "
                "rb.Population(scores, y, columns=...)"
            )
        return wide

    def uniform(self, X: Any, *, key: Any = None) -> Array:
        """The number in [0, 1) that chooses each row's member in `predict`, (n,)."""
        return self._uniform(self.features(X), key, None)

    def _uniform(self, features: Any, key: Any, random_state: Any) -> Array:
        """The number in [0, 1) that chooses each row's member, (n,)."""
        if random_state is not None:
            return np.random.default_rng(random_state).random(len(features))
        if key is None:
            if self.cells is not None and self.cells.given:
                return uniform_from_scores(features, self.salt)
            return uniform_from_features(features, self.salt, self.feature_scale)
        uniform = uniform_from_key(key, self.salt)
        if len(uniform) != len(features):
            raise ValueError(f"key has {len(uniform)} ids for {len(features)} rows")
        return uniform

    def save(self, path: str | Path) -> Path:
        """Write the mixture to a ``.safetensors`` file, or into a folder; `rb.load` reads it back."""
        from ratebound.solution.files import save

        return save(self, path)


def mixture(trace: Trace, weights: Array, unsolved: str = "") -> Mixture:
    """The candidates of `trace` mixed with `weights` (N,).

    `unsolved` is what the solver said where it failed to find better weights, for the status.
    """
    chosen = np.flatnonzero(weights > 0)
    members = trace.only(chosen)
    p = weights[chosen] / weights[chosen].sum()
    models, cells = members.parameters, None
    if members.at is not None and members.at.any():  # members are thresholds on the scores of models
        models, model = np.unique(models, axis=0, return_inverse=True)
        cells = Cells((), ((),), p, model.reshape(-1, 1), members.at[:, None])
    scorer, parameters = trace.scorer.kept(models)
    violations = p @ members.violations
    settings = members.settings
    return Mixture(
        problem=trace.problem,
        constraints=trace.constraints,
        weights=p,
        parameters=parameters,
        thresholds=members.thresholds,
        scorer=scorer,
        feature_scale=trace.feature_scale,
        objectives={
            "train": float(p @ members.objectives),
            **{name: float(p @ values.objectives) for name, values in members.watched.items()},
        },
        violations={
            "train": violations,
            **{name: p @ values.violations for name, values in members.watched.items()},
        },
        setting=settings[0] if len(settings) == 1 and settings[0] != NO_SETTING else None,
        status=status_of(trace.constraints, violations, trace.violations, trace.scale, unsolved),
        cells=cells,
    )


def member(whole: Mixture, index: int) -> Mixture:
    """One member of a mixture, as a mixture of one; its recorded values are no longer known."""
    one = slice(index, index + 1)
    return replace(
        whole,
        weights=np.ones(1),
        parameters=whole.parameters if whole.cells is not None else whole.parameters[one],
        thresholds={name: values[one] for name, values in whole.thresholds.items()},
        objectives={},
        violations={},
        vote=False,
        cells=None if whole.cells is None else whole.cells.member(index),
    )
