"""The linear programs that choose mixtures: of candidates, or of thresholds by known group.

The best thresholds by known group are one program, solved by column generation.

For each known group g, a policy uses a model b and a threshold t with probability p[g, b, t], and says
yes if the score of b is at least t. Every rate is linear in these probabilities, so the best policy is

    min_p  f·p   with  Gp <= t*,   Σ_{b,t} p[g, b, t] = 1 for every group g,   p >= 0,

where t* is the least worst violation that any p reaches, as in `linear_program`. A vertex has at most
(groups + m) members: at most m groups are decided at random.

There is a column for every distinct score: far too many to write out, and there is no need to. At given
prices λ of the constraints, a yes costs each row a known amount, (λ @ coefficients) of its cell. So in
rows sorted by score, the costs of all thresholds of a group are one cumulative sum, and its lowest point
is the best column. When the program over a few columns has no column left to add, it has solved the
program over all of them.

With more than two classes, (b, t) is a model and an offset for each class, and the best column is
searched for (`offset_search`). Suppose that at the last prices every column of group g costs at least
r_g, and the columns in the program cost s_g or more. Then no policy is better by more than
Σ_g max(s_g - r_g, 0), the gap.

If the goal is not a sum of rates, the reductions in ``problem/reductions`` always need the same:
minimise the largest of a few sums of the pieces, while the promises are kept as well as possible.
A pool holds the columns of a program as numbers alone: enough to compute the cost of other bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from ratebound._old.base.linear_program import (
    TOLERANCE,
    LeastViolation,
    Lowest,
    best_candidate,
    best_program,
    granted,
    judged,
    largest_program,
    least_program,
    least_violation,
    mixture_prices,
    prices_of,
    worst_violation,
)
from ratebound._old.base.solver import SOLVER, Unsolved, Vertex, polished, weights_of
from ratebound._old.base.types import Array
from ratebound._old.game.candidates import Candidates
from ratebound._old.game.trace import Trace
from ratebound._old.problem.reductions.goal import Answer, NonlinearObjective, Solved

FIRST = 256  # columns to begin with, in total
AROUND = 2048  # columns that stand for all thresholds when other bounds are considered


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of the program so far."""

    group: Array  # (k,)
    model: Array  # (k,)
    candidate: Array  # (k,) of the model's ranking
    values: Array  # (k, 1+m) its contribution to the objective and the constraints

    def plus(self, other: Columns) -> Columns:
        mine, others = vars(self).values(), vars(other).values()
        return Columns(*(np.concatenate(pair) for pair in zip(mine, others, strict=True)))

    def only(self, chosen: Array) -> Columns:
        return Columns(*(part[chosen] for part in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Policy:
    """The solved program: the candidates used, and their probabilities."""

    columns: Columns  # the columns used
    weights: Array  # (k,) > 0, summing to 1 in every group
    least: LeastViolation
    gap: float = 0.0  # at most how much better a policy of other columns may be
    solved: Solved | None = None  # the solution for the objective, if it is not a sum of rates


def policy_prices(rankings: Sequence[Candidates], policy: Policy) -> Array:
    """The prices of the best policy, like `linear_program.mixture_prices` for mixtures."""
    compiled, least, m = rankings[0].compiled, policy.least, len(policy.least.violations)
    begun = begin(rankings).plus(policy.columns)

    def relaxed(room: Array) -> Vertex:
        def program(columns: Columns) -> Vertex:
            f, H = columns.values[:, 0], in_units(rankings, columns)
            return best_program(f, H, least, columns.group, room)

        return generate(rankings, begun, program, weight=1.0)[1]

    try:
        if least.violation > 0 or least.unsolved:
            return np.full(m, np.nan)
        return np.asarray(prices_of(relaxed(np.zeros(m)), relaxed) / compiled.scale[1:])
    except Unsolved:
        return np.full(m, np.nan)


def best_policy(rankings: Sequence[Candidates]) -> Policy:
    """The best policy; if none is feasible, the best among policies with the least violation."""
    m = len(rankings[0].compiled.constraints)
    columns, weights, least = least_over_columns(rankings, begin(rankings), np.zeros(m), np.ones(m))

    def program(columns: Columns) -> Vertex:
        return best_program(columns.values[:, 0], in_units(rankings, columns), least, columns.group)

    gap = np.inf
    if not least.unsolved:
        try:
            columns, vertex, gap = generate(rankings, columns, program, weight=1.0, prove=True)
            H = in_units(rankings, columns)
            weights = polished(vertex, H, least.violation, granted(least), columns.group)
        except Unsolved as error:  # the least violating policy is still at hand
            least = replace(least, unsolved=str(error))
    used = np.flatnonzero(weights)
    return Policy(columns.only(used), weights[used], least, gap)


def least_of_policies(rankings: Sequence[Candidates], room: Array, elastic: Array) -> LeastViolation:
    """The least violation of all policies, like `linear_program.least_violation` for mixtures."""
    extra = len(rankings[0].compiled.constraints) - len(room)  # the pieces of a goal, after the promises
    free = np.append(room, np.full(extra, np.inf)), np.append(elastic, np.zeros(extra))
    least = least_over_columns(rankings, begin(rankings), *free)[2]
    m = len(room)
    return replace(least, prices=least.prices[:m], violations=least.violations[:m])


def least_over_columns(
    rankings: Sequence[Candidates], columns: Columns, room: Array, elastic: Array
) -> tuple[Columns, Array, LeastViolation]:
    """Columns and weights of a policy with the least worst violation, and that violation."""
    plain = _plain(rankings)
    alone = in_units(rankings, plain).sum(axis=0)
    over = float(worst_violation(np.where(elastic > 0, alone - room, 0.0)))

    def program(columns: Columns) -> Vertex:
        return least_program(in_units(rankings, columns), room, elastic, max(1.0, over), columns.group)

    try:
        enough = TOLERANCE / 2 / max(1.0, over)
        columns, vertex, _ = generate(rankings, columns, program, enough=enough)
    except Unsolved as error:
        least = LeastViolation(over, np.zeros(len(room)), alone, str(error))
        return plain, np.ones(len(plain.group)), least
    least = judged(vertex, in_units(rankings, columns), room, elastic, columns.group)
    return columns, weights_of(vertex, columns.group), least


def _plain(rankings: Sequence[Candidates]) -> Columns:
    """The best policy without a program: one decision for everyone, or by the objective alone."""
    constant = rankings[0].constant()
    no_model = np.zeros(rankings[0].groups, dtype=int)
    likes = _cheapest(rankings, np.eye(1 + len(rankings[0].compiled.constraints))[0], False)[:2]
    options = [_columns(rankings, *chosen) for chosen in [*((no_model, c) for c in constant), likes]]
    f = np.array([columns.values[:, 0].sum() for columns in options])
    H = np.stack([in_units(rankings, columns).sum(axis=0) for columns in options])
    return options[best_candidate(f, H)]


def in_units(rankings: Sequence[Candidates], columns: Columns) -> Array:
    """The contributions of columns to the constraints (k, m), in the units of violations."""
    return np.asarray(columns.values[:, 1:] / rankings[0].compiled.scale[1:])


def generate(
    rankings: Sequence[Candidates],
    columns: Columns,
    program: Callable[[Columns], Vertex],
    weight: float = 0.0,
    enough: float = -np.inf,
    prove: bool = False,
) -> tuple[Columns, Vertex, float]:
    """Add columns until none would help `program`, or until its last unknown is `enough`.

    `weight` is the weight of the objective's row in the program's cost. The number returned is the gap,
    which is infinite if unknown; with `prove`, the search for columns goes on until it is known.
    """
    proving = False
    while True:
        vertex = program(columns)
        if vertex.x[-1] <= enough:
            return columns, vertex, np.inf
        prices = np.append(weight, vertex.prices / rankings[0].compiled.scale[1:])
        model, candidate, cost, bound = _cheapest(rankings, prices, proving)
        size = np.abs(prices) @ np.abs(columns.values).max(axis=0)
        held = set(zip(columns.model.tolist(), columns.candidate.tolist(), strict=True))
        pairs = list(zip(model.tolist(), candidate.tolist(), strict=True))
        helps = (cost < vertex.sums - SOLVER * size) & [pair not in held for pair in pairs]
        if not helps.any():
            gaps = vertex.sums - bound
            gap = float(np.where(gaps > SOLVER * size, gaps, 0.0).sum())
            if proving or not prove or gap < np.inf:
                return columns, vertex, gap
        proving = not helps.any()
        if not proving:
            columns = columns.plus(_columns(rankings, model[helps], candidate[helps]))
            others = _others(rankings, prices, vertex.sums - SOLVER * size, columns)
            columns = columns.plus(_columns(rankings, *others)) if len(others[0]) else columns


def _cheapest(
    rankings: Sequence[Candidates], prices: Array, prove: bool
) -> tuple[Array, Array, Array, Array]:
    """Each group's cheapest column at these prices: model, candidate and cost; a bound for all."""
    compiled = rankings[0].compiled
    costs = [compiled.spread_each((prices @ block.net)[None])[0] for block in compiled.at_zero]
    for index, ranking in enumerate(rankings):
        other, lower, least = ranking.cheapest(prices, costs, prove)
        lower[0] += prices @ ranking.offset  # carried by the columns of the first group
        least[0] += prices @ ranking.offset
        if index == 0:
            model, candidate, cost, bound = np.zeros_like(other), other, lower, least
            continue
        won = lower < cost
        model[won], candidate[won], cost[won] = index, other[won], lower[won]
        bound = np.minimum(bound, least)
    return model, candidate, cost, bound


def _others(
    rankings: Sequence[Candidates], prices: Array, below: Array, columns: Columns
) -> tuple[Array, Array]:
    """Model and candidate of new columns that cost less than `below` (groups,)."""
    cheaper: list[tuple[int, int]] = []
    for index, ranking in enumerate(rankings):
        own = below.copy()
        own[0] -= prices @ ranking.offset
        cheaper += [(index, each) for each in ranking.others(prices, own).tolist()]
    held = set(zip(columns.model.tolist(), columns.candidate.tolist(), strict=True))
    pairs = np.array([pair for pair in cheaper if pair not in held], dtype=int).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def thresholds_of(rankings: Sequence[Candidates], columns: Columns) -> Array:
    """The threshold of each column, (k, 1), or its offsets (k, D)."""
    pairs = zip(columns.model.tolist(), columns.candidate, strict=True)
    return np.array([rankings[model].at(np.array([each]))[0] for model, each in pairs], dtype=float)


def _columns(rankings: Sequence[Candidates], model: Array, candidate: Array) -> Columns:
    """These candidates as columns, in order of their models."""
    parts = []
    for index in np.unique(model):
        ranking, chosen = rankings[index], np.sort(candidate[model == index])
        values = ranking.values(chosen)
        group = ranking.group(chosen)
        values[group == 0] += ranking.offset
        parts.append(Columns(group, np.full(len(chosen), index), chosen, values))
    return reduce(Columns.plus, parts)


def columns_around(rankings: Sequence[Candidates], policy: Policy) -> Columns:
    """The policy's columns, columns at growing distances from them, and many across each group.

    At other bounds, these give nearly the best policy: it can choose at random between two thresholds of
    a model, which costs little if they are close.
    """
    used, pairs = policy.columns, set[tuple[int, int]]()
    for model in np.unique(used.model).tolist():
        near = rankings[model].near(used.candidate[used.model == model])
        pairs |= {(model, each) for each in near.tolist()}
    spread = begin(rankings, AROUND)
    pairs -= set(zip(spread.model.tolist(), spread.candidate.tolist(), strict=True))
    model, candidate = np.array(sorted(pairs), dtype=int).reshape(-1, 2).T
    return spread.plus(_columns(rankings, model, candidate)) if len(pairs) else spread


def begin(rankings: Sequence[Candidates], columns: int = FIRST) -> Columns:
    """One decision for everyone, and a few rules in between, in each group."""
    inner = columns // (len(rankings) * rankings[0].groups)
    model, candidate = [], []
    for index, ranking in enumerate(rankings):
        ends = ranking.constant() if index == 0 else []
        chosen = np.unique(np.concatenate([*ends, ranking.spread(inner)]))
        model.append(np.full(len(chosen), index))
        candidate.append(chosen)
    return _columns(rankings, np.concatenate(model), np.concatenate(candidate))


def best_goal_mixture(
    goal: NonlinearObjective, pieces: Array, violations: Array, scale: Array | float = 1.0
) -> tuple[Array, LeastViolation, Solved]:
    """Weights (N,) of the best mixture of N candidates with `pieces` (N, q) and `violations` (N, m).

    Like `rb.shrink`, it has few members. It is the best among mixtures with the least worst violation.
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
    """All weight on the candidate with the least violation; the best goal breaks ties."""
    worst = np.max(H, axis=1, initial=0.0)
    return np.eye(len(pieces))[np.lexsort((goal.value(pieces), worst))[0]]


def _unsolved(goal: NonlinearObjective, pieces: Array, promises: int) -> Solved:
    value, nothing = float(goal.value(pieces)), np.full(promises, np.nan)
    return Solved(pieces, value, -np.inf, goal.weights(pieces), nothing, None)


def best_of_thresholds(rankings: Sequence[Candidates], goal: NonlinearObjective | None) -> Policy:
    """The best policy of thresholds by group, whatever the objective.

    If the objective is not a sum, rankings refer to the problem whose pieces are constraints after the
    promises, and so do the policy's columns.
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
            largest = largest_program(
                columns.values[:, 1 + m :] @ slopes.T, constants, H, least, columns.group
            )
            lowest.append(largest)
            vertex, size = largest.vertex, largest.vertex.prices[m:].sum() if len(constants) > 1 else 1.0
            by_piece = size * (largest.shares @ slopes) * compiled.scale[1 + m :]
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
    policy: Policy = solved.mixture
    return replace(policy, solved=solved, gap=gaps[-1])


@dataclass(frozen=True, eq=False)
class Pool:
    """Columns of a linear program over mixtures; in each group their weights sum to 1.

    Models and rows are not needed, so a pool is small and outlives both. It holds more than the
    candidates kept: thresholds that would be used at other bounds. If the objective is not a sum of
    rates, its tangent at the best mixture replaces it. That is correct for prices at the current bounds,
    but not at others.
    """

    objectives: Array  # (k,)
    violations: Array  # (k, m), feasible if <= 0
    groups: Array  # (k,) from 0; mixtures of whole models are one group
    scale: Array | float  # (m,) the units in which violations are compared
    prices: Array | None = None  # (m,) the gain from relaxing each, per unit of its violation, if known
    margins: Array | float = 0.0  # (m,) included in the violations
    watched: dict[str, Array] = field(default_factory=dict)  # (k,) objectives on other populations

    def paid(self) -> Array:
        """The price of each constraint (m,); NaN if they cannot all be kept."""
        if self.prices is not None:
            return self.prices
        return mixture_prices(self.objectives, self.violations, self.scale)


def pool_of_candidates(trace: Trace) -> Pool:
    """The candidates of a trace."""
    if trace.goal is not None:
        assert trace.pieces is not None
        solved = best_goal_mixture(trace.goal, trace.pieces, trace.violations, trace.scale)[2]
        alone, objectives = np.zeros(len(trace), dtype=int), trace.pieces @ solved.weights
        return Pool(objectives, trace.violations, alone, trace.scale, solved.prices)
    return Pool(
        trace.objectives,
        trace.violations,
        np.zeros(len(trace), dtype=int),
        trace.scale,
        watched={name: values.objectives for name, values in trace.watched.items()},
    )


def pool_of_thresholds(rankings: Sequence[Candidates], policy: Policy) -> Pool:
    """The best policy's thresholds, and thresholds around and between them."""
    columns: Columns = columns_around(rankings, policy)
    if policy.solved is not None:
        m = len(policy.least.violations)
        violations, pieces = np.split(columns.values[:, 1:], [m], axis=1)
        objectives, scale = pieces @ policy.solved.weights, rankings[0].compiled.scale[1 : 1 + m]
        return Pool(objectives, violations, columns.group, scale, policy.solved.prices)
    return Pool(
        columns.values[:, 0],
        columns.values[:, 1:],
        columns.group,
        rankings[0].compiled.scale[1:],
        policy_prices(rankings, policy),
    )
