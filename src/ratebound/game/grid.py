"""A λ-player that does not move: its multipliers are fixed in advance, and each is answered once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ratebound.base.arrays import Array, as_like, namespace
from ratebound.base.checks import check_whole
from ratebound.game.players import ExternalRegret, LearningRate, Multipliers, Optimizer

DECADES = 4  # the range of the sums of the multipliers, below the radius


@dataclass(frozen=True)
class Grid(ExternalRegret):
    """Multipliers at `points` fixed points; each point is a setting that never moves.

    The first point is 0. The sums of the others are spaced geometrically over four decades up to
    `radius`, since prices differ by orders of magnitude. A low-discrepancy sequence divides each sum
    among the constraints. `rb.Oracle` answers all points in one round, in parallel.

    Parameters
    ----------
    points : int, default=32
        The number of points, each of which takes a fit. The default is enough for a few constraints;
        many are better served by a player that moves.
    radius : float, default=10.0
        The largest sum of the multipliers, in units of the objective. Fixed points far out would be
        spent on models that do nothing but keep promises, so it is less than what players may reach.

    Examples
    --------
    >>> import ratebound as rb
    >>> rb.Grid(points=4, radius=10.0).start(constraints=1).weights[:, 1].round(6).tolist()
    [0.0, 0.001, 0.1, 10.0]
    """

    points: int = 32
    radius: float = field(default=10.0, kw_only=True)
    learning_rate: LearningRate = field(default=1.0, init=False, repr=False)
    optimizer: Optimizer = field(default="sgd", init=False, repr=False)

    fits: ClassVar[int | None] = 1  # each point is answered once

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("points", self.points)

    @property
    def settings(self) -> int:
        return self.points

    def start(
        self,
        constraints: int,
        *,
        settings: int | None = None,
        like: Array | None = None,
        rounds: int | None = None,
        bound: float | None = None,
    ) -> Multipliers:
        """The multipliers of every point.

        Parameters
        ----------
        constraints : int
            Their number m.
        settings : int, default=None
            Not used: each point is a setting.
        like : array, default=None
            An array whose kind and device to use. By default NumPy's.
        rounds : int, default=None
            Not used: the points do not move.
        bound : float, default=None
            Not used, either.

        Returns
        -------
        Multipliers
            The weights, (points, 1+m).
        """
        from scipy.stats import qmc

        state = np.zeros((self.points, constraints))
        if constraints and self.points > 1:
            sums = self.radius * np.logspace(-DECADES, 0, self.points - 1)
            halton = qmc.Halton(constraints, scramble=False).fast_forward(1)  # skips its first point, 0
            shares = -np.log(halton.random(self.points - 1))  # evenly over the simplex, once normed
            state[1:] = sums[:, None] * shares / shares.sum(axis=1, keepdims=True)
        if like is not None and namespace(like) is not np:
            state = as_like(state, like.new_empty(0, dtype=namespace(like).float64))
        return Multipliers(self._weights(state), state)

    def step(self, multipliers: Multipliers, violations: Array) -> Multipliers:
        """The same multipliers, for any violations.

        Parameters
        ----------
        multipliers : Multipliers
            Where it is.
        violations : array of shape (..., m)
            Not used.

        Returns
        -------
        Multipliers
            The same.
        """
        return multipliers
