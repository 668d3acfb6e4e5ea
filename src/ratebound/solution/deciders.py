"""How members' scores become one decision: one member is drawn, or all of them vote.

Whatever a decider does, it leaves a few *choices*: rows of scores, each with the probability it decides
with. A draw has a choice for every member, a vote one choice in all. Thresholds by known group, the
third decider, stand in `group_thresholds`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.problem.deciding import decided
from ratebound.problem.frames import length
from ratebound.problem.summaries import FeatureScale
from ratebound.rates.subsets import Value
from ratebound.solution._checking import flag, numbers
from ratebound.solution._choosing import (
    choose,
    uniform_from_features,
    uniform_from_key,
    uniform_from_scores,
    voted_scores,
)
from ratebound.solution._deciding_graph import Votes, chosen_member, hashed_keys, voted

SHARED = 16  # rows with the same features, from which on one draw is not taken for its expectation
CHOOSERS = {"key": "int64", "uniform": "float64"}  # inputs of an ONNX graph that draws


@dataclass(frozen=True)
class Sizes:
    """How many members, models and classes there are."""

    members: int
    models: int
    classes: int


class Decider(ABC):
    """From the scores of models to decisions; by default a member is a model, and knows no columns."""

    kind: ClassVar[str]  # its name in files

    @property
    def draw(self) -> Draw | None:
        """The draw of the member that decides a row, where one of them does."""
        return None

    @property
    def how(self) -> str:
        """Who decides, in words."""
        return "the members' vote" if self.draw is None else "one member, chosen at random"

    @property
    def known(self) -> dict[str, tuple[Value | None, ...]]:
        """The columns it looks at, and the known values of each."""
        return {}

    @abstractmethod
    def called(self, count: int, each: str = "model") -> str:
        """What `count` members with this decider are called, for the head of a report."""

    def rule(self, weights: Array, classes: Sequence[Any] = (False, True)) -> str:
        """What is decided, in words that a person can check; `weights` (M,) are the members'."""
        how = f"; {self.how}" if len(weights) > 1 else ""
        return f"{self.called(len(weights))}{how} decides each row"

    def member_scores(self, scores: Array, X: Any, columns: Any) -> Array:
        """Scores (M, A, n) of the members, from those of the models (B, A, n)."""
        return scores

    @abstractmethod
    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        """Probabilities (H,) and scores (H, A, n) of what may decide, from the members'."""

    def uniform(self, features: Any, key: Any, seed: Any) -> Array:
        """The number in [0, 1) that picks each row's choice, (n,); any, where there is only one."""
        return np.zeros(length(features, "X"))

    def as_they_fall(self, weights: Array, scores: Array, features: Any) -> Array:
        """The choices' scores, where rows that many share have that of the choice which decides them.

        A draw for each of many rows comes to its expectation. One draw for all rows with the same
        features does not, in these rows or in new ones. So rows with a number that `SHARED` rows or more
        have are counted as they are decided.
        """
        differing = (decided(scores) != decided(scores[:1])).any(axis=0)
        if self.draw is None or not differing.any():
            return scores
        uniform = self.uniform(features, None, None)
        _, place, rows = np.unique(uniform, return_inverse=True, return_counts=True)
        shared = np.flatnonzero(differing & (rows[place.reshape(-1)] >= SHARED))
        if not len(shared):
            return scores
        fallen, chosen = scores.copy(), choose(weights, uniform[shared])
        fallen[..., shared] = scores[chosen, :, shared].T
        return fallen

    def alone(self, member: int) -> tuple[Decider, Array]:
        """The decider of a mixture of this member alone, and the models that it needs."""
        return self.draw or Draw(), np.array([member])

    def voting(self, weights: Array) -> tuple[Array, Decider]:
        """Weights and decider of members that decide as these members' vote does."""
        return weights, Vote()

    def salted(self, salt: int) -> Decider:
        """The same decider with another salt in its hash, and so with other draws."""
        return self

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `read` needs to make it again, as plain JSON and arrays."""
        return {}, {}

    @classmethod
    def read(cls, description: Any, arrays: dict[str, Array], sizes: Sizes) -> Decider:
        """The decider that `describe` described, for what is of these `sizes`; it is checked."""
        if sizes.members != sizes.models:
            raise ValueError(f"it has {sizes.members} weights for {sizes.models} models")
        return cls()

    def member_nodes(self, graph: Graph, scores: str) -> str:
        """What `member_scores` does, (n, B, A) to (n, M, A), as nodes of an ONNX graph."""
        return scores

    @abstractmethod
    def decided_nodes(self, graph: Graph, votes: Votes, weights: Array, choose: str) -> tuple[str, str]:
        """From what the members say to the shares, as `votes` has them, and the decision (n, 1)."""


@dataclass(frozen=True)
class Draw(Decider):
    """One member decides a row, drawn by a hash of it, so that the same row gets the same answer."""

    salt: int = 0  # of the hash; another salt, another draw
    feature_scale: FeatureScale | None = None  # how large features are, to be rounded by
    bare_scores: bool = False  # whether rows are scores, to be hashed to seven digits, and no features

    kind: ClassVar[str] = "draw"

    @property
    def draw(self) -> Draw:
        return self

    def called(self, count: int, each: str = "model") -> str:
        return f"one {each}" if count == 1 else f"a mixture of {count:,} {each}s"

    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        return weights, scores

    def uniform(self, features: Any, key: Any, seed: Any) -> Array:
        rows = length(features, "X")
        if seed is not None:
            return np.random.default_rng(seed).random(rows)
        if key is not None:
            uniform = uniform_from_key(key, self.salt)
            if len(uniform) != rows:
                raise ValueError(f"key has {len(uniform)} ids for {rows} rows")
            return uniform
        if self.bare_scores:
            return uniform_from_scores(features.reshape(rows, max(features[:1].size, 1)), self.salt)
        return uniform_from_features(features, self.salt, self.feature_scale)

    def salted(self, salt: int) -> Draw:
        return replace(self, salt=salt)

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        scale = None if self.feature_scale is None else asdict(self.feature_scale)
        return {"salt": self.salt, "feature_scale": scale, "bare_scores": self.bare_scores}, {}

    @classmethod
    def read(cls, description: Any, arrays: dict[str, Array], sizes: Sizes) -> Draw:
        super().read(description, arrays, sizes)
        salt, scale = description["salt"], description["feature_scale"]
        if type(salt) is not int or not 0 <= salt < 2**64:
            raise ValueError("its salt is not a whole number below 2^64")
        if scale is not None:
            size = (len(scale["center"]),)
            center, spread = (numbers(scale[name], size, name) for name in ("center", "scale"))
            if (spread <= 0).any():
                raise ValueError("the scales of its features are not all above 0")
            scale = FeatureScale(tuple(center.tolist()), tuple(spread.tolist()))
        return cls(salt, scale, flag(description["bare_scores"]))

    def decided_nodes(self, graph: Graph, votes: Votes, weights: Array, choose: str) -> tuple[str, str]:
        chooser = graph.input(choose, CHOOSERS[choose])
        uniform = chooser if choose == "uniform" else hashed_keys(graph, chooser, self.salt)
        member = chosen_member(graph, weights, uniform)
        return votes.shares, graph("GatherElements", votes.decisions, member, axis=1)


@dataclass(frozen=True)
class Vote(Decider):
    """What members with the most weight decide, yes where they are half; nothing is left to chance."""

    kind: ClassVar[str] = "vote"

    def called(self, count: int, each: str = "model") -> str:
        return f"a vote of {count:,} {each}{'s' * (count > 1)}"

    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        return np.ones(1), voted_scores(weights, scores)[None]

    def decided_nodes(self, graph: Graph, votes: Votes, weights: Array, choose: str) -> tuple[str, str]:
        return voted(graph, votes, weights)
