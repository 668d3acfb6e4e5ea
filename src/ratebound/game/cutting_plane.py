"""Cutting planes: the λ-player for oracles, where every answer is a whole fit and few are affordable.

The answers so far bound the dual from above (see `answers`). Least is known at the λ where that bound is
largest, so the next λ lies between it and the best λ so far (Wentges' smoothing). If an answer brings
nothing new at its own λ, the next λ is the maximum of the bound itself. If that brings nothing new
either, the best mixture of the answers is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from ratebound.base.arrays import Array
from ratebound.base.checks import check_number
from ratebound.game.answers import NEW, Answers, elastic, lower_bounds
from ratebound.game.players import Averaging, Multipliers, Player


@dataclass(frozen=True)
class CuttingPlane(Player):
    """Moves to the multipliers where the fits so far give the least information, for `rb.Oracle`.

    Parameters
    ----------
    radius : float, default=100.0
        What bounds the sum of the multipliers: the most a violation may cost, in units of the objective.
        At the default a rate that is one point off costs as much as getting all rows wrong.
    smoothing : float, default=0.5
        How close the next multipliers stay to the best so far, from 0 up to 1. The default goes half the
        way, since bounds by few fits lead far astray.

    Examples
    --------
    >>> import numpy as np, ratebound as rb
    >>> values = np.array([[0.1, 0.2], [0.5, -0.2]])  # the objective and violation of two fits
    >>> rb.CuttingPlane().next(values, np.array([[1.0, 0.0], [1.0, 100.0]]))
    array([1. , 0.5])
    """

    radius: float = 100.0
    smoothing: float = 0.5

    by_fits: ClassVar[bool] = True
    averaging: ClassVar[Averaging] = "all fits"  # its moves depend on all fits, not on one answer

    def __post_init__(self) -> None:
        check_number("radius", self.radius, above=0)
        check_number("smoothing", self.smoothing, least=0, below=1)

    @property
    def reach(self) -> float:
        return self.radius

    def start(self, constraints: int, **_: Any) -> Multipliers:
        """Start with all weight on the objective; there is one setting.

        Parameters
        ----------
        constraints : int
            Their number m.
        **_ : object
            What other players need.

        Returns
        -------
        Multipliers
            The first weights, (1, 1+m).
        """
        weights = np.eye(1 + constraints)[:1]
        return Multipliers(weights, weights)

    def step(self, multipliers: Multipliers, violations: Array) -> NoReturn:
        raise ValueError("rb.CuttingPlane moves by whole fits: play it with rb.Oracle(estimator)")

    def after(self, multipliers: Multipliers, answers: Answers) -> Multipliers:
        weights = self.next(answers.values, answers.tried)[None]
        return Multipliers(weights, weights)

    def next(self, values: Array, tried: Array) -> Array:
        """The weights to try next.

        Parameters
        ----------
        values : array of shape (N, 1+m)
            The objective and violations of the fits so far.
        tried : array of shape (N, 1+m)
            The weights that each of them answered.

        Returns
        -------
        array of shape (1+m,)
            The next weights.
        """
        prices = elastic(values, self.radius).weights
        best = tried[np.argmax(lower_bounds(values, tried))]
        at_last = values @ tried[-1]
        told = at_last[-1] < at_last[:-1].min(initial=np.inf) - NEW
        stay = self.smoothing if told else 0.0
        return stay * best + (1 - stay) * prices
