"""The audit as one page: no scripts, nothing loaded from elsewhere, light or dark as the reader's."""

from __future__ import annotations

from collections.abc import Sequence

from ratebound.auditing._confusions import ALL, Confusion, cells
from ratebound.auditing._figures import LINES, STATES, bar, trace_figures, whisker, whisker_range
from ratebound.auditing._groups import Group, heads
from ratebound.auditing._price_charts import price_section
from ratebound.auditing.report import Audit, Promise
from ratebound.auditing.wording import (
    CONFUSED,
    group_heads,
    group_row,
    heading,
    objective_text,
    percent,
    promise_row,
    summary,
)
from ratebound.base.markup import Markup, style, tag
from ratebound.game.trace import Trace
from ratebound.solution.certificate import Certificate
from ratebound.solution.price import Price
from ratebound.tables.treatments import Treatment

SIGNS = {"<=": "≤", ">=": "≥"}
METHODS = {
    "exact": "exact binomial (Clopper–Pearson)",
    "weighted": "binomial, as of the number of equally weighted rows that would vary as much",
    "score": "score test, corrected for skewness (Miettinen–Nurminen, Laud)",
    "delong": "DeLong's variance, as of a proportion",
    "normal": "normal interval of a mean, for costs by each row's own amount",
    "none": "not measured",
}


def fragment(
    report: Audit,
    *,
    trace: Trace | None = None,
    prices: Sequence[Price] = (),
    certificate: Certificate | None = None,
    columns: Sequence[Treatment] = (),
    title: str = "Audit",
) -> Markup:
    """The part of a page that a notebook shows; its style touches nothing outside it."""
    sections = [
        tag("h1", title),
        tag("p", heading(report), ".", class_="lead"),
        _verdict(report),
        _objective(report),
    ]
    if report.promises:
        sections.append(_promises(report))
    if certificate is not None:
        sections.append(_certificate(certificate))
    if prices:
        sections.append(price_section(report, prices, certificate))
    sections.append(_groups(report))
    if report.confusions:
        sections.append(_confusions(report))
    if trace is not None:
        sections.append(_training(report, trace))
    if columns:
        sections.append(_columns(columns))
    return Markup(style("auditing") + "\n" + tag("div", *sections, class_="ratebound-audit"))


def _verdict(report: Audit) -> Markup:
    state = "broken" if not report.kept else "kept" if report.certain else "uncertain"
    words = summary(report)
    return tag("p", words[:1].upper() + words[1:] + ".", class_=f"verdict {state}")


def _objective(report: Audit) -> Markup:
    one = report.objective
    done = "Minimised: " if one.sense == "minimize" else "Maximised: "
    return tag("p", done, tag("code", one.words), " = ", tag("span", objective_text(one), class_="n"))


def _promises(report: Audit) -> Markup:
    axes = {
        unit: whisker_range([p for p in report.promises if p.unit == unit])
        for unit in {p.unit for p in report.promises}
    }
    interval = f"{percent(report.level)} interval"
    new = f"On new rows ({percent(report.level)})"
    heads = ["Promise", "Value", "Bound", "Room", interval, "Rows", "On these rows", new]
    rows = [_promise(p, axes[p.unit]) for p in report.promises]
    scales = " Rates, ratios and numbers of rows are drawn each to a scale of their own."
    scales = scales if len(axes) > 1 else ""
    return tag(
        "section",
        tag("h2", "Promises"),
        _table(heads, rows, left=(0, 4, 6, 7)),
        tag(
            "p",
            "The line is the bound, the dot this sample, the whisker the interval of the room, which is "
            "the shaded side; what lies far out is cut off. On new rows from the same source a promise "
            "holds where the whole interval keeps it, is broken where none of it does, and may not hold "
            "otherwise. That is said of each promise alone, and an interval is not a certificate. "
            "“Rows” counts the smallest set of rows involved." + scales,
            class_="note",
        ),
    )


def _promise(p: Promise, axis: tuple[float, float]) -> Markup:
    words, value, bound, room, interval, rows, here, new = promise_row(p)
    goal = p.name.split(":")[0] if p.name != p.words else ""
    notes = [tag("small", note) for note in (goal, p.why) if note]
    return tag(
        "tr",
        tag("td", tag("code", words), *notes, class_="words"),
        tag("td", value, class_="n"),
        tag("td", bound.replace(p.relation, SIGNS[p.relation]), class_="n"),
        tag("td", room, class_="n"),
        tag("td", whisker(p, axis), tag("small", interval, title=METHODS[p.method])),
        tag("td", rows, class_="n"),
        tag("td", tag("span", here.lower(), class_=f"chip {here.lower()}")),
        tag("td", tag("span", new, class_=f"chip {STATES[p.verdict]}")),
    )


