"""An ONNX graph in the making: nodes, constants, inputs and outputs, each known by its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound.base.extras import import_extra, versions
from ratebound.base.types import Array

OPSET = 18  # the first with BitwiseXor
ML_OPSET = 3  # of ai.onnx.ml: the first whose trees compare in double precision
IR_VERSION = 8  # the one that came with them, so that no runtime which knows the opsets refuses the file
ML = "ai.onnx.ml"


class GraphBuilder:
    """Nodes and constants so far. A value is known by its name; an array given for one is a constant."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self.onnx = import_extra("onnx", "ONNX", "onnx")
        self.reserved = reserved  # names that no input for a column may have
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: dict[str, Any] = {}  # type and shape by name
        self.outputs: dict[str, Any] = {}
        self.columns: dict[Any, str] = {}  # the inputs that are columns of a table

    def __call__(self, kind: str, *inputs: str | Array, name: str | None = None, **options: Any) -> str:
        """The name of the output of a new node: `name`, or one made up."""
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
        """The input (n,) that is this column of a table, and its type: `kind`, where it is a new one."""
        if name not in self.columns:
            free = str(name)
            while not free or free.startswith("/") or free in self.reserved or free in self.inputs:
                free = f"column {free}"
            self.columns[name] = self.input(free, kind)
        found = self.columns[name]
        return found, self.inputs[found][0]

    def output(self, name: str, value: str, kind: str, *shape: Any) -> None:
        """Make a value an output of n rows, each of that shape, of that type."""
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
