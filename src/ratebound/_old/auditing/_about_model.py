"""Sections of the audit of our own models: prices, training, how the model decides, what it sees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ratebound._old.auditing.provenance import Card, UsedColumn, by_setting
from ratebound._old.auditing.wording import percent
from ratebound._old.base import document as doc
from ratebound._old.base.types import Array
from ratebound._old.solution.certificate import Certificate, Certified
from ratebound._old.solution.price import Price
from ratebound._old.solution.record import Course

if TYPE_CHECKING:  # these functions read the report
    from ratebound._old.auditing.report import Audit

MEMBERS = 40  # that are listed
COLUMNS = 200  # listed for each use
POINTS = 1500  # drawn in a chart; more would only make it black
LINES = 12  # settings drawn as curves
AROUND = 8  # steps of the bound drawn on either side of the present one
MOST_CHARTS = 24  # charts of prices
PRICES = (
    "The best objective on the training rows, by the bound of one promise, with all others kept. Dot: "
    "the bound trained for. Line: the bound promised. Ring: what the model reaches on the audited "
    "rows. Shaded grey: bounds that cannot be kept together with the other promises."
)
ENDED = {
    "rounds": "all rounds were played",
    "gap": "the solution could not improve further",
    "stopped": "it had stopped improving",
    "time": "its time was up",
    "interrupted": "it was interrupted",
}
USES = {  # in the order of the page
    "seen": ("Seen by the model", "The model decides by these."),
    "known": ("Known when deciding", "They set the thresholds; the model’s score does not use them."),
    "left out": ("Left out", "They were passed, but hold nothing that a model could use."),
    "beside": (
        "Named beside the features",
        "Promises use them. The features were passed without names, so it is not known here whether "
        "the model sees them too.",
    ),
    "promises only": ("Used by promises only", "Promises use them; the model does not see them."),
    "not seen": (
        "Not seen",
        "They are in the audited rows, but neither the model nor a promise uses them.",
    ),
}
CHOICE = (
    "A setting is chosen by its best mixture on the rows it is judged on, with thresholds moved, and "
    "with the promises tightened if they must hold on new rows. Settings that keep every promise rank "
    "first, and among them the lowest cost wins. If none keeps them all, objective and worst "
    "violation are ranked, and the setting whose larger rank is smallest is chosen. Another setting "
    "may therefore have the better single candidate."
)
BEST = (
    "“Best” is the candidate that keeps every promise at the best objective or, if none does, the one "
    "that breaks them least."
)
RULES = (
    "Each row was judged by models that did not see it. Rules were found at rising margins. The "
    "chosen rule keeps its promises on new rows with the requested confidence, or a larger margin "
    "would cost more than it is worth."
)
COEFFICIENTS = (
    "The largest coefficients of the scores, or for a rule of the label’s log odds; a positive one "
    "favors yes. Numbers can be compared if features are scaled, as with model=“linear”."
)
IMPORTANCES = "How much each feature matters to trees: its share of splits, or its importance there."
HOLDS, DONE = doc.Head("holds", "words"), doc.Head("what was done", "words")
HEADS = doc.heads("column", HOLDS, "missing", "distinct", DONE)


def prices(report: Audit) -> doc.Section | None:
    """One small chart for each promise, with the cost of moving its bound in words."""
    card = report.card
    if card is None or not card.prices:
        return None
    certificate = card.mixture.certificate
    tested = {str(each.constraint): each for each in (certificate.promises if certificate else ())}
    drawn = [(i, each) for i, each in enumerate(card.prices) if len(each.bounds)][:MOST_CHARTS]
    parts: list[doc.Part] = []
    for i, price in drawn:
        test = tested.get(str(price.constraint))
        caption: list[doc.Cell] = [doc.Quoted(str(price.constraint)), price.sentence]
        caption += (
            [_certified(test, certificate)] if test is not None and certificate is not None else []
        )
        chart = price_chart(price, _audited(report, price), test, tuple(caption), f"card/prices/{i}")
        parts.append(chart)
    without = [price for price in card.prices if not len(price.bounds)]
    parts += [doc.Paragraph((doc.Quoted(str(each.constraint)), each.sentence)) for each in without]
    words = PRICES
    if any(each.holds for each in tested.values()):
        words += " Shaded green: bounds that are certified."
    if len(card.prices) > len(drawn) + len(without):
        words += f" The first {MOST_CHARTS} promises are drawn."
    return doc.Section("What each promise costs", (*parts, doc.Remark(words)), "prices")


def _certified(tested: Certified, certificate: Certificate) -> str:
    """The certificate's verdict on one promise, in words."""
    level = percent(certificate.confidence)
    if tested.holds:
        return f"Certified at {level}."
    if tested.why:
        return f"Not certified: {tested.why}"
    needed, rows = tested.rows_needed, tested.rows
    more = "" if needed is None else f"; that would take about {needed:,} rows, but there are {rows:,}"
    return f"Not certified at {level}{more}."


