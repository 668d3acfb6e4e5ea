"""Promises as formulas and as sentences, for people who have to check them.

ŷ is the model's decision, y the label, and v an existing model's decision. P is a share of rows, N a
number of rows, and E a mean. The condition after the bar selects the rows.
"""

from __future__ import annotations

from ratebound._old.rates.expressions import (
    Area,
    Constraint,
    Expression,
    Metric,
    MixedSum,
    Rate,
    Ratio,
    Top,
)
from ratebound._old.rates.kinds import KINDS, TWO, Classes, is_count
from ratebound._old.rates.ranges import Parity
from ratebound._old.rates.subsets import EVERYONE, Value, only_decided, value_text

SIGNS = {"<=": "≤", ">=": "≥"}
SAID = {"<=": "is at most", ">=": "is at least"}


def formula(said: Constraint | Parity | Metric, classes: Classes = TWO) -> str:
    """A promise, or a metric, as a formula.

    >>> from ratebound._old import precision, recall
    >>> formula(recall(sex="Female") >= 0.95 * recall())
    'P(ŷ = 1 | y = 1, sex == "Female") ≥ 0.95 · P(ŷ = 1 | y = 1)'
    >>> formula(precision(sex="Female") >= 0.8)
    'P(y = 1 | ŷ = 1, sex == "Female") ≥ 0.8'
    """
    if isinstance(said, Constraint | Parity):
        sides = formula(said.left, classes), formula(said.right, classes)
        return f"{sides[0]} {SIGNS[said.relation]} {sides[1]}"
    if isinstance(said, Expression):
        return _sum(said, classes)
    if isinstance(said, Area):
        return _of("score of y = 1 > score of y ≠ 1", "", said.rate, "P")
    if isinstance(said, Top):
        return _rate(said.rate, classes)
    if isinstance(said, Ratio):
        if said.rate is not None and KINDS[said.rate.kind].event is not None:
            return _times(said.factor, _rate(said.rate, classes))
        return f"({_sum(said.numerator, classes)}) / ({_sum(said.denominator, classes)})"
    if isinstance(said, MixedSum):
        return f"{formula(said.ratio, classes)} + {_sum(said.rest, classes)}".replace("+ −", "− ")
    return str(said)  # a function of several rates, as it prints


def sentence(promise: Constraint | Parity) -> str:
    """A promise in plain words.

    >>> from ratebound._old import positive_rate, recall
    >>> sentence(recall(sex="Female") >= 0.95 * recall())
    'The share of positive rows the model says yes to, where sex == "Female", is at least 0.95 times \
its value among all rows.'
    >>> sentence(positive_rate() <= 0.2)
    'The share of rows the model says yes to is at most 0.2.'
    """
    left, factor, right = _alone(promise.left), *_multiple(promise.right)
    words = str(promise.left) if left is None else _meaning(left)
    bound = str(promise.right)
    if isinstance(promise.right, Expression) and not promise.right.terms:
        bound = f"{promise.right.constant:g}"
    elif right is not None:
        same = left is not None and left.kind == right.kind and left.of == right.of
        what = f"its value {_among(right)}" if same else _meaning(right)
        bound = what if factor == 1 else f"{factor:g} times {what}"
    return f"{words[:1].upper()}{words[1:]} {SAID[promise.relation]} {bound}."


def meaning(metric: Metric) -> str:
    """A metric's meaning in words; empty if it is made of several rates."""
    rate = _alone(metric)
    return "" if rate is None else _meaning(rate)


