"""Filtering, on a stand-in: few of a base model's right decisions lost in any region; 50 lattices.

The base model has the same architecture, is trained by regression on a real-valued label, and says yes
from 0 on.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.base.extras import import_torch
from ratebound.datasets import Splits, load_filtering
from ratebound.experiments.experiment import POPULATIONS, Experiment, Rates
from ratebound.experiments.model_kinds import KEYPOINTS, lattices
from ratebound.learners.lattice import Lattice
from ratebound.rates.expressions import Constraint
from ratebound.rates.named import loss_only_churn

SIZE = (50, 6)  # lattices, and features of each
EPOCHS, BATCH, RATE = 5, 512, 0.01  # of the regression


def _splits(folder: Path, seed: int) -> Splits:
    splits = load_filtering(folder, seed)
    base = _regression(splits, seed)
    for name in POPULATIONS:
        population = getattr(splits, name)
        population.columns["base"] = _decisions(base, population.features)
    return splits


def _promises(splits: Splits) -> list[Constraint]:
    regions = np.unique(splits.train.column("region")).tolist()
    return [loss_only_churn(versus="base", region=region) <= 0.05 for region in regions]


def _regression(splits: Splits, seed: int) -> Any:
    """The base model: monotone lattices fitted to the real-valued label by least squares."""
    torch = import_torch()
    rows = torch.as_tensor(splits.train.features)
    target = torch.as_tensor(splits.train.column("label_real").astype(np.float32))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Lattice(*SIZE, KEYPOINTS, splits.monotone).network(splits.train.features)
        steps = [
            {"params": [p], "lr": RATE * model.steps.get(n, 1.0)} for n, p in model.named_parameters()
        ]
        optimizer = torch.optim.Adam(steps)
        for _ in range(EPOCHS):
            for batch in torch.randperm(len(rows)).split(BATCH):
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(rows[batch]), target[batch]).backward()
                optimizer.step()
                with torch.no_grad():
                    model.project({name: p.data[None] for name, p in model.named_parameters()})
    return model.eval()


def _decisions(model: Any, features: NDArray[Any]) -> NDArray[np.bool_]:
    torch = import_torch()
    with torch.no_grad():
        parts = [model(part) for part in torch.as_tensor(features).split(65_536)]
    found: NDArray[np.bool_] = (torch.cat(parts) >= 0).numpy()
    return found


FILTERING = Experiment(
    name="filtering",
    title="Filtering",
    words="will a loan be repaid; in ten regions at most 5% of a base model's right decisions lost",
    splits=_splits,
    promises=_promises,
    model=partial(lattices, count=SIZE[0], rank=SIZE[1]),
    stand_in=True,
    epochs=5,
    batch_size=512,
    keep_every=100,
    threads=None,
    rates=Rates(model=(0.01,)),
)
