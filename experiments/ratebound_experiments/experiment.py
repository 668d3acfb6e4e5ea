"""What an experiment is made of: a problem on three populations, a model, and the rates tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from ratebound._old.base.extras import import_torch
from ratebound._old.datasets import Splits
from ratebound._old.game.players import ExternalRegret, Lagrangian, Player, SwapRegret
from ratebound._old.learners.lattice import Lattice
from ratebound._old.learners.linear import Linear
from ratebound._old.learners.torch import Torch
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.named import error_rate

NOTHING = 1e-12
FREE = ("unconstrained", "steering-only")  # algorithms without constraints
POPULATIONS = ("train", "validation", "test")
KEYPOINTS = 11  # of calibrators, which gives Filtering's published number of constraints


@dataclass(frozen=True)
class Model:
    """A model of one kind and size."""

    words: str  # which it is, with all that its scores depend on
    learner: Callable[[list[float]], Any]  # from learning rates, one a setting


@dataclass(frozen=True, eq=False)
class Data:
    """One split of a problem's data: the same words compiled on three populations."""

    problem: Problem
    model: Model
    train: Compiled
    validation: Compiled
    test: Compiled
    steering: Compiled | None = None  # error on steering examples alone, for the row trained on them


@dataclass(frozen=True)
class Rates:
    """Learning rates tried: every pair of one for the model and one for the multipliers."""

    model: tuple[float, ...] = (0.001, 0.01)  # the two that train the unconstrained model in time
    # Slower, and the matrix is still near its uniform start, or λ near 0, when training ends.
    swap: tuple[float, ...] = (0.01, 0.1, 1.0)
    ext: tuple[float, ...] = (0.001, 0.01, 0.1)
    # Relaxed constraints can be out of reach for good: then λ climbs by about its rate every round, and
    # fast multipliers ruin the model.
    hinge: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)
    only: tuple[tuple[float, float], ...] = ()  # pairs in place of all others

    def pairs(self, algorithm: str) -> tuple[list[float], list[float]]:
        """One learning rate of the model and one of the multipliers for each setting."""
        own = (1.0,) if algorithm in FREE else getattr(self, algorithm)
        found = list(product(self.model, own))
        if self.only:
            models = dict.fromkeys(model for model, _ in self.only)
            found = [(model, 1.0) for model in models] if algorithm in FREE else list(self.only)
        return [a for a, _ in found], [b for _, b in found]


@dataclass(frozen=True)
class Experiment:
    """One of the paper's problems, or its public stand-in."""

    name: str
    title: str
    words: str  # what is decided, and what is promised
    splits: Callable[[Any, int], Splits]  # from a folder, which only some data sets need, and a seed
    promises: Callable[[Splits], Sequence[Constraint]]
    model: Callable[[Splits, str | None], Model]  # on a device
    # The paper's data was never public: this is other data of the same structure, in a folder.
    stand_in: bool = False
    # Adds to the populations, by seed and on a device, what a model has to be trained for.
    prepare: Callable[[Splits, int, str | None], None] = lambda splits, seed, device: None
    shipped: str = ""  # what ships with the package, if the paper used other data
    epochs: int = 40
    batch_size: int = 512
    keep_every: int | Literal["epoch"] = "epoch"
    loss: str = "logistic"
    proxy: str = "sigmoid"  # of swap and ext; the baseline's is always the hinge
    rates: Rates = field(default_factory=Rates)
    threads: int | None = 1  # more cost small models time, tenfold on a busy machine; None: no limit
    algorithms: tuple[str, ...] = ("unconstrained", "hinge", "swap", "ext")

    def load(self, folder: Path | None, seed: int, device: str | None) -> Data:
        """Compile the problem on the populations of one split, each with the same others beside it."""
        self.check(folder)
        splits = self.splits(folder, seed)
        self.prepare(splits, seed, device)
        problem = Problem(error_rate(), self.promises(splits))
        parts = {name: compile(problem, getattr(splits, name), **splits.others) for name in POPULATIONS}
        steering = splits.others.get("steering")
        alone = None if steering is None else compile(Problem(error_rate()), steering)
        return Data(problem, self.model(splits, device), **parts, steering=alone)

    def check(self, folder: Path | None) -> None:
        """Raise if the data is in a folder and none is named."""
        if self.stand_in and folder is None:
            raise ValueError(
                f"the data of {self.name} does not ship with the package: give its folder with "
                "--data FOLDER; the data cards say which files, and where they come from"
            )


def player(algorithm: str, rates: list[float]) -> Player:
    """The λ-player of an algorithm."""
    if algorithm in FREE:  # played by the same rules, with no room for the multipliers
        return ExternalRegret(rates, radius=NOTHING)
    if algorithm == "hinge":
        return Lagrangian(rates)
    if algorithm == "swap":
        return SwapRegret(rates)
    return ExternalRegret(rates)


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
