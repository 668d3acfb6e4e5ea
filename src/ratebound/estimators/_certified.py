"""The cheapest certified model: candidates tested from the safest on, to the first that fails.

Each is tested at the full level, since a later one is looked at only where all before it passed. The
rows to certify on come in here and nowhere else, and by then the candidates and their order are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ratebound.certifying.certify import certify
from ratebound.estimators._leveling import leveled
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.holding_out import parted
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.solution.certificate import Certificate, Certified
from ratebound.solution.mixture import Mixture

CERTIFIED = 0.95  # the confidence of a certificate where none is asked for


def set_aside(
    estimator: Any, problem: Problem, people: dict[str, Population], seed: int
) -> tuple[Problem, dict[str, Population], Compiled | None]:
    """The problem and the rows to train on, and the problem on the rows to certify on, if any.

    Of every cell the same share is set aside, so that no group is without its part. The levels at which
    ratios are compared with others are found on the rows to train on.
    """
    share = estimator.certify
    if share is None:
        return (leveled(estimator, problem, people) if problem.leveled else problem), people, None
    plain = problem.at_levels(dict.fromkeys(problem.leveled))
    try:
        fitting, aside = parted(compile(plain, **people), share, seed)
        if problem.leveled:
            at_levels = leveled(estimator, problem, fitting.populations)
            fitting, aside = (compile(at_levels, **part.populations) for part in (fitting, aside))
    except ValueError as error:
        raise ValueError(f"certify={share}: {error}") from None
    return fitting.problem, fitting.populations, aside


def cheapest_certified(
    candidates: Sequence[Mixture], otherwise: Mixture, aside: Compiled, confidence: float
) -> tuple[int | None, Certificate]:
    """Which candidate passed last, and its certificate; None, and that of `otherwise`, where none did.

    P-values are never below those of the tests before, so one that failed is not forgotten.
    """
    passed: tuple[int, Certificate] | None = None
    earlier: Certificate | None = None
    for place, candidate in enumerate(candidates):
        earlier = _tested(candidate, aside, confidence, earlier)
        if not earlier.holds:
            break
        passed = place, earlier
    return passed or (None, _tested(otherwise, aside, confidence, earlier))


def _tested(
    model: Mixture, aside: Compiled, confidence: float, earlier: Certificate | None
) -> Certificate:
    """The certificate of a model on the rows set aside, after `earlier` tests on the same rows."""
    own = certify(aside.problem, model, aside.first, confidence=confidence, **aside.others)
    if earlier is None:
        return own
    pairs = zip(own.promises, earlier.promises, strict=True)
    return replace(own, promises=tuple(_not_below(*pair) for pair in pairs))


def _not_below(own: Certified, earlier: Certified) -> Certified:
    """A promise with the p-value that it has in a sequence of tests: at least that of the one before."""
    if own.p_value >= earlier.p_value:
        return replace(own, holds=own.holds and earlier.holds)
    return replace(own, p_value=earlier.p_value, holds=earlier.holds)
