"""Thresholding, on a stand-in: many noisy labels, and accuracy promised on a few careful ones."""

from __future__ import annotations

from functools import partial

from ratebound.datasets import load_thresholding
from ratebound.experiments.experiment import Experiment
from ratebound.experiments.model_kinds import network
from ratebound.rates.named import accuracy

BOUND = 0.83  # an error of 17%, what training on the steering examples alone reaches, cross-validated

THRESHOLDING = Experiment(
    name="thresholding",
    title="Thresholding",
    words="are two mentions one inventor, by noisy labels; accuracy of 83% on carefully labelled ones",
    splits=load_thresholding,
    promises=lambda splits: [accuracy(on="steering") >= BOUND],
    model=partial(network, hidden=32),
    stand_in=True,
    batch_size=2048,
    algorithms=("unconstrained", "steering-only", "hinge", "swap", "ext"),
)
