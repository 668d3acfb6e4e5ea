"""Compiled loops in as many threads as PyTorch uses, which its own operations would have taken."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch


def in_parts(run: Callable[[int, int], None], total: int, least: int) -> None:
    """Run `run(first, last)` over 0, ..., total in parts of `least` or more, one a thread.

    It is to leave the interpreter to others, as loops compiled with `nogil` do.
    """
    parts = max(1, min(torch.get_num_threads(), total // least))
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
