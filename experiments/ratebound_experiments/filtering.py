"""Filtering's base model, few of whose right decisions may be lost.

It has the same architecture as the model trained under constraints, is trained by regression on a
real-valued label, and says yes from 0 on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound._old.base.drawing import drawing_from
from ratebound._old.base.extras import import_torch
from ratebound._old.datasets import Splits
from ratebound._old.learners.lattice import Lattice
from ratebound._old.learners.torch import TorchFit
from ratebound_experiments.experiment import KEYPOINTS, POPULATIONS

SIZE = (50, 6)  # lattices, and features of each
EPOCHS, BATCH, RATE = 5, 512, 0.01  # of the regression
FIRST = 3  # steps before one is recorded: libraries set themselves up in them


def add_base(splits: Splits, seed: int, device: str | None) -> None:
    """Give each population the base model's decisions: lattices fitted by least squares."""
    torch = import_torch()
    features = splits.train.features
    learner = Lattice(*SIZE, KEYPOINTS, splits.monotone, learning_rate=RATE, device=device)
    with drawing_from(torch.Generator().manual_seed(seed)):
        fit = TorchFit(learner, learner.network(features), features, settings=1, outputs=1)
        orders = [torch.randperm(len(features)) for _ in range(EPOCHS)]
    target = torch.as_tensor(splits.train.column("label_real").astype(np.float32), device=fit.target)

    def step(rows: Any) -> None:
        fit.descend((fit.scores(rows) - target.index_select(0, rows)) * (2 / len(rows)))

    batches = [rows for order in orders for rows in order.to(fit.target).split(BATCH)]
    if fit.recordable:
        _replay(step, batches, fit.count_on_device)
    else:
        for rows in batches:
            step(rows)
    for name in POPULATIONS:
        population = getattr(splits, name)
        population.columns["base"] = _decisions(fit, population.features)


def _replay(step: Callable[[Any], None], batches: list[Any], prepare: Callable[[], None]) -> None:
    """Take these steps on a GPU: one for each size of batch is recorded, and replayed."""
    cuda = import_torch().cuda
    beside, recordings = cuda.Stream(), {}
    beside.wait_stream(cuda.current_stream())
    with cuda.stream(beside):
        for rows in batches[:FIRST]:
            step(rows)
    cuda.current_stream().wait_stream(beside)
    prepare()
    for rows in batches[FIRST:]:
        if len(rows) not in recordings:
            place, graph = rows.clone(), cuda.CUDAGraph()
            with cuda.graph(graph):
                step(place)
            recordings[len(rows)] = place, graph
        place, graph = recordings[len(rows)]
        place.copy_(rows)
        graph.replay()


def _decisions(fit: TorchFit, features: NDArray[Any]) -> NDArray[np.bool_]:
    torch = import_torch()
    fit.module.eval()
    with torch.no_grad():
        parts = [fit.module(part.to(fit.target)) for part in torch.as_tensor(features).split(65_536)]
    found: NDArray[np.bool_] = (torch.cat(parts) >= 0).cpu().numpy()
    return found
