"""Words for people to read: tables with columns lined up under a head, and texts that are safe to print.

Names and values come from files, and a terminal obeys some characters: it clears lines, moves back over
what was written, or turns its order around. So such characters are written as what they are, as \\x1b.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

WIDTH = 56  # of the words at the left
OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, invisible formats, halves of letters, line breaks
JOINERS = (
    "\u200c\u200d"  # formats that Persian, Hindi and emoji are written with, which only shape letters
)


def printable(text: str, breaks: str = "\n") -> str:
    """A text without characters that a terminal would obey, except for line breaks.

    >>> print(printable("kept\\x1b[1A\\rbroken\\u202e"))
    kept\\x1b[1A\\rbroken\\u202e
    """
    if text.isprintable():
        return text
    allowed = breaks + JOINERS
    return "".join(
        repr(each)[1:-1] if each not in allowed and unicodedata.category(each) in OBEYED else each
        for each in text
    )


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int], ruled: bool = True) -> list[str]:
    """Rows as lines, the first of them a head, ruled off or not; long words at the left go on below.

    >>> print("\\n".join(aligned([["what", "n"], ["rows", "12"]], right=[1])))
    what   n
    ────────
    rows  12
    """
    rows = [[printable(cell, "") for cell in row] for row in rows]
    wrapped = [textwrap.wrap(row[0], WIDTH, subsequent_indent="  ") or [""] for row in rows]
    widths = [max(len(line) for lines in wrapped for line in lines)]
    widths += [max(len(row[i]) for row in rows) for i in range(1, len(rows[0]))]
    found = []
    for row, (first, *more) in zip(rows, wrapped, strict=True):
        cells = [first, *row[1:]]
        padded = [
            c.rjust(w) if i in right else c.ljust(w)
            for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ]
        found += ["  ".join(padded).rstrip(), *more]
        if ruled and row is rows[0]:
            found.append("─" * (sum(widths) + 2 * (len(widths) - 1)))
    return found
