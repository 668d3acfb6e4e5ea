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


@dataclass(frozen=True)
class Objective:
    """A function to minimise, of the values (p,) of its pieces.

    A *piece* is a linear sum, a *member* is a sum as the user wrote it: member k of the shape is
    ``x[linear[k]] + Σ coefficient x[top] / x[bottom]``.
    """

    pieces: tuple[Sum, ...]
    linear: tuple[int, ...]  # of every member, its piece without ratios
    ratios: tuple[
        tuple[tuple[float, int, int], ...], ...
    ]  # of every member: coefficient, top, bottom
    shape: str  # "sum" if there is one member
    sign: float  # -1 to maximise

    @property
    def is_sum(self) -> bool:
        """Whether the objective is linear, so that one solve is enough."""
        return self.shape == "sum" and not any(self.ratios)

    def members(self, x: Any) -> Any:
        """Return the values (..., k) of the members; a ratio over 0 is 0."""
        members = []
        for linear, ratios in zip(self.linear, self.ratios, strict=True):
            total = np.array(x[..., linear], dtype=float)
            for coefficient, top, bottom in ratios:
                total += coefficient * _divide(x[..., top], x[..., bottom])
            members.append(total)
        return np.stack(members, axis=-1)

    def value(self, x: Any) -> Any:
        """Return what is minimised (...,), of pieces (..., p)."""
        members = self.members(x)
        if self.shape == "smallest":
            return self.sign * members.min(axis=-1)
        return self.sign * members.max(axis=-1)

    def slope(self, x: Any) -> Any:
        """Return the derivative (p,) at pieces (p,): the slope of the decisive member."""
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
    sense: str,
    goal: Sum | Shape,
    as_quotient: Callable[[Any], Quotient],
) -> Objective:
    """Return the objective as a function of linear sums."""
    pieces: list[Sum] = []
    linear = []
    ratios = []
    for member in goal.parts if isinstance(goal, Shape) else (goal,):
        if any(quantity.form == RANKING for quantity in member.nonlinear):
            raise ValueError(
                f"{member} ranks rows: it can be constrained, as in {member} >= 0.8, not optimised"
            )
        first = len(pieces)
        linear.append(first)
        pieces.append(member)
        of_member = []
        for ratio in member.nonlinear:
            coefficient = member.terms[ratio]
            pieces[first] = pieces[first] - Sum([(ratio, coefficient)])
            of_member.append((coefficient, len(pieces), len(pieces) + 1))
            quotient = as_quotient(ratio)
            pieces += [quotient.top, quotient.bottom]
        ratios.append(tuple(of_member))
    shape = goal.name if isinstance(goal, Shape) else "sum"
    sign = 1.0 if sense == "minimize" else -1.0
    return Objective(tuple(pieces), tuple(linear), tuple(ratios), shape, sign)


def _divide(top: Any, bottom: Any) -> Any:
    zeros = np.zeros(np.shape(top))
    return np.divide(top, bottom, out=zeros, where=bottom > 0)
