"""Random numbers from a generator of our own, in PyTorch.

PyTorch draws from one generator that all threads share. Models here are made and trained with another
generator. So a seed gives the same model whatever else runs, and the caller's random numbers do not
change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import import_module
from threading import RLock
from typing import Any

from ratebound._old.base.extras import import_torch

SHARED = RLock()  # PyTorch has one generator on each device, which threads take in turn


def drawing_from(generator: Any) -> AbstractContextManager[Any]:
    """A context in which everything this thread draws on the CPU comes from the generator.

    >>> import torch
    >>> with drawing_from(torch.Generator().manual_seed(0)):
    ...     drawn = torch.rand(3)
    >>> torch.equal(drawn, torch.rand(3, generator=torch.Generator().manual_seed(0)))
    True
    """
    mode: AbstractContextManager[Any] = _modes()[0](generator)
    return mode


def drawing_nothing() -> AbstractContextManager[Any]:
    """A context in which this thread raises an error if it draws anything."""
    mode: AbstractContextManager[Any] = _modes()[1]()
    return mode


@contextmanager
def seeded_on(device: Any, seed: int) -> Iterator[None]:
    """A context, one thread at a time, that seeds a GPU's own generator and restores it afterwards.

    Many operations on a GPU accept no other generator. If the device is not a GPU, nothing is done.
    """
    cuda = import_torch().cuda
    if device is None or import_torch().device(device).type != "cuda":
        yield
        return
    with SHARED, cuda.device(device):
        before = cuda.get_rng_state(device)
        cuda.manual_seed(seed)
        try:
            yield
        finally:
            cuda.set_rng_state(before, device)


@cache
def _modes() -> tuple[Any, Any]:
    """The two contexts. A mode sees only the operations of its own thread."""
    torch: Any = import_torch()
    mode: Any = import_module("torch.utils._python_dispatch").TorchDispatchMode

    class Drawing(mode):
        def __init__(self, generator: Any) -> None:
            super().__init__()
            self.generator = generator

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if torch.Tag.nondeterministic_seeded not in func.tags or kwargs.get("generator") is not None:
                return func(*args, **kwargs)
            first = args[0] if args else None
            device = first.device if isinstance(first, torch.Tensor) else kwargs.get("device")
            if torch.device(device or "cpu").type != "cpu":
                return func(*args, **kwargs)  # from the device's generator, see `seeded_on`
            taking = _taking_generator(func)
            if taking is not None:
                return taking(*args, **kwargs | {"generator": self.generator})
            seed = int(torch.randint(2**62, (), generator=self.generator))
            with SHARED, torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                return func(*args, **kwargs)

    class Nothing(mode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if torch.Tag.nondeterministic_seeded in func.tags:
                raise ValueError(
                    "the module draws random numbers while its gradient is computed, as "
                    "torch.utils.checkpoint does to repeat a dropout, and they would differ: train "
                    "it without checkpoints, or without dropout inside them"
                )
            return func(*args, **(kwargs or {}))

    return Drawing, Nothing


def _taking_generator(func: Any) -> Any:
    """The variant of an operation that takes a generator; None if it has no such variant."""
    if any(argument.name == "generator" for argument in func._schema.arguments):
        return func
    name = func._overloadname
    return getattr(func.overloadpacket, "generator" if name == "default" else f"{name}_generator", None)
