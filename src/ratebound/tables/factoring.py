"""A column of texts as codes: which of its distinct texts each row holds.

A table of a million rows has few different texts in a column. So whatever is to be known about them is
asked once for each of them, and a library that numbers its values already is not asked for texts at all.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.frames import without_views

Factored = tuple[Array, list[str]]  # places among the texts (n,), -1 where one is missing; and the texts


def factored(column: Any) -> Factored | None:
    """The texts of a column of pandas, polars or PyArrow, in any order; None for any other column.

    >>> import pandas
    >>> codes, texts = factored(pandas.Series(["b", "a", None, "b"]))
    >>> codes.tolist(), texts
    ([0, 1, -1, 0], ['b', 'a'])
    """
    library = type(column).__module__.partition(".")[0]
    return READERS[library](column) if library in READERS else None


def _of_pandas(column: Any) -> Factored | None:
    if column.dtype.kind != "O" or hasattr(column, "cat"):
        return None
    try:
        codes, values = column.factorize()
    except TypeError:  # lists, say, which cannot be hashed
        return None
    return _if_texts(codes, values.tolist())


def _of_polars(column: Any) -> Factored | None:
    polars = sys.modules["polars"]
    if column.dtype not in (polars.String, polars.Categorical) and column.dtype != polars.Enum:
        return None
    texts = column.cast(polars.String)
    values = texts.drop_nulls().unique()
    places = list(range(len(values)))
    codes = texts.replace_strict(values, places, default=-1, return_dtype=polars.Int32)
    return codes.to_numpy(), values.to_list()


def _of_pyarrow(column: Any) -> Factored | None:
    types, column = sys.modules["pyarrow"].types, without_views(column)
    if not types.is_dictionary(column.type):
        if not (types.is_string(column.type) or types.is_large_string(column.type)):
            return None
        column = column.dictionary_encode()
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _if_texts(codes, whole.dictionary.to_pylist())


READERS = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}


def _if_texts(codes: Array, values: list[Any]) -> Factored | None:
    """None unless all are texts: to a library 1 and True may be the same value."""
    return (codes, values) if all(type(value) is str for value in values) else None


def distinct_of(values: Iterable[Any]) -> tuple[list[Any], Array]:
    """The distinct values in the order of their first occurrence, and each value's place there."""
    places: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(places.__getitem__, values), dtype=np.intp)
    return list(places), codes
