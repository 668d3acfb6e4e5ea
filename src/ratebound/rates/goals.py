"""Goals: names for several constraints on groups, each a short function from groups to constraints.

A `Goal` prints as it was written. `expand` spells it out once there are rows, since only rows know
the values of a column, and the classes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from itertools import permutations
from typing import Any

from ratebound.rates.conditions import (
    EVERYONE,
    RESERVED,
    Column,
    Condition,
    Every,
    Value,
    as_value,
    column,
    format_value,
    suggest_name,
)
from ratebound.rates.sums import FIRST, SHAPES, Constraint, Rate, Sum, Written, as_number
from ratebound.rates.table import ALIASES, KINDS, Kind

Groups = list[Condition]
Number = float | None
GOALS: dict[str, Callable[..., list[Constraint]]] = {}
BUILT_IN: set[str] = set()  # names of the goals of this module
GROUP_OPTIONS = ("intersection", "min_rows")  # options of every goal, which `expand` reads
STAND_IN = "(group)"  # the column of a group that stands for any group


@dataclass(frozen=True, repr=False)
class Goal(Written):
    """A goal on groups: conditions, columns with a group for each value, or ``sex in (...)``.

    >>> goal = equal_opportunity("sex", ratio=0.95)
    >>> goal.spell_out([column("sex") == "Female"])
    [recall(sex == "Female") >= 0.95 * recall()]
    """

    name: str
    groups: tuple[Condition, ...]
    options: tuple[tuple[str, Any], ...]

    def spell_out(self, groups: Iterable[Condition]) -> list[Constraint]:
        """Return the constraints that the goal stands for on these groups."""
        options = dict(self.options)
        for name in GROUP_OPTIONS:
            options.pop(name, None)
        make_constraints = GOALS[self.name]
        if takes_groups(make_constraints):
            return make_constraints(list(groups), **options)
        return make_constraints(**options)

    def with_class(self, value: Value) -> Goal:
        """Return the same goal about one class."""
        return replace(self, options=(*self.options, ("of", value)))

    @property
    def lacks_class(self) -> bool:
        """Whether the goal is about a class and does not name it."""
        takes_class = "of" in inspect.signature(GOALS[self.name]).parameters
        return takes_class and "of" not in dict(self.options)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The rates of its constraints, on two groups that stand for any others."""
        rates: list[Rate] = []
        for constraint in self.spell_out([column(STAND_IN) == 1, column(STAND_IN) == 2]):
            rates += constraint.rates
        return tuple(rates)

    @property
    def population(self) -> str:
        return dict(self.options).get("on", FIRST)

    def __str__(self) -> str:
        arguments = [str(group) for group in self.groups]
        arguments += [f"{name}={format_value(value)}" for name, value in self.options]
        return f"{self.name}({', '.join(arguments)})"


def goal(function: Callable[..., list[Constraint]]) -> Callable[..., Goal]:
    """Register a function from groups to constraints as a goal, which text can name.

    >>> @goal
    ... def minimum_precision(groups, *, at_least):
    ...     return [KINDS["precision"](group) >= at_least for group in groups]
    >>> minimum_precision("sex", at_least=0.7)
    minimum_precision(sex, at_least=0.7)
    >>> del GOALS["minimum_precision"]
    """
    name = function.__name__
    if name in {*KINDS, *ALIASES, *SHAPES, *RESERVED, *BUILT_IN}:
        raise ValueError(f"{name} is taken: give your goal another name")
    GOALS[name] = function
    return wraps(function)(partial(make_goal, name))


def make_goal(name: str, *groups: Any, **options: Any) -> Goal:
    """Return a goal by its name. Wrong options raise here, at the line that writes them."""
    parameters = inspect.signature(GOALS[name]).parameters
    if "groups" in parameters:
        groups = (*groups, *as_groups(options.pop("groups", ())))
    if groups and "groups" not in parameters:  # its number may come first: steering_examples(0.67)
        if len(groups) > 1:
            raise TypeError(f"{name} takes no groups, got {groups!r}")
        options = {next(iter(parameters)): groups[0]} | options
        groups = ()
    _check_option_names(name, options, [*parameters, *GROUP_OPTIONS])
    named = {option: as_value(value) for option, value in options.items() if value is not None}
    goal = Goal(name, tuple(as_groups(groups)), tuple(named.items()))
    for option, parameter in parameters.items():
        if parameter.default is not parameter.empty or option in named:
            continue
        if option != "groups":
            raise TypeError(f"{name}: {option}= is needed; only you can say how much is right")
        if not goal.groups:
            raise TypeError(f"{name} takes groups first, as in {name}(sex, ...)")
    are_columns = all(isinstance(group, Every) for group in goal.groups)
    if named.get("intersection") and not are_columns:
        raise ValueError(
            f"{name}: intersection=True takes columns alone, "
            f"as in {name}(sex, race, intersection=True)"
        )
    if not goal.rates:  # spelling it out also checks its numbers
        raise ValueError(f"{name} returns no constraints")
    return goal


