"""PyTorch modules in training: what they must be like, their precision, and K of them computed as one.

"float32" leaves PyTorch as it is set. "tf32" lets a GPU round what it multiplies to 10 binary digits.
"bf16" computes and keeps what lies between the layers in half the bytes, with 7 digits and the range of
float32, so that gradients need no scaling. Parameters and their gradients stay float32.

Iterates of a model on a GPU are evaluated there, all at once: model by model and row block by row block
it would mostly wait. So all models of one architecture go through each block of rows together, as their
scorer would compute them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ratebound._old.base.arrays import exactly
from ratebound._old.base.checks import check_word
from ratebound._old.base.extras import import_torch
from ratebound._old.learners._torch_scorer import (
    CHUNK,
    TorchScorer,
    as_tensor,
    rounded,
    scores_from,
    unflatten,
)

if TYPE_CHECKING:
    import torch

    from ratebound._old.base.types import Array


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


# --- precision ----------------------------------------------------------------------------------


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
    """The context in which a model's scores are computed; its output there may have another type."""
    if precision == "bf16":
        torch = import_torch()
        # Without its cache, which in an autocast around all of training would outlive the parameters.
        return torch.autocast(device.type, torch.bfloat16, cache_enabled=False)
    return backward_in(precision)


def backward_in(precision: str) -> AbstractContextManager[None]:
    """The context of their gradient; types follow from the scores, so only TF32 must be set again."""
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


# --- K modules as one ---------------------------------------------------------------------------


def holder(module: torch.nn.Module) -> torch.nn.Module:
    """A module that calls functions with another one, for `torch.func.functional_call` to fill in."""
    nn = import_torch().nn

    class Holder(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, function: Callable[[Any], Any]) -> Any:
            return function(self.module)

    return Holder()


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
        product = wide.view(len(rows), settings, out).transpose(0, 1)
    else:
        product = rows @ weight.transpose(1, 2)
    return product if bias is None else product + bias[:, None, :].to(product.dtype)


# --- scores of many models where their rows are -------------------------------------------------


NUMBERS = 2**26  # that one layer of all models gives for a block of rows, at most


class OnDevice:
    """A scorer where the rows are; `together` says whether models may be stacked."""

    def __init__(self, scorer: TorchScorer, device: torch.device, together: bool) -> None:
        self.scorer, self.device = scorer, device
        self.together = together or scorer.in_double is not None

    @cached_property
    def _module(self) -> Any:
        module = self.scorer.module if self.scorer.in_double is None else self.scorer.in_double
        return copy.deepcopy(module).to(self.device)

    @cached_property
    def _stacked(self) -> Stacked:
        return stacked_forward(self._module, set(self.scorer.shapes))

    def pieces(self, parameters: Array, X: Any) -> Iterator[torch.Tensor]:
        """(M, A, b) scores of models (M, P) on some rows of X (n, ...) at a time, in order."""
        torch = import_torch()
        flat: Any = as_tensor(parameters).to(self.device)
        width = max((max(shape, default=1) for shape in self.scorer.shapes.values()), default=1)
        models = max(1, NUMBERS // (min(len(X), CHUNK) * width)) if self.together else 1
        for rows in X.split(CHUNK):
            with torch.no_grad(), exactly(flat):
                scores = torch.cat([self._scores(some, rows) for some in flat.split(models)])
            yield scores

    def _scores(self, flat: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Scores of some models, all at once."""
        outputs, wide = self.scorer.outputs, self.scorer.in_double is not None
        if wide:
            state = unflatten(flat.double(), self.scorer.shapes)
            output = self._stacked(state, rows.double())
            return rounded(scores_from(output, len(rows), outputs, len(flat)), flat)
        if self.together:
            output = self._stacked(unflatten(flat, self.scorer.shapes), rows)
            stacked: torch.Tensor = scores_from(output, len(rows), outputs, len(flat))
            return stacked
        call = import_torch().func.functional_call
        states = (unflatten(one, self.scorer.shapes) for one in flat)
        each = [scores_from(call(self._module, s, (rows,)), len(rows), outputs) for s in states]
        return import_torch().stack(each)
