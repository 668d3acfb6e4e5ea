"""A forecast says what a row counts as: P(cell | x), by models that did not see the row.

Rows that all constraints treat alike share a cell, so what a decision costs depends on the cell
alone. It is learned in factors, P(population | x) · P(label | x) · P(cell | x, label): labels by
the user's model at full strength, the others by small ones. (One classifier over all cells spreads
what it learns of labels over many classes, and is clearly worse.) Each factor has a model without
each fold; their mean is deployed, so rates out of fold are those of what is deployed.

With many cells it learns *slices*, the sets of rows that rates count, by a regression with many
outputs. Amounts, such as the price of an error in a column, are regressed too. All of it is one
array (J, n): ones, the probability of each label, and then for every block the expected weight in
each cell or slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize_scalar
from scipy.sparse import issparse

from ratebound.learning.features import take_rows
from ratebound.learning.known import Known, find_group_chances
from ratebound.learning.models import (
    fit_clone,
    list_rounds,
    make_group_model,
    make_label_model,
    make_regression,
    predict_probabilities,
)
from ratebound.problem.compiled import Compiled

MOST_CELLS = 24  # of a label, that are learned one by one; of more, slices are
RARE = 4  # rows of a cell below which its share stands for what features tell
FARTHEST = 12.0  # log odds beyond which no model is believed
SHARPNESS = (-3, 1)  # the range of its logarithm
Progress = Callable[[int, int], None]  # called with how many models of labels are learned, of all


@dataclass(frozen=True, eq=False)
class Question:
    """Models of one question, one without each fold."""

    fits: tuple[Any, ...]
    answers: int  # 0 for a regression
    sharpness: float = 1.0  # that log probabilities are multiplied by, to be right out of fold

    def __call__(self, X: Any, folds: Iterable[int]) -> Any:
        """Return probabilities, or values (f, k, n), by the models without these folds."""
        fits = [self.fits[fold] for fold in folds]
        if not self.answers:
            return np.stack([np.atleast_2d(fit.predict(X).T) for fit in fits])
        parts = [predict_probabilities(fit, X, self.answers) for fit in fits]
        return _sharpen(np.stack(parts), self.sharpness)


def _sharpen(probabilities: Any, sharpness: float) -> Any:
    """Return probabilities (..., k, n) with log odds times `sharpness`: even ones stay even."""
    if sharpness == 1:
        return probabilities
    raised = np.maximum(probabilities, np.exp(-FARTHEST)) ** sharpness
    return raised / raised.sum(axis=-2, keepdims=True)


@dataclass(frozen=True, eq=False)
class Branch:
    """The rows of one population with one label, and what is asked of them."""

    population: int
    label: int | None  # None if labels are not known or not needed
    columns: Any  # (k,) the cells or slices they may be in
    shares: Any  # (k,) of cells that are too rare to be learned; NaN for the rest, and for slices
    question: Question | None  # about the columns without shares, if there are several
    amounts: tuple[Question | None, ...]  # for each block, what a row counts for
    by_group: Any  # (G + 1, k) the chance of each column in each known group, or None

    def predict_columns(self, X: Any, folds: Any, group: Any) -> Any:
        """Return how likely a row of the branch is in each column (f, k, n)."""
        is_learned = np.isnan(self.shares)
        shares = np.where(is_learned, 1 - np.nansum(self.shares), self.shares)
        chances = np.ones((len(folds), 1, X.shape[0])) * shares[:, None]
        if self.question is not None:
            chances[:, is_learned] *= self.question(X, folds)
        if group is None:
            return chances
        by_group = self.by_group[group].T
        chances = np.where(np.isnan(by_group), chances, by_group)
        if self.question is not None and not self.question.answers:
            return chances  # slices overlap
        return chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)


@dataclass(frozen=True, eq=False)
class Forecast:
    """The expected weight of a row in each column, given its features."""

    width: int  # cells or slices
    by_cells: bool
    blocks: int
    populations: Question | None  # which population a row is of, if there are several
    labels: Question
    branches: tuple[Branch, ...]
    known: Known | None = None

    @property
    def folds(self) -> range:
        return range(len(self.labels.fits))

    @property
    def size(self) -> int:
        """How many columns J the array has: ones, labels, and cells or slices for each block."""
        return 1 + self.labels.answers + self.blocks * self.width

    def __call__(self, X: Any, group: Any = None, folds: Any = None) -> Any:
        """Return the mean (J, n) over the models without these folds, by default over all models.

        `group` (n,) are known groups.
        """
        if not X.shape[0]:
            return np.zeros((self.size, 0))
        if folds is None:
            folds = self.folds
        labels = self.labels(X, folds)
        populations = None
        if self.populations is not None:
            populations = self.populations(X, folds)
        first_block = 1 + self.labels.answers
        total = np.zeros((self.size, X.shape[0]))
        total[0] = 1
        total[1:first_block] = labels.mean(axis=0)
        for branch in self.branches:
            in_branch: Any = 1.0
            if populations is not None:
                in_branch = populations[:, [branch.population]]
            if branch.label is not None:
                in_branch = in_branch * labels[:, [branch.label]]
            in_columns = branch.predict_columns(X, folds, group)
            for block, amounts in enumerate(branch.amounts):
                weight = in_branch
                if amounts is not None:
                    weight = weight * amounts(X, folds)
                columns = first_block + block * self.width + branch.columns
                total[columns] += (weight * in_columns).mean(axis=0)
        return total

    def predict_labels(self, X: Any) -> Any:
        """Return the probability of each label (L, n)."""
        return self.labels(X, self.folds).mean(axis=0)

    def predict_out_of_fold(
        self,
        X: Any,
        fold: Any,
        group: Any = None,
        shared: Any = (),
    ) -> Any:
        """Return the forecast (J, n) by models without a row's fold; of `shared` rows, by all."""
        total = np.empty((self.size, len(fold)))
        parts = [(np.flatnonzero(fold == held_out), [held_out]) for held_out in self.folds]
        for rows, folds in [*parts, (shared, self.folds)]:
            if len(rows):
                groups = None if group is None else group[rows]
                total[:, rows] = self(take_rows(X, rows), groups, folds)
        return total


