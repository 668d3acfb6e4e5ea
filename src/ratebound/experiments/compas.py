"""COMPAS: no group's recall much above everyone's; a network of ten hidden units."""

from __future__ import annotations

from pathlib import Path

from ratebound.datasets import load_compas
from ratebound.experiments.experiment import Data, Experiment, compiled_on
from ratebound.experiments.model_kinds import network
from ratebound.problem.problem import Problem
from ratebound.rates.named import error_rate, recall

GROUPS = [("race", "African-American"), ("race", "Caucasian"), ("sex", "Female"), ("sex", "Male")]


def _load(folder: Path | None, seed: int, device: str | None) -> Data:
    splits = load_compas(seed=seed)
    fair = [recall(**{column: value}) <= recall() + 0.05 for column, value in GROUPS]
    return compiled_on(
        Problem(error_rate(), fair), splits, network(len(splits.feature_names), 10, device)
    )


COMPAS = Experiment(
    name="compas",
    title="COMPAS",
    words="will a person be arrested again; recall of four groups at most 5% above everyone's",
    load=_load,
    batch_size=128,
    keep_every=8,
)
