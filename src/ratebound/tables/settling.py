"""What a column of cells holds, settled while its cells go by, whatever batches they come in.

A column holds numbers if all its cells do that are not missing. Otherwise it holds texts, or amounts if
all its texts are such. Numbers are kept as such from the first batch on, since a million texts take far
more room. A column is read a second time only if a later batch shows that it holds texts after all.
"""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ratebound.base.ahead import ahead
from ratebound.base.types import Array
from ratebound.tables.cells import BARE, Numbers, RawCells, amount_unit, decimal_mark, read_numbers
from ratebound.tables.texts import Kind, Text


@dataclass
class SettledColumn:
    """What is known of a column; it may have been said to be of texts or of numbers."""

    said: Kind | None = None
    is_text: bool = False
    gave_up: bool = False  # it looked like numbers, and must be read again as texts
    cells: int = 0  # seen so far
    whole: bool = True  # all numbers are, and none is missing
    some: bool = False  # number is there
    marks: Counter[str] = field(default_factory=Counter)  # of missing numbers, and how many of each
    comma: str = ""  # a number that was written with a decimal comma
    fraction: str = ""  # the first number that is not whole
    text: str = ""  # the first one
    units: set[str | None] = field(default_factory=set)  # of texts that are amounts
    points: set[str] = field(default_factory=set)  # which of them part decimals
    numerals: bool = True  # all texts are, with points or commas
    amounts: bool = True  # all texts are

    def __post_init__(self) -> None:
        self.is_text = self.is_text or self.said == "text"
        self.amounts = self.said != "text"

    @property
    def is_late(self) -> bool:
        """Whether it must be read again as texts, once all cells were seen."""
        only_marks = bool(self.marks) and not self.some and self.said != "number"
        return self.gave_up or (not self.is_text and only_marks)

    @property
    def holds_amounts(self) -> bool:
        """Whether its texts are amounts of one unit, once all cells were seen."""
        alike = len(self.units) == 1 and len(self.points) < 2
        return self.is_text and self.amounts and alike and not self.numerals

    @property
    def dtype(self) -> type:
        """Of its values, once all cells were seen."""
        if self.is_text and not self.holds_amounts:
            return object
        return np.int64 if self.whole and self.cells and not self.is_text else float

    def take_in(self, cells: RawCells, commas: bool, same: dict[str, str]) -> Array | None:
        """Learn from more cells, and give what they hold; None where it must be read again as texts.

        Equal texts share one string, as in `same`.
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
        """What some cells hold, in a column that is settled."""
        if not self.is_text:
            numbers = cells.numbers(commas)
            if numbers is None:
                raise ValueError("the file has changed while it was read: read it again")
            return numbers.values.astype(self.dtype, copy=False)
        words, codes = cells.coded()
        bare = [word.strip() for word in words]
        if self.holds_amounts:
            return read_numbers(bare)[codes]
        return np.array([text or None for text in bare], dtype=object)[codes]

    def joined(self, parts: Sequence[Array]) -> Array:
        """The column of what all its cells were found to hold."""
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
    """What these columns of all texts hold, one below the other.

    `keep` is called with what a column was found to hold, batch by batch, and with None where all that
    came before is wrong: it looked like numbers, and is read `again`. `seen` is told of rows.
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
    """Pause Python's search for cycles, which takes half the time where so many cells are made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def told(columns: Mapping[str, SettledColumn]) -> list[str]:
    """What was taken for numbers that does not look like one everywhere."""
    numbers = {name: column for name, column in columns.items() if not column.is_text}
    said = []
    marks = [
        f"{count:,} {mark!r} in {name!r}"
        for name, column in numbers.items()
        for mark, count in column.marks.items()
    ]
    if marks:
        said.append(f"among numbers these are missing values: {few(marks)}")
    commas = [f"{name!r} ({column.comma})" for name, column in numbers.items() if column.comma]
    if commas:
        said.append(f"commas are read as decimal points in {few(commas)}")
        points = {name: column.fraction for name, column in numbers.items() if not column.comma}
        if shown := [f"{name!r} ({value})" for name, value in points.items() if value]:
            said.append(f"points are read as decimal points beside them, in {few(shown)}")
    amounts = [f"{name!r} ({column.text})" for name, column in columns.items() if column.holds_amounts]
    if amounts:
        said.append(f"amounts are read as the numbers in them in {few(amounts)}")
    return said


def few(words: Iterable[str]) -> str:
    """Some words, and how many there are besides."""
    words = list(words)
    return ", ".join(words[:10]) + (f" and {len(words) - 10} more" if len(words) > 10 else "")
