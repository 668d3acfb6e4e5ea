"""Kinds of rates, and the one table of them, which text, compiling, audits and docs read.

A linear kind is a sum of *atoms*: among the rows `over`, how many are in `given` and get the decision
`predicted`. It is about one class, or is a sum over every class, as errors are. A ratio has a numerator
and a denominator, which are sums of linear kinds. The area is `roc_auc`. With ``top=`` a kind is about
the rows with the largest scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ratebound._old.base.checks import as_number, closest
from ratebound._old.rates.expressions import Area, Expression, Metric, MixedSum, Rate, Ratio, Top
from ratebound._old.rates.subsets import (
    Decision,
    Label,
    Name,
    Referral,
    Subset,
    Value,
    only_decided,
    value_text,
)

Unit = Literal["share", "count", "cost", "ratio", "area"]
Speaks = Literal["one class", "two classes", "every class", "no class", "the referral"]
# The better direction of a rate: more, less, either (it depends), or neither (no model changes it).
Better = Literal["more", "less", "either", "neither"]
# The possible decisions, in order: no and then yes if there are two. A `Referral` is last; no row has it
# as its label.
Classes = tuple[Value, ...]
YES, NO, ANY = True, False, None
TWO: Classes = (False, True)
LABEL = Label()


@dataclass(frozen=True)
class Atom:
    """Weight of the rows in `given` that get the decision `predicted`, over the weight of `over`.

    `predicted` YES counts rows decided as `of`, NO counts rows decided otherwise, and ANY counts all.
    `of` is None for the positive one of two classes. If `over` is None, it is a count, not a share. A
    row counts `factor` times, multiplied by the row's amount in the column `amounts`, if there is one.
    """

    predicted: bool | None
    given: Subset
    over: Subset | None
    of: Value | None = None
    factor: float = 1.0
    amounts: Name | None = None


@dataclass(frozen=True)
class OneClass:
    """One class among all, as the rows that a kind of rate needs."""

    label: Subset  # rows that have it as their label
    existing: Subset  # rows that the existing model decides to be of this class
    agreed: Subset  # rows that the existing model gets right, whatever their class


# From a subset and a class to what a linear kind counts.
Counts = Callable[[Subset, OneClass], tuple[Atom, ...]]
# From a ratio's own options to its numerator and denominator, over all rows.
Sides = Callable[[Mapping[str, Value]], tuple[Expression, Expression]]
# The atoms of a kind, each with its cost.
Prices = Callable[[tuple[Atom, ...], Mapping[str, Value]], tuple[Atom, ...]]
# The options that only one kind takes, once checked, without those left at their defaults.
Own = Callable[[Mapping[str, Any]], dict[str, Value]]


@dataclass(frozen=True)
class Kind:
    """One kind of rate: its name, its parts, its unit and what it needs."""

    name: str
    meaning: str  # one sentence
    unit: Unit
    labels: bool  # whether it needs labels
    versus: bool  # whether it needs the decisions of an existing model
    counts: Counts | None = None  # for shares, counts and costs
    prices: Prices | None = None  # for costs
    sides: Sides | None = None  # for ratios: the numerator and the denominator
    same_as: str = ""  # another name of the same kind
    own: tuple[str, ...] = ()  # the names of the options that only it takes
    check_own: Own | None = None
    speaks: Speaks = "one class"  # which classes it is about
    top: bool = False  # whether it takes ``top=``, the rows with the largest scores
    better: Better = "either"  # for shares, counts and costs; a ratio's follows from its sides
    decided: Sides | None = None  # for a share or a cost: the same over rows that are not referred
    event: tuple[str, str] | None = None  # in a formula: what is counted, and among which rows
    example: tuple[str, str] | None = None  # a demand in plain words, and the promise that states it

    @property
    def options(self) -> tuple[str, ...]:
        """Its options besides conditions, in the order it prints them."""
        classes = ("of",) if self.speaks == "one class" else ()
        versus = ("versus",) if self.versus else ()
        if self.unit == "area":
            return ("on", "bins")
        top = ("top",) if self.top else ()
        per = ("per",) if self.top or self.unit in ("count", "cost") else ()
        return (*classes, *self.own, *versus, "on", "at", *top, *per)


class _Kinds(dict[str, Kind]):
    """Every kind by its name."""

    def __missing__(self, name: str) -> Kind:
        # A pickled constraint may name a rate that only the other process has defined.
        raise ValueError(
            f"the rate {name} is not defined in this process: import the module that defines it first"
        )


KINDS = _Kinds()


def metric_of(rate: Rate) -> Metric:
    """The metric that a rate stands for: a sum of this one rate, a ratio, an area or a top."""
    kind = KINDS[rate.kind]
    if rate.top is not None:
        return Top(rate)
    is_of_decided, rows = only_decided(rate.subset)
    sides = _sides_of_decided(rate, kind) if is_of_decided else kind.sides
    if sides is None:
        return Area(rate) if kind.counts is None else Expression(((rate, 1.0),))

    def said_of(part: Rate) -> Rate:
        """A rate of the numerator or denominator, on the ratio's rows."""
        takes = KINDS[part.kind].options
        return replace(
            part,
            subset=part.subset & rows,
            on=part.on or rate.on,
            at=rate.at if part.at is None else part.at,
            versus=rate.versus if "versus" in takes else None,
            of=rate.of if part.of is None and "of" in takes else part.of,
        )

    numerator, denominator = (side.with_rates(said_of) for side in sides(dict(rate.own)))
    return Ratio(numerator, denominator, rate)


