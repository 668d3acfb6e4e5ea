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

    Linear layers with ReLU between them, in PyTorch. It gives one score a row for two classes, and one
    for each class for more.

    Parameters
    ----------
    hidden : list of int, default=(32,)
        The sizes of the hidden layers. The default is small: enough for most tables, and fast.
    learning_rate : float or list of float, default=0.01
        Step size. Several are several settings, trained side by side; `RateConstrainedClassifier` tries
        .003, .01 and .03.
    optimizer : {"adam", "sgd"} or callable, default="adam"
        How steps are taken; a function from parameters to a `torch.optim.Optimizer` for one setting.
    l2 : float, default=0.0
        Adds ``l2/2 · |θ|²`` to what is minimized. By default nothing.
    device : str, default=None
        Where it is trained, such as "cuda". None is the CPU.
    precision : {"float32", "tf32", "bf16"}, default="float32"
        Of the passes in training, as in `rb.Torch`.
    initial : array of shape (P,) or (K, P), default=None
        Parameters to start from, as traces hold them. By default PyTorch's own start, from the seed.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> problem = rb.Problem(rb.error_rate(), [rb.positive_rate() <= 0.3])
    >>> compiled = rb.compile(problem, rb.Population(X, X[:, 0] * X[:, 1] > 0))
    >>> trace = rb.play(compiled, rb.MLP(hidden=(8,)), rounds=50, batch_size=None)
    >>> rb.shrink(trace).predict(X).shape
    (200,)
    """

    hidden: Sequence[int] = (32,)
    learning_rate: float | Sequence[float] = 0.01
    optimizer: str = "adam"
    l2: float = 0.0
    device: str | None = None
    precision: str = "float32"
    initial: Array | None = field(default=None, compare=False)

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
