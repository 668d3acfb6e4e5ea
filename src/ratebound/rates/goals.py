"""Goals: names for several constraints on groups, each a short function from groups to constraints.

A `Goal` prints as it was written. `expand` spells it out once there are rows, since only rows tell
the values of a column and the classes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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
GROUP_OPTIONS = ("intersection", "min_rows")  # of every goal; `expand` reads them
STAND_IN = "(group)"  # the column of groups that stand for any


@dataclass(frozen=True, repr=False)
class Goal(Written):
    """A goal on groups: conditions, columns whose every value is a group, or ``sex in (...)``.

    >>> goal = equal_opportunity("sex", ratio=0.95)
    >>> goal.spell_out([column("sex") == "Female"])
    [recall(sex == "Female") >= 0.95 * recall()]
    """

    name: str
    groups: tuple[Condition, ...]
    options: tuple[tuple[str, Any], ...]

    def spell_out(self, groups: Iterable[Condition], **changed: Any) -> list[Constraint]:
        """Return the constraints that the goal stands for on these groups."""
        options = dict(self.options) | changed
        for name in GROUP_OPTIONS:
            options.pop(name, None)
        function = GOALS[self.name]
        if takes_groups(function):
            return function(list(groups), **options)
        return function(**options)

    @property
    def lacks_class(self) -> bool:
        """Whether the goal is about a class and does not say which."""
        takes_class = "of" in inspect.signature(GOALS[self.name]).parameters
        return takes_class and "of" not in dict(self.options)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """The rates of its constraints, on two groups that stand for any."""
        rates: list[Rate] = []
        for constraint in self.spell_out([column(STAND_IN) == 1, column(STAND_IN) == 2]):
            rates += constraint.rates
        return tuple(rates)

    @property
    def population(self) -> str:
        return dict(self.options).get("on", FIRST)

    def __str__(self) -> str:
        words = [str(group) for group in self.groups]
        words += [f"{name}={format_value(value)}" for name, value in self.options]
        return f"{self.name}({', '.join(words)})"


def goal(function: Callable[..., list[Constraint]]) -> Callable[..., Goal]:
    """Make a function from groups to constraints a goal, which text can use by its name.

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
    """Return the goal of that name. Wrong options raise here, at the line that writes them."""
    function = GOALS[name]
    parameters = inspect.signature(function).parameters
    if groups and not takes_groups(function):  # its number may come first: steering_examples(0.67)
        if len(groups) > 1:
            raise TypeError(f"{name} takes no groups, got {groups!r}")
        options = {next(iter(parameters)): groups[0]} | options
        groups = ()
    _check_goal_options(name, options, [*parameters, *GROUP_OPTIONS])
    named = {option: as_value(value) for option, value in options.items() if value is not None}
    conditions = tuple(as_groups(groups))
    for option, parameter in parameters.items():
        if parameter.default is not parameter.empty or option in named:
            continue
        if option != "groups":
            raise TypeError(f"{name}: {option}= is needed; only you can say how much is right")
        if not conditions:
            raise TypeError(f"{name} takes groups first, as in {name}(sex, ...)")
    made = Goal(name, conditions, tuple(named.items()))
    if named.get("intersection") and not all(isinstance(group, Every) for group in made.groups):
        raise ValueError(
            f"{name}: intersection=True takes columns, of whose values it makes groups"
        )
    assert made.rates  # which raises if numbers are wrong
    return made


def _check_goal_options(name: str, options: Mapping[str, Any], parameters: list[str]) -> None:
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


# --- what goals are made of -----------------------------------------------------------------------


def require_similar(
    rate: Kind,
    groups: list[Condition],
    slack: Any,
    ratio: Any,
    against: str,
    harm: bool = False,
    **options: Any,
) -> list[Constraint]:
    """Bound a rate of every group by the same rate overall, or in every other group."""
    if against not in ("overall", "pairwise"):
        raise ValueError(f'against= is "overall" or "pairwise", got {against!r}')
    constraints = []
    if against == "overall":
        for group in groups:
            left = rate(group, **options)
            constraints += bound_difference(left, rate(**options), slack, ratio, harm)
        return constraints
    if len(groups) < 2:
        raise ValueError(f'against="pairwise" compares groups, but there is only {groups[0]}')
    for first, second in permutations(groups, 2):
        left = rate(first, **options)
        bounds = bound_difference(left, rate(second, **options), slack, ratio, harm)
        constraints.append(bounds[0])  # the other bound comes with the other order
    return constraints


def bound_difference(
    left: Sum, right: Sum, slack: Any, ratio: Any, harm: bool = False
) -> list[Constraint]:
    """Return two bounds for a slack; for a ratio the one that protects the group.

    If the rate is a harm, more of it is worse, so the ratio is inverted.
    """
    if (slack is None) == (ratio is None):
        raise ValueError("give either slack= (an additive difference) or ratio= (a factor)")
    if slack is not None:
        if as_number(slack) < 0:
            raise ValueError(f"slack= is not negative, got {slack}")
        return [left <= right + slack, left >= right - slack]
    if not 0 < as_number(ratio) < 10:
        raise ValueError(
            f"ratio= is a factor, 0.95 for 95%, got {ratio}; did you mean {ratio / 100:g}?"
        )
    factor = 1 / ratio if harm else ratio
    needs_more = (ratio <= 1) != harm
    return [left >= factor * right] if needs_more else [left <= factor * right]


def require_at_least(
    rate: Kind, groups: list[Condition] | None, at_least: Any, **options: Any
) -> list[Constraint]:
    """Bound a rate of every group from below, or of all rows if there are no groups."""
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