def _meaning(rate: Rate) -> str:
    words = KINDS[rate.kind].meaning.rstrip(".").replace("*", "").replace("`", "")
    words = words[:1].lower() + words[1:]
    words = f"the {words}" if words.split()[0] in ("share", "number", "mean", "area") else words
    said = [] if rate.of is None else [f"yes being {value_text(rate.of)}"]
    said += [f"{name.replace('_', ' ')} being {value_text(own)}" for name, own in rate.own]
    of_decided, rows = only_decided(rate.subset)
    said += ["among decided rows"] if of_decided else []
    said += [] if rows == EVERYONE else [f"where {rows}"]
    said += [f"on {rate.on}"] if rate.on else []
    if rate.top is not None:
        top = f"{rate.top:,} rows" if rate.top >= 1 else f"{rate.top:.4g} of the rows"
        said += [f"if it says yes to the {top} with the largest scores"]
    said += [f"of every {rate.per:g} rows"] if rate.per is not None else []
    return f"{words}, {', '.join(said)}," if said else words


def _among(rate: Rate) -> str:
    of_decided, rows = only_decided(rate.subset)
    everyone = "among all decided rows" if of_decided else "among all rows"
    where = everyone if rows == EVERYONE else f"where {rate.subset}"
    return where + (f" on {rate.on}" if rate.on else "")


def _alone(metric: Metric) -> Rate | None:
    """The rate, if a metric is a single rate."""
    if isinstance(metric, Expression):
        return metric.rates[0] if _is_one(metric) and metric.terms[0][1] == 1 else None
    rate: Rate | None = getattr(metric, "rate", None)
    return rate


def _multiple(metric: Metric) -> tuple[float, Rate | None]:
    """The factor and the rate, if a side of a promise is a multiple of one rate."""
    if isinstance(metric, Expression):
        return (metric.terms[0][1], metric.rates[0]) if _is_one(metric) else (1.0, None)
    return getattr(metric, "factor", 1.0), getattr(metric, "rate", None)


def _is_one(sum_: Expression) -> bool:
    return len(sum_.terms) == 1 and sum_.constant == 0 and sum_.terms[0][1] > 0


def _sum(given: Expression, classes: Classes) -> str:
    text = ""
    for rate, factor in given.terms:
        sign = " + " if factor > 0 else " − "
        text += (sign if text else sign.strip(" +")) + _times(abs(factor), _rate(rate, classes))
    if given.constant or not text:
        sign = " + " if given.constant >= 0 else " − "
        text += (sign if text else sign.strip(" +")) + f"{abs(given.constant):g}"
    return text


def _times(factor: float, text: str) -> str:
    return text if factor == 1 else f"{factor:g} · {text}"


def _rate(rate: Rate, classes: Classes) -> str:
    kind = KINDS[rate.kind]
    if kind.event is None:
        return str(rate)
    named: dict[str, Value] = {"c": rate.of if rate.of is not None else 1, **dict(rate.own)}
    said = {key: _class(value, classes) for key, value in named.items()}
    event, among = (part.format(**said) for part in kind.event)
    if rate.at is not None and rate.at != 0:
        event = event.replace("ŷ", f"ŷ[{rate.at}]")
    if rate.top is not None:
        event, among = (part.replace("ŷ", f"ŷ[top {rate.top}]") for part in (event, among))
    sign = "E" if rate.kind == "cost" else "N" if is_count(rate) else "P"
    return _of(event, among, rate, sign)


def _of(event: str, among: str, rate: Rate, sign: str) -> str:
    rows = [
        among,
        _subset(rate),
        f"on {rate.on}" if rate.on else "",
    ]
    behind = ", ".join(filter(None, rows))
    per = f" per {rate.per:g} rows" if rate.per is not None else ""
    return f"{sign}({event} | {behind}){per}" if behind else f"{sign}({event}){per}"


def _subset(rate: Rate) -> str:
    of_decided, rows = only_decided(rate.subset)
    words = "" if rows == EVERYONE else str(rows)
    if of_decided:
        return "ŷ ≠ refer" + f", {words}" * bool(words)
    return f"({words})" if " or " in words else words  # the comma before it means "and"


def _class(value: Value, classes: Classes) -> str:
    if len(classes) > 2 or isinstance(value, str):
        return value_text(value)
    return str(int(value)) if isinstance(value, bool) else str(value)
