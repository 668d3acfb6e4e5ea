"""Plain chains of PyTorch layers as data: the layers we understand, and what we know about each.

A described model is saved and loaded without running anyone's code, and can be written to ONNX. To add
a layer, add it to `LAYERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ratebound.base.extras import import_torch
from ratebound.base.types import Array
from ratebound.game.scorer import Graph

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
    found: list[Entry] = []
    layers = layers_of(module)
    if any(part._forward_hooks or part._forward_pre_hooks for part in (module, *layers)):
        return None
    for layer in layers:
        name = type(layer).__name__
        kind = LAYERS.get(name)
        options = None if kind is None or (kind.alone and layer is not module) else kind.options(layer)
        if options is None:
            return None
        found.append({"layer": name, **options})
    tied = len({id(p) for layer in layers for p in layer.parameters()})
    return found if tied == sum(1 for layer in layers for _ in layer.parameters()) else None


def layers_of(module: Any) -> list[Any]:
    """The layers of a chain in order; any other module counts as one layer."""
    plain = type(module) is import_torch().nn.Sequential
    return list(module._modules.values()) if plain else [module]


def measured(layers: Any) -> tuple[int | None, int | None, int]:
    """How many features the described layers take and give, None if unknown, and their parameters.

    ValueError where they do not fit together. Nothing is built, since a few words can declare any size.
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
    found = graph("MatMul", rows, weight.transpose(0, 2, 1))
    return found if layer.bias is None else graph("Add", found, parameters[:, None, end:])


# --- lattices ------------------------------------------------------------------------------------


def _lattice_network() -> Any:
    return import_module("ratebound.learners.lattice_network")  # which needs PyTorch


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
