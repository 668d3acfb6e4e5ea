"""The result of a game: every iterate kept, with its exact rates.

A trace is a table of candidates, one row per kept iterate of each setting. Solutions choose among its
rows, alone or mixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.players import Averaging
from ratebound._old.game.scorer import Scorer
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import as_shown, score_count
from ratebound._old.problem.general import Model
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.reductions.goal import NonlinearObjective
from ratebound._old.problem.summaries import FeatureScale
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.kinds import TWO, Classes

AT_ONCE = 2**24  # scores held at a time when candidates are judged
BY_CANDIDATE = ("objectives", "violations", "multipliers", "parameters", "setting", "round")


def scores_on(compiled: Compiled, scorer: Scorer, parameters: Array) -> Array:
    """(M, A, n) scores of M models (M, P) on all rows of a compiled problem."""
    if compiled.stored:
        return np.concatenate(list(score_pieces(compiled, scorer, parameters)), axis=-1)
    scores = scorer.scores(parameters, compiled.inputs if scorer.tables else compiled.features)
    expected = len(parameters), score_count(compiled.decisions), len(compiled.cells)
    if scores.shape != expected:
        name = type(scorer).__name__
        raise ValueError(f"{name}.scores() has shape {scores.shape}, expected {expected}")
    return scores


def score_pieces(compiled: Compiled, scorer: Scorer, parameters: Array) -> Iterator[Array]:
    """The same, some rows at a time, (M, A, b), in one pass over rows on disk."""
    if not compiled.stored:
        yield scores_on(compiled, scorer, parameters)
        return
    many = max(1, AT_ONCE // 4 // (score_count(compiled.decisions) * len(parameters)))
    for piece in compiled.features.pieces():
        for start in range(0, len(piece), many):
            yield scorer.scores(parameters, piece[start : start + many])


def worst_of(violations: Array, scale: Array | float = 1.0) -> Array:
    """The worst of violations (N, m) in their units, (N,); 0 without constraints.

    >>> worst_of(np.array([[-0.2, -30.0], [0.1, 0.0]]), np.array([1.0, 100.0]))
    array([-0.2,  0.1])
    """
    in_units = violations / scale
    return in_units.max(axis=1) if in_units.shape[1] else np.zeros(len(in_units))


@dataclass(frozen=True)
class Values:
    """Exact values of N candidates on one population."""

    objectives: Array  # (N,)
    violations: Array  # (N, m), feasible if <= 0
    scale: Array | float = 1.0  # (m,) the units in which violations are compared, as in a trace
    pieces: Array | None = None  # (N, q) the arguments of a goal, if the objective is not a sum

    def only(self, chosen: Array) -> Values:
        """The values of only these candidates."""
        return replace(
            self,
            objectives=self.objectives[chosen],
            violations=self.violations[chosen],
            pieces=None if self.pieces is None else self.pieces[chosen],
        )


def values_of(
    rows: Compiled,
    scores: Array | Iterator[Array],
    thresholds: dict[str, Array],
    models: Sequence[Model] | None = None,
) -> Values:
    """The exact values of candidates on some rows, given their scores there, which may come in pieces.

    `models` are the candidates as user-defined constraints see them.
    """
    objectives, violations, pieces = rows.measure(scores, thresholds, models)
    return Values(objectives, violations, rows.scale[1:], pieces)


def models_on(rows: Compiled, scorer: Scorer, parameters: Array, scores: Array) -> list[Model] | None:
    """Models (M, P) with scores (M, A, n), as user-defined constraints see them; None without any."""
    if not rows.general:
        return None
    return [scorer.model(*each) for each in zip(parameters, as_shown(scores), strict=True)]


@dataclass(frozen=True)
class Trace:
    """N candidates: the iterates kept from a game of K settings, with their exact rates.

    `play` makes it; `select`, `shrink` and others choose among its candidates, alone or mixed.

    Parameters
    ----------
    problem : Problem
        The problem that was trained for.
    constraints : tuple of Constraint
        The constraints as compiled: an area also has one for each budget.
    objectives : array of shape (N,)
        The objectives on the training population.
    violations : array of shape (N, m)
        The violations, feasible if <= 0.
    watched : dict of str to Values
        Objectives and violations on other populations.
    multipliers : array of shape (N, 1+m)
        The weight of the objective, then of each constraint.
    parameters : array of shape (N, P)
        The models' parameters.
    thresholds : dict of str to array
        Learnable thresholds, (N, D - 1) each, for all classes but the first.
    setting : array of shape (N,)
        The setting that each candidate comes from.
    round : array of shape (N,)
        The number of rounds after which it was kept.
    scorer : Scorer
        Turns parameters and rows into scores.
    averaging : {"alike", "by objective", "all fits"}, default="alike"
        How `average` weighs them for this λ-player. By default equally, as for most players.
    frontier : bool, default=False
        Whether dominated iterates were dropped. By default all are kept.
    answers : bool, default=False
        Whether iterates are an oracle's fits to their own multipliers. By default they are steps.
    answered : array of shape (N, 2), default=None
        The number of rounds in which each fit was the answer, and the objective's weight there. By
        default none.
    feature_scale : FeatureScale, default=None
        The usual size of each feature, if known.
    ended : {"rounds", "gap", "stopped", "time", "interrupted"}, default="rounds"
        What ended the game. By default all rounds were played.
    scale : array of shape (m,) or float, default=1.0
        The units of violations; for a count, the number of rows it is counted among. By default 1.
    seed : int, default=None
        The seed of the training, if known.
    data : str, default=None
        The digest of the training rows, if known.
    goal : NonlinearObjective, default=None
        If the objective is not a sum of rates, the function of the pieces that it is. By default it is a
        sum.
    pieces : array of shape (N, q), default=None
        The arguments of the goal. By default the objective is a sum.
    classes : tuple, default=(False, True)
        The possible decisions. By default no and yes; the names of two classes may be set later.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> compiled = rb.compile(rb.Problem("error_rate()", ["positive_rate() <= 0.25"]), people)
    >>> trace = rb.play(compiled, rb.Linear(), rounds=20, batch_size=None, keep=rb.Keep(every=5))
    >>> len(trace), trace.violations.shape, trace.round
    (4, (4, 1), array([ 5, 10, 15, 20]))
    """

    problem: Problem
    constraints: tuple[Constraint, ...]
    objectives: Array
    violations: Array
    watched: dict[str, Values]
    multipliers: Array
    parameters: Array
    thresholds: dict[str, Array]
    setting: Array
    round: Array
    scorer: Scorer
    averaging: Averaging = "alike"
    frontier: bool = False
    answers: bool = False
    answered: Array | None = None
    feature_scale: FeatureScale | None = None
    ended: str = "rounds"
    scale: Array | float = 1.0
    seed: int | None = None
    data: str | None = None
    goal: NonlinearObjective | None = None
    pieces: Array | None = None
    classes: Classes = TWO

    def __len__(self) -> int:
        return len(self.objectives)

    @property
    def worst(self) -> Array:
        """Each candidate's worst violation (N,) in units; negative if every constraint has a margin.

        It is 0 without constraints.
        """
        return worst_of(self.violations, self.scale)

    def objective_of(self, weights: Array, values: Values | Trace) -> float:
        """The objective of a mixture.

        Parameters
        ----------
        weights : array of shape (N,)
            The probability that each candidate decides.
        values : Values or Trace
            The candidates' values on some rows.

        Returns
        -------
        float
            The objective there, which is minimised.
        """
        if self.goal is None:
            return float(weights @ values.objectives)
        return float(self.goal.value(weights @ values.pieces))

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt from the keyboard ended training."""
        return self.ended == "interrupted"

    @property
    def settings(self) -> list[int]:
        """The settings that have candidates."""
        settings: list[int] = np.unique(self.setting).tolist()
        return settings

    def of_setting(self, setting: int | None) -> Trace:
        """The candidates of one setting, in order.

        Parameters
        ----------
        setting : int
            One of `settings`.

        Returns
        -------
        Trace
            The trace of only these candidates.
        """
        chosen = np.flatnonzero(self.setting == setting)
        if not len(chosen):
            raise ValueError(f"no candidates of setting {setting}; there are {self.settings}")
        return self.only(chosen)

    def only(self, chosen: Array) -> Trace:
        """The trace with only some candidates.

        Parameters
        ----------
        chosen : array
            Their indices.

        Returns
        -------
        Trace
            The trace of only these candidates, in this order.
        """
        rows: dict[str, Any] = {name: getattr(self, name)[chosen] for name in BY_CANDIDATE}
        return replace(
            self,
            **rows,
            watched={name: values.only(chosen) for name, values in self.watched.items()},
            thresholds={name: values[chosen] for name, values in self.thresholds.items()},
            answered=None if self.answered is None else self.answered[chosen],
            pieces=None if self.pieces is None else self.pieces[chosen],
        )

    def scores(self, compiled: Compiled) -> Array:
        """Scores of its models on a compiled problem.

        Parameters
        ----------
        compiled : Compiled
            The problem on some rows.

        Returns
        -------
        array of shape (N, A, n)
            The scores; A is 1 for two classes and D for more.
        """
        return scores_on(compiled, self.scorer, self.parameters)


