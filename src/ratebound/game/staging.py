"""Training for a goal that is no sum of rates: a few games, each on the linear problem at a point.

The first point is that of decisions by chance. After each game the best mixture of all candidates so far
is found exactly, and the goal's tangent there is the next game's objective: for a ratio that is one step
of Dinkelbach's method, for the worst of several groups the prices of the groups; these are then asked
to reach a level as well, so that multipliers balance them within the game. Where such a game gains
nothing, the problem is turned around: the groups are to reach the level, and what is promised is
minimised. Where a promise is hard to keep, as errors no more frequent than the plain model's, only such
games have candidates near it. Candidates of all games are pooled, so that no game is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace

import numpy as np

from ratebound.game.goal_programs import best_goal_mixture
from ratebound.game.rules import Folds, Stop
from ratebound.game.trace import Trace, Values, pooled
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import at_point
from ratebound.problem.reductions.goal import Linearization, NonlinearObjective, start_of

STAGES = 6  # games at most
WORTH = 0.002  # what another game must have gained, of the goal or in the worst violation


def in_stages(
    compiled: Compiled,
    watch: Mapping[str, Compiled],
    judge: Compiled | Folds | None,
    stop: Stop,
    play: Callable[..., Trace],
) -> Trace:
    """The candidates of several games on the way to a goal, judged by it; `play` plays linear ones."""
    goal, started = compiled.goal, time.monotonic()
    assert goal is not None
    stages: list[Trace] = []
    turned = False
    assert compiled.whole is not None
    point, reached = start_of(goal, compiled.whole), (np.inf, np.inf)
    for stage in range(STAGES):
        given = {name: at_point(rows, point) for name, rows in watch.items()}
        judging = at_point(judge, point) if isinstance(judge, Compiled) else judge
        left = None if stop.max_time is None else stop.max_time - (time.monotonic() - started)
        own = None if left is None else max(left / (STAGES - stage), 1e-3)
        ending = replace(stop, max_time=own, when=deepcopy(stop.when))
        played = play(at_point(compiled, point), watch=given, judge=judging, stop=ending)
        stages.append(_after(stages, _by_goal(played, compiled, goal)))
        pool = pooled(stages)
        if played.interrupted:
            break
        assert pool.pieces is not None
        _, least, solved = best_goal_mixture(goal, pool.pieces, pool.violations, pool.scale)
        gained = max(reached[0] - least.violation, reached[1] - solved.value)
        levels = goal.levels(solved.pieces)
        stuck = gained < WORTH
        if stuck and (turned or not len(levels[1]) or not compiled.constraints):
            break
        reached, turned = (least.violation, solved.value), stuck
        if turned:
            point = Linearization(np.zeros_like(solved.weights), 1 / compiled.scale[1:], levels)
        else:
            point = Linearization(solved.weights, np.nan_to_num(solved.prices), levels)
    return replace(pool, ended=stages[-1].ended)


def _by_goal(trace: Trace, compiled: Compiled, goal: NonlinearObjective) -> Trace:
    """A trace of a linear problem with the goal's own objectives, and the promises alone."""
    m = len(compiled.constraints)

    def judged(values: Values) -> Values:
        assert values.pieces is not None
        scale = values.scale if isinstance(values.scale, float) else values.scale[:m]
        own = values.violations[:, :m]
        return replace(values, objectives=goal.value(values.pieces), violations=own, scale=scale)

    assert trace.pieces is not None
    return replace(
        trace,
        problem=compiled.problem,
        constraints=compiled.constraints,
        goal=goal,
        objectives=goal.value(trace.pieces),
        violations=trace.violations[:, :m],
        multipliers=trace.multipliers[:, : 1 + m],
        scale=compiled.scale[1:],
        watched={name: judged(values) for name, values in trace.watched.items()},
    )


def _after(stages: list[Trace], found: Trace) -> Trace:
    """A trace whose rounds are counted on from those before it."""
    done = max((int(each.round.max()) for each in stages), default=0)
    return replace(found, round=found.round + done)
