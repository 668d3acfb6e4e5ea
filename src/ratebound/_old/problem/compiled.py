"""A problem on data, as arrays: `evaluate` gives the exact rates of any scores."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ratebound._old.base import processes
from ratebound._old.base.types import Array
from ratebound._old.kernels.bits import ONES, Bits
from ratebound._old.problem._drawing_up import Drawn
from ratebound._old.problem._evaluating import (
    evaluated,
    given_scores,
    stacked_scores,
)
from ratebound._old.problem.coefficients import CHUNK, Block, Coefficients, SplitCosts, bit
from ratebound._old.problem.deciding import as_shown, highest_above, is_one_model, lowest_within
from ratebound._old.problem.frames import frame_columns, is_sparse, stacked_rows
from ratebound._old.problem.general import Model, models_of, values_of_models, with_values
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.reductions.goal import NonlinearObjective
from ratebound._old.problem.sharing import any_shared, of_all, rows_of_all, total_of
from ratebound._old.problem.summaries import FeatureScale, digest_of, feature_scale_of
from ratebound._old.rates.expressions import FIRST, Constraint
from ratebound._old.rates.general import General
from ratebound._old.rates.kinds import Classes

DENSE = 2**18  # up to this many entries, a dense matrix is cheapest
EVERY = slice(None)  # row
SPARSE = 1 / 16  # up to this share of ones, a sparse one is


@dataclass(frozen=True, eq=False)
class Compiled:
    """A problem compiled on populations, stacked in the order they were given.

    `compile` makes it. Row 0 of every matrix is the objective. The other rows are `constraints`, which
    are feasible if <= 0. Rows that every rate counts alike share a *cell*; a *slice* is a set of rows
    that some rate counts; n is the number of rows, m of constraints, D of classes.

    Parameters
    ----------
    problem : Problem
        The problem, with counts and goals spelled out for these rows.
    populations : dict of str to Population
        The rows, by the names that rates use; the first is "train".
    rows : dict of str to slice
        The range of each population among the stacked rows.
    cells : array of shape (n,)
        The cell of every row.
    membership : array of shape (cells, ceil(slices / 8))
        Which cell is in which slice, as bits.
    slice_count : int
        The number of slices.
    blocks : tuple of Block
        The coefficients of every slice, for each threshold and each column of amounts.
    offset : array of shape (1+m,)
        The constants added to the weighted sums.
    scale : array of shape (1+m,)
        The units in which violations are compared: 1 for rates, and for counts the number of rows.
    weights : array of shape (n,) or None
        The weight of each row; None if each counts once.
    coefficients : Coefficients
        The blocks over slices as they were compiled, which games split into costs.
    budgets : dict of str to tuple
        For each learnable threshold of an area or a top, the slice of the rows that count above it, and
        the share of them that is allowed. An area's are negatives.
    classes : tuple
        The possible decisions; with two, no and then yes.
    drawn : dict of str to Drawn
        The answers to queries about each population's rows, from which parts of them are compiled.
    goal : NonlinearObjective, default=None
        The objective if it is not a sum of rates: a function of pieces, which are. By default the
        objective is a sum.
    whole : Compiled, default=None
        With a goal, the problem whose constraints are the promises and then the pieces. By default there
        are no pieces.
    piece_count : int, default=0
        The number of pieces. By default 0.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population(None, [1, 1, 0, 0], columns={"sex": ["F", "M", "F", "M"]})
    >>> compiled = rb.compile(rb.Problem("error_rate()", ["minimum_recall(sex, at_least=0.9)"]), people)
    >>> compiled
    Compiled(2 constraints, 4 rows, 3 cells, 4 slices)
    >>> compiled.labels
    ('recall(sex == "F") >= 0.9', 'recall(sex == "M") >= 0.9')
    >>> objective, violations = compiled.evaluate([1.0, -1.0, -1.0, -1.0])  # the man is missed
    >>> float(objective), violations.round(3).tolist()
    (0.25, [-0.1, 0.9])
    """

    problem: Problem
    populations: dict[str, Population]
    rows: dict[str, slice]
    cells: Array
    membership: Array
    slice_count: int
    blocks: tuple[Block, ...]
    offset: Array
    scale: Array
    weights: Array | None
    coefficients: Coefficients
    budgets: dict[str, tuple[int, float]]
    classes: Classes
    drawn: dict[str, Drawn]
    goal: NonlinearObjective | None = None
    whole: Compiled | None = None
    piece_count: int = 0

    def __repr__(self) -> str:
        return (
            f"Compiled({len(self.constraints)} constraints, {len(self.cells):,} rows, "
            f"{self.cell_count:,} cells, {self.slice_count:,} slices"
            f"{f', {self.decisions} classes' * (self.decisions > 2)})"
        )

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints (m,), one for every row but the objective's."""
        return tuple(demand.words for demand in self.problem.demands)

    @cached_property
    def parts(self) -> tuple[range, ...]:
        """The rows, counted from 0, that each of ``problem.constraints`` became."""
        sizes = Counter(demand.promise for demand in self.problem.demands)
        ends = np.cumsum([sizes[i] for i in range(len(self.problem.constraints))], dtype=int).tolist()
        return tuple(range(end - sizes[i], end) for i, end in enumerate(ends))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The words (m,) of every row; a repeated one is numbered, "... (2)" the second time."""
        said = Counter[str]()
        labels = []
        for words in map(str, self.constraints):
            said[words] += 1
            labels.append(words if said[words] == 1 else f"{words} ({said[words]})")
        return tuple(labels)

    @cached_property
    def general(self) -> tuple[tuple[int, Constraint], ...]:
        """The user-defined constraints, each with its row, counted from 0."""
        every = enumerate(self.constraints)
        return tuple((row, each) for row, each in every if isinstance(each.left, General))

    @property
    def first(self) -> Population:
        """The population that rates without ``on=`` refer to."""
        return self.populations[FIRST]

    @property
    def others(self) -> dict[str, Any]:
        """The other populations, by the names that rates use with ``on=``."""
        return {name: other for name, other in self.populations.items() if name != FIRST}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of rows of every population, in all processes together."""
        return {name: sum(of_all(each, len(each))) for name, each in self.populations.items()}

    @property
    def stored(self) -> bool:
        """Whether some of the rows are on disk."""
        return any(population.stored for population in self.populations.values())

    @property
    def decisions(self) -> int:
        """The number D of possible decisions."""
        return len(self.classes)

    @property
    def cell_count(self) -> int:
        """The number of cells."""
        return len(self.membership)

    @cached_property
    def matrix(self) -> Array:
        """The coefficients as one dense (1+m, (D - 1) * cells) matrix, blocks side by side."""
        size = (1 + len(self.constraints)) * self.cell_count * len(self.blocks) * (self.decisions - 1)
        if size > 2**27:
            raise MemoryError(
                f"{self!r} would fill a dense matrix of {size:,} numbers; use its blocks and "
                "membership, which stay small"
            )
        return np.hstack([self.spread_each(block.net) for block in self.blocks])

    @cached_property
    def features(self) -> Any:
        """The features of all populations, stacked as their rows are."""
        parts = [population.features for population in self.populations.values()]
        widths = {part.shape[1:] for part in parts}
        if len(widths) == 1:
            return stacked_rows(parts)
        raise ValueError(f"populations have different features, of shapes {sorted(widths)}")

    @cached_property
    def inputs(self) -> Any:
        """The rows of all populations as they were given, for models that read tables."""
        if self.stored:
            raise ValueError(
                "this model reads tables, but these rows are on disk: use rb.Linear, rb.MLP or "
                "rb.Torch, or load the rows into memory with population.in_memory()"
            )
        given = [population.inputs for population in self.populations.values()]
        if len(given) == 1 and given[0] is not None:
            return given[0]
        if not any(frame_columns(X) for X in given):
            return self.features
        library = sys.modules[type(given[0]).__module__.partition(".")[0]]  # pandas or polars
        if len({(type(X), *frame_columns(X)) for X in given}) > 1 or not hasattr(library, "concat"):
            raise ValueError(
                "tables of several populations must be of one kind and have the same columns"
            )
        return library.concat(given)

    @cached_property
    def feature_scale(self) -> FeatureScale:
        """The usual size of each feature, in the first population."""
        own = feature_scale_of(self.first.features.some() if self.first.stored else self.first.X)
        return of_all(self.first, own)[0]

    @cached_property
    def digest(self) -> str:
        """A digest of the rows: features, weights, and the labels and groups that rates use."""
        amounts = [block.amounts for block in self.blocks]
        rows = np.array([population.digest for population in self.populations.values()])
        own = digest_of([rows, self.cells, self.weights, *amounts])
        every = processes.gathered(own) if any_shared(self.populations) else [own]
        return own if len(every) == 1 else digest_of([np.array(every)])

    def weights_in(self, block: Block, rows: slice = EVERY) -> Array | None:
        """The weight times amount of each of these rows in a block.

        Parameters
        ----------
        block : Block
            One of `blocks`.
        rows : slice, default=slice(None, None, None)
            Which of the stacked rows. By default all.

        Returns
        -------
        array of shape (b,) or None
            None if each counts once.
        """
        if block.amounts is None:
            return None if self.weights is None else self.weights[rows]
        return block.amounts[rows] if self.weights is None else self.weights[rows] * block.amounts[rows]

    def cell_weight(self, block: Block) -> Array:
        """The total weight of the rows of each cell in a block.

        Parameters
        ----------
        block : Block
            One of `blocks`.

        Returns
        -------
        array of shape (cells,)
            The weights, over all processes.
        """
        own = np.bincount(self.cells, self.weights_in(block), self.cell_count).astype(float)
        return total_of(self.populations, own)

    @property
    def column_weight(self) -> Array:
        """The total weight of the rows in the cell of each column of `matrix`."""
        others = self.decisions - 1
        return np.concatenate([np.tile(self.cell_weight(block), others) for block in self.blocks])

    def slice_weight(self, block: Block) -> Array:
        """The total weight of the rows of each slice in a block.

        Parameters
        ----------
        block : Block
            One of `blocks`.

        Returns
        -------
        array of shape (slices,)
            The weights, over all processes.
        """
        return self.per_slice(self.cell_weight(block)[None])[0]

    @property
    def at_zero(self) -> tuple[Block, ...]:
        """The blocks at threshold 0, which decides: several if some rates use amounts."""
        return tuple(block for block in self.blocks if block.at == self.blocks[0].at)

    @property
    def learnable(self) -> tuple[str, ...]:
        """The names of thresholds that are learned with the model."""
        return tuple(block.at for block in self.blocks if isinstance(block.at, str))

    def descended(self) -> tuple[Compiled, SplitCosts]:
        """The problem over the slices that its costs need, and these costs; only games use them.

        Returns
        -------
        tuple of Compiled and SplitCosts
            The same problem, perhaps with more slices, and its coefficients as costs.
        """
        split = self.coefficients.split
        wider = replace(
            self, membership=split.membership, slice_count=split.slice_count, blocks=split.blocks
        )
        return wider, split

    def tightened(self, margins: Array) -> Compiled:
        """The same problem on the same rows, with a margin asked of every constraint.

        Parameters
        ----------
        margins : array of shape (m,)
            The margins, each in its constraint's unit.

        Returns
        -------
        Compiled
            Its violations are larger by the margins.
        """
        moved = np.concatenate([[0.0], margins, np.zeros(len(self.offset) - 1 - len(margins))])
        whole = None if self.whole is None else self.whole.tightened(margins)
        return replace(self, offset=self.offset + moved, whole=whole)

    def seen_as(self, populations: dict[str, Population]) -> Compiled:
        """The same problem on the same rows, with other features.

        Parameters
        ----------
        populations : dict of str to Population
            The same rows in the same order, by name.

        Returns
        -------
        Compiled
            Its rates are the same.
        """
        whole = None if self.whole is None else self.whole.seen_as(populations)
        return replace(self, populations=populations, whole=whole)

    def unpacked(self, cells: Any) -> Array:
        """Membership of some cells as zeros and ones.

        Parameters
        ----------
        cells : array or slice
            Which cells.

        Returns
        -------
        array of shape (cells, slices)
            1 if the cell is in the slice.
        """
        return np.unpackbits(self.membership[cells], axis=1, count=self.slice_count)

    @cached_property
    def lists(self) -> Any:
        """Membership (cells, slices) as a sparse matrix, if few cells are in a slice; else None.

        With a thousand groups that share no row, each cell is in two or three slices. Products with a
        dense matrix would take time in the square of their number.
        """
        size = self.cell_count * self.slice_count
        if size <= DENSE or ONES[self.membership].sum(dtype=np.int64) > size * SPARSE:
            return None
        from scipy import sparse

        chunks = range(0, self.cell_count, CHUNK)
        parts = [sparse.csr_array(self.unpacked(slice(at, at + CHUNK)), dtype=float) for at in chunks]
        return sparse.vstack(parts, format="csr")

    @cached_property
    def bits(self) -> Bits:
        """Membership (cells, slices) as bits, for products with numbers."""
        return Bits(self.slice_count, self.membership)

    def per_slice(self, per_cell: Array) -> Array:
        """Sum totals per cell to totals per slice.

        Parameters
        ----------
        per_cell : array of shape (K, cells)
            Totals of cells.

        Returns
        -------
        array of shape (K, slices)
            Totals of slices.
        """
        if self.lists is not None:
            return (self.lists.T @ per_cell.T).T
        return self.bits.total(_narrowed(per_cell)).astype(np.float64, copy=False)

    def spread(self, per_slice: Any) -> Array:
        """Spread coefficients of slices to the cells in them.

        Parameters
        ----------
        per_slice : array of shape (r, slices)
            Coefficients of slices, dense or sparse.

        Returns
        -------
        array of shape (r, cells)
            For each cell, the sum over the slices it is in.
        """
        if self.lists is not None:
            per_cell = (self.lists @ per_slice.T).T
            return per_cell.toarray() if is_sparse(per_cell) else per_cell
        return self.bits.spread(per_slice.toarray() if is_sparse(per_slice) else per_slice)

    def spread_each(self, coefficients: Any) -> Array:
        """Spread coefficients of slices to cells, for each of j decisions or targets.

        Parameters
        ----------
        coefficients : array of shape (r, j * slices)
            Coefficients of slices, side by side.

        Returns
        -------
        array of shape (r, j * cells)
            Coefficients of cells, side by side.
        """
        by_slice = coefficients.reshape((-1, self.slice_count))
        return self.spread(by_slice).reshape(coefficients.shape[0], -1)

    def measure(
        self,
        scores: Any,
        thresholds: Mapping[str, Any] | None = None,
        models: Sequence[Model] | None = None,
    ) -> tuple[Array, Array, Array | None]:
        """The exact objectives, violations and pieces of several models.

        Parameters
        ----------
        scores : array or iterator
            Their scores, as `evaluate` takes them; an iterator gives (K, A, b) of some rows at a time.
        thresholds : dict of str to array, default=None
            Thresholds that are learned with the models, by name. By default the thresholds of areas
            and tops are set to the values that their budgets allow.
        models : sequence of Model, default=None
            The models as user-defined constraints see them. By default only their scores.

        Returns
        -------
        tuple of array
            Objectives (K,), violations (K, m), and pieces (K, q) or None if there are no pieces.
        """
        problems = [self] if self.whole is None else [self.whole, *([self] * (self.goal is None))]
        if self.general and isinstance(scores, Iterator):
            scores = np.concatenate(list(scores), axis=-1)
        pieces, known = self._given(scores, thresholds)
        rates = evaluated(problems, pieces, known)
        values, of_whole = rates[-1], rates[0][:, 1:]
        if self.general:  # with which the objective is always a sum
            if models is None:
                models = [Model(as_shown(each)) for each in stacked_scores(self, scores)]
            own = values_of_models(self, models)
            return values[:, 0], with_values(self, values[:, 1:], own), None
        if self.whole is None:
            return values[:, 0], values[:, 1:], None
        if self.goal is None:  # a linear problem on the way to a goal
            return values[:, 0], values[:, 1:], of_whole[:, -self.piece_count :]
        violations, parts = np.split(of_whole, [len(self.constraints)], axis=-1)
        return self.goal.value(parts), violations, parts

    def expected(
        self,
        weights: Array,
        scores: Any,
        thresholds: Mapping[str, Any] | None = None,
        models: Sequence[Model] | None = None,
    ) -> tuple[float, Array]:
        """The exact objective and violations of a mixture, in expectation.

        Parameters
        ----------
        weights : array of shape (K,)
            The probability that each model decides.
        scores : array or iterator
            Their scores, as `measure` takes them.
        thresholds : dict of str to array, default=None
            As `measure` takes them.
        models : sequence of Model, default=None
            As `measure` takes them.

        Returns
        -------
        tuple of float and array
            The objective, and the violations (m,).
        """
        objectives, violations, pieces = self.measure(scores, thresholds, models)
        value = weights @ objectives if self.goal is None else self.goal.value(weights @ pieces)
        return float(value), weights @ violations

    def evaluate(
        self, scores: Any, thresholds: Mapping[str, Any] | None = None, *, module: Any = None
    ) -> tuple[Any, Array]:
        """The exact objective and violations of any scores; a score >= 0 means yes.

        Scores are compared with other thresholds as real numbers, whatever their precision.

        Parameters
        ----------
        scores : array, dict or iterator
            A score for every row (n,), or (K, n) or (K, 1, n) for K models at once. With more than two
            classes, scores are (D, n) or (K, D, n), and the largest decides. With several populations
            they are stacked in order, or a mapping by name. An iterator gives scores of some rows at a
            time, (K, 1, b) or (K, D, b).
        thresholds : dict of str to float or array, default=None
            Learnable thresholds by name. By default the thresholds of `roc_auc` and of rates with
            ``top=`` are set to the values that their budgets allow; others must be given.
        module : object, default=None
            The ``model.module`` that user-defined constraints see: for K models, a list of K. By default
            they see only the scores, as tensors if the scores are tensors.

        Returns
        -------
        tuple
            The objective, which is minimised, and the violations (m,), feasible if <= 0. For K models,
            they are (K,) and (K, m).
        """
        if isinstance(scores, Iterator):
            return self.measure(scores, thresholds)[:2]
        given = given_scores(self, scores)
        one = is_one_model(given, self.decisions)
        models = None
        if self.general and not isinstance(scores, Mapping):
            modules = [module] if one else module
            models = models_of(scores, modules, stacked_scores(self, given).shape)
        objectives, violations, _ = self.measure(given, thresholds, models)
        return (objectives[0], violations[0]) if one else (objectives, violations)

    def _given(
        self, scores: Any, thresholds: Mapping[str, Any] | None
    ) -> tuple[Iterable[Array], dict[str, Array]]:
        """Scores of all rows, some rows at a time, and all thresholds learned with the model."""
        known = {
            name: np.reshape(np.asarray(at, float), (-1, self.decisions - 1))
            for name, at in (thresholds or {}).items()
        }
        unknown = self.budgets.keys() - known.keys()
        if isinstance(scores, Iterator):
            if not unknown:
                return scores, known
            scores = np.concatenate(list(scores), axis=-1)
        stacked = stacked_scores(self, scores)
        return [stacked], self.spend_budgets(stacked, unknown) | known

    @property
    def tops(self) -> list[str]:
        """The thresholds of rates with ``top=``, each passed by as many rows as asked."""
        names = (str(each.left) for each in self.problem.constraints if each.left.rates)
        return [name for name in names if name in self.budgets]

    def spend_budgets(self, scores: Array, names: Iterable[str]) -> dict[str, Array]:
        """The lowest thresholds at which an area's false positives stay within their budgets.

        And the highest above which there are as many rows as a top has.

        Parameters
        ----------
        scores : array of shape (K, 1, n)
            The scores of all rows.
        names : iterable of str
            Thresholds in `budgets`.

        Returns
        -------
        dict of str to array of shape (K, 1)
            The thresholds by name.
        """
        thresholds, tops = {name: np.empty((len(scores), 1)) for name in sorted(names)}, set(self.tops)
        for index in {self.budgets[name][0] for name in thresholds}:
            inside = bit(self.membership, index)[self.cells].astype(bool)
            own = np.ones(int(inside.sum())) if self.weights is None else self.weights[inside]
            weights = rows_of_all(self.populations, own)
            shares = {
                name: self.budgets[name][1] for name in thresholds if self.budgets[name][0] == index
            }
            allowed = np.array(list(shares.values())) * weights.sum() * (1 + 1e-12)
            for k, row in enumerate(rows_of_all(self.populations, scores[:, 0, inside]).astype(float)):
                for name, at in zip(shares, lowest_within(allowed, row, weights), strict=True):
                    thresholds[name][k] = at
                for name in shares.keys() & tops:
                    thresholds[name][k] = highest_above(shares[name] * weights.sum(), row, weights)
        return thresholds


def _narrowed(counts: Array) -> Array:
    """The same numbers, in single precision if they are integers whose sums are exact in it too."""
    whole = abs(counts).sum(axis=-1).max(initial=0) < 2**24 and (counts == np.rint(counts)).all()
    return counts.astype(np.float32) if whole else counts
