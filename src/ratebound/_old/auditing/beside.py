"""The simplest models on the rows of a tally: one decision for everyone, and existing models.

A line of a tally holds everything about its rows except their decision. So other decisions on the same
rows need no second reading.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ratebound._old.auditing.tally import Lines, Tally, total
from ratebound._old.base.linear_program import kept, worst_violation
from ratebound._old.base.types import Array
from ratebound._old.problem.compiled import Compiled
from ratebound._old.rates.expressions import FIRST
from ratebound._old.rates.kinds import label_classes, referral_of
from ratebound._old.rates.subsets import Decision, value_text
from ratebound._old.solution.baselines import NO, OWN, YES, Baseline

MOST_CLASSES = 50  # classes that are tried as the decision for everyone
ROUNDING = 1e-9


def simplest(compiled: Compiled, tally: Tally) -> tuple[Baseline, ...]:
    """The model of a tally first, then one decision for everyone, and the models that promises name.

    Empty if promises are about scores: decisions alone are not enough.
    """
    if not comparable(compiled):
        return ()
    others = [*_constants(compiled, tally), *_existing(compiled, tally)]
    return (baseline(OWN, compiled, tally), *others)


def comparable(compiled: Compiled) -> bool:
    """Whether decisions at 0 are enough for everything that a problem asks for."""
    rates = compiled.problem.rates
    return not any(rate.compares_scores or rate.at not in (None, 0) for rate in rates)


def baseline(name: str, compiled: Compiled, tally: Tally) -> Baseline:
    """A compiled problem measured on tallied decisions, without intervals."""
    problem, goal = compiled.problem, compiled.goal
    if goal is None:
        reached = total(tally, problem.cost)
    else:
        reached = float(goal.value(np.array([total(tally, piece) for piece in goal.pieces])))
    firsts = [own[0] for own in compiled.parts]
    demands = [problem.demands[row] for row in firsts]
    violations = np.array([total(tally, each.expression, each.per_row) for each in demands])
    units = np.array([compiled.scale[1 + row] for row in firsts])
    rate = _positive_rate(tally)
    chances = tally[FIRST].chances[0.0]
    weight = tally[FIRST].total > 0
    same = bool((chances[:, weight].min(axis=1) >= 1 - ROUNDING).any())
    return Baseline(
        name,
        float(problem.shown(reached)) + 0.0,  # no negative zero
        int(kept(violations, units).sum()) if len(violations) else 0,
        len(violations),
        float(worst_violation(violations, units)) if len(violations) else None,
        same,
        rate,
    )


def prevalence(tally: Tally) -> float | None:
    """The share of positive labels; None without labels, or with more than two classes."""
    lines = tally[FIRST]
    if lines.people.y is None or len(label_classes(tally.classes)) > 2:
        return None
    return float(lines.total @ (lines.people.y == 1) / lines.total.sum())


def _positive_rate(tally: Tally) -> float | None:
    lines = tally[FIRST]
    if len(label_classes(tally.classes)) > 2:
        return None
    return float(lines.total @ lines.chances[0.0][1] / lines.total.sum())


def _constants(compiled: Compiled, tally: Tally) -> list[Baseline]:
    """Each decision for everyone; with more than two classes, only the best."""
    classes = tally.classes
    if len(classes) > MOST_CLASSES:
        return []
    names = [f"{value_text(each)} for everyone" for each in classes]
    if len(label_classes(classes)) == 2:
        names[:2] = [NO, YES]
    if referral_of(classes) is not None:
        names[-1] = "everyone referred"
    every = []
    for place, name in enumerate(names):
        decisions = {on: np.full(len(lines), place) for on, lines in tally.lines.items()}
        every.append(baseline(name, compiled, _decided(tally, decisions)))
    if len(label_classes(classes)) == 2:
        return every
    sign = 1.0 if compiled.problem.sense == "minimize" else -1.0
    return [min(every, key=lambda each: sign * each.objective)]


def _existing(compiled: Compiled, tally: Tally) -> list[Baseline]:
    """The existing models that promises compare with, if every population has their decisions."""
    names = dict.fromkeys(rate.versus for rate in compiled.problem.rates if rate.versus)
    every = []
    for name in names:
        assert name is not None
        if all(name in lines.people.columns for lines in tally.lines.values()):
            decisions = {on: _by(name, lines, tally) for on, lines in tally.lines.items()}
            every.append(baseline(f"the model in {name!r}", compiled, _decided(tally, decisions)))
    return every


def _by(name: str, lines: Lines, tally: Tally) -> Array:
    """The place of an existing model's decision on each line, (k,)."""
    if len(tally.classes) == 2:
        return lines.inside(Decision(name)).astype(int)
    each = np.stack([lines.inside(Decision(name, value)) for value in tally.classes])
    return np.asarray(each.argmax(axis=0))


def _decided(tally: Tally, decisions: dict[str, Array]) -> Tally:
    """The same rows with other decisions; places (k,) of decisions by population."""
    places = np.arange(len(tally.classes))[:, None]
    lines = {
        name: replace(own, chances=dict.fromkeys(own.chances, (decisions[name] == places).astype(float)))
        for name, own in tally.lines.items()
    }
    return replace(tally, lines=lines, _clusters={})