def joined(traces: Sequence[Trace]) -> Trace:
    """One trace with the candidates of all."""
    first = traces[0]

    def join(parts: Iterable[Any]) -> Array:
        return np.concatenate(list(parts))

    rows: dict[str, Any] = {name: join(getattr(t, name) for t in traces) for name in BY_CANDIDATE}
    watched = {
        name: replace(
            values,
            objectives=join(t.watched[name].objectives for t in traces),
            violations=join(t.watched[name].violations for t in traces),
            pieces=None if values.pieces is None else join(t.watched[name].pieces for t in traces),
        )
        for name, values in first.watched.items()
    }
    return replace(
        first,
        **rows,
        watched=watched,
        thresholds={name: join(t.thresholds[name] for t in traces) for name in first.thresholds},
        answered=None,  # belongs to one game; its pieces are joined before it is known
        pieces=None if first.pieces is None else join(t.pieces for t in traces),
    )


def pooled(traces: Sequence[Trace]) -> Trace:
    """The candidates of several games on the same problem, by models of one kind."""
    first, *others = traces
    for other in others:
        scorer, parameters = first.scorer.beside(other.scorer, other.parameters)
        placed = replace(other, parameters=parameters)
        first = joined([replace(first, scorer=scorer), placed])
    return first


def on_frontier(objectives: Array, violations: Array) -> Array:
    """Which candidates no other one beats or equals in everything; the first of equals stays.

    >>> on_frontier(np.array([0.1, 0.2, 0.3]), np.array([[0.5], [0.1], [0.2]]))
    array([ True,  True, False])
    """
    table = np.column_stack([objectives, violations])
    stays = np.ones(len(table), dtype=bool)
    for i, candidate in enumerate(table):
        if stays[i]:
            stays &= ~(table >= candidate).all(axis=1)
            stays[i] = True
    return stays


def check_trace(function: str, trace: Any) -> None:
    """Raise unless `trace` is a trace, rather than the problem or the solution of a game.

    >>> check_trace("shrink", None)
    Traceback (most recent call last):
    TypeError: shrink takes a trace first, as rb.play gives it back, got NoneType
    """
    if not isinstance(trace, Trace):
        kind = type(trace).__name__
        raise TypeError(f"{function} takes a trace first, as rb.play gives it back, got {kind}")
