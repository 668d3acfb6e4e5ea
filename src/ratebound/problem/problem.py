"""A problem: what to minimise, and the promises to keep. Words only; data enters at `compile`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ratebound.rates.demands import Demand, demands
from ratebound.rates.expressions import Constraint, Expression, Range, SingleMetric
from ratebound.rates.grouping import Goal, Promise
from ratebound.rates.rate import Rate
from ratebound.rates.reach import check_reach
from ratebound.rates.subsets import Name, columns_in
from ratebound.rates.text import parse, parse_expression

Promises = Iterable["Promise | Range | str | Promises"]


@dataclass(frozen=True, init=False)
class Problem:
    """Minimise an expression subject to constraints; either may be given as text.

    Lists of constraints, such as goals return, may stand among the constraints. A goal on the values of
    a column stays as it is written until `compile` sees rows.

    >>> from ratebound import equal_opportunity, error_rate
    >>> fair = equal_opportunity({"sex": ("Female", "Male")}, ratio=0.95)
    >>> print(Problem(minimize=error_rate(), subject_to=[fair, "positive_rate() <= 0.2"]))
    minimize error_rate()
    subject to
      recall(sex == "Female") >= 0.95 * recall()
      recall(sex == "Male") >= 0.95 * recall()
      positive_rate() <= 0.2
    """

    minimize: Expression
    subject_to: tuple[Promise, ...]

    def __init__(self, minimize: Expression | str, subject_to: Promises = ()) -> None:
        if isinstance(minimize, str):
            minimize = parse_expression(minimize)
        if isinstance(minimize, SingleMetric):
            raise TypeError(
                f"{minimize} cannot be an objective: minimise a sum of rates, as in -rb.recall(), and "
                f"bound it instead, as in {minimize} >= 0.8"
            )
        if not isinstance(minimize, Expression) or not minimize.terms:
            raise TypeError(f"minimize takes an expression of rates, got {minimize!r}")
        object.__setattr__(self, "minimize", minimize)
        try:
            object.__setattr__(self, "subject_to", tuple(_flatten(subject_to)))
        except RecursionError:
            raise ValueError("subject_to holds itself, or lists in lists without end") from None
        for promise in self.subject_to:
            if isinstance(promise, Constraint):
                check_reach(promise)

    @property
    def rates(self) -> tuple[Rate, ...]:
        """Every rate it speaks of, once."""
        found = [rate for promise in self.subject_to for rate in promise.rates]
        return tuple(dict.fromkeys([*self.minimize.rates, *found]))

    @property
    def columns(self) -> tuple[Name, ...]:
        """Every column that a condition or a goal speaks of, once.

        >>> Problem("error_rate()", ["recall(age < 40) >= 0.9", "equal_odds(sex, ratio=0.9)"]).columns
        ('age', 'sex')
        """
        goals = [name for goal in self.subject_to if isinstance(goal, Goal) for name in goal.columns]
        return tuple(dict.fromkeys([*(n for r in self.rates for n in columns_in(r.subset)), *goals]))

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """What `subject_to` holds where every goal in it is spelled out, as in ``compiled.problem``."""
        for promise in self.subject_to:
            if isinstance(promise, Goal):
                raise ValueError(
                    f"{promise}: which groups there are is not known before there are rows: "
                    "rb.compile(problem, rows).problem has its constraints"
                )
        return tuple(promise for promise in self.subject_to if isinstance(promise, Constraint))

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """What the promises demand of plain rates, in order; a row each once compiled."""
        promises = enumerate(self.constraints)
        return tuple(demand for index, promise in promises for demand in demands(promise, index))

    def __str__(self) -> str:
        promises = "".join(f"\n  {constraint}" for constraint in self.subject_to)
        return f"minimize {self.minimize}" + (f"\nsubject to{promises}" if promises else "")


def _flatten(promises: Promises | Promise | Range | str) -> Iterable[Promise]:
    if isinstance(promises, Goal) and not promises.columns:
        yield from promises.constraints({})
    elif isinstance(promises, Range):
        yield from promises.constraints
    elif isinstance(promises, Constraint | Goal):
        yield promises
    elif isinstance(promises, str):
        yield from _flatten(parse(promises))
    elif isinstance(promises, Iterable):
        for promise in promises:
            yield from _flatten(promise)
    else:
        raise TypeError(f"subject_to takes constraints such as recall() >= 0.9, got {promises!r}")
