"""A mixture as one ONNX file, for deciding without Python; the graph is written node by node.

The file needs none of our code to run. It decides as `Mixture.predict` does for the same key, up to
rounding: another runtime adds up in another order, so a score that differs from 0 only in its last
digits may change its sign.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ratebound._old.base.extras import import_extra, versions
from ratebound._old.base.types import Array
from ratebound._old.base.writing import write_whole
from ratebound._old.game.scorer import Graph, Scorer
from ratebound._old.rates.kinds import label_classes, referral_of
from ratebound._old.solution._deciding_graph import ML, lookup, votes_of
from ratebound._old.solution.deciders import CHOOSERS
from ratebound._old.solution.mixture import Mixture
from ratebound._old.tables.columns import (
    MISSING,
    OTHER,
    Category,
    Code,
    Number,
    Plain,
    flags_gaps,
    width_of,
)
from ratebound._old.tables.encoding import Encoding

OPSET = 18  # the first with BitwiseXor
ML_OPSET = 3  # of ai.onnx.ml: the first whose trees compare in double precision
IR_VERSION = 8  # the one released with them, so every runtime with these opsets accepts the file
TRUTHS = {"True": ("true", "TRUE", "1"), "False": ("false", "FALSE", "0")}  # other spellings
WHOLE = re.compile(r"-?(0|[1-9]\d*)")
WEEKDAY = 3  # of the first day of 1970, a Thursday; Monday is 0
OUTPUTS = ("decision", "decision_probability", "probability", "scores")
RESERVED = frozenset({"features", *CHOOSERS, *OUTPUTS})


def to_onnx(mixture: Mixture, path: str | Path, *, choose: Literal["key", "uniform"] = "key") -> Path:
    """Write `mixture` to an ONNX file at `path`, which is returned. Needs ``ratebound[onnx]``.

    A model fitted on a table has an input of n values for each column it uses, with the column's name:

    - a text (``string``) for a column of texts, of truth values ("True", "False") or of categories; ""
      is a missing one, unless "" was a value in training. Texts are spelled as in training; an unseen
      text is treated as `predict` treats it.
    - a number (``float64``) for a column of numbers, NaN if it is missing. A moment is given in days
      since 1970 in UTC, with their fraction, and a duration in days.

    The columns of known groups are inputs too, as texts if their values are texts or truth values, else
    as numbers. A column whose name is taken is called "column ..."; the file's metadata list all.

    Other models have one input, ``features`` (n, d): the raw columns of an array, which the graph
    scales, or without an encoding the features that the models were trained on. It is float32, so
    numbers keep about seven digits; boosted trees take float64.

    Beside these:

    - ``key`` (n,) int64 with ``choose="key"``: an entity's whole-number id, hashed in the graph just as
      ``mixture.predict(X, key=ids)`` hashes it.
    - ``uniform`` (n,) float64 in [0, 1) with ``choose="uniform"``: the number that chooses the member,
      for ids that are texts. ``mixture.uniform(X, key=ids)`` gives the number that `predict` uses with a
      key, and ``mixture.uniform(X)`` the number that it uses without.

    A vote chooses no member: its file takes neither, whatever `choose` is.

    Outputs: ``decision`` (n,) int64 by the chosen member or the vote, 0 for no and 1 for yes;
    ``decision_probability`` (n,) float32 of deciding yes; ``probability`` (n,) float32 that the label is
    yes, if the mixture is calibrated; ``scores`` (n, M) float32 of every member. With D > 2 classes a
    decision is a class's place among the metadata's ``classes``, probabilities are (n, D) in their
    order, and scores (n, M, D). The file cannot raise the errors of `predict`: a row without a score, or
    of an unknown group, has NaN scores, and the decision is no, or class 0.

    The metadata hold the problem in words, its status, the names of the classes, the inputs, the
    features' names, the weights, the salt and the version of this library. Linear models, lattices,
    boosted trees and plain chains of PyTorch layers can be written, and others whose scorer has a
    `to_graph`.
    """
    if choose not in CHOOSERS:
        raise ValueError(f"choose must be 'key' or 'uniform', got {choose!r}")
    graph = GraphBuilder(RESERVED)
    features = _features(graph, mixture)
    models = mixture.scorer.to_graph(graph, mixture.parameters, features)
    scores = mixture.decider.member_nodes(graph, models)
    votes = votes_of(graph, scores, mixture.weights, len(mixture.classes))
    shares, decided = mixture.decider.decided_nodes(graph, votes, mixture.weights, choose)
    each = () if votes.classes == 2 else (votes.classes,)  # one number for yes, or one for each class
    graph.output("decision", _flat(graph, decided), "int64")
    graph.output("decision_probability", shares if each else _flat(graph, shares), "float32", *each)
    if mixture.calibration is not None:
        says_more = type(mixture.scorer).label_graph is not Scorer.label_graph
        of_labels = models
        if says_more:
            of_labels = mixture.scorer.label_graph(graph, mixture.parameters, features)
        elif referral_of(mixture.classes) is not None:
            of_labels = _without_referral(graph, mixture, of_labels)
        labels = len(label_classes(mixture.classes))
        likely = _label_probability(graph, mixture, of_labels)
        graph.output("probability", likely, "float32", *(() if labels == 2 else (labels,)))
    shown = scores if each else graph("Squeeze", scores, np.array([2]))
    graph.output("scores", shown, "float32", len(mixture), *each)
    return write_whole(path, graph.model(_metadata(mixture, graph)).SerializeToString())


def _features(graph: GraphBuilder, mixture: Mixture) -> str:
    """The models' features, from inputs that are declared here."""
    encoding, scorer = mixture.encoding, mixture.scorer
    if encoding is not None and encoding.from_frame:
        if encoding.style == "table":
            raise ValueError(
                "to_onnx cannot write this model: it reads tables with its own code, a pipeline's"
            )
        return encoded(graph, encoding, None)
    width = scorer.width(mixture.parameters) if encoding is None else len(encoding.columns)
    kind = "float64" if scorer.tables else "float32"
    given = graph.input("features", kind, "d" if width is None else width)
    return given if encoding is None else encoded(graph, encoding, given)


