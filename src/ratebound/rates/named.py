"""The named rates: a line each, from which text, compiling, audits, printing and the docs follow.

To add one, add a line to the table below, by `ratio` where it is a quotient, and export the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from ratebound.rates.costs import OWN, check_costs, priced
from ratebound.rates.documented import DEFAULTS, docstring, is_required
from ratebound.rates.expressions import Area, Expression, Metric, Ratio
from ratebound.rates.grouping import check_new
from ratebound.rates.kinds import (
    ANY,
    KINDS,
    LABEL,
    NO,
    YES,
    Atom,
    Better,
    Counts,
    Kind,
    OneClass,
    Speaks,
    Unit,
    counted,
    metric_of,
)
from ratebound.rates.numbers import as_number
from ratebound.rates.rate import OPTIONS, Rate
from ratebound.rates.subsets import EVERYONE, Decision, Subset, Value, leaves, plain_value, where

Said_co = TypeVar("Said_co", covariant=True)


class RateFunction(Protocol[Said_co]):
    """What every named rate is: a function from rows, and some of these options, to what is said.

    `words` are columns with their values; a count takes ``per=`` too, and an area ``bins=``.
    """

    def __call__(
        self,
        *subset: Subset,
        versus: str | None = None,
        on: str | None = None,
        at: float | str | None = None,
        **words: Any,
    ) -> Said_co: ...


def say(name: str, /, *subset: Subset, **words: Any) -> Metric:
    """The rate of that name, on rows given by conditions and keywords.

    >>> say("recall", where(sex="Female"), on="pool")
    recall(sex == "Female", on="pool")
    """
    kind, rows = KINDS[name], EVERYONE
    for part in subset:
        if not isinstance(part, Subset):
            raise TypeError(
                f"{name} takes conditions such as sex='Female' or rb.column('age') < 25, got {part!r}"
            )
        rows &= part
    own = {option: words.pop(option, None) for option in kind.own}
    options = {option: words.pop(option, None) for option in OPTIONS}
    for option, value in options.items():
        if value is not None and option not in kind.options:
            reason = ", it counts every class" if option == "of" and kind.speaks == "every class" else ""
            raise TypeError(
                f"{name} takes no {option}={reason}; a column of that name is written "
                f"rb.column({option!r}) == ..."
            )
    if kind.check_own is not None:
        options["own"] = tuple(kind.check_own({o: v for o, v in own.items() if v is not None}).items())
    return metric_of(_checked(Rate(name, rows & where(**words), **options), kind))


def _checked(rate: Rate, kind: Kind) -> Rate:
    if kind.versus and rate.versus is None:
        raise TypeError(
            f"{rate.kind}: versus= takes the column with the existing model's decisions, got None"
        )
    rate = rate if rate.of is None else replace(rate, of=plain_value(rate.of))
    if rate.of is not None and "predicted" in dict(rate.own):
        raise TypeError(
            f"{rate.kind}: with label= and predicted= the classes are said, so leave out of="
        )
    for option, value in (("on", rate.on), ("versus", rate.versus)):
        if value is not None and not (isinstance(value, str) and value):
            raise TypeError(f"{rate.kind}: {option}= takes a name, got {value!r}")
    if rate.at is not None and not isinstance(rate.at, str):
        rate = replace(rate, at=as_number(rate.at, f"a threshold, as in {rate.kind}(at=0.5)"))
    if kind.unit == "area":
        rate = replace(rate, bins=10 if rate.bins is None else rate.bins)
        if type(rate.bins) is not int or not 1 <= rate.bins <= 1000:
            raise ValueError(
                f"{rate.kind}: bins must be a whole number from 1 to 1000, got {rate.bins!r}"
            )
    return rate if rate.per is None else counted(rate, rate.per)


def _function(kind: Kind, details: str = "") -> Any:
    """Enter a kind into the table; the function that says it."""

    def function(*subset: Subset, **words: Any) -> Metric:
        return say(kind.name, *subset, **words)

    KINDS[kind.name] = kind
    function.__name__ = function.__qualname__ = kind.name
    function.__doc__ = docstring(kind, details)
    empty, by_name = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    named = [
        inspect.Parameter(
            name, by_name, default=empty if is_required(kind, name) else DEFAULTS.get(name)
        )
        for name in kind.options
    ]
    rows, columns = inspect.signature(function).parameters.values()
    signature = inspect.Signature([rows, *named, columns.replace(name="columns")])
    function.__signature__ = signature  # type: ignore[attr-defined]  # as help() shows it
    return function


def _rate(
    name: str,
    counts: Counts,
    meaning: str,
    same_as: str = "",
    speaks: Speaks = "one class",
    better: Better = "either",
) -> RateFunction[Expression]:
    """A share or a count; its unit and its needs are read off its atoms."""
    existing = Decision("versus")
    found = counts(EVERYONE, OneClass(LABEL, existing, existing & LABEL))
    rows = [rows for atom in found for rows in (atom.given, atom.over) if rows is not None]
    conditions = [condition for each in rows for condition in leaves(each)]
    versus = any(isinstance(condition, Decision) for condition in conditions)
    labels, is_share = LABEL in conditions, all(atom.over is not None for atom in found)
    unit: Unit = "share" if is_share else "count"
    kind = Kind(
        name, meaning, unit, labels, versus, counts, same_as=same_as, speaks=speaks, better=better
    )
    if speaks == "two classes":
        kind = replace(kind, own=("label", "predicted"), check_own=_two_classes)
    function: RateFunction[Expression] = _function(kind)
    return function


def ratio(
    name: str,
    numerator: Expression | RateFunction[Expression],
    denominator: Expression | RateFunction[Expression],
    meaning: str = "",
) -> RateFunction[Ratio]:
    """Define a named ratio: a function like `precision`, known from here on in text and to `rb.load`.

    What the ratio is asked of (conditions, ``on=``, ``at=``, ``versus=``) is asked of both sides.

    Parameters
    ----------
    name : str
        What it is called in text: a plain word that no built-in rate or goal has. A ratio of your own can
        be defined again.
    numerator : Expression or function
        A rate such as `rb.false_positives`, or a sum of rates, said of everyone.
    denominator : Expression or function
        The same, without negative coefficients: it must never be below 0.
    meaning : str, default=""
        A sentence for its help and for reports. By default one that names both sides.

    Returns
    -------
    function
        It takes conditions and options as rates do, and gives a `Ratio`.

    Raises
    ------
    ValueError
        If the name is taken or no plain word, or the denominator may be negative.

    Examples
    --------
    >>> import ratebound as rb
    >>> missed_per_alarm = rb.ratio("missed_per_alarm", rb.false_negatives, rb.false_positives)
    >>> missed_per_alarm(sex="Female") <= 2
    missed_per_alarm(sex == "Female") <= 2.0
    """
    check_new(name, KINDS)
    top, bottom = _said_of_everyone(name, numerator), _said_of_everyone(name, denominator)
    sentence = (meaning or f"The ratio of {top} to {bottom}").rstrip(". ") + "."
    parts = [KINDS[rate.kind] for rate in Ratio(top, bottom).rates]
    labels, versus = any(part.labels for part in parts), any(part.versus for part in parts)
    speaks: Speaks = "one class" if any(p.speaks == "one class" for p in parts) else "every class"
    function: RateFunction[Ratio] = _function(
        Kind(name, sentence, "ratio", labels, versus, sides=lambda _: (top, bottom), speaks=speaks)
    )
    return function


def _said_of_everyone(name: str, part: Expression | RateFunction[Expression]) -> Expression:
    word = getattr(part, "__name__", None)
    if isinstance(word, str) and word in KINDS:
        part = Expression(((Rate(word), 1.0),))
    if not isinstance(part, Expression) or any(KINDS[r.kind].counts is None for r in part.rates):
        raise TypeError(
            f"{name}: a ratio is made of rates such as rb.true_positives or of sums, got {part!r}"
        )
    return part


def _two_classes(own: Mapping[str, Any]) -> dict[str, Value]:
    if len(own) < 2:
        raise TypeError('confusion takes two classes, as in confusion(label="cat", predicted="dog")')
    return {option: plain_value(value) for option, value in own.items()}


def _beta(own: Mapping[str, Any]) -> dict[str, Value]:
    beta = as_number(own.get("beta", 1.0), "how much recall counts, as in f_score(beta=2)")
    if beta <= 0:
        raise ValueError(f"f_score: beta= takes a number above 0, got {own['beta']!r}")
    return {} if beta == 1 else {"beta": int(beta) if beta.is_integer() else beta}


def _f_sides(own: Mapping[str, Any]) -> tuple[Expression, Expression]:
    square = float(own.get("beta", 1.0)) ** 2
    right = (1 + square) * true_positives()
    return right, right + square * false_negatives() + false_positives()


# fmt: off
positive_rate = _rate("positive_rate", lambda s, c: (Atom(YES, s, s),), "Share of rows the model says yes to.")
coverage = _rate("coverage", lambda s, c: (Atom(YES, s, s),), "Share of rows the model says yes to.", "positive_rate")
negative_rate = _rate("negative_rate", lambda s, c: (Atom(NO, s, s),), "Share of rows the model says no to.")
recall = _rate("recall", lambda s, c: (Atom(YES, s & c.label, s & c.label),), "Share of positive rows the model says yes to.", better="more")
true_positive_rate = _rate("true_positive_rate", lambda s, c: (Atom(YES, s & c.label, s & c.label),), "Share of positive rows the model says yes to.", "recall", better="more")
false_negative_rate = _rate("false_negative_rate", lambda s, c: (Atom(NO, s & c.label, s & c.label),), "Share of positive rows the model says no to.", better="less")
false_positive_rate = _rate("false_positive_rate", lambda s, c: (Atom(YES, s & ~c.label, s & ~c.label),), "Share of negative rows the model says yes to.", better="less")
true_negative_rate = _rate("true_negative_rate", lambda s, c: (Atom(NO, s & ~c.label, s & ~c.label),), "Share of negative rows the model says no to.", better="more")
accuracy = _rate("accuracy", lambda s, c: (Atom(YES, s & c.label, s),), "Share of rows the model decides as their label says.", speaks="every class", better="more")
error_rate = _rate("error_rate", lambda s, c: (Atom(NO, s & c.label, s),), "Share of rows the model decides against their label.", speaks="every class", better="less")
confusion = _rate("confusion", lambda s, c: (Atom(YES, s & c.label, s & c.label),), "Of the rows with one label, the share the model takes for another class.", speaks="two classes")
prevalence = _rate("prevalence", lambda s, c: (Atom(ANY, s & c.label, s),), "Share of rows whose label is positive, whatever the model says.", better="neither")
predicted_positives = _rate("predicted_positives", lambda s, c: (Atom(YES, s, None),), "Number of rows the model says yes to.")
predicted_negatives = _rate("predicted_negatives", lambda s, c: (Atom(NO, s, None),), "Number of rows the model says no to.")
true_positives = _rate("true_positives", lambda s, c: (Atom(YES, s & c.label, None),), "Number of positive rows the model says yes to.", better="more")
false_positives = _rate("false_positives", lambda s, c: (Atom(YES, s & ~c.label, None),), "Number of negative rows the model says yes to.", better="less")
true_negatives = _rate("true_negatives", lambda s, c: (Atom(NO, s & ~c.label, None),), "Number of negative rows the model says no to.", better="more")
false_negatives = _rate("false_negatives", lambda s, c: (Atom(NO, s & c.label, None),), "Number of positive rows the model says no to.", better="less")
cost: RateFunction[Expression] = _function(
    Kind("cost", "Mean of what the model's errors cost, over all rows.", "cost", labels=True, versus=False, counts=lambda s, c: (Atom(NO, s & c.label, s), Atom(YES, s & ~c.label, s)), prices=priced, own=OWN, check_own=check_costs, better="less"),
    "Say at least one of its options. The mean is over all rows of the subset, right decisions too, which\ncost nothing.",
)

churn = _rate("churn", lambda s, c: (Atom(YES, s & ~c.existing, s),), "Share of rows decided otherwise than by the existing model.", speaks="every class", better="less")
loss_only_churn = _rate("loss_only_churn", lambda s, c: (Atom(NO, s & c.existing & c.label, s & c.agreed),), "Of the rows the existing model gets right, the share the new one gets wrong.", speaks="every class", better="less")
wins = _rate("wins", lambda s, c: (Atom(YES, s & ~c.existing & c.label, None),), "Number of rows the model gets right and the existing one wrong.", speaks="every class", better="more")
losses = _rate("losses", lambda s, c: (Atom(NO, s & c.existing & c.label, None),), "Number of rows the model gets wrong and the existing one right.", speaks="every class", better="less")
positive_rate_of = _rate("positive_rate_of", lambda s, c: (Atom(ANY, s & c.existing, s),), "Share of rows the *existing* model says yes to, whatever the new one says.", better="neither")
accuracy_of = _rate("accuracy_of", lambda s, c: (Atom(ANY, s & c.agreed, s),), "Share of rows the *existing* model gets right, whatever the new one says.", speaks="no class", better="neither")

precision = ratio("precision", true_positives, predicted_positives, "Share of the model's yeses that are right.")
false_discovery_rate = ratio("false_discovery_rate", false_positives, predicted_positives, "Share of the model's yeses that are wrong.")
negative_predictive_value = ratio("negative_predictive_value", true_negatives, predicted_negatives, "Share of the model's noes that are right.")
false_omission_rate = ratio("false_omission_rate", false_negatives, predicted_negatives, "Share of the model's noes that are wrong.")
jaccard = ratio("jaccard", true_positives, true_positives() + false_positives() + false_negatives(), "Right yeses among the rows that are positive or said yes to.")
f_score: RateFunction[Ratio] = _function(
    Kind("f_score", "The mean of precision and recall (harmonic), in which recall counts `beta` squared times as much.", "ratio", labels=True, versus=False, sides=_f_sides, own=("beta",), check_own=_beta),
)
win_loss_ratio = ratio("win_loss_ratio", wins, losses, "Wins over losses against an existing model.")

roc_auc: RateFunction[Area] = _function(
    Kind("roc_auc", "Area under the ROC curve, by the midpoint rule over `bins` false-positive budgets.", "area", labels=True, versus=False, speaks="no class"),
    """Each budget gets a threshold of its own, learned with the model: ``roc_auc() >= 0.8`` asks that the
mean recall at those thresholds is at least 0.8 and that each keeps its budget. The paper takes budgets
l/L, which overstate the area by up to 1/L; the midpoints (l - 1/2)/L overstate it by at most half of
that, and do so a little on any concave curve. An audit measures the area itself.""",
)
# fmt: on
