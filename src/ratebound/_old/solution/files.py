"""Saving and loading: one safetensors file whose header holds the rest as JSON.

It holds no code, and loading runs none. The header carries a format version and a digest of all content;
a file that was cut short, changed or made by a later version is an error, never half a model. The digest
has no key: it reveals accidents, but anyone who wants to can change a file and its digest. So what is
read is checked too, and anything wrong raises one ValueError that names the file.

A saved model is not changed: a later certificate is kept in a file beside it, which names the model's
digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ratebound._old.base.extras import import_torch
from ratebound._old.base.tensors import read_tensors
from ratebound._old.base.types import Array
from ratebound._old.base.writing import write_whole
from ratebound._old.game.scorer import Saved, read_scorer
from ratebound._old.learners.calibration import Calibration
from ratebound._old.problem.frames import some
from ratebound._old.problem.labels import with_referral
from ratebound._old.rates.kinds import label_classes, referral_of
from ratebound._old.solution._checking import numbers, plain, texts
from ratebound._old.solution.certificate import Certificate
from ratebound._old.solution.deciders import Decider, Draw, GroupThresholds, Sizes, Vote
from ratebound._old.solution.mixture import Members, Mixture
from ratebound._old.solution.record import Record
from ratebound._old.tables.encoding import Encoding

VERSION = 1
DECIDERS: dict[str, type[Decider]] = {kind.kind: kind for kind in (Draw, Vote, GroupThresholds)}
FORMAT = "ratebound mixture"
NAME = "model.safetensors"  # in a folder
SUFFIX = ".safetensors"
CERTIFICATE_SUFFIX = ".certificate.json"  # the ending of a model's certificate, in place of its own


def save(mixture: Mixture, path: str | Path) -> Path:
    """Write `mixture` to a file, whole or not at all; the file's path is returned."""
    from safetensors.numpy import save as to_bytes

    target = Path(path)
    if target.suffix != SUFFIX:
        target = target / NAME
    document, tensors = written(mixture)
    words = json.dumps(document, allow_nan=False)
    header = {"format": FORMAT, "mixture": words, "digest": _digest(words, tensors)}
    return write_whole(target, _in_order(to_bytes(tensors, metadata=header)))


def digest_of_mixture(mixture: Mixture) -> str:
    """A digest of everything that decides; a later certificate is not part of it."""
    document, tensors = written(mixture.recorded(certificate=None))
    return _digest(json.dumps(document, allow_nan=False), tensors)


def save_certificate(certificate: Certificate, path: str | Path) -> Path:
    """Keep a certificate beside a saved model, for `load` to return with it; its path is returned."""
    source = _source(path)
    document = {"model": read_tensors(source)[0]["digest"], "certificate": certificate.to_dict()}
    return write_whole(
        source.with_suffix(CERTIFICATE_SUFFIX), f"{json.dumps(document, indent=2)}\n".encode()
    )


