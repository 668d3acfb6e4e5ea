"""Plots with matplotlib: the cost of promises, the course of training, and a model's use of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound._old.base.extras import import_extra
from ratebound._old.game.trace import Trace, check_trace, worst_of
from ratebound._old.learners.lattice import calibrators
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.solutions import shrink


def plot_trade_off(trace: Trace, ax: Any = None) -> Any:
    """Objective against worst violation of every kept iterate, with their best mixture marked.

    Iterates left of the line keep every constraint. Needs ``ratebound[plot]``.

    Parameters
    ----------
    trace : Trace
        What `play` returned.
    ax : matplotlib axes, default=None
        Where to draw. By default on a figure of its own.

    Returns
    -------
    matplotlib axes
        ``ax.figure.savefig("trade_off.png")`` writes it.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None)
    >>> rb.plot_trade_off(trace).get_ylabel()
    'objective: error_rate()'
    """
    check_trace("plot_trade_off", trace)
    solution = shrink(trace)
    ax = _axes(ax)
    worst = worst_of(trace.violations)
    ax.scatter(worst, trace.problem.shown(trace.objectives), s=12, alpha=0.5, label="iterates")
    at = worst_of(solution.violations["train"][None])
    objective = trace.problem.shown(solution.objectives["train"])
    ax.scatter(at, [objective], marker="*", s=160, label="their best mixture", zorder=3)
    ax.axvline(0.0, linewidth=1, color="grey")
    ax.set_xlabel("worst violation, kept where at most 0")
    ax.set_ylabel(f"objective: {trace.problem.objective}")
    ax.legend()
    return ax


def plot_convergence(trace: Trace, ax: Any = None) -> Any:
    """Objective and worst violation by round, for the first setting.

    Needs ``ratebound[plot]``.

    Parameters
    ----------
    trace : Trace
        What `play` returned.
    ax : matplotlib axes, default=None
        Where to draw. By default on a figure of its own.

    Returns
    -------
    matplotlib axes
        The axes of the objective; the violation has its own scale on the right.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.repeat([[-2.0], [-1.0], [1.0], [2.0]], 50, axis=0)
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] > 0))
    >>> trace = rb.play(compiled, rb.Linear(0.1), rounds=100, batch_size=None)
    >>> rb.plot_convergence(trace).get_xlabel()
    'round'
    """
    check_trace("plot_convergence", trace)
    trace = trace.of_setting(trace.settings[0])
    ax = _axes(ax)
    (first,) = ax.plot(
        trace.round, trace.problem.shown(trace.objectives), label=f"objective: {trace.problem.objective}"
    )
    other = ax.twinx()
    (second,) = other.plot(trace.round, worst_of(trace.violations), color="C1", label="worst violation")
    other.axhline(0.0, linewidth=1, color="grey")
    ax.set_xlabel("round")
    ax.set_ylabel("objective")
    other.set_ylabel("worst violation, kept where at most 0")
    ax.legend(handles=[first, second])
    return ax


def plot_calibrators(model: Any, axes: Any = None) -> Any:
    """How a lattice model transforms each feature before combining them, one panel per feature.

    A line is a member's calibrator, stronger for a larger weight; a dashed line is the value for a
    missing one. Needs ``ratebound[plot]``.

    Parameters
    ----------
    model : Mixture or module
        A mixture of lattice models, or the module itself.
    axes : array of matplotlib axes, default=None
        The axes to draw on, one for each feature. By default a new figure.

    Returns
    -------
    array of matplotlib axes
        One for each feature.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(X, X[:, 0] > X[:, 1]))
    >>> trace = rb.play(compiled, rb.Lattice(lattices=2, rank=2), rounds=20)
    >>> len(rb.plot_calibrators(rb.last_iterate(trace)))
    2
    """
    weights = model.model_weights if isinstance(model, Mixture) else np.ones(1)
    encoding = getattr(model, "encoding", None)
    curves = calibrators(model)
    names = [f"feature {i}" for i in range(len(curves))] if encoding is None else encoding.names
    axes = _panels(len(curves)) if axes is None else np.ravel(axes)
    for place, (ax, curve) in enumerate(zip(axes, curves, strict=False)):
        texts = None if encoding is None else getattr(encoding.columns[place], "values", None)
        for weight, values, missing in zip(weights, curve.values, curve.missing, strict=True):
            strength = 0.2 + 0.8 * float(weight / weights.max())
            marker = "o" if curve.categorical else None
            line = "none" if curve.categorical else "-"
            ax.plot(curve.at, values, color="C0", alpha=strength, marker=marker, linestyle=line)
            ax.axhline(missing, color="grey", alpha=strength, linestyle="--", linewidth=1)
        if texts is not None:
            ax.set_xticks(range(len(texts)), texts, rotation=90)
        ax.set_title(names[place])
        ax.set_ylim(-0.05, 1.05)
    return axes


def _panels(count: int) -> Any:
    """Axes (count,) on a new figure, four in a row."""
    columns = min(4, count)
    rows = -(-count // columns)
    figure = _figure(figsize=(3.2 * columns, 2.4 * rows))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in axes[count:]:
        spare.remove()
    return axes[:count]


def _axes(ax: Any) -> Any:
    return _figure(figsize=(6.4, 4.2)).subplots() if ax is None else ax


def _figure(figsize: tuple[float, float]) -> Any:
    figure = import_extra("matplotlib.figure", "matplotlib", "plot").Figure
    return figure(figsize=figsize, layout="constrained")
