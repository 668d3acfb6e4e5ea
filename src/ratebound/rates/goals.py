"""Goals people have, each a function that returns the list of constraints it stands for.

`groups` says between whom: subsets, or columns with their values. `slack` allows an additive
difference both ways; `ratio` is multiplicative and one-sided: 0.95 means at least 95% of the
reference, 1.05 at most 105% of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any, Literal

from ratebound.base.checks import check_number
from ratebound.rates import named
from ratebound.rates.expressions import Constraint, Expression, equal
from ratebound.rates.named import RateFunction
from ratebound.rates.subsets import EVERYONE, Subset, where

Groups = Iterable[Subset | Mapping[str, Any]] | Mapping[str, Any]
Against = Literal["overall", "pairwise"]


def as_groups(groups: Groups | None) -> list[Subset]:
    """The subsets that `groups` names: ``{"sex": ("Female", "Male")}`` gives two of them.

    >>> as_groups({"sex": ("Female", "Male"), "race": "Black"})
    [sex == "Female", sex == "Male", race == "Black"]
    """
    if groups is None:
        return [EVERYONE]
    if isinstance(groups, str):
        raise TypeError(
            f"groups={groups!r}: a definition holds no data, so say which values form the groups: "
            f"groups={{{groups!r}: ('a', 'b')}}"
        )
    if not isinstance(groups, Iterable):
        raise TypeError(f"groups takes subsets, or columns with their values, got {groups!r}")
    found: list[Subset] = []
    if isinstance(groups, Mapping):
        for name, values in groups.items():
            if isinstance(values, Subset):
                found.append(values)
            elif isinstance(values, Iterable) and not isinstance(values, str):
                found += [where(**{name: value}) for value in values]
            else:
                found.append(where(**{name: values}))
    else:
        found = [group if isinstance(group, Subset) else where(**group) for group in groups]
    if not found:
        raise ValueError("groups is empty: name at least one group, as in {'sex': ('Female', 'Male')}")
    return found


def _named(goal: str, constraints: Iterable[Constraint]) -> list[Constraint]:
    return [replace(c, name=f"{goal}: {c}") for c in constraints]


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
    factor = 1 / ratio if harm else ratio
    return [left >= factor * right] if (ratio <= 1) != harm else [left <= factor * right]


def statistical_parity(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group is said yes to about equally often.

    >>> statistical_parity({"sex": ("Female", "Male")}, ratio=0.8)
    [positive_rate(sex == "Female") >= 0.8 * positive_rate(),
     positive_rate(sex == "Male") >= 0.8 * positive_rate()]
    """
    found = _alike(named.positive_rate, groups, slack, ratio, against, on)
    return _named("statistical parity", found)


