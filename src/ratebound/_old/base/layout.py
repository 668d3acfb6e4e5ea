"""Text for people: tables with aligned columns, and words that are safe to print.

Names and values come from files, and a terminal obeys some characters: it clears lines, moves back over
what was written, or reverses the order of letters. So such characters are escaped, as \\x1b.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Sequence

WIDTH = 56  # of the first column
NOTHING = "–"
MOST_DIGITS = 15
TOLD = 1e-9  # the smallest difference between two numbers that is not rounding
OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, invisible formats, halves of letters, line breaks
JOINERS = "\u200c\u200d"  # formats that only shape letters, needed for Persian, Hindi and emoji


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


def number(
    value: float | None, *, signed: bool = False, beside: float | None = None, told: float = TOLD
) -> str:
    """A number as people write it: four digits after the point for rates, none for large counts.

    A number that is compared with the one `beside` it gets enough digits to tell the two apart, unless
    they are equal up to rounding, which is a share `told` of them.

    >>> number(0.25), number(-1e-17, signed=True), number(1234.5), number(None)
    ('0.2500', '+0.0000', '1,234.5', '–')
    >>> number(0.899997, beside=0.9), number(0.9, beside=0.899997), number(-3e-6, signed=True, beside=0)
    ('0.899997', '0.900000', '-0.000003')
    """
    if value is None:
        return NOTHING
    digits = 4 if abs(value) < 10 else 1 if abs(value) < 1e5 else 0
    if beside is not None and math.isfinite(value) and math.isfinite(beside):
        apart = abs(value - beside)
        least = told * max(1.0, abs(beside))
        while digits < MOST_DIGITS and apart > least and round(value, digits) == round(beside, digits):
            digits += 1
    value = round(value, digits) + 0.0  # adding zero removes the sign of a negative zero
    return f"{value:{'+' if signed else ''},.{digits}f}"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int], ruled: bool = True) -> list[str]:
    """Rows as aligned lines; the first is the head, `ruled` off or not; a long first cell wraps.

    >>> print("\\n".join(aligned([["what", "n"], ["rows", "12"]], right=[1])))
    what   n
    ────────
    rows  12
    """
    rows = [[printable(cell, "") for cell in row] for row in rows]
    wrapped = [textwrap.wrap(row[0], WIDTH, subsequent_indent="  ") or [""] for row in rows]
    widths = [max(len(line) for lines in wrapped for line in lines)]
    widths += [max(len(row[i]) for row in rows) for i in range(1, len(rows[0]))]
    written = []
    for row, (first, *more) in zip(rows, wrapped, strict=True):
        cells = [first, *row[1:]]
        padded = [
            c.rjust(w) if i in right else c.ljust(w)
            for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ]
        written += ["  ".join(padded).rstrip(), *more]
        if ruled and row is rows[0]:
            written.append("─" * (sum(widths) + 2 * (len(widths) - 1)))
    return written
