"""A change plan's page for regulators: acceptance criteria, every test, every alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ratebound._old.base import document as doc
from ratebound._old.estimators.release import Release
from ratebound._old.rates.expressions import Constraint
from ratebound._old.rates.formulas import sentence
from ratebound._old.rates.ranges import Parity

if TYPE_CHECKING:  # the plan makes it
    from ratebound._old.estimators.change_plan import ChangePlan

CRITERIA = (doc.Head("promise", "words"), doc.Head("in words", "words"))
TESTS = (
    doc.Head("test", "words"),
    doc.Head("when", "words"),
    doc.Head("candidate", "words"),
    doc.Head("live", "words"),
    doc.Head("rows"),
    doc.Head("error"),
    doc.Head("", "verdict"),
)


def state_of(plan: ChangePlan) -> str:
    """The tests and the error spent and left."""
    released = sum(each.certified for each in plan.record)
    return (
        f"{plan.spent} of {plan.releases} tests spent, {released} released; {plan.rows_used:,} rows "
        f"used; error left {plan.left:.4g} of {plan.error:.4g}"
    )


def page_of(plan: ChangePlan) -> doc.Document:
    """The plan and its record, for readers."""
    alarms = plan.to_dict()["alarms"]
    parts: list[doc.Part] = [doc.Section("Acceptance criteria", _criteria(plan), "criteria")]
    if plan.spent:
        rows = tuple(_row(each, f"tests/{place}") for place, each in enumerate(plan.record))
        table = doc.ReportTable("Every test of a candidate", TESTS, rows, stacked=True)
        refused = [f"{each.name}: {' '.join(each.reasons)}" for each in plan.record if each.reasons]
        said = (doc.Bullets(tuple(refused)),) if refused else ()
        parts.append(doc.Section("Record", (table, *said), "record"))
    if alarms:
        words = tuple(f"{each['when']}: {each['words']}" for each in alarms)
        parts.append(doc.Section("Alarms of the live model", (doc.Bullets(words),), "alarms"))
    where = "There is no ledger= file, so the record ends with this process."
    if plan.ledger:
        where = f"The record is {plan.ledger}; each line holds the digest of the previous one."
    parts.append(doc.Paragraph(where))
    return doc.Document(
        title="Change-control plan",
        lead=f"Change plan: {len(plan.promises)} promises for at most {plan.releases} tests",
        parts=tuple(parts),
        data=plan.to_dict,
        conclusion=doc.Conclusion(f"{state_of(plan)}.", "broken" if alarms else "kept"),
        footer=f"Last line of the ledger: {plan.entries[-1]['digest']}",
    )


def _criteria(plan: ChangePlan) -> tuple[doc.Part, ...]:
    share = plan.error / plan.releases
    carried = ", plus the previous test's share if that test ended in a release" * (
        plan.spending == "carried"
    )
    known = "by their content" if plan.key is None else f"by the ids in {plan.key}"
    words = (
        "A candidate is released if rows that were used in no other test show that it keeps every "
        f"promise. Each test errs with at most {share:.4g}{carried}; the probability that any release "
        f"of the plan breaks a promise is at most {plan.error:.4g}. Used rows are recognized {known}."
    )
    rows = tuple(
        (doc.Quoted(str(each)), sentence(each) if isinstance(each, Constraint | Parity) else "")
        for each in plan.problem.subject_to
    )
    return (doc.ReportTable("What every release must keep", CRITERIA, rows), doc.Paragraph(words))


def _row(release: Release, at: str) -> doc.Row:
    live = release.entry["live"]
    return (
        release.name,
        str(release.entry["when"]),
        str(release.entry["candidate"]["words"]),
        live["words"] if live else "none",
        doc.count(release.rows, f"{at}/rows"),
        doc.Datum(release.level, f"{release.level:.4g}", f"{at}/level"),
        doc.Standing("released", "kept") if release.certified else doc.Standing("REFUSED", "broken"),
    )
