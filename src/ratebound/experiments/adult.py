"""UCI Adult: recall of Black, White, female and male people at least 95% of everyone's; linear."""

from __future__ import annotations

from ratebound.datasets import load_adult
from ratebound.experiments.experiment import Experiment, Rates
from ratebound.experiments.model_kinds import linear
from ratebound.rates.goals import equal_opportunity

GROUPS = {"race": ("Black", "White"), "sex": ("Female", "Male")}

ADULT = Experiment(
    name="adult",
    title="Adult",
    words="income above $50,000; recall of four groups at least 95% of everyone's",
    splits=lambda folder, seed: load_adult(seed=3 + seed),  # 3 gives the published sizes of the groups
    promises=lambda splits: equal_opportunity(GROUPS, ratio=0.95),
    model=linear,
    epochs=80,
    batch_size=2048,
    keep_every=8,
    rates=Rates(model=(0.01, 0.1)),
)