def _label_probability(graph: GraphBuilder, mixture: Mixture, models: str) -> str:
    """The probability (n,) that the label is yes, or (n, D) of each, from the models' scores."""
    assert mixture.calibration is not None
    weights = mixture.model_weights[:, None]
    # No product of matrices: onnxruntime 1.18 would fuse it into one that it lacks in double precision.
    parts = graph("Mul", graph.cast(models, "float64"), weights)
    mean = graph("ReduceSum", parts, np.array([1]), keepdims=0)
    odds = graph("Mul", mean, np.array(mixture.calibration.slope))
    odds = graph("Add", odds, np.array(mixture.calibration.intercept))
    if len(label_classes(mixture.classes)) > 2:  # in double precision: odds may be far apart
        return graph("Softmax", odds, axis=1)
    return _flat(graph, graph("Sigmoid", graph.cast(odds, "float32")))


def _without_referral(graph: GraphBuilder, mixture: Mixture, scores: str) -> str:
    """Scores (n, M, D) of labels alone, or (n, M, 1) with two labels, from all decisions' scores."""
    labels = len(label_classes(mixture.classes))
    if labels > 2:
        return graph("Slice", scores, np.array([0]), np.array([labels]), np.array([2]))
    ends = [graph("Gather", scores, np.array([place]), axis=2) for place in (1, 0)]
    return graph("Sub", *ends)


def _flat(graph: GraphBuilder, column: str) -> str:
    return graph("Squeeze", column, np.array([1]))


def _metadata(mixture: Mixture, graph: GraphBuilder) -> dict[str, str]:
    classes = [value.item() if hasattr(value, "item") else value for value in mixture.classes]
    metadata = {
        "problem": str(mixture.problem),
        "status": str(mixture.status),
        "classes": json.dumps(classes, default=str),
        "decides": mixture.decider.how,
        "weights": json.dumps(mixture.weights.tolist()),
        "ratebound": versions("ratebound").get("ratebound", ""),
    }
    if mixture.decider.draw is not None:
        metadata["salt"] = str(mixture.decider.draw.salt)
    if graph.columns:
        columns = [
            {"input": given, "column": name, "type": graph.inputs[given][0]}
            for name, given in graph.columns.items()
        ]
        metadata["columns"] = json.dumps(columns, default=str)
    if mixture.encoding is None:
        return {**metadata, "features": "as the models were trained on"}
    kind = "one input for each column" if mixture.encoding.from_frame else "raw columns"
    return {**metadata, "features": kind, "feature_names": json.dumps(mixture.encoding.names)}


# --- an encoding, from raw columns to features ---------------------------------------------------------


def encoded(graph: Graph, encoding: Encoding, features: str | None) -> str:
    """The features (n, d) that a model sees; without a table, raw numbers (n, c) are given.

    All numbers are treated at once, as one matrix; each column of texts is looked up in its own
    dictionary. The features are then put into the model's order.
    """
    first, end = {}, 0
    for place, column in enumerate(encoding.columns):
        first[place] = end
        end += width_of(column)
        if features is None:  # inputs are in the order of the columns
            graph.column(column.name, "string" if isinstance(column, Category | Code) else "float64")
    parts, order = [], []  # the features in parts, and which feature each part's columns are
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
    """The numbers of these columns of a table as a matrix (n, c), NaN if missing."""
    values = []
    for column in columns:
        given, kind = graph.column(column.name, "float64")
        if kind != "float64":
            raise ValueError(f"column {column.name!r} is read both as texts and as numbers")
        values.append(graph("Unsqueeze", _part(graph, given, column.read_as), np.array([1])))
    return values[0] if len(values) == 1 else graph("Concat", *values, axis=1)


