"""Scores of PyTorch modules from flat parameters: the part of a trained module that is deployed.

Plain chains of the layers that we know are data: saved and loaded without running anyone's code, and
written to ONNX. To add a layer, add it to `LAYERS`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound._old.base.arrays import exactly
from ratebound._old.base.drawing import drawing_from
from ratebound._old.base.extras import import_torch
from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph, Saved, Scorer, register_scorer
from ratebound._old.problem.frames import as_dense
from ratebound._old.problem.general import Model

if TYPE_CHECKING:
    import torch


CHUNK = 32_768  # rows scored at a time outside training
BIAS = 1023  # of the exponent of a number in double precision
BLOCK = 256  # rows of each of the equal blocks that modules of one's own are given


@register_scorer
class TorchScorer(Scorer):
    """Scores of modules of one architecture from their flat parameters (and float buffers).

    Matrix products add up in an order that depends on their shape, yet a row's score may not depend on
    the rows beside it. So plain chains and lattices are computed in double precision and their scores
    rounded, which hides the order; other modules, which may not know double precision, are given blocks
    of one size, the last one filled up.

    Any number of threads may ask at once: each call scores with a copy of `module` of its own.
    """

    kind = "torch"

    def __init__(self, module: torch.nn.Module, outputs: int = 1) -> None:
        self.outputs = outputs  # scores a row: one for two classes, else one for each
        self.module = copy.deepcopy(module).to("cpu").eval()
        held = self.module.state_dict()  # without buffers that are constants
        buffers = {n: b for n, b in self.module.named_buffers() if n in held and b.is_floating_point()}
        self.shapes = {n: t.shape for n, t in (*self.module.named_parameters(), *buffers.items())}
        self.layers = describe(self.module)  # None for all but plain chains and lattices
        self.in_double: Any = None if self.layers is None else copy.deepcopy(self.module).double()

    def scores(self, parameters: Array, X: Array) -> Array:
        """(M, A, n) scores of M models (M, P) on rows (n, ...)."""
        torch = import_torch()
        rows, flat = as_tensor(X), as_tensor(parameters)
        score = self._in_blocks if self.in_double is None else self._in_double
        module = self._copied()
        with torch.no_grad(), exactly(flat):
            scores: Array = torch.stack([score(module, one, rows) for one in flat]).numpy()
        return scores

    def model(self, parameters: Array, scores: Array) -> Model:
        """The module with these parameters, and its scores as tensors."""
        module = copy.deepcopy(self.module)
        state = unflatten(as_tensor(parameters), self.shapes)
        with import_torch().no_grad():
            for name, part in (*module.named_parameters(), *module.named_buffers()):
                if name in state:
                    part.copy_(state[name])
        return Model(as_tensor(scores), module.requires_grad_(False))

    def width(self, parameters: Array) -> int | None:
        return None if self.layers is None else measured(self.layers)[0]

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The layers of a plain chain; for another module only its name, never its code."""
        name = type(self.module).__name__
        return {"layers": self.layers, "module": name, "outputs": self.outputs}, {}

    @classmethod
    def read(cls, saved: Saved) -> TorchScorer:
        module, size = saved.module, saved.parameters.shape[1]
        outputs = saved.description.get("outputs", 1)
        if type(outputs) is not int or outputs < 1 or outputs == 2:
            raise ValueError(f"its modules give {outputs!r} scores per row")
        if module is None:
            layers = saved.description["layers"]
            if layers is None:
                raise ValueError(
                    f"it holds parameters of a module of your own, {saved.description['module']}: pass "
                    "it, or a function making it, as rb.load(path, module=...)"
                )
            inside, outside, declared = measured(layers)
            if inside is None or outside != outputs:
                raise ValueError(f"its layers give {outside} scores per row, not {outputs}")
            _check_size(size, declared, "what its layers declare")
            with drawing_from(import_torch().Generator()):  # what is drawn here is filled in later
                module = build(layers)
        scorer = cls(module, outputs)
        held = sum(shape.numel() for shape in scorer.shapes.values())
        _check_size(size, held, type(scorer.module).__name__)
        return scorer

    def to_graph(self, graph: Graph, parameters: Array, features: str) -> str:
        if self.layers is None or self.width(parameters) is None:
            raise ValueError(
                "to_onnx writes lattices and plain chains of linear layers and activations, and this is "
                f"a mixture of {type(self.module).__name__}: export its members one by one with "
                "torch.onnx.export, and choose among them by their weights"
            )
        single = np.asarray(parameters, dtype=np.float32)
        rows = chain_nodes(graph, self.module, single, graph.cast(features, "float32"))
        return graph("Transpose", rows, perm=[1, 0, 2])

    def _copied(self) -> Any:
        """A copy of the module for one call: parameters are put in and taken out while it is used.

        Of parameters only the places are copied.
        """
        module = self.module if self.in_double is None else self.in_double
        return copy.deepcopy(module, {id(each): each for each in module.parameters()})

    def _in_double(self, module: Any, flat: torch.Tensor, rows: Any) -> torch.Tensor:
        wide = flat.double()
        parts = [self._called(module, wide, part.double()) for part in rows.split(CHUNK)]
        return rounded(import_torch().cat(parts, dim=-1), flat)

    def _in_blocks(self, module: Any, flat: torch.Tensor, rows: Any) -> torch.Tensor:
        parts = []
        for part in rows.split(BLOCK):
            block = rows.new_zeros((BLOCK, *rows.shape[1:]))  # of its own, so that it is aligned alike
            block[: len(part)] = part
            parts.append(self._called(module, flat, block)[..., : len(part)])
        return import_torch().cat(parts, dim=-1)

    def _called(self, module: Any, flat: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        state = unflatten(flat, self.shapes)
        output = import_torch().func.functional_call(module, state, (rows,))
        scores: torch.Tensor = scores_from(output, len(rows), self.outputs)
        return scores


def _check_size(size: int, held: int, what: str) -> None:
    if size != held:
        raise ValueError(
            f"it holds {size:,} parameters a model, and {what} has {held:,}: pass the module it was "
            "trained with"
        )


def unflatten(flat: Any, shapes: dict[str, Any]) -> dict[str, Any]:
    """Flat parameters (..., P) as tensors by name, (..., *shape), without copying."""
    parts = flat.split([shape.numel() for shape in shapes.values()], dim=-1)
    return {
        name: part.view((*flat.shape[:-1], *shape))
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def scores_from(output: Any, rows: int, outputs: int, settings: int | None = None) -> Any:
    """Scores (A, b), or (K, A, b) of each setting, from a module's output (b,) or (b, A)."""
    leading = () if settings is None else (settings,)
    given, wanted = tuple(output.shape), (*leading, rows, outputs)
    if given == wanted or (outputs == 1 and given == wanted[:-1]):
        return output.reshape(wanted).transpose(-1, -2)
    if outputs == 1:
        raise ValueError(
            f"the module must give one score per row: expected shape {wanted[:-1]} or {wanted}, "
            f"got {given}"
        )
    raise ValueError(
        f"the module must give {outputs} scores per row, one for each class: expected shape {wanted}, "
        f"got {given}. Give its last layer {outputs} outputs, or use rb.MLP, which does so itself"
    )


def rounded(scores: torch.Tensor, parameters: torch.Tensor) -> torch.Tensor:
    """Scores (A, n) of a model (P,), or of each of (K, P), in single precision.

    They are without digits made by rounding.

    Near 0, where large terms cancel, those are more than single precision drops. So scores are multiples
    of 2^-32 times the model's largest parameter, rounded up to a power of two.
    """
    torch = import_torch()
    largest = (
        parameters.abs().amax(-1)
        if parameters.shape[-1]
        else parameters.new_zeros(parameters.shape[:-1])
    )
    _, exponents = torch.frexp(largest)
    exponents = exponents.reshape(exponents.shape + (1,) * (scores.ndim - exponents.ndim)).long()
    steps = (exponents - 32 + BIAS << 52).view(torch.float64)  # 2^(exponent - 32), whose bits these are
    return ((scores / steps).round() * steps).float()


def as_tensor(values: Array) -> torch.Tensor:
    """Values in single precision, shared with the array where torch may, else copied."""
    dense = as_dense(values, "a PyTorch module", np.float32)
    tensor: torch.Tensor = import_torch().as_tensor(np.require(dense, np.float32, ["C", "W"]))
    return tensor


Entry = dict[str, Any]  # a layer's name, "layer", and its options


@dataclass(frozen=True)
class Layer:
    """One kind of layer: how it is described, measured, built again and written to ONNX."""

    options: Callable[[Any], Entry | None]  # of a layer; None where data cannot describe it fully
    sizes: Callable[[Entry], tuple[int | None, int | None, int]]  # features in, features out, parameters
    build: Callable[[Entry], Any]
    # Rows out, from the layer, the rows in and the models' parameters (M, P). Rows are (n, width) until
    # a layer has parameters, and (M, n, width) from there on.
    nodes: Callable[[Graph, Any, str, Array], str]
    alone: bool = False  # whether it is a whole model, never part of a chain


def describe(module: Any) -> list[Entry] | None:
    """The layers of a plain chain of linear layers and activations, or an ensemble of lattices.

    None for anything else.
    """
    entries: list[Entry] = []
    layers = layers_of(module)
    if any(part._forward_hooks or part._forward_pre_hooks for part in (module, *layers)):
        return None
    for layer in layers:
        name = type(layer).__name__
        kind = LAYERS.get(name)
        options = None if kind is None or (kind.alone and layer is not module) else kind.options(layer)
        if options is None:
            return None
        entries.append({"layer": name, **options})
    tied = len({id(p) for layer in layers for p in layer.parameters()})
    return entries if tied == sum(1 for layer in layers for _ in layer.parameters()) else None


def layers_of(module: Any) -> list[Any]:
    """The layers of a chain in order; any other module counts as one layer."""
    plain = type(module) is import_torch().nn.Sequential
    return list(module._modules.values()) if plain else [module]


def measured(layers: Any) -> tuple[int | None, int | None, int]:
    """How many features the described layers take and give, None if unknown, and their parameters.

    ValueError if they do not fit together. Nothing is built, since a short description can declare any
    size.
    """
    first, width, count = None, None, 0
    for entry in layers:
        kind = _known(entry)
        inside, outside, parameters = kind.sizes(entry)
        if inside is None:
            continue
        if width not in (None, inside) or (kind.alone and len(layers) > 1):
            raise ValueError(f"its layer {entry['layer']} does not fit the ones beside it")
        first, width, count = first or inside, outside, count + parameters
    return first, width, count


def build(layers: list[Entry]) -> Any:
    """The chain that `describe` described, with parameters yet to be filled in."""
    made = [_known(entry).build(entry) for entry in layers]
    return made[0] if len(made) == 1 else import_torch().nn.Sequential(*made)


def chain_nodes(graph: Graph, module: Any, parameters: Array, features: str) -> str:
    """Scores (M, n, D) of models (M, P) of a described module, as nodes of an ONNX graph."""
    rows, start = features, 0
    for layer in layers_of(module):
        end = start + sum(p.numel() for p in layer.parameters())
        rows = LAYERS[type(layer).__name__].nodes(graph, layer, rows, parameters[:, start:end])
        start = end
    return rows


def _known(entry: Entry) -> Layer:
    if entry["layer"] not in LAYERS:
        raise ValueError(f"unknown layer {entry['layer']!r}")
    return LAYERS[entry["layer"]]


# --- linear layers -------------------------------------------------------------------------------


def _linear_options(layer: Any) -> Entry | None:
    names = {name for name, _ in layer.named_parameters()}
    if type(layer) is not import_torch().nn.Linear or not names <= {"weight", "bias"}:
        return None
    return {"in": layer.in_features, "out": layer.out_features, "bias": layer.bias is not None}


def _linear_sizes(entry: Entry) -> tuple[int, int, int]:
    inside, outside, bias = (entry[name] for name in ("in", "out", "bias"))
    if type(inside) is not int or type(outside) is not int or not isinstance(bias, bool):
        raise ValueError(f"a linear layer needs sizes that are whole numbers, got {entry}")
    if inside < 1 or outside < 1:
        raise ValueError(f"a linear layer is {inside} x {outside}")
    return inside, outside, (inside + bias) * outside


def _linear_nodes(graph: Graph, layer: Any, rows: str, parameters: Array) -> str:
    end = layer.in_features * layer.out_features
    weight = parameters[:, :end].reshape(-1, layer.out_features, layer.in_features)
    products = graph("MatMul", rows, weight.transpose(0, 2, 1))
    return products if layer.bias is None else graph("Add", products, parameters[:, None, end:])


# --- lattices ------------------------------------------------------------------------------------


def _lattice_network() -> Any:
    return import_module("ratebound._old.learners.lattice_network")  # which needs PyTorch


def _lattice_options(layer: Any) -> Entry | None:
    return layer.describe() if type(layer) is _lattice_network().Lattices else None


# --- activations, as PyTorch makes them by default -----------------------------------------------


def _activation(name: str, nodes: Callable[[Graph, str], str]) -> Layer:
    def options(layer: Any) -> Entry | None:
        own = getattr(import_torch().nn, name)
        return {} if type(layer) is own and repr(layer) == repr(own()) else None

    return Layer(
        options=options,
        sizes=lambda entry: (None, None, 0),
        build=lambda entry: getattr(import_torch().nn, name)(),
        nodes=lambda graph, layer, rows, parameters: nodes(graph, rows),
    )


def _gelu(graph: Graph, x: str) -> str:
    root, half, one = np.array([math.sqrt(0.5), 0.5, 1.0], dtype=np.float32)[:, None]
    inner = graph("Erf", graph("Mul", x, root))  # Gelu itself needs opset 20
    return graph("Mul", graph("Mul", x, half), graph("Add", inner, one))


ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "ReLU": lambda graph, x: graph("Relu", x),
    "Tanh": lambda graph, x: graph("Tanh", x),
    "Sigmoid": lambda graph, x: graph("Sigmoid", x),
    "GELU": _gelu,
    "SiLU": lambda graph, x: graph("Mul", x, graph("Sigmoid", x)),
    "ELU": lambda graph, x: graph("Elu", x),
    "Softplus": lambda graph, x: graph("Softplus", x),
    "Identity": lambda graph, x: graph("Identity", x),
}

LAYERS = {
    "Linear": Layer(
        _linear_options,
        _linear_sizes,
        lambda entry: import_torch().nn.Linear(entry["in"], entry["out"], bias=entry["bias"]),
        _linear_nodes,
    ),
    "Lattices": Layer(
        _lattice_options,
        lambda entry: _lattice_network().measured(entry),
        lambda entry: _lattice_network().built(entry),
        lambda *given: _lattice_network().lattice_scores(*given),
        alone=True,
    ),
    **{name: _activation(name, nodes) for name, nodes in ACTIVATIONS.items()},
}
