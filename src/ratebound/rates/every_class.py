"""Goals that name no class speak of every class: with two that is the positive one, with more each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ratebound.rates.expressions import Constraint, Expression, Metric, Ratio
from ratebound.rates.kinds import KINDS
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Value


def of_every_class(constraint: Constraint, classes: Sequence[Value]) -> list[Constraint]:
    """A promise that a goal made, once for each of `classes` where there are more than two.

    >>> from ratebound import minimum_recall
    >>> (promise,) = minimum_recall(at_least=0.7)
    >>> of_every_class(promise, ("bird", "cat", "dog"))
    [recall(of="bird") >= 0.7, recall(of="cat") >= 0.7, recall(of="dog") >= 0.7]
    """
    open_rates = [rate for rate in constraint.rates if _is_open(rate)]
    if len(classes) <= 2 or not constraint.every_class or not open_rates:
        return [constraint]
    return [_of_class(constraint, each) for each in classes]


def rates_of_every_class(rate: Rate, classes: Sequence[Value]) -> list[Rate]:
    """A rate of each of `classes`, if there are more than two and it speaks of one but names none."""
    return (
        [replace(rate, of=each) for each in classes] if len(classes) > 2 and _is_open(rate) else [rate]
    )


def _is_open(rate: Rate) -> bool:
    kind = KINDS.get(rate.kind)  # a goal from another process may speak of a rate unknown here
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
