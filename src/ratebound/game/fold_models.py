"""The models behind the scores out of fold: beside each candidate, one that did not see each fold.

A trace keeps them, so that whatever is asked of its candidates later, such as other thresholds or other
promises on the same rows, is answered out of fold too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Scorer
from ratebound.problem.compiled import Compiled
from ratebound.problem.frames import rows_of

NO_FOLDS = -1  # the game of a candidate that was not cross-fitted


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows of one population that one model of a candidate did not see."""

    model: int  # which of the candidate's fold models
    rows: Array  # indices into the stacked rows


@dataclass(frozen=True, eq=False)
class Split:
    """How the rows of one game were split: by population, their digest and the fold of each row."""

    of: dict[str, tuple[str, Array]]

    def folds(self, compiled: Compiled) -> Iterator[Fold]:
        """The rows of `compiled` that the game had, fold by fold; none for other populations."""
        for name, population in compiled.populations.items():
            digest, of = self.of.get(name, ("", np.empty(0)))
            if len(of) == len(population) and digest == population.digest:
                for model in np.unique(of).tolist():
                    yield Fold(model, compiled.rows[name].start + np.flatnonzero(of == model))


def split_of(compiled: Compiled, of: Array) -> Split:
    """The split of a game on these rows, whose folds are `of` (n,)."""
    small = of.astype(np.min_scalar_type(int(of.max())))
    return Split(
        {name: (p.digest, small[compiled.rows[name]]) for name, p in compiled.populations.items()}
    )


@dataclass(frozen=True, eq=False)
class FoldModels:
    """For each of N candidates, the models that did not see a fold."""

    splits: tuple[Split, ...]  # of the games the candidates come from
    game: Array  # (N,) which of them each candidate's is; NO_FOLDS for none
    parameters: Array  # (N, folds, P)

    def only(self, chosen: Array) -> FoldModels:
        """The models of only these candidates."""
        return replace(self, game=self.game[chosen], parameters=self.parameters[chosen])

    def scores(self, compiled: Compiled, scorer: Scorer, whole: Array) -> Array:
        """Scores (N, ..., n): out of fold on cross-fitted rows, of the `whole` models elsewhere."""
        given = compiled.inputs if scorer.tables else compiled.features
        pieces: list[tuple[Array, Array, Array]] = []  # candidates, rows, scores
        for game in np.unique(self.game).tolist():
            own = np.flatnonzero(self.game == game)
            rest = np.ones(len(compiled.cells), dtype=bool)
            for fold in [] if game == NO_FOLDS else self.splits[game].folds(compiled):
                rest[fold.rows] = False
                without = self.parameters[own, fold.model]
                pieces.append((own, fold.rows, scorer.scores(without, rows_of(given, fold.rows))))
            if rest.any():
                rows = np.flatnonzero(rest)
                pieces.append((own, rows, scorer.scores(whole[own], rows_of(given, rows))))
        first = pieces[0][2]
        found = np.empty((len(whole), *first.shape[1:-1], len(compiled.cells)), first.dtype)
        for own, rows, scores in pieces:
            found[np.ix_(own, *map(np.arange, first.shape[1:-1]), rows)] = scores
        return found


def joined_models(parts: Sequence[FoldModels | None], counts: Sequence[int]) -> FoldModels | None:
    """The models of all candidates of several traces, which have so many each."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    if all(part is not None and part.splits is known[0].splits for part in parts):
        splits, offsets = known[0].splits, [0] * len(parts)
    else:
        splits = tuple(split for part in known for split in part.splits)
        sizes = [0 if part is None else len(part.splits) for part in parts]
        offsets = (np.cumsum(sizes) - sizes).tolist()
    shape = known[0].parameters.shape[1:]
    games, parameters = [], []
    for part, count, offset in zip(parts, counts, offsets, strict=True):
        if part is None:
            games.append(np.full(count, NO_FOLDS))
            parameters.append(np.zeros((count, *shape), known[0].parameters.dtype))
        else:
            games.append(np.where(part.game == NO_FOLDS, NO_FOLDS, part.game + offset))
            parameters.append(part.parameters)
    return FoldModels(splits, np.concatenate(games), np.concatenate(parameters))
