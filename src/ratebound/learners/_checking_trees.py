"""Trees from a file, checked before a library sees them, which follows their nodes unchecked.

A node's children, features and categories are indices into arrays; one out of range reads memory that is
not the model's, and a circle never ends. So what a file holds is read here, every index and size is
checked, and the library is given a text written anew from what was read, with nothing else in it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ratebound.base.types import Array

Tree = dict[str, Any]
WHOLE = re.compile(r"-?[0-9]{1,15}")


def demand(is_right: bool, otherwise: str) -> None:
    if not is_right:
        raise ValueError(f"its trees are not as their library writes them: {otherwise}")


def reached(left: Array, right: Array, where: str) -> Array:
    """The nodes reached from the root, node 0, each exactly once; -1 stands for no child.

    Two children of a node follow each other: XGBoost finds the right one of a single row that way.
    """
    seen = np.zeros(len(left), dtype=bool)
    found, nodes = [], np.array([0])
    while len(nodes):
        twice = seen[nodes].any() or len(np.unique(nodes)) < len(nodes)
        demand(not twice, f"{where}: a node is reached twice")
        seen[nodes] = True
        found.append(nodes)
        nodes = np.column_stack([left[nodes], right[nodes]]).ravel()
        nodes = nodes[nodes >= 0]
    return np.concatenate(found)


def whole(value: Any, low: int, high: int, what: str) -> int:
    """A whole number, or the text of one."""
    right = WHOLE.fullmatch(str(value)) is not None and not isinstance(value, bool)
    demand(right and low <= int(str(value)) <= high, f"{what} is {str(value)[:20]!r}")
    return int(str(value))


def wholes(values: Any, low: int, high: int, what: str, size: int | None = None) -> Array:
    right = isinstance(values, list) and all(type(value) is int for value in values)
    demand(right and all(low <= value <= high for value in values), f"{what} is out of range")
    return sized(np.array(values, dtype=np.int64), len(values) if size is None else size, what)


def sized(values: Array, size: int, what: str) -> Array:
    demand(values.shape == (size,), f"{what} has {values.size} numbers, and {size} are expected")
    demand(values.dtype.kind != "f" or bool(np.isfinite(values).all()), f"{what} is not finite")
    return values


def within(values: Array, low: int, high: int) -> bool:
    return bool(((values >= low) & (values <= high)).all())
