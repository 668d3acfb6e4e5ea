"""Thresholding, on a stand-in: many noisy labels, and accuracy promised on a few careful ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ratebound.datasets import load_thresholding
from ratebound.experiments.experiment import Data, Experiment, compiled_on, needed
from ratebound.experiments.model_kinds import network
from ratebound.problem.compiling import compile
from ratebound.problem.problem import Problem
from ratebound.rates.named import accuracy, error_rate

BOUND = 0.83  # an error of 17%, what training on the steering examples alone reaches, cross-validated


def _load(folder: Path | None, seed: int, device: str | None) -> Data:
    splits = load_thresholding(needed(folder, "thresholding"), seed=seed)
    problem = Problem(error_rate(), [accuracy(on="steering") >= BOUND])
    model = network(len(splits.feature_names), 32, device)
    data = compiled_on(problem, splits, model, splits.others)
    return replace(data, steering=compile(Problem(error_rate()), splits.others["steering"]))


THRESHOLDING = Experiment(
    name="thresholding",
    title="Thresholding",
    words="are two mentions one inventor, by noisy labels; accuracy of 83% on carefully labelled ones",
    load=_load,
    stand_in=True,
    needs_folder=True,
    batch_size=2048,
    algorithms=("unconstrained", "steering-only", "hinge", "swap", "ext"),
)
