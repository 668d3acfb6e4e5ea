"""Rows in folds, from which each model learns without one of them; in memory, or read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratebound._old.base.progress import Silent
from ratebound._old.base.types import Array
from ratebound._old.problem.frames import rows_of
from ratebound._old.problem.population import Population
from ratebound._old.problem.stored import StoredRows

BLOCK = 2**15  # rows on disk that are computed with at a time
SAMPLED = 200_000  # rows on disk that stand for all, at most
BYTES = 2**28  # of their features
OF_EACH = 1000  # rows of each answer in a sample, or all of them, if that is more than its share


@dataclass(frozen=True, eq=False)
class Cross:
    """The rows to learn from, and the fold of each."""

    inputs: Any  # a table or an array; or rows on disk, that are more than may be in memory
    weights: Array | None
    of: Array  # (n,)
    folds: int
    seed: int
    shown: Any = field(default_factory=Silent)  # what counts the models that were trained
    epochs: int | None = None  # passes over the rows, of models that learn by steps
    people: Any = None  # the population of these rows, if they are on disk
    learning: str = ""  # what is learned, in words

    @property
    def stored(self) -> bool:
        """Whether rows are on disk."""
        return isinstance(self.inputs, StoredRows)

    def splits(self, rows: Array) -> Iterator[tuple[Array, Array]]:
        """The places of the rows to learn from and of the held-out rows, fold by fold."""
        for fold in range(self.folds):
            self.shown.set_description_str(
                f"learning {self.learning}, fold {fold + 1} of {self.folds}", refresh=False
            )
            held = self.of[rows] == fold
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def population(self, rows: Array, answers: Array, count: int) -> Population:
        """Some rows, labelled with the numbers of the answers to a question."""
        labels = answers.astype(bool) if count == 2 else answers
        classes = (False, True) if count == 2 else tuple(range(count))
        if self.stored:
            chosen: Population = self.people.only(rows).labelled(labels, classes)
            return chosen
        weights = None if self.weights is None else self.weights[rows]
        return Population(rows_of(self.inputs, rows), labels, weights=weights, classes=classes)

    def parts(self, rows: Array, answers: Array, count: int) -> Iterator[Population]:
        """The rows to learn from, fold by fold."""
        for inside, _ in self.splits(rows):
            yield self.population(rows[inside], answers[inside], count)
            self.shown.update()  # by now a model has learned from them

    # --- rows on disk -------------------------------------------------------------------------------

    def weights_of(self, rows: Array) -> Array:
        """What these rows count."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def blocks(self, rows: Array) -> Iterator[tuple[Array, slice]]:
        """Features (b, d) of these rows, in order, and where among them each block is."""
        start = 0
        for piece in self.inputs.pieces():
            first, last = np.searchsorted(rows, [start, start + len(piece)]).tolist()
            for place in range(first, last, BLOCK):
                where = slice(place, min(place + BLOCK, last))
                yield piece[rows[where] - start], where
            start += len(piece)

    def sampled(self, rows: Array, answers: Array) -> tuple[Cross, Array, Array]:
        """Some of these rows in memory, and their answers; rows count for those they stand for.

        Rows that are in memory are left as they are, and so are rows on disk that are not many.
        """
        if not self.stored:
            return self, rows, answers
        most = min(SAMPLED, max(BYTES // (8 * self.inputs.shape[1]), 1))
        chosen, weights = np.arange(len(rows)), None if self.weights is None else self.weights[rows]
        if len(rows) > most:
            random = np.random.default_rng([self.seed, len(rows)])  # not as data may be drawn
            counts = np.bincount(answers)
            share = np.maximum(most / len(rows), OF_EACH / np.maximum(counts, 1)).clip(max=1.0)
            chosen = np.flatnonzero(random.random(len(rows)) < share[answers])
            stands_for = counts / np.maximum(np.bincount(answers[chosen], minlength=len(counts)), 1)
            weights = self.weights_of(rows)[chosen] * stands_for[answers[chosen]]
        few = replace(
            self, inputs=self.inputs.take(rows[chosen]), weights=weights, of=self.of[rows[chosen]]
        )
        return few, np.arange(len(chosen)), answers[chosen]
