"""Saving and loading: one safetensors file whose header holds the rest as JSON.

Nothing in it is code, and loading runs none. The header carries a format version and a digest of all
content; a file that was cut short, changed or made by a later version is an error, never half a model.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.learners.encoding import Encoding
from ratebound.learners.linear import LinearScorer
from ratebound.problem.problem import Problem
from ratebound.rates.named import demands
from ratebound.rates.text import parse
from ratebound.solution.cells import Cells
from ratebound.solution.mixture import Mixture
from ratebound.solution.status import Status
from ratebound.solution.writing import write_whole

FORMAT = "ratebound mixture"
VERSION = 1
NAME = "model.safetensors"  # in a folder
SUFFIX = ".safetensors"


def save(mixture: Mixture, path: str | Path) -> Path:
    """Write `mixture` to a file, whole or not at all; the file's path is returned."""
    from safetensors.numpy import save as to_bytes

    target = Path(path)
    if target.suffix != SUFFIX:
        target = target / NAME
    tensors = {
        "weights": np.ascontiguousarray(mixture.weights, dtype=np.float64),
        "parameters": np.ascontiguousarray(mixture.parameters),
    }
    description, arrays = mixture.scorer.describe()
    tensors |= {f"scorer {name}": np.ascontiguousarray(array) for name, array in arrays.items()}
    for index, name in enumerate(mixture.thresholds):
        tensors[f"threshold {index}"] = np.ascontiguousarray(mixture.thresholds[name], dtype=np.float64)
    if mixture.cells is not None:
        tensors["cells model"] = np.ascontiguousarray(mixture.cells.model, dtype=np.int64)
        tensors["cells at"] = np.ascontiguousarray(mixture.cells.at, dtype=np.float64)
    words = json.dumps(_document(mixture, description), allow_nan=False)
    header = {"format": FORMAT, "mixture": words, "digest": _digest(words, tensors)}
    return write_whole(target, _in_order(to_bytes(tensors, metadata=header)))