def _certificate(certificate: Certificate) -> Markup:
    """What was certified, its verdict first."""
    rows = ", ".join(f"{count:,} {name}" for name, count in certificate.populations.items())
    note = (
        f"Of {certificate.model}, from rows it was neither trained nor chosen on ({rows}). A "
        "certificate is about all promises together, and its tests are exact or on the safe side. An "
        "interval is about one promise, and mostly approximate."
    )
    return tag(
        "section",
        tag("h2", "Certificate"),
        tag("div", Markup(certificate._repr_html_()), class_="wide"),
        tag("p", note, class_="note"),
    )


def _groups(report: Audit) -> Markup:
    everyone = {g.population: g for g in reversed(report.groups) if g.words == "everyone"}
    names = [head.capitalize() for head in group_heads(report)]
    rows = [_group(report, group, everyone.get(group.population)) for group in report.groups]
    rates = len(heads(bool(report.confusions)))
    return tag(
        "section",
        tag("h2", "Groups"),
        _table(names, rows, left=(0, *range(len(names) - rates, len(names)))),
        tag("p", "Bars run from 0 to 1; the tick marks everyone’s rate.", class_="note"),
    )


def _group(report: Audit, group: Group, everyone: Group | None) -> Markup:
    rates = heads(bool(report.confusions))
    name, *row = group_row(group, report)
    drawn = []
    for rate, value in zip(rates, row[-len(rates) :], strict=True):
        each = bar(getattr(group, rate), getattr(everyone, rate, None))
        drawn.append(tag("td", tag("span", value, class_="n"), each, class_="rate"))
    counts = [tag("td", count, class_="n") for count in row[: -len(rates)]]
    return tag("tr", tag("td", tag("code", name), class_="words"), *counts, *drawn)


def _confusions(report: Audit) -> Markup:
    tables = [part for each in report.confusions for part in _confusion(each)]
    note = f"Each table shows {CONFUSED}; rows count by their weight."
    return tag("section", tag("h2", "Labels and decisions"), *tables, tag("p", note, class_="note"))


def _confusion(confusion: Confusion) -> list[Markup]:
    """The table of one group under its name."""
    rows = []
    for head, counts in confusion.lines:
        numbers = [tag("td", n, tag("small", share), class_="n") for n, share in cells(counts)]
        rows.append(tag("tr", tag("td", head), *numbers))
    names = ["Label", *map(str, confusion.classes), ALL]
    return [tag("p", tag("code", confusion.name)), _table(names, rows, left=(0,))]


def _training(report: Audit, trace: Trace) -> Markup:
    note = f"{len(trace):,} candidates of {len(trace.settings)} settings, on the rows trained on. "
    if report.training is not None:
        note += "Filled: the solution on those rows. "
    note += "Ring: the solution on the rows audited."
    if len(trace.settings) > LINES:
        note += f" Curves: the first {LINES} settings."
    return tag(
        "section",
        tag("h2", "How training got there"),
        tag("div", *trace_figures(trace, report), class_="charts"),
        tag("p", note, class_="note"),
    )


def _columns(treatments: Sequence[Treatment]) -> Markup:
    heads = ["Column", "Holds", "Missing", "Distinct", "What was done"]
    rows = []
    for each in treatments:
        cells = [str(each.name), each.holds, f"{each.missing:,}", f"{each.distinct:,}", each.words]
        kinds = [None, None, "n", "n", None]
        rows.append(tag("tr", *(tag("td", c, class_=k) for c, k in zip(cells, kinds, strict=True))))
    return tag(
        "section",
        tag("h2", "Columns"),
        _table(heads, rows, left=(0, 1, 4)),
        tag("p", "What the model sees of the rows it was trained on.", class_="note"),
    )


def _table(heads: list[str], rows: list[Markup], left: tuple[int, ...]) -> Markup:
    """A table whose heads stand over numbers at the right, except those at `left`."""
    cells = [tag("th", head, class_=None if i in left else "n") for i, head in enumerate(heads)]
    table = tag("table", tag("thead", tag("tr", *cells)), tag("tbody", *rows))
    return tag("div", table, class_="wide")
