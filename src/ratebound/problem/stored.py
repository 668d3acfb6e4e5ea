"""Rows on disk as models meet them: numbers that are read when they are asked for.

A pass over all rows comes in pieces, in the order of the rows. The rows of a batch are found by their
numbers; which of them are in memory is for whoever reads them to know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ratebound.base.types import Array

ENOUGH, FEW = 10_000, 8  # rows that stand for all, from so many places


class StoredRows(ABC):
    """Rows (n, d) of numbers, of which only some are in memory."""

    shape: tuple[int, ...]
    dtype: Any
    ndim: int = 2
    names: list[str] | None = None  # of the columns that features are, where they are such

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def pieces(self) -> Iterator[Array]:
        """All rows, some (b, d) at a time, in order."""

    def everything(self) -> Array:
        """All rows at once, for batches that are as large."""
        return np.concatenate(list(self.pieces()))

    def some(self) -> Array:
        """A few thousand of the rows, or all of them, from all over."""
        if len(self) <= 2 * ENOUGH:
            return self.everything()
        places = np.linspace(0, len(self) - ENOUGH // FEW, FEW).astype(int)
        return self.take((places[:, None] + np.arange(ENOUGH // FEW)).ravel())

    @abstractmethod
    def take(self, rows: Array) -> Array:
        """These rows (b, d), by their numbers; those of the latest windows need no reading."""


class Stacked(StoredRows):
    """The rows of several matrices one after the other, of which some are on disk."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)
        self.starts = np.cumsum([0] + [part.shape[0] for part in parts])
        self.shape = (int(self.starts[-1]), *parts[0].shape[1:])
        self.dtype = np.result_type(*(part.dtype for part in parts))

    def pieces(self) -> Iterator[Array]:
        for part in self.parts:
            yield from part.pieces() if isinstance(part, StoredRows) else [part]

    def take(self, rows: Array) -> Array:
        where = np.searchsorted(self.starts, rows, side="right") - 1
        found = np.empty((len(rows), *self.shape[1:]), dtype=self.dtype)
        for place in np.unique(where).tolist():
            own, part = where == place, self.parts[place]
            numbers = rows[own] - self.starts[place]
            found[own] = part.take(numbers) if isinstance(part, StoredRows) else part[numbers]
        return found
