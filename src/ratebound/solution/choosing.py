"""Which member of a mixture decides a row: a hash of the row, so that the same row gets the same answer.

Each row becomes a number in [0, 1) that looks random and never changes; the member whose stretch of
cumulative weight it falls into decides. An entity's id is the best key. Without one the features are
hashed, rounded first, since the last digits of floats vary from machine to machine.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.problem.frames import as_array

Array = NDArray[Any]
GRID = 1024.0  # features are rounded to multiples of 1/1024 before they are hashed


def uniform_from_key(key: Any, salt: int) -> Array:
    """A number in [0, 1) for each id, (n,); ids are whole numbers or texts."""
    values = as_array(key)
    if values.ndim != 1:
        raise ValueError(f"key needs one id per row, got shape {values.shape}")
    if values.dtype.kind in "iu":
        return _uniform(_mixed(values.astype(np.uint64) ^ _mixed_int(salt)))
    if values.dtype.kind == "f":
        raise ValueError("key holds fractional numbers: ids are whole numbers or texts")
    prefix = salt.to_bytes(8, "little")
    digests = [hashlib.blake2b(prefix + str(v).encode(), digest_size=8).digest() for v in values]
    return _uniform(np.frombuffer(b"".join(digests), dtype="<u8"))


def uniform_from_features(features: Array, salt: int) -> Array:
    """A number in [0, 1) for each row of features (n, ...), the same for rows equal when rounded."""
    flat = np.asarray(features, dtype=np.float64).reshape(len(features), -1)
    whole = np.clip(np.rint(flat * GRID), -(2.0**62), 2.0**62).astype(np.int64).astype(np.uint64)
    state = np.full(len(flat), _mixed_int(salt), dtype=np.uint64)
    for column in whole.T:
        state = _mixed(state ^ column)
    return _uniform(state)


def choose(weights: Array, uniform: Array) -> Array:
    """Which member decides each row, (n,)."""
    ends = np.cumsum(weights)
    return np.minimum(np.searchsorted(ends, uniform * ends[-1], side="right"), len(weights) - 1)


def _mixed(state: Array) -> Array:
    """The finaliser of splitmix64: every bit of the input moves about half of the output's."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


def _mixed_int(salt: int) -> np.uint64:
    return np.uint64(_mixed(np.array([salt], dtype=np.uint64))[0])


def _uniform(state: Array) -> Array:
    return (state >> np.uint64(11)) * 2.0**-53
