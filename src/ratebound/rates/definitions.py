"""Rates that users define: new rows of the table, which text can then name."""

from __future__ import annotations

import re

from ratebound.rates.conditions import RESERVED
from ratebound.rates.goals import GOALS
from ratebound.rates.sums import OPTIONS, SHAPES
from ratebound.rates.table import ALIASES, KINDS, Kind, add_kind, join_event

LITERAL = re.compile(r"1|~?(d|y|v|decided)|[dyv](==|!=)[dyv]")
DIRECTIONS = ("more", "less", "either", "neither")


def rate(
    name: str, event: str, among: str | None = "1", meaning: str = "", better: str = "either"
) -> Kind:
    """Define a share of rows, or a count if `among` is None.

    Both arguments are events of the table: d is the decision, y the label and v the live model's
    decision, and each letter means "is the class in question". ``~`` negates a letter, ``==`` and
    ``!=`` compare two, ``&`` and ``or`` join events.

    >>> needless_visits = rate("needless_visits", "d & ~y")
    >>> needless_visits(sex="Female") <= 0.02
    needless_visits(sex == "Female") <= 0.02
    """
    counted = _read_event(name, event)
    if among is None:
        return _define(name, counted, None, meaning or f"Number of rows where {counted}.", better)
    below = _read_event(name, among)
    if " or " in below:
        raise ValueError(f"{name}: among= takes no 'or', got {among!r}; define a ratio instead")
    meaning = meaning or f"Share of rows where {counted}, among those where {below}."
    for literal in below.split(" & "):
        counted = join_event(counted, literal)
    return _define(name, counted, below, meaning, better)


def ratio(name: str, event: str, over: str, meaning: str = "", better: str = "either") -> Kind:
    """Define the number of rows of one event over the number of rows of another.

    >>> frequency_bias = ratio("frequency_bias", "d", "y")
    >>> frequency_bias(sex="Female") <= 1.1
    frequency_bias(sex == "Female") <= 1.1
    """
    above = _read_event(name, event)
    below = _read_event(name, over)
    meaning = meaning or f"Number of rows where {above}, over the number where {below}."
    return _define(name, above, below, meaning, better)


def _define(name: str, counted: str, among: str | None, meaning: str, better: str) -> Kind:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(
            f"a rate needs a plain word as its name, as in needless_visits, got {name!r}"
        )
    is_built_in = name in KINDS and not KINDS[name].is_own
    is_reserved = name in {*ALIASES, *GOALS, *SHAPES, *RESERVED, *OPTIONS}
    if is_built_in or is_reserved:
        raise ValueError(f"{name} is taken: give your rate another name")
    if better not in DIRECTIONS:
        raise ValueError(f"{name}: better= is one of {', '.join(DIRECTIONS)}, got {better!r}")
    return add_kind(name, counted, among, meaning, better, is_own=True)


def _read_event(name: str, event: str) -> str:
    """Return an event with blanks as in the table; raise if it cannot be read."""
    alternatives = []
    for alternative in re.split(r"\s+or\s+|\|", event):
        literals = []
        for text in alternative.split("&"):
            literal = re.sub(r"\s", "", text)
            if not LITERAL.fullmatch(literal):
                raise ValueError(
                    f"{name}: cannot read {literal!r} in the event {event!r}; "
                    "write d, y, v or decided, as in d & ~y or d!=v"
                )
            literals.append(literal)
        alternatives.append(" & ".join(literals))
    return " or ".join(alternatives)
