"""An audit as text: aligned tables, and one sentence at the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ratebound.auditing._confusions import ALL, Confusion, cells
from ratebound.auditing._groups import Group, heads
from ratebound.base.layout import NOTHING, aligned, number, printable
from ratebound.problem.problem import left_out_words

if TYPE_CHECKING:  # the report prints itself with these functions
    from ratebound.auditing.report import Audit, Objective, Promise

MANY = {"holds": "hold", "may not hold": "may not hold", "broken": "are broken"}  # said of several
GROUPS_SHOWN = 40
CONFUSIONS_SHOWN = 12
CLASSES_SHOWN = 20  # of each such table
CONFUSED = "what rows of each label are decided to be, and which share of them"


def as_text(report: Audit) -> str:
    """The whole report."""
    one = report.objective
    lines = [heading(report), "", f"{one.sense} {one.words}: {objective_text(one)}"]
    if report.promises:
        level = percent(report.confidence)
        heads = ["promise", "value", "bound", "room", f"{level} bounds", "rows"]
        rows = [[*heads, "on these rows", f"on new rows ({level})"], *map(promise_row, report.promises)]
        lines += ["", *aligned(rows, right=range(1, 6))]
        lines += [_reason(p) for p in report.promises if p.why]
    lines += [left_out_words(report.left_out)] if report.left_out else []
    shown = report.groups[:GROUPS_SHOWN]
    rows = [group_heads(report), *(group_row(group, report) for group in shown)]
    lines += ["", *aligned(rows, right=range(1, 8))]
    if len(report.groups) > len(shown):
        lines.append(f"… and {len(report.groups) - len(shown)} more groups, in .groups")
    lines += _confusion_tables(report)
    return printable("\n".join([*lines, "", summary(report) + "."]))


def heading(report: Audit) -> str:
    """What was audited, on what."""
    positive = "" if report.positive is None else f"; yes is {report.positive!r}"
    return f"Audit of {report.model} on {rows_text(report)}{clusters_text(report)}{positive}"


def clusters_text(report: Audit) -> str:
    """Which rows were drawn together, where that is known."""
    if report.clusters is None:
        return ""
    column, count = report.clusters
    return f", drawn as {count:,} clusters by {column!r}"


def _reason(promise: Promise) -> str:
    """Why a promise has no value, or no interval."""
    if promise.kept is None:
        return f"Not measured: {promise.why}"
    return f"No interval: {promise.words}: {promise.why}"


def rows_text(report: Audit) -> str:
    """How many rows of each population, the one audited first without its name."""
    (_, first), *others = report.populations.items()
    also = ", ".join(f"{name}: {rows:,}" for name, rows in others)
    return f"{first:,} rows ({also})" if also else f"{first:,} rows"


def summary(report: Audit) -> str:
    """The audit in one sentence.

    >>> from ratebound import Population, Problem, error_rate, recall
    >>> from ratebound.auditing.auditing import audit
    >>> class Always:
    ...     def predict(self, X):
    ...         return [1] * len(X)
    >>> people = Population([[0.0]] * 4, [1, 1, 0, 0])
    >>> summary(audit(Problem(error_rate(), [recall() >= 0.9]), Always(), people))
    '1 of 1 promises kept on 4 rows; on new rows 1 may not hold (at 95%)'
    """
    total = len(report.promises)
    if not total:
        return f"no promises were made; measured on {rows_text(report)}"
    kept = sum(bool(p.kept) for p in report.promises)
    found = f"{kept} of {total} promises kept on {rows_text(report)}"
    said = Counter[str](p.verdict for p in report.promises)
    new = [f"{said[each]} {_verb(each, said[each])}" for each in MANY if said[each]]
    if new:
        alone = "each alone, " if total > 1 else ""
        found += f"; on new rows {', '.join(new)} ({alone}at {percent(report.confidence)})"
    if missing := said["not measured"]:
        found += f"; {missing} could not be measured on these rows"
    return found


def _verb(verdict: str, count: int) -> str:
    return MANY[verdict] if count > 1 else "is broken" if verdict == "broken" else verdict


def objective_text(objective: Objective) -> str:
    ends = interval_text(objective.low, objective.high, signed=False)
    return f"{number(objective.value)} {ends}"


def percent(level: float) -> str:
    """A confidence as people write it.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.4g}%"


def interval_text(low: float | None, high: float | None, *, signed: bool = True) -> str:
    if low is None or high is None:
        return NOTHING
    beside = 0.0 if signed else None  # of room, the sign decides
    return f"[{number(low, signed=signed, beside=beside)}, {number(high, signed=signed, beside=beside)}]"


def promise_row(promise: Promise) -> list[str]:
    """The cells of a promise: words, value, bound, room, its interval, rows, and how it stands."""
    return [
        promise.words,
        number(promise.value, beside=promise.bound),
        f"{promise.relation} {number(promise.bound, beside=promise.value)}",
        number(promise.slack, signed=True, beside=0.0),
        interval_text(promise.slack_low, promise.slack_high),
        f"{promise.rows:,}",
        NOTHING if promise.kept is None else "kept" if promise.kept else "BROKEN",
        promise.verdict,
    ]


def group_heads(report: Audit) -> list[str]:
    """The heads of the table of groups; of several classes none is positive."""
    several = bool(report.confusions)
    return ["group", "rows", *["positive"] * (not several), *heads(several).values()]


def group_row(group: Group, report: Audit) -> list[str]:
    """The cells of a group: its name, rows and positive rows, and its rates."""
    several = bool(report.confusions)
    name = group.words if group.population is None else f"{group.population}: {group.words}"
    positives = NOTHING if group.positives is None else f"{group.positives:,}"
    rates = [number(getattr(group, rate)) for rate in heads(several)]
    return [name, f"{group.rows:,}", *[positives] * (not several), *rates]


def _confusion_tables(report: Audit) -> list[str]:
    """The first tables of labels and decisions; none of more classes than fit on a page."""
    if report.confusions and len(report.confusions[0].classes) > CLASSES_SHOWN:
        classes = len(report.confusions[0].classes)
        return ["", f"tables of {classes} classes by {classes} decisions are in .confusions"]
    lines = []
    for each in report.confusions[:CONFUSIONS_SHOWN]:
        lines += ["", *confusion_lines(each)]
    if len(report.confusions) > CONFUSIONS_SHOWN:
        lines.append(f"… and {len(report.confusions) - CONFUSIONS_SHOWN} more tables, in .confusions")
    return lines


def confusion_lines(confusion: Confusion) -> list[str]:
    """A table of labels and decisions, under a line that says of which group."""
    rows = [["label", *map(str, confusion.classes), ALL]]
    for head, counts in confusion.lines:
        rows.append([head, *(f"{count} {share}" for count, share in cells(counts))])
    return [f"{confusion.name}: {CONFUSED}", *aligned(rows, right=range(1, len(rows[0])))]
