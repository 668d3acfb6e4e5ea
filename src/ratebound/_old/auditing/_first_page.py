"""The first part of a report: the verdict, the cost, groups at a glance, chance, limits, sign-off.

Each is a function of the report that returns a section of the page. Tables and proofs come after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ratebound._old.auditing.wording import (
    TRAINED,
    certificate_of,
    interval_text,
    limits,
    on_new_rows,
    percent,
)
from ratebound._old.base import document as doc
from ratebound._old.base.layout import number
from ratebound._old.solution.baselines import COMPARED, ONE, OWN, PLAIN

if TYPE_CHECKING:  # these functions read the report
    from ratebound._old.auditing.report import Audit, Promise
    from ratebound._old.auditing.unpromised import ProtectedGroup

DRAWN, BESIDE = 12, 6  # promises, and groups without one, drawn at most
STATES: dict[str, doc.State] = {
    "holds": "kept",
    "certified": "kept",
    "may not hold": "uncertain",
    "not certified": "uncertain",
    "broken": "broken",
    "not shown": "unmeasured",
    "not measured": "unmeasured",
}
UNITS = {
    "rate": "Promises about rates",
    "ratio": "Promises about ratios",
    "rows": "Promises about numbers of rows",
    "cost": "Promises about costs",
}
WHICH = doc.heads("what", doc.Head("value", "words"))
BLANK = "____________________"


def state_of(report: Audit) -> tuple[doc.State, str]:
    """The state of the promises and the headline: what is broken, else the certificate."""
    total = len(report.promises)
    if not total:
        return "nothing", "Nothing was promised"
    own, on = certificate_of(report), "the training rows" if report.trained else "these rows"
    missed = sum(promise.kept is False or promise.verdict == "broken" for promise in report.promises)
    if any(promise.verdict == "broken" for promise in report.promises):
        which = "A promise is" if missed == 1 else f"{missed} of {total} promises are"
        though = (
            " on these rows, though other rows certified it" if own is not None and own.holds else ""
        )
        return "broken", f"{which} broken{though}"
    if not report.kept:
        if own is None or not own.holds:
            return "broken", f"Not every promise is kept on {on}"
        return "uncertain", f"Certified, but not every promise is kept on {on}"
    which = "the promise holds" if total == 1 else f"all {total} promises hold"
    if own is not None:
        level = f"on new rows at {percent(own.confidence)} confidence"
        if own.holds:
            return "kept", f"Certified: {which} {level}"
        return "uncertain", f"Not certified: it is not shown that {which} {level}"
    if report.trained:
        return "uncertain", "Kept on the training rows"
    if report.certain:
        alone = "The promise holds" if total == 1 else "Every promise holds, each alone,"
        return "kept", f"{alone} on new rows at {percent(report.confidence)} confidence"
    return "uncertain", "Kept on these rows, but not shown for new ones"


def notes(report: Audit) -> tuple[str, ...]:
    """What is to be read with the verdict."""
    status = None if report.card is None else report.card.mixture.status
    said = []
    if status is not None and status.conflict:
        said.append(
            f"In training these could not be kept together: {'; '.join(map(str, status.conflict))}. "
            "“Training and choice” says how far to relax them."
        )
    if not report.trained or certificate_of(report) is not None:
        return tuple(said)
    said.append(TRAINED)
    if status is not None and status.confidence is not None:
        said.append(
            "Training judged each row by models that did not see it, and estimates a confidence of "
            f"about {percent(status.confidence)} that all promises hold together on new rows. A "
            "certificate needs rows that took no part in training."
        )
    return tuple(said)


def facts(report: Audit) -> list[doc.Fact]:
    """The numbers that people ask for first."""
    total = len(report.promises)
    name, rows = next(iter(report.populations.items()))
    kept = sum(bool(promise.kept) for promise in report.promises)
    on = "the training rows" if report.trained else "these rows"
    said = [doc.Fact(f"Promises kept on {on}", f"{kept} of {total}")] if total else []
    words = "Rows audited, which it was trained on" if report.trained else "Rows audited"
    said.append(doc.Fact(words, doc.count(rows, f"populations/{name}")))
    if report.card is not None and total:
        own = certificate_of(report)
        words = "Refused" if own is None or not own.holds else f"Holds at {percent(own.confidence)}"
        said.append(doc.Fact("Certificate", "None" if own is None else words))
    if report.signed is not None:
        said.append(doc.Fact("Signed by", report.signed.owner, f"until {report.signed.expires}"))
    return said


def cost(report: Audit) -> doc.Section:
    """The objective without promises and with them, and the simplest models."""
    one = report.objective
    places = {each.name: place for place, each in enumerate(report.baselines)}
    own = "With the promises" if report.promises and not report.decided else "This model"
    own = "These decisions" if report.decided else own
    below = one.why or _bounds(report, one.low, one.high)
    said = [doc.Fact(own, doc.rate(one.value, "objective/value"), below)]
    if PLAIN in places:
        said.insert(0, _baseline(report, places[PLAIN], "Without promises"))
    others = [place for name, place in places.items() if name not in (OWN, PLAIN, ONE)]
    said += [_baseline(report, place, doc.capital(report.baselines[place].name)) for place in others]
    low = "lower is better" if one.sense == "minimize" else "higher is better"
    lead = doc.Paragraph((doc.Quoted(one.words), f"({low}):"))
    told = tuple(doc.Paragraph(words) for words in report.beside if not words.startswith(COMPARED))
    title = "What the promises cost" if PLAIN in places else "What was reached"
    return doc.Section(title, (lead, *said, *told), "cost")


def _baseline(report: Audit, place: int, name: str) -> doc.Fact:
    each = report.baselines[place]
    kept = f"keeps {each.kept} of {each.promises}" if each.promises else ""
    return doc.Fact(name, doc.rate(each.objective, f"baselines/{place}/objective"), kept)


def _bounds(report: Audit, low: float | None, high: float | None) -> str:
    """An interval in words; training rows have none for new rows."""
    if low is None or report.trained:
        return ""
    return f"{percent(report.confidence)} bounds {interval_text(low, high, signed=False)}"


def overview(report: Audit) -> doc.Section | None:
    """Every promise against its bound, then groups that no promise names, as dots with intervals."""
    panels = [*_promised(report), *_beside(report)]
    if not panels:
        return None
    words = "Dot: measured on these rows. "
    words += (
        "" if report.trained else f"Line through it: {percent(report.confidence)} bounds, each alone. "
    )
    words += "Upright line: the bound of a promise"
    words += ", or the rate of all other rows." if report.protected and report.protected.groups else "."
    if report.trained:
        words += " Rows that a model was trained on have no bounds for new rows."
    drawn = doc.DotChart("Promises and groups, as dots: " + _in_words(panels), tuple(panels))
    parts: list[doc.Part] = [drawn]
    for all_of, most, what in (
        (len(report.promises), DRAWN, "promises with the least room"),
        (len(_without(report)), BESIDE, "groups that differ most"),
    ):
        if all_of > most:
            more = f"{all_of - most} more are in the tables below"
            parts.append(doc.Paragraph(f"The {most} {what}; {more}."))
    return doc.Section("Promises and groups", (*parts, doc.Remark(words)), "overview")


def _in_words(panels: Sequence[doc.Panel]) -> str:
    return "; ".join(f"{dot.words}: {dot.shown}" for panel in panels for dot in panel.dots)


def _promised(report: Audit) -> list[doc.Panel]:
    """A panel for each unit of promises; if there are many promises, the ones with the least room."""
    shown = [(i, p) for i, p in enumerate(report.promises) if p.value is not None]
    if len(report.promises) > DRAWN:
        standing = {"broken": 0, "uncertain": 1}
        shown.sort(key=lambda each: (standing.get(_state(report, each[1]), 2), each[1].slack or 0.0))
        shown = shown[:DRAWN]
    panels = []
    for unit in dict.fromkeys(p.unit for _, p in shown):
        drawn = [_dot(report, p, f"promises/{i}") for i, p in shown if p.unit == unit]
        panels.append(doc.Panel(UNITS.get(unit, "Promises"), tuple(drawn), _axis(drawn)))
    return panels


def _dot(report: Audit, p: Promise, at: str) -> doc.Dot:
    assert p.value is not None
    ends = None
    if not (report.trained or p.bound is None or p.slack_low is None or p.slack_high is None):
        above = p.relation == ">="
        low, high = (p.slack_low, p.slack_high) if above else (-p.slack_high, -p.slack_low)
        ends = p.bound + low, p.bound + high
    value = doc.rate(p.value, beside=p.bound, broken=p.kept is False).shown
    verdict = on_new_rows(report, p)
    here = "kept" if p.kept else "broken"
    said = here if verdict in ("not shown", "not measured") or not p.kept else verdict
    return doc.Dot(
        p.words,
        f"{value}, {said}",
        p.value,
        ends,
        p.bound,
        _state(report, p),
        at,
    )


def _state(report: Audit, p: Promise) -> doc.State:
    verdict = on_new_rows(report, p)
    return "broken" if not p.kept else "kept" if verdict == "not shown" else STATES[verdict]


def _without(report: Audit) -> list[tuple[int, ProtectedGroup]]:
    """The groups by columns that look protected, and that no promise names, with their places."""
    every = () if report.protected is None else report.protected.groups
    return [(i, g) for i, g in enumerate(every) if g.positive_rate is not None and g.note != "promised"]


def _beside(report: Audit) -> list[doc.Panel]:
    """How often groups without a promise get a yes; the largest differences come first."""
    drawn = []
    for i, each in _without(report)[:BESIDE]:
        assert each.positive_rate is not None
        ends = None if report.trained or each.low is None or each.high is None else (each.low, each.high)
        said = f"{number(each.positive_rate)}, others {number(each.others)}"
        at = f"protected/groups/{i}"
        drawn.append(doc.Dot(each.words, said, each.positive_rate, ends, each.others, at=at))
    title = "Groups without a promise: share of yes"
    return [doc.Panel(title, tuple(drawn), _axis(drawn))] if drawn else []


def _axis(drawn: Sequence[doc.Dot]) -> doc.Range:
    """From the least to the largest drawn value; rates begin at 0 or end at 1 if these are near."""
    every = [e for d in drawn for e in (d.value, d.bound, *(d.ends or ())) if e is not None]
    low, high = min(every), max(every)
    width = (high - low) or abs(high) or 1.0
    low, high = low - 0.08 * width, high + 0.08 * width
    if min(every) >= 0 and low < 0.25 * high:
        low = 0.0
    if max(every) <= 1 < high:
        high = 1.0
    return low, high


def chance(report: Audit) -> doc.Section | None:
    """How many decisions are left to a draw, and what one rule would cost."""
    card = report.card
    if card is None:
        return None
    parts: list[doc.Part]
    if not card.randomised or report.drawn == 0:
        parts = [doc.Paragraph("Nobody is decided by chance: one rule decides.")]
        if card.randomised:
            parts = [doc.Paragraph("Nobody among these rows is decided by chance.")]
    elif report.drawn is None:
        parts = [doc.Paragraph("Some are decided by chance; how many was not counted on these rows.")]
    else:
        name, rows = next(iter(report.populations.items()))
        drawn, every = doc.count(report.drawn, "drawn"), doc.count(rows, f"populations/{name}")
        share = f"rows ({report.drawn / rows:.1%}): a draw decides between the members."
        parts = [doc.Paragraph(("Chance decides for", drawn, "of", every, share))]
        parts += _one_rule(report)
    return doc.Section("Who is decided by chance", tuple(parts), "chance")


def _one_rule(report: Audit) -> list[doc.Part]:
    places = {each.name: place for place, each in enumerate(report.baselines)}
    if ONE not in places:
        return [doc.Paragraph("What one rule would cost was not measured on these rows.")]
    one, own = ((report.baselines[places[name]], f"baselines/{places[name]}") for name in (ONE, OWN))
    words: list[doc.Cell] = [
        "One rule, the best of its members on these rows, would reach",
        doc.rate(one[0].objective, f"{one[1]}/objective"),
    ]
    if own[0].promises:
        kept = doc.count(one[0].kept, f"{one[1]}/kept")
        words += ["and keep", kept, f"of {one[0].promises} promises"]
    words += ["in place of", doc.rate(own[0].objective, f"{own[1]}/objective")]
    if own[0].promises:
        words += ["and", doc.count(own[0].kept, f"{own[1]}/kept")]
    return [doc.Paragraph((*words, "with the draw."))]


def known_limits(report: Audit) -> doc.Section:
    """What the report does not show."""
    return doc.Section("Known limits", (doc.Bullets(tuple(limits(report))),), "limits")


def sign_off(report: Audit) -> doc.Section:
    """Who is responsible for the model, for what and until when; blank lines if nobody has signed."""
    own = report.signed
    if own is None:
        names = ("Owner", "Purpose", "Signed on", "To be judged anew from")
        rows: tuple[doc.Row, ...] = tuple((name, BLANK) for name in names)
        table = doc.ReportTable("Nobody has signed this report", WHICH, rows, stacked=True)
        return doc.Section("Sign-off", (table,), "sign-off")
    rows = (
        ("Owner", own.owner),
        ("Purpose", own.purpose),
        ("Signed on", own.date),
        ("To be judged anew from", own.expires),
        *((("The model’s file, SHA-256", doc.Quoted(own.model)),) if own.model else ()),
    )
    parts: list[doc.Part] = [doc.ReportTable("Who answers for this model", WHICH, rows, stacked=True)]
    if own.limits:
        parts += [doc.Paragraph("These limits were read and accepted:"), doc.Bullets(own.limits)]
    parts.append(
        doc.Remark(
            "A record of who accepted what, and not a cryptographic signature. The digest ties it to "
            "one file: a model whose file has another digest was not signed here."
        )
    )
    return doc.Section("Sign-off", tuple(parts), "sign-off")
