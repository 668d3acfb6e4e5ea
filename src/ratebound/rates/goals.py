"""Goals people have, each a function that returns the list of constraints it stands for.

`groups` says between whom: subsets, or columns, of which every value is a group. Which values a column
has is not known before there are rows: then the list holds a `Goal`, which `compile` spells out. `slack`
allows an additive difference both ways; `ratio` is multiplicative and one-sided: 0.95 means at least 95%
of the reference. Above 1 it turns the promise round: 1.05 means at most 105% of the reference.

In text a goal is written the same way, its groups one by one: ``equal_opportunity(sex, ratio=0.95)``,
``equal_opportunity(sex in ("Female", "Male"), race == "Black" and age < 25, slack=0.1)``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import permutations
from typing import Any, Literal, TypeVar

from ratebound.base.checks import check_number
from ratebound.rates import named
from ratebound.rates.expressions import Constraint, Expression, equal
from ratebound.rates.grouping import (
    BUILT_IN,
    GOALS,
    Goal,
    Groups,
    Promise,
    as_groups,
    check_new,
    groups_said,
)
from ratebound.rates.kinds import KINDS
from ratebound.rates.named import RateFunction
from ratebound.rates.subsets import Value, plain_value

PERCENT_FACTOR = 10.0  # rates that differ by this factor are not alike: it must be meant in percent
Against = Literal["overall", "pairwise"]
Stated = TypeVar("Stated", bound=Callable[..., list[Any]])


def goal(function: Stated) -> Stated:
    """Register a function from groups to constraints as a goal, so that text can call it by its name.

    Its first argument is `groups`, and it is given a list of subsets; all others are keywords. Text may
    then name columns, and reports name the constraints after the goal.

    >>> @goal
    ... def minimum_negative_rate(groups, *, at_least):
    ...     return [named.negative_rate(group) >= at_least for group in groups]
    >>> minimum_negative_rate({"sex": ("Female",)}, at_least=0.2)
    [negative_rate(sex == "Female") >= 0.2]
    >>> minimum_negative_rate("sex", at_least=0.2)
    [minimum_negative_rate(sex, at_least=0.2)]
    """
    name = getattr(function, "__name__", function)
    check_new(name, GOALS)
    if next(iter(inspect.signature(function).parameters), None) != "groups":
        raise TypeError(
            f"{name}: the first argument of a goal's function is `groups`, the list of "
            "subsets it is given, as in def my_goal(groups, *, at_least)"
        )
    return _known(function)


def _known(function: Stated) -> Stated:
    """The same of a function that may also do without groups."""
    name, signature = function.__name__, inspect.signature(function)

    @wraps(function)
    def stated(*args: Any, **options: Any) -> list[Promise]:
        given = signature.bind(*args, **options).arguments  # which objects to what it does not take
        if "groups" in signature.parameters:
            groups = groups_said(given.pop("groups", None))
            if any(isinstance(group, str) for group in groups):
                return [Goal(name, tuple(groups), _plain(given))]
            given["groups"] = groups
        return [
            replace(c, name=f"{name.replace('_', ' ')}: {c}") for c in _listed(name, function(**given))
        ]

    GOALS[name] = stated
    return stated  # type: ignore[return-value]  # of the same arguments


def _listed(name: str, found: Any) -> list[Constraint]:
    """What the function of a goal returned, if that is a list of constraints."""
    listed = list(found) if isinstance(found, Iterable) else []
    if not listed or not all(isinstance(each, Constraint) for each in listed):
        raise TypeError(
            f"{name}: return a list of constraints from the function of a goal, as in "
            f"[rb.recall(group) >= 0.9 for group in groups], got {found!r}"
        )
    return listed


def _plain(given: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, plain_value(value)) for name, value in given.items() if value is not None)


def said(name: str, groups: Sequence[Any], options: Mapping[str, Value]) -> Goal:
    """The goal of that name as text gives it: its groups, or whatever it takes first, one by one.

    >>> said("minimum_recall", ["sex"], {"at_least": 0.9})
    minimum_recall(sex, at_least=0.9)
    """
    signature = inspect.signature(GOALS[name])
    if "groups" not in signature.parameters:
        return Goal(name, (), tuple(signature.bind(*groups, **options).arguments.items()))
    return Goal(name, tuple(groups_said(list(groups))) if groups else (), tuple(options.items()))


def _alike(
    rate: RateFunction[Expression],
    groups: Groups,
    slack: float | None,
    ratio: float | None,
    against: Against,
    on: str | None,
    harm: bool = False,
) -> list[Constraint]:
    """`rate` alike for all groups, against the overall rate or between every two groups."""
    subsets = as_groups(groups)
    if against == "overall":
        pairs = [(rate(g, on=on), rate(on=on)) for g in subsets]
    elif against == "pairwise":
        if len(subsets) < 2:
            raise ValueError("against='pairwise' needs at least two groups")
        pairs = [(rate(a, on=on), rate(b, on=on)) for a, b in permutations(subsets, 2)]
    else:
        raise ValueError(f"against must be 'overall' or 'pairwise', got {against!r}")
    # Every ordered pair occurs, so that one side of each is enough.
    sides = 1 if against == "pairwise" else 2
    return [c for left, right in pairs for c in _close(left, right, slack, ratio, harm)[:sides]]


def _close(
    left: Expression, right: Expression, slack: float | None, ratio: float | None, harm: bool = False
) -> list[Constraint]:
    """Two bounds for a slack; one for a ratio, turned round for what is a harm to its group."""
    if (slack is None) == (ratio is None):
        raise ValueError("give either slack= (an additive difference) or ratio= (a factor)")
    if slack is not None:
        return equal(left, right, slack=slack)
    assert ratio is not None
    check_number("ratio", ratio, above=0)
    if ratio >= PERCENT_FACTOR:
        raise ValueError(
            f"ratio is a factor, such as 0.95 for 95%, got {ratio}; did you mean ratio={ratio / 100:g}?"
        )
    factor = 1 / ratio if harm else ratio
    return [left >= factor * right] if (ratio <= 1) != harm else [left <= factor * right]


@goal
def statistical_parity(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group is said yes to about equally often.

    A `ratio` up to 1 bounds it from below, and one above 1 from above.

    >>> statistical_parity({"sex": ("Female", "Male")}, ratio=0.8)
    [positive_rate(sex == "Female") >= 0.8 * positive_rate(),
     positive_rate(sex == "Male") >= 0.8 * positive_rate()]
    """
    return _alike(named.positive_rate, groups, slack, ratio, against, on)


