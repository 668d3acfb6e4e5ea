"""A convex function of a few rates as a goal: Kelley's cutting planes.

A convex function f(x) of the pieces x is minimised: minus a geometric or harmonic mean of recalls, or
the divergence of shares from their targets. A tangent of f is below f everywhere, so for any points x_k

    min_x f(x)  >=  min_x max_k  f(x_k) + f'(x_k) · (x - x_k),

This is a linear program with one more variable, the height of the highest tangent. Its x is the next
point, whose tangent is added. The value of the program bounds f from below, the best x so far bounds it
from above, and the two meet (Kelley, 1960). The prices of the tangents sum to 1. The mean of their
slopes, weighted by these prices, is the slope of f at the best mixture. It gives the linear problem that
the best mixture solves.

At the edge of the possible rates, tangents may be vertical. So for points near the edge, the tangent is
taken a little inside: it is still a tangent, and still bounds f from below.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.problem.problem import Problem
from ratebound._old.problem.reductions.goal import EXACT, STEPS, NonlinearObjective, Program, Solved
from ratebound._old.rates.beyond_sums import Curve
from ratebound._old.rates.expressions import Expression
from ratebound._old.rates.subsets import Value, value_text

EDGE = 1e-4  # rates closer to 0 get the tangent at this rate


def accepts(problem: Problem) -> bool:
    """Whether the objective is a mean of recalls or a divergence."""
    return isinstance(problem.objective, Curve)


def apply(problem: Problem, classes: tuple[Value, ...]) -> Convex:
    """The objective of a problem as a convex function of rates, which is minimised."""
    curve = problem.objective
    assert isinstance(curve, Curve)
    pieces = curve.parts(classes)
    if curve.kind != "kl_divergence":
        return _MEANS[curve.kind](pieces)
    if curve.target is not None:
        if len(classes) > 2 and curve.rate.of is None:
            said = f"of={value_text(classes[-1])}, target={curve.target!r}"
            raise ValueError(
                f"{curve}: there are {len(classes)} classes, so name the class of the target share, "
                f"as in kl_divergence({said})"
            )
        return Divergence(pieces, len(pieces), np.array([curve.target, 1 - curve.target]))
    return Divergence(pieces, 2 if len(pieces) == 3 else len(pieces) // 2, None)


@dataclass(frozen=True, eq=False)
class Convex(NonlinearObjective):
    """A convex function of rates, each at least 0."""

    pieces: tuple[Expression, ...]

    @abstractmethod
    def slope(self, pieces: Array) -> Array:
        """Its gradient (q,) at pieces (q,) that are not at the edge."""

    def inside(self, pieces: Array) -> Array:
        """The nearest pieces (q,) that are not at the edge."""
        return np.maximum(pieces, EDGE)

    def weights(self, pieces: Array) -> Array:
        return self.slope(self.inside(pieces))

    def solved(self, program: Program, start: Array) -> Solved:
        first = program(start[None], np.zeros(1))
        best = Solved(
            first.pieces, float(self.value(first.pieces)), -np.inf, start, first.prices, first.mixture
        )
        slopes, constants, point = np.empty((0, len(start))), np.empty(0), first.pieces
        for _ in range(STEPS):
            near = self.inside(point)
            slope = self.slope(near)
            slopes = np.vstack([slopes, slope])
            constants = np.append(constants, float(self.value(near)) - slope @ near)
            answer = program(slopes, constants)
            point, value = answer.pieces, float(self.value(answer.pieces))
            if value < best.value:
                best = replace(best, pieces=point, value=value, mixture=answer.mixture)
            best = replace(
                best,
                bound=max(best.bound, answer.least),
                weights=answer.shares @ slopes,
                prices=answer.prices,
            )
            if best.gap <= EXACT:
                break
        return best


class GeometricMean(Convex):
    """Minus the geometric mean."""

    def value(self, pieces: Array) -> Array:
        rates = np.maximum(pieces, 0.0)
        return -(rates.prod(axis=-1) ** (1 / rates.shape[-1]))

    def slope(self, pieces: Array) -> Array:
        return np.asarray(self.value(pieces) / (len(pieces) * pieces))


class HarmonicMean(Convex):
    """Minus the harmonic mean, which is 0 if one rate is 0."""

    def value(self, pieces: Array) -> Array:
        rates = np.maximum(pieces, 0.0)
        some = rates.min(axis=-1) > 0
        inverse = (1 / np.where(rates > 0, rates, 1.0)).sum(axis=-1)
        return np.where(some, -rates.shape[-1] / inverse, 0.0)[()]

    def slope(self, pieces: Array) -> Array:
        mean = self.value(pieces)
        return np.asarray(-(mean**2) / (len(pieces) * pieces**2))


_MEANS = {"g_mean": GeometricMean, "h_mean": HarmonicMean}


@dataclass(frozen=True, eq=False)
class Divergence(Convex):
    """Σ t log(t / x) for decided shares x and target shares t.

    It is convex in both together. The targets are given, or they are pieces after the decided shares:
    one for each class; with two classes, only for yes.
    """

    decided: int  # how many pieces are shares decided
    aimed: Array | None

    def _both(self, pieces: Array) -> tuple[Array, Array]:
        decided = np.asarray(pieces)[..., : self.decided]
        if self.aimed is not None:
            return decided, np.broadcast_to(self.aimed, decided.shape)
        aimed = np.asarray(pieces)[..., self.decided :]
        if aimed.shape[-1] == 1:
            aimed = np.concatenate([aimed, 1 - aimed], axis=-1)
        return decided, aimed

    def value(self, pieces: Array) -> Array:
        decided, aimed = self._both(pieces)
        ratio = np.where(aimed > 0, aimed, 1.0) / np.maximum(decided, EDGE**2)
        divergence: Array = (aimed * np.log(np.where(aimed > 0, ratio, 1.0))).sum(axis=-1)
        return divergence

    def slope(self, pieces: Array) -> Array:
        decided, aimed = self._both(pieces)
        of_decided = -aimed / decided
        # The target is the same for every model, so its slope makes no difference.
        return np.concatenate([of_decided, np.zeros(len(pieces) - self.decided)])

    def inside(self, pieces: Array) -> Array:
        return np.append(np.maximum(pieces[: self.decided], EDGE), pieces[self.decided :])
