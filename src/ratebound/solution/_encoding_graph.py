"""An encoding as nodes of an ONNX graph: raw columns in, the features of `Encoding.transform` out.

All numbers are treated at once, as one matrix; each column of texts is looked up in its own dictionary.
The features are then put into the order that the model knows.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.tables.columns import MISSING, OTHER, Category, Code, Number, Plain, flags_gaps, width_of
from ratebound.tables.encoding import Encoding

ML = "ai.onnx.ml"
TRUTHS = {"True": ("true", "TRUE", "1"), "False": ("false", "FALSE", "0")}  # other spellings
WHOLE = re.compile(r"-?(0|[1-9]\d*)")
WEEKDAY = 3  # of the first day of 1970, a Thursday; Monday is 0


def encoded(graph: Graph, encoding: Encoding, features: str | None) -> str:
    """The features (n, d) that a model sees; where there is no table, raw numbers (n, c) are given."""
    first, end = {}, 0
    for place, column in enumerate(encoding.columns):
        first[place] = end
        end += width_of(column)
        if features is None:  # inputs are in the order of the columns
            graph.column(column.name, "string" if isinstance(column, Category | Code) else "float64")
    parts, order = [], []  # of the features, and which feature each part's columns are
    numeric = [i for i, column in enumerate(encoding.columns) if isinstance(column, Number | Plain)]
    numbers: list[Any] = [encoding.columns[i] for i in numeric]
    if numbers:
        raw = _raw(graph, numbers) if features is None else graph.cast(features, "float64")
        flagged = [i for i, column in enumerate(numbers) if flags_gaps(column)]
        parts.append(_filled(graph, raw, numbers))
        order += [first[i] for i in numeric]
        if flagged:
            lacking = graph("IsNaN", graph("Gather", raw, np.array(flagged), axis=1))
            parts.append(graph.cast(lacking, "float64"))
            order += [first[numeric[i]] + 1 for i in flagged]
    for place, column in enumerate(encoding.columns):
        if isinstance(column, Category | Code):
            parts.append(_looked_up(graph, column))
            order += range(first[place], first[place] + width_of(column))
    whole = parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=1)
    if order != sorted(order):
        whole = graph("Gather", whole, np.argsort(order), axis=1)
    single = encoding.from_frame and encoding.style == "scaled"
    return graph.cast(whole, "float32") if single else whole


def _raw(graph: Graph, columns: list[Any]) -> str:
    """The numbers of these columns of a table as a matrix (n, c), NaN where one is missing."""
    values = []
    for column in columns:
        given, kind = graph.column(column.name, "float64")
        if kind != "float64":
            raise ValueError(f"column {column.name!r} is read both as texts and as numbers")
        values.append(graph("Unsqueeze", _part(graph, given, column.read_as), np.array([1])))
    return values[0] if len(values) == 1 else graph("Concat", *values, axis=1)


def _filled(graph: Graph, raw: str, columns: list[Any]) -> str:
    """The numbers scaled as in training, with missing ones filled in where the model takes none."""
    scaled = any(isinstance(column, Number) for column in columns)
    if scaled:
        raw = graph("Sub", raw, np.array([column.center for column in columns]))
        raw = graph("Div", raw, np.array([column.scale for column in columns]))
        instead = np.zeros(len(columns))
    else:
        instead = np.array([np.nan if c.fill is None else c.fill for c in columns], dtype=float)
    return raw if np.isnan(instead).all() else graph("Where", graph("IsNaN", raw), instead, raw)


def _looked_up(graph: Graph, column: Category | Code) -> str:
    """The features (n, values) of a category, or its code (n, 1)."""
    given, kind = graph.column(column.name, "string")
    if kind != "string":
        raise ValueError(f"column {column.name!r} is read both as texts and as numbers")
    codes = {value: code for code, value in enumerate(column.values)}
    floats = {f"{value}.0": code for value, code in codes.items() if WHOLE.fullmatch(value)}
    spelled = {"": codes.get(MISSING, -1)} | floats | codes  # 3.0 is the category 3 to `predict` too
    if codes.keys() <= {"True", "False", MISSING}:
        for value, others in TRUTHS.items():
            spelled |= dict.fromkeys(others, codes.get(value, -1))
    code = lookup(graph, given, spelled, codes.get(OTHER, -1))
    code = graph("Unsqueeze", code, np.array([1]))
    if isinstance(column, Category):
        return graph.cast(graph("Equal", code, np.arange(len(column.values))), "float64")
    known = graph("GreaterOrEqual", code, np.array([0]))
    return graph("Where", known, graph.cast(code, "float64"), np.array([np.nan]))


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


def _part(graph: Graph, days: str, read_as: str) -> str:
    """What of a moment, given as days since 1970 (n,), becomes a number; other numbers are as given."""
    if read_as not in ("month", "weekday", "hour"):
        return days
    whole = graph("Floor", days)
    if read_as == "hour":
        return graph("Mul", graph("Sub", days, whole), np.array(24.0))
    if read_as == "weekday":
        return _rest(graph, graph("Add", whole, np.array(float(WEEKDAY))), 7)
    return _month(graph, whole)


def _month(graph: Graph, day: str) -> str:
    """The month, 1 to 12, of a day since 1970, by arithmetic on a year that begins in March.

    Then the leap day comes last, and five months in turn have 153 days.
    """
    day = _rest(graph, graph("Add", day, np.array(719468.0)), 146097)  # of 400 years
    leaps = [graph("Floor", graph("Div", day, np.array(each))) for each in (1460.0, 36524.0, 146096.0)]
    days = graph("Sub", graph("Add", graph("Sub", day, leaps[0]), leaps[1]), leaps[2])
    year = graph("Floor", graph("Div", days, np.array(365.0)))
    fours, centuries = (graph("Floor", graph("Div", year, np.array(each))) for each in (4.0, 100.0))
    before = graph("Sub", graph("Add", graph("Mul", year, np.array(365.0)), fours), centuries)
    of_year = graph("Sub", day, before)
    fives = graph("Add", graph("Mul", of_year, np.array(5.0)), np.array(2.0))
    since_march = graph("Floor", graph("Div", fives, np.array(153.0)))
    return graph("Add", _rest(graph, graph("Add", since_march, np.array(2.0)), 12), np.array(1.0))


def _rest(graph: Graph, value: str, by: int) -> str:
    """What is left of whole numbers divided by another, from 0 to below it."""
    divisor: Array = np.array(float(by))
    return graph("Sub", value, graph("Mul", graph("Floor", graph("Div", value, divisor)), divisor))
