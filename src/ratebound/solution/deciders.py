"""How members' scores become one decision: one member is drawn, or all of them vote.

Whatever a decider does, it leaves a few *choices*: rows of scores, each with the probability it decides
with. A draw has a choice for every member, a vote one choice in all. Thresholds by known group, the
third decider, stand in `group_thresholds`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.problem.feature_scale import FeatureScale
from ratebound.problem.frames import length
from ratebound.rates.subsets import Value
from ratebound.solution._checking import flag, numbers
from ratebound.solution._choosing import (
    HALF,
    uniform_from_features,
    uniform_from_key,
    uniform_from_scores,
    voted_scores,
)
from ratebound.solution._drawing_graph import chosen_member, hashed_keys

Decided = tuple[str, str]  # probability of yes, decision: (n, 1)
CHOOSERS = {"key": "int64", "uniform": "float64"}  # inputs of an ONNX graph that draws


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

    def rule(self, weights: Array) -> str:
        """What is decided, in words that a person can check; `weights` (M,) are the members'."""
        return f"{self.called(len(weights))}; {self.how} decides each row"

    def member_scores(self, scores: Array, X: Any, columns: Any) -> Array:
        """Scores (M, n) of the members, from those of the models (B, n)."""
        return scores

    @abstractmethod
    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        """Probabilities (H,) and scores (H, n) of what may decide, from the members' (M,) and (M, n)."""

    def uniform(self, features: Any, key: Any, seed: Any) -> Array:
        """The number in [0, 1) that picks each row's choice, (n,); any, where there is only one."""
        return np.zeros(length(features, "X"))

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
    def read(cls, description: Any, arrays: dict[str, Array], members: int, models: int) -> Decider:
        """The decider that `describe` described, for so many members and models; it is checked."""
        if members != models:
            raise ValueError(f"it has {members} weights for {models} models")
        return cls()

    def member_nodes(self, graph: Graph, scores: str) -> str:
        """What `member_scores` does, (n, B) to (n, M), as nodes of an ONNX graph."""
        return scores

    @abstractmethod
    def decided_nodes(self, graph: Graph, yes: str, share: str, weights: Array, choose: str) -> Decided:
        """From the members' yeses (n, M) and the share that says yes (n, 1) to what is decided."""


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
            return uniform_from_scores(features[:, None] if features.ndim == 1 else features, self.salt)
        return uniform_from_features(features, self.salt, self.feature_scale)

    def salted(self, salt: int) -> Draw:
        return replace(self, salt=salt)

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        scale = None if self.feature_scale is None else asdict(self.feature_scale)
        return {"salt": self.salt, "feature_scale": scale, "bare_scores": self.bare_scores}, {}

    @classmethod
    def read(cls, description: Any, arrays: dict[str, Array], members: int, models: int) -> Draw:
        super().read(description, arrays, members, models)
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

    def decided_nodes(self, graph: Graph, yes: str, share: str, weights: Array, choose: str) -> Decided:
        chooser = graph.input(choose, CHOOSERS[choose])
        uniform = chooser if choose == "uniform" else hashed_keys(graph, chooser, self.salt)
        member = chosen_member(graph, weights, uniform)
        decided = graph("GatherElements", graph.cast(yes, "int64"), member, axis=1)
        return share, decided


@dataclass(frozen=True)
class Vote(Decider):
    """Yes where members with at least half of the weight say yes; nothing is left to chance."""

    kind: ClassVar[str] = "vote"

    def called(self, count: int, each: str = "model") -> str:
        return f"a vote of {count:,} {each}{'s' * (count > 1)}"

    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        return np.ones(1), voted_scores(weights, scores)[None]

    def decided_nodes(self, graph: Graph, yes: str, share: str, weights: Array, choose: str) -> Decided:
        decided = graph("GreaterOrEqual", share, np.array([HALF * weights.sum()]))
        return decided, graph.cast(decided, "int64")
