"""Mixtures: models with the probability each is used with, ready to decide."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.game.trace import Scorer, Trace
from ratebound.learners.encoding import Encoding
from ratebound.problem.frames import as_array
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Constraint
from ratebound.solution.choosing import choose, uniform_from_features, uniform_from_key, voted_scores
from ratebound.solution.status import Status, status_of

Array = NDArray[Any]


@dataclass(frozen=True)
class Mixture:
    """Models with the probability each is used with; one model is a mixture of one.

    `objectives` and `violations` are expectations over the mixture, by population. `encoding`, where
    there is one, turns the rows of a table into the features the models were trained on. With `vote`
    there is no chance: yes is said where members with half of the weight or more say yes.
    """

    problem: Problem
    constraints: tuple[Constraint, ...]
    weights: Array  # (M,) > 0, summing to 1
    parameters: Array  # (M, P)
    thresholds: dict[str, Array]  # learnable thresholds, (M,) each
    scorer: Scorer
    objectives: dict[str, float]  # "train" and every watched population
    violations: dict[str, Array]  # (m,) each, feasible where <= 0
    setting: int | None  # the setting its members come from, None where from several
    status: Status
    classes: tuple[Any, Any] = (False, True)  # what no and yes are called
    encoding: Encoding | None = None
    salt: int = 0  # of the hash that chooses members; another salt, another draw
    audited: dict[str, Any] = field(default_factory=dict)  # the audit at the time of saving
    vote: bool = False  # whether the members decide by majority, not one of them by chance

    def __len__(self) -> int:
        return len(self.weights)

    def __str__(self) -> str:
        lines = [f"{'vote' if self.vote else 'mixture'} of {len(self)}: {self.status}"]
        for name, objective in self.objectives.items():
            worst = self.violations[name].max() if self.constraints else 0.0
            lines.append(f"  {name}: objective {objective:.4f}, worst violation {worst:+.4f}")
        return "\n".join(lines)

    def features(self, X: Any) -> Any:
        """The features the models see of these rows, an array or, where they read tables, a table."""
        if self.encoding is not None:
            return self.encoding.transform(X)
        return X if self.scorer.tables else as_array(X)

    def decision_function(self, X: Any) -> Array:
        """Scores (n, M) of every member; a member says yes where its score is at least 0."""
        return self._scores(self.features(X)).T

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, 2) of no and of yes under the mixture; 0 and 1 for a vote."""
        scores = self._scores(self.features(X))
        if self.vote:
            yes = (voted_scores(self.weights, scores) >= 0).astype(float)
        else:
            yes = np.minimum(self.weights @ (scores >= 0), 1.0)
        return np.column_stack([1 - yes, yes])

    def predict(self, X: Any, *, key: Any = None, random_state: Any = None) -> Array:
        """A decision for each row, the same one for the same row every time.

        A hash chooses the member that decides: of `key`, an entity's id per row, where given, else of
        the rounded features. `random_state` draws members afresh instead. A vote needs neither.
        """
        features = self.features(X)
        scores = self._scores(features)
        if self.vote:
            decisive = voted_scores(self.weights, scores)
        else:
            chosen = choose(self.weights, self._uniform(features, key, random_state))
            decisive = scores[chosen, np.arange(len(features))]
        return np.asarray(self.classes)[(decisive >= 0).astype(int)]

    def _scores(self, features: Array) -> Array:
        """Scores (M, n), checked: a score that is not a number would silently say no."""
        with np.errstate(all="ignore"):
            scores = self.scorer.scores(self.parameters, features)
        if not np.isfinite(scores).all():
            row = int(np.flatnonzero(~np.isfinite(scores).all(axis=0))[0])
            raise ValueError(f"row {row} has no score: its features hold NaN or infinite values")
        return scores

    def _uniform(self, features: Array, key: Any, random_state: Any) -> Array:
        """The number in [0, 1) that chooses each row's member, (n,)."""
        if random_state is not None:
            return np.random.default_rng(random_state).random(len(features))
        if key is None:
            return uniform_from_features(features, self.salt)
        uniform = uniform_from_key(key, self.salt)
        if len(uniform) != len(features):
            raise ValueError(f"key has {len(uniform)} ids for {len(features)} rows")
        return uniform

    def save(self, path: str | Path) -> Path:
        """Write the mixture to a ``.safetensors`` file, or into a folder; `rb.load` reads it back."""
        from ratebound.solution.files import save

        return save(self, path)


def mixture(trace: Trace, weights: Array) -> Mixture:
    """The candidates of `trace` mixed with `weights` (N,)."""
    chosen = np.flatnonzero(weights > 0)
    members = trace.only(chosen)
    p = weights[chosen] / weights[chosen].sum()
    scorer, parameters = trace.scorer.kept(members.parameters)
    violations = p @ members.violations
    settings = members.settings
    return Mixture(
        problem=trace.problem,
        constraints=trace.constraints,
        weights=p,
        parameters=parameters,
        thresholds=members.thresholds,
        scorer=scorer,
        objectives={
            "train": float(p @ members.objectives),
            **{name: float(p @ values.objectives) for name, values in members.watched.items()},
        },
        violations={
            "train": violations,
            **{name: p @ values.violations for name, values in members.watched.items()},
        },
        setting=settings[0] if len(settings) == 1 else None,
        status=status_of(trace.constraints, violations, trace.violations),
    )


def member(whole: Mixture, index: int) -> Mixture:
    """One member of a mixture, as a mixture of one; its recorded values are no longer known."""
    one = slice(index, index + 1)
    return replace(
        whole,
        weights=np.ones(1),
        parameters=whole.parameters[one],
        thresholds={name: values[one] for name, values in whole.thresholds.items()},
        objectives={},
        violations={},
        vote=False,
    )
