"""How members' scores become one decision: one member is drawn, or all of them vote.

Every decider leaves a few *choices*: rows of scores, each with the probability that it decides. A draw
has one choice for each member, and a vote has one choice. The third decider sets thresholds by known
group, and leaves the rest to a draw or a vote. A *known group* is a combination of values of the columns
that may be looked at when deciding.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from ratebound._old.base.types import Array
from ratebound._old.game.scorer import Graph
from ratebound._old.problem.deciding import decided, score_count
from ratebound._old.problem.frames import length, some
from ratebound._old.problem.population import Population
from ratebound._old.problem.summaries import FeatureScale
from ratebound._old.rates.subsets import Value, holding, plain_value, value_text
from ratebound._old.solution._checking import flag, numbers, plain, texts
from ratebound._old.solution._choosing import (
    choose,
    uniform_from_features,
    uniform_from_key,
    uniform_from_scores,
    voted_scores,
)
from ratebound._old.solution._deciding_graph import Votes, chosen_member, group_nodes, hashed_keys, voted

SHARED = 16  # if so many rows have the same features, their one draw is not taken for its expectation
FARTHEST = 1e300  # how far a score is from a threshold at infinity, so that the distance stays finite
CHOOSERS = {"key": "int64", "uniform": "float64"}  # inputs of an ONNX graph that draws


@dataclass(frozen=True)
class Sizes:
    """How many members, models and classes there are."""

    members: int
    models: int
    classes: int


class Decider(ABC):
    """From the scores of models to decisions; by default a member is a model and uses no columns."""

    kind: ClassVar[str]  # its name in files

    @property
    def draw(self) -> Draw | None:
        """The draw of the member that decides a row, if one member does."""
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
        """The name of `count` members with this decider, for the head of a report."""

    def rule(self, weights: Array, classes: Sequence[Any] = (False, True)) -> str:
        """What is decided, in words that a person can check; `weights` (M,) are the members'."""
        how = f"; {self.how}" if len(weights) > 1 else ""
        return f"{self.called(len(weights))}{how} decides each row"

    def member_scores(self, scores: Array, X: Any, columns: Any) -> Array:
        """Scores (M, A, n) of the members, from the models' scores (B, A, n)."""
        return scores

    def models(self, members: Array, X: Any, columns: Any) -> Array:
        """The model (n,) by which these members (n,) decide each row."""
        return members

    @abstractmethod
    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        """Probabilities (H,) and scores (H, A, n) of the choices, from the members."""

    def uniform(self, features: Any, key: Any, seed: Any) -> Array:
        """The number in [0, 1) that picks each row's choice, (n,); any number if there is one choice."""
        return np.zeros(length(features, "X"))

    def as_they_fall(self, weights: Array, scores: Array, features: Any) -> Array:
        """The choices' scores; rows with widely shared features get the score that decides them.

        Separate draws for many rows average to their expectation. One draw for all rows with the same
        features does not, neither on these rows nor on new ones. So if `SHARED` rows or more have the
        same number, they are counted as they are decided.
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

    def salted(self, salt: int) -> Decider:
        """The same decider with another salt in its hash, and so with other draws."""
        return self

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `read` needs to restore it, as plain JSON and arrays."""
        return {}, {}

    @classmethod
    def read(cls, description: Any, arrays: dict[str, Array], sizes: Sizes) -> Decider:
        """The decider that `describe` described, checked; `sizes` are what it is for."""
        if sizes.members != sizes.models:
            raise ValueError(f"it has {sizes.members} weights for {sizes.models} models")
        return cls()

    def member_nodes(self, graph: Graph, scores: str) -> str:
        """What `member_scores` does, (n, B, A) to (n, M, A), as nodes of an ONNX graph."""
        return scores

    @abstractmethod
    def decided_nodes(self, graph: Graph, votes: Votes, weights: Array, choose: str) -> tuple[str, str]:
        """From the members' votes to the shares, as in `votes`, and the decision (n, 1)."""


