"""The page's sections on promises: what was promised, what is certified, and what was measured."""

from __future__ import annotations

from ratebound.auditing._figures import STATES, whisker, whisker_range
from ratebound.auditing._tables import Section, count, lines, note, table, value
from ratebound.auditing.report import Audit, Promise
from ratebound.auditing.wording import interval_text, percent
from ratebound.base.layout import NOTHING
from ratebound.base.markup import Markup, tag
from ratebound.solution.certificate import Certificate, Certified

SIGNS = {"<=": "≤", ">=": "≥"}
METHODS = {
    "exact": "exact binomial (Clopper–Pearson)",
    "weighted": "binomial, as of the number of equally weighted rows that would vary as much",
    "score": "score test, corrected for skewness (Miettinen–Nurminen, Laud)",
    "delong": "DeLong’s variance, as of a proportion",
    "skewed": "interval of a mean corrected for skewness (Hall), for costs by each row’s own amount",
    "none": "no interval",
}
NOTATION = (
    "ŷ is the decision, y the label, v an existing model’s decision; 1 is yes. P is a share of "
    "rows, N a "
    "number of them, E a mean; what stands behind the bar says among which rows."
)


def promised(report: Audit) -> Section:
    """What was asked for, in words and as formulas."""
    one = report.objective
    aim = "As low as possible" if one.sense == "minimize" else "As high as possible"
    rows = [[aim, tag("code", one.words), tag("span", one.formula, class_="formula")]]
    for promise in report.promises:
        goal = promise.name.split(":")[0] if promise.name != promise.words else ""
        said = lines(promise.sentence, tag("small", goal) if goal else "")
        rows.append([said, tag("code", promise.words), tag("span", promise.formula, class_="formula")])
    found = table(
        "The objective, and every promise", ["In words", "As written", "As a formula"], rows,
        left=(0, 1, 2), stacked=True,
    )  # fmt: skip
    return Section("promised", "What was promised", (found, note(NOTATION)))


def promises(report: Audit) -> Section | None:
    """Every promise with its interval."""
    if not report.promises:
        return None
    axes = {
        unit: whisker_range([p for p in report.promises if p.unit == unit])
        for unit in {p.unit for p in report.promises}
    }
    level = percent(report.confidence)
    heads = ["Promise", "Value", "Bound", "Room", f"{level} bounds", "Rows", "On these rows",
             f"On new rows ({level})"]  # fmt: skip
    rows = [_promise(p, f"promises/{i}", axes[p.unit]) for i, p in enumerate(report.promises)]
    scales = " Rates, ratios and numbers of rows are drawn each to a scale of their own." * (
        len(axes) > 1
    )
    return Section(
        "promises",
        "What was measured",
        (
            table("Every promise on the rows audited", heads, rows, left=(0, 4, 6, 7), sortable=True,
                  stacked=True),
            note(
                "Room is how far the value is on the right side of its bound. In the drawing the "
                "line is "
                "the bound, the dot this sample, the whisker the interval, and the shaded side is room; "
                "what lies far out is cut off. On new rows from the same source a promise holds "
                "where the "
                "whole interval keeps it, is broken where none of it does, and may not hold otherwise. "
                "That is said of each promise alone, and an interval is not a certificate. “Rows” "
                "counts "
                "the smallest set of rows involved." + scales
            ),
        ),
    )  # fmt: skip


def _promise(p: Promise, at: str, axis: tuple[float, float]) -> list[object]:
    here = NOTHING if p.kept is None else "kept" if p.kept else "broken"
    said = lines(tag("code", p.words), tag("small", p.why) if p.why else "")
    drawn = (
        whisker(p, axis),
        tag("small", interval_text(p.slack_low, p.slack_high), title=METHODS[p.method]),
    )
    return [
        said,
        value(p.value, f"{at}/value", beside=p.bound),
        Markup(f"{SIGNS[p.relation]} {value(p.bound, f'{at}/bound', beside=p.value)}"),
        value(p.slack, f"{at}/slack", signed=True, beside=0.0),
        Markup("".join(drawn)),
        count(p.rows, f"{at}/rows"),
        _chip(here, here if p.kept is not None else "unmeasured"),
        _chip(p.verdict, STATES[p.verdict]),
    ]


