"""The groups of a goal: subsets, and columns each of whose values is a group.

A definition holds no data, so a goal that names a column is spelled out once there are rows; see `Goal`.
A goal that names no class is about the positive one of two classes. With more than two, it is about
every class in turn.
"""

from __future__ import annotations

import inspect
import keyword
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ratebound._old.base.checks import check_whole
from ratebound._old.rates.expressions import FIRST, Constraint, Expression, Metric, Rate, Ratio
from ratebound._old.rates.kinds import KINDS, label_classes
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import (
    EVERYONE,
    Column,
    In,
    Name,
    Subset,
    Value,
    column_text,
    holding,
    value_text,
    where,
)

RESERVED = (
    "abs",
    "column",
    "missing",
    "smallest",
    "largest",
)  # words of the language that no table holds
GOALS: dict[str, Callable[..., list[Any]]] = {}  # every goal by its name, where text looks it up
BUILT_IN: set[str] = set()  # the names of built-in rates and goals, which users cannot redefine
Named = Name | Column | Subset | Mapping[str, Any]
Groups = Named | Iterable[Named]
# The combinations of values of each set of columns; None is a missing value.
Values = Mapping[tuple[Name, ...], Sequence[tuple[Value | None, ...]]]


class _SomeValues(dict[tuple[Name, ...], Sequence[tuple[Value | None, ...]]]):
    """Made-up values for columns without rows."""

    def __missing__(self, names: tuple[Name, ...]) -> Sequence[tuple[Value, ...]]:
        return [("a",) * len(names), ("b",) * len(names)]


SOME_VALUES = _SomeValues()


def check_new(name: Any, like: Mapping[str, Any]) -> None:
    """Raise unless `name` may enter the table `like`; users may redefine their own names.

    >>> check_new("recall", GOALS)
    Traceback (most recent call last):
    ValueError: there is a rate called 'recall' already: choose another name
    """
    plain = isinstance(name, str) and name.isidentifier() and name.isascii()
    if not plain or keyword.iskeyword(name) or name in RESERVED:
        raise ValueError(
            f"the name of a rate or goal is a plain word such as share_of_loans, got {name!r}"
        )
    for what, table in (("rate", KINDS), ("goal", GOALS)):
        if name in table and (name in BUILT_IN or table is not like):
            raise ValueError(f"there is a {what} called {name!r} already: choose another name")


def groups_said(groups: Groups | None) -> list[Name | Subset]:
    """The groups that `groups` names: subsets, and columns whose values are not known yet.

    >>> groups_said({"sex": ("Female", "Male"), "race": "Black"})
    [sex == "Female", sex == "Male", race == "Black"]
    >>> groups_said(["race", where(sex="Female")])
    ['race', sex == "Female"]
    """
    if groups is None:
        return [EVERYONE]
    if isinstance(groups, str | Column | Subset):
        groups = [groups]
    if not isinstance(groups, Iterable):
        raise TypeError(f"groups takes conditions, or columns with or without values, got {groups!r}")
    said: list[Name | Subset] = []
    if isinstance(groups, Mapping):
        for name, values in groups.items():
            if isinstance(values, Subset):
                said.append(values)
            elif isinstance(values, Iterable) and not isinstance(values, str):
                said += [where(**{name: value}) for value in values]
            else:
                said.append(where(**{name: values}))
    else:
        said = [_one_said(each) for each in groups]
    if not said:
        raise ValueError("groups is empty: name at least one group, as in {'sex': ('Female', 'Male')}")
    return said


def _one_said(group: Any) -> Name | Subset:
    """A subset, given as such or as a mapping; or a column's name."""
    if isinstance(group, Mapping):
        return where(**group)
    if isinstance(group, Subset):
        return group
    return group.name if isinstance(group, Column) else Column(group).name


