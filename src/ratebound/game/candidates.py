"""Where columns of the threshold program come from: the rules that one model's scores allow.

A candidate is a rule for one known group, known by its number: a threshold where rows have one score
(`ranking`), or an offset for each class where they have several (`offsets`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ratebound.base.types import Array
from ratebound.problem.compiled import Compiled


class Candidates(ABC):
    """All rules on one model's scores, for every group."""

    compiled: Compiled
    offset: Array  # (1+m,) what the objective and each constraint are where all get the first decision

    @property
    @abstractmethod
    def groups(self) -> int:
        """How many known groups there are."""

    @abstractmethod
    def cheapest(self, prices: Array, costs: Sequence[Array], prove: bool) -> tuple[Array, Array, Array]:
        """Each group's cheapest candidate, its cost, and a bound below which none is, (groups,) each.

        `prices` (1+m,) are of the objective and the constraints, and `costs` ((D - 1) * cells,) what
        decisions other than the first cost at these, for each block at zero. Without `prove` bounds
        may be infinite.
        """

    def others(self, prices: Array, below: Array) -> Array:
        """Other candidates known to cost less at these prices than `below` (groups,), to add as well.

        Where the cheapest is found in one pass, it is best to look again; where it is searched for, not.
        """
        return np.empty(0, dtype=int)

    @abstractmethod
    def values(self, candidates: Array) -> Array:
        """What these candidates, in order, add to the objective and each constraint, (k, 1+m)."""

    @abstractmethod
    def group(self, candidates: Array) -> Array:
        """The group of each candidate."""

    @abstractmethod
    def at(self, candidates: Array) -> Array:
        """The thresholds (k,) of these candidates, or their offsets (k, D)."""

    @abstractmethod
    def constant(self) -> list[Array]:
        """Candidates (groups,) that decide the same for everyone, one array for each decision."""

    @abstractmethod
    def spread(self, count: int) -> Array:
        """About `count` candidates of each group that differ from each other, none of them constant."""

    @abstractmethod
    def near(self, candidates: Array) -> Array:
        """These candidates and some that are like them, by which other bounds can be judged."""

    @abstractmethod
    def generosity(self, candidates: Array) -> Array:
        """How many rows get a yes, or another number that puts candidates of a group in order, (k,)."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """The largest score by size; a threshold at infinity is as good beyond it."""

    @abstractmethod
    def tightened(self, compiled: Compiled, margins: Array) -> Candidates:
        """The same of `compiled`, where `margins` (1+m,) are added to every value."""
