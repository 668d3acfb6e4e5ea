"""Documents as text, HTML, Markdown and JSON. Each format is a function, listed by name in `FORMATS`.

Words may come from users' tables, so every format escapes them: a terminal receives nothing that it
would obey, and HTML and Markdown nothing that they would take for markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from pathlib import Path

from ratebound._old.base import document as doc
from ratebound._old.base.charts import bar, chart, dots, whisker
from ratebound._old.base.checks import nearest
from ratebound._old.base.layout import aligned, printable
from ratebound._old.base.markup import Markup, page_of, resource, style, tag
from ratebound._old.base.writing import write_whole

MARKS = {"kept": "✓", "uncertain": "?", "broken": "✗", "nothing": "–"}
SIGNS = {"<=": "≤", ">=": "≥"}
INDENT = "   "  # of a section's content, in a text
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&$])")  # characters that Markdown would take for markup


# --- text --------------------------------------------------------------------------------------------


def as_text(document: doc.Document) -> str:
    """Lines for a terminal, with the conclusion at the end."""
    parts = [*document.parts, *([document.conclusion] if document.conclusion else [])]
    return "\n".join([_line(document.lead), *_text_lines(parts)])


def _text_lines(parts: Sequence[doc.Part]) -> list[str]:
    return [line for part in parts for line in _text(part)]


def _text(part: doc.Part) -> list[str]:
    match part:
        case doc.Paragraph():
            return [*[""] * part.apart, _line(doc.words_of(part.words))]
        case doc.Remark():
            return []
        case doc.Fact():
            return ["", _line(f"{part.name}: {doc.words_of((part.value, part.below))}")]
        case doc.Bullets():
            return ["", *(_line(f"- {doc.words_of(item)}") for item in part.items)]
        case doc.ReportTable():
            rows = [[head.words for head in part.heads]]
            rows += [[doc.words_of(cell) for cell in row] for row in part.rows]
            right = [place for place, head in enumerate(part.heads) if head.numeric]
            return [*[""] * part.apart, *aligned(rows, right, part.ruled)]
        case doc.Chart():
            return ["", *(_line(doc.words_of(cell)) for cell in part.caption or (part.label,))]
        case doc.DotChart():
            return ["", _line(part.label)]
        case doc.Conclusion():
            return ["", _line(part.summary), *map(_line, part.notes)]
    inside = (f"{INDENT}{line}".rstrip() for line in _text_lines(part.parts))
    return ["", _line(part.title), *inside]


def _line(words: str) -> str:
    return printable(words, "")


# --- Markdown ----------------------------------------------------------------------------------------


def as_markdown(document: doc.Document) -> str:
    """Markdown with GitHub's tables, the conclusion first."""
    first = [document.conclusion] if document.conclusion else []
    blocks = [f"# {_escaped(document.title)}", _escaped(document.lead)]
    blocks += _markdown_blocks([*first, *document.parts], 2)
    blocks += [_escaped(document.footer)] if document.footer else []
    return "\n\n".join(blocks)


def _markdown_blocks(parts: Sequence[doc.Part], level: int) -> list[str]:
    return [block for part in parts for block in _markdown(part, level)]


def _markdown(part: doc.Part, level: int) -> list[str]:
    match part:
        case doc.Paragraph():
            return [_markdown_cell(part.words)]
        case doc.Remark():
            return [_escaped(part.words)]
        case doc.Fact():
            return [f"**{_escaped(part.name)}:** {_markdown_cell((part.value, part.below))}"]
        case doc.Bullets():
            return ["\n".join(f"- {_markdown_cell(item)}" for item in part.items)]
        case doc.ReportTable():
            heads = [_escaped(head.title) for head in part.heads]
            rules = ["--:" if head.numeric else "---" for head in part.heads]
            rows = [heads, rules, *([_markdown_cell(cell) for cell in row] for row in part.rows)]
            return [_escaped(part.caption), "\n".join(f"| {' | '.join(row)} |" for row in rows)]
        case doc.Chart():
            return ["  \n".join(map(_markdown_cell, part.caption or (part.label,)))]
        case doc.DotChart():
            return [_escaped(part.label)]
        case doc.Conclusion():
            headline = [f"**{_escaped(part.headline)}.**"] if part.headline else []
            said = " ".join([*headline, _escaped(doc.capital(part.summary))])
            return [said, *map(_escaped, part.notes)]
    return [f"{'#' * level} {_escaped(part.title)}", *_markdown_blocks(part.parts, level + 1)]


