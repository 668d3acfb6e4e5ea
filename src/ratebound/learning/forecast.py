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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize_scalar
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ratebound.learning.features import take_rows
from ratebound.learning.known import Known, find_group_chances
from ratebound.learning.models import (
    allow_more_rounds,
    fit_clone,
    list_stages,
    make_group_model,
    make_label_model,
    predict_probabilities,
)
from ratebound.problem.compiled import Compiled

MOST_CELLS = 24  # of a label, that are learned one by one; of more, slices are
RARE = 4  # rows of a cell below which its share stands for what features tell
FARTHEST = 12.0  # log odds beyond which no model is believed
SHARPNESS = (-3, 1)  # the range of its logarithm


@dataclass(frozen=True, eq=False)
class Question:
    """Models of one question, one without each fold."""

    fits: tuple[Any, ...]
    answers: int  # 0 for a regression
    share: float = 1.0  # of the rounds of boosted models
    sharpness: float = 1.0  # that log probabilities are multiplied by, to be right out of fold

    def __call__(self, X: Any, folds: Iterable[int]) -> Any:
        """Return probabilities, or values (f, k, n), by the models without these folds."""
        fits = [self.fits[fold] for fold in folds]
        if not self.answers:
            values = [fit.predict(X) for fit in fits]
            return np.stack([np.atleast_2d(of_rows.T) for of_rows in values])
        parts = [predict_probabilities(fit, X, self.answers, self.share) for fit in fits]
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
    label: int | None  # None where labels are not known or not needed
    columns: Any  # (k,) the cells or slices they may be in
    shares: Any  # (k,) of cells that are too rare to be learned; NaN for the rest, and for slices
    question: Question | None  # about the columns without shares, if there are several
    amounts: tuple[Question | None, ...]  # for each block, what a row counts for
    by_group: Any = None  # (G + 1, k) what known groups say of these columns

    def predict_columns(self, X: Any, folds: Any, group: Any) -> Any:
        """Return how likely a row of the branch is in each column (f, k, n)."""
        is_learned = np.isnan(self.shares)
        rare = self.shares[~is_learned]
        shape = (len(folds), len(self.columns), X.shape[0])
        chances = np.empty(shape)
        chances[:, ~is_learned] = rare[:, None]
        chances[:, is_learned] = 1 - rare.sum()
        if self.question is not None:
            chances[:, is_learned] *= self.question(X, folds)
        if group is None or self.by_group is None:
            return chances
        by_group = self.by_group[group].T
        chances = np.where(np.isnan(by_group), chances, by_group)
        is_regression = self.question is not None and not self.question.answers
        if is_regression:
            return chances
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
            in_branch = np.ones(labels[:, 0].shape)
            if populations is not None:
                in_branch = populations[:, branch.population]
            if branch.label is not None:
                in_branch = in_branch * labels[:, branch.label]
            in_columns = branch.predict_columns(X, folds, group)
            for block, amounts in enumerate(branch.amounts):
                weight = in_branch
                if amounts is not None:
                    weight = weight * amounts(X, folds)[:, 0]
                columns = first_block + block * self.width + branch.columns
                total[columns] += (weight[:, None] * in_columns).mean(axis=0)
        return total

    def predict_labels(self, X: Any) -> Any:
        """Return the probability of each label (L, n)."""
        return self.labels(X, self.folds).mean(axis=0)

    def predict_out_of_fold(
        self,
        X: Any,
        fold: Any,
        group: Any,
        shared: Any,
    ) -> Any:
        """Return the forecast (J, n) by models without a row's fold; of `shared` rows, by all."""
        total = np.empty((self.size, len(fold)))

        def predict(rows: Any, folds: Any) -> None:
            groups = None if group is None else group[rows]
            total[:, rows] = self(take_rows(X, rows), groups, folds)

        for held_out in self.folds:
            predict(np.flatnonzero(fold == held_out), [held_out])
        if len(shared):
            predict(shared, None)
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

    @property
    def folds(self) -> range:
        return range(int(self.fold.max()) + 1)

    def learn_each_fold(self, learn: Callable[..., Any], rows: Any) -> tuple[Any, ...]:
        """Return what is learned from some rows (k,) without each fold.

        `learn` takes which of these rows to learn from, their weights, and a seed.
        """

        def learn_without(held_out: int) -> Any:
            inside = np.flatnonzero(self.fold[rows] != held_out)
            if not len(inside):
                inside = np.arange(len(rows))
            weights = None if self.weights is None else self.weights[rows[inside]]
            return learn(inside, weights, self.seed + held_out)

        if self.jobs in (None, 1):
            return tuple(learn_without(fold) for fold in self.folds)
        parallel = Parallel(self.jobs, prefer="threads")
        return tuple(parallel(delayed(learn_without)(fold) for fold in self.folds))

    def classify(
        self,
        model: Any,
        rows: Any,
        answers: Any,
        count: int,
    ) -> Question:
        """Return models that tell the answers 0, 1, ... (k,) of some rows (k,) apart."""

        def learn(inside: Any, weights: Any, seed: int) -> Any:
            X = take_rows(self.X, rows[inside])
            return fit_clone(model, X, answers[inside], weights, seed)

        return Question(self.learn_each_fold(learn, rows), count)

    def regress(self, rows: Any, targets: Any) -> Question:
        """Return linear regressions of targets (k,) or (k, outputs)."""

        def learn(inside: Any, weights: Any, _: int) -> Any:
            X = take_rows(self.X, rows[inside])
            is_sparse = hasattr(X, "tocsr")
            steps = [StandardScaler(with_mean=not is_sparse), Ridge(alpha=1.0)]
            if not is_sparse:
                steps.insert(0, SimpleImputer(keep_empty_features=True))
            options = {} if weights is None else {"ridge__sample_weight": weights}
            return make_pipeline(*steps).fit(X, targets[inside], **options)

        return Question(self.learn_each_fold(learn, rows), 0)

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
) -> Forecast:
    """Learn the forecast of a problem's rows.

    `named` is the model, by name or as given, and `codes` (k,) are the labels of the first
    population.
    """
    labels = compiled.classes.labels
    sizes = [sum(map(len, pieces)) for pieces in compiled.populations.values()]
    population = np.repeat(np.arange(len(sizes)), sizes)
    first = np.arange(sizes[0])
    everyone = np.arange(len(compiled.cell))
    rows = Rows(X, fold, compiled.weights, seed, jobs)

    model = make_label_model(named, len(codes), hasattr(X, "tocsr"))
    label_model = allow_more_rounds(named, model, len(codes))
    group_model = make_group_model(model)
    of_labels = rows.classify(label_model, first, codes, labels)
    of_labels = _calibrate(rows, of_labels, first, codes, list_stages(named, of_labels.fits))
    of_populations = None
    if len(sizes) > 1:
        of_populations = rows.classify(group_model, everyone, population, len(sizes))

    parts = _split_rows(codes, labels, population)
    cell_counts = [len(np.unique(compiled.cell[part.rows])) for part in parts]
    by_cells = max(cell_counts) <= MOST_CELLS
    learn_branch = _learn_cells if by_cells else _learn_slices
    branches = []
    for part in parts:
        columns = learn_branch(compiled, rows, group_model, part.rows)
        branches.append(_make_branch(compiled, rows, part, columns, known, group))
    return Forecast(
        width=len(compiled.bits) if by_cells else compiled.slices,
        by_cells=by_cells,
        blocks=len(compiled.blocks),
        populations=of_populations,
        labels=of_labels,
        branches=tuple(branches),
        known=known,
    )


