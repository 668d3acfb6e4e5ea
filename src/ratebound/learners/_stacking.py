"""K modules of one architecture as one: their parameters stacked, their outputs computed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ratebound.base.extras import import_torch

if TYPE_CHECKING:
    import torch

Stacked = Callable[[dict[str, Any], Any], Any]


def stacked_forward(module: torch.nn.Module, trained: set[str]) -> Stacked:
    """A function from stacked parameters (K, ...) and rows (b, ...) to outputs (K, b, ...).

    Plain chains of linear layers and activations are written as matrix products, in which the first
    layer of all settings is one product with the shared rows; a module may have a method `stacked` of
    its own; anything else goes through `vmap`, which is some ten times slower there.
    """
    torch = import_torch()
    nn = torch.nn
    own_way: Stacked | None = getattr(module, "stacked", None)
    if own_way is not None:
        return own_way
    if any(buffer.is_floating_point() for buffer in module.buffers()):
        raise ValueError(
            "modules with running statistics, such as BatchNorm, train one setting at a time: one "
            "learning rate of the model, as in rb.Torch(module, 0.01), one of the player, as in "
            "rb.SwapRegret(0.1), and no folds, which confidence= and certify= need; or use LayerNorm, "
            "which keeps none"
        )
    chain: list[tuple[str, Any]] = [("", module)]
    if type(module) is nn.Sequential:
        layers: Any = module._modules.items()  # named_children would skip a layer used twice
        chain = [(f"{name}.", layer) for name, layer in layers]
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    pointwise = (
        nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.LeakyReLU, nn.Softplus,
        nn.Identity, nn.Dropout,
    )  # fmt: skip
    # Frozen and tied parameters have no stack of their own, which functional_call knows how to handle.
    plain = trained == own and all(type(layer) in (nn.Linear, *pointwise) for _, layer in chain)
    if not plain:

        def call(state: dict[str, Any], rows: Any) -> Any:
            return torch.func.functional_call(module, state, (rows,))

        vmapped: Stacked = torch.func.vmap(call, in_dims=(0, None), randomness="different")
        return vmapped

    def forward(state: dict[str, Any], rows: Any) -> Any:
        for prefix, layer in chain:
            if type(layer) is nn.Linear:
                rows = _stacked_linear(rows, state[f"{prefix}weight"], state.get(f"{prefix}bias"))
            else:
                rows = layer(rows)
        return rows

    return forward


def _stacked_linear(rows: Any, weight: Any, bias: Any) -> Any:
    """Linear layers (K, out, in) on rows shared by all settings (b, in), or their own (K, b, in)."""
    settings, out, width = weight.shape
    if rows.ndim == 2:
        wide = rows @ weight.reshape(settings * out, width).T
        found = wide.view(len(rows), settings, out).transpose(0, 1)
    else:
        found = rows @ weight.transpose(1, 2)
    return found if bias is None else found + bias[:, None, :].to(found.dtype)