def price_chart(
    price: Price,
    audited: tuple[float, float] | None = None,
    tested: Certified | None = None,
    caption: tuple[doc.Cell, ...] = (),
    at: str = "",
) -> doc.Chart:
    """The curve of a price around its present bound; `audited` is a bound and objective reached."""
    promised = price.constraint.right.constant
    low, high = _window(price, promised)
    inside = price.bounds[(price.bounds > low) & (price.bounds < high)]
    xs = [x for x in (low, *inside.tolist(), price.here[0], high) if math.isfinite(price.at(x))]
    xs = sorted({*xs, *([price.tightest] if low <= price.tightest <= high else [])})
    ys = [price.at(x) for x in xs]
    ring = audited if audited is not None and low <= audited[0] <= high else None
    heights = [*ys, *([ring[1]] if ring else [])]
    room = 0.08 * (max(heights) - min(heights)) or 0.05 * abs(ys[0]) or 0.05
    marks = []
    if math.isfinite(price.here[1]):
        marks.append(doc.ChartMark("solution", *price.here, "now"))
    if ring is not None and math.isfinite(ring[1]):
        marks.append(doc.ChartMark("audited", *ring, "on the audited rows"))
    rises = price.constraint.relation == ">="
    bands: list[tuple[float, float, Literal["never", "certified"]]] = []
    if low < price.tightest < high:
        bands.append((price.tightest, high, "never") if rises else (low, price.tightest, "never"))
    if tested is not None and tested.holds:  # the promised bound, and all looser ones
        bands.append((low, promised, "certified") if rises else (promised, high, "certified"))
    return doc.Chart(
        label=f"what {price.constraint} costs: {price.sentence}",
        x="added to the right side" if price.constraint.right.terms else "bound",
        y=price.objective,
        x_range=(low, high),
        y_range=(min(heights) - room, max(heights) + room),
        curves=((xs, ys),),
        marks=tuple(marks),
        bands=tuple(bands),
        bound=promised,
        caption=caption,
        at=at,
        movable=True,
    )


def _window(price: Price, promised: float) -> doc.Range:
    """The bounds that are drawn."""
    center = price.here[0] if math.isfinite(price.here[1]) else price.tightest
    reach, least = AROUND * price.step, 2 * price.step
    low = min(max(center - reach, float(price.bounds[0]) - least), promised, center - least)
    high = max(min(center + reach, float(price.bounds[-1]) + least), promised, center + least)
    margin = 0.05 * (high - low) or price.step
    return low - margin, high + margin


def _audited(report: Audit, price: Price) -> tuple[float, float] | None:
    """The bound that the model reaches on the audited rows, and its objective there."""
    for promise in report.promises:
        if promise.words == str(price.constraint) and promise.slack is not None:
            sign = 1.0 if price.constraint.relation == ">=" else -1.0
            reached = price.constraint.right.constant + sign * promise.slack
            return (reached, report.objective.cost) if math.isfinite(reached) else None
    return None


def training(report: Audit) -> doc.Section | None:
    """The course of training, and the chosen setting."""
    card = report.card
    if card is None:
        return None
    record = card.mixture.record
    before = "" if record.certificate is None else ", before the certificate was made"
    reached = doc.Paragraph(f"On the training rows{before}: {record.status}")
    parts: list[doc.Part] = [reached, *_reached(card)]
    if record.made.compared:
        parts += [doc.Bullets(record.made.compared), doc.Remark(f"{RULES} {_ended(card)}")]
    elif record.course is not None:
        parts += [_settings(card), doc.Remark(f"{BEST} {CHOICE} {_ended(card)}")]
    elif record.made.tried:
        made = record.made
        tried = f"{len(made.tried)} settings were tried, and {made.candidates:,} candidates kept"
        parts += [doc.Paragraph(f"{tried}. {_ended(card)}"), doc.Remark(CHOICE)]
    if record.course is not None:
        parts += _charts(record.course, report)
    return doc.Section("Training and choice", tuple(parts), "training", folded=True)


