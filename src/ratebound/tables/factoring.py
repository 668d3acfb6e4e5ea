"""A column as codes: which of its distinct values each row holds.

A table of a million rows has few different texts in a column. So whatever is to be known about them is
asked once for each of them, and a library that numbers its values already is not asked for texts at all.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import as_array, is_missing


@dataclass(frozen=True, eq=False)
class Factored:
    """The values of a column, and which of them each row holds."""

    codes: Array  # (n,) places in `values`, -1 where the value is missing
    values: list[Any]  # not in any order; some may be held by no row

    @property
    def counts(self) -> Array:
        """How many rows hold each value, (values,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @property
    def missing(self) -> int:
        """How many rows hold none."""
        return int((self.codes < 0).sum())

    def places(self, of: dict[str, int], other: int, missing: int) -> Array:
        """Where each row's text is found in `of`, (n,): else at `other`, or at `missing` without one."""
        by_value = [of.get(str(value), other) for value in self.values]
        return np.array([*by_value, missing], dtype=np.int32)[self.codes]


def factored(column: Any) -> Factored:
    """The distinct values of a column of any kind: an array, or a column of pandas, polars or pyarrow.

    >>> found = factored(np.array(["b", "a", None, "b"], dtype=object))
    >>> found.codes.tolist(), found.values
    ([0, 1, -1, 0], ['b', 'a'])
    """
    library = type(column).__module__.partition(".")[0]
    found = READERS[library](column) if library in READERS else None
    return _by_hand(as_array(column)) if found is None else found


def _of_pandas(column: Any) -> Factored | None:
    if hasattr(column, "cat"):
        return Factored(column.cat.codes.to_numpy(), column.cat.categories.tolist())
    codes, values = column.factorize()
    return _if_texts(codes, values.tolist())


def _of_polars(column: Any) -> Factored | None:
    polars = sys.modules["polars"]
    if column.dtype not in (polars.String, polars.Categorical) and column.dtype != polars.Enum:
        return None
    texts = column.cast(polars.String)
    values = texts.drop_nulls().unique()
    codes = texts.replace_strict(values, range(len(values)), default=-1, return_dtype=polars.Int32)
    return Factored(codes.to_numpy(), values.to_list())


def _of_pyarrow(column: Any) -> Factored | None:
    pyarrow = sys.modules["pyarrow"]
    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _if_texts(codes, whole.dictionary.to_pylist())


READERS = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}


def _if_texts(codes: Array, values: list[Any]) -> Factored | None:
    """None unless all are texts: to a library 1 and True may be the same value."""
    return Factored(codes, values) if all(type(value) is str for value in values) else None


def _by_hand(values: Array) -> Factored:
    if values.dtype.kind == "b":
        return Factored(values.astype(np.int8), [False, True])
    if values.dtype.kind != "O":
        lacking = is_missing(values)
        distinct, codes = np.unique(values[~lacking], return_inverse=True)
        whole = np.full(len(values), -1)
        whole[~lacking] = codes
        return Factored(whole, distinct.tolist())
    given = values.tolist()
    kinds = set(map(type, given))
    if kinds <= {str, type(None)}:
        found = [value for value in dict.fromkeys(given) if value is not None]
        known = {None: -1} | {value: code for code, value in enumerate(found)}
        return Factored(np.fromiter(map(known.__getitem__, given), np.int64, len(given)), found)
    lacking = is_missing(values)
    texts = [None if gone else str(value) for value, gone in zip(given, lacking.tolist(), strict=True)]
    return _by_hand(np.array(texts, dtype=object))