def _in_order(content: bytes) -> bytes:
    """The same safetensors file with the keys of its header sorted; they come in no fixed order."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[end:]


def load(
    path: str | Path, module: Callable[[], Any] | Any = None, *, trusted: Sequence[str] = ()
) -> Mixture:
    """Read a mixture that `save` wrote; `rb.load`, which makes it a policy, explains the parameters."""
    if isinstance(trusted, str):
        raise TypeError(f"trusted takes a list of type names: trusted=[{trusted!r}]")
    source = _source(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no saved model at {source}")
    if not source.is_file():
        raise ValueError(f"{source} is a folder, a device or a pipe, not a file")
    if module is not None and not isinstance(module, import_torch().nn.Module):
        module = module()
    try:
        return _read(source, module, trusted)
    except (ImportError, OSError):
        raise
    except ValueError as error:
        raise ValueError(f"{source} cannot be loaded: {error}") from None
    except Exception as error:  # a crafted file can lead to any of them
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"{source} cannot be loaded, it is not as it was saved: {reason}") from error


def _read(source: Path, module: Any, trusted: Sequence[str]) -> Mixture:
    header, tensors = read_tensors(source)
    if header.get("format") != FORMAT:
        raise ValueError(f"it was not written by ratebound: its header names no {FORMAT!r}")
    words = header.get("mixture", "")
    if header.get("digest") != _digest(words, tensors):
        raise ValueError("it was changed after it was saved: its digest does not match")
    document = json.loads(words, parse_constant=_no_number)
    check_version(document)
    mixture = read(document, tensors, module, trusted)
    certificate_path = source.with_suffix(CERTIFICATE_SUFFIX)
    if not certificate_path.is_file():
        return mixture
    beside = json.loads(certificate_path.read_bytes(), parse_constant=_no_number)
    if beside["model"] != header["digest"]:  # the certificate of an earlier model
        return mixture
    return mixture.recorded(certificate=Certificate.from_dict(beside["certificate"]))


def _source(path: str | Path) -> Path:
    source = Path(path)
    return source / NAME if source.is_dir() else source


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it holds {text} where a number was expected")


def _digest(words: str, tensors: dict[str, Array]) -> str:
    digest = hashlib.sha256(words.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


# --- the words and plain values of a mixture, and its arrays ----------------------------------


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
        **({} if referral_of(mixture.classes) is None else {"refers": True}),
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

    def of_part(part: str) -> dict[str, Array]:
        return {n.removeprefix(part): a for n, a in arrays.items() if n.startswith(part)}

    weights, parameters = _weights(arrays["weights"]), _parameters(arrays["parameters"])
    scorer = read_scorer(Saved(document["scorer"], of_part("scorer "), parameters, module, trusted))
    classes = _classes(document["classes"], document.get("refers", False))
    sizes = Sizes(len(weights), len(parameters), len(classes))
    names = texts(document["thresholds"], "thresholds")
    each = len(weights), len(classes) - 1
    thresholds = {name: numbers(arrays[f"threshold {i}"].reshape(each), each, "a threshold")
                  for i, name in enumerate(names)}  # fmt: skip
    deciding = document["decider"]
    decider = DECIDERS[deciding["kind"]].read(deciding, of_part("decider "), sizes)
    encoding, calibration = document["encoding"], document["calibration"]
    mixture = Mixture(
        Members(weights, parameters, scorer, thresholds),
        decider,
        Record.from_json(document["record"]),
        classes,
        None if encoding is None else Encoding.from_json(encoding),
        None if calibration is None else Calibration.from_json(calibration, len(label_classes(classes))),
    )
    _check_width(mixture)
    return mixture


def _weights(values: Array) -> Array:
    weights = numbers(values, (len(values),), "weights")
    if not len(weights) or (weights <= 0).any() or abs(weights.sum() - 1) > 1e-6:
        raise ValueError("its weights are not probabilities that sum to 1")
    return weights


def _parameters(values: Array) -> Array:
    if values.ndim != 2 or not len(values) or values.dtype.kind not in "iuf":
        raise ValueError(f"its parameters are {values.dtype} of shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("its parameters hold NaN or infinite values")
    return values


def _classes(values: Any, refers: bool) -> tuple[Any, ...]:
    classes = tuple(map(plain, values))
    labels = classes[:-1] if refers else classes
    if len(labels) < 2 or len(np.unique(np.asarray(labels))) != len(labels):
        raise ValueError(f"its labels are not two or more different ones: {some(list(classes))}")
    return with_referral(labels, classes[-1]) if refers else classes


def _check_width(mixture: Mixture) -> None:
    """Raise unless all parts have the same number of features."""
    width, encoding = mixture.scorer.width(mixture.parameters), mixture.encoding
    if encoding is not None and encoding.style != "table" and width not in (None, len(encoding.names)):
        raise ValueError(f"its models take {width} features, and its encoding has {len(encoding.names)}")
    scale = None if mixture.decider.draw is None else mixture.decider.draw.feature_scale
    if scale is not None and width not in (None, len(scale.center)):
        raise ValueError(f"its models take {width} features, and its scales are of {len(scale.center)}")
