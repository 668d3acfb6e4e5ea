"""Plain networks of PyTorch: layers with ReLU between them, as large as the table has features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ratebound.base.arrays import Array
from ratebound.base.checks import check_number, check_whole
from ratebound.base.extras import import_torch
from ratebound.game.learner import Rows, Stepping
from ratebound.game.settings import checked_rates
from ratebound.learners.torch import Torch, TorchFit


@dataclass(frozen=True)
class MLP(Stepping):
    """A network with hidden layers of these sizes; for any other module there is `rb.Torch`.

    Several learning rates are several settings, trained side by side. `l2` adds l2/2 · |θ|².

    >>> MLP(hidden=(16, 16)).learning_rate
    0.01
    """

    hidden: Sequence[int] = (32,)
    learning_rate: float | Sequence[float] = 0.01
    optimizer: str = "adam"
    l2: float = 0.0
    device: str | None = None
    initial: Array | None = field(default=None, compare=False)  # parameters to start from

    def __post_init__(self) -> None:
        if isinstance(self.hidden, str) or not isinstance(self.hidden, Sequence):
            raise ValueError(f"hidden takes the sizes of layers, as in (32,), got {self.hidden!r}")
        for size in self.hidden:
            check_whole("hidden: a layer", size)
        checked_rates(self.learning_rate)
        check_number("l2", self.l2, least=0)

    def start(self, rows: Rows, settings: int, seed: int) -> TorchFit:
        playing = Torch(self._network, self.learning_rate, self.optimizer, self.l2, device=self.device)
        return playing.start(rows, settings, seed)

    def _network(self, width: int) -> Any:
        nn = import_torch().nn
        sizes = [width, *self.hidden]
        layers: list[Any] = []
        for inside, outside in pairwise(sizes):
            layers += [nn.Linear(inside, outside), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))
