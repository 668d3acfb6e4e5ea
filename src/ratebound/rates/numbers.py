"""The numbers in an expression, which are finite."""

from __future__ import annotations

import math
from typing import Any


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
