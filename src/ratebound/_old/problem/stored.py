"""Rows on disk as models see them: numbers that are read on demand.

A pass over all rows comes in pieces, in the order of the rows. A batch takes rows by their numbers; the
reader keeps track of which rows are in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound._old.base.ahead import ahead
from ratebound._old.base.types import Array

SAMPLE_ROWS, SAMPLE_PLACES = 10_000, 8  # a sample of this many rows, from this many places
HELD = 3  # windows at a time: the present one, the one before it, and the one that is being read


class StoredRows(ABC):
    """Rows (n, d) of numbers, of which only some are in memory."""

    shape: tuple[int, ...]
    dtype: Any
    ndim: int = 2
    names: list[str] | None = None  # the names of the features, if they are columns of a table

    def __len__(self) -> int:
        return self.shape[0]

    @property
    @abstractmethod
    def fits(self) -> bool:
        """Whether all rows may be in memory at once."""

    @property
    @abstractmethod
    def runs(self) -> list[range]:
        """The row numbers of each unit of reading, in order."""

    @abstractmethod
    def pieces(self) -> Iterator[Array]:
        """All rows, some (b, d) at a time, in order."""

    def everything(self) -> Array:
        """All rows at once, for batches of that size."""
        return np.concatenate(list(self.pieces()))

    def some(self) -> Array:
        """A few thousand of the rows, or all of them, spread over the whole."""
        if len(self) <= 2 * SAMPLE_ROWS:
            return self.everything()
        places = np.linspace(0, len(self) - SAMPLE_ROWS // SAMPLE_PLACES, SAMPLE_PLACES).astype(int)
        return self.take((places[:, None] + np.arange(SAMPLE_ROWS // SAMPLE_PLACES)).ravel())

    @abstractmethod
    def take(self, rows: Array) -> Array:
        """These rows (b, d), by number; rows in the latest windows are already in memory."""


class Stacked(StoredRows):
    """The rows of several matrices one after the other, of which some are on disk."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = list(parts)
        self.starts = np.cumsum([0] + [part.shape[0] for part in parts])
        self.shape = (int(self.starts[-1]), *parts[0].shape[1:])
        self.dtype = np.result_type(*(part.dtype for part in parts))

    @property
    def fits(self) -> bool:
        return all(part.fits for part in self.parts if isinstance(part, StoredRows))

    @property
    def runs(self) -> list[range]:
        runs = []
        for part, start in zip(self.parts, self.starts.tolist(), strict=False):
            own = part.runs if isinstance(part, StoredRows) else [range(part.shape[0])]
            runs += [range(start + run.start, start + run.stop) for run in own]
        return runs

    def pieces(self) -> Iterator[Array]:
        for part in self.parts:
            yield from part.pieces() if isinstance(part, StoredRows) else [part]

    def take(self, rows: Array) -> Array:
        where = np.searchsorted(self.starts, rows, side="right") - 1
        taken = np.empty((len(rows), *self.shape[1:]), dtype=self.dtype)
        for place in np.unique(where).tolist():
            own, part = where == place, self.parts[place]
            numbers = rows[own] - self.starts[place]
            taken[own] = part.take(numbers) if isinstance(part, StoredRows) else part[numbers]
        return taken


# --- some pieces at a time ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Window:
    """Some runs of rows that are in memory."""

    starts: Array  # (runs,) the number of the first row of each, in order
    places: Array  # (runs,) its index in the window
    sizes: Array  # (runs,)
    rows: Array  # (w, d)

    def find(self, numbers: Array) -> Array:
        """The index of each row in the window, -1 for rows that are not in it."""
        if len(self.starts) == 1 and self.starts[0] == 0 and numbers.max(initial=0) < self.sizes[0]:
            return numbers
        run = np.searchsorted(self.starts, numbers, side="right") - 1
        within = numbers - self.starts[run]
        return np.where((run >= 0) & (within < self.sizes[run]), self.places[run] + within, -1)


class WindowedRows(StoredRows):
    """Rows that are read in units, by a function from a unit's number to its rows."""

    def __init__(
        self,
        read: Callable[[int], Array],
        sizes: Array,
        width: int,
        dtype: object,
        memory: int,
        names: list[str] | None = None,
    ) -> None:
        self.read, self.sizes = read, np.asarray(sizes)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.shape, self.dtype = (int(self.sizes.sum()), width), np.dtype(dtype)  # type: ignore[call-overload]
        self.most = max(int(memory // (HELD * (width * self.dtype.itemsize + 16))), 1)
        self.names = names
        self.latest: list[Window] = []

    @property
    def fits(self) -> bool:
        return len(self) <= self.most

    @property
    def runs(self) -> list[range]:
        pairs = zip(self.starts.tolist(), self.sizes.tolist(), strict=True)
        return [range(start, start + size) for start, size in pairs]

    def everything(self) -> Array:
        if not self.fits:
            return super().everything()
        if not self._all_in_memory:  # they are read only once
            self.latest = [self._window(range(len(self.sizes)))]
        return self.latest[0].rows

    def pieces(self) -> Iterator[Array]:
        if self._all_in_memory:
            yield self.latest[0].rows
        else:
            yield from ahead(map(self.read, range(len(self.sizes))))

    @property
    def _all_in_memory(self) -> bool:
        return bool(self.latest) and len(self.latest[0].rows) == len(self)

    def windows(self, random: np.random.Generator | None) -> Iterator[Array]:
        """The numbers of all rows, one window at a time, which is then in memory.

        They are in an order drawn by `random`; None keeps the original order.
        """
        if self.fits:
            self.everything()
            yield np.arange(len(self)) if random is None else random.permutation(len(self))
            return
        units = np.arange(len(self.sizes)) if random is None else random.permutation(len(self.sizes))
        for window in ahead(map(self._window, self._parted(units.tolist()))):
            self.latest = [window, *self.latest[:1]]
            runs = zip(window.starts.tolist(), window.sizes.tolist(), strict=True)
            numbers = np.concatenate([np.arange(start, start + size) for start, size in runs])
            yield numbers if random is None else random.permutation(numbers)

    def _parted(self, units: Sequence[int]) -> Iterator[list[int]]:
        """Units in order, as many at a time as fit in a window."""
        held: list[int] = []
        for unit in units:
            if held and int(self.sizes[[*held, unit]].sum()) > self.most:
                yield held
                held = []
            held.append(unit)
        yield held

    def _window(self, units: Sequence[int]) -> Window:
        ordered = sorted(units)
        sizes = self.sizes[ordered]
        places = np.cumsum(sizes) - sizes
        rows = np.empty((int(sizes.sum()), self.shape[1]), dtype=self.dtype)
        for unit, place, size in zip(ordered, places.tolist(), sizes.tolist(), strict=True):
            rows[place : place + size] = self.read(unit)
        return Window(self.starts[ordered], places, sizes, rows)

    def take(self, rows: Array) -> Array:
        for window in self.latest:
            places = window.find(rows)
            if (places >= 0).all():
                return window.rows.take(places, axis=0)
        taken = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
        left = np.ones(len(rows), dtype=bool)
        for window in self.latest:
            places = window.find(rows)
            here = left & (places >= 0)
            taken[here] = window.rows[places[here]]
            left &= ~here
        unit = np.searchsorted(self.starts, rows, side="right") - 1
        for each in np.unique(unit[left]).tolist():
            own = left & (unit == each)
            taken[own] = self.read(each)[rows[own] - self.starts[each]]
        return taken