def _chip(words: str, state: str) -> Markup:
    return tag("span", words, class_=f"chip {state}")


def certificate(report: Audit) -> Section | None:
    """What is certified, or why nothing is and how many rows it would take."""
    if not report.promises:
        return None
    own = None if report.card is None else report.card.mixture.certificate
    parts = _uncertified(report) if own is None else _certified(own)
    return Section("certificate", "Certificate", tuple(parts))


def _certified(own: Certificate) -> list[Markup]:
    heads = ["Promise", "Value", "Bound", "p-value", "Rows", "Rows needed", "Verdict"]
    rows = [_tested(each, f"card/certificate/promises/{i}") for i, each in enumerate(own.promises)]
    on = ", ".join(f"{rows:,} {name}" for name, rows in own.populations.items())
    state = "kept" if own.holds else "broken"
    said = [tag("p", tag("strong", own.summary), class_=f"said {state}")]
    tests = "; ".join(dict.fromkeys(each.method for each in own.promises if not each.why))
    said.append(
        tag(
            "p", f"Of {own.model}, from rows it was neither trained nor chosen on ({on}).", class_="lead"
        )
    )
    return [
        *said,
        table("Every promise on the rows set aside", heads, rows, left=(0, 6), stacked=True),
        note(
            "A certificate is about all promises together, and its tests are exact or on the safe side"
            + (f": {tests}. " if tests else ". ")
            + "“Rows needed” is how many rows of the smallest set would show the promise with a "
            "chance of 80%, at the rates measured. Where safer models were tested first on the same "
            "rows, a p-value is at least theirs."
        ),
    ]


def _tested(each: Certified, at: str) -> list[object]:
    verdict = (
        ("holds", "kept") if each.holds else ("not tested", "") if each.why else ("not shown", "broken")
    )
    p_value = "< 0.0001" if each.p_value < 0.0001 else f"{each.p_value:.4f}"
    return [
        lines(tag("code", str(each.constraint)), tag("small", each.why) if each.why else ""),
        value(each.value, f"{at}/value", beside=each.bound),
        Markup(
            f"{SIGNS[each.constraint.relation]} {value(each.bound, f'{at}/bound', beside=each.value)}"
        ),
        value(each.p_value, f"{at}/p_value", text=p_value),
        count(each.rows, f"{at}/rows"),
        count(each.rows_needed, f"{at}/rows_needed"),
        _chip(*verdict),
    ]


def _uncertified(report: Audit) -> list[Markup]:
    heads = ["Promise", "Room", "Rows here", "Rows needed"]
    rows: list[list[object]] = [
        [
            tag("code", p.words),
            value(p.slack, f"promises/{i}/slack", signed=True),
            count(p.rows, f"promises/{i}/rows"),
            count(p.rows_needed, f"promises/{i}/rows_needed"),
        ]
        for i, p in enumerate(report.promises)
    ]
    why = (
        "Nothing is certified: no certificate was asked for. It is made from rows that the model was "
        "neither trained nor chosen on. This is about how many it would take for each promise, at "
        "least, were the rates to stay as they are here."
    )
    return [
        tag("p", why),
        table("Rows that certificates would take", heads, rows, stacked=True),
        note(
            "For a certificate at 95% confidence with a chance of 80%, of the smallest set of rows "
            "that a promise speaks of, by the width of its interval. Exact tests ask for more where "
            "rows are few, up to half as many again: a certificate, and rb.rows_needed, say it exactly. "
            "A dash: it has no room here, so no number of rows would do."
        ),
    ]