def _check_option_names(name: str, options: Mapping[str, Any], parameters: list[str]) -> None:
    known = [option for option in parameters if option != "groups"]
    for option in options:
        if option not in known:
            suggestion = suggest_name(option, [f"{known_option}=" for known_option in known])
            raise TypeError(f"{name} does not take {option}={suggestion}")


def takes_groups(function: Callable[..., Any]) -> bool:
    return "groups" in inspect.signature(function).parameters


def as_groups(groups: Any) -> list[Condition]:
    """Return groups as conditions, from columns, ``{"sex": ("F", "M")}`` or lists of these."""
    if isinstance(groups, Condition):
        return [groups]
    if isinstance(groups, str):
        groups = column(groups)
    if isinstance(groups, Column):
        return [Every(groups.name)]
    if isinstance(groups, Mapping):
        return [column(name).isin(values) for name, values in groups.items()]
    if not isinstance(groups, Iterable):
        raise TypeError(
            f"groups are columns or conditions, got {groups!r}; options are named, as in slack=0.1"
        )
    listed: list[Condition] = []
    for group in groups:
        listed += as_groups(group)
    return listed


# --- parts of goals -------------------------------------------------------------------------------


def require_similar(
    rate: Kind,
    groups: list[Condition],
    slack: Any,
    ratio: Any,
    against: str,
    harm: bool = False,
    **options: Any,
) -> list[Constraint]:
    """Bound the rate of every group by the overall rate, or by the rate of every other group."""
    if against not in ("overall", "pairwise"):
        raise ValueError(f'against= is "overall" or "pairwise", got {against!r}')
    constraints = []
    if against == "overall":
        overall = rate(**options)
        for group in groups:
            constraints += bound_difference(rate(group, **options), overall, slack, ratio, harm)
        return constraints
    if len(groups) < 2:
        raise ValueError(f'against="pairwise" compares groups, but there is only {groups[0]}')
    for first, second in permutations(groups, 2):
        left = rate(first, **options)
        right = rate(second, **options)
        bounds = bound_difference(left, right, slack, ratio, harm)
        constraints.append(bounds[0])  # the other order of the two groups adds the other bound
    return constraints


def bound_difference(
    left: Sum, right: Sum, slack: Any, ratio: Any, harm: bool = False
) -> list[Constraint]:
    """Return both bounds for a slack, or the bound that protects the group for a ratio.

    More of a harm is worse, so its ratio is inverted.
    """
    if (slack is None) == (ratio is None):
        raise ValueError("give either slack= (an additive difference) or ratio= (a factor)")
    if slack is not None:
        if as_number(slack) < 0:
            raise ValueError(f"slack= must not be negative, got {slack}")
        return [left <= right + slack, left >= right - slack]
    if not 0 < as_number(ratio) < 10:
        hint = f"; did you mean {ratio / 100:g}?" if ratio > 0 else ""
        raise ValueError(f"ratio= is a factor, 0.95 for 95%, got {ratio}{hint}")
    factor = 1 / ratio if harm else ratio
    needs_more = (ratio <= 1) != harm
    return [left >= factor * right] if needs_more else [left <= factor * right]


def require_at_least(
    rate: Kind, groups: list[Condition] | None, at_least: Any, **options: Any
) -> list[Constraint]:
    """Bound the rate of every group from below, or of all rows if there are no groups."""
    return [rate(group, **options) >= at_least for group in groups or [EVERYONE]]


# --- the goals ------------------------------------------------------------------------------------

_positive_rate = KINDS["positive_rate"]
_negative_rate = KINDS["negative_rate"]
_recall = KINDS["recall"]
_false_positive_rate = KINDS["false_positive_rate"]
_accuracy = KINDS["accuracy"]
_prevalence = KINDS["prevalence"]
_churn = KINDS["churn"]