# --- learning -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows to learn from, populations one after another."""

    X: Any
    fold: Any  # (n,)
    weights: Any  # (n,) or None
    seed: int
    jobs: int | None

    def fit_without(
        self,
        fold: int,
        model: Any,
        rows: Any,
        targets: Any,
    ) -> Any:
        """Return a model of some rows (k,), those of a fold left out."""
        inside = np.flatnonzero(self.fold[rows] != fold)
        if not len(inside):
            inside = np.arange(len(rows))
        weights = None
        if self.weights is not None:
            weights = self.weights[rows[inside]]
        X = take_rows(self.X, rows[inside])
        return fit_clone(model, X, targets[inside], weights, self.seed + fold)

    def learn(
        self,
        model: Any,
        rows: Any,
        targets: Any,
        answers: int = 0,
        progress: Progress | None = None,
    ) -> Question:
        """Return models, one without each fold, of some rows (k,) and targets (k,) or (k, outputs).

        The targets of a classifier are the answers 0, 1, ...
        """

        folds = int(self.fold.max()) + 1

        def fit_and_tell(fold: int) -> Any:
            fit = self.fit_without(fold, model, rows, targets)
            if progress is not None:
                progress(fold + 1, folds)
            return fit

        parallel = Parallel(self.jobs, prefer="threads")
        fits = parallel(delayed(fit_and_tell)(fold) for fold in range(folds))
        return Question(tuple(fits), answers)

    def get_weights(self, rows: Any) -> Any:
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]


