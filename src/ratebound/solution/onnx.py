"""A mixture as one ONNX file, to decide where there is no Python; the graph is written node by node.

The file needs none of our code to run. What it decides is what `Mixture.predict` decides for the same
key, up to rounding: another runtime adds up in another order, so a score that differs from 0 in its
last digits only may fall on the other side.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ratebound.base.extras import import_extra, versions
from ratebound.base.types import Array
from ratebound.base.writing import write_whole
from ratebound.solution.deciders import CHOOSERS
from ratebound.solution.mixture import Mixture
from ratebound.tables.columns import Number

OPSET = 18  # the first with BitwiseXor
IR_VERSION = 8  # the one that came with it, so that no runtime which knows the opset refuses the file


def to_onnx(mixture: Mixture, path: str | Path, *, choose: Literal["key", "uniform"] = "key") -> Path:
    """Write `mixture` to an ONNX file at `path`, which is returned. Needs ``ratebound[onnx]``.

    Inputs, for n rows:

    - ``features`` (n, d) float32. With an encoding fitted on an array these are the raw columns, which
      the graph standardises; with one fitted on a DataFrame they are the encoded features,
      ``mixture.features(table)``, whose names are in the file's metadata; without an encoding they are
      what the models were trained on. Numbers that need more than seven digits, such as times in
      seconds, lose the rest here.
    - ``key`` (n,) int64 with ``choose="key"``: an entity's whole-number id, hashed in the graph just as
      ``mixture.predict(X, key=ids)`` hashes it.
    - ``uniform`` (n,) float64 in [0, 1) with ``choose="uniform"``: the number that chooses the member,
      for ids that are texts. ``mixture.uniform(X, key=ids)`` gives the one `predict` uses with a key,
      and ``mixture.uniform(X)`` the one it uses without.

    A vote chooses no member: its file takes the features alone, whatever `choose` is.

    Outputs: ``probability`` (n,) float32 of yes under the mixture; ``decision`` (n,) int64 by the chosen
    member or the vote, 0 for no and 1 for yes; ``scores`` (n, M) float32 of every member. Where features
    hold NaN, lattice models have a score; for other models `predict` raises an error and the file
    cannot: its scores are NaN, which counts as no.

    The metadata hold the problem in words, its status, the names of no and yes, the features' names, the
    weights, the salt and the version of this library. Linear models, lattice models and plain chains of
    PyTorch layers can be written, and others whose scorer has a `to_graph`.
    """
    if choose not in CHOOSERS:
        raise ValueError(f"choose must be 'key' or 'uniform', got {choose!r}")
    graph = _Graph(import_extra("onnx", "ONNX", "onnx"))
    scores = mixture.decider.member_nodes(graph, _scores(graph, mixture))
    width = mixture.scorer.width(mixture.parameters)
    graph.cast(scores, "float32", "scores")
    yes = graph("GreaterOrEqual", graph.cast(scores, "float64"), np.zeros(1))
    share = graph("MatMul", graph.cast(yes, "float64"), np.asarray(mixture.weights, float)[:, None])
    more, share, decided = mixture.decider.decided_nodes(graph, yes, share, mixture.weights, choose)
    graph("Squeeze", graph.cast(share, "float32"), np.array([1]), name="probability")
    graph("Squeeze", decided, np.array([1]), name="decision")
    model = graph.model(
        {
            "features": ("float32", "n", "d" if width is None else width),
            **{name: (kind, "n") for name, kind in more.items()},
        },
        {
            "probability": ("float32", "n"),
            "decision": ("int64", "n"),
            "scores": ("float32", "n", len(mixture)),
        },
        _metadata(mixture),
    )
    return write_whole(path, model.SerializeToString())


class _Graph:
    """Nodes and constants so far. A value is known by its name; an array given for one is a constant."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, kind: str, *inputs: str | Array, name: str | None = None, **options: Any) -> str:
        """The name of the output of a new node: `name`, or one made up."""
        values = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, values, [output], name=output, **options))
        return output

    def cast(self, value: str, kind: str, name: str | None = None) -> str:
        return self("Cast", value, name=name, to=self.type(kind))

    def type(self, kind: str) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def model(self, inputs: dict[str, Any], outputs: dict[str, Any], properties: dict[str, str]) -> Any:
        """The checked model; inputs and outputs are types and shapes by name."""
        helper = self.onnx.helper

        def values(wanted: dict[str, Any]) -> list[Any]:
            return [
                helper.make_tensor_value_info(name, self.type(kind), shape)
                for name, (kind, *shape) in wanted.items()
            ]

        made = helper.make_model(
            helper.make_graph(self.nodes, "mixture", values(inputs), values(outputs), self.constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="ratebound",
            producer_version=versions("ratebound").get("ratebound", ""),
        )
        helper.set_model_props(made, properties)
        self.onnx.checker.check_model(made, full_check=True)
        return made

    def _constant(self, value: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


# --- scores --------------------------------------------------------------------------------------


def _scores(graph: _Graph, mixture: Mixture) -> str:
    """The models' scores (n, M)."""
    features, encoding = "features", mixture.encoding
    if encoding is not None and not encoding.from_frame and encoding.style == "scaled":
        columns = [column for column in encoding.columns if isinstance(column, Number)]
        centered = graph("Sub", graph.cast(features, "float64"), np.array([c.center for c in columns]))
        features = graph("Div", centered, np.array([c.scale for c in columns]))
    return mixture.scorer.to_graph(graph, mixture.parameters, features)


# --- words ---------------------------------------------------------------------------------------


def _metadata(mixture: Mixture) -> dict[str, str]:
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
    if mixture.encoding is None:
        return {**found, "features": "as the models were trained on"}
    kind = "encoded, as by mixture.features" if mixture.encoding.from_frame else "raw columns"
    return {**found, "features": kind, "feature_names": json.dumps(mixture.encoding.names)}