@goal
def statistical_parity(
    groups: Groups,
    *,
    slack: Number = None,
    ratio: Number = None,
    against: str = "overall",
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """The model says yes to every group about equally often.

    >>> statistical_parity("sex", ratio=0.8)
    statistical_parity(sex, ratio=0.8)
    """
    return require_similar(_positive_rate, groups, slack, ratio, against, of=of, on=on)


@goal
def equal_opportunity(
    groups: Groups,
    *,
    slack: Number = None,
    ratio: Number = None,
    against: str = "overall",
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same recall.

    >>> equal_opportunity("sex", "race", slack=0.05)
    equal_opportunity(sex, race, slack=0.05)
    """
    return require_similar(_recall, groups, slack, ratio, against, of=of, on=on)


@goal
def equalized_odds(
    groups: Groups,
    *,
    slack: Number = None,
    ratio: Number = None,
    against: str = "overall",
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same recall and false positive rate; a ratio caps the second.

    >>> equalized_odds("sex", slack=0.1, against="pairwise")
    equalized_odds(sex, slack=0.1, against="pairwise")
    """
    recalls = require_similar(_recall, groups, slack, ratio, against, of=of, on=on)
    alarms = require_similar(
        _false_positive_rate, groups, slack, ratio, against, harm=True, of=of, on=on
    )
    return recalls + alarms


@goal
def equal_accuracy(
    groups: Groups,
    *,
    slack: Number = None,
    ratio: Number = None,
    against: str = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same accuracy.

    >>> equal_accuracy("sex", slack=0.05)
    equal_accuracy(sex, slack=0.05)
    """
    return require_similar(_accuracy, groups, slack, ratio, against, on=on)


@goal
def accurate_coverage(
    groups: Groups | None = None,
    *,
    slack: Number = None,
    ratio: Number = None,
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """The model says yes to every group about as often as the group's labels are positive.

    >>> accurate_coverage("district", slack=0.02)
    accurate_coverage(district, slack=0.02)
    """
    constraints = []
    for group in groups or [EVERYONE]:
        decided_yes = _positive_rate(group, of=of, on=on)
        labelled_yes = _prevalence(group, of=of, on=on)
        constraints += bound_difference(decided_yes, labelled_yes, slack, ratio)
    return constraints


@goal
def minimum_coverage(
    groups: Groups | None = None, *, at_least: float, of: Value | None = None, on: str | None = None
) -> list[Constraint]:
    """The model says yes to every group at least this often.

    >>> minimum_coverage("sex", "race", at_least=0.1, intersection=True)
    minimum_coverage(sex, race, at_least=0.1, intersection=True)
    """
    return require_at_least(_positive_rate, groups, at_least, of=of, on=on)


@goal
def minimum_recall(
    groups: Groups | None = None, *, at_least: float, of: Value | None = None, on: str | None = None
) -> list[Constraint]:
    """The recall of every group is at least this.

    >>> minimum_recall("hospital", at_least=0.95, min_rows=30)
    minimum_recall(hospital, at_least=0.95, min_rows=30)
    """
    return require_at_least(_recall, groups, at_least, of=of, on=on)


@goal
def minimum_accuracy(
    groups: Groups | None = None, *, at_least: float, on: str | None = None
) -> list[Constraint]:
    """The accuracy of every group is at least this.

    >>> minimum_accuracy({"country": ("FR", "DE")}, at_least=0.8)
    minimum_accuracy(country in ("FR", "DE"), at_least=0.8)
    """
    return require_at_least(_accuracy, groups, at_least, on=on)


@goal
def no_lost_benefits(
    groups: Groups | None = None,
    *,
    versus: str,
    slack: float = 0.0,
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """The model says yes to every group at least as often as the live model does, less `slack`.

    >>> no_lost_benefits("sex", versus="live")
    no_lost_benefits(sex, versus="live")
    """
    constraints = []
    for group in groups or [EVERYONE]:
        live = _positive_rate(group, of=of, by=versus, on=on)
        constraints.append(_positive_rate(group, of=of, on=on) >= live - slack)
    return constraints


@goal
def not_worse_off(
    groups: Groups | None = None, *, versus: str, slack: float = 0.0, on: str | None = None
) -> list[Constraint]:
    """The accuracy of every group is at least the live model's, less `slack`.

    >>> not_worse_off("sex", versus="live", slack=0.01)
    not_worse_off(sex, versus="live", slack=0.01)
    """
    constraints = []
    for group in groups or [EVERYONE]:
        live = _accuracy(group, by=versus, on=on)
        constraints.append(_accuracy(group, on=on) >= live - slack)
    return constraints


@goal
def limited_churn(
    groups: Groups | None = None, *, versus: str, at_most: float, on: str | None = None
) -> list[Constraint]:
    """At most this share of the decisions on every group differs from the live model's.

    >>> limited_churn("region", versus="live", at_most=0.02)
    limited_churn(region, versus="live", at_most=0.02)
    """
    return [_churn(group, versus=versus, on=on) <= at_most for group in groups or [EVERYONE]]


@goal
def steering_examples(at_least: float, *, on: str = "steering") -> list[Constraint]:
    """The model is accurate on a small set with better labels, given as the population `on`.

    >>> steering_examples(0.67)
    steering_examples(at_least=0.67)
    """
    return [_accuracy(on=on) >= at_least]


@goal
def egregious_examples(at_least: float = 1.0, *, on: str = "egregious") -> list[Constraint]:
    """The model is right on examples that it must get right, given as the population `on`.

    >>> egregious_examples(0.99)
    egregious_examples(at_least=0.99)
    """
    return [_accuracy(on=on) >= at_least]


@goal
def decision_rule(
    groups: Groups, *, decision: Value, at_least: float = 1.0, on: str | None = None
) -> list[Constraint]:
    """The model decides `decision` (True, False or a class) at least this often in every group.

    >>> decision_rule(column("age") < 18, decision=False, at_least=0.99)
    decision_rule(age < 18, decision=False, at_least=0.99)
    """
    if not isinstance(decision, bool):
        return require_at_least(_positive_rate, groups, at_least, of=decision, on=on)
    rate = _positive_rate if decision else _negative_rate
    return require_at_least(rate, groups, at_least, on=on)


BUILT_IN.update(GOALS)