def _markdown_cell(cell: doc.Cell) -> str:
    match cell:
        case doc.Quoted(words, formula=False) if words:
            return _quoted(words)
        case doc.Standing(words, "broken"):
            return f"**{_escaped(words)}**"
        case tuple():
            return " ".join(filter(None, map(_markdown_cell, cell)))
    return _escaped(doc.words_of(cell))


def _escaped(words: str) -> str:
    return MARKUP.sub(r"\\\1", _line(words))


def _quoted(words: str) -> str:
    """Words between backticks, one more than the longest run of backticks in the words."""
    words = _line(words).replace("|", "\\|")  # GitHub's tables end a cell there even inside backticks
    fence = "`" * (1 + max(map(len, re.findall("`+", words)), default=0))
    room = " " * (words[0] == "`" or words[-1] == "`")
    return f"{fence}{room}{words}{room}{fence}"


# --- HTML --------------------------------------------------------------------------------------------


def as_page(document: doc.Document) -> str:
    """The whole page, with a table of contents if it has sections with names.

    What stands before the first section is at the top of the page.
    """
    parts = document.parts
    sections = [place for place, part in enumerate(parts) if isinstance(part, doc.Section)]
    first = sections[0] if sections else 0
    named = [part for part in parts if isinstance(part, doc.Section) and part.name]
    links = [tag("li", tag("a", each.title, href=f"#{each.name}")) for each in named]
    body = tag(
        "div",
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag("header", *_heading(document), *_blocks(parts[:first])),
        *([tag("nav", tag("ol", *links), aria_label="Contents")] if links else []),
        tag("main", *_blocks(parts[first:]), id="report", tabindex=-1),
        *([tag("footer", tag("p", document.footer))] if document.footer else []),
        class_="ratebound",
    )
    return page_of(document.title, body, style(__package__), script=resource(__package__, "page.js"))


def as_fragment(document: doc.Document) -> str:
    """A fragment of HTML for a notebook; it has no script, and its style affects nothing else."""
    unnamed = (replace(p, name="") if isinstance(p, doc.Section) else p for p in document.parts)
    whole = tag("div", *_heading(document), *_blocks(list(unnamed)), class_="ratebound")
    return f"{style(__package__)}\n{whole}"


def _heading(document: doc.Document) -> list[Markup]:
    first = [document.conclusion] if document.conclusion else []
    lead = tag("p", document.lead, class_="lead")
    return [tag("h1", document.title), lead, *_blocks(first)]


def _blocks(parts: Sequence[doc.Part], level: int = 2) -> list[Markup]:
    """Parts one after the other; charts and facts go side by side."""
    blocks: list[Markup] = []
    for kind, run in groupby(parts, type):
        if kind is doc.Chart:
            blocks.append(tag("div", *(_block(each, level) for each in run), class_="charts"))
        elif kind is doc.Fact:
            blocks.append(tag("dl", *(_block(each, level) for each in run), class_="figures"))
        else:
            blocks += [_block(each, level) for each in run]
    return blocks


def _block(part: doc.Part, level: int) -> Markup:
    match part:
        case doc.Paragraph():
            words = part.words if isinstance(part.words, tuple) else (part.words,)
            return tag("p", Markup(" ".join(map(_inline, words))))
        case doc.Remark():
            return tag("p", part.words, class_="note")
        case doc.Fact():
            small = [tag("small", part.below)] if part.below else []
            return tag("div", tag("dt", part.name), tag("dd", _inline(part.value), *small))
        case doc.Bullets():
            items = [tag("li", _inline(item)) for item in part.items]
            return tag("ul", *items, class_="names" if part.short else "items")
        case doc.ReportTable():
            return _table(part)
        case doc.Chart() if part.caption:
            first, *others = part.caption
            caption = tag("figcaption", _inline(first), *(tag("small", _inline(o)) for o in others))
            return tag("figure", chart(part), caption, data_at=part.at)
        case doc.Chart():
            return chart(part)
        case doc.DotChart():
            return dots(part)
        case doc.Conclusion():
            return _conclusion(part)
    title = f"{part.name}-title" if part.name else None
    inside = [tag(f"h{level}", part.title, id=title), *_blocks(part.parts, level + 1)]
    if part.folded:
        inside = [tag("details", tag("summary", inside[0]), *inside[1:])]
    kinds = ["inner"] * (level > 2) + ["fresh"] * part.fresh
    return tag(
        "section",
        *inside,
        id=part.name or None,
        aria_labelledby=title,
        class_=" ".join(kinds) or None,
    )