def _sides_of_decided(rate: Rate, kind: Kind) -> Sides:
    """The two sides of a rate among the rows that are decided."""
    if kind.decided is not None:
        return kind.decided
    if kind.unit == "ratio":
        assert kind.sides is not None
        counts = (part for side in kind.sides(dict(rate.own)) for part in side.rates)
        if all(KINDS[part.kind].unit == "count" for part in counts):
            return kind.sides  # it counts decisions, and a referral is not a decision
    why = "it counts only decided rows" if kind.unit == "count" else "it needs all rows"
    raise ValueError(f"{rate.kind} does not take 'decided', since {why}: leave out 'decided'")


def wanted(metric: Metric) -> set[Better]:
    """The better direction of each part of a sum, or of a ratio as a whole.

    >>> from ratebound._old import error_rate, false_negatives, false_positives, precision, recall
    >>> wanted(recall()), wanted(error_rate() - 0.1 * recall()), wanted(precision())
    ({'more'}, {'less'}, {'more'})
    >>> sorted(wanted(error_rate() + 0.1 * recall())), wanted(false_negatives() / false_positives())
    (['less', 'more'], {'either'})
    """
    if isinstance(metric, Ratio):
        above = wanted(metric.numerator)
        return {"either"} if len(above) > 1 or above == wanted(metric.denominator) else above
    if isinstance(metric, MixedSum):
        return wanted(metric.ratio) | wanted(metric.rest)
    turned: dict[Better, Better] = {"more": "less", "less": "more"}
    terms = metric.terms if isinstance(metric, Expression) else ()
    each = ((KINDS[rate.kind].better, times) for rate, times in terms)
    return {turned.get(of, of) if times < 0 else of for of, times in each} - {"neither"}


def label_classes(classes: Classes) -> Classes:
    """The classes that rows may have as their label: all but a referral.

    >>> label_classes(("no", "yes", Referral("ask")))
    ('no', 'yes')
    """
    return classes[:-1] if referral_of(classes) is not None else classes


def referral_of(classes: Classes) -> Referral | None:
    """The referral, if rows may be referred."""
    last = classes[-1] if classes else None
    return last if isinstance(last, Referral) else None


NOBODY_REFERRED = (
    "no row can be referred here: name the decision that refers a row to a person, as in "
    'RateConstrainedClassifier(..., refer="ask a person") or rb.Population(..., refer=...)'
)


