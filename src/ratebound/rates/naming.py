"""How a rate gets its name: a function in Python, a word in text, an entry in the table of kinds.

Our own rates (`named.py`) enter the same table as those that users define with `rb.rate` and `rb.ratio`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Literal, Protocol, TypeVar, get_args

from ratebound.base.checks import as_number
from ratebound.rates.documented import DEFAULTS, docstring, is_required
from ratebound.rates.expressions import OPTIONS, Expression, Metric, Rate, Ratio
from ratebound.rates.grouping import check_new
from ratebound.rates.kinds import (
    ANY,
    KINDS,
    LABEL,
    Atom,
    Better,
    Counts,
    Kind,
    OneClass,
    Sides,
    Speaks,
    Unit,
    counted,
    metric_of,
    wanted,
)
from ratebound.rates.subsets import (
    EVERYONE,
    Decision,
    Subset,
    Value,
    holds,
    leaves,
    only_decided,
    plain_value,
    where,
)

Said_co = TypeVar("Said_co", covariant=True)
Among = Literal["rows", "positive rows", "negative rows"]  # what a share is of
DECIDED_AMONG: dict[Among, str] = {
    "rows": "decisions",
    "positive rows": "true_positives false_negatives",
    "negative rows": "false_positives true_negatives",
}  # the counts that make up the rows among these that are decided


class RateFunction(Protocol[Said_co]):
    """What every named rate is: a function from rows, and some of these options, to what is said.

    `words` are columns with their values; a count takes ``per=`` too, an area ``bins=``, and precision
    and recall ``top=``.
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
            if option == "top":
                reason = f", which precision and recall take, as in precision(top={value})"
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
    for option, value in (("on", rate.on), ("versus", rate.versus), ("expert", rate.expert)):
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
    if rate.top is not None:
        rate = _checked_top(rate)
    elif kind.top and rate.per is not None:
        raise TypeError(
            f"{rate.kind} takes per= beside top= alone, as in {rate.kind}(top=100, per={rate.per}); a "
            "column of that name is written rb.column('per') == ..."
        )
    return rate if rate.per is None else counted(rate, rate.per)


def _checked_top(rate: Rate) -> Rate:
    """A rate of the rows with the largest scores, whose number or share can be meant."""
    name = rate.kind
    top = as_number(
        rate.top, f"how many rows, as in {name}(top=100), or a share, as in {name}(top=0.05)"
    )
    if top <= 0 or (top >= 1 and not top.is_integer()):
        raise ValueError(
            f"{name}: top= takes a whole number of rows, as in top=100, or a share of them between 0 "
            f"and 1, as in top=0.05; got {rate.top!r}"
        )
    for option in ("at", "of", "expert"):
        if getattr(rate, option) is not None:
            why = "the rows with the largest scores are those that are likeliest to be positive"
            why = "top= says where the threshold is" if option == "at" else why
            raise TypeError(f"{name}: {why}, so leave out {option}=, or top=")
    if only_decided(rate.subset)[0]:
        raise TypeError(f"{name}: top= is of the order of scores, so leave out 'decided', or top=")
    if rate.per is not None and top < 1:
        raise TypeError(
            f"{name}: top={rate.top} is a share of the rows, of however many there are, so leave out "
            "per=, or give a number of rows, as in top=100"
        )
    if rate.per is not None and top > rate.per:
        raise ValueError(f"{name}: of every {rate.per} rows there are no {top:g}: top= is at most per=")
    return replace(rate, top=int(top) if top >= 1 else top)


def define(kind: Kind, details: str = "") -> Any:
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


def of_decided(above: str, below: str) -> Sides:
    """The two sides of a share of the rows that are decided, as names of counts; one may be negative.

    >>> of_decided("decisions -errors", "decisions")({})
    (decisions() - errors(), decisions())
    """

    def side(names: str) -> Expression:
        signs = ((name.lstrip("-"), -1.0 if name.startswith("-") else 1.0) for name in names.split())
        return Expression(tuple((Rate(name), sign) for name, sign in signs))

    return lambda _: (side(above), side(below))


def linear(
    name: str,
    counts: Counts,
    meaning: str,
    *,
    same_as: str = "",
    speaks: Speaks = "one class",
    better: Better = "either",
    pairs: bool = False,
    top: bool = False,
    decided: Sides | None = None,
    event: tuple[str, str] | None = None,
    example: tuple[str, str] | None = None,
) -> RateFunction[Expression]:
    """Define a share or a count; its unit and what it needs are read off its atoms."""
    existing = Decision("versus")
    atoms = counts(EVERYONE, OneClass(LABEL, existing, existing & LABEL))
    rows = [rows for atom in atoms for rows in (atom.given, atom.over) if rows is not None]
    conditions = [condition for each in rows for condition in leaves(each)]
    versus = any(isinstance(condition, Decision) for condition in conditions)
    is_share = all(atom.over is not None for atom in atoms)
    unit: Unit = "share" if is_share else "count"
    kind = Kind(name, meaning, unit, LABEL in conditions, versus, counts, same_as=same_as,
                speaks=speaks, pairs=pairs, top=top, better=better, decided=decided, event=event,
                example=example)  # fmt: skip
    if speaks == "two classes":
        kind = replace(kind, own=("label", "predicted"), check_own=_two_classes)
    function: RateFunction[Expression] = define(kind)
    return function


