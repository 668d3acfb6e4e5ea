"""Promises before training: whether they are possible, whether they conflict, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ratebound._old.auditing.auditing import measured
from ratebound._old.auditing.judged import Judged, judged, scored
from ratebound._old.auditing.tallying import tallied
from ratebound._old.base.linear_program import LeastViolation, kept
from ratebound._old.base.types import Array
from ratebound._old.certifying.rows_needed import rows_needed
from ratebound._old.estimators.classifier import fitted_plainly
from ratebound._old.estimators.explanation import (
    ALWAYS,
    PERFECT,
    UNCONSTRAINED,
    Explained,
    Explanation,
    RateRows,
    TotalPrice,
)
from ratebound._old.problem.compiled import Compiled
from ratebound._old.problem.compiling import compile
from ratebound._old.problem.masks import masker
from ratebound._old.problem.population import Population, check_single
from ratebound._old.problem.problem import Asked, as_problem
from ratebound._old.problem.sharing import check_in_memory
from ratebound._old.rates.expressions import FIRST, Constraint
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.kinds import TWO, counted_over, label_classes
from ratebound._old.rates.subsets import value_text
from ratebound._old.solution.baselines import NO, YES
from ratebound._old.solution.determinize import evaluate
from ratebound._old.solution.mixture import Mixture
from ratebound._old.solution.possible import AnyClassifier
from ratebound._old.solution.status import remedy
from ratebound._old.solution.thresholds import known_names, thresholds_on
from ratebound._old.tables.treatments import Features

CERTAIN = 1e6  # a score beyond any threshold


def explain(
    problem: Asked,
    population: Population,
    *,
    known: str | Sequence[str] = (),
    model: Any = "linear",
    features: Features | Sequence[str] | None = None,
    seed: int = 0,
    **others: Population,
) -> Explanation:
    """Whether the promises of `problem` can be kept on these rows, which conflict, and at what price.

    Linear programs show what no classifier can do, even if it saw the labels. Three kinds of classifier
    show what is possible: a few simple ones, a `model` trained without promises on the `features`, and
    thresholds on its score for each combination of the `known` columns. The model is trained once; it is
    left out if rows have no features or labels. `rb.plan` takes longer and measures the best way to keep
    the promises.

    Parameters
    ----------
    problem : Problem, constraint, str or list of them
        The objective and the promises, or promises alone.
    population : Population
        The rows; features and labels may be missing.
    known : str or list of str, default=()
        Columns that may be used to decide. By default none: one threshold for everyone.
    model : str, learner, estimator or module, default="linear"
        As in `RateConstrainedClassifier`; the default is the fastest.
    features : Features or list of str, default=None
        Columns that the model may see; all by default.
    seed : int, default=0
        The seed of the training.
    **others : Population
        The populations that rates name with ``on=``.

    Returns
    -------
    Explanation
        Fields for programs; it prints as text.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population(None, [1, 1, 1, 0])
    >>> promises = [rb.positive_rate() <= 0.25, rb.recall() >= 0.9]
    >>> found = rb.explain(promises, people)
    >>> found.possible, found.conflict
    (False, (positive_rate() <= 0.25, recall() >= 0.9))
    >>> [(str(constraint), amount) for constraint, amount in found.relax]
    [('positive_rate() <= 0.25', 0.2429), ('recall() >= 0.9', 0.2429)]
    """
    problem = as_problem("explain", problem)
    if not problem.subject_to:
        raise ValueError("the problem promises nothing, so there is nothing to explain")
    remedy = "Leave it out of the problem given here."
    refuse_general(problem.subject_to, "explain, which asks what any classifier could do,", remedy)
    check_single("explain", [population], "train on them with rb.RateConstrainedRanker, and audit it")
    check_in_memory("explain", {FIRST: population, **others})
    compiled = compile(problem, population, **others)
    known = known_names(known)
    for name in known:
        compiled.first.column(name)  # a wrong name is an error, not an unknown price
    everything, parts = AnyClassifier.on(compiled), compiled.parts
    least = everything.least(*_asked(compiled, range(len(compiled.constraints))))
    possible = least.violation == 0
    conflict, relax = ((), ()) if possible else _conflict(compiled, parts, least, everything)
    bound = everything.price(least) if possible and compiled.goal is None else None
    plain = _unconstrained(compiled, model, features, seed)
    rates, people = compiled.problem.rates, compiled.populations
    audits = {
        name: measured(compiled, tallied(rule, people, rates))
        for name, rule in _simple(compiled, plain).items()
    }
    alone = [everything.least(*_asked(compiled, part)).violation for part in parts]
    price = None
    if bound is not None:
        reached, why_not, says = _by_thresholds(compiled, plain, known)
        unconstrained = audits[UNCONSTRAINED][0].value if UNCONSTRAINED in audits else None
        constants = {
            name: float(audited.value)
            for name, (audited, _) in audits.items()
            if name.startswith(ALWAYS) and audited.value is not None
        }
        results = reached, why_not, constants, says
        price = TotalPrice(bound.objective, bound.free, unconstrained, known, *results)
    return Explanation(
        problem=compiled.problem,
        rows={name: len(people) for name, people in compiled.populations.items()},
        positive={name: _positive(people) for name, people in compiled.populations.items()},
        classes=compiled.classes,
        promises=tuple(
            Explained(
                constraint=constraint,
                rates=tuple(_rate_rows(constraint, compiled)),
                classifiers={name: promises[index] for name, (_, promises) in audits.items()},
                possible=alone[index] == 0,
                least_violation=alone[index] * float(compiled.scale[1 + parts[index][0]]),
                price=None if bound is None else bound.prices[parts[index][0]],
            )
            for index, constraint in enumerate(compiled.problem.constraints)
        ),
        possible=possible,
        conflict=conflict,
        relax=relax,
        exact=len(compiled.blocks) == 1,
        price=price,
        needed=rows_needed(compiled.problem, compiled.first, **compiled.others),
    )


def _asked(compiled: Compiled, rows: Sequence[int]) -> tuple[Array, Array]:
    """Room and elasticity, (m,) each, of a program for these rows only."""
    room = np.full(len(compiled.constraints), np.inf)
    room[list(rows)] = 0.0
    return room, np.ones(len(room))


def _conflict(
    compiled: Compiled, parts: tuple[range, ...], least: LeastViolation, everything: AnyClassifier
) -> tuple[tuple[Constraint, ...], tuple[tuple[Constraint, float], ...]]:
    """The conflicting constraints, and how far to relax each of them to make them possible."""
    rows, _, amounts = remedy(compiled.constraints, everything.scale, least, everything.least)
    promised = compiled.problem.constraints
    at_odds = [i for i, part in enumerate(parts) if set(part) & set(rows)]
    needed = [] if amounts is None else [(promised[i], float(amounts[parts[i][0]])) for i in at_odds]
    return tuple(promised[i] for i in at_odds), tuple(each for each in needed if each[1] > 0)


def _unconstrained(
    compiled: Compiled, model: Any, features: Features | Sequence[str] | None, seed: int
) -> Mixture | None:
    """The model trained without promises, if there are features and labels to train it on."""
    if compiled.first.y is None or any(each.X is None for each in compiled.populations.values()):
        return None
    return fitted_plainly(compiled, model=model, features=features, random_state=seed).solution_


def _simple(compiled: Compiled, plain: Mixture | None) -> dict[str, Judged]:
    """Classifiers that need no promises."""
    people, classes = compiled.populations, compiled.decisions

    def scores(decisions: Array) -> Array:
        """Scores (n,) or (D, n) that lead to these decisions (n,) with certainty."""
        decided = decisions == (1 if classes == 2 else np.arange(classes)[:, None])
        return np.where(decided, CERTAIN, -CERTAIN)

    def always(place: int) -> Callable[[Population], Array]:
        return lambda each: np.full(len(each), place)

    names = ("no", "yes") if classes == 2 else tuple(map(value_text, compiled.classes))
    rules = {f"{ALWAYS}{name}": always(place) for place, name in enumerate(names)}
    if all(each.y is not None for each in people.values()):
        rules[PERFECT] = lambda each: np.asarray(each.y).astype(int)
    judgements = {
        name: scored({on: scores(rule(each)) for on, each in people.items()}, name)
        for name, rule in rules.items()
    }
    return judgements if plain is None else judgements | {UNCONSTRAINED: judged(plain)}


def _by_thresholds(
    compiled: Compiled, plain: Mixture | None, known: Sequence[str]
) -> tuple[float | None, str, str]:
    """The objective at which thresholds on the plain model's score keep every promise, or why not.

    Then the one decision that they make for everyone, if they do.
    """
    if plain is None:
        return None, "there is no model to set them for", ""
    try:
        at_thresholds = thresholds_on(plain, compiled, known)
    except ValueError as error:
        return None, str(error), ""
    outcome = evaluate(at_thresholds, compiled)
    if not kept(outcome.violations, compiled.scale[1:]).all():
        return None, "none keeps every promise", ""
    lines = tallied(judged(at_thresholds), compiled.populations, ())[FIRST]
    same = [chance.min() >= 1 for chance in lines.chances[0.0]]
    return outcome.objective, "", (NO, YES)[same.index(True)] if any(same) and len(same) == 2 else ""


def _rate_rows(constraint: Constraint, compiled: Compiled) -> Iterator[RateRows]:
    """Rows and positives of each rate's group, and the number of rows it is a share of."""
    for rate in constraint.rates:
        people = compiled.populations[rate.population]
        mask = masker(people)
        inside = mask(rate.subset)
        over = map(mask, counted_over(rate, compiled.classes))
        positive = _positive(people, inside)
        yield RateRows(str(rate), int(inside.sum()), positive, min(int(rows.sum()) for rows in over))


def _positive(people: Population, inside: Any = slice(None)) -> int | None:
    """Rows with a positive label; None without labels, or with more than two classes."""
    if people.y is None or len(label_classes(people.classes or TWO)) > 2:
        return None
    return int((people.y[inside] == 1).sum())
