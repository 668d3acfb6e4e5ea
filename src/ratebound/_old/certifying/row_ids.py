"""Numbers by which rows are known again: of an id that each row has, or of all that it holds.

A number has 64 bits, so two of a million rows share one with a chance of one in thirty million. Numbers
are made with a salt, so that those of two ledgers have nothing in common.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from typing import Any

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.frames import as_array, frame_columns, is_missing, is_sparse, some
from ratebound._old.problem.labels import class_array
from ratebound._old.problem.population import Population
from ratebound._old.rates.subsets import Name

LABEL = "the label"
FEATURE = "feature {}"  # of an array, by its number


def ids_by_key(people: Population, key: Name, salt: str) -> Array:
    """A number for each row (n,) by the id that it has in a column; each must have one of its own."""
    return numbers_of(people.column(key), key, salt)


def numbers_of(values: Array, key: Name, salt: str) -> Array:
    """A number for each of the ids (n,) in a column; each row must have one of its own."""
    if lacking := int(is_missing(values).sum()):
        raise ValueError(f"key {key!r}: {lacking:,} rows have no id: give each row one")
    texts = [_plain(value) for value in values.tolist()]
    if len(set(texts)) < len(texts):
        twice = [text for text, times in Counter(texts).items() if times > 1]
        raise ValueError(
            f"key {key!r}: {len(texts) - len(set(texts)):,} rows have an id that another row has, "
            f"{some(twice)}: each row counts once, so leave copies out, or name a column of ids"
        )
    return np.array([_number(f"{salt} {text}") for text in texts], dtype=np.uint64)


def content_columns(people: Population, besides: frozenset[Name]) -> list[str]:
    """What identifies rows: their columns and features, and their label, without `besides`."""
    names = [str(name) for name in people.column_names if name not in besides]
    if people.X is not None and not frame_columns(people.X) and not is_sparse(people.X):
        names += [FEATURE.format(i) for i in range(_flat(people.X).shape[1])]
    return sorted(names) + [LABEL] * (people.y is not None)


def ids_by_content(people: Population, columns: list[str], salt: str) -> Array:
    """A number for each row (n,) by what it holds in these columns."""
    named = {str(name): name for name in people.column_names}
    total = np.full(len(people), _number(salt), dtype=np.uint64)
    features = _flat(people.X) if any(FEATURE[:-2] in each for each in columns) else None
    for each in columns:
        if each == LABEL and people.y is not None:
            cells = _cells(class_array(people.classes or (False, True))[people.y.astype(np.intp)])
        elif each in named:
            cells = _cells(people.column(named[each]))
        elif each.startswith(FEATURE[:-2]) and features is not None:
            cells = _cells(features[:, int(each.removeprefix(FEATURE[:-2]))])
        else:
            raise ValueError(
                f"rows have no column {each!r}, and by that and others rows are known again: give the "
                "rows with it, or begin a plan with key=, a column of ids"
            )
        total = _mixed(total * np.uint64(0x9E3779B97F4A7C15) + cells + np.uint64(_number(each)))
    return total + _sparse_cells(people.X) if is_sparse(people.X) else total


def packed(ids: Array) -> str:
    """The numbers as a text, in order."""
    return base64.b64encode(np.sort(ids).astype("<u8").tobytes()).decode()


def unpacked(text: str) -> Array:
    """The numbers that `packed` wrote.

    >>> unpacked(packed(np.array([3, 1], dtype=np.uint64)))
    array([1, 3], dtype=uint64)
    """
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<u8").astype(np.uint64)


def _flat(X: Any) -> Array:
    array = as_array(X)
    return array.reshape(len(array), -1) if array.ndim > 1 else array[:, None]


def _plain(value: Any) -> str:
    """A value as a text, the same for 7, 7.0 and "7"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _cells(values: Array) -> Array:
    """A number for each value (n,), the same for whole numbers and fractions, and for missing ones."""
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]").astype(np.int64)
    if values.dtype.kind in "biuf":
        plain = values.astype(np.float64) + 0.0  # no negative zero
        return _mixed(np.where(np.isnan(plain), np.nan, plain).view(np.uint64))
    missing = is_missing(values)
    known: dict[Any, int] = {}
    texts = [None if gone else _plain(v) for v, gone in zip(values.tolist(), missing, strict=True)]
    for text in texts:
        if text is not None and text not in known:
            known[text] = _number(text)
    nothing = int(_mixed(np.array([np.nan]).view(np.uint64))[0])
    return np.array([nothing if text is None else known[text] for text in texts], dtype=np.uint64)


def _sparse_cells(X: Any) -> Array:
    """A number for each row of a sparse matrix (n,), the sum over what is stored of it."""
    rows = X.tocsr()
    cells = _mixed(_cells(rows.data) + _mixed(rows.indices.astype(np.uint64)))
    sums = np.append(np.uint64(0), np.cumsum(cells, dtype=np.uint64))
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def _mixed(values: Array) -> Array:
    """Numbers whose bits look as if they were drawn (splitmix64)."""
    mixed = values.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
