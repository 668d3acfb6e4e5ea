"""A trace from a training loop of your own: snapshots of a module, with their exact rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ratebound.base.extras import import_torch
from ratebound.game.trace import Trace, Values, scores_on
from ratebound.learners._torch_scorer import TorchScorer
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import score_count
from ratebound.rates.kinds import TWO

if TYPE_CHECKING:
    import torch


def trace_of(
    compiled: Compiled,
    modules: Sequence[torch.nn.Module],
    *,
    watch: Mapping[str, Compiled] | None = None,
) -> Trace:
    """The trace whose candidates are these modules, all of one architecture.

    For a loop with `rb.Game`: keep copies of the module on the way, and every solution of a trace works
    on them: `rb.shrink(rb.trace_of(compiled, copies)).save("model")`. The
    copies are used as in deployment, in evaluation mode. `watch` evaluates them on other populations.
    """
    if not modules:
        raise ValueError("no snapshots were given, so there is nothing to choose from")
    scorer = TorchScorer(modules[0], score_count(compiled.decisions))
    parameters = []
    for module in modules:
        state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        if any(name not in state or state[name].shape != shape for name, shape in scorer.shapes.items()):
            raise ValueError("the snapshots do not all have the same architecture")
        flat = [state[name].detach().reshape(-1).float().cpu() for name in scorer.shapes]
        parameters.append(import_torch().cat(flat).numpy())
    stacked = np.stack(parameters)
    values = {
        name: Values(*one.evaluate(scores_on(one, scorer, stacked)), one.scale[1:])
        for name, one in {"train": compiled, **(watch or {})}.items()
    }
    unknown = np.full((len(stacked), 1 + len(compiled.constraints)), np.nan)
    return Trace(
        classes=TWO if compiled.decisions == 2 else compiled.classes,
        problem=compiled.problem,
        constraints=compiled.constraints,
        objectives=values["train"].objectives,
        violations=values["train"].violations,
        watched={name: found for name, found in values.items() if name != "train"},
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
