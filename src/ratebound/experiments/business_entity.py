"""Business Entity Resolution, on a stand-in: recall of 95% in every country and for both kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ratebound.datasets import load_business_entity
from ratebound.experiments.experiment import Data, Experiment, compiled_on, needed
from ratebound.experiments.model_kinds import network
from ratebound.problem.problem import Problem
from ratebound.rates.named import accuracy, error_rate, recall


def _load(folder: Path | None, seed: int, device: str | None) -> Data:
    splits = load_business_entity(needed(folder, "business_entity"), seed=seed)
    countries = sorted(set(np.unique(splits.train.column("country")).tolist()) - {"other"})
    promises = [recall(country=country) >= 0.95 for country in countries]
    promises += [recall(large_assignee=large) >= 0.95 for large in (True, False)]
    promises += [accuracy(large_assignee=False) >= accuracy(large_assignee=True) - 0.1]
    return compiled_on(
        Problem(error_rate(), promises), splits, network(len(splits.feature_names), 16, device)
    )


BUSINESS_ENTITY = Experiment(
    name="business_entity",
    title="Business Entity Resolution",
    words="are two mentions one inventor; recall of 95% in 16 countries and for both kinds of assignee",
    load=_load,
    stand_in=True,
    needs_folder=True,
    batch_size=256,
    keep_every=8,
)
