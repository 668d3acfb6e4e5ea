"""What there is to read of an audit: all of it, what a notebook shows, and what is printed.

Each section of the page is a function that returns it; `_about_model` has those of a model of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import TYPE_CHECKING

from ratebound._old.auditing._about_model import columns, counts_most, deciding, prices, training
from ratebound._old.auditing._first_page import (
    STATES,
    WHICH,
    chance,
    cost,
    facts,
    known_limits,
    notes,
    overview,
    sign_off,
    state_of,
)
from ratebound._old.auditing._groups import ALL, Confusion, Group, cells, heads, weight_text
from ratebound._old.auditing.unpromised import FEWEST
from ratebound._old.auditing.wording import (
    certificate_of,
    heading,
    interval_text,
    on_new_rows,
    percent,
    summary,
)
from ratebound._old.base import document as doc
from ratebound._old.base.layout import NOTHING
from ratebound._old.problem.problem import left_out_words
from ratebound._old.solution.certificate import Certificate, certificate_parts

if TYPE_CHECKING:  # the report is read from these functions
    from ratebound._old.auditing.report import Audit, Promise

GROUPS, TABLES, CLASSES = 40, 12, 20  # groups, tables of decisions, and their classes, that are printed
CONFUSED = "what rows of each label are decided to be, and which share of them"
METHODS = {
    "exact": "exact binomial (Clopper–Pearson)",
    "weighted": "binomial, as of the number of equally weighted rows that would vary as much",
    "score": "score test, corrected for skewness (Miettinen–Nurminen, Laud)",
    "delong": "DeLong’s variance, as of a proportion",
    "top": "the variance of a rate above a quantile, as of a proportion",
    "skewed": "interval of a mean corrected for skewness (Hall), for costs by each row’s own amount",
    "none": "no interval",
}
NOTATION = (
    "ŷ is the decision, y the label, v an existing model’s decision; 1 is yes. P is a share of rows, N "
    "a number of them, E a mean; what stands behind the bar says among which rows."
)
ROOM = (
    "Room is how far the value is on the right side of its bound. “Rows” counts the smallest set of "
    "rows involved."
)
READING = (
    "In the drawing the line is the bound, the dot this sample, the whisker the interval, and the "
    "shaded side is room; what lies far out is cut off."
)
ALONE = (
    " On new rows from the same source a promise holds if the whole interval keeps it, is broken if no "
    "part of it does, and may not hold otherwise, each promise judged alone."
)
TRAINED_ON = "The model was trained on these rows, so they have no interval for new rows."
CERTIFIED = (
    " The certificate decides what is said about new rows, unless these rows show that a promise is "
    "broken. Intervals are of each promise alone."
)
TO_CERTIFY = (
    "“To certify” is about how many rows of that set a certificate at 95% confidence would take, with a "
    "chance of 80% and at these rates; rb.rows_needed says it exactly. A dash: there is no room, so no "
    "number of rows would do."
)
DECIDED = {
    "true_positives": "Yes, rightly (TP)",
    "false_positives": "Yes, wrongly (FP)",
    "false_negatives": "No, wrongly (FN)",
    "true_negatives": "No, rightly (TN)",
}
DIGESTS = (
    "Equal rows have equal digests, so anyone who has the rows can check them. A file’s digest is its "
    "SHA-256, unpacked, as sha256sum prints it; the digest of the training files is computed from their "
    "digests, even for a single file. The digest of the training rows covers what the model sees, with "
    "labels, weights and the groups that promises use: do not compare it with the digest of the "
    "audited rows."
)


def whole(report: Audit) -> doc.Document:
    """All of it: a page to decide by, then the tables, then what is folded."""
    first = (cost, overview, chance, known_limits, sign_off)
    tables = (promises, certificate, simplest, prices, groups, protected, confusions, deciding)
    folded = (promised, training, counts_most, columns, checking)
    return _document(report, (*first, *tables, *folded))


def shown(report: Audit) -> doc.Document:
    """What a notebook shows."""
    return _document(report, (promises, groups, confusions))


def printed(report: Audit) -> doc.Document:
    """What is printed: the tables alone, as much of them as one reads in a terminal."""
    one = report.objective
    ends = one.why or ("" if report.trained else interval_text(one.low, one.high, signed=False))
    said = one.words if report.decided else f"{one.sense} {one.words}"
    parts: list[doc.Part] = [doc.Fact(said, doc.rate(one.value, "objective/value"), ends)]
    if report.promises:
        parts += [_promises_table(report), *_reasons(report)]
    parts += [doc.Paragraph(said, apart=place == 0) for place, said in enumerate(report.beside)]
    if report.left_out:
        parts.append(doc.Paragraph(left_out_words(report.left_out), apart=False))
    if report.groups:
        parts.append(_rates_table(report, report.groups[:GROUPS]))
    parts += _more(len(report.groups) - GROUPS, "groups, in .groups")
    parts += _unpromised(report)
    if report.confusions and (classes := len(report.confusions[0].classes)) > CLASSES:
        parts.append(
            doc.Paragraph(f"tables of {classes} classes by {classes} decisions are in .confusions")
        )
    else:
        for each in report.confusions[:TABLES]:
            caption = doc.Paragraph(f"{each.name}: {CONFUSED}")
            parts += [caption, _confusion_table(each, "", apart=False)]
        parts += _more(len(report.confusions) - TABLES, "tables, in .confusions")
    said_last = doc.Conclusion(summary(report) + ".", state_of(report)[0])
    return doc.Document("Audit", heading(report), tuple(parts), report.to_dict, said_last)


def _unpromised(report: Audit) -> list[doc.Paragraph]:
    """Which columns look protected and no promise names, and the group of them that differs most."""
    own = report.protected
    if own is None or not own.unnamed:
        return []
    said = f"No promise names {', '.join(own.unnamed)}"
    of = next((each for each in own.groups if each.column in own.unnamed), None)
    known = of is not None and of.positive_rate is not None and of.others is not None
    if of is not None and known and of.positive_rate != of.others:
        said += (
            f"; of these {of.words} ({of.rows:,} rows) differs most: it gets yes at "
            f"{of.positive_rate:.4f}, all others at {of.others:.4f}"
        )
    return [doc.Paragraph(f"{said}. All groups are in .protected and on the page.")]


def _more(count: int, what: str) -> list[doc.Paragraph]:
    return [doc.Paragraph(f"… and {count} more {what}", apart=False)] if count > 0 else []


def _document(report: Audit, sections: Sequence[Callable[[Audit], doc.Section | None]]) -> doc.Document:
    state, headline = state_of(report)
    origin = report.provenance
    made = "" if origin is None else f" {origin.versions.get('ratebound', '')} on {origin.date}"
    own = (make(report) for make in sections)
    return doc.Document(
        title="Audit",
        lead=heading(report),
        parts=(*facts(report), *(each for each in own if each is not None)),
        data=report.to_dict,
        conclusion=doc.Conclusion(summary(report) + ".", state, headline, notes(report)),
        footer=f"Made by ratebound{made}. Every number here is in the audit’s JSON.",
    )


def promised(report: Audit) -> doc.Section:
    """The objective and every promise: in words, as written, and as formulas."""
    one = report.objective
    rows: list[doc.Row] = [(_aim(report), doc.Quoted(one.words), doc.Quoted(one.formula, formula=True))]
    for each in report.promises:
        goal = each.name.split(":")[0] if each.name != each.words else ""
        formula = doc.Quoted(each.formula, formula=True)
        rows.append(((each.sentence, goal), doc.Quoted(each.words), formula))
    named = tuple(doc.Head(words, "words") for words in ("in words", "as written", "as a formula"))
    table = doc.ReportTable("The objective, and every promise", named, tuple(rows), stacked=True)
    title = "What was promised, in words and as formulas"
    return doc.Section(title, (table, doc.Remark(NOTATION)), "formulas", folded=True)


def _aim(report: Audit) -> str:
    if report.decided:
        return "Measured beside the promises"
    return "As low as possible" if report.objective.sense == "minimize" else "As high as possible"


def simplest(report: Audit) -> doc.Section | None:
    """The model beside the simplest ones, and what the promises cost."""
    if len(report.baselines) < 2:
        return None
    total = report.baselines[0].promises
    rows: list[doc.Row] = []
    for place, each in enumerate(report.baselines):
        at = f"baselines/{place}"
        keeps = [doc.count(each.kept, f"{at}/kept")] if total else []
        worst = [doc.rate(each.violation, f"{at}/violation", signed=True)] if total else []
        says = doc.rate(each.positive_rate, f"{at}/positive_rate")
        rows.append((each.name, doc.rate(each.objective, f"{at}/objective"), says, *keeps, *worst))
    promises = [f"promises kept, of {total}", "worst violation"] if total else []
    named = doc.heads("model", report.objective.words, "says yes", *promises)
    caption = "The model and the simplest ones, on the audited rows"
    table = doc.ReportTable(caption, named, tuple(rows), sortable=True)
    remark = doc.Remark(
        "A promise is kept if its violation is at most 0. The model without promises is the same "
        "model with every promise left out, if the file holds it."
    )
    return doc.Section("Beside the simplest models", (table, remark), "baselines")


def promises(report: Audit) -> doc.Section | None:
    """Every promise with its interval."""
    if not report.promises:
        return None
    scales = " Rates, ratios and numbers of rows are drawn each to a scale of their own."
    several = len({promise.unit for promise in report.promises}) > 1
    tested = certificate_of(report) is not None
    drawn = READING + ALONE * (not tested) + scales * several
    read = f"{ROOM} {TRAINED_ON if report.trained else drawn}"
    read += CERTIFIED if tested else f" {TO_CERTIFY}"
    table = _promises_table(report, needed=not tested)
    parts: tuple[doc.Part, ...] = (table, *_reasons(report), doc.Remark(read))
    return doc.Section("What was measured", parts, "promises", fresh=True)


def _promises_table(report: Audit, needed: bool = False) -> doc.ReportTable:
    """Promises with their intervals; on rows trained on, without what would be of new rows.

    With `needed`, also how many rows a certificate of each would take.
    """
    level, tested = percent(report.confidence), certificate_of(report) is not None
    axes = {
        unit: _axis([p for p in report.promises if p.unit == unit])
        for unit in {p.unit for p in report.promises}
    }
    bounds = [] if report.trained else [doc.Head(f"{level} bounds", "drawing")]
    new = f"on new rows{'' if tested else f' ({level})'}"
    verdicts = ["on these rows", *([new] if tested or not report.trained else [])]
    on = (doc.Head(words, "verdict") for words in verdicts)
    more = ["to certify"] if needed else []
    named = doc.heads("promise", "value", "bound", "room", *bounds, "rows", *more, *on)
    rows = tuple(
        _promise(report, p, f"promises/{i}", axes[p.unit], needed)[: None if len(verdicts) == 2 else -1]
        for i, p in enumerate(report.promises)
    )
    caption = f"Every promise on the rows {'trained on' if report.trained else 'audited'}"
    return doc.ReportTable(caption, named, rows, sortable=True, stacked=True)


def _promise(report: Audit, p: Promise, at: str, axis: doc.Range, needed: bool) -> doc.Row:
    here = doc.Standing("kept", "kept") if p.kept else doc.Standing("BROKEN", "broken")
    broken, verdict = p.kept is False, on_new_rows(report, p)
    room = doc.rate(p.slack, f"{at}/slack", signed=True, beside=0.0, broken=broken)
    bounds = interval_text(p.slack_low, p.slack_high)
    ends = None if p.slack_low is None or p.slack_high is None else (p.slack_low, p.slack_high)
    said = f"{p.words}: room {room.shown}, interval {bounds}, on new rows {verdict}"
    state = STATES[verdict]
    drawn = doc.Whisker(bounds, said, axis, p.slack, ends, state, METHODS[p.method])
    return (
        doc.Quoted(p.words),
        doc.rate(p.value, f"{at}/value", beside=p.bound, broken=broken),
        doc.rate(p.bound, f"{at}/bound", beside=p.value, sign=p.relation, broken=broken),
        room,
        *([] if report.trained else [drawn]),
        doc.count(p.rows, f"{at}/rows"),
        *([doc.count(p.rows_needed, f"{at}/rows_needed")] if needed else []),
        doc.Standing(NOTHING, "unmeasured") if p.kept is None else here,
        doc.Standing(verdict, state),
    )


def _axis(promises: Sequence[Promise]) -> doc.Range:
    """The axis on which these promises are drawn; it holds 0, the bound.

    What reaches farther than three times the usual is cut off, or it would flatten all others.
    """
    ends = [e for p in promises for e in (p.slack, p.slack_low, p.slack_high) if e is not None]
    if not any(ends):
        return -1.0, 1.0
    usual = median(abs(e) for e in ends if e)
    low, high = max(min(ends), -3 * usual), min(max(ends), 3 * usual)
    margin = 0.15 * max(high, -low)  # so that both sides of the bound are seen
    return min(1.05 * low, -margin), max(1.05 * high, margin)


def _reasons(report: Audit) -> list[doc.Paragraph]:
    """Why promises have no value, or no interval."""
    said = [
        f"Not measured: {p.why}" if p.kept is None else f"No interval: {p.words}: {p.why}"
        for p in report.promises
        if p.why
    ]
    return [doc.Paragraph(words, apart=False) for words in said]


def groups(report: Audit) -> doc.Section | None:
    """The rates of every group, and how its rows were decided."""
    if not report.groups:
        return None
    bars = doc.Remark("Bars run from 0 to 1; the tick marks everyone’s rate.")
    parts: list[doc.Part] = [_rates_table(report, report.groups), bars]
    labelled = [(i, g) for i, g in enumerate(report.groups) if g.true_positives is not None]
    if labelled:
        rows: list[doc.Row] = [
            (doc.Quoted(_name(g)), *(_weight(getattr(g, own), f"groups/{i}/{own}") for own in DECIDED))
            for i, g in labelled
        ]
        named = doc.heads("group", *DECIDED.values())
        caption = "How the rows of every group were decided"
        parts.append(doc.ReportTable(caption, named, tuple(rows), sortable=True))
        parts.append(
            doc.Remark(
                "Decisions by label. Rows count by their weight, and of a mixture these are "
                "expectations, which need not be whole numbers."
            )
        )
    return doc.Section("Groups", tuple(parts), "groups")


def _name(group: Group) -> str:
    return group.words if group.population is None else f"{group.population}: {group.words}"


def _weight(value: float, at: str) -> doc.Datum:
    return doc.Datum(value, weight_text(value), at)


def _rates_table(report: Audit, of: Sequence[Group]) -> doc.ReportTable:
    """The rates of groups beside everyone's; of several classes none is positive."""
    referred = any(group.referred is not None for group in report.groups)
    several = bool(report.confusions) and len(report.confusions[0].classes) > 2 + referred
    everyone = {g.population: g for g in reversed(report.groups) if g.words == "everyone"}
    rates = heads(several, referred)
    drawn = (doc.Head(words, "drawing") for words in rates.values())
    named = doc.heads("group", "rows", *["positive"] * (not several), *drawn)
    rows: list[doc.Row] = []
    for i, group in enumerate(of):
        at, reference = f"groups/{i}", everyone.get(group.population)
        positives = [doc.count(group.positives, f"{at}/positives")] * (not several)
        bars = [
            doc.Bar(doc.rate(getattr(group, each), f"{at}/{each}"), getattr(reference, each, None))
            for each in rates
        ]
        rows.append((doc.Quoted(_name(group)), doc.count(group.rows, f"{at}/rows"), *positives, *bars))
    return doc.ReportTable("Rates of every group", named, tuple(rows), sortable=True)


