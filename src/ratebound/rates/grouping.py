"""Between whom a goal holds: subsets, and columns of which every value is a group.

A definition holds no data, so a goal that names a column waits for its rows; see `Goal`.
"""

from __future__ import annotations

import keyword
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ratebound.rates.expressions import Constraint
from ratebound.rates.kinds import KINDS
from ratebound.rates.rate import FIRST, Rate
from ratebound.rates.subsets import EVERYONE, Column, In, Subset, Value, column_text, value_text, where

GOALS: dict[str, Callable[..., list[Any]]] = {}  # every goal by its name, as text finds it
BUILT_IN: set[str] = set()  # the names that stay ours, once all of them are defined
SOME_VALUES = defaultdict[str, tuple[Value, ...]](lambda: ("a", "b"))  # of columns not seen yet
Named = str | Subset | Mapping[str, Any]
Groups = Named | Iterable[Named]


def check_new(name: Any, like: Mapping[str, Any]) -> None:
    """Raise unless `name` may enter the table `like`; users may define again what is their own.

    >>> check_new("recall", GOALS)
    Traceback (most recent call last):
    ValueError: there is a rate called 'recall' already: choose another name
    """
    plain = isinstance(name, str) and name.isidentifier() and name.isascii()
    if not plain or keyword.iskeyword(name) or name == "column":
        raise ValueError(
            f"a rate or goal is called by a plain word such as false_discovery_rate, got {name!r}"
        )
    for what, table in (("rate", KINDS), ("goal", GOALS)):
        if name in table and (name in BUILT_IN or table is not like):
            raise ValueError(f"there is a {what} called {name!r} already: choose another name")


def groups_said(groups: Groups | None) -> list[str | Subset]:
    """What `groups` names: subsets, and columns whose values are not known before there are rows.

    >>> groups_said({"sex": ("Female", "Male"), "race": "Black"})
    [sex == "Female", sex == "Male", race == "Black"]
    >>> groups_said(["race", where(sex="Female")])
    ['race', sex == "Female"]
    """
    if groups is None:
        return [EVERYONE]
    if isinstance(groups, str | Subset):
        groups = [groups]
    if not isinstance(groups, Iterable):
        raise TypeError(f"groups takes subsets, or columns with or without their values, got {groups!r}")
    found: list[str | Subset] = []
    if isinstance(groups, Mapping):
        for name, values in groups.items():
            if isinstance(values, Subset):
                found.append(values)
            elif isinstance(values, Iterable) and not isinstance(values, str):
                found += [where(**{name: value}) for value in values]
            else:
                found.append(where(**{name: values}))
    else:
        found = [where(**each) if isinstance(each, Mapping) else each for each in groups]
    if not found:
        raise ValueError("groups is empty: name at least one group, as in {'sex': ('Female', 'Male')}")
    for each in found:
        if not isinstance(each, Subset):
            Column(each)  # which refuses what is no name
    return found


def as_groups(groups: Groups | None) -> list[Subset]:
    """The groups as the function of a goal is given them: no column without its values is left."""
    return [each for each in groups_said(groups) if isinstance(each, Subset)]


@dataclass(frozen=True, repr=False)
class Goal:
    """A goal as it was written; where groups are values of a column, it is spelled out on rows.

    A column with missing values is refused, as everywhere: give them a value of their own first.

    >>> from ratebound import equal_opportunity
    >>> equal_opportunity("sex", ratio=0.95)
    [equal_opportunity(sex, ratio=0.95)]
    """

    name: str
    groups: tuple[str | Subset, ...]  # a text is a column, each of whose values is a group
    options: tuple[tuple[str, Value], ...]

    def __post_init__(self) -> None:
        groups = tuple(_one_condition(g) if isinstance(g, In) else g for g in self.groups)
        object.__setattr__(self, "groups", groups)
        if EVERYONE in groups:
            raise ValueError(f"{self.name}: everyone is no group beside others, leave them out")
        self.constraints(SOME_VALUES)  # which objects to wrong options

    @property
    def columns(self) -> list[str]:
        """The columns whose values are groups."""
        return [group for group in self.groups if isinstance(group, str)]

    @property
    def on(self) -> str | None:
        """The population that it names."""
        named = dict(self.options).get("on")
        return None if named is None else str(named)

    @property
    def population(self) -> str:
        """The population whose values they are, by name."""
        return self.on or FIRST

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The rates it speaks of, as of everyone."""
        found = self.constraints(SOME_VALUES)
        return tuple(dict.fromkeys(replace(r, subset=EVERYONE) for c in found for r in c.rates))

    def constraints(self, values: Mapping[str, Sequence[Value]]) -> list[Constraint]:
        """What it stands for, given the values of its columns.

        >>> from ratebound import minimum_recall
        >>> goal, = minimum_recall("sex", at_least=0.9)
        >>> goal.constraints({"sex": ["Female", "Male"]})
        [recall(sex == "Female") >= 0.9, recall(sex == "Male") >= 0.9]
        """
        if self.name not in GOALS:
            raise ValueError(
                f"{self.name} is not defined in this process: import the module that defines it "
                "by rb.goal here too"
            )
        groups: list[Subset] = []
        for group in self.groups:
            if isinstance(group, str):
                groups += [Column(group) == value for value in values[group]]
            else:
                groups.append(group)
        return GOALS[self.name](*([groups] if groups else []), **dict(self.options))

    def __str__(self) -> str:
        options = [f"{name}={value_text(value)}" for name, value in self.options]
        return f"{self.name}({', '.join([*map(_text, self.groups), *options])})"

    def __repr__(self) -> str:
        return str(self)


Promise = Constraint | Goal


def _text(group: str | Subset) -> str:
    return column_text(group) if isinstance(group, str) else str(group)


def _one_condition(group: In) -> Subset:
    """The same rows without ``in``, which in the text of a goal means a group for each value."""
    return reduce(operator.or_, [Column(group.column) == value for value in group.values])
