"""Texts by chunks of whole rows, each with what its quotation marks allow.

Quotation marks are regular where every reader understands them alike: they stand around whole cells, and
one inside is written twice. From the first chunk on that is not so, the rest is left to Python's own
reader, since only it knows where a row ends there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ratebound.tables.fields import NEWLINE, QUOTE, RETURN

# Of a row without an end: most likely a quotation mark before it is never closed.
LONGEST = 1 << 24
# Encodings in which the bytes of separators and digits are those of ASCII, and stand for nothing else.
PLAIN = ("utf-8", "utf-8-sig", "ascii", "cp1252", "iso8859-1")


@dataclass(frozen=True)
class Chunk:
    """Some bytes of a text: whole rows with regular quotation marks, unless it is odd."""

    data: bytes
    is_odd: bool


def chunks_of(blocks: Iterator[bytes], sep: str) -> Iterator[Chunk]:
    """A text by chunks of whole rows that end with a newline; from the first odd one on, all are odd."""
    rest = b""
    for block in blocks:
        end = _end(block, rest.count(b'"'))
        data = b"".join([rest, memoryview(block)[:end]])
        rest = block[end:]
        if not end:
            data, rest = b"", data + rest
            if len(rest) < LONGEST:
                continue
        is_odd = not end or _is_odd(data, sep)
        yield Chunk(data, is_odd)
        if is_odd:
            yield from (Chunk(each, True) for each in chain([rest], blocks))
            return
    if rest:
        data = rest + b"\n"
        yield Chunk(data, False) if _end(data, 0) and not _is_odd(data, sep) else Chunk(rest, True)


def _end(block: bytes, quotes: int) -> int:
    """Where the last row ends in a block after so many quotation marks, if they are regular; or 0."""
    if b'"' not in block:
        return 0 if quotes % 2 else block.rfind(b"\n") + 1
    letters = np.frombuffer(block, np.uint8)
    newlines = np.flatnonzero(letters == NEWLINE)
    before = quotes + np.searchsorted(np.flatnonzero(letters == QUOTE), newlines)
    ends = newlines[before % 2 == 0]
    return int(ends[-1]) + 1 if len(ends) else 0


def _is_odd(data: bytes, sep: str) -> bool:
    """Whether readers may differ on where its rows end, or its cells."""
    # Python's reader ends a line also at a return alone.
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return True
    if b"\0" in data or not data.endswith(b"\n"):
        return True
    if b'"' not in data:
        return False
    letters = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(letters == QUOTE)
    if len(quotes) % 2:
        return True
    opening, closing = quotes[::2], quotes[1::2]
    before, after = letters[opening - 1], letters[closing + 1]
    begins = (opening == 0) | (before == ord(sep)) | (before == NEWLINE)
    ends = (after == ord(sep)) | (after == NEWLINE) | (after == RETURN)
    again = closing[:-1] + 1 == opening[1:]  # a quotation mark inside, written twice
    begins[1:] |= again
    ends[:-1] |= again
    return not (begins & ends).all()
