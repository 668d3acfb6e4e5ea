"""The best mixture by a goal that is no sum of rates: of candidates, or of thresholds by group.

What the reductions in ``problem/reductions`` ask is always the same: minimise the largest of a few sums
of the pieces, while the promises are kept as well as they can be. These are the programs that answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ratebound.base.linear_program import (
    LeastViolation,
    Lowest,
    granted,
    largest_program,
    least_violation,
)
from ratebound.base.solver import Unsolved, Vertex, polished, weights_of
from ratebound.base.types import Array
from ratebound.game.candidates import Candidates
from ratebound.game.threshold_program import (
    Columns,
    Policy,
    begin,
    best_policy,
    generate,
    in_units,
    least_over_columns,
)
from ratebound.problem.reductions.goal import Answer, NonlinearObjective, Solved


def best_goal_mixture(
    goal: NonlinearObjective, pieces: Array, violations: Array, scale: Array | float = 1.0
) -> tuple[Array, LeastViolation, Solved]:
    """Weights (N,) of the best mixture of N candidates with `pieces` (N, q) and `violations` (N, m).

    Like `rb.shrink`, it has few members. Of the mixtures with the least worst violation, it is the best.
    """
    H, one = violations / np.asarray(scale), np.zeros(len(pieces), dtype=int)
    least = least_violation(violations, scale)

    def program(slopes: Array, constants: Array) -> Answer:
        lowest = largest_program(pieces @ slopes.T, constants, H, least, one)
        weights = _weights(lowest, H, least, one)
        reached = weights @ pieces
        return Answer(reached, lowest.least, lowest.shares, lowest.prices / np.asarray(scale), weights)

    try:
        if least.unsolved:
            raise Unsolved(least.unsolved)
        solved = goal.solved(program, goal.weights(pieces.mean(axis=0)))
    except Unsolved as error:
        least = replace(least, unsolved=str(error))
        return _best_alone(goal, pieces, H), least, _unsolved(goal, pieces.mean(axis=0), H.shape[1])
    return solved.mixture, least, solved


def _weights(lowest: Lowest, H: Array, least: LeastViolation, groups: Array) -> Array:
    if len(lowest.shares) == 1:
        return polished(lowest.vertex, H, least.violation, granted(least), groups)
    return weights_of(lowest.vertex, groups)


def _best_alone(goal: NonlinearObjective, pieces: Array, H: Array) -> Array:
    """All weight on the candidate that violates least and, of these, has the best goal."""
    worst = np.max(H, axis=1, initial=0.0)
    return np.eye(len(pieces))[np.lexsort((goal.value(pieces), worst))[0]]


def _unsolved(goal: NonlinearObjective, pieces: Array, promises: int) -> Solved:
    value, nothing = float(goal.value(pieces)), np.full(promises, np.nan)
    return Solved(pieces, value, -np.inf, goal.weights(pieces), nothing, None)


def best_of_thresholds(rankings: Sequence[Candidates], goal: NonlinearObjective | None) -> Policy:
    """The best policy of thresholds by group, whatever the objective.

    Where that is no sum, rankings are of the problem with its pieces as constraints after the promises,
    and so are the policy's columns.
    """
    if goal is None:
        return best_policy(rankings)
    compiled, q = rankings[0].compiled, len(goal.pieces)
    m = len(compiled.constraints) - q
    room = np.concatenate([np.zeros(m), np.full(q, np.inf)])
    elastic = np.concatenate([np.ones(m), np.zeros(q)])
    columns, weights, least = least_over_columns(rankings, begin(rankings), room, elastic)
    least = replace(least, prices=least.prices[:m], violations=least.violations[:m])
    held, gaps = [columns], list[float]()

    def program(slopes: Array, constants: Array) -> Answer:
        lowest: list[Lowest] = []

        def over(columns: Columns) -> Vertex:
            H = in_units(rankings, columns)[:, :m]
            found = largest_program(
                columns.values[:, 1 + m :] @ slopes.T, constants, H, least, columns.group
            )
            lowest.append(found)
            vertex, size = found.vertex, found.vertex.prices[m:].sum() if len(constants) > 1 else 1.0
            by_piece = size * (found.shares @ slopes) * compiled.scale[1 + m :]
            return replace(vertex, prices=np.concatenate([vertex.prices[:m], by_piece]))

        held[0], _, proven = generate(rankings, held[0], over, prove=True)
        gaps.append(proven)
        H, own = in_units(rankings, held[0])[:, :m], held[0]
        weights = _weights(lowest[-1], H, least, own.group)
        used = np.flatnonzero(weights)
        reached = weights @ own.values[:, 1 + m :]
        prices = lowest[-1].prices / compiled.scale[1 : 1 + m]
        policy = Policy(own.only(used), weights[used], least)
        return Answer(reached, lowest[-1].least, lowest[-1].shares, prices, policy)

    used = np.flatnonzero(weights)
    start = weights @ columns.values[:, 1 + m :]
    try:
        if least.unsolved:
            raise Unsolved(least.unsolved)
        solved = goal.solved(program, goal.weights(start))
    except Unsolved as error:
        unsolved = replace(least, unsolved=str(error))
        return Policy(columns.only(used), weights[used], unsolved, np.inf, _unsolved(goal, start, m))
    found: Policy = solved.mixture
    return replace(found, solved=solved, gap=gaps[-1])
