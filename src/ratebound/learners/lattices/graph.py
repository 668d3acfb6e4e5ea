"""Lattice models as nodes of an ONNX graph, all members of a mixture at once.

The graph computes what `learners/lattices/network.py` computes, in the same order: calibrators, products
of the lower half of each lattice's inputs, one matrix product, and Horner's rule for the upper half.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph


def lattice_scores(graph: Graph, module: Any, features: str, parameters: Array) -> str:
    """Scores (M, n, outputs) of M models (M, P) on `features` (n, d)."""
    from ratebound.learners._torch_scorer import as_tensor, unflatten
    from ratebound.learners.lattices.interpolation import coefficients

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


def _calibrated(graph: Graph, features: str, module: Any, state: dict[str, Array]) -> str:
    """(M, F, n): calibrated numbers, then categories."""
    parts = []
    if module.numbers:
        parts.append(_numbers(graph, features, module, state["number_values"]))
    if module.categories:
        parts.append(_categories(graph, features, module, state["category_values"]))
    return parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)


def _numbers(graph: Graph, features: str, module: Any, values: Array) -> str:
    x = graph("Gather", features, np.array(module.numbers), axis=1)  # (n, numbers)
    missing = graph("IsNaN", x)
    largest = float(np.finfo(np.float32).max)  # an infinite value, times the 0 of a filler, would be NaN
    known = graph("Clip", graph("Where", missing, _number(0), x), _number(-largest), _number(largest))
    known = graph("Unsqueeze", known, np.array([2]))
    passed = graph("Mul", graph("Sub", known, module.start.numpy()), module.steepness.numpy())
    passed = graph("Clip", passed, _number(0), _number(1))  # (n, numbers, k - 1)
    # Value at the first keypoint, plus the rise of each piece times the share of it that is passed.
    rises = np.diff(values[..., :-1], axis=-1)
    found = graph("Add", graph("Einsum", passed, rises, equation="nfk,mfk->mfn"), values[..., :1])
    return graph("Where", graph("Transpose", missing, perm=[1, 0]), values[..., -1:], found)


def _categories(graph: Graph, features: str, module: Any, values: Array) -> str:
    codes = graph("Gather", features, np.array(module.categories), axis=1)  # (n, categories)
    sizes, offsets = module.sizes.numpy()[:, 0], module.offsets.numpy()[:, 0]
    known = graph(
        "And",
        graph("GreaterOrEqual", codes, _number(0)),
        graph("Less", codes, sizes.astype(np.float32)),
    )
    index = graph.cast(graph("Where", known, codes, sizes.astype(np.float32)), "int64")
    found = graph("Gather", values, graph("Add", index, offsets), axis=1)  # (M, n, categories)
    return graph("Transpose", found, perm=[0, 2, 1])


def _from_to(start: int, end: int) -> tuple[Array, Array, Array]:
    """The inputs of Slice for axis 2."""
    return np.array([start]), np.array([end]), np.array([2])


def _number(value: float) -> Array:
    return np.array(value, dtype=np.float32)
