"""HTML and SVG elements as nested calls. Anything that is not an element is text and is escaped."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files

# The colours of the page's own paper, so that it reaches the edges of a window.
BODY = """body { margin: 0; background: #ffffff; }
@media screen and (prefers-color-scheme: dark) { body { background: #12161d; } }"""


class Markup(str):
    """Text that is already markup."""


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An element; in attributes a trailing ``_`` is dropped and ``_`` becomes ``-``.

    >>> tag("text", "a < b", class_="note", stroke_width=2)
    '<text class="note" stroke-width="2">a &lt; b</text>'
    """
    inside = "".join(child if isinstance(child, Markup) else escape(str(child)) for child in children)
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{inside}</{name}>")


def page_of(title: str, body: Markup, *styles: Markup, script: str = "") -> str:
    """A page that loads nothing from elsewhere, light or dark as its reader prefers.

    Its policy forbids loading anything and running any script but `script`, identified by its digest.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    runs = f"script-src 'sha256-{digest}'; " if script else ""
    policy = f"default-src 'none'; {runs}style-src 'unsafe-inline'; img-src data:; "
    policy += "base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", title),
        Markup(f"<style>{BODY}</style>"),
        *styles,
    )
    scripts = [Markup(f"<script>{script}</script>")] if script else []
    return "<!doctype html>\n" + tag("html", head, tag("body", body, *scripts), lang="en")


def style(package: str) -> Markup:
    """The style sheet of a package."""
    return Markup(f"<style>{resource(package, 'page.css')}</style>")


def resource(package: str, name: str) -> str:
    """The text of a file in a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