def _filled(graph: Graph, raw: str, columns: list[Any]) -> str:
    """The numbers scaled as in training, with missing ones filled in if the model takes none."""
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
    spelled = {"": codes.get(MISSING, -1)} | floats | codes  # `predict` also takes 3.0 as the category 3
    if codes.keys() <= {"True", "False", MISSING}:
        for value, others in TRUTHS.items():
            spelled |= dict.fromkeys(others, codes.get(value, -1))
    code = lookup(graph, given, spelled, codes.get(OTHER, -1))
    code = graph("Unsqueeze", code, np.array([1]))
    if isinstance(column, Category):
        return graph.cast(graph("Equal", code, np.arange(len(column.values))), "float64")
    known = graph("GreaterOrEqual", code, np.array([0]))
    return graph("Where", known, graph.cast(code, "float64"), np.array([np.nan]))


def _part(graph: Graph, days: str, read_as: str) -> str:
    """The part of a moment, given as days since 1970 (n,), that becomes a number; other numbers stay."""
    if read_as not in ("month", "weekday", "hour"):
        return days
    whole = graph("Floor", days)
    if read_as == "hour":
        return graph("Mul", graph("Sub", days, whole), np.array(24.0))
    if read_as == "weekday":
        return _rest(graph, graph("Add", whole, np.array(float(WEEKDAY))), 7)
    return _month(graph, whole)


def _month(graph: Graph, day: str) -> str:
    """The month, 1 to 12, of a day since 1970, computed with years that begin in March.

    The leap day is then the last day, and each run of five months has 153 days.
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
    """The remainder of whole numbers divided by another, from 0 to below it."""
    divisor: Array = np.array(float(by))
    return graph("Sub", value, graph("Mul", graph("Floor", graph("Div", value, divisor)), divisor))


# --- the graph in the making -------------------------------------------------------------------------


class GraphBuilder:
    """Nodes and constants so far. A value is known by its name; an array given for one is a constant."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self.onnx = import_extra("onnx", "ONNX", "onnx")
        self.reserved = reserved  # names that column inputs must not have
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: dict[str, Any] = {}  # type and shape by name
        self.outputs: dict[str, Any] = {}
        self.columns: dict[Any, str] = {}  # the inputs that are columns of a table

    def __call__(self, kind: str, *inputs: str | Array, name: str | None = None, **options: Any) -> str:
        """The name of a new node's output: `name`, or a generated one."""
        values = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        output = name or f"/{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, values, [output], name=output, **options))
        return output

    def cast(self, value: str, kind: str, name: str | None = None) -> str:
        return self("Cast", value, name=name, to=self.type(kind))

    def type(self, kind: str) -> int:
        if kind == "string":
            return int(self.onnx.TensorProto.STRING)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def tensor(self, values: Array) -> Any:
        """An array as an attribute of a node."""
        return self.onnx.numpy_helper.from_array(np.asarray(values, order="C"), "values")

    def input(self, name: str, kind: str, *shape: Any) -> str:
        """An input of n rows, each of that shape."""
        self.inputs[name] = (kind, "n", *shape)
        return name

    def column(self, name: Any, kind: str) -> tuple[str, str]:
        """The input (n,) for this column of a table, and its type: `kind`, if it is a new one."""
        if name not in self.columns:
            free = str(name)
            while not free or free.startswith("/") or free in self.reserved or free in self.inputs:
                free = f"column {free}"
            self.columns[name] = self.input(free, kind)
        given = self.columns[name]
        return given, self.inputs[given][0]

    def output(self, name: str, value: str, kind: str, *shape: Any) -> None:
        """Make a value an output: n rows, each of that shape, of that type."""
        self.cast(value, kind, name)
        self.outputs[name] = (kind, "n", *shape)

    def model(self, properties: dict[str, str]) -> Any:
        """The checked model."""
        helper = self.onnx.helper

        def values(wanted: dict[str, Any]) -> list[Any]:
            return [
                helper.make_tensor_value_info(name, self.type(kind), shape)
                for name, (kind, *shape) in wanted.items()
            ]

        graph = helper.make_graph(
            self.nodes, "mixture", values(self.inputs), values(self.outputs), self.constants
        )
        opsets = {"": OPSET} | ({ML: ML_OPSET} if any(n.domain == ML for n in self.nodes) else {})
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*each) for each in opsets.items()],
            ir_version=IR_VERSION,
            producer_name="ratebound",
            producer_version=versions("ratebound").get("ratebound", ""),
        )
        helper.set_model_props(made, properties)
        self.onnx.checker.check_model(made, full_check=True)
        return made

    def _constant(self, value: Array) -> str:
        name = f"/constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name
