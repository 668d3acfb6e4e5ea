"""What a module must be like to be trained, and to have copies in several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ratebound.base.extras import import_torch

if TYPE_CHECKING:
    import torch


def check_alike(module: torch.nn.Module) -> None:
    """Raise where the copies of a module in several processes would drift apart."""
    kept = import_torch().nn.modules.batchnorm._NormBase
    if any(isinstance(part, kept) and part.track_running_stats for part in module.modules()):
        raise ValueError(
            "modules with running statistics, such as BatchNorm, would differ between processes: use "
            "LayerNorm, which keeps none, or train in one process"
        )


def check_kinds(trained: dict[str, Any]) -> None:
    """Raise where parameters are not float32, as the rows and the game are."""
    for name, parameter in trained.items():
        if parameter.dtype != import_torch().float32:
            raise ValueError(
                f"the module's {name} is {parameter.dtype}, and rows come as float32: give "
                "module.float() (precision='bf16' trains in half the bytes)"
            )
