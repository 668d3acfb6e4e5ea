"""Smooth proxies for the 0-1 decision, which only the model descends.

With one score per row, a proxy φ replaces [score >= 0], the yes, and φ(-score) replaces the no. If φ is
nowhere below the step, it bounds every rate from above, as the theorems require.

With more than two classes, a row pays a cost if the class with the largest score is outside a *target*
t. For scores s, with p their softmax and lse(t) = log Σ_{d in t} e^s_d, the proxies are

    logistic   (lse(all) - lse(t)) / log(1 + 1/|t|)       -log p(t): the cross-entropy if |t| = 1
    hinge      max(0, 1 + max outside t - max inside t)
    sigmoid    1 - p(t)

The first two bound the cost from above. Let M be the largest score inside t, and the decision outside.
Then some score outside is at least M, so the hinge is at least 1; and lse(all) - lse(t) is the logarithm
of 1 + Σ_outside e^s / Σ_inside e^s >= 1 + e^M / (|t| e^M). The sigmoid is only 1 - p(t) >= 1 / (|t| + 1)
there, so it is not a bound. Logistic and hinge are convex in s if |t| = 1, as for all targets of an
error rate, but not if a target has several classes.

With two classes the targets are {no} and {yes}, and these are the proxies of one score, at 0 and s: φ(s)
for the target {no}, φ(-s) for {yes}. That form is written out because it is faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ratebound._old.base.arrays import Array, as_like, namespace

# --- one score ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class OfOne:
    """φ and its two slopes: how φ(s) rises and how φ(-s) falls with the score s."""

    value: Callable[[Array], Array]
    slopes: Callable[[Array], tuple[Array, Array]]  # φ'(s) and φ'(-s)
    curvature: Callable[[Array], Array]  # of φ, the same at s and -s, or a positive replacement


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


# --- one score for each class -------------------------------------------------------------------


FAR = 60.0  # nats below the largest score, where a class has no weight left in single precision


@dataclass(frozen=True)
class Targets:
    """T sets of classes, none of them empty or complete."""

    inside: Array  # (T, D) ones and zeros
    member: Array  # (T, D) the same as booleans
    per_bit: Array  # (T, 1) one over log(1 + 1/|t|)

    @property
    def outside(self) -> Array:
        return 1 - self.inside


def targets_like(member: Array, example: Array) -> Targets:
    """Targets (T, D), given as NumPy booleans, as arrays of the kind of `example`."""
    sizes = member.sum(axis=1, keepdims=True)
    xp = namespace(example)
    own = member if xp is np else xp.as_tensor(member, device=example.device)
    per_bit = 1 / np.log1p(1 / np.maximum(sizes, 1))
    return Targets(as_like(member.astype(float), example), own, as_like(per_bit, example))


@dataclass(frozen=True)
class OfEach:
    """A proxy for [the decision is outside t], of scores (K, D, b), for T targets at once."""

    value: Callable[[Array, Targets], Array]  # (K, T, b)
    slope: Callable[[Array, Targets, Array], Array]  # (K, D, b), summed with costs (K, T, b)
    curvature: Callable[[Array, Targets, Array], Array]  # (K, D, b), positive if costs are


def _exponentials(scores: Array) -> Array:
    """e^(s - max s), but at least e^-FAR, so that ratios of sums neither overflow nor vanish."""
    return namespace(scores).exp((scores - _largest(scores)).clip(min=-FAR))


def _softmax(scores: Array) -> Array:
    powers = _exponentials(scores)
    return powers / powers.sum(1)[:, None]


def _largest(scores: Array) -> Array:
    """The largest score of each row, (K, 1, b)."""
    return scores.max(1)[:, None] if namespace(scores) is np else scores.amax(1)[:, None]


def _largest_within(scores: Array, member: Array) -> Array:
    """The largest score within each set (T, D), (K, T, b); class by class, as K·T·D·b may be large."""
    xp = namespace(scores)
    largest = None
    for d in range(scores.shape[1]):
        own = xp.where(member[:, d, None], scores[:, d, None], -math.inf)
        largest = own if largest is None else xp.maximum(largest, own)
    return largest


def _logistic(scores: Array, targets: Targets) -> Array:
    powers = _exponentials(scores)
    odds = (targets.outside @ powers) / (targets.inside @ powers)
    beyond = (_largest(scores) - _largest_within(scores, targets.member) - FAR).clip(min=0)
    return (namespace(scores).log1p(odds) + beyond) * targets.per_bit


def _logistic_slope(scores: Array, targets: Targets, costs: Array) -> Array:
    # Σ_t c_t (p - q_t), with q_t the softmax within t.
    powers = _exponentials(scores)
    priced = costs * targets.per_bit
    within = targets.inside.T @ (priced / (targets.inside @ powers))
    return powers * (priced.sum(1)[:, None] / powers.sum(1)[:, None] - within)


def _softmax_curvature(scores: Array, targets: Targets, costs: Array) -> Array:
    odds = _softmax(scores)
    return 2 * odds * (1 - odds) * (costs * targets.per_bit).sum(1)[:, None]


def _hinge(scores: Array, targets: Targets) -> Array:
    within, without = (_largest_within(scores, own) for own in (targets.member, ~targets.member))
    return (1 + (without - within)).clip(min=0)


def _hinge_slope(scores: Array, targets: Targets, costs: Array) -> Array:
    within, without = (_largest_within(scores, own) for own in (targets.member, ~targets.member))
    paid = costs * (1 + (without - within) > 0)
    slope: Array = 0.0
    for side, peaks, sign in ((targets.inside, within, -1), (targets.outside, without, 1)):
        # Classes that share the largest score share its slope, as all do before the first step.
        hits = [side[:, d, None] * (scores[:, d, None] == peaks) for d in range(scores.shape[1])]
        each = sign * paid / sum(hits)
        slope = slope + namespace(scores).stack([(each * hit).sum(1) for hit in hits], 1)
    return slope


def _sigmoid_slope(scores: Array, targets: Targets, costs: Array) -> Array:
    # Σ_t c_t p_d (p(t) - [d in t])
    odds = _softmax(scores)
    return odds * ((costs * (targets.inside @ odds)).sum(1)[:, None] - targets.inside.T @ costs)


def _sigmoid_curvature(scores: Array, targets: Targets, costs: Array) -> Array:
    odds = _softmax(scores)
    return odds * (1 - odds) * costs.sum(1)[:, None]


# --- the table ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proxy:
    """A proxy for [the decision is outside t], for T targets at once, of scores (K, A, b)."""

    name: str
    one: OfOne  # A = 1: two classes, with targets {no} and {yes}
    each: OfEach  # A = D
    bounds: bool  # whether the value is nowhere below the step
    largest: float = math.inf  # the least upper bound of the value

    def value(self, scores: Array, targets: Targets) -> Array:
        """Its value for each target, (K, T, b)."""
        if scores.shape[1] > 1:
            return self.each.value(scores, targets)
        return namespace(scores).concatenate([self.one.value(scores), self.one.value(-scores)], 1)

    def slope(self, scores: Array, targets: Targets, costs: Array) -> Array:
        """The derivative (K, A, b) by each score of its values times costs (K, T, b)."""
        if scores.shape[1] > 1:
            return self.each.slope(scores, targets, costs)
        rise, fall = self.one.slopes(scores)
        return costs[:, :1] * rise - costs[:, 1:] * fall

    def curvature(self, scores: Array, targets: Targets, costs: Array) -> Array:
        """A second derivative (K, A, b) of the same, positive if costs are."""
        if scores.shape[1] > 1:
            return self.each.curvature(scores, targets, costs)
        return costs.sum(1)[:, None] * self.one.curvature(scores)


# Learners that step by slope over curvature (boosted trees) need a curvature that is positive
# everywhere. For one score: logistic  its second derivative, which is the same at s and -s. sigmoid   is
# concave on one side, where a Newton step would climb. Its slope replaces the curvature: steps are then
# at most 1 and never against the slope, whatever the score. hinge     has no curvature except at its
# corner. A constant 1, the size of its slope, replaces it: steps are again at most 1, the width of its
# margin. For one score per class, all of which move at once:
#   logistic  lse(all) has the second derivatives diag(p) - p pᵀ, which 2 p (1 - p) on the diagonal
#             bounds from above, as the off-diagonal entries of a row sum to p (1 - p). -lse(t) bends the
#             other way and is left out.
#   sigmoid   p (1 - p), which its slopes never exceed: steps are at most 1, as with one score.
#   hinge     1, the size of its slope.
PROXIES = {
    # max(0, 1 + s): the paper's.
    "hinge": Proxy(
        "hinge",
        OfOne(lambda s: (1 + s).clip(min=0), lambda s: (s > -1, s < 1), lambda s: 0 * s + 1),
        OfEach(_hinge, _hinge_slope, lambda s, targets, costs: 0 * s + costs.sum(1)[:, None]),
        bounds=True,
    ),
    # log2(1 + e^s): equal to 1 at the threshold, so a bound from above.
    "logistic": Proxy(
        "logistic",
        OfOne(lambda s: _softplus(s) / math.log(2), _logistic_slopes, _logistic_curvature),
        OfEach(_logistic, _logistic_slope, _softmax_curvature),
        bounds=True,
    ),
    # 1 / (1 + e^-s): between 1/2 and 1 above the threshold, so *not* a bound there; it tolerates far
    # outliers, which the others do not.
    "sigmoid": Proxy(
        "sigmoid",
        OfOne(_sigmoid, _sigmoid_slopes, lambda s: _sigmoid_slopes(s)[0]),
        OfEach(lambda s, targets: targets.outside @ _softmax(s), _sigmoid_slope, _sigmoid_curvature),
        bounds=False,
        largest=1.0,
    ),
}
