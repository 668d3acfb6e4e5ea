"""Which known group a row is in, as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ratebound.game.scorer import Graph
from ratebound.rates.subsets import Value
from ratebound.solution._encoding_graph import lookup

Group = tuple[Value | None, ...]  # a value of each column, None where it is missing


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
