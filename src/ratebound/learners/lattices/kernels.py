"""Whether Triton's kernels can be used: what PyTorch's operations say in many launches, they do in one.

Every such kernel has a plain version in PyTorch's operations, which runs where Triton is missing and
which tests compare it with.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

from torch import Tensor, float32, float64

from ratebound.base import jit

MOST = 8  # inputs of a lattice: the code for more takes too long to compile
LINE = 64  # values of a calibrator, whose square has to


def fit(rank: int, *tensors: Tensor) -> bool:
    """Whether kernels take these tensors, for lattices of so many inputs."""
    first = tensors[0]
    if not first.is_cuda or first.dtype not in (float32, float64) or rank > MOST:
        return False
    return all(t.device == first.device and t.dtype == first.dtype for t in tensors) and _run()


@cache
def _run() -> bool:
    """Whether kernels run here. Triton comes with PyTorch, but the C compiler it asks for does not."""
    if os.environ.get(jit.PLAIN, "0") not in ("", "0") or find_spec("triton") is None:
        return False
    from ratebound.learners.lattices.kernels_triton import try_one

    return try_one()
