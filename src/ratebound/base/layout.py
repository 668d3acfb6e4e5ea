"""Tables as text: columns lined up under a head."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 56  # of the words at the left


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int], ruled: bool = True) -> list[str]:
    """Rows as lines, the first of them a head, ruled off or not; long words at the left go on below.

    >>> print("\\n".join(aligned([["what", "n"], ["rows", "12"]], right=[1])))
    what   n
    ────────
    rows  12
    """
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
