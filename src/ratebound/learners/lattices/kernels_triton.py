"""The smallest kernel, to see whether there can be others."""

from __future__ import annotations

from subprocess import CalledProcessError

import torch
import triton
import triton.language as tl


def try_one() -> bool:
    """Whether Triton can compile a kernel on this machine and launch it on its GPU."""
    try:
        _nothing[(1,)](torch.empty(1, device="cuda"))
    except (RuntimeError, OSError, CalledProcessError):  # no C compiler, no Python.h, too old a device
        return False
    return True


@triton.jit
def _nothing(place):
    tl.store(place, 0.0)
