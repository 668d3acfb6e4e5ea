"""What every reduction has: pieces, the objective as a function of them, and its linear programs.

A goal is a function of a few *pieces*, which are sums of rates. So a mixture's pieces are the mean of
its members' pieces, though its goal is not the mean of their goals. At any point the goal is minimised
like a weighted sum of its pieces, which is a linear problem: models are trained on that. Among given
candidates the best mixture is computed exactly, by programs that minimise the largest of several affine
functions. Training starts from the pieces that any decisions at all could reach.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound._old.base.linear_program import LeastViolation, best_program, judged, least_program
from ratebound._old.base.solver import Unsolved, weights_of
from ratebound._old.base.types import Array
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import Expression

if TYPE_CHECKING:
    from ratebound._old.problem.compiled import Compiled


STEPS = 200  # linear programs at most, far more than were ever needed
EXACT = 1e-9  # the distance from the best that counts as the best
MOST_CELLS = 20_000  # up to this many cells, a program is solved


@dataclass(frozen=True, eq=False)
class Answer:
    """The candidate that minimises the largest of some affine functions of the pieces."""

    pieces: Array  # (q,) at the minimum
    least: float  # the largest of the functions there, which no candidate is below
    shares: Array  # (J,) the functions' prices, summing to 1: the weights of their mean at the minimum
    prices: Array  # (m,) of the promises, in units of the functions
    mixture: Any  # in the form that the solver uses


# Minimises the largest of J functions, slopes (J, q) @ pieces + constants (J,), under the promises.
Program = Callable[[Array, Array], Answer]


@dataclass(frozen=True, eq=False)
class Solved:
    """The best mixture for a goal, among the candidates of the programs."""

    pieces: Array  # (q,)
    value: float  # of the objective, which is minimised
    bound: float  # a lower bound for every mixture of these candidates
    weights: Array  # (q,) of the pieces in the linear problem there
    prices: Array  # (m,) how much the objective would fall per unit by which each promise is relaxed
    mixture: Any

    @property
    def gap(self) -> float:
        """At most how much better any other mixture of these candidates could be."""
        return max(self.value - self.bound, 0.0)


class NonlinearObjective(ABC):
    """An objective as a function of its pieces, which is minimised."""

    pieces: tuple[Expression, ...]  # (q,) without constants

    @abstractmethod
    def value(self, pieces: Array) -> Array:
        """The objective (...,) at pieces (..., q)."""

    @abstractmethod
    def weights(self, pieces: Array) -> Array:
        """The weights (q,) of the pieces in the linear problem at a point (q,), to start from."""

    def levels(self, pieces: Array) -> tuple[Array, Array]:
        """Additional promises to train for, given the pieces (q,) of the best so far.

        Slopes (J, q) and constants (J,) of functions that should be <= 0 in a better mixture; here none.
        """
        return np.empty((0, len(pieces))), np.empty(0)

    @abstractmethod
    def solved(self, program: Program, start: Array) -> Solved:
        """The best mixture by a sequence of linear programs, starting at weights (q,) of the pieces."""

    def checked(self, least: Callable[[Array, float], float]) -> NonlinearObjective:
        """Itself, once it surely has a value; `least` gives the minimum of an affine function."""
        return self


@dataclass(frozen=True, eq=False)
class Linearization:
    """The linear problem that replaces a goal in training, at one point."""

    weights: Array  # (q,) of the pieces in the objective
    prices: Array  # (m,) of the promises in the objective, in addition to the promises themselves
    levels: tuple[Array, Array]  # additional promises to train for, as in `NonlinearObjective.levels`


def linear_at(problem: Problem, goal: NonlinearObjective, point: Linearization) -> Problem:
    """The linear problem at a point: the same promises, and a sum to minimise.

    The objective includes the promises at their prices at the best mixture so far. That does not change
    which model is best there, but the multipliers have less far to go.
    """
    total = _weighted(goal, point.weights)
    for price, demand in zip(point.prices.tolist(), problem.demands, strict=True):
        if price > 0 and not demand.per_row:
            total += price * Expression(demand.expression.terms)
    if not total.terms:  # nothing to gain at this point, in any direction
        total = goal.pieces[0] * 1e-9
    pairs = zip(*point.levels, strict=True)
    levels = (_weighted(goal, row) <= -c for row, c in pairs)
    return problem.derived(total, [*problem.subject_to, *levels], "minimize")


def _weighted(goal: NonlinearObjective, weights: Array) -> Expression:
    total = Expression()
    for weight, piece in zip(weights.tolist(), goal.pieces, strict=True):
        total += weight * piece
    return total


def whole_of(problem: Problem, goal: NonlinearObjective) -> Problem:
    """A problem that measures everything: its violations are the promises', then the pieces."""
    pieces = (piece <= 0 for piece in goal.pieces)
    return problem.derived(goal.pieces[0], [*problem.subject_to, *pieces], "minimize")


