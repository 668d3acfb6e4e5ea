"""The audit as one page that loads nothing from elsewhere, light or dark as the reader's, and in print.

Its scripts only add to it: sorting, hovering, and moving along what a promise costs.
"""

from __future__ import annotations

from ratebound.auditing._about_model import columns, deciding, training
from ratebound.auditing._about_promises import certificate, promised, promises
from ratebound.auditing._checking import checking
from ratebound.auditing._group_tables import confusions, groups
from ratebound.auditing._price_charts import price_section
from ratebound.auditing._tables import Section, count, value
from ratebound.auditing.report import Audit
from ratebound.auditing.wording import heading, interval_text, percent, summary
from ratebound.base.markup import Markup, page_of, resource, style, tag

MARKS = {"kept": "✓", "uncertain": "?", "broken": "✗", "nothing": "–"}


def page(report: Audit, title: str) -> str:
    """The whole page."""
    found = sections(report)
    links = [tag("li", tag("a", each.title, href=f"#{each.name}")) for each in found]
    body = tag(
        "div",
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag("header", *_top(report, title)),
        tag("nav", tag("ol", *links), aria_label="Contents"),
        tag("main", *(each.shown() for each in found), id="report", tabindex=-1),
        tag("footer", _footer(report)),
        class_="ratebound",
    )
    return page_of(title, body, style("ratebound.base"), script=resource("ratebound.base", "page.js"))


def fragment(report: Audit) -> Markup:
    """The part of a page that a notebook shows; it has no script, and its style touches nothing else."""
    found = [promises(report), groups(report), *([confusions(report)] if report.confusions else [])]
    parts = [each.alone() for each in found if each is not None]
    whole = tag("div", *_top(report, "Audit"), *parts, class_="ratebound")
    return Markup(style("ratebound.base") + "\n" + whole)


def sections(report: Audit) -> list[Section]:
    """What the page shows, the most important first."""
    found = [
        promised(report),
        certificate(report),
        promises(report),
        price_section(report),
        groups(report),
        confusions(report) if report.confusions else None,
        training(report),
        deciding(report),
        columns(report),
        Section("limits", "Known limits", (_limits(report),)),
        checking(report),
    ]
    return [each for each in found if each is not None]


def _top(report: Audit, title: str) -> list[Markup]:
    state, words = _verdict(report)
    said = summary(report)
    return [
        tag("h1", title),
        tag("p", heading(report), ".", class_="lead"),
        tag(
            "div",
            tag("span", MARKS[state], class_="mark", aria_hidden="true"),
            tag("div", tag("strong", words), tag("p", said[:1].upper() + said[1:] + ".")),
            class_=f"verdict {state}",
        ),
        tag("dl", *_figures(report), class_="figures"),
    ]


def _verdict(report: Audit) -> tuple[str, str]:
    """The state, and what is to be said first."""
    if not report.promises:
        return "nothing", "Nothing was promised"
    broken = sum(promise.verdict == "broken" for promise in report.promises)
    if broken:
        which = "A promise is" if broken == 1 else f"{broken} promises are"
        return "broken", f"{which} broken"
    if not report.kept:
        return "broken", "Not every promise is kept on these rows"
    if report.certain:
        own = "The promise holds" if len(report.promises) == 1 else "Every promise holds, each alone,"
        return "kept", f"{own} on new rows at {percent(report.confidence)}"
    if report.provenance is not None and report.provenance.unseen is False:
        return "uncertain", "Kept on the rows it was trained on, which shows nothing about new ones"
    return "uncertain", "Kept on these rows, but not shown for new ones"


def _figures(report: Audit) -> list[Markup]:
    """The numbers that people ask for first."""
    one, total = report.objective, len(report.promises)
    done = "Minimised" if one.sense == "minimize" else "Maximised"
    ends = interval_text(one.low, one.high, signed=False)
    name, rows = next(iter(report.populations.items()))
    found = [
        _figure(
            f"{done}: {one.words}",
            value(one.value, "objective/value"),
            f"{percent(report.confidence)} bounds {ends}",
        ),
        _figure("Rows audited", count(rows, f"populations/{name}"), ""),
    ]
    if total:
        kept = sum(bool(promise.kept) for promise in report.promises)
        found.insert(0, _figure("Promises kept on these rows", f"{kept} of {total}", ""))
    if report.card is not None:
        own = report.card.mixture.certificate
        said = (
            "None" if own is None else f"Holds at {percent(own.confidence)}" if own.holds else "Refused"
        )
        found.append(_figure("Certificate", said, ""))
    return found


def _figure(name: str, shown: object, below: str) -> Markup:
    small = [tag("small", below)] if below else []
    return tag("div", tag("dt", name), tag("dd", shown, *small))


def _limits(report: Audit) -> Markup:
    return tag("ul", *(tag("li", each) for each in report.limits), class_="limits")


def _footer(report: Audit) -> Markup:
    origin = report.provenance
    if origin is None:
        return tag("p", "Made by ratebound.")
    version = origin.versions.get("ratebound", "")
    return tag(
        "p", f"Made by ratebound {version} on {origin.date}. Every number here is in the audit’s JSON."
    )
