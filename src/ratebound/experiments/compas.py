"""COMPAS: no group's recall much above everyone's; a network of ten hidden units."""

from __future__ import annotations

from functools import partial

from ratebound.datasets import load_compas
from ratebound.experiments.experiment import Experiment
from ratebound.experiments.model_kinds import network
from ratebound.rates.named import recall

GROUPS = [("race", "African-American"), ("race", "Caucasian"), ("sex", "Female"), ("sex", "Male")]

COMPAS = Experiment(
    name="compas",
    title="COMPAS",
    words="will a person be arrested again; recall of four groups at most 5% above everyone's",
    splits=lambda folder, seed: load_compas(seed=seed),
    promises=lambda splits: [recall(**{name: group}) <= recall() + 0.05 for name, group in GROUPS],
    model=partial(network, hidden=10),
    batch_size=128,
    keep_every=8,
)