def learn_forecast(
    compiled: Compiled,
    X: Any,
    fold: Any,
    named: Any,
    codes: Any,
    *,
    known: Known | None = None,
    group: Any = None,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Learn the forecast of a problem's rows.

    `named` is the model, by name or as given, and `codes` (k,) are the labels of the first
    population.
    """
    labels = compiled.classes.labels
    sizes = [sum(map(len, pieces)) for pieces in compiled.populations.values()]
    population = np.repeat(np.arange(len(sizes)), sizes)
    weights = compiled.weights
    if weights is not None:
        weights = weights / weights[weights > 0].mean()  # so that no penalty depends on their unit
    rows = Rows(X, fold, weights, seed, jobs)

    label_model = make_label_model(named, len(codes), issparse(X))
    group_model = make_group_model(label_model)
    rounds = list_rounds(named, label_model, len(codes))
    if rounds:
        label_model = _choose_rounds(rows, label_model, codes, labels, rounds)
    of_labels = rows.learn(label_model, np.arange(len(codes)), codes, labels, progress)
    of_labels = _calibrate(rows, of_labels, codes)
    of_populations = None
    if len(sizes) > 1:
        everyone = np.arange(len(population))
        of_populations = rows.learn(group_model, everyone, population, len(sizes))

    branch_of_row = np.append(codes, labels - 1 + population[len(codes) :])
    numbers = np.unique(branch_of_row).tolist()
    parts = {number: np.flatnonzero(branch_of_row == number) for number in numbers}
    by_cells = max(len(np.unique(compiled.cell[part])) for part in parts.values()) <= MOST_CELLS
    learn_columns = _learn_cells if by_cells else _learn_slices
    branches = []
    for number, part in parts.items():
        columns, inside, shares, question = learn_columns(compiled, rows, group_model, part)
        by_group = None
        if known is not None:
            by_group = find_group_chances(group[part], known.count, inside)
        branch = Branch(
            population=max(0, number - labels + 1),
            label=number if number < labels else None,
            columns=columns,
            shares=shares,
            question=question,
            amounts=tuple(_learn_amounts(rows, part, block.amounts) for block in compiled.blocks),
            by_group=by_group,
        )
        branches.append(branch)
    return Forecast(
        width=len(compiled.bits) if by_cells else compiled.slices,
        by_cells=by_cells,
        blocks=len(compiled.blocks),
        populations=of_populations,
        labels=of_labels,
        branches=tuple(branches),
        known=known,
    )


def _learn_cells(
    compiled: Compiled,
    rows: Rows,
    model: Any,
    part: Any,
) -> tuple[Any, ...]:
    """Learn the cells of some rows (k,) by a classifier; rare ones by their share.

    Return the cells, which rows are in which, the shares, and the classifiers.
    """
    cells = compiled.cell[part]
    columns, code, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    inside = cells[:, None] == columns
    is_learned = sizes >= min(RARE, sizes.max())
    weights = rows.get_weights(part)
    shares = weights @ inside / max(weights.sum(), 1e-300)
    shares[is_learned] = np.nan
    learned = int(is_learned.sum())
    question = None
    if learned > 1:
        used = is_learned[code]
        answers = np.cumsum(is_learned) - 1
        question = rows.learn(model, part[used], answers[code][used], learned)
    return columns, inside, shares, question


def _learn_slices(
    compiled: Compiled,
    rows: Rows,
    model: Any,
    part: Any,
) -> tuple[Any, ...]:
    """Learn the slices of some rows (k,) by a regression, as cells are too many."""
    packed = compiled.bits[compiled.cell[part]]
    slices = np.unpackbits(packed, axis=1, count=compiled.slices)
    columns = np.flatnonzero(slices.any(axis=0))
    inside = slices[:, columns].astype(bool)
    no_shares = np.full(len(columns), np.nan)
    question = rows.learn(make_regression(), part, inside.astype(float))
    return columns, inside, no_shares, question


def _learn_amounts(rows: Rows, part: Any, amounts: Any) -> Question | None:
    if amounts is None:
        return None
    return rows.learn(make_regression(), part, amounts[part])


def _choose_rounds(
    rows: Rows,
    model: Any,
    codes: Any,
    count: int,
    rounds: Sequence[int],
) -> Any:
    """Return the model with the number of boosting rounds that is likeliest on the first fold."""
    model.set_params(n_estimators=max(rounds))
    fit = rows.fit_without(0, model, np.arange(len(codes)), codes)
    held_out = np.flatnonzero(rows.fold[: len(codes)] == 0)
    X = take_rows(rows.X, held_out)
    losses = []
    for number in rounds:
        probabilities = predict_probabilities(fit, X, count, number)
        losses.append(_measure_loss(probabilities, codes[held_out], rows.get_weights(held_out)))
    best = rounds[int(np.argmin(losses))]
    return model.set_params(n_estimators=best)


def _calibrate(rows: Rows, question: Question, codes: Any) -> Question:
    """Choose the sharpness that is likeliest out of fold."""
    probabilities = np.empty((question.answers, len(codes)))
    for fold in range(len(question.fits)):
        held_out = np.flatnonzero(rows.fold[: len(codes)] == fold)
        X = take_rows(rows.X, held_out)
        probabilities[:, held_out] = question(X, [fold])[0]
    weights = rows.get_weights(np.arange(len(codes)))

    def measure_loss(log_sharpness: float) -> float:
        sharpened = _sharpen(probabilities, float(np.exp(log_sharpness)))
        return _measure_loss(sharpened, codes, weights)

    options = {"xatol": 0.01}
    solved = minimize_scalar(measure_loss, bounds=SHARPNESS, method="bounded", options=options)
    return replace(question, sharpness=float(np.exp(solved.x)))


def _measure_loss(probabilities: Any, answers: Any, weights: Any) -> float:
    """Return the mean log loss of probabilities (k, n)."""
    of_answer = probabilities[answers, np.arange(len(answers))]
    logarithms = np.log(np.maximum(of_answer, np.exp(-FARTHEST)))
    return -float(np.average(logarithms, weights=weights))
