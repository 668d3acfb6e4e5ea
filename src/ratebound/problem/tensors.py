"""Counting scores that are PyTorch tensors, on the device that holds them.

Only counts leave the device, (blocks, models, D-1, cells), so evaluating a model needs one transfer of a
small array. Weighted counts are sums in double precision; a GPU may add them in another order each time.
"""

from __future__ import annotations

from typing import Any

from ratebound.problem.compiled import Compiled


class TensorCounter:
    """The rows of a compiled problem on a device."""

    def __init__(self, compiled: Compiled, device: Any) -> None:
        import torch

        self.compiled = compiled
        self.cell = torch.as_tensor(compiled.cell, dtype=torch.int64, device=device)
        self.weights = []  # of each block (n,), or None
        for block in compiled.blocks:
            weight = compiled.weight_of(block)
            on_device = None if weight is None else torch.as_tensor(weight, device=device)
            self.weights.append(on_device)

    def count(self, scores: Any) -> Any:
        """Return the weight of each decision but the first, in each cell: (B, K, D-1, cells).

        Scores are a tensor (K, n), or (K, D, n) for more than two decisions.
        """
        import torch

        decisions = self.compiled.decisions
        cells = len(self.compiled.bits)
        counts = []
        for block, weights in zip(self.compiled.blocks, self.weights, strict=True):
            if isinstance(block.at, str):
                raise ValueError(f"the threshold {block.at!r} is learned: count scores by NumPy")
            for model in decide_tensor(scores, block.at):
                index = self.cell + model * cells
                counts.append(torch.bincount(index, weights, decisions * cells).double())
        total = torch.stack(counts).reshape(len(self.compiled.blocks), -1, decisions, cells)
        return total[:, :, 1:]


def decide_tensor(scores: Any, at: float) -> Any:
    """Return decisions (K, n) of scores (K, n) or (K, D, n); the later of equals."""
    if scores.ndim == 2:
        return (scores >= at).long()
    last = scores.shape[1] - 1
    return last - scores.flip(1).argmax(1)  # the first of the largest, counted from the end
