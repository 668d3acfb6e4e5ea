"""Documents as text, HTML, Markdown and JSON. Each format is a function; `FORMATS` knows them by name.

Words may come from people's tables, so every format writes them as words: a terminal is given nothing
that it would obey, and HTML and Markdown nothing that they would take for markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ratebound.base.document import (
    Bullets,
    Cell,
    Chart,
    Conclusion,
    Document,
    Fact,
    Paragraph,
    Part,
    Quoted,
    Remark,
    ReportTable,
    Standing,
    capital,
    words_of,
)
from ratebound.base.layout import aligned, printable
from ratebound.base.pages import as_fragment, as_page
from ratebound.base.spelling import nearest
from ratebound.base.writing import write_whole

INDENT = "   "  # of what a section holds, in a text
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&$])")  # what Markdown would not take as it is


# --- text --------------------------------------------------------------------------------------------


def as_text(document: Document) -> str:
    """Lines for a terminal, with the conclusion at the end."""
    parts = [*document.parts, *([document.conclusion] if document.conclusion else [])]
    return "\n".join([_line(document.lead), *_text_lines(parts)])


def _text_lines(parts: Sequence[Part]) -> list[str]:
    return [line for part in parts for line in _text(part)]


def _text(part: Part) -> list[str]:
    match part:
        case Paragraph():
            return [*[""] * part.apart, _line(words_of(part.words))]
        case Remark():
            return []
        case Fact():
            return ["", _line(f"{part.name}: {words_of((part.value, part.below))}")]
        case Bullets():
            return ["", *(_line(f"- {words_of(item)}") for item in part.items)]
        case ReportTable():
            rows = [[head.words for head in part.heads]]
            rows += [[words_of(cell) for cell in row] for row in part.rows]
            right = [place for place, head in enumerate(part.heads) if head.numeric]
            return [*[""] * part.apart, *aligned(rows, right, part.ruled)]
        case Chart():
            return ["", *(_line(words_of(cell)) for cell in part.caption or (part.label,))]
        case Conclusion():
            return ["", _line(part.summary), *map(_line, part.notes)]
    inside = (f"{INDENT}{line}".rstrip() for line in _text_lines(part.parts))
    return ["", _line(part.title), *inside]


def _line(words: str) -> str:
    return printable(words, "")


# --- Markdown ----------------------------------------------------------------------------------------


def as_markdown(document: Document) -> str:
    """Markdown with GitHub's tables, the conclusion first."""
    first = [document.conclusion] if document.conclusion else []
    blocks = [f"# {_escaped(document.title)}", _escaped(document.lead)]
    blocks += _markdown_blocks([*first, *document.parts], 2)
    blocks += [_escaped(document.footer)] if document.footer else []
    return "\n\n".join(blocks)


def _markdown_blocks(parts: Sequence[Part], level: int) -> list[str]:
    return [block for part in parts for block in _markdown(part, level)]


def _markdown(part: Part, level: int) -> list[str]:
    match part:
        case Paragraph():
            return [_markdown_cell(part.words)]
        case Remark():
            return [_escaped(part.words)]
        case Fact():
            return [f"**{_escaped(part.name)}:** {_markdown_cell((part.value, part.below))}"]
        case Bullets():
            return ["\n".join(f"- {_markdown_cell(item)}" for item in part.items)]
        case ReportTable():
            heads = [_escaped(head.title) for head in part.heads]
            rules = ["--:" if head.numeric else "---" for head in part.heads]
            rows = [heads, rules, *([_markdown_cell(cell) for cell in row] for row in part.rows)]
            return [_escaped(part.caption), "\n".join(f"| {' | '.join(row)} |" for row in rows)]
        case Chart():
            return ["  \n".join(map(_markdown_cell, part.caption or (part.label,)))]
        case Conclusion():
            headline = [f"**{_escaped(part.headline)}.**"] if part.headline else []
            said = " ".join([*headline, _escaped(capital(part.summary))])
            return [said, *map(_escaped, part.notes)]
    return [f"{'#' * level} {_escaped(part.title)}", *_markdown_blocks(part.parts, level + 1)]


def _markdown_cell(cell: Cell) -> str:
    match cell:
        case Quoted(words, formula=False) if words:
            return _quoted(words)
        case Standing(words, "broken"):
            return f"**{_escaped(words)}**"
        case tuple():
            return " ".join(filter(None, map(_markdown_cell, cell)))
    return _escaped(words_of(cell))


def _escaped(words: str) -> str:
    return MARKUP.sub(r"\\\1", _line(words))


def _quoted(words: str) -> str:
    """Words between backticks, more of them than the words have in a row."""
    words = _line(words).replace("|", "\\|")  # GitHub's tables end a cell there even inside backticks
    fence = "`" * (1 + max(map(len, re.findall("`+", words)), default=0))
    room = " " * (words[0] == "`" or words[-1] == "`")
    return f"{fence}{room}{words}{room}{fence}"


# --- JSON, and all of them ---------------------------------------------------------------------------


def as_json(document: Document) -> str:
    """The document's data."""
    return json.dumps(document.data(), indent=2, allow_nan=False, ensure_ascii=False)


FORMATS: dict[str, Callable[[Document], str]] = {
    "text": as_text,
    "html": as_page,
    "markdown": as_markdown,
    "json": as_json,
}


class Documented:
    """Something to read: it makes a `Document`, and is printed, shown and written from that."""

    def document(self) -> Document:
        """All that there is to read, in no format yet.

        Returns
        -------
        Document
            What every format is made of.
        """
        raise NotImplementedError

    def render(self, form: str = "text", *, title: str | None = None) -> str:
        """The whole of it in a format.

        Parameters
        ----------
        form : str, default="text"
            ``"text"``, ``"html"`` (a page that needs nothing else), ``"markdown"``, ``"json"``, or one
            that was added to `ratebound.base.rendering.FORMATS`.
        title : str, default=None
            Of a page. By default it has one.

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
        """Write a page that needs nothing else, whole or not at all.

        Parameters
        ----------
        path : str or path
            The file.
        title : str, default=None
            Of the page. By default it has one.
        """
        write_whole(path, self.render("html", title=title).encode())

    def __str__(self) -> str:
        return as_text(self.document())

    def _repr_html_(self) -> str:
        return as_fragment(self.document())
