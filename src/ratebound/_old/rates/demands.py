"""What a promise demands of plain rates, as expressions that must be <= 0.

A ratio is cross-multiplied. An area becomes a mean of recalls at thresholds of its own, with one more
demand for the false-positive budget of each threshold. A rate of the rows with the largest scores is
taken at one such threshold; at least the given number of rows must lie above it. A custom constraint
demands nothing of rates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Literal

from ratebound._old.rates.expressions import Area, Constraint, Expression, OfScores, Rate, Ratio, Top
from ratebound._old.rates.general import General
from ratebound._old.rates.kinds import ANY, KINDS, atoms, is_count, is_top_count
from ratebound._old.rates.subsets import EVERYONE, Label, Subset, holds

Form = Literal["proportion", "odds", "share", "other"]


@dataclass(frozen=True)
class Demand:
    """One row of a compiled problem."""

    words: Constraint  # as reports print it
    expression: Expression  # must be <= 0
    promise: int  # the promise it came from, counted from 0
    per_row: bool = False  # whether its counts are taken per row of their subset
    spent: bool = False  # whether the choice of the threshold alone keeps it, on any rows


def demands(constraint: Constraint, promise: int = 0) -> list[Demand]:
    """What `constraint` demands; `promise` is its number among several.

    >>> from ratebound._old import precision
    >>> demands(precision() >= 0.5)[0].expression
    -true_positives() + 0.5 * predicted_positives()
    """
    metric, bound = constraint.left, constraint.right
    if isinstance(metric, OfScores):
        return _demands_on_scores(metric, constraint, promise)
    if isinstance(metric, General):  # code that has a model adds its value to the row
        return [Demand(constraint, -bound, promise)]
    if isinstance(metric, Ratio):
        difference = metric.numerator - bound.constant * metric.denominator
        per_row = is_even(metric)
    else:
        assert isinstance(metric, Expression)
        difference, per_row = metric - bound, False
    if constraint.relation == ">=":
        difference = -difference
    return [Demand(constraint, difference, promise, per_row)]


def _demands_on_scores(metric: OfScores, constraint: Constraint, promise: int) -> list[Demand]:
    """The demands at the thresholds of an area or of a top, and the budget of each threshold.

    For a top, at least `top` rows must lie above its threshold and be right often enough. If exactly
    `top` rows lie there, the first demand is the promise's violation.
    """
    budgets, right = budgets_of(metric), constraint.right
    if isinstance(metric, Area):
        recalls = [_at(metric, "recall", name) for name in budgets]
        asked = Demand(constraint, right - sum(recalls, Expression()) / len(recalls), promise)
        spent = [Demand(each, _spent(each) - each.right, promise) for each in budgets.values()]
        return [asked, *spent]
    ((name, budget),) = budgets.items()
    is_count, most = is_top_count(metric.rate), budget.right.constant
    if metric.rate.kind == "precision":
        hits, above = (_at(metric, kind, name) for kind in ("true_positives", "predicted_positives"))
        hits, per_row = hits / most, not is_count
    else:
        hits, above, per_row = _at(metric, "recall", name), _spent(budget), False
    asked = Demand(constraint, (right.constant / most) * above - hits, promise, per_row)
    return [asked, Demand(budget, 1.0 - _spent(budget) / most, promise, spent=True)]


def _spent(budget: Constraint) -> Expression:
    """The rows above a threshold that has a budget."""
    assert isinstance(budget.left, Expression)
    return budget.left


def _at(metric: OfScores, kind: str, at: str) -> Expression:
    """Another rate of the same rows, at one of the metric's thresholds."""
    rate = metric.rate
    per = rate.per if KINDS[kind].unit == "count" else None
    return Expression(((Rate(kind, rate.subset, rate.on, at, per=per), 1.0),))


def budgets_of(metric: OfScores) -> dict[str, Constraint]:
    """The learnable thresholds of an area or a top, each with a bound on the rows above it.

    >>> from ratebound._old import precision
    >>> list(budgets_of(precision(top=100)).values())
    [predicted_positives(at="precision(top=100)") >= 100.0]
    """
    if isinstance(metric, Top):
        kind = "predicted_positives" if is_top_count(metric.rate) else "positive_rate"
        assert metric.rate.top is not None
        return {str(metric): _at(metric, kind, str(metric)) >= metric.rate.top}
    bins = metric.rate.bins or 1
    names = {f"{metric} {k + 1}/{bins}": (k + 0.5) / bins for k in range(bins)}
    return {name: _at(metric, "false_positive_rate", name) <= share for name, share in names.items()}


def is_even(ratio: Ratio) -> bool:
    """Whether both sides count rows of one subset, so that the number of rows cancels."""
    rates = ratio.numerator.rates + ratio.denominator.rates
    constant = ratio.numerator.constant or ratio.denominator.constant
    one_place = len({(rate.population, rate.subset) for rate in rates}) == 1
    return one_place and not constant and all(is_count(r) and r.per is None for r in rates)


@lru_cache(maxsize=1024)
def form_of(ratio: Ratio) -> Form:
    """The form of a ratio: a proportion, odds, another share of a whole, or other.

    What a row adds to either side depends only on its label, its decision and the existing model's
    decision. In a proportion, every row of the denominator counts once, and the numerator counts some of
    these rows. In odds, no row is on both sides.

    >>> from ratebound._old import false_negatives, precision, true_positives, win_loss_ratio
    >>> form_of(precision()), form_of(win_loss_ratio(versus="live"))
    ('proportion', 'odds')
    >>> form_of(2 * true_positives() / (2 * true_positives() + false_negatives()))
    'share'
    """
    rates = ratio.numerator.rates + ratio.denominator.rates
    existing = {rate.versus for rate in rates if rate.versus is not None}
    classes = {rate.of for rate in rates}  # all else is another class, as if there were two
    several = any(len(said) > 1 for said in (existing, classes, {rate.at for rate in rates}))
    unlike = any(KINDS[rate.kind].speaks in ("two classes", "the referral") for rate in rates)
    if not is_even(ratio) or several or unlike:
        return "other"
    rows = list(product((False, True), repeat=3))
    both = [(_added(ratio.numerator, *row), _added(ratio.denominator, *row)) for row in rows]
    if {above for above, _ in both} | {below for _, below in both} <= {0.0, 1.0}:
        if all(above <= below for above, below in both):
            return "proportion"
        if not any(above and below for above, below in both):
            return "odds"
    return "share" if all(0 <= above <= below for above, below in both) else "other"


def unscaled(ratio: Ratio) -> tuple[float, Ratio]:
    """A number, and the ratio that it multiplies, whose numerator's largest coefficient is 1."""
    times = max((abs(c) for _, c in ratio.numerator.terms), default=1.0)
    above = Expression(
        tuple((rate, c / times) for rate, c in ratio.numerator.terms), ratio.numerator.constant / times
    )
    alike = replace(ratio, numerator=above)
    return (times, alike) if form_of(alike) in ("proportion", "odds") else (1.0, ratio)


def _added(side: Expression, yes: bool, label: bool, existing: bool) -> float:
    """What one row of the subset adds to a side of an even ratio."""

    def said(condition: Subset) -> bool:
        return label if isinstance(condition, Label) else existing

    total = 0.0
    for rate, coefficient in side.terms:
        for atom in atoms(replace(rate, subset=EVERYONE, of=None)):  # a referred row adds nothing
            if (atom.predicted is ANY or atom.predicted is yes) and holds(atom.given, said):
                total += coefficient
    return total
