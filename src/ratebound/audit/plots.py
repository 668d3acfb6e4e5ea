"""Pictures of a trace with matplotlib: what keeping the promises costs, and how training went."""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound.game.trace import Trace


def plot_trade_off(model: Any, ax: Any = None) -> Any:
    """Objective against worst violation of every iterate kept, the solution marked.

    `model` is a trace, or a fitted estimator with its `trace_` and `solution_`. Iterates left of the
    line keep every constraint. Returns the matplotlib axes.
    """
    trace, solution = _trace_of(model)
    ax = _axes(ax)
    worst = _worst(trace.violations)
    ax.scatter(worst, trace.objectives, s=12, alpha=0.5, label="iterates")
    if solution is not None:
        own = solution.violations["train"]
        at = float(own.max()) if len(own) else 0.0
        ax.scatter([at], [solution.objectives["train"]], marker="*", s=160, label="solution", zorder=3)
    ax.axvline(0.0, linewidth=1, color="grey")
    ax.set_xlabel("worst violation, kept where at most 0")
    ax.set_ylabel(f"objective: {trace.problem.minimize}")
    ax.legend()
    return ax


def plot_convergence(model: Any, ax: Any = None) -> Any:
    """Objective and worst violation by round, for the setting the solution comes from.

    Returns the matplotlib axes; the violation has a scale of its own on the right.
    """
    trace, solution = _trace_of(model)
    setting = None if solution is None else solution.setting
    trace = trace.of_setting(trace.settings[0] if setting is None else setting)
    ax = _axes(ax)
    (first,) = ax.plot(trace.round, trace.objectives, label=f"objective: {trace.problem.minimize}")
    other = ax.twinx()
    (second,) = other.plot(trace.round, _worst(trace.violations), color="C1", label="worst violation")
    other.axhline(0.0, linewidth=1, color="grey")
    ax.set_xlabel("round")
    ax.set_ylabel("objective")
    other.set_ylabel("worst violation, kept where at most 0")
    ax.legend(handles=[first, second])
    return ax


def _trace_of(model: Any) -> tuple[Trace, Any]:
    if isinstance(model, Trace):
        return model, None
    if not hasattr(model, "trace_"):
        raise TypeError("expected a trace or a fitted estimator")
    return model.trace_, model.solution_


def _worst(violations: Any) -> Any:
    return violations.max(axis=1) if violations.shape[1] else np.zeros(len(violations))


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'ratebound[plot]'") from None
    return Figure(figsize=(6.4, 4.2), layout="constrained").subplots()
