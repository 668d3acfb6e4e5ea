"""Lattice models: smooth, small enough to read, and monotone where they promise to be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ratebound._old.base.checks import check_whole
from ratebound._old.base.extras import import_torch
from ratebound._old.base.types import Array
from ratebound._old.game.learner import Style
from ratebound._old.learners._torch_scorer import TorchScorer, as_tensor, unflatten
from ratebound._old.learners.torch import Network

if TYPE_CHECKING:
    from ratebound._old.learners.lattice_network import Feature, Lattices

Pair = tuple[int, int]
LARGEST = 1e38  # differences of values up to this fit into single precision
SMALLEST = 2.0**-100  # and so does one over the differences of values from this


@dataclass(frozen=True)
class Lattice(Network):
    """An ensemble of small lattices, each over some features chosen at random; monotone if asked.

    After every step the parameters are moved to the nearest that keep the shape promised. With more than
    two classes there is such an ensemble for each, and nothing can be monotone: the largest score
    decides. ``docs/lattices.md`` says what the model is. Needs ``ratebound[torch]``.

    Parameters
    ----------
    lattices : int, default=50
        How many lattices; the default is the paper's for 16 features.
    rank : int, default=6
        Features of each, at most 12: a lattice has 2^rank values. The default is the paper's.
    keypoints : int, default=50
        The number of points at which the calibrator of a number may bend: quantiles of the training
        rows.
    monotone : mapping of int or str to int, default={}
        Whether the score rises (1) or falls (-1) with a number, all else being equal: by the feature's
        place. A missing value may have any score.
    categorical : list of int, default=()
        The features that hold whole-number codes of categories. Others are numbers. NaN means missing,
        with a value of its own.
    orders : mapping of int to list of (int, int), default={}
        Pairs (a, b) of categories: the score of a is at most the score of b, all else being equal.
    output_bounds : tuple of (float, float), default=None
        Two numbers that scores stay between. By default scores are free.
    learning_rate : float or list of float, default=0.01
        Step size of the calibrators; values of lattices take steps ten times as long. Several are
        several settings, trained side by side.
    optimizer : {"adam", "sgd"}, default="adam"
        How steps are taken. The default needs the least tuning.
    l2 : float, default=0.0
        Adds ``l2/2 · |θ|²`` to what is minimized. By default nothing.
    device : str, default=None
        Where it is trained, such as "cuda". None is the CPU.
    seed : int, default=0
        Decides which features each lattice is over.
    initial : array of shape (P,) or (K, P), default=None
        Parameters to start from, as traces hold them.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 2))
    >>> people = rb.Population(X, X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=400) > 0)
    >>> learner = rb.Lattice(lattices=4, rank=2, monotone={0: 1, 1: -1})
    >>> trace = rb.play(rb.compile(rb.Problem(rb.error_rate()), people), learner, epochs=20)
    >>> model = rb.last_iterate(trace)
    >>> rb.check_monotone(model), bool(model.objectives["train"] < 0.25)
    (True, True)
    """

    lattices: int = 50
    rank: int = 6
    keypoints: int = 50
    monotone: Mapping[Any, int] = field(default_factory=dict)
    categorical: Sequence[int] = ()
    orders: Mapping[int, Sequence[Pair]] = field(default_factory=dict)
    output_bounds: tuple[float, float] | None = None
    learning_rate: float | Sequence[float] = 0.01
    optimizer: str = "adam"
    l2: float = 0.0
    device: str | None = None
    seed: int = 0
    initial: Array | None = field(default=None, compare=False)

    style: ClassVar[Style] = "codes"
    takes_missing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        import_torch()
        super().__post_init__()
        for name, least in (("lattices", 1), ("rank", 1), ("keypoints", 2)):
            check_whole(name, getattr(self, name), least)
        if self.rank > 12:
            raise ValueError(
                f"a lattice of {self.rank} features has 2^{self.rank} values: rank is at most 12"
            )
        if not isinstance(self.monotone, Mapping):
            raise ValueError(f"monotone takes a mapping such as {{'income': 1}}, got {self.monotone!r}")
        for feature in (*self.categorical, *self.orders):
            if _is_name(feature):
                raise ValueError(f"categorical and orders count features from 0, got {feature!r}")
        for feature, sign in self.monotone.items():
            if sign not in (-1, 0, 1):
                what = f"column {feature!r}" if _is_name(feature) else f"feature {feature}"
                raise ValueError(f"monotone: {what} takes 1 (rising), -1 (falling) or 0, got {sign!r}")
            if feature in self.categorical and sign:
                raise ValueError(
                    f"monotone: feature {feature} is categorical: give its pairs in orders= instead"
                )
        for feature, pairs in self.orders.items():
            if feature not in self.categorical:
                raise ValueError(f"orders: feature {feature} is not among the categorical ones")
            if any(code < 0 for pair in pairs for code in pair):
                raise ValueError(f"orders: codes of feature {feature} are 0, 1, 2, ..., got {pairs}")
            _refuse_cycles(feature, pairs)
        if self.output_bounds is not None:
            _check_bounds(self.output_bounds)

    def prepared(self, names: Sequence[str], codes: Sequence[int], rows: int) -> Lattice:
        """Itself, with columns given by position, and the features that hold codes as categorical.

        Parameters
        ----------
        names : list of str
            What the features are called.
        codes : list of int
            Those that hold codes of categories.
        rows : int
            How many rows there are.

        Returns
        -------
        Lattice
            Ready to be started on these rows.

        Raises
        ------
        ValueError
            If `monotone` names a column that the model does not see, or one that has no order.
        """
        places = {str(name): place for place, name in enumerate(names)}
        for name in filter(_is_name, self.monotone):
            if str(name) not in places:
                known = ", ".join(places)
                raise ValueError(
                    f"monotone: there is no column {name!r} that the model sees, only {known}"
                )
            if places[str(name)] in codes:
                raise ValueError(
                    f"monotone: column {name!r} holds texts or truth values, which have no order: make "
                    "it numbers, or use rb.Lattice(orders=...)"
                )
        signs = {places[str(f)] if _is_name(f) else f: sign for f, sign in self.monotone.items()}
        return replace(self, monotone=signs, categorical=self.categorical or tuple(codes))

    def network(self, features: Array, outputs: int = 1) -> Lattices:
        """The module that is trained, its keypoints placed by these rows.

        Parameters
        ----------
        features : array of shape (n, d)
            The rows.
        outputs : int, default=1
            How many scores it gives a row.

        Returns
        -------
        torch.nn.Module
            A fresh one, which training changes.
        """
        from ratebound._old.learners.lattice_network import Lattices

        if outputs > 1 and (any(self.monotone.values()) or any(self.orders.values())):
            raise ValueError(
                f"monotone and orders promise how one score moves, and of {outputs} classes the largest "
                "score decides: leave them out, or make it two classes"
            )
        if features.ndim != 2:
            raise ValueError(f"a lattice model needs rows (n, d), got shape {features.shape}")
        width = features.shape[1]
        for named in (*self.monotone, *self.categorical):
            if _is_name(named):
                raise ValueError(
                    f"monotone names the column {named!r}: rb.play knows features by their place, "
                    "counted from 0"
                )
            if not 0 <= named < width:
                raise ValueError(f"there is no feature {named}: there are {width}, counted from 0")
        if self.lattices * min(self.rank, width) < width:
            raise ValueError(
                f"{self.lattices} lattices of {self.rank} features cannot use all {width}: take "
                f"rb.Lattice(lattices={-(-width // self.rank)}, ...) or more"
            )
        subsets = random_subsets(width, self.lattices, min(self.rank, width), self.seed)
        own = [self._feature(i, features[:, i]) for i in range(width)]
        return Lattices(own, subsets, self.output_bounds, outputs)

    def _feature(self, index: int, values: Array) -> Feature:
        from ratebound._old.learners.lattice_network import Categorical, Numeric

        if index not in self.categorical:
            if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
                raise ValueError(
                    f"feature {index} has infinite values or some beyond {LARGEST:.0e}: scale it first"
                )
            points = place_keypoints(values, self.keypoints)
            return Numeric(points, int(self.monotone.get(index, 0)))
        present = np.unique(values[~np.isnan(values)].astype(np.float32))
        if len(present) and (present[0] < 0 or (present != np.rint(present)).any()):
            raise ValueError(
                f"feature {index} is categorical: codes are 0, 1, 2, ..., or NaN for missing"
            )
        pairs = tuple((int(a), int(b)) for a, b in self.orders.get(index, ()))
        largest = max((int(present[-1]) if len(present) else 0, *(c for pair in pairs for c in pair)))
        return Categorical(largest + 1, pairs)


def check_monotone(model: Any) -> bool:
    """Whether a lattice model keeps the shape it promises, proved from its parameters alone.

    Calibrators in order and within [0, 1], and lattices in order, make a score monotone everywhere;
    nothing is left to tolerance. A mixture of monotone models is monotone in the probability of yes.
    What is proved is the score in exact arithmetic. The computed one is flat where the model is; where
    the score rises by less than double precision resolves, it may fall by a rounding, however far the
    rows are apart.

    Parameters
    ----------
    model : Mixture or module
        A mixture of lattice models, or the module.

    Returns
    -------
    bool
        Whether it is monotone where `monotone` and `orders` say so.

    Examples
    --------
    >>> import numpy as np, ratebound._old as rb
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> compiled = rb.compile(rb.Problem(rb.error_rate()), rb.Population(X, X[:, 0] > X[:, 1]))
    >>> learner = rb.Lattice(lattices=2, rank=2, monotone={0: 1})
    >>> rb.check_monotone(rb.last_iterate(rb.play(compiled, learner, rounds=20)))
    True
    """
    module, state = _parameters_of(model)
    return bool(module.is_monotone(state))


@dataclass(frozen=True)
class Calibrator:
    """What M models make of one feature, in [0, 1]: at its keypoints, or of each category.

    With D > 2 classes each model has D of them, one after the other: M · D in all.
    """

    at: Array  # (k,) keypoints or codes
    values: Array  # (M, k)
    missing: Array  # (M,), where the value is missing
    categorical: bool


def calibrators(model: Any) -> list[Calibrator]:
    """The calibrator of each feature of a lattice model: a mixture or the module."""
    module, given = _parameters_of(model)
    state = module.alone(given)
    numbers, categories = state["number_values"].numpy(), state["category_values"].numpy()
    by_feature: dict[int, Calibrator] = {}
    for row, index in enumerate(module.numbers):
        at = np.array(module.features[index].keypoints)
        by_feature[index] = Calibrator(at, numbers[:, row, : len(at)], numbers[:, row, -1], False)
    for first, index in zip(module.offsets[:, 0].tolist(), module.categories, strict=True):
        end = first + module.features[index].size
        codes = np.arange(module.features[index].size)
        by_feature[index] = Calibrator(codes, categories[:, first:end], categories[:, end], True)
    return [by_feature[index] for index in sorted(by_feature)]


def _parameters_of(model: Any) -> tuple[Any, dict[str, Any]]:
    """The module of a lattice model and its parameters by name, (M, ...)."""
    deployed = getattr(model, "scorer", model)
    module = deployed.module if isinstance(deployed, TorchScorer) else deployed
    if not hasattr(module, "is_monotone"):
        raise TypeError(f"expected a lattice model, got {type(module).__name__}")
    if module is not deployed:
        return module, unflatten(as_tensor(model.parameters), deployed.shapes)
    return module, {name: p.detach().cpu()[None] for name, p in module.named_parameters()}


def random_subsets(width: int, lattices: int, rank: int, seed: int) -> list[list[int]]:
    """The features of each lattice, chosen at random, but each feature equally often.

    >>> random_subsets(4, 3, 2, seed=0)
    [[2, 3], [0, 1], [0, 3]]
    """
    random = np.random.default_rng(seed)
    used, subsets = np.zeros(width), []
    for _ in range(lattices):
        chosen = np.lexsort((random.random(width), used))[:rank]  # the least used, ties at random
        used[chosen] += 1
        subsets.append(sorted(chosen.tolist()))
    return subsets


def place_keypoints(values: Array, count: int) -> tuple[float, ...]:
    """The points at which a calibrator bends: quantiles of the values.

    A value that many rows share takes up several quantiles; what is left over then goes to the other
    values, each counted once. Values below 2^-100 count as 0.

    >>> place_keypoints(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]), 4)
    (0.0, 1.0, 2.0, 4.0)
    """
    present = values[~np.isnan(values)].astype(np.float32)
    present = np.sort(np.where(np.abs(present) < SMALLEST, np.float32(0), present))
    distinct = np.append(present[:1], present[1:][present[1:] != present[:-1]])
    if len(distinct) < 2:
        low = float(distinct[0]) if len(distinct) else 0.0
        return low, low + max(1.0, abs(low))
    if len(distinct) <= count:
        return tuple(distinct.tolist())
    places = np.rint(np.linspace(0, len(present) - 1, count)).astype(int)
    chosen = np.unique(present[places])
    others = np.delete(distinct, np.searchsorted(distinct, chosen))
    spread = np.rint(np.linspace(0, len(others) - 1, count - len(chosen) + 2)[1:-1]).astype(int)
    return tuple(np.unique([*chosen, *others[spread]]).tolist())


def _is_name(feature: Any) -> bool:
    return not isinstance(feature, int | np.integer)


def _check_bounds(bounds: Any) -> None:
    """Raise unless these are two finite numbers, the lower first."""
    two = isinstance(bounds, Sequence) and not isinstance(bounds, str) and len(bounds) == 2
    if not two or not all(isinstance(b, Real) and math.isfinite(b) for b in bounds):
        raise ValueError(f"output_bounds takes two numbers, as in (-1.0, 1.0), got {bounds!r}")
    if not bounds[0] < bounds[1]:
        raise ValueError(f"output_bounds takes a lower and a higher number, got {bounds}")


def _refuse_cycles(feature: int, pairs: Sequence[Pair]) -> None:
    """Raise for pairs that go round in a circle: they would only say that categories are equal."""
    order: TopologicalSorter[int] = TopologicalSorter()
    for a, b in pairs:
        order.add(b, a)
    try:
        order.prepare()
    except CycleError as error:
        first = min(error.args[1])
        raise ValueError(
            f"orders: the pairs of feature {feature} put category {first} below itself"
        ) from None
