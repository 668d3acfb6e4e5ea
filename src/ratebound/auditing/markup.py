"""HTML and SVG elements as nested calls. Whatever is not an element is text, and is escaped."""

from __future__ import annotations

from html import escape


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


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
