"""The named rates: a line each, from which text, compiling, audits, printing and the docs follow.

To add one, add a line to the table below, by `ratio` where it is a quotient, and export the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from ratebound.rates.expressions import Area, Expression, Metric, Ratio
from ratebound.rates.grouping import check_new
from ratebound.rates.kinds import ANY, KINDS, LABEL, NO, YES, Atom, Counts, Kind, counted, metric_of
from ratebound.rates.numbers import as_number
from ratebound.rates.rate import OPTIONS, Rate
from ratebound.rates.subsets import EVERYONE, Decision, Subset, Value, leaves, where

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
            raise TypeError(
                f"{name} takes no {option}=; a column of that name is written rb.column({option!r}) == ..."
            )
    if kind.check_own is not None:
        options["own"] = tuple(kind.check_own({o: v for o, v in own.items() if v is not None}).items())
    return metric_of(_checked(Rate(name, rows & where(**words), **options), kind))


def _checked(rate: Rate, kind: Kind) -> Rate:
    if kind.versus and rate.versus is None:
        raise TypeError(
            f"{rate.kind}: versus= takes the column with the existing model's decisions, got None"
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
    call = 'versus="live"' if kind.versus else "per=6000" if kind.unit == "count" else 'sex="Female"'
    printed = f"{kind.name}({call.replace('sex=', 'sex == ')}{', bins=10' * (kind.unit == 'area')})"
    same = f" The same as `{kind.same_as}`." * bool(kind.same_as)
    function.__name__ = function.__qualname__ = kind.name
    function.__doc__ = (
        f"{kind.meaning}{same}{details}\n\n    >>> {kind.name}({call})\n    {printed}\n    "
    )
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in kind.options
    ]
    rows, columns = inspect.signature(function).parameters.values()
    signature = inspect.Signature([rows, *named, columns.replace(name="columns")])
    function.__signature__ = signature  # type: ignore[attr-defined]  # as help() shows it
    return function


def _rate(name: str, counts: Counts, meaning: str, same_as: str = "") -> RateFunction[Expression]:
    """A share or a count; its unit and its needs are read off its atoms."""
    found = counts(EVERYONE, Decision("versus"))
    rows = [rows for atom in found for rows in (atom.given, atom.over) if rows is not None]
    conditions = [condition for each in rows for condition in leaves(each)]
    versus = any(isinstance(condition, Decision) for condition in conditions)
    labels, is_share = LABEL in conditions, all(atom.over is not None for atom in found)
    kind = Kind(name, meaning, "share" if is_share else "count", labels, versus, counts, same_as=same_as)
    of_how_many = (
        "\n\n    `per` says of every how many rows of the population; by default it is all of them."
    )
    function: RateFunction[Expression] = _function(kind, "" if is_share else of_how_many)
    return function


def ratio(
    name: str,
    numerator: Expression | RateFunction[Expression],
    denominator: Expression | RateFunction[Expression],
    meaning: str = "",
) -> RateFunction[Ratio]:
    """A new named ratio: a function like `precision`, known from here on in text and to `rb.load`.

    Numerator and denominator are sums of shares or counts, said of everyone: what the ratio is asked
    of (conditions, ``on=``, ``at=``, ``versus=``) is asked of each of them.

    >>> from ratebound import false_positives, predicted_positives
    >>> false_discovery = ratio("false_discovery", false_positives, predicted_positives)
    >>> false_discovery(sex="Female") <= 0.1
    false_discovery(sex == "Female") <= 0.1
    """
    check_new(name, KINDS)
    top, bottom = _said_of_everyone(name, numerator), _said_of_everyone(name, denominator)
    sentence = (meaning or f"The ratio of {top} to {bottom}").rstrip(". ") + "."
    parts = [KINDS[rate.kind] for rate in Ratio(top, bottom).rates]
    labels, versus = any(part.labels for part in parts), any(part.versus for part in parts)
    function: RateFunction[Ratio] = _function(
        Kind(name, sentence, "ratio", labels, versus, sides=lambda _: (top, bottom)), _OF_RATIOS
    )
    return function


_OF_RATIOS = """ Compares with numbers only.

    A bound on it is kept as ``numerator - bound * denominator >= 0``, or ``<= 0``, per row of
    the subset where both are counts; that also holds where nothing is below the line."""


def _said_of_everyone(name: str, part: Expression | RateFunction[Expression]) -> Expression:
    word = getattr(part, "__name__", None)
    if isinstance(word, str) and word in KINDS:
        part = Expression(((Rate(word), 1.0),))
    if not isinstance(part, Expression) or any(KINDS[r.kind].counts is None for r in part.rates):
        raise TypeError(
            f"{name}: a ratio is made of rates such as rb.true_positives or of sums, got {part!r}"
        )
    return part


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
positive_rate = _rate("positive_rate", lambda s, h: (Atom(YES, s, s),), "Share of rows the model says yes to.")
coverage = _rate("coverage", lambda s, h: (Atom(YES, s, s),), "Share of rows the model says yes to.", "positive_rate")
negative_rate = _rate("negative_rate", lambda s, h: (Atom(NO, s, s),), "Share of rows the model says no to.")
recall = _rate("recall", lambda s, h: (Atom(YES, s & LABEL, s & LABEL),), "Share of positive rows the model says yes to.")
true_positive_rate = _rate("true_positive_rate", lambda s, h: (Atom(YES, s & LABEL, s & LABEL),), "Share of positive rows the model says yes to.", "recall")
false_negative_rate = _rate("false_negative_rate", lambda s, h: (Atom(NO, s & LABEL, s & LABEL),), "Share of positive rows the model says no to.")
false_positive_rate = _rate("false_positive_rate", lambda s, h: (Atom(YES, s & ~LABEL, s & ~LABEL),), "Share of negative rows the model says yes to.")
true_negative_rate = _rate("true_negative_rate", lambda s, h: (Atom(NO, s & ~LABEL, s & ~LABEL),), "Share of negative rows the model says no to.")
accuracy = _rate("accuracy", lambda s, h: _right(s, s), "Share of rows the model decides as their label says.")
error_rate = _rate("error_rate", lambda s, h: _wrong(s, s), "Share of rows the model decides against their label.")
prevalence = _rate("prevalence", lambda s, h: (Atom(ANY, s & LABEL, s),), "Share of rows whose label is positive, whatever the model says.")
predicted_positives = _rate("predicted_positives", lambda s, h: (Atom(YES, s, None),), "Number of rows the model says yes to.")
predicted_negatives = _rate("predicted_negatives", lambda s, h: (Atom(NO, s, None),), "Number of rows the model says no to.")
true_positives = _rate("true_positives", lambda s, h: (Atom(YES, s & LABEL, None),), "Number of positive rows the model says yes to.")
false_positives = _rate("false_positives", lambda s, h: (Atom(YES, s & ~LABEL, None),), "Number of negative rows the model says yes to.")
true_negatives = _rate("true_negatives", lambda s, h: (Atom(NO, s & ~LABEL, None),), "Number of negative rows the model says no to.")
false_negatives = _rate("false_negatives", lambda s, h: (Atom(NO, s & LABEL, None),), "Number of positive rows the model says no to.")

churn = _rate("churn", lambda s, h: _flips(s, h, s), "Share of rows decided otherwise than by the existing model.")
loss_only_churn = _rate("loss_only_churn", lambda s, h: _losses(s, h, s & _agree(h)), "Of the rows the existing model gets right, the share the new one gets wrong.")
wins = _rate("wins", lambda s, h: _wins(s, h, None), "Number of rows the model gets right and the existing one wrong.")
losses = _rate("losses", lambda s, h: _losses(s, h, None), "Number of rows the model gets wrong and the existing one right.")
positive_rate_of = _rate("positive_rate_of", lambda s, h: (Atom(ANY, s & h, s),), "Share of rows the *existing* model says yes to, whatever the new one says.")
accuracy_of = _rate("accuracy_of", lambda s, h: (Atom(ANY, s & _agree(h), s),), "Share of rows the *existing* model gets right, whatever the new one says.")

precision = ratio("precision", true_positives, predicted_positives, "Share of the model's yeses that are right.")
false_discovery_rate = ratio("false_discovery_rate", false_positives, predicted_positives, "Share of the model's yeses that are wrong.")
negative_predictive_value = ratio("negative_predictive_value", true_negatives, predicted_negatives, "Share of the model's noes that are right.")
false_omission_rate = ratio("false_omission_rate", false_negatives, predicted_negatives, "Share of the model's noes that are wrong.")
jaccard = ratio("jaccard", true_positives, true_positives() + false_positives() + false_negatives(), "Right yeses among the rows that are positive or said yes to.")
f_score: RateFunction[Ratio] = _function(
    Kind("f_score", "The mean of precision and recall (harmonic), in which recall counts `beta` squared times as much.", "ratio", labels=True, versus=False, sides=_f_sides, own=("beta",), check_own=_beta),
    _OF_RATIOS,
)
win_loss_ratio = ratio("win_loss_ratio", wins, losses, "Wins over losses against an existing model.")

roc_auc: RateFunction[Area] = _function(
    Kind("roc_auc", "Area under the ROC curve, by the midpoint rule over `bins` false-positive budgets.", "area", labels=True, versus=False),
    """ Compares with numbers only.

    Each budget gets a threshold of its own, learned with the model: ``roc_auc() >= 0.8`` asks that
    the mean recall at those thresholds is at least 0.8 and that each keeps its budget. The paper
    takes budgets l/L, which overstate the area by up to 1/L; the midpoints (l - 1/2)/L overstate it by at
    most half of that, and do so a little on any concave curve. An audit measures the area itself.""",
)
# fmt: on
