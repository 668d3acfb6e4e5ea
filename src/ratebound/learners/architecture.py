"""A chain of PyTorch layers as plain data, so that a model is saved without running anyone's code."""

from __future__ import annotations

from typing import Any

from ratebound.base.extras import import_torch

ACTIVATIONS = ("ReLU", "Tanh", "Sigmoid", "GELU", "SiLU", "ELU", "Softplus", "Identity")


def describe(module: Any) -> list[dict[str, Any]] | None:
    """The layers of a plain chain of linear layers and activations, or an ensemble of lattices.

    None for anything else.
    """
    nn = import_torch().nn
    if hasattr(module, "is_monotone"):
        from ratebound.learners.lattice_network import Lattices

        return [{"layer": "Lattices", **module.describe()}] if type(module) is Lattices else None
    layers = list(module._modules.values()) if type(module) is nn.Sequential else [module]
    found: list[dict[str, Any]] = []
    if any(part._forward_hooks or part._forward_pre_hooks for part in (module, *layers)):
        return None
    for layer in layers:
        kind = type(layer).__name__
        names = {name for name, _ in layer.named_parameters()}
        if type(layer) is nn.Linear and names <= {"weight", "bias"}:
            found.append({"layer": "Linear", "in": layer.in_features, "out": layer.out_features,
                          "bias": layer.bias is not None})  # fmt: skip
        elif kind in ACTIVATIONS and type(layer) is getattr(nn, kind) and _as_made(layer, kind):
            found.append({"layer": kind})
        else:
            return None
    tied = len({id(p) for layer in layers for p in layer.parameters()})
    return found if tied == sum(1 for layer in layers for _ in layer.parameters()) else None


def measured(layers: Any) -> tuple[int, int]:
    """How many features the described layers take, and how many parameters they have.

    ValueError where they do not fit together, so that nothing is made of them. Nothing is made here:
    a few words can declare any size.
    """
    if layers and layers[0]["layer"] == "Lattices":
        from ratebound.learners.lattice_network import measured as measured_lattices

        return measured_lattices(layers[0])
    first, width, count = None, None, 0
    for entry in layers:
        if entry["layer"] in ACTIVATIONS:
            continue
        if entry["layer"] != "Linear":
            raise ValueError(f"unknown layer {entry['layer']!r}")
        inside, outside, bias = (entry[name] for name in ("in", "out", "bias"))
        if type(inside) is not int or type(outside) is not int or not isinstance(bias, bool):
            raise ValueError(f"a linear layer has no sizes, but {entry}")
        if inside < 1 or outside < 1 or width not in (None, inside):
            raise ValueError(f"a linear layer {inside} x {outside} does not fit the one before it")
        first, width, count = first or inside, outside, count + (inside + bias) * outside
    if first is None or width != 1:
        raise ValueError("its layers give no single score")
    return first, count


def build(layers: list[dict[str, Any]]) -> Any:
    """The chain that `describe` described, with parameters yet to be filled in."""
    nn = import_torch().nn
    made: list[Any] = []
    for entry in layers:
        if entry["layer"] == "Linear":
            made.append(nn.Linear(int(entry["in"]), int(entry["out"]), bias=bool(entry["bias"])))
        elif entry["layer"] == "Lattices":
            from ratebound.learners.lattice_network import built

            made.append(built(entry))
        elif entry["layer"] in ACTIVATIONS:
            made.append(getattr(nn, entry["layer"])())
        else:
            raise ValueError(f"unknown layer {entry['layer']!r}")
    return made[0] if len(made) == 1 else nn.Sequential(*made)


def _as_made(layer: Any, kind: str) -> bool:
    """Whether an activation has its default options, which a description does not record."""
    return repr(layer) == repr(getattr(import_torch().nn, kind)())