def protected(report: Audit) -> doc.Section | None:
    """The groups by columns that look protected, the largest differences first."""
    own = report.protected
    if own is None or not (own.columns or report.left_out):
        return None
    parts: list[doc.Part] = []
    if own.columns:
        parts.append(
            doc.Paragraph(f"Columns that look protected by their names: {', '.join(own.columns)}.")
        )
    if own.unnamed:
        parts.append(doc.Paragraph(f"No promise names {', '.join(own.unnamed)}."))
    parts += [_protected_table(report)] if own.groups else []
    if report.left_out:
        parts.append(doc.Paragraph(left_out_words(report.left_out)))
    if own.too_few:
        few = f"Groups with fewer than {FEWEST} rows, whose rates would show little: "
        parts.append(doc.Paragraph(f"{few}{', '.join(own.too_few)}."))
    if own.not_shown:
        parts.append(doc.Paragraph(f"Not shown: {', '.join(own.not_shown)}."))
    parts.append(
        doc.Remark(
            "The groups whose rates differ most from those of all other rows come first. Each end of an "
            "interval is a bound for that group alone; among many groups some differ by chance. A "
            "protected column under another name is not found."
        )
    )
    return doc.Section("Groups by protected columns", tuple(parts), "protected")


def _protected_table(report: Audit) -> doc.ReportTable:
    own = report.protected
    assert own is not None
    level = percent(report.confidence)
    rates = [("positive_rate", "says yes", "low", "high", "others")]
    rates += [("error_rate", "error", "error_low", "error_high", "others_error")] * report.labelled
    rates = [each for each in rates if any(getattr(g, each[0]) is not None for g in own.groups)]
    heads: list[str | doc.Head] = ["rows"]
    for _, words, *_ in rates:
        heads += [
            words,
            *([] if report.trained else [doc.Head(f"{level} bounds", "words")]),
            "all others",
        ]
    rows: list[doc.Row] = []
    for i, group in enumerate(own.groups):
        row: list[doc.Cell] = [
            doc.Quoted(group.words),
            doc.count(group.rows, f"protected/groups/{i}/rows"),
        ]
        for rate, _, low, high, others in rates:
            at = f"protected/groups/{i}"
            bounds = interval_text(getattr(group, low), getattr(group, high), signed=False)
            row += [
                doc.rate(getattr(group, rate), f"{at}/{rate}"),
                *([] if report.trained else [bounds]),
            ]
            row.append(doc.rate(getattr(group, others), f"{at}/{others}"))
        rows.append((*row, group.note or "nothing is promised"))
    named = doc.heads("group", *heads, doc.Head("promises", "words"))
    return doc.ReportTable("Groups by protected columns", named, tuple(rows), sortable=True)


