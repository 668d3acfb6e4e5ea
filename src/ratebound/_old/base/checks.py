"""Arguments are checked before anything is done with them.

An error says what was expected, and suggests the known word that was probably meant.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Raise unless `value` is a whole number, `least` or more.

    >>> check_whole("rounds", 2.5)
    Traceback (most recent call last):
    ValueError: rounds takes a whole number from 1 on, got 2.5
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} takes a whole number from {least} on, got {value!r}")


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> None:
    """Raise unless `value` is a finite number in that range.

    >>> check_number("share", 1.5, least=0, below=1)
    Traceback (most recent call last):
    ValueError: share takes a number that is at least 0 and below 1, got 1.5
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    ends = {
        f"at least {least}": least is None or (is_number and value >= least),
        f"above {above}": above is None or (is_number and value > above),
        f"below {below}": below is None or (is_number and value < below),
    }
    if not is_number or not all(ends.values()):
        words = " and ".join(end for end in ends if not end.endswith("None"))
        wanted = f"a number that is {words}" if words else "a finite number"
        raise ValueError(f"{name} takes {wanted}, got {value!r}")


def check_made(name: str, value: Any) -> None:
    """Raise if `value` is a class: an instance of it was meant.

    >>> check_made("model", dict)
    Traceback (most recent call last):
    TypeError: model takes an instance, dict(), got the class dict
    """
    if isinstance(value, type):
        called = value.__name__
        raise TypeError(f"{name} takes an instance, {called}(), got the class {called}")


def check_word(name: str, value: Any, words: Collection[str]) -> None:
    """Raise unless `value` is one of `words`.

    >>> check_word("optimizer", "sdg", ("sgd", "adam"))
    Traceback (most recent call last):
    ValueError: optimizer must be one of sgd, adam, got 'sdg'
    """
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} must be one of {', '.join(words)}, got {value!r}")


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
    """The known name closest to `word`, if its similarity is at least `alike`; 1 means equal.

    >>> closest("Incme", ["age", "income"])
    'income'
    """
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=alike)
    return folded[close[0]] if close else None


def as_number(value: Any, role: str) -> float:
    """`value` as a finite float; `role` says in an error what it was meant for."""
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError
        return finite(float(value))
    except OverflowError:
        raise ValueError("numbers in an expression must be finite; this one is too large") from None
    except TypeError:
        raise TypeError(f"only a number or a rate can be {role}, got {value!r}") from None


def finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"numbers in an expression must be finite, got {number}")
    return number