@dataclass(frozen=True)
class Draw(Decider):
    """One member decides a row, drawn by a hash of it, so that the same row gets the same answer."""

    salt: int = 0  # of the hash; another salt gives another draw
    feature_scale: FeatureScale | None = None  # how large features are, to be rounded by
    bare_scores: bool = False  # whether rows are scores, hashed to seven digits, rather than features

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
    """The decision of the members with the most weight, yes at a tie; nothing is left to chance."""

    kind: ClassVar[str] = "vote"

    def called(self, count: int, each: str = "model") -> str:
        return f"a vote of {count:,} {each}{'s' * (count > 1)}"

    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        return np.ones(1), voted_scores(weights, scores)[None]

    def decided_nodes(self, graph: Graph, votes: Votes, weights: Array, choose: str) -> tuple[str, str]:
        return voted(graph, votes, weights)


@dataclass(frozen=True, eq=False)
class GroupThresholds(Decider):
    """Which model each member uses for each known group, and the score from which it says yes.

    >>> by_sex = GroupThresholds(
    ...     columns=("sex",),
    ...     groups=(("Female",), ("Male",)),
    ...     model=np.zeros((2, 2), dtype=int),
    ...     at=np.array([[[0.398], [0.5]], [[0.412], [0.5]]]),
    ... )
    >>> print(by_sex.rule(weights=np.array([0.25, 0.75])))
    sex == "Female": yes from 0.412 (from 0.398 with probability 0.25)
    sex == "Male": yes from 0.5
    """

    columns: tuple[str, ...]
    groups: tuple[tuple[Value | None, ...], ...]  # (G,) a value of each column, None if missing
    model: Array  # (M, G) which of the models; one more may be for rows of no known group
    at: Array  # (M, G, A) yes from this score on, -inf for always and inf for never; or each offset
    then: Decider = field(default_factory=Draw)  # who decides among the members
    largest: int = 0  # as which group rows of no known one are decided: the one with most, or G

    kind: ClassVar[str] = "thresholds by group"

    @property
    def draw(self) -> Draw | None:
        return self.then.draw

    def called(self, count: int, each: str = "set") -> str:
        by = f" by {', '.join(self.columns)}" if self.columns else ""
        what = "thresholds" if self.at.shape[2] == 1 else "offsets"
        return f"{self.then.called(count, each)} of {what}{by}"

    @property
    def known(self) -> dict[str, tuple[Value | None, ...]]:
        """The values that each column has in some group.

        >>> model, at = np.zeros((1, 2), dtype=int), np.zeros((1, 2, 1))
        >>> GroupThresholds(("sex", "old"), (("F", 0), ("M", 0)), model, at).known
        {'sex': ('F', 'M'), 'old': (0,)}
        """
        per_column = list(zip(*self.groups, strict=True)) or [()] * len(self.columns)
        return {
            n: tuple(dict.fromkeys(values)) for n, values in zip(self.columns, per_column, strict=True)
        }

    def rule(self, weights: Array, classes: Sequence[Any] = (False, True)) -> str:
        rules = [self._rule(group, weights, classes) for group in range(len(self.groups))]
        return "\n".join(f"{self.words(group)}: {rule}" for group, rule in enumerate(rules))

    def words(self, group: int) -> str:
        """A group's values, as `parse` reads them."""
        pairs = zip(self.columns, self.groups[group], strict=True)
        return " & ".join(str(holding(name, value)) for name, value in pairs) or "everyone"

    def rows(self, X: Any, columns: Any = None) -> Array:
        """The group of each row (n,), its values looked up in `columns`, then in `X` if that is a table.

        A row with a value or a combination of values that training did not have is decided as the
        largest group is, and a warning says so: one such row must not stop the others.

        >>> model, at = np.zeros((1, 2), dtype=int), np.zeros((1, 2, 1))
        >>> by_sex = GroupThresholds(("sex",), (("F",), ("M",)), model, at)
        >>> by_sex.rows([0.3, 0.2], {"sex": ["M", "F"]})
        array([1, 0])
        """
        if not self.columns or not length(X, "X"):
            return np.zeros(length(X, "X"), dtype=int)
        try:
            people = Population(X, columns=columns)
            values = [people.plain_column(name) for name in self.columns]
        except ValueError as error:
            raise ValueError(
                f"this policy decides by {', '.join(self.columns)}, to be passed as columns=, or as "
                f"columns of a DataFrame X: {error}"
            ) from None
        number = {group: index for index, group in enumerate(self.groups)}
        number_of_row = np.fromiter(
            map(number.get, zip(*values, strict=True), repeat(-1)), int, len(people)
        )
        unknown = np.flatnonzero(number_of_row < 0)
        if len(unknown):
            first = int(unknown[0])
            why = self._unknown(first, [column[first] for column in values])
            more = f", and {len(unknown) - 1:,} more rows alike" if len(unknown) > 1 else ""
            how = "decided by their features alone"
            if self.largest < len(self.groups):
                how = f"decided as the largest group of training, {self.words(self.largest)}"
            warnings.warn(
                f"{why}{more}: {how}",
                UserWarning,
                stacklevel=2,
            )
            number_of_row[unknown] = self.largest
        return number_of_row

    def member_scores(self, scores: Array, X: Any, columns: Any) -> Array:
        rows = self.rows(X, columns)
        chosen = scores.astype(float, copy=False)[self.model[:, rows], :, np.arange(len(rows))]
        relative: Array = np.clip(chosen - self.at[:, rows], -FARTHEST, FARTHEST)  # (M, n, A)
        return relative.swapaxes(1, 2)

    def models(self, members: Array, X: Any, columns: Any) -> Array:
        return np.asarray(self.model[members, self.rows(X, columns)])

    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        return self.then.choices(weights, scores)

    def uniform(self, features: Any, key: Any, seed: Any) -> Array:
        return self.then.uniform(features, key, seed)

    def alone(self, member: int) -> tuple[GroupThresholds, Array]:
        used = list(dict.fromkeys(self.model[member].tolist()))  # the first group's first
        model = np.array([[used.index(model) for model in self.model[member]]])
        then, _ = self.then.alone(member)
        return replace(self, model=model, at=self.at[[member]], then=then), np.array(used)

    def salted(self, salt: int) -> GroupThresholds:
        return replace(self, then=self.then.salted(salt))

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        groups = [[_plain(value) for value in group] for group in self.groups]
        then = {"kind": self.then.kind, **self.then.describe()[0]}
        arrays = {"model": self.model.astype(np.int64), "at": self.at.astype(np.float64)}
        description = {
            "columns": list(self.columns),
            "groups": groups,
            "then": then,
            "largest": self.largest,
        }
        return description, arrays

    @classmethod
    def read(cls, description: Any, arrays: dict[str, Array], sizes: Sizes) -> GroupThresholds:
        columns = tuple(texts(description["columns"], "known columns"))
        groups = tuple(tuple(map(_plain, group)) for group in description["groups"])
        model, at, largest = arrays["model"], arrays["at"], description["largest"]
        if type(largest) is not int or not 0 <= largest <= len(groups):
            raise ValueError("its largest known group is not one of them")
        shape = (sizes.members, max(len(groups), largest + 1))
        if any(len(group) != len(columns) for group in groups) or len(set(groups)) != len(groups):
            raise ValueError("its known groups do not fit their columns")
        each = (*shape, score_count(sizes.classes))
        if not groups or model.shape != shape or at.size != math.prod(each) or np.isnan(at).any():
            raise ValueError("its thresholds do not fit its known groups")
        at = at.reshape(each)
        if at.shape[2] > 1 and not (np.isfinite(at).any(axis=2).all() and (at > -np.inf).all()):
            raise ValueError("its offsets leave no class to decide")
        is_sound = model.dtype.kind == "i" and at.dtype.kind == "f"
        if not is_sound or model.min() < 0 or model.max() >= sizes.models:
            raise ValueError("its known groups refer to models it does not have")
        kinds: dict[str, type[Draw] | type[Vote]] = {Draw.kind: Draw, Vote.kind: Vote}
        member_sizes = replace(sizes, models=sizes.members)
        then = kinds[description["then"]["kind"]].read(description["then"], {}, member_sizes)
        return cls(columns, groups, model, at, then, largest)

    def member_nodes(self, graph: Graph, scores: str) -> str:
        wide = graph.cast(scores, "float64")
        if not self.columns:
            return graph("Sub", graph("Gather", wide, self.model[:, 0], axis=1), self.at[:, 0])
        group = group_nodes(graph, self.columns, self.groups)
        # The last line is for rows of no known group, which are decided as the largest group is.
        lines = [*range(len(self.groups)), self.largest]
        at = self.at.swapaxes(0, 1)[lines]
        model = np.broadcast_to(self.model.T[lines][:, :, None], at.shape)
        chosen = graph("GatherElements", wide, graph("Gather", model, group), axis=1)
        return graph("Sub", chosen, graph("Gather", at, group))

    def decided_nodes(self, graph: Graph, votes: Votes, weights: Array, choose: str) -> tuple[str, str]:
        return self.then.decided_nodes(graph, votes, weights, choose)

    def _rule(self, group: int, members: Array, classes: Sequence[Any]) -> str:
        """How a group is decided; the model is named if there are several."""
        models, parts = self.model[:, group], []
        for model in dict.fromkeys(models.tolist()):
            at, weights = self.at[models == model, group], members[models == model]
            share = float(weights.sum() / members.sum())
            chance = "" if share > 1 - 1e-9 else f" (with probability {share:.4g})"
            by = f"by model {model + 1}{chance}, " if self.model.any() else ""
            shares = weights / weights.sum()
            one = at.shape[1] == 1
            words = _rule_of_one(at[:, 0], shares) if one else _rule_of_offsets(at, shares, classes)
            parts.append(by + words)
        return "; ".join(parts)

    def _unknown(self, row: int, values: list[Any]) -> str:
        for (name, known), value in zip(self.known.items(), values, strict=True):
            if value not in known:
                shown = "no value" if value is None else repr(value)
                what = f"column {name!r} holds {shown}, and the policy knows {some(list(known))}"
                break
        else:
            pairs = zip(self.columns, values, strict=True)
            what = "no row had " + " and ".join(str(holding(name, value)) for name, value in pairs)
            what += " together when the policy was made"
        return f"row {row}: {what}"


