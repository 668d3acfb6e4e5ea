"""Smooth stand-ins for the 0-1 decision, which only the model descends.

A proxy φ replaces [score >= 0], the yes; φ(-score) replaces the no. Where φ is nowhere below the
step it bounds every rate from above, which is what the theorems ask for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ratebound.base.arrays import Array, namespace


@dataclass(frozen=True)
class Proxy:
    """φ and its two slopes: how φ(s) rises and how φ(-s) falls with the score s."""

    name: str
    value: Callable[[Array], Array]
    slopes: Callable[[Array], tuple[Array, Array]]  # φ'(s) and φ'(-s)
    curvature: Callable[[Array], Array]  # of φ at s and at -s alike, or a positive stand-in for it
    bounds: bool  # whether φ(s) >= [s >= 0] everywhere
    largest: float = math.inf  # the least upper bound of φ


def _sigmoid(s: Array) -> Array:
    return 0.5 + 0.5 * namespace(s).tanh(0.5 * s)


def _softplus(s: Array) -> Array:
    xp = namespace(s)
    return s.clip(min=0) + xp.log1p(xp.exp(-abs(s)))


def _logistic_slopes(s: Array) -> tuple[Array, Array]:
    rise = _sigmoid(s) * (1 / math.log(2))
    return rise, 1 / math.log(2) - rise


def _sigmoid_slopes(s: Array) -> tuple[Array, Array]:
    yes = _sigmoid(s)
    slope = yes * (1 - yes)
    return slope, slope


def _logistic_curvature(s: Array) -> Array:
    yes = _sigmoid(s)
    return yes * (1 - yes) * (1 / math.log(2))


# Learners that step by slope over curvature (boosted trees) need one that is positive everywhere:
#   logistic  its second derivative, which is the same at s and -s.
#   sigmoid   is concave on one side, where a Newton step would climb. Its slope stands in: steps are
#             then at most 1 and never against the slope, wherever the score lies.
#   hinge     has no curvature but at its corner. A constant 1 stands in, the size of its slope:
#             steps are again at most 1, the width of its margin.
PROXIES = {
    # max(0, 1 + s): the paper's.
    "hinge": Proxy(
        "hinge", lambda s: (1 + s).clip(min=0), lambda s: (s > -1, s < 1), lambda s: 0 * s + 1, True
    ),
    # log2(1 + e^s): equal to 1 at the threshold, so a bound from above.
    "logistic": Proxy(
        "logistic", lambda s: _softplus(s) / math.log(2), _logistic_slopes, _logistic_curvature, True
    ),
    # 1 / (1 + e^-s): between 1/2 and 1 above the threshold, so *not* a bound there; it forgives far
    # outliers, which the others do not.
    "sigmoid": Proxy("sigmoid", _sigmoid, _sigmoid_slopes, lambda s: _sigmoid_slopes(s)[0], False, 1.0),
}
