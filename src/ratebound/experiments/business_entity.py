"""Business Entity Resolution, on a stand-in: recall of 95% in every country and for both kinds."""

from __future__ import annotations

from functools import partial

import numpy as np

from ratebound.datasets import Splits, load_business_entity
from ratebound.experiments.experiment import Experiment
from ratebound.experiments.model_kinds import network
from ratebound.rates.expressions import Constraint
from ratebound.rates.named import accuracy, recall


def _promises(splits: Splits) -> list[Constraint]:
    countries = sorted(set(np.unique(splits.train.column("country")).tolist()) - {"other"})
    return [
        *(recall(country=country) >= 0.95 for country in countries),
        *(recall(large_assignee=large) >= 0.95 for large in (True, False)),
        accuracy(large_assignee=False) >= accuracy(large_assignee=True) - 0.1,
    ]


BUSINESS_ENTITY = Experiment(
    name="business_entity",
    title="Business Entity Resolution",
    words="are two mentions one inventor; recall of 95% in 16 countries and for both kinds of assignee",
    splits=load_business_entity,
    promises=_promises,
    model=partial(network, hidden=16),
    stand_in=True,
    batch_size=256,
    keep_every=8,
)