def _reached(card: Card) -> list[doc.Paragraph]:
    """The objective and the worst violation on each population that it was judged on."""
    return [
        doc.Paragraph(
            (
                f"On “{name}” the objective is",
                doc.rate(objective, f"card/objectives/{name}"),
                "and the worst violation",
                doc.rate(card.worst[name], f"card/worst/{name}", signed=True),
                "(kept if at most 0).",
            )
        )
        for name, objective in card.mixture.objectives.items()
    ]


def _ended(card: Card) -> str:
    ended = card.mixture.record.made.ended
    return f"Training ended because {ENDED[ended]}." if ended in ENDED else ""


def _settings(card: Card) -> doc.ReportTable:
    record = card.mixture.record
    assert record.course is not None
    tried, rows = record.made.tried, []
    for place, each in enumerate(by_setting(record.course)):
        at = f"card/by_setting/{place}"
        chosen = "chosen" * (each["setting"] == record.setting)
        rows.append(
            (
                tried[place] if place < len(tried) else "as it is",
                doc.count(each["candidates"], f"{at}/candidates"),
                doc.count(each["keeping"], f"{at}/keeping"),
                doc.rate(each["objective"], f"{at}/objective"),
                doc.rate(each["worst"], f"{at}/worst", signed=True),
                doc.Standing(chosen, "kept"),
            )
        )
    numbers = ("candidates", "that keep all", "best objective", "its worst violation")
    heads = doc.heads("setting", *numbers, doc.Head("chosen", "verdict"))
    return doc.ReportTable("Every setting that was trained", heads, tuple(rows), sortable=True)


def _charts(course: Course, report: Audit) -> list[doc.Part]:
    """The course of training, in charts."""
    settings = f" of {len(course.settings)} settings" * (len(course.settings) > 1)
    words = f"{len(course):,} candidates{settings}, on the rows that judged them. "
    if report.training is not None:
        words += "Filled: the solution on the training rows. "
    words += "Ring: the solution on the audited rows."
    if len(course.settings) > LINES:
        words += f" Curves: the first {LINES} settings."
    return [
        _trade_off(course, report),
        _convergence(course, course.objectives, "objective"),
        _convergence(course, course.worst, "worst violation", zero=True),
        doc.Remark(words),
    ]


def _trade_off(course: Course, report: Audit) -> doc.Chart:
    """Objective against worst violation of every candidate, with the solution."""
    some = _some(np.arange(len(course)))
    xs, ys = course.objectives[some].tolist(), course.worst[some].tolist()
    marks = []
    if report.training is not None and math.isfinite(report.training[1]):
        words = "the solution, on the training rows"
        marks.append(doc.ChartMark("solution", *report.training, words))
    worst = max((p.violation for p in report.promises if p.kept is not None), default=0.0)
    words = "the solution, on the audited rows"
    if report.objective.value is not None:
        marks.append(doc.ChartMark("audited", report.objective.value, worst, words))
    return doc.Chart(
        label="objective against worst violation",
        x="objective",
        y="worst violation",
        x_range=_range([*xs, *(mark.x for mark in marks)]),
        y_range=_range([*ys, *(mark.y for mark in marks)]),
        points=(xs, ys),
        marks=tuple(marks),
        zero=True,
    )


def _convergence(course: Course, values: Array, label: str, zero: bool = False) -> doc.Chart:
    """Values (N,) of the candidates by round, one curve for each setting."""
    curves = []
    for setting in course.settings[:LINES]:
        own = np.flatnonzero(course.setting == setting)
        own = _some(own[np.argsort(course.round[own], kind="stable")])
        curves.append((course.round[own].tolist(), values[own].tolist()))
    return doc.Chart(
        label=f"{label} by round",
        x="round",
        y=label,
        x_range=_range([x for xs, _ in curves for x in xs], padded=False),
        y_range=_range([y for _, ys in curves for y in ys]),
        curves=tuple(curves),
        zero=zero,
    )


def _some(places: Array) -> Array:
    """At most as many places as are drawn, evenly spread."""
    return places[np.unique(np.linspace(0, len(places) - 1, min(len(places), POINTS)).astype(int))]


def _range(values: Sequence[float], padded: bool = True) -> doc.Range:
    low, high = float(min(values)), float(max(values))
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
    return (low - room, high + room) if padded or low == high else (low, high)


