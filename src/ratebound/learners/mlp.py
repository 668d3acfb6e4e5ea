"""Plain PyTorch networks: linear layers with ReLU between them, the first as wide as the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from ratebound.base.arrays import Array
from ratebound.base.checks import check_whole
from ratebound.base.extras import import_torch
from ratebound.learners.torch import Network


@dataclass(frozen=True)
class MLP(Network):
    """A network with hidden layers of these sizes; for any other module there is `rb.Torch`.

    It gives one score a row for two classes, and one for each class for more.
    Several learning rates are several settings, trained side by side. `l2` adds l2/2 · |θ|².

    >>> MLP(hidden=(16, 16)).learning_rate
    0.01
    """

    hidden: Sequence[int] = (32,)
    learning_rate: float | Sequence[float] = 0.01
    optimizer: str = "adam"
    l2: float = 0.0
    device: str | None = None
    precision: str = "float32"  # as in `rb.Torch`
    initial: Array | None = field(default=None, compare=False)  # parameters to start from

    takes_stored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Sequence):
            raise ValueError(f"hidden takes the sizes of layers, as in (32,), got {self.hidden!r}")
        for size in self.hidden:
            check_whole("hidden: a layer", size)
        super().__post_init__()

    def network(self, features: Array, outputs: int = 1) -> Any:
        nn = import_torch().nn
        sizes = [features.shape[1], *self.hidden]
        layers: list[Any] = []
        for inside, outside in pairwise(sizes):
            layers += [nn.Linear(inside, outside), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], outputs))