@dataclass(frozen=True, eq=False)
class RowsOfBranch:
    """The rows of one population with one label, or of one whose labels are not known."""

    rows: Any  # (k,)
    population: int
    label: int | None


def _split_rows(codes: Any, labels: int, population: Any) -> list[RowsOfBranch]:
    """Return the rows of each label of the first population, and those of each other population."""
    parts = []
    for label in range(labels):
        parts.append(RowsOfBranch(np.flatnonzero(codes == label), 0, label))
    for index in range(1, population.max() + 1):
        parts.append(RowsOfBranch(np.flatnonzero(population == index), index, None))
    return [part for part in parts if len(part.rows)]


@dataclass(frozen=True, eq=False)
class Columns:
    """What is learned of the cells or slices of some rows."""

    columns: Any  # (k,)
    inside: Any  # (rows, k) which rows are in which column
    shares: Any  # (k,) of those that are too rare to be learned, else NaN
    question: Question | None


def _learn_cells(
    compiled: Compiled,
    rows: Rows,
    model: Any,
    part: Any,
) -> Columns:
    """Learn the cells of some rows (k,) by a classifier; rare ones by their share."""
    cells = compiled.cell[part]
    columns, code, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    inside = cells[:, None] == columns
    is_learned = sizes >= min(RARE, sizes.max())
    weights = rows.get_weights(part)
    shares = weights @ inside / max(weights.sum(), 1e-300)
    shares[is_learned] = np.nan
    question = None
    learned = int(is_learned.sum())
    if learned > 1:
        used = is_learned[code]
        answers = np.cumsum(is_learned) - 1
        question = rows.classify(model, part[used], answers[code][used], learned)
    return Columns(columns, inside, shares, question)


