"""One score a row for two classes, one for each class for more: only here the game tells them apart.

Both give slopes and curvatures for costs of targets (K, T, b), and totals per slice of decisions or of a
proxy. With one score the targets are no and yes, so that the costs are those of a yes and of a no.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ratebound.base.arrays import Array, namespace
from ratebound.game._places import Places
from ratebound.game.proxies import PROXIES, SET_PROXIES, Targets, targets_like
from ratebound.problem.compiled import Compiled
from ratebound.problem.deciding import decided


class Scores(ABC):
    """What the game needs to know of scores, (K, b) or (K, D, b)."""

    axes: int  # of the scores of one model
    offsets: int  # how many numbers a learned threshold is
    proxies: dict[str, Any]

    @abstractmethod
    def shaped(self, scores: Array, models: int) -> Array:
        """The scores as (K, b) or (K, D, b); those of one model may come without its axis."""

    @abstractmethod
    def shifted(self, scores: Array, at: Array) -> Array:
        """Scores relative to a learned threshold (K, offsets)."""

    @abstractmethod
    def by_offset(self, slope: Array) -> Array:
        """The derivative by a learned threshold (K, offsets), from that by scores relative to it."""

    @abstractmethod
    def slope(self, proxy: Any, shifted: Array, costs: Array) -> Array:
        """Derivative by each score of what `proxy` makes of costs (K, T, b)."""

    @abstractmethod
    def curvature(self, proxy: Any, shifted: Array, costs: Array) -> Array:
        """A positive second derivative by each score."""

    @abstractmethod
    def relaxed(self, proxy: Any, shifted: Array) -> Array:
        """What the proxy says of each target, (K, T, b)."""

    @abstractmethod
    def total_decided(self, shifted: Array, places: Places, weight: Array | float) -> Array:
        """Totals per slice (K, D - 1, S) of rows decided 1, ..., D - 1, each of its weight (b,) or 1."""


class OneScore(Scores):
    """Yes where the score is at least 0."""

    axes, offsets = 1, 1
    proxies = PROXIES

    def shaped(self, scores: Array, models: int) -> Array:
        return scores.reshape(models, -1)

    def shifted(self, scores: Array, at: Array) -> Array:
        return scores - at

    def by_offset(self, slope: Array) -> Array:
        return -slope.sum(-1)[:, None]

    def slope(self, proxy: Any, shifted: Array, costs: Array) -> Array:
        rise, fall = proxy.slopes(shifted)
        return costs[:, 0] * rise - costs[:, 1] * fall

    def curvature(self, proxy: Any, shifted: Array, costs: Array) -> Array:
        return costs.sum(1) * proxy.curvature(shifted)

    def relaxed(self, proxy: Any, shifted: Array) -> Array:
        return namespace(shifted).stack([proxy.value(shifted), proxy.value(-shifted)], 1)

    def total_decided(self, shifted: Array, places: Places, weight: Array | float) -> Array:
        yes = shifted >= 0
        yes = yes if namespace(yes) is np else yes.to(shifted.dtype)
        return places.total(weighed(yes, weight)[:, None])


class ScoreOfEach(Scores):
    """The class with the largest score."""

    axes = 2
    proxies = SET_PROXIES

    def __init__(self, compiled: Compiled, targets: Array, example: Array) -> None:
        self.classes, self.offsets = compiled.classes, compiled.decisions - 1
        self._targets = targets_like(targets, example)
        on_cpu = namespace(example) is np
        self._in_numpy = self._targets if on_cpu else targets_like(targets, np.empty(0))

    def shaped(self, scores: Array, models: int) -> Array:
        given = tuple(scores.shape)
        if (scores.ndim == 2 and models == 1 and len(scores) == len(self.classes)) or (
            scores.ndim == 3 and given[:2] == (models, len(self.classes))
        ):
            own = scores.reshape(models, len(self.classes), -1)
            # NumPy is slow where a row's scores lie side by side, as modules of PyTorch give them.
            return np.ascontiguousarray(own) if namespace(own) is np else own
        raise ValueError(
            f"{len(self.classes)} classes need a score for each on every row, of shape ({models}, "
            f"{len(self.classes)}, rows), and the model gave {given}: use a learner that takes several "
            "classes, such as rb.Linear, rb.MLP or rb.Boosted, or have yours read rows.decisions"
        )

    def shifted(self, scores: Array, at: Array) -> Array:
        return scores - namespace(at).concatenate([0 * at[:, :1], at], -1)[:, :, None]

    def by_offset(self, slope: Array) -> Array:
        return -slope.sum(-1)[:, 1:]

    def slope(self, proxy: Any, shifted: Array, costs: Array) -> Array:
        return proxy.slope(shifted, self.targets(shifted), costs)

    def curvature(self, proxy: Any, shifted: Array, costs: Array) -> Array:
        return proxy.curvature(shifted, self.targets(shifted), costs)

    def relaxed(self, proxy: Any, shifted: Array) -> Array:
        return proxy.value(shifted, self.targets(shifted))

    def total_decided(self, shifted: Array, places: Places, weight: Array | float) -> Array:
        return places.total_kinds(decided(shifted), self.offsets + 1, weight)[:, 1:]

    def targets(self, scores: Array) -> Targets:
        """The targets as arrays of the kind of the scores; the first ones are NumPy's on a GPU too."""
        return self._in_numpy if namespace(scores) is np else self._targets


def weighed(values: Array, weight: Array | float) -> Array:
    """Values (..., b), each times its weight (b,)."""
    return values if isinstance(weight, float) and weight == 1 else values * weight


def scores_of(compiled: Compiled, targets: Array, example: Array) -> Scores:
    """How the scores of models for a compiled problem are read, computing in arrays like `example`."""
    return OneScore() if compiled.decisions <= 2 else ScoreOfEach(compiled, targets, example)
