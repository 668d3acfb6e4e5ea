"""What a kind of rate is, and the one table of them, which text, compiling, audits and docs read.

A linear kind is a sum of *atoms*: among the rows `over`, how many are in `given` and get the decision
`predicted`. A ratio is a numerator and a denominator, sums of linear kinds. An area is `roc_auc`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ratebound.rates.expressions import Area, Expression, Metric, Ratio
from ratebound.rates.numbers import as_number
from ratebound.rates.rate import Rate
from ratebound.rates.subsets import Decision, Label, Subset, Value

Unit = Literal["share", "count", "ratio", "area"]
YES, NO, ANY = True, False, None
LABEL = Label()


@dataclass(frozen=True)
class Atom:
    """Weight of the rows in `given` that get the decision `predicted`, over the weight of `over`.

    `predicted` None counts rows whatever the decision; `over` None means a count, not a share.
    """

    predicted: bool | None
    given: Subset
    over: Subset | None


# What a linear kind counts on a subset, given where an existing model says yes.
Counts = Callable[[Subset, Subset], tuple[Atom, ...]]
# The numerator and the denominator of a ratio, said of everyone, by the options of its own.
Sides = Callable[[Mapping[str, Value]], tuple[Expression, Expression]]
# The options that only one kind takes, once checked, without those left at their defaults.
Own = Callable[[Mapping[str, Any]], dict[str, Value]]


@dataclass(frozen=True)
class Kind:
    """One kind of rate: its name, what it is made of, its unit and what it needs."""

    name: str
    meaning: str  # one sentence
    unit: Unit
    labels: bool  # whether it needs labels
    versus: bool  # whether it needs the decisions of an existing model
    counts: Counts | None = None  # of shares and counts
    sides: Sides | None = None  # above and below the line, of ratios
    same_as: str = ""  # the kind that this is another name of
    own: tuple[str, ...] = ()  # the names of the options that it alone takes
    check_own: Own | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """What it takes besides conditions, in the order it prints them."""
        versus = ("versus",) if self.versus else ()
        if self.unit == "area":
            return ("on", "bins")
        return (*self.own, *versus, "on", "at", *(("per",) if self.unit == "count" else ()))


KINDS: dict[str, Kind] = {}  # every kind by its name


def metric_of(rate: Rate) -> Metric:
    """What the words of a rate stand for: a sum of itself alone, a ratio or an area."""
    kind = KINDS[rate.kind]
    if kind.counts is not None:
        return Expression(((rate, 1.0),))
    if kind.sides is None:
        return Area(rate)

    def said_of(part: Rate) -> Rate:
        """A rate of the numerator or denominator, on the rows that the ratio speaks of."""
        return replace(
            part,
            subset=part.subset & rate.subset,
            on=part.on or rate.on,
            at=rate.at if part.at is None else part.at,
            versus=rate.versus if KINDS[part.kind].versus else None,
        )

    numerator, denominator = (side.with_rates(said_of) for side in kind.sides(dict(rate.own)))
    return Ratio(numerator, denominator, rate)


def atoms(rate: Rate) -> tuple[Atom, ...]:
    """What a share or a count counts."""
    counts = KINDS[rate.kind].counts
    assert counts is not None, f"{rate} is no sum of rows"
    return counts(rate.subset, Decision(rate.versus or ""))


def counted_over(rate: Rate) -> tuple[Subset, ...]:
    """The rows that a rate of any kind is counted among; those of its subset for counts and ratios.

    >>> counted_over(Rate("recall"))
    (the label is positive,)
    """
    unit = KINDS[rate.kind].unit
    if unit == "area":
        return rate.subset & LABEL, rate.subset & ~LABEL
    found = () if unit == "ratio" else atoms(rate)
    return tuple(rate.subset if atom.over is None else atom.over for atom in found) or (rate.subset,)


def is_count(rate: Rate) -> bool:
    """Whether `rate` is a number of rows, not a share of some."""
    return KINDS[rate.kind].unit == "count"


def counted(rate: Rate, per: float) -> Rate:
    """The count `rate`, of every so many rows of its population.

    >>> counted(Rate("predicted_positives"), 6000)
    predicted_positives(per=6000)
    """
    rows = as_number(per, f"a number of rows, as in {rate.kind}(per=1000)")
    if rows <= 0:
        raise ValueError(f"{rate.kind}: per= takes a number of rows above 0, got {per!r}")
    return replace(rate, per=int(rows) if rows.is_integer() else rows)
