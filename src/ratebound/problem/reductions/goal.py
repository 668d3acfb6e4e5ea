"""What every reduction has: pieces, how they make the objective, and how linear programs make it best.

A goal is a function of a few *pieces*, which are sums of rates; so a mixture's pieces are the mean of
its members', though its goal is not the mean of theirs. At any point the goal is minimised like a
weighted sum of its pieces, which is a linear problem: that is what models are trained on. Among given
candidates the best mixture is found exactly, by programs that minimise the largest of several affine
functions. What any decisions at all could make of the pieces says where training starts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ratebound.base.linear_program import LeastViolation, best_program, judged, least_program
from ratebound.base.solver import Unsolved, weights_of
from ratebound.base.types import Array
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Expression

if TYPE_CHECKING:
    from ratebound.problem.compiled import Compiled


STEPS = 200  # linear programs, far more than were ever needed
EXACT = 1e-9  # how near the best counts as the best
MOST_CELLS = 20_000  # cells of which a program is solved


@dataclass(frozen=True, eq=False)
class Answer:
    """What minimises the largest of some affine functions of the pieces, among all that there is."""

    pieces: Array  # (q,) of it
    least: float  # the largest of the functions there: none goes below
    shares: Array  # (J,) the functions' prices, summing to 1: at the minimum it is their mean
    prices: Array  # (m,) of the promises, in units of the functions
    mixture: Any  # as whoever solves the programs has it


# Minimises the largest of J functions, slopes (J, q) @ pieces + constants (J,), under the promises.
Program = Callable[[Array, Array], Answer]


@dataclass(frozen=True, eq=False)
class Solved:
    """The best mixture by a goal, among all that the programs were about."""

    pieces: Array  # (q,)
    value: float  # of the objective, which is minimised
    bound: float  # that no mixture of these goes below
    weights: Array  # (q,) of the pieces in the linear problem there
    prices: Array  # (m,) what the objective would fall by, per unit each promise is relaxed
    mixture: Any

    @property
    def gap(self) -> float:
        """How much better any other mixture of these could be, at most."""
        return max(self.value - self.bound, 0.0)


class NonlinearObjective(ABC):
    """An objective as a function of its pieces, to be minimised."""

    pieces: tuple[Expression, ...]  # (q,) without constants

    @abstractmethod
    def value(self, pieces: Array) -> Array:
        """The objective (...,) at pieces (..., q)."""

    @abstractmethod
    def weights(self, pieces: Array) -> Array:
        """The weights (q,) of the pieces in the linear problem at a point (q,), to start from."""

    def levels(self, pieces: Array) -> tuple[Array, Array]:
        """Promises to train for besides, where the best so far has these pieces (q,).

        Slopes (J, q) and constants (J,) of what should be at most 0 in a better mixture. None here.
        """
        return np.empty((0, len(pieces))), np.empty(0)

    @abstractmethod
    def solved(self, program: Program, start: Array) -> Solved:
        """The best there is by a sequence of linear programs, from weights (q,) of the pieces on."""

    def checked(self, least: Callable[[Array, float], float]) -> NonlinearObjective:
        """Itself, once it is known to have a value; `least` is how low an affine function can be."""
        return self


@dataclass(frozen=True, eq=False)
class Linearization:
    """Where a goal is to be trained for: what stands for it there."""

    weights: Array  # (q,) of the pieces in the objective
    prices: Array  # (m,) of the promises in the objective, beside the promises themselves
    levels: tuple[Array, Array]  # promises to train for besides, as `NonlinearObjective.levels` has them


def linear_at(problem: Problem, goal: NonlinearObjective, point: Linearization) -> Problem:
    """The linear problem at a point: the same promises, and a sum to be minimised.

    Promises are paid for in the objective at the prices that they have at the best mixture so far. That
    changes nothing about which model is the best one there, but its multipliers have less far to go.
    """
    total = _weighted(goal, point.weights)
    for price, demand in zip(point.prices.tolist(), problem.demands, strict=True):
        if price > 0 and not demand.per_row:
            total += price * Expression(demand.expression.terms)
    if not total.terms:  # nothing to gain at this point, in whichever direction
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
    """A problem that measures all there is: violations are those of the promises, then the pieces."""
    pieces = (piece <= 0 for piece in goal.pieces)
    return problem.derived(goal.pieces[0], [*problem.subject_to, *pieces], "minimize")


def gathered(sums: list[Expression]) -> tuple[tuple[Expression, ...], Array, Array]:
    """The different sums (q,) without their constants, and each of J as rows (J, q) plus (J,) of them.

    >>> from ratebound import recall
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
    """What every decision adds in every cell, (k * D, 1+m), and the cell of each, (k * D,).

    The first decisions come first, and those of the first cell hold the problem's constants. Where rates
    are taken at several thresholds, each has cells of its own.
    """
    blocks, others = len(compiled.blocks), compiled.decisions - 1
    added = (compiled.matrix * compiled.column_weight).T  # but for the first, block after block
    cells = np.arange(blocks * compiled.cell_count)
    values = np.concatenate([np.zeros((len(cells), added.shape[1])), added])
    groups = np.append(cells, np.repeat(cells.reshape(blocks, 1, -1), others, axis=1))
    values[groups == 0] += compiled.offset
    return values, groups


def start_of(goal: NonlinearObjective, whole: Compiled) -> Linearization:
    """Where training begins: at decisions by chance, with promises as dear as the goal."""
    values, _ = choices(whole)
    promises = len(whole.constraints) - len(goal.pieces)
    pieces = values.sum(axis=0)[1 + promises :] / whole.decisions
    none = np.empty((0, len(pieces))), np.empty(0)
    return Linearization(goal.weights(pieces), 1.0 / whole.scale[1 : 1 + promises], none)


def least_sum(whole: Compiled, promises: int, row: Array, constant: float) -> float:
    """How low an affine function of the pieces, `row` (q,), can be for any classifier at all.

    Only for those that keep the promises, the first constraints of `whole`, if that makes a difference.
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
    except Unsolved:  # then nothing is known but that
        return free
    return float(lowest_kept + constant)
