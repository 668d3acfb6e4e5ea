"""The four solutions of a trace: the last iterate, the best, the average, and the shrunk mixture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from ratebound._old.base.linear_program import TOLERANCE, best_mixture
from ratebound._old.base.types import Array
from ratebound._old.game.programs import best_goal_mixture
from ratebound._old.game.trace import Trace, Values, check_trace, worst_of
from ratebound._old.solution.mixture import Mixture, mixture


def last_iterate(trace: Trace) -> Mixture:
    """The model training ended with.

    It may break promises that an earlier iterate kept, because the multipliers oscillate. Most training
    loops deploy it; it is here for comparison.

    Parameters
    ----------
    trace : Trace
        A trace of one setting, such as ``trace.of_setting(0)``.

    Returns
    -------
    Mixture
        Of one model.

    See Also
    --------
    shrink : The best mixture of a few iterates.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None)
    >>> len(rb.last_iterate(trace))
    1
    """
    _one_setting(trace, "last_iterate")
    return mixture(trace, np.arange(len(trace)) == np.argmax(trace.round))


def best_iterate(trace: Trace, *, ranking: Literal["clipped", "literal"] = "clipped") -> Mixture:
    """The best single model on the training rows.

    It is the candidate with the lowest objective among the candidates that keep every constraint. If
    none does, the paper's rank heuristic decides: objective and worst violation are ranked among all
    candidates, and the candidate whose larger rank is smallest wins; a tie goes to the lower objective.

    Parameters
    ----------
    trace : Trace
        A trace of any number of settings.
    ranking : {"clipped", "literal"}, default="clipped"
        With "literal", ranks always decide and reward a margin, as in the paper. By default a margin
        counts for nothing: a promise is kept or it is not.

    Returns
    -------
    Mixture
        Of one model.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None)
    >>> print(rb.best_iterate(trace))
    one model: feasible: every constraint is kept on the training rows
      train: objective 0.2500, worst violation -0.0500
    """
    check_trace("best_iterate", trace)
    best = best_by_rank(trace.objectives, trace.worst, ranking)
    return mixture(trace, np.arange(len(trace)) == best)


def average(
    trace: Trace, *, weighting: Literal["theorem", "uniform"] | Sequence[float] | Array = "theorem"
) -> Mixture:
    """All iterates mixed: the T-stochastic solution, which the theorems are about.

    Parameters
    ----------
    trace : Trace
        A trace of one setting, with all its iterates: ``keep=rb.Keep()``.
    weighting : {"theorem", "uniform"} or array of shape (N,), default="theorem"
        Theorem 2 weighs the iterates of a swap-regret game by the objective's multiplier; "uniform" is
        what the paper's tables show. For the other games both are uniform. Your own weights, such as the
        result of `ratebound.solution.shrink_weights`, mix snapshots of your own loop:
        ``rb.average(rb.trace_of(compiled, snapshots), weighting=weights)``.

    Returns
    -------
    Mixture
        As many models as there are iterates; `rb.shrink` needs few, and is as good or better.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None, keep=rb.Keep(every=10))
    >>> len(rb.average(trace, weighting="uniform"))
    10
    """
    _one_setting(trace, "average")
    if trace.frontier:
        raise ValueError(
            "this trace has only the frontier, but average needs all iterates: keep=rb.Keep()"
        )
    if not isinstance(weighting, str):
        return mixture(trace, _own_weights(weighting, len(trace)))
    if weighting not in ("theorem", "uniform"):
        raise ValueError(f"weighting must be 'theorem', 'uniform' or weights, got {weighting!r}")
    by_theorem = weighting == "theorem" and trace.averaging == "by objective"
    if trace.answered is not None:  # only the oracle's fits that were answers to multipliers
        weights = trace.answered[:, int(by_theorem)]
    else:
        weights = trace.multipliers[:, 0] if by_theorem else np.ones(len(trace))
    if not weights.any():  # the objective never had any weight
        weights = np.ones(len(trace))
    return mixture(trace, weights / weights.sum())


def _own_weights(given: Sequence[float] | Array, count: int) -> Array:
    """A caller's weights, as probabilities."""
    weights = np.asarray(given, dtype=float)
    if weights.shape != (count,):
        raise ValueError(f"weighting: {count} iterates need {count} weights, got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("weighting: weights must be at least 0, and one of them above 0")
    return weights / weights.sum()


def shrink(trace: Trace) -> Mixture:
    """The best mixture of at most m+1 candidates: the m-stochastic solution.

    No mixture of the candidates keeps the constraints at a lower objective on the training rows. Finding
    it is a linear program, whose solution needs at most one model more than there are constraints. If
    the objective is not a sum of rates, it is still the best mixture, and the status says how far from
    the best it may be.

    Parameters
    ----------
    trace : Trace
        Candidates of all settings are pooled; pass ``trace.of_setting(k)`` for one setting.

    Returns
    -------
    Mixture
        If no mixture keeps every constraint, it is the mixture with the least worst violation; its
        `status` says which constraints conflict.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None)
    >>> print(rb.shrink(trace))
    a mixture of 2 models: feasible: every constraint is kept on the training rows
      train: objective 0.2000, worst violation +0.0000
    """
    check_trace("shrink", trace)
    if trace.goal is not None:
        assert trace.pieces is not None
        best = best_goal_mixture(trace.goal, trace.pieces, trace.violations, trace.scale)
        return mixture(trace, best[0], best[1].unsolved, best[2].gap)
    weights, least = best_mixture(trace.objectives, trace.violations, trace.scale)
    return mixture(trace, weights, least.unsolved)


def select(
    trace: Trace,
    solution: Callable[[Trace], Mixture] = shrink,
    *,
    on: str = "validation",
    ranking: Literal["clipped", "literal"] = "clipped",
) -> Mixture:
    """The solution of the setting that does best on a watched population.

    Settings whose solution keeps every constraint there come before the other settings. Within each of
    these two sets, settings that keep the constraints on the training rows come first. The rest is as
    for `best_iterate`.

    Parameters
    ----------
    trace : Trace
        A trace of several settings, with ``watch={"validation": compiled}``.
    solution : callable, default=rb.shrink
        A function from a trace to a mixture, such as `rb.best_iterate`. The default keeps what can be
        kept, at the least cost.
    on : str, default="validation"
        The watched population, or "train".
    ranking : {"clipped", "literal"}, default="clipped"
        As in `best_iterate`.

    Returns
    -------
    Mixture
        The chosen setting is its `setting`.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> halves = [rb.Population(X[k::2], X[k::2, 0] > 0) for k in (0, 1)]
    >>> compiled, validation = (rb.compile(problem, half) for half in halves)
    >>> how = {"rounds": 100, "batch_size": None, "watch": {"validation": validation}}
    >>> chosen = rb.select(rb.play(compiled, rb.Linear([0.03, 0.1]), **how))
    >>> {name: round(value, 4) for name, value in chosen.objectives.items()}
    {'train': 0.2, 'validation': 0.2}
    """
    check_trace("select", trace)
    scale = values_on(trace, on).scale
    solutions = [solution(trace.of_setting(setting)) for setting in trace.settings]
    objectives = np.array([one.record.objectives[on] for one in solutions])
    worst = worst_of(np.stack([one.violations[on] for one in solutions]), scale)
    if ranking == "clipped":
        trained = np.array([one.status.feasible for one in solutions])
        tier = np.where(worst <= TOLERANCE, 0, 2) + ~trained
        first = np.flatnonzero(tier == tier.min())
        return solutions[first[best_by_rank(objectives[first], worst[first])]]
    return solutions[best_by_rank(objectives, worst, ranking)]


def values_on(trace: Trace, on: str) -> Trace | Values:
    """The values of all candidates on the training rows, "train", or on a watched population."""
    if on != "train" and on not in trace.watched:
        known = ", ".join(["train", *trace.watched])
        raise ValueError(f"{on!r} was not watched, only {known}: play(..., watch={{{on!r}: compiled}})")
    return trace if on == "train" else trace.watched[on]


def best_by_rank(
    objectives: Array, worst: Array, ranking: Literal["clipped", "literal"] = "clipped"
) -> int:
    """Which candidate minimises max(rank of objective, rank of worst violation), in units.

    Ties share the lowest rank; violations within `TOLERANCE` are ties. Unless `ranking` is "literal",
    candidates that keep every constraint rank first, by objective: ranks among a few candidates are too
    coarse to give up a kept promise for.

    >>> best_by_rank(np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.1, -0.4]))
    1
    """
    if ranking not in ("clipped", "literal"):
        raise ValueError(f"ranking must be 'clipped' or 'literal', got {ranking!r}")
    if ranking == "clipped" and (worst <= TOLERANCE).any():
        return int(np.argmin(np.where(worst <= TOLERANCE, objectives, np.inf)))
    rank = np.maximum(_ranks(objectives), _ranks(worst, TOLERANCE))
    return int(np.lexsort((worst, objectives, rank))[0])


def _ranks(values: Array, tolerance: float = 0.0) -> Array:
    """For each value, how many are lower by more than `tolerance`."""
    return np.searchsorted(np.sort(values), values - tolerance, side="left")


def _one_setting(trace: Trace, name: str) -> None:
    check_trace(name, trace)
    if len(trace.settings) > 1:
        raise ValueError(
            f"{name} needs the iterates of one setting, but this trace has {len(trace.settings)}: use "
            f"rb.{name}(trace.of_setting(0)), or rb.select(trace, rb.{name})"
        )
