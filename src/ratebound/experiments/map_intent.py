"""Map Intent, on a stand-in: ten carriers not worse off than in production; 300 monotone lattices."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ratebound.datasets import load_map_intent
from ratebound.experiments.experiment import Data, Experiment, Rates, compiled_on, needed
from ratebound.experiments.model_kinds import lattices
from ratebound.problem.problem import Problem
from ratebound.rates.goals import not_worse_off
from ratebound.rates.named import error_rate


def _load(folder: Path | None, seed: int, device: str | None) -> Data:
    splits = load_map_intent(needed(folder, "map_intent"), seed=seed)
    carriers = np.unique(splits.train.column("carrier")).tolist()
    problem = Problem(error_rate(), not_worse_off({"carrier": carriers}, versus="production"))
    return compiled_on(problem, splits, lattices(300, 8, splits.monotone, device))


MAP_INTENT = Experiment(
    name="map_intent",
    title="Map Intent",
    words="will a flight be late; for ten carriers right at least as often as the model in production",
    load=_load,
    stand_in=True,
    needs_folder=True,
    epochs=4,
    batch_size=1024,
    keep_every=100,
    threads=None,
    rates=Rates(model=(0.01,)),  # a step costs a hundred times a linear model's
)
