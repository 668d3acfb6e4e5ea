"""Rounds with an oracle: the model answers multipliers with a whole fit (Algorithms 1 and 2).

At weights λ the Lagrangian, λ_0 · objective + Σ λ_i · constraint i, is a sum over the rows of what their
decisions cost, seen from the first. Of two classes, to make it least is to classify rows whose label is
yes where a yes costs less than nothing, and whose weight is the size of that cost: any classifier that
takes weights can be asked, and no proxy is needed. Of more, each row has a cost for each decision.

An oracle need not be exact, so what counts as the answer to λ is the best, by the Lagrangian at λ, of
the new fit and the earlier ones of its setting. The multipliers move by the violations of the answer,
and `rb.average` averages the answers; every fit is kept, as a candidate for the other solutions. With a
judge the violations are those on its rows, and the gap says how far the best mixture of the fits made is
from the best at the multipliers tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ratebound.base.types import Array
from ratebound.game._folding import Folded
from ratebound.game._keeping import Keeper
from ratebound.game._turns import Turns
from ratebound.game.answers import no_answers
from ratebound.game.game import Game
from ratebound.game.learner import Answering
from ratebound.game.players import Player
from ratebound.game.trace import Trace
from ratebound.problem.compiled import Compiled

ROUNDING = 1e-10  # gaps up to this are those of linear programs


class Asking(Turns):
    """Rounds of whole fits: the model answers the multipliers, which then move by its answers."""

    def __init__(
        self,
        compiled: Compiled,
        fit: Answering,
        player: Player,
        rounds: int,
        *,
        judge: Compiled | None = None,
        folds: Folded | None = None,
    ) -> None:
        _check(compiled, player)
        self.compiled, self.fit, self.player, self.folds = compiled, fit, player, folds
        constraints = len(compiled.constraints)
        self.answers = no_answers(constraints)
        bound = Game(judge or compiled, player).bound() if player.needs_bound else None
        self.multipliers = player.start(
            constraints, settings=player.settings, rounds=rounds, bound=bound
        )
        self.best: list[Array] = []  # round by round, which fits were the answers (K,)

    def take(self) -> None:
        if len(self.answers):
            self.multipliers = self.player.after(self.multipliers, self.answers)
        costs = _costs(self.compiled, self.multipliers.weights)
        counted = np.ones((1, 1)) if self.folds is None else self.folds.factors[:, self.folds.of]
        self.fit.answer((each * factors).T for each in costs for factors in counted)

    def weighed(self) -> tuple[Array, Array]:
        """Weights whose product with the values of a trace is the Lagrangian."""
        own = self.multipliers.weights * self.compiled.scale[0] / self.compiled.scale
        return own, np.empty((len(own), 0))

    def noted(self, latest: Trace | None) -> str:
        assert latest is not None  # fits that give no numbers are refused
        values = np.column_stack([latest.objectives, latest.violations]) / self.compiled.scale
        self.answers = self.answers.and_also(values, self.multipliers.weights)
        self.best.append(self.answers.best(self.multipliers.weights))
        gap = self.answers.gap(self.player.reach)
        self.over = gap <= max(self.fit.tolerance, ROUNDING)
        return f", gap {gap:.2g}"

    def settled(self, trace: Trace) -> Trace:
        settled = replace(self.fit.settled(trace), answers=True)
        if trace.frontier or trace.averaging == "all fits" or not self.best:
            return settled
        return replace(settled, answered=_answered(np.concatenate(self.best), trace.multipliers[:, 0]))

    def leave_off(self, keeper: Keeper, done: int) -> None:
        if not keeper.pieces:  # there is nothing to hand over
            raise KeyboardInterrupt


def _answered(best: Array, weights: Array) -> Array:
    """For each fit (N, 2): in how many rounds it was the answer, and the objective's weight in them.

    `best` are the answers round by round, `weights` (N,) the objective's as the fits were made. A game
    that was interrupted may have kept a last fit without comparing it.
    """
    rounds = np.ones(len(best)), weights[: len(best)]
    return np.column_stack([np.bincount(best, each, len(weights)) for each in rounds])


def _costs(compiled: Compiled, weights: Array) -> Iterator[Array]:
    """What a yes costs on each row, (n,) for each of K, when the rates have weights (K, 1+m).

    With D > 2 classes (D, n): what each decision costs more than the first.
    """
    by_cell, counted = [], []
    for block in compiled.at_zero:
        costs = compiled.spread_each((block.net.T @ (weights / compiled.scale).T).T)
        rounding = 1e-13 * np.abs(costs).max(axis=1, keepdims=True, initial=0.0)
        by_cell.append(_decisions(compiled, np.where(np.abs(costs) <= rounding, 0.0, costs)))
        own = compiled.weights_in(block)
        counted.append(1.0 if own is None else own)
    for setting in range(len(weights)):  # one at a time: there are far more rows than cells
        each = [
            costs[setting][..., compiled.cells] * own
            for costs, own in zip(by_cell, counted, strict=True)
        ]
        yield each[0] if len(each) == 1 else np.sum(each, axis=0)


def _decisions(compiled: Compiled, costs: Array) -> Array:
    """Costs of yeses as they are (K, cells); of several classes (K, D, cells), with the first one's."""
    if compiled.decisions == 2:
        return costs
    others = costs.reshape(len(costs), -1, compiled.cell_count)
    return np.concatenate([np.zeros_like(others[:, :1]), others], axis=1)


def _check(compiled: Compiled, player: Player) -> None:
    if player.watches == "proxies":
        raise ValueError(
            f"{type(player).__name__} watches proxies, and an oracle has none: use rb.ExternalRegret()"
        )
    for block in compiled.blocks:
        if block.at != 0:
            row = int(np.flatnonzero(np.diff(block.net.indptr))[0])
            what = compiled.constraints[row - 1] if row else compiled.problem.objective
            raise ValueError(
                f"{what}: decisions at the threshold {block.at!r} cannot be asked of a scikit-learn "
                "classifier (rb.Oracle), which decides at 0 alone: use a linear model (rb.Linear), a "
                "network (rb.Torch) or boosted trees (rb.Boosted)"
            )