def check_decided(rates: Iterable[Rate], classes: Classes) -> None:
    """Raise if a rate is over decided rows and no row can be referred."""
    for rate in rates:
        if only_decided(rate.subset)[0] and referral_of(classes) is None:
            raise ValueError(f"{rate}: {NOBODY_REFERRED}")


def atoms(rate: Rate, classes: Classes = TWO) -> tuple[Atom, ...]:
    """What a share, a count or a cost counts, given these classes.

    >>> atoms(Rate("recall", of="cat"), ("bird", "cat", "dog"))[0].given
    the label is "cat"
    """
    kind, own = KINDS[rate.kind], dict(rate.own)
    assert kind.counts is not None, f"{rate} is not a sum over rows"
    labels, referral = label_classes(classes), referral_of(classes)
    if referral is None and kind.speaks == "the referral":
        raise ValueError(NOBODY_REFERRED)
    if kind.speaks == "the referral":
        return _of_class(rate, labels[-1], referral, classes)
    if kind.speaks == "every class":
        # In a comparison with an existing model, a referral is a decision like any other.
        own_classes = classes if kind.versus and not kind.labels else labels
        each_class = reversed(own_classes)
        return tuple(atom for each in each_class for atom in _of_class(rate, each, each, classes))
    if "predicted" in own:
        return _of_class(rate, own["label"], own["predicted"], classes)
    if own.keys() == {"column"} and rate.of is None and len(labels) > 2:  # every error costs
        errors = (_of_class(rate, each, each, classes) for each in reversed(labels))
        missed = 1 if referral is None else len(labels) - 1
        return tuple(atom for of_class in errors for atom in of_class[:missed])
    of = class_of(rate, classes)
    return _of_class(rate, of, of, classes)


def class_of(rate: Rate, classes: Classes) -> Value:
    """The class that a rate is about. If it names none, the last of two; with more it is an error."""
    labels, referral = label_classes(classes), referral_of(classes)
    if KINDS[rate.kind].speaks != "one class":
        return labels[-1]
    if rate.of is None and len(labels) > 2:
        bare = {str(label).strip(" .").casefold() for label in labels}
        alike = ", some of which differ only in spaces, dots or case: make them one" * (
            len(bare) < len(labels)
        )
        raise ValueError(
            f"there are {len(labels)} classes, so name one: {rate.kind}(of={value_text(labels[0])}). "
            f"The classes are {_listed(labels)}{alike}"
        )
    if referral is not None and rate.of == referral:
        raise ValueError(
            f"{value_text(referral)} is the name of a referral, not of a class: the share of rows that "
            "are referred is referred()"
        )
    return labels[-1] if rate.of is None else rate.of


def _of_class(
    rate: Rate, label: Value | None, decision: Value | None, classes: Classes
) -> tuple[Atom, ...]:
    """What a rate counts for one class, or for rows of one class that are decided to be another."""
    counts = KINDS[rate.kind].counts
    assert counts is not None
    shown = label_of(label, classes), _decides(rate.versus, label, classes)
    agreed = _agreed(rate, classes)
    counted_atoms = counts(rate.subset, OneClass(*shown, agreed))
    prices = KINDS[rate.kind].prices
    if prices is not None:
        counted_atoms = prices(counted_atoms, dict(rate.own))
    if is_count(rate):
        counted_atoms = tuple(replace(atom, over=None) for atom in counted_atoms)
    if len(classes) > 2:
        of = classes[place_of(decision, classes)]
        named = (a if a.predicted is ANY else replace(a, of=of) for a in counted_atoms)
        if referral_of(classes) is None:
            return tuple(named)
        return tuple(part for atom in named for part in _or_referred(atom, classes))
    if place_of(decision, classes) == len(classes) - 1:
        return counted_atoms
    return tuple(
        atom if atom.predicted is ANY else replace(atom, predicted=not atom.predicted)
        for atom in counted_atoms
    )  # with two classes, everything is expressed by yes