def confusions(report: Audit) -> doc.Section | None:
    """What rows of each label are decided to be, of more than two classes."""
    if not report.confusions:
        return None
    tables = (_confusion_table(each, f"confusions/{i}") for i, each in enumerate(report.confusions))
    said = doc.Remark(f"Each table shows {CONFUSED}; rows count by their weight.")
    return doc.Section("Labels and decisions", (*tables, said), "confusions")


def _confusion_table(confusion: Confusion, at: str, apart: bool = True) -> doc.ReportTable:
    """Labels by decisions, with the share of each; the last row and the last column are of all."""
    rows: list[doc.Row] = []
    for place, (head, counts) in enumerate(confusion.lines):
        total = place == len(confusion.lines) - 1
        source = f"{at}/decided" if total else f"{at}/counts/{place}"
        *own, (sum_text, sum_share) = cells(counts)
        row = [
            (doc.Datum(counts[i], text, f"{source}/{i}"), share) for i, (text, share) in enumerate(own)
        ]
        rows.append((head, *row, (sum_text, sum_share)))
    named = doc.heads("label", *map(str, confusion.classes), ALL)
    return doc.ReportTable(confusion.name, named, tuple(rows), apart=apart)


def certificate(report: Audit) -> doc.Section | None:
    """What is certified, if there is a certificate."""
    own = None if report.card is None else report.card.mixture.certificate
    if own is None or not report.promises:
        return None
    return doc.Section("Certificate", _tested(own), "certificate")