def _in_order(content: bytes) -> bytes:
    """The same safetensors file with the keys of its header sorted; they come in no fixed order."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[end:]


def load(
    path: str | Path, module: Callable[[], Any] | Any = None, *, trusted: Sequence[str] = ()
) -> Mixture:
    """Read a mixture that `save` wrote, from its file or folder.

    `module` is needed for models of a PyTorch module of your own: the module, or a function making it,
    since a file holds its parameters but never its code. `trusted` names types that a scikit-learn
    estimator in the file may hold, beyond those skops trusts; the error for one that is not trusted
    names it.
    """
    from safetensors import SafetensorError, safe_open

    if isinstance(trusted, str):
        raise TypeError(f"trusted takes a list of types' names: trusted=[{trusted!r}]")

    source = Path(path)
    if source.is_dir():
        source = source / NAME
    if not source.exists():
        raise FileNotFoundError(f"there is no saved model at {source}")
    try:
        with safe_open(source, framework="numpy") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{source} is not a whole safetensors file: {error}") from None
    if header.get("format") != FORMAT:
        raise ValueError(f"{source} was not written by ratebound: its header names no {FORMAT!r}")
    words = header.get("mixture", "")
    if header.get("digest") != _digest(words, tensors):
        raise ValueError(f"{source} was changed after it was saved: its digest does not match")
    document = json.loads(words)
    if document["version"] > VERSION:
        raise ValueError(
            f"{source} has format version {document['version']}, this ratebound reads up to {VERSION}: "
            "update ratebound"
        )
    return _mixture(document, tensors, module, source, trusted)


def _document(mixture: Mixture, scorer: dict[str, Any]) -> dict[str, Any]:
    status = mixture.status
    return {
        "version": VERSION,
        "minimize": str(mixture.problem.minimize),
        "subject_to": [{"words": str(c), "name": c.name} for c in mixture.problem.subject_to],
        "scorer": scorer,
        "classes": [_plain(value) for value in mixture.classes],
        "encoding": None if mixture.encoding is None else mixture.encoding.to_json(),
        "salt": mixture.salt,
        "vote": mixture.vote,
        "thresholds": list(mixture.thresholds),
        "cells": None if mixture.cells is None else _describe_cells(mixture.cells),
        "objectives": mixture.objectives,
        "violations": {name: values.tolist() for name, values in mixture.violations.items()},
        "status": [status.feasible, status.violation, status.message],
        "audited": mixture.audited,
        "made_with": {
            "ratebound": metadata.version("ratebound"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def _mixture(
    document: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    module: Any,
    source: Path,
    trusted: Sequence[str],
) -> Mixture:
    objective, promises = document["minimize"], document["subject_to"]
    read = [replace(parse(promise["words"]), name=promise["name"]) for promise in promises]
    problem = Problem(objective, read)
    constraints = tuple(c for promise in problem.subject_to for c, _ in demands(promise))
    feasible, violation, message = document["status"]
    encoding = document["encoding"]
    no, yes = document["classes"]
    return Mixture(
        problem=problem,
        constraints=constraints,
        weights=tensors["weights"],
        parameters=tensors["parameters"],
        thresholds={name: tensors[f"threshold {i}"] for i, name in enumerate(document["thresholds"])},
        scorer=_build_scorer(document["scorer"], tensors, module, source, trusted),
        objectives=document["objectives"],
        violations={name: np.array(values) for name, values in document["violations"].items()},
        setting=None,
        status=Status(feasible, violation, (), (), message),
        classes=(no, yes),
        encoding=None if encoding is None else Encoding.from_json(encoding),
        salt=int(document["salt"]),
        audited=document["audited"],
        vote=bool(document.get("vote", False)),
        cells=_build_cells(document.get("cells"), tensors),
    )


def _describe_cells(cells: Cells) -> dict[str, Any]:
    values = [[_plain(value) for value in cell] for cell in cells.values]
    return {"columns": list(cells.columns), "values": values, "given": cells.given}


def _build_cells(description: dict[str, Any] | None, tensors: dict[str, NDArray[Any]]) -> Cells | None:
    if description is None:
        return None
    return Cells(
        columns=tuple(description["columns"]),
        values=tuple(tuple(cell) for cell in description["values"]),
        weights=tensors["weights"],
        model=tensors["cells model"],
        at=tensors["cells at"],
        given=bool(description["given"]),
    )


def _build_scorer(
    description: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    module: Any,
    source: Path,
    trusted: Sequence[str],
) -> Any:
    """The scorer that `describe` described."""
    if description["kind"] == "linear":
        return LinearScorer(str(description["dtype"]))
    if description["kind"] == "boosted":
        from ratebound.learners.boosted import read_scorer

        return read_scorer(description, tensors)
    if description["kind"] == "oracle":
        from ratebound.learners import oracle

        return oracle.read_scorer(description, tensors, trusted)
    if description["kind"] != "torch":
        raise ValueError(f"{source} holds an unknown kind of model, {description['kind']!r}")
    from ratebound.learners.architecture import build
    from ratebound.learners.extras import import_torch
    from ratebound.learners.torch import TorchScorer

    if module is None:
        if description["layers"] is None:
            raise ValueError(
                f"{source} holds parameters of a module of your own, {description['module']}: pass it, "
                "or a function making it, as rb.load(path, module=...)"
            )
        module = build(description["layers"])
    is_module = isinstance(module, import_torch().nn.Module)
    scorer = TorchScorer(module if is_module else module())
    width = tensors["parameters"].shape[1]
    held = sum(shape.numel() for shape in scorer.shapes.values())
    if held != width:
        raise ValueError(
            f"{source} holds {width:,} parameters a model, and {type(scorer.module).__name__} has "
            f"{held:,}: pass the module it was trained with"
        )
    return scorer


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, str | bool | int | float):
        return plain
    raise ValueError(f"labels must be texts, numbers or truth values to be saved, got {value!r}")


def _digest(words: str, tensors: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(words.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
