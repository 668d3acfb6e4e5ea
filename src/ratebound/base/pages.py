"""Documents as HTML: a page that loads nothing from elsewhere, or the part of one that a notebook shows.

A page is light or dark as its reader has it, and can be printed. Its script only adds to it: sorting,
hovering, and moving along a curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from itertools import groupby

from ratebound.base.charts import bar, chart, whisker
from ratebound.base.document import (
    Bar,
    Bullets,
    Cell,
    Chart,
    Conclusion,
    Datum,
    Document,
    Fact,
    Head,
    Paragraph,
    Part,
    Quoted,
    Remark,
    ReportTable,
    Section,
    Standing,
    Whisker,
    capital,
)
from ratebound.base.markup import Markup, page_of, resource, style, tag

MARKS = {"kept": "✓", "uncertain": "?", "broken": "✗", "nothing": "–"}
SIGNS = {"<=": "≤", ">=": "≥"}


def as_page(document: Document) -> str:
    """The whole page, with a table of contents if it has sections."""
    sections = [part for part in document.parts if isinstance(part, Section) and part.name]
    top = [part for part in document.parts if part not in sections] if sections else []
    links = [tag("li", tag("a", each.title, href=f"#{each.name}")) for each in sections]
    body = tag(
        "div",
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag("header", *_heading(document), *_blocks(top)),
        *([tag("nav", tag("ol", *links), aria_label="Contents")] if links else []),
        tag("main", *_blocks(sections or document.parts), id="report", tabindex=-1),
        *([tag("footer", tag("p", document.footer))] if document.footer else []),
        class_="ratebound",
    )
    return page_of(document.title, body, style(__package__), script=resource(__package__, "page.js"))


def as_fragment(document: Document) -> str:
    """The part of a page for a notebook; it has no script, and its style touches nothing else."""
    parts = [replace(part, name="") if isinstance(part, Section) else part for part in document.parts]
    whole = tag("div", *_heading(document), *_blocks(parts), class_="ratebound")
    return f"{style(__package__)}\n{whole}"


def _heading(document: Document) -> list[Markup]:
    first = [document.conclusion] if document.conclusion else []
    lead = tag("p", document.lead, class_="lead")
    return [tag("h1", document.title), lead, *_blocks(first)]


def _blocks(parts: Sequence[Part], level: int = 2) -> list[Markup]:
    """Parts one after the other; charts and facts stand side by side."""
    blocks: list[Markup] = []
    for kind, run in groupby(parts, type):
        if kind is Chart:
            blocks.append(tag("div", *(_block(each, level) for each in run), class_="charts"))
        elif kind is Fact:
            blocks.append(tag("dl", *(_block(each, level) for each in run), class_="figures"))
        else:
            blocks += [_block(each, level) for each in run]
    return blocks


def _block(part: Part, level: int) -> Markup:
    match part:
        case Paragraph():
            words = part.words if isinstance(part.words, tuple) else (part.words,)
            return tag("p", Markup(" ".join(map(_inline, words))))
        case Remark():
            return tag("p", part.words, class_="note")
        case Fact():
            small = [tag("small", part.below)] if part.below else []
            return tag("div", tag("dt", part.name), tag("dd", _inline(part.value), *small))
        case Bullets():
            items = [tag("li", _inline(item)) for item in part.items]
            return tag("ul", *items, class_="names" if part.short else "items")
        case ReportTable():
            return _table(part)
        case Chart() if part.caption:
            first, *others = part.caption
            caption = tag("figcaption", _inline(first), *(tag("small", _inline(o)) for o in others))
            return tag("figure", chart(part), caption, data_at=part.at)
        case Chart():
            return chart(part)
        case Conclusion():
            return _conclusion(part)
    named = bool(part.name)
    title = f"{part.name}-title" if named else None
    head = tag(f"h{level}", part.title, id=title)
    return tag(
        "section",
        head,
        *_blocks(part.parts, level + 1),
        id=part.name if named else None,
        aria_labelledby=title,
        class_=None if level == 2 else "inner",
    )


def _conclusion(part: Conclusion) -> Markup:
    said = [tag("strong", part.headline or part.summary)]
    said += [tag("p", capital(part.summary))] if part.headline else []
    said += [tag("p", note) for note in part.notes]
    mark = tag("span", MARKS.get(part.state, ""), class_="mark", aria_hidden="true")
    return tag("div", mark, tag("div", *said), class_=f"verdict {part.state}".rstrip())


def _table(part: ReportTable) -> Markup:
    """A table in a frame in which it scrolls if it is wide; numbers are at the right."""
    heads = [tag("th", h.title, scope="col", class_=_side(h)) for h in part.heads]
    body = []
    for row in part.rows:
        first, *others = zip(part.heads, row, strict=True)
        cells = [tag("th", _inline(first[1]), scope="row", role="rowheader", class_=_side(first[0]))]
        cells += [
            tag("td", _inline(cell), role="cell", data_head=head.title, class_=_side(head))
            for head, cell in others
        ]
        body.append(tag("tr", *cells, role="row"))
    kinds = [name for name in ("sortable", "stacked") if getattr(part, name)]
    table = tag(
        "table",
        tag("caption", part.caption),
        tag("thead", tag("tr", *heads, role="row"), role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        role="table",
        class_=" ".join(kinds) or None,
    )
    return tag("div", table, class_="wide", role="region", aria_label=part.caption, tabindex=0)


def _side(head: Head) -> str | None:
    return "n" if head.kind == "number" else None


def _inline(cell: Cell) -> Markup:
    """What stands in a cell, or in a sentence."""
    match cell:
        case Datum(value=None):
            return tag("span", cell.shown, class_="n")
        case Datum():
            own = {"value": repr(cell.value), "data_at": cell.at or None}
            said = tag("data", cell.shown, class_="n", **own)
            return Markup(f"{SIGNS[cell.sign]} {said}") if cell.sign else said
        case Quoted():
            return tag("span", cell.words, class_="formula") if cell.formula else tag("code", cell.words)
        case Standing():
            return tag("span", cell.words.lower(), class_=f"chip {cell.state}".rstrip())
        case Whisker():
            words = tag("small", cell.shown, title=cell.method or None)
            return Markup(whisker(cell) + words)
        case Bar():
            return Markup(tag("div", _inline(cell.rate)) + bar(cell))
        case tuple():
            first, *others = cell
            return Markup(_inline(first) + "".join(tag("small", _inline(o)) for o in others if o))
    return Markup(escape(cell))
