"""Scores of many models at once where their rows are: how iterates of a model on a GPU are evaluated.

Model by model and row block by row block a GPU would mostly wait. Here all models of one architecture go
through each block of rows together, as their scorer would compute them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ratebound.base.arrays import exactly
from ratebound.base.extras import import_torch
from ratebound.learners._stacking import Stacked, stacked_forward
from ratebound.learners._torch_scorer import (
    CHUNK,
    TorchScorer,
    as_tensor,
    rounded,
    scores_from,
    unflatten,
)

if TYPE_CHECKING:
    import torch

    from ratebound.base.types import Array

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
        """(M, b) or (M, D, b) scores of models (M, P) on some rows of X (n, ...) at a time, in order."""
        torch = import_torch()
        flat: Any = as_tensor(parameters).to(self.device)
        width = max((max(shape, default=1) for shape in self.scorer.shapes.values()), default=1)
        models = max(1, NUMBERS // (min(len(X), CHUNK) * width)) if self.together else 1
        for rows in X.split(CHUNK):
            with torch.no_grad(), exactly(flat):
                found = torch.cat([self._scores(some, rows) for some in flat.split(models)])
            yield found

    def _scores(self, flat: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Scores of some models, all at once."""
        outputs, wide = self.scorer.outputs, self.scorer.in_double is not None
        if wide:
            state = unflatten(flat.double(), self.scorer.shapes)
            found = self._stacked(state, rows.double())
            return rounded(scores_from(found, len(rows), outputs, len(flat)), flat)
        if self.together:
            found = self._stacked(unflatten(flat, self.scorer.shapes), rows)
            stacked: torch.Tensor = scores_from(found, len(rows), outputs, len(flat))
            return stacked
        call = import_torch().func.functional_call
        states = (unflatten(one, self.scorer.shapes) for one in flat)
        each = [scores_from(call(self._module, s, (rows,)), len(rows), outputs) for s in states]
        return import_torch().stack(each)
