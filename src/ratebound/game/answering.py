"""Rounds with an oracle: the model answers multipliers with a whole fit (Algorithms 1 and 2).

At weights λ the Lagrangian, λ_0 · objective + Σ λ_i · constraint i, is a sum over the rows that are
said yes to, of what a yes costs there. To make it least is to classify rows whose label is yes where
that cost is negative, and whose weight is its size: any classifier that takes weights can be asked, and
no proxy is needed.

An oracle need not be exact, so what counts as the answer to λ is the best, by the Lagrangian at λ, of
the new fit and the earlier ones of its setting. The multipliers move by the violations of the answer,
and `rb.average` averages the answers; every fit is kept, as a candidate for the other solutions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ratebound.game.cutting_plane import NEW, CuttingPlane, elastic, lower_bounds
from ratebound.game.game import Game, GameState
from ratebound.game.grid import Grid
from ratebound.game.keeping import Keeper
from ratebound.game.players import Multipliers, Player, SwapRegret
from ratebound.game.trace import Trace
from ratebound.problem.compiled import Compiled

Array = NDArray[Any]
RADIUS = 100.0  # of the gap, for players without one
ROUNDING = 1e-10  # gaps up to this are those of linear programs


def answer(
    compiled: Compiled,
    learner: Any,
    *,
    multipliers: Player | CuttingPlane | None,
    rounds: int | None,
    frontier: bool,
    watch: Mapping[str, Compiled],
    stop: Callable[[Trace], bool] | None,
    max_time: float | None,
    seed: int,
    progress: bool | None,
) -> Trace:
    """Let `learner` answer `multipliers`; see `play`, which hands over learners that answer."""
    player = multipliers if multipliers is not None else CuttingPlane()
    _check(compiled, player)
    total = 1 if isinstance(player, Grid) else rounds or learner.rounds
    fit = learner.start(compiled.inputs, player.settings, seed)
    keeper = Keeper(compiled, fit, dict(watch), frontier, isinstance(player, SwapRegret))
    asking = _Asking.first(compiled, player, total)
    bar = tqdm(total=total, disable=None if progress is None else not progress, unit="round")
    ended, done, answers = "rounds", 0, list[Array]()
    deadline = None if max_time is None else time.monotonic() + max_time
    with bar:
        try:
            while done < total and ended == "rounds":
                fit.answer(_costs(compiled, asking.weights), compiled.cells, compiled.weights, done + 1)
                done += 1
                keeper.keep(_in_units_of_trace(compiled, asking.weights), done)
                asking = asking.answered(_played_values(compiled, keeper.latest))
                answers.append(asking.best())
                gap = asking.gap(player)
                bar.update()
                bar.set_postfix_str(f"{keeper.summary()}, gap {gap:.2g}", refresh=False)
                if gap <= max(learner.tolerance, ROUNDING):
                    ended = "gap"
                elif stop is not None and stop(fit.settled(replace(keeper.trace(), answers=True))):
                    ended = "stopped"
                elif deadline is not None and time.monotonic() > deadline:
                    ended = "time"
                else:
                    asking = asking.moved(player)
        except KeyboardInterrupt:
            if not keeper.pieces:  # there is nothing to hand over
                raise
            ended = "interrupted"
    trace: Trace = fit.settled(replace(keeper.finished(ended), answers=True))
    if frontier or isinstance(player, CuttingPlane):  # which moves by all fits, not by one answer
        return trace
    return replace(trace, answered=_answered(np.concatenate(answers), trace.multipliers[:, 0]))


def _answered(best: Array, weights: Array) -> Array:
    """For each fit (N, 2): in how many rounds it was the answer, and the objective's weight in them.

    `best` are the answers round by round, `weights` (N,) the objective's as the fits were made. A game
    that was interrupted may have kept a last fit without comparing it.
    """
    rounds = np.ones(len(best)), weights[: len(best)]
    return np.column_stack([np.bincount(best, each, len(weights)) for each in rounds])


@dataclass(frozen=True)
class _Asking:
    """The weights to be answered, and all answers so far, in the units in which games are played."""

    weights: Array  # (K, 1+m) of this round
    values: Array  # (N, 1+m) of all iterates: objective, violations
    tried: Array  # (N, 1+m) the weights each of them answered
    multipliers: Multipliers | None  # of players that move by violations

    @staticmethod
    def first(compiled: Compiled, player: Player | CuttingPlane, rounds: int) -> _Asking:
        m = len(compiled.constraints)
        none = np.empty((0, 1 + m))
        if isinstance(player, CuttingPlane):
            return _Asking(player.next(none, none)[None], none, none, None)
        bound = Game(compiled, player).bound()
        multipliers = player.start(m, settings=player.settings, rounds=rounds, bound=bound)
        return _Asking(multipliers.weights, none, none, multipliers)

    def answered(self, values: Array) -> _Asking:
        """With this round's answers, (K, 1+m)."""
        tried = np.vstack([self.tried, self.weights])
        return replace(self, values=np.vstack([self.values, values]), tried=tried)

    def moved(self, player: Player | CuttingPlane) -> _Asking:
        """On to the next round's weights."""
        if isinstance(player, CuttingPlane):
            return replace(self, weights=player.next(self.values, self.tried)[None])
        assert self.multipliers is not None
        multipliers = player.step(self.multipliers, self.values[self.best(), 1:])
        return replace(self, weights=multipliers.weights, multipliers=multipliers)

    def best(self) -> Array:
        """The answer (K,) to each setting's weights: its latest fit, or a better one before it."""
        settings = len(self.weights)
        fits = np.arange(len(self.values)).reshape(-1, settings).T  # (K, rounds)
        values = self.values[fits]
        lagrangians = (values @ self.weights[:, :, None])[:, :, 0]
        beaten = lagrangians.min(axis=1) < lagrangians[:, -1] - NEW
        best: Array = np.where(
            beaten, fits[np.arange(settings), lagrangians.argmin(axis=1)], fits[:, -1]
        )
        return best

    def gap(self, player: Player | CuttingPlane) -> float:
        """How far the best mixture may be from the best there is, violations fined by the radius."""
        radius = float(getattr(player, "radius", RADIUS))
        inside = self.tried[:, 1:].sum(axis=1) <= radius * self.tried[:, 0] * (1 + 1e-9)
        lower = lower_bounds(self.values, self.tried[inside]).max(initial=-np.inf)
        return elastic(self.values, radius).value - float(lower)


