"""Which rows were drawn together, so that one cannot test a model that has seen the other.

`groups` names rows of one customer. Copies of a row, from oversampling or a join, are detected: rows
with equal features that nearly always agree in their labels and groups too. People who merely happen to
have equal features do not agree, and stay separate.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.frames import as_array, frame_columns, is_sparse
from ratebound._old.problem.population import Population
from ratebound._old.problem.sharing import any_shared
from ratebound._old.problem.values import is_coded, read_coded, read_values
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.subsets import Name

NOT_COPIES = "pass groups=np.arange(len(X))"
NOT_ON_DISK = "pass groups=, a column with an id for each row"
GROUPS = "(groups)"  # the column of ids that were passed as an array
SHARE = 0.01  # of the rows that have copies; a smaller share does not matter
OFTEN = 50, 0.01  # with at least as many rows, and this share, features are shared by many
AGREEING = 0.1  # of the disagreement of any two rows; copies disagree less


def with_groups(columns: dict[Name, Any], groups: Any, rows: int) -> tuple[dict[Name, Any], Name | None]:
    """The columns with the passed ids, and the name of the column that has them."""
    if groups is None or isinstance(groups, str):
        return columns, groups
    ids = as_array(groups)
    if ids.shape != (rows,):
        raise ValueError(
            f"groups has the shape {ids.shape}: give an id for each of {rows:,} rows, or a column"
        )
    return columns | {GROUPS: ids}, GROUPS


def together(compiled: Compiled, groups: Name | None, *, told: bool = True) -> Array | None:
    """A number for each row (n,), the same for rows that were drawn together; None if all are separate.

    A warning names copies, if `told`. Copies on disk are detected later, by `copied`, once rows are
    numbers.
    """
    if any_shared(compiled.populations):
        if groups is not None:
            raise ValueError("groups needs all rows in one process, but some are in other processes")
        return None
    if groups is not None:
        return _by_column(compiled, groups)
    return None if compiled.stored else copied(compiled, told=told)


def copied(compiled: Compiled, *, told: bool = True) -> Array | None:
    """The same for rows that are copies of each other."""
    copies = [_copies(compiled, name) for name in compiled.populations]
    if all(each is None for each in copies):
        return None
    sizes = [len(people) for people in compiled.populations.values()]
    apart = [np.arange(n) if each is None else each for each, n in zip(copies, sizes, strict=True)]
    distinct = sum(len(np.unique(each)) for each in apart)
    if told:
        warnings.warn(
            f"{sum(sizes) - distinct:,} of {sum(sizes):,} rows are copies of others: equal in features, "
            "labels and groups. They are judged together, and count as one row for the confidence of "
            f"a promise. If they are not copies, {NOT_ON_DISK if compiled.stored else NOT_COPIES}",
            stacklevel=4,
        )
    return _numbered(apart)


def _numbered(parts: list[Array]) -> Array:
    """Numbers of rows of several populations, made distinct."""
    numbered, start = [], 0
    for each in parts:
        codes = np.unique(each, return_inverse=True)[1]
        numbered.append(codes + start)
        start += int(codes.max(initial=-1)) + 1
    return np.concatenate(numbered)


def _by_column(compiled: Compiled, name: Name) -> Array | None:
    parts = []
    for own, people in compiled.populations.items():
        if own != FIRST and name not in people.column_names:
            parts.append(np.arange(len(people)))
            continue
        values = people.values(name)
        if values.missing.any():
            raise ValueError(
                f"groups: {int(values.missing.sum()):,} rows of population {own!r} have no id in "
                f"{name!r}: give each row one"
            )
        codes = values.values if values.codes is None else values.codes
        parts.append(np.unique(codes, return_inverse=True)[1])
    codes = _numbered(parts)
    count = int(codes.max()) + 1
    if count < 20:
        raise ValueError(
            f"groups has {count} different ids, too few to judge rows by models that have not seen "
            "their id. It says which rows belong together, such as the rows of one customer; promises "
            "about groups name columns, as in equal_opportunity(sex, slack=0.05)"
        )
    return None if count == len(codes) else codes


def _copies(compiled: Compiled, name: str) -> Array | None:
    """A number for each row of a population, the same for copies; None if there are few copies."""
    people, rows = compiled.populations[name], compiled.rows[name]
    features = _digests(people)
    if features is None or len(features) < 2:
        return None
    codes = np.unique(features, return_inverse=True)[1]
    if len(codes) - (int(codes.max()) + 1) < SHARE * len(codes):
        return None
    kinds = compiled.cells[rows].astype(np.int64)
    if people.y is not None:
        kinds = kinds * compiled.decisions + people.y.astype(np.int64)
    kinds = np.unique(kinds, return_inverse=True)[1]
    count = int(kinds.max()) + 1
    alike, each = np.unique(codes * count + kinds, return_inverse=True)
    several = np.bincount(codes) > 1  # rows with equal features
    differ = float((np.bincount(alike // count) > 1)[several].mean())
    shares = np.bincount(kinds) / len(kinds)
    if differ >= AGREEING * (1.0 - float(shares @ shares)):  # otherwise there is nothing to agree in
        return None
    return np.asarray(each)


def _numbers(column: Any) -> Array:
    """A column's values as numbers (n,), equal for equal values; all 0 if they cannot be compared."""
    read = read_coded(column) if is_coded(column) else read_values(as_array(column))
    if read.codes is not None:
        return read.codes
    if read.values.dtype.kind in "mM":
        return read.values.astype(np.int64)
    return read.values if read.values.dtype.kind in "buif" else np.zeros(len(read.values))


def shared(compiled: Compiled) -> Array:
    """The rows (k,) whose features many other rows of their population share."""
    rows = []
    for name, people in compiled.populations.items():
        digests, start = _digests(people), compiled.rows[name].start
        if digests is not None:
            _, codes, counts = np.unique(digests, return_inverse=True, return_counts=True)
            many = max(OFTEN[0], OFTEN[1] * len(codes))
            rows.append(start + np.flatnonzero(counts[codes] >= many))
    return np.concatenate([np.empty(0, dtype=np.intp), *rows])


def _digests(people: Population) -> Array | None:
    """A number for each row (n,), the same for equal features; None if features are not numbers."""
    if people.X is None:
        return None
    if people.stored:  # in the form that models see
        return np.concatenate([_digests_of(piece) for piece in people.features.pieces()])
    return _digests_of(people.X)


def _digests_of(X: Any) -> Any:
    if is_sparse(X):
        rows = X.tocsr()
        sums = np.append(np.uint64(0), np.cumsum(_mixed(rows.data, _odd(X.shape[1])[rows.indices])))
        return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
    names = frame_columns(X)
    values = np.column_stack([_numbers(X[name]) for name in names]) if names else as_array(X)
    if values.ndim != 2 or values.dtype.kind not in "buif":
        return None
    return np.asarray(_mixed(values, _odd(values.shape[1])).sum(axis=1, dtype=np.uint64))


def _odd(columns: int) -> Array:
    """A factor for each column (d,) that multiplies its values."""
    return np.random.default_rng(0).integers(0, 2**63, size=columns, dtype=np.uint64) * 2 + 1


def _mixed(values: Array, odd: Array) -> Array:
    """A pseudo-random number for each value; 0 for 0, so sparse and dense rows have equal sums."""
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    mixed = (bits ^ (bits >> np.uint64(29))) * odd
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))
