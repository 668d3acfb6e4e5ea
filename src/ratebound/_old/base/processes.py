"""Several processes that train one model together, each with its own share of the rows.

They are the group of `torch.distributed` once it is initialised, or of `xgboost.collective`. In a single
process, nothing here does anything.
Add up over all processes before any division: a mean of means differs if the shares differ.
All processes must call every function here, in the same order.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, TypeVar

import numpy as np

from ratebound._old.base.arrays import Array, as_like, namespace

Value = TypeVar("Value")
Given = TypeVar("Given")

_alone = ContextVar("alone", default=False)  # whether this process works as if it were the only one


class ProcessLost(ConnectionError):
    """Another process of the group has ended, or cannot be reached."""


def count() -> int:
    """How many processes train together; 1 if there is only this one.

    >>> count()
    1
    """
    group = _group()
    return 1 if group is None else group.size


def rank() -> int:
    """The number of this process, from 0; process 0 prints and writes."""
    group = _group()
    return 0 if group is None else group.rank


def is_first() -> bool:
    """Whether this process is the one that prints and writes."""
    return rank() == 0


def gathered(value: Value) -> list[Value]:
    """The values of all processes, in their order; meant for small values, of any Python type.

    >>> gathered("red")
    ['red']
    """
    group = _group()
    return [value] if group is None else group.gathered(value)


def of_first(value: Value) -> Value:
    """The value of process 0, for values that must be the same everywhere, such as the time.

    >>> of_first(3)
    3
    """
    group = _group()
    return value if group is None else group.sent(value, 0)


def check_same(what: str, value: object) -> None:
    """Raise, in all processes, if they were given different values and so would do different things.

    >>> check_same("the seed", 3)
    """
    first, *others = gathered(value)
    for place, other in enumerate(others, start=1):
        if other != first:
            raise ValueError(
                f"process {place} (counted from 0) was given {what} {other!r}, and process 0 {first!r}: "
                "give all of them the same"
            )


def total(array: Array) -> Array:
    """An array summed over all processes, of the same kind; the array itself if there is one process.

    The sum is the same in every process, bit for bit.

    >>> total(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    group = _group()
    return array if group is None else group.summed(array)


def totals(arrays: Sequence[Array]) -> list[Array]:
    """The same for several arrays of one kind, sent together."""
    group = _group()
    if group is None or not arrays:
        return list(arrays)
    flat = [array.reshape(-1) for array in arrays]
    whole = group.summed(namespace(flat[0]).concatenate(flat))
    summed, start = [], 0
    for array, part in zip(arrays, flat, strict=True):
        own = whole[start : start + len(part)].reshape(array.shape)
        summed.append(as_like(own, array))
        start += len(part)
    return summed


@contextmanager
def alone() -> Iterator[None]:
    """A context in which each process works as if it were the only one, on rows that all of them have.

    >>> with alone():
    ...     count()
    1
    """
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


class _Group(ABC):
    """Several processes, and how a library lets them communicate."""

    lost: ClassVar[type[Exception]] = RuntimeError  # what the library raises if a process is gone

    def __init__(self, library: Any) -> None:
        self.library = library
        self.size, self.rank = int(library.get_world_size()), int(library.get_rank())

    @abstractmethod
    def gathered(self, value: Any) -> list[Any]:
        """The values of all processes, in their order."""

    @abstractmethod
    def sent(self, value: Any, source: int) -> Any:
        """The value of process `source`."""

    @abstractmethod
    def summed(self, array: Array) -> Array:
        """An array summed over all processes."""

    def together(self, collective: Any, *given: Any, **named: Any) -> Any:
        """Wait for all processes; raises ProcessLost if one of them is gone."""
        try:
            return collective(*given, **named)
        except self.lost as error:
            raise ProcessLost(
                f"process {self.rank} of {self.size} (counted from 0) has lost another one, which ended "
                "or cannot be reached: its own message, if it left one, is above "
                f"({str(error).splitlines()[0]})"
            ) from error


class _Torch(_Group):
    """The group of `torch.distributed`."""

    def gathered(self, value: Any) -> list[Any]:
        values: list[Any] = [None] * self.size
        self.together(self.library.all_gather_object, values, value)
        return values

    def sent(self, value: Any, source: int) -> Any:
        held = [value]
        self.together(self.library.broadcast_object_list, held, src=source)
        return held[0]

    def summed(self, array: Array) -> Array:
        is_numpy = namespace(array) is np
        sent = sys.modules["torch"].from_numpy(_widened(array)) if is_numpy else array.detach().clone()
        backends = str(self.library.get_backend_config())
        at = sent.device
        if at.type == "cpu" and "gloo" not in backends:  # NCCL only reaches arrays on GPUs
            sent = sent.cuda()
        elif at.type != "cpu" and "nccl" not in backends:
            sent = sent.cpu()
        self.together(self.library.all_reduce, sent)
        sent = sent.to(at)
        return sent.numpy() if is_numpy else sent


class _XGBoost(_Group):
    """The group of `xgboost.collective`, in which XGBoost also adds up its histograms."""

    lost = ValueError  # an XGBoostError is one

    def gathered(self, value: Any) -> list[Any]:
        return [self.sent(value, source) for source in range(self.size)]

    def sent(self, value: Any, source: int) -> Any:
        return self.together(self.library.broadcast, (value,), source)[0]  # it does not send a bare None

    def summed(self, array: Array) -> Array:
        own = _widened(array if namespace(array) is np else array.detach().cpu().numpy())
        summed = self.together(self.library.allreduce, own, self.library.Op.SUM).reshape(own.shape)
        return summed if namespace(array) is np else as_like(summed, array)


def _group(*, joined: bool = False) -> _Group | None:
    """The group of several processes that work together, or are `joined`, else None.

    It imports no library.
    """
    if _alone.get() and not joined:
        return None
    distributed = sys.modules.get("torch.distributed")
    ready = distributed is not None and distributed.is_available() and distributed.is_initialized()
    if distributed is not None and ready and distributed.get_world_size() > 1:
        return _Torch(distributed)
    collective = sys.modules.get("xgboost.collective")
    return _XGBoost(collective) if collective is not None and collective.get_world_size() > 1 else None


def _widened(array: Array) -> Array:
    """A copy; whole numbers get a type wide enough for their sum."""
    kind = np.asarray(array).dtype
    return np.array(array, dtype=np.int64 if kind.kind in "bui" else kind)
