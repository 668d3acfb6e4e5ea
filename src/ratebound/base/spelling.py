"""What a misspelled name was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of an error message: the known name closest to `word`, or a full stop.

    >>> nearest("incme", ["age", "income"])
    ", did you mean 'income'?"
    >>> nearest("zip", ["age", "income"])
    '.'
    """
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1)
    return f", did you mean {folded[close[0]]!r}?" if close else "."
