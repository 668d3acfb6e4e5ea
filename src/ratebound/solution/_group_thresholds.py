"""Thresholds by known group: the score from which a mixture says yes to each of them.

A *known group* is a combination of values of the columns that may be looked at when deciding. Each
member of such a mixture has, for every group, one of the models and a threshold on its score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from ratebound.base.types import Array
from ratebound.game.scorer import Graph
from ratebound.problem.frames import length, some
from ratebound.problem.population import Population
from ratebound.rates.subsets import Value, holding
from ratebound.solution._checking import plain, texts
from ratebound.solution._choosing import voted_scores
from ratebound.solution._group_graph import group_nodes
from ratebound.solution.deciders import Decided, Decider, Draw, Vote

FARTHEST = 1e300  # what a score is away from a threshold at infinity, so that it stays a number
DRAW = Draw()


@dataclass(frozen=True, eq=False)
class GroupThresholds(Decider):
    """Which model each member uses for each known group, and the score from which it says yes.

    >>> by_sex = GroupThresholds(
    ...     columns=("sex",),
    ...     groups=(("Female",), ("Male",)),
    ...     model=np.zeros((2, 2), dtype=int),
    ...     at=np.array([[0.398, 0.5], [0.412, 0.5]]),
    ... )
    >>> print(by_sex.rule(weights=np.array([0.25, 0.75])))
    sex == "Female": yes from 0.412 (from 0.398 with probability 0.25)
    sex == "Male": yes from 0.5
    """

    columns: tuple[str, ...]
    groups: tuple[tuple[Value | None, ...], ...]  # (G,) a value of each column, None where it is missing
    model: Array  # (M, G) which of the models
    at: Array  # (M, G) yes where its score is at least this; -inf is always, inf is never
    then: Decider = DRAW  # who decides among the members

    kind: ClassVar[str] = "thresholds by group"

    @property
    def draw(self) -> Draw | None:
        return self.then.draw

    def called(self, count: int, each: str = "set") -> str:
        by = f" by {', '.join(self.columns)}" if self.columns else ""
        return f"{self.then.called(count, each)} of thresholds{by}"

    @property
    def known(self) -> dict[str, tuple[Value | None, ...]]:
        """The values that each column has in some group.

        >>> GroupThresholds(("sex", "old"), (("F", 0), ("M", 0)), *np.ones((2, 1, 2))).known
        {'sex': ('F', 'M'), 'old': (0,)}
        """
        found = list(zip(*self.groups, strict=True)) or [()] * len(self.columns)
        return {n: tuple(dict.fromkeys(values)) for n, values in zip(self.columns, found, strict=True)}

    def rule(self, weights: Array) -> str:
        rules = [self._rule(group, weights) for group in range(len(self.groups))]
        return "\n".join(f"{self.words(group)}: {rule}" for group, rule in enumerate(rules))

    def words(self, group: int) -> str:
        """A group's values, as `parse` reads them."""
        pairs = zip(self.columns, self.groups[group], strict=True)
        return " & ".join(str(holding(name, value)) for name, value in pairs) or "everyone"

    def rows(self, X: Any, columns: Any = None) -> Array:
        """The group of each row (n,), its values looked up in `columns`, then in `X` if that is a table.

        >>> by_sex = GroupThresholds(("sex",), (("F",), ("M",)), *np.ones((2, 1, 2)))
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
        chosen = scores.astype(float, copy=False)[self.model[:, rows], np.arange(len(rows))]
        found: Array = np.clip(chosen - self.at[:, rows], -FARTHEST, FARTHEST)
        return found

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
        """
        if (self.model != self.model[0]).any():
            return weights, replace(self, then=Vote())
        at = -voted_scores(weights, -self.at)[None]
        return np.ones(1), replace(self, model=self.model[:1], at=at)

    def salted(self, salt: int) -> GroupThresholds:
        return replace(self, then=self.then.salted(salt))

    def describe(self) -> tuple[dict[str, Any], dict[str, Array]]:
        groups = [[_plain(value) for value in group] for group in self.groups]
        then = {"kind": self.then.kind, **self.then.describe()[0]}
        arrays = {"model": self.model.astype(np.int64), "at": self.at.astype(np.float64)}
        return {"columns": list(self.columns), "groups": groups, "then": then}, arrays

    @classmethod
    def read(
        cls, description: Any, arrays: dict[str, Array], members: int, models: int
    ) -> GroupThresholds:
        columns = tuple(texts(description["columns"], "known columns"))
        groups = tuple(tuple(map(_plain, group)) for group in description["groups"])
        model, at, shape = arrays["model"], arrays["at"], (members, len(groups))
        if any(len(group) != len(columns) for group in groups) or len(set(groups)) != len(groups):
            raise ValueError("its known groups do not fit their columns")
        if not groups or model.shape != shape or at.shape != shape or np.isnan(at).any():
            raise ValueError("its thresholds do not fit its known groups")
        if model.dtype.kind != "i" or at.dtype.kind != "f" or model.min() < 0 or model.max() >= models:
            raise ValueError("its known groups refer to models it does not have")
        kinds: dict[str, type[Draw] | type[Vote]] = {Draw.kind: Draw, Vote.kind: Vote}
        then = kinds[description["then"]["kind"]].read(description["then"], {}, members, members)
        return cls(columns, groups, model, at, then)

    def member_nodes(self, graph: Graph, scores: str) -> str:
        wide = graph.cast(scores, "float64")
        if not self.columns:
            return graph("Sub", graph("Gather", wide, self.model[:, 0], axis=1), self.at[:, 0])
        group = group_nodes(graph, self.columns, self.groups)
        # The last line is for people of no known group: no number, and so a no.
        model = np.vstack([self.model.T, np.zeros((1, len(self.model)), self.model.dtype)])
        at = np.vstack([self.at.T, np.full((1, len(self.at)), np.nan)])
        chosen = graph("GatherElements", wide, graph("Gather", model, group), axis=1)
        return graph("Sub", chosen, graph("Gather", at, group))

    def decided_nodes(self, graph: Graph, yes: str, share: str, weights: Array, choose: str) -> Decided:
        return self.then.decided_nodes(graph, yes, share, weights, choose)

    def _rule(self, group: int, members: Array) -> str:
        """What is done with a group; the model is named where there are several."""
        models, parts = self.model[:, group], []
        for model in dict.fromkeys(models.tolist()):
            at, weights = self.at[models == model, group], members[models == model]
            share = float(weights.sum() / members.sum())
            chance = "" if share > 1 - 1e-9 else f" (with probability {share:.4g})"
            by = f"by model {model}{chance}, " if self.model.any() else ""
            parts.append(by + _rule_of_one(at, weights / weights.sum()))
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
