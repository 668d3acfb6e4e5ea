"""All tables on one page: no scripts, nothing loaded from elsewhere, figures inside it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from ratebound._old.base.markup import Markup, page_of, style, tag
from ratebound_experiments.rows import CALLED, VALUES, Chosen, Summary
from ratebound_experiments.tables import STAND_IN, Reproduced, chosen_text, number

PAPER = "Cotter et al., “Optimization with Non-Differentiable Constraints”"
NOTE = (
    "Violation: the worst over all constraints, kept where at most 0. Rates: learning rates of model "
    "and multipliers, chosen on validation rows among those tried."
)


def page(tables: Sequence[Reproduced], figures: Mapping[str, Mapping[str, bytes]]) -> str:
    """A whole document; `figures` are PNGs by the name of a table, then by what they show."""
    sections = [_section(table, figures.get(table.name, {})) for table in tables]
    lead = tag("p", f"Ours beside the published ones of {PAPER}.", class_="lead")
    body = tag(
        "div", tag("h1", "Tables reproduced"), lead, _contents(tables), *sections,
        class_="ratebound tables",
    )  # fmt: skip
    return page_of("Tables reproduced", body, style("ratebound._old.base"), style(__package__))


def _contents(tables: Sequence[Reproduced]) -> Markup:
    items = [
        tag(
            "li",
            tag("a", table.title, href=f"#{table.name}"),
            " (stand-in data)" if table.stand_in else "",
            f": {table.heading}, {table.total_seconds:.1f} seconds",
        )
        for table in tables
    ]
    return tag("ul", *items)


def _section(table: Reproduced, figures: Mapping[str, bytes]) -> Markup:
    parts = [tag("h2", table.title + (" (stand-in data)" if table.stand_in else ""), id=table.name)]
    parts.append(tag("p", f"{table.words[:1].upper()}{table.words[1:]}."))
    if table.stand_in:
        parts.append(tag("p", STAND_IN, class_="stand-in"))
    parts += [_table(table), tag("p", NOTE, class_="note"), _particulars(table)]
    parts += [_image(content, f"{table.title}: {shown}") for shown, content in figures.items()]
    return tag("section", *parts)


def _table(table: Reproduced) -> Markup:
    published = "Published" + (", other data" if table.stand_in else "")
    whose = [(f"Ours, {table.heading}", "over first"), (published, "over first theirs")]
    kinds = [(kind, shade) for _, shade in whose for kind in ("Error", "Worst violation")]
    parts = ("train", "valid", "test") * 4
    heads = [tag("th", part, class_=_kind(i, theirs=i >= 6)) for i, part in enumerate(parts)]
    rows = [_row(table, *pair) for pair in zip(table.rows, table.chosen, strict=True)]
    head = tag(
        "thead",
        tag("tr", tag("th"), *(tag("th", words, colspan=6, class_=c) for words, c in whose), tag("th")),
        tag("tr", tag("th"), *(tag("th", words, colspan=3, class_=c) for words, c in kinds), tag("th")),
        tag("tr", tag("th"), *heads, tag("th", "Rates", class_="first")),
    )
    return tag("div", tag("table", head, tag("tbody", *rows)), class_="wide")


def _row(table: Reproduced, summary: Summary, chosen: Sequence[Chosen]) -> Markup:
    published = table.published_row(summary.row)
    ours: list[Markup] = []
    for mean, deviation in zip(summary.row.values(), summary.deviations.values(), strict=True):
        spread = tag("small", f"±{number(deviation)}") if summary.seeds > 1 else ""
        ours.append(tag("td", number(mean), spread, class_=_kind(len(ours))))
    known = ["–"] * len(VALUES) if published is None else map(number, published.values())
    theirs = [tag("td", value, class_=_kind(i, True)) for i, value in enumerate(known)]
    rates = tag("td", tag("code", chosen_text(chosen)), class_="first")
    return tag("tr", tag("td", summary.row.title, class_="row"), *ours, *theirs, rates)


def _kind(place: int, theirs: bool = False) -> str:
    return "n" + (" first" if place % 3 == 0 else "") + (" theirs" if theirs else "")


def _particulars(table: Reproduced) -> Markup:
    seconds = ", ".join(f"{CALLED[name]} {value:.1f}" for name, value in table.seconds.items())
    lines = {
        "Seconds of training": f"{table.total_seconds:.1f} on {table.device}: {seconds}",
        "Seeds": ", ".join(map(str, table.seeds)),
        "Versions": ", ".join(f"{name} {found}" for name, found in table.versions.items()),
    }
    return tag("p", "; ".join(f"{name}: {words}" for name, words in lines.items()), ".", class_="note")


def _image(content: bytes, words: str) -> Markup:
    source = f"data:image/png;base64,{b64encode(content).decode('ascii')}"
    return Markup(f'<img src="{source}" alt="{escape(words)}">')