def gathered(sums: list[Expression]) -> tuple[tuple[Expression, ...], Array, Array]:
    """The different sums (q,) without constants, and the J sums by coefficients (J, q) and constants.

    >>> from ratebound._old import recall
    >>> gathered([recall() + 1, Expression((), 2.0), 2 * recall()])[1:]
    (array([[1., 0.],
           [0., 0.],
           [0., 1.]]), array([1., 2., 0.]))
    """
    bare = [Expression(each.terms) for each in sums]
    pieces = tuple(dict.fromkeys(each for each in bare if each.terms))
    place = {piece: index for index, piece in enumerate(pieces)}
    rows = np.zeros((len(sums), len(pieces)))
    for row, each in enumerate(bare):
        if each.terms:
            rows[row, place[each]] = 1.0
    return pieces, rows, np.array([each.constant for each in sums])


def choices(compiled: Compiled) -> tuple[Array, Array]:
    """The contribution of every decision in every cell, (k * D, 1+m), and its cell, (k * D,).

    The first decisions come first, and the first cell's hold the problem's constants. If rates are taken
    at several thresholds, each threshold has its own cells.
    """
    blocks, others = len(compiled.blocks), compiled.decisions - 1
    added = (compiled.matrix * compiled.column_weight).T  # all decisions but the first, by block
    cells = np.arange(blocks * compiled.cell_count)
    values = np.concatenate([np.zeros((len(cells), added.shape[1])), added])
    groups = np.append(cells, np.repeat(cells.reshape(blocks, 1, -1), others, axis=1))
    values[groups == 0] += compiled.offset
    return values, groups


def start_of(goal: NonlinearObjective, whole: Compiled) -> Linearization:
    """The start of training: random decisions, with promises priced like the goal."""
    values, _ = choices(whole)
    promises = len(whole.constraints) - len(goal.pieces)
    pieces = values.sum(axis=0)[1 + promises :] / whole.decisions
    none = np.empty((0, len(pieces))), np.empty(0)
    return Linearization(goal.weights(pieces), 1.0 / whole.scale[1 : 1 + promises], none)


def least_sum(whole: Compiled, promises: int, row: Array, constant: float) -> float:
    """The minimum of an affine function of the pieces, `row` (q,), over all classifiers.

    If it matters, only classifiers that keep the promises, the first constraints of `whole`, count.
    """
    values, groups = choices(whole)
    costs = values[:, 1 + promises :] @ row
    lowest = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(lowest, groups, costs)
    free = float(lowest.sum() + constant)
    if free > 1e-12 or not promises or len(lowest) > MOST_CELLS:
        return free
    H = values[:, 1 : 1 + promises] / whole.scale[1 : 1 + promises]
    none, every = np.zeros(promises), np.ones(promises)
    most = float(np.abs(H).sum(axis=0).max(initial=1.0))
    try:
        least: LeastViolation = judged(
            least_program(H, none, every, most, groups), H, none, every, groups
        )
        lowest_kept = weights_of(best_program(costs, H, least, groups), groups) @ costs
    except Unsolved:  # then this is all that is known
        return free
    return float(lowest_kept + constant)
