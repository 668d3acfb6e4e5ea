"""Before any training: how many rows it takes to certify each promise, if kept with a margin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ratebound._old.auditing.auditing import measurable
from ratebound._old.auditing.report import plain
from ratebound._old.auditing.tally import Tally, rows_behind, scale
from ratebound._old.auditing.tallying import NOBODY, places_of, tallied
from ratebound._old.base.checks import check_number
from ratebound._old.base.document import Cell, Document, Paragraph, ReportTable, count, heads
from ratebound._old.base.rendering import Documented
from ratebound._old.certifying._bounds import Aim, bets, normal
from ratebound._old.certifying._means import Mean, means, same_once, unbounded
from ratebound._old.certifying._tests import arranged, fixed, threshold, without_constants
from ratebound._old.certifying.certify import nobody_counted, room_of
from ratebound._old.problem.population import Population
from ratebound._old.problem.problem import Asked, as_problem
from ratebound._old.problem.spelling_out import spelled_out
from ratebound._old.rates.demands import is_even
from ratebound._old.rates.expressions import FIRST, Constraint, Expression, OfScores, Ratio
from ratebound._old.rates.general import refuse_general
from ratebound._old.rates.kinds import is_count

MARGINS = (0.01, 0.02, 0.05)  # of rates; of counts, per row that they are out of
HEADS = heads("promise", "with a margin", "rows here", "rows needed", "in all")
Margin = float | Iterable[float] | Mapping[Constraint, float]


@dataclass(frozen=True)
class Needed:
    """One promise, kept with a margin."""

    constraint: Constraint
    margin: float
    rows: int  # here, of the smallest set involved
    rows_needed: int | None  # of that set; None if no number is enough, or if it cannot be certified
    rows_in_all: int | None  # of its population, if the set keeps its share
    why: str = ""  # this cannot be said


@dataclass(frozen=True)
class RowsNeeded(Documented):
    """The rows that certificates need; prints as a table.

    Parameters
    ----------
    confidence : float
        Of the certificates.
    power : float
        The probability of a certificate if the promise is kept with the margin.
    promises : tuple of Needed
        For each promise, one for each margin: its `constraint`, the `margin`, the `rows` here of the
        smallest set involved, the `rows_needed` of that set, the `rows_in_all` of its population if the
        set keeps its share, and `why` if this cannot be said.

    See Also
    --------
    rows_needed : Makes it.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population(None, [1, 0] * 50)
    >>> needs = rb.rows_needed("recall() >= 0.8", people, margin=0.05)
    >>> needs.promises[0].rows, needs.promises[0].rows_needed, needs.promises[0].rows_in_all
    (50, 388, 775)
    """

    confidence: float
    power: float
    promises: tuple[Needed, ...]

    def document(self) -> Document:
        rows: list[tuple[Cell, ...]] = []
        last = None
        for each in self.promises:
            numbers = map(count, (each.rows, each.rows_needed, each.rows_in_all))
            words = "" if each.constraint == last else str(each.constraint)
            rows.append((words, f"{each.margin:g}", *numbers))
            last = each.constraint
        table = ReportTable("Rows that certificates would take", HEADS, tuple(rows), apart=False)
        untold = {each.constraint: each.why for each in self.promises if each.why}
        said = (Paragraph(f"{promise}: {why}", apart=False) for promise, why in untold.items())
        sure, chance = f"{100 * self.confidence:.4g}%", f"{100 * self.power:.4g}%"
        lead = f"To certify each at {sure} confidence, with a chance of {chance}:"
        return Document("Rows needed", lead, (table, *said), lambda: plain(vars(self)))


def rows_needed(
    problem: Asked,
    population: Population,
    *,
    margin: Margin | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    rate: float = 0.5,
    **others: Population,
) -> RowsNeeded:
    """How many rows would certify each promise of `problem` if it is kept with this `margin`.

    No model is needed. These are normal approximations, for planning; the certificate itself is exact.

    Parameters
    ----------
    problem : Problem, constraint, str or list of them
        The promises.
    population : Population
        Rows like those to come. Only the shares of the groups are used.
    margin : float, list of float, or mapping of Constraint to float, default=None
        The margin, in the units of the promise: a number, several, or one for each constraint. By
        default .01, .02 and .05 are tried; for counts these are per row.
    confidence : float, default=0.95
        Of the certificate, as in `rb.certify`.
    power : float, default=0.8
        The probability of getting the certificate. The default is the usual one in planning studies.
    rate : float, default=0.5
        The assumed value of rates that the promise does not determine. The default varies most, so it
        errs on the side of more rows. For a ratio it is the assumed share of rows that count.
    **others : Population
        The populations that rates name with ``on=``.

    Returns
    -------
    RowsNeeded
        It prints as a table.

    Examples
    --------
    >>> import ratebound._old as rb
    >>> people = rb.Population(None, [1, 0] * 500, columns={"sex": (["f"] * 200 + ["m"] * 800)})
    >>> promises = [rb.recall(sex="f") >= 0.9 * rb.recall(), rb.recall() >= 0.8]
    >>> print(rb.rows_needed(rb.Problem(rb.error_rate(), promises), people, margin=0.05))
    To certify each at 95% confidence, with a chance of 80%:
    promise                               with a margin  rows here  rows needed  in all
    ───────────────────────────────────────────────────────────────────────────────────
    recall(sex == "f") >= 0.9 * recall()           0.05        100          500   4,998
    recall() >= 0.8                                0.05        500          388     775
    """
    problem = as_problem("rows_needed", problem)
    remedy = "Leave it out of the problem given here: it cannot be certified."
    refuse_general(problem.subject_to, "rows_needed", remedy)
    for name, given in {"the second argument": population, **others}.items():
        if not isinstance(given, Population):
            raise TypeError(f"rows_needed: {name} must be a rb.Population, got {type(given).__name__}")
    for name, value in {"confidence": confidence, "power": power, "rate": rate}.items():
        check_number(f"{name}, a probability such as 0.8,", value, above=0, below=1)
    people = {FIRST: population, **others}
    problem = spelled_out(problem, people)
    undecided = tallied(NOBODY, people, places_of(problem), first=FIRST)
    missing = measurable(problem, undecided, (), FIRST)[1]
    aim = Aim(1.0 - confidence, len(problem.constraints), power)
    needs = []
    for constraint in problem.constraints:
        why = missing.get(constraint) or _untold(constraint) or nobody_counted(constraint, undecided)
        for each in _margins(margin, constraint, undecided):
            needed = Needed(constraint, each, 0, None, None, why)
            needs.append(needed if why else _needed(needed, undecided, aim, rate))
    return RowsNeeded(confidence, power, tuple(needs))


def _margins(margin: Margin | None, constraint: Constraint, tally: Tally) -> list[float]:
    if margin is None:
        counts = () if isinstance(constraint.left, Ratio) else filter(is_count, constraint.rates)
        unit = max((scale(tally, rate) for rate in counts), default=1.0)
        return [unit * each for each in MARGINS]
    if isinstance(margin, Mapping):
        if constraint not in margin:
            raise ValueError(f"margin says nothing of {constraint}: give a number for each constraint")
        margins = [margin[constraint]]
    else:
        margins = list(margin) if isinstance(margin, Iterable) else [margin]
    for each in margins:
        check_number("margin, by how much a promise is kept,", each, above=0)
    return margins


def _untold(constraint: Constraint) -> str:
    if isinstance(constraint.left, OfScores):
        return "areas under the curve, and rates with top=, are not certified"
    return next((why for why in map(unbounded, room_of(constraint).rates) if why), "")


def _needed(asked: Needed, tally: Tally, aim: Aim, rate: float) -> Needed:
    """The rows for one promise and margin, by the test that it would get."""
    constraint = asked.constraint
    room = room_of(constraint)
    rows = rows_behind(tally, room.rates)
    parts, constant = without_constants(means(tally, room), room.constant)
    if not parts:
        return replace(asked, rows=rows, why=fixed(constant).method)
    if len(parts) == 1:
        times = _times_alone(parts[0], constant, asked, tally, aim, rate)
    else:
        spread = arranged(parts).at_rate(rate).spread(aim)
        times = (spread / _room(asked, tally, rate)) ** 2
    if not math.isfinite(times):
        return replace(asked, rows=rows)
    everyone = tally[_smallest(tally, room)].size
    return replace(
        asked,
        rows=rows,
        rows_needed=max(math.ceil(times * rows), 1),
        rows_in_all=max(math.ceil(times * everyone), 1),
    )


def _times_alone(
    mean: Mean, constant: float, asked: Needed, tally: Tally, aim: Aim, rate: float
) -> float:
    """The rows needed as a multiple of the rows here, for one mean; infinite if no number is enough."""
    at, reach, rows = threshold(mean, constant), mean.reach, mean.rows
    if at is None or mean.weights is not None:
        surprise = normal if mean.ternary else bets
        spread = (surprise(aim.delta) + aim.luck) * reach * math.sqrt(rate * (1 - rate) / rows)
        return (spread / _room(asked, tally, rate)) ** 2
    if isinstance(asked.constraint.left, Ratio) and is_even(asked.constraint.left):
        better = room_of(_tighter(asked.constraint, asked.margin))
        other = threshold(*_alone(tally, better))
        truth = math.inf if other is None else other
        speaking = rate * rows_behind(tally, better.rates)  # of the rows here, for or against it
    else:
        share = rate if 0.0 in same_once(mean.possible + constant) else 1.0
        truth, speaking = at + asked.margin / reach / share, share * rows
    return _binomial_rows(at, truth, aim) / speaking if truth <= 1 else math.inf


def _alone(tally: Tally, room: Expression) -> tuple[Mean, float]:
    (mean,), constant = without_constants(means(tally, room), room.constant)
    return mean, constant


def _tighter(constraint: Constraint, margin: float) -> Constraint:
    sign = 1.0 if constraint.relation == ">=" else -1.0
    return replace(constraint, right=constraint.right + sign * margin)


def _binomial_rows(at: float, truth: float, aim: Aim) -> float:
    """Rows of which a binomial test shows that a proportion, `truth`, is above `at`.

    The normal formula with Fleiss's correction for whole numbers.
    """
    apart = truth - at
    deviations = normal(aim.delta) * math.sqrt(at * (1 - at))
    deviations += aim.luck * math.sqrt(max(truth * (1 - truth), 0.0))
    rows = (deviations / apart) ** 2
    return rows / 4 * (1 + math.sqrt(1 + 2 / (rows * apart))) ** 2


def _room(asked: Needed, tally: Tally, rate: float) -> float:
    """The margin in units of the room; a ratio's margin is multiplied by its denominator."""
    metric = asked.constraint.left
    if not isinstance(metric, Ratio):
        return asked.margin
    below = metric.denominator.constant
    for each, coefficient in metric.denominator.terms:
        lines = tally[each.population]
        inside = lines.counted(lines.inside(each.subset)) / lines.size if is_count(each) else 1.0
        below += coefficient * scale(tally, each) * inside * rate
    return asked.margin * below


def _smallest(tally: Tally, room: Expression) -> str:
    """The population of the smallest set involved."""
    return min(room.rates, key=lambda rate: rows_behind(tally, [rate])).population
