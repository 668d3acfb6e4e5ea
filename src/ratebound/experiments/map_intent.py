"""Map Intent, on a stand-in: ten carriers not worse off than in production; 300 monotone lattices."""

from __future__ import annotations

from functools import partial

import numpy as np

from ratebound.datasets import Splits, load_map_intent
from ratebound.experiments.experiment import Experiment, Rates
from ratebound.experiments.model_kinds import lattices
from ratebound.rates.expressions import Constraint
from ratebound.rates.goals import not_worse_off


def _promises(splits: Splits) -> list[Constraint]:
    carriers = np.unique(splits.train.column("carrier")).tolist()
    return not_worse_off({"carrier": carriers}, versus="production")


MAP_INTENT = Experiment(
    name="map_intent",
    title="Map Intent",
    words="will a flight be late; for ten carriers right at least as often as the model in production",
    splits=load_map_intent,
    promises=_promises,
    model=partial(lattices, count=300, rank=8),
    stand_in=True,
    epochs=4,
    batch_size=1024,
    keep_every=100,
    threads=None,
    rates=Rates(model=(0.01,)),  # a step costs a hundred times a linear model's
)
