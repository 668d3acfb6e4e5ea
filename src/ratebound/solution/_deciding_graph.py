"""What members decide, which of them is asked, and which known group a row is in, as ONNX nodes.

The hash and the draw are those of `_choosing`, bit for bit. What differs between two classes and more is
here, as `problem/deciding.py` has it for arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.rates.subsets import Value
from ratebound.solution._choosing import HALF, ROUNDING

ML = "ai.onnx.ml"

Group = tuple[Value | None, ...]  # a value of each column, None where it is missing


@dataclass(frozen=True)
class Votes:
    """What members say of each row."""

    decisions: str  # (n, M) int64, numbers of classes
    shares: str  # (n, 1) the weight of those that say yes; with D > 2 classes of each, (n, D)
    classes: int  # D


def votes_of(graph: Graph, scores: str, weights: Array, classes: int) -> Votes:
    """What members with these scores (n, M, A) and weights (M,) say.

    Scores that are no numbers say no, or the first class.
    """
    wide, weigh = graph.cast(scores, "float64"), np.asarray(weights, float)[:, None]
    if classes == 2:
        yes = graph("Squeeze", graph("GreaterOrEqual", wide, np.zeros(1)), np.array([2]))
        share = graph("MatMul", graph.cast(yes, "float64"), weigh)
        return Votes(graph.cast(yes, "int64"), share, classes)
    most = graph("ReduceMax", wide, np.array([2]))
    decisions = _last(graph, graph("GreaterOrEqual", wide, most), classes, 2)
    each = graph("Equal", graph("Unsqueeze", decisions, np.array([1])), np.arange(classes)[:, None])
    shares = graph("MatMul", graph.cast(each, "float64"), weigh)  # (n, D, M) by (M, 1)
    return Votes(decisions, graph("Squeeze", shares, np.array([2])), classes)


def voted(graph: Graph, votes: Votes, weights: Array) -> tuple[str, str]:
    """Shares of 0 and 1, and the decision (n, 1), of what members vote for."""
    if votes.classes == 2:
        yes = graph("GreaterOrEqual", votes.shares, np.array([HALF * weights.sum()]))
        return yes, graph.cast(yes, "int64")
    most = graph("ReduceMax", votes.shares, np.array([1]))
    near = graph("GreaterOrEqual", votes.shares, graph("Sub", most, np.array(ROUNDING)))
    decided = graph("Unsqueeze", _last(graph, near, votes.classes, 1), np.array([1]))
    return graph("Equal", decided, np.arange(votes.classes)), decided


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


def group_nodes(graph: Graph, columns: Sequence[str], groups: Sequence[Group]) -> str:
    """The group of each row, (n,); their number for a row of no known group.

    The columns are inputs of the graph, if they are not yet: of texts where a value is one or a truth
    value, else of numbers. "" is a missing text and NaN a missing number.
    """
    inside = ""
    for name, values in zip(columns, zip(*groups, strict=True), strict=True):
        known = list(dict.fromkeys(values))
        texts = any(isinstance(value, str | bool) for value in known)
        given, kind = graph.column(name, "string" if texts else "float64")
        code = _text_code(graph, given, known) if kind == "string" else _number_code(graph, given, known)
        own = np.array([known.index(value) for value in values])
        same = graph("Equal", graph("Unsqueeze", code, np.array([1])), own)  # (n, groups)
        inside = graph("And", inside, same) if inside else same
    return _first(graph, inside, len(groups))


def lookup(graph: Graph, texts: str, codes: dict[str, int], otherwise: int) -> str:
    """The code (n,) of each text (n,)."""
    return graph(
        "LabelEncoder",
        texts,
        domain=ML,
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=otherwise,
    )


def _text_code(graph: Graph, given: str, known: list[Value | None]) -> str:
    return lookup(graph, given, {_text(value): i for i, value in enumerate(known)}, -1)


def _number_code(graph: Graph, given: str, known: list[Value | None]) -> str:
    numbers = np.array([np.nan if value is None else float(value) for value in known])
    wide = graph("Unsqueeze", given, np.array([1]))
    same = graph("Equal", wide, numbers)
    if None in known:
        both_missing = graph("And", graph("IsNaN", wide), np.isnan(numbers))
        same = graph("Or", same, both_missing)
    return _first(graph, same, len(known))


def _first(graph: Graph, same: str, count: int) -> str:
    """Which of `count` columns of truth values (n, count), at most one of them true; else `count`."""
    place = graph("Mul", graph.cast(same, "int64"), np.arange(count) - count)
    return graph("Add", graph("ReduceSum", place, np.array([1]), keepdims=0), np.array(count))


def _text(value: Value | None) -> str:
    """A value as a table of texts has it: whole numbers without a fraction, "" for a missing one."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
