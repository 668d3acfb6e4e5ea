"""The certificate: every promise of a problem, tested on rows that the model has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ratebound._old.auditing.auditing import (
    check_given,
    check_key,
    counted_as_trained,
    lacks_labels,
    measurable,
)
from ratebound._old.auditing.decisions import given_decisions
from ratebound._old.auditing.judged import (
    Judged,
    Stands,
    among_trained,
    are_training_rows,
    as_deployed,
    judged,
)
from ratebound._old.auditing.tally import (
    Tally,
    counted,
    rows_behind,
    rows_showing,
    smallest_behind,
    total,
)
from ratebound._old.auditing.tallying import places_of, tallied
from ratebound._old.base.checks import check_number
from ratebound._old.base.progress import working
from ratebound._old.certifying._bounds import Aim
from ratebound._old.certifying._means import means, proportions, unbounded
from ratebound._old.certifying._tests import tested
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Asked, Problem, as_problem
from ratebound._old.problem.spelling_out import spelled_out
from ratebound._old.rates.demands import demands, is_even
from ratebound._old.rates.expressions import FIRST, Constraint, Expression, OfScores, Ratio
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.named import positive_rate
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import Name, column_text
from ratebound._old.solution.certificate import Certificate, Certified

LEAVE_OUT = "Leave it out of the problem given here"
CERTIFIED = "certified"  # what the first population is called


def certify(
    problem: Asked,
    model: Any = None,
    population: Population | None = None,
    *,
    decisions: Any = None,
    rows: Any = None,
    confidence: float = 0.95,
    in_expectation: bool = False,
    key: Name | None = None,
    **others: Population,
) -> Certificate:
    """Whether `model` keeps the promises of `problem` on new rows, shown on rows it has not seen.

    A certificate that should not hold does so with probability ``1 - confidence`` at most, however few
    rows there are: every test is exact or errs on the safe side, and ``docs/certificates.md`` says which
    is used where. A promise that none of them can test is refused, with the reason in its `why`.

    Parameters
    ----------
    problem : Problem, constraint, str or list of them
        The promises, made before looking at these rows.
    model : Mixture, RateConstrainedClassifier or classifier, default=None
        What is to be certified: a mixture, a fitted estimator, or any fitted classifier with `predict`.
    population : Population, default=None
        Rows with labels, drawn independently from where the model is used. It must not have been trained
        on them, nor chosen by them.
    decisions : array of shape (n,), str or Subset, default=None
        In place of `model`: decisions that somebody made, as in `audit`. By default a model decides.
    rows : Population or table, default=None
        In place of `population`: the rows that were decided, as in `audit`.
    confidence : float, default=0.95
        For all promises together. The default is the usual choice.
    in_expectation : bool, default=False
        Whether to certify a mixture's expectation over its members. By default the decisions that it
        makes are certified, by its hash of each row, since those are what people get.
    key : str or int, default=None
        The column of ids that ``predict(X, key=...)`` is given, if a mixture hashes these: the same
        decisions are then certified. By default it hashes the features.
    **others : Population
        The populations that rates name with ``on=``.

    Returns
    -------
    Certificate
        What holds, by which test, and how many rows it would take; it prints as a text.

    Raises
    ------
    ValueError
        If these are the very rows that the model was trained on; parts of them cannot be recognized.

    See Also
    --------
    audit : What the model does on these rows, with intervals but without proof.
    rows_needed : How many rows to keep for it, before training.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> class Always:
    ...     def predict(self, X):
    ...         return [1] * len(X)
    >>> people = rb.Population([[0.0]] * 60, [1] * 50 + [0] * 10)
    >>> certificate = rb.certify("recall() >= 0.9", Always(), people)
    >>> certificate.holds, round(certificate.promises[0].p_value, 4)
    (True, 0.0052)
    >>> decided = {"sex": ["Female", "Male"] * 500, "hired": [1, 1, 0, 1, 1, 1, 1, 0, 1, 0] * 100}
    >>> goal = 'positive_rate(sex == "Female") >= 0.8 * positive_rate(sex == "Male")'
    >>> rows = rb.Population(None, columns=decided)
    >>> rb.certify(goal, decisions="hired", rows=rows).holds
    True
    """
    problem = as_problem("certify", problem)
    model, population = given_decisions("certify", model, population, decisions, rows, others)
    check_given("certify", problem, model, population, others)
    refuse_general(problem.subject_to, "a certificate", f"{LEAVE_OUT}, and audit it: rb.audit.")
    check_number("confidence, a probability such as 0.95,", confidence, above=0, below=1)
    check_key("certify", key, model, population, in_expectation)
    people = among_trained(model, {FIRST: population, **others})
    problem = spelled_out(problem, people, CERTIFIED)
    levels = problem.constraints if not problem.leveled else ()
    problem, known = counted_as_trained(problem.asked, model)
    levels = (*levels, *known)  # two ratios may be compared at the levels that the model keeps
    if lacks_labels(problem.objective, people):  # which is not certified
        problem = problem.derived(positive_rate(), problem.subject_to)
    all_counted = _check_unseen(problem, model, people)
    certified = model if in_expectation else as_deployed(model, key)
    with working("certifying"):
        tally = tallied(judged(certified), people, places_of(problem), first=CERTIFIED)
        missing = {} if all_counted else measurable(problem, tally, known, CERTIFIED)[1]
        promises = list(_testable(problem, tally, levels, missing))
        aim = Aim(1.0 - confidence, len(promises))
        outcomes = [
            _refused(promise, missing[promise])
            if promise in missing
            else _certified(promise, tally, aim)
            for promise in promises
        ]
    return Certificate(
        confidence=confidence,
        model=_words(certified, tally.model),
        populations={
            CERTIFIED if name == FIRST else name: lines.size for name, lines in tally.lines.items()
        },
        promises=_judged(outcomes, aim.delta),
    )


def _testable(
    problem: Problem,
    tally: Tally,
    levels: Sequence[Constraint],
    missing: Mapping[Constraint | Parity, str],
) -> Iterator[Constraint | Parity]:
    """The promises; two ratios without a test of their own become two promises at a level."""
    for promise in problem.subject_to:
        assert isinstance(promise, Constraint | Parity)  # goals are spelled out
        ends = [each for each in levels if each.keeps == promise]
        if isinstance(promise, Constraint) or promise in missing or not ends:
            yield promise
        else:
            yield from ends if proportions(tally, promise) is None else [promise]


def _check_unseen(problem: Problem, model: Any, people: dict[str, Population]) -> bool:
    """Raise if the rows are the very table that a mixture was trained on.

    Whether every promise could be counted on these rows, which is only known if it was tried.
    """
    trained = are_training_rows(problem, model, people, CERTIFIED)
    if trained:
        raise ValueError(
            "these are the rows that the model was trained on; what it keeps there shows nothing "
            "about new ones: certify it on others, or set rows aside, certify=0.3"
        )
    return trained is False


def _words(certified: Any, model: Judged) -> str:
    """What was certified."""
    if isinstance(certified, Stands):
        mixture = certified.mixture
        by = "" if certified.key is None else f" by {column_text(certified.key)}"
        return f"{mixture.decider.called(len(mixture))}, on the decisions that it makes{by}"
    return model.words + (", in expectation" if not model.deterministic else "")


def room_of(constraint: Constraint) -> Expression:
    """The room of a promise: kept if it is at least 0. A ratio is cross-multiplied."""
    (demand,) = demands(constraint)
    return -demand.expression


def _certified(promise: Constraint | Parity, tally: Tally, aim: Aim) -> Certified:
    if isinstance(promise, Parity):
        return _compared(promise, tally, aim)
    constraint = promise
    if why := nobody_counted(constraint, tally) or _untestable(constraint, tally):
        return _refused(constraint, why)
    room = room_of(constraint)
    finding = tested(means(tally, room), room.constant, aim)
    value, rows = _measured(constraint, tally)
    return Certified(
        constraint=constraint,
        value=value,
        bound=total(tally, constraint.right),
        p_value=finding.p_value,
        holds=False,
        rows=rows,
        rows_needed=None if finding.why else rows_showing(total(tally, room), finding.spread, rows),
        method=finding.method,
        why=finding.why,
    )


def _compared(parity: Parity, tally: Tally, aim: Aim) -> Certified:
    """Two ratios compared: two proportions of the rows that each counts, given which rows these are."""
    sides = proportions(tally, parity)
    if sides is None:
        return _refused(
            parity,
            "there is no exact test of these two ratios here: promise each of them against a number, or "
            "certify a model that was trained for this promise; rb.audit gives an interval, which is "
            "not a certificate",
        )
    rows = min(mean.rows for mean in sides)
    if not rows:
        return _refused(parity, "no row here counts for or against it on one side")
    finding = tested(sides, 0.0, aim)
    sign = 1.0 if parity.relation == ">=" else -1.0
    left, right = (side * mean.mean for side, mean in zip((sign, -sign), sides, strict=True))
    return Certified(
        constraint=parity,
        value=left,
        bound=right,
        p_value=finding.p_value,
        holds=False,
        rows=rows,
        rows_needed=None if finding.why else rows_showing(sign * (left - right), finding.spread, rows),
        method=finding.method,
        why=finding.why,
    )


def nobody_counted(constraint: Constraint, tally: Tally) -> str:
    """The set of rows that a promise counts in and that has no row here, in words; or nothing."""
    rows, empty = smallest_behind(tally, constraint.rates)
    return "" if rows else f"no rows here where {empty}, so they show nothing about it"


def _untestable(constraint: Constraint, tally: Tally) -> str:
    if isinstance(constraint.left, OfScores):
        return (
            "for the order of scores, as of an area under the curve or of top=, there is no exact test "
            "here; rb.audit gives an interval, which is not a certificate"
        )
    for rate in room_of(constraint).rates:
        if why := unbounded(rate):
            return f"{why}; rb.audit gives an interval, which is not a certificate"
        if isinstance(rate.at, str) and rate.at not in tally.model.thresholds:
            return (
                f"at={rate.at!r} is not one threshold of the model: each of its members has its own, or "
                "it has not learned any; certify one member, or write a number"
            )
    return ""


def _refused(constraint: Constraint | Parity, why: str) -> Certified:
    return Certified(constraint, None, None, 1.0, False, 0, None, "none", why)


def _measured(constraint: Constraint, tally: Tally) -> tuple[float | None, int]:
    """The value of the left side, and the rows of the smallest set involved."""
    metric = constraint.left
    if not isinstance(metric, Ratio):
        assert isinstance(metric, Expression)
        return total(tally, metric), rows_behind(tally, room_of(constraint).rates)
    below = total(tally, metric.denominator)
    value = total(tally, metric.numerator) / below if below > 0 else None
    if not is_even(metric):
        return value, rows_behind(tally, room_of(constraint).rates)
    lines = tally[metric.denominator.rates[0].population]
    below_line = np.array([counted(lines, rate, tally.classes) for rate in metric.denominator.rates])
    return value, lines.counted(below_line.sum(axis=0) > 0)


def _judged(promises: Sequence[Certified], delta: float) -> tuple[Certified, ...]:
    """Each promise's own verdict: with all others where all hold together, otherwise by Holm."""
    together = all(promise.p_value <= delta for promise in promises)
    order = sorted(range(len(promises)), key=lambda i: promises[i].p_value)
    held, still = set(), True
    for place, index in enumerate(order):
        still = still and (together or promises[index].p_value <= delta / (len(promises) - place))
        held |= {index} if still and not promises[index].why else set()
    return tuple(replace(promise, holds=i in held) for i, promise in enumerate(promises))
