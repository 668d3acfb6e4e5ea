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
from ratebound.game.proxies import PROXIES


class Scores(ABC):
    """What the game needs to know of scores, (K, b) or (K, D, b)."""

    axes: int  # of the scores of one model
    offsets: int  # how many numbers a learned threshold is
    proxies: dict[str, Any]

    @abstractmethod
    def shaped(self, scores: Array, models: int) -> Array:
        """The scores of so many models, as given or without their axis if there is one model."""

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
        yes = yes.astype(shifted.dtype) if namespace(yes) is np else yes.to(shifted.dtype)
        return places.total(weighed(yes, weight)[:, None])


def weighed(values: Array, weight: Array | float) -> Array:
    """Values (..., b), each times its weight (b,)."""
    return values if isinstance(weight, float) and weight == 1 else values * weight
