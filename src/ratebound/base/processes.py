"""Several processes that work on one problem, each with its own share of the rows.

Alone, everything here is the identity. In a group of PyTorch's processes (`torch.distributed`), what is
counted is added up over all of them before anything is divided.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

import numpy as np

from ratebound.base.types import Array

Value = TypeVar("Value")


def _group() -> Any:
    """`torch.distributed`, where several processes are joined by it; else None."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed if distributed.get_world_size() > 1 else None


def count() -> int:
    """How many processes there are."""
    group = _group()
    return 1 if group is None else int(group.get_world_size())


def rank() -> int:
    """Which of them this is, from 0 on."""
    group = _group()
    return 0 if group is None else int(group.get_rank())


def gathered(value: Value) -> list[Value]:
    """A small value of every process, in their order."""
    group = _group()
    if group is None:
        return [value]
    found: list[Any] = [None] * count()
    group.all_gather_object(found, value)
    return found


def total(values: Array) -> Array:
    """Numbers (...) of a NumPy array, added up over all processes.

    >>> total(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    group = _group()
    if group is None:
        return values
    torch = sys.modules["torch"]
    summed = torch.from_numpy(np.array(values))
    group.all_reduce(summed)
    found: Array = summed.numpy()
    return found
