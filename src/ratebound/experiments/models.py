"""The models of the experiments, from learning rates to a learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ratebound.learners.extras import import_torch
from ratebound.learners.lattice import Lattice
from ratebound.learners.linear import Linear
from ratebound.learners.torch import Torch

KEYPOINTS = 11  # of calibrators, which gives Filtering's published number of constraints
Make = Callable[[list[float]], Any]


def linear(width: int, device: str | None) -> Make:
    """A linear model from zero: in NumPy, or in PyTorch on a device."""
    if device is None:
        return lambda rates: Linear(learning_rate=rates)

    def zero() -> Any:
        nn = import_torch().nn
        layer = nn.Linear(width, 1)
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
        return layer

    return lambda rates: Torch(zero, learning_rate=rates, device=device)


def network(width: int, hidden: int, device: str | None) -> Make:
    """Two layers with ReLU between them."""

    def made() -> Any:
        nn = import_torch().nn
        return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    return lambda rates: Torch(made, learning_rate=rates, device=device)


def lattices(count: int, rank: int, monotone: Mapping[int, int], device: str | None) -> Make:
    """An ensemble of monotone lattices, each over `rank` of the features."""
    return lambda rates: Lattice(
        count, rank, monotone=monotone, learning_rate=rates, keypoints=KEYPOINTS, device=device
    )
