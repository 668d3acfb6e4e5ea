"""The simplest models beside a solution: without promises, one decision for everyone, the live model.

A number alone says little: an error of 6.5% is bad if "no to everyone" has 6.45%. So every report of an
objective shows these models beside it, and says what the promises cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ratebound._old.base.linear_program import TOLERANCE
from ratebound._old.problem.problem import Problem
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.named import positive_rate

OWN, PLAIN = "this model", "the same model without promises"
ONE = "one rule, the best of its members"
COMPARED = "For comparison"
NO, YES = "no to everyone", "yes to everyone"
HARDLY = 0.01  # of a constant's cost: a model that improves on it by less is hardly better


@dataclass(frozen=True)
class Baseline:
    """One model: its objective as the problem states it, and how it keeps the promises."""

    name: str
    objective: float
    kept: int  # promises
    promises: int  # that were made
    violation: float | None  # the worst, in its units; kept if <= 0; None without promises
    constant: bool = False  # whether its decision is the same for everyone
    positive_rate: float | None = None  # for two classes


def told(
    problem: Problem, own: Baseline, others: Sequence[Baseline], prevalence: float | None
) -> list[str]:
    """What the promises cost, and whether one decision for everyone is as good, in a few sentences.

    `prevalence` is the share of positive labels, if that is known.
    """
    metric = str(problem.objective)
    sentences = []
    plain = next((each for each in others if each.name == PLAIN), None)
    if plain is not None and own.promises:
        costs = _cost(problem, own) - _cost(problem, plain)
        words = f"costs {costs:.4f}" if costs > 0.5e-4 else "costs nothing"
        sentences.append(
            f"Without promises {metric} is {plain.objective:.4f}, and with them {own.objective:.4f}: "
            f"keeping them {words}."
        )
    if as_good := as_good_as_a_constant(problem, own, others, prevalence):
        return [*sentences, as_good]
    simple, best = _simple(others), _constants(problem, own, others)
    shown = [*best[:1], *(each for each in simple if not each.constant)]
    words = ", ".join(f"{each.name} {each.objective:.4f}" for each in shown)
    return [*sentences, f"{COMPARED}, {metric}: {words}."] if words else sentences


def as_good_as_a_constant(
    problem: Problem, own: Baseline, others: Sequence[Baseline], prevalence: float | None
) -> str:
    """Which decision for everyone is as good as a model, and what rules it out; empty if none is."""
    if own.constant and own.positive_rate is not None:
        same = YES if own.positive_rate > 0.5 else NO
        return f"It says {same}. {_floor(problem, same, prevalence)}".rstrip()
    constants = _constants(problem, own, others)
    if not constants:
        return ""
    best = constants[0]
    mine, theirs = _cost(problem, own), _cost(problem, best)
    if mine < theirs - max(HARDLY * abs(theirs), TOLERANCE) or not math.isfinite(theirs):
        return ""
    than = "not better" if mine >= theirs - TOLERANCE else "hardly better"
    also = ", which keeps as many promises" if own.promises else ""
    return (
        f"That is {than} than {best.name}{also}: {problem.objective} {best.objective:.4f}. "
        f"{_floor(problem, best.name, prevalence)}"
    ).rstrip()


def _simple(others: Sequence[Baseline]) -> list[Baseline]:
    return [each for each in others if each.name not in (PLAIN, ONE)]


def _constants(problem: Problem, own: Baseline, others: Sequence[Baseline]) -> list[Baseline]:
    """The decisions for everyone that keep as many promises, the cheapest first.

    If promises are broken, a constant that breaks one by more than the model does is left out.
    """
    constants = [
        each
        for each in _simple(others)
        if each.constant
        and each.kept >= own.kept
        and (each.kept == each.promises or (each.violation or 0.0) <= (own.violation or 0.0) + TOLERANCE)
    ]
    return sorted(constants, key=lambda each: _cost(problem, each))


def _floor(problem: Problem, constant: str, prevalence: float | None) -> str:
    """A further promise that rules out the constant, and that the promises leave room for."""
    share = 0.05 if prevalence is None or not 0 < prevalence < 1 else prevalence
    everyone = [each for each in problem.subject_to if isinstance(each, Constraint)]
    bounds = [each for each in everyone if each.left == positive_rate() and not each.right.rates]
    highest = min((each.right.constant for each in bounds if each.relation == "<="), default=1.0)
    lowest = max((each.right.constant for each in bounds if each.relation == ">="), default=0.0)
    if constant == NO:
        share = share if share < highest else highest / 2
        return f"If that is not what you want, ask for a floor, such as positive_rate() >= {share:.2g}."
    if constant == YES:
        share = share if share > lowest else (1 + lowest) / 2
        return f"If that is not what you want, ask for a cap, such as positive_rate() <= {share:.2g}."
    return ""


def _cost(problem: Problem, each: Baseline) -> float:
    return each.objective if problem.sense == "minimize" else -each.objective
