"""A mixture as one ONNX file, to decide where there is no Python; the graph is written node by node.

The file needs none of our code to run. What it decides is what `Mixture.predict` decides for the same
key, up to rounding: another runtime adds up in another order, so a score that differs from 0 in its
last digits only may fall on the other side.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import numpy as np

from ratebound.base.extras import versions
from ratebound.base.writing import write_whole
from ratebound.solution._deciding_graph import said_of
from ratebound.solution._encoding_graph import encoded
from ratebound.solution._graph import GraphBuilder
from ratebound.solution.deciders import CHOOSERS
from ratebound.solution.mixture import Mixture

OUTPUTS = ("decision", "decision_probability", "probability", "scores")
RESERVED = frozenset({"features", *CHOOSERS, *OUTPUTS})


def to_onnx(mixture: Mixture, path: str | Path, *, choose: Literal["key", "uniform"] = "key") -> Path:
    """Write `mixture` to an ONNX file at `path`, which is returned. Needs ``ratebound[onnx]``.

    A model fitted on a table has an input for each column it sees, of n values, by the column's name:

    - a text (``string``) for a column of texts, of truth values ("True", "False") or of categories; ""
      is a missing one, unless "" was a value in training. Texts are spelled as in training, and one
      that was not seen is treated as `predict` treats it.
    - a number (``float64``) for a column of numbers, NaN where one is missing. A moment is its days
      since 1970 in UTC, with their fraction, and a duration its days.

    The columns of known groups are inputs too, as texts where their values are texts or truth values,
    else as numbers. A column whose name is taken is called "column ..."; the file's metadata list all.

    Other models have one input, ``features`` (n, d): the raw columns of an array, which the graph
    scales, or without an encoding what the models were trained on. It is float32, so numbers that need
    more than seven digits lose the rest; boosted trees take float64.

    Beside these:

    - ``key`` (n,) int64 with ``choose="key"``: an entity's whole-number id, hashed in the graph just as
      ``mixture.predict(X, key=ids)`` hashes it.
    - ``uniform`` (n,) float64 in [0, 1) with ``choose="uniform"``: the number that chooses the member,
      for ids that are texts. ``mixture.uniform(X, key=ids)`` gives the one `predict` uses with a key,
      and ``mixture.uniform(X)`` the one it uses without.

    A vote chooses no member: its file takes neither, whatever `choose` is.

    Outputs: ``decision`` (n,) int64 by the chosen member or the vote, 0 for no and 1 for yes;
    ``decision_probability`` (n,) float32 of deciding yes; ``probability`` (n,) float32 that the label is
    yes, if the mixture is calibrated; ``scores`` (n, M) float32 of every member. With D > 2 classes a
    decision is a class's place among the metadata's ``classes``, probabilities are (n, D) in their
    order, and scores (n, M, D). Where `predict` raises an error the file cannot: a row without a score,
    or of a group that is not known, has scores that are NaN, and the decision is no, or class 0.

    The metadata hold the problem in words, its status, the names of the classes, the inputs, the
    features' names, the weights, the salt and the version of this library. Linear models, lattices,
    boosted trees and plain chains of PyTorch layers can be written, and others whose scorer has a
    `to_graph`.
    """
    if choose not in CHOOSERS:
        raise ValueError(f"choose must be 'key' or 'uniform', got {choose!r}")
    graph = GraphBuilder(RESERVED)
    models = mixture.scorer.to_graph(graph, mixture.parameters, _features(graph, mixture))
    scores = mixture.decider.member_nodes(graph, models)
    said = said_of(graph, scores, mixture.weights, len(mixture.classes))
    shares, decided = mixture.decider.decided_nodes(graph, said, mixture.weights, choose)
    each = () if said.classes == 2 else (said.classes,)  # one number for yes, or one for each class
    graph.output("decision", _flat(graph, decided), "int64")
    graph.output("decision_probability", shares if each else _flat(graph, shares), "float32", *each)
    if mixture.calibration is not None:
        graph.output("probability", _label_probability(graph, mixture, models), "float32", *each)
    shown = scores if each else graph("Squeeze", scores, np.array([2]))
    graph.output("scores", shown, "float32", len(mixture), *each)
    return write_whole(path, graph.model(_metadata(mixture, graph)).SerializeToString())


def _features(graph: GraphBuilder, mixture: Mixture) -> str:
    """What the models see, from inputs that are declared here."""
    encoding, scorer = mixture.encoding, mixture.scorer
    if encoding is not None and encoding.from_frame:
        if encoding.style == "table":
            raise ValueError(
                "to_onnx cannot write this model: it reads tables with code of its own, a pipeline's"
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
    if len(mixture.classes) > 2:  # in double precision, since odds of many classes may be far apart
        return graph("Softmax", odds, axis=1)
    return _flat(graph, graph("Sigmoid", graph.cast(odds, "float32")))


def _flat(graph: GraphBuilder, column: str) -> str:
    return graph("Squeeze", column, np.array([1]))


def _metadata(mixture: Mixture, graph: GraphBuilder) -> dict[str, str]:
    classes = [value.item() if hasattr(value, "item") else value for value in mixture.classes]
    found = {
        "problem": str(mixture.problem),
        "status": str(mixture.status),
        "classes": json.dumps(classes, default=str),
        "decides": mixture.decider.how,
        "weights": json.dumps(mixture.weights.tolist()),
        "ratebound": versions("ratebound").get("ratebound", ""),
    }
    if mixture.decider.draw is not None:
        found["salt"] = str(mixture.decider.draw.salt)
    if graph.columns:
        columns = [
            {"input": given, "column": name, "type": graph.inputs[given][0]}
            for name, given in graph.columns.items()
        ]
        found["columns"] = json.dumps(columns, default=str)
    if mixture.encoding is None:
        return {**found, "features": "as the models were trained on"}
    kind = "one input for each column" if mixture.encoding.from_frame else "raw columns"
    return {**found, "features": kind, "feature_names": json.dumps(mixture.encoding.names)}
