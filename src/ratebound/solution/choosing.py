"""Which member of a mixture decides a row: a hash of the row, so that the same row gets the same answer.

Each row becomes a number in [0, 1) that looks random and never changes; the member whose stretch of
cumulative weight it falls into decides. An entity's id is the best key. Without one the features are
hashed, rounded first, since the last digits of floats vary from machine to machine.
"""

from __future__ import annotations

import hashlib
import math
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratebound.problem.frames import as_array, frame_columns, is_missing

Array = NDArray[Any]
GRID = 1024.0  # features are rounded to multiples of 1/1024 before they are hashed
FARTHEST = 2.0**62  # and cut off here, where NaN is put as well
HALF = 0.5 - 1e-12  # of the weight decides a vote: yes wins a tie, to rounding


def uniform_from_key(key: Any, salt: int) -> Array:
    """A number in [0, 1) for each id, (n,); ids are whole numbers or texts, and 7 is not "7"."""
    values = as_array(key)
    if values.ndim != 1:
        raise ValueError(f"key needs one id per row, got shape {values.shape}")
    if not len(values):
        return np.empty(0)
    kinds = {type(value) for value in values} if values.dtype.kind == "O" else set()
    if is_missing(values).any():
        raise ValueError("key has missing ids: give each row one, or leave key out")
    if values.dtype.kind == "f" or any(issubclass(kind, float | np.floating) for kind in kinds):
        raise ValueError("key holds fractional numbers: ids are whole numbers or texts")
    if kinds and all(kind is int or issubclass(kind, np.integer) for kind in kinds):
        values = np.array([int(value) % 2**64 for value in values], dtype=np.uint64)
    if values.dtype.kind in "iu":
        return _uniform(_mixed(values.astype(np.uint64) ^ _mixed_int(salt)))
    prefix = salt.to_bytes(8, "little")
    digests = [hashlib.blake2b(prefix + str(v).encode(), digest_size=8).digest() for v in values]
    return _uniform(np.frombuffer(b"".join(digests), dtype="<u8"))


def uniform_from_features(features: Any, salt: int) -> Array:
    """A number in [0, 1) for each row of features (n, ...), the same for rows equal when rounded."""
    if names := frame_columns(features):
        features = np.column_stack([_as_numbers(as_array(features[name])) for name in names])
    flat = np.asarray(features, dtype=np.float64).reshape(len(features), math.prod(features.shape[1:]))
    rounded = np.nan_to_num(np.rint(flat * GRID), nan=-FARTHEST)
    whole = np.clip(rounded, -FARTHEST, FARTHEST).astype(np.int64).astype(np.uint64)
    state = np.full(len(flat), _mixed_int(salt), dtype=np.uint64)
    for column in whole.T:
        state = _mixed(state ^ column)
    return _uniform(state)


def _as_numbers(values: Array) -> Array:
    """A table's column as numbers: times in microseconds, of texts and all else a hash of each.

    What a value becomes depends on that value alone, not on the others of its column.
    """
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]").astype(np.int64)
    if values.dtype.kind in "buif":
        return values.astype(float)
    missing = is_missing(values)
    counted = np.array([isinstance(value, Number | np.bool_) for value in values], bool) & ~missing
    found = np.full(len(values), np.nan)
    found[counted] = values[counted].astype(float)
    rest = ~counted & ~missing
    texts = np.array([str(value) for value in values[rest]], dtype=object)
    found[rest] = uniform_from_key(texts, 0) * 2.0**40  # so that rounding keeps different texts apart
    return found


def choose(weights: Array, uniform: Array) -> Array:
    """Which member decides each row, (n,)."""
    ends = np.cumsum(weights)
    return np.minimum(np.searchsorted(ends, uniform * ends[-1], side="right"), len(weights) - 1)


def voted_scores(weights: Array, scores: Array) -> Array:
    """The weighted median of the members' scores (M, n) for each row, (n,).

    It is at least t exactly where members with half of the weight or more have scores of at least t:
    it decides as their vote does, at 0 and at every other threshold.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    held = np.cumsum(weights[order], axis=0)
    middle = np.argmax(held >= HALF * held[-1], axis=0)
    return np.take_along_axis(scores, np.take_along_axis(order, middle[None], axis=0), axis=0)[0]


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
