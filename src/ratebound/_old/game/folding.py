"""Cross-fitting: one model per fold, side by side; each row is judged by the model that did not see it.

For every setting of the game, the fit trains one model on all rows and one without each fold, all at the
same multipliers. The λ-player sees the out-of-fold rates, and a trace keeps them. The model of all rows
is deployed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratebound._old.base.arrays import Array, as_given, as_like, namespace
from ratebound._old.base.processes import total
from ratebound._old.game._constraints import Models
from ratebound._old.game._state import Batch, GameState, Look
from ratebound._old.game.game import FLATTEST, Game
from ratebound._old.game.trace import FoldModels, Split, split_of
from ratebound._old.problem.compiled import Compiled


@dataclass(frozen=True, eq=False)
class Folded:
    """The fold of each row, and the models side by side: one without each fold, then the whole."""

    count: int
    of: Array  # (n,) from 0
    factors: Array  # (count + 1, count): the weight of a row of each fold in each model
    splits: tuple[Split, ...]  # the same for a trace: one split, as there is one game

    def out_of_fold(self, scores: Array) -> Array:
        """Scores (K · (count + 1), ..., n) by the model that did not see each row: (K, ..., n)."""
        return _out_of_fold(scores, self.count, self.of)

    def pieces_out_of_fold(self, pieces: Iterable[Array]) -> Iterator[Array]:
        """The same for scores of some rows at a time, in order."""
        start = 0
        for scores in pieces:
            of = self.of[start : start + scores.shape[-1]]
            start += len(of)
            if namespace(scores) is not np:
                of = namespace(scores).as_tensor(of, device=scores.device)
            yield _out_of_fold(scores, self.count, of)

    def whole(self, values: Array) -> Array:
        """The values (K · (count + 1), ...) of the models of all rows: (K, ...)."""
        return values[self.count :: self.count + 1]

    def models(self, parameters: Array) -> FoldModels:
        """The models without a fold of every setting, given the parameters (K · (count + 1), P)."""
        stacked = parameters.reshape(-1, self.count + 1, parameters.shape[1])
        return FoldModels(self.splits, np.zeros(len(stacked), dtype=int), stacked[:, : self.count])


def folded(compiled: Compiled, count: int, seed: int, together: Array | None = None) -> Folded:
    """Folds with the same share of every cell, up to rounding, drawn at random.

    Rows with the same number in `together` (n,) are in the same fold. Each such set counts as one row,
    in the cell of its first row.
    """
    random = np.random.default_rng(seed)
    cells = compiled.cells
    first = np.arange(len(cells)) if together is None else np.unique(together, return_index=True)[1]
    order = np.lexsort((random.random(len(first)), cells[first]))
    dealt = np.empty(len(first), dtype=np.intp)
    dealt[order] = (np.arange(len(first)) + random.integers(count)) % count
    of = dealt if together is None else dealt[together]
    weights = np.ones(len(cells)) if compiled.weights is None else compiled.weights
    sizes = total(np.bincount(of, weights, count))
    if not (sizes < sizes.sum()).all() or np.bincount(of, minlength=count).min() == 0:
        raise ValueError(
            f"{len(cells):,} rows are too few for {count} folds, by which promises on new rows are "
            "judged: give more rows, or do without folds (confidence=, certify=, or judge= of rb.play)"
        )
    without = (1 - np.eye(count)) * (sizes.sum() / (sizes.sum() - sizes))[:, None]
    return Folded(count, of, np.vstack([without, np.ones(count)]), (split_of(compiled, of),))


def _out_of_fold(scores: Array, count: int, of: Array) -> Array:
    stacked = scores.reshape(-1, count + 1, *scores.shape[1:])
    if namespace(scores) is np:
        return np.take_along_axis(stacked, of.reshape((1,) * scores.ndim + of.shape), axis=1)[:, 0]
    return stacked.gather(1, of.expand(len(stacked), 1, *scores.shape[1:]))[:, 0]


@dataclass(frozen=True)
class FoldedBatch(Batch):
    """A batch with the fold of each row."""

    fold: Array  # (b,)


class FoldedGame(Game):
    """A game of K settings against K · (folds + 1) models."""

    def __init__(self, compiled: Compiled, player: Any, folds: Folded, **how: Any) -> None:
        super().__init__(compiled, player, **how)
        self.folds = folds
        self.fold = self.on_device(folds.of)
        self.factors = as_like(folds.factors, self.example)

    def start(
        self, scores: Any, *, rounds: int | None = None, thresholds: Array | None = None
    ) -> GameState:
        return super().start(self.folds.whole(scores), rounds=rounds, thresholds=thresholds)

    def batch(self, rows: Array | None, share: Array | float | None = None) -> FoldedBatch:
        own = super().batch(rows, share)
        fold = self.fold if rows is None else self.fold[rows]
        return FoldedBatch(own.cells, own.weight, own.share, own.amounts, own.rows, fold)

    def round(
        self,
        state: GameState,
        scores: Array,
        batch: Batch,
        judged: Look | None = None,
        *,
        models: Models | None = None,  # `play` refuses these here
    ) -> tuple[Array, GameState]:
        assert isinstance(batch, FoldedBatch)
        own = self._as_scores(scores)
        shown = judged or self.look(state, _out_of_fold(own, self.folds.count, batch.fold), batch)
        every = self._everyone(state)
        gradient, slopes = self._gradient(every, self._view(every, own, batch))
        moved = self._moved(state, shown, [self.folds.whole(slope) for slope in slopes])
        return as_given(gradient * self._counted(batch, gradient), scores), moved

    def curvature(self, state: GameState, scores: Array, batch: Batch) -> Array:
        assert isinstance(batch, FoldedBatch)
        curvature = super().curvature(self._everyone(state), scores, batch)
        return (curvature * self._counted(batch, curvature)).clip(min=FLATTEST)

    def _counted(self, batch: FoldedBatch, values: Array) -> Array:
        """The weight of each row of the batch in each model, to multiply values (models, A, b)."""
        factors = self.factors[:, batch.fold]
        settings = len(values) // len(factors)
        each = factors if settings == 1 else namespace(factors).concatenate([factors] * settings, 0)
        return each[:, None]

    def _everyone(self, state: GameState) -> GameState:
        """The state as every model sees it: each setting's, repeated for all its models."""
        times = self.folds.count + 1
        weights = _repeated(as_like(state.multipliers.weights, self.example), times)
        return replace(
            state,
            multipliers=replace(state.multipliers, weights=weights),
            thresholds=_repeated(state.thresholds, times),
        )


def _repeated(values: Array, times: int) -> Array:
    """Each of the values (K, ...) repeated `times` times in sequence."""
    return values.repeat(times, 0) if namespace(values) is np else values.repeat_interleave(times, 0)
