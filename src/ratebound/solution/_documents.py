"""The part of a mixture that is words and plain values, as JSON; what is read is checked.

A file may come from anyone, and its digest has no key. So nothing is taken for granted: what would make
a mixture that cannot decide is refused here, on reading, rather than found out in prediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Saved, read_scorer
from ratebound.problem.frames import some
from ratebound.solution._checking import numbers, plain, texts
from ratebound.solution._group_thresholds import GroupThresholds
from ratebound.solution._record import Record
from ratebound.solution.calibration import Calibration
from ratebound.solution.deciders import Decider, Draw, Sizes, Vote
from ratebound.solution.mixture import Members, Mixture
from ratebound.tables.encoding import Encoding

VERSION = 1
DECIDERS: dict[str, type[Decider]] = {kind.kind: kind for kind in (Draw, Vote, GroupThresholds)}


def written(mixture: Mixture) -> tuple[dict[str, Any], dict[str, Array]]:
    """All of a mixture, as plain JSON and arrays by name."""
    members, decider = mixture.members, mixture.decider
    scoring, scorer_arrays = members.scorer.describe()
    deciding, decider_arrays = decider.describe()
    arrays = {
        "weights": members.weights.astype(np.float64),
        "parameters": members.parameters,
        **{f"scorer {name}": array for name, array in scorer_arrays.items()},
        **{f"decider {name}": array for name, array in decider_arrays.items()},
        **{f"threshold {i}": t.astype(np.float64) for i, t in enumerate(members.thresholds.values())},
    }
    document = {
        "version": VERSION,
        "record": mixture.record.to_json(),
        "scorer": {"kind": members.scorer.kind, **scoring},
        "decider": {"kind": decider.kind, **deciding},
        "thresholds": list(members.thresholds),
        "classes": [plain(value) for value in mixture.classes],
        "encoding": None if mixture.encoding is None else mixture.encoding.to_json(),
        "calibration": None if mixture.calibration is None else mixture.calibration.to_json(),
    }
    return document, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def check_version(document: Any) -> None:
    """Raise unless this version can read the document at all."""
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise ValueError(f"its format version is {version!r}, not a whole number of at least 1")
    if version > VERSION:
        raise ValueError(
            f"it has format version {version}, this ratebound reads up to {VERSION}: update ratebound"
        )


def read(document: dict[str, Any], arrays: dict[str, Array], module: Any, trusted: Any) -> Mixture:
    """The mixture that `written` wrote; `module` and `trusted` are for its scorer."""

    def own(part: str) -> dict[str, Array]:
        return {n.removeprefix(part): a for n, a in arrays.items() if n.startswith(part)}

    weights, parameters = _weights(arrays["weights"]), _parameters(arrays["parameters"])
    scorer = read_scorer(Saved(document["scorer"], own("scorer "), parameters, module, trusted))
    classes = _classes(document["classes"])
    sizes = Sizes(len(weights), len(parameters), len(classes))
    names = texts(document["thresholds"], "thresholds")
    each = len(weights), len(classes) - 1
    thresholds = {name: numbers(arrays[f"threshold {i}"].reshape(each), each, "a threshold")
                  for i, name in enumerate(names)}  # fmt: skip
    deciding = document["decider"]
    decider = DECIDERS[deciding["kind"]].read(deciding, own("decider "), sizes)
    encoding, calibration = document["encoding"], document["calibration"]
    found = Mixture(
        Members(weights, parameters, scorer, thresholds),
        decider,
        Record.from_json(document["record"]),
        classes,
        None if encoding is None else Encoding.from_json(encoding),
        None if calibration is None else Calibration.from_json(calibration, len(classes)),
    )
    _check_width(found)
    return found


def _weights(given: Array) -> Array:
    weights = numbers(given, (len(given),), "weights")
    if not len(weights) or (weights <= 0).any() or abs(weights.sum() - 1) > 1e-6:
        raise ValueError("its weights are not probabilities that sum to 1")
    return weights


def _parameters(given: Array) -> Array:
    if given.ndim != 2 or not len(given) or given.dtype.kind not in "iuf":
        raise ValueError(f"its parameters are {given.dtype} of shape {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError("its parameters hold NaN or infinite values")
    return given


def _classes(values: Any) -> tuple[Any, ...]:
    classes = tuple(map(plain, values))
    if len(classes) < 2 or len(np.unique(np.asarray(classes))) != len(classes):
        raise ValueError(f"its labels are not two or more different ones: {some(list(classes))}")
    return classes


def _check_width(mixture: Mixture) -> None:
    """Raise unless all parts have the same number of features."""
    width, encoding = mixture.scorer.width(mixture.parameters), mixture.encoding
    if encoding is not None and encoding.style != "table" and width not in (None, len(encoding.names)):
        raise ValueError(f"its models take {width} features, and its encoding has {len(encoding.names)}")
    scale = None if mixture.decider.draw is None else mixture.decider.draw.feature_scale
    if scale is not None and width not in (None, len(scale.center)):
        raise ValueError(f"its models take {width} features, and its scales are of {len(scale.center)}")
