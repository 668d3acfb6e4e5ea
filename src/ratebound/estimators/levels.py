"""The level at which two ratios are compared, refined for the rules that a plug-in has learned.

Before there is a model, the best level is the one for thresholds on the plain model
(`solution.leveling`). The rules of a forecast may use more about groups, so their best level may differ.
They are solved quickly for any level, so some levels are tried.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ratebound.base.linear_program import TOLERANCE, worst_violation
from ratebound.estimators.plugging_in import solved_rules
from ratebound.estimators.rules import Rules, rules_for
from ratebound.estimators.search import Search, SearchResult
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import compile
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Ratio

STEPS = (0.25, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)  # multiples of the level so far
FINER = (0.95, 1.05)  # multiples of the best of those
DIGITS = 6  # of a level, since people read it


def releveled(asked: Search, result: SearchResult) -> tuple[Search, SearchResult]:
    """The search and its result at the best levels for its rules."""
    compiled, rules = asked.compiled, result.rules
    problem = compiled.problem.asked
    if rules is None or not problem.leveled or asked.certify is not None or compiled.goal is not None:
        return asked, result
    levels = levels_of(compiled.problem)
    best, reached = compiled, _reached(rules)
    for ratio in problem.leveled:
        for steps in (STEPS, FINER):
            start = levels[ratio]
            for step in steps:
                level = round(start * step, DIGITS)
                if level == levels[ratio]:
                    continue
                other = compile(problem.at_levels(levels | {ratio: level}), **compiled.populations)
                worth = _reached(rules_for(other, rules))
                if worth < reached:
                    best, reached, levels = other, worth, levels | {ratio: level}
    if best is compiled:
        return asked, result
    own_search = replace(asked, compiled=best)
    return own_search, solved_rules(own_search, rules_for(best, rules))


def levels_of(problem: Problem) -> dict[Ratio, float]:
    """The level of each ratio that others are compared with."""
    return {
        each.keeps.right: each.right.constant for each in problem.constraints if each.keeps is not None
    }


def _reached(rules: Rules) -> tuple[float, float]:
    """By how much the best rule breaks a promise, and its cost; less is better."""
    compiled: Compiled = rules.compiled
    rule = rules.best(np.zeros(rules.promises))
    worst = float(worst_violation(rule.violations, compiled.scale[1:]))
    return (0.0 if worst <= TOLERANCE else worst), rule.objective
