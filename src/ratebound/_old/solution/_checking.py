"""Plain values from a file, checked: nothing in it is taken for granted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ratebound._old.base.types import Array


def plain(value: Any) -> Any:
    """A text, a number or a truth value, of Python's own types."""
    own_type = value.item() if hasattr(value, "item") else value
    if isinstance(own_type, str | bool | int) or (
        isinstance(own_type, float) and math.isfinite(own_type)
    ):
        return own_type
    raise ValueError(f"labels must be texts, numbers or truth values to be saved, got {value!r}")


def flag(value: Any) -> bool:
    """True or false itself, not a value that merely counts as one of them."""
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {value!r}")
    return value


def texts(values: Any, what: str) -> list[str]:
    """A list of different texts."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"its {what} are not texts")
    if len(set(values)) != len(values):
        raise ValueError(f"its {what} are not all different")
    return values


def numbers(values: Any, shape: tuple[int, ...], what: str) -> Array:
    """Finite numbers of that shape."""
    array = np.asarray(values)
    if array.shape == shape and not array.size:
        return array.astype(float)
    if array.shape != shape or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(f"its {what} are {array.dtype} of shape {array.shape}, not {shape} numbers")
    return array.astype(float, copy=False)
