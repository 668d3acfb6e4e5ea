"""Several processes that train one model together, each with its own share of the rows.

They are the group of `torch.distributed`, once that is initialised; alone, nothing here does anything.
Whoever divides adds up over all processes first: a mean of means is another number where shares differ.
Every function here is to be called by all processes, in the same order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ratebound.base.arrays import Array, as_like, namespace

Value = TypeVar("Value")


class ProcessLost(RuntimeError):
    """Another process of the group has ended, or cannot be reached."""


def count() -> int:
    """How many processes train together; 1 alone.

    >>> count()
    1
    """
    group = _group()
    return 1 if group is None else int(group.get_world_size())


def rank() -> int:
    """Which of them this is, from 0 on; process 0 prints and writes."""
    group = _group()
    return 0 if group is None else int(group.get_rank())


def is_first() -> bool:
    """Whether it is this process that prints and writes."""
    return rank() == 0


def gathered(value: Value) -> list[Value]:
    """The values that all processes give, in their order; for small ones, of any Python type.

    >>> gathered("red")
    ['red']
    """
    group = _group()
    if group is None:
        return [value]
    found: list[Any] = [None] * group.get_world_size()
    _together(group.all_gather_object, found, value)
    return found


def of_first(value: Value) -> Value:
    """What process 0 gives, for what must be the same everywhere, such as the time.

    >>> of_first(3)
    3
    """
    group = _group()
    if group is None:
        return value
    held = [value]
    _together(group.broadcast_object_list, held, src=0)
    return held[0]


def total(array: Array) -> Array:
    """An array summed over all processes, of the same kind; the array itself where there is one.

    The bits are the same in every process.

    >>> total(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    group = _group()
    return array if group is None else _summed(group, array)


def totals(arrays: Sequence[Array]) -> list[Array]:
    """The same of several arrays of one kind and precision, sent together."""
    group = _group()
    if group is None or not arrays:
        return list(arrays)
    flat = [array.reshape(-1) for array in arrays]
    whole = _summed(group, namespace(flat[0]).concatenate(flat))
    found, start = [], 0
    for array, part in zip(arrays, flat, strict=True):
        found.append(whole[start : start + len(part)].reshape(array.shape))
        start += len(part)
    return found


def rows_of_all(array: Array) -> Array:
    """NumPy arrays (..., n) of all processes, one after the other along their last axis."""
    parts = gathered(array)
    return array if len(parts) == 1 else np.concatenate(parts, axis=-1)


def _group() -> Any:
    """`torch.distributed` where there are several processes; else None. It does not import torch."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed if distributed.get_world_size() > 1 else None


def _summed(group: Any, array: Array) -> Array:
    torch = sys.modules["torch"]
    if namespace(array) is np:
        kind: Any = np.asarray(array).dtype
        wide = np.array(array, dtype=np.int64 if kind.kind in "bui" else kind)  # a copy
        sent = torch.from_numpy(wide)
    else:
        sent = array.detach().clone()
    backends = str(group.get_backend_config())
    at = sent.device
    if at.type == "cpu" and "gloo" not in backends:  # NCCL reaches what lies on GPUs
        sent = sent.cuda()
    elif at.type != "cpu" and "nccl" not in backends:
        sent = sent.cpu()
    _together(group.all_reduce, sent)
    sent = sent.to(at)
    return as_like(sent.numpy(), wide) if namespace(array) is np else sent


def _together(collective: Any, *given: Any, **named: Any) -> None:
    """Wait for all processes; an error that says so where one of them is gone."""
    group = _group()
    try:
        collective(*given, **named)
    except RuntimeError as error:
        own, all_of_them = group.get_rank(), group.get_world_size()
        raise ProcessLost(
            f"process {own} of {all_of_them} (counted from 0) has lost another one, which ended or cannot "
            f"be reached: its own message, if it left one, is above ({str(error).splitlines()[0]})"
        ) from error
