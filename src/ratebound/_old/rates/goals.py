"""Common goals, such as fairness between groups. Each is a function that returns a list of constraints.

`groups` names the groups: subsets, or columns, each of whose values is a group. A column's values are
not known before there are rows; then the list holds a `Goal`, which `compile` spells out. `slack` allows
an additive difference in either direction. `ratio` is multiplicative and one-sided: 0.95 means at least
95% of the reference, and 1.05 means at most 105% of it. `of` is the class a goal is about. Without it, a
goal is about every class if there are more than two.

In text a goal is written the same way, with its groups in a row: ``equal_opportunity(sex, ratio=0.95)``,
``equal_opportunity(sex in ("Female", "Male"), race == "Black" and age < 25, slack=0.1)``.
"""

from __future__ import annotations

from functools import partial

from ratebound._old.rates import named
from ratebound._old.rates.alike import Against, alike, close
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.grouping import (
    BUILT_IN,
    GOALS,
    Groups,
    as_groups,
)
from ratebound._old.rates.kinds import KINDS
from ratebound._old.rates.stating import goal, known_goal
from ratebound._old.rates.subsets import Value

__all__ = [
    "accurate_coverage",
    "decision_rule",
    "egregious_examples",
    "equal_accuracy",
    "equal_opportunity",
    "equalized_odds",
    "limited_churn",
    "minimum_accuracy",
    "minimum_coverage",
    "minimum_recall",
    "no_lost_benefits",
    "not_worse_off",
    "statistical_parity",
    "steering_examples",
]


@goal
def statistical_parity(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """Demographic parity: the model says yes to every group about equally often.

    A ``ratio=`` up to 1 bounds it from below, and one above 1 from above.
    """
    return alike(named.positive_rate, groups, slack, ratio, against, on, of)


@goal
def equal_opportunity(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same recall.

    A ``ratio=`` up to 1 bounds it from below, and one above 1 from above.
    """
    return alike(named.recall, groups, slack, ratio, against, on, of)


@goal
def equalized_odds(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """Equalized odds: every group has about the same recall and false positive rate.

    With ``ratio=`` up to 1, recall is at least that share of the reference. The false positive rate is
    at most the inverse: a false positive is a harm, so it is bounded from above. A ``ratio=`` above 1
    reverses both bounds.
    """
    constraints = alike(named.recall, groups, slack, ratio, against, on, of)
    constraints += alike(named.false_positive_rate, groups, slack, ratio, against, on, of, harm=True)
    return constraints


@goal
def equal_accuracy(
    groups: Groups,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    against: Against = "overall",
    on: str | None = None,
) -> list[Constraint]:
    """Every group has about the same accuracy.

    A ``ratio=`` up to 1 bounds it from below, and one above 1 from above.
    """
    return alike(named.accuracy, groups, slack, ratio, against, on)


@goal
def accurate_coverage(
    groups: Groups | None = None,
    *,
    slack: float | None = None,
    ratio: float | None = None,
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """The model says yes to each group about as often as the group's labels are positive.

    A ``ratio=`` up to 1 bounds it from below, and one above 1 from above.
    """
    pairs = [
        (named.positive_rate(g, of=of, on=on), named.prevalence(g, of=of, on=on))
        for g in as_groups(groups)
    ]
    return [c for left, right in pairs for c in close(left, right, slack, ratio)]


@goal
def minimum_coverage(
    groups: Groups | None = None, *, at_least: float, of: Value | None = None, on: str | None = None
) -> list[Constraint]:
    """The model says yes to each group at least this often."""
    return [named.positive_rate(g, of=of, on=on) >= at_least for g in as_groups(groups)]


@goal
def minimum_recall(
    groups: Groups | None = None, *, at_least: float, of: Value | None = None, on: str | None = None
) -> list[Constraint]:
    """Each group's recall is at least this."""
    return [named.recall(g, of=of, on=on) >= at_least for g in as_groups(groups)]


@goal
def minimum_accuracy(
    groups: Groups | None = None, *, at_least: float, on: str | None = None
) -> list[Constraint]:
    """Each group's accuracy is at least this."""
    return [named.accuracy(g, on=on) >= at_least for g in as_groups(groups)]


@goal
def no_lost_benefits(
    groups: Groups | None = None,
    *,
    versus: str,
    slack: float = 0.0,
    of: Value | None = None,
    on: str | None = None,
) -> list[Constraint]:
    """The model says yes to each group at least as often as the existing model does, less `slack`."""
    return [
        named.positive_rate(g, of=of, on=on)
        >= named.positive_rate_of(g, of=of, versus=versus, on=on) - slack
        for g in as_groups(groups)
    ]


@goal
def not_worse_off(
    groups: Groups | None = None, *, versus: str, slack: float = 0.0, on: str | None = None
) -> list[Constraint]:
    """Each group's accuracy is at least the existing model's, less `slack`."""
    return [
        named.accuracy(g, on=on) >= named.accuracy_of(g, versus=versus, on=on) - slack
        for g in as_groups(groups)
    ]


@goal
def limited_churn(
    groups: Groups | None = None, *, versus: str, at_most: float, on: str | None = None
) -> list[Constraint]:
    """At most this share of each group's decisions differs from the existing model's."""
    return [named.churn(g, versus=versus, on=on) <= at_most for g in as_groups(groups)]


@known_goal
def steering_examples(at_least: float, *, on: str = "steering") -> list[Constraint]:
    """Accuracy on a small set with better labels, given as the population `on`."""
    return [named.accuracy(on=on) >= at_least]


@known_goal
def egregious_examples(at_least: float = 1.0, *, on: str = "egregious") -> list[Constraint]:
    """Accuracy on examples that the model must get right, given as the population `on`."""
    return [named.accuracy(on=on) >= at_least]


@partial(known_goal, every_class=False)
def decision_rule(
    groups: Groups, *, decision: Value, at_least: float = 1.0, on: str | None = None
) -> list[Constraint]:
    """The model decides `decision` at least this often in each group; it needs no labels."""
    if not isinstance(decision, bool):
        return [named.positive_rate(g, of=decision, on=on) >= at_least for g in as_groups(groups)]
    rate = named.positive_rate if decision else named.negative_rate
    return [rate(g, on=on) >= at_least for g in as_groups(groups)]


BUILT_IN.update(KINDS, GOALS)


def __dir__() -> list[str]:
    return __all__
