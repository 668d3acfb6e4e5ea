"""The part of a mixture that is words and plain values, as JSON; what is read is checked.

A file may come from anyone, and its digest has no key. So nothing is taken for granted: what would make
a mixture that cannot decide is refused here, where it is read, and not found out in prediction.
"""

from __future__ import annotations

import math
import platform
from dataclasses import asdict
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.game.scorer import Scorer
from ratebound.learners.encoding import Encoding
from ratebound.problem.feature_scale import FeatureScale
from ratebound.problem.plain import from_plain, to_plain
from ratebound.rates.expressions import Constraint
from ratebound.solution.cells import Cells
from ratebound.solution.mixture import Mixture
from ratebound.solution.status import Status

Array = NDArray[Any]
VERSION = 1


def document_of(mixture: Mixture, scorer: dict[str, Any]) -> dict[str, Any]:
    """All of a mixture but its arrays; `scorer` is how its scorer describes itself."""
    return {
        "version": VERSION,
        **to_plain(mixture.problem),
        "scorer": scorer,
        "classes": [_plain(value) for value in mixture.classes],
        "encoding": None if mixture.encoding is None else mixture.encoding.to_json(),
        "feature_scale": None if mixture.feature_scale is None else asdict(mixture.feature_scale),
        "salt": mixture.salt,
        "vote": mixture.vote,
        "thresholds": list(mixture.thresholds),
        "cells": None if mixture.cells is None else _describe_cells(mixture.cells),
        "objectives": mixture.objectives,
        "violations": {name: values.tolist() for name, values in mixture.violations.items()},
        "status": _describe_status(mixture.status, mixture.constraints),
        "audited": mixture.audited,
        "made_with": {
            "ratebound": metadata.version("ratebound"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def check_version(document: Any) -> None:
    """Whether this version can read a document at all."""
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise ValueError(f"it has no format version from 1 on, but {version!r}")
    if version > VERSION:
        raise ValueError(
            f"it has format version {version}, this ratebound reads up to {VERSION}: update ratebound"
        )


def mixture_of(document: dict[str, Any], tensors: dict[str, Array], scorer: Scorer) -> Mixture:
    """The mixture that `document_of` described, with its arrays."""
    problem = from_plain(document)
    constraints = tuple(demand.words for demand in problem.demands)
    weights, parameters = _weights(tensors["weights"]), models_of(tensors)
    cells = _cells(document["cells"], tensors, len(parameters))
    if cells is None and len(parameters) != len(weights):
        raise ValueError(f"it has {len(weights)} weights for {len(parameters)} models")
    names = _texts(document["thresholds"], "thresholds")
    thresholds = {name: _numbers(tensors[f"threshold {i}"], (len(weights),), "a threshold")
                  for i, name in enumerate(names)}  # fmt: skip
    violations = {str(name): _numbers(values, (len(constraints),), "violations")
                  for name, values in document["violations"].items()}  # fmt: skip
    objectives = {str(name): float(value) for name, value in document["objectives"].items()}
    if objectives.keys() != violations.keys():
        raise ValueError("its objectives and its violations are of different populations")
    encoding = document["encoding"]
    audited, salt = document["audited"], document["salt"]
    if type(salt) is not int or not 0 <= salt < 2**64 or not isinstance(audited, dict):
        raise ValueError("its salt is no whole number below 2^64, or its audit no mapping")
    return Mixture(
        problem=problem,
        constraints=constraints,
        weights=weights,
        parameters=parameters,
        thresholds=thresholds,
        scorer=scorer,
        objectives=objectives,
        violations=violations,
        setting=None,
        status=_status(document["status"], constraints),
        classes=_classes(document["classes"]),
        encoding=None if encoding is None else Encoding.from_json(encoding),
        feature_scale=_feature_scale(document["feature_scale"]),
        salt=salt,
        audited=audited,
        vote=_flag(document["vote"]),
        cells=cells,
    )


def _weights(given: Array) -> Array:
    weights = _numbers(given, (len(given),), "weights")
    if not len(weights) or (weights <= 0).any() or abs(weights.sum() - 1) > 1e-6:
        raise ValueError("its weights are no probabilities that sum to 1")
    return weights


def models_of(tensors: dict[str, Array]) -> Array:
    """The models' parameters (B, P)."""
    parameters = tensors["parameters"]
    if parameters.ndim != 2 or not len(parameters) or parameters.dtype.kind not in "iuf":
        raise ValueError(f"its parameters are {parameters.dtype} of shape {parameters.shape}")
    if not np.isfinite(parameters).all():
        raise ValueError("its parameters hold NaN or infinite values")
    return parameters


def _feature_scale(data: dict[str, Any] | None) -> FeatureScale | None:
    if data is None:
        return None
    size = (len(data["center"]),)
    center, scale = (_numbers(data[name], size, name) for name in ("center", "scale"))
    if (scale <= 0).any():
        raise ValueError("its features have no scale above 0")
    return FeatureScale(tuple(center.tolist()), tuple(scale.tolist()))


def _describe_cells(cells: Cells) -> dict[str, Any]:
    values = [[_plain(value) for value in cell] for cell in cells.values]
    return {"columns": list(cells.columns), "values": values, "given": cells.given}


def _cells(description: Any, tensors: dict[str, Array], models: int) -> Cells | None:
    if description is None:
        return None
    columns = tuple(_texts(description["columns"], "known columns"))
    values = tuple(tuple(map(_plain, cell)) for cell in description["values"])
    weights, model, at = tensors["weights"], tensors["cells model"], tensors["cells at"]
    shape = (len(weights), len(values))
    if any(len(cell) != len(columns) for cell in values) or len(set(values)) != len(values):
        raise ValueError("its known cells do not fit their columns")
    if not values or model.shape != shape or at.shape != shape or np.isnan(at).any():
        raise ValueError("its thresholds do not fit its known cells")
    if model.dtype.kind != "i" or at.dtype.kind != "f" or model.min() < 0 or model.max() >= models:
        raise ValueError("its known cells name models that it has not")
    return Cells(columns, values, weights, model, at, _flag(description["given"]))


def _describe_status(status: Status, constraints: tuple[Constraint, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"feasible": status.feasible, "violation": status.violation}
    for name in ("broken", "conflict"):
        found[name] = [constraints.index(each) for each in getattr(status, name)]
    return found | {"message": status.message}


def _status(data: dict[str, Any], constraints: tuple[Constraint, ...]) -> Status:
    def named(indices: Any) -> tuple[Constraint, ...]:
        if not all(type(i) is int and 0 <= i < len(constraints) for i in indices):
            raise ValueError("its status speaks of constraints that it has not")
        return tuple(constraints[i] for i in indices)

    violation, message = float(data["violation"]), str(data["message"])
    broken, conflict = named(data["broken"]), named(data["conflict"])
    return Status(_flag(data["feasible"]), violation, broken, conflict, message)


def _classes(values: Any) -> tuple[Any, Any]:
    no, yes = map(_plain, values)
    if len(np.unique(np.asarray((no, yes)))) != 2:
        raise ValueError(f"its two labels are one, {no!r} and {yes!r}")
    return no, yes


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, str | bool | int) or (isinstance(plain, float) and math.isfinite(plain)):
        return plain
    raise ValueError(f"labels must be texts, numbers or truth values to be saved, got {value!r}")


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} stands where true or false is expected")
    return value


def _texts(values: Any, what: str) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"its {what} are no texts")
    if len(set(values)) != len(values):
        raise ValueError(f"its {what} are not all different")
    return values


def _numbers(values: Any, shape: tuple[int, ...], what: str) -> Array:
    found = np.asarray(values)
    if found.shape == shape and not found.size:
        return found.astype(float)
    if found.shape != shape or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ValueError(f"its {what} are {found.dtype} of shape {found.shape}, not {shape} numbers")
    return found.astype(float, copy=False)