def _tested(own: Certificate) -> tuple[doc.Part, ...]:
    *parts, conclusion = certificate_parts(own, "card/certificate/promises")
    on = ", ".join(f"{rows:,} {name}" for name, rows in own.populations.items())
    remark = doc.Remark(
        "A certificate is about all promises together, and its tests are exact or conservative. “Rows "
        "needed” is how many rows of the smallest set would show the promise with a chance of 80%, at "
        "the rates measured. If safer models were tested first on the same rows, a p-value is at "
        "least as large as theirs."
    )
    said = doc.Paragraph(f"Of {own.model}, from rows it was neither trained nor chosen on ({on}).")
    return (conclusion, said, *parts, remark)


def checking(report: Audit) -> doc.Section | None:
    """All that someone needs who wants to make the report again."""
    if report.provenance is None:
        return None
    used = doc.heads("use", "rows")
    parts = [
        doc.ReportTable("Rows, by what they were used for", used, _rows(report)),
        doc.ReportTable("The report", WHICH, _origin(report), stacked=True),
    ]
    if report.card is not None:
        parts.append(doc.ReportTable("The model", WHICH, _making(report), stacked=True))
    return doc.Section("How this can be checked", (*parts, doc.Remark(DIGESTS)), "checking", folded=True)


def _rows(report: Audit) -> tuple[doc.Row, ...]:
    rows: list[doc.Row] = []
    if report.card is not None:
        record = report.card.mixture.record
        for use, used in record.made.rows.items():
            rows.append((use.capitalize(), doc.count(used, f"card/rows/{use}")))
        own = {} if record.certificate is None else record.certificate.populations
        at = "card/certificate/populations"
        rows += [(_called(name, "Certified on"), doc.count(own[name], f"{at}/{name}")) for name in own]
    for name, audited in report.populations.items():
        rows.append((_called(name, "Audited"), doc.count(audited, f"populations/{name}")))
    return tuple(rows)