@goal
def equal_opportunity(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same recall.

    A `ratio` up to 1 bounds it from below, and one above 1 from above.

    >>> equal_opportunity({"sex": ("Female",)}, slack=0.05)
    [recall(sex == "Female") <= recall() + 0.05, recall(sex == "Female") >= recall() - 0.05]
    """
    return _alike(named.recall, groups, slack, ratio, against, on)


@goal
def equal_odds(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same recall and about the same false positive rate.

    With `ratio` up to 1, recall is at least that share of the reference and the false positive
    rate at most its inverse: a false positive is a harm, so it is bounded from above. A `ratio`
    above 1 turns both round.

    >>> equal_odds({"sex": ("Female",)}, ratio=0.8)
    [recall(sex == "Female") >= 0.8 * recall(),
     false_positive_rate(sex == "Female") <= 1.25 * false_positive_rate()]
    """
    found = _alike(named.recall, groups, slack, ratio, against, on)
    found += _alike(named.false_positive_rate, groups, slack, ratio, against, on, harm=True)
    return found


@goal
def equal_accuracy(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """The model is about equally often right for every group.

    A `ratio` up to 1 bounds it from below, and one above 1 from above.

    >>> equal_accuracy({"sex": ("Female", "Male")}, slack=0.1, against="pairwise")
    [accuracy(sex == "Female") <= accuracy(sex == "Male") + 0.1,
     accuracy(sex == "Male") <= accuracy(sex == "Female") + 0.1]
    """
    return _alike(named.accuracy, groups, slack, ratio, against, on)


@goal
def accurate_coverage(
    groups: Groups | None = None,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """Each group is said yes to as often as its labels are positive.

    A `ratio` up to 1 bounds it from below, and one above 1 from above.

    >>> accurate_coverage({"sex": ("Female",)}, ratio=0.9)
    [positive_rate(sex == "Female") >= 0.9 * prevalence(sex == "Female")]
    """
    pairs = [(named.positive_rate(g, on=on), named.prevalence(g, on=on)) for g in as_groups(groups)]
    return [c for left, right in pairs for c in _close(left, right, slack, ratio)]


@goal
def minimum_coverage(
    groups: Groups | None = None, *, at_least: float, on: str | None = None
) -> list[Constraint]:
    """Each group is said yes to at least this often.

    >>> minimum_coverage({"sex": ("Female",)}, at_least=0.1)
    [positive_rate(sex == "Female") >= 0.1]
    """
    return [named.positive_rate(g, on=on) >= at_least for g in as_groups(groups)]


@goal
def minimum_recall(
    groups: Groups | None = None, *, at_least: float, on: str | None = None
) -> list[Constraint]:
    """At least this share of each group's positive rows is found.

    >>> minimum_recall({"country": ("FR", "DE")}, at_least=0.95)
    [recall(country == "FR") >= 0.95, recall(country == "DE") >= 0.95]
    """
    return [named.recall(g, on=on) >= at_least for g in as_groups(groups)]


@goal
def minimum_accuracy(
    groups: Groups | None = None, *, at_least: float, on: str | None = None
) -> list[Constraint]:
    """The model is right at least this often for each group.

    >>> minimum_accuracy(at_least=0.8)
    [accuracy() >= 0.8]
    """
    return [named.accuracy(g, on=on) >= at_least for g in as_groups(groups)]


@goal
def no_lost_benefits(
    groups: Groups | None = None, *, versus: str, slack: float = 0.0, on: str | None = None
) -> list[Constraint]:
    """Each group is said yes to at least as often as by the existing model, less `slack`.

    >>> no_lost_benefits({"sex": ("Female",)}, versus="live")
    [positive_rate(sex == "Female") >= positive_rate_of(sex == "Female", versus="live")]
    """
    return [
        named.positive_rate(g, on=on) >= named.positive_rate_of(g, versus=versus, on=on) - slack
        for g in as_groups(groups)
    ]


@goal
def not_worse_off(
    groups: Groups | None = None, *, versus: str, slack: float = 0.0, on: str | None = None
) -> list[Constraint]:
    """For each group the model is right at least as often as the existing one, less `slack`.

    >>> not_worse_off({"sex": ("Female",)}, versus="live", slack=0.01)
    [accuracy(sex == "Female") >= accuracy_of(sex == "Female", versus="live") - 0.01]
    """
    return [
        named.accuracy(g, on=on) >= named.accuracy_of(g, versus=versus, on=on) - slack
        for g in as_groups(groups)
    ]


@goal
def limited_churn(
    groups: Groups | None = None, *, versus: str, at_most: float, on: str | None = None
) -> list[Constraint]:
    """At most this share of each group's decisions differs from the existing model's.

    >>> limited_churn(versus="live", at_most=0.02)
    [churn(versus="live") <= 0.02]
    """
    return [named.churn(g, versus=versus, on=on) <= at_most for g in as_groups(groups)]


@_known
def steering_examples(at_least: float, *, on: str = "steering") -> list[Constraint]:
    """Accuracy on a small set with better labels, given as the population `on`.

    >>> steering_examples(0.67)
    [accuracy(on="steering") >= 0.67]
    """
    return [named.accuracy(on=on) >= at_least]


@_known
def egregious_examples(at_least: float = 1.0, *, on: str = "egregious") -> list[Constraint]:
    """Accuracy on examples that must not be got wrong, given as the population `on`.

    >>> egregious_examples(0.99)
    [accuracy(on="egregious") >= 0.99]
    """
    return [named.accuracy(on=on) >= at_least]


@goal
def decision_rule(
    groups: Groups, *, decision: bool, at_least: float = 1.0, on: str | None = None
) -> list[Constraint]:
    """In each group the model decides `decision`, at least this often; no labels needed.

    >>> from ratebound import column
    >>> decision_rule(column("language_known") == False, decision=False, at_least=0.99, on="pool")
    [negative_rate(language_known == False, on="pool") >= 0.99]
    """
    rate = named.positive_rate if decision else named.negative_rate
    return [rate(g, on=on) >= at_least for g in as_groups(groups)]


BUILT_IN.update(KINDS, GOALS)
