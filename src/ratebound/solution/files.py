"""Saving and loading: one safetensors file whose header holds the rest as JSON.

Nothing in it is code, and loading runs none. The header carries a format version and a digest of all
content; a file that was cut short, changed or made by a later version is an error, never half a model.
The digest has no key: it reveals accidents, but anyone who wants to can change a file and its digest.
So what is read is checked as well, and whatever is wrong with it is one ValueError that names the file.

A model once saved is not changed: a certificate that it gets later is kept in a file beside it, which
names the model's digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ratebound.base.extras import import_torch
from ratebound.base.tensors import read_tensors
from ratebound.base.types import Array
from ratebound.base.writing import write_whole
from ratebound.solution._documents import check_version, read, written
from ratebound.solution.certificate import Certificate
from ratebound.solution.mixture import Mixture

FORMAT = "ratebound mixture"
NAME = "model.safetensors"  # in a folder
SUFFIX = ".safetensors"
BESIDE = ".certificate.json"  # how the certificate of a model ends, in place of that


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


def save_certificate(certificate: Certificate, path: str | Path) -> Path:
    """Keep a certificate beside a saved model, which `load` then gives with it; where is returned."""
    source = _source(path)
    document = {"model": read_tensors(source)[0]["digest"], "certificate": certificate.to_dict()}
    return write_whole(source.with_suffix(BESIDE), f"{json.dumps(document, indent=2)}\n".encode())


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
    except Exception as error:  # whatever a file can be made to lead to
        said = f"{type(error).__name__}: {error}"
        raise ValueError(f"{source} cannot be loaded, it is not as it was saved: {said}") from error


def _read(source: Path, module: Any, trusted: Sequence[str]) -> Mixture:
    header, tensors = read_tensors(source)
    if header.get("format") != FORMAT:
        raise ValueError(f"it was not written by ratebound: its header names no {FORMAT!r}")
    words = header.get("mixture", "")
    if header.get("digest") != _digest(words, tensors):
        raise ValueError("it was changed after it was saved: its digest does not match")
    document = json.loads(words, parse_constant=_no_number)
    check_version(document)
    found, beside = read(document, tensors, module, trusted), source.with_suffix(BESIDE)
    if not beside.is_file():
        return found
    kept = json.loads(beside.read_bytes(), parse_constant=_no_number)
    if kept["model"] != header["digest"]:  # that of another model, which was here before
        return found
    return found.recorded(certificate=Certificate.from_dict(kept["certificate"]))


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