def _called(name: str, first: str) -> str:
    return first if name in ("audited", "certified") else f"{first}, of population {name}"


def _origin(report: Audit) -> tuple[doc.Row, ...]:
    origin = report.provenance
    assert origin is not None
    unseen = {True: "none of these rows", False: "these rows", None: "not known here"}[origin.unseen]
    trained = () if report.decided else (("The model was trained on", unseen),)
    return (
        ("Made on", origin.date),
        ("Made by", doc.Quoted(origin.command) if origin.command else "a call of audit in Python"),
        ("Versions", _versions(origin.versions)),
        ("Rows audited, digest", doc.Quoted(origin.data)),
        *trained,
        ("Rows count", "by their weights" if origin.weighted else "once each"),
        *((f"File {name}, SHA-256", doc.Quoted(digest)) for name, digest in origin.files.items()),
    )


def _making(report: Audit) -> tuple[doc.Row, ...]:
    assert report.card is not None
    record = report.card.mixture.record
    told = {
        "Made by": record.made.call,
        "Seed": None if record.seed is None else str(record.seed),
        "Rows trained on, digest": record.data,
        "Files they are from, digest": record.source,
    }
    saved = [] if record.date is None else [("Saved on", record.date)]
    quoted = ((what, doc.Quoted(words)) for what, words in told.items() if words)
    return (*quoted, *saved, ("Versions", _versions(record.versions)))


def _versions(given: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in given.items())
