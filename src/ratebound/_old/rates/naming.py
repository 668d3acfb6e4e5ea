"""How a rate gets its name: a function in Python, a word in text, an entry in the table of kinds.

Built-in rates (`named.py`) and rates that users define with `rb.rate` and `rb.ratio` share one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, Literal, Protocol, TypeVar, get_args

from ratebound._old.base.checks import as_number
from ratebound._old.rates.expressions import OPTIONS, Expression, Metric, Rate, Ratio
from ratebound._old.rates.grouping import check_new
from ratebound._old.rates.kinds import (
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
from ratebound._old.rates.subsets import (
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
Among = Literal["rows", "positive rows", "negative rows"]  # the rows that a share is taken of
DECIDED_AMONG: dict[Among, str] = {
    "rows": "decisions",
    "positive rows": "true_positives false_negatives",
    "negative rows": "false_positives true_negatives",
}  # the counts that add up to the decided rows among these


class RateFunction(Protocol[Said_co]):
    """The type of every named rate: a function from conditions and some of these options to a metric.

    `words` are columns with their values. A count also takes ``per=``, an area ``bins=``, and precision
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
            every = option == "of" and kind.speaks == "every class"
            reason = ", since it counts every class" if every else ""
            if option == "top":
                reason = f", which precision and recall take, as in precision(top={value})"
            raise TypeError(
                f"{name} does not take {option}={reason}; if this is a column, write "
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
        raise TypeError(f"{rate.kind}: label= and predicted= already name the classes, so leave out of=")
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
    if rate.top is not None:
        rate = _checked_top(rate)
    elif kind.top and rate.per is not None:
        raise TypeError(
            f"{rate.kind} takes per= only with top=, as in {rate.kind}(top=100, per={rate.per}); if "
            "this is a column, write rb.column('per') == ..."
        )
    return rate if rate.per is None else counted(rate, rate.per)


def _checked_top(rate: Rate) -> Rate:
    """A rate of the rows with the largest scores, once its number or share is checked."""
    name = rate.kind
    top = as_number(
        rate.top, f"how many rows, as in {name}(top=100), or a share, as in {name}(top=0.05)"
    )
    if top <= 0 or (top >= 1 and not top.is_integer()):
        raise ValueError(
            f"{name}: top= takes a whole number of rows, as in top=100, or a share of them between 0 "
            f"and 1, as in top=0.05; got {rate.top!r}"
        )
    for option in ("at", "of"):
        if getattr(rate, option) is not None:
            why = "top= takes the rows that are most likely to be positive"
            why = "top= determines the threshold" if option == "at" else why
            raise TypeError(f"{name}: {why}, so leave out {option}=, or top=")
    if only_decided(rate.subset)[0]:
        raise TypeError(f"{name}: top= uses the order of scores, so leave out 'decided', or top=")
    if rate.per is not None and top < 1:
        raise TypeError(
            f"{name}: top={rate.top} is a share, which does not depend on the number of rows, so leave "
            "out per=, or give a number of rows, as in top=100"
        )
    if rate.per is not None and top > rate.per:
        raise ValueError(f"{name}: top={top:g} is more than per={rate.per}: top= must be at most per=")
    return replace(rate, top=int(top) if top >= 1 else top)


def define(kind: Kind, details: str = "") -> Any:
    """Enter a kind into the table, and return the function that makes its rates."""

    def function(*subset: Subset, **words: Any) -> Metric:
        return say(kind.name, *subset, **words)

    KINDS[kind.name] = kind
    function.__name__ = function.__qualname__ = kind.name
    function.__doc__ = kind.meaning
    return function


def of_decided(above: str, below: str) -> Sides:
    """The two sides of a share of decided rows, as names of counts; a minus sign subtracts a count.

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
    top: bool = False,
    decided: Sides | None = None,
    event: tuple[str, str] | None = None,
    example: tuple[str, str] | None = None,
) -> RateFunction[Expression]:
    """Define a share or a count; its unit and its needs follow from its atoms."""
    existing = Decision("versus")
    atoms = counts(EVERYONE, OneClass(LABEL, existing, existing & LABEL))
    rows = [rows for atom in atoms for rows in (atom.given, atom.over) if rows is not None]
    conditions = [condition for each in rows for condition in leaves(each)]
    versus = any(isinstance(condition, Decision) for condition in conditions)
    is_share = all(atom.over is not None for atom in atoms)
    unit: Unit = "share" if is_share else "count"
    kind = Kind(name, meaning, unit, LABEL in conditions, versus, counts, same_as=same_as,
                speaks=speaks, top=top, better=better, decided=decided, event=event,
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
    """Define a named share: a function like `recall`. From then on, text and `rb.load` know its name.

    Parameters
    ----------
    name : str
        Its name in text: a plain word, and not the name of a built-in rate or goal. You can redefine
        your own rates.
    counted : Expression or function
        The numerator: a count such as `rb.false_positives`, or a sum of counts that share no rows.
    among : {"rows", "positive rows", "negative rows"}, default="rows"
        The denominator: all rows that meet the rate's conditions, or only those with that label.
    meaning : str, default=""
        A sentence for its help and for reports. By default one that names the counts.

    Returns
    -------
    function
        It takes conditions and options like other rates, and returns an `Expression`.

    Raises
    ------
    ValueError
        If the name is taken or not a plain word, or if a row could be counted twice or is not among the
        rows of the denominator.

    See Also
    --------
    ratio : For a denominator that depends on the model's decisions, as for precision.

    Examples
    --------
    >>> import ratebound._old as rb
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
            f"{name}: a share is made of counts such as rb.false_positives, either all about one class "
            f"or all about every class, got {parts}"
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
    """Raise if a row could be counted twice, or is counted but is not in the denominator."""
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
    """Define a named ratio: a function like `precision`. From then on, text and `rb.load` know its name.

    The ratio's conditions and options (``on=``, ``at=``, ``versus=``) apply to both sides.

    Parameters
    ----------
    name : str
        Its name in text: a plain word, and not the name of a built-in rate or goal. You can redefine
        your own ratios.
    numerator : Expression or function
        A rate such as `rb.false_positives`, or a sum of rates, over all rows.
    denominator : Expression or function
        The same, without negative coefficients: it must never be below 0.
    meaning : str, default=""
        A sentence for its help and for reports. By default one that names both sides.

    Returns
    -------
    function
        It takes conditions and options like other rates, and returns a `Ratio`.

    Raises
    ------
    ValueError
        If the name is taken or not a plain word, or the denominator may be negative.

    Examples
    --------
    >>> import ratebound._old as rb
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
    """Define a ratio; its needs follow from its two sides."""
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
            f"{name}: it takes rates such as rb.true_positives, or sums of rates, got {part!r}"
        )
    return part


def _two_classes(own: Mapping[str, Any]) -> dict[str, Value]:
    if len(own) < 2:
        raise TypeError('confusion takes two classes, as in confusion(label="cat", predicted="dog")')
    return {option: plain_value(value) for option, value in own.items()}
