"""Which member of a mixture decides a row: a hash of the row, so that the same row gets the same answer.

Each row becomes a number in [0, 1) that looks random and never changes; the member whose stretch of
cumulative weight it falls into decides. An entity's id is the best key. Without one the features are
hashed, rounded first, since the last digits of floats vary from machine to machine. How far they are
rounded depends on how large each feature was in training, so no unit is too small.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.deciding import decision_shares
from ratebound._old.problem.frames import as_array, as_csr, frame_columns, is_missing, is_sparse
from ratebound._old.problem.summaries import FeatureScale, columns_of, numbers_of

STEPS = 4096.0  # rounding steps, shared among all features, since noise may move any of them
FEWEST_STEPS = 32.0  # the fewest steps for one feature
UNKNOWN_SCALE = 1e-150  # of features with no known scale: rounded relative to their size
PLACE_OF_NAN = 2.0**62  # where NaN is put
SPARSE_FROM = 3  # if fewer than one number in so many differs from 0, only the others are looked at
NUMBERS_AT_ONCE = 2**16  # numbers that are hashed at a time, so that they stay in the processor's cache
ROUNDING = 1e-12  # shares of the weight that differ by no more are a tie
HALF = 0.5 - ROUNDING  # of the weight decides a vote: yes wins a tie, to rounding


def uniform_from_key(key: Any, salt: int) -> Array:
    """A number in [0, 1) for each id, (n,); ids are whole numbers or texts, and 7 is not "7".

    Each is read by itself, so that the number of an id does not depend on the ids beside it.

    >>> uniform_from_key([7, "a"], 0)[0] == uniform_from_key([7], 0)[0]
    np.True_
    """
    if isinstance(key, list | tuple) and {int, str} <= set(map(type, key)):
        key = np.array(key, dtype=object)  # or NumPy made texts of the numbers
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
    if values.dtype.kind in "iu":
        return _uniform(_mixed(values.astype(np.uint64) ^ _mixed_int(salt)))
    whole = {kind for kind in kinds if kind is int or issubclass(kind, np.integer)}
    if not whole:
        return _uniform(_hashed_texts(values, salt))
    places = np.array([type(value) in whole for value in values])
    numbers = np.array([int(value) % 2**64 for value in values[places]], dtype=np.uint64)
    mixed = np.empty(len(values), dtype=np.uint64)
    mixed[places] = _mixed(numbers ^ _mixed_int(salt))
    if not places.all():
        mixed[~places] = _hashed_texts(values[~places], salt)
    return _uniform(mixed)


def uniform_from_features(features: Any, salt: int, feature_scale: FeatureScale | None = None) -> Array:
    """A number in [0, 1) for each row of features (n, ...), the same for rows equal when rounded.

    `feature_scale` says how large the features usually are. Each feature that is not zero adds a number
    of its own, in whatever order: so a row has the same number in an array and in a sparse matrix.
    """
    names, shape = frame_columns(features), np.shape(features)
    grid = _grid(len(names) if names else int(np.prod(shape[1:])), feature_scale)
    if is_sparse(features):
        added = _added_by_entries(as_csr(features), grid)
    elif frame_columns(features) or np.asarray(features).dtype.kind not in "buif":
        added = _added_by_columns(columns_of(features), grid)
    else:
        added = _added_by_numbers(np.asarray(features), grid)
    return _uniform(_mixed(added ^ _mixed_int(salt)))


@dataclass(frozen=True)
class _RoundingGrid:
    """The grid that each feature's values are rounded to."""

    center: Array  # (d,)
    scale: Array  # (d,)
    steps: float
    keys: Array  # (d,) uint64, one for each feature
    zeros: Array  # (d,) uint64, where a zero is rounded to
    ones: Array  # (d,) uint64, what a 1 adds

    def added(self, places: Array, of: Any) -> Array:
        """What values at these places add to their row's number; `of` holds each value's feature."""
        return np.where(places == self.zeros[of], np.uint64(0), _mixed(places ^ self.keys[of]))

    def places(self, values: Array, of: Any) -> Array:
        """A whole number for each value, which depends on that value alone.

        Values as far from the center as usual are rounded to equal steps, and values far out relative to
        their distance.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.arcsinh((values - self.center[of]) / self.scale[of])
        places *= self.steps
        np.rint(places, out=places)
        np.clip(places, -PLACE_OF_NAN, PLACE_OF_NAN, out=places)
        np.copyto(places, -PLACE_OF_NAN, where=np.isnan(places))
        return places.astype(np.int64).view(np.uint64)


@lru_cache(maxsize=8)  # a model that decides one row at a time needs the same one each time
def _grid(width: int, known: FeatureScale | None) -> _RoundingGrid:
    center, scale = np.zeros(width), np.full(width, UNKNOWN_SCALE)
    if known is not None:
        center, scale = np.array(known.center), np.array(known.scale)
    if len(center) != width:
        raise ValueError(f"expected rows of {len(center)} features, got {width}")
    keys, steps = (
        _mixed(np.arange(1, width + 1, dtype=np.uint64)),
        max(STEPS / max(width, 1), FEWEST_STEPS),
    )
    every, nothing = slice(None), np.zeros(width, np.uint64)
    grid = _RoundingGrid(center, scale, steps, keys, nothing, nothing)
    grid = replace(grid, zeros=grid.places(np.zeros(width), every))
    return replace(grid, ones=grid.added(grid.places(np.ones(width), every), every))


def _added_by_numbers(features: Array, grid: _RoundingGrid) -> Array:
    """What the features of each row of an array add up to, (n,), some rows at a time."""
    width = len(grid.keys)
    rows, every = features.reshape(len(features), width), slice(None)
    totals = np.empty(len(rows), np.uint64)
    many = max(1, NUMBERS_AT_ONCE // max(width, 1))
    for start in range(0, len(rows), many):
        some = np.ascontiguousarray(rows[start : start + many])
        nonzero = some != 0
        if SPARSE_FROM * np.count_nonzero(nonzero) < some.size:
            places = np.flatnonzero(nonzero)
            ends = np.append(0, np.cumsum(np.count_nonzero(nonzero, axis=1)))
            added = _added_by_each(some.reshape(-1)[places], places % width, ends, grid)
        else:
            added = grid.added(grid.places(some.astype(float), every), every).sum(1, dtype=np.uint64)
        totals[start : start + many] = added
    return totals


def _added_by_entries(matrix: Any, grid: _RoundingGrid) -> Array:
    """The same for a sparse matrix; only its stored entries are looked at."""
    totals = np.empty(matrix.shape[0], np.uint64)
    many = max(1, NUMBERS_AT_ONCE * matrix.shape[0] // max(matrix.nnz, 1))
    for start in range(0, len(totals), many):
        ends = matrix.indptr[start : start + many + 1]
        entries = slice(ends[0], ends[-1])
        values, of = matrix.data[entries], matrix.indices[entries]
        totals[start : start + many] = _added_by_each(values, of, ends - ends[0], grid)
    return totals


def _added_by_each(values: Array, of: Array, ends: Array, grid: _RoundingGrid) -> Array:
    """The sums of what values add, between the `ends` of rows; most values are 1."""
    added = grid.ones[of]
    others = np.flatnonzero(values != 1)
    added[others] = grid.added(grid.places(values[others].astype(float), of[others]), of[others])
    up_to = np.zeros(len(added) + 1, np.uint64)
    np.cumsum(added, out=up_to[1:])
    return np.diff(up_to[ends])


def _added_by_columns(columns: list[Array], grid: _RoundingGrid) -> Array:
    """The same for a table; texts and everything else that is not a number are hashed."""
    totals = np.zeros(len(columns[0]) if columns else 0, np.uint64)
    for i, column in enumerate(columns):
        values = numbers_of(column)
        places = grid.places(values, i)
        if column.dtype.kind in "OUS":
            others = np.isnan(values) & ~is_missing(column)
            places[others] = _hashed_texts(column[others], 0)
        totals += grid.added(places, i)
    return totals


def uniform_from_scores(scores: Array, salt: int) -> Array:
    """A number in [0, 1) for each row of bare scores (n, B), from seven digits of each."""
    state = np.full(len(scores), _mixed_int(salt), dtype=np.uint64)
    for column in (np.asarray(scores, np.float32) + 0).view(np.int32).T:
        state = _mixed(state ^ column.astype(np.int64).astype(np.uint64))
    return _uniform(state)


def choose(weights: Array, uniform: Array) -> Array:
    """Which member decides each row, (n,)."""
    ends = np.cumsum(weights)
    return np.minimum(np.searchsorted(ends, uniform * ends[-1], side="right"), len(weights) - 1)


def warn_of_shared_keys(weights: Array, chosen: Array, uniform: Array) -> None:
    """Warn if most rows share a number, so that a member decides far more or fewer rows than its weight.

    Far means five times the difference that is expected if all numbers differ.
    """
    rows = len(chosen)
    if not rows:
        return
    shares, expected = np.bincount(chosen, minlength=len(weights)) / rows, weights / weights.sum()
    beyond = np.abs(shares - expected) - 5 * np.sqrt(expected * (1 - expected) / rows)
    worst = int(np.argmax(beyond))
    if beyond[worst] > 0 and 2 * (distinct := len(np.unique(uniform))) <= rows:
        warnings.warn(
            f"{rows:,} rows have only {distinct:,} different features to choose a member by, and rows "
            f"with equal ones get the same member: member {worst + 1} decides {shares[worst]:.1%} of "
            f"them, not {expected[worst]:.1%}. Pass key=, an id for each row, to keep what was promised",
            UserWarning,
            stacklevel=3,
        )


def voted_scores(weights: Array, scores: Array) -> Array:
    """Scores (A, n) that decide as members with these weights (M,) and scores (M, A, n) vote."""
    if scores.shape[1] == 1:
        return weighted_median(weights, scores)
    return tied_shares(decision_shares(weights, scores))


def weighted_median(weights: Array, scores: Array) -> Array:
    """The weighted median of the members' scores (M, ...) at each place, (...).

    It is at least t exactly if members with half of the weight or more have scores of at least t. So it
    decides as their vote does, at 0 and at every other threshold.
    """
    order = np.argsort(-scores, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0)
    middle = np.argmax(reached >= HALF * reached[-1], axis=0)
    return np.take_along_axis(scores, np.take_along_axis(order, middle[None], axis=0), axis=0)[0]


def tied_shares(shares: Array) -> Array:
    """Shares (D, n) of the weight; shares that are the largest up to rounding are made equal.

    So the later of two classes wins a tie, and the shares decide as scores do.
    """
    most = shares.max(axis=0)
    return np.where(shares >= most - ROUNDING, most, shares)


def _hashed_texts(values: Array, salt: int) -> Array:
    prefix = salt.to_bytes(8, "little")
    digests = [hashlib.blake2b(prefix + str(v).encode(), digest_size=8).digest() for v in values]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _mixed(state: Array) -> Array:
    """The finaliser of splitmix64: every bit of the input moves about half of the output's."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(30)
        state *= np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(27)
        state *= np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
        return state


def _mixed_int(salt: int) -> np.uint64:
    return np.uint64(_mixed(np.array([salt], dtype=np.uint64))[0])


def _uniform(state: Array) -> Array:
    return (state >> np.uint64(11)) * 2.0**-53
