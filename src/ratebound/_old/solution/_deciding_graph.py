"""What members decide, which member is chosen, and which known group a row is in, as ONNX nodes.

The hash and the draw equal the ones in `_choosing`, bit for bit. What differs between two classes and
more is here, as it is in `problem/deciding.py` for arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph
from ratebound._old.rates.subsets import Value
from ratebound._old.solution._choosing import HALF, ROUNDING

ML = "ai.onnx.ml"

Group = tuple[Value | None, ...]  # a value of each column, None if it is missing


@dataclass(frozen=True)
class Votes:
    """What members decide on each row."""

    decisions: str  # (n, M) int64, numbers of classes
    shares: str  # (n, 1) the weight of the yeses; with D > 2 classes the weight of each, (n, D)
    classes: int  # D


def votes_of(graph: Graph, scores: str, weights: Array, classes: int) -> Votes:
    """The votes of members with these scores (n, M, A) and weights (M,).

    A NaN score counts as no, or as the first class.
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
    """Shares of 0 and 1, and the decision (n, 1), of a vote."""
    if votes.classes == 2:
        yes = graph("GreaterOrEqual", votes.shares, np.array([HALF * weights.sum()]))
        return yes, graph.cast(yes, "int64")
    most = graph("ReduceMax", votes.shares, np.array([1]))
    near = graph("GreaterOrEqual", votes.shares, graph("Sub", most, np.array(ROUNDING)))
    decided = graph("Unsqueeze", _last(graph, near, votes.classes, 1), np.array([1]))
    return graph("Equal", decided, np.arange(votes.classes)), decided


def _last(graph: Graph, truths: str, classes: int, axis: int) -> str:
    """The last class whose truth value along the axis is true; 0 if none is."""
    place = graph("Mul", graph.cast(truths, "int64"), np.arange(classes))
    return graph("ReduceMax", place, np.array([axis]), keepdims=0)


def chosen_member(graph: Graph, weights: Array, uniform: str) -> str:
    """Which member decides each row, (n, 1), as in `_choosing.choose`."""
    ends = np.cumsum(weights, dtype=np.float64)
    place = graph("Unsqueeze", graph("Mul", uniform, ends[-1:]), np.array([1]))
    passed = graph.cast(graph("GreaterOrEqual", place, ends), "int64")
    return graph("Min", graph("ReduceSum", passed, np.array([1])), np.array(len(ends) - 1))


def hashed_keys(graph: Graph, key: str, salt: int) -> str:
    """A number in [0, 1) for each id, (n,), as in `_choosing.uniform_from_key`."""
    mixed = _mixed(graph, graph("BitwiseXor", key, _mixed(graph, _signed(salt))))
    top = graph.cast(_shifted(graph, mixed, 11), "float64")
    return graph("Mul", top, np.array(2.0**-53))


def _mixed(graph: Graph, state: str | Array) -> str:
    """The finaliser of splitmix64, (n,).

    Sums and products use int64, which wraps to the same bits: early versions of onnxruntime lack them
    for uint64.
    """
    state = graph("Add", state, _signed(0x9E3779B97F4A7C15))
    for bits, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        state = graph("BitwiseXor", state, _shifted(graph, state, bits))
        state = graph("Mul", state, _signed(factor))
    return graph("BitwiseXor", state, _shifted(graph, state, 31))


def _shifted(graph: Graph, state: str, bits: int) -> str:
    """Bits shifted right, with zeros shifted in: BitShift takes unsigned numbers only."""
    moved = graph("BitShift", graph.cast(state, "uint64"), np.array(bits, np.uint64), direction="RIGHT")
    return graph.cast(moved, "int64")


def _signed(value: int) -> Array:
    return np.array([value], dtype=np.uint64).view(np.int64)


def group_nodes(graph: Graph, columns: Sequence[str], groups: Sequence[Group]) -> str:
    """The group of each row, (n,); a row of no known group gets the number of groups.

    The columns become inputs of the graph if they are not yet: texts if a value is a text or a truth
    value, else numbers. "" is a missing text and NaN a missing number.
    """
    inside = ""
    for name, values in zip(columns, zip(*groups, strict=True), strict=True):
        distinct = list(dict.fromkeys(values))
        texts = any(isinstance(value, str | bool) for value in distinct)
        column, kind = graph.column(name, "string" if texts else "float64")
        coded = _text_code if kind == "string" else _number_code
        code = coded(graph, column, distinct)
        codes = np.array([distinct.index(value) for value in values])
        same = graph("Equal", graph("Unsqueeze", code, np.array([1])), codes)  # (n, groups)
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
    """Which of `count` columns of truth values (n, count) is true, at most one; `count` if none is."""
    place = graph("Mul", graph.cast(same, "int64"), np.arange(count) - count)
    return graph("Add", graph("ReduceSum", place, np.array([1]), keepdims=0), np.array(count))


def _text(value: Value | None) -> str:
    """A value as it stands in a table of texts: whole numbers without a fraction, "" if missing."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
