"""An ensemble of small lattices over calibrated features, which can promise its shape.

Each feature goes through a calibrator of its own, shared by all lattices: a piecewise linear function
of a number, or a value for each category, in [0, 1], with a value of its own for a missing feature.
A lattice is a table of values at the corners of a cube over some of the features, interpolated between.
The score is the mean of the lattices, plus a bias. If calibrators and lattices are monotone, so is the
score. That is a condition on pairs of parameters, which `project` puts in order. Several outputs are as
many such ensembles over the same subsets of features, whose parameters have an axis for the output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph
from ratebound._old.kernels.calibrators import Fixed
from ratebound._old.kernels.interpolation import coefficients
from ratebound._old.kernels.lattices import means
from ratebound._old.kernels.shapes import Pair, least_rise, project_lattices, project_line, project_order
from ratebound._old.learners._torch_scorer import as_tensor, unflatten

MOST_INPUTS = 20  # of a lattice, which has 2^20 values then
NOISE = 0.1  # standard deviation of values at vertices at first


@dataclass(frozen=True)
class Numeric:
    """A number: the keypoints of its calibrator, and whether the score rises (1) or falls (-1)."""

    keypoints: tuple[float, ...]  # increasing, two or more
    sign: int = 0

    def __post_init__(self) -> None:
        rising = all(-math.inf < a < b < math.inf for a, b in pairwise(self.keypoints))
        if len(self.keypoints) < 2 or not rising or self.sign not in (-1, 0, 1):
            raise ValueError(f"keypoints must be two or more, each above the last, got {self}")


@dataclass(frozen=True)
class Categorical:
    """Codes 0, ..., size - 1; for each pair (a, b) the score of a must be at most the score of b."""

    size: int
    order: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        fits = all(type(code) is int and 0 <= code < self.size for pair in self.order for code in pair)
        if type(self.size) is not int or self.size < 0 or not fits:
            raise ValueError(f"codes of categories are whole numbers from 0 to below size, got {self}")


Feature = Numeric | Categorical


class Lattices(nn.Module):
    """Scores (b,) of rows (b, F), NaN where a value is missing; unknown categories count as missing.

    With several outputs the scores are (b, outputs).

    >>> features = [Numeric((0.0, 1.0, 4.0), sign=1), Categorical(3)]
    >>> model = Lattices(features, subsets=[[0, 1]])
    >>> model(torch.tensor([[0.5, 2.0], [torch.nan, 7.0]])).shape
    torch.Size([2])
    >>> model.parameter_count, model.constraint_count  # 4 + 4 values, 4 vertices, a bias; 2 + 2 pairs
    (13, 4)
    """

    # What the learner asks of a module: whether NaN may be among its inputs, and which parameters take
    # longer steps. Calibrators live in [0, 1]; vertices need not, and have but a share in a mean.
    takes_missing = True
    steps = {"vertices": 10.0}  # noqa: RUF012

    columns: Tensor  # (F,) of the rows: of the numbers, then of the categories
    start: Tensor  # (numbers, k - 1), where each piece of a calibrator begins
    steepness: Tensor  # (numbers, k - 1), one over its length; 0 for pieces that only fill up the array
    sign: Tensor  # (numbers, 1)
    filler: Tensor  # (numbers, k), True beyond a calibrator's last keypoint
    signed: Tensor  # which of the numbers have a sign
    signs: Tensor  # (signed, 1), their signs
    fillers: Tensor  # (signed, k), their fillers
    sizes: Tensor  # (categories, 1)
    offsets: Tensor  # (categories, 1), where the values of each begin
    subsets: Tensor  # (L, D) places among the numbers, then the categories
    monotone: Tensor  # (D, L), whether a lattice is to rise along an input

    def __init__(
        self,
        features: Sequence[Feature],
        subsets: Sequence[Sequence[int]],
        output_bounds: tuple[float, float] | None = None,
        outputs: int = 1,
    ) -> None:
        super().__init__()
        self.outputs = outputs
        self.features, self.output_bounds = tuple(features), output_bounds
        self.chosen = tuple(tuple(map(int, subset)) for subset in subsets)
        self.rank = len(self.chosen[0])
        self.numbers = [i for i, f in enumerate(features) if isinstance(f, Numeric)]
        self.categories = [i for i, f in enumerate(features) if isinstance(f, Categorical)]
        self._fix_numbers([f for f in features if isinstance(f, Numeric)])
        self._fix_categories([f for f in features if isinstance(f, Categorical)])
        self._fix("columns", [*self.numbers, *self.categories], torch.long)
        place = {feature: i for i, feature in enumerate((*self.numbers, *self.categories))}
        shaped = [bool(f.sign if isinstance(f, Numeric) else f.order) for f in features]
        self._fix("subsets", [[place[i] for i in subset] for subset in self.chosen], torch.long)
        self._fix("monotone", [[shaped[i] for i in subset] for subset in self.chosen], torch.bool)
        self.monotone = self.monotone.T.contiguous()
        most = (f.size if isinstance(f, Categorical) else self.filler.shape[1] for f in features)
        self.most_values = 1 + max(most)  # of a feature, one for missing included
        self.has_monotone = bool(self.monotone.any())  # known here, so that no GPU is asked later
        self._start()

    # --- what never changes ---------------------------------------------------------------------

    def _fix(self, name: str, values: Any, dtype: torch.dtype) -> None:
        """A constant: moved between devices with the module, but not part of its state."""
        self.register_buffer(name, torch.as_tensor(values, dtype=dtype), persistent=False)

    def _fix_numbers(self, features: Sequence[Numeric]) -> None:
        k = max((len(f.keypoints) for f in features), default=2)
        points = torch.full((len(features), k), torch.nan, dtype=torch.double)
        for row, f in zip(points, features, strict=True):
            row[: len(f.keypoints)] = torch.tensor(f.keypoints, dtype=torch.double)
        lengths = points.diff()
        self._fix("start", points[:, :-1].where(lengths > 0, 0.0), torch.float32)
        self._fix("steepness", (1 / lengths).nan_to_num(), torch.float32)
        self._fix("filler", points.isnan(), torch.bool)
        self._fix("sign", [f.sign for f in features], torch.float32)
        self.sign = self.sign[:, None]
        self._fix("signed", [i for i, f in enumerate(features) if f.sign], torch.long)
        self._fix("signs", self.sign[self.signed], torch.float32)
        self._fix("fillers", self.filler[self.signed], torch.bool)

    def _fix_categories(self, features: Sequence[Categorical]) -> None:
        sizes = [f.size for f in features]
        offsets = [sum(sizes[:i]) + i for i in range(len(sizes))]  # one more each, for missing
        self._fix("sizes", sizes, torch.long)
        self._fix("offsets", offsets, torch.long)
        self.sizes, self.offsets = self.sizes[:, None], self.offsets[:, None]
        self.order = [
            (offset + a, offset + b)
            for offset, f in zip(offsets, features, strict=True)
            for a, b in f.order
        ]

    # --- what is learned ------------------------------------------------------------------------

    def _start(self) -> None:
        """Start with calibrators linear in a keypoint's rank, and lattices linear in monotone inputs."""
        k = self.filler.shape[1]
        used = (~self.filler).sum(1, keepdim=True)
        rank = (torch.arange(k) / (used - 1)).clamp(max=1.0)
        values = torch.where(self.sign < 0, 1 - rank, rank)
        missing = torch.full((len(values), 1), 0.5)
        each = () if self.outputs == 1 else (self.outputs,)
        self.number_values = nn.Parameter(torch.cat([values, missing], 1).expand(*each, -1, -1).clone())
        self.category_values = nn.Parameter(torch.rand(*each, int((self.sizes + 1).sum())))
        corners = torch.arange(2**self.rank)[:, None] >> torch.arange(self.rank) & 1
        slopes = self.monotone.float() / self.rank
        noise = torch.randn(*each, 2**self.rank, len(self.chosen))
        self.vertices = nn.Parameter((corners - 0.5) @ slopes + NOISE * noise)
        if self.output_bounds is None:
            self.bias = nn.Parameter(torch.zeros(each))
        with torch.no_grad():
            if self.output_bounds is not None:
                self.vertices.add_(sum(self.output_bounds) / 2)
            self.project({name: p.data[None] for name, p in self.named_parameters()})

    def forward(self, rows: Tensor) -> Tensor:
        return self.stacked({name: p[None] for name, p in self.named_parameters()}, rows).squeeze(0)

    def stacked(self, state: Mapping[str, Tensor], rows: Tensor) -> Tensor:
        """Scores (K, b) or (K, b, outputs) of rows (b, F) under K parameters of each name, (K, ...)."""
        models, state, width = len(state["vertices"]), self.alone(state), len(self.features)
        if rows.ndim != 2 or rows.shape[1] != width:
            raise ValueError(
                f"expected rows of {width} features, as trained on, got {tuple(rows.shape)}"
            )
        fixed = Fixed(self.columns, self.start, self.steepness, self.sizes, self.offsets, self.subsets)
        values = state["number_values"], state["category_values"], state["vertices"]
        scores = means(*values, rows, fixed, self.most_values)
        scores = scores + state["bias"][:, None] if "bias" in state else scores
        return scores if self.outputs == 1 else scores.view(models, self.outputs, -1).transpose(1, 2)

    def alone(self, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """K parameters of each name (K, ...) as those of K times `outputs` models of one output."""
        return state if self.outputs == 1 else {name: p.flatten(0, 1) for name, p in state.items()}

    # --- what it promises -----------------------------------------------------------------------

    @torch.no_grad()
    def project(self, state: Mapping[str, Tensor]) -> None:
        """Move K parameters of each name (K, ...) to the nearest of the promised shape, in place."""
        own = [state]
        if self.outputs > 1:
            own = [{name: p[:, output] for name, p in state.items()} for output in range(self.outputs)]
        for one in own:
            self._project(one)

    def _project(self, state: Mapping[str, Tensor]) -> None:
        numbers, categories = state["number_values"], state["category_values"]
        vertices = state["vertices"]
        if len(self.signed):
            values = numbers[:, self.signed, :-1] * self.signs
            # Values that only fill up the array must not pull at the others: put them at the top.
            values = torch.where(self.fillers, values.amax(-1, keepdim=True), values)
            numbers[:, self.signed, :-1] = project_line(values) * self.signs
        if self.order:
            categories.copy_(project_order(categories, self.order))
        numbers.clamp_(0.0, 1.0)
        categories.clamp_(0.0, 1.0)
        if self.has_monotone:
            vertices.copy_(project_lattices(vertices, self.monotone))
        if self.output_bounds is not None:
            vertices.clamp_(*self.output_bounds)  # clipping the nearest in order keeps it nearest

    def is_monotone(self, state: Mapping[str, Tensor]) -> bool:
        """Whether K parameters of each name have the promised shape, without any tolerance."""
        state = self.alone(state)
        numbers, categories = state["number_values"], state["category_values"]
        vertices = state["vertices"]
        rises = (numbers[..., :-1].diff(dim=-1) * self.sign).masked_fill(self.filler[:, 1:], 0.0)
        calibrated = all(bool(((v >= 0) & (v <= 1)).all()) for v in (numbers, categories))
        ordered = all(bool((categories[:, a] <= categories[:, b]).all()) for a, b in self.order)
        low, high = self.output_bounds or (-torch.inf, torch.inf)
        bounded = bool(((vertices >= low) & (vertices <= high)).all())
        rising = bool((rises >= 0).all()) and bool(least_rise(vertices, self.monotone) >= 0)
        return calibrated and ordered and bounded and rising

    # --- what it is -----------------------------------------------------------------------------

    @property
    def parameter_count(self) -> int:
        """Values of keypoints and categories, one more per feature for missing, vertices and bias."""
        calibrators = sum(1 + (f.size if isinstance(f, Categorical) else len(f.keypoints))
                          for f in self.features)  # fmt: skip
        biases = self.outputs * (self.output_bounds is None)
        return self.outputs * calibrators + self.vertices.numel() + biases

    @property
    def constraint_count(self) -> int:
        """Pairs of parameters that are kept in order; the bounds of calibrators are not counted."""
        calibrators = sum(len(f.order) if isinstance(f, Categorical) else
                          (f.sign != 0) * (len(f.keypoints) - 1) for f in self.features)  # fmt: skip
        return self.outputs * (calibrators + int(self.monotone.sum()) * 2 ** (self.rank - 1))

    def describe(self) -> dict[str, Any]:
        """Everything but the parameters, as plain data; `built` makes the module from it."""
        features = [{"kind": type(f).__name__, **asdict(f)} for f in self.features]
        said = {"features": features, "subsets": self.chosen, "output_bounds": self.output_bounds}
        return {**said, "outputs": self.outputs}


def measured(description: Mapping[str, Any]) -> tuple[int, int, int]:
    """How many features the described lattices take and scores they give, and their parameters.

    ValueError where the parts do not fit together. Nothing is built: a few words can declare any size.

    >>> measured(Lattices([Numeric((0.0, 1.0))], [[0]]).describe())
    (1, 1, 6)
    """
    features = described(description)
    subsets, bounds = description["subsets"], description["output_bounds"]
    outputs = description["outputs"]
    keypoints = [len(f.keypoints) for f in features if isinstance(f, Numeric)]
    sizes = [f.size for f in features if isinstance(f, Categorical)]
    rank = len(subsets[0]) if subsets else 0
    fits = (
        1 <= rank <= MOST_INPUTS
        and all(len(subset) == rank for subset in subsets)
        and all(type(i) is int and 0 <= i < len(features) for subset in subsets for i in subset)
        and type(outputs) is int
        and outputs >= 1
        and (bounds is None or (len(bounds) == 2 and -math.inf < bounds[0] < bounds[1] < math.inf))
    )
    if not fits:
        raise ValueError("its lattices do not fit its features")
    values = len(keypoints) * (max(keypoints, default=2) + 1) + sum(sizes) + len(sizes)
    return len(features), outputs, outputs * (values + 2**rank * len(subsets) + (bounds is None))


def built(description: Mapping[str, Any]) -> Lattices:
    """The module that `describe` described, with parameters yet to be filled in.

    >>> built(Lattices([Numeric((0.0, 1.0))], [[0]]).describe()).features
    (Numeric(keypoints=(0.0, 1.0), sign=0),)
    """
    bounds, outputs = description["output_bounds"], description["outputs"]
    features, subsets = described(description), description["subsets"]
    return Lattices(features, subsets, bounds and (bounds[0], bounds[1]), outputs)


def described(description: Mapping[str, Any]) -> list[Feature]:
    """The features of described lattices."""
    return [
        Numeric(tuple(map(float, entry["keypoints"])), entry["sign"])
        if entry["kind"] == "Numeric"
        else Categorical(entry["size"], tuple((a, b) for a, b in entry["order"]))
        for entry in description["features"]
    ]


# --- as a graph ----------------------------------------------------------------------------------
# The nodes compute what the module does, in the same order: calibrators, products of the lower half of
# each lattice's inputs, one matrix product, and Horner's rule for the upper half.


def lattice_scores(graph: Graph, module: Lattices, features: str, parameters: Array) -> str:
    """Nodes for the scores (M, n, outputs) of M models (M, P) on `features` (n, d)."""
    members = len(parameters) * module.outputs  # each output is computed like a member of its own
    shapes = {name: p.shape for name, p in module.named_parameters()}
    state = module.alone(unflatten(as_tensor(parameters), shapes))
    lattices, rank = module.subsets.shape
    table = coefficients(state["vertices"]).numpy()
    table = table.reshape(members, lattices, *table.shape[1:])
    low = rank // 2

    calibrated = _calibrated(graph, features, module, {name: t.numpy() for name, t in state.items()})
    z = graph("Sub", graph("Mul", calibrated, _number(2)), _number(1))  # (M, F, n)
    chosen = graph("Gather", z, module.subsets.numpy().reshape(-1), axis=1)
    chosen = graph("Reshape", chosen, np.array([members, lattices, rank, -1]))
    inputs = [graph("Slice", chosen, *_from_to(d, d + 1)) for d in range(rank)]  # (M, L, 1, n)

    one = graph("Add", graph("Mul", inputs[0], _number(0)), _number(1))  # of the shape of an input
    products = one
    for d in range(low):
        products = graph("Concat", products, graph("Mul", products, inputs[d]), axis=2)
    sums = graph("MatMul", table, products)  # (M, L, 2^(D - low), n)
    for d in reversed(range(rank - low)):
        without = graph("Slice", sums, *_from_to(0, 2**d))
        with_it = graph("Slice", sums, *_from_to(2**d, 2 ** (d + 1)))
        sums = graph("Add", without, graph("Mul", with_it, inputs[low + d]))
    scores = graph("ReduceMean", sums, np.array([1]), keepdims=0)  # (M, 1, n)
    if "bias" in state:
        scores = graph("Add", scores, state["bias"].numpy()[:, None, None])
    if module.outputs > 1:
        scores = graph("Reshape", scores, np.array([len(parameters), module.outputs, -1]))
    return graph("Transpose", scores, perm=[0, 2, 1])


def _calibrated(graph: Graph, features: str, module: Lattices, state: dict[str, Array]) -> str:
    """(M, F, n): calibrated numbers, then categories."""
    parts = []
    if module.numbers:
        parts.append(_numbers(graph, features, module, state["number_values"]))
    if module.categories:
        parts.append(_categories(graph, features, module, state["category_values"]))
    return parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)


