"""The precision of a network's passes in training; parameters and their gradients stay float32.

"float32" leaves PyTorch as it is set. "tf32" lets a GPU round what it multiplies to 10 binary digits.
"bf16" computes and keeps what lies between the layers in half the bytes, with 7 digits and the range of
float32, so that gradients need no scaling.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ratebound.base.checks import check_word
from ratebound.base.extras import import_torch

if TYPE_CHECKING:
    import torch

PRECISIONS = ("float32", "tf32", "bf16")


def check_precision(precision: str, device: str | None) -> None:
    """Raise for a precision that is unknown, or not to be had where the model is."""
    check_word("precision", precision, PRECISIONS)
    if precision == "tf32" and import_torch().device(device or "cpu").type != "cuda":
        raise ValueError(
            "precision='tf32' is a way in which GPUs multiply: give device='cuda' too, or use 'bf16', "
            "which CPUs know as well"
        )


def forward_in(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Where a model's scores are computed; what it gives there may be of another type."""
    if precision == "bf16":
        torch = import_torch()
        # Without its cache, which in an autocast around all of training would outlive the parameters.
        return torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
    return backward_in(precision)


def backward_in(precision: str) -> AbstractContextManager[None]:
    """Where their gradient is; types follow from the scores, so that only TF32 is to be said again."""
    return _tf32() if precision == "tf32" else nullcontext()


@contextmanager
def _tf32() -> Iterator[None]:
    """A flag of the whole process, so it is put back: the game and exact scores do without."""
    products: Any = import_torch().backends.cuda.matmul
    # From PyTorch 2.9 on the flag is a word; written once, the older one can no longer be read.
    flag, value = (
        ("fp32_precision", "tf32") if hasattr(products, "fp32_precision") else ("allow_tf32", True)
    )
    before = getattr(products, flag)
    setattr(products, flag, value)
    try:
        yield
    finally:
        setattr(products, flag, before)
