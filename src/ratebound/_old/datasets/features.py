"""Columns of a table turned into features: indicators of values and of bins, standardised numbers.

A block is an array with a column for each feature, and the features' names. What is learnt, such as
quantiles, is learnt on the training rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]  # (n,), strings or numbers
Features = npt.NDArray[np.float32]  # (n, features)
Block = tuple[Features, tuple[str, ...]]


def one_hots(name: str, column: Column) -> Block:
    """One indicator for each value that occurs in the column.

    >>> one_hots("sex", np.array(["Male", "Female"]))
    (array([[0., 1.], [1., 0.]], dtype=float32), ('sex=Female', 'sex=Male'))
    """
    values, codes = np.unique(column, return_inverse=True)
    return _indicators(codes, len(values)), tuple(f"{name}={value}" for value in values)


def categories(table: Mapping[str, Column]) -> list[Block]:
    """The indicators of every column of texts."""
    return [one_hots(name, column) for name, column in table.items() if column.dtype.kind == "U"]


def bins(name: str, column: Column, edges: Sequence[float]) -> Block:
    """One indicator for each bin between edges; a value equal to an edge is in the bin below it.

    >>> bins("age", np.array([28, 30]), (28.0, 37.5))
    (array([[1., 0., 0.], [0., 1., 0.]], dtype=float32), ('age<=28', '28<age<=37.5', 'age>37.5'))
    """
    between = [f"{low:g}<{name}<={high:g}" for low, high in pairwise(edges)]
    names = (f"{name}<={edges[0]:g}", *between, f"{name}>{edges[-1]:g}")
    return _indicators(bin_of(column, edges), len(names)), names


def thermometer(name: str, column: Column, edges: Sequence[float]) -> Block:
    """One indicator for each edge that is passed, so that a higher value has more of them.

    >>> thermometer("priors", np.array([0, 1, 5]), (0, 2))
    (array([[0., 0.], [1., 0.], [1., 1.]], dtype=float32), ('priors>0', 'priors>2'))
    """
    passed = column[:, None] > np.asarray(edges)
    return passed.astype(np.float32), tuple(f"{name}>{edge:g}" for edge in edges)


def bin_of(column: Column, edges: Sequence[float]) -> npt.NDArray[np.intp]:
    """The number of each value's bin, from 0.

    >>> bin_of(np.array([28, 30, 40]), (28.0, 37.5))
    array([0, 1, 2])
    """
    return np.searchsorted(edges, column, side="left")


def quantiles(column: Column, train_rows: Column, at: Sequence[float]) -> tuple[float, ...]:
    """The values below which these shares of the training rows lie.

    >>> quantiles(np.array([1, 2, 3, 100]), np.array([0, 1, 2]), (0.5,))
    (2.0,)
    """
    return tuple(np.quantile(column[train_rows].astype(float), at).tolist())


def standardised(values: Column, train_rows: Column) -> Features:
    """Numbers (n, features) with mean 0 and deviation 1 on the training rows; constants become 0.

    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]]), np.array([0, 1])).tolist()
    [[-1.0, 0.0], [1.0, 0.0], [3.0, 0.0]]
    """
    seen = values[train_rows]
    centre, scale = seen.mean(axis=0, dtype=float), seen.std(axis=0, dtype=float)
    return ((values - centre) / np.where(scale > 0, scale, 1.0)).astype(np.float32)


def side_by_side(blocks: Iterable[Block]) -> Block:
    """All blocks as one."""
    arrays, names = zip(*blocks, strict=True)
    return np.hstack(arrays), tuple(name for block in names for name in block)


def _indicators(codes: npt.NDArray[np.intp], values: int) -> Features:
    return np.eye(values, dtype=np.float32)[codes]