def deciding(report: Audit) -> doc.Section | None:
    """How the model decides: thresholds, or members and their weights."""
    card = report.card
    if card is None:
        return None
    model = card.mixture
    parts: list[doc.Part] = [doc.Bullets(tuple(map(doc.Quoted, model.rule.splitlines())))]
    drawn = card.drawn or {}
    if any(drawn.values()):
        shares = ((f"of {name}:", doc.rate(each, f"card/drawn/{name}")) for name, each in drawn.items())
        lead = "Left to a draw on the training rows, as a share"
        parts.append(doc.Paragraph((lead, *(part for pair in shares for part in pair))))
    elif drawn:
        parts.append(doc.Paragraph("No decision is left to a draw."))
    words = f"The scores come from a model of the kind “{model.scorer.kind}”."
    if len(model) > 1:
        heads = ("weight", *(f"threshold {name}" for name in model.thresholds))
        rows = tuple(
            (
                f"Member {i + 1}",
                doc.rate(weight, f"card/weights/{i}"),
                *(
                    _threshold(levels[i].tolist(), f"card/thresholds/{name}/{i}")
                    for name, levels in model.thresholds.items()
                ),
            )
            for i, weight in enumerate(model.weights[:MEMBERS].tolist())
        )
        caption = "Members, and how often each decides"
        parts.append(doc.ReportTable(caption, doc.heads("member", *heads), rows))
        if len(model) > MEMBERS:
            parts.append(doc.Remark(f"The first {MEMBERS} of {len(model):,} members."))
        words = f"A member is one of the models, with its thresholds. {words}"
    if card.randomised:
        words += (
            " One member decides each row, drawn by a hash of the row or of its id: the same row always "
            "gets the same decision."
        )
    if model.calibration is not None:
        on = model.calibration
        words += f" Probabilities of the label are calibrated on {on.rows:,} rows ({on.on})."
    return doc.Section("How it decides", (*parts, doc.Remark(words)), "deciding")


def _threshold(levels: list[float], at: str) -> doc.Cell:
    return tuple(doc.rate(each, f"{at}/{i}") for i, each in enumerate(levels))


def columns(report: Audit) -> doc.Section | None:
    """What the model sees, and what it does not."""
    card = report.card
    if card is None:
        return None
    parts: list[doc.Part] = []
    for use, (title, why) in USES.items():
        own = [(each, f"card/columns/{i}") for i, each in enumerate(card.columns) if each.use == use]
        if own:
            parts.append(
                doc.Section(f"{title} ({len(own):,})", (doc.Paragraph(why), *_used(title, own)))
            )
    if not card.columns:
        parts.append(doc.Paragraph("It sees features without names, as they were passed."))
    elif any(each.missing is not None for each in card.columns):
        parts.append(doc.Remark("Missing and distinct values are counted on the training rows."))
    return doc.Section("What the model sees", tuple(parts), "columns", folded=True)


def counts_most(report: Audit) -> doc.Section | None:
    """The features with the most influence, with their names."""
    card = report.card
    if card is None or not card.counts_most:
        return None
    linear = bool(card.mixture.coefficients)
    head, remark = ("coefficient", COEFFICIENTS) if linear else ("share", IMPORTANCES)
    rows = tuple(
        (doc.Quoted(name), doc.rate(value, f"card/counts_most/{place}/value", signed=linear))
        for place, (name, value) in enumerate(card.counts_most)
    )
    title = "What counts most"
    table = doc.ReportTable(title, doc.heads("feature", head), rows)
    return doc.Section(title, (table, doc.Remark(remark)), "counts", folded=True)


def _used(title: str, own: Sequence[tuple[UsedColumn, str]]) -> Iterator[doc.Part]:
    """Columns of one use, each with its place in the data."""
    if all(each.missing is None for each, _ in own):
        yield doc.Bullets(tuple(doc.Quoted(each.name) for each, _ in own[:COLUMNS]), short=True)
    else:
        rows = tuple(_column(*pair) for pair in own[:COLUMNS])
        yield doc.ReportTable(title, HEADS, rows, sortable=True, stacked=True)
    if len(own) > COLUMNS:
        yield doc.Remark(f"The first {COLUMNS} of {len(own):,}; all of them are in the JSON.")


def _column(each: UsedColumn, at: str) -> doc.Row:
    missing, distinct = (
        doc.count(each.missing, f"{at}/missing"),
        doc.count(each.distinct, f"{at}/distinct"),
    )
    return (doc.Quoted(each.name), each.holds, missing, distinct, each.words)
