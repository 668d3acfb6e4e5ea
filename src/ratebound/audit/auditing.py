"""The audit: every promise of a problem, measured on other rows, with how sure that makes us."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ratebound.audit.decided import Array, Decided, decide, is_mixture
from ratebound.audit.groups import groups, rates_of
from ratebound.audit.intervals import Interval, around_area, clopper_pearson, resampled
from ratebound.audit.measure import Tally, rows_behind, tally
from ratebound.audit.report import Audit, Kept, Method, Objective, Promise, Unit
from ratebound.base.linear_program import TOLERANCE, kept
from ratebound.problem.compiled import Compiled
from ratebound.problem.compiling import FIRST, compile
from ratebound.problem.counts import counting, rows_counted
from ratebound.problem.population import Population
from ratebound.problem.problem import Problem
from ratebound.rates.expressions import Area, Constraint, Expression, Rate, SingleMetric
from ratebound.rates.named import atoms, demands, is_count
from ratebound.rates.subsets import Label

Measured = tuple[float | None, float | None, Interval | None, Method]  # left, right, of the difference


def audit(
    problem: Problem,
    model: Any,
    population: Population,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    **others: Population,
) -> Audit:
    """What `problem` promised and what `model` keeps of it on `population`, and on `others` by name.

    `model` is a `Mixture`, an estimator that has one as `solution_`, or any fitted classifier with
    `predict`. Every value is the expectation over the mixture. The area of `roc_auc` is the mean over
    members, at the thresholds that its budgets allow on these very rows, not those learned elsewhere.
    A count that does not say out of how many rows speaks of as many as `model` was trained on, where
    that is known, and else of the rows audited; what is counted on these is scaled to that number.

    Each promise has an interval of its room at `level`, for that promise alone: exact for one rate of
    one model against a number, otherwise from `resamples` draws of rows (and for mixtures of members),
    as `ratebound.audit.intervals` says. Populations are taken to be drawn independently.

    >>> from ratebound import error_rate, recall
    >>> class Always:
    ...     def predict(self, X):
    ...         return [1] * len(X)
    >>> people = Population([[0.0]] * 4, [1, 1, 0, 0])
    >>> report = audit(Problem(error_rate(), [recall() >= 0.9]), Always(), people)
    >>> report.kept, report.promises[0].value, report.promises[0].verdict
    (True, 1.0, 'uncertain')
    """
    _check(problem, model, population, others, level, resamples)
    trained_for = getattr(getattr(model, "solution_", model), "problem", None)
    if isinstance(trained_for, Problem):
        problem = counting(problem, rows_counted(trained_for, FIRST), FIRST)
    try:
        compiled = compile(problem, population, **others)
    except ValueError as error:
        raise ValueError(f"{error} ({FIRST!r} is here the population to audit)") from None
    problem = compiled.problem
    decided = decide(model, compiled.populations)
    objective, violations = _expected(compiled, decided)
    draw = partial(resampled, level=level, resamples=resamples, seed=seed)
    promises, row = [], 0
    for constraint in problem.subject_to:
        fine = bool(kept(violations[row], compiled.scale[1 + row]))
        promises.append(_promise(constraint, float(violations[row]), fine, decided, level, draw))
        row += len(demands(constraint))
    _, _, interval, method = _sum(problem.minimize, Expression(), decided, level, draw)
    low, high = _around(objective, interval)
    return Audit(
        objective=Objective(
            str(problem.minimize), objective, low, high, _rows(problem.minimize, decided), method
        ),
        promises=tuple(promises),
        groups=groups(problem, decided),
        populations={name: len(p) for name, p in compiled.populations.items()},
        level=level,
        model=decided.words,
        training=_training(getattr(model, "solution_", model)),
    )


def _expected(compiled: Compiled, decided: Decided) -> tuple[float, Array]:
    """Objective and violations (m,), as expectations over the mixture."""
    given = {name: t for name, t in decided.thresholds.items() if name not in compiled.budgets}
    for name in compiled.learnable:
        if name not in given and name not in compiled.budgets:
            raise ValueError(
                f"a rate is taken at={name!r}, a threshold the model has not learned; it has "
                f"{', '.join(map(repr, given)) or 'none'}: train it on this problem, or write a number"
            )
    objectives, violations = compiled.evaluate(decided.scores, given)
    return float(decided.weights @ objectives), decided.weights @ violations


def _promise(
    constraint: Constraint, violation: float, fine: bool, decided: Decided, level: float, draw: Any
) -> Promise:
    metric, sign = constraint.left, 1.0 if constraint.relation == ">=" else -1.0
    if isinstance(metric, Area):
        measured = _area(metric, constraint.right.constant - violation, constraint, decided, level)
        rows = min(int(decided.mask(*at).sum()) for at in _classes(metric.rate))
    elif isinstance(metric, SingleMetric):
        measured, rows = _ratio(metric, constraint.right.constant, decided, draw)
    else:
        measured = _sum(metric, constraint.right, decided, level, draw)
        rows = _rows(metric + constraint.right, decided)
    left, right, interval, method = measured
    slack = None if left is None or right is None else sign * (left - right)
    if interval is not None and sign < 0:
        interval = (-interval[1], -interval[0])
    low, high = _around(slack, interval)
    return Promise(
        words=str(constraint),
        name=constraint.name,
        relation=constraint.relation,
        value=left,
        bound=right,
        slack=slack,
        slack_low=low,
        slack_high=high,
        violation=violation,
        kept=fine,
        verdict=_verdict(low, high),
        rows=rows,
        unit=_unit(constraint),
        method=method,
    )


def _verdict(low: float | None, high: float | None) -> Kept:
    if low is not None and low >= -TOLERANCE:
        return "kept"
    return "broken" if high is not None and high < -TOLERANCE else "uncertain"


def _sum(left: Expression, right: Expression, decided: Decided, level: float, draw: Any) -> Measured:
    """Two sums of rates: exact where one rate of one model is left of them, else drawn anew."""
    difference = left - right
    counts = tally(decided, [rate for rate, _ in (left.terms + right.terms)])
    values = float(counts.sum(left)), float(counts.sum(right))
    exact = _exact(difference, counts, decided, level)
    if exact is not None:
        return *values, exact, "exact"
    return *values, draw(counts, lambda weight: counts.sum(difference, weight)), "bootstrap"


def _exact(difference: Expression, counts: Tally, decided: Decided, level: float) -> Interval | None:
    if len(difference.terms) != 1 or not decided.deterministic:
        return None
    ((rate, coefficient),) = difference.terms
    overs = {atom.over for atom in atoms(rate)}
    if None in overs or decided.populations[rate.on or FIRST].weights is not None:
        return None
    (over,) = overs
    trials = int(decided.mask(rate.on or FIRST, over).sum())  # type: ignore[arg-type]  # not None
    successes = round(float(counts.value(rate)) * trials)
    ends = [coefficient * end for end in clopper_pearson(successes, trials, level)]
    return min(ends) + difference.constant, max(ends) + difference.constant


def _ratio(metric: SingleMetric, bound: float, decided: Decided, draw: Any) -> tuple[Measured, int]:
    """The ratio of expectations; None over nothing. Behind it stand the rows below the line."""
    top, bottom = (
        replace(metric.rate, kind=f"{metric.rate.kind} {part}") for part in ("numerator", "denominator")
    )
    counts = tally(decided, [top, bottom])
    above, below = float(counts.value(top)), float(counts.value(bottom))
    value = above / below if below > 0 else None

    def drawn(weight: Array) -> Array:
        with np.errstate(divide="ignore"):  # where no row can fall below the line
            return counts.value(top, weight) / counts.value(bottom, weight) - bound

    interval = draw(counts, drawn) if above > 0 or below > 0 else None
    rows = round(below * rows_behind(decided, [bottom]))
    return (value, bound, interval, "bootstrap"), rows


def _area(metric: Area, area: float, constraint: Constraint, decided: Decided, level: float) -> Measured:
    bound = constraint.right.constant
    name = metric.rate.on or FIRST
    inside = [decided.mask(*at) for at in _classes(metric.rate)]
    v, w = (decided.row_weights(name)[rows] for rows in inside)
    positives, negatives = (decided.scores[name][:, rows] for rows in inside)
    half = around_area(positives, negatives, decided.weights, v, w, level)
    return area, bound, (max(area - half, 0.0) - bound, min(area + half, 1.0) - bound), "delong"


def _classes(rate: Rate) -> list[tuple[str, Any]]:
    """Where the positive and the negative rows of an area are."""
    return [(rate.on or FIRST, rate.subset & label) for label in (Label(), ~Label())]


def _around(value: float | None, interval: Interval | None) -> tuple[float | None, float | None]:
    """An interval that holds its estimate: at the edge of what is possible draws miss it by a hair."""
    if interval is None:
        return None, None
    low, high = interval
    return (low, high) if value is None else (min(low, value), max(high, value))


def _rows(expression: Expression, decided: Decided) -> int:
    return rows_behind(decided, [rate for rate, _ in expression.terms])


def _unit(constraint: Constraint) -> Unit:
    if isinstance(constraint.left, SingleMetric):
        return "ratio" if constraint.left.rate.kind == "win_loss_ratio" else "rate"
    rates = [rate for rate, _ in constraint.left.terms + constraint.right.terms]
    return "rows" if any(map(is_count, rates)) else "rate"


def _training(model: Any) -> tuple[float, float] | None:
    """A mixture's objective and worst violation on the rows it was trained on."""
    try:
        violations = np.asarray(model.violations["train"], dtype=float)
        return float(model.objectives["train"]), float(violations.max(initial=-np.inf))
    except (AttributeError, KeyError, TypeError):
        return None


