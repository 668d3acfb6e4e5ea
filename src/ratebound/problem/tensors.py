"""Counting scores that are PyTorch tensors, on the device that holds them.

Only counts leave the device, (blocks, models, D-1, cells), so evaluating a model takes one small
transfer. Weighted counts are sums in double precision; a GPU may add them in another order each time.
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
        self.weights = []  # (n,) or None for each block
        for block in compiled.blocks:
            weight = compiled.weight_of(block)
            if weight is not None:
                weight = torch.as_tensor(weight, device=device)
            self.weights.append(weight)

    def count(self, scores: Any) -> Any:
        """Return the weight of each decision but the first, in each cell: (B, K, D-1, cells).

        Scores are a tensor (K, n), or (K, D, n) for more than two decisions.
        """
        import torch

        blocks = self.compiled.blocks
        decisions = self.compiled.decisions
        cells = len(self.compiled.bits)
        counts = []
        for block, weights in zip(blocks, self.weights, strict=True):
            if isinstance(block.at, str):
                raise ValueError(f"the threshold {block.at!r} is learned: count scores by NumPy")
            for decisions_of_model in decide_tensor(scores, block.at):
                index = self.cell + decisions_of_model * cells
                count = torch.bincount(index, weights, decisions * cells)
                counts.append(count.double())
        total = torch.stack(counts).reshape(len(blocks), -1, decisions, cells)
        return total[:, :, 1:]


def decide_tensor(scores: Any, at: float) -> Any:
    """Return decisions (K, n) of scores (K, n) or (K, D, n); the later of equals."""
    if scores.ndim == 2:
        return (scores >= at).long()
    last = scores.shape[1] - 1
    return last - scores.flip(1).argmax(1)  # argmax returns the first of equals