def _plain(value: Any) -> Any:
    """A value of a known column as it is in files; a missing value is null."""
    return None if value is None else plain(value)


def _rule_of_one(at: Array, weights: Array) -> str:
    """The rule of one model with thresholds `at` (k,), each used with its weight (k,).

    >>> _rule_of_one(np.array([-np.inf, 0.2, 0.5]), np.array([0.1, 0.3, 0.6]))
    'yes from 0.5 (from 0.2 with probability 0.4, elsewhere with probability 0.1)'
    """
    *lower, highest = np.unique(at).tolist()
    if not lower and np.isinf(highest):
        return "always no" if highest > 0 else "always yes"
    chances = []
    for level in reversed(lower):
        where = (
            f"from {level:.6g} "
            if level > -np.inf
            else "elsewhere " * (len(lower) > 1 or highest < np.inf)
        )
        chances.append(f"{where}with probability {weights[at <= level].sum():.4g}")
    if highest == np.inf:
        return f"yes {', '.join(chances)}"
    return f"yes from {highest:.6g}" + (f" ({', '.join(chances)})" if chances else "")


def _rule_of_offsets(at: Array, weights: Array, classes: Sequence[Any]) -> str:
    """The rule of one model with offsets `at` (k, D), each used with its weight (k,).

    >>> offsets = np.array([[0.0, 0.25, np.inf], [0.0, -0.5, 1.0]])
    >>> print(_rule_of_offsets(offsets, np.array([0.25, 0.75]), ["cat", "dog", "cow"]))
    the largest of score("cat"), score("dog") + 0.5, score("cow") - 1
    (with probability 0.25 of score("cat"), score("dog") - 0.25)
    >>> print(_rule_of_offsets(np.array([[np.inf, 0.0, np.inf]]), np.ones(1), ["cat", "dog", "cow"]))
    always "dog"
    """
    distinct, which = np.unique(at, axis=0, return_inverse=True)
    shares = np.bincount(which.reshape(-1), weights)
    names, rules = [value_text(plain_value(each)) for each in classes], []
    for offsets in distinct:
        open_to = [each for each in zip(names, offsets.tolist(), strict=True) if each[1] < np.inf]
        terms = ", ".join(f"score({name}){_added(-by)}" for name, by in open_to)
        rules.append(f"of {terms}" if len(open_to) > 1 else f"always {open_to[0][0]}")
    first, *others = np.argsort(-shares, kind="stable").tolist()
    words = rules[first] if rules[first].startswith("always") else f"the largest {rules[first]}"
    chances = [f"with probability {shares[each]:.4g} {rules[each]}" for each in others]
    return words + (f" ({'; '.join(chances)})" if chances else "")


def _added(number: float) -> str:
    """A number with its sign, to follow what it is added to; nothing for 0."""
    return "" if number == 0 else f" {'+' if number > 0 else '-'} {abs(number):.6g}"
