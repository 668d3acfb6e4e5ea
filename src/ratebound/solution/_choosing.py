"""Which member of a mixture decides a row: a hash of the row, so that the same row gets the same answer.

Each row becomes a number in [0, 1) that looks random and never changes; the member whose stretch of
cumulative weight it falls into decides. An entity's id is the best key. Without one the features are
hashed, rounded first, since the last digits of floats vary from machine to machine. How far they are
rounded goes by how large each feature usually is, as it was in training: no unit is too small.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.feature_scale import FeatureScale, columns_of, numbers_of
from ratebound.problem.frames import as_array, is_missing

STEPS = 4096.0  # rounding steps, shared among all features, since noise may move any of them
FEWEST = 32.0  # the fewest steps for one feature
TINY = (
    1e-150  # the scale of features of which nothing is known: these are rounded relative to their size
)
NOWHERE = 2.0**62  # where NaN is put
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
    return _uniform(_hashed_texts(values, salt))


def uniform_from_features(features: Any, salt: int, feature_scale: FeatureScale | None = None) -> Array:
    """A number in [0, 1) for each row of features (n, ...), the same for rows equal when rounded.

    `feature_scale` says how large the features usually are.
    """
    columns = columns_of(features)
    feature_scale = feature_scale or FeatureScale((0.0,) * len(columns), (TINY,) * len(columns))
    steps = max(STEPS / max(len(columns), 1), FEWEST)
    state = np.full(len(features), _mixed_int(salt), dtype=np.uint64)
    for column, center, scale in zip(columns, feature_scale.center, feature_scale.scale, strict=True):
        state = _mixed(state ^ _rounded(column, center, scale, steps))
    return _uniform(state)


def _rounded(column: Array, center: float, scale: float, steps: float) -> Array:
    """Whole numbers (n,) for the values of a column, which depend on each value alone.

    Values as far from the center as usual are rounded to equal steps, those far out relative to their
    distance. Texts and everything else that is not a number are hashed.
    """
    values = numbers_of(column)
    with np.errstate(over="ignore"):
        places = np.rint(steps * np.arcsinh((values - center) / scale))
    found = np.clip(np.nan_to_num(places, nan=-NOWHERE), -NOWHERE, NOWHERE).astype(np.int64)
    found = found.astype(np.uint64)
    if column.dtype.kind in "OUS":
        others = np.isnan(values) & ~is_missing(column)
        found[others] = _hashed_texts(column[others], 0)
    return found


def uniform_from_scores(scores: Array, salt: int) -> Array:
    """A number in [0, 1) for each row of bare scores (n, B), by seven digits."""
    state = np.full(len(scores), _mixed_int(salt), dtype=np.uint64)
    for column in (np.asarray(scores, np.float32) + 0).view(np.int32).T:
        state = _mixed(state ^ column.astype(np.int64).astype(np.uint64))
    return _uniform(state)


def choose(weights: Array, uniform: Array) -> Array:
    """Which member decides each row, (n,)."""
    ends = np.cumsum(weights)
    return np.minimum(np.searchsorted(ends, uniform * ends[-1], side="right"), len(weights) - 1)


def warn_of_shared_keys(weights: Array, chosen: Array, uniform: Array) -> None:
    """Warn where most rows share a number, so that a member decides far more or fewer than its weight.

    Far means five times the difference to expect if all numbers were different.
    """
    rows = max(len(chosen), 1)
    shares, meant = np.bincount(chosen, minlength=len(weights)) / rows, weights / weights.sum()
    beyond = np.abs(shares - meant) - 5 * np.sqrt(meant * (1 - meant) / rows)
    worst = int(np.argmax(beyond))
    if beyond[worst] > 0 and 2 * (distinct := len(np.unique(uniform))) <= rows:
        warnings.warn(
            f"{rows:,} rows have only {distinct:,} different features to choose a member by, and rows "
            f"with equal ones get the same member: member {worst} decides {shares[worst]:.1%} of them, "
            f"not {meant[worst]:.1%}. Pass key=, an id for each row, to keep what was promised",
            UserWarning,
            stacklevel=3,
        )


def voted_scores(weights: Array, scores: Array) -> Array:
    """The weighted median of the members' scores (M, n) for each row, (n,).

    It is at least t exactly where members with half of the weight or more have scores of at least t:
    it decides as their vote does, at 0 and at every other threshold.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    held = np.cumsum(weights[order], axis=0)
    middle = np.argmax(held >= HALF * held[-1], axis=0)
    return np.take_along_axis(scores, np.take_along_axis(order, middle[None], axis=0), axis=0)[0]


def _hashed_texts(values: Array, salt: int) -> Array:
    prefix = salt.to_bytes(8, "little")
    digests = [hashlib.blake2b(prefix + str(v).encode(), digest_size=8).digest() for v in values]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


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
