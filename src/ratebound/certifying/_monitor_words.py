"""A monitor as text and as a small table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ratebound.auditing.report import plain
from ratebound.base.layout import aligned, number
from ratebound.base.markup import Markup, tag
from ratebound.certifying._watching import Watch, evidence_text
from ratebound.rates.rate import FIRST

if TYPE_CHECKING:  # the monitor prints itself with these functions
    from ratebound.certifying.monitor import Monitor

HEADS = ["promise", "rows", "value", "bound", "for broken", "for kept", "verdict"]


def as_text(monitor: Monitor) -> str:
    """The whole table, and one sentence."""
    rows = [HEADS, *map(cells, monitor.watches)]
    lines = [heading(monitor), "", *aligned(rows, right=range(1, 6)), "", summary(monitor) + "."]
    if any(watch.draws.kind != "one set" for watch in monitor.watches):
        apart = " of one stratum" * bool(monitor.strata)
        lines.append(f"Groups are compared among adjacent rows{apart}, which are taken to be alike.")
    return "\n".join([*lines, *left_out(monitor), *(f"ALARM: {alarm}." for alarm in monitor.alarms)])


def as_html(monitor: Monitor) -> str:
    """The same as a table of HTML."""
    head = tag("tr", *(tag("th", word) for word in HEADS))
    body = [tag("tr", *(tag("td", cell) for cell in cells(watch))) for watch in monitor.watches]
    caption = tag("caption", f"{heading(monitor)}: {summary(monitor)}.")
    return tag("table", caption, tag("thead", head), tag("tbody", *body) if body else Markup())


def heading(monitor: Monitor) -> str:
    """What is watched, and for how long."""
    first = monitor.rows.get(FIRST, 0)
    others = ", ".join(f"{name}: {n:,}" for name, n in monitor.rows.items() if name != FIRST)
    rows = f"{first:,} rows ({others})" if others else f"{first:,} rows"
    within = f", within each {' and '.join(monitor.strata)}" if monitor.strata else ""
    return f"Monitor after {rows}, confidence {monitor.confidence:.4g}{within}"


def left_out(monitor: Monitor) -> list[str]:
    """Which rows were not taken in, and why, for each population."""
    found = []
    for name, clock in monitor.clocks.items():
        of = "" if name == FIRST else f" of {name}"
        if clock.unlabelled:
            found.append(
                f"{clock.unlabelled:,} rows{of} had no label by their time and do not count: a promise "
                "is watched on the others, which they may differ from."
            )
        if clock.early:
            found.append(f"{clock.early:,} rows{of} are too young: give them again later.")
        if clock.late:
            found.append(f"{clock.late:,} rows{of} are passed over: their time was over before.")
    return found


def summary(monitor: Monitor) -> str:
    """The verdicts, counted."""
    verdicts = [watch.verdict for watch in monitor.watches]
    told = [f"{verdicts.count(each)} {each}" for each in ("broken", "kept", "not known yet")]
    threshold = evidence_text(monitor.threshold)
    return f"{', '.join(told)}; a verdict takes evidence of {threshold} to 1"


def cells(watch: Watch) -> list[str]:
    """A row of the table."""
    value, bound = watch.sides
    broken, kept = map(evidence_text, watch.evidence)
    verdict = watch.verdict.upper() if watch.verdict == "broken" else watch.verdict
    relation = watch.constraint.relation
    words = str(watch.constraint)
    return [
        words,
        f"{watch.rows:,}",
        number(value, beside=bound),
        f"{relation} {number(bound, beside=value)}",
        broken,
        kept,
        verdict,
    ]


def watch_to_dict(watch: Watch) -> dict[str, Any]:
    """A row of the table, for programs."""
    value, bound = watch.sides
    broken, kept = watch.evidence
    found: dict[str, Any] = plain(
        {
            "words": str(watch.constraint),
            "rows": watch.rows,
            "value": value,
            "bound": bound,
            "evidence_broken": broken,
            "evidence_kept": kept,
            "verdict": watch.verdict,
        }
    )
    return found
