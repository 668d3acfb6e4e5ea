"""Objectives as functions of linear sums: a sum, perhaps with ratios in it, or the worst of several.

`value` and `slope` are all that an outer loop around a linear solver needs: it minimises the
tangent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratebound.rates.sums import RANKING, Quotient, Shape, Sum

Ratio = tuple[float, int, int]  # a coefficient, and the pieces of the numerator and denominator


@dataclass(frozen=True)
class Objective:
    """A function to minimise, of the values (p,) of its pieces.

    A *member* is one sum of the objective as it was written, and a *piece* is a linear sum. The value
    of member k is ``x[linear[k]] + Σ coefficient x[top] / x[bottom]`` over its ratios.
    """

    pieces: tuple[Sum, ...]
    linear: tuple[int, ...]  # the piece of each member without its ratios
    ratios: tuple[tuple[Ratio, ...], ...]  # the ratios of each member
    shape: str  # "sum" if there is one member
    sign: float  # -1 to maximise

    @property
    def is_sum(self) -> bool:
        """Whether the objective is linear, so that one solve is enough."""
        return self.shape == "sum" and not any(self.ratios)

    def members(self, x: Any) -> Any:
        """Return the values (..., k) of the members; a ratio over 0 is 0."""
        values = []
        for linear, ratios in zip(self.linear, self.ratios, strict=True):
            value = np.array(x[..., linear], dtype=float)
            for coefficient, top, bottom in ratios:
                value += coefficient * _divide(x[..., top], x[..., bottom])
            values.append(value)
        return np.stack(values, axis=-1)

    def value(self, x: Any) -> Any:
        """Return the value to minimise (...,), of pieces (..., p)."""
        members = self.members(x)
        if self.shape == "smallest":
            return self.sign * members.min(axis=-1)
        return self.sign * members.max(axis=-1)

    def slope(self, x: Any) -> Any:
        """Return the derivative (p,) at pieces (p,), which is the slope of the decisive member."""
        members = self.members(x)
        decisive = members.argmin() if self.shape == "smallest" else members.argmax()
        slope = np.zeros(len(self.pieces))
        slope[self.linear[decisive]] = 1.0
        for coefficient, top, bottom in self.ratios[decisive]:
            if x[bottom] > 0:
                slope[top] += coefficient / x[bottom]
                slope[bottom] -= coefficient * x[top] / x[bottom] ** 2
        return self.sign * slope


def build_objective(
    sense: str, objective: Sum | Shape, as_quotient: Callable[[Any], Quotient]
) -> Objective:
    """Return an objective as a function of linear sums."""
    if isinstance(objective, Shape):
        members = objective.parts
        shape = objective.name
    else:
        members = (objective,)
        shape = "sum"
    pieces: list[Sum] = []
    linear = []
    ratios = []
    for member in members:
        first = len(pieces)
        linear.append(first)
        pieces.append(member)
        ratios_of_member = []
        for quantity in member.nonlinear:
            if quantity.form == RANKING:
                raise ValueError(
                    f"{member} ranks rows: it can be constrained, as in {member} >= 0.8, not optimised"
                )
            coefficient = member.terms[quantity]
            pieces[first] = pieces[first] - Sum([(quantity, coefficient)])
            ratios_of_member.append((coefficient, len(pieces), len(pieces) + 1))
            quotient = as_quotient(quantity)
            pieces += [quotient.top, quotient.bottom]
        ratios.append(tuple(ratios_of_member))
    sign = 1.0 if sense == "minimize" else -1.0
    return Objective(
        pieces=tuple(pieces),
        linear=tuple(linear),
        ratios=tuple(ratios),
        shape=shape,
        sign=sign,
    )


def _divide(top: Any, bottom: Any) -> Any:
    zeros = np.zeros(np.shape(top))
    return np.divide(top, bottom, out=zeros, where=bottom > 0)
