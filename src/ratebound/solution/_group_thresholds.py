"""Thresholds by known group: the score from which a mixture says yes to each of them.

A *known group* is a combination of values of the columns that may be looked at when deciding. Each
member of such a mixture has, for every group, one of the models and a threshold on its score; with more
than two classes it has an offset for each, and decides the class whose score exceeds its offset most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.problem.deciding import score_count
from ratebound.problem.frames import length, some
from ratebound.problem.population import Population
from ratebound.rates.subsets import Value, holding, plain_value, value_text
from ratebound.solution._checking import plain, texts
from ratebound.solution._choosing import weighted_median
from ratebound.solution._deciding_graph import Votes, group_nodes
from ratebound.solution.deciders import Decider, Draw, Sizes, Vote

FARTHEST = 1e300  # what a score is away from a threshold at infinity, so that it stays a number
DRAW = Draw()


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
    groups: tuple[tuple[Value | None, ...], ...]  # (G,) a value of each column, None where it is missing
    model: Array  # (M, G) which of the models
    at: Array  # (M, G, A) yes from this score on, -inf for always and inf for never; or each offset
    then: Decider = DRAW  # who decides among the members

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
        found = list(zip(*self.groups, strict=True)) or [()] * len(self.columns)
        return {n: tuple(dict.fromkeys(values)) for n, values in zip(self.columns, found, strict=True)}

    def rule(self, weights: Array, classes: Sequence[Any] = (False, True)) -> str:
        rules = [self._rule(group, weights, classes) for group in range(len(self.groups))]
        return "\n".join(f"{self.words(group)}: {rule}" for group, rule in enumerate(rules))

    def words(self, group: int) -> str:
        """A group's values, as `parse` reads them."""
        pairs = zip(self.columns, self.groups[group], strict=True)
        return " & ".join(str(holding(name, value)) for name, value in pairs) or "everyone"

    def rows(self, X: Any, columns: Any = None) -> Array:
        """The group of each row (n,), its values looked up in `columns`, then in `X` if that is a table.

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
        found = np.fromiter(map(number.get, zip(*values, strict=True), repeat(-1)), int, len(people))
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            raise ValueError(self._unknown(int(unknown[0]), [column[unknown[0]] for column in values]))
        return found

    def member_scores(self, scores: Array, X: Any, columns: Any) -> Array:
        rows = self.rows(X, columns)
        chosen = scores.astype(float, copy=False)[self.model[:, rows], :, np.arange(len(rows))]
        relative: Array = np.clip(chosen - self.at[:, rows], -FARTHEST, FARTHEST)  # (M, n, A)
        return relative.swapaxes(1, 2)

    def choices(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        return self.then.choices(weights, scores)

    def uniform(self, features: Any, key: Any, seed: Any) -> Array:
        return self.then.uniform(features, key, seed)

    def alone(self, member: int) -> tuple[GroupThresholds, Array]:
        used = list(dict.fromkeys(self.model[member].tolist()))  # the first group's first
        model = np.array([[used.index(model) for model in self.model[member]]])
        then, _ = self.then.alone(member)
        return replace(self, model=model, at=self.at[[member]], then=then), np.array(used)

    def voting(self, weights: Array) -> tuple[Array, GroupThresholds]:
        """The vote; where members share their models, it is one member with thresholds again.

        It says yes from the lowest threshold that members with half of the weight or more do not exceed.
        Of offsets for each of more than two classes there is no such member.
        """
        if self.at.shape[2] > 1 or (self.model != self.model[0]).any():
            return weights, replace(self, then=Vote())
        at = -weighted_median(weights, -self.at)[None]
        return np.ones(1), replace(self, model=self.model[:1], at=at)

    def salted(self, salt: int) -> GroupThresholds:
        return replace(self, then=self.then.salted(salt))

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        groups = [[_plain(value) for value in group] for group in self.groups]
        then = {"kind": self.then.kind, **self.then.describe()[0]}
        arrays = {"model": self.model.astype(np.int64), "at": self.at.astype(np.float64)}
        return {"columns": list(self.columns), "groups": groups, "then": then}, arrays

    @classmethod
    def read(cls, description: Any, arrays: dict[str, Array], sizes: Sizes) -> GroupThresholds:
        columns = tuple(texts(description["columns"], "known columns"))
        groups = tuple(tuple(map(_plain, group)) for group in description["groups"])
        model, at, shape = arrays["model"], arrays["at"], (sizes.members, len(groups))
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
        own = replace(sizes, models=sizes.members)
        then = kinds[description["then"]["kind"]].read(description["then"], {}, own)
        return cls(columns, groups, model, at, then)

    def member_nodes(self, graph: Graph, scores: str) -> str:
        wide = graph.cast(scores, "float64")
        if not self.columns:
            return graph("Sub", graph("Gather", wide, self.model[:, 0], axis=1), self.at[:, 0])
        group = group_nodes(graph, self.columns, self.groups)
        # The last line is for people of no known group: no number, and so a no.
        at = np.concatenate(
            [self.at.swapaxes(0, 1), np.full_like(self.at[:, :1], np.nan).swapaxes(0, 1)]
        )
        model = np.zeros(at.shape, self.model.dtype)
        model[:-1] = self.model.T[:, :, None]
        chosen = graph("GatherElements", wide, graph("Gather", model, group), axis=1)
        return graph("Sub", chosen, graph("Gather", at, group))

    def decided_nodes(self, graph: Graph, votes: Votes, weights: Array, choose: str) -> tuple[str, str]:
        return self.then.decided_nodes(graph, votes, weights, choose)

    def _rule(self, group: int, members: Array, classes: Sequence[Any]) -> str:
        """What is done with a group; the model is named where there are several."""
        models, parts = self.model[:, group], []
        for model in dict.fromkeys(models.tolist()):
            at, weights = self.at[models == model, group], members[models == model]
            share = float(weights.sum() / members.sum())
            chance = "" if share > 1 - 1e-9 else f" (with probability {share:.4g})"
            by = f"by model {model}{chance}, " if self.model.any() else ""
            shares = weights / weights.sum()
            one = at.shape[1] == 1
            words = _rule_of_one(at[:, 0], shares) if one else _rule_of_offsets(at, shares, classes)
            parts.append(by + words)
        return "; ".join(parts)

    def _unknown(self, row: int, values: list[Any]) -> str:
        for (name, known), value in zip(self.known.items(), values, strict=True):
            if value not in known:
                held = "no value" if value is None else repr(value)
                what = f"column {name!r} holds {held}, and the policy knows {some(list(known))}"
                break
        else:
            pairs = zip(self.columns, values, strict=True)
            what = "no row had " + " and ".join(str(holding(name, value)) for name, value in pairs)
            what += " together when the policy was made"
        return (
            f"row {row}: {what}: make it from rows that include such people, or give them a "
            "value it knows"
        )


def _plain(value: Any) -> Any:
    """A value of a known column as files have it, where a missing one is null."""
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
    found, which = np.unique(at, axis=0, return_inverse=True)
    shares = np.bincount(which.reshape(-1), weights)
    names, said = [value_text(plain_value(each)) for each in classes], []
    for offsets in found:
        open_to = [each for each in zip(names, offsets.tolist(), strict=True) if each[1] < np.inf]
        terms = ", ".join(f"score({name}){_added(-by)}" for name, by in open_to)
        said.append(f"of {terms}" if len(open_to) > 1 else f"always {open_to[0][0]}")
    first, *others = np.argsort(-shares, kind="stable").tolist()
    words = said[first] if said[first].startswith("always") else f"the largest {said[first]}"
    chances = [f"with probability {shares[each]:.4g} {said[each]}" for each in others]
    return words + (f" ({'; '.join(chances)})" if chances else "")


def _added(number: float) -> str:
    """A number behind what it is added to; nothing for 0."""
    return "" if number == 0 else f" {'+' if number > 0 else '-'} {abs(number):.6g}"
