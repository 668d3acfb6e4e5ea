"""Cutting planes: the λ-player for oracles, which need few answers but make each of them a whole fit.

The answers so far bound the dual from above (see `answers`). The λ at which that bound is largest is
where least is known, so the next λ lies between it and the best λ so far (Wentges' smoothing). Once an
answer tells nothing new at its own λ, the next is the bound's own: if nothing new comes there either,
the best mixture of the answers is the best there is.
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
    """The multipliers at which the iterates so far say least, for `rb.Oracle`.

    `radius` bounds the sum of the multipliers: what a violation may cost, in units of the objective.
    `smoothing` is how far the next multipliers stay with the best so far, from 0 to 1.

    >>> CuttingPlane().next(np.array([[0.1, 0.2], [0.5, -0.2]]), np.array([[1.0, 0.0], [1.0, 100.0]]))
    array([1. , 0.5])
    """

    radius: float = 100.0
    smoothing: float = 0.5

    by_fits: ClassVar[bool] = True
    averaging: ClassVar[Averaging] = "all fits"  # it moves by all of them, not by one answer

    def __post_init__(self) -> None:
        check_number("radius", self.radius, above=0)
        check_number("smoothing", self.smoothing, least=0, below=1)

    @property
    def reach(self) -> float:
        return self.radius

    def start(self, constraints: int, **_: Any) -> Multipliers:
        """The objective alone, for the one setting there is."""
        weights = np.eye(1 + constraints)[:1]
        return Multipliers(weights, weights)

    def step(self, multipliers: Multipliers, violations: Array) -> NoReturn:
        raise ValueError("rb.CuttingPlane moves by whole fits: play it with rb.Oracle(estimator)")

    def after(self, multipliers: Multipliers, answers: Answers) -> Multipliers:
        weights = self.next(answers.values, answers.tried)[None]
        return Multipliers(weights, weights)

    def next(self, values: Array, tried: Array) -> Array:
        """Weights (1+m,) to answer, after iterates with `values` (N, 1+m) answered `tried` (N, 1+m)."""
        prices = elastic(values, self.radius).weights
        best = tried[np.argmax(lower_bounds(values, tried))]
        at_last = values @ tried[-1]
        told = at_last[-1] < at_last[:-1].min(initial=np.inf) - NEW
        stay = self.smoothing if told else 0.0
        return stay * best + (1 - stay) * prices
