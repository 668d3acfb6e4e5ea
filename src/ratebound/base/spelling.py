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
    close = closest(word, known)
    return "." if close is None else f", did you mean {close!r}?"


def closest(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name closest to `word`, if any is as much `alike` as that; 1 is the same.

    >>> closest("Incme", ["age", "income"])
    'income'
    """
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=alike)
    return folded[close[0]] if close else None
