"""The models of the experiments: of what kind and size, and from learning rates to a learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ratebound.base.extras import import_torch
from ratebound.datasets import Splits
from ratebound.learners.lattice import Lattice
from ratebound.learners.linear import Linear
from ratebound.learners.torch import Torch

KEYPOINTS = 11  # of calibrators, which gives Filtering's published number of constraints


@dataclass(frozen=True)
class Model:
    """A model of one kind and size."""

    words: str  # which it is, with all that its scores depend on
    learner: Callable[[list[float]], Any]  # from learning rates, one a setting


def linear(splits: Splits, device: str | None) -> Model:
    """A linear model from zero: in NumPy, or in PyTorch on a device."""
    width = len(splits.feature_names)
    words = f"linear of {width}"
    if device is None:
        return Model(words, lambda rates: Linear(learning_rate=rates))

    def zero() -> Any:
        nn = import_torch().nn
        layer = nn.Linear(width, 1)
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
        return layer

    return Model(words, lambda rates: Torch(zero, learning_rate=rates, device=device))


def network(splits: Splits, device: str | None, hidden: int) -> Model:
    """Two layers with ReLU between them."""
    width = len(splits.feature_names)

    def made() -> Any:
        nn = import_torch().nn
        return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    words = f"network of {width} and {hidden} with ReLU"
    return Model(words, lambda rates: Torch(made, learning_rate=rates, device=device))


def lattices(splits: Splits, device: str | None, count: int, rank: int) -> Model:
    """An ensemble of monotone lattices, each over `rank` of the features."""
    monotone = splits.monotone
    words = (
        f"{count} lattices of {rank} with {KEYPOINTS} keypoints, monotone in {sorted(monotone.items())}"
    )
    given: dict[str, Any] = {"keypoints": KEYPOINTS, "monotone": monotone, "device": device}
    return Model(words, lambda rates: Lattice(count, rank, learning_rate=rates, **given))
