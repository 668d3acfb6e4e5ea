"""What members decide and which of them is asked, as nodes of an ONNX graph.

The hash and the draw are those of `choosing`, bit for bit. What differs between two classes and more is
here, as `problem/deciding.py` has it for arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.solution._choosing import HALF, ROUNDING


@dataclass(frozen=True)
class Said:
    """What members say of each row."""

    decisions: str  # (n, M) int64, numbers of classes
    shares: str  # (n, 1) the weight of those that say yes; with D > 2 classes of each, (n, D)
    classes: int  # D


def said_of(graph: Graph, scores: str, weights: Array, classes: int) -> Said:
    """What members with these scores (n, M, A) and weights (M,) say.

    Scores that are no numbers say no, or the first class.
    """
    wide, weigh = graph.cast(scores, "float64"), np.asarray(weights, float)[:, None]
    if classes == 2:
        yes = graph("Squeeze", graph("GreaterOrEqual", wide, np.zeros(1)), np.array([2]))
        share = graph("MatMul", graph.cast(yes, "float64"), weigh)
        return Said(graph.cast(yes, "int64"), share, classes)
    most = graph("ReduceMax", wide, np.array([2]))
    decisions = _last(graph, graph("GreaterOrEqual", wide, most), classes, 2)
    each = graph("Equal", graph("Unsqueeze", decisions, np.array([1])), np.arange(classes)[:, None])
    shares = graph("MatMul", graph.cast(each, "float64"), weigh)  # (n, D, M) by (M, 1)
    return Said(decisions, graph("Squeeze", shares, np.array([2])), classes)


def voted(graph: Graph, said: Said, weights: Array) -> tuple[str, str]:
    """Shares of 0 and 1, and the decision (n, 1), of what members vote for."""
    if said.classes == 2:
        yes = graph("GreaterOrEqual", said.shares, np.array([HALF * weights.sum()]))
        return yes, graph.cast(yes, "int64")
    most = graph("ReduceMax", said.shares, np.array([1]))
    near = graph("GreaterOrEqual", said.shares, graph("Sub", most, np.array(ROUNDING)))
    decided = graph("Unsqueeze", _last(graph, near, said.classes, 1), np.array([1]))
    return graph("Equal", decided, np.arange(said.classes)), decided


def _last(graph: Graph, held: str, classes: int, axis: int) -> str:
    """The last class for which a truth value along the axis holds, 0 where none does."""
    place = graph("Mul", graph.cast(held, "int64"), np.arange(classes))
    return graph("ReduceMax", place, np.array([axis]), keepdims=0)


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
