"""A trace from a training loop of your own: snapshots of a model, with their exact rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound._old.base.extras import import_torch
from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Scorer
from ratebound._old.game.trace import Trace, Values, models_on, scores_on
from ratebound._old.learners._torch_scorer import TorchScorer
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.deciding import score_count
from ratebound._old.rates.kinds import TWO

if TYPE_CHECKING:
    import torch


def trace_of(
    compiled: Compiled,
    snapshots: Sequence[torch.nn.Module] | Sequence[Array] | Array,
    *,
    scorer: Scorer | None = None,
    watch: Mapping[str, Compiled] | None = None,
) -> Trace:
    """The trace whose candidates are snapshots of a model from a loop of one's own, with exact rates.

    Keep copies on the way, and every solution of a trace works on them:
    ``rb.shrink(rb.trace_of(compiled, copies)).save("model")``.

    Parameters
    ----------
    compiled : Compiled
        The problem on the training rows, as `rb.compile` gives it.
    snapshots : sequence of torch.nn.Module, or array (T, P)
        PyTorch modules, all of one architecture, used as in deployment: in evaluation mode. With a
        `scorer`, the parameters of each snapshot as one flat array of P numbers.
    scorer : Scorer, default=None
        What turns flat parameters and rows into scores, for models that are no PyTorch modules. It is
        what is deployed; `rb.register_scorer` makes its files readable.
    watch : mapping of str to Compiled, default=None
        Other populations on which the snapshots are evaluated too, by name. By default none.

    Returns
    -------
    Trace
        One candidate for each snapshot, in their order. The multipliers are the loop's own affair, and
        are NaN.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population([[-1.0], [1.0], [2.0]], [False, True, True])
    >>> compiled = rb.compile(rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.5]), people)
    >>> class Slope(rb.Scorer):
    ...     kind = "slope"
    ...     def scores(self, parameters, X):
    ...         return (parameters[:, :1] * X[:, 0] + parameters[:, 1:])[:, None]
    >>> trace_of(compiled, [[1.0, 0.0], [1.0, -1.5]], scorer=Slope()).objectives.round(3)
    array([0.   , 0.333])
    """
    if not len(snapshots):
        raise ValueError("no snapshots were given, so there is nothing to choose from")
    if scorer is None:
        scorer, stacked = _of_modules(snapshots, score_count(compiled.decisions))
    else:
        stacked = _of_parameters(snapshots)
    values = {}
    for name, one in {"train": compiled, **(watch or {})}.items():
        scores = scores_on(one, scorer, stacked)
        models = models_on(one, scorer, stacked, scores)
        values[name] = Values(*one.measure(scores, None, models)[:2], one.scale[1:])
    unknown = np.full((len(stacked), 1 + len(compiled.constraints)), np.nan)
    return Trace(
        classes=TWO if compiled.decisions == 2 else compiled.classes,
        problem=compiled.problem,
        constraints=compiled.constraints,
        objectives=values["train"].objectives,
        violations=values["train"].violations,
        watched={name: rates for name, rates in values.items() if name != "train"},
        multipliers=unknown,  # the loop's own affair
        parameters=stacked,
        thresholds={},
        setting=np.zeros(len(stacked), dtype=int),
        round=np.arange(1, len(stacked) + 1),
        scorer=scorer,
        feature_scale=compiled.feature_scale,
        scale=compiled.scale[1:],
        data=compiled.digest,
    )


def _of_modules(modules: Any, outputs: int) -> tuple[TorchScorer, Array]:
    """One scorer of all modules, and the parameters of each."""
    torch = import_torch()
    if not all(isinstance(module, torch.nn.Module) for module in modules):
        raise TypeError("trace_of takes PyTorch modules, or flat parameters with scorer=")
    scorer, parameters = TorchScorer(modules[0], outputs), []
    for module in modules:
        state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        if any(name not in state or state[name].shape != shape for name, shape in scorer.shapes.items()):
            raise ValueError("the snapshots do not all have the same architecture")
        flat = [state[name].detach().reshape(-1).float().cpu() for name in scorer.shapes]
        parameters.append(torch.cat(flat).numpy())
    return scorer, np.stack(parameters)


def _of_parameters(snapshots: Any) -> Array:
    """The parameters (T, P) of snapshots, each given as one flat array."""
    rows = [np.asarray(one, dtype=np.float32) for one in snapshots]
    if any(one.ndim != 1 or one.shape != rows[0].shape for one in rows):
        raise ValueError("with scorer=, each snapshot is one flat array, and all have the same size")
    return np.stack(rows)