def equal_opportunity(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same recall.

    >>> equal_opportunity({"sex": ("Female",)}, slack=0.05)
    [recall(sex == "Female") <= recall() + 0.05, recall(sex == "Female") >= recall() - 0.05]
    """
    found = _alike(named.recall, groups, slack, ratio, against, on)
    return _named("equal opportunity", found)


def equal_odds(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same recall and about the same false positive rate.

    With `ratio` below one, recall is at least that share of the reference and the false positive
    rate at most its inverse: a false positive is a harm, so it is bounded from above.

    >>> equal_odds({"sex": ("Female",)}, ratio=0.8)
    [recall(sex == "Female") >= 0.8 * recall(),
     false_positive_rate(sex == "Female") <= 1.25 * false_positive_rate()]
    """
    found = _alike(named.recall, groups, slack, ratio, against, on)
    found += _alike(named.false_positive_rate, groups, slack, ratio, against, on, harm=True)
    return _named("equal odds", found)


def equal_accuracy(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """The model is about equally often right for every group.

    >>> equal_accuracy({"sex": ("Female", "Male")}, slack=0.1, against="pairwise")
    [accuracy(sex == "Female") <= accuracy(sex == "Male") + 0.1,
     accuracy(sex == "Male") <= accuracy(sex == "Female") + 0.1]
    """
    found = _alike(named.accuracy, groups, slack, ratio, against, on)
    return _named("equal accuracy", found)


def accurate_coverage(
    groups: Groups | None = None,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """Each group is said yes to as often as its labels are positive.

    >>> accurate_coverage({"sex": ("Female",)}, ratio=0.9)
    [positive_rate(sex == "Female") >= 0.9 * prevalence(sex == "Female")]
    """
    pairs = [(named.positive_rate(g, on=on), named.prevalence(g, on=on)) for g in as_groups(groups)]
    found = [c for left, right in pairs for c in _close(left, right, slack, ratio)]
    return _named("accurate coverage", found)


def minimum_coverage(
    at_least: float, groups: Groups | None = None, *, on: str | None = None
) -> list[Constraint]:
    """Each group is said yes to at least this often.

    >>> minimum_coverage(0.1, {"sex": ("Female",)})
    [positive_rate(sex == "Female") >= 0.1]
    """
    found = [named.positive_rate(g, on=on) >= at_least for g in as_groups(groups)]
    return _named("minimum coverage", found)


def minimum_recall(
    at_least: float, groups: Groups | None = None, *, on: str | None = None
) -> list[Constraint]:
    """At least this share of each group's positive rows is found.

    >>> minimum_recall(0.95, {"country": ("FR", "DE")})
    [recall(country == "FR") >= 0.95, recall(country == "DE") >= 0.95]
    """
    return _named("minimum recall", [named.recall(g, on=on) >= at_least for g in as_groups(groups)])


def minimum_accuracy(
    at_least: float, groups: Groups | None = None, *, on: str | None = None
) -> list[Constraint]:
    """The model is right at least this often for each group.

    >>> minimum_accuracy(0.8)
    [accuracy() >= 0.8]
    """
    found = [named.accuracy(g, on=on) >= at_least for g in as_groups(groups)]
    return _named("minimum accuracy", found)


def no_lost_benefits(
    versus: str, groups: Groups | None = None, *, slack: float = 0.0, on: str | None = None
) -> list[Constraint]:
    """Each group is said yes to at least as often as by the existing model, less `slack`.

    >>> no_lost_benefits("live", {"sex": ("Female",)})
    [positive_rate(sex == "Female") >= positive_rate_of(sex == "Female", versus="live")]
    """
    found = [
        named.positive_rate(g, on=on) >= named.positive_rate_of(g, versus=versus, on=on) - slack
        for g in as_groups(groups)
    ]
    return _named("no lost benefits", found)


def not_worse_off(
    versus: str, groups: Groups | None = None, *, slack: float = 0.0, on: str | None = None
) -> list[Constraint]:
    """For each group the model is right at least as often as the existing one, less `slack`.

    >>> not_worse_off("live", {"sex": ("Female",)}, slack=0.01)
    [accuracy(sex == "Female") >= accuracy_of(sex == "Female", versus="live") - 0.01]
    """
    found = [
        named.accuracy(g, on=on) >= named.accuracy_of(g, versus=versus, on=on) - slack
        for g in as_groups(groups)
    ]
    return _named("not worse off", found)


def limited_churn(
    versus: str, at_most: float, groups: Groups | None = None, *, on: str | None = None
) -> list[Constraint]:
    """At most this share of each group's decisions differs from the existing model's.

    >>> limited_churn("live", 0.02)
    [churn(versus="live") <= 0.02]
    """
    found = [named.churn(g, versus=versus, on=on) <= at_most for g in as_groups(groups)]
    return _named("limited churn", found)


def steering_examples(at_least: float, *, on: str = "steering") -> list[Constraint]:
    """Accuracy on a small set with better labels, given as the population `on`.

    >>> steering_examples(0.67)
    [accuracy(on="steering") >= 0.67]
    """
    return _named("steering examples", [named.accuracy(on=on) >= at_least])


def egregious_examples(at_least: float = 1.0, *, on: str = "egregious") -> list[Constraint]:
    """Accuracy on examples that must not be got wrong, given as the population `on`.

    >>> egregious_examples(0.99)
    [accuracy(on="egregious") >= 0.99]
    """
    return _named("egregious examples", [named.accuracy(on=on) >= at_least])


def decision_rule(
    rule: Subset, decision: bool, *, at_least: float = 1.0, on: str | None = None
) -> list[Constraint]:
    """Where `rule` holds the model decides `decision`, at least this often; no labels needed.

    >>> from ratebound import column
    >>> decision_rule(column("language_known") == False, False, at_least=0.99, on="pool")
    [negative_rate(language_known == False, on="pool") >= 0.99]
    """
    rate = named.positive_rate if decision else named.negative_rate
    return _named("decision rule", [rate(rule, on=on) >= at_least])
