"""What the page is made of: sections, tables, and numbers that say where in the JSON they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ratebound.base.layout import NOTHING, number
from ratebound.base.markup import Markup, tag


@dataclass(frozen=True)
class Section:
    """A part of the page that its table of contents names."""

    name: str  # by which links find it
    title: str
    parts: tuple[Markup, ...]

    def shown(self) -> Markup:
        """As a part of the page."""
        head = tag("h2", self.title, id=f"{self.name}-title")
        return tag("section", head, *self.parts, id=self.name, aria_labelledby=f"{self.name}-title")

    def alone(self) -> Markup:
        """As a part of a notebook, where names of others may be the same."""
        return tag("section", tag("h2", self.title), *self.parts)


def value(
    given: float | None,
    at: str,
    *,
    signed: bool = False,
    beside: float | None = None,
    text: str | None = None,
) -> Markup:
    """A number, with the place `at` which the report's JSON has it, and its exact value for sorting."""
    if given is None:
        return Markup(tag("span", NOTHING, class_="n"))
    said = number(given, signed=signed, beside=beside) if text is None else text
    return tag("data", said, value=repr(given), data_at=at, class_="n")


def count(given: int | None, at: str) -> Markup:
    """A whole number, with its place in the JSON."""
    return value(given, at, text=None if given is None else f"{given:,}")


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    left: Sequence[int] = (0,),
    sortable: bool = False,
    stacked: bool = False,
) -> Markup:
    """A table whose columns are numbers at the right, except those at `left`.

    The first cell of a row is its head. With `sortable` a script lets readers sort it; with `stacked`
    each row becomes a list on narrow screens, and otherwise the table scrolls in its frame.
    """

    def side(place: int) -> str | None:
        return None if place in left else "n"

    head = [tag("th", text, scope="col", class_=side(i)) for i, text in enumerate(heads)]
    body = []
    for first, *others in rows:
        cells = [tag("th", first, scope="row", role="rowheader", class_=side(0))]
        pairs = zip(heads[1:], others, strict=True)
        cells += [
            tag("td", cell, role="cell", data_head=name, class_=side(i))
            for i, (name, cell) in enumerate(pairs, start=1)
        ]
        body.append(tag("tr", *cells, role="row"))
    kinds = [name for name, on in (("sortable", sortable), ("stacked", stacked)) if on]
    found = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head, role="row"), role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        role="table",
        class_=" ".join(kinds) or None,
    )
    return tag("div", found, class_="wide", role="region", aria_label=caption, tabindex=0)


def note(*words: object) -> Markup:
    """What is to be known to read a table or a chart."""
    return tag("p", *words, class_="note")


def lines(*parts: object) -> Markup:
    """Several things in a cell, each on a line of its own."""
    return Markup("".join(tag("div", part) for part in parts if part))