def _learn_slices(
    compiled: Compiled,
    rows: Rows,
    model: Any,
    part: Any,
) -> Columns:
    """Learn the slices of some rows (k,) by a regression, as cells are too many."""
    packed = compiled.bits[compiled.cell[part]]
    slices = np.unpackbits(packed, axis=1, count=compiled.slices)
    columns = np.flatnonzero(slices.any(axis=0))
    inside = slices[:, columns].astype(bool)
    no_shares = np.full(len(columns), np.nan)
    return Columns(columns, inside, no_shares, rows.regress(part, inside.astype(float)))


def _make_branch(
    compiled: Compiled,
    rows: Rows,
    part: RowsOfBranch,
    columns: Columns,
    known: Known | None,
    group: Any,
) -> Branch:
    amounts = []
    for block in compiled.blocks:
        if block.amounts is None:
            amounts.append(None)
        else:
            amounts.append(rows.regress(part.rows, block.amounts[part.rows]))
    by_group = None
    if known is not None:
        by_group = find_group_chances(group[part.rows], known.count, columns.inside)
    return Branch(
        population=part.population,
        label=part.label,
        columns=columns.columns,
        shares=columns.shares,
        question=columns.question,
        amounts=tuple(amounts),
        by_group=by_group,
    )


def _calibrate(
    rows: Rows,
    question: Question,
    part: Any,
    answers: Any,
    shares: Any,
) -> Question:
    """Choose the share of rounds and the sharpness that are likeliest out of fold."""
    weights = rows.get_weights(part)
    probabilities = np.empty((len(shares), question.answers, len(part)))
    for fold in rows.folds:
        held_out = np.flatnonzero(rows.fold[part] == fold)
        if not len(held_out):
            continue
        X = take_rows(rows.X, part[held_out])
        fit = question.fits[fold]
        for stage, share in enumerate(shares):
            of_stage = predict_probabilities(fit, X, question.answers, share)
            probabilities[stage][:, held_out] = of_stage

    def measure_loss(log_sharpness: float, stage: int) -> float:
        sharpened = _sharpen(probabilities[stage], float(np.exp(log_sharpness)))
        of_answer = sharpened[answers, np.arange(len(answers))]
        logarithms = np.log(np.maximum(of_answer, np.exp(-FARTHEST)))
        return -float(np.average(logarithms, weights=weights))

    solved = []
    for stage in range(len(shares)):
        options = {"bounds": SHARPNESS, "method": "bounded", "options": {"xatol": 0.01}}
        solved.append(minimize_scalar(measure_loss, args=(stage,), **options))
    best = int(np.argmin([solution.fun for solution in solved]))
    sharpness = float(np.exp(solved[best].x))
    return replace(question, share=float(shares[best]), sharpness=sharpness)
