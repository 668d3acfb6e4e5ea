"""Which version of a kernel runs: a loop that numba compiles, a kernel in Triton, or the plain one.

The plain version runs if neither numba nor Triton is installed or fits, and everywhere with
RATEBOUND_PLAIN=1. How loops are compiled, and dealt out to threads, is here as well.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, cached_property, partial, update_wrapper
from importlib.util import find_spec
from itertools import accumulate, pairwise
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

PLAIN = "RATEBOUND_PLAIN"  # set to 1 it leaves numba and Triton alone

MOST_INPUTS = 8  # of a lattice, for Triton: the code for more takes too long to compile
LONGEST_LINE = 64  # values of a calibrator, for Triton, whose square has to be held

CACHED = 2**17  # bytes of a block
WORTH = 2**21  # multiplications, some tenths of a millisecond: ten times what it takes to ask a thread
VECTOR = 16  # rows that may be computed with at once
# Sums over rows may be taken in any order. No product may be fused with a sum: which are then depends on
# whether a loop was compiled in this process or read from disk, and with it the last bits.
SUMS: dict[str, Any] = {"fastmath": {"reassoc", "nsz"}, "nogil": True}
EACH: dict[str, Any] = {"fastmath": {"nsz"}, "nogil": True}


# --- which version -------------------------------------------------------------------------------


def _plain() -> bool:
    return os.environ.get(PLAIN, "").lower() not in ("", "0", "no", "false", "off")


@cache
def numba_works() -> bool:
    """Whether loops can be compiled: numba is there and works, and nobody asked to do without it."""
    if _plain() or find_spec("numba") is None:
        return False
    try:
        import numba  # noqa: F401
    except Exception as error:  # such as that it does not know this NumPy yet
        warnings.warn(
            f"numba is installed, but cannot be imported ({error}): loops are not compiled, which only "
            f"takes longer. To leave numba alone set {PLAIN}=1",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


@cache
def _triton_works() -> bool:
    """Whether kernels run here. Triton comes with PyTorch, but the C compiler it asks for does not."""
    if _plain() or find_spec("triton") is None:
        return False
    from ratebound.kernels.lattices_triton import try_one

    return try_one()


def by_numba(*tensors: Tensor) -> bool:
    """Whether compiled loops take these tensors."""
    first = tensors[0]
    return (
        all(t.device.type == "cpu" and t.dtype == first.dtype for t in tensors)
        and _single_or_double(first)
        and numba_works()
    )


def by_triton(rank: int, *tensors: Tensor) -> bool:
    """Whether Triton's kernels take these tensors, for lattices of so many inputs."""
    first = tensors[0]
    if not first.is_cuda or not _single_or_double(first) or rank > MOST_INPUTS:
        return False
    return all(t.device == first.device and t.dtype == first.dtype for t in tensors) and _triton_works()


def _single_or_double(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.element_size() >= 4


# --- loops ---------------------------------------------------------------------------------------


class Loop:
    """A function compiled at its first call; numba itself is not imported before that either.

    It may call other loops of its module, which become part of it: functions of their own would be
    compiled by themselves too, and which of the two a process runs, with other last bits, would depend
    on what it has read from disk.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function, self.options = function, options

    def __call__(self, *given: Any) -> Any:
        return self._compiled(*given)

    @cached_property
    def _compiled(self) -> Any:
        compiled = self._made()
        with suppress(RuntimeError):  # where nothing can be written, it is compiled in every process
            compiled.enable_caching()
        return compiled

    @cached_property
    def _inside(self) -> Any:
        return self._made(inline="always")

    def _made(self, **more: Any) -> Any:
        """What numba makes of the function, with those it names inside."""
        import numba

        code, known = self.function.__code__, self.function.__globals__
        loops = {name: known[name] for name in code.co_names if isinstance(known.get(name), Loop)}
        inside = known | {name: other._inside for name, other in loops.items()}
        function = FunctionType(code, inside, code.co_name, self.function.__defaults__)
        return numba.njit(**self.options, **more)(function)


def loop(**options: Any) -> Callable[[Callable[..., Any]], Loop]:
    """Compile the function below with these options of numba, when it is first called."""
    return partial(Loop, options=options)


def as_array(given: Tensor) -> Any:
    """The numbers of a tensor as loops take them, shared where they lie one after the other."""
    return given.detach().contiguous().numpy()


def scratch(like: Tensor, rows: int, *sizes: int) -> list[Any]:
    """Arrays of so many numbers for each row of a block, aligned as tensors are."""
    most = CACHED // like.element_size() // sum(sizes) // VECTOR * VECTOR
    width = min(max(most, VECTOR), -(-rows // VECTOR) * VECTOR)
    whole, ends = like.new_empty(sum(sizes), width).numpy(), list(accumulate(sizes, initial=0))
    return [whole[start:end] for start, end in pairwise(ends)]


def in_parts(run: Callable[[int, int], None], total: int, each: int) -> None:
    """Run `run(first, last)` over 0, ..., total, each of so many multiplications, in parts.

    There are at most as many at a time as PyTorch's own operations have threads, and none smaller than
    is worth a thread. What is run is to leave the interpreter to others, as loops compiled with `nogil`
    do.
    """
    import torch

    parts = max(1, min(torch.get_num_threads(), total, total * each // WORTH))
    if parts == 1:
        run(0, total)
        return
    ends = [total * part // parts for part in range(parts + 1)]
    pool = _pool(torch.get_num_threads() - 1)
    others = [pool.submit(run, *ends[part : part + 2]) for part in range(1, parts)]
    run(*ends[:2])
    for other in others:
        other.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "ratebound")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay with the parent
