"""What compiled loops over tensors on a CPU share: which tensors they take, room to work in, threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from ratebound.base import jit

CACHED = 2**17  # bytes of a block
WORTH = 2**21  # multiplications, some tenths of a millisecond: ten times what it takes to ask a thread
VECTOR = 16  # rows that may be computed with at once
# Sums over rows may be taken in any order. No product may be fused with a sum: which are then depends on
# whether a loop was compiled in this process or read from disk, and with it the last bits.
SUMS: dict[str, Any] = {"fastmath": {"reassoc", "nsz"}, "nogil": True}
EACH: dict[str, Any] = {"fastmath": {"nsz"}, "nogil": True}


def take(*given: Tensor) -> bool:
    """Whether compiled loops can be run on these tensors."""
    return (
        all(t.device.type == "cpu" and t.dtype == given[0].dtype for t in given)
        and given[0].dtype in (torch.float32, torch.float64)
        and jit.available()
    )


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
