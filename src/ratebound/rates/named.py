"""The named rates, and what each of them counts.

A name stands for a sum of *atoms*: among the rows `over`, how many are in `given` and get the
decision `predicted`. To add a rate, add one line to the table below and export the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from ratebound.rates.expressions import Area, Constraint, Expression, Rate, Ratio, as_number
from ratebound.rates.subsets import EVERYONE, Decision, Label, Subset, Value, where


@dataclass(frozen=True)
class Atom:
    """Weight of the rows in `given` that get the decision `predicted`, over the weight of `over`.

    `predicted` None counts rows whatever the decision; `over` None means a count, not a share.
    """

    predicted: bool | None
    given: Subset
    over: Subset | None


YES, NO, ANY = True, False, None
RESERVED = {"on", "at", "versus", "bins", "out_of"}  # never the names of columns in a rate's keywords
LABEL = Label()

# Each entry maps a subset (and for rates against an existing model, its yes-decisions) to atoms.
Counts = Callable[[Subset], tuple[Atom, ...]]
CountsVersus = Callable[[Subset, Subset], tuple[Atom, ...]]
RATES: dict[str, Counts] = {}
VERSUS: dict[str, CountsVersus] = {}


class RateFunction(Protocol):
    def __call__(
        self,
        *subset: Subset,
        on: str | None = None,
        at: float | str | None = None,
        **columns: Value | Iterable[Value],
    ) -> Expression: ...


class CountFunction(Protocol):
    def __call__(
        self,
        *subset: Subset,
        on: str | None = None,
        at: float | str | None = None,
        out_of: float | None = None,
        **columns: Value | Iterable[Value],
    ) -> Expression: ...


class VersusFunction(Protocol):
    def __call__(
        self,
        *subset: Subset,
        versus: str,
        on: str | None = None,
        at: float | str | None = None,
        out_of: float | None = None,
        **columns: Value | Iterable[Value],
    ) -> Expression: ...


def make_rate(
    kind: str,
    subset: tuple[Subset, ...],
    columns: dict[str, Value | Iterable[Value]],
    *,
    on: str | None = None,
    at: float | str | None = None,
    versus: str | None = None,
    bins: int | None = None,
    out_of: float | None = None,
) -> Rate:
    """Gather positional conditions and keywords into one checked `Rate`."""
    rows = EVERYONE
    for part in subset:
        if not isinstance(part, Subset):
            raise TypeError(
                f"{kind} takes conditions such as sex='Female' or rb.column('age') < 25, got {part!r}"
            )
        rows &= part
    for option in RESERVED & set(columns):
        raise TypeError(
            f"{kind} takes no {option}=; a column of that name is written rb.column({option!r}) == ..."
        )
    rows &= where(**columns)
    if versus is None and (kind in VERSUS or kind == "win_loss_ratio"):
        raise TypeError(
            f"{kind}: versus= takes the column with the existing model's decisions, got None"
        )
    for option, value in (("on", on), ("versus", versus)):
        if value is not None and not (isinstance(value, str) and value):
            raise TypeError(f"{kind}: {option}= takes a name, got {value!r}")
    if at is not None and not isinstance(at, str):
        at = as_number(at, f"a threshold, as in {kind}(at=0.5)")
    rate = Rate(kind, rows, on, at, versus, bins)
    return rate if out_of is None else counted(rate, out_of)


def _rate(kind: str, counts: Counts, meaning: str) -> RateFunction:
    def function(
        *subset: Subset,
        on: str | None = None,
        at: float | str | None = None,
        **columns: Value | Iterable[Value],
    ) -> Expression:
        return Expression(((make_rate(kind, subset, columns, on=on, at=at), 1.0),))

    RATES[kind] = counts
    _describe(function, kind, meaning, f'{kind}(sex == "Female")', 'sex="Female"')
    return function


def _count(kind: str, counts: Counts, meaning: str) -> CountFunction:
    def function(
        *subset: Subset,
        on: str | None = None,
        at: float | str | None = None,
        out_of: float | None = None,
        **columns: Value | Iterable[Value],
    ) -> Expression:
        return Expression(((make_rate(kind, subset, columns, on=on, at=at, out_of=out_of), 1.0),))

    RATES[kind] = counts
    meaning += " `out_of` says of how many rows of the population."
    _describe(function, kind, meaning, f"{kind}(out_of=6000)", "out_of=6000")
    return function


def _versus(kind: str, counts: CountsVersus, meaning: str) -> VersusFunction:
    def function(
        *subset: Subset,
        versus: str,
        on: str | None = None,
        at: float | str | None = None,
        out_of: float | None = None,
        **columns: Value | Iterable[Value],
    ) -> Expression:
        rate = make_rate(kind, subset, columns, on=on, at=at, versus=versus, out_of=out_of)
        return Expression(((rate, 1.0),))

    VERSUS[kind] = counts
    _describe(function, kind, meaning, f'{kind}(versus="live")', 'versus="live"')
    return function


def _describe(function: Callable[..., object], kind: str, meaning: str, text: str, call: str) -> None:
    function.__name__ = function.__qualname__ = kind
    function.__doc__ = f"{meaning}\n\n    >>> {kind}({call})\n    {text}\n    "


def _wrong(s: Subset, over: Subset | None) -> tuple[Atom, ...]:
    return Atom(NO, s & LABEL, over), Atom(YES, s & ~LABEL, over)


def _right(s: Subset, over: Subset | None) -> tuple[Atom, ...]:
    return Atom(YES, s & LABEL, over), Atom(NO, s & ~LABEL, over)


def _flips(s: Subset, h: Subset, over: Subset | None) -> tuple[Atom, ...]:
    return Atom(YES, s & ~h, over), Atom(NO, s & h, over)


def _wins(s: Subset, h: Subset, over: Subset | None) -> tuple[Atom, ...]:
    return Atom(YES, s & ~h & LABEL, over), Atom(NO, s & h & ~LABEL, over)


def _losses(s: Subset, h: Subset, over: Subset | None) -> tuple[Atom, ...]:
    return Atom(YES, s & ~h & ~LABEL, over), Atom(NO, s & h & LABEL, over)


def _agree(h: Subset) -> Subset:
    return (h & LABEL) | (~h & ~LABEL)


# fmt: off
positive_rate = _rate("positive_rate", lambda s: (Atom(YES, s, s),), "Share of rows the model says yes to.")
coverage = _rate("coverage", lambda s: (Atom(YES, s, s),), "Share of rows the model says yes to; the same as `positive_rate`.")
negative_rate = _rate("negative_rate", lambda s: (Atom(NO, s, s),), "Share of rows the model says no to.")
recall = _rate("recall", lambda s: (Atom(YES, s & LABEL, s & LABEL),), "Share of positive rows the model says yes to.")
true_positive_rate = _rate("true_positive_rate", lambda s: (Atom(YES, s & LABEL, s & LABEL),), "Share of positive rows the model says yes to; the same as `recall`.")
false_negative_rate = _rate("false_negative_rate", lambda s: (Atom(NO, s & LABEL, s & LABEL),), "Share of positive rows the model says no to.")
false_positive_rate = _rate("false_positive_rate", lambda s: (Atom(YES, s & ~LABEL, s & ~LABEL),), "Share of negative rows the model says yes to.")
true_negative_rate = _rate("true_negative_rate", lambda s: (Atom(NO, s & ~LABEL, s & ~LABEL),), "Share of negative rows the model says no to.")
accuracy = _rate("accuracy", lambda s: _right(s, s), "Share of rows the model decides as their label says.")
error_rate = _rate("error_rate", lambda s: _wrong(s, s), "Share of rows the model decides against their label.")
prevalence = _rate("prevalence", lambda s: (Atom(ANY, s & LABEL, s),), "Share of rows whose label is positive, whatever the model says.")
predicted_positives = _count("predicted_positives", lambda s: (Atom(YES, s, None),), "Number of rows the model says yes to.")
predicted_negatives = _count("predicted_negatives", lambda s: (Atom(NO, s, None),), "Number of rows the model says no to.")
true_positives = _count("true_positives", lambda s: (Atom(YES, s & LABEL, None),), "Number of positive rows the model says yes to.")
false_positives = _count("false_positives", lambda s: (Atom(YES, s & ~LABEL, None),), "Number of negative rows the model says yes to.")
true_negatives = _count("true_negatives", lambda s: (Atom(NO, s & ~LABEL, None),), "Number of negative rows the model says no to.")
false_negatives = _count("false_negatives", lambda s: (Atom(NO, s & LABEL, None),), "Number of positive rows the model says no to.")

churn = _versus("churn", lambda s, h: _flips(s, h, s), "Share of rows decided otherwise than by the existing model.")
loss_only_churn = _versus("loss_only_churn", lambda s, h: _losses(s, h, s & _agree(h)), "Of the rows the existing model gets right, the share the new one gets wrong.")
wins = _versus("wins", lambda s, h: _wins(s, h, None), "Number of rows the model gets right and the existing one wrong.")
losses = _versus("losses", lambda s, h: _losses(s, h, None), "Number of rows the model gets wrong and the existing one right.")
positive_rate_of = _versus("positive_rate_of", lambda s, h: (Atom(ANY, s & h, s),), "Share of rows the *existing* model says yes to, whatever the new one says.")
accuracy_of = _versus("accuracy_of", lambda s, h: (Atom(ANY, s & _agree(h), s),), "Share of rows the *existing* model gets right, whatever the new one says.")

# Ratios are made of these, per row of the subset so that both sides have the scale of a rate.
RATES["precision numerator"] = lambda s: (Atom(YES, s & LABEL, s),)
RATES["precision denominator"] = lambda s: (Atom(YES, s, s),)
VERSUS["win_loss_ratio numerator"] = lambda s, h: _wins(s, h, s)
VERSUS["win_loss_ratio denominator"] = lambda s, h: _losses(s, h, s)
# fmt: on


def precision(
    *subset: Subset,
    on: str | None = None,
    at: float | str | None = None,
    **columns: Value | Iterable[Value],
) -> Ratio:
    """Share of the model's yeses that are right. Compares with numbers only.

    A bound on it is kept as ``true positives - bound * yeses >= 0``, per row of the subset, which
    also holds when the model never says yes.

    >>> precision() >= 0.85
    precision() >= 0.85
    """
    return Ratio(make_rate("precision", subset, columns, on=on, at=at))


def win_loss_ratio(
    *subset: Subset,
    versus: str,
    on: str | None = None,
    at: float | str | None = None,
    **columns: Value | Iterable[Value],
) -> Ratio:
    """Wins over losses against an existing model. Compares with numbers only.

    >>> win_loss_ratio(versus="live") >= 1.2
    win_loss_ratio(versus="live") >= 1.2
    """
    return Ratio(make_rate("win_loss_ratio", subset, columns, on=on, at=at, versus=versus))


def roc_auc(
    *subset: Subset,
    on: str | None = None,
    bins: int = 10,
    **columns: Value | Iterable[Value],
) -> Area:
    """Area under the ROC curve, by the midpoint rule over `bins` false-positive budgets.

    Each budget gets a threshold of its own, learned with the model: ``roc_auc() >= 0.8`` asks that
    the mean recall at those thresholds is at least 0.8 and that each keeps its budget. The paper
    takes budgets l/L, which overstate the area by up to 1/L; the midpoints (l - 1/2)/L overstate it by at
    most half of that, and do so a little on any concave curve. An audit measures the area itself.

    >>> roc_auc(sex="Female", bins=20) >= 0.8
    roc_auc(sex == "Female", bins=20) >= 0.8
    """
    if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= 1000:
        raise ValueError(f"roc_auc: bins must be a whole number from 1 to 1000, got {bins!r}")
    return Area(make_rate("roc_auc", subset, columns, on=on, bins=bins))


def atoms(rate: Rate) -> tuple[Atom, ...]:
    """What `rate` counts."""
    if rate.versus is not None:
        return VERSUS[rate.kind](rate.subset, Decision(rate.versus))
    return RATES[rate.kind](rate.subset)


def is_count(rate: Rate) -> bool:
    """Whether `rate` is a number of rows, not a share of some."""
    return any(atom.over is None for atom in atoms(rate))


def counted(rate: Rate, out_of: float) -> Rate:
    """The count `rate`, out of so many rows of its population.

    >>> predicted_positives(sex="Female", out_of=6000) <= 900
    predicted_positives(sex == "Female", out_of=6000) <= 900.0
    """
    if not is_count(rate):
        raise ValueError(f"{rate} is a share, not a count: leave out_of= out")
    rows = as_number(out_of, f"a number of rows, as in {rate.kind}(out_of=1000)")
    if rows <= 0:
        raise ValueError(f"{rate.kind}: out_of= takes a number of rows above 0, got {out_of!r}")
    return replace(rate, out_of=int(rows) if rows.is_integer() else rows)


def demands(constraint: Constraint) -> list[tuple[Constraint, Expression]]:
    """What `constraint` demands of plain rates: its words, and an expression that is to be <= 0.

    A ratio is cross-multiplied; an area becomes a mean of recalls at thresholds of its own, and one
    more demand for the false-positive budget of each threshold.
    """
    metric, bound = constraint.left, constraint.right.constant
    if isinstance(metric, Area):
        return _area_demands(metric, constraint)
    if isinstance(metric, Expression):
        difference = metric - constraint.right
    else:
        top = _part(metric.rate, f"{metric.rate.kind} numerator")
        bottom = _part(metric.rate, f"{metric.rate.kind} denominator")
        difference = top - bound * bottom
    return [(constraint, difference if constraint.relation == "<=" else -difference)]


def _area_demands(metric: Area, constraint: Constraint) -> list[tuple[Constraint, Expression]]:
    budgets = area_budgets(metric)
    mean_recall = Expression()
    for threshold in budgets:
        mean_recall += _part(metric.rate, "recall", at=threshold) / len(budgets)
    found = [(constraint, constraint.right - mean_recall)]
    for threshold, budget in budgets.items():
        spent = _part(metric.rate, "false_positive_rate", at=threshold)
        found.append((spent <= budget, spent - budget))
    return found


def area_budgets(metric: Area) -> dict[str, float]:
    """The learnable thresholds of an area, each with the false positive rate it may spend."""
    bins = metric.rate.bins or 1
    return {f"{metric} {k + 1}/{bins}": (k + 0.5) / bins for k in range(bins)}


def _part(rate: Rate, kind: str, at: str | None = None) -> Expression:
    part = Rate(kind, rate.subset, rate.on, rate.at if at is None else at, rate.versus)
    return Expression(((part, 1.0),))