def _or_referred(atom: Atom, classes: Classes) -> tuple[Atom, ...]:
    """What an atom counts if rows may be referred: a referral is neither this class nor another."""
    if atom.predicted is ANY:
        return (atom,)
    others = [each for each in label_classes(classes) if each != atom.of]
    said = [atom.of] if atom.predicted is YES else others
    return tuple(replace(atom, predicted=YES, of=each) for each in said)


def label_of(value: Value | None, classes: Classes) -> Subset:
    """The rows with this class as their label."""
    place = place_of(value, classes)
    if len(classes) > 2:
        return Label(classes[place])
    return LABEL if place == len(classes) - 1 else ~LABEL


def _decides(column: str | None, value: Value | None, classes: Classes) -> Subset:
    """The rows that the existing model, whose decisions are a column, decides to be this class."""
    place = place_of(value, classes)
    if len(classes) > 2:
        return Decision(column or "", classes[place])
    yes = Decision(column or "")
    return yes if place == len(classes) - 1 else ~yes


def _agreed(rate: Rate, classes: Classes) -> Subset:
    """The rows that the existing model gets right."""
    first, *others = [
        _decides(rate.versus, each, classes) & label_of(each, classes)
        for each in reversed(label_classes(classes))
    ]
    for other in others:
        first |= other
    return first


def place_of(value: Value | None, classes: Classes) -> int:
    """The position of a class among `classes`; otherwise an error that lists the classes.

    >>> place_of("dgo", ("bird", "cat", "dog"))
    Traceback (most recent call last):
    ValueError: there is no class "dgo", did you mean "dog"? The classes are "bird", "cat", "dog"
    """
    if value is None:
        return len(label_classes(classes)) - 1
    for place, each in enumerate(classes):
        if each == value and isinstance(each, str) == isinstance(value, str):
            return place
    alike = closest(str(value), map(str, classes))
    meant = next((f", did you mean {value_text(each)}?" for each in classes if str(each) == alike), ".")
    raise ValueError(f"there is no class {value_text(value)}{meant} The classes are {_listed(classes)}")


def _listed(classes: Classes) -> str:
    return ", ".join(map(value_text, classes[:20])) + ", ..." * (len(classes) > 20)


def counted_over(rate: Rate, classes: Classes = TWO) -> tuple[Subset, ...]:
    """The rows among which a rate of any kind is counted; for counts and ratios, its whole subset.

    >>> counted_over(Rate("recall"))
    (the label is positive,)
    """
    unit = KINDS[rate.kind].unit
    if unit == "area":
        return rate.subset & LABEL, rate.subset & ~LABEL
    counted_atoms = () if unit == "ratio" else atoms(rate, classes)
    return tuple(rate.subset if atom.over is None else atom.over for atom in counted_atoms) or (
        rate.subset,
    )


def is_count(rate: Rate) -> bool:
    """Whether `rate` is a total, not a share or a mean."""
    return KINDS[rate.kind].unit == "count" or (is_cost(rate) and rate.per is not None)


def is_cost(rate: Rate) -> bool:
    """Whether `rate` is in the unit of its costs, such as money."""
    return KINDS[rate.kind].unit == "cost"


def counted(rate: Rate, per: float) -> Rate:
    """The count `rate`, scaled to `per` rows of its population.

    >>> counted(Rate("predicted_positives"), 6000)
    predicted_positives(per=6000)
    """
    rows = as_number(per, f"a number of rows, as in {rate.kind}(per=1000)")
    if rows <= 0:
        raise ValueError(f"{rate.kind}: per= takes a number of rows above 0, got {per!r}")
    return replace(rate, per=int(rows) if rows.is_integer() else rows)


def is_top_count(rate: Rate) -> bool:
    """Whether the `top` of `rate` is a number of rows, not a share of them."""
    return rate.top is not None and rate.top >= 1
