"""Which version of a kernel runs: a loop that numba compiles, a kernel in Triton, or the plain one.

The plain version runs if numba and Triton are missing or do not apply, and always with
RATEBOUND_PLAIN=1. Loops are compiled, and distributed over threads, here as well.
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

PLAIN = "RATEBOUND_PLAIN"  # if set to 1, numba and Triton are not used

MOST_INPUTS = 8  # of a lattice, for Triton: code for more takes too long to compile
LONGEST_LINE = 64  # values of a calibrator, for Triton, which holds their square

CACHED = 2**17  # bytes of a block
WORTH = 2**21  # multiplications, tenths of a millisecond: ten times the cost of using a thread
VECTOR = 16  # rows computed at once
# Sums over rows may be taken in any order. No product may be fused with a sum: which ones are fused, and
# so the last bits, would depend on whether a loop was compiled here or read from disk.
SUMS: dict[str, Any] = {"fastmath": {"reassoc", "nsz"}, "nogil": True}
EACH: dict[str, Any] = {"fastmath": {"nsz"}, "nogil": True}


# --- which version -------------------------------------------------------------------------------


def _plain() -> bool:
    return os.environ.get(PLAIN, "").lower() not in ("", "0", "no", "false", "off")


@cache
def numba_works() -> bool:
    """Whether loops can be compiled: numba is installed, works and is not switched off."""
    if _plain() or find_spec("numba") is None:
        return False
    try:
        import numba  # noqa: F401
    except Exception as error:  # for example, it may not support this NumPy yet
        warnings.warn(
            f"numba is installed but cannot be imported ({error}): loops are not compiled, which only "
            f"takes longer. To run without numba, set {PLAIN}=1",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


@cache
def _triton_works() -> bool:
    """Whether kernels run here. Triton comes with PyTorch, but the C compiler it needs does not."""
    if _plain() or find_spec("triton") is None:
        return False
    from ratebound._old.kernels.lattices_triton import try_one

    return try_one()


def by_numba(*tensors: Tensor) -> bool:
    """Whether compiled loops accept these tensors."""
    first = tensors[0]
    return (
        all(t.device.type == "cpu" and t.dtype == first.dtype for t in tensors)
        and _single_or_double(first)
        and numba_works()
    )


def by_triton(rank: int, *tensors: Tensor) -> bool:
    """Whether Triton's kernels accept these tensors, for lattices of `rank` inputs."""
    first = tensors[0]
    if not first.is_cuda or not _single_or_double(first) or rank > MOST_INPUTS:
        return False
    return all(t.device == first.device and t.dtype == first.dtype for t in tensors) and _triton_works()


def _single_or_double(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.element_size() >= 4


# --- loops ---------------------------------------------------------------------------------------


class Loop:
    """A function compiled at its first call; numba itself is not imported earlier either.

    It may call other loops of its module, which are inlined. Separate functions would also be compiled
    by themselves, and which of the two a process runs, with different last bits, would depend on what it
    has read from disk.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function, self.options = function, options

    def __call__(self, *given: Any) -> Any:
        return self._compiled(*given)

    @cached_property
    def _compiled(self) -> Any:
        compiled = self._made()
        with suppress(RuntimeError):  # if nothing can be written, every process compiles it
            compiled.enable_caching()
        return compiled

    @cached_property
    def _inside(self) -> Any:
        return self._made(inline="always")

    def _made(self, **more: Any) -> Any:
        """The function as numba compiles it, with the loops that it calls inlined."""
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
    """The numbers of a tensor as an array for loops, shared if they are contiguous."""
    return given.detach().contiguous().numpy()


def scratch(like: Tensor, rows: int, *sizes: int) -> list[Any]:
    """Arrays with the given sizes for each row of a block, aligned as tensors are."""
    most = CACHED // like.element_size() // sum(sizes) // VECTOR * VECTOR
    width = min(max(most, VECTOR), -(-rows // VECTOR) * VECTOR)
    whole, ends = like.new_empty(sum(sizes), width).numpy(), list(accumulate(sizes, initial=0))
    return [whole[start:end] for start, end in pairwise(ends)]


def in_parts(run: Callable[[int, int], None], total: int, each: int) -> None:
    """Run `run(first, last)` over 0, ..., total in parts, where each item takes `each` multiplications.

    There are at most as many parts at a time as PyTorch's own operations have threads, and no part is
    too small to be worth a thread. `run` must release the interpreter lock, as loops compiled with
    `nogil` do.
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
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked child has no threads
