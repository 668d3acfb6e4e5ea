"""UCI Adult: recall of Black, White, female and male people at least 95% of everyone's; linear."""

from __future__ import annotations

from pathlib import Path

from ratebound.datasets import load_adult
from ratebound.experiments.experiment import Data, Experiment, Rates, compiled_on
from ratebound.experiments.model_kinds import linear
from ratebound.problem.problem import Problem
from ratebound.rates.goals import equal_opportunity
from ratebound.rates.named import error_rate

GROUPS = {"race": ("Black", "White"), "sex": ("Female", "Male")}


def _load(folder: Path | None, seed: int, device: str | None) -> Data:
    splits = load_adult(seed=3 + seed)  # 3 gives the published sizes of the groups
    problem = Problem(error_rate(), equal_opportunity(GROUPS, ratio=0.95))
    return compiled_on(problem, splits, linear(len(splits.feature_names), device))


ADULT = Experiment(
    name="adult",
    title="Adult",
    words="income above $50,000; recall of four groups at least 95% of everyone's",
    load=_load,
    epochs=80,
    batch_size=2048,
    keep_every=8,
    rates=Rates(model=(0.01, 0.1)),
)
