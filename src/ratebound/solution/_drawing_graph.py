"""Which member decides, as nodes of an ONNX graph: the hash and the draw of `choosing`, bit for bit."""

from __future__ import annotations

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph


def chosen_member(graph: Graph, weights: Array, uniform: str) -> str:
    """Which member decides each row, (n, 1), as `choosing.choose` has it."""
    ends = np.cumsum(weights, dtype=np.float64)
    place = graph("Unsqueeze", graph("Mul", uniform, ends[-1:]), np.array([1]))
    passed = graph.cast(graph("GreaterOrEqual", place, ends), "int64")
    return graph("Min", graph("ReduceSum", passed, np.array([1])), np.array(len(ends) - 1))


def hashed_keys(graph: Graph, key: str, salt: int) -> str:
    """A number in [0, 1) for each id, (n,), as `choosing.uniform_from_key` has it."""
    mixed = _mixed(graph, graph("BitwiseXor", key, _mixed(graph, _signed(salt))))
    top = graph.cast(_shifted(graph, mixed, 11), "float64")
    return graph("Mul", top, np.array(2.0**-53))


def _mixed(graph: Graph, state: str | Array) -> str:
    """The finaliser of splitmix64, (n,).

    Sums and products are of int64, which wraps to the same bits: early versions of onnxruntime lack
    those of uint64.
    """
    state = graph("Add", state, _signed(0x9E3779B97F4A7C15))
    for bits, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        state = graph("BitwiseXor", state, _shifted(graph, state, bits))
        state = graph("Mul", state, _signed(factor))
    return graph("BitwiseXor", state, _shifted(graph, state, 31))


def _shifted(graph: Graph, state: str, bits: int) -> str:
    """Bits moved right, zeros moved in: BitShift is for unsigned numbers only."""
    moved = graph("BitShift", graph.cast(state, "uint64"), np.array(bits, np.uint64), direction="RIGHT")
    return graph.cast(moved, "int64")


def _signed(value: int) -> Array:
    return np.array([value], dtype=np.uint64).view(np.int64)