def _costs(compiled: Compiled, weights: Array) -> Array:
    """What a yes costs in each cell, (K, cells), when the rates have weights (K, 1+m)."""
    costs = compiled.spread((compiled.blocks[0].net.T @ (weights / compiled.scale).T).T)
    rounding = 1e-13 * np.abs(costs).max(axis=1, keepdims=True, initial=0.0)
    return np.where(np.abs(costs) <= rounding, 0.0, costs)


def _in_units_of_trace(compiled: Compiled, weights: Array) -> GameState:
    """For the keeper: weights whose product with the values of a trace is the Lagrangian."""
    own = weights * compiled.scale[0] / compiled.scale
    return GameState(Multipliers(own, own), (), np.empty((len(own), 0)))


def _played_values(compiled: Compiled, latest: Trace | None) -> Array:
    """Objectives and violations (K, 1+m) of the latest iterates, as games are played."""
    assert latest is not None
    return np.column_stack([latest.objectives, latest.violations]) / compiled.scale


def _check(compiled: Compiled, player: Player | CuttingPlane) -> None:
    if isinstance(player, Player) and player.watches == "proxies":
        raise ValueError(
            f"{type(player).__name__} watches proxies, and an oracle has none: use rb.ExternalRegret()"
        )
    for block in compiled.blocks:
        if block.at != 0:
            row = int(np.flatnonzero(np.diff(block.net.indptr))[0])
            what = compiled.constraints[row - 1] if row else compiled.problem.minimize
            raise ValueError(
                f"{what}: decisions at the threshold {block.at!r} cannot be asked of a scikit-learn "
                "classifier (rb.Oracle), which decides at 0 alone: use a linear model (rb.Linear), a "
                "network (rb.Torch) or boosted trees (rb.Boosted)"
            )