def _conclusion(part: doc.Conclusion) -> Markup:
    said = [tag("strong", part.headline or part.summary)]
    said += [tag("p", doc.capital(part.summary))] if part.headline else []
    said += [tag("p", note) for note in part.notes]
    mark = tag("span", MARKS.get(part.state, ""), class_="mark", aria_hidden="true")
    return tag("div", mark, tag("div", *said), class_=f"verdict {part.state}".rstrip())


def _table(part: doc.ReportTable) -> Markup:
    """A table in a frame that scrolls if it is wide; numbers are right-aligned."""
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


def _side(head: doc.Head) -> str | None:
    return "n" if head.kind == "number" else None


def _inline(cell: doc.Cell) -> Markup:
    """The content of a cell or a sentence."""
    match cell:
        case doc.Datum(value=None):
            return tag("span", cell.shown, class_="n")
        case doc.Datum():
            own = {"value": repr(cell.value), "data_at": cell.at or None}
            said = tag("data", cell.shown, class_="n", **own)
            return Markup(f"{SIGNS[cell.sign]} {said}") if cell.sign else said
        case doc.Quoted():
            return tag("span", cell.words, class_="formula") if cell.formula else tag("code", cell.words)
        case doc.Standing():
            return tag("span", cell.words.lower(), class_=f"chip {cell.state}".rstrip())
        case doc.Whisker():
            words = tag("small", cell.shown, title=cell.method or None)
            return Markup(whisker(cell) + words)
        case doc.Bar():
            return Markup(tag("div", _inline(cell.rate)) + bar(cell))
        case tuple():
            first, *others = cell
            return Markup(_inline(first) + "".join(tag("small", _inline(o)) for o in others if o))
    return Markup(escape(cell))


# --- JSON, and all of them ---------------------------------------------------------------------------


def as_json(document: doc.Document) -> str:
    """The document's data."""
    return json.dumps(document.data(), indent=2, allow_nan=False, ensure_ascii=False)


FORMATS: dict[str, Callable[[doc.Document], str]] = {
    "text": as_text,
    "html": as_page,
    "markdown": as_markdown,
    "json": as_json,
}


class Documented:
    """Something to read: it makes a `Document`, from which it is printed, shown and written."""

    def document(self) -> doc.Document:
        """The whole content, before it has a format.

        Returns
        -------
        Document
            The content that every format is made from.
        """
        raise NotImplementedError

    def render(self, form: str = "text", *, title: str | None = None) -> str:
        """The whole content in one format.

        Parameters
        ----------
        form : str, default="text"
            ``"text"``, ``"html"`` (a self-contained page), ``"markdown"``, ``"json"``, or a format
            that was added to `ratebound.base.rendering.FORMATS`.
        title : str, default=None
            The title of a page. By default the document's own.

        Returns
        -------
        str
            The text of a file.

        Raises
        ------
        ValueError
            If there is no such format.
        """
        if form not in FORMATS:
            known = ", ".join(map(repr, FORMATS))
            raise ValueError(f"there is no format {form!r}{nearest(form, FORMATS)} There are {known}")
        document = self.document()
        return FORMATS[form](document if title is None else replace(document, title=title))

    def save_html(self, path: str | Path, *, title: str | None = None) -> None:
        """Write a self-contained page, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file.
        title : str, default=None
            The title of the page. By default the document's own.
        """
        write_whole(path, self.render("html", title=title).encode())

    def __str__(self) -> str:
        return as_text(self.document())

    def _repr_html_(self) -> str:
        return as_fragment(self.document())
