"""Rates of one's own, as rows of the table: from then on text knows their names."""

from __future__ import annotations

import re

from ratebound.rates.conditions import RESERVED
from ratebound.rates.goals import GOALS
from ratebound.rates.sums import OPTIONS, SHAPES
from ratebound.rates.table import ALIASES, KINDS, Kind, add_kind, join_event

LITERAL = re.compile(r"1|~?(d|y|v|decided)|[dyv](==|!=)[dyv]")
BETTER = ("more", "less", "either", "neither")


def rate(
    name: str, event: str, among: str | None = "1", meaning: str = "", better: str = "either"
) -> Kind:
    """Define a share of rows, or a count if `among` is None.

    Both are events of the table: d the decision, y the label, v the live model's decision, each "is
    the class in question"; ``~`` negates a letter, ``==`` and ``!=`` compare two, ``&`` and ``or``
    join.

    >>> needless_visits = rate("needless_visits", "d & ~y")
    >>> needless_visits(sex="Female") <= 0.02
    needless_visits(sex == "Female") <= 0.02
    """
    counted = _read_event(name, event)
    if among is None:
        return _define(name, counted, None, meaning or f"Number of rows where {counted}.", better)
    below = _read_event(name, among)
    if " or " in below:
        raise ValueError(f"{name}: among= takes one alternative, got {among!r}; write a ratio")
    sentence = meaning or f"Share of rows where {counted}, among those where {below}."
    for literal in below.split(" & "):
        counted = join_event(counted, literal)
    return _define(name, counted, below, sentence, better)


def ratio(name: str, event: str, over: str, meaning: str = "", better: str = "either") -> Kind:
    """Define the number of rows of one event over the number of rows of another.

    >>> frequency_bias = ratio("frequency_bias", "d", "y")
    >>> frequency_bias(sex="Female") <= 1.1
    frequency_bias(sex == "Female") <= 1.1
    """
    above = _read_event(name, event)
    below = _read_event(name, over)
    sentence = meaning or f"Number of rows where {above}, over the number where {below}."
    return _define(name, above, below, sentence, better)


def _define(name: str, counted: str, among: str | None, meaning: str, better: str) -> Kind:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(
            f"a rate needs a plain word as its name, as in needless_visits, got {name!r}"
        )
    is_built_in = name in KINDS and not KINDS[name].is_own
    if is_built_in or name in {*ALIASES, *GOALS, *SHAPES, *RESERVED, *OPTIONS}:
        raise ValueError(f"{name} is taken: give your rate another name")
    if better not in BETTER:
        raise ValueError(f"{name}: better= is one of {', '.join(BETTER)}, got {better!r}")
    return add_kind(name, counted, among, meaning, better, is_own=True)


def _read_event(name: str, event: str) -> str:
    """Return the event with blanks as the table has them; an error names what cannot be read."""
    alternatives = []
    for alternative in re.split(r"\s+or\s+|\|", event):
        literals = [re.sub(r"\s", "", literal) for literal in alternative.split("&")]
        for literal in literals:
            if not LITERAL.fullmatch(literal):
                raise ValueError(
                    f"{name}: cannot read {literal!r} in the event {event!r}; "
                    "write d, y, v or decided, as in d & ~y or d!=v"
                )
        alternatives.append(" & ".join(literals))
    return " or ".join(alternatives)
