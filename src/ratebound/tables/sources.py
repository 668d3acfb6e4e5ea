"""Files as columns: the cells of texts become numbers or texts, and Parquet and Arrow keep their types.

Numbers are kept as such from the first batch on, since a million texts take far more room. Only where a
later batch shows that a column holds texts after all is that column read a second time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from ratebound.base.ahead import ahead
from ratebound.base.types import Array
from ratebound.tables.arrow import read_arrow
from ratebound.tables.contents import Content
from ratebound.tables.reading import Kind, Reading
from ratebound.tables.settling import Column, few, told
from ratebound.tables.texts import Text, as_text


def read_columns(
    files: Sequence[Content], kinds: Mapping[str, Kind], reading: Reading
) -> tuple[dict[str, Array], list[str]]:
    """The columns of files that have the same ones, and what is to be told about them.

    `kinds` says what some columns hold: one of texts is never read as numbers, and one of numbers may
    hold nothing but marks of missing ones.
    """
    arrow = [content.is_arrow for content in files]
    if any(arrow) and not all(arrow):
        one, other = files[arrow.index(True)], files[arrow.index(False)]
        raise ValueError(
            f"{one.name} is Parquet or Arrow and {other.name} is not: give one kind of file"
        )
    if all(arrow):
        tables = [read_arrow(content, kinds) for content in files]
        _check_same([(content.name, list(table)) for content, table in zip(files, tables, strict=True)])
        return {name: _joined([table[name] for table in tables]) for name in tables[0]}, []
    texts = texts_of(files, reading)
    parts: dict[str, list[Array]] = {name: [] for name in texts[0].names}

    def keep(name: str, values: Array | None) -> None:
        if values is None:
            parts[name].clear()
        else:
            parts[name].append(values)

    columns = settled(texts, texts[0].names, kinds, keep)
    notices = [text.notice for text in texts if text.notice]
    found = {name: column.joined(parts.pop(name)) for name, column in columns.items()}
    return found, notices + told(columns)


def texts_of(files: Sequence[Content], reading: Reading) -> list[Text]:
    """The texts in files, which must have the same columns."""
    texts = [as_text(content, reading) for content in files]
    _check_same([(text.name, text.names) for text in texts])
    return texts


def _check_same(named: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise unless all files have the columns of the first, in whatever order."""
    (first, names), *others = named
    for other, found in others:
        lacking = [name for name in names if name not in found]
        besides = [name for name in found if name not in names]
        if lacking or besides:
            said = [f"lacks {few(list(map(repr, lacking)))}"] * bool(lacking)
            said += [f"has {few(list(map(repr, besides)))} besides"] * bool(besides)
            raise ValueError(f"{other} has other columns than {first}: it {' and '.join(said)}")


def _joined(parts: Sequence[Array]) -> Array:
    """One column of all files; where they differ in type, its values keep their own."""
    numeric = all(part.dtype.kind in "iuf" for part in parts)
    if not numeric and len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


# --- cells of texts ------------------------------------------------------------------------------


def settled(
    texts: Sequence[Text],
    names: Collection[str],
    kinds: Mapping[str, Kind],
    keep: Callable[[str, Array | None], None] | None = None,
    seen: Callable[[int], object] | None = None,
    again: bool = False,
) -> dict[str, Column]:
    """What these columns of all texts hold, one below the other.

    `keep` is called with what a column was found to hold, batch by batch, and with None where all that
    came before is wrong: it looked like numbers, and is read `again`. `seen` is told of rows.
    """
    columns = {name: Column(kinds.get(name), is_text=again) for name in names}
    same: dict[str, str] = {}
    with no_collecting():
        for text in texts:
            for batch in ahead(text.batches(names)):
                for name, cells in batch.items():
                    if columns[name].gave_up:
                        continue
                    found = columns[name].take_in(cells, text.sep != ",", same)
                    if keep is not None:
                        keep(name, found)
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