def rate(
    name: str,
    counted: Expression | RateFunction[Expression],
    *,
    among: Among = "rows",
    meaning: str = "",
) -> RateFunction[Expression]:
    """Define a named share: a function like `recall`, known from here on in text and to `rb.load`.

    Parameters
    ----------
    name : str
        What it is called in text: a plain word that no built-in rate or goal has. A rate of your own can
        be defined again.
    counted : Expression or function
        What is counted: a count such as `rb.false_positives`, or a sum of counts that have no row in
        common.
    among : {"rows", "positive rows", "negative rows"}, default="rows"
        What it is a share of: of the rows that the rate is asked of, all or those with that label.
    meaning : str, default=""
        A sentence for its help and for reports. By default one that names what is counted.

    Returns
    -------
    function
        It takes conditions and options as rates do, and gives an `Expression`.

    Raises
    ------
    ValueError
        If the name is taken or not a plain word, or if a row could be counted twice, or without being
        among the rows.

    See Also
    --------
    ratio : If what it is divided by depends on what the model decides, as of precision.

    Examples
    --------
    >>> import ratebound as rb
    >>> needless = rb.rate("needless_visits", rb.false_positives, meaning="Visits that find nothing.")
    >>> needless(sex="Female") <= 0.02
    needless_visits(sex == "Female") <= 0.02
    >>> rb.parse("needless_visits() <= 0.02").rates[0].kind
    'needless_visits'
    """
    check_new(name, KINDS)
    if among not in get_args(Among):
        raise ValueError(f"{name}: among= takes one of {', '.join(get_args(Among))}, got {among!r}")
    parts = _said_of_everyone(name, counted)
    kinds = [KINDS[each.kind] for each in parts.rates]
    if parts.constant or any(times != 1 for _, times in parts.terms):
        raise ValueError(f"{name}: a share counts each row once, got {parts}")
    if any(kind.unit != "count" for kind in kinds) or len({kind.speaks for kind in kinds}) != 1:
        raise ValueError(
            f"{name}: a share is made of counts such as rb.false_positives, which speak all of one "
            f"class or all of every class, got {parts}"
        )

    def counts(subset: Subset, of: OneClass) -> tuple[Atom, ...]:
        labelled = {"rows": EVERYONE, "positive rows": of.label, "negative rows": ~of.label}
        atoms: list[Atom] = []
        for part, kind in zip(parts.rates, kinds, strict=True):
            assert kind.counts is not None
            atoms += kind.counts(subset & part.subset, of)
        return tuple(replace(atom, over=subset & labelled[among]) for atom in atoms)

    _check_share(name, counts, among)
    sentence = (meaning or f"{parts} as a share of the {among}").rstrip(". ") + "."
    better = wanted(parts)
    return linear(
        name,
        counts,
        sentence,
        speaks=kinds[0].speaks,
        better=better.pop() if len(better) == 1 else "either",
        decided=lambda own: (parts, of_decided("", DECIDED_AMONG[among])(own)[1]),
    )


def _check_share(name: str, counts: Counts, among: str) -> None:
    """Raise if a row could be counted twice, or counted without being among the rows."""
    existing = Decision("versus")
    atoms = counts(EVERYONE, OneClass(LABEL, existing, existing & LABEL))
    conditions = list(dict.fromkeys([LABEL, *(leaf for atom in atoms for leaf in leaves(atom.given))]))
    for *truths, yes in product((False, True), repeat=len(conditions) + 1):
        is_true = dict(zip(conditions, truths, strict=True)).__getitem__
        times = [a for a in atoms if a.predicted in (ANY, yes) and holds(a.given, is_true)]
        if len(times) > 1:
            raise ValueError(f"{name}: some rows would be counted {len(times)} times")
        if any(atom.over is not None and not holds(atom.over, is_true) for atom in times):
            raise ValueError(f"{name}: it counts rows that are not among the {among}")


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
        What it is called in text: a plain word that no built-in rate or goal has. A ratio of your own
        can be defined again.
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
    return quotient(name, numerator, denominator, meaning)


def quotient(
    name: str,
    numerator: Expression | RateFunction[Expression],
    denominator: Expression | RateFunction[Expression],
    meaning: str = "",
    *,
    top: bool = False,
    event: tuple[str, str] | None = None,
    example: tuple[str, str] | None = None,
) -> RateFunction[Ratio]:
    """Define a ratio; what it needs is read off its two sides."""
    above, below = _said_of_everyone(name, numerator), _said_of_everyone(name, denominator)
    sentence = (meaning or f"The ratio of {above} to {below}").rstrip(". ") + "."
    parts = [KINDS[rate.kind] for rate in Ratio(above, below).rates]
    labels, versus = any(part.labels for part in parts), any(part.versus for part in parts)
    speaks: Speaks = "one class" if any(p.speaks == "one class" for p in parts) else "every class"
    function: RateFunction[Ratio] = define(
        Kind(name, sentence, "ratio", labels, versus, sides=lambda _: (above, below), speaks=speaks,
             top=top, event=event, example=example)
    )  # fmt: skip
    return function


def _said_of_everyone(name: str, part: Expression | RateFunction[Expression]) -> Expression:
    word = getattr(part, "__name__", None)
    if isinstance(word, str) and word in KINDS:
        part = Expression(((Rate(word), 1.0),))
    if not isinstance(part, Expression) or any(KINDS[r.kind].counts is None for r in part.rates):
        raise TypeError(
            f"{name}: it is made of rates such as rb.true_positives, or of sums of them, got {part!r}"
        )
    return part


def _two_classes(own: Mapping[str, Any]) -> dict[str, Value]:
    if len(own) < 2:
        raise TypeError('confusion takes two classes, as in confusion(label="cat", predicted="dog")')
    return {option: plain_value(value) for option, value in own.items()}