def _check(
    problem: Any, model: Any, population: Any, others: dict[str, Any], level: Any, resamples: Any
) -> None:
    if not isinstance(problem, Problem):
        raise TypeError(f"audit takes a rb.Problem first, got {type(problem).__name__}")
    for name, given in {"the third argument": population, **others}.items():
        if not isinstance(given, Population):
            raise TypeError(f"audit: {name} must be a rb.Population, got {type(given).__name__}")
    if not 0 < float(level) < 1:
        raise ValueError(f"level is a probability such as 0.95, got {level}")
    if int(resamples) < 100:
        raise ValueError(
            f"resamples must be 100 or more for percentiles to mean anything, got {resamples}"
        )
    for rate in (*(rate for rate, _ in problem.minimize.terms), *rates_of(problem)):
        if rate.on not in (None, FIRST, *others):
            raise ValueError(
                f"{rate}: population {rate.on!r} is not given; pass it: "
                f"rb.audit(problem, model, population, {rate.on}=...)"
            )
        if not is_mixture(model) and (rate.bins is not None or rate.at not in (None, 0)):
            raise ValueError(
                f"{rate} needs scores, and of {type(model).__name__} only decisions are used: give an "
                "object with weights, thresholds and member_scores(X) -> (rows, members), such as "
                "a rb.Mixture, or leave this constraint out"
            )