def _numbers(graph: Graph, features: str, module: Lattices, values: Array) -> str:
    x = graph("Gather", features, np.array(module.numbers), axis=1)  # (n, numbers)
    missing = graph("IsNaN", x)
    largest = float(np.finfo(np.float32).max)  # an infinite value, times the 0 of a filler, would be NaN
    known = graph("Clip", graph("Where", missing, _number(0), x), _number(-largest), _number(largest))
    known = graph("Unsqueeze", known, np.array([2]))
    passed = graph("Mul", graph("Sub", known, module.start.numpy()), module.steepness.numpy())
    passed = graph("Clip", passed, _number(0), _number(1))  # (n, numbers, k - 1)
    # Value at the first keypoint, plus the rise of each piece times the share of it that is passed.
    rises = np.diff(values[..., :-1], axis=-1)
    calibrated = graph("Add", graph("Einsum", passed, rises, equation="nfk,mfk->mfn"), values[..., :1])
    return graph("Where", graph("Transpose", missing, perm=[1, 0]), values[..., -1:], calibrated)


def _categories(graph: Graph, features: str, module: Lattices, values: Array) -> str:
    codes = graph("Gather", features, np.array(module.categories), axis=1)  # (n, categories)
    sizes, offsets = module.sizes.numpy()[:, 0], module.offsets.numpy()[:, 0]
    known = graph(
        "And",
        graph("GreaterOrEqual", codes, _number(0)),
        graph("Less", codes, sizes.astype(np.float32)),
    )
    index = graph.cast(graph("Where", known, codes, sizes.astype(np.float32)), "int64")
    calibrated = graph("Gather", values, graph("Add", index, offsets), axis=1)  # (M, n, categories)
    return graph("Transpose", calibrated, perm=[0, 2, 1])


def _from_to(start: int, end: int) -> tuple[Array, Array, Array]:
    """The inputs of Slice for axis 2."""
    return np.array([start]), np.array([end]), np.array([2])


def _number(value: float) -> Array:
    return np.array(value, dtype=np.float32)
