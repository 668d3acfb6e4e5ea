"""What a module must be like to be trained; its copies in several processes, and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ratebound.base.arrays import Array
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


def chance(device: Any) -> tuple[Array, ...]:
    """Where the random numbers of PyTorch stand, on the CPU and on the device if there is one."""
    torch = import_torch()
    states = [torch.get_rng_state()]
    if device is not None:
        states.append(torch.cuda.get_rng_state(device))
    return tuple(state.numpy() for state in states)


def set_chance(states: tuple[Array, ...], device: Any) -> None:
    """Continue with the random numbers from there."""
    torch = import_torch()
    torch.set_rng_state(torch.from_numpy(states[0]))
    if device is not None:
        torch.cuda.set_rng_state(torch.from_numpy(states[1]), device)
