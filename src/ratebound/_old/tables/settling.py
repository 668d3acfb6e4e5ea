"""The type of a column of cells, determined while its cells are read in batches of any size.

A column holds numbers if every cell is a number or missing. Otherwise it holds texts, or amounts if all
its texts are amounts. Cells are stored as numbers from the first batch on, since a million texts take
far more memory. A column is read a second time only if a later batch shows that it holds texts.
"""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ratebound._old.base.ahead import ahead
from ratebound._old.base.types import Array
from ratebound._old.tables.cells import BARE, Numbers, RawCells, amount_unit, decimal_mark, read_numbers
from ratebound._old.tables.texts import Kind, Text


@dataclass
class SettledColumn:
    """What is known about a column so far; the user may have declared its kind."""

    said: Kind | None = None  # the declared kind
    is_text: bool = False
    gave_up: bool = False  # whether it looked like numbers, and must be read again as texts
    cells: int = 0  # cells seen so far
    whole: bool = True  # whether all numbers are whole and none is missing
    some: bool = False  # whether there is any number
    marks: Counter[str] = field(default_factory=Counter)  # marks of missing numbers, and their counts
    comma: str = ""  # a number that was written with a decimal comma
    fraction: str = ""  # the first number that is not whole
    text: str = ""  # the first text
    units: set[str | None] = field(default_factory=set)  # the units of amounts
    points: set[str] = field(default_factory=set)  # the decimal separators of amounts
    numerals: bool = True  # whether all texts are bare numbers, with points or commas
    amounts: bool = True  # whether all texts are amounts

    def __post_init__(self) -> None:
        self.is_text = self.is_text or self.said == "text"
        self.amounts = self.said != "text"

    @property
    def is_late(self) -> bool:
        """Whether it must be read again as texts. Ask once all cells are seen."""
        only_marks = bool(self.marks) and not self.some and self.said != "number"
        return self.gave_up or (not self.is_text and only_marks)

    @property
    def holds_amounts(self) -> bool:
        """Whether its texts are amounts of one unit. Ask once all cells are seen."""
        alike = len(self.units) == 1 and len(self.points) < 2
        return self.is_text and self.amounts and alike and not self.numerals

    @property
    def dtype(self) -> type:
        """The type of its values. Ask once all cells are seen."""
        if self.is_text and not self.holds_amounts:
            return object
        return np.int64 if self.whole and self.cells and not self.is_text else float

    def take_in(self, cells: RawCells, commas: bool, same: dict[str, str]) -> Array | None:
        """Learn from more cells and return their values; None if they must be read again as texts.

        Equal texts share one string from `same`.
        """
        if not self.is_text:
            if (numbers := cells.numbers(commas)) is not None:
                self._learn_numbers(numbers)
                return numbers.values
            if self.cells:
                self.gave_up = True
                return None
            self.is_text = True
        words, codes = cells.coded()
        bare = [word.strip() for word in words]
        self.cells += len(codes)
        self._learn_texts(list(filter(None, bare)))
        return np.array([same.setdefault(text, text) or None for text in bare], dtype=object)[codes]

    def values(self, cells: RawCells, commas: bool) -> Array:
        """The values of some cells, once the column's type is determined."""
        if not self.is_text:
            numbers = cells.numbers(commas)
            if numbers is None:
                raise ValueError("the file changed while it was read: read it again")
            return numbers.values.astype(self.dtype, copy=False)
        words, codes = cells.coded()
        bare = [word.strip() for word in words]
        if self.holds_amounts:
            return read_numbers(bare)[codes]
        return np.array([text or None for text in bare], dtype=object)[codes]

    def joined(self, parts: Sequence[Array]) -> Array:
        """The whole column, from the values of its batches."""
        if not parts:
            return np.empty(0, dtype=object)
        if not self.holds_amounts:
            return np.concatenate(parts)
        texts = {text for part in parts for text in part.tolist() if text is not None}
        number = {None: math.nan} | dict(zip(texts, read_numbers(list(texts)).tolist(), strict=True))
        return np.array([number[text] for part in parts for text in part.tolist()])

    def _learn_numbers(self, numbers: Numbers) -> None:
        self.cells += len(numbers.values)
        self.marks.update(numbers.marks)
        self.comma = self.comma or numbers.comma
        if numbers.values.dtype.kind == "i":
            self.some = self.some or bool(len(numbers.values))
            return
        self.whole = False
        self.some = self.some or not np.isnan(numbers.values).all()
        if not self.fraction:
            parts = np.isfinite(numbers.values) & (numbers.values != np.floor(numbers.values))
            self.fraction = str(numbers.values[np.argmax(parts)]) if parts.any() else ""

    def _learn_texts(self, texts: Sequence[str]) -> None:
        if not self.amounts or not texts:
            return
        self.text = self.text or texts[0]
        for text in texts:
            unit = amount_unit(text)
            if unit is None:
                self.amounts = False
                return
            self.units.add(unit)
            self.points |= {decimal_mark(text)} - {""}
            self.numerals = self.numerals and BARE.fullmatch(text) is not None


def settled(
    texts: Sequence[Text],
    names: Collection[str],
    kinds: Mapping[str, Kind],
    keep: Callable[[str, Array | None], None] | None = None,
    seen: Callable[[int], object] | None = None,
    again: bool = False,
) -> dict[str, SettledColumn]:
    """The types of these columns, over all texts together.

    `keep` is called with a column's values, batch by batch. It is called with None if all earlier values
    are wrong: the column looked like numbers, and is read `again`. `seen` is called with the number of
    rows of each batch.
    """
    columns = {name: SettledColumn(kinds.get(name), is_text=again) for name in names}
    same: dict[str, str] = {}
    with no_collecting():
        for text in texts:
            for batch in ahead(text.batches(names)):
                for name, cells in batch.items():
                    if columns[name].gave_up:
                        continue
                    values = columns[name].take_in(cells, text.sep != ",", same)
                    if keep is not None:
                        keep(name, values)
                if keep is None:
                    same.clear()
                if seen is not None:
                    seen(len(cells))
    late = [name for name, column in columns.items() if column.is_late]
    if keep is not None:
        for name in late:
            keep(name, None)
    return columns | settled(texts, late, kinds, keep, again=True) if late else columns


@contextmanager
def no_collecting() -> Iterator[None]:
    """Pause Python's cycle collector, which takes half the time when so many cells are made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def told(columns: Mapping[str, SettledColumn]) -> list[str]:
    """Notices about cells that were read as numbers in an unusual way."""
    numbers = {name: column for name, column in columns.items() if not column.is_text}
    said = []
    marks = [
        f"{count:,} {mark!r} in {name!r}"
        for name, column in numbers.items()
        for mark, count in column.marks.items()
    ]
    if marks:
        said.append(f"among numbers, these count as missing values: {few(marks)}")
    commas = [f"{name!r} ({column.comma})" for name, column in numbers.items() if column.comma]
    if commas:
        said.append(f"commas are read as decimal points in {few(commas)}")
        points = {name: column.fraction for name, column in numbers.items() if not column.comma}
        if shown := [f"{name!r} ({value})" for name, value in points.items() if value]:
            said.append(f"points are also read as decimal points, in {few(shown)}")
    amounts = [f"{name!r} ({column.text})" for name, column in columns.items() if column.holds_amounts]
    if amounts:
        said.append(f"amounts are read as the numbers in them in {few(amounts)}")
    return said


def few(words: Iterable[str]) -> str:
    """The first few words, and how many more there are."""
    words = list(words)
    return ", ".join(words[:10]) + (f" and {len(words) - 10} more" if len(words) > 10 else "")