def group_of(names: Sequence[Name], values: Sequence[Value | None]) -> Subset:
    """The rows that have these values in these columns.

    >>> group_of(("sex", "race"), ("Female", None))
    sex == "Female" and missing(race)
    """
    return reduce(operator.and_, map(holding, names, values))


def as_groups(groups: Groups | None) -> list[Subset]:
    """The groups that are subsets, as a goal's function gets them."""
    return [each for each in groups_said(groups) if isinstance(each, Subset)]


@dataclass(frozen=True, repr=False)
class Goal:
    """A goal as it was written. If its groups are values of a column, rows are needed to spell it out.

    Calling a goal with columns, or reading one from text, gives one. Rows without a value in the column
    are one more group.

    Parameters
    ----------
    name : str
        The goal's name, such as "equal_opportunity".
    groups : tuple of str, int or Subset
        The groups. A name is a column, each of whose values is a group.
    options : tuple of (str, value)
        The goal's other arguments.
    intersection : bool, default=False
        Whether the groups are the combinations of the columns' values, instead of the single values. By
        default they are the single values, since combinations often have few rows.
    min_rows : int, default=None
        Leave out groups with fewer rows that count, with a warning. By default no group is left out, and
        a group without any such row is an error.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> rb.equal_opportunity(["sex", "race"], ratio=0.95, intersection=True)
    [equal_opportunity(sex, race, ratio=0.95, intersection=True)]
    """

    name: str
    groups: tuple[Name | Subset, ...]
    options: tuple[tuple[str, Value], ...]
    intersection: bool = False
    min_rows: int | None = None

    def __post_init__(self) -> None:
        groups = tuple(_one_condition(g) if isinstance(g, In) else g for g in self.groups)
        object.__setattr__(self, "groups", groups)
        if EVERYONE in groups:
            raise ValueError(
                f"{self.name}: all rows cannot be a group beside others: leave out the empty condition"
            )
        if not isinstance(self.intersection, bool):
            raise TypeError(f"{self.name}: intersection takes True or False, got {self.intersection!r}")
        if self.min_rows is not None:
            check_whole(f"{self.name}: min_rows", self.min_rows)
        if self.intersection and len(self.columns) < len(groups):
            raise ValueError(
                f"{self.name}: intersection=True takes only columns, as in ['sex', 'race']; combine "
                "conditions yourself, with 'and'"
            )
        if not self.columns and (self.intersection or self.min_rows):
            raise ValueError(
                f"{self.name}: intersection= and min_rows= need columns whose values are groups"
            )
        self.constraints(SOME_VALUES)  # this raises if options are wrong

    @property
    def columns(self) -> list[Name]:
        """The columns whose values are groups."""
        return [group for group in self.groups if not isinstance(group, Subset)]

    @property
    def crossed(self) -> list[tuple[Name, ...]]:
        """The sets of columns; each combination of a set's values is a group."""
        return [tuple(self.columns)] if self.intersection else [(name,) for name in self.columns]

    @property
    def on(self) -> str | None:
        """The population it names, if any."""
        named = dict(self.options).get("on")
        return None if named is None else str(named)

    @property
    def population(self) -> str:
        """The name of its population."""
        return self.on or FIRST

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The rates in it, over all rows."""
        constraints = self.constraints(SOME_VALUES)
        return tuple(dict.fromkeys(replace(r, subset=EVERYONE) for c in constraints for r in c.rates))

    def of_every_class(self, classes: Sequence[Value]) -> list[Goal]:
        """The same goal for each of `classes`, if there are more than two and the goal takes a class.

        Parameters
        ----------
        classes : sequence
            All possible decisions.

        Returns
        -------
        list of Goal
            One for each class, or the goal itself alone.
        """
        takes = "of" in inspect.signature(GOALS[self.name]).parameters if self.name in GOALS else False
        classes = label_classes(tuple(classes))
        if len(classes) <= 2 or not takes or "of" in dict(self.options):
            return [self]
        return [replace(self, options=(*self.options, ("of", each))) for each in classes]

    def constraints(self, values: Values) -> list[Constraint]:
        """Its constraints, given the combinations of values of each set of columns in `crossed`.

        Parameters
        ----------
        values : mapping
            From each set of columns in `crossed` to the combinations of their values; None is a missing
            value.

        Returns
        -------
        list of Constraint
            One promise or more for every group.

        Examples
        --------
        >>> import ratebound._old as rb
        >>> goal, = rb.minimum_recall("sex", at_least=0.9)
        >>> goal.constraints({("sex",): [("Female",), ("Male",)]})
        [recall(sex == "Female") >= 0.9, recall(sex == "Male") >= 0.9]
        """
        if self.name not in GOALS:
            raise ValueError(
                f"{self.name} is not defined in this process: import the module that defines it "
                "by rb.goal here too"
            )
        groups: list[Subset] = []
        for group in self.crossed if self.intersection else self.groups:
            if isinstance(group, Subset):
                groups.append(group)
            else:
                names = group if isinstance(group, tuple) else (group,)
                groups += [group_of(names, combination) for combination in values[names]]
        return GOALS[self.name](*([groups] if groups else []), **dict(self.options))

    def __str__(self) -> str:
        options = [f"{name}={value_text(value)}" for name, value in self.options]
        options += ["intersection=True"] * self.intersection
        options += [] if self.min_rows is None else [f"min_rows={self.min_rows}"]
        return f"{self.name}({', '.join([*map(_text, self.groups), *options])})"

    def __repr__(self) -> str:
        return str(self)


Promise = Constraint | Goal | Parity


def _text(group: Name | Subset) -> str:
    return str(group) if isinstance(group, Subset) else column_text(group)


def _one_condition(group: In) -> Subset:
    """The same rows without ``in``, which in the text of a goal means a group for each value."""
    return reduce(operator.or_, [Column(group.column) == value for value in group.values])


def of_every_class(constraint: Constraint, classes: Sequence[Value]) -> list[Constraint]:
    """A promise that a goal made, once for each of `classes` if there are more than two.

    >>> from ratebound._old import minimum_recall
    >>> (promise,) = minimum_recall(at_least=0.7)
    >>> of_every_class(promise, ("bird", "cat", "dog"))
    [recall(of="bird") >= 0.7, recall(of="cat") >= 0.7, recall(of="dog") >= 0.7]
    """
    classes = label_classes(tuple(classes))
    open_rates = [rate for rate in constraint.rates if _is_open(rate)]
    if len(classes) <= 2 or not constraint.every_class or not open_rates:
        return [constraint]
    return [_of_class(constraint, each) for each in classes]


def rates_of_every_class(rate: Rate, classes: Sequence[Value]) -> list[Rate]:
    """A rate for each of `classes`, if there are more than two and it is about one but names none."""
    classes = label_classes(tuple(classes))
    return (
        [replace(rate, of=each) for each in classes] if len(classes) > 2 and _is_open(rate) else [rate]
    )


def _is_open(rate: Rate) -> bool:
    kind = KINDS.get(rate.kind)  # a goal from another process may have a rate unknown here
    return rate.of is None and kind is not None and kind.speaks == "one class"


def _of_class(constraint: Constraint, of: Value) -> Constraint:
    def said(rate: Rate) -> Rate:
        return replace(rate, of=of) if _is_open(rate) else rate

    def of_class(metric: Metric) -> Metric:
        if isinstance(metric, Expression):
            return metric.with_rates(said)
        if not isinstance(metric, Ratio):
            return metric
        sides = metric.numerator.with_rates(said), metric.denominator.with_rates(said)
        return Ratio(*sides, None if metric.rate is None else said(metric.rate))

    goal, right = constraint.name.partition(": ")[0], constraint.right.with_rates(said)
    about_class = replace(constraint, left=of_class(constraint.left), right=right, every_class=False)
    return replace(about_class, name=f"{goal}: {about_class}")
